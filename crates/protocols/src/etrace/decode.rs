//! Packets to elements.

use tracewright_base::{Code, Context, Decode, Element, Fault, Gap, Sink, Spanned};

use super::config::Params;
use super::packet::{Packet, Payload, Who};

/// A plain value: it holds what the next packet needs, and no totals. The default knows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoder {
    phase: Phase,
    /// Who executes, as it was last reported.
    who: Option<Who>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No packet yet.
    #[default]
    Fresh,
    /// Waiting for a packet that names an instruction.
    Waiting,
}

impl Decode<Params, Packet> for Decoder {
    fn packet<K: Code, S: Sink>(
        &mut self,
        p: Spanned<Packet>,
        params: &Params,
        _code: &mut K,
        sink: &mut S,
    ) {
        let Spanned { at, packet, .. } = p;
        if self.phase == Phase::Fresh {
            self.phase = Phase::Waiting;
            sink.element(at, Element::Gap(Gap::Start));
        }
        match packet.payload {
            Payload::Start(start) => self.enter(at, start.who, params, sink),
            Payload::Trap(trap) => self.enter(at, trap.who, params, sink),
            Payload::Context(context) => self.enter(at, context.who, params, sink),
            _ => {}
        }
    }

    fn bad<S: Sink>(&mut self, at: u64, _fault: Fault, sink: &mut S) {
        if self.phase == Phase::Fresh {
            sink.element(at, Element::Gap(Gap::Start));
        }
        *self = Decoder { phase: Phase::Waiting, ..Decoder::default() };
    }

    fn finish<K: Code, S: Sink>(&mut self, at: u64, _: &Params, _: &mut K, sink: &mut S) {
        sink.element(at, Element::End);
    }
}

impl Decoder {
    /// Says who executes where that is news, and when it is.
    fn enter<S: Sink>(&mut self, at: u64, who: Who, params: &Params, sink: &mut S) {
        if params.widths.time > 0 {
            sink.element(at, Element::Timestamp { value: who.time, cycles: None });
        }
        let same = |known: Who| known.privilege == who.privilege && known.context == who.context;
        if !self.who.is_some_and(same) {
            sink.element(at, Element::Context(context(who, params)));
        }
        self.who = Some(who);
    }
}

/// `who` as an element has it.
fn context(who: Who, params: &Params) -> Context {
    Context {
        context_id: (params.widths.context > 0).then_some(who.context),
        vmid: None,
        el: Some(who.privilege),
        security: None,
        bits64: params.rv64,
        isa: params.isa(),
    }
}
