//! The functions that the library exports. Their names and arguments are those of OpenCSD's
//! `opencsd_c_api.h`, which documents them.
//!
//! # Safety
//! Pointers must be null, or valid as that header describes.

mod logging;
mod memory;
mod strings;
mod trees;

pub use logging::*;
pub use memory::*;
pub use strings::*;
pub use trees::*;

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::codes::Error;
use crate::registry;
use crate::tree::Tree;

/// Calls `body`. Returns `otherwise` where it panics: unwinding into a client is undefined.
fn guard<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

/// Calls `body` with the tree of `handle`. Returns its error, or `missing` where the handle has no
/// tree.
fn with_tree(
    handle: *mut c_void,
    missing: Error,
    body: impl FnOnce(&mut Tree) -> Result<(), Error>,
) -> Error {
    guard(Error::FAIL, || code(registry::with(handle, missing, body)))
}

/// The error of a result.
fn code(result: Result<Result<(), Error>, Error>) -> Error {
    match result {
        Ok(Ok(())) => Error::OK,
        Ok(Err(error)) | Err(error) => error,
    }
}

/// The bytes of a client's string. `None` for a null pointer.
///
/// # Safety
/// `text` is null, or points to a string that ends with a zero and lives as long as the result.
unsafe fn string<'a>(text: *const c_char) -> Option<&'a CStr> {
    if text.is_null() {
        return None;
    }
    // SAFETY: it is not null, and the caller states the rest.
    Some(unsafe { CStr::from_ptr(text) })
}
