//! Decoded parts of the trace, cached.

use std::collections::VecDeque;
use std::ops::Range as Numbers;

use tracewright::base::{Element, Range};
use tracewright::index::FindError;
use tracewright::index::view::Player;

use crate::program::{Program, Selected};

/// The most elements of a window.
const PART: u64 = 1 << 13;

/// The windows that are cached.
const MOST: usize = 8;

/// An element of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) source: usize,
    /// Its offset in the buffer.
    pub(crate) at: u64,
    /// Instructions before it, of all sources.
    pub(crate) instructions: u64,
    /// Instructions of its source before it.
    pub(crate) of_source: u64,
    /// The last timestamp of its source.
    pub(crate) time: Option<u64>,
    pub(crate) element: Element,
    pub(crate) selected: Selected,
}

impl Entry {
    /// The executed range.
    pub(crate) fn range(&self) -> Option<Range> {
        match self.element {
            Element::Range(range) if range.instructions > 0 => Some(range),
            _ => None,
        }
    }
}

/// Consecutive elements of one segment.
#[derive(Clone, Debug)]
struct Window {
    numbers: Numbers<u64>,
    entries: Vec<Entry>,
}

/// The windows that were used last.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    /// The last one that was used is the first.
    windows: VecDeque<Window>,
}

impl Windows {
    /// The numbers of the elements of a window around element `number`: empty after the last
    /// element.
    fn numbers(player: &Player<'_>, number: u64) -> (usize, Numbers<u64>) {
        let index = player.view().buffer();
        let segment = player.view().segment_of(number);
        let (begin, end) = (index.position(segment).elements, index.position(segment + 1).elements);
        if !(begin..end).contains(&number) {
            return (segment, number..number);
        }
        let first = begin + (number - begin) / PART * PART;
        (segment, first..end.min(first.saturating_add(PART)))
    }

    /// The elements of the window with element `number`, and their numbers; empty after the last
    /// element.
    pub(crate) fn around(
        &mut self,
        player: &mut Player<'_>,
        programs: &[Program],
        number: u64,
    ) -> Result<&[Entry], FindError> {
        let known = self.windows.iter().position(|window| window.numbers.contains(&number));
        let window = match known.and_then(|n| self.windows.remove(n)) {
            Some(window) => window,
            None => {
                let (segment, numbers) = Self::numbers(player, number);
                if numbers.is_empty() {
                    return Ok(&[]);
                }
                self.windows.truncate(MOST - 1);
                read(player, programs, segment, numbers)?
            }
        };
        self.windows.push_front(window);
        Ok(self.windows.front().map_or(&[], |window| &window.entries))
    }

    /// Whether an executed range of a window of `source` has the bytes from `address` on, and how
    /// many.
    pub(crate) fn executed(&self, source: usize, address: u64) -> u64 {
        let ranges = self.windows.iter().flat_map(|window| &window.entries);
        let own = ranges.filter(|entry| entry.source == source).filter_map(Entry::range);
        let bytes = own.filter_map(|range| {
            let offset = address.checked_sub(range.start)?;
            u64::from(range.bytes).checked_sub(offset)
        });
        bytes.max().unwrap_or(0)
    }
}

/// Decodes a part of a segment.
fn read(
    player: &mut Player<'_>,
    programs: &[Program],
    segment: usize,
    numbers: Numbers<u64>,
) -> Result<Window, FindError> {
    let before = player.view().buffer().position(segment);
    let mut selected: Vec<Selected> = programs.iter().map(Program::begin).collect();
    for ((program, own), context) in programs.iter().zip(&mut selected).zip(&before.contexts) {
        if let Some((_, context)) = context {
            program.follow(own, &Element::Context(*context));
        }
    }
    let mut entries = Vec::with_capacity((numbers.end - numbers.start) as usize);
    player.elements(numbers.clone(), &mut |passed| {
        let (Some(program), Some(own)) =
            (programs.get(passed.source), selected.get_mut(passed.source))
        else {
            return;
        };
        program.follow(own, &passed.element);
        if numbers.contains(&passed.number) {
            entries.push(Entry {
                number: passed.number,
                source: passed.source,
                at: passed.at,
                instructions: passed.instructions.0,
                of_source: passed.instructions.1,
                time: passed.time,
                element: passed.element,
                selected: *own,
            });
        }
    })?;
    Ok(Window { numbers, entries })
}
