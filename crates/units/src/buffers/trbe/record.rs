//! Which TRBSR_ELx records a management event. (Arm ARM, RBNQRP, tables D6-5 to D6-7)

use super::controls::Controls;
use super::memory::{Fault, Stage};

/// The Exception level of a TRBSR_ELx.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// TRBSR_EL1.
    El1,
    /// TRBSR_EL2.
    El2,
    /// TRBSR_EL3.
    El3,
}

/// The kind of a management event, as far as it decides where it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Any event that is not a fault: EC 0 or 0x1f.
    Other,
    /// A fault of a write.
    Fault(Fault),
}

impl Controls {
    /// The register that records `event`, where `el2` and `el3` are whether these levels are
    /// implemented, in a unit with FEAT_TRBE_EXC and while self-hosted trace is enabled.
    pub fn recorded_in(&self, event: Event, el2: bool, el3: bool) -> Level {
        let check = |event: Event| match event {
            Event::Fault(Fault { stage: Stage::Granule, .. }) => true,
            Event::Fault(fault) if fault.is_granule_protection() => self.granule_faults_to_el3(),
            Event::Fault(fault) if fault.is_external_abort() => self.aborts_to_el3(),
            _ => false,
        };
        match self.trbee(el3) {
            0b11 if el3 => return Level::El3,
            0b10 if el3 && check(event) => return Level::El3,
            _ => {}
        }
        let reachable = el2 && self.el2_enabled(el3) && (!el3 || self.trbee(el3) != 0b00);
        let fault_to_el2 = match event {
            Event::Other => false,
            Event::Fault(Fault { stage: Stage::Granule | Stage::Stage2, .. }) => true,
            Event::Fault(_) if self.owned_by_el2() => true,
            Event::Fault(fault) if fault.is_granule_protection() => self.granule_faults_to_el2(),
            Event::Fault(fault) if fault.is_external_abort() => self.aborts_to_el2(),
            Event::Fault(_) => false,
        };
        match self.ee() {
            0b11 if reachable => Level::El2,
            0b10 if reachable && fault_to_el2 => Level::El2,
            _ => Level::El1,
        }
    }
}
