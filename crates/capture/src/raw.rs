//! Captures made of raw trace data, and program images added to a capture.

use std::path::{Path, PathBuf};

use crate::Bytes;
use crate::access::Access;
use crate::buffer::{Buffer, Format};
use crate::buffer_file::File;
use crate::capture::{Capture, Kind};
use crate::cycles;
use crate::device::{BufferRef, Core, Register, Registers, Source};
use crate::dump::{Dump, Form};
use crate::files::Files;
use crate::image_file;
use crate::image_source::ImageSource;
use crate::memory_file;
use crate::memory_file::Selection;
use crate::number::number64;
use crate::open_files::OpenFiles;
use crate::origin::Origin;
use crate::pipe::Pipe;
use crate::plain::line;
use crate::probe::{Found, probe_in};
use crate::problem::{Note, OpenError, Problem};

/// The user's description of raw trace data.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    /// The protocol of the trace unit, in the form of a device type: `ETM4`, `ITM`.
    pub device_type: String,
    /// The registers of the trace unit: `NAME=VALUE`.
    pub registers: Vec<String>,
    /// The framing of the data.
    pub format: Format,
    /// The traced core, in the form of a device type: `Cortex-A53`.
    pub core: Option<String>,
    /// Program memory.
    pub images: Vec<ImageSource>,
    /// The registers of the trace buffer that the data were read from.
    pub buffer_registers: Option<Registers>,
    /// The part of the files that is the trace.
    pub selection: Selection,
    /// The pipe that is read, where it was opened before.
    pub pipe: Option<Pipe>,
    /// Where the files of trace data are: on the disk, or in memory.
    pub files: Files,
}

impl Capture {
    /// Makes a capture of the files of trace data `paths`, which form one buffer. `-` is the
    /// standard input, if the files are on the disk. A pipe is read when it is decoded. Of a file
    /// that has memory as text, in records or in a core dump, the buffer is the memory that the
    /// description selects.
    ///
    /// # Errors
    /// [`OpenError`] where a file cannot be read, or the description is invalid.
    pub fn raw(paths: &[PathBuf], raw: &Raw) -> Result<Capture, OpenError> {
        let path = paths.first().cloned().unwrap_or_default();
        let mut files = OpenFiles::of(Access::of(raw.files.clone()));
        let mut buffer = Buffer::empty(label(&path), raw.format.clone());
        let mut notes = Vec::new();
        for path in paths {
            let (mut bytes, mut pipe) =
                files.trace(path).map_err(|why| OpenError::new(path, Problem::Unreadable(why)))?;
            let failed = |why| OpenError::new(path, Problem::Memory(why));
            if let (Some(pipe), Some(opened)) = (&mut pipe, &raw.pipe) {
                *pipe = opened.clone();
            }
            if let Some(whole) = pipe.as_ref().filter(|pipe| raw.selection.needs_all(pipe)) {
                bytes = Bytes::from(whole.all().to_vec());
                pipe = None;
            }
            let selected = match &pipe {
                Some(_) => None,
                None => raw.selection.select(&bytes).map_err(failed)?,
            };
            if let Some(selected) = selected {
                bytes = selected.bytes;
                let note =
                    |of| Note { origin: Origin::file(path), problem: Problem::Converted(of) };
                notes.extend(selected.what.map(note));
            }
            buffer.files.push(File {
                name: label(path),
                path: path.clone(),
                bytes,
                pipe,
                spooled: false,
            });
        }
        let registers = raw.registers.iter().map(|text| {
            parse_register(text)
                .ok_or_else(|| OpenError::new(&path, Problem::NotAssignment(text.clone())))
        });
        let source = Source {
            name: raw.device_type.clone(),
            device_type: raw.device_type.clone(),
            registers: Registers(registers.collect::<Result<_, _>>()?),
            core: raw.core.as_ref().map(|_| 0),
            buffers: vec![BufferRef { buffer: 0, stream: None }],
            path: path.clone(),
            ..Source::default()
        };
        let core = raw.core.as_ref().map(|text| Core {
            name: "core".into(),
            device_type: text.clone(),
            ..Core::default()
        });
        let mut capture = Capture {
            stamps: files.stamps,
            kind: Kind::Raw,
            buffers: vec![buffer],
            sources: vec![source],
            cores: core.into_iter().collect(),
            path,
            notes,
            ..Capture::default()
        };
        for image in &raw.images {
            capture.add_image(image)?;
        }
        if let Some(registers) = &raw.buffer_registers {
            capture.read_sink(0, "", registers.clone(), None);
        }
        Ok(capture)
    }

    /// Adds program memory that every core sees, or one process of a capture of perf or simpleperf.
    /// Added memory has priority over the capture's own memory, and over memory that is added
    /// later.
    ///
    /// # Errors
    /// [`OpenError`] where the file cannot be read, has no address, or is text or compressed, and
    /// where it is for a process, but the capture describes none.
    pub fn add_image(&mut self, image: &ImageSource) -> Result<(), OpenError> {
        let (path, process) = (image.path(), image.process());
        if process.is_some() && self.linux.is_none() {
            return Err(OpenError::new(path, Problem::NoProcesses));
        }
        let (bytes, mut stamps) = image.open()?;
        self.stamps.append(&mut stamps);
        let name = path.to_string_lossy();
        let form = Form::detect(&bytes);
        if form == Form::Raw
            && let Some(dumps) = records(path, &name, &bytes, image.address())?
        {
            return self.insert_images(dumps, process);
        }
        let address = match (form, image.address()) {
            (_, Some(address)) => address,
            (Form::Elf, None) => 0,
            (Form::Raw, None) => {
                return Err(OpenError::new(path, Problem::NoAddress(name.into_owned())));
            }
        };
        let dump = Dump {
            name: label(path),
            file: name.into_owned(),
            path: path.to_owned(),
            address,
            form,
            given: true,
            bytes: Some(bytes),
            ..Dump::default()
        };
        self.insert_images(vec![dump], process)
    }

    /// Adds the dumps of one file over the memory of the capture, below what was added before.
    fn insert_images(&mut self, dumps: Vec<Dump>, process: Option<u32>) -> Result<(), OpenError> {
        if let Some(linux) = &mut self.linux {
            let unknown =
                process.filter(|id| linux.spaces.threads().all(|thread| thread.process != *id));
            for dump in &dumps {
                let Some(bytes) = &dump.bytes else { continue };
                linux.add_image(dump, bytes, process).map_err(|why| {
                    OpenError::new(&dump.path, Problem::Unreadable(why.to_string()))
                })?;
            }
            if let (Some(process), Some(dump)) = (unknown, dumps.first()) {
                let why = format!("no record of the capture is of process {process}");
                self.notes.push(Note {
                    origin: Origin::file(&dump.path),
                    problem: Problem::PerfData(why),
                });
            }
            return Ok(());
        }
        let before = self.memory.iter().take_while(|d| d.given).count();
        self.memory.splice(before..before, dumps);
        Ok(())
    }
}

/// Reads the file at `path` of `files`, where it is a file of cycles, with the values of
/// `registers` (`NAME=VALUE`) instead of those in the file. `None` for any other file.
///
/// # Errors
/// [`OpenError`] where the file cannot be read, and where a register is not `NAME=VALUE`.
pub fn cycles_with_registers(
    files: &Files,
    path: &Path,
    registers: &[String],
) -> Result<Option<Capture>, OpenError> {
    let Ok(Found::Cycles(form)) = probe_in(files, path) else { return Ok(None) };
    let mut capture = cycles::read(files, path, form)?;
    for text in registers {
        let register = parse_register(text)
            .ok_or_else(|| OpenError::new(path, Problem::NotAssignment(text.clone())))?;
        for source in &mut capture.sources {
            let all = &mut source.registers.0;
            all.retain(|old| !old.name.eq_ignore_ascii_case(&register.name));
            all.push(register.clone());
        }
    }
    Ok(Some(capture))
}

/// Parses `NAME=VALUE`, a value of at most 64 bits.
pub fn parse_register(text: &str) -> Option<Register> {
    let (name, value) = text.split_once('=')?;
    let name = name.trim();
    let value = number64(value).filter(|_| !name.is_empty())?.into();
    Some(Register { name: name.to_owned(), id: None, size: None, value })
}

/// The dumps of a file with records or with memory as text (see [`image_file`] and
/// [`memory_file`]), which was given with `address`. `None` where it has none.
fn records(
    path: &Path,
    name: &str,
    bytes: &Bytes,
    address: Option<u64>,
) -> Result<Option<Vec<Dump>>, OpenError> {
    let fail = |why| OpenError::new(path, Problem::NotMemory(why));
    let head = bytes.head(1 << 12);
    if let (Some(format), Some(address)) = (image_file::recognise(&head), address) {
        return Err(fail(format!(
            "it is {format}, which has its own addresses; give it without @{address:#x}"
        )));
    }
    let pieces = image_file::read(bytes).or_else(|| memory_file::image(bytes, address));
    let Some(pieces) = pieces else {
        return match image_file::unusable(&head) {
            Some(why) => Err(fail(why)),
            None => Ok(None),
        };
    };
    let dumps = pieces.map_err(fail)?.into_iter().map(|(address, bytes)| Dump {
        name: label(path),
        file: name.to_owned(),
        path: path.to_owned(),
        address,
        given: true,
        bytes: Some(bytes),
        ..Dump::default()
    });
    Ok(Some(dumps.collect()))
}

fn label(path: &Path) -> String {
    line(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()).into_owned()
}
