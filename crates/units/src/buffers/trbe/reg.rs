//! The registers of the unit that software reads and writes.

use std::fmt;

/// A register of the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reg {
    /// TRBBASER_EL1.
    Base,
    /// TRBPTR_EL1.
    Pointer,
    /// TRBLIMITR_EL1.
    Limit,
    /// TRBSR_EL1.
    Status,
    /// TRBSR_EL2.
    StatusEl2,
    /// TRBSR_EL3.
    StatusEl3,
    /// TRBTRG_EL1.
    Counter,
    /// TRBMAR_EL1.
    Attributes,
    /// TRBMPAM_EL1.
    Mpam,
    /// TRBITCTRL.
    Integration,
    /// TRBIDR_EL1.
    Id,
}

impl Reg {
    pub(super) const COUNT: usize = 11;

    /// The registers that software writes. (RDJMDD)
    pub const WRITABLE: [Reg; 10] = [
        Reg::Base,
        Reg::Pointer,
        Reg::Limit,
        Reg::Status,
        Reg::StatusEl2,
        Reg::StatusEl3,
        Reg::Counter,
        Reg::Attributes,
        Reg::Mpam,
        Reg::Integration,
    ];

    /// The name in the specification.
    pub const fn name(self) -> &'static str {
        match self {
            Reg::Base => "TRBBASER_EL1",
            Reg::Pointer => "TRBPTR_EL1",
            Reg::Limit => "TRBLIMITR_EL1",
            Reg::Status => "TRBSR_EL1",
            Reg::StatusEl2 => "TRBSR_EL2",
            Reg::StatusEl3 => "TRBSR_EL3",
            Reg::Counter => "TRBTRG_EL1",
            Reg::Attributes => "TRBMAR_EL1",
            Reg::Mpam => "TRBMPAM_EL1",
            Reg::Integration => "TRBITCTRL",
            Reg::Id => "TRBIDR_EL1",
        }
    }

    /// The register with the name `name`, in any letter case.
    pub fn named(name: &str) -> Option<Reg> {
        let all = Reg::WRITABLE.into_iter().chain([Reg::Id]);
        all.into_iter().find(|register| register.name().eq_ignore_ascii_case(name))
    }

    /// Trace operations write the register.
    pub(super) const fn is_indirectly_written(self) -> bool {
        use Reg::{Counter, Pointer, Status, StatusEl2, StatusEl3};
        matches!(self, Pointer | Status | StatusEl2 | StatusEl3 | Counter)
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The value of a register as software reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The known bits; the unknown ones are 0.
    pub bits: u64,
    /// The bits that are unknown.
    pub unknown: u64,
}

impl Word {
    /// The value, if all bits are known.
    pub const fn known(self) -> Option<u64> {
        if self.unknown == 0 { Some(self.bits) } else { None }
    }
}
