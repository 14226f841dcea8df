//! Whether an element matches the conditions of a query, and how often a segment has matches.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use tracewright_base::{Channel, Element, Role, Software};

use crate::batch_summary::BatchSummary;
use crate::error::IndexError;
use crate::index::{Index, IndexedBuffer};
use crate::key::{self, Key, Kind};
use crate::position::Position;
use crate::query::{Condition, DwtCondition, Port};
use crate::resolve::Addresses;
use crate::runs::lines_touch;
use crate::segment::Segment;

/// The number of matches in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matches {
    /// Exactly this many.
    Exactly(u64),
    /// Exactly this many together with the next segments, before the one with number `end`.
    Together {
        /// The number of matches.
        count: u64,
        /// The number of the segment after the last one.
        end: usize,
    },
    /// There may be some: the segment must be decoded.
    Unknown,
}

/// Conditions, and what they have to remember between elements.
#[derive(Clone, Debug)]
pub(crate) struct Matcher<'a> {
    conditions: &'a [Condition],
    /// The addresses that each condition names.
    addresses: Vec<Addresses>,
    /// By source and channel: the last bytes that were written.
    written: BTreeMap<(usize, u64), VecDeque<u8>>,
}

impl<'a> Matcher<'a> {
    /// A matcher of `conditions`. `addresses` has those that each of them names.
    pub(crate) fn new(conditions: &'a [Condition], addresses: Vec<Addresses>) -> Self {
        Matcher { conditions, addresses, written: BTreeMap::new() }
    }

    /// Whether matches depend on segments before.
    pub(crate) fn remembers(&self) -> bool {
        self.conditions.iter().any(|c| matches!(c, Condition::Write { text: Some(_), .. }))
    }

    /// The least offset of a match, and the least number of instructions before the end of one.
    pub(crate) fn least(&self) -> (u64, u64) {
        let mut least = (0, 0);
        for condition in self.conditions {
            match condition {
                Condition::Offset(range) => least.0 = least.0.max(range.start),
                Condition::Instruction(range) => least.1 = least.1.max(range.start),
                _ => {}
            }
        }
        least
    }

    /// Whether matches depend on numbers of elements or instructions.
    pub(crate) fn is_numbered(&self) -> bool {
        let numbers =
            |c: &Condition| matches!(c, Condition::Element(_) | Condition::Instruction(_));
        self.conditions.iter().any(numbers)
    }

    /// Whether `element` matches. `position` is the state at the element: its numbers are those
    /// before it, its times and contexts include it.
    pub(crate) fn matches(
        &mut self,
        source: usize,
        at: u64,
        element: &Element,
        position: &Position,
    ) -> bool {
        let mut all = true;
        let Matcher { conditions, addresses, written } = self;
        for (n, condition) in conditions.iter().enumerate() {
            // Every condition sees each element, as some remember it.
            all &= match condition {
                Condition::Function(_) => {
                    let starts = addresses.get(n).map_or(&[][..], |named| named.starts(source));
                    executes_any(element, starts)
                }
                Condition::Line { .. } | Condition::Addresses(_) => addresses
                    .get(n)
                    .is_some_and(|code| executed(element, |first, last| code.touches(first, last))),
                Condition::Context(id) if n > 0 => {
                    let context = position.contexts.get(source).copied().flatten();
                    context.is_some_and(|(_, context)| {
                        id.is_none_or(|id| context.context_id.map(u64::from) == Some(id))
                    })
                }
                Condition::Write { port, text: Some(text), .. } => {
                    completes(written, source, element, *port, text)
                }
                other => holds(other, source, at, element, position),
            };
        }
        all
    }

    /// The number of matches in a batch, where its totals determine it.
    pub(crate) fn total(&self, batch: &BatchSummary) -> Option<u64> {
        let BatchSummary { end, totals, before, after, .. } = batch;
        let outside = |(n, condition): (usize, &Condition)| {
            touches(condition, n, *end, &totals.joined, before, after) == Some(false)
        };
        match self.conditions {
            _ if self.remembers() => None,
            conditions if conditions.iter().enumerate().any(outside) => Some(0),
            [Condition::Any] => Some(totals.joined.elements()),
            _ => None,
        }
    }

    /// How many matches each segment of `batch` has.
    pub(crate) fn count(
        &self,
        index: &Index,
        buffer: &IndexedBuffer,
        batch: &BatchSummary,
    ) -> Result<Vec<Matches>, IndexError> {
        let keys = Keys { index, buffer, batch };
        if self.remembers() {
            // What is written in one segment completes a text in another.
            return keys.count(false, |_, key| key.kind == Kind::Write);
        }
        let mut counts = vec![Matches::Unknown; batch.count];
        for (n, condition) in self.conditions.iter().enumerate() {
            let own = self.count_one(n, condition, &keys)?;
            for (count, own) in counts.iter_mut().zip(own) {
                *count = match (*count, own) {
                    (Matches::Exactly(0), _) | (_, Matches::Exactly(0)) => Matches::Exactly(0),
                    (_, own) if self.conditions.len() == 1 => own,
                    _ => Matches::Unknown,
                };
            }
        }
        Ok(counts)
    }

    fn count_one(
        &self,
        n: usize,
        condition: &Condition,
        keys: &Keys<'_>,
    ) -> Result<Vec<Matches>, IndexError> {
        let batch = keys.batch;
        Ok(match condition {
            Condition::Any => {
                let entries = batch.entries();
                entries.iter().map(|entry| Matches::Exactly(entry.segment.elements())).collect()
            }
            Condition::Time(_)
            | Condition::Offset(_)
            | Condition::Instruction(_)
            | Condition::Element(_) => summaries(condition, n, batch),
            Condition::Context(_) if n > 0 => summaries(condition, n, batch),
            Condition::Address(range) => {
                let touches = |first, last| first < range.end && last >= range.start;
                together(keys.count_lines(touches)?, batch)
            }
            Condition::Line { .. } | Condition::Addresses(_) => {
                let code = self.addresses.get(n).unwrap_or(&Addresses::None);
                together(keys.count_lines(|a, b| code.touches(a, b))?, batch)
            }
            Condition::Function(_) => {
                let named = self.addresses.get(n).unwrap_or(&Addresses::None);
                // A range may have two of several addresses.
                let mut sources = 0..keys.buffer.sources().len();
                let single = sources.all(|source| named.starts(source).len() < 2);
                let counts = keys.count(single, |source, key| {
                    key.kind == Kind::Function
                        && named.starts(source).binary_search(&key.value).is_ok()
                })?;
                together(counts, batch)
            }
            Condition::Access { address, value } => {
                let lines = address.as_ref().map(|range| {
                    // An access of some bytes before the range may touch it.
                    range.start.saturating_sub(128) / 64..=(range.end - 1) / 64
                });
                let exact = address.is_none() && value.is_none();
                keys.count(exact, |_, key| {
                    key.kind == Kind::Access
                        && lines.as_ref().is_none_or(|lines| lines.contains(&key.value))
                })?
            }
            // One element may have several events.
            Condition::Event(number) => keys.count(number.is_some(), |_, key| {
                key.kind == Kind::Event && number.is_none_or(|number| key.value == number)
            })?,
            // The keys have the channel, and not the value.
            Condition::Write { port, value: Some(_), .. } => keys.count(false, |_, key| {
                key.kind == Kind::Write && port.is_none_or(|port| is_port(port, key.value))
            })?,
            Condition::Dwt(event) => {
                keys.count(*event == DwtCondition::Any, |_, key| key.kind == Kind::Dwt)?
            }
            // An index has no keys of them.
            Condition::Custom | Condition::ExceptionReturn => {
                vec![Matches::Unknown; batch.count]
            }
            simple => keys.count(true, |_, key| is_key(simple, key))?,
        })
    }
}

/// Whether condition `n` of a query can match in a segment, or in several together, by what their
/// summary has: the segment ends at offset `end`, and `before` and `after` are known at its
/// beginning and its end. `None` where the summary does not decide it.
fn touches(
    condition: &Condition,
    n: usize,
    end: u64,
    segment: &Segment,
    before: &Position,
    after: &Position,
) -> Option<bool> {
    Some(match condition {
        Condition::Time(range) => {
            let inherited = before.times.iter().flatten().any(|time| range.contains(time));
            let times = segment.streams.iter().filter_map(|stream| stream.times);
            inherited || times.into_iter().any(|t| t.min < range.end && t.max >= range.start)
        }
        Condition::Offset(range) => {
            end > range.start && segment.first.is_some_and(|first| first < range.end)
        }
        Condition::Instruction(range) => {
            before.instructions < range.end && after.instructions >= range.start
        }
        Condition::Element(range) => before.elements < range.end && after.elements > range.start,
        Condition::Context(id) if n > 0 => {
            let is = |context: &(u64, tracewright_base::Context)| {
                id.is_none_or(|id| context.1.context_id.map(u64::from) == Some(id))
            };
            // A context that ends inside the segment is not in the summary.
            before.contexts.iter().flatten().any(is)
                || segment.streams.iter().any(|stream| stream.context.is_some())
        }
        _ => return None,
    })
}

/// The segments of a batch in which condition `n` can match by their summaries.
fn summaries(condition: &Condition, n: usize, batch: &BatchSummary) -> Vec<Matches> {
    let mut counts = vec![Matches::Exactly(0); batch.count];
    let touched = batch.touched(|end, segment, before, after| {
        touches(condition, n, end, segment, before, after) != Some(false)
    });
    for n in touched {
        counts.get_mut(n - batch.first).into_iter().for_each(|count| *count = Matches::Unknown);
    }
    counts
}

/// The matches by segment, of counts that the first of joined segments has for all of them.
fn together(mut counts: Vec<Matches>, batch: &BatchSummary) -> Vec<Matches> {
    let mut end = counts.len();
    for (n, entry) in batch.entries().iter().enumerate().rev() {
        if entry.details_of < batch.first + n {
            continue;
        }
        let joined = counts.get(n).copied().unwrap_or(Matches::Unknown);
        let rest = counts.get_mut(n + 1..end).unwrap_or_default();
        if joined != Matches::Exactly(0) && !rest.is_empty() {
            rest.fill(Matches::Unknown);
            if let (Some(own), Matches::Exactly(count)) = (counts.get_mut(n), joined) {
                *own = Matches::Together { count, end: batch.first + end };
            }
        }
        end = n;
    }
    counts
}

/// The keys and lines of the segments of a batch.
struct Keys<'a> {
    index: &'a Index,
    buffer: &'a IndexedBuffer,
    batch: &'a BatchSummary,
}

impl Keys<'_> {
    /// The numbers of the segments.
    fn segments(&self) -> Range<usize> {
        self.batch.first..self.batch.first + self.batch.count
    }

    /// Sums the counts of keys. `exact`: a key is a match.
    fn count(
        &self,
        exact: bool,
        is: impl Fn(usize, Key) -> bool,
    ) -> Result<Vec<Matches>, IndexError> {
        let mut counts = vec![Matches::Exactly(0); self.batch.count];
        self.index.keys(self.buffer, self.segments(), |n, source, key, count| {
            if is(source.into(), key)
                && let Some(matches) = counts.get_mut(n - self.batch.first)
            {
                *matches = match *matches {
                    Matches::Exactly(sum) if exact => Matches::Exactly(sum.saturating_add(count)),
                    _ => Matches::Unknown,
                };
            }
        })?;
        Ok(counts)
    }

    /// The segments with an executed line for whose first and last address `touches` holds.
    fn count_lines(&self, touches: impl Fn(u64, u64) -> bool) -> Result<Vec<Matches>, IndexError> {
        let mut counts = vec![Matches::Exactly(0); self.batch.count];
        self.index.lines(self.buffer, self.segments(), |n, line, count| {
            if lines_touch((line, count), &touches)
                && let Some(matches) = counts.get_mut(n - self.batch.first)
            {
                *matches = Matches::Unknown;
            }
        })?;
        Ok(counts)
    }
}

/// Whether a condition other than those of [`Matcher`] holds.
fn holds(
    condition: &Condition,
    source: usize,
    at: u64,
    element: &Element,
    position: &Position,
) -> bool {
    match condition {
        Condition::Any => true,
        Condition::Custom => matches!(element, Element::Custom(_)),
        Condition::Time(range) => {
            let time = position.times.get(source).copied().flatten();
            time.is_some_and(|time| range.contains(&time))
        }
        Condition::Offset(range) => range.contains(&at),
        Condition::Element(range) => range.contains(&position.elements),
        Condition::Instruction(range) => {
            let before = position.instructions;
            match element {
                Element::Range(own) if own.instructions > 0 => {
                    before < range.end
                        && before.saturating_add(own.instructions.into()) > range.start
                }
                _ => range.contains(&before),
            }
        }
        Condition::Address(range) => {
            executed(element, |first, last| first < range.end && last >= range.start)
        }
        Condition::Access { address, value } => {
            let Element::DataAccess(access) = element else { return false };
            let own = access.address().map(|first| {
                (first, first.saturating_add(u64::from(access.size).saturating_sub(1)))
            });
            let touches = |range: &Range<u64>| {
                own.is_some_and(|(first, last)| first < range.end && last >= range.start)
            };
            address.as_ref().is_none_or(touches)
                && value.is_none_or(|value| access.value() == Some(value))
        }
        Condition::ExceptionReturn => match element {
            Element::ExceptionReturn => true,
            Element::Range(range) => range.taken() && range.last.role == Role::ExceptionReturn,
            _ => false,
        },
        Condition::Dwt(event) => {
            let Element::DwtEvent(own) = element else { return false };
            event.is(own.meaning())
        }
        Condition::Write { port, value: Some(value), .. } => {
            let Element::SoftwareWrite(own) = element else { return false };
            port.is_none_or(|port| is_port(port, key::channel(own.channel)))
                && own.bits > 0
                && own.value() == *value
        }
        other => {
            let mut any = false;
            Key::each(element, |key| any |= is_key(other, key));
            any
        }
    }
}

/// Whether an element with this key matches a condition on keys alone.
fn is_key(condition: &Condition, key: Key) -> bool {
    let is = |kind, number: &Option<u64>| {
        key.kind == kind && number.is_none_or(|number| key.value == number)
    };
    match condition {
        Condition::Exception(number) => is(Kind::Exception, number),
        Condition::Context(id) => is(Kind::Context, &id.map(|id| id.saturating_add(1))),
        Condition::Event(number) => is(Kind::Event, number),
        Condition::Gap => key.kind == Kind::Gap,
        Condition::Trigger => key.kind == Kind::Trigger,
        Condition::Write { port, .. } => {
            key.kind == Kind::Write && port.is_none_or(|port| is_port(port, key.value))
        }
        _ => false,
    }
}

/// Whether `channel`, the value of a key, is a port.
fn is_port(port: Port, channel: u64) -> bool {
    let of_master = channel >> 56 & 1 != 0;
    match port {
        Port::Number(number) if !of_master => channel == number,
        Port::Number(number) => channel & 0xffff_ffff == number,
        Port::Channel { master, channel: number } => {
            let master_known = u16::try_from(master).ok();
            let number = u16::try_from(number).ok();
            master_known.zip(number).is_some_and(|(master, number)| {
                let own = Channel::Master { master: Some(master), channel: Some(number) };
                channel == key::channel(own)
            })
        }
    }
}

/// Whether `has` holds for the first and the last address of the instructions of a range.
fn executed(element: &Element, has: impl Fn(u64, u64) -> bool) -> bool {
    match element {
        Element::Range(range) => range.bytes > 0 && range.any_addresses(has),
        _ => false,
    }
}

fn executes_any(element: &Element, addresses: &[u64]) -> bool {
    executed(element, |first, last| {
        let n = addresses.partition_point(|address| *address < first);
        addresses.get(n).is_some_and(|address| *address <= last)
    })
}

/// Whether a write to `port` completes `text`.
fn completes(
    written: &mut BTreeMap<(usize, u64), VecDeque<u8>>,
    source: usize,
    element: &Element,
    port: Option<Port>,
    text: &[u8],
) -> bool {
    let Element::SoftwareWrite(write) = element else { return false };
    let channel = key::channel(write.channel);
    if port.is_some_and(|port| !is_port(port, channel)) || write.has(Software::FREQUENCY) {
        return false;
    }
    let last = written.entry((source, channel)).or_default();
    let mut found = false;
    let bytes = usize::from(write.bits).div_ceil(8).min(8);
    for byte in write.value().to_le_bytes().into_iter().take(bytes) {
        if last.len() == text.len() {
            last.pop_front();
        }
        last.push_back(byte);
        found |= last.iter().eq(text);
    }
    found
}
