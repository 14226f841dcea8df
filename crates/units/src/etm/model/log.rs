//! The model observes the steps of an execution.

use std::collections::BTreeMap;

use tracewright_base::{Access, Direction, Isa, Retired, Security, Step, Taken};

use super::{CycleEnd, Inputs, Instruction, Instrumentation, Item, Model, Transfer};
use crate::etm::settings::Settings;
use crate::verdict::{Filter, Outcome, Verdict};

/// An ETM that observes steps. Each instruction with its data accesses is a cycle; a
/// [`Step::Cycles`] adds the others.
#[derive(Clone, Debug)]
pub struct LogFilter {
    /// The model.
    pub model: Model,
    /// Context of the next instruction.
    context: Option<u32>,
    vmid: Option<u8>,
    non_secure: bool,
    level: Option<u8>,
    /// Tracing is prohibited for the next instruction.
    prohibited: bool,
    /// The signals: 0 to 3 are external inputs 1 to 4, 248 to 255 are EmbeddedICE inputs 1 to 8,
    /// and all are the extended external input bus. A bus of more than 248 inputs shares the last.
    signals: [u64; 4],
    /// The options of DBG instructions in program memory, by address and for T32 or A32.
    hints: BTreeMap<(u32, bool), u8>,
    /// A cycle has begun.
    open: bool,
    /// What the end of the last cycle reports, with the next outcome.
    ended: CycleEnd,
}

impl LogFilter {
    /// The unit with `settings`.
    pub fn new(settings: Settings) -> LogFilter {
        LogFilter {
            model: Model::new(settings),
            context: None,
            vmid: None,
            non_secure: false,
            level: None,
            prohibited: false,
            signals: [0; 4],
            hints: BTreeMap::new(),
            open: false,
            ended: CycleEnd::default(),
        }
    }

    fn end(&mut self) {
        if self.open {
            let end = self.model.end_cycle();
            self.ended(end);
            self.open = false;
        }
    }

    /// What one or more cycles end with.
    fn ended(&mut self, end: CycleEnd) {
        self.ended.trigger |= end.trigger;
        self.ended.debug_request |= end.debug_request;
        self.ended.outputs = end.outputs;
    }

    /// The inputs besides those of the instruction.
    fn inputs(&self) -> Inputs {
        Inputs { external: (self.signals[0] & 0xf) as u8, bus: self.signals, ..Inputs::default() }
    }

    /// The EmbeddedICE inputs among the signals: bit n is input n + 1.
    fn ice_signals(&self) -> u8 {
        (self.signals[3] >> 56) as u8
    }

    fn instruction(&mut self, retired: &Retired) -> Verdict {
        self.end();
        let address = retired.address as u32;
        let thumb = matches!(retired.instruction.isa, Isa::T32 | Isa::ThumbEe);
        // EmbeddedICE inputs are sampled at each instruction: the DWT compares its address, and the
        // comparators of other processors are signals of the log.
        let watchpoints = self.model.settings.watchpoints.iter().enumerate();
        let ice = watchpoints
            .filter(|(_, watchpoint)| **watchpoint == Some(address))
            .fold(self.ice_signals(), |all, (n, _)| all | 1 << n);
        self.model.begin_cycle(&Inputs { ice, ..self.inputs() });
        self.open = true;
        let instruction = Instruction {
            address,
            passed: retired.taken,
            cancelled: false,
            context: self.context,
            vmid: self.vmid,
            non_secure: self.non_secure,
            level: self.level,
            prohibited: self.prohibited,
            hint: self.hints.get(&(address, thumb)).copied(),
            under: false,
        };
        let first = self.model.item(&Item::Instruction(instruction));
        let halves = thumb && retired.instruction.size == 4;
        if !halves || self.model.settings.unit.thumb32_is_one {
            return first;
        }
        self.model.second_half(&Instruction {
            address: address.wrapping_add(2),
            hint: None,
            ..instruction
        })
    }

    fn access(&mut self, access: &Access) -> Verdict {
        if access.has(Access::COPROCESSOR) {
            return self.model.item(&Item::Coprocessor);
        }
        let store = match access.direction {
            Direction::Unknown => None,
            Direction::Read => Some(false),
            Direction::Write => Some(true),
        };
        let big_endian = access.has(Access::BIG_ENDIAN);
        let transfer = Transfer {
            address: access.address().unwrap_or(0) as u32,
            size: access.size.clamp(1, 4),
            value: access.value().map(|value| value as u32),
            big_endian,
            store,
            failed: access.has(Access::STORE_FAILED),
            out_of_order: access.has(Access::LATE),
            earlier: false,
        };
        if access.size != 8 {
            return self.transfer(transfer);
        }
        // A doubleword is two words. (2.8.3) It is traced if one of them is.
        let high = access.value().map(|value| (value >> 32) as u32);
        let (first, second) =
            if big_endian { (high, transfer.value) } else { (transfer.value, high) };
        let one = self.transfer(Transfer { value: first, ..transfer });
        let address = transfer.address.wrapping_add(4);
        let other = self.transfer(Transfer { address, value: second, ..transfer });
        one.stronger(other)
    }

    /// The verdict on a transfer. A log has the transfer and its late value in one access, so that
    /// the value returns in the same cycle.
    fn transfer(&mut self, transfer: Transfer) -> Verdict {
        let verdict = self.model.item(&Item::Data(transfer));
        if transfer.out_of_order {
            let _ = self.model.item(&Item::Returned(transfer));
        }
        verdict
    }
}

impl Filter for LogFilter {
    fn step(&mut self, step: &Step) -> Outcome {
        let verdict = match step {
            Step::Retired(retired) => Some(self.instruction(retired)),
            Step::Access(access) => Some(self.access(access)),
            Step::Exception(Taken { cancels, .. }) => {
                if *cancels {
                    self.model.cancel();
                }
                self.end();
                None
            }
            Step::Context(context) => {
                self.end();
                self.context = context.context_id.or(self.context);
                self.vmid = context.vmid.map(|vmid| vmid as u8).or(self.vmid);
                if let Some(security) = context.security {
                    self.non_secure = security == Security::NonSecure;
                }
                self.level = context.el.or(self.level);
                None
            }
            Step::Cycles(cycles) => {
                self.end();
                // No instruction is compared.
                let inputs = Inputs { ice_waits: u8::MAX, ..self.inputs() };
                if *cycles > 1 {
                    let end = self.model.idle(&inputs, cycles - 1);
                    self.ended(end);
                }
                None
            }
            Step::Halted => {
                self.end();
                None
            }
            Step::Off | Step::On => {
                self.end();
                self.prohibited = *step == Step::Off;
                None
            }
            Step::Signals(signals) => {
                self.end();
                self.signals = *signals;
                None
            }
            _ => None,
        };
        let ended = std::mem::take(&mut self.ended);
        Outcome { verdict, trigger: ended.trigger, outputs: ended.outputs }
    }

    fn uses_code(&self) -> bool {
        self.model.settings.unit.instrumentation > 0
    }

    fn code(&mut self, start: u64, bytes: &[u8]) {
        for (offset, window) in (0u32..).zip(bytes.windows(4)) {
            let &[a, b, c, d] = window else { continue };
            let address = (start as u32).wrapping_add(offset);
            // A T32 opcode is two halfwords, the first of which has the high bits.
            let t32 = u32::from_le_bytes([c, d, a, b]);
            if let Some(option) = Instrumentation::option(t32, true)
                && address.is_multiple_of(2)
            {
                self.hints.insert((address, true), option);
            }
            if let Some(option) = Instrumentation::option(u32::from_le_bytes([a, b, c, d]), false)
                && address.is_multiple_of(4)
            {
                self.hints.insert((address, false), option);
            }
        }
    }

    fn revised(&self) -> Option<Verdict> {
        self.model.last_instruction()
    }

    fn finish(&mut self) -> Outcome {
        self.end();
        let ended = std::mem::take(&mut self.ended);
        Outcome { verdict: None, trigger: ended.trigger, outputs: ended.outputs }
    }
}
