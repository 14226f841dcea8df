//! The structure of an error.

use std::ffi::c_char;

use crate::plain::Plain;
use crate::status::TwStatus;

/// An error: the code and a text.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TwError {
    /// Size of the structure in bytes.
    pub size: u32,
    /// The result of the function.
    pub code: TwStatus,
    /// What is wrong, and where. It ends with a zero. A text that is too long is cut.
    pub text: [c_char; 504],
}

// SAFETY: integers only, and the size is first.
unsafe impl Plain for TwError {}
