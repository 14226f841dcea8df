//! The functions of the module.

use std::alloc::{Layout, alloc, dealloc};
use std::panic;
use std::ptr::null_mut;
use std::slice;
use std::sync::Arc;

use tracewright::Bytes;

use crate::host;
use crate::session::Session;
use crate::slices::Slices;

/// The bytes that the client wrote. `ptr` is not read where there are none.
unsafe fn bytes<'a>(ptr: *const u8, len: usize) -> &'a [u8] {
    match ptr.is_null() || len == 0 {
        true => &[],
        // SAFETY: as the crate states, the client has `len` bytes there.
        false => unsafe { slice::from_raw_parts(ptr, len) },
    }
}

/// Makes a session, to which files are added.
#[unsafe(no_mangle)]
pub extern "C" fn tw_new() -> *mut Session {
    panic::set_hook(Box::new(|info| host::panicked(&info.to_string())));
    Box::into_raw(Box::default())
}

/// `len` bytes, which the client writes; null where there is no memory for them.
#[unsafe(no_mangle)]
pub extern "C" fn tw_alloc(len: usize) -> *mut u8 {
    match Layout::array::<u8>(len.max(1)) {
        // SAFETY: the size is not zero.
        Ok(layout) => unsafe { alloc(layout) },
        Err(_) => null_mut(),
    }
}

/// Releases what [`tw_alloc`] returned for `len`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_release(ptr: *mut u8, len: usize) {
    if let Ok(layout) = Layout::array::<u8>(len.max(1))
        && !ptr.is_null()
    {
        // SAFETY: as the crate states, `tw_alloc` returned it for this length.
        unsafe { dealloc(ptr, layout) }
    }
}

/// Adds the file `number` of the client, of `size` bytes, which are read when they are needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_file(
    session: &mut Session,
    name: *const u8,
    name_len: usize,
    number: u32,
    size: u64,
) {
    // SAFETY: as the crate states.
    let name = unsafe { bytes(name, name_len) };
    session.add(name, Bytes::on_demand(Arc::new(Slices::new(number, size))));
}

/// Answers a request; `body` is what comes with it. Returns a status of HTTP. The answer is valid
/// until the next request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_ask(
    session: &mut Session,
    request: *const u8,
    request_len: usize,
    body: *const u8,
    body_len: usize,
) -> u32 {
    // SAFETY: as the crate states.
    let (request, body) = unsafe { (bytes(request, request_len), bytes(body, body_len)) };
    session.ask(request, body).into()
}

/// The bytes of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn tw_reply(session: &Session) -> *const u8 {
    session.reply().as_ptr()
}

/// The number of bytes of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn tw_reply_len(session: &Session) -> usize {
    session.reply().len()
}
