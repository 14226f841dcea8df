//! EmbeddedICE inputs: pulsed or latched between the points at which they are sampled. (IHI 0014,
//! 3.5.22 and 7.6)

use super::Inputs;
use crate::etm::settings::{Settings, number};
use crate::etm::version::Version;

/// What an EmbeddedICE input is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The trigger event.
    Trigger,
    /// The TraceEnable event.
    TraceEnable,
    /// The start/stop block.
    StartStop,
    /// The ViewData event.
    ViewData,
    /// The enabling or the reload event of a counter.
    Counter,
    /// A transition of the sequencer.
    Sequencer,
    /// An external output.
    Output,
}

impl Use {
    /// The use by the event in the register `register`.
    pub const fn of(register: u16) -> Use {
        match register {
            number::TRACE_ENABLE_EVENT => Use::TraceEnable,
            number::VIEW_DATA_EVENT => Use::ViewData,
            0x054..=0x05b => Use::Counter,
            0x060..=0x065 => Use::Sequencer,
            0x068..=0x06b => Use::Output,
            _ => Use::Trigger,
        }
    }

    /// Whether an input is latched for this use if the unit has no ETMEIBCR. (Table 7-21)
    pub const fn latches(self) -> bool {
        matches!(self, Use::TraceEnable | Use::ViewData)
    }
}

/// The inputs in the current cycle: bit n is input n + 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IceInputs {
    /// HIGH at a sampling point of this cycle.
    pulsed: u8,
    /// HIGH at the last sampling point.
    latched: u8,
}

impl IceInputs {
    /// The inputs in a cycle with `inputs`.
    pub fn sample(&mut self, inputs: &Inputs) {
        self.pulsed = inputs.ice & !inputs.ice_waits;
        self.latched = self.pulsed | self.latched & inputs.ice_waits;
    }

    /// The inputs as `usage` sees them. Before ETMv3.4 they are the outputs of the comparators of
    /// the EmbeddedICE logic, which do not change between its comparisons.
    pub fn seen(self, settings: &Settings, usage: Use) -> u8 {
        let latches = match settings.unit.ice_behaviour {
            true => settings.value(number::ICE_BEHAVIOUR) as u8,
            false if settings.unit.version < Version::V3_4 || usage.latches() => u8::MAX,
            false => 0,
        };
        self.latched & latches | self.pulsed & !latches
    }
}
