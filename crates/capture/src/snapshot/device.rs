//! Device files: what a device is, its registers, and the memory that it sees.
//! (RCTDL design, 4.2.2)

use std::path::{Path, PathBuf};

use tracewright_image::SpaceMask;

use super::reader::{Doc, Reader, Table};
use super::register::register;
use crate::ini::{Ini, Section};
use crate::number::{number, number64};
use crate::probe::ELF;
use crate::{Capture, Core, Dump, Form, Origin, Other, Owner, Register, Registers, Source, Wrong};

/// The sections of a device file that are read, with those of older files; `*` is any end.
const SECTIONS: &[&str] = &["device", "regs", "dump*", "elf*", "global", "extendregs"];

/// Sections whose names begin so are dumps that every device sees. To other readers, they are this
/// device's.
pub(super) const SHARED: &str = "dump_all";
/// An ELF file, `address` added to the addresses that it names. Other readers skip the section.
pub(super) const ELF_IMAGE: &str = "elf";
/// The memory of an ELF file that the same device file names: for other readers, skipped here.
pub(super) const FLAT: &str = "dump_elf";
/// An ELF file that every device sees.
pub(super) const SHARED_ELF: &str = "elf_all";

/// Reads the device file `file`, which the index names at `at`, into `capture`.
pub(super) fn read(reader: &mut Reader, capture: &mut Capture, at: Origin, file: &str) {
    let path = reader.find(&at.path, file);
    let text = match reader.text(&path) {
        Ok(text) => text,
        Err(wrong) => {
            let reason = match wrong {
                Wrong::Unreadable(reason) => reason,
                _ => "it is too large for an ini file".into(),
            };
            reader.lost_device = true;
            return reader.note(at, Wrong::DeviceUnreadable { file: file.to_owned(), reason });
        }
    };
    let doc = Doc { path: &path, ini: Ini::parse(&text) };
    reader.malformed(&doc, SECTIONS);

    let head = head(reader, &doc);
    if let Some(first) = described(capture, &head.name) {
        let again = first == head.path;
        let wrong = Wrong::DuplicateDevice { name: head.name.clone(), first, again };
        reader.note(head.origin.clone(), wrong);
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
    location: Option<String>,
}

fn head(reader: &mut Reader, doc: &Doc<'_>) -> Head {
    let section = reader.section(doc, "device");
    // Older files have only the core's type, in `[global]`.
    let global = reader.section(doc, "global");
    let origin = section.as_ref().map_or_else(|| Origin::file(doc.path), |s| s.origin.clone());
    let value = |table: &Option<Table<'_>>, key: &str| {
        let found = table.as_ref().and_then(|t| t.value(key));
        found.map(|(text, _)| text.to_owned()).filter(|text| !text.is_empty())
    };
    let core = value(&global, "core");
    let name = value(&section, "name").unwrap_or_else(|| {
        let stem = doc.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        reader.note(origin.clone(), Wrong::Unnamed(stem.clone()));
        stem
    });
    let class = value(&section, "class").or_else(|| core.as_ref().map(|_| "core".to_owned()));
    let device_type = value(&section, "type").or(core).unwrap_or_default();
    let (location, path) = (value(&section, "location"), doc.path.to_owned());
    Head { origin, path, name, class, device_type, location }
}

/// Puts the device into its list.
fn add(reader: &mut Reader, capture: &mut Capture, head: Head, registers: Registers) -> Owner {
    let Head { origin, path, name, class, device_type, location } = head;
    let class = class.unwrap_or_else(|| {
        let class = guess(&device_type);
        let wrong = if class.is_empty() { Wrong::Unclassed } else { Wrong::NoClass(class) };
        reader.note(origin.clone(), wrong);
        class.to_owned()
    });
    match class.to_ascii_lowercase().as_str() {
        "core" => {
            if crate::core_type(&device_type).is_none() {
                reader.note(origin, Wrong::UnknownCore(device_type.clone()));
            }
            capture.cores.push(Core { name, device_type, location, registers, path });
            Owner::Core(capture.cores.len() - 1)
        }
        "trace_source" => {
            if device_type.is_empty() {
                reader.note(origin, Wrong::NoType);
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

/// The file that describes the device called `name`.
fn described(capture: &Capture, name: &str) -> Option<PathBuf> {
    let cores = capture.cores.iter().map(|d| (&d.name, &d.path));
    let sources = capture.sources.iter().map(|d| (&d.name, &d.path));
    let others = capture.others.iter().map(|d| (&d.name, &d.path));
    let mut devices = cores.chain(sources).chain(others);
    devices.find(|(n, _)| *n == name).map(|(_, path)| path.clone())
}

/// The class of a device that does not say it.
pub(super) fn guess(device_type: &str) -> &'static str {
    let upper = device_type.to_ascii_uppercase();
    if ["ETM", "ETE", "PTM", "PFT", "ITM", "STM"].iter().any(|p| upper.starts_with(p)) {
        "trace_source"
    } else if crate::core_type(device_type).is_some() {
        "core"
    } else {
        ""
    }
}

/// The `[regs]` section, and `[extendregs]` of older files, which has numbers for names.
fn registers(reader: &mut Reader, doc: &Doc<'_>) -> Registers {
    let mut registers = Vec::<Register>::new();
    if let Some(section) = reader.lines(doc, "regs") {
        let mut seen = std::collections::HashMap::new();
        for entry in &section.entries {
            let origin = section.key(entry);
            match register(entry.key, entry.value.unwrap_or_default()) {
                Ok((register, wrong)) => {
                    let name = register.name.to_ascii_lowercase();
                    let first = *seen.entry(name).or_insert(entry.line);
                    if first != entry.line {
                        reader.note(origin, Wrong::DuplicateKey(first));
                        continue;
                    }
                    if let Some(wrong) = wrong {
                        reader.note(origin, wrong);
                    }
                    registers.push(register);
                }
                Err(wrong) => reader.note(origin, wrong),
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
                    reader.note(section.key(entry), Wrong::NotNumber(text.to_owned()));
                }
            }
        }
    }
    Registers(registers)
}

/// A `[dump…]` section. `None` where it does not say enough to be placed.
fn fill(reader: &mut Reader, path: &Path, section: &Section<'_>, mut dump: Dump) -> Option<Dump> {
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
                        reader.note(origin.clone(), Wrong::UnknownSpace(word.clone()));
                    }
                }
            }
            _ => reader.note(origin, Wrong::UnknownKey),
        }
    }
    let has_address = table.value("address").is_some();
    let Some((file, at)) = written else {
        reader.note(table.origin, Wrong::DumpNoKey("file"));
        return None;
    };
    let Some(address) = address else {
        // One that is not a number has its note.
        if !has_address {
            reader.note(table.origin, Wrong::DumpNoKey("address"));
        }
        return None;
    };
    dump.address = address;
    dump.file = file.to_owned();
    let (found, bytes) = reader.bytes(path, file);
    dump.path = found;
    match bytes {
        Ok(bytes) => contents(reader, at, &table, &mut dump, &bytes),
        Err(reason) => {
            reader.note(at, Wrong::DumpUnreadable { file: file.to_owned(), reason });
        }
    }
    Some(dump)
}

/// Cuts from the file what the dump is of.
fn contents(
    reader: &mut Reader,
    at: Origin,
    table: &Table<'_>,
    dump: &mut Dump,
    file: &crate::Bytes,
) {
    let size = file.len() as u64;
    let at_key = |key: &str| table.value(key).map_or_else(|| at.clone(), |(_, origin)| origin);
    if size == 0 {
        reader.note(at.clone(), Wrong::DumpEmpty(dump.file.clone()));
    }
    if dump.offset > size {
        let wrong = Wrong::DumpOffset { offset: dump.offset, size };
        return reader.note(at_key("offset"), wrong);
    }
    let there = size - dump.offset;
    // No bytes at all is how some tools say "the whole file".
    let mut length = dump.length.filter(|n| *n != 0).unwrap_or(there);
    if length > there {
        if size != 0 {
            reader.note(at_key("length"), Wrong::DumpLength { length, there });
        }
        length = there;
    }
    // Bytes up to the end of the address space.
    let room = (u64::MAX - dump.address).saturating_add(1);
    if length > room {
        reader.note(at_key("address"), Wrong::DumpWraps);
        length = room;
    }
    let bytes = file.part(dump.offset, length);
    // Elsewhere it is the first page of a program as it was loaded, its header with it.
    if bytes.starts_with(ELF) && dump.address == 0 && dump.form == Form::Raw {
        reader.note(at, Wrong::DumpElf(dump.file.clone()));
    }
    dump.bytes = Some(bytes);
}

/// A number of 64 bits, or a note.
fn numeric(reader: &mut Reader, origin: Origin, text: &str) -> Option<u64> {
    let value = number64(text);
    if value.is_none() {
        let wrong = match number(text) {
            Some(_) => Wrong::TooBig(text.to_owned()),
            None => Wrong::NotNumber(text.to_owned()),
        };
        reader.note(origin, wrong);
    }
    value
}
