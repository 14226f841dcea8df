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
//! | `client_element.rs` | elements that a client has |
//! | `packets/` | receivers of packets |
//! | `custom.rs` | decoders that a client registers |
//! | `log.rs` | messages |
//!
//! The structures of elements and packets, their text, and the numbers of the interface are those
//! of `tracewright-opencsd`, which has no unsafe code.
//!
//! A panic does not reach the client: each exported function catches it and returns an error.
#![allow(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod client_element;
mod custom;
mod decoder;
pub mod exports;
mod log;
mod memory;
mod outlet;
mod packets;
mod registry;
mod stream;
mod tree;
