//! The call stack at the position.

use tracewright::analysis::stacks::{FunctionId, SavedFrame};
use tracewright::base::{Element, Kind, Role};
use tracewright::index::FindError;
use tracewright::index::view::{OpenFrame, ParkedAt, StackAt, ViewThread};

use crate::frame::{Frame, Parked, Stack};
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
        let stack = self.stack_at(source, &here)?;
        Ok(frames(Some(here.address), stack.thread, &stack.frames))
    }

    /// The threads that `source` does not execute at its instruction, and that have open frames:
    /// tasks of an operating system that wait.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn parked(&mut self, source: usize) -> Result<Vec<Parked>, FindError> {
        let Some(here) = self.at(source)? else { return Ok(Vec::new()) };
        let of = |own: &ParkedAt| {
            let StackAt { thread, frames: saved } = &own.stack;
            Parked {
                thread: *thread,
                resume: own.resume,
                frames: frames(own.resume, *thread, saved),
            }
        };
        Ok(self.stack_at(source, &here)?.parked.iter().map(of).collect())
    }

    /// The stack of `source` at `here`, its instruction.
    fn stack_at(&mut self, source: usize, here: &Instruction) -> Result<&Stack, FindError> {
        let element = here.position.element;
        let stack = match self.stack.take() {
            Some(stack) if self.is_same_stack(&stack, here)? => Stack { element, ..stack },
            _ => {
                let (found, parked) = self.player.stack_and_parked(element, source)?;
                let StackAt { thread, frames } = found;
                Stack { element, source, thread, frames, parked }
            }
        };
        Ok(self.stack.insert(stack))
    }

    /// The threads of all sources in the trace, by their numbers; `None` for numbers that no thread
    /// has.
    pub fn threads(&self) -> &[Option<ViewThread>] {
        self.view().names().threads()
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

/// The frames of a thread that executes at `address`, the innermost first.
fn frames(mut address: Option<u64>, thread: u32, saved: &[(SavedFrame, OpenFrame)]) -> Vec<Frame> {
    let frames = saved.iter().rev().map(|(saved, open)| {
        let own = Frame {
            function: saved.function,
            address,
            ret: saved.ret,
            entry: saved.entry,
            thread,
            depth: open.depth,
            began: open.instructions,
            interrupts: saved.exception || saved.signal,
            uncertain: saved.uncertain,
        };
        address = saved.ret;
        own
    });
    frames.collect()
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
