//! The C interface of Tracewright, `libtracewright`. `include/tracewright.h`, which cbindgen makes
//! of this crate, documents it, and `docs/c-api.md` explains it.
//!
//! | file | contents |
//! |---|---|
//! | `status.rs`, `error.rs` | results of functions, and the structure of an error |
//! | `guard.rs` | what each exported function runs in: no panic reaches the client |
//! | `handle.rs` | handles: the table of all, whether they are in use |
//! | `plain.rs` | structures that begin with their size; strings and arrays of the client |
//! | `capture.rs`, `opened.rs` | a capture that is open |
//! | `builder.rs` | a capture that is made in memory |
//! | `element.rs`, `convert.rs` | the structure of an element |
//! | `select.rs` | how a capture is decoded, and which part of it |
//! | `run.rs` | decodes a buffer to a listener |
//! | `batch.rs` | collects elements |
//! | `decode.rs`, `reader.rs` | elements by function call, and on demand |
//! | `protocol.rs` | protocols of the client |
//! | `push.rs` | data that the client pushes, memory that it reads, packets, frames and reports |
//! | `functions.rs`, `profile.rs`, `results.rs` | functions, profiles, coverage and timelines |
//! | `index.rs`, `find.rs` | indexes and searches |
//! | `remedy.rs` | what the texts of errors name as missing |
//!
//! # Safety
//! The exported functions take pointers. Each is null, or points to what the header describes: a
//! structure of at least the size in its first field, a string that ends with a zero, an array with
//! the length in the argument beside it, or a handle of this library that was not freed.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "one rule for all functions, above")]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod batch;
mod builder;
mod capture;
mod convert;
mod decode;
mod element;
mod error;
mod find;
mod functions;
mod guard;
mod handle;
mod index;
mod opened;
mod plain;
mod profile;
mod protocol;
mod push;
mod reader;
mod remedy;
mod results;
mod run;
mod select;
mod status;

use std::ffi::c_char;

/// The version of the library: major, minor and patch number in bits 31:24, 23:16 and 15:0.
#[no_mangle]
pub extern "C" fn tw_version() -> u32 {
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    number(env!("CARGO_PKG_VERSION_MAJOR")) << 24
        | number(env!("CARGO_PKG_VERSION_MINOR")) << 16
        | number(env!("CARGO_PKG_VERSION_PATCH"))
}

/// The version as text.
#[no_mangle]
pub extern "C" fn tw_version_text() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
