//! What is in a capture, and what is missing to decode it.

mod gather;
mod json;
mod text;

use std::path::PathBuf;

use crate::explain::Remark;
use crate::link::Ids;

/// What is in a capture.
#[derive(Clone, Debug)]
pub struct Info {
    /// Where it was read from.
    pub path: PathBuf,
    /// What its maker says it is.
    pub description: Option<String>,
    /// Its buffers.
    pub buffers: Vec<BufferInfo>,
    /// Its sources.
    pub sources: Vec<SourceInfo>,
    /// Its program memory.
    pub images: Vec<ImageInfo>,
    /// What is odd about it.
    pub notes: Vec<String>,
    /// What is missing to decode it.
    pub missing: Vec<Remark>,
}

/// A buffer of trace.
#[derive(Clone, Debug)]
pub struct BufferInfo {
    /// Its name.
    pub name: String,
    /// How it is laid out, as the capture says it.
    pub format: String,
    /// How its bytes are framed, as a decoder takes them.
    pub framing: &'static str,
    /// Its files and their sizes in bytes.
    pub files: Vec<(String, u64)>,
    /// Its size in bytes.
    pub bytes: u64,
    /// What its frames hold; `None` where it is not framed.
    pub ids: Option<Ids>,
}

/// A trace source.
#[derive(Clone, Debug)]
pub struct SourceInfo {
    /// Its name.
    pub name: String,
    /// Its type as the capture spells it.
    pub device_type: String,
    /// What the protocol is, where the type is a known one.
    pub protocol: Option<&'static str>,
    /// Its trace id, where the registers say it; its number, where messages have one.
    pub id: Option<u16>,
    /// The core that it watches: name and type.
    pub core: Option<(String, String)>,
    /// The buffers that may hold its bytes.
    pub buffers: Vec<String>,
    /// What it was programmed to do, in words.
    pub traces: Vec<&'static str>,
    /// Its registers, in the order of the protocol's table, then those that are not in it.
    pub registers: Vec<RegisterInfo>,
    /// Its parameters that are text: name and text.
    pub texts: Vec<(String, String)>,
}

/// A register of a source.
#[derive(Clone, Debug)]
pub struct RegisterInfo {
    /// Its name.
    pub name: String,
    /// What it is; empty where the protocol does not know it.
    pub about: &'static str,
    /// Its value; `None` where the capture does not have it.
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
    /// What it is.
    pub about: &'static str,
    /// Its value.
    pub value: u64,
    /// The value in words, where there are some.
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
    /// Who sees it; empty for everyone.
    pub spaces: Vec<String>,
    /// The processor of an ELF file.
    pub machine: Option<String>,
    /// How many symbols it has.
    pub symbols: usize,
    /// Why there is no memory, or not all of it.
    pub problem: Option<String>,
}
