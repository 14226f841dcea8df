//! Reading of a folder with a `capture.toml`.

use std::path::{Path, PathBuf};

use toml::{Table, Value};
use toml_parser::lexer::TokenKind;

use crate::When;
use crate::access::Access;
use crate::buffer::{Buffer, Format};
use crate::buffer_file::File;
use crate::capture::{Capture, Kind};
use crate::device::{BufferRef, Core, Register, Registers, Source, Text};
use crate::dump::{Dump, Form};
use crate::image_file;
use crate::limits::{MAX_DEVICES, MAX_DUMPS, MAX_FILES, MAX_LINKS, MAX_TABLES};
use crate::names::Names;
use crate::notes::Notes;
use crate::open_files::{OpenFiles, find};
use crate::origin::Origin;
use crate::origin::shortened;
use crate::plain::plain;
use crate::problem::{OpenError, Problem};
use crate::when;

/// Reads the folder whose description is the file `index`. `path` is the path that the user gave,
/// and `access` limits what the description may refer to.
///
/// # Errors
/// [`OpenError`] where the description cannot be read, or is invalid.
pub fn read(path: &Path, index: &Path, access: Access) -> Result<Capture, OpenError> {
    let root = index.parent().unwrap_or(Path::new("")).to_owned();
    let mut files = OpenFiles::in_folder(&root, access);
    let bytes = files.index(index, path).map_err(|problem| OpenError::new(index, problem))?;
    let text = String::from_utf8_lossy(&bytes);
    if has_many_tables(&text) {
        let what = format!(
            "more than {MAX_TABLES} tables, dotted keys and inline tables; split the capture"
        );
        return Err(OpenError::new(index, Problem::Toml(what)));
    }
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| {
            let before = text.get(..span.start).unwrap_or(&text);
            before.matches('\n').count() as u32 + 1
        });
        let origin = Origin { line, ..Origin::file(index) };
        OpenError::at(origin, Problem::Toml(error.message().to_owned()))
    })?;
    let (notes, names) = (Notes::default(), Names::default());
    let mut reader = Reader { index, root, files, notes, names, links: 0 };
    let top = Section { reader: &reader, section: None, table: &table };
    top.known(&["description", "buffer", "source", "image"])?;
    let mut capture = Capture {
        path: path.to_owned(),
        kind: Kind::Folder,
        description: top.text("description")?,
        ..Capture::default()
    };
    let mut sinks = Vec::new();
    for (n, table) in tables(&reader, &table, "buffer")? {
        let (buffer, registers) = reader.buffer(n, table)?;
        reader.names.add(&buffer.name, capture.buffers.len());
        sinks.extend(registers.map(|registers| (capture.buffers.len(), registers)));
        capture.buffers.push(buffer);
    }
    for (n, table) in tables(&reader, &table, "source")? {
        reader.limit(n, "source", MAX_DEVICES)?;
        reader.source(n, table, &mut capture)?;
    }
    for (n, table) in tables(&reader, &table, "image")? {
        reader.limit(n, "image", MAX_DUMPS)?;
        capture.memory.extend(reader.image(n, table)?);
        if capture.memory.len() > MAX_DUMPS {
            return Err(OpenError::new(index, Problem::TooMany("pieces of memory", MAX_DUMPS)));
        }
    }
    if capture.buffers.is_empty() {
        return Err(OpenError::new(index, Problem::NoSection("[buffer]")));
    }
    capture.notes = reader.notes.finish();
    for (n, registers) in sinks {
        capture.read_sink(n, "", registers, None);
    }
    capture.stamps.append(&mut reader.files.stamps);
    Ok(capture)
}

/// Whether the text has more tables than [`MAX_TABLES`]: headers, dotted keys and inline tables.
fn has_many_tables(text: &str) -> bool {
    let mut begins = true;
    let tables = toml_parser::Source::new(text).lex().filter(|token| {
        let first = begins;
        begins = match token.kind() {
            TokenKind::Newline => true,
            TokenKind::Whitespace => first,
            _ => false,
        };
        match token.kind() {
            TokenKind::Dot | TokenKind::LeftCurlyBracket => true,
            TokenKind::LeftSquareBracket => first,
            _ => false,
        }
    });
    tables.take(MAX_TABLES + 1).count() > MAX_TABLES
}

/// The number of buffers that a message about an unknown one names.
const MAX_KNOWN: usize = 16;

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
    files: OpenFiles,
    notes: Notes,
    /// The names of the buffers.
    names: Names,
    /// The number of links from sources to buffers.
    links: usize,
}

/// A table of the description, with the name of its section for messages.
struct Section<'a> {
    reader: &'a Reader<'a>,
    section: Option<String>,
    table: &'a Table,
}

impl Section<'_> {
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

    /// The conditions of an image.
    fn when(&self) -> Result<When, OpenError> {
        let mut conditions = When::default();
        for key in when::KEYS {
            let word = |value: &Value| match value {
                Value::Integer(value) => Some(value.to_string()),
                Value::Boolean(value) => Some(u8::from(*value).to_string()),
                Value::String(text) => Some(plain(text).into_owned()),
                _ => None,
            };
            let text = match self.table.get(key) {
                None => continue,
                Some(Value::Array(list)) => {
                    list.iter().map(word).collect::<Option<Vec<_>>>().map(|words| words.join(","))
                }
                Some(value) => word(value),
            };
            let set = text.ok_or("a number or a string in quotes");
            let set = set.and_then(|text| when::set(&mut conditions, key, &text));
            set.map_err(|what| self.problem(key, format!("expected {what}")))?;
        }
        Ok(conditions)
    }

    /// The table of registers of a buffer.
    fn registers(&self) -> Result<Option<Registers>, OpenError> {
        let problem = |what: &str| self.problem("registers", what);
        let Some(value) = self.table.get("registers") else { return Ok(None) };
        let Value::Table(table) = value else {
            return Err(problem("expected a table, written [buffer.registers]"));
        };
        let registers = table.iter().map(|(name, value)| {
            let value = match value {
                Value::Integer(value) => u128::try_from(*value).ok(),
                Value::String(text) => crate::number::number(text),
                _ => None,
            };
            let name = plain(name).into_owned();
            let value = value.ok_or_else(|| {
                problem(&format!("{name}: expected an unsigned number, in quotes from 2^63 on"))
            })?;
            Ok(Register { name, id: None, size: None, value })
        });
        Ok(Some(Registers(registers.collect::<Result<_, _>>()?)))
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
impl Section<'_> {
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
                                    format!("`{key}` must be a number or a string in quotes");
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

impl Reader<'_> {
    /// The error that there are more than `limit` tables `name`, of which this is number `n`.
    fn limit(&self, n: usize, name: &str, limit: usize) -> Result<(), OpenError> {
        if n <= limit {
            return Ok(());
        }
        let origin = Origin { section: Some(name.to_owned()), ..Origin::file(self.index) };
        Err(OpenError::at(
            origin,
            Problem::Toml(format!("more than {limit} tables; split the capture")),
        ))
    }

    /// The path of a file that the description refers to at `origin`. A file outside of the folder
    /// is noted.
    fn find(&mut self, origin: &Origin, written: &str) -> PathBuf {
        let path = find(self.files.source(), &self.root, &self.root, written);
        if !self.files.is_inside(&path) {
            self.notes.add(origin.clone(), Problem::Outside(shortened(written)));
        }
        path
    }

    fn buffer(
        &mut self,
        n: usize,
        table: &Table,
    ) -> Result<(Buffer, Option<Registers>), OpenError> {
        let at = Section { reader: self, section: Some(format!("buffer {n}")), table };
        at.known(&["name", "file", "files", "format", "wrap", "registers"])?;
        let names = at.texts("file", "files")?;
        if names.is_empty() {
            return Err(at.problem("file", "missing; give the file with the trace data"));
        }
        let format = at.text("format")?.map_or(Format::SourceData, |w| Format::from_word(&w));
        if let Format::Other(word) = &format
            && !self.files.access().knows_format(word)
        {
            let what = format!(
                "unknown format `{word}`; expected source_data, coresight, dstream_coresight or \
                 encapsulated"
            );
            return Err(at.problem("format", what));
        }
        let (wrap, origin) = (at.number("wrap")?, at.origin("file"));
        let too_far = at.problem("wrap", "expected an offset within the file, and one file only");
        let name = at.text("name")?;
        let registers = at.registers()?;
        let both = at.problem("wrap", "`registers` has the place of the oldest byte; remove one");
        let name = name.or_else(|| names.first().cloned()).unwrap_or_default();
        let mut buffer = Buffer::empty(name, format);
        for name in &names {
            if self.files.has_all_traces() {
                let problem = Problem::TooMany("files of trace data", MAX_FILES);
                return Err(OpenError::at(origin, problem));
            }
            let path = self.find(&origin, name);
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
                    self.notes.add(origin.clone(), problem);
                }
            }
        }
        if wrap.is_some() && registers.is_some() {
            return Err(both);
        }
        match (wrap, buffer.files.as_slice()) {
            (None | Some(0), _) => {}
            (Some(wrap), [file]) if wrap < file.bytes.size() => {
                let old = File { bytes: file.bytes.part(wrap, u64::MAX), ..file.clone() };
                let young = File { bytes: file.bytes.part(0, wrap), ..file.clone() };
                buffer.files = vec![old, young];
            }
            (Some(_), []) => {}
            (Some(_), _) => return Err(too_far),
        }
        Ok((buffer, registers))
    }

    fn source(&mut self, n: usize, table: &Table, c: &mut Capture) -> Result<(), OpenError> {
        let at = Section { reader: self, section: Some(format!("source {n}")), table };
        at.known(&["name", "protocol", "buffer", "buffers", "core", "params", "parameters"])?;
        let Some(protocol) = at.text("protocol")? else {
            return Err(at.problem(
                "protocol",
                "missing; give the trace protocol, such as etrace, ETM4 or ITM",
            ));
        };
        let mut links = Vec::new();
        for name in at.texts("buffer", "buffers")? {
            match self.names.exact(&name) {
                Some(buffer) => links.push(BufferRef { buffer, stream: None }),
                None => {
                    let known = c.buffers.iter().take(MAX_KNOWN);
                    let known: Vec<_> = known.map(|b| shortened(&b.name)).collect();
                    let known = known.join(", ");
                    let why = match known.is_empty() {
                        true => format!("unknown buffer `{name}`; the capture has no buffers"),
                        false => format!("unknown buffer `{name}`; expected one of {known}"),
                    };
                    return Err(at.problem("buffer", why));
                }
            }
        }
        let all_links = self.links + links.len();
        if all_links > MAX_LINKS {
            let what = format!("the sources have more than {MAX_LINKS} buffers; split the capture");
            return Err(at.problem("buffers", what));
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
            let origin = at.origin("params");
            let path = find(self.files.source(), &self.root, &self.root, &name);
            // Opening a pipe without a writer would block.
            self.files.description(&path).map_err(|problem| match problem {
                Problem::OutsideDescription(_) => OpenError::at(origin, problem),
                problem => OpenError::new(&path, problem),
            })?;
            source.read_parameters(self.files.source(), &path)?;
        }
        self.links = all_links;
        c.sources.push(source);
        Ok(())
    }

    fn image(&mut self, n: usize, table: &Table) -> Result<Vec<Dump>, OpenError> {
        let at = Section { reader: self, section: Some(format!("image {n}")), table };
        let keys: Vec<&str> = ["file", "address"].into_iter().chain(when::KEYS).collect();
        at.known(&keys)?;
        let Some(file) = at.text("file")? else {
            return Err(at.problem("file", "missing; give the file with the program"));
        };
        let address = at.number("address")?;
        let when = at.when()?;
        let origin = at.origin("file");
        let no_address = at.problem(
            "address",
            "missing; raw memory needs an address: ELF files, Intel HEX and S-records, and UF2 \
             contain theirs",
        );
        let its_address = at.problem("address", "the file has its own addresses: remove the key");
        let wrong = at.origin("file");
        let path = self.find(&origin, &file);
        let bytes = match self.files.open_named(&path) {
            Ok(bytes) => Some(bytes),
            Err(reason) => {
                let problem = Problem::DumpUnreadable { file: file.clone(), reason };
                self.notes.add(origin, problem);
                None
            }
        };
        let form = bytes.as_ref().map_or(Form::Raw, Form::detect);
        let pieces = bytes.as_ref().filter(|_| form == Form::Raw).and_then(image_file::read);
        if let Some(pieces) = pieces {
            let unusable = |why| OpenError::at(wrong, Problem::NotMemory(why));
            let pieces = pieces.map_err(unusable)?;
            if address.is_some() {
                return Err(its_address);
            }
            let dump = Dump { name: file.clone(), file, path, when, ..Dump::default() };
            let dumps = pieces.into_iter().map(|(address, bytes)| Dump {
                address,
                bytes: Some(bytes),
                ..dump.clone()
            });
            return Ok(dumps.collect());
        }
        if form == Form::Raw && address.is_none() && bytes.is_some() {
            return Err(no_address);
        }
        let address = address.unwrap_or(0);
        let name = file.clone();
        Ok(vec![Dump { name, file, path, address, when, form, bytes, ..Dump::default() }])
    }
}
