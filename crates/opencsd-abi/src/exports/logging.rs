//! Messages and errors.

use std::ffi::{c_char, c_int, c_void};

use tracewright_opencsd::client::codes::Error;

use super::strings::copy;
use super::{code, guard, string};
use crate::log::{self, Logged, PrintText, Printer};
use crate::registry;

/// Sets the least severe errors that are logged, and creates an output for messages.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_def_errlog_init(severity: u32, output: c_int) -> Error {
    guard(Error::FAIL, || {
        log::init(severity, output != 0);
        Error::OK
    })
}

/// Sets where messages go.
///
/// # Safety
/// `file` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_def_errlog_config_output(flags: c_int, file: *const c_char) -> Error {
    guard(Error::FAIL, || {
        // SAFETY: the caller states that it is null or a string.
        log::configure(flags, unsafe { string(file) })
    })
}

/// Sets the function that receives the messages of a tree.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_def_errlog_set_strprint_cb(
    handle: *mut c_void,
    context: *mut c_void,
    function: Option<PrintText>,
) -> Error {
    guard(Error::FAIL, || {
        let printer = function.map(|function| Printer { function, context });
        code(registry::with(handle, Error::NOT_INIT, |tree| match log::set_printer(printer) {
            Error::OK => {
                tree.outlet.printer = printer;
                Ok(())
            }
            error => Err(error),
        }))
    })
}

/// Writes a message of the client.
///
/// # Safety
/// `message` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_def_errlog_msgout(message: *const c_char) {
    guard((), || {
        // SAFETY: the caller states that it is null or a string.
        if let Some(message) = unsafe { string(message) } {
            log::message_of_client(&message.to_string_lossy());
        }
    });
}

/// Copies the text of an error.
///
/// # Safety
/// `buffer` is null or has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_err_str(error: Error, buffer: *mut c_char, size: c_int) {
    guard((), || {
        let text = Logged { error, at: None, id: None, message: String::new() }.text();
        // SAFETY: the caller states that it is null or has `size` bytes.
        unsafe { copy(&text, buffer, size) };
    });
}

/// The last error, with its position and its text.
///
/// # Safety
/// `index` and `id` are null or can be written; `message` is null or has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_get_last_err(
    index: *mut u32,
    id: *mut u8,
    message: *mut c_char,
    size: c_int,
) -> Error {
    guard(Error::FAIL, || {
        let last = log::last();
        let (at, source) = last.as_ref().map_or((None, None), |last| (last.at, last.id));
        if !index.is_null() {
            // SAFETY: it is not null, and the caller states that it can be written.
            unsafe { index.write(at.map_or(u32::MAX, |at| at as u32)) };
        }
        if !id.is_null() {
            // SAFETY: as above.
            unsafe { id.write(source.unwrap_or(u8::MAX)) };
        }
        let text = last.as_ref().map(Logged::text).unwrap_or_default();
        // SAFETY: the caller states that it is null or has `size` bytes.
        unsafe { copy(&text, message, size) };
        last.map_or(Error::OK, |last| last.error)
    })
}
