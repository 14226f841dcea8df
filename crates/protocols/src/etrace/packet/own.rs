//! Messages that this project defines (no specification has them): discovery, cycle counts and
//! fast profiling, which the draft 0.026 plans without a format (3.1.4, 7.2, 7.3). They are off
//! unless parameters select them. Their header has type 1, which te_inst (2) and te_data (3)
//! leave free, and their payload begins with a kind of three bits.

use super::discovery::Discovery;
use super::fields::Fields;
use crate::etrace::config::Params;

/// A message that this project defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// Kind 0: the parameters of the unit.
    Discovery(Discovery),
    /// Kind 1: cycles from the last count, or from the start of tracing, up to the retirement of
    /// the instruction that the packet before reports.
    Cycles {
        /// `cycles`, 32 bits.
        count: u32,
    },
    /// Kind 2: an event of the fast profiling mode.
    Profile(Profile),
}

/// What a profiling message reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProfileEvent {
    /// 0: an exception, with its cause.
    Exception(u64),
    /// 1: an interrupt, with its cause.
    Interrupt(u64),
    /// 2: a call.
    #[default]
    Call,
    /// 3: a return, also from a trap.
    Return,
}

/// An event of the fast profiling mode. (0.026, 7.2)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The event.
    pub event: ProfileEvent,
    /// Address of the instruction executed next, without the bits below `iaddress_lsb`.
    pub destination: u64,
    /// Address of the call or return, or of the instruction that a trap returns to, in the same
    /// unit; with `profiling = 2`.
    pub source: Option<u64>,
}

impl Own {
    /// `None` if the kind is reserved.
    pub(super) fn fields<F: Fields>(given: Option<Own>, f: &mut F, params: &Params) -> Option<Own> {
        let kind = match given {
            None | Some(Own::Discovery(_)) => 0,
            Some(Own::Cycles { .. }) => 1,
            Some(Own::Profile(_)) => 2,
        };
        Some(match (f.byte("kind", kind, 3), given) {
            (0, Some(Own::Discovery(discovery))) => Own::Discovery(discovery.fields(f)),
            (0, _) => Own::Discovery(Discovery::default().fields(f)),
            (1, given) => {
                let count = if let Some(Own::Cycles { count }) = given { count } else { 0 };
                Own::Cycles { count: f.uint("cycles", count.into(), 32) as u32 }
            }
            (2, Some(Own::Profile(profile))) => Own::Profile(profile.fields(f, params)),
            (2, _) => Own::Profile(Profile::default().fields(f, params)),
            _ => return None,
        })
    }
}

impl Profile {
    fn fields<F: Fields>(mut self, f: &mut F, params: &Params) -> Profile {
        let (code, cause) = match self.event {
            ProfileEvent::Exception(cause) => (0, cause),
            ProfileEvent::Interrupt(cause) => (1, cause),
            ProfileEvent::Call => (2, 0),
            ProfileEvent::Return => (3, 0),
        };
        let code = f.byte("event", code, 2);
        let width = if code < 2 { params.widths.ecause.into() } else { 0 };
        let cause = f.uint("ecause", cause, width);
        self.event = match code {
            0 => ProfileEvent::Exception(cause),
            1 => ProfileEvent::Interrupt(cause),
            2 => ProfileEvent::Call,
            _ => ProfileEvent::Return,
        };
        let width = params.widths.address();
        self.destination = f.uint("destination", self.destination, width);
        if params.own.profiling > 1 {
            self.source = Some(f.uint("source", self.source.unwrap_or(0), width));
        }
        self
    }
}
