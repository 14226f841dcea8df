//! Implicit returns: calls that the decoder has seen tell where returns go. (2.0, "Implicit return
//! mode", "Format 2 irreport and irdepth")

use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZero;

use super::flow::{Inst, is};
use crate::etrace::config::Params;

/// What is known of calls since the last synchronisation.
#[derive(Clone, Debug)]
pub(super) struct Returns {
    /// The return addresses, the innermost at `top`, around the end. Empty: they are not compared.
    stack: Vec<u64>,
    top: usize,
    /// Calls that were not returned from.
    depth: u32,
    /// No more are counted.
    most: u32,
    /// There was a return since the last call.
    returned: bool,
    /// There was a branch since the last return.
    branched: bool,
    /// The last instruction was an implicit return.
    was_return: bool,
    /// It did not go where it was expected to, and this many calls were open.
    failed: Option<u16>,
}

impl Returns {
    pub(super) fn new(params: &Params) -> Self {
        let w = &params.widths;
        let most = match (w.return_stack_size, w.call_counter_size) {
            _ if !params.options.implicit_return => 0,
            (0, 0) => 0,
            (0, counter) => (1u32 << counter.min(16)) - 1,
            (stack, _) => 1u32 << stack.min(16),
        };
        let size = if w.return_stack_size > 0 { most as usize } else { 0 };
        Returns {
            stack: vec![0; size],
            top: 0,
            depth: 0,
            most,
            returned: false,
            branched: false,
            was_return: false,
            failed: None,
        }
    }

    /// A synchronisation packet was sent.
    pub(super) fn clear(&mut self) {
        self.depth = 0;
        self.returned = false;
        self.branched = false;
        self.was_return = false;
        self.failed = None;
    }

    /// A branch.
    #[inline]
    pub(super) fn branch(&mut self) {
        self.branched = true;
    }

    /// An instruction, `cur`, that goes to `next`; `sequential`: the one before it tells where.
    /// Whether it is a return that need not be told.
    #[inline]
    pub(super) fn instruction(&mut self, cur: &Inst, next: &Inst, sequential: bool) -> bool {
        self.was_return = false;
        self.failed = None;
        if self.most == 0 || !cur.is(is::CALL | is::RETURN) {
            return false;
        }
        if cur.is(is::CALL) {
            self.call(cur.after);
            return false;
        }
        !sequential && cur.is(is::UPDISCON) && self.returns(next)
    }

    fn call(&mut self, after: u64) {
        self.depth = (self.depth + 1).min(self.most);
        if let Some(len) = NonZero::new(self.stack.len()) {
            self.top = (self.top + 1) % len;
        }
        if let Some(entry) = self.stack.get_mut(self.top) {
            *entry = after;
        }
        self.returned = false;
    }

    fn returns(&mut self, next: &Inst) -> bool {
        if self.depth == 0 {
            return false;
        }
        if self.stack.get(self.top).is_some_and(|entry| *entry != next.address) {
            self.failed = Some(self.depth as u16);
            return false;
        }
        self.depth -= 1;
        if let Some(len) = NonZero::new(self.stack.len()) {
            self.top = (self.top + len.get() - 1) % len;
        }
        self.returned = true;
        self.branched = false;
        self.was_return = true;
        true
    }

    /// What a packet with the address of the next instruction says of the calls. `target`: it is
    /// reported as the target of a jump.
    pub(super) fn report(&self, target: bool) -> Option<u16> {
        let depth = self.depth as u16;
        match target {
            true => self.failed,
            false if self.was_return => (depth > 0).then_some(depth),
            false => (self.returned && !self.branched).then_some(depth),
        }
    }
}
