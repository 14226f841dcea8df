//! Registers and memory.

use tracewright::index::FindError;
use tracewright_replay::Position;

use crate::hex;
use crate::packet::MOST;
use crate::server::Server;
use crate::synthetic::Synthetic;
use crate::target::{Known, Register};
use crate::thread::Thread;

/// `EFAULT`: memory that is not known.
const UNKNOWN_MEMORY: &[u8] = b"E0e";

impl Server<'_> {
    /// `g`: all registers.
    pub(crate) fn all_registers(&mut self) -> Result<Vec<u8>, FindError> {
        let mut answer = Vec::new();
        for register in self.architecture.registers() {
            hex::put_value(self.value(&register)?, register.size, &mut answer);
        }
        Ok(answer)
    }

    /// `p`: a register.
    pub(crate) fn register(&mut self, number: u64) -> Result<Vec<u8>, FindError> {
        let all = self.architecture.registers();
        let Some(register) = all.iter().find(|register| register.number == number) else {
            return Ok(b"E01".to_vec());
        };
        let mut answer = Vec::new();
        hex::put_value(self.value(register)?, register.size, &mut answer);
        Ok(answer)
    }

    /// The value of a register of the selected thread, where it is known.
    fn value(&mut self, register: &Register) -> Result<Option<u64>, FindError> {
        if register.known == Known::Thread {
            return Ok(Some(self.machine.here().source as u64 + 1));
        }
        if self.selected.task.is_some() {
            return self.value_of_waiting(register);
        }
        let Some(own) = self.at(self.selected.source)? else { return Ok(None) };
        Ok(match register.known {
            Known::Pc => Some(own.address),
            Known::Instruction => Some(own.number),
            Known::Time => own.time,
            Known::Zero => Some(0),
            Known::Nothing | Known::Thread => None,
            // gdb reads it to unwind a function without unwind tables.
            Known::Status => self.with_stack.then(|| self.architecture.status(own.isa)),
            Known::Dwarf(number) => {
                self.stack()?.and_then(|stack| stack.registers.get(&number)).copied()
            }
        })
    }

    /// The same of a task that waits.
    fn value_of_waiting(&mut self, register: &Register) -> Result<Option<u64>, FindError> {
        Ok(match register.known {
            Known::Pc => self.waiting(self.selected)?.and_then(|own| own.resume),
            Known::Zero => Some(0),
            Known::Dwarf(number) => {
                self.stack()?.and_then(|stack| stack.registers.get(&number)).copied()
            }
            // The instruction set in which it goes on is not traced before it does.
            _ => None,
        })
    }

    /// The invented stack of the selected thread; `None` where it is turned off.
    pub(crate) fn stack(&mut self) -> Result<Option<&Synthetic>, FindError> {
        if !self.with_stack {
            return Ok(None);
        }
        let Some(own) = self.at(self.selected.source)? else { return Ok(None) };
        let (position, thread) = (own.position, self.selected);
        let same = |(at, of, _): &(Position, Thread, Synthetic)| (*at, *of) == (position, thread);
        if !self.synthetic.as_ref().is_some_and(same) {
            let frames = self.frames_of(thread)?;
            let tables = &self.tables;
            let mut rules = |address| tables.at(address);
            let made = Synthetic::new(&frames, self.top, self.architecture, &mut rules);
            self.synthetic = Some((position, thread, made));
        }
        Ok(self.synthetic.as_ref().map(|(_, _, made)| made))
    }

    /// `m`, `x`: memory that is known from `address` on, as far as it is.
    pub(crate) fn memory(
        &mut self,
        address: u64,
        len: u64,
        binary: bool,
    ) -> Result<Vec<u8>, FindError> {
        let most = usize::try_from(len).unwrap_or(usize::MAX).min(MOST / 2 - 1);
        let mut known = vec![0; most];
        let mut count = self.constants.read(address, &mut known);
        if count == 0 {
            count = self.machine.read_code(self.selected.source, address, &mut known)?;
        }
        if count == 0 && self.has_accesses()? {
            count = self.machine.read_accessed(self.selected.source, address, &mut known)?;
        }
        known.truncate(count);
        let size = self.architecture.address_size();
        if known.is_empty()
            && let Some(stack) = self.stack()?
        {
            stack.read(address, size, &mut known, most);
        }
        if known.is_empty() && most > 0 {
            return Ok(UNKNOWN_MEMORY.to_vec());
        }
        let mut answer = Vec::new();
        if binary {
            answer.push(b'b');
            answer.extend(&known);
        } else {
            hex::put(&known, &mut answer);
        }
        Ok(answer)
    }
}
