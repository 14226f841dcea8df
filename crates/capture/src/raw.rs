//! Bare bytes as a capture, from what the user says of them; and images beside a capture.

use std::path::{Path, PathBuf};

use crate::files::Files;
use crate::number::{number, number64};
use crate::probe::ELF;
use crate::{
    Buffer, BufferRef, Capture, Core, Dump, File, Form, Format, Kind, OpenError, Register,
    Registers, Source, Wrong,
};

/// What the user says of a file of trace.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    /// The trace unit's protocol, as a device's type is written: `ETM4`, `ITM`.
    pub device_type: String,
    /// Its registers: `NAME=VALUE`.
    pub registers: Vec<String>,
    /// How the file is framed.
    pub format: Format,
    /// The core that it watches, as a device's type is written: `Cortex-A53`.
    pub core: Option<String>,
    /// Program memory: `FILE` (ELF) or `FILE@ADDRESS`.
    pub images: Vec<String>,
}

impl Capture {
    /// Makes a capture of the files of trace `paths`, which are read one after another. `-` is the
    /// standard input. What comes through a pipe is read when it is decoded.
    ///
    /// # Errors
    /// [`OpenError`] where a file cannot be read, or what is said of it not be understood.
    pub fn raw(paths: &[PathBuf], raw: &Raw) -> Result<Capture, OpenError> {
        let path = paths.first().cloned().unwrap_or_default();
        let mut files = Files::default();
        let mut buffer =
            Buffer { name: label(&path), files: Vec::new(), format: raw.format.clone() };
        for path in paths {
            let (bytes, pipe) =
                files.trace(path).map_err(|why| OpenError::new(path, Wrong::Unreadable(why)))?;
            buffer.files.push(File {
                name: label(path),
                path: path.clone(),
                bytes,
                pipe,
                spooled: false,
            });
        }
        let registers = raw.registers.iter().map(|text| {
            assignment(text)
                .ok_or_else(|| OpenError::new(&path, Wrong::NotAssignment(text.clone())))
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
            kind: Kind::Raw,
            buffers: vec![buffer],
            sources: vec![source],
            cores: core.into_iter().collect(),
            path,
            ..Capture::default()
        };
        for image in &raw.images {
            capture.add_image(image)?;
        }
        Ok(capture)
    }

    /// Adds program memory that every core sees: `FILE` for an ELF file, `FILE@ADDRESS` for bytes as
    /// they were in memory. For an ELF file, an address is added to those that it names.
    ///
    /// It comes before all of the capture's own memory where both hold an address, and after those that were added
    /// before it.
    ///
    /// # Errors
    /// [`OpenError`] where the file cannot be read, or is not ELF and has no address.
    pub fn add_image(&mut self, image: &str) -> Result<(), OpenError> {
        // A file may have `@` in its name.
        let split = image.rsplit_once('@').and_then(|(file, at)| Some((file, number64(at)?)));
        let (name, address) = match split {
            Some((file, address)) if !Path::new(image).exists() => (file, Some(address)),
            _ => (image, None),
        };
        let path = Path::new(name);
        let bytes = Files::default()
            .open(path)
            .map_err(|why| OpenError::new(path, Wrong::Unreadable(why)))?;
        let form = if bytes.starts_with(ELF) { Form::Elf } else { Form::Raw };
        let address = match (form, address) {
            (_, Some(address)) => address,
            (Form::Elf, None) => 0,
            (Form::Raw, None) => {
                return Err(OpenError::new(path, Wrong::NoAddress(name.to_owned())));
            }
        };
        let dump = Dump {
            name: label(path),
            file: name.to_owned(),
            path: path.to_owned(),
            address,
            form,
            given: true,
            bytes: Some(bytes),
            ..Dump::default()
        };
        let before = self.memory.iter().take_while(|d| d.given).count();
        self.memory.insert(before, dump);
        Ok(())
    }
}

/// `NAME=VALUE`.
pub(crate) fn assignment(text: &str) -> Option<Register> {
    let (name, value) = text.split_once('=')?;
    let name = name.trim();
    let value = number(value).filter(|_| !name.is_empty())?;
    Some(Register { name: name.to_owned(), id: None, size: None, value })
}

fn label(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
