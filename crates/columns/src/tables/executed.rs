//! Columns that depend on executed ranges alone, filled a column at a time.
//!
//! [`ranges`](super::ranges) has them by this way where nothing else is wanted: no function, no
//! line, no context, and no code of processes by its name. The rows are those of the other way.

use std::sync::Arc;
use std::{mem, ops};

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, PrimitiveArray, StringArray, UInt32Array, UInt64Array,
};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, NullBufferBuilder, ScalarBuffer};
use tracewright::base::{Batch, BlockStep, Element, Last, Part, Range};
use tracewright::decode::listener::each_turn;
use tracewright::decode::{Fork, Listener, Merge, Session, Size, Tally};
use tracewright::views::sinks::{StepTables, with_values};

use super::Input;
use super::words::{ISAS, LASTS, ROLES, isa, last, role};
use crate::output::Batches;
use crate::query::TableError;
use crate::read::{self, Begin, Code, Receive};
use crate::rows::{Place, Selection, Shared, executes};

/// An executed range, and the offset of its packet.
#[derive(Clone, Copy, Debug)]
struct Executed {
    at: u64,
    range: Range,
}

/// What is between executed ranges.
#[derive(Clone, Copy, Debug)]
enum Mark {
    /// The ranges from here on are those of this source.
    Source(usize),
    /// An element that is no range, and its timestamp.
    Other(usize, Option<u64>),
    /// The next ranges are a turn of a loop, which is executed `times` times.
    Turn { ranges: usize, times: u64 },
    /// Ranges that are not selected.
    Skipped { elements: u64, instructions: u64 },
}

/// Executed ranges, and marks with the number of ranges before each.
type Parts = (Vec<Executed>, Vec<(usize, Mark)>);

/// The number of instructions that stands for this many or more.
const MANY: u8 = 0x3f;

/// Collects executed ranges, at least those of the selected code.
#[derive(Debug, Default)]
struct Collector {
    parts: Parts,
    source: Option<usize>,
    code: Arc<Code>,
    /// Of each step: its instructions, bits \[7:2], all ones where they are more; whether there is
    /// such a step, bit \[1], and whether it executes selected code, bit \[0]. A byte: of a large
    /// program the table has to stay in the cache.
    steps: StepTables<u8>,
}

impl Collector {
    #[inline]
    fn of(&mut self, source: usize) -> &mut Vec<Executed> {
        if self.source != Some(source) {
            self.source = Some(source);
            self.mark(Mark::Source(source));
        }
        &mut self.parts.0
    }

    fn mark(&mut self, mark: Mark) {
        self.parts.1.push((self.parts.0.len(), mark));
    }

    fn skip(&mut self, elements: u64, instructions: u64) {
        match self.parts.1.last_mut() {
            Some((before, Mark::Skipped { elements: own, instructions: all }))
                if *before == self.parts.0.len() =>
            {
                *own += elements;
                *all += instructions;
            }
            _ if elements > 0 => self.mark(Mark::Skipped { elements, instructions }),
            _ => {}
        }
    }

    /// Collects those of `steps` that execute one of `ranges`, and counts the others.
    fn some(&mut self, batch: &Batch<'_>, steps: &[BlockStep], ranges: &[ops::Range<u64>]) {
        let (mut elements, mut instructions) = (0, 0);
        let mut tables = mem::take(&mut self.steps);
        let values = tables.of(batch.source, &batch.blocks, |step| {
            let of = |range: Range| {
                let count = range.instructions.min(MANY.into()) as u8;
                count << 2 | 2 | u8::from(executes(&range, ranges))
            };
            batch.range(step).map_or(0, of)
        });
        for (step, value) in with_values(steps, values) {
            let value = value.copied().unwrap_or(0);
            if value & 1 == 0 && value >> 2 < MANY {
                elements += u64::from(value >> 1 & 1);
                instructions += u64::from(value >> 2);
            } else if value & 1 == 0 {
                elements += 1;
                instructions += batch.instructions(&[step]);
            } else if let Some(range) = batch.range(step) {
                self.skip(elements, instructions);
                (elements, instructions) = (0, 0);
                self.of(batch.source).push(Executed { at: batch.at(step), range });
            }
        }
        self.skip(elements, instructions);
        self.steps = tables;
    }
}

impl Listener for Collector {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        match element {
            Element::Range(range) => self.of(source).push(Executed { at, range }),
            other => self.mark(Mark::Other(source, other.ticks())),
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let code = Arc::clone(&self.code);
        for part in batch.parts() {
            match part {
                Part::Steps(steps) => match code.of(batch.source) {
                    Some(ranges) => self.some(batch, steps, ranges),
                    None => {
                        let executed = steps.iter().filter_map(|&step| {
                            Some(Executed { at: batch.at(step), range: batch.range(step)? })
                        });
                        self.of(batch.source).extend(executed);
                    }
                },
                Part::Element(at, element) => self.element(batch.source, at, element),
                Part::Turns(turns) if turns.listed => each_turn(self, batch.source, &turns),
                Part::Turns(turns) => {
                    self.of(batch.source);
                    self.mark(Mark::Turn { ranges: turns.ranges.len(), times: turns.times });
                    let executed = |range: &Range| Executed { at: turns.at, range: *range };
                    self.parts.0.extend(turns.ranges.iter().map(executed));
                }
            }
        }
    }
}

impl Fork for Collector {
    type State = ();
    type Output = Parts;

    fn fork(&self) -> Self {
        Collector { code: Arc::clone(&self.code), ..Collector::default() }
    }

    fn state(&self) {}

    /// What is known of each step stays: it is of the blocks, not of the trace.
    fn resume(&mut self, (): ()) {
        self.parts = Parts::default();
        self.source = None;
    }

    fn take(&mut self) -> Parts {
        self.source = None;
        let ranges = Vec::with_capacity(self.parts.0.len());
        mem::replace(&mut self.parts, (ranges, Vec::new()))
    }

    #[inline]
    fn size(&self) -> Size {
        Size::of(
            self.parts.0.len() * size_of::<Executed>()
                + self.parts.1.len() * size_of::<(usize, Mark)>(),
        )
    }
}

/// What the next rows have in common, and where the first one is.
#[derive(Clone, Copy, Debug)]
struct Common {
    buffer: u32,
    source: i32,
    element: u64,
    instruction: u64,
    time: Option<u64>,
    times: u64,
}

/// The values of a column.
enum Values {
    U32(Vec<u32>),
    U64(Vec<u64>),
    SomeU32(Vec<u32>, NullBufferBuilder),
    SomeU64(Vec<u64>, NullBufferBuilder),
    Flags(BooleanBufferBuilder),
    /// Keys of names that all columns share.
    Names(Vec<i32>, ArrayRef),
    Kinds(Kinds),
}

/// Keys of kinds, of which some may not apply.
struct Kinds {
    all: &'static [&'static str],
    keys: Vec<i8>,
    nulls: NullBufferBuilder,
    /// The keys of the kinds so far: there are few.
    known: Vec<(Last, Option<i8>)>,
    name: fn(&Range) -> Option<&'static str>,
}

impl Kinds {
    fn new(
        all: &'static [&'static str],
        name: fn(&Range) -> Option<&'static str>,
        rows: usize,
    ) -> Kinds {
        let keys = Vec::with_capacity(rows);
        Kinds { all, keys, nulls: NullBufferBuilder::new(rows), known: Vec::new(), name }
    }

    #[inline]
    fn push(&mut self, range: &Range) {
        let found = self.known.iter().find(|(last, _)| *last == range.last);
        let key = match found {
            Some((_, key)) => *key,
            None => {
                let own = (self.name)(range);
                let key = own.and_then(|name| self.all.iter().position(|known| *known == name));
                let key = key.and_then(|key| i8::try_from(key).ok());
                self.known.push((range.last, key));
                key
            }
        };
        self.keys.push(key.unwrap_or(0));
        self.nulls.append(key.is_some());
    }
}

/// A column that depends on executed ranges alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    Buffer,
    Source,
    Element,
    Offset,
    Time,
    Instruction,
    Address,
    End,
    Size,
    Instructions,
    Times,
    Cycles,
    Isa,
    Last,
    Role,
    Conditional,
    Taken,
}

const OWN: [(&str, Own); 17] = [
    ("buffer", Own::Buffer),
    ("source", Own::Source),
    ("element", Own::Element),
    ("offset", Own::Offset),
    ("time", Own::Time),
    ("instruction", Own::Instruction),
    ("address", Own::Address),
    ("end", Own::End),
    ("size", Own::Size),
    ("instructions", Own::Instructions),
    ("times", Own::Times),
    ("cycles", Own::Cycles),
    ("isa", Own::Isa),
    ("last", Own::Last),
    ("role", Own::Role),
    ("conditional", Own::Conditional),
    ("taken", Own::Taken),
];

impl Own {
    fn named(name: &str) -> Option<Own> {
        OWN.iter().find(|(own, _)| *own == name).map(|(_, own)| *own)
    }

    fn values(self, rows: usize, names: &ArrayRef) -> Values {
        let nulls = || NullBufferBuilder::new(rows);
        match self {
            Own::Buffer | Own::Size | Own::Instructions => Values::U32(Vec::with_capacity(rows)),
            Own::Element
            | Own::Offset
            | Own::Instruction
            | Own::Address
            | Own::End
            | Own::Times => Values::U64(Vec::with_capacity(rows)),
            Own::Time => Values::SomeU64(Vec::with_capacity(rows), nulls()),
            Own::Cycles => Values::SomeU32(Vec::with_capacity(rows), nulls()),
            Own::Conditional | Own::Taken => Values::Flags(BooleanBufferBuilder::new(rows)),
            Own::Source => Values::Names(Vec::with_capacity(rows), Arc::clone(names)),
            Own::Isa => Values::Kinds(Kinds::new(ISAS, |r| Some(isa(r.last.isa)), rows)),
            Own::Last => Values::Kinds(Kinds::new(LASTS, |r| Some(last(r)), rows)),
            Own::Role => Values::Kinds(Kinds::new(ROLES, |r| role(r.last.role), rows)),
        }
    }

    /// Adds the values of `rows`, the first of which is at the position of `common`.
    fn fill(self, values: &mut Values, rows: &[Executed], common: &Common) {
        let count = rows.len();
        match values {
            Values::U32(own) => match self {
                Own::Buffer => own.resize(own.len() + count, common.buffer),
                Own::Size => own.extend(rows.iter().map(|row| row.range.bytes)),
                _ => own.extend(rows.iter().map(|row| row.range.instructions)),
            },
            Values::U64(own) => match self {
                Own::Element => own.extend((common.element..).take(count)),
                Own::Offset => own.extend(rows.iter().map(|row| row.at)),
                Own::Address => own.extend(rows.iter().map(|row| row.range.start)),
                Own::End => own.extend(rows.iter().map(|row| row.range.end())),
                Own::Times => own.resize(own.len() + count, common.times),
                _ => own.extend(rows.iter().scan(common.instruction, |before, row| {
                    let own = *before;
                    *before = before.saturating_add(row.range.instructions.into());
                    Some(own)
                })),
            },
            Values::SomeU64(own, nulls) => {
                own.resize(own.len() + count, common.time.unwrap_or(0));
                match common.time {
                    Some(_) => nulls.append_n_non_nulls(count),
                    None => nulls.append_n_nulls(count),
                }
            }
            Values::SomeU32(own, nulls) => {
                for row in rows {
                    let cycles = row.range.cycles.get();
                    own.push(cycles.unwrap_or(0));
                    nulls.append(cycles.is_some());
                }
            }
            Values::Flags(own) => match self {
                Own::Conditional => {
                    rows.iter().for_each(|row| own.append(row.range.last.conditional()));
                }
                _ => rows.iter().for_each(|row| own.append(row.range.taken())),
            },
            Values::Names(own, _) => own.resize(own.len() + count, common.source),
            Values::Kinds(own) => rows.iter().for_each(|row| own.push(&row.range)),
        }
    }
}

/// A dictionary: keys are numbers of its values.
fn named<K: arrow_array::types::ArrowDictionaryKeyType>(
    keys: Vec<K::Native>,
    nulls: Option<NullBuffer>,
    names: ArrayRef,
) -> ArrayRef {
    let keys = PrimitiveArray::<K>::new(ScalarBuffer::from(keys), nulls);
    Arc::new(DictionaryArray::<K>::new(keys, names))
}

impl Values {
    fn array(self) -> ArrayRef {
        match self {
            Values::U32(own) => Arc::new(UInt32Array::from(own)),
            Values::U64(own) => Arc::new(UInt64Array::from(own)),
            Values::SomeU32(own, mut nulls) => {
                Arc::new(UInt32Array::new(ScalarBuffer::from(own), nulls.finish()))
            }
            Values::SomeU64(own, mut nulls) => {
                Arc::new(UInt64Array::new(ScalarBuffer::from(own), nulls.finish()))
            }
            Values::Flags(mut own) => Arc::new(BooleanArray::new(own.finish(), None)),
            Values::Names(keys, names) => named::<Int32Type>(keys, None, names),
            Values::Kinds(Kinds { all, keys, mut nulls, .. }) => {
                let names = Arc::new(StringArray::from_iter_values(all));
                named::<Int8Type>(keys, nulls.finish(), names)
            }
        }
    }
}

/// Fills columns with what is decoded of a buffer.
struct Filler<'a, 'b> {
    columns: Vec<(Own, Values)>,
    names: ArrayRef,
    batches: &'a mut Batches<'b>,
    /// Rows of the batch that is being filled.
    rows: usize,
    /// By source of the trace: whether it is selected.
    selected: Vec<bool>,
    shared: Shared,
    /// The buffer, the number of its first source, and that of the source of the next ranges.
    buffer: u32,
    first: usize,
    source: usize,
    elements: u64,
    instructions: u64,
    times: Vec<Option<u64>>,
    /// What is selected; `None` for all.
    selection: Option<Selection>,
}

impl Filler<'_, '_> {
    /// Adds those of `rows` that are selected. The first is at this position.
    fn add(&mut self, rows: &[Executed], first: (u64, u64), times: u64) {
        let Some(selection) = self.selection.take() else {
            return self.put(rows, first, times);
        };
        let source = u32::try_from(self.first + self.source).unwrap_or(u32::MAX);
        let time = self.times.get(self.source).copied().flatten();
        let (element, instruction) = first;
        let mut place = Place { source, element, instruction, time, ..Place::default() };
        // Rows that follow one another are put at once.
        let mut begun: Option<(usize, (u64, u64))> = None;
        for (n, row) in rows.iter().enumerate() {
            place.offset = row.at;
            let instructions = u64::from(row.range.instructions);
            let selected = selection.has_place(&place, instructions.saturating_mul(times))
                && selection.has_range(source, &row.range);
            match begun {
                None if selected => begun = Some((n, (place.element, place.instruction))),
                Some((from, at)) if !selected => {
                    self.put(rows.get(from..n).unwrap_or_default(), at, times);
                    begun = None;
                }
                _ => {}
            }
            place.element = place.element.saturating_add(1);
            place.instruction = place.instruction.saturating_add(instructions);
        }
        if let Some((from, at)) = begun {
            self.put(rows.get(from..).unwrap_or_default(), at, times);
        }
        self.selection = Some(selection);
    }

    /// Adds rows, the first of which is at this position.
    fn put(&mut self, mut rows: &[Executed], (element, instruction): (u64, u64), times: u64) {
        let source = self.first + self.source;
        if !self.selected.get(source).copied().unwrap_or(false) {
            return;
        }
        let time = self.times.get(self.source).copied().flatten();
        let key = u32::try_from(source).ok().and_then(|source| self.shared.source_key(source));
        let (buffer, source) = (self.buffer, key.unwrap_or(0));
        let mut common = Common { buffer, source, element, instruction, time, times };
        while !rows.is_empty() && self.batches.wants_more() {
            let room = self.batches.room(self.rows).min(rows.len());
            let (now, rest) = rows.split_at(room);
            for (own, values) in &mut self.columns {
                own.fill(values, now, &common);
            }
            self.rows += now.len();
            common.element += now.len() as u64;
            common.instruction = common.instruction.saturating_add(instructions(now));
            if self.batches.room(self.rows) == 0 {
                self.flush();
            }
            rows = rest;
        }
    }

    /// Adds rows that follow what was before.
    fn follow(&mut self, rows: &[Executed]) {
        self.add(rows, (self.elements, self.instructions), 1);
        self.elements = self.elements.saturating_add(rows.len() as u64);
        self.instructions = self.instructions.saturating_add(instructions(rows));
    }

    /// Adds a row for each range of a turn, which is executed `times` times.
    fn turn(&mut self, rows: &[Executed], times: u64) {
        let (mut element, mut instruction) = (self.elements, self.instructions);
        for row in rows {
            let row = std::slice::from_ref(row);
            self.add(row, (element, instruction), times);
            element = element.saturating_add(1);
            instruction = instruction.saturating_add(instructions(row));
        }
        let count = rows.len() as u64;
        self.elements = self.elements.saturating_add(times.saturating_mul(count));
        let of_turn = instructions(rows);
        self.instructions = self.instructions.saturating_add(of_turn.saturating_mul(times));
    }

    fn flush(&mut self) {
        if self.rows == 0 {
            return;
        }
        let (most, names) = (self.batches.most(), &self.names);
        let arrays = self.columns.iter_mut().map(|(own, values)| {
            let next = own.values(most, names);
            mem::replace(values, next).array()
        });
        let arrays = arrays.collect();
        self.batches.put_rows(arrays, mem::take(&mut self.rows));
    }
}

fn instructions(rows: &[Executed]) -> u64 {
    rows.iter().map(|row| u64::from(row.range.instructions)).sum()
}

impl Receive<Parts> for Filler<'_, '_> {
    fn begin(&mut self, begin: Begin, _: &Session) {
        (self.elements, self.instructions) = (begin.elements, begin.instructions);
        self.times = begin.times;
    }

    fn output(&mut self, (ranges, marks): Parts) -> bool {
        let mut done = 0;
        for (before, mark) in marks {
            self.follow(ranges.get(done..before).unwrap_or_default());
            done = before;
            match mark {
                Mark::Source(source) => self.source = source,
                Mark::Other(source, ticks) => {
                    self.elements = self.elements.saturating_add(1);
                    if source >= self.times.len() {
                        self.times.resize(source + 1, None);
                    }
                    if let (Some(own), Some(_)) = (self.times.get_mut(source), ticks) {
                        *own = ticks;
                    }
                }
                Mark::Skipped { elements, instructions } => {
                    self.elements = self.elements.saturating_add(elements);
                    self.instructions = self.instructions.saturating_add(instructions);
                }
                Mark::Turn { ranges: count, times } => {
                    let end = done + count;
                    self.turn(ranges.get(done..end).unwrap_or_default(), times);
                    done = end;
                }
            }
            if !self.batches.wants_more() {
                return false;
            }
        }
        self.follow(ranges.get(done..).unwrap_or_default());
        let own = self.selection.as_ref();
        let over = own.is_some_and(|own| own.is_over(self.elements, self.instructions));
        self.batches.wants_more() && !over
    }
}

/// Reads the ranges where `input` wants nothing else; `None` otherwise.
pub(super) fn read(
    input: &Input<'_>,
    batches: &mut Batches<'_>,
) -> Option<Result<Tally, TableError>> {
    let own = input.columns.iter().map(|column| Own::named(column.name));
    let own: Vec<Own> = own.collect::<Option<_>>()?;
    let query = input.query;
    let all = query.window.is_all() && query.addresses.is_empty() && query.functions.is_empty();
    // An index leaves out what other sources trace.
    if all && (query.sources.is_empty() || input.index.is_none()) {
        return Some(fill(input, &own, None, batches));
    }
    match Selection::new(query, input.trace) {
        Ok(selection) if selection.is_by_address() => {
            Some(fill(input, &own, Some(selection), batches))
        }
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    }
}

fn fill(
    input: &Input<'_>,
    own: &[Own],
    selection: Option<Selection>,
    batches: &mut Batches<'_>,
) -> Result<Tally, TableError> {
    let (trace, query) = (input.trace, input.query);
    let mut shared = Shared::new(trace);
    let names = shared.source_names.values();
    let selected = trace.sources().iter().map(|source| query.has_source(&source.name)).collect();
    let most = batches.most();
    let columns = own.iter().map(|own| (*own, own.values(most, &names))).collect();
    let mut filler = Filler {
        columns,
        names,
        batches,
        rows: 0,
        selected,
        shared,
        buffer: 0,
        first: 0,
        source: 0,
        elements: 0,
        instructions: 0,
        times: Vec::new(),
        selection,
    };
    let mut tally = Tally::default();
    for plan in trace.plans() {
        if query.has_buffer(plan.buffer) {
            filler.buffer = u32::try_from(plan.buffer).unwrap_or(u32::MAX);
            let part = (query, input.index);
            let (first, count) = (filler.first, plan.sources.len());
            let code = filler.selection.as_ref().map(|own| own.code(first, count));
            let code = Arc::new(code.unwrap_or_default());
            let listener = Collector { code: Arc::clone(&code), ..Collector::default() };
            tally.merge(read::buffer_code(trace, plan, part, &code, listener, &mut filler)?);
            // A batch has rows of one buffer.
            filler.flush();
            if !filler.batches.wants_more() {
                break;
            }
        }
        filler.first += plan.sources.len();
    }
    Ok(tally)
}
