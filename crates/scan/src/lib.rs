//! Byte scans for synchronization points, prefetch of memory, and large pages.
//!
//! Each scan has a naive twin with the same result in [`naive`], and tests compare both. The unsafe
//! code is in [`prefetch`] and in the request for large pages (feature `large-pages`).
#![cfg_attr(not(feature = "large-pages"), no_std)]
#![deny(unsafe_code)]

mod find;
pub mod naive;
mod prefetch;

pub use find::{find, zero_run};
#[cfg(feature = "large-pages")]
pub use prefetch::huge;
pub use prefetch::prefetch;
