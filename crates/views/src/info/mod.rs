//! The content of a capture, and what is missing to decode it.

mod devices;
mod gather;
mod json;
mod linux;
pub mod overview;
mod text;

pub use devices::DeviceInfo;
pub use linux::LinuxInfo;
pub use overview::Overview;

use std::path::PathBuf;

use crate::explain::Remark;
use crate::link::Ids;

/// The content of a capture.
#[derive(Clone, Debug)]
pub struct Info {
    /// The path that the capture was read from.
    pub path: PathBuf,
    /// The description in the capture.
    pub description: Option<String>,
    /// Its buffers.
    pub buffers: Vec<BufferInfo>,
    /// Its sources.
    pub sources: Vec<SourceInfo>,
    /// Its cores and other devices.
    pub devices: Vec<DeviceInfo>,
    /// Its program memory.
    pub images: Vec<ImageInfo>,
    /// Notes on unusual content.
    pub notes: Vec<String>,
    /// What is missing to decode the capture.
    pub missing: Vec<Remark>,
    /// The system that was traced. (perf.data)
    pub linux: Option<LinuxInfo>,
    /// What a trial of the first bytes shows.
    pub overview: Overview,
}

/// A buffer of trace.
#[derive(Clone, Debug)]
pub struct BufferInfo {
    /// Its name.
    pub name: String,
    /// The format, as the capture spells it.
    pub format: String,
    /// The framing that decoding uses: its word.
    pub framing: &'static str,
    /// Its files and their sizes in bytes.
    pub files: Vec<(String, u64)>,
    /// Its size in bytes.
    pub bytes: u64,
    /// The hardware that wrote it, where the capture has its registers.
    pub sink: Option<SinkInfo>,
    /// The content of its frames or messages; `None` for raw trace data.
    pub ids: Option<Ids>,
    /// The data streams in it, by trace ID: the name of each.
    pub streams: Vec<(u16, String)>,
}

/// The hardware that wrote a buffer.
#[derive(Clone, Debug)]
pub struct SinkInfo {
    /// Its kind: `TRBE`, `ETR`, `ETF`, `ETB` or `MTB`.
    pub kind: String,
    /// The device that has its registers.
    pub device: Option<String>,
    /// The size of the stored bytes.
    pub stored: u64,
    /// Its state, in sentences.
    pub state: Vec<String>,
    /// What was lost, in sentences.
    pub lost: Vec<String>,
    /// Its registers.
    pub registers: Vec<RegisterInfo>,
}

/// A trace source.
#[derive(Clone, Debug)]
pub struct SourceInfo {
    /// Its name.
    pub name: String,
    /// Its type as the capture spells it.
    pub device_type: String,
    /// Its location in the debug system.
    pub location: Option<String>,
    /// The title of the protocol; `None` for an unknown type.
    pub protocol: Option<&'static str>,
    /// Its trace ID, where the registers have it, or its number in messages.
    pub id: Option<u16>,
    /// The traced core: name and type.
    pub core: Option<(String, String)>,
    /// The buffers that may contain its bytes.
    pub buffers: Vec<String>,
    /// The descriptions of what its registers enable.
    pub traces: Vec<&'static str>,
    /// Its registers, in the order of the protocol's table, then those that are not in it.
    pub registers: Vec<RegisterInfo>,
    /// Its text parameters: name and text.
    pub texts: Vec<(String, String)>,
    /// The parameters in force that the capture does not give: name and value. (E-Trace)
    pub defaults: Vec<(String, String)>,
}

/// A register of a source.
#[derive(Clone, Debug)]
pub struct RegisterInfo {
    /// Its name.
    pub name: String,
    /// Its description; empty where the protocol has no such register.
    pub about: &'static str,
    /// Its value; `None` where it is missing in the capture.
    pub value: Option<u64>,
    /// Decoding needs it.
    pub required: bool,
    /// Its fields, from the top bit down.
    pub fields: Vec<FieldInfo>,
}

/// A field of a register.
#[derive(Clone, Debug)]
pub struct FieldInfo {
    /// Its name.
    pub name: &'static str,
    /// Its top bit and its bottom bit.
    pub bits: (u8, u8),
    /// Its description.
    pub about: &'static str,
    /// Its value.
    pub value: u64,
    /// The name of the value, where it has one.
    pub word: Option<&'static str>,
}

/// A piece of program memory.
#[derive(Clone, Debug)]
pub struct ImageInfo {
    /// Its name.
    pub name: String,
    /// Its file.
    pub file: String,
    /// First and last address of each part.
    pub parts: Vec<(u64, u64)>,
    /// The address spaces that contain it; empty for all.
    pub spaces: Vec<String>,
    /// The machine of an ELF file.
    pub machine: Option<String>,
    /// How many symbols it has.
    pub symbols: usize,
    /// Why the memory is missing or incomplete.
    pub problem: Option<String>,
}
