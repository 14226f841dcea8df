//! Byte scans for synchronization points, copies of text, prefetch of memory, and large pages.
//!
//! Each scan and copy has a naive twin with the same result in [`naive`], and tests compare both.
//! The unsafe code is in [`AsciiTexts`], in [`append_ascii`], in [`prefetch`] and in the request
//! for large pages (feature `large-pages`).
#![cfg_attr(not(feature = "large-pages"), no_std)]
#![deny(unsafe_code)]

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
