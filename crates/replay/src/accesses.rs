//! Data accesses: runs to them, and the memory that they show.

use std::ops::Range;

use tracewright::base::{Access, Direction as AccessDirection, Element};
use tracewright::index::query::{Condition, Which};
use tracewright::index::{FindError, is_gap};

use crate::machine::{Direction, Instruction, Machine, Stop, Stopped};
use crate::position::Position;
use crate::watch::{Accessed, Watch, bytes_of};

/// Elements after an instruction among which its accesses are, and ranges before an access among
/// which its instruction is.
const REACH: u64 = 64;

/// Elements before a position among which the last write of memory is looked for.
const NEAR: u64 = 1 << 14;

/// Whether the access may be a write.
fn writes(access: &Access) -> bool {
    access.direction != AccessDirection::Read && !access.has(Access::STORE_FAILED)
}

impl Machine<'_> {
    /// Whether the trace states addresses of data accesses, and the instructions that make them.
    /// Those of E-Trace do not: an access may precede its instruction in the trace by any number of
    /// elements.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn states_accesses(&mut self) -> Result<bool, FindError> {
        let any = [Condition::Access { address: Some(0..u64::MAX), value: None }];
        let mut domain = 0..u64::MAX;
        for _ in 0..REACH {
            let found = self.finder.between(Which::First, &any, domain.clone())?;
            let Some(found) = found else { break };
            if matches!(found.element, Element::DataAccess(access) if access.by().is_some()) {
                return Ok(true);
            }
            domain.start = found.number.saturating_add(1);
        }
        Ok(false)
    }

    /// As [`run`](Machine::run), and ends at accesses of `watches`, too. Forward the machine then
    /// stands at the instruction that makes the access; backward after it.
    ///
    /// # Errors
    /// As of [`run`](Machine::run).
    pub fn run_watching(
        &mut self,
        direction: Direction,
        breakpoints: &[u64],
        watches: &[Watch],
    ) -> Result<Stop, FindError> {
        self.run_until(direction, breakpoints, watches, None)
    }

    /// As [`run_watching`](Self::run_watching), and ends at `bound`, which is in that direction,
    /// as a step does.
    ///
    /// # Errors
    /// As of [`run`](Machine::run).
    pub fn run_until(
        &mut self,
        direction: Direction,
        breakpoints: &[u64],
        watches: &[Watch],
        bound: Option<Position>,
    ) -> Result<Stop, FindError> {
        let from = self.here();
        let stop = self.run_bounded(direction, breakpoints, bound)?;
        let to = self.here();
        let mut nearest: Option<Accessed> = None;
        for watch in watches {
            let (first, last) = match direction {
                Direction::Forward => {
                    (from.position, nearest.map_or(to.position, |at| at.position))
                }
                Direction::Backward => {
                    (nearest.map_or(to.position, |at| at.position), from.position)
                }
            };
            let found = self.accessed(watch, direction, first..last)?;
            nearest = found.or(nearest);
        }
        let Some(hit) = nearest else { return Ok(stop) };
        self.go(hit.position)?;
        if direction == Direction::Backward {
            let source = self.here().source;
            self.step(source, Direction::Forward)?;
            // Other sources may have executed instructions in between.
            if self.here().position > from.position {
                self.go(from.position)?;
            }
        }
        let (from, to) = (from.position.element, self.here().position.element);
        let between = from.min(to).saturating_add(1)..from.max(to);
        let lost = self.finder.between(Which::First, &[Condition::Gap], between)?;
        Ok(Stop { why: Stopped::Access(hit), lost: lost.map(|found| found.element) })
    }

    /// As [`step`](Machine::step), but where the step would execute an instruction that makes an
    /// access of `watches`, or go back over it, the position stays.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn step_watching(
        &mut self,
        source: usize,
        direction: Direction,
        watches: &[Watch],
    ) -> Result<Stop, FindError> {
        if !watches.is_empty()
            && let Some(own) = self.at(source)?
            && let Some(hit) = self.accessed_by_step(own, direction, watches)?
        {
            return Ok(Stop { why: Stopped::Access(hit), lost: None });
        }
        self.step(source, direction)
    }

    /// The accesses of the instruction at which `source` stands, as far as the trace states that
    /// they are of this instruction.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn accesses(&mut self, source: usize) -> Result<Vec<Access>, FindError> {
        let Some(own) = self.at(source)? else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        let element = own.position.element;
        for number in element..=element.saturating_add(REACH) {
            let Some(entry) = self.entry(number)? else { break };
            let Element::DataAccess(access) = entry.element else { continue };
            if access.by() != Some(own.address) {
                continue;
            }
            let placed = self.placed(number, entry.source, access, own.address)?;
            if placed.is_some_and(|placed| placed.is_stated && placed.position == own.position) {
                all.push(access);
            }
        }
        Ok(all)
    }

    /// The access of the instruction that a step executes or goes back over.
    fn accessed_by_step(
        &mut self,
        own: Instruction,
        direction: Direction,
        watches: &[Watch],
    ) -> Result<Option<Accessed>, FindError> {
        let position = match direction {
            Direction::Forward => Some(own.position),
            Direction::Backward => self.position_before(own)?,
        };
        let Some(position) = position else { return Ok(None) };
        for number in position.element..=position.element.saturating_add(REACH) {
            let Some(entry) = self.entry(number)? else { break };
            let Element::DataAccess(access) = entry.element else { continue };
            let touched = watches.iter().find_map(|watch| watch.touched(&access));
            if let Some(address) = touched
                && let Some(hit) = self.placed(number, entry.source, access, address)?
                && hit.position == position
            {
                return Ok(Some(hit));
            }
        }
        Ok(None)
    }

    /// The position of the previous instruction of the source of `own`.
    fn position_before(&mut self, own: Instruction) -> Result<Option<Position>, FindError> {
        let Position { element, instruction } = own.position;
        if let Some(before) = instruction.checked_sub(1) {
            return Ok(Some(Position { element, instruction: before }));
        }
        let entry = self.previous_range(element, Some(own.source), &mut None)?;
        let last = |range: tracewright::base::Range| range.instructions - 1;
        Ok(entry.and_then(|entry| {
            let instruction = last(entry.range()?);
            Some(Position { element: entry.number, instruction })
        }))
    }

    /// The first access of `watch` in a direction of those whose instructions are in `positions`.
    fn accessed(
        &mut self,
        watch: &Watch,
        direction: Direction,
        positions: Range<Position>,
    ) -> Result<Option<Accessed>, FindError> {
        let condition = [Condition::Access { address: Some(watch.addresses.clone()), value: None }];
        let end = positions.end.element.saturating_add(REACH);
        let mut domain = positions.start.element..end;
        let which = match direction {
            Direction::Forward => Which::First,
            Direction::Backward => Which::Last,
        };
        while let Some(found) = self.finder.between(which, &condition, domain.clone())? {
            self.check_stop()?;
            if let Element::DataAccess(access) = found.element
                && let Some(address) = watch.touched(&access)
                && let Some(hit) = self.placed(found.number, found.source, access, address)?
                && positions.contains(&hit.position)
            {
                return Ok(Some(hit));
            }
            match direction {
                Direction::Forward => domain.start = found.number.saturating_add(1),
                Direction::Backward => domain.end = found.number,
            }
        }
        Ok(None)
    }

    /// Where the access with element `number` was made.
    fn placed(
        &mut self,
        number: u64,
        source: usize,
        access: Access,
        address: u64,
    ) -> Result<Option<Accessed>, FindError> {
        let mut before = number;
        let mut nearest = None;
        // The value of a late access is stated after the instruction was executed again.
        let by = access.by().filter(|_| !access.has(Access::LATE));
        for _ in 0..REACH {
            let Some(entry) = self.previous_range(before, Some(source), &mut None)? else { break };
            let Some(range) = entry.range() else { break };
            let own = Position { element: entry.number, instruction: range.instructions - 1 };
            nearest = nearest.or(Some(own));
            let Some(by) = by else { break };
            if by.wrapping_sub(range.start) < range.bytes.into()
                && let Some(program) = self.programs.get_mut(source)
                && let Some(n) = program.addresses(entry.selected, range).position(|own| own == by)
            {
                let position = Position { element: entry.number, instruction: n as u32 };
                return Ok(Some(Accessed { access, address, position, is_stated: true }));
            }
            before = entry.number;
        }
        if nearest.is_none() {
            let entry = self.next_range(number, Some(source), &mut None)?;
            nearest = entry.map(|entry| Position { element: entry.number, instruction: 0 });
        }
        Ok(nearest.map(|position| Accessed { access, address, position, is_stated: false }))
    }

    /// Reads memory at the place of `source` as the data accesses before it show it, from `address`
    /// on, and returns how many bytes are known. A byte is known where it was read or written
    /// within the last elements by an instruction that the trace states, and no access was lost
    /// since then. What is not traced, such as
    /// writes of other bus masters, may have changed it.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn read_accessed(
        &mut self,
        source: usize,
        address: u64,
        out: &mut [u8],
    ) -> Result<usize, FindError> {
        let Some(own) = self.at(source)? else { return Ok(0) };
        let mut bytes: Vec<Byte> = vec![Byte::Open; out.len()];
        let element = own.position.element;
        let mut number = element.saturating_add(REACH);
        while number > element.saturating_sub(NEAR) && bytes.contains(&Byte::Open) {
            number -= 1;
            let Some(entry) = self.entry(number)? else { continue };
            let access = match entry.element {
                Element::DataAccess(access) if !access.has(Access::COPROCESSOR) => access,
                ref lost if number <= element && is_gap(lost) => break,
                _ => continue,
            };
            // Later ones may have written anywhere, and so may one without an address.
            let is_suppressed = access.has(Access::SUPPRESSED);
            let is_lost = is_suppressed || access.address().is_none() && writes(&access);
            let touches = bytes_of(&access).is_some_and(|of| {
                of.start < address.saturating_add(out.len() as u64) && address < of.end
            });
            if !is_lost && !touches {
                continue;
            }
            let placed = self.placed(number, entry.source, access, address)?;
            let stated = placed.filter(|placed| placed.is_stated);
            if stated.is_some_and(|placed| placed.position >= own.position) {
                continue;
            }
            if is_lost {
                break;
            }
            // An access that may be earlier or later than the position has no value.
            let of_no_time = Access::new(access.direction, access.size, access.flags);
            let of_no_time = access.address().map_or(of_no_time, |at| of_no_time.at(at));
            take(if stated.is_some() { &access } else { &of_no_time }, address, &mut bytes);
        }
        let known = bytes.iter().map_while(|byte| match byte {
            Byte::Known(value) => Some(*value),
            Byte::Open | Byte::Unknown => None,
        });
        let mut count = 0;
        for (to, value) in out.iter_mut().zip(known) {
            *to = value;
            count += 1;
        }
        Ok(count)
    }
}

/// What is known of a byte of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Byte {
    /// No access to it was seen.
    Open,
    Known(u8),
    /// It was written with a value that is not known, or at a time that is not.
    Unknown,
}

/// Takes an access that is earlier than all before it: the bytes from `address` on.
fn take(access: &Access, address: u64, bytes: &mut [Byte]) {
    if access.has(Access::STORE_FAILED) {
        return;
    }
    let Some(own) = bytes_of(access) else { return };
    let size = usize::from(access.size);
    for (at, byte) in (address..own.end).zip(bytes) {
        let Some(offset) = at.checked_sub(own.start).filter(|_| *byte == Byte::Open) else {
            continue;
        };
        let n = match access.has(Access::BIG_ENDIAN) {
            true => (size as u64).checked_sub(offset + 1),
            false => Some(offset),
        };
        let value = access.value().zip(n.filter(|_| size > 0 && access.size <= 8));
        let value =
            value.and_then(|(value, n)| value.to_le_bytes().get(usize::try_from(n).ok()?).copied());
        match value {
            Some(value) => *byte = Byte::Known(value),
            // A read whose value was not traced changes nothing.
            None if access.direction == AccessDirection::Read => {}
            None => *byte = Byte::Unknown,
        }
    }
}
