//! Program memory: what it held, and in which address space.
//!
//! An [`Image`] is made of [`Region`]s: raw dumps, the segments of ELF files, and what was laid over
//! them later. It opens no files: bytes come in as [`Bytes`], which may be a file mapped into memory.
//!
//! A [`Cache`] walks the code of an image once and then hands it out block by block, which is all
//! that a decoder does with program memory.
#![forbid(unsafe_code)]

mod bytes;
mod cache;
mod elf;
mod flat;
mod image;
mod region;
mod space;
mod symbols;
mod table;
mod walk;

pub use bytes::{Bytes, Owner};
pub use cache::{Cache, CacheOptions};
pub use elf::{Elf, ElfError, Load, Segment};
pub use image::{Conflict, Image, View};
pub use region::{Dump, Region};
pub use space::{SpaceMask, UnknownSpace};
pub use symbols::{Symbol, Symbols};
pub use walk::LONGEST_BLOCK;
