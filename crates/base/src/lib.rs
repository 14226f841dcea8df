//! The words that every Tracewright crate shares.
//!
//! A trace is bytes. Link bytes are *split* into sources, a source's bytes *parse* into packets
//! ([`Wire`]), packets *decode* into [`Element`]s ([`Decode`]) with the help of program memory
//! ([`Code`]), and elements arrive at a [`Sink`]. The other way, what a processor did ([`Step`]) is *encoded* into
//! packets ([`Encode`]) and packets are *emitted* as bytes. This crate defines those seams and nothing that
//! does work.
//!
//! Three rules shape the types:
//! * a decoder is a plain value: cloning it is a checkpoint, comparing two proves that they will
//!   say the same from here on;
//! * everything that the bytes can say is data, nonsense too ([`Fault`], [`Inconsistency`]);
//! * what is not known is `None`, never zero.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod access;
#[doc(hidden)]
pub mod cached_block;
pub mod code;
pub mod context;
pub mod core_type;
mod display;
pub mod dwt_event;
pub mod element;
pub mod fault;
pub mod feed;
pub mod instruction;
pub mod isa;
pub mod offset_map;
pub mod range;
pub mod register;
pub mod sink;
pub mod software;
pub mod step;
pub mod wire;

pub use access::{Access, Direction};
#[doc(hidden)]
pub use cached_block::{
    BLOCK_CLASSES, BlockCache, BlockClass, BlockId, CachedBlock, CachedBlocks, CodeSpace,
    Successors,
};
pub use code::{Block, Code, End, Miss, NoMemory, Pc, Uncached, Waypoints};
pub use context::{Context, El, Security, Space};
pub use core_type::{CoreType, Profile};
pub use dwt_event::{Dwt, DwtEvent, ExceptionStep, LocalTimestamp, TimeDelay};
pub use element::{Element, Exception, Start, Transaction};
pub use fault::{Fault, Gap, Inconsistency};
pub use feed::Feed;
pub use instruction::{Instruction, Kind, Role};
pub use isa::Isa;
pub use offset_map::{Forward, OffsetMap, Piece};
pub use range::{Counted, Last, Range};
pub use register::{Field, MissingRegister, Register};
pub use sink::Sink;
pub use software::{Channel, Software};
pub use step::{Cause, Retired, Step, StepSink, Taken};
pub use wire::{Decode, Encode, Parse, Spanned, SyncSearch, Wire};
