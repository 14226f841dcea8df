//! Time, privilege and context, software writes, and the events of in-circuit trace.

use tracewright_base::{
    BlockCache, Channel, Context, Counted, Element, Inconsistency, Sink, Software, Space, Start,
};

use super::{Decoder, Owner, Phase};
use crate::ntrace::config::{Config, Times};
use crate::ntrace::names::{self, event};
use crate::ntrace::packet::Process;
use crate::riscv::space;

impl Decoder {
    /// The timestamp of a message: absolute, or a difference, which is unknown before the first
    /// absolute one.
    pub(super) fn time<S: Sink>(
        &mut self,
        at: u64,
        sent: Option<u64>,
        absolute: bool,
        config: &Config,
        sink: &mut S,
    ) {
        let Some(sent) = sent else { return };
        let range = 1u64.checked_shl(config.time_bits.into());
        let mask = range.map_or(u64::MAX, |range| range - 1);
        let value = if absolute {
            sent & mask | self.time.unwrap_or(0) & !mask
        } else {
            let Some(before) = self.time else { return };
            match config.times {
                Times::Delta => before.wrapping_add(sent),
                Times::Xor => before ^ sent,
            }
        };
        // The counter has wrapped.
        let wraps = self.time.is_some_and(|before| value < before);
        let value = match range.filter(|_| wraps) {
            Some(range) => value.wrapping_add(range),
            None => value,
        };
        self.time = Some(value);
        sink.element(at, Element::Timestamp { value, cycles: None });
    }

    /// An Ownership message.
    pub(super) fn ownership<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        process: Process,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        match Owner::after(self.owner, process) {
            Some(owner) => self.enter(at, owner, config, code, sink),
            // The program writes PROCESS as it likes.
            None if config.profile.is_sifive() => {}
            None => sink.element(at, Element::Inconsistency(Inconsistency::Unexpected)),
        }
    }

    /// Emits the privilege and the context, if they differ from the last ones.
    fn enter<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        owner: Owner,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if self.owner.replace(owner) == Some(owner) {
            return;
        }
        self.space = owner.privilege.map_or(Space::ANY, space);
        let context = Context {
            context_id: owner.scontext.map(|id| id as u32),
            vmid: owner.hcontext.map(|id| id as u32),
            el: owner.privilege,
            security: None,
            bits64: config.rv64,
            isa: config.isa(),
        };
        sink.element(at, Element::Context(context));
        code.enter_context(&context);
    }

    /// A write to the stimulus register at byte offset `address`, whose low bits are the width of
    /// the write. (SiFive ITC)
    pub(super) fn software_write<S: Sink>(
        &mut self,
        at: u64,
        address: u64,
        value: u64,
        config: &Config,
        sink: &mut S,
    ) {
        let bits = match address & 0b11 {
            _ if value > u64::from(u32::MAX) => 64,
            2 if config.profile.is_sifive() => 16,
            3 if config.profile.is_sifive() => 8,
            _ => 32,
        };
        let channel = address >> 2;
        match u8::try_from(channel >> 5) {
            Ok(page) => {
                let port = (channel & 0x1f) as u8;
                let channel = Channel::Port { page: Some(page), port };
                sink.element(at, Element::SoftwareWrite(Software::new(channel, bits, value)));
            }
            Err(_) => sink.element(at, Element::Inconsistency(Inconsistency::Unexpected)),
        }
    }

    /// A sample of the program counter: what was executed since the last one is not known.
    pub(super) fn sample<S: Sink>(&mut self, at: u64, field: u64, config: &Config, sink: &mut S) {
        let next = config.address(field);
        if let Some(start) = self.sampled {
            sink.element(at, Element::Unknown { start, next, instructions: Counted::UNKNOWN });
        }
        self.stop(Phase::Off);
        (self.reference, self.sampled) = (Some(field), Some(next));
    }

    /// An event of in-circuit trace: its CKSRC and CKDATA1. `data0` is CKDATA0; `full`: if it is an
    /// address, it is a whole one.
    #[expect(clippy::too_many_arguments, reason = "the fields of a message")]
    pub(super) fn event<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        (cksrc, data1): (u8, Option<u64>),
        data0: u64,
        full: bool,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if cksrc == event::CONTEXT {
            let (id, owner) = (Some(data0 >> 2), self.owner.unwrap_or_default());
            match data0 & 0b11 {
                2 => self.enter(at, Owner { scontext: id, ..owner }, config, code, sink),
                3 => self.enter(at, Owner { hcontext: id, ..owner }, config, code, sink),
                _ => {}
            }
            return;
        }
        if !names::has_address(cksrc, data1.is_some().into()) {
            // A code without an address, or values.
            return;
        }
        let field = match (full, self.reference) {
            (true, _) => data0,
            (false, Some(reference)) => reference ^ data0,
            (false, None) => return,
        };
        if self.phase == Phase::Following {
            // Instruction trace goes on: the event has no effect on the path.
            self.reference = Some(field);
        } else {
            self.sample(at, field, config, sink);
        }
        match (cksrc, data1) {
            (event::CONTROL, Some(2)) => sink.element(at, Element::TraceOn(Start::Normal)),
            (event::CONTROL, Some(4)) => sink.element(at, Element::TraceOn(Start::Debug)),
            (event::TRIGGER, _) => sink.element(at, Element::Trigger),
            (event::CALL, Some(difference)) => {
                // A call or a return: the target is where the program goes on.
                self.sampled = Some(config.address(field ^ difference));
            }
            (event::EXCEPTION, _) => self.event_trap(at, 2, config.address(field), sink),
            (event::INTERRUPT, _) => self.event_trap(at, 3, config.address(field), sink),
            (event::WATCHPOINT, Some(id)) if id < 8 => {
                sink.element(at, Element::Events(1 << id));
            }
            _ => {}
        }
    }

    fn event_trap<S: Sink>(&mut self, at: u64, btype: u8, address: u64, sink: &mut S) {
        if self.phase != Phase::Following {
            self.position = super::Position::At(address);
            self.trap(at, btype, sink);
            self.position = super::Position::Unknown;
        }
    }
}
