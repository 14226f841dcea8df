//! What a user can give where something is missing, as the texts of the library name it.

use std::ffi::{c_char, CStr};
use std::ptr;

use tracewright::base::Remedy;

use crate::error::TwError;
use crate::guard::guard;
use crate::plain::{give, not_null, string};
use crate::status::{TwStatus, TW_END, TW_OK};

/// Sets `name` to the name of remedy `number`, from 0, of those that a text of the library names,
/// such as `image` for program memory that is missing. A remedy is between `<` and `>` in the text.
/// Returns `TW_END`, and null, where the text names no more. The name stays valid.
#[no_mangle]
pub unsafe extern "C" fn tw_remedy(
    text: *const c_char,
    number: usize,
    name: *mut *const c_char,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            not_null(name, "name")?;
            give(name, ptr::null());
            let found = Remedy::named_in(string(text, "text")?).nth(number);
            let found = found.map(Remedy::c_name);
            give(name, found.map_or(ptr::null(), CStr::as_ptr));
            Ok(if found.is_some() { TW_OK } else { TW_END })
        })
    }
}
