//! The cost of code that one packet runs through, beyond its first block.

use tracewright_base::Code;

/// What following a block takes from the [`Reserve`](tracewright_base::Reserve), in addition to its
/// instructions.
const LOOK_UP: u64 = 1 << 6;

/// Takes from the reserve what it costs to follow another block of `instructions`, for a packet at
/// offset `at`. Returns whether it may be followed. The first block is free: the fast path has no
/// others.
pub(crate) fn may_follow<C: Code>(at: u64, instructions: u32, code: &mut C) -> bool {
    let mut reserve = code.work_reserve();
    let left = reserve.take(at, u64::from(instructions) + LOOK_UP);
    code.set_work_reserve(reserve);
    left
}
