//! Elements with their position, time, context and function.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use tracewright::Trace;
use tracewright::base::{self, Context, Element};
use tracewright::capture::TimeConversion;
use tracewright::decode::{Plan, Program, Session, Tally};
use tracewright::image::Image;
use tracewright::index::{Index, Window};
use tracewright::symbols::is_named;
use tracewright::views::filter::is_at;
use tracewright::views::functions::is_called;
use tracewright::views::{LineTable, Source};

use crate::dictionary::Dictionary;
use crate::events::{Event, Events};
use crate::kinds::KINDS;
use crate::query::{Query, TableError};
use crate::read::{self, Begin, Receive};

/// Where an element is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The number of the buffer in the capture.
    pub buffer: u32,
    /// The number of the source among those of the trace.
    pub source: u32,
    /// The number of the context of the source before it, among those of [`Shared`].
    pub(crate) context: u32,
    /// The number of the element in the buffer.
    pub element: u64,
    /// The offset in the buffer of the packet that made it.
    pub offset: u64,
    /// Instructions of all sources of the buffer before it.
    pub instruction: u64,
    /// The last timestamp of the source, up to and including it.
    pub time: Option<u64>,
}

/// An element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Where it is.
    pub place: Place,
    /// The element.
    pub element: Element,
    /// How often it occurs. It is 1, but of the ranges of a loop that a listing does not repeat.
    pub times: u64,
    /// The number of the range in a turn of such a loop, and of ranges in a turn.
    pub(crate) range: (u32, u32),
    /// The number of the function, where it was looked for and is known.
    pub(crate) function: Option<i32>,
    /// The source file and the line.
    pub(crate) line: Option<(i32, u32)>,
}

/// The context of a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceContext {
    pub(crate) context: Option<Context>,
    pub(crate) pid: Option<u32>,
    pub(crate) tid: Option<u32>,
    pub(crate) comm: Option<i32>,
}

/// What rows refer to.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// The sources of the trace. Their memory is that of the last element.
    pub(crate) sources: Vec<Source>,
    /// Names of sources: several may have the same.
    pub(crate) source_names: Dictionary,
    /// By the number of the source: the number of its name.
    source_keys: Vec<i32>,
    pub(crate) functions: Dictionary,
    pub(crate) files: Dictionary,
    pub(crate) comms: Dictionary,
    /// Names of exceptions, reasons, threads and the like.
    pub(crate) words: Dictionary,
    pub(crate) contexts: Vec<SourceContext>,
    pub(crate) conversion: Option<TimeConversion>,
    /// The processor of the buffer.
    pub(crate) cpu: Option<u32>,
    numbers: HashMap<(u32, Context), u32>,
    lines: Option<LineTable>,
    /// The names of functions by memory and address.
    found: HashMap<(usize, u64), Option<i32>>,
    images: Vec<Arc<Image>>,
}

/// How timestamps are converted to nanoseconds, where that is known.
pub fn conversion(trace: &Trace) -> Option<TimeConversion> {
    let linux = trace.capture().linux.as_deref()?;
    linux.conversion.filter(|_| linux.virtual_counter)
}

impl Shared {
    pub(crate) fn new(trace: &Trace) -> Shared {
        let conversion = conversion(trace);
        let mut shared =
            Shared { sources: trace.sources().to_vec(), conversion, ..Shared::default() };
        let Shared { sources, source_names, source_keys, .. } = &mut shared;
        source_keys.extend(sources.iter().map(|source| source_names.number(&source.name)));
        shared.contexts.push(SourceContext::default());
        shared
    }

    /// The time of `ticks` in nanoseconds, where the clock is known.
    pub(crate) fn nanoseconds(&self, ticks: Option<u64>) -> Option<i64> {
        i64::try_from(self.conversion?.nanoseconds(ticks?)).ok()
    }

    /// The number of the name of a source.
    pub(crate) fn source_key(&self, source: u32) -> Option<i32> {
        self.source_keys.get(source as usize).copied()
    }

    pub(crate) fn source(&self, place: &Place) -> Option<&Source> {
        self.sources.get(place.source as usize)
    }

    pub(crate) fn context(&self, place: &Place) -> &SourceContext {
        const NONE: &SourceContext =
            &SourceContext { context: None, pid: None, tid: None, comm: None };
        self.contexts.get(place.context as usize).unwrap_or(NONE)
    }

    /// The number of the function of source `n` at `address`.
    pub(crate) fn function(&mut self, n: usize, address: u64) -> Option<i32> {
        let Shared { sources, functions, found, images, .. } = self;
        let source = sources.get(n)?;
        if !source.has_symbols() {
            return None;
        }
        // Processes share an image of addresses outside of them: the name is looked up each time.
        if matches!(source.program, Program::Spaces(_)) {
            return source.symbol_at(address).map(|symbol| functions.number(&symbol.name));
        }
        let known = images.iter().position(|image| Arc::ptr_eq(image, &source.image));
        let image = known.unwrap_or_else(|| {
            images.push(Arc::clone(&source.image));
            images.len() - 1
        });
        *found.entry((image, address)).or_insert_with(|| {
            source.symbol_at(address).map(|symbol| functions.number(&symbol.name))
        })
    }

    /// The file and the line at `address`.
    pub(crate) fn line(&mut self, trace: &Trace, address: u64) -> Option<(i32, u32)> {
        let lines = self.lines.get_or_insert_with(|| LineTable::of_capture(trace.capture()));
        let (file, line) = lines.at(address)?;
        Some((self.files.number(file), line))
    }

    /// The number of a context of the source with global number `source`.
    fn number(&mut self, source: u32, context: &Context) -> u32 {
        if let Some(number) = self.numbers.get(&(source, *context)) {
            return *number;
        }
        let Shared { sources, comms, contexts, .. } = self;
        let own = sources.get(source as usize);
        let thread = own.and_then(|own| own.program.thread(context));
        contexts.push(SourceContext {
            context: Some(*context),
            pid: thread.map(|thread| thread.process),
            tid: thread.map(|thread| thread.id),
            comm: thread.and_then(|own| own.name.as_deref()).map(|name| comms.number(name)),
        });
        let number = u32::try_from(contexts.len() - 1).unwrap_or(0);
        self.numbers.insert((source, *context), number);
        number
    }
}

/// The address of the code that an element is about.
pub(crate) fn code_address(element: &Element) -> Option<u64> {
    match element {
        Element::Range(range) => Some(range.start),
        Element::Unknown { start, .. } => Some(*start),
        Element::NoCode { address, .. } => Some(*address),
        Element::Exception(exception) => exception.return_address,
        Element::DataAccess(access) => access.by(),
        Element::DwtEvent(event) => event.meaning().pc().map(u64::from),
        _ => None,
    }
}

/// Whether an executed range has an instruction in one of `code`.
#[inline]
pub(crate) fn executes(range: &base::Range, code: &[Range<u64>]) -> bool {
    let within = |first, last| code.iter().any(|own| own.start <= last && first < own.end);
    range.any_addresses(within)
}

/// What is looked for beside the elements.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) functions: bool,
    pub(crate) lines: bool,
    /// Executed ranges are the only elements that matter: a part of the trace that has none of the
    /// selected code need not be decoded.
    pub(crate) only_ranges: bool,
}

/// The code that a query selects in a source.
#[derive(Debug)]
enum Code {
    All,
    Ranges(Vec<Range<u64>>),
    /// By the names of functions, whose addresses differ by process, or at addresses.
    Names(Vec<String>, Vec<Range<u64>>),
}

impl Code {
    fn new(query: &Query, source: &Source) -> Code {
        if query.addresses.is_empty() && query.functions.is_empty() {
            return Code::All;
        }
        let mut ranges = query.addresses.clone();
        match &source.program {
            Program::Image(image) => {
                for name in &query.functions {
                    let named = image.symbols().iter().filter(|own| is_named(own.name, name));
                    ranges.extend(
                        named.map(|own| own.start..own.start.saturating_add(own.size.max(1))),
                    );
                }
                Code::Ranges(ranges)
            }
            _ => Code::Names(query.functions.clone(), ranges),
        }
    }

    /// Whether it is known that nothing is selected.
    fn is_empty(&self) -> bool {
        matches!(self, Code::Ranges(ranges) if ranges.is_empty())
    }

    /// Whether something from `first` to `last` is selected.
    fn has(&self, first: u64, last: u64, source: &Source) -> bool {
        let within = |own: &[Range<u64>]| own.iter().any(|r| r.start <= last && first < r.end);
        match self {
            Code::All => true,
            Code::Ranges(ranges) => within(ranges),
            Code::Names(names, ranges) => {
                within(ranges)
                    || source.symbol_at(first).is_some_and(|symbol| {
                        names.iter().any(|name| is_called(name, &symbol.name, None))
                    })
            }
        }
    }

    /// Whether an element is selected.
    fn has_element(&self, element: &Element, source: &Source) -> bool {
        if let Code::All = self {
            return true;
        }
        is_at(element, |first, last| self.has(first, last, source))
    }
}

/// What a query selects in the sources of a trace.
#[derive(Debug)]
pub(crate) struct Selection {
    window: Window,
    /// By source: whether it is selected, and its code.
    sources: Vec<(bool, Code)>,
    kinds: Vec<String>,
}

impl Selection {
    pub(crate) fn new(query: &Query, trace: &Trace) -> Result<Selection, TableError> {
        check_sources(query, trace)?;
        let own = |source: &Source| (query.has_source(&source.name), Code::new(query, source));
        let sources: Vec<_> = trace.sources().iter().map(own).collect();
        if !query.functions.is_empty() && query.addresses.is_empty() {
            let missing = sources.iter().all(|(_, code)| code.is_empty());
            if let Some(name) = query.functions.first().filter(|_| missing) {
                return Err(TableError::NoFunction(name.clone()));
            }
        }
        if let Some(kind) = query.kinds.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
            return Err(TableError::NoKind(kind.clone()));
        }
        Ok(Selection { window: query.window.clone(), sources, kinds: query.kinds.clone() })
    }

    /// The executed code that is selected of `count` sources from number `first` on.
    pub(crate) fn code(&self, first: usize, count: usize) -> read::Code {
        let own = self.sources.iter().skip(first).take(count);
        let sources: Vec<bool> = own.clone().map(|(selected, _)| *selected).collect();
        let ranges = own.filter(|(selected, _)| *selected).try_fold(Vec::new(), |mut all, own| {
            match &own.1 {
                Code::Ranges(ranges) => all.extend(ranges.iter().cloned()),
                Code::All | Code::Names(..) => return None,
            }
            Some(all)
        });
        let sources = (!sources.iter().all(|selected| *selected)).then_some(sources);
        read::Code { ranges, sources }
    }

    /// Whether code is selected by its address alone.
    pub(crate) fn is_by_address(&self) -> bool {
        !self.sources.iter().any(|(_, code)| matches!(code, Code::Names(..)))
    }

    /// Whether an executed range is selected by its address.
    #[inline]
    pub(crate) fn has_range(&self, source: u32, range: &base::Range) -> bool {
        match self.sources.get(source as usize) {
            Some((_, Code::All)) => true,
            Some((_, Code::Ranges(own))) => executes(range, own),
            _ => false,
        }
    }

    /// Whether a place is inside, where these many instructions follow it.
    #[inline]
    pub(crate) fn has_place(&self, place: &Place, instructions: u64) -> bool {
        let Window { offset, time, instruction, element } = &self.window;
        let before = place.instruction;
        self.sources.get(place.source as usize).is_some_and(|(selected, _)| *selected)
            && offset.as_ref().is_none_or(|range| range.contains(&place.offset))
            && time.as_ref().is_none_or(|r| place.time.is_some_and(|time| r.contains(&time)))
            && element.as_ref().is_none_or(|range| range.contains(&place.element))
            && instruction.as_ref().is_none_or(|range| match instructions {
                0 => range.contains(&before),
                count => before < range.end && before.saturating_add(count) > range.start,
            })
    }

    /// Whether code at `address` is selected.
    pub(crate) fn has_address(&self, source: u32, address: u64, own: &Source) -> bool {
        let code = self.sources.get(source as usize);
        code.is_some_and(|(_, code)| code.has(address, address, own))
    }

    #[inline]
    fn has_row(&self, row: &Row, instructions: u64, source: &Source) -> bool {
        (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind == row.element.kind()))
            && self.has_place(&row.place, instructions)
            && self
                .sources
                .get(row.place.source as usize)
                .is_some_and(|(_, code)| code.has_element(&row.element, source))
    }

    /// Whether nothing after these many elements and instructions is inside.
    pub(crate) fn is_over(&self, elements: u64, instructions: u64) -> bool {
        let Window { instruction, element, .. } = &self.window;
        instruction.as_ref().is_some_and(|range| instructions >= range.end)
            || element.as_ref().is_some_and(|range| elements >= range.end)
    }
}

/// Refuses sources that the trace does not have.
pub(crate) fn check_sources(query: &Query, trace: &Trace) -> Result<(), TableError> {
    let names: Vec<String> = trace.sources().iter().map(|source| source.name.clone()).collect();
    match query.sources.iter().find(|name| !names.contains(name)) {
        Some(name) => Err(TableError::NoSource { name: name.clone(), sources: names }),
        None => Ok(()),
    }
}

/// Receives rows.
pub(crate) trait Rows {
    /// An element, and whether it is selected: what is not may matter for what follows. Returns
    /// whether more is wanted.
    fn row(&mut self, shared: &mut Shared, row: &Row, selected: bool) -> bool;

    /// A buffer ends. Returns whether more is wanted.
    fn end(&mut self, shared: &mut Shared) -> bool {
        let _ = shared;
        true
    }
}

/// What is known of a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceState {
    pub(crate) time: Option<u64>,
    pub(crate) context: u32,
}

/// Numbers the events of a buffer.
pub(crate) struct Numbering {
    pub(crate) buffer: u32,
    /// The number of the first source of the buffer.
    pub(crate) first: usize,
    pub(crate) elements: u64,
    pub(crate) instructions: u64,
    pub(crate) states: Vec<SourceState>,
}

impl Numbering {
    pub(crate) fn new(plan: &Plan, first: usize) -> Numbering {
        Numbering {
            buffer: u32::try_from(plan.buffer).unwrap_or(u32::MAX),
            first,
            elements: 0,
            instructions: 0,
            states: vec![SourceState::default(); plan.sources.len()],
        }
    }

    pub(crate) fn begin(&mut self, shared: &mut Shared, begin: &Begin, session: &Session) {
        (self.elements, self.instructions) = (begin.elements, begin.instructions);
        for (n, state) in self.states.iter_mut().enumerate() {
            let source = self.first + n;
            state.time = begin.times.get(n).copied().flatten();
            if let Some(own) = shared.sources.get_mut(source) {
                own.restart();
                if let Some((_, selection)) = session.selected(n) {
                    own.select(selection);
                }
            }
            if let Some(Some(context)) = begin.contexts.get(n) {
                state.context = shared.number(source as u32, context);
                if let Some(own) = shared.sources.get_mut(source) {
                    own.follow(&Element::Context(*context));
                }
            }
        }
    }

    /// The place of the next element, whose context and time are those up to and including it.
    #[inline]
    pub(crate) fn place(
        &mut self,
        shared: &mut Shared,
        n: usize,
        at: u64,
        element: &Element,
    ) -> Place {
        let source = (self.first + n) as u32;
        let ticks = element.ticks();
        let state = match self.states.get_mut(n) {
            Some(state) => {
                if ticks.is_some() {
                    state.time = ticks;
                }
                if let Element::Context(context) = element {
                    state.context = shared.number(source, context);
                }
                state.clone()
            }
            None => SourceState::default(),
        };
        Place {
            buffer: self.buffer,
            source,
            context: state.context,
            element: self.elements,
            offset: at,
            instruction: self.instructions,
            time: state.time,
        }
    }
}

/// The rows of a buffer.
struct Buffer<'a> {
    trace: &'a Trace,
    selection: &'a Selection,
    wanted: Wanted,
    shared: &'a mut Shared,
    rows: &'a mut dyn Rows,
    numbering: Numbering,
    /// Elements and instructions of the turns of a loop before the next range.
    turn: u64,
    wants_more: bool,
}

impl Buffer<'_> {
    fn event(&mut self, event: &Event) -> bool {
        let Event { source, range: (number, of), times, at, element } = *event;
        let n = source as usize;
        let mut place = self.numbering.place(self.shared, n, at, &element);
        let instructions = match &element {
            Element::Range(range) => u64::from(range.instructions),
            _ => 0,
        };
        place.element = place.element.saturating_add(number.into());
        place.instruction = place.instruction.saturating_add(self.turn);
        let global = self.numbering.first + n;
        let follows = matches!(
            element,
            Element::Context(_) | Element::Timestamp { .. } | Element::DataAccess(_)
        );
        if follows && let Some(own) = self.shared.sources.get_mut(global) {
            own.follow(&element);
        }
        let mut row =
            Row { place, element, times, range: (number, of), function: None, line: None };
        let all = instructions.saturating_mul(times);
        let source = self.shared.sources.get(global);
        let selected = source.is_some_and(|own| self.selection.has_row(&row, all, own));
        if selected && (self.wanted.functions || self.wanted.lines) {
            let address = code_address(&element);
            if self.wanted.functions {
                row.function = address.and_then(|address| self.shared.function(global, address));
            }
            if self.wanted.lines {
                row.line = address.and_then(|address| self.shared.line(self.trace, address));
            }
        }
        let more = self.rows.row(self.shared, &row, selected);
        if let Element::Range(range) = &element
            && let Some(own) = self.shared.sources.get_mut(global)
        {
            own.follow_range(range);
        }
        // The turns of a loop are counted with their last range.
        let numbering = &mut self.numbering;
        self.turn = self.turn.saturating_add(instructions);
        if number + 1 == of {
            numbering.elements = numbering.elements.saturating_add(times.saturating_mul(of.into()));
            numbering.instructions =
                numbering.instructions.saturating_add(self.turn.saturating_mul(times));
            self.turn = 0;
        }
        more && !self.selection.is_over(numbering.elements, numbering.instructions)
    }
}

impl Receive<Vec<Event>> for Buffer<'_> {
    fn begin(&mut self, begin: Begin, session: &Session) {
        self.numbering.begin(self.shared, &begin, session);
    }

    fn output(&mut self, events: Vec<Event>) -> bool {
        self.wants_more = self.wants_more && events.iter().all(|event| self.event(event));
        self.wants_more
    }
}

/// Decodes the buffers that `query` selects, and passes the elements to `rows`.
pub(crate) fn read(
    trace: &Trace,
    query: &Query,
    index: Option<&Index>,
    wanted: Wanted,
    shared: &mut Shared,
    rows: &mut dyn Rows,
) -> Result<Tally, TableError> {
    use tracewright::decode::Merge;
    let selection = Selection::new(query, trace)?;
    let mut tally = Tally::default();
    let mut first = 0;
    for plan in trace.plans() {
        if query.has_buffer(plan.buffer) {
            let numbering = Numbering::new(plan, first);
            let linux = trace.capture().linux.as_deref();
            shared.cpu = linux.and_then(|linux| linux.parts.get(plan.buffer)?.cpu);
            let mut buffer = Buffer {
                trace,
                selection: &selection,
                wanted,
                shared,
                rows,
                numbering,
                turn: 0,
                wants_more: true,
            };
            let part = (query, index);
            let code = match wanted.only_ranges {
                true => selection.code(first, plan.sources.len()),
                false => read::Code::default(),
            };
            let events = Events::default();
            tally.merge(read::buffer_code(trace, plan, part, &code, events, &mut buffer)?);
            if !rows.end(shared) {
                break;
            }
        }
        first += plan.sources.len();
    }
    Ok(tally)
}

/// A part of the elements that [`elements`] finds, in order.
#[derive(Debug)]
pub struct Found<'a> {
    /// The elements.
    pub rows: &'a [Row],
    shared: &'a Shared,
}

impl Found<'_> {
    /// The name of the function of `row`, where it was asked for and is known.
    pub fn function(&self, row: &Row) -> Option<&str> {
        self.shared.functions.text(row.function?)
    }

    /// The context of `row`, where it is known.
    pub fn context(&self, row: &Row) -> Option<Context> {
        self.shared.context(&row.place).context
    }

    /// The process, the thread and its name, where they are known.
    pub fn thread(&self, row: &Row) -> (Option<u32>, Option<u32>, Option<&str>) {
        let own = self.shared.context(&row.place);
        (own.pid, own.tid, own.comm.and_then(|comm| self.shared.comms.text(comm)))
    }
}

/// Collects rows, and passes them on.
struct Collected<'a> {
    rows: Vec<Row>,
    most: usize,
    left: u64,
    take: &'a mut dyn FnMut(&Found<'_>) -> bool,
}

impl Collected<'_> {
    fn pass(&mut self, shared: &Shared) -> bool {
        let more = self.rows.is_empty() || (self.take)(&Found { rows: &self.rows, shared });
        self.rows.clear();
        more && self.left > 0
    }
}

impl Rows for Collected<'_> {
    fn row(&mut self, shared: &mut Shared, row: &Row, selected: bool) -> bool {
        if selected {
            if self.left == 0 {
                return false;
            }
            self.left -= 1;
            self.rows.push(*row);
        }
        if self.rows.len() >= self.most || self.left == 0 { self.pass(shared) } else { true }
    }

    fn end(&mut self, shared: &mut Shared) -> bool {
        self.pass(shared)
    }
}

/// The elements that `query` selects, with the names of their functions where these are wanted.
/// `take` returns whether more are wanted.
///
/// # Errors
/// [`TableError`] where the query selects what is not there, or the trace cannot be decoded.
pub fn elements(
    trace: &Trace,
    query: &Query,
    index: Option<&Index>,
    functions: bool,
    take: &mut dyn FnMut(&Found<'_>) -> bool,
) -> Result<Tally, TableError> {
    let left = query.limit.unwrap_or(u64::MAX);
    let mut collected = Collected { rows: Vec::new(), most: query.batch_rows(), left, take };
    let wanted = Wanted { functions, ..Wanted::default() };
    read(trace, query, index, wanted, &mut Shared::new(trace), &mut collected)
}
