//! What software did that the architecture does not allow it, or whose result it leaves open.

use std::fmt;

use super::reg::Reg;

/// An access whose result the architecture leaves open, with the rule that it does not follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// SDSSHH: a write that enables or disables the unit, and a write to this register, without a
    /// context synchronization event between.
    EnableUnordered(Reg),
    /// RDJMDD: a write to this register while the unit is enabled.
    WriteWhileEnabled(Reg),
    /// RBFJKD: trace was collected between writes and the context synchronization event that makes
    /// the unit see them.
    TraceBeforeSynchronization,
    /// RZCDDS: a write to this register before the trace operations that write it were finished.
    WriteBeforeFinished(Reg),
    /// RVTNCS: a read of this register before the barriers that make its value known.
    ReadTooEarly(Reg),
    /// RJWWWM, RCPDDM: a misaligned value that was not read from the register.
    Misaligned(Reg),
    /// RMGZWR: trace was collected with a write pointer that is out of range or misaligned.
    BadPointer,
    /// IVRFQC: the unit runs with a write pointer that a fault left.
    RunningOnFault,
    /// FM or TM has a reserved value; the model takes Fill mode and Stop on trigger.
    ReservedMode,
}

impl Violation {
    /// The rule of the Arm ARM that was not followed.
    pub fn rule(self) -> &'static str {
        match self {
            Violation::EnableUnordered(_) => "SDSSHH",
            Violation::WriteWhileEnabled(_) => "RDJMDD",
            Violation::TraceBeforeSynchronization => "RBFJKD",
            Violation::WriteBeforeFinished(_) => "RZCDDS",
            Violation::ReadTooEarly(_) => "RVTNCS",
            Violation::Misaligned(Reg::Counter) => "RCPDDM",
            Violation::Misaligned(_) => "RJWWWM",
            Violation::BadPointer => "RMGZWR",
            Violation::RunningOnFault => "IVRFQC",
            Violation::ReservedMode => "D24.4.3",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.rule())?;
        match self {
            Violation::EnableUnordered(register) => write!(
                f,
                "{register} and the enable of TRBLIMITR_EL1 are written without a context \
                 synchronization event between"
            ),
            Violation::WriteWhileEnabled(register) => {
                write!(f, "{register} is written while the unit is enabled")
            }
            Violation::TraceBeforeSynchronization => {
                f.write_str("trace is collected before writes to the registers are synchronized")
            }
            Violation::WriteBeforeFinished(register) => write!(
                f,
                "{register} is written before a context synchronization event and a TSB CSYNC"
            ),
            Violation::ReadTooEarly(register) => write!(
                f,
                "{register} is read before a context synchronization event, a TSB CSYNC and a \
                 second context synchronization event"
            ),
            Violation::Misaligned(register) => {
                write!(f, "{register} is written with a misaligned value that was not read from it")
            }
            Violation::BadPointer => {
                f.write_str("trace is collected while TRBPTR_EL1 is out of range or misaligned")
            }
            Violation::RunningOnFault => {
                f.write_str("the unit is enabled with the TRBPTR_EL1 that a fault left")
            }
            Violation::ReservedMode => f.write_str("TRBLIMITR_EL1 has a reserved FM or TM"),
        }
    }
}
