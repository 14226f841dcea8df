//! Addresses and other numbers in requests.

use crate::message::{Refused, refused};

/// A number of the client: hexadecimal with 0x, or decimal.
pub(crate) fn number(text: &str) -> Option<u64> {
    tracewright::index::query::number(text.trim()).ok()
}

/// The address of a reference to memory.
pub(crate) fn address(reference: &str, offset: i64) -> Result<u64, Refused> {
    match number(reference) {
        Some(address) => Ok(address.wrapping_add_signed(offset)),
        None => refused(format!("`{reference}` is not an address")),
    }
}
