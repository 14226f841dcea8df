//! Types and traits that all Tracewright crates share.
//!
//! | stage | from | to | trait |
//! |---|---|---|---|
//! | split | bytes of a trace link | bytes of each source | |
//! | parse | bytes of a source | packets | [`Wire`] |
//! | decode | packets, with program memory ([`Code`]) | [`Element`]s, in a [`Sink`] | [`Decode`] |
//! | encode | [`Step`]s of a processor | packets | [`Encode`] |
//! | emit | packets | bytes of a source | [`Wire`] |
//!
//! This crate defines the interfaces between the stages. The stages are in other crates.
//!
//! Three rules hold for the types:
//! * A decoder is a plain value. A clone of a decoder is a checkpoint, and two equal decoders make
//!   equal elements from equal bytes.
//! * Damaged and contradictory bytes are data in the stream ([`Fault`], [`Inconsistency`]), not
//!   errors.
//! * An unknown value is `None`, never zero.
//!
//! ```
//! use tracewright_base::{Channel, Element, Software};
//!
//! let channel = Channel::Port { page: Some(0), port: 3 };
//! let element = Element::SoftwareWrite(Software::new(channel, 8, 0x68));
//! assert_eq!(element.to_string(), "software-write port 3 <- 0x68 \"h\"");
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

extern crate alloc;

pub mod access;
pub mod batch;
#[doc(hidden)]
pub mod cached_block;
pub mod code;
pub mod context;
pub mod core_type;
pub mod custom;
mod display;
pub mod dwt_event;
pub mod element;
pub mod fault;
mod fault_words;
pub mod feed;
pub mod instruction;
pub mod interval;
mod invalid;
pub mod isa;
mod leb128;
mod mix;
mod numbering;
pub mod offset_map;
pub mod path;
pub mod range;
pub mod register;
pub mod remedy;
pub mod reserve;
pub mod sink;
pub mod software;
pub mod step;
mod unshown;
pub mod wire;

pub use access::{Access, Direction};
pub use batch::{Batch, BatchBuffer, BlockStep, Part, Parts, Turns};
#[doc(hidden)]
pub use cached_block::{
    BLOCK_CLASSES, BlockCache, BlockClass, CachedBlock, CodeSpace, Links, Successors,
};
#[doc(inline)]
pub use cached_block::{BlockId, CachedBlocks};
pub use code::{Block, Code, End, Miss, NoMemory, Pc, Uncached, Waypoints};
pub use context::{Context, El, Security, Space};
pub use core_type::{CoreType, Profile};
pub use custom::Custom;
pub use dwt_event::{Dwt, DwtEvent, ExceptionStep, LocalTimestamp, TimeDelay};
pub use element::{Element, Exception, Start, Transaction};
pub use fault::{Fault, Gap, Inconsistency};
pub use feed::Feed;
pub use instruction::{Instruction, Kind, Role};
pub use interval::Interval;
pub use invalid::Invalid;
pub use isa::Isa;
pub use leb128::{put_uleb128, take_uleb128};
pub use mix::mix;
#[doc(hidden)]
pub use numbering::Numbering;
pub use offset_map::{Forward, OffsetMap, Piece};
pub use path::{Path, PathSlot, Paths};
pub use range::{Counted, Last, Range};
pub use register::{Field, MissingRegister, Register, RegisterRow};
pub use remedy::Remedy;
pub use reserve::{MAX_EXPANSION, Reserve};
pub use sink::Sink;
pub use software::{Channel, Software};
pub use step::{Cause, Retired, Step, StepSink, Taken};
pub use unshown::{is_unshown, json_string};
pub use wire::{Decode, Encode, Parse, Spanned, SyncSearch, Wire};
