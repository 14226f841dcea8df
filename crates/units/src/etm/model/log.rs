//! The model observes the steps of an execution.

use tracewright_base::{Access, Direction, Security, Step, Taken};

use super::{CycleEnd, Inputs, Instruction, Item, Model, Transfer};
use crate::etm::settings::Settings;
use crate::verdict::{Filter, Outcome, Verdict};

/// Most idle cycles between two instructions that the model follows one by one.
const MOST_IDLE: u32 = 1 << 16;

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
    privileged: bool,
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
            privileged: true,
            open: false,
            ended: CycleEnd::default(),
        }
    }

    fn end(&mut self) {
        if self.open {
            let end = self.model.end_cycle();
            self.ended.trigger |= end.trigger;
            self.ended.debug_request |= end.debug_request;
            self.ended.outputs = end.outputs;
            self.open = false;
        }
    }

    fn instruction(&mut self, address: u64, taken: bool) -> Verdict {
        self.end();
        let address = address as u32;
        // EmbeddedICE inputs: the DWT compares the addresses of executed instructions.
        let watchpoints = self.model.settings.watchpoints.iter().enumerate();
        let ice = watchpoints
            .filter(|(_, watchpoint)| **watchpoint == Some(address))
            .fold(0, |all, (n, _)| all | 1 << n);
        self.model.begin_cycle(&Inputs { ice, ..Inputs::default() });
        self.open = true;
        self.model.item(&Item::Instruction(Instruction {
            address,
            passed: taken,
            cancelled: false,
            context: self.context,
            vmid: self.vmid,
            non_secure: self.non_secure,
            privileged: self.privileged,
            prohibited: false,
            // A step has no opcode, so that DBG instructions are not recognised.
            hint: None,
        }))
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
        };
        if access.size != 8 {
            return self.model.item(&Item::Data(transfer));
        }
        // A doubleword is two words. (2.8.3) It is traced if one of them is.
        let high = access.value().map(|value| (value >> 32) as u32);
        let (first, second) =
            if big_endian { (high, transfer.value) } else { (transfer.value, high) };
        let one = self.model.item(&Item::Data(Transfer { value: first, ..transfer }));
        let other = self.model.item(&Item::Data(Transfer {
            address: transfer.address.wrapping_add(4),
            value: second,
            ..transfer
        }));
        match rank(one) >= rank(other) {
            true => one,
            false => other,
        }
    }
}

/// The more a verdict requires, the higher.
fn rank(verdict: Verdict) -> u8 {
    use crate::verdict::Requirement::{May, Must, MustNot};
    match verdict.requirement {
        MustNot => 0,
        May => 1,
        Must => 2,
    }
}

impl Filter for LogFilter {
    fn step(&mut self, step: &Step) -> Outcome {
        let verdict = match step {
            Step::Retired(retired) => Some(self.instruction(retired.address, retired.taken)),
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
                self.privileged = context.el.is_none_or(|el| el > 0);
                None
            }
            Step::Cycles(cycles) => {
                self.end();
                for _ in 1..(*cycles).min(MOST_IDLE) {
                    self.model.begin_cycle(&Inputs::default());
                    self.open = true;
                    self.end();
                }
                None
            }
            Step::Halted => {
                self.end();
                None
            }
            _ => None,
        };
        let ended = std::mem::take(&mut self.ended);
        Outcome { verdict, trigger: ended.trigger, outputs: ended.outputs }
    }

    fn revised(&self) -> Option<Verdict> {
        self.model.last_instruction()
    }
}
