//! A Micro Trace Buffer in software: encodes branches and exceptions as packets.

use tracewright_base::{Encode, Isa, Kind, Step};

use super::{Config, Mtb, Packet};
use crate::trace_unit::{Encodes, Setting};

impl Encodes for Mtb {
    type Encoder = Encoder;

    const USUAL: &'static [(&'static str, u64)] = &[];
    const CORE: &'static str = "Cortex-M0+";
    const SETTINGS: &'static [Setting] = &[];

    fn settings(_: &Config, _: &dyn Fn(&str) -> Option<u64>) {}
}

/// Encodes steps as packets.
#[derive(Clone, Debug)]
pub struct Encoder {
    off: bool,
    /// The next packet is the first since tracing started.
    start: bool,
    /// The address of the next instruction in sequence.
    next: Option<u64>,
}

impl Encode<Config, Packet> for Encoder {
    type Settings = ();

    fn new(_: &Config, (): &()) -> Self {
        Encoder { off: false, start: true, next: None }
    }

    fn step(&mut self, step: &Step, _: &Config, out: &mut impl Extend<Packet>) {
        match step {
            Step::Off => self.off = true,
            Step::On => (self.off, self.start, self.next) = (false, true, None),
            _ if self.off => {}
            Step::Retired(retired) if retired.instruction.isa == Isa::T32 => {
                // Where the log has a gap, tracing was not enabled in between.
                self.start |= self.next.is_some_and(|next| next != retired.address);
                self.next = Some(retired.next);
                let branch = matches!(retired.instruction.kind, Kind::Branch | Kind::Indirect);
                if branch && retired.taken {
                    let (source, destination) = (retired.address as u32, retired.next as u32 & !1);
                    let start = core::mem::take(&mut self.start);
                    out.extend([Packet::Branch { source, destination, start }]);
                }
            }
            Step::Exception(taken) => {
                self.next = Some(taken.target);
                let return_address = taken.return_address as u32 & !1;
                let destination = taken.target as u32 & !1;
                let start = core::mem::take(&mut self.start);
                out.extend([Packet::Exception { return_address, destination, start }]);
            }
            _ => {}
        }
    }

    fn finish(&mut self, _: &Config, _: &mut impl Extend<Packet>) {}
}
