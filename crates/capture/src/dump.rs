//! Memory contents in a capture.

use std::path::PathBuf;

use tracewright_image::{SpaceMask, When};

use crate::Bytes;

/// The device that sees a [`Dump`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Owner {
    /// All devices.
    #[default]
    Any,
    /// One of the capture's cores.
    Core(usize),
    /// One of the capture's trace sources.
    Source(usize),
    /// One of the capture's other devices.
    Other(usize),
}

/// The format of the bytes of a [`Dump`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Memory contents from `address` on.
    #[default]
    Raw,
    /// An ELF file. `address` is added to the addresses in the file.
    Elf,
}

/// The first bytes of an ELF file.
pub(crate) const ELF: &[u8] = b"\x7fELF";

impl Form {
    /// The format of `bytes`, by their first bytes.
    pub(crate) fn detect(bytes: &Bytes) -> Form {
        if bytes.head(ELF.len()).starts_with(ELF) { Form::Elf } else { Form::Raw }
    }
}

/// The contents of one region of memory.
#[derive(Clone, Debug, Default)]
pub struct Dump {
    /// The name in the capture: that of a section or a file.
    pub name: String,
    /// The file as written in the capture.
    pub file: String,
    /// The path of the file, or the expected path of a missing one.
    pub path: PathBuf,
    /// The device that sees the memory.
    pub owner: Owner,
    /// The memory was added by the user ([`Capture::add_image`](crate::Capture::add_image)), and
    /// has priority over that of the capture.
    pub given: bool,
    /// The address of the first byte.
    pub address: u64,
    /// The memory spaces that contain the memory, as written: `S`, `EL2`. An empty list stands for
    /// any.
    pub spaces: Vec<String>,
    /// When the memory has these contents.
    pub when: When,
    /// Offset in the file of the first byte.
    pub offset: u64,
    /// The length in bytes that the capture records.
    pub length: Option<u64>,
    /// The format of `bytes`.
    pub form: Form,
    /// The part of the file that `offset` and `length` select. `None` where the file could not be
    /// read.
    pub bytes: Option<Bytes>,
}

impl Dump {
    /// Memory that every core sees.
    pub fn new(name: impl Into<String>, address: u64, bytes: impl Into<Bytes>) -> Self {
        Dump { name: name.into(), address, bytes: Some(bytes.into()), ..Dump::default() }
    }

    /// The core that sees the memory; `None` where the owner is not a core.
    pub fn core(&self) -> Option<usize> {
        match self.owner {
            Owner::Core(core) => Some(core),
            _ => None,
        }
    }

    /// The memory spaces that contain the memory. An unknown word stands for any space.
    pub fn space(&self) -> SpaceMask {
        let masks = self.spaces.iter().map(|word| word.parse().unwrap_or(SpaceMask::ANY));
        masks.reduce(|all, mask| all | mask).unwrap_or(SpaceMask::ANY)
    }

    /// The last address of the memory; `None` for an empty dump and for an ELF file.
    pub fn last(&self) -> Option<u64> {
        let bytes = self.bytes.as_ref().filter(|_| self.form == Form::Raw)?;
        bytes.size().checked_sub(1).map(|n| self.address.saturating_add(n))
    }
}

/// Dumps are equal that define the same bytes at the same addresses for the same device. Names are
/// not compared.
impl PartialEq for Dump {
    fn eq(&self, other: &Self) -> bool {
        self.owner == other.owner
            && self.address == other.address
            && self.spaces == other.spaces
            && self.when == other.when
            && self.form == other.form
            && self.bytes == other.bytes
    }
}
