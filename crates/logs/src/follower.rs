//! Changes of flow to the instructions between them.

use tracewright_base::{Isa, Kind};
use tracewright_isa::ItState;

use crate::entry::{Entry, Event, Executed, Raised};
use crate::lookup::Lookup;
use crate::processor::Pending;

/// The most instructions between two changes of flow.
const MOST: usize = 1 << 16;

/// Takes entries, and gives those of each instruction for [`Event::Branched`]. The log is that of
/// one processor.
#[derive(Debug)]
pub struct Follower {
    lookup: Lookup,
    /// The instruction set where nothing shows another one.
    isa: Isa,
    /// Where the last change of flow led.
    arrived: Option<(u64, Isa)>,
    /// Changes of flow to whose last instruction no code leads without a branch, and the first such
    /// instruction: between the two, nothing is known.
    unfollowed: (u64, Option<u64>),
}

impl Follower {
    /// Looks up instructions in `lookup`; the first one is of `isa`.
    pub fn new(lookup: Lookup, isa: Isa) -> Follower {
        Follower { lookup, isa, arrived: None, unfollowed: (0, None) }
    }

    /// Changes of flow to whose last instruction no code leads without a branch, and the first such
    /// instruction.
    pub const fn unfollowed(&self) -> (u64, Option<u64>) {
        self.unfollowed
    }

    /// Takes an entry.
    pub fn entry(&mut self, entry: Entry, out: &mut dyn FnMut(Entry)) {
        let Event::Branched { from, to } = entry.event else { return out(entry) };
        let Some((start, isa)) = self.arrived else {
            // What was executed before the first one is not known.
            self.arrived = Some((to, self.isa));
            return;
        };
        let between = self.between(start, from, isa).unwrap_or_else(|| {
            self.unfollowed.0 += 1;
            self.unfollowed.1.get_or_insert(from);
            if start == from { vec![from] } else { vec![start, from] }
        });
        let last = self.lookup.instruction(from, isa, None, &mut ItState::default());
        let last = last.map(|instruction| Pending::of(from, instruction));
        let is_raised = last.is_some_and(|last| !last.leads_to(to));
        for address in between {
            // A branch after which execution does not continue behind it was taken.
            let branch = last.is_some_and(|last| last.instruction.kind == Kind::Branch);
            let passed = (address == from && is_raised && branch).then_some(true);
            let event = Executed { address, isa: Some(isa), passed, ..Executed::default() };
            out(Entry { event: Event::Instruction(event), ..entry });
        }
        if is_raised {
            let raised = Raised { target: Some(to), ..Raised::default() };
            out(Entry { event: Event::Raised(raised), ..entry });
        }
        let direct = last.filter(|last| last.instruction.target == Some(to));
        self.arrived = Some((to, direct.map_or(isa, |last| last.instruction.target_isa)));
    }

    /// Ends the log: of the last change of flow it is known where it led, and not that anything was
    /// executed there.
    pub fn finish(&mut self, out: &mut dyn FnMut(Entry)) {
        if let Some((to, _)) = self.arrived.take() {
            let raised = Raised { return_address: Some(to), ..Raised::default() };
            out(Entry::new(0, Event::Raised(raised)));
        }
    }

    /// The addresses of the instructions from `start` to the one at `last`, where code leads there
    /// without a branch that must be taken.
    fn between(&mut self, start: u64, last: u64, isa: Isa) -> Option<Vec<u64>> {
        let (mut all, mut at, mut it) = (Vec::new(), start, ItState::default());
        while at <= last && all.len() < MOST {
            all.push(at);
            if at == last {
                return Some(all);
            }
            let found = self.lookup.instruction(at, isa, None, &mut it)?;
            if matches!(found.kind, Kind::Branch | Kind::Indirect) && !found.conditional {
                return None;
            }
            at = at.checked_add(found.size.into())?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tracewright_image::{Image, Region};

    use super::*;

    /// NOP; CBZ X0, 0x1010; NOP; B 0x1000; NOP; RET.
    const CODE: [u32; 6] =
        [0xd503_201f, 0xb400_0060, 0xd503_201f, 0x17ff_fffd, 0xd503_201f, 0xd65f_03c0];

    /// The events for these changes of flow, as texts, and how many were not followed.
    fn followed(changes: &[(u64, u64)]) -> (Vec<String>, (u64, Option<u64>)) {
        let bytes: Vec<u8> = CODE.iter().flat_map(|word| word.to_le_bytes()).collect();
        let image = Image::new([Region::new("program", 0x1000, bytes)]);
        let mut follower = Follower::new(Lookup::new(Arc::new(image)), Isa::A64);
        let mut all = Vec::new();
        let mut out = |entry: Entry| {
            all.push(match entry.event {
                Event::Instruction(executed) => format!("{:x}", executed.address),
                Event::Raised(Raised { target: Some(target), .. }) => format!("raised {target:x}"),
                Event::Raised(raised) => format!("end {:x}", raised.return_address.unwrap()),
                other => panic!("{other:?}"),
            });
        };
        for &(from, to) in changes {
            follower.entry(Entry::new(0, Event::Branched { from, to }), &mut out);
        }
        follower.finish(&mut out);
        let unfollowed = follower.unfollowed();
        (all, unfollowed)
    }

    #[test]
    fn instructions_between_changes_of_flow() {
        let none = (0, None);
        for (changes, want, unfollowed) in [
            // A branch within a block was not taken; a loop; a return.
            (
                vec![(0x9000, 0x1000), (0x100c, 0x1000), (0x1004, 0x1010), (0x1014, 0x2000)],
                "1000 1004 1008 100c,1000 1004,1010 1014,end 2000",
                none,
            ),
            // A branch that is listed, and was not taken.
            (
                vec![(0, 0x1000), (0x1004, 0x1008), (0x100c, 0x1000)],
                "1000 1004,1008 100c,end 1000",
                none,
            ),
            // At no branch, and at a branch that leads elsewhere: exceptions.
            (vec![(0, 0x1000), (0x1000, 0x2000)], "1000 raised 2000,end 2000", none),
            (vec![(0, 0x1000), (0x100c, 0x2000)], "1000 1004 1008 100c raised 2000,end 2000", none),
            // An unconditional branch is between, and what is before.
            (vec![(0, 0x1008), (0x1014, 0x1000)], "1008 1014,end 1000", (1, Some(0x1014))),
            (
                vec![(0, 0x1008), (0x1000, 0x1000)],
                "1008 1000 raised 1000,end 1000",
                (1, Some(0x1000)),
            ),
            (vec![], "", none),
        ] {
            let (found, count) = followed(&changes);
            assert_eq!(found.join(" "), want.replace(',', " "), "{changes:x?}");
            assert_eq!(count, unfollowed, "{changes:x?}");
        }
    }
}
