//! Byte scans for synchronization points, prefetch of memory, and files as bytes.
//!
//! Each scan has a naive twin with the same result in [`naive`], and tests compare both. The unsafe
//! code is in the memory map (feature `mmap`), in the request for large pages (feature `mmap`) and in
//! [`prefetch`]. Without the feature `std` the crate is `no_std`.
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code)]

#[cfg(feature = "std")]
mod file;
mod find;
pub mod naive;
mod prefetch;

#[cfg(feature = "std")]
pub use file::{Bytes, map};
pub use find::{find, zero_run};
#[cfg(feature = "std")]
pub use prefetch::huge;
pub use prefetch::prefetch;
