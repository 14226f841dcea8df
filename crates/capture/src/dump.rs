//! Memory in a capture.

use std::path::PathBuf;

use tracewright_image::SpaceMask;

use crate::Bytes;

/// Which device sees a [`Dump`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Owner {
    /// All of them.
    #[default]
    Any,
    /// One of the capture's cores.
    Core(usize),
    /// One of the capture's trace sources.
    Source(usize),
    /// One of the capture's other devices.
    Other(usize),
}

/// What the bytes of a [`Dump`] are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Memory from `address` on.
    #[default]
    Raw,
    /// An ELF file. `address` is added to the addresses that it names.
    Elf,
}

/// What memory held, in one piece.
#[derive(Clone, Debug, Default)]
pub struct Dump {
    /// What the capture calls it: a section's name, or a file's.
    pub name: String,
    /// The file as the capture spells it.
    pub file: String,
    /// Where it was found, or would be.
    pub path: PathBuf,
    /// Which device sees it.
    pub owner: Owner,
    /// Who reads the capture gave it beside what is there: it counts more than the capture's own.
    pub given: bool,
    /// The address of the first byte.
    pub address: u64,
    /// The memory spaces that it is in, as written: `S`, `EL2`. None is any.
    pub spaces: Vec<String>,
    /// Offset in the file of the first byte.
    pub offset: u64,
    /// How many bytes the capture says there are.
    pub length: Option<u64>,
    /// What `bytes` are.
    pub form: Form,
    /// The memory: that part of the file which `offset` and `length` name. `None` where the file could
    /// not be read.
    pub bytes: Option<Bytes>,
}

impl Dump {
    /// Memory that every core sees.
    pub fn new(name: impl Into<String>, address: u64, bytes: impl Into<Bytes>) -> Self {
        Dump { name: name.into(), address, bytes: Some(bytes.into()), ..Dump::default() }
    }

    /// The core that sees it, where it is a core's.
    pub fn core(&self) -> Option<usize> {
        match self.owner {
            Owner::Core(core) => Some(core),
            _ => None,
        }
    }

    /// The memory spaces that it is in. A word that is not known is any of them.
    pub fn space(&self) -> SpaceMask {
        let masks = self.spaces.iter().map(|word| word.parse().unwrap_or(SpaceMask::ANY));
        masks.reduce(|all, mask| all | mask).unwrap_or(SpaceMask::ANY)
    }

    /// The last address that it holds; `None` for one without bytes, and for an ELF file.
    pub fn last(&self) -> Option<u64> {
        let bytes = self.bytes.as_ref().filter(|_| self.form == Form::Raw)?;
        (bytes.len() as u64).checked_sub(1).map(|n| self.address.saturating_add(n))
    }
}

/// Equal where they put the same bytes at the same place for the same device. Names do not count.
impl PartialEq for Dump {
    fn eq(&self, other: &Self) -> bool {
        self.owner == other.owner
            && self.address == other.address
            && self.spaces == other.spaces
            && self.form == other.form
            && self.bytes == other.bytes
    }
}
