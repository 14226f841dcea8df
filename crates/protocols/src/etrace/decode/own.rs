//! Messages that this project defines: cycle counts and fast profiling.

use tracewright_base::{Counted, Element, Exception, Sink};

use super::{Decoder, INTERRUPT};
use crate::etrace::config::Params;
use crate::etrace::packet::{Own, Profile, ProfileEvent};

impl Decoder {
    /// A message that this project defines. Discovery has no element.
    pub(super) fn own<S: Sink>(&mut self, at: u64, own: &Own, params: &Params, sink: &mut S) {
        match own {
            Own::Discovery(_) => {}
            Own::Cycles { count } => sink.element(at, Element::Cycles(Some(*count))),
            Own::Profile(profile) => self.profile(at, profile, params, sink),
        }
    }

    /// An event of the fast profiling mode: what ran between the last destination and this source
    /// is not known. Without a source it is what ran up to the destination.
    fn profile<S: Sink>(&mut self, at: u64, profile: &Profile, params: &Params, sink: &mut S) {
        self.begin(at, sink);
        let full = |bits| params.full_address(bits) & params.isa().address_mask();
        let (destination, source) = (full(profile.destination), profile.source.map(full));
        let trap = match profile.event {
            ProfileEvent::Exception(cause) => Some(cause as u16 & !INTERRUPT),
            ProfileEvent::Interrupt(cause) => Some(cause as u16 | INTERRUPT),
            ProfileEvent::Call | ProfileEvent::Return => None,
        };
        // The instruction that a trap returns to did not run before it.
        let next = if trap.is_some() { None } else { Some(source.unwrap_or(destination)) };
        if let (Some(start), Some(next)) = (self.address, next) {
            sink.element(at, Element::Unknown { start, next, instructions: Counted::UNKNOWN });
        }
        if let Some(number) = trap {
            sink.element(
                at,
                Element::Exception(Exception {
                    number,
                    return_address: source,
                    also_target: false,
                    tail_chain: false,
                }),
            );
        }
        self.address = Some(destination);
    }
}
