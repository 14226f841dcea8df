//! The fast profiling mode: a message for each exception, call and return, in place of instruction
//! trace. (0.026, 7.2; this project defines the messages)

use tracewright_base::{Cause, Retired, Step, Taken};

use super::outlet::Outlet;
use super::{Itype, riscv_cause};
use crate::etrace::config::Params;
use crate::etrace::packet::fields::low;
use crate::etrace::packet::{Own, Packet, Payload, Profile, ProfileEvent};

/// The unit in the fast profiling mode.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Profiler {
    /// Tracing is off.
    off: bool,
}

impl Profiler {
    /// Takes a step.
    pub(super) fn step(
        &mut self,
        step: &Step,
        outlet: &mut Outlet,
        params: &Params,
        out: &mut impl Extend<Packet>,
    ) {
        let profile = match step {
            Step::Off => {
                self.off = true;
                None
            }
            Step::On => {
                self.off = false;
                None
            }
            Step::Cycles(cycles) => {
                outlet.advance((*cycles).into());
                None
            }
            Step::Retired(retired) => transfer(retired, params),
            Step::Exception(taken) => trap(taken, params),
            _ => None,
        };
        if let Some(profile) = profile.filter(|_| !self.off) {
            let packet = Packet::sent(Payload::Own(Own::Profile(profile)), params);
            out.extend(outlet.take(packet, params));
        }
    }
}

fn field(address: u64, params: &Params) -> u64 {
    low(address >> params.widths.iaddress_lsb, params.widths.address())
}

fn profile(event: ProfileEvent, destination: u64, source: u64, params: &Params) -> Profile {
    Profile {
        event,
        destination: field(destination, params),
        source: (params.own.profiling > 1).then(|| field(source, params)),
    }
}

/// The message of a call or a return. In 0.026 a jump through a register that is no link register
/// is a tail call, and each jump with link is a call. (0.026, Table 3.2)
fn transfer(retired: &Retired, params: &Params) -> Option<Profile> {
    let event = match Itype::of(retired).0 {
        Itype::UninferableJump | Itype::Swap if params.is_draft() => ProfileEvent::Call,
        Itype::InferableCall | Itype::UninferableCall => ProfileEvent::Call,
        Itype::Return | Itype::InferableReturn | Itype::TrapReturn => ProfileEvent::Return,
        _ => return None,
    };
    Some(profile(event, retired.next, retired.address, params))
}

fn trap(taken: &Taken, params: &Params) -> Option<Profile> {
    if let Cause::Reset | Cause::Halt = taken.cause {
        return None;
    }
    let (cause, interrupt) = riscv_cause(taken.cause)?;
    let cause = low(cause, params.widths.ecause.into());
    let event =
        if interrupt { ProfileEvent::Interrupt(cause) } else { ProfileEvent::Exception(cause) };
    Some(profile(event, taken.target, taken.return_address, params))
}
