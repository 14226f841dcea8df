//! From a capture to [`Info`].

use std::collections::HashSet;
use std::io::Read as _;

use tracewright_base::remedy::{BINARY, IMAGE, PROTOCOL, SYMFS};
use tracewright_base::{Field, Register};
use tracewright_capture::sink::{Kind, Sink};
use tracewright_capture::{
    Capture, Dump, File, Form, Note, Problem, Register as CapturedRegister, Source,
};
use tracewright_decode::memory::foreign;
use tracewright_decode::{JUMP_TABLE, JumpTable, Options, Plan, Planned, Skipped, Why};
use tracewright_frames::Numbering;
use tracewright_image::{AddressSpaces, Bytes, Elf, Load, machine_name};
use tracewright_protocols::registry::AnyConfig;
use tracewright_units::buffers::{mtb, tmc, trbe};
use tracewright_units::etm::registers::numbered;
use tracewright_units::etm::settings::number_of;
use tracewright_units::etm::version::Version;
use tracewright_units::riscv::registers::RAM;

use super::devices::devices;
use super::{
    BufferInfo, FieldInfo, ImageInfo, Info, LinuxInfo, Overview, RegisterInfo, SinkInfo, SourceInfo,
};
use crate::explain::{Remark, data_stream, left_out, plan_framing};
use crate::link::{Ids, largest};

impl Info {
    /// Describes `capture`.
    pub fn of(capture: &Capture, options: &Options) -> Info {
        let plans: Vec<_> =
            (0..capture.buffers.len()).filter_map(|n| Plan::new(capture, n, options)).collect();
        let buffers: Vec<_> = plans.iter().map(|plan| buffer(capture, plan)).collect();
        let overview = Overview::of(capture, &plans, options);
        let misread = overview.cause.as_ref().filter(|(_, cause)| cause.is_misread());
        let misread = misread.map(|(buffer, _)| *buffer);
        let mut missing = Vec::new();
        let mut reported: Vec<Skipped> = Vec::new();
        for (plan, info) in plans.iter().zip(&buffers) {
            // A source of several buffers is reported once.
            for skipped in plan.skipped.iter().filter(|s| !matches!(s.why, Why::SameId(_))) {
                if !reported.contains(skipped) {
                    reported.push(skipped.clone());
                    missing.extend(left_out(skipped));
                }
            }
            // Decoding reports those of the buffers that it looked at.
            if misread != Some(plan.buffer) && !overview.looked.contains(&plan.buffer) {
                unknown_ids(capture, plan, info, &mut missing);
            }
        }
        let of_sink = |note: &&Note| match &note.problem {
            Problem::SinkEmpty { .. } | Problem::SinkRegisters { .. } => true,
            Problem::Converted(of) => of.help.is_some(),
            _ => false,
        };
        let assumed = plans.iter().flat_map(|plan| &plan.sources).flat_map(Planned::assumptions);
        let sinks = capture.notes.iter().filter(of_sink).map(ToString::to_string);
        missing.extend(sinks.chain(assumed).map(|text| {
            let (what, help) = text.split_once("; ").unwrap_or((&text, ""));
            Remark { what: what.into(), help: help.into() }
        }));
        let mut sources: Vec<_> = capture.sources.iter().map(|s| source(capture, s)).collect();
        // The ID of a source of messages is its number in the messages.
        for planned in plans.iter().filter(|p| p.messages.is_some()).flat_map(|p| &p.sources) {
            sources.get_mut(planned.source).into_iter().for_each(|info| info.id = Some(planned.id));
        }
        let mut images: Vec<_> = capture.memory.iter().map(|dump| image(capture, dump)).collect();
        images.extend(capture.linux.iter().flat_map(|linux| mapped(&linux.spaces)));
        program(capture, &images, &overview, &mut missing);
        let mut notes: Vec<_> = capture.notes.iter().map(ToString::to_string).collect();
        let mut known: HashSet<_> = notes.iter().cloned().collect();
        for note in plans.iter().flat_map(Plan::notes).chain(without_zcm(capture, &plans)) {
            if known.insert(note.clone()) {
                notes.push(note);
            }
        }
        Info {
            path: capture.path.clone(),
            description: capture.description.clone(),
            buffers,
            sources,
            devices: devices(capture),
            images,
            notes,
            missing,
            linux: capture.linux.as_deref().map(|linux| LinuxInfo::of(capture, linux)),
            overview,
        }
    }
}

/// Notes on processors that are configured without Zcmt, but whose programs have a jump table.
fn without_zcm(capture: &Capture, plans: &[Plan]) -> Vec<String> {
    let planned = plans.iter().flat_map(|plan| &plan.sources);
    let notes = planned.filter_map(|planned| {
        let has = !planned.config.protocol().is_riscv() || planned.config.riscv().zcm;
        let source = capture.sources.get(planned.source).filter(|_| !has)?;
        let JumpTable { file, .. } = JumpTable::of(capture.images_for(source))?;
        Some(format!(
            "{}: {file} has a jump table of Zcmt ({JUMP_TABLE}): if the processor has Zcmt, set \
             zcm = true",
            planned.name
        ))
    });
    notes.collect()
}

/// Number of bytes of a buffer that are read at a time.
const BLOCK: usize = 1 << 16;

fn buffer(capture: &Capture, plan: &Plan) -> BufferInfo {
    let buffer = &capture.buffers[plan.buffer];
    let mut frames = plan.framed().then(|| (Ids::default(), plan.route(Numbering::Capture)));
    let mut at = 0;
    // The size of a pipe is known at its end.
    if frames.is_some() || buffer.is_piped() {
        let (mut reader, mut block) = (buffer.reader(), vec![0; BLOCK]);
        // Bytes before a read error are counted.
        while let Ok(len @ 1..) = reader.read(&mut block) {
            if let Some((ids, splitter)) = &mut frames {
                splitter.split(at, block.get(..len).unwrap_or_default(), ids);
            }
            at += len as u64;
        }
    }
    let ids = frames.map(|(mut ids, mut splitter)| {
        splitter.finish(at, &mut ids);
        ids
    });
    let own = plan.sources.iter().filter(|planned| planned.stream > 0);
    let own = own.map(|planned| (planned.id, planned.name.clone()));
    let others = ids.iter().flat_map(Ids::sources).filter_map(|(id, _)| {
        let unit = plan.data_stream(id)?;
        Some((id, format!("data stream of {}, not decoded", unit.name)))
    });
    BufferInfo {
        streams: own.chain(others).collect(),
        name: buffer.name.clone(),
        format: buffer.format.to_string(),
        framing: plan_framing(plan),
        files: buffer.files.iter().map(|f| (f.name.clone(), f.len())).collect(),
        bytes: buffer.len(),
        sink: buffer.sink.as_deref().map(sink),
        ids,
    }
}

/// Describes the hardware that wrote a buffer.
fn sink(sink: &Sink) -> SinkInfo {
    let registers = sink.registers.0.iter().filter_map(|register| {
        let value = u64::try_from(register.value).ok()?;
        let about = described(sink.layout.kind, &register.name);
        let fields = about.map_or(&[][..], |(_, fields)| fields).iter().map(|f| field(f, value));
        Some(RegisterInfo {
            name: register.name.clone(),
            about: about.map_or("", |(about, _)| about),
            value: Some(value),
            required: false,
            fields: fields.collect(),
        })
    });
    SinkInfo {
        kind: sink.layout.kind.to_string(),
        device: sink.device.clone(),
        stored: sink.stored.iter().map(File::len).sum(),
        state: sink.layout.state.clone(),
        lost: sink.layout.lost.clone(),
        registers: registers.collect(),
    }
}

/// What register `name` of a trace buffer is, and its fields.
fn described(kind: Kind, name: &str) -> Option<(&'static str, &'static [Field])> {
    let found = |about, fields| Some((about, fields));
    match kind {
        Kind::Trbe => {
            let mut table = trbe::REGISTERS.iter();
            table.find(|r| r.is_named(name)).and_then(|r| found(r.about, r.fields))
        }
        Kind::Mtb => {
            let mut table = mtb::REGISTERS.iter();
            table.find(|r| r.is_named(name)).and_then(|r| found(r.about, r.fields))
        }
        Kind::RiscvRam => {
            let mut table = RAM.iter();
            table.find(|r| r.is_named(name)).and_then(|r| found(r.about, r.fields))
        }
        Kind::Etb | Kind::Etf | Kind::Etr => {
            let mut table = tmc::REGISTERS.iter();
            table.find(|r| r.is_named(name)).and_then(|r| found(r.about, r.fields))
        }
    }
}

/// Adds a remark on the IDs with no configured source.
fn unknown_ids(capture: &Capture, plan: &Plan, info: &BufferInfo, missing: &mut Vec<Remark>) {
    let Some(ids) = &info.ids else { return };
    let known = |id: u16| plan.sources.iter().any(|s| s.id == id);
    let skipped = !plan.skipped.is_empty();
    let unknown_ids = ids.sources().into_iter().filter(|(id, _)| !known(*id));
    let (data, unknown_ids): (Vec<_>, Vec<_>) =
        unknown_ids.partition(|(id, _)| plan.data_stream(*id).is_some());
    for (id, bytes) in data {
        missing.extend(data_stream(capture, plan, id, bytes));
    }
    let (unknown_ids, others) = largest(if skipped { Vec::new() } else { unknown_ids });
    let help = match &plan.messages {
        None => {
            format!(
                "add a device with that trace ID in its registers; for raw trace data, use {PROTOCOL} \
             NAME@ID"
            )
        }
        Some(_) => {
            format!(
                "add a source with that number as the parameter `source`; for raw trace data, use \
             {PROTOCOL} etrace@NUMBER"
            )
        }
    };
    if unknown_ids.is_empty() {
        return;
    }
    let list = unknown_ids.iter().map(|(id, bytes)| format!("{bytes} bytes of ID {id:#04x}"));
    let list: Vec<_> = list.chain(others).collect();
    let what = format!("{}: {}, with no configured source", info.name, list.join(", "));
    missing.push(Remark { what, help });
}

fn source(capture: &Capture, source: &Source) -> SourceInfo {
    let protocol = capture.protocols.named(&source.device_type);
    let core = capture.core(source).map(|core| (core.name.clone(), core.device_type.clone()));
    let value = |name: &str| source.register(name);
    let config = protocol.and_then(|p| p.configure(capture.core_type(source), &value).ok());
    let registers = registers(protocol.map_or(&[], |p| p.about().registers), source);
    let defaults = match &config {
        Some(AnyConfig::Etrace(params)) => defaults(&params.to_text(), &registers),
        _ => Vec::new(),
    };
    // Fields with the value `on`, and those of ETMCR with the value `yes`, enable something.
    let on = registers
        .iter()
        .flat_map(|r| r.fields.iter().map(move |f| (r, f)))
        .filter(|(r, f)| f.word == Some("on") || r.name == "ETMCR" && f.word == Some("yes"));
    let links = source.buffers.iter().filter_map(|link| capture.buffers.get(link.buffer));
    let mut buffers: Vec<_> = links.map(|buffer| buffer.name.clone()).collect();
    buffers.dedup();
    SourceInfo {
        name: source.name.clone(),
        device_type: source.device_type.clone(),
        location: source.location.clone(),
        protocol: protocol.map(|p| p.about().title),
        id: config
            .filter(|config| config.protocol().has_trace_id(&value))
            .map(|config| config.trace_id().into()),
        core,
        buffers,
        traces: on.map(|(_, field)| field.about).collect(),
        registers,
        texts: source.texts.iter().map(|t| (t.name.clone(), t.text.clone())).collect(),
        defaults,
    }
}

/// The lines `name = value` of `text` whose names the capture does not give.
fn defaults(text: &str, given: &[RegisterInfo]) -> Vec<(String, String)> {
    let pairs = text.lines().filter_map(|line| line.split_once(" = "));
    let given = |name: &str| given.iter().any(|r| r.value.is_some() && r.name == name);
    let rest = pairs.filter(|(name, _)| !given(name));
    rest.map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned())).collect()
}

fn field(field: &Field, register: u64) -> FieldInfo {
    let value = field.of(register);
    let bits = (field.high, field.low);
    FieldInfo { name: field.name, bits, about: field.about, value, word: field.word(value) }
}

fn registers(table: &[Register], source: &Source) -> Vec<RegisterInfo> {
    let names = |r: &Register| std::iter::once(r.name).chain(r.aliases.iter().copied());
    let known = table.iter().filter_map(|register| {
        let value = names(register).find_map(|name| source.register(name));
        if value.is_none() && !register.required {
            return None;
        }
        let fields = register.fields.iter().filter_map(|field| Some(self::field(field, value?)));
        Some(RegisterInfo {
            name: register.name.to_owned(),
            about: register.about,
            value,
            required: register.required,
            fields: fields.collect(),
        })
    });
    let known: Vec<_> = known.collect();
    let other =
        source.registers.0.iter().filter(|r| {
            !table.iter().flat_map(names).any(|name| name.eq_ignore_ascii_case(&r.name))
        });
    let other = other.map(|r| {
        let plain = RegisterInfo {
            name: r.name.clone(),
            about: "",
            value: u64::try_from(r.value).ok(),
            required: false,
            fields: Vec::new(),
        };
        etm_register(r, source).unwrap_or(plain)
    });
    let other: Vec<_> = other.collect();
    known.into_iter().chain(other).collect()
}

/// A register of the filters and events of an ETM or a PTM, which decoding does not need. The PTM
/// has those of ETMv3.5 without data. (IHI 0014 and IHI 0035, 3)
fn etm_register(register: &CapturedRegister, source: &Source) -> Option<RegisterInfo> {
    let kind = source.device_type.to_ascii_uppercase();
    if !["ETM1", "ETM2", "ETM3", "PTM", "PFT"].iter().any(|etm| kind.starts_with(etm)) {
        return None;
    }
    let number = number_of(&register.name)?;
    let version = source.register("ETMIDR").and_then(|id| Version::of_id(id as u32));
    let version = version.or_else(|| Version::named(&source.device_type)).unwrap_or(Version::V3_5);
    let (kind, _) = numbered(number).filter(|(k, _)| k.register.versions.contains(version))?;
    let value = u64::try_from(register.value).ok()?;
    let fields = kind.fields(version).map(|field| FieldInfo {
        name: field.name,
        bits: (field.high, field.low),
        about: field.about,
        value: field.of(value),
        word: field.word(field.of(value)),
    });
    Some(RegisterInfo {
        name: register.name.clone(),
        about: kind.register.about,
        value: Some(value),
        required: false,
        fields: fields.collect(),
    })
}

fn image(capture: &Capture, dump: &Dump) -> ImageInfo {
    let mut info = ImageInfo {
        name: dump.name.clone(),
        file: dump.file.clone(),
        parts: dump.last().map(|last| (dump.address, last)).into_iter().collect(),
        spaces: dump.spaces.clone(),
        machine: None,
        symbols: 0,
        problem: None,
    };
    match (&dump.bytes, dump.form) {
        (None, _) => info.problem = Some("the file could not be read".into()),
        (Some(bytes), Form::Elf) => {
            let load = Load { bias: dump.address, ..Load::default() };
            match Elf::read(bytes, dump.name.as_str(), load) {
                Ok(elf) => {
                    info.parts =
                        elf.regions.iter().filter_map(|r| Some((r.start(), r.last()?))).collect();
                    info.machine = Some(machine_name(elf.machine));
                    info.symbols = elf.symbols.len();
                    let lost: u64 = elf.regions.iter().map(|r| r.missing()).sum();
                    let lost = (lost > 0).then(|| {
                        format!("the file is truncated: {lost} bytes of its segments are missing")
                    });
                    info.problem = foreign(capture, elf.machine).or(lost);
                }
                Err(error) => info.problem = Some(error.to_string()),
            }
        }
        (Some(_), Form::Raw) => {}
    }
    info
}

/// The files that processes and the kernel mapped, where they were found.
fn mapped(spaces: &AddressSpaces) -> Vec<ImageInfo> {
    let modules = spaces.modules().iter().zip(spaces.loaded());
    let images = modules.filter_map(|(module, parts)| {
        Some(ImageInfo {
            name: module.path.clone(),
            file: module.found.as_ref()?.to_string_lossy().into_owned(),
            parts: parts.into_iter().collect(),
            spaces: Vec::new(),
            machine: module.content.as_ref().and_then(elf_machine).map(machine_name),
            symbols: module.symbols.len(),
            problem: None,
        })
    });
    images.filter(|image| !image.parts.is_empty()).collect()
}

/// `e_machine` of a file whose `e_ident` is that of an ELF file. (System V gABI, "ELF Header")
fn elf_machine(bytes: &Bytes) -> Option<u16> {
    let header = bytes.part(0, 20).to_vec();
    let machine = header.get(18..20)?.try_into().ok()?;
    match (header.get(..4)?, header.get(5)?) {
        (b"\x7fELF", 1) => Some(u16::from_le_bytes(machine)),
        (b"\x7fELF", 2) => Some(u16::from_be_bytes(machine)),
        _ => None,
    }
}

fn program(
    capture: &Capture,
    images: &[ImageInfo],
    overview: &Overview,
    missing: &mut Vec<Remark>,
) {
    for image in images {
        if let Some(problem) = &image.problem {
            missing.push(Remark {
                what: format!("image {}: {problem}", image.file),
                help: format!("copy the right file there, or add it with {IMAGE} FILE[@ADDRESS]"),
            });
        }
    }
    let runs = capture.sources.iter().any(Source::watches_core);
    // Decoding reports the addresses without program memory.
    if runs && overview.outside == 0 && images.iter().all(|image| image.parts.is_empty()) {
        missing.push(Remark {
            what: "there is no program memory: packets can be listed, but not the executed code"
                .into(),
            help: match capture.linux {
                Some(_) => format!("give the files with {SYMFS} FOLDER or {BINARY} FILE"),
                None => format!("add the program with {IMAGE} FILE (ELF) or {IMAGE} FILE@ADDRESS"),
            },
        });
    }
}
