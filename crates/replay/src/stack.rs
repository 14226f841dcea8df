//! The call stack at the position.

use tracewright::analysis::stacks::FunctionId;
use tracewright::base::{Element, Kind, Role};
use tracewright::index::FindError;

use crate::frame::{Frame, Stack};
use crate::machine::{Instruction, Machine};
use crate::windows::Entry;

/// The elements after which a stack of an earlier element is decoded again.
const NEAR: u64 = 64;

impl Machine<'_> {
    /// The call stack of `source` at its instruction, the innermost frame first. It is that of a
    /// decoding of the whole trace. Empty where the source has executed nothing.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn stack(&mut self, source: usize) -> Result<Vec<Frame>, FindError> {
        let Some(here) = self.at(source)? else { return Ok(Vec::new()) };
        let stack = match self.stack.take() {
            Some(stack) if self.is_same_stack(&stack, &here)? => {
                Stack { element: here.position.element, ..stack }
            }
            _ => {
                let found = self.player.stack(here.position.element, source)?;
                let (thread, frames) = (found.thread, found.frames);
                Stack { element: here.position.element, source, thread, frames }
            }
        };
        let mut address = Some(here.address);
        let frames = stack.frames.iter().rev().map(|(saved, open)| {
            let own = Frame {
                function: saved.function,
                address,
                ret: saved.ret,
                entry: saved.entry,
                thread: stack.thread,
                depth: open.depth,
                began: open.instructions,
                interrupts: saved.exception || saved.signal,
                uncertain: saved.uncertain,
            };
            address = saved.ret;
            own
        });
        let frames = frames.collect();
        self.stack = Some(stack);
        Ok(frames)
    }

    /// Whether nothing between a stack and `here` changes the stack: jumps inside the function.
    fn is_same_stack(&mut self, stack: &Stack, here: &Instruction) -> Result<bool, FindError> {
        let (from, to) = (stack.element, here.position.element);
        if stack.source != here.source || from.abs_diff(to) > NEAR {
            return Ok(false);
        }
        if from == to {
            return Ok(true);
        }
        let Some(FunctionId::Known(function)) = stack.frames.last().map(|top| top.0.function)
        else {
            return Ok(false);
        };
        let Some(known) = self.code().get(function) else { return Ok(false) };
        // Where a process has mapped the file, the addresses of the function are those in it.
        if known.module.is_some() {
            return Ok(false);
        }
        let inside = known.function.start..known.function.end;
        let (first, last) = (from.min(to), from.max(to));
        for number in first..=last {
            let Some(entry) = self.entry(number)? else { return Ok(false) };
            if entry.source == here.source && !stays(&entry, &inside, number == last) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether an element leaves the stack as it is: instructions of the function, the last of which
/// does not call or return, and what is not about execution.
fn stays(entry: &Entry, inside: &std::ops::Range<u64>, last: bool) -> bool {
    match entry.element {
        Element::Range(range) => {
            let own = inside.contains(&range.start) && range.end() <= inside.end;
            // To its first instruction it may be called, or jump.
            let jumps = matches!(range.last.kind, Kind::Plain | Kind::Branch)
                && matches!(range.last.role, Role::Jump | Role::Compare | Role::Loop);
            own && range.start != inside.start && (last || jumps)
        }
        Element::Timestamp { .. } | Element::Cycles(_) | Element::Events(_) => true,
        _ => false,
    }
}
