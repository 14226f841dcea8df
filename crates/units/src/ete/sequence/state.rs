//! The state that routines save and restore.

use super::sink::restored;
use crate::ete::implementation::Implementation;
use crate::ete::registers::all;
use crate::sink::Sink;
use crate::values::Values;

/// TRCPRGCTLR.
pub(super) const ENABLE: &str = "TRCPRGCTLR";
/// TRBLIMITR_EL1.
pub(super) const LIMIT: &str = "TRBLIMITR_EL1";

/// The registers of the trace buffer besides TRBLIMITR_EL1 that a process has.
pub(super) const BUFFER: [&str; 5] =
    ["TRBPTR_EL1", "TRBSR_EL1", "TRBBASER_EL1", "TRBTRG_EL1", "TRBMAR_EL1"];

/// The state of a process that is traced, as routines save and restore it.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    /// The unit.
    pub unit: &'a Implementation,
    /// The values that are restored. A register without a value is restored as 0, but TRFCR_EL1,
    /// of which both enables are set, and TRCPRGCTLR, which enables the unit.
    pub values: &'a Values,
    /// The trace buffer, whose registers have the values that start it where `values` has none.
    pub sink: Option<&'a Sink>,
    /// TTBR0_EL1 of the process that is switched to.
    pub tables: u64,
    /// Exception level of the software, 1 to 3: at EL2 and EL3 MDCR_EL2 and TRFCR_EL2, and at EL3
    /// MDCR_EL3 are part of the state.
    pub level: u8,
    /// FEAT_TRBE_EXC: from EL2 on, TRBSR_EL2 is part of the state, and at EL3 TRBSR_EL3.
    pub exceptions: bool,
}

impl<'a> State<'a> {
    /// The state of a unit without a trace buffer, for software at EL1.
    pub fn new(unit: &'a Implementation, values: &'a Values) -> State<'a> {
        State { unit, values, sink: None, tables: 0, level: 1, exceptions: false }
    }

    /// The registers of the Exception levels above EL1. (Arm ARM K10.5.10)
    pub(super) fn levels(&self) -> impl Iterator<Item = &'static str> + use<> {
        let State { level, exceptions, .. } = *self;
        [
            ("MDCR_EL3", level >= 3),
            ("MDCR_EL2", level >= 2),
            ("TRFCR_EL2", level >= 2),
            ("TRBSR_EL2", level >= 2 && exceptions),
            ("TRBSR_EL3", level >= 3 && exceptions),
        ]
        .into_iter()
        .filter_map(|(name, has)| has.then_some(name))
    }

    /// The registers of the state of the unit. (Arm ARM K10.5.7.6)
    pub(super) fn unit_registers(&self) -> impl Iterator<Item = String> + use<'a> {
        let unit = self.unit;
        all().filter(|named| unit.saves(*named)).map(|named| named.to_string())
    }

    /// Every register, in the order of the saved state.
    pub(super) fn names(&self) -> impl Iterator<Item = String> + use<'a> {
        let first = ["TRFCR_EL1", LIMIT].into_iter().chain(BUFFER).chain(self.levels());
        first.map(str::to_owned).chain(self.unit_registers())
    }

    /// The value that is restored to the register `name`.
    pub(super) fn value(&self, name: &str) -> u64 {
        let started = self.sink.map(restored).unwrap_or_default();
        let started = started.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let otherwise = match name {
            "TRFCR_EL1" => 3,
            ENABLE => 1,
            _ => 0,
        };
        self.values.get(name).or(started).unwrap_or(otherwise)
    }
}
