//! The devices of a capture: trace sources, cores, and others.

use std::path::PathBuf;

use tracewright_base::CoreType;

use crate::origin::Origin;

/// One register as the capture recorded it. Two are equal if their widths are, however these are
/// known.
#[derive(Clone, Debug)]
pub struct Register {
    /// The name as written.
    pub name: String,
    /// The number of the register. For a CoreSight component, it is the offset in bytes divided by
    /// 4.
    pub id: Option<u32>,
    /// The width in bits, where the capture records it; else 32.
    pub size: Option<u32>,
    /// The value.
    pub value: u128,
}

impl Register {
    /// The width in bits: what is recorded, else 32, or what the value needs.
    pub(crate) fn width(&self) -> u32 {
        let needed = match self.value {
            0..=0xffff_ffff => 32,
            0x1_0000_0000..=0xffff_ffff_ffff_ffff => 64,
            _ => 128,
        };
        self.size.unwrap_or(needed)
    }
}

impl PartialEq for Register {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.id, self.width(), self.value)
            == (&other.name, other.id, other.width(), other.value)
    }
}

impl Eq for Register {}

/// The registers of a device, in the capture's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registers(pub Vec<Register>);

impl Registers {
    /// The value of register `name`, compared without case. `None` where it is missing or wider
    /// than 64 bits.
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

/// A link from a source to a buffer with its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferRef {
    /// Index of the buffer in the capture.
    pub buffer: usize,
    /// The stream of the source, as an offset to its trace ID: for an ETMv4, 0 is the instruction
    /// stream and 1 the data stream, which is decoded as that of a source of type `ETM4D`. `None`
    /// stands for all streams without a link of their own.
    pub stream: Option<u8>,
}

/// A parameter that is text, and may occur repeatedly.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// The name.
    pub name: String,
    /// The text. For a table, `KEY=VALUE` pairs separated by blanks.
    pub text: String,
    /// The origin of the parameter.
    pub origin: Origin,
}

/// Origins are not compared.
impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.text) == (&other.name, &other.text)
    }
}

impl Eq for Text {}

/// One trace source.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The name, unique in the capture.
    pub name: String,
    /// The protocol and version as written: `ETM4.2`, `ETE`, `PFT1.1`.
    pub device_type: String,
    /// The location in the debug system, as written: comma-separated `key:value` words.
    pub location: Option<String>,
    /// The registers of the trace unit during the capture.
    pub registers: Registers,
    /// Parameters given as a word that the protocol maps to a number: name and word.
    pub words: Vec<(String, String)>,
    /// Parameters that are text.
    pub texts: Vec<Text>,
    /// Index of the traced core in the capture.
    pub core: Option<usize>,
    /// The buffers that may contain data of the source.
    pub buffers: Vec<BufferRef>,
    /// The file that describes the device.
    pub path: PathBuf,
    /// The origins of parameters that are not in `path`, by name.
    pub origins: Vec<(String, Origin)>,
}

impl Source {
    /// The value of register `name`, compared without case.
    pub fn register(&self, name: &str) -> Option<u64> {
        self.registers.get(name)
    }

    /// The name of the protocol: the type up to the first full stop, `ETM4` of `ETM4.2`.
    pub fn protocol(&self) -> &str {
        self.device_type.split('.').next().unwrap_or_default()
    }

    /// The streams of the source that `buffer` contains, in ascending order. A link without a
    /// stream is one of stream 0, unless another link has that: then it is one of stream 1, if that
    /// has no link either. (Arm *Reference CoreSight Trace Decoder*, 4.2.3.4)
    pub fn streams_in(&self, buffer: usize) -> Vec<u8> {
        let is_linked = |stream: u8| self.buffers.iter().any(|link| link.stream == Some(stream));
        let rest = || [0, 1].into_iter().find(|stream| !is_linked(*stream));
        let links = self.buffers.iter().filter(|link| link.buffer == buffer);
        let mut streams: Vec<_> = links.filter_map(|link| link.stream.or_else(rest)).collect();
        streams.sort_unstable();
        streams.dedup();
        streams
    }

    /// The name of a stream of the source: its own for stream 0, else with the suffix of a link.
    pub fn stream_name(&self, stream: u8) -> String {
        match stream {
            0 => self.name.clone(),
            stream => format!("{}(stream:{stream})", self.name),
        }
    }

    /// Whether the source traces the execution of a core, by its type; an ITM or STM does not.
    pub fn watches_core(&self) -> bool {
        let kind = self.device_type.to_ascii_uppercase();
        !["ITM", "STM", "HTM", "ELA", "SWIT"].iter().any(|p| kind.starts_with(p))
    }
}

/// One core.
#[derive(Clone, Debug, Default)]
pub struct Core {
    /// The name, unique in the capture.
    pub name: String,
    /// The type as written: `Cortex-A57`, `ARMv8-A`.
    pub device_type: String,
    /// The location in the debug system, as written.
    pub location: Option<String>,
    /// The registers when the capture was made. Decoding needs none of them.
    pub registers: Registers,
    /// The file that describes the device.
    pub path: PathBuf,
}

impl Core {
    /// The profile and architecture version, where the type is known.
    pub fn core_type(&self) -> Option<CoreType> {
        crate::core_type(&self.device_type)
    }
}

/// A device that is neither a core nor a trace source, such as a view of a bus.
#[derive(Clone, Debug, Default)]
pub struct Other {
    /// The name, unique in the capture.
    pub name: String,
    /// The class as written: `memory_space` and others.
    pub class: String,
    /// The type as written.
    pub device_type: String,
    /// The location in the debug system, as written.
    pub location: Option<String>,
    /// The registers.
    pub registers: Registers,
    /// The file that describes the device.
    pub path: PathBuf,
}

// Paths of the describing files are not compared.

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
