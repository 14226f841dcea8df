//! What must hold of texts about trace units and trace buffers: register values, recorded accesses,
//! requests, and registers of a buffer.

use tracewright::Capture;
use tracewright::base::{Isa, Step};
use tracewright::capture::assignments;
use tracewright::capture::{Buffer, Format, Layout, Raw};
use tracewright::logs::{Assembler, Format as Log, Lookup, Reader};
use tracewright::units::program::{self, BusKind, Program};
use tracewright::units::request::{Request, parse};
use tracewright::units::sink::{Mode, Sink, Watermark};
use tracewright::units::values::{self, Values};
use tracewright::units::{Unit, catalogue, sink, unit};

/// The number of kinds of text.
pub const KINDS: u8 = 4;

/// Longer texts test nothing else.
const MAX_LINES: usize = 64;

/// What a processor did.
const LOG: &str = include_str!("../../tests/captures/etmv3/log.csv");

/// A text, whatever it is: no panic in its reader, nor in what a unit does with what was read; a
/// message is one line; what is written is read again as the same.
///
/// The first bytes choose the kind of text and the unit.
pub fn units(data: &[u8]) {
    let Some((&[kind, number], text)) = data.split_first_chunk::<2>() else { return };
    let text = String::from_utf8_lossy(text);
    // The catalogue has the versions of the ETM as one entry for people.
    let mut names = catalogue::names();
    names.retain(|name| !name.contains(' '));
    names.extend(["ETMv1.0", "ETMv1.3", "ETMv2.1", "ETMv3.0", "ETMv3.3", "ETMv3.5"]);
    let name = names[usize::from(number) % names.len()];
    let unit = catalogue::named(name).expect("a unit of the catalogue");
    match kind % KINDS {
        0 => registers(unit, &text),
        1 => recording(unit.as_ref(), &text),
        2 => request(unit.as_ref(), &text),
        _ => buffer(&text),
    }
}

/// A message is one line.
fn line(text: &str) {
    assert_eq!(text.trim_end_matches('\r').lines().count(), 1, "{text:?}");
}

/// Register values of the unit, and of the unit that they identify.
fn registers(named: Box<dyn Unit>, text: &str) {
    let keys = match values::read(text) {
        Ok(keys) => keys,
        Err(invalid) => return line(&invalid.to_string()),
    };
    let identified = catalogue::identified(&keys.iter().cloned().collect());
    for unit in [Some(named), identified].into_iter().flatten() {
        let known: Vec<_> =
            keys.iter().filter(|(key, _)| unit.register(key).is_some()).cloned().collect();
        let values = unit::values(unit.as_ref(), &known).expect("registers of the unit");
        let unit = unit.with(&values).unwrap_or(unit);
        explained(unit.as_ref(), &values);
        // The registers of a snapshot are read again as the same.
        let program = Program { values: values.clone(), ..Program::default() };
        let offset = |name: &str| unit.register(name).and_then(|register| register.offset);
        let written = program.snapshot(&offset);
        let again: Values = values::read(&written).expect("what was written").into_iter().collect();
        assert_eq!(again, values, "{written}");
        if let Some(mut filter) = unit.filter(&values) {
            for step in &steps() {
                let _ = filter.step(step);
                let _ = filter.revised();
            }
        }
    }
}

/// What the unit reports of the values.
fn explained(unit: &dyn Unit, values: &Values) {
    line(&unit.name());
    unit.about().iter().for_each(|text| line(text));
    for register in unit.registers() {
        let Some(value) = values.get(&register.name) else { continue };
        for field in register.fields.iter() {
            let _ = unit.field(&register, field, field.of(value));
        }
        let _ = register.unknown_bits(value);
    }
    unit.explain(values).iter().for_each(|text| line(text));
    unit.lint(values).iter().for_each(|finding| line(&finding.to_string()));
    if let Some(request) = unit.request(values) {
        // Values that no unit has may need what it lacks.
        let _ = unit.program(&request);
    }
}

/// The steps of a log.
fn steps() -> Vec<Step> {
    let (mut entries, mut steps) = (Vec::new(), Vec::new());
    let mut reader = Reader::new(Log::Csv, Isa::A32);
    reader.feed(LOG.as_bytes(), &mut |entry| entries.push(entry)).expect("a log");
    let mut assembler = Assembler::new(Lookup::default());
    entries
        .iter()
        .for_each(|entry| assembler.entry(entry, &mut |_, step: &Step| steps.push(*step)));
    steps.truncate(100);
    steps
}

/// Recorded accesses.
fn recording(unit: &dyn Unit, text: &str) {
    let accesses = match program::read(text) {
        Ok(accesses) => accesses,
        Err(invalid) => return line(&invalid.to_string()),
    };
    unit.sequence(&accesses).iter().for_each(|finding| line(&finding.to_string()));
    same_recording(&accesses);
}

/// Accesses that are written one a line are read again as the same.
fn same_recording(accesses: &[program::BusAccess]) {
    let mut text = String::new();
    for access in accesses {
        let value = access.value.map_or(String::new(), |value| format!(" {value:#x}"));
        let what = match access.kind {
            BusKind::Read => format!("read {}{value}", access.register),
            BusKind::Write => format!("write {}{value}", access.register),
            BusKind::Barrier(barrier) => barrier.instruction().to_owned(),
            BusKind::Exception(level) => format!("exception EL{level}"),
            BusKind::Return(level) => format!("eret EL{level}"),
        };
        text += &what;
        text.push('\n');
    }
    let again = program::read(&text).expect("what was written");
    assert_eq!(again.len(), accesses.len(), "{text}");
    for (again, access) in again.iter().zip(accesses) {
        let same = (again.kind, &again.register, again.value);
        assert_eq!(same, (access.kind, &access.register, access.value), "{text}");
    }
}

/// A request: one part in a line. What it makes is checked by the unit's own rules of order.
fn request(unit: &dyn Unit, text: &str) {
    let lookup = |name: &str| match name {
        "main" => Some((0x8000, Some(0x8040))),
        "end" => Some((u64::MAX, None)),
        _ => None,
    };
    let mut request = Request::default();
    for text in text.lines().take(MAX_LINES) {
        if let Err(why) = part(&mut request, text, &lookup) {
            line(&why.to_string());
        }
    }
    let made = match unit.program(&request) {
        Ok(made) => made,
        Err(refusals) => return refusals.iter().for_each(|refusal| line(&refusal.to_string())),
    };
    assert!(!made.text().is_empty());
    let (tcl, code) = (unit.openocd(&made, 0x1000), unit.c(&made, Some(0x1000)));
    assert!(!tcl.is_empty() && code.is_some_and(|code| !code.is_empty()));
    let _ = (unit.c(&made, None), unit.sysfs(&made));
    explained(unit, &made.values);
    let accesses = made.accesses();
    same_recording(&accesses);
    let findings = unit.sequence(&accesses);
    assert!(!findings.iter().any(|finding| finding.is_error()), "{findings:?}\n{request:?}");
}

/// Adds a part to the request.
fn part(request: &mut Request, text: &str, lookup: parse::Lookup<'_>) -> Result<(), String> {
    let (option, value) = text.split_once(' ').unwrap_or((text, ""));
    let number = values::number(value);
    match option {
        "trace" => request.trace.push(parse::span(value, lookup)?),
        "exclude" => request.exclude.push(parse::span(value, lookup)?),
        "data" => request.data.push(parse::span(value, lookup)?),
        "between" => request.between.push(parse::pair(value, lookup)?),
        "trigger" => {
            let condition = parse::condition(value, lookup)?;
            assert_eq!(parse::condition(&condition.to_string(), lookup), Ok(condition));
            request.trigger = Some(condition);
        }
        "context" => request.context = number.map(|number| number as u32),
        "vmid" => request.vmid = number.map(|number| number as u32),
        "levels" => request.levels = number.map(|number| number as u8 & 15).filter(|n| *n != 0),
        "context-bytes" => {
            request.context_bytes = [0, 1, 2, 4][number.unwrap_or(0) as usize % 4];
        }
        "id" => request.trace_id = number.map(|number| (number % 0x6f) as u8 + 1),
        "all-data" => request.all_data = true,
        "cycles" => request.cycles = true,
        "branches" => request.branch_output = true,
        "timestamps" => request.timestamps = true,
        "stall" => request.stall = true,
        "halt" => request.halt = true,
        "trbe" | "etr" => {
            let mut words = value.split(' ');
            let span = parse::span(words.next().unwrap_or_default(), lookup)?;
            let mode = match words.next() {
                Some("wrap") => Mode::Wrap,
                Some("circular") => Mode::Circular,
                _ => Mode::Fill,
            };
            let watermark = words.next().and_then(values::number).map(|bytes| match mode {
                Mode::Wrap => Watermark::Wrap(bytes),
                Mode::Fill | Mode::Circular => Watermark::Trigger(bytes),
            });
            let buffer = sink::Buffer { base: span.start, limit: span.end, mode, watermark };
            let sink = if option == "trbe" { Sink::Trbe(buffer) } else { Sink::Etr(buffer) };
            if let Some(why) = sink.invalid() {
                return Err(why.to_owned());
            }
            request.sink = Some(sink);
        }
        _ => {}
    }
    Ok(())
}

/// The registers of a trace buffer: the device type and the number of stored bytes in the first
/// line, registers in the second. The trace is a part of the stored bytes, each of them once.
fn buffer(text: &str) {
    let mut lines = text.lines();
    let (device_type, len) =
        lines.next().and_then(|line| line.split_once(' ')).unwrap_or(("ETR", "64"));
    let len = values::number(len).unwrap_or(64);
    let registers = match assignments(lines.next().unwrap_or_default(), "registers".as_ref()) {
        Ok(registers) => registers,
        Err(error) => return line(&error.to_string()),
    };
    // A list of pages: each word depends on its address.
    let word = |address: u64| Some((address as u32).wrapping_mul(0x9e37_79b9) & !0xc | 2);
    for len in [len, 64] {
        let Some(layout) = Layout::of(device_type, &registers, len, &word) else { continue };
        let layout = match layout {
            Ok(layout) => layout,
            Err(why) => {
                line(&why.to_string());
                continue;
            }
        };
        let mut parts = layout.parts.clone();
        parts.sort_by_key(|part| part.start);
        assert!(parts.iter().all(|part| part.start < part.end && part.end <= len), "{layout:?}");
        layout.state.iter().chain(&layout.lost).for_each(|text| line(text));
        if !layout.parts.is_empty() && layout.kind != tracewright::capture::sink::Kind::Etr {
            assert!(parts.is_sorted_by(|one, other| one.end <= other.start), "{layout:?}");
        }
    }
    stored(registers);
}

/// The trace of 64 stored bytes is what the layout lists.
fn stored(registers: tracewright::capture::Registers) {
    let bytes: Vec<u8> = (0..64).collect();
    let mut capture = Capture::raw(&[], &Raw::default()).expect("a capture");
    capture.buffers = vec![Buffer::new("buffer", Format::SourceData, bytes.clone())];
    if let Some(source) = capture.sources.first_mut() {
        source.device_type = "MTB".to_owned();
        source.registers = registers;
    }
    capture.read_sinks();
    capture.notes.iter().for_each(|note| line(&note.to_string()));
    let buffer = &capture.buffers[0];
    let trace = buffer.bytes();
    match &buffer.sink {
        None => assert_eq!(*trace, bytes),
        Some(sink) => {
            let parts = sink.layout.parts.iter();
            let want: Vec<u8> = parts
                .flat_map(|part| &bytes[part.start as usize..part.end as usize])
                .copied()
                .collect();
            assert!(want.starts_with(&trace), "{:?}", sink.layout);
            assert!(sink.layout.stop_sequence || want.len() == trace.len(), "{:?}", sink.layout);
        }
    }
}
