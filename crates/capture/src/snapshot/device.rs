//! Device files: the description of a device, its registers, and the memory that it sees.
//! (Arm *Reference CoreSight Trace Decoder: API Specifications and Component Design*, 4.2.2)

use std::collections::hash_map::Entry;
use std::path::PathBuf;

use tracewright_image::SpaceMask;

use super::reader::{Doc, Reader, Table, location_words};
use super::register::register;
use crate::capture::Capture;
use crate::container::Container;
use crate::device::{Core, Other, Register, Registers, Source};
use crate::dump::ELF;
use crate::dump::{Dump, Form, Owner};
use crate::ini::Section;
use crate::limits::MAX_DUMPS;
use crate::number::{number, number64};
use crate::origin::Origin;
use crate::plain::line;
use crate::problem::Problem;
use crate::when;

/// The sections of a device file that are read, including those of older files; `*` is any suffix.
const SECTIONS: &[&str] = &["device", "regs", "dump*", "elf*", "global", "extendregs"];

/// Prefix of sections with dumps that every device sees. Other readers assign them to this device.
pub(super) const SHARED: &str = "dump_all";
/// Prefix of sections with an ELF file; `address` is added to the addresses in it. Other readers
/// skip the section.
pub(super) const ELF_IMAGE: &str = "elf";
/// Prefix of sections with the memory of an ELF file, for other readers. It is skipped here, as the
/// same device file refers to the ELF file.
pub(super) const FLAT: &str = "dump_elf";
/// Prefix of sections with an ELF file that every device sees.
pub(super) const SHARED_ELF: &str = "elf_all";

/// Reads the device file `file` into `capture`. `at` is the origin of its entry in the index.
pub(super) fn read(reader: &mut Reader, capture: &mut Capture, at: Origin, file: &str) {
    let path = reader.path(&at, file);
    if let Some(name) = reader.device_files.get(&path).cloned() {
        let problem = Problem::DuplicateDevice { name, first: path, again: true };
        return reader.note(at, problem);
    }
    let text = match reader.text(&path) {
        Ok(text) => text,
        Err(problem) => {
            reader.lost_device = true;
            return match problem {
                Problem::Unreadable(reason) => {
                    reader.note(at, Problem::DeviceUnreadable { file: file.to_owned(), reason });
                }
                Problem::OutsideDescription(_) => reader.note(at, problem),
                problem => reader.note(Origin::file(&path), problem),
            };
        }
    };
    let doc = Doc::new(&path, &text);
    reader.malformed(&doc, SECTIONS);

    let head = head(reader, &doc);
    let (name, path) = (head.name.clone(), head.path.clone());
    reader.device_files.insert(path.clone(), name.clone());
    match reader.described.entry(name.clone()) {
        Entry::Vacant(entry) => {
            entry.insert(path.clone());
        }
        Entry::Occupied(entry) => {
            let first = entry.get().clone();
            let problem = Problem::DuplicateDevice { name, first, again: false };
            reader.note(head.origin.clone(), problem);
        }
    }
    let registers = registers(reader, &doc);
    let owner = add(reader, capture, head, registers);
    for section in &doc.ini.sections {
        let name = section.name.to_ascii_lowercase();
        let (owner, form) = match name.as_str() {
            _ if name.starts_with(FLAT) => continue,
            _ if name.starts_with(SHARED) => (Owner::Any, Form::Raw),
            _ if name.starts_with("dump") => (owner, Form::Raw),
            _ if name.starts_with(SHARED_ELF) => (Owner::Any, Form::Elf),
            _ if name.starts_with(ELF_IMAGE) => (owner, Form::Elf),
            _ => continue,
        };
        if capture.memory.len() >= MAX_DUMPS {
            let origin = Origin::section(&path, section.line, section.name);
            reader.note(origin, Problem::TooMany("dumps", MAX_DUMPS));
            break;
        }
        let dump = Dump { name: section.name.to_owned(), owner, form, ..Dump::default() };
        capture.memory.extend(fill(reader, &path, section, dump));
    }
}

/// The `[device]` section.
struct Head {
    origin: Origin,
    path: PathBuf,
    name: String,
    class: Option<String>,
    device_type: String,
    location: Option<(String, Origin)>,
}

fn head(reader: &mut Reader, doc: &Doc<'_>) -> Head {
    let section = reader.section(doc, "device");
    // Older files have only the type of the core, in `[global]`.
    let global = reader.section(doc, "global");
    let origin = section.as_ref().map_or_else(|| Origin::file(doc.path), |s| s.origin.clone());
    let value = |table: &Option<Table<'_>>, key: &str| {
        let found = table.as_ref().and_then(|t| t.value(key));
        found.map(|(text, _)| text.to_owned()).filter(|text| !text.is_empty())
    };
    let core = value(&global, "core");
    let name = value(&section, "name").unwrap_or_else(|| {
        let stem = doc.path.file_stem().unwrap_or_default().to_string_lossy();
        let stem = line(&stem).into_owned();
        reader.note(origin.clone(), Problem::Unnamed(stem.clone()));
        stem
    });
    let class = value(&section, "class").or_else(|| core.as_ref().map(|_| "core".to_owned()));
    let device_type = value(&section, "type").or(core).unwrap_or_default();
    let location = section.as_ref().and_then(|s| s.value("location"));
    let location = location.filter(|(text, _)| !text.is_empty());
    let location = location.map(|(text, origin)| (text.to_owned(), origin));
    let path = doc.path.to_owned();
    Head { origin, path, name, class, device_type, location }
}

/// Adds the device to its list in `capture`.
fn add(reader: &mut Reader, capture: &mut Capture, head: Head, registers: Registers) -> Owner {
    let Head { origin, path, name, class, device_type, location } = head;
    let location = location.map(|(location, at)| {
        match reader.located.entry(location_words(&location)) {
            Entry::Vacant(entry) => {
                entry.insert(name.clone());
            }
            Entry::Occupied(entry) => {
                let first = entry.get().clone();
                reader.note(at, Problem::DuplicateLocation(first));
            }
        }
        location
    });
    let class = class.unwrap_or_else(|| {
        let class = infer_class(&device_type);
        let problem = if class.is_empty() { Problem::Unclassed } else { Problem::NoClass(class) };
        reader.note(origin.clone(), problem);
        class.to_owned()
    });
    match class.to_ascii_lowercase().as_str() {
        "core" => {
            if crate::core_type(&device_type).is_none() {
                reader.note(origin, Problem::UnknownCore(device_type.clone()));
            }
            capture.cores.push(Core { name, device_type, location, registers, path });
            Owner::Core(capture.cores.len() - 1)
        }
        "trace_source" => {
            if device_type.is_empty() {
                reader.note(origin, Problem::NoType);
            }
            let source =
                Source { name, device_type, location, registers, path, ..Source::default() };
            capture.sources.push(source);
            Owner::Source(capture.sources.len() - 1)
        }
        _ => {
            capture.others.push(Other { name, class, device_type, location, registers, path });
            Owner::Other(capture.others.len() - 1)
        }
    }
}

/// The class of a device without a `class`, inferred from its type; empty if unknown.
pub(super) fn infer_class(device_type: &str) -> &'static str {
    let upper = device_type.to_ascii_uppercase();
    if ["ETM", "ETE", "PTM", "PFT", "ITM", "STM", "MTB"].iter().any(|p| upper.starts_with(p)) {
        "trace_source"
    } else if crate::core_type(device_type).is_some() {
        "core"
    } else {
        ""
    }
}

/// The `[regs]` section, and `[extendregs]` of older files, whose keys are register numbers.
fn registers(reader: &mut Reader, doc: &Doc<'_>) -> Registers {
    let mut registers = Vec::<Register>::new();
    if let Some(section) = reader.lines(doc, "regs") {
        let mut seen = std::collections::HashMap::new();
        for entry in &section.entries {
            let origin = section.key(entry);
            match register(entry.key, entry.value.unwrap_or_default()) {
                Ok((register, problem)) => {
                    let name = register.name.to_ascii_lowercase();
                    let first = *seen.entry(name).or_insert(entry.line);
                    if first != entry.line {
                        reader.note(origin, Problem::DuplicateKey(first));
                        continue;
                    }
                    if let Some(problem) = problem {
                        reader.note(origin, problem);
                    }
                    registers.push(register);
                }
                Err(problem) => reader.note(origin, problem),
            }
        }
    }
    if let Some(section) = reader.section(doc, "extendregs") {
        for entry in &section.entries {
            let text = entry.value.unwrap_or_default();
            let id = number(entry.key).and_then(|n| u32::try_from(n).ok());
            match (id, number(text)) {
                (Some(_), Some(value)) => {
                    let name = entry.key.to_owned();
                    registers.push(Register { name, id, size: None, value });
                }
                (id, _) => {
                    let text = if id.is_none() { entry.key } else { text };
                    reader.note(section.key(entry), Problem::NotNumber(text.to_owned()));
                }
            }
        }
    }
    Registers(registers)
}

/// Reads a `[dump…]` section. `None` where the file or the address is missing.
fn fill(
    reader: &mut Reader,
    path: &std::path::Path,
    section: &Section<'_>,
    mut dump: Dump,
) -> Option<Dump> {
    let table = reader.alone(path, section);
    let mut address = None;
    let mut written = None;
    for entry in &table.entries {
        let text = entry.value.unwrap_or_default();
        let origin = table.key(entry);
        match entry.key.to_ascii_lowercase().as_str() {
            "file" if !text.is_empty() => written = Some((text, origin)),
            "address" => address = numeric(reader, origin, text).or(address),
            "length" => dump.length = numeric(reader, origin, text),
            "offset" => dump.offset = numeric(reader, origin, text).unwrap_or(0),
            "space" => {
                let words = text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
                dump.spaces = words.map(str::to_owned).collect();
                for word in &dump.spaces {
                    if word.parse::<SpaceMask>().is_err() {
                        reader.note(origin.clone(), Problem::UnknownSpace(word.clone()));
                    }
                }
            }
            key if when::KEYS.contains(&key) => {
                if let Err(what) = when::set(&mut dump.when, key, text) {
                    reader.note(origin, Problem::BadCondition(what));
                }
            }
            _ => reader.note(origin, Problem::UnknownKey),
        }
    }
    let has_address = table.value("address").is_some();
    let Some((file, at)) = written else {
        reader.note(table.origin, Problem::DumpNoKey("file"));
        return None;
    };
    let Some(address) = address else {
        // An invalid address has a note already.
        if !has_address {
            reader.note(table.origin, Problem::DumpNoKey("address"));
        }
        return None;
    };
    dump.address = address;
    dump.file = file.to_owned();
    let (found, bytes) = reader.bytes(&at, file);
    dump.path = found;
    match bytes {
        Ok(bytes) => match Container::probe(&bytes.head(1 << 10)) {
            Some(format @ (Container::IntelHex | Container::SRecords | Container::Uf2)) => {
                let reason = format!("it is {format}, and a dump has bytes of memory");
                reader.note(at, Problem::DumpUnreadable { file: file.to_owned(), reason });
            }
            _ => contents(reader, at, &table, &mut dump, &bytes),
        },
        Err(reason) => {
            reader.note(at, Problem::DumpUnreadable { file: file.to_owned(), reason });
        }
    }
    Some(dump)
}

/// Sets the bytes of the dump to the part of the file that it describes.
fn contents(
    reader: &mut Reader,
    at: Origin,
    table: &Table<'_>,
    dump: &mut Dump,
    file: &crate::Bytes,
) {
    let size = file.size();
    let at_key = |key: &str| table.value(key).map_or_else(|| at.clone(), |(_, origin)| origin);
    if size == 0 {
        reader.note(at.clone(), Problem::DumpEmpty(dump.file.clone()));
    }
    if dump.offset > size {
        let problem = Problem::DumpOffset { offset: dump.offset, size };
        return reader.note(at_key("offset"), problem);
    }
    let actual = size - dump.offset;
    // Some tools write a length of 0 for the whole file.
    let mut length = dump.length.filter(|n| *n != 0).unwrap_or(actual);
    if length > actual {
        if size != 0 {
            reader.note(at_key("length"), Problem::DumpLength { length, actual });
        }
        length = actual;
    }
    // The number of bytes up to the end of the address space.
    let room = (u64::MAX - dump.address).saturating_add(1);
    if length > room {
        reader.note(at_key("address"), Problem::DumpWraps);
        length = room;
    }
    let bytes = file.part(dump.offset, length);
    // Only at address 0: elsewhere, the bytes may be the first page of a loaded program, which
    // includes the ELF header.
    if dump.address == 0 && dump.form == Form::Raw && bytes.head(ELF.len()).starts_with(ELF) {
        reader.note(at, Problem::DumpElf(dump.file.clone()));
    }
    dump.bytes = Some(bytes);
}

/// Parses a number of 64 bits, and notes an invalid one.
fn numeric(reader: &mut Reader, origin: Origin, text: &str) -> Option<u64> {
    let value = number64(text);
    if value.is_none() {
        let problem = match number(text) {
            Some(_) => Problem::TooBig(text.to_owned()),
            None => Problem::NotNumber(text.to_owned()),
        };
        reader.note(origin, problem);
    }
    value
}
