//! Writing of a capture as a snapshot.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tracewright_image::{Elf, Load};

use super::device::{ELF_IMAGE, FLAT, SHARED, SHARED_ELF, infer_class};

use crate::Bytes;
use crate::buffer::{Buffer, Format};
use crate::buffer_file::File;
use crate::capture::Capture;
use crate::device::{Register, Registers};
use crate::dump::{Dump, Form, Owner};
use crate::new_folder::NewFolder;
use crate::open_files::reason;
use crate::probe::INDEX;
use crate::problem::{OpenError, Problem};
use crate::replacement::Replacement;
use crate::spool::move_file;
use crate::when;

/// Writes `capture` as a snapshot into `folder`, which is created; it must be empty if it exists.
///
/// The snapshot reads back equal: every register, link, byte and name. Files with the same bytes
/// are written once. An ELF file is written as it is, and its memory a second time as dumps, for
/// other readers of snapshots. Dumps read back ordered by device, those of all devices first. A
/// dump whose file is missing is listed without a file.
///
/// # Errors
/// [`OpenError`] where the folder contains files, where a file cannot be written, and where a name
/// cannot be written to an ini file. Then the folder is left as it was.
pub fn write(capture: &Capture, folder: &Path) -> Result<(), OpenError> {
    write_with(capture, folder, &[])
}

/// As [`write()`], with further files: names that the snapshot has not, and their contents.
///
/// # Errors
/// As [`write()`].
pub fn write_with(
    capture: &Capture,
    folder: &Path,
    files: &[(&str, &[u8])],
) -> Result<(), OpenError> {
    let snapshot = Snapshot::of(capture).map_err(|problem| OpenError::new(folder, problem))?;
    let new = NewFolder::new(folder)?;
    write_files(&snapshot, new.path(), folder)?;
    for (name, contents) in files {
        let written = fs::write(new.path().join(name), contents);
        written.map_err(|error| failed(&folder.join(name), &error))?;
    }
    new.finish()
}

/// As [`write()`], but replaces files in the folder.
///
/// # Errors
/// As [`write()`], except for a folder with files.
pub fn write_over(capture: &Capture, folder: &Path) -> Result<(), OpenError> {
    let snapshot = Snapshot::of(capture).map_err(|problem| OpenError::new(folder, problem))?;
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    write_files(&snapshot, folder, folder)
}

fn failed(path: &Path, error: &std::io::Error) -> OpenError {
    OpenError::new(path, Problem::NotWritten(reason(error)))
}

/// Writes the files to the folder `to`. Errors name the files in `folder`.
fn write_files(snapshot: &Snapshot, to: &Path, folder: &Path) -> Result<(), OpenError> {
    for (name, contents) in &snapshot.files {
        let path = to.join(name);
        let done = match contents {
            Contents::Text(text) => replace(&path, text.as_bytes()),
            Contents::Bytes(bytes) => replace(&path, bytes),
            Contents::Spooled(from) => move_file(from, &path),
            Contents::Nothing if path.exists() => fs::remove_file(&path),
            Contents::Nothing => Ok(()),
        };
        done.map_err(|error| failed(&folder.join(name), &error))?;
    }
    Ok(())
}

/// Writes a file that replaces `path` at the end: `bytes` may be mapped from the replaced file.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = Replacement::new(path)?;
    file.write_all(bytes)?;
    file.finish()
}

/// The contents of a file to write.
enum Contents {
    Text(String),
    Bytes(Bytes),
    /// A file of a [`Spool`](crate::Spool), which is moved.
    Spooled(PathBuf),
    /// A missing file, whose name is reserved.
    Nothing,
}

/// The files of a snapshot before they are written.
#[derive(Default)]
struct Snapshot {
    files: Vec<(String, Contents)>,
    /// Used file names in lower case, for file systems that ignore case.
    taken: HashMap<String, ()>,
    /// The file of bytes that are part of the snapshot already, by length.
    written: HashMap<usize, Vec<(Bytes, String)>>,
}

impl Snapshot {
    fn of(capture: &Capture) -> Result<Self, Problem> {
        let mut snapshot = Snapshot::default();
        for name in [INDEX, "trace.ini"] {
            snapshot.taken.insert(name.to_owned(), ());
        }
        let mut index = String::from("[snapshot]\nversion=1.0\n");
        if let Some(text) = capture.description.as_ref().filter(|text| !text.is_empty()) {
            line(&mut index, "description", value(text, "")?);
        }
        index.push_str("\n[device_list]\n");
        for (n, owner) in owners(capture).into_iter().enumerate() {
            let device = snapshot.device(capture, owner, n == 0)?;
            line(&mut index, &format!("device{n}"), &device);
        }
        if !capture.clusters.is_empty() {
            index.push_str("\n[clusters]\n");
            for cluster in &capture.clusters {
                let cores = cluster.cores.iter().map(|&core| core_name(capture, core));
                let cores = cores.collect::<Result<Vec<_>, _>>()?.join(",");
                line(&mut index, key(&cluster.name)?, &cores);
            }
        }
        if !capture.buffers.is_empty() || capture.sources.iter().any(|s| s.core.is_some()) {
            index.push_str("\n[trace]\nmetadata=trace.ini\n");
            let text = snapshot.trace(capture)?;
            snapshot.files.push(("trace.ini".into(), Contents::Text(text)));
        }
        snapshot.files.push((INDEX.into(), Contents::Text(index)));
        Ok(snapshot)
    }

    /// Adds the file of a device, and returns its name. The first device includes the memory of all
    /// devices.
    fn device(&mut self, capture: &Capture, owner: Owner, first: bool) -> Result<String, Problem> {
        let about = match owner {
            Owner::Core(n) => capture.cores.get(n).map(|d| {
                (d.name.as_str(), "core", d.device_type.as_str(), &d.location, &d.registers)
            }),
            Owner::Source(n) => capture.sources.get(n).map(|d| {
                (d.name.as_str(), "trace_source", d.device_type.as_str(), &d.location, &d.registers)
            }),
            Owner::Other(n) => capture.others.get(n).map(|d| {
                (
                    d.name.as_str(),
                    d.class.as_str(),
                    d.device_type.as_str(),
                    &d.location,
                    &d.registers,
                )
            }),
            Owner::Any => None,
        };
        let none = Registers::default();
        let (name, class, device_type, location, registers) =
            about.unwrap_or(("memory", "memory_space", "", &None, &none));

        let mut text = String::from("[device]\n");
        line(&mut text, "name", value(name, "")?);
        let is_other = matches!(owner, Owner::Other(_));
        if is_other && matches!(class.to_ascii_lowercase().as_str(), "core" | "trace_source") {
            return Err(Problem::Unwritable(class.to_owned()));
        }
        if !class.is_empty() {
            line(&mut text, "class", value(class, "")?);
        } else if !infer_class(device_type).is_empty() {
            return Err(Problem::Unwritable(device_type.to_owned()));
        }
        if !device_type.is_empty() {
            line(&mut text, "type", value(device_type, "")?);
        }
        if let Some(location) = location {
            line(&mut text, "location", value(location, "")?);
        }
        if !registers.0.is_empty() {
            text.push_str("\n[regs]\n");
        }
        for register in &registers.0 {
            line(&mut text, &register_key(register)?, &format!("0x{:08X}", register.value));
        }
        let mine = capture.memory.iter().filter(|d| d.owner == owner && owner != Owner::Any);
        let all = capture.memory.iter().filter(|d| d.owner == Owner::Any && first);
        for (n, dump) in all.chain(mine).enumerate() {
            self.dump(&mut text, name, dump, n + 1)?;
        }
        let file = self.name(name, "ini");
        self.files.push((file.clone(), Contents::Text(text)));
        Ok(file)
    }

    fn dump(
        &mut self,
        text: &mut String,
        device: &str,
        dump: &Dump,
        n: usize,
    ) -> Result<(), Problem> {
        let section = match (dump.owner, dump.form) {
            (Owner::Any, Form::Raw) => SHARED,
            (Owner::Any, Form::Elf) => SHARED_ELF,
            (_, Form::Raw) => "dump",
            (_, Form::Elf) => ELF_IMAGE,
        };
        let stem = match file_stem(&dump.file) {
            "" => device,
            stem => stem,
        };
        let _ = write!(text, "\n[{section}{n}]\n");
        let file = match &dump.bytes {
            Some(bytes) => self.bytes(stem, bytes),
            None => {
                let name = self.name(stem, "bin");
                self.files.push((name.clone(), Contents::Nothing));
                name
            }
        };
        line(text, "file", &file);
        if !dump.spaces.is_empty() {
            let words = dump.spaces.iter().map(|word| value(word, ", \t"));
            line(text, "space", &words.collect::<Result<Vec<_>, _>>()?.join(","));
        }
        for (key, text_of) in when::pairs(&dump.when) {
            line(text, key, value(&text_of, "\n")?);
        }
        line(text, "address", &format!("{:#x}", dump.address));
        if let Some(bytes) = &dump.bytes {
            line(text, "length", &format!("{:#x}", bytes.len()));
            if dump.form == Form::Elf {
                self.flat(text, stem, dump, bytes, n);
            }
        }
        Ok(())
    }

    /// Adds the memory of an ELF file as dumps, for readers without support of ELF files.
    fn flat(&mut self, text: &mut String, stem: &str, dump: &Dump, file: &Bytes, n: usize) {
        let load = Load { bias: dump.address, ..Load::default() };
        let Ok(elf) = Elf::read(file, dump.name.as_str(), load) else { return };
        for (k, region) in elf.regions.iter().enumerate() {
            let bytes = Bytes::from(region.all());
            if bytes.is_empty() {
                continue;
            }
            let _ = write!(text, "\n[{FLAT}{n}_{}]\n", k + 1);
            line(text, "file", &self.bytes(stem, &bytes));
            if !dump.spaces.is_empty() {
                line(text, "space", &dump.spaces.join(","));
            }
            line(text, "address", &format!("{:#x}", region.start()));
            line(text, "length", &format!("{:#x}", bytes.len()));
        }
    }

    fn trace(&mut self, capture: &Capture) -> Result<String, Problem> {
        let ids: Vec<_> = (0..capture.buffers.len()).map(|n| format!("buffer{n}")).collect();
        let mut text = format!("[trace_buffers]\nbuffers={}\n", ids.join(","));
        for (buffer, id) in capture.buffers.iter().zip(&ids) {
            let Buffer { name, format, device, .. } = buffer;
            let files = stored(buffer);
            let _ = write!(text, "\n[{id}]\n");
            line(&mut text, "name", value(name, ",")?);
            let files = files.iter().map(|f| match file_stem(&f.name) {
                _ if f.spooled => {
                    let file = self.name(name, "bin");
                    self.files.push((file.clone(), Contents::Spooled(f.path.clone())));
                    file
                }
                "" => self.bytes(name, &f.shared()),
                stem => self.bytes(stem, &f.shared()),
            });
            line(&mut text, "file", &files.collect::<Vec<_>>().join(","));
            let word = format.to_string();
            if Format::from_word(&word) != *format {
                return Err(Problem::Unwritable(word));
            }
            line(&mut text, "format", value(&word, "")?);
            if let Some(device) = device {
                line(&mut text, "device", value(device, "")?);
            }
        }
        text.push_str("\n[core_trace_sources]\n");
        for (n, source) in capture.sources.iter().enumerate() {
            if let Some(core) = source.core {
                line(&mut text, core_name(capture, core)?, source_name(capture, n)?);
            }
        }
        text.push_str("\n[source_buffers]\n");
        for (n, source) in capture.sources.iter().enumerate() {
            for link in &source.buffers {
                let mut name = source_name(capture, n)?.to_owned();
                if let Some(stream) = link.stream {
                    let _ = write!(name, "(stream:{stream})");
                }
                line(&mut text, &name, buffer_name(capture, link.buffer)?);
            }
        }
        Ok(text)
    }

    /// The name of a file with these bytes: an existing one, or a file with a name derived from
    /// `stem`.
    fn bytes(&mut self, stem: &str, bytes: &Bytes) -> String {
        let there = self.written.get(&bytes.len());
        if let Some((_, name)) = there.and_then(|list| list.iter().find(|(b, _)| b == bytes)) {
            return name.clone();
        }
        let name = self.name(stem, "bin");
        self.written.entry(bytes.len()).or_default().push((bytes.clone(), name.clone()));
        self.files.push((name.clone(), Contents::Bytes(bytes.clone())));
        name
    }

    /// An unused file name that is valid on every system.
    fn name(&mut self, stem: &str, extension: &str) -> String {
        let safe: String = stem
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "-_+".contains(c) { c } else { '_' })
            .take(80)
            .collect();
        let lower = safe.to_ascii_lowercase();
        // Names that Windows reserves for devices, and names that look like an option.
        let device = ["con", "prn", "aux", "nul", "com", "lpt"];
        let odd = safe.is_empty()
            || safe.starts_with('-')
            || device.iter().any(|d| lower.strip_prefix(d).is_some_and(|rest| rest.len() <= 1));
        let safe = if odd { format!("x{safe}") } else { safe };
        let mut name = format!("{safe}.{extension}");
        let mut n = 2;
        while self.taken.insert(name.to_ascii_lowercase(), ()).is_some() {
            name = format!("{safe}_{n}.{extension}");
            n += 1;
        }
        name
    }
}

/// The files of a buffer as they are stored, where a device of the capture has its registers.
fn stored(buffer: &Buffer) -> &[File] {
    let sink = buffer.sink.as_ref().filter(|sink| sink.device.is_some());
    sink.map_or(&buffer.files, |sink| &sink.stored)
}

/// The devices in the order of writing: cores, sources, others, but devices with memory in the
/// order of their memory.
fn owners(capture: &Capture) -> Vec<Owner> {
    let cores = (0..capture.cores.len()).map(Owner::Core);
    let sources = (0..capture.sources.len()).map(Owner::Source);
    let others = (0..capture.others.len()).map(Owner::Other);
    let mut queues: [Vec<Owner>; 3] = [cores.collect(), sources.collect(), others.collect()];
    let mut order = Vec::new();
    for dump in &capture.memory {
        // The devices of one kind stay in order: those before the owner are written first.
        for queue in &mut queues {
            if let Some(n) = queue.iter().position(|o| *o == dump.owner) {
                order.extend(queue.drain(..=n));
            }
        }
    }
    order.extend(queues.into_iter().flatten());
    if order.is_empty() && !capture.memory.is_empty() {
        order.push(Owner::Any);
    }
    order
}

fn register_key(register: &Register) -> Result<String, Problem> {
    let name = key(&register.name)?;
    if name.contains('(') {
        return Err(Problem::Unwritable(name.to_owned()));
    }
    // A register without a size has 32 bits. (4.2.2.2)
    let wide = Some(register.width()).filter(|width| *width > u32::BITS);
    Ok(match (register.id, register.size.or(wide)) {
        (None, None) => name.to_owned(),
        (Some(id), None) => format!("{name}(id:{id:#x})"),
        (None, Some(size)) => format!("{name}(size:{size})"),
        (Some(id), Some(size)) => format!("{name}(id:{id:#x},size:{size})"),
    })
}

/// The name of a core, which must identify it.
fn core_name(capture: &Capture, core: usize) -> Result<&str, Problem> {
    let name = capture.cores.get(core).map(|c| c.name.as_str()).unwrap_or_default();
    link(name, core, find_name(&capture.cores, |c| &c.name, name))
}

fn source_name(capture: &Capture, source: usize) -> Result<&str, Problem> {
    let name = capture.sources.get(source).map(|s| s.name.as_str()).unwrap_or_default();
    link(name, source, find_name(&capture.sources, |s| &s.name, name))
}

fn buffer_name(capture: &Capture, buffer: usize) -> Result<&str, Problem> {
    let name = capture.buffers.get(buffer).map(|b| b.name.as_str()).unwrap_or_default();
    link(name, buffer, find_name(&capture.buffers, |b| &b.name, name))
}

/// The index of the first item with this name.
fn find_name<T>(items: &[T], of: impl Fn(&T) -> &str, name: &str) -> Option<usize> {
    items.iter().position(|item| of(item) == name)
}

fn link(name: &str, meant: usize, found: Option<usize>) -> Result<&str, Problem> {
    if found == Some(meant) && !name.is_empty() && !name.starts_with('@') {
        value(name, ",(=")
    } else {
        Err(Problem::Unwritable(name.to_owned()))
    }
}

/// Checks that a text can be the value of a key: it contains no reserved character, and none of
/// `marks`.
fn value<'t>(text: &'t str, marks: &str) -> Result<&'t str, Problem> {
    let bad = text.is_empty()
        || text.trim() != text
        || text.trim_matches(['"', '\'']) != text
        || text.chars().any(|c| c.is_control() || ";#".contains(c) || marks.contains(c));
    if bad { Err(Problem::Unwritable(text.to_owned())) } else { Ok(text) }
}

/// Checks that a text can be a key.
fn key(text: &str) -> Result<&str, Problem> {
    if text.starts_with('[') {
        return Err(Problem::Unwritable(text.to_owned()));
    }
    value(text, "=")
}

fn line(text: &mut String, key: &str, value: &str) {
    let _ = writeln!(text, "{key}={value}");
}

/// The name of a file without folders and extension, for paths of any system.
fn file_stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}
