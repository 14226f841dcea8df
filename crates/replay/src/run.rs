//! Runs to breakpoints.

use std::ops::Range as Numbers;

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
        let hit = match direction {
            Direction::Forward => {
                let end = bound.map_or(u64::MAX, |bound| bound.element.saturating_add(1));
                self.hit_after(from, breakpoints, end)?
            }
            Direction::Backward => {
                let begin = bound.map_or(0, |bound| bound.element);
                self.hit_before(from, breakpoints, begin)?
            }
        };
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

    /// The first hit after `from`. Elements from number `last` on need not be searched.
    fn hit_after(
        &mut self,
        from: Instruction,
        breakpoints: &[u64],
        last: u64,
    ) -> Result<Option<(Entry, u32)>, FindError> {
        let Position { element, instruction } = from.position;
        if let Some(entry) = self.entry(element)?
            && let Some(n) = self.hits(&entry, breakpoints).find(|n| *n > instruction)
        {
            return Ok(Some((entry, n)));
        }
        let next = element.saturating_add(1);
        let (hit, end) = self.hit_in_window(next, breakpoints, Direction::Forward)?;
        if hit.is_some() {
            return Ok(hit);
        }
        self.hit_in(end..last, breakpoints, Direction::Forward)
    }

    /// The last hit before `from`. Elements before number `first` need not be searched.
    fn hit_before(
        &mut self,
        from: Instruction,
        breakpoints: &[u64],
        first: u64,
    ) -> Result<Option<(Entry, u32)>, FindError> {
        let Position { element, instruction } = from.position;
        if let Some(entry) = self.entry(element)?
            && let Some(n) = self.hits(&entry, breakpoints).take_while(|n| *n < instruction).last()
        {
            return Ok(Some((entry, n)));
        }
        let Some(before) = element.checked_sub(1) else { return Ok(None) };
        let (hit, begin) = self.hit_in_window(before, breakpoints, Direction::Backward)?;
        if hit.is_some() {
            return Ok(hit);
        }
        self.hit_in(first..begin, breakpoints, Direction::Backward)
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
            own && entry.range().is_some_and(|range| {
                let inside =
                    |address: &u64| address.wrapping_sub(range.start) < u64::from(range.bytes);
                breakpoints.iter().any(inside)
            })
        };
        let mut candidates: Vec<Entry> = entries.iter().filter(touched).copied().collect();
        if !forward {
            candidates.reverse();
        }
        for entry in candidates {
            let mut hits = self.hits(&entry, breakpoints);
            if let Some(n) = if forward { hits.next() } else { hits.last() } {
                return Ok((Some((entry, n)), number));
            }
        }
        Ok((None, if forward { last.saturating_add(1) } else { first }))
    }

    /// The nearest hit in the elements with these numbers, by the index.
    fn hit_in(
        &mut self,
        mut numbers: Numbers<u64>,
        breakpoints: &[u64],
        direction: Direction,
    ) -> Result<Option<(Entry, u32)>, FindError> {
        let mut best = None;
        let forward = direction == Direction::Forward;
        let which = if forward { Which::First } else { Which::Last };
        for &address in breakpoints {
            let Some(end) = address.checked_add(1) else { continue };
            let condition = [Condition::Address(address..end)];
            let mut domain = numbers.clone();
            while let Some(found) = self.finder.between(which, &condition, domain.clone())? {
                self.check_stop()?;
                // A range may have the address inside an instruction.
                if let Some(entry) = self.entry(found.number)? {
                    let mut hits = self.hits(&entry, breakpoints);
                    if let Some(n) = if forward { hits.next() } else { hits.last() } {
                        // Others may have another breakpoint in the same element: it is found here.
                        best = Some((entry, n));
                        match forward {
                            true => numbers.end = entry.number,
                            false => numbers.start = entry.number.saturating_add(1),
                        }
                        break;
                    }
                }
                match forward {
                    true => domain.start = found.number.saturating_add(1),
                    false => domain.end = found.number,
                }
            }
        }
        Ok(best)
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
        let range = entry.range().filter(|range| {
            let inside = |address: &u64| address.wrapping_sub(range.start) < range.bytes.into();
            breakpoints.iter().any(inside)
        });
        let selected = entry.selected;
        let addresses =
            program.zip(range).map(|(program, range)| program.addresses(selected, range));
        let all = addresses.into_iter().flatten();
        (0..).zip(all).filter(|(_, address)| breakpoints.contains(address)).map(|(n, _)| n)
    }
}
