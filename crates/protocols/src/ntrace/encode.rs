//! A trace unit in software: the steps of a processor to messages.
//!
//! 1. Where several instructions retire at once, cycles count, or filters select,
//!    [`Port`] gathers the steps into cycles of the ingress port.
//! 2. Filters and triggers select the blocks that are traced.
//! 3. `flow` chooses the messages.

mod flow;
mod history;
mod outlet;
mod returns;
mod settings;
mod usual;

use tracewright_base::{Cause, Channel, Encode, Retired, Software, Step};

use flow::{Flow, Owner, stop, sync};

use super::config::{Config, Profile};
use super::packet::{Message, Packet};
use crate::ingress::{Block, ContextType, Cycle, Itype};
use crate::ingress_port::{Port, PortLimits};
use crate::trace_filter::{Nesting, Qualifier};

pub use history::FullHistory;
pub use returns::ReturnStack;
pub use settings::{COUNT_LIMIT, Period, Repeats, Settings, SyncPosition};

/// Encodes for an N-Trace unit.
#[derive(Clone, Debug)]
pub struct Encoder {
    flow: Flow,
    port: Option<Port>,
    qualifier: Qualifier,
    owner: Owner,
    end: u8,
    triggers: bool,
    inputs: u32,
    /// The last block did not pass the filters.
    filtered: bool,
    /// Steps, or triggers, have switched tracing off.
    off: bool,
}

impl Encode<Config, Packet> for Encoder {
    type Settings = Settings;

    fn new(config: &Config, settings: &Settings) -> Self {
        let nesting = Nesting { deepest: 16, choices: 64, user_width: 256 };
        let qualifier = Qualifier::new(nesting, &settings.filters, &settings.comparators);
        let blocks = settings.retires > 1
            || settings.fifo.bytes > 0
            || matches!(settings.period, Period::Cycles(_))
            || !qualifier.is_open();
        let limits = PortLimits {
            retires: settings.retires,
            blocks: 1,
            halfwords: 0xff,
            not_taken: None,
            ilastsize_width: 2,
            ecall_retires: false,
        };
        Encoder {
            flow: Flow::new(config, settings),
            port: blocks.then(|| Port::new(limits, ContextType::Precise)),
            qualifier,
            owner: Owner { level: 3, context: None },
            end: settings.end,
            triggers: settings.triggers,
            inputs: settings.inputs,
            filtered: false,
            off: false,
        }
    }

    #[inline]
    fn step(&mut self, step: &Step, config: &Config, out: &mut impl Extend<Packet>) {
        match step {
            Step::Retired(retired) if self.port.is_none() => {
                if !self.off {
                    let block = single(retired);
                    self.flow.block(&block, self.owner, config, out);
                }
            }
            other => self.other(other, config, out),
        }
    }

    fn finish(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        if let Some(mut port) = self.port.take() {
            port.flush(&mut |cycle| self.cycle(cycle, config, out));
            self.port = Some(port);
        }
        self.flow.flush(config, out);
        self.flow.stop(self.end, sync::ENABLED, config, out);
    }

    fn waited(&self) -> u64 {
        self.flow.outlet.fifo.waited()
    }
}

/// A block of one instruction.
#[inline]
fn single(retired: &Retired) -> Block {
    let (itype, sijump) = Itype::of(retired);
    let halfwords = retired.instruction.size / 2;
    Block {
        iaddr: retired.address,
        iretire: halfwords.into(),
        ilastsize: halfwords,
        itype,
        sijump,
        ..Block::default()
    }
}

impl Encoder {
    /// Takes one cycle of the ingress port. While the unit stalls the processor, the cycle is
    /// delayed.
    pub fn cycle(&mut self, cycle: &Cycle, config: &Config, out: &mut impl Extend<Packet>) {
        self.flow.advance(1);
        let waits = self.flow.outlet.stalls();
        if waits > 0 {
            self.flow.outlet.fifo.wait(waits);
            self.flow.advance(waits);
        }
        if cycle.side.trace_on && self.off {
            self.off = false;
        }
        if cycle.side.halted {
            self.flow.stop(stop::DEBUG, sync::DEBUG, config, out);
        }
        if cycle.side.reset {
            self.reset();
        }
        for block in cycle.blocks.iter().filter(|block| !block.is_empty()) {
            let (passes, notify) = self.qualifier.block(block, cycle);
            let owner = Owner { level: cycle.privilege, context: self.owner.context };
            if passes && !self.off {
                if notify || block.notify {
                    self.flow.mark(sync::EVENT);
                }
                self.flow.block(block, owner, config, out);
            } else if !self.filtered {
                self.flow.stop(stop::DISABLED, sync::ENABLED, config, out);
            }
            self.filtered = !passes;
            self.qualifier.after(block, cycle);
        }
        if cycle.side.trace_off && !self.off {
            self.off = true;
            self.flow.stop(stop::DISABLED, sync::ENABLED, config, out);
        }
    }

    /// The processor was reset: the next instruction has SYNC 1.
    fn reset(&mut self) {
        self.flow.mark(sync::RESET);
    }

    fn other(&mut self, step: &Step, config: &Config, out: &mut impl Extend<Packet>) {
        // Software switches tracing, too.
        if matches!(step, Step::Trigger | Step::Events(_)) && !self.triggers {
            return;
        }
        let gathers = self.port.is_some();
        if let Some(mut port) = self.port.take() {
            port.step(step, &mut |cycle| self.cycle(cycle, config, out));
            if let Step::Events(_) | Step::SoftwareWrite(_) | Step::Overflow = step {
                port.flush(&mut |cycle| self.cycle(cycle, config, out));
            }
            self.port = Some(port);
        }
        match *step {
            Step::Timestamp(time) => self.flow.outlet.time = time,
            Step::Context(context) => {
                self.owner.level = context.el.unwrap_or(self.owner.level);
                self.owner.context = context.context_id.or(self.owner.context);
            }
            Step::Events(events) => self.inputs(events, config, out),
            Step::SoftwareWrite(ref write) => self.software(write, config, out),
            Step::Overflow => self.flow.lose(config, out),
            Step::Cycles(cycles) => self.flow.advance(cycles.into()),
            _ if gathers => {}
            _ => self.direct(step, config, out),
        }
    }

    /// Takes signals of the external trigger inputs. (Trace Control Interface, "External Trace
    /// Triggers")
    fn inputs(&mut self, events: u8, config: &Config, out: &mut impl Extend<Packet>) {
        for n in (0..8).filter(|n| events >> n & 1 != 0) {
            match self.inputs >> (4 * n) & 0xf {
                2 => self.off = false,
                3 => self.direct(&Step::Off, config, out),
                4 => self.flow.mark(sync::EXTERNAL),
                _ => {}
            }
        }
    }

    /// Takes a step without the port.
    fn direct(&mut self, step: &Step, config: &Config, out: &mut impl Extend<Packet>) {
        match *step {
            Step::Trigger => self.flow.mark(sync::EVENT),
            Step::Off => {
                self.off = true;
                self.flow.stop(stop::DISABLED, sync::ENABLED, config, out);
            }
            Step::On => self.off = false,
            Step::Halted => self.flow.stop(stop::DEBUG, sync::DEBUG, config, out),
            Step::Exception(taken) => match taken.cause {
                Cause::Halt => self.flow.stop(stop::DEBUG, sync::DEBUG, config, out),
                Cause::Reset => self.reset(),
                cause => {
                    let Some((_, interrupt)) = crate::ingress::riscv_cause(cause) else { return };
                    let itype = if interrupt { Itype::Interrupt } else { Itype::Exception };
                    let block = Block { iaddr: taken.return_address, itype, ..Block::default() };
                    if !self.off {
                        self.flow.block(&block, self.owner, config, out);
                    }
                }
            },
            _ => {}
        }
    }

    /// A write to a stimulus register of a SiFive core: IDTAG is its offset and, for fewer than 4
    /// bytes, that of the bytes.
    fn software(&mut self, write: &Software, config: &Config, out: &mut impl Extend<Packet>) {
        let Channel::Port { port, .. } = write.channel else { return };
        if config.profile != Profile::Sifive || port > 31 {
            return;
        }
        let offset = match write.bits {
            8 => 3,
            16 => 2,
            _ => 0,
        };
        let idtag = u64::from(port) << 2 | offset;
        let data = write.value() & (u64::MAX >> (64 - u32::from(write.bits.clamp(1, 32))));
        self.flow.send(Message::DataAcquisition { idtag, data }, config, out);
    }
}
