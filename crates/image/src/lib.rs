//! Program memory: its contents, by address space.
//!
//! An [`Image`] consists of [`Region`]s: raw dumps, the segments of ELF files, and later changes of
//! memory. This crate opens no files: bytes are passed as [`Bytes`], which may be those of a file
//! that is read when they are needed.
//!
//! A [`Cache`] decodes each block of an image once. Decoders use program memory through it only.
//!
//! ```
//! use std::sync::Arc;
//! use tracewright_base::{Code, Isa, Kind, Pc, Space, Waypoints};
//! use tracewright_image::{Cache, CacheOptions, Image, Region};
//!
//! // NOP; RET
//! let code = vec![0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6];
//! let image = Image::new([Region::new("dump.bin", 0x8000, code)]);
//! let mut cache = Cache::new(Arc::new(image), Waypoints::default(), CacheOptions::default());
//!
//! let pc = Pc { address: 0x8000, isa: Isa::A64, space: Space::default() };
//! let block = cache.block(pc).unwrap();
//! assert_eq!((block.instructions, block.last.kind), (2, Kind::Indirect));
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod absent;
mod address_spaces;
pub mod block_map;
mod bytes;
mod cache;
mod classify;
mod conditions;
mod debug_info;
pub mod debug_limits;
#[doc(hidden)]
pub mod debug_sections;
mod elf;
mod fetched;
mod flat;
mod host;
mod image;
mod instruction_cache;
mod live;
mod memory_id;
mod memory_selectors;
mod missing_files;
mod object_file;
mod opcode_check;
mod pieces;
mod program_id;
mod region;
mod space;
mod symbols;
mod table;
mod target_cache;
mod time_conversion;
mod walk;

pub use address_spaces::{
    AddressSpaces, Change, Clock, ContextKey, MAX_IMAGE_REGIONS, ModuleFile, Thread, Viewpoint,
};
pub use bytes::{Bytes, BytesReader, OnDemand, Owner};
pub use cache::{Cache, CacheOptions};
pub use classify::Classify;
pub use conditions::{Conditions, MAX_CONDITIONAL, Overlay, Selection, When};
pub use debug_info::{DebugInfo, Frame, FunctionCode, Located};
pub use elf::{Elf, ElfError, Load, Segment, machine_name, mini_debug_info};
pub use fetched::BlockMaker;
pub use host::Host;
pub use image::{Conflict, Image, View};
pub use live::{LiveMemory, ReadAnswer, ReadMemory, ReadRequest};
pub use memory_id::MemoryId;
pub use memory_selectors::MemorySelectors;
pub use object_file::ObjectFile;
pub use opcode_check::OpcodeCheck;
pub use program_id::{ProgramDifference, ProgramId};
pub use region::{Dump, Module, Region};
pub use space::{SpaceMask, UnknownSpace};
pub use symbols::{Symbol, Symbols};
pub use time_conversion::TimeConversion;
pub use tracewright_isa::rv::Extensions;
pub use walk::{MAX_BLOCK_INSTRUCTIONS, ReadCode};
