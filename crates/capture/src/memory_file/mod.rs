//! Files that have memory with its addresses, or as text: what debuggers, boot loaders and dump
//! tools print, records, core dumps. A trace buffer may be a part of it.
//!
//! | file | contents |
//! |---|---|
//! | `rows.rs` | rows of an address and words |
//! | `lists.rs` | words without addresses, arrays, base64 |
//! | `records.rs` | Tektronix hex, Verilog, TI-TXT |
//! | `core.rs` | core dumps in ELF, of Zephyr and of ESP-IDF |
//! | `selection.rs` | the part that is the trace buffer, and the order of its bytes |
//!
//! Intel HEX, S-records and UF2 are in `image_file.rs`.

mod core;
mod lists;
mod records;
mod rows;
mod selection;
mod text;

use crate::Bytes;
use crate::dump::ELF;
use crate::image_file;
use text::text;

pub(crate) use selection::is_core;
pub use selection::{BufferAt, Selection, Swap};

/// The greatest size in bytes of the text, and of the memory in it.
pub(crate) const LARGEST: usize = 1 << 26;

/// The fewest bytes in a text that are taken for memory.
const LEAST: usize = 16;

/// A part of memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Piece {
    /// The address of its first byte, where it is known.
    pub(crate) address: Option<u64>,
    pub(crate) bytes: Bytes,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MemoryFile {
    /// What the file is.
    pub(crate) form: String,
    /// Its memory.
    pub(crate) pieces: Vec<Piece>,
    /// The addresses are offsets in another file.
    pub(crate) offsets: bool,
}

impl MemoryFile {
    fn new(form: &str, pieces: impl IntoIterator<Item = (u64, Bytes)>) -> MemoryFile {
        let piece = |(address, bytes)| Piece { address: Some(address), bytes };
        MemoryFile {
            form: form.to_owned(),
            pieces: pieces.into_iter().map(piece).collect(),
            offsets: false,
        }
    }
}

/// Reads the memory in `file`. `None`: it is a file of another kind, whose bytes are trace data or
/// memory as they are. ELF files that are no core dumps are read where `any_elf`.
///
/// # Errors
/// What the file is, and what is wrong with it.
pub(crate) fn read(file: &Bytes, any_elf: bool) -> Option<Result<MemoryFile, String>> {
    let head = file.head(1 << 12);
    let damaged = |form: &str, why: String| format!("it is {form}, and damaged: {why}");
    if core::is_elf_core(&head) || any_elf && head.starts_with(ELF) {
        let form = "an ELF core file";
        let pieces = core::elf(file).map_err(|why| damaged(form, why));
        return Some(pieces.map(|pieces| MemoryFile::new(form, pieces)));
    }
    if let Some((form, pieces)) = core::binary(file) {
        let pieces = pieces.map_err(|why| damaged(form, why));
        return Some(pieces.map(|pieces| MemoryFile::new(form, pieces)));
    }
    if let Some(format) = image_file::recognise(&head) {
        let pieces = image_file::read(file)?;
        return Some(pieces.map(|pieces| MemoryFile::new(format.name(), pieces)));
    }
    text(&head)?;
    if file.len() > LARGEST {
        let size = file.len();
        return Some(Err(format!("it is text of {size} bytes; at most {LARGEST} are read")));
    }
    let text = text(file)?;
    printed(&text)
}

/// The memory in a text.
fn printed(text: &[u8]) -> Option<Result<MemoryFile, String>> {
    let owned = |pieces: Vec<(u64, Vec<u8>)>| {
        pieces.into_iter().map(|(address, bytes)| (address, Bytes::from(bytes)))
    };
    if let Some(dump) = core::logged(text) {
        let (form, pieces) = core::binary(&dump)?;
        let form = format!("{form} in a log");
        let pieces = pieces.map_err(|why| format!("it is {form}, and damaged: {why}"));
        return Some(pieces.map(|pieces| MemoryFile::new(&form, pieces)));
    }
    if let Some(records) = records::tektronix(text) {
        let file = records.map(|records| MemoryFile::new(records.form, owned(records.pieces)));
        return Some(
            file.map_err(|why| format!("it is extended Tektronix hex, and damaged: {why}")),
        );
    }
    if let Some(records) = records::verilog(text) {
        return Some(Ok(MemoryFile::new(records.form, owned(records.pieces))));
    }
    if let Some(rows) = rows::read(text) {
        let file = MemoryFile::new(rows.form, owned(rows.pieces));
        return Some(Ok(MemoryFile { offsets: rows.offsets, ..file }));
    }
    let list =
        lists::digits(text).or_else(|| lists::array(text)).or_else(|| lists::base64(text))?;
    let piece = Piece { address: None, bytes: Bytes::from(list.bytes) };
    Some(Ok(MemoryFile { form: list.form.to_owned(), pieces: vec![piece], offsets: false }))
}
