//! The functions of the client.

use std::io;

#[cfg(target_arch = "wasm32")]
#[link(wasm_import_module = "host")]
unsafe extern "C" {
    /// Reads bytes of a file; returns their number, negative where they cannot be read.
    fn host_read(file: u32, offset: u64, into: *mut u8, len: usize) -> i32;
    /// Receives output; returns whether more is wanted.
    fn host_write(bytes: *const u8, len: usize) -> u32;
    /// Receives how much is done, and of how much.
    fn host_progress(done: u64, of: u64) -> u32;
    /// Receives why the module ends.
    fn host_panic(text: *const u8, len: usize);
}

/// Reads bytes of the file with this number from `offset` on, and returns their number.
#[cfg(target_arch = "wasm32")]
pub(crate) fn read(file: u32, offset: u64, into: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the client writes at most `len` bytes.
    let read = unsafe { host_read(file, offset, into.as_mut_ptr(), into.len()) };
    let read = usize::try_from(read).map_err(|_| io::Error::other("the file cannot be read"))?;
    Ok(read.min(into.len()))
}

/// Passes output on, and returns whether more is wanted.
#[cfg(target_arch = "wasm32")]
pub(crate) fn write(bytes: &[u8]) -> bool {
    // SAFETY: the client reads `len` bytes before it returns.
    unsafe { host_write(bytes.as_ptr(), bytes.len()) != 0 }
}

/// Passes on how much is done, and returns whether it is to be continued.
#[cfg(target_arch = "wasm32")]
pub(crate) fn progress(done: u64, of: u64) -> bool {
    // SAFETY: the function takes numbers only.
    unsafe { host_progress(done, of) != 0 }
}

/// Passes on why the module ends.
#[cfg(target_arch = "wasm32")]
pub(crate) fn panicked(text: &str) {
    // SAFETY: the client reads `len` bytes before it returns.
    unsafe { host_panic(text.as_ptr(), text.len()) }
}

// On other targets there is no client: the crate can be checked, not used.

#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn read(_: u32, _: u64, _: &mut [u8]) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn write(_: &[u8]) -> bool {
    false
}

#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn progress(_: u64, _: u64) -> bool {
    false
}

#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn panicked(_: &str) {}
