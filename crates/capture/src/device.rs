//! The devices of a capture: trace sources, cores, and others.

use std::path::PathBuf;

use tracewright_base::CoreType;

use crate::Origin;

/// One register as the capture recorded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its name as written.
    pub name: String,
    /// Its number. For a CoreSight component, its offset in bytes is four times that.
    pub id: Option<u32>,
    /// Its width in bits, where the capture says it; else 32.
    pub size: Option<u32>,
    /// Its value.
    pub value: u128,
}

/// The registers of a device, in the capture's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registers(pub Vec<Register>);

impl Registers {
    /// The value of the register called `name`, in any case. `None` too for one wider than 64 bits.
    pub fn get(&self, name: &str) -> Option<u64> {
        let register = self.0.iter().find(|r| r.name.eq_ignore_ascii_case(name))?;
        u64::try_from(register.value).ok()
    }
}

impl<'a> FromIterator<(&'a str, u64)> for Registers {
    fn from_iter<I: IntoIterator<Item = (&'a str, u64)>>(registers: I) -> Self {
        let register = |(name, value): (&str, u64)| Register {
            name: name.to_owned(),
            id: None,
            size: None,
            value: value.into(),
        };
        Registers(registers.into_iter().map(register).collect())
    }
}

/// Where the data of a source are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferRef {
    /// Which of the capture's buffers.
    pub buffer: usize,
    /// Which of the source's streams, as an offset to its trace id: for an ETMv4, 0 is instructions
    /// and 1 is data. `None` is all that are not named elsewhere.
    pub stream: Option<u8>,
}

/// A parameter that is no number, and of which there may be several.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// Its name.
    pub name: String,
    /// What it is. Of a table, `KEY=VALUE` with blanks between.
    pub text: String,
    /// Where it stands.
    pub origin: Origin,
}

/// Equal where they say the same; where they stand does not count.
impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.text) == (&other.name, &other.text)
    }
}

impl Eq for Text {}

/// One trace source.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Its name, unique in the capture.
    pub name: String,
    /// Its protocol and version as written: `ETM4.2`, `ETE`, `PFT1.1`.
    pub device_type: String,
    /// How the tool that made the capture found it: `key:value` words, comma separated.
    pub location: Option<String>,
    /// What it was programmed with.
    pub registers: Registers,
    /// Parameters in words that its protocol knows the numbers of: name and word.
    pub words: Vec<(String, String)>,
    /// Parameters that stay text.
    pub texts: Vec<Text>,
    /// The core that it watches: which of the capture's cores.
    pub core: Option<usize>,
    /// The buffers that may hold its data.
    pub buffers: Vec<BufferRef>,
    /// The file that describes it.
    pub path: PathBuf,
    /// Where those of its parameters stand that are elsewhere, by name.
    pub offsets: Vec<(String, Origin)>,
}

impl Source {
    /// The value of the register called `name`, in any case.
    pub fn register(&self, name: &str) -> Option<u64> {
        self.registers.get(name)
    }

    /// The type up to the first full stop: `ETM4` of `ETM4.2`. Protocols are named so.
    pub fn protocol(&self) -> &str {
        self.device_type.split('.').next().unwrap_or_default()
    }

    /// What it traces comes from a core's execution, as far as its type says: not an ITM or STM.
    pub fn watches_core(&self) -> bool {
        let kind = self.device_type.to_ascii_uppercase();
        !["ITM", "STM", "HTM", "ELA", "SWIT"].iter().any(|p| kind.starts_with(p))
    }
}

/// One core.
#[derive(Clone, Debug, Default)]
pub struct Core {
    /// Its name, unique in the capture.
    pub name: String,
    /// What it is, as written: `Cortex-A57`, `ARMv8-A`.
    pub device_type: String,
    /// How the tool that made the capture found it.
    pub location: Option<String>,
    /// Its registers when the capture was made. Decoding needs none of them.
    pub registers: Registers,
    /// The file that describes it.
    pub path: PathBuf,
}

impl Core {
    /// Its profile and architecture version, where its type is a known one.
    pub fn core_type(&self) -> Option<CoreType> {
        crate::core_type(&self.device_type)
    }
}

/// A device that is neither core nor trace source: a view of a bus, or for information only.
#[derive(Clone, Debug, Default)]
pub struct Other {
    /// Its name, unique in the capture.
    pub name: String,
    /// Its class as written: `memory_space` and others.
    pub class: String,
    /// What it is, as written.
    pub device_type: String,
    /// How the tool that made the capture found it.
    pub location: Option<String>,
    /// Its registers.
    pub registers: Registers,
    /// The file that describes it.
    pub path: PathBuf,
}

// Equal where they say the same; the file that says it does not count.

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.device_type, &self.location, &self.registers)
            == (&other.name, &other.device_type, &other.location, &other.registers)
            && (self.core, &self.buffers, &self.words, &self.texts)
                == (other.core, &other.buffers, &other.words, &other.texts)
    }
}

impl PartialEq for Core {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.device_type, &self.location, &self.registers)
            == (&other.name, &other.device_type, &other.location, &other.registers)
    }
}

impl PartialEq for Other {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.class, &self.device_type, &self.location, &self.registers)
            == (&other.name, &other.class, &other.device_type, &other.location, &other.registers)
    }
}
