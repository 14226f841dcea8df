//! The functions that the library exports. Their names and arguments are those of OpenCSD's
//! `opencsd_c_api.h`, which documents them.
//!
//! # Safety
//! Pointers must be null, or valid as that header describes.

mod logging;
#[cfg(test)]
mod logging_tests;
mod memory;
mod strings;
mod trees;

pub use logging::*;
pub use memory::*;
pub use strings::*;
pub use trees::*;

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use tracewright_opencsd::client::codes::Error;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(guard(Error::FAIL, || panic!("a number {}", 5)), Error::FAIL);
        let tree = ocsd_create_dcd_tree(0, 4);
        let with_panic = |tree| with_tree(tree, Error::NOT_INIT, |_| panic!("with a tree"));
        assert_eq!(with_panic(tree), Error::FAIL);
        // The tree is not locked for ever.
        assert_ne!(ocsd_dt_remove_decoder(tree, 0x10), Error::OK);
        ocsd_destroy_dcd_tree(tree);
        assert_eq!(with_panic(tree), Error::NOT_INIT);
    }

    /// Each exported function, and each that a client's decoder calls, catches panics.
    #[test]
    fn each_function_for_clients_is_guarded() {
        let files = [
            include_str!("logging.rs"),
            include_str!("memory.rs"),
            include_str!("strings.rs"),
            include_str!("trees.rs"),
            include_str!("../custom.rs"),
        ];
        let mut count = 0;
        for function in files.iter().flat_map(|file| file.split("extern \"C\" fn ").skip(1)) {
            let name = function.split('(').next().unwrap();
            // Types of functions have no name, and constants do not fail.
            if name.is_empty() || ["ocsd_get_version", "ocsd_get_version_str"].contains(&name) {
                continue;
            }
            let body = function.split("\n}\n").next().unwrap();
            let catches = ["guard(", "with_tree(", "within(", "catch_unwind("];
            assert!(catches.iter().any(|catch| body.contains(catch)), "{name}");
            count += 1;
        }
        // 34 exported functions without those two, and seven for a client's decoder.
        assert_eq!(count, 32 + 7);
    }
}
