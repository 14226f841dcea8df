//! Routines of software that has a trace unit, as a request names them.

use crate::values::Values;

/// A routine of Arm ARM K10.5.7.1 or K10.5.10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routine {
    /// Programs and enables the unit, its sink first. (K10.5.7.1.1)
    Enable,
    /// Disables the unit, then its sink. (K10.5.7.1.2)
    Disable,
    /// Saves the unit before its power is removed. (K10.5.7.1.3)
    Save,
    /// Restores it. (K10.5.7.1.3)
    Restore,
    /// Switches out a process that is traced. (K10.5.10, the first sequence)
    SwitchOut,
    /// The same while tracing is permitted. (K10.5.10, the second sequence)
    SwitchOutTracing,
    /// Switches in a process that is traced. (K10.5.10, the last sequence)
    SwitchIn,
}

impl Routine {
    /// All routines.
    pub const ALL: [Routine; 7] = [
        Routine::Enable,
        Routine::Disable,
        Routine::Save,
        Routine::Restore,
        Routine::SwitchOut,
        Routine::SwitchOutTracing,
        Routine::SwitchIn,
    ];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Routine::Enable => "enable",
            Routine::Disable => "disable",
            Routine::Save => "save",
            Routine::Restore => "restore",
            Routine::SwitchOut => "switch-out",
            Routine::SwitchOutTracing => "switch-out-tracing",
            Routine::SwitchIn => "switch-in",
        }
    }

    /// Whether it switches processes.
    pub const fn switches(self) -> bool {
        matches!(self, Routine::SwitchOut | Routine::SwitchOutTracing | Routine::SwitchIn)
    }

    /// Whether it restores a state.
    pub const fn restores(self) -> bool {
        matches!(self, Routine::Restore | Routine::SwitchIn)
    }
}

/// A routine, and what it depends on besides the program of the unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutineRequest {
    /// The routine.
    pub routine: Routine,
    /// Values of registers that are restored, where they are not those of the program.
    pub values: Values,
    /// TTBR0_EL1 of the process that is switched to.
    pub tables: u64,
    /// Exception level of the software that executes the routine: 1 to 3.
    pub level: u8,
    /// FEAT_TRBE_EXC: TRBSR_EL2 and TRBSR_EL3 exist.
    pub exceptions: bool,
}
