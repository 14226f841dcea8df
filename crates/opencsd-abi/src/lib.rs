//! The C interface of OpenCSD, `libopencsd_c_api.so.1`, on Tracewright's decoders: a program that
//! is linked with OpenCSD's library uses this one without being built again.
//!
//! | file | contents |
//! |---|---|
//! | `exports/` | the functions that the library exports: they check arguments and call the rest |
//! | `registry.rs` | handles |
//! | `tree.rs` | a decode tree: deformatter, decoders, operations of the data path |
//! | `decoder.rs` | one source: its bytes, its stream, elements that wait for the client |
//! | `memory.rs` | program memory: files, buffers, callbacks |
//! | `element.rs`, `text.rs` | the structure of an element, and its text |
//! | `packets/` | receivers of packets, and the structures that they receive |
//! | `custom.rs` | decoders that a client registers |
//! | `log.rs` | messages |
//!
//! A panic does not reach the client: each exported function catches it and returns an error.
#![allow(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod codes;
mod config;
mod custom;
mod decoder;
mod element;
pub mod exports;
mod log;
mod memory;
mod outlet;
mod packets;
mod registry;
mod stats;
mod stream;
mod text;
mod tree;

/// The version that is reported: that of OpenCSD's interface.
const VERSION: u32 = 0x1_0800;
