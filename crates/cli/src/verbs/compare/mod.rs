//! `tracewright compare`

use std::fs;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use tracewright::Capture;
use tracewright::base::{Code, Isa, Pc, Space, Step, StepSink, Waypoints};
use tracewright::capture::{Buffer, Dump, Found, Raw, probe, stream, unpacked};
use tracewright::decode::detect::text;
use tracewright::decode::input::{self, Input as Bytes};
use tracewright::decode::{More, Session};
use tracewright::image::{Cache, CacheOptions, Extensions};
use tracewright::logs::{Assembler, Format, InstructionSet, Lookup};
use tracewright::views::Source;
use tracewright::views::compare::{
    AHEAD, Comparison, Difference, Event, Find, MAX_AHEAD, Missing, Side, What,
};
use tracewright::views::disassembly::disassemble_with;

use crate::args::CompareArgs;
use crate::command_line;
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::logs::{self, Log};
use crate::message;
use crate::output::Output;

mod raw;

/// Number of bytes of a buffer that are read at a time.
const CHUNK: usize = 1 << 16;

/// Elements that are queued at a time, unless one byte has more.
const ELEMENTS: usize = 1 << 16;

/// Number of bytes of a log that are read at a time.
const LOG_PART: usize = 1 << 12;

/// One of the two inputs.
enum Reading<'a> {
    Capture(Box<Decoding<'a>>),
    Log(Box<(Log<'a>, Assembler)>),
    Ended(Option<Box<Assembler>>),
}

/// A capture that is being decoded.
struct Decoding<'a> {
    session: Session,
    bytes: Chunks<'a>,
    /// Number of bytes that are decoded at a time.
    part: usize,
}

impl Decoding<'_> {
    /// Decodes the next bytes, or the end. Returns `false` at the end.
    ///
    /// A byte can have as many elements as `--max-expansion` allows. Where the bytes have too many,
    /// they are decoded again from the state before them, half as many.
    fn more(&mut self, side: &mut Side, path: &Path) -> Result<bool, Fail> {
        let Decoding { session, bytes, part } = self;
        let Some(rest) = bytes.next()? else {
            side.begin(MAX_AHEAD);
            session.finish(side);
            return if side.is_over() {
                Err(too_many(path, session.state().at()))
            } else {
                Ok(false)
            };
        };
        let before = session.state().clone();
        loop {
            let len = rest.len().min(*part);
            side.begin(if len > 1 { ELEMENTS } else { MAX_AHEAD });
            session.feed(&rest[..len], side);
            if !side.is_over() {
                *part = (*part * 2).min(CHUNK);
                bytes.pass(len);
                return Ok(true);
            }
            if len == 1 {
                return Err(too_many(path, before.at()));
            }
            session.resume(before.clone());
            side.undo();
            *part = len / 2;
        }
    }
}

fn too_many(path: &Path, at: u64) -> Fail {
    let why = format!(
        "offset {at:#x}: the trace has more than {MAX_AHEAD} elements here; lower --max-expansion"
    );
    Fail::input(path, &why)
}

/// The bytes of a buffer, read in chunks.
struct Chunks<'a> {
    buffer: &'a Buffer,
    input: Box<dyn Bytes>,
    chunk: Vec<u8>,
    /// The bytes of `chunk` that are decoded.
    passed: usize,
}

impl Chunks<'_> {
    fn of(buffer: &Buffer) -> Chunks<'_> {
        Chunks { buffer, input: input::of(buffer), chunk: Vec::with_capacity(CHUNK), passed: 0 }
    }

    /// The next bytes; `None` at the end.
    fn next(&mut self) -> Result<Option<&[u8]>, Fail> {
        if self.passed >= self.chunk.len() {
            self.passed = 0;
            self.chunk.clear();
            match self.input.more(CHUNK, true, &mut self.chunk) {
                Ok(More::End) => return Ok(None),
                Ok(_) => {}
                Err(error) => return Err(Fail::read(&self.buffer.name, &error)),
            }
        }
        Ok(Some(&self.chunk[self.passed..]))
    }

    /// `len` of the bytes are decoded.
    fn pass(&mut self, len: usize) {
        self.passed += len;
    }
}

/// What an input is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InputKind {
    /// A capture that records its protocols.
    Described,
    /// Raw trace data, which the options describe.
    Raw,
    /// An execution log, or a file of unknown format.
    Log,
}

impl InputKind {
    fn of(path: &Path, args: &CompareArgs) -> Result<InputKind, Fail> {
        let described = args.sources.protocols.is_empty();
        // A pipe can be read only once: its format is not looked at.
        if path == Path::new("-")
            || fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
        {
            return Ok(if described { InputKind::Log } else { InputKind::Raw });
        }
        match probe(path)? {
            Found::Raw | Found::Container(_) => {}
            _ => return Ok(InputKind::Described),
        }
        let mut head = Vec::new();
        let read = unpacked(stream(path)?).and_then(|text| text.take(HEAD).read_to_end(&mut head));
        read.map_err(|error| Fail::input(path, &error.to_string()))?;
        let is_text = !head.contains(&0) && text(&head).is_some();
        // Memory as text is raw trace data.
        let is_dump = || {
            let capture = Capture::raw(&[path.to_owned()], &Raw::default());
            capture.is_ok_and(|capture| !capture.notes.is_empty())
        };
        let chosen = args.how.log_map.is_some() || args.how.log_pattern.is_some();
        let is_log = is_text && (chosen || Format::detect(&head).is_some() || !is_dump());
        Ok(if is_log { InputKind::Log } else { InputKind::Raw })
    }
}

/// The first bytes of a file that show whether it is an execution log.
const HEAD: u64 = 1 << 16;

/// Runs the verb.
pub fn run(args: &CompareArgs) -> Result<bool, Fail> {
    let (first, mut second) = inputs(args)?;
    first.readable(false)?;
    let buffers = first.buffers.len().max(second.as_ref().map_or(0, |b| b.buffers.len()));
    let mut output = Output::standard()?;
    let (mut same, mut sources) = (0, 0);
    let mut missing = [Missing::default(); 2];
    // The processors of a log correspond to the sources of all buffers of the capture, in order.
    let mut processors = 0;
    for n in 0..buffers {
        let job = |input: &'_ Input| -> Option<usize> { input.buffers.get(n).copied() };
        let left = job(&first).map(|buffer| first.job(buffer));
        if let (Some(left), Some(input)) = (&left, &mut second)
            && let Some(buffer) = job(input)
        {
            pair(left, input, buffer);
        }
        let right = second.as_ref().and_then(|input| Some(input.job(job(input)?)));
        let count = left.as_ref().map_or(0, |job| job.sources.len());
        let mut a = reading(left.as_ref())?;
        let mut b = match &second {
            Some(_) => reading(right.as_ref())?,
            None => log(args, left.as_ref(), processors)?,
        };
        let side = |job: Option<&Job<'_>>| match job {
            Some(job) => Side::of_capture(!args.only_instructions, job.sources),
            None => Side::of_log(!args.only_instructions),
        };
        let mut a_side = side(left.as_ref());
        if second.is_none() {
            a_side = a_side.without_contents();
        }
        let mut compare = Comparison::new(a_side, side(right.as_ref()));
        let of = processors..processors + count;
        let difference = advance(args, (&mut a, &mut b), &mut compare, &of)?;
        if let Reading::Ended(Some(assembler)) = &b {
            logs::notes(assembler);
        }
        for (missing, side) in missing.iter_mut().zip([&compare.a, &compare.b]) {
            missing.count += side.missing().count;
            missing.first = missing.first.or(side.missing().first);
        }
        processors += count;
        same += compare.same();
        sources += compare.sources();
        if let Some(difference) = difference {
            comparable(args, &difference)?;
            if let (Some(left), None) = (&left, &second) {
                with_log(args, left, &difference)?;
            }
            let mut text = explain(args, &difference, left.as_ref(), right.as_ref());
            for (side, event) in [("A", &difference.a), ("B", &difference.b)] {
                if event.is_none() && difference.same == 0 {
                    text += &format!(
                        "        no instruction was decoded from {side}: check its protocol and \
                         registers\n"
                    );
                }
            }
            raw::note_missing(missing);
            output.print(&text)?;
            let totals = further(args, (&mut a, &mut b), &mut compare, &of, difference.source)?;
            output.print(&totals.text(compare.same()))?;
            output.close()?;
            return Ok(false);
        }
    }
    if same == 0 {
        return Err(Fail::input(&args.a, &raw::nothing(&first, second.as_ref(), missing)));
    }
    raw::note_missing(missing);
    let word = if sources == 1 { "source" } else { "sources" };
    output.print(&format!("the same: {same} instructions and events of {sources} {word}\n"))?;
    output.close()?;
    Ok(first.is_unchanged() && second.as_ref().is_none_or(Input::is_unchanged))
}

/// Opens both inputs. The second is `None` where it is an execution log.
fn inputs(args: &CompareArgs) -> Result<(Input, Option<Input>), Fail> {
    let mut kind_a = InputKind::of(&args.a, args)?;
    let kind_b = InputKind::of(&args.b, args)?;
    // A pipe with a log comes second.
    if args.a == Path::new("-") {
        kind_a = InputKind::Raw;
    }
    match (kind_a, kind_b) {
        (InputKind::Log, InputKind::Log) => {
            let why = "it is an execution log, as is the other one; give a capture first, and a log \
                       or a capture second";
            return Err(Fail::input(&args.a, why));
        }
        (InputKind::Log, _) => {
            let (b, run) = (args.b.display(), command_line::with_inputs_swapped(&args.a, &args.b));
            let why = format!(
                "it is an execution log, and {b} is a capture: the arguments are swapped; run: {run}"
            );
            return Err(Fail::input(&args.a, &why));
        }
        _ => {}
    }
    let raw = [kind_a, kind_b].contains(&InputKind::Raw);
    let memory = match (kind_a, kind_b) {
        (InputKind::Raw, InputKind::Log) => logged_memory(args)?,
        _ => Vec::new(),
    };
    let input = |path: &Path, kind: InputKind, memory: Vec<Dump>| -> Result<Option<Input>, Fail> {
        let mut sources = args.sources.clone();
        match kind {
            InputKind::Log => return Ok(None),
            // The description of raw trace data is that of the other input.
            InputKind::Described if raw => {
                (sources.protocols, sources.params, sources.core) = (Vec::new(), None, None);
                sources.registers.clear();
            }
            InputKind::Described | InputKind::Raw => {}
        }
        let mut input = Input::read_with(path, &sources, &args.how.images, memory)?;
        input.change(|options| options.max_expansion = args.limits.max_expansion);
        Ok(Some(input))
    };
    let (a, b) = (input(&args.a, kind_a, memory)?, input(&args.b, kind_b, Vec::new())?);
    raw::notes(a.as_ref(), b.as_ref());
    let why = "expected a capture; give the capture first, and the log second";
    Ok((a.ok_or_else(|| Fail::input(&args.a, why))?, b))
}

/// The machine of ELF files for `isa`. (ELF, `e_machine`)
const fn machine(isa: Isa) -> u16 {
    match isa {
        Isa::A64 => 183,
        Isa::Rv32 | Isa::Rv64 => 243,
        _ => 40,
    }
}

/// The executed code of a log that is in no image, such as that of a boot ROM.
fn logged_memory(args: &CompareArgs) -> Result<Vec<Dump>, Fail> {
    if !args.b.is_file() {
        return Ok(Vec::new());
    }
    let mut log = Log::open_any(&args.b, &args.how)?;
    log.is_silent = true;
    if log.set == InstructionSet::Unknown {
        return Ok(Vec::new());
    }
    let mut assembler = log.assembler(&args.how, Extensions::NONE)?;
    let mut ignore = |_: u16, _: &Step| {};
    while log.more(&mut |entry| assembler.entry(&entry, &mut ignore))? {}
    let runs = assembler.lookup().logged().runs();
    let dumps = assembler.lookup().logged().dumps(machine(log.isa));
    if let Some((first, _)) = runs.first() {
        let bytes: usize = runs.iter().map(|(_, bytes)| bytes.len()).sum();
        let why = if args.how.images.is_empty() {
            "there is no --image"
        } else {
            "no --image contains them"
        };
        message::line(&format!(
            "note: {bytes} bytes of executed code, the first at {first:#x}, are taken from the log: {why}"
        ));
    }
    Ok(dumps)
}

/// The buffer of `job`, from its beginning.
fn reading<'a>(job: Option<&'a Job<'a>>) -> Result<Reading<'a>, Fail> {
    let Some(job) = job else { return Ok(Reading::Ended(None)) };
    Ok(Reading::Capture(Box::new(Decoding {
        session: job.session()?,
        bytes: Chunks::of(job.buffer),
        part: CHUNK,
    })))
}

/// The log, from its beginning. Its processors from `first` on have the memory and the custom
/// opcodes of the sources of `job`.
fn log<'a>(
    args: &'a CompareArgs,
    job: Option<&Job<'_>>,
    first: usize,
) -> Result<Reading<'a>, Fail> {
    let units = job.map(|job| job.sources).unwrap_or_default();
    let isa = units.iter().find_map(|source| source.config.fixed_isa());
    let log = Log::open(&args.b, &args.how, isa)?;
    let mut assembler = log.assembler(&args.how, Extensions::NONE)?;
    for (cpu, source) in (first..).zip(units) {
        let Ok(cpu) = u16::try_from(cpu) else { break };
        let lookup = Lookup::with(source.image.clone(), source.config.riscv());
        assembler.look_up_in(cpu, lookup);
    }
    Ok(Reading::Log(Box::new((log, assembler))))
}

/// Reads both inputs up to the first difference, always the one that is behind. Only the processors
/// `of` are used from a log.
fn advance<'r>(
    args: &CompareArgs,
    (a, b): (&mut Reading<'r>, &mut Reading<'r>),
    compare: &mut Comparison,
    of: &Range<usize>,
) -> Result<Option<Difference>, Fail> {
    let ended = |reading: &Reading<'_>| matches!(reading, Reading::Ended(_));
    for (reading, side) in [(&*a, &mut compare.a), (&*b, &mut compare.b)] {
        if ended(reading) {
            side.finish();
        }
    }
    loop {
        let a_is_behind = compare.a.waiting() <= compare.b.waiting();
        if ended(a) && ended(b) {
            return Ok(compare.finish());
        }
        let (reading, side, path) = if a_is_behind && !ended(a) || ended(b) {
            (&mut *a, &mut compare.a, &args.a)
        } else {
            (&mut *b, &mut compare.b, &args.b)
        };
        more(reading, side, of, path)?;
        if ended(reading) {
            side.finish();
        }
        if let Some(difference) = compare.advance() {
            return Ok(Some(difference));
        }
        for (side, path) in [(&compare.a, &args.a), (&compare.b, &args.b)] {
            if side.waiting() > MAX_AHEAD {
                let why = format!(
                    "a source is more than {MAX_AHEAD} elements ahead of the same source of the other \
                     input: the inputs have their sources in too different an order; compare one \
                     source at a time with --id"
                );
                return Err(Fail::input(path, &why));
            }
        }
    }
}

/// The differences of two inputs.
struct Differences {
    count: u64,
    /// Events that one side has and the other lacks.
    only_a: u64,
    only_b: u64,
    /// How the rest was compared, where it is not as usual.
    rest: Option<&'static str>,
}

/// After more differences than these, the inputs are not compared further.
const MAX_DIFFERENCES: u64 = 1000;

impl Differences {
    fn text(&self, same: u64) -> String {
        let Differences { count, only_a, only_b, rest } = self;
        let word = if *count == 1 { "difference" } else { "differences" };
        let rest = rest.map_or(String::new(), |why| format!("; {why}"));
        format!(
            "{count} {word}: A has {only_a} instructions and events that B lacks, and B {only_b} that \
             A lacks; {same} are the same{rest}\n"
        )
    }
}

/// Counts the differences from the first one on, where it is of the source `source`.
fn further<'r>(
    args: &CompareArgs,
    (a, b): (&mut Reading<'r>, &mut Reading<'r>),
    compare: &mut Comparison,
    of: &Range<usize>,
    source: usize,
) -> Result<Differences, Fail> {
    let mut found = Differences { count: 1, only_a: 0, only_b: 0, rest: None };
    let mut source = source;
    loop {
        for (reading, is_a) in [(&mut *a, true), (&mut *b, false)] {
            loop {
                let side = if is_a { &mut compare.a } else { &mut compare.b };
                if matches!(reading, Reading::Ended(_)) {
                    side.finish();
                    break;
                }
                if side.ready(source) >= AHEAD || side.waiting() > MAX_AHEAD {
                    break;
                }
                more(reading, side, of, if is_a { &args.a } else { &args.b })?;
            }
        }
        match compare.resynchronise(source) {
            Some((skipped_a, skipped_b)) => {
                found.only_a += skipped_a as u64;
                found.only_b += skipped_b as u64;
            }
            None => {
                let over = |reading: &Reading<'_>, side: &mut Side| {
                    matches!(reading, Reading::Ended(_)) && side.ready(source) == 0
                };
                if !over(a, &mut compare.a) && !over(b, &mut compare.b) {
                    found.rest = Some("the inputs do not agree again, and all behind is counted");
                }
                let (rest_a, rest_b) = rest(args, (a, b), compare, of, source)?;
                found.only_a += rest_a;
                found.only_b += rest_b;
            }
        }
        match advance(args, (a, b), compare, of)? {
            None => return Ok(found),
            Some(difference) => source = difference.source,
        }
        found.count += 1;
        if found.count >= MAX_DIFFERENCES {
            found.rest = Some("the inputs were not compared further");
            return Ok(found);
        }
    }
}

/// Reads both inputs to their ends, and counts what they have left of `source`.
fn rest<'r>(
    args: &CompareArgs,
    (a, b): (&mut Reading<'r>, &mut Reading<'r>),
    compare: &mut Comparison,
    of: &Range<usize>,
    source: usize,
) -> Result<(u64, u64), Fail> {
    let (mut rest_a, mut rest_b) = (0, 0);
    loop {
        let (left, right) = compare.skip_all(source);
        rest_a += left;
        rest_b += right;
        let mut read = false;
        for (reading, side, path) in
            [(&mut *a, &mut compare.a, &args.a), (&mut *b, &mut compare.b, &args.b)]
        {
            if matches!(reading, Reading::Ended(_)) || side.waiting() > MAX_AHEAD {
                continue;
            }
            more(reading, side, of, path)?;
            read = true;
            if matches!(reading, Reading::Ended(_)) {
                side.finish();
            }
        }
        if !read {
            return Ok((rest_a, rest_b));
        }
    }
}

/// Refuses a `difference` that may be none: that of turns of a loop which are only counted.
fn comparable(args: &CompareArgs, difference: &Difference) -> Result<(), Fail> {
    for (event, path) in [(&difference.a, &args.a), (&difference.b, &args.b)] {
        if let Some(Event { at: Some(at), what: What::Unlisted { start, turns }, .. }) = event {
            let why = format!(
                "offset {at:#x}: the packet counts {turns} further turns of the loop at {start:#x}, \
                 which cannot be compared; raise --max-expansion"
            );
            return Err(Fail::input(path, &why));
        }
    }
    Ok(())
}

/// Refuses the instructions of a log where no source of the capture traces any.
fn with_log(args: &CompareArgs, capture: &Job<'_>, difference: &Difference) -> Result<(), Fail> {
    let traces = |source: &Source| source.config.protocol().traces_instructions();
    let is_instruction =
        matches!(&difference.b, Some(Event { what: What::Instruction { .. }, .. }));
    if !is_instruction || capture.sources.iter().any(traces) {
        return Ok(());
    }
    let names: Vec<_> = capture.sources.iter().map(|source| source.name.as_str()).collect();
    let why = format!(
        "it traces no instructions ({}), and {} is a log of instructions: they cannot be compared",
        names.join(", "),
        args.b.display()
    );
    Err(Fail::input(&args.a, &why))
}

/// Reorders the sources of `buffer` of `input` like those of `left`, if both have the same trace
/// IDs.
fn pair(left: &Job<'_>, input: &mut Input, buffer: usize) {
    let index = |id: u16| left.plan.sources.iter().position(|planned| planned.id == id);
    let right = input.job(buffer).plan;
    let same = left.plan.framed()
        && right.framed()
        && right.sources.len() == left.plan.sources.len()
        && right.sources.iter().all(|planned| index(planned.id).is_some());
    if same {
        input.trace.sort_sources(buffer, index);
    }
}

/// Reads a part of one input. Only the processors `of` are used from a log.
fn more(
    reading: &mut Reading<'_>,
    side: &mut Side,
    of: &Range<usize>,
    path: &Path,
) -> Result<(), Fail> {
    match reading {
        Reading::Capture(decoding) => {
            if !decoding.more(side, path)? {
                *reading = Reading::Ended(None);
            }
        }
        Reading::Log(log) => {
            let (log, assembler) = log.as_mut();
            let mut steps = |cpu: u16, step: &Step| {
                if of.contains(&usize::from(cpu)) {
                    side.step(cpu - of.start as u16, step);
                }
            };
            if !log.part(LOG_PART, &mut |entry| assembler.entry(&entry, &mut steps))? {
                assembler.finish(&mut steps);
                let done = std::mem::replace(reading, Reading::Ended(None));
                if let Reading::Log(log) = done {
                    *reading = Reading::Ended(Some(Box::new(log.1)));
                }
            }
        }
        Reading::Ended(_) => {}
    }
    Ok(())
}

fn explain(
    args: &CompareArgs,
    difference: &Difference,
    a: Option<&Job<'_>>,
    b: Option<&Job<'_>>,
) -> String {
    let source = difference.source;
    let ours = a.and_then(|job| job.sources.get(source));
    let mut text = ours.map_or("?", |s| s.name.as_str()).to_owned();
    if let Some(id) = ours.and_then(|source| source.id) {
        text += &format!(" (id {id:#04x})");
    }
    text += &match difference.same {
        0 => ": differs from the first instruction or event on\n".to_owned(),
        same => format!(": differs after {same} that are the same\n"),
    };
    if let Some(before) = &difference.before {
        text += &format!("  both  {}\n", line(before, a, source));
    }
    for (side, path, event, job) in
        [("A", &args.a, &difference.a, a), ("B", &args.b, &difference.b, b)]
    {
        let shown = match event {
            Some(event) => line(event, job.or(a), source),
            None => "has ended".to_owned(),
        };
        text += &format!("  {side}     {shown}\n");
        if let Some(address) = event.as_ref().and_then(|event| without_code(event, a, source)) {
            text += &format!(
                "        program memory is missing at {address:#x}, so A cannot have it: add it \
                 with --image FILE or --image FILE@ADDRESS\n"
            );
        }
        let Some(at) = event.as_ref().and_then(|event| event.at) else { continue };
        if let Some(packet) = job.and_then(|job| packet(job, source, at)) {
            text += &format!("        {} at offset {at:#x}: {packet}\n", path.display());
        }
    }
    text
}

fn opcode(source: &Source, address: u64, isa: Isa) -> Option<u32> {
    let image = source.image.clone();
    let mut cache = Cache::new(image, Waypoints::default(), CacheOptions::default());
    cache.opcode(Pc { address, isa, space: Space::ANY })
}

/// The address of an instruction that program memory does not have.
fn without_code(event: &Event, job: Option<&Job<'_>>, source: usize) -> Option<u64> {
    let What::Instruction { address, isa } = event.what else { return None };
    let source = job.and_then(|job| job.sources.get(source))?;
    opcode(source, address, isa).is_none().then_some(address)
}

/// An instruction or event, in one line.
fn line(event: &Event, job: Option<&Job<'_>>, source: usize) -> String {
    let gap = if event.after_gap { ", after a gap" } else { "" };
    match event.what {
        What::Instruction { address, isa } => {
            let source: Option<&Source> = job.and_then(|job| job.sources.get(source));
            match source.and_then(|source| opcode(source, address, isa)) {
                Some(opcode) => {
                    let riscv = source.map_or(Extensions::NONE, |source| source.config.riscv());
                    let words = disassemble_with(isa, opcode, address, &riscv);
                    format!("{address:#010x} {isa} {opcode:08x} {words}{gap}")
                }
                None => format!("{address:#010x} {isa}{gap}"),
            }
        }
        What::Exception(Some(number)) => format!("exception {number}{gap}"),
        What::Exception(None) => format!("an exception{gap}"),
        What::SoftwareWrite(write) => format!("{write}{gap}"),
        What::DwtEvent(report) => format!("{report}{gap}"),
        What::Custom { kind, ref bytes } => {
            let digits: String = bytes.iter().map(|byte| format!(" {byte:02x}")).collect();
            format!("{kind} of {} bytes{digits}{gap}", bytes.len())
        }
        What::Unlisted { start, turns } => format!("{turns} turns of the loop at {start:#x}{gap}"),
    }
}

/// The packet at offset `at`, with its bytes. The capture is decoded again to find it.
fn packet(job: &Job<'_>, source: usize, at: u64) -> Option<String> {
    let mut find = Find::new(job.sources, source, at);
    let (mut session, mut bytes) = (job.session().ok()?, Chunks::of(job.buffer));
    while find.found.is_none() {
        match bytes.next().ok()? {
            Some(part) => {
                session.feed(part, &mut find);
                let len = part.len();
                bytes.pass(len);
            }
            None => {
                session.finish(&mut find);
                break;
            }
        }
    }
    find.found
}
