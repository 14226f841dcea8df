//! What each exported function runs in.

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::error::TwError;
use crate::plain;
use crate::status::{text_of, Done, Failure, TwStatus, TW_ERR_INTERNAL, TW_ERR_SIZE};

/// Calls `body` and writes its error to `error`. A panic becomes an error: unwinding into a client
/// is undefined.
///
/// # Safety
/// `error` is null, or points to as many bytes as it states, which can be written.
pub(crate) unsafe fn guard(error: *mut TwError, body: impl FnOnce() -> Done) -> TwStatus {
    // SAFETY: the caller states it.
    if !error.is_null() && unsafe { plain::check(error, "error") }.is_err() {
        return TW_ERR_SIZE;
    }
    let done = catch_unwind(AssertUnwindSafe(body));
    let (code, text) = match done {
        Ok(Ok(status)) => (status, None),
        Ok(Err(Failure { code, text })) => (code, Some(text)),
        Err(panic) => (TW_ERR_INTERNAL, message(panic)),
    };
    if !error.is_null() {
        let text = text.as_deref().unwrap_or(text_of(code).trim_end_matches('\0'));
        let mut own = plain::zeroed::<TwError>();
        own.code = code;
        // SAFETY: the array has as many elements.
        let _ = unsafe { plain::give_text(own.text.as_mut_ptr(), own.text.len(), text, "text") };
        // SAFETY: the caller states that it can be written.
        let _ = unsafe { plain::write(error, own, "error") };
    }
    code
}

/// The text of a panic.
fn message(panic: Box<dyn Any + Send>) -> Option<String> {
    let text = match panic.downcast::<String>() {
        Ok(text) => Some(*text),
        Err(panic) => panic.downcast::<&str>().ok().map(|text| text.to_string()),
    };
    text.map(|text| format!("internal error: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::TW_OK;

    #[test]
    fn a_panic_is_an_error() {
        let mut error = plain::zeroed::<TwError>();
        error.size = std::mem::size_of::<TwError>() as u32;
        // SAFETY: it has the size that it states.
        let status = unsafe { guard(&mut error, || panic!("a number {}", 5)) };
        assert_eq!(status, TW_ERR_INTERNAL);
        // SAFETY: it ends with a zero.
        let text = unsafe { std::ffi::CStr::from_ptr(error.text.as_ptr()) };
        assert_eq!(text.to_str().unwrap(), "internal error: a number 5");
        // SAFETY: null is allowed.
        assert_eq!(unsafe { guard(std::ptr::null_mut(), || Ok(TW_OK)) }, TW_OK);
        error.size = 8;
        // SAFETY: it has more bytes than it states.
        assert_eq!(unsafe { guard(&mut error, || Ok(TW_OK)) }, TW_ERR_SIZE);
    }

    /// Each exported function with a body that can fail runs in [`guard`].
    #[test]
    fn each_exported_function_is_guarded() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut count = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            for function in text.split("#[no_mangle]\n").skip(1) {
                let end = function.find("\n}\n").unwrap();
                let (function, _) = function.split_at(end);
                // Constants cannot fail.
                let constant = ["tw_version", "tw_status_text", "tw_element_kind_name"];
                if constant.iter().any(|name| function.contains(name)) {
                    continue;
                }
                let name = function.lines().next().unwrap();
                assert!(function.contains("guard(error, || "), "{name}");
                count += 1;
            }
        }
        assert!(count > 20, "{count}");
    }
}
