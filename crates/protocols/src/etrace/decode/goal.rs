//! The goal of a walk through the program, and its limits.

use tracewright_base::{Block, End};

use crate::etrace::config::Params;

/// Where a walk ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    /// The address of the reported instruction. `None`: the walk ends with the last known branch.
    pub(super) address: Option<u64>,
    /// A jump of unknown target leads to the address. An earlier visit without such a jump is not
    /// the goal.
    pub(super) jumped: bool,
    /// The packet may be a notification: a visit without a jump is the goal, without ambiguity.
    pub(super) notified: bool,
    /// `irdepth` or `irets` of the packet.
    pub(super) returns: Option<u16>,
    /// The packet has branch outcomes, where that matters ([`Params::needs_report_reason`]).
    ///
    /// [`Params::needs_report_reason`]: crate::etrace::config::Params::needs_report_reason
    pub(super) branches: bool,
    /// The walk ends before the instruction at the address: a start packet reports the first
    /// instruction after the walk.
    pub(super) before: bool,
    /// The goal is in another context.
    pub(super) context: bool,
}

impl Goal {
    /// The last known branch.
    pub(super) const BRANCHES: Goal = Goal {
        address: None,
        jumped: false,
        notified: false,
        returns: None,
        branches: false,
        before: false,
        context: false,
    };

    /// Whether the goal is `distance` bytes after the start of `block` and the walk may end there.
    /// It may end before an illegal opcode, which was not retired.
    #[inline]
    pub(super) fn is_in(&self, block: &Block, distance: u64, params: &Params) -> bool {
        let bytes = u64::from(block.bytes);
        distance < bytes
            || distance == bytes
                && block.end == End::Invalid
                && (self.before || params.reports_trapped())
    }
}

/// What a jump with a known target costs of the allowance of a packet, in instructions, where a
/// packet has at most 31 branches: it ends a loop without a branch early.
pub(super) const JUMP: u64 = 1 << 9;

/// What a block costs of the allowance of a packet in addition to its instructions, where a packet
/// can have any number of blocks: it bounds the elements of the packet.
pub(super) const BLOCK: u64 = 1 << 6;

/// What a block costs of the allowance of its packet, without [`BLOCK`].
#[inline(always)]
pub(super) fn cost(instructions: u32, jump: bool) -> u64 {
    u64::from(instructions) + if jump { JUMP } else { 0 }
}

/// The most blocks and jumps between two branches. A longer path is a loop that never ends.
const MAX_PATH: u32 = 1 << 14;

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walked {
    /// At its goal.
    There,
    /// The packets contradict the program, or its code is not known. The walk has reported which.
    Lost,
}

/// The result of following a jump of unknown target.
pub(super) enum Jumped {
    /// The jump is an implied return: the walk goes on at its target.
    On,
    /// The jump leads to the goal.
    There,
    /// The jump leads to the goal, and so may another path through the top of the return stack.
    Ambiguous,
    /// The jump cannot lead to the goal.
    Nowhere,
}

/// Whether a return is implied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Implied {
    Yes,
    No,
    /// It is implied if the unit does not report a jump before another context.
    Perhaps,
}

/// The most blocks that a path without a branch may have between an address and the jump to it.
pub(super) const LONGEST_DETOUR: u32 = 64;

/// The length of a path without a branch. A path that comes back to an earlier address never ends.
#[derive(Clone, Copy, Default)]
pub(super) struct Path {
    steps: u32,
    /// An earlier address on the path, to detect a cycle by Brent's algorithm: it moves to the
    /// current address whenever the number of steps is a power of two.
    /// `None` since the last implied return, because the return stack differs from then on.
    mark: Option<u64>,
}

impl Path {
    /// Whether the path may go on at `pc`: it is not too long, and does not come back to the mark.
    #[inline]
    pub(super) fn goes_on(&mut self, pc: u64) -> bool {
        self.steps += 1;
        if self.mark == Some(pc) || self.steps > MAX_PATH {
            return false;
        }
        if self.steps.is_power_of_two() {
            self.mark = Some(pc);
        }
        true
    }

    /// An implied return changes where the next ones go.
    #[inline]
    pub(super) fn forget_mark(&mut self) {
        self.mark = None;
    }
}
