//! Folders of trace data and programs that a TOML file describes: `capture.toml`.
//!
//! ```toml
//! description = "what this is"
//!
//! [[buffer]]
//! name = "trace"
//! file = "trace.bin"          # or files = ["a.bin", "b.bin"], one after another
//! format = "source_data"      # the data of one source (the default);
//!                             # or coresight, dstream_coresight, encapsulated
//! wrap = 0x1200               # a circular buffer: offset of the oldest byte
//!
//! [[source]]
//! name = "hart0"
//! protocol = "etrace"
//! buffer = "trace"            # the default: the first
//! core = "Cortex-A53"         # the traced core, where the protocol needs it
//! params = "unit.params"      # parameters in a file of `name = value` lines
//! [source.parameters]         # and here; these override the file
//! version = "2.0"
//! xlen = 64
//! [[source.parameters.custom]] # an element of a list; or custom = ["mask=0x707f ...", ...]
//! mask = 0x707f
//!
//! [[image]]
//! file = "program.elf"        # ELF; or raw bytes, with an address
//! address = 0x1000            # for ELF: added to the addresses in the file
//! ```
//!
//! Registers of CoreSight units are parameters as well: `TRCCONFIGR = 0x18c1`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::files::{Files, find, read_small, reason};
use crate::number::number;
use crate::plain::plain;
use crate::spool::move_file;
use crate::{
    Buffer, BufferRef, Capture, Core, Dump, File, Form, Format, Kind, Note, OpenError, Origin,
    Problem, Register, Source, Text,
};

/// The file name of the description.
pub(crate) const NAME: &str = "capture.toml";

/// Limit of the size in bytes of a file of parameters.
const MOST_PARAMETERS: u64 = 1 << 20;

/// Reads the folder whose description is the file `index`. `path` is the path that the user gave.
///
/// # Errors
/// [`OpenError`] where the description cannot be read, or is invalid.
pub fn read(path: &Path, index: &Path) -> Result<Capture, OpenError> {
    let mut files = Files::default();
    let unreadable = |why| OpenError::new(index, Problem::Unreadable(why));
    let bytes = files.open_named(index).map_err(unreadable)?;
    let text = String::from_utf8_lossy(&bytes);
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| {
            let before = text.get(..span.start).unwrap_or(&text);
            before.matches('\n').count() as u32 + 1
        });
        let origin = Origin { line, ..Origin::file(index) };
        OpenError::at(origin, Problem::Toml(error.message().to_owned()))
    })?;
    let root = index.parent().unwrap_or(Path::new("")).to_owned();
    let mut reader = Reader { index, root, files, notes: Vec::new() };
    let top = At { reader: &reader, section: None, table: &table };
    top.known(&["description", "buffer", "source", "image"])?;
    let mut capture = Capture {
        path: path.to_owned(),
        kind: Kind::Folder,
        description: top.text("description")?,
        ..Capture::default()
    };
    for (n, table) in tables(&reader, &table, "buffer")? {
        let buffer = reader.buffer(n, table)?;
        capture.buffers.push(buffer);
    }
    for (n, table) in tables(&reader, &table, "source")? {
        reader.source(n, table, &mut capture)?;
    }
    for (n, table) in tables(&reader, &table, "image")? {
        let dump = reader.image(n, table)?;
        capture.memory.push(dump);
    }
    if capture.buffers.is_empty() {
        return Err(OpenError::new(index, Problem::NoSection("[buffer]")));
    }
    capture.notes = reader.notes;
    Ok(capture)
}

/// The tables of the array `name`, each with its number from 1.
fn tables<'a>(
    reader: &Reader<'_>,
    table: &'a Table,
    name: &'static str,
) -> Result<Vec<(usize, &'a Table)>, OpenError> {
    let problem = || {
        let origin = Origin { section: Some(name.to_owned()), ..Origin::file(reader.index) };
        OpenError::at(
            origin,
            Problem::Toml(format!("expected an array of tables, written [[{name}]]")),
        )
    };
    match table.get(name) {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => (1..)
            .zip(items)
            .map(|(n, item)| item.as_table().map(|table| (n, table)).ok_or_else(problem))
            .collect(),
        Some(_) => Err(problem()),
    }
}

/// The state of reading a folder.
struct Reader<'a> {
    index: &'a Path,
    root: PathBuf,
    files: Files,
    notes: Vec<Note>,
}

/// A table of the description, with its section for messages.
struct At<'a> {
    reader: &'a Reader<'a>,
    section: Option<String>,
    table: &'a Table,
}

impl At<'_> {
    fn origin(&self, key: &str) -> Origin {
        let (section, key) = (self.section.clone(), Some(key.to_owned()));
        Origin { section, key, ..Origin::file(self.reader.index) }
    }

    fn problem(&self, key: &str, what: impl Into<String>) -> OpenError {
        OpenError::at(self.origin(key), Problem::Toml(what.into()))
    }

    /// Checks that the table has no other keys than `keys`.
    fn known(&self, keys: &[&str]) -> Result<(), OpenError> {
        match self.table.keys().find(|key| !keys.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                Err(self.problem(key, format!("unknown key; expected one of {}", keys.join(", "))))
            }
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>, OpenError> {
        match self.table.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(plain(text).into_owned())),
            Some(_) => Err(self.problem(key, "expected a string in quotes")),
        }
    }

    fn number(&self, key: &str) -> Result<Option<u64>, OpenError> {
        let value = match self.table.get(key) {
            None => return Ok(None),
            Some(Value::Integer(value)) => u64::try_from(*value).ok(),
            // TOML numbers are signed: larger ones are written as strings.
            Some(Value::String(text)) => crate::number::number64(text),
            Some(_) => None,
        };
        value
            .map(Some)
            .ok_or_else(|| self.problem(key, "expected an unsigned number, in quotes from 2^63 on"))
    }

    /// The string at key `one`, or the list of strings at key `many`.
    fn texts(&self, one: &str, many: &str) -> Result<Vec<String>, OpenError> {
        let texts = |list: &Vec<Value>| {
            list.iter()
                .map(|v| v.as_str().map(|text| plain(text).into_owned()))
                .collect::<Option<Vec<_>>>()
        };
        match (self.text(one)?, self.table.get(many)) {
            (Some(text), None) => Ok(vec![text]),
            (None, None) => Ok(Vec::new()),
            (None, Some(Value::Array(list))) => {
                texts(list).ok_or_else(|| self.problem(many, "expected a list of strings"))
            }
            (None, Some(_)) => Err(self.problem(many, "expected a list of strings")),
            (Some(_), Some(_)) => {
                Err(self.problem(many, format!("`{one}` is given, too; remove one of the two")))
            }
        }
    }
}

/// Parameters that are lists of strings or of tables.
impl At<'_> {
    /// The elements of the list `name`. `None` where the value is not a list.
    fn several(&self, name: &str, value: &Value) -> Result<Option<Vec<Text>>, OpenError> {
        let Value::Array(items) = value else { return Ok(None) };
        let texts = (1..).zip(items).map(|(n, item)| {
            let origin = self.origin(&format!("{name} {n}"));
            let name = name.to_owned();
            match item {
                Value::String(text) => Ok(Text { name, text: text.clone(), origin }),
                Value::Table(table) => {
                    let mut text = Text { name, origin, ..Text::default() };
                    for (key, value) in table {
                        match value {
                            Value::String(value) => text.pair(key, value),
                            Value::Integer(value) => text.pair(key, &format!("{value:#x}")),
                            _ => {
                                let problem =
                                    format!("`{key}`: expected a number or a string in quotes");
                                return Err(OpenError::at(text.origin, Problem::Toml(problem)));
                            }
                        }
                    }
                    Ok(text)
                }
                _ => Err(OpenError::at(
                    origin,
                    Problem::Toml("expected a table or a string in quotes".to_owned()),
                )),
            }
        });
        texts.collect::<Result<_, _>>().map(Some)
    }
}

impl Text {
    /// Appends `KEY=VALUE`, the value without blanks.
    fn pair(&mut self, key: &str, value: &str) {
        let before = if self.text.is_empty() { "" } else { " " };
        let value: String = value.split_whitespace().collect();
        let _ = write!(self.text, "{before}{key}={value}");
    }
}

impl Reader<'_> {
    fn buffer(&mut self, n: usize, table: &Table) -> Result<Buffer, OpenError> {
        let at = At { reader: self, section: Some(format!("buffer {n}")), table };
        at.known(&["name", "file", "files", "format", "wrap"])?;
        let names = at.texts("file", "files")?;
        if names.is_empty() {
            return Err(at.problem("file", "missing; give the file with the trace data"));
        }
        let format = at.text("format")?.map_or(Format::SourceData, |w| Format::from_word(&w));
        if let Format::Other(word) = &format {
            let what = format!(
                "unknown format `{word}`; expected source_data, coresight, dstream_coresight or \
                 encapsulated"
            );
            return Err(at.problem("format", what));
        }
        let (wrap, origin) = (at.number("wrap")?, at.origin("file"));
        let too_far = at.problem("wrap", "expected an offset within the file, and one file only");
        let name = at.text("name")?;
        let mut buffer = Buffer {
            name: name.or_else(|| names.first().cloned()).unwrap_or_default(),
            files: Vec::new(),
            format,
        };
        for name in &names {
            let path = find(&self.root, &self.root, name);
            match self.files.trace_named(&path) {
                Ok((bytes, pipe)) => {
                    buffer.files.push(File {
                        name: name.clone(),
                        path,
                        bytes,
                        pipe,
                        spooled: false,
                    });
                }
                Err(why) => {
                    let problem = Problem::Unreadable(format!("{}: {why}", path.display()));
                    self.notes.push(Note { origin: origin.clone(), problem });
                }
            }
        }
        match (wrap, buffer.files.as_slice()) {
            (None | Some(0), _) => {}
            (Some(wrap), [file]) if wrap < file.bytes.len() as u64 => {
                let old = File { bytes: file.bytes.part(wrap, u64::MAX), ..file.clone() };
                let young = File { bytes: file.bytes.part(0, wrap), ..file.clone() };
                buffer.files = vec![old, young];
            }
            (Some(_), []) => {}
            (Some(_), _) => return Err(too_far),
        }
        Ok(buffer)
    }

    fn source(&mut self, n: usize, table: &Table, c: &mut Capture) -> Result<(), OpenError> {
        let at = At { reader: self, section: Some(format!("source {n}")), table };
        at.known(&["name", "protocol", "buffer", "buffers", "core", "params", "parameters"])?;
        let Some(protocol) = at.text("protocol")? else {
            return Err(at.problem(
                "protocol",
                "missing; give the trace protocol, such as etrace, ETM4 or ITM",
            ));
        };
        let mut links = Vec::new();
        for name in at.texts("buffer", "buffers")? {
            match c.buffer(&name) {
                Some(buffer) => links.push(BufferRef { buffer, stream: None }),
                None => {
                    let known: Vec<_> = c.buffers.iter().map(|b| b.name.as_str()).collect();
                    let known = known.join(", ");
                    let why = match known.is_empty() {
                        true => format!("unknown buffer `{name}`; the capture has no buffers"),
                        false => format!("unknown buffer `{name}`; expected one of {known}"),
                    };
                    return Err(at.problem("buffer", why));
                }
            }
        }
        if links.is_empty() {
            links.push(BufferRef { buffer: 0, stream: None });
        }
        let name = at.text("name")?.unwrap_or_else(|| format!("{protocol}_{n}"));
        let core = at.text("core")?.map(|device_type| {
            let name = format!("{name}.core");
            c.cores.push(Core { name, device_type, ..Core::default() });
            c.cores.len() - 1
        });
        let mut source = Source {
            name,
            device_type: protocol,
            core,
            buffers: links,
            path: self.index.to_owned(),
            ..Source::default()
        };
        match table.get("parameters") {
            None => {}
            Some(Value::Table(parameters)) => {
                for (name, value) in parameters {
                    if let Some(several) = at.several(name, value)? {
                        source.texts.extend(several);
                        continue;
                    }
                    let text = match value {
                        Value::String(text) => text.clone(),
                        Value::Integer(number) => number.to_string(),
                        Value::Boolean(flag) => flag.to_string(),
                        Value::Float(number) => format!("{number:?}"),
                        _ => {
                            return Err(at.problem(
                                name,
                                "expected a number, a string, true, false or a list",
                            ));
                        }
                    };
                    source.parameter(name, &text);
                }
            }
            Some(_) => {
                return Err(
                    at.problem("parameters", "expected a table, written [source.parameters]")
                );
            }
        }
        if let Some(name) = at.text("params")? {
            let path = find(&self.root, &self.root, &name);
            // Opening a pipe without a writer would block.
            Files::default()
                .open_named(&path)
                .map_err(|why| OpenError::new(&path, Problem::Unreadable(why)))?;
            source.read_parameters(&path)?;
        }
        c.sources.push(source);
        Ok(())
    }

    fn image(&mut self, n: usize, table: &Table) -> Result<Dump, OpenError> {
        let at = At { reader: self, section: Some(format!("image {n}")), table };
        at.known(&["file", "address"])?;
        let Some(file) = at.text("file")? else {
            return Err(at.problem("file", "missing; give the file with the program"));
        };
        let address = at.number("address")?;
        let origin = at.origin("file");
        let no_address = at.problem(
            "address",
            "missing; raw memory needs an address, only ELF files contain theirs",
        );
        let path = find(&self.root, &self.root, &file);
        let bytes = match self.files.open_named(&path) {
            Ok(bytes) => Some(bytes),
            Err(reason) => {
                let problem = Problem::DumpUnreadable { file: file.clone(), reason };
                self.notes.push(Note { origin, problem });
                None
            }
        };
        let form = bytes.as_deref().map_or(Form::Raw, Form::detect);
        if form == Form::Raw && address.is_none() && bytes.is_some() {
            return Err(no_address);
        }
        let address = address.unwrap_or(0);
        Ok(Dump { name: file.clone(), file, path, address, form, bytes, ..Dump::default() })
    }
}

impl Source {
    /// Adds a parameter: a register where `value` is a number, else a word that the protocol maps
    /// to a number.
    pub fn parameter(&mut self, name: &str, value: &str) {
        let name = plain(name).into_owned();
        match number(value) {
            Some(value) => self.registers.0.push(Register { name, id: None, size: None, value }),
            None => self.words.push((name, plain(value).into_owned())),
        }
    }

    /// Adds the parameters of a file: `name = value` lines, in TOML or without quotes. Text after
    /// `#` and lines with `[section]` are ignored. Parameters that the source already has are
    /// retained. The lines after `[[name]]` form one text parameter `name`.
    ///
    /// # Errors
    /// [`OpenError`] where the file cannot be read, or a line is not an assignment.
    pub fn read_parameters(&mut self, path: &Path) -> Result<(), OpenError> {
        let bytes = read_small(path, MOST_PARAMETERS)
            .map_err(|why| OpenError::new(path, Problem::Unreadable(why)))?;
        // The table of a list that contains the line.
        let mut entry: Option<Text> = None;
        for (n, line) in (1..).zip(String::from_utf8_lossy(&bytes).lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.starts_with('[') {
                self.texts.extend(entry.take());
                let name = line.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
                entry = name.map(|name| {
                    let name = name.trim().to_owned();
                    let key = Some(name.clone());
                    let origin = Origin { line: Some(n), key, ..Origin::file(path) };
                    Text { name, origin, ..Text::default() }
                });
                continue;
            }
            if line.is_empty() {
                continue;
            }
            let Some((name, value)) = line.split_once('=') else {
                let origin = Origin { line: Some(n), ..Origin::file(path) };
                return Err(OpenError::at(origin, Problem::NotAssignment(line.to_owned())));
            };
            let (name, value) = (name.trim().trim_matches('"'), value.trim());
            if let Some(entry) = &mut entry {
                entry.pair(name, value.trim_matches(['"', '\'']));
                continue;
            }
            let has = self.registers.get(name).is_some()
                || self.words.iter().any(|(word, _)| word.eq_ignore_ascii_case(name));
            if !has {
                self.parameter(name, value.trim_matches(['"', '\'']));
                let key = Some(name.to_owned());
                let origin = Origin { line: Some(n), key, ..Origin::file(path) };
                self.origins.push((name.to_owned(), origin));
            }
        }
        self.texts.extend(entry);
        Ok(())
    }
}

/// Writes `capture` into `folder`, which is created; it must be empty if it exists. The description
/// lists memory whose file is missing, but no file is written for it.
///
/// # Errors
/// [`OpenError`] where the folder contains files, or a file cannot be written.
pub fn write(capture: &Capture, folder: &Path) -> Result<(), OpenError> {
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(OpenError::new(folder, Problem::NotEmpty));
    }
    let failed =
        |path: &Path, why: std::io::Error| OpenError::new(path, Problem::NotWritten(reason(&why)));
    fs::create_dir_all(folder).map_err(|why| failed(folder, why))?;
    let mut taken = HashSet::from([NAME.to_owned()]);
    // Without bytes, a unique file name is reserved and no file is written.
    let mut put = |name: &str, end: &str, bytes: Option<&[u8]>, spooled: Option<&Path>| {
        let plain: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' })
            .collect();
        let plain = plain.trim_start_matches('.');
        let plain = plain.strip_suffix(end).unwrap_or(plain);
        let plain = if plain.is_empty() { "file" } else { plain };
        let names = (0..).map(|n| match n {
            0 => format!("{plain}{end}"),
            n => format!("{plain}-{n}{end}"),
        });
        let name = names.into_iter().find(|name| taken.insert(name.clone())).unwrap_or_default();
        let path = folder.join(&name);
        let done = match (spooled, bytes) {
            (Some(from), _) => move_file(from, &path),
            (None, Some(bytes)) => fs::write(&path, bytes),
            (None, None) => Ok(()),
        };
        done.map_err(|why| failed(&path, why)).map(|()| name)
    };
    let mut text = String::new();
    if let Some(description) = &capture.description {
        let _ = writeln!(text, "description = {}\n", quoted(description));
    }
    for buffer in &capture.buffers {
        let file = match buffer.files.as_slice() {
            [file] if file.spooled => put(&buffer.name, ".bin", None, Some(&file.path))?,
            _ => put(&buffer.name, ".bin", Some(&buffer.bytes()), None)?,
        };
        let (name, file) = (quoted(&buffer.name), quoted(&file));
        let _ = writeln!(text, "[[buffer]]\nname = {name}\nfile = {file}");
        let _ = writeln!(text, "format = {}\n", quoted(&buffer.format.to_string()));
    }
    for source in &capture.sources {
        let (name, protocol) = (quoted(&source.name), quoted(&source.device_type));
        let _ = writeln!(text, "[[source]]\nname = {name}\nprotocol = {protocol}");
        let links = source.buffers.iter().filter_map(|link| capture.buffers.get(link.buffer));
        let links: Vec<_> = links.map(|buffer| quoted(&buffer.name)).collect();
        let _ = writeln!(text, "buffers = [{}]", links.join(", "));
        if let Some(core) = capture.core(source) {
            let _ = writeln!(text, "core = {}", quoted(&core.device_type));
        }
        let _ = writeln!(text, "[source.parameters]");
        for (name, word) in &source.words {
            let _ = writeln!(text, "{} = {}", key(name), quoted(word));
        }
        for register in &source.registers.0 {
            let value = match register.value {
                value if value <= i64::MAX as u128 => format!("{value:#x}"),
                value => format!("\"{value:#x}\""),
            };
            let _ = writeln!(text, "{} = {value}", key(&register.name));
        }
        let mut lists: Vec<(&str, Vec<String>)> = Vec::new();
        for Text { name, text, .. } in &source.texts {
            match lists.iter_mut().find(|(known, _)| known == name) {
                Some((_, list)) => list.push(quoted(text)),
                None => lists.push((name, vec![quoted(text)])),
            }
        }
        for (name, list) in lists {
            let _ = writeln!(text, "{} = [\n    {},\n]", key(name), list.join(",\n    "));
        }
        text.push('\n');
    }
    for dump in &capture.memory {
        let end = if dump.form == Form::Elf { ".elf" } else { ".mem" };
        let file = put(&dump.name, end, dump.bytes.as_deref(), None)?;
        let _ = writeln!(text, "[[image]]\nfile = {}", quoted(&file));
        match (dump.form, dump.address) {
            (Form::Elf, 0) => {}
            (_, address) if address <= i64::MAX as u64 => {
                let _ = writeln!(text, "address = {address:#x}");
            }
            (_, address) => {
                let _ = writeln!(text, "address = \"{address:#x}\"");
            }
        }
        text.push('\n');
    }
    let path = folder.join(NAME);
    fs::write(&path, text).map_err(|why| failed(&path, why))
}

/// A TOML key, in quotes where necessary.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
