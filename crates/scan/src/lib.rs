//! Byte scans for synchronization points, copies of text, prefetch of memory, and large pages.
//!
//! Each scan and copy has a naive twin with the same result in [`naive`], and tests compare both.
//! The unsafe code is in [`AsciiTexts`], in [`append_ascii`], in [`prefetch`] and in the request
//! for large pages (feature `large-pages`).
//!
//! ```
//! use tracewright_scan::{find, zero_run};
//!
//! assert_eq!(find(b"\x00\x0f\xff\xff\xff\x7f", &[0xff, 0xff, 0xff, 0x7f]), Some(2));
//! assert_eq!(zero_run(&[1, 0, 0, 0, 2], 3), Some(1..4));
//! ```
#![cfg_attr(not(feature = "large-pages"), no_std)]
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

extern crate alloc;

mod ascii;
mod find;
pub mod naive;
mod prefetch;

pub use ascii::{AsciiTexts, append_ascii};
pub use find::{find, zero_run};
#[cfg(feature = "large-pages")]
pub use prefetch::huge;
pub use prefetch::prefetch;
