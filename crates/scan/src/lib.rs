//! Large inputs, fast: files as memory maps, and scans that do not look at every byte.
//!
//! Each scan has a naive twin in [`naive`] that says the same, slowly; tests compare them. The one
//! `unsafe` is the memory map.
#![cfg_attr(not(feature = "map"), no_std)]
#![deny(unsafe_code)]

mod find;
#[cfg(feature = "map")]
mod map;
pub mod naive;

pub use find::{find, zero_run};
#[cfg(feature = "map")]
pub use map::{Bytes, map};
