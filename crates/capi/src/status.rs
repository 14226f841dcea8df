//! Results of functions.

use std::ffi::c_char;
use std::fmt;

/// The result of a function: `TW_OK`, another value above 0 that is no error, or an error below 0.
pub type TwStatus = i32;

/// The function did what it was called for.
pub const TW_OK: TwStatus = 0;
/// There are no more elements.
pub const TW_END: TwStatus = 1;
/// A function of the client wanted no more.
pub const TW_STOPPED: TwStatus = 2;
/// A function of the client, or memory that it reads, is waited for: `tw_push_flush` continues.
pub const TW_WAIT: TwStatus = 3;
/// A pointer that must not be null is null.
pub const TW_ERR_NULL: TwStatus = -1;
/// The size in a structure is smaller than that of the first version of the structure, or the
/// structure has fields that this version does not know and that are not 0.
pub const TW_ERR_SIZE: TwStatus = -2;
/// The handle is of another type, or was freed.
pub const TW_ERR_HANDLE: TwStatus = -3;
/// The handle is in use, by another thread or by the call that called the client.
pub const TW_ERR_BUSY: TwStatus = -4;
/// An argument has a value that the function does not take.
pub const TW_ERR_ARGUMENT: TwStatus = -5;
/// A number is not below the number of things.
pub const TW_ERR_RANGE: TwStatus = -6;
/// The call is not possible in this order: something must be called before.
pub const TW_ERR_ORDER: TwStatus = -7;
/// The capture cannot be opened.
pub const TW_ERR_OPEN: TwStatus = -8;
/// The capture has nothing that can be decoded, or sources of it cannot be decoded.
pub const TW_ERR_SOURCES: TwStatus = -9;
/// A trace buffer or a file cannot be read.
pub const TW_ERR_READ: TwStatus = -10;
/// A file cannot be written.
pub const TW_ERR_WRITE: TwStatus = -11;
/// The index is damaged, or belongs to another capture.
pub const TW_ERR_INDEX: TwStatus = -12;
/// The query is not understood, or has no answer.
pub const TW_ERR_QUERY: TwStatus = -13;
/// The profile has no such format: several program files, or a program file lacks something.
pub const TW_ERR_PROFILE: TwStatus = -14;
/// An error in the library itself. The handle must not be used but to free it.
pub const TW_ERR_INTERNAL: TwStatus = -15;

/// There is too little memory for a copy of what the client gives.
pub const TW_ERR_MEMORY: TwStatus = -16;

/// What a function failed with.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: TwStatus,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(code: TwStatus, text: impl fmt::Display) -> Failure {
        Failure { code, text: text.to_string() }
    }

    /// A wrong argument.
    pub(crate) fn argument(text: impl fmt::Display) -> Failure {
        Failure::new(TW_ERR_ARGUMENT, text)
    }

    /// A number that is not below `count`.
    pub(crate) fn range(what: &str, number: usize, count: usize) -> Failure {
        Failure::new(TW_ERR_RANGE, format_args!("{what} {number} of {count}"))
    }
}

/// What a function returns inside of the library.
pub(crate) type Done = Result<TwStatus, Failure>;

/// What a result means, as text.
#[no_mangle]
pub extern "C" fn tw_status_text(status: TwStatus) -> *const c_char {
    text_of(status).as_ptr().cast()
}

/// The text of a result, with a zero at its end.
pub(crate) const fn text_of(status: TwStatus) -> &'static str {
    match status {
        TW_OK => "no error\0",
        TW_END => "no more elements\0",
        TW_STOPPED => "stopped by the client\0",
        TW_WAIT => "flush first\0",
        TW_ERR_NULL => "null pointer\0",
        TW_ERR_SIZE => "wrong size of a structure\0",
        TW_ERR_HANDLE => "wrong handle\0",
        TW_ERR_BUSY => "handle in use\0",
        TW_ERR_ARGUMENT => "wrong argument\0",
        TW_ERR_RANGE => "number out of range\0",
        TW_ERR_ORDER => "call out of order\0",
        TW_ERR_OPEN => "capture cannot be opened\0",
        TW_ERR_SOURCES => "sources cannot be decoded\0",
        TW_ERR_READ => "cannot be read\0",
        TW_ERR_WRITE => "cannot be written\0",
        TW_ERR_INDEX => "index cannot be used\0",
        TW_ERR_QUERY => "query without an answer\0",
        TW_ERR_PROFILE => "profile cannot be written in this format\0",
        TW_ERR_INTERNAL => "internal error\0",
        TW_ERR_MEMORY => "too little memory\0",
        _ => "unknown result\0",
    }
}
