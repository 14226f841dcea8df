//! Processor trace in WebAssembly: a module with functions like those of C, and without any import
//! but four functions of its client. `package/index.js` is the client; `docs/browser.md` is its
//! documentation.
//!
//! | file | contents |
//! |---|---|
//! | `exports.rs` | the functions of the module |
//! | `host.rs` | the functions of the client: bytes of files, output, progress |
//! | `slices.rs` | files whose bytes are read when they are needed |
//! | `request.rs`, `reply.rs` | what is asked, and the answer |
//! | `session.rs` | the files, the capture, its index |
//! | `opening.rs` | a capture of any format, from files with names |
//! | `listing.rs`, `running.rs`, `printer.rs` | listings, as the command prints them |
//! | `tables.rs` | tables as arrays |
//! | `sampling.rs` | tiles here and there, before there is an index |
//! | `shown.rs` | the answers of the viewer |
//!
//! An instance has one capture. What it holds is released with its memory: a client makes a new
//! instance for another capture, and after a panic, which ends the instance.
//!
//! # Safety
//! The exported functions take pointers into the memory of the module. Each is one that
//! [`tw_alloc`](exports::tw_alloc) returned for the length beside it, or the session that
//! [`tw_new`](exports::tw_new) returned.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "one rule for all functions, above")]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod exports;
mod host;
mod listing;
mod opening;
mod printer;
mod reply;
mod request;
mod running;
mod sampling;
mod session;
mod shown;
mod slices;
mod tables;
