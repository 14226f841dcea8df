//! What the unit does before its FIFO overflows: it stalls the processor, or suppresses data. (IHI
//! 0014, 2.6.6 and 3.5.8)

use super::{Model, Tri};
use crate::etm::settings::{Selection, number};
use crate::etm::version::Version;
use crate::verdict::{Requirement, Verdict};

/// The most bytes that a data transfer adds to the FIFO: a header, five bytes of address and four
/// of value.
const MOST: u8 = 10;

impl Model {
    /// Whether FIFOFULL is asserted in this cycle. `None`: the level of the FIFO is not known.
    pub(super) fn fifofull(&mut self) -> Option<bool> {
        let (control, unit) = (self.settings.control(), self.settings.unit);
        let known = self.settings.get(number::FIFOFULL_LEVEL).map(|level| level & 0xff);
        if (control.stall() || control.suppress()) && known == Some(0) {
            self.unpredictable.get_or_insert("the FIFOFULL level is 0");
        }
        if control.stall() && control.suppress() {
            self.unpredictable.get_or_insert("Stall together with SuppressData");
        }
        if !control.stall() || !unit.stalls() {
            return Some(false);
        }
        let free = u32::from(self.inputs.free?);
        let level = known?;
        let level = match unit.fifo.map(u32::from) {
            // Some units from ETMv2.0 on assert FIFOFULL for any byte in the FIFO.
            Some(size) if self.choices.level_ignored && unit.version >= Version::V2_0 => size,
            Some(size) => level.min(size),
            None => level,
        };
        match Tri::from(free < level).and(self.fifofull_region()) {
            Tri::No => Some(false),
            Tri::Maybe if self.settings.get(number::FIFOFULL_REGION).is_none() => None,
            _ => Some(true),
        }
    }

    /// Whether the FIFOFULL region has what executes. (3.5.7)
    pub(super) fn fifofull_region(&self) -> Tri {
        let Some(value) = self.settings.get(number::FIFOFULL_REGION) else { return Tri::Maybe };
        let selected = self.settings.fifofull_region();
        let any = Selection::numbers(selected.ranges)
            .fold(Tri::No, |any, n| any.or(self.active.matches.range(n)));
        let map = self.inputs.memory_map | self.inputs.memory_map_data;
        let any = any.or(Tri::from(selected.memory_map as u16 & map != 0));
        if value >> 24 & 1 != 0 { any.not() } else { any }
    }

    /// The verdict on a transfer that ViewData selects, where data is suppressed. Suppression goes
    /// on to the end of the instruction. `None`: the transfer is traced.
    pub(super) fn suppressed(&mut self) -> Option<Verdict> {
        if !self.settings.control().suppress() || !self.settings.unit.suppression {
            return None;
        }
        let level = self.settings.get(number::FIFOFULL_LEVEL).map(|level| level as u8);
        let instruction = self.instruction.as_mut();
        let already = instruction.as_ref().is_some_and(|instruction| instruction.suppressed);
        let (requirement, reason) = match self.inputs.free.zip(level) {
            _ if already => (Requirement::MustNot, "data of the instruction is suppressed"),
            Some((free, level)) if free < level => {
                if let Some(instruction) = instruction {
                    instruction.suppressed = true;
                }
                (Requirement::MustNot, "the FIFO has less space than the FIFOFULL level")
            }
            Some((free, level)) if free.saturating_sub(MOST) >= level => return None,
            _ => (Requirement::May, "it may be suppressed"),
        };
        Some(Verdict { requirement, reason, section: "IHI 0014, 2.6.6" })
    }
}
