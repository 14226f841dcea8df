//! Walks of consecutive instructions, past waypoints that are not taken.

use tracewright_base::{BlockCache, Counted, Element, End, Instruction, Kind, Last, Pc, Range};

use crate::look_up::may_follow;

/// The maximum distance to a traced address or to a waypoint, in bytes. A longer walk means that
/// the program image is wrong.
pub(super) const MAX_WALK: u64 = 1 << 26;

/// The maximum number of P0 elements in one byte, an Atom packet of format 6:
/// [`Code::max_expansion`] instructions are divided among them.
///
/// [`Code::max_expansion`]: tracewright_base::Code::max_expansion
const MAX_ELEMENTS: u32 = 24;

/// A waypoint inside a walk counts as this many instructions: each needs a look-up.
pub(super) const WAYPOINT_COST: u32 = 16;

/// The maximum number of instructions of one P0 element.
pub(super) fn limit<K: BlockCache>(code: &K) -> u32 {
    code.max_expansion() / MAX_ELEMENTS
}

/// Why a walk ended early.
pub(super) enum Stop {
    /// The instruction at the location cannot be read: memory is missing at the address, or the
    /// location is not aligned.
    NoCode(Pc, u64),
    /// `resets`: the decoder waits for the next synchronisation, as OpenCSD does where it checks
    /// opcodes. Otherwise it waits for the next address.
    Invalid {
        resets: bool,
    },
    NotReached,
    /// At [`Code::max_expansion`](tracewright_base::Code::max_expansion).
    Limit,
}

/// The instructions of a walk.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) instructions: u32,
    pub(super) last: Option<Instruction>,
    /// The last instruction is a waypoint.
    pub(super) waypoint: bool,
    /// An instruction before the last one is a branch without a condition, which is not taken.
    pub(super) passed: bool,
}

impl Walked {
    /// Whether the instruction at `next` can be executed after it.
    pub(super) fn can_precede(&self, next: u64) -> bool {
        let Some(last) = self.last.as_ref() else { return true };
        let falls_through = next == self.end;
        match (last.kind, last.target) {
            (Kind::Indirect, _) => true,
            (Kind::Branch, Some(target)) => next == target || falls_through && last.conditional,
            _ => falls_through,
        }
    }

    /// Whether the last instruction is a branch without a condition.
    pub(super) fn is_unconditional(&self) -> bool {
        self.waypoint && self.last.as_ref().is_some_and(Instruction::is_unconditional)
    }

    pub(super) fn range(&self, taken: bool) -> Option<Element> {
        let last = self.last.as_ref()?;
        Some(Element::Range(Range {
            start: self.start,
            bytes: self.end.wrapping_sub(self.start) as u32,
            instructions: self.instructions,
            cycles: Counted::UNKNOWN,
            last: Last::new(last, taken),
        }))
    }
}

/// The end of a walk.
#[derive(Clone, Copy)]
pub(super) enum Until {
    /// After the first waypoint.
    Waypoint,
    /// Before this address; waypoints before it are not taken.
    Address(u64),
    /// After this number of instructions, or after the first waypoint.
    Count(u32),
}

/// Walks consecutive instructions from `pc`: at most `limit` of them, or one block. `at`: the
/// offset of the packet.
pub(super) fn walk<K: BlockCache>(
    at: u64,
    pc: Pc,
    code: &mut K,
    until: Until,
    mut limit: u32,
) -> (Walked, Option<Stop>) {
    let mask = pc.isa.address_mask();
    let mut walked = Walked { start: pc.address, end: pc.address, ..Walked::default() };
    loop {
        let here = Pc { address: walked.end, ..pc };
        let left = match until {
            Until::Waypoint => MAX_WALK.saturating_sub(walked.end.wrapping_sub(pc.address)),
            Until::Address(to) => (to & mask).wrapping_sub(here.address) & mask,
            Until::Count(count) => u64::from(count.saturating_sub(walked.instructions)),
        };
        if left == 0 {
            let stop = matches!(until, Until::Waypoint).then_some(Stop::NotReached);
            return (walked, stop);
        }
        // The address is before `pc`, or too far after it.
        if matches!(until, Until::Address(_)) && left > MAX_WALK {
            return (walked, Some(Stop::NotReached));
        }
        let block = match code.block(here) {
            Ok(block) if block.instructions == 0 => {
                return (walked, Some(Stop::Invalid { resets: code.checks_opcodes() }));
            }
            Ok(block) => *block,
            Err(miss) => return (walked, Some(Stop::NoCode(here, miss.address))),
        };
        let fits = match until {
            Until::Waypoint => true,
            Until::Address(_) => u64::from(block.bytes) <= left,
            Until::Count(_) => u64::from(block.instructions) <= left,
        };
        let more = if fits { block.instructions } else { 1 };
        if walked.instructions > 0 && (more > limit || !may_follow(at, more, code)) {
            return (walked, Some(Stop::Limit));
        }
        let at_waypoint = fits && block.end == End::Waypoint;
        limit = limit.saturating_sub(more + if at_waypoint { WAYPOINT_COST } else { 0 });
        if fits {
            walked.end = block.next();
            walked.instructions = walked.instructions.saturating_add(block.instructions);
            walked.passed |= walked.is_unconditional();
            walked.last = Some(block.last);
            walked.waypoint = block.end == End::Waypoint;
            if walked.waypoint && !matches!(until, Until::Address(_)) {
                return (walked, None);
            }
            continue;
        }
        // The walk ends inside the block: one instruction at a time.
        match code.instruction(here) {
            Ok(instruction) => {
                let size = u64::from(instruction.size);
                if matches!(until, Until::Address(_)) && left < size {
                    return (walked, Some(Stop::NotReached));
                }
                walked.end = here.address.wrapping_add(size) & mask;
                walked.instructions += 1;
                walked.passed |= walked.is_unconditional();
                (walked.last, walked.waypoint) = (Some(instruction), false);
            }
            Err(miss) => return (walked, Some(Stop::NoCode(here, miss.address))),
        }
    }
}
