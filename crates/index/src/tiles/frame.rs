//! A long frame as bytes.

use tracewright_analysis::stacks::{Ending, Entry};

use crate::bytes::{Reader, put, unzigzag, zigzag};

/// A frame that lasts at least as long as a tile, or was open during a whole tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewFrame {
    /// The number of its thread.
    pub thread: u32,
    /// The number of its function.
    pub function: u32,
    /// The number of frames beneath it. It is negative for callers that were found later.
    pub depth: i32,
    /// How it begins.
    pub entry: Entry,
    /// How it ends.
    pub ending: Ending,
    /// Trace was lost while it was open.
    pub uncertain: bool,
    /// The offsets at which it begins and ends. A caller that was found later begins with its
    /// thread.
    pub offsets: (u64, u64),
    /// Instructions of the source before its begin and its end.
    pub instructions: (u64, u64),
    /// The last timestamps of the source before its begin and its end.
    pub times: (Option<u64>, Option<u64>),
    /// Instructions in the function itself.
    pub own: u64,
    /// Instructions of the thread while it was open.
    pub total: u64,
}

/// What the next frame is described relative to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before {
    begin: u64,
    instructions: u64,
    time: u64,
}

/// Entries in the order of their numbers.
pub(crate) fn entry_number(entry: Entry) -> u8 {
    match entry {
        Entry::Call => 0,
        Entry::TailCall => 1,
        Entry::Jump => 2,
        Entry::Exception(_) => 3,
        Entry::Before => 4,
        Entry::Lost => 5,
        Entry::Resumed => 6,
    }
}

/// The entry with a number; `exception` is that of an exception.
pub(crate) fn entry(number: u8, exception: u16) -> Option<Entry> {
    Some(match number {
        0 => Entry::Call,
        1 => Entry::TailCall,
        2 => Entry::Jump,
        3 => Entry::Exception(exception),
        4 => Entry::Before,
        5 => Entry::Lost,
        6 => Entry::Resumed,
        _ => return None,
    })
}

/// Appends an entry, with two more flags.
pub(crate) fn put_entry(out: &mut Vec<u8>, entry: Entry, flags: u64) {
    put(out, u64::from(entry_number(entry)) | flags << 3);
    if let Entry::Exception(number) = entry {
        put(out, number.into());
    }
}

/// An entry, and its flags.
pub(crate) fn read_entry(from: &mut Reader<'_>) -> Option<(Entry, u64)> {
    let word = from.number()?;
    let number = (word & 7) as u8;
    let exception = if number == 3 { u16::try_from(from.number()?).ok()? } else { 0 };
    Some((entry(number, exception)?, word >> 3))
}

/// Endings in the order of their numbers.
pub(crate) const ENDINGS: [Ending; 8] = [
    Ending::Return,
    Ending::UnseenCall,
    Ending::Replaced,
    Ending::Unwound,
    Ending::Lost,
    Ending::Switched,
    Ending::TooDeep,
    Ending::TraceEnd,
];

impl ViewFrame {
    /// The number of bytes that it lasts.
    pub fn len(&self) -> u64 {
        self.offsets.1.saturating_sub(self.offsets.0)
    }

    /// Whether it lasts no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Before {
    /// Appends `frame`.
    pub(crate) fn put(&mut self, frame: &ViewFrame, out: &mut Vec<u8>) {
        put(out, frame.thread.into());
        put(out, frame.function.into());
        put(out, zigzag(i64::from(frame.depth) as u64));
        let ending = ENDINGS.iter().position(|ending| *ending == frame.ending).unwrap_or(0);
        let timed = |time: Option<u64>| u64::from(time.is_some());
        let flags = u64::from(frame.uncertain)
            | timed(frame.times.0) << 1
            | timed(frame.times.1) << 2
            | (ending as u64) << 3;
        put_entry(out, frame.entry, flags);
        let (begin, end) = frame.offsets;
        put(out, zigzag(begin.wrapping_sub(self.begin)));
        put(out, end.wrapping_sub(begin));
        let (first, last) = frame.instructions;
        put(out, zigzag(first.wrapping_sub(self.instructions)));
        put(out, last.wrapping_sub(first));
        put(out, frame.own);
        put(out, frame.total.wrapping_sub(frame.own));
        for time in [frame.times.0, frame.times.1].into_iter().flatten() {
            put(out, zigzag(time.wrapping_sub(self.time)));
            self.time = time;
        }
        (self.begin, self.instructions) = (begin, first);
    }

    /// Reads a frame.
    pub(crate) fn read(&mut self, from: &mut Reader<'_>) -> Option<ViewFrame> {
        let thread = u32::try_from(from.number()?).ok()?;
        let function = u32::try_from(from.number()?).ok()?;
        let depth = i32::try_from(unzigzag(from.number()?) as i64).ok()?;
        let (entry, flags) = read_entry(from)?;
        let ending = *ENDINGS.get(usize::try_from(flags >> 3).ok()?)?;
        let begin = self.begin.wrapping_add(unzigzag(from.number()?));
        let end = begin.checked_add(from.number()?)?;
        let first = self.instructions.wrapping_add(unzigzag(from.number()?));
        let last = first.checked_add(from.number()?)?;
        let own = from.number()?;
        let total = own.checked_add(from.number()?)?;
        let mut time = |bit: u64| {
            if flags >> bit & 1 == 0 {
                return Some(None);
            }
            self.time = self.time.wrapping_add(unzigzag(from.number()?));
            Some(Some(self.time))
        };
        let times = (time(1)?, time(2)?);
        (self.begin, self.instructions) = (begin, first);
        Some(ViewFrame {
            thread,
            function,
            depth,
            entry,
            ending,
            uncertain: flags & 1 != 0,
            offsets: (begin, end),
            instructions: (first, last),
            times,
            own,
            total,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written() {
        let frame = ViewFrame {
            thread: 3,
            function: 9,
            depth: -2,
            entry: Entry::Exception(u16::MAX),
            ending: Ending::TraceEnd,
            uncertain: true,
            offsets: (10, u64::MAX),
            instructions: (1 << 40, 1 << 41),
            times: (Some(u64::MAX), None),
            own: 5,
            total: 6,
        };
        let frames = [
            frame,
            ViewFrame { entry: Entry::Before, offsets: (3, 3), times: (None, Some(4)), ..frame },
            ViewFrame {
                ending: Ending::Return,
                uncertain: false,
                times: (Some(0), Some(7)),
                ..frame
            },
        ];
        let (mut bytes, mut before) = (Vec::new(), Before::default());
        frames.iter().for_each(|frame| before.put(frame, &mut bytes));
        let (mut from, mut before) = (Reader(&bytes), Before::default());
        assert_eq!(frames.each_ref().map(|_| before.read(&mut from)), frames.map(Some));
        assert!(from.0.is_empty());
    }
}
