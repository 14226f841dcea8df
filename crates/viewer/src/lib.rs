//! The viewer: a trace in a browser.
//!
//! | file | contents |
//! |---|---|
//! | `page.rs` | the files of the page, which are embedded |
//!
//! The page is made of the sources in `viewer` of the repository, and checked in, so that a build
//! needs no Node.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod page;
