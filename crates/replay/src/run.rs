//! Runs to breakpoints.

use std::ops::Range as Numbers;

use tracewright::base::Range;
use tracewright::index::{FindError, query::Condition, query::Which};

use crate::machine::{Direction, Instruction, Machine, Stop, Stopped};
use crate::position::Position;
use crate::windows::Entry;

impl Machine<'_> {
    /// Goes to the next or the previous instruction at one of `breakpoints`, of any source; without
    /// one to the last or the first instruction of the trace. The instruction at which the machine
    /// stands does not count.
    ///
    /// Near the position, elements are decoded; farther away, only the parts of the trace in which
    /// the index has code near a breakpoint.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read, and where the run was stopped: the position
    /// stays.
    pub fn run(&mut self, direction: Direction, breakpoints: &[u64]) -> Result<Stop, FindError> {
        self.run_bounded(direction, breakpoints, None)
    }

    /// As [`run`](Self::run), and not beyond `bound`, which is in that direction.
    pub(crate) fn run_bounded(
        &mut self,
        direction: Direction,
        breakpoints: &[u64],
        bound: Option<Position>,
    ) -> Result<Stop, FindError> {
        let from = self.here();
        let mut breakpoints = breakpoints.to_vec();
        breakpoints.sort_unstable();
        breakpoints.dedup();
        let numbers = match (direction, bound) {
            (Direction::Forward, Some(bound)) => 0..bound.element.saturating_add(1),
            (Direction::Backward, Some(bound)) => bound.element..u64::MAX,
            (_, None) => 0..u64::MAX,
        };
        let hit = self.hit(from, &breakpoints, direction, numbers)?;
        let hit = hit.filter(|(entry, n)| {
            let own = Position { element: entry.number, instruction: *n };
            bound.is_none_or(|bound| match direction {
                Direction::Forward => own < bound,
                Direction::Backward => own > bound,
            })
        });
        let why = match (hit, bound, direction) {
            (Some((entry, n)), ..) => {
                self.stand(&entry, n);
                Stopped::Breakpoint
            }
            (None, Some(bound), _) => {
                self.go(bound)?;
                Stopped::Step
            }
            (None, None, Direction::Forward) => Stopped::End,
            (None, None, Direction::Backward) => Stopped::Begin,
        };
        if matches!(why, Stopped::End | Stopped::Begin) {
            self.go_to_end(direction)?;
        }
        let (from, to) = (from.position.element, self.here().position.element);
        let between = from.min(to).saturating_add(1)..from.max(to);
        let lost = self.finder.between(Which::First, &[Condition::Gap], between)?;
        Ok(Stop { why, lost: lost.map(|found| found.element) })
    }

    /// The first hit from `from` on in a direction. Only elements with `numbers` need be searched.
    fn hit(
        &mut self,
        from: Instruction,
        breakpoints: &[u64],
        direction: Direction,
        numbers: Numbers<u64>,
    ) -> Result<Option<(Entry, u32)>, FindError> {
        let Position { element, instruction } = from.position;
        if let Some(entry) = self.entry(element)? {
            let mut hits = self.hits(&entry, breakpoints);
            let n = match direction {
                Direction::Forward => hits.find(|n| *n > instruction),
                Direction::Backward => hits.take_while(|n| *n < instruction).last(),
            };
            if let Some(n) = n {
                return Ok(Some((entry, n)));
            }
        }
        let next = match direction {
            Direction::Forward => element.checked_add(1),
            Direction::Backward => element.checked_sub(1),
        };
        let Some(next) = next else { return Ok(None) };
        let (hit, rest) = self.hit_in_window(next, breakpoints, direction)?;
        if hit.is_some() {
            return Ok(hit);
        }
        let numbers = match direction {
            Direction::Forward => rest..numbers.end,
            Direction::Backward => numbers.start..rest,
        };
        self.hit_in(numbers, breakpoints, direction)
    }

    /// The first hit of the window with element `number` from there on, in a direction, and where
    /// the window ends: forward, the number after its last element; backward, that of its first
    /// one.
    #[allow(clippy::type_complexity, reason = "a hit, and where to go on")]
    fn hit_in_window(
        &mut self,
        number: u64,
        breakpoints: &[u64],
        direction: Direction,
    ) -> Result<(Option<(Entry, u32)>, u64), FindError> {
        let forward = direction == Direction::Forward;
        let entries = self.windows.around(&mut self.player, &self.programs, number)?;
        let (first, last) = match (entries.first(), entries.last()) {
            (Some(first), Some(last)) => (first.number, last.number),
            _ => return Ok((None, number)),
        };
        let touched = |entry: &&Entry| {
            let own = if forward { entry.number >= number } else { entry.number <= number };
            own && entry.range().is_some_and(|range| is_touched(range, breakpoints))
        };
        let mut candidates: Vec<Entry> = entries.iter().filter(touched).copied().collect();
        if !forward {
            candidates.reverse();
        }
        for entry in candidates {
            if let Some(n) = self.first_of(&entry, breakpoints, direction) {
                return Ok((Some((entry, n)), number));
            }
        }
        Ok((None, if forward { last.saturating_add(1) } else { first }))
    }

    /// The nearest hit in the elements with these numbers, by the index: one search for all
    /// breakpoints.
    fn hit_in(
        &mut self,
        mut numbers: Numbers<u64>,
        breakpoints: &[u64],
        direction: Direction,
    ) -> Result<Option<(Entry, u32)>, FindError> {
        if breakpoints.is_empty() {
            return Ok(None);
        }
        let which = match direction {
            Direction::Forward => Which::First,
            Direction::Backward => Which::Last,
        };
        let one = |address: &u64| *address..address.saturating_add(1);
        let condition = [Condition::Addresses(breakpoints.iter().map(one).collect())];
        while let Some(found) = self.finder.between(which, &condition, numbers.clone())? {
            self.check_stop()?;
            // A range may have an address inside an instruction.
            if let Some(entry) = self.entry(found.number)?
                && let Some(n) = self.first_of(&entry, breakpoints, direction)
            {
                return Ok(Some((entry, n)));
            }
            match direction {
                Direction::Forward => numbers.start = found.number.saturating_add(1),
                Direction::Backward => numbers.end = found.number,
            }
        }
        Ok(None)
    }

    /// The first hit of an element in a direction.
    fn first_of(
        &mut self,
        entry: &Entry,
        breakpoints: &[u64],
        direction: Direction,
    ) -> Option<u32> {
        let mut hits = self.hits(entry, breakpoints);
        match direction {
            Direction::Forward => hits.next(),
            Direction::Backward => hits.last(),
        }
    }

    /// The position of the instruction at `address` in the range with element number `element`.
    /// `None` where it does not have one.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn position_in(
        &mut self,
        element: u64,
        address: u64,
    ) -> Result<Option<Position>, FindError> {
        let Some(entry) = self.entry(element)? else { return Ok(None) };
        let instruction = self.hits(&entry, &[address]).next();
        Ok(instruction.map(|instruction| Position { element, instruction }))
    }

    /// The instructions of the range of `entry` at breakpoints, in order.
    fn hits<'m>(
        &'m mut self,
        entry: &Entry,
        breakpoints: &'m [u64],
    ) -> impl Iterator<Item = u32> + 'm {
        let program = self.programs.get_mut(entry.source);
        let range = entry.range().filter(|range| is_touched(*range, breakpoints));
        let selected = entry.selected;
        let addresses =
            program.zip(range).map(|(program, range)| program.addresses(selected, range));
        let all = (0..).zip(addresses.into_iter().flatten());
        all.filter(|(_, address)| breakpoints.binary_search(address).is_ok()).map(|(n, _)| n)
    }
}

/// Whether a range has the address of a breakpoint; they are in order.
fn is_touched(range: Range, breakpoints: &[u64]) -> bool {
    let next = breakpoints.partition_point(|address| *address < range.start);
    let next = breakpoints.get(next);
    next.is_some_and(|address| address - range.start < u64::from(range.bytes))
}
