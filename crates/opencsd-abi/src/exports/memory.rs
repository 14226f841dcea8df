//! Program memory.

use std::ffi::{CStr, c_char, c_int, c_void};
#[cfg(not(unix))]
use std::path::PathBuf;
#[cfg(unix)]
use std::{ffi::OsStr, path::Path};

use tracewright_image::Bytes;

use super::{code, guard, string, with_tree};
use crate::memory::{Accessor, Callback, Content, ReadMemory, ReadMemoryOfSource};
use crate::registry;
use tracewright_opencsd::client::codes::Error;
use tracewright_opencsd::client::text::space_name;

/// A region of a file, `ocsd_file_mem_region_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FileRegion {
    /// Offset in the file.
    pub offset: usize,
    /// Address of its first byte.
    pub address: u64,
    /// Its length in bytes.
    pub size: usize,
}

/// The least number of bytes of a buffer: one instruction.
const MIN_BUFFER: u32 = 4;

fn add(
    handle: *mut c_void,
    spaces: u32,
    ranges: Vec<(u64, u64, Content)>,
    file: Option<&CStr>,
) -> Error {
    let file = file.map(CStr::to_string_lossy);
    code(registry::with(handle, Error::INVALID_PARAM_VAL, |tree| {
        tree.memory.add(ranges, spaces, file.as_deref())
    }))
}

/// A path as the system has it: any bytes.
#[cfg(unix)]
fn file_name(path: &CStr) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(OsStr::from_bytes(path.to_bytes()))
}

/// A path as the system has it: text.
#[cfg(not(unix))]
fn file_name(path: &CStr) -> PathBuf {
    path.to_string_lossy().as_ref().into()
}

/// Reads a file of memory, and returns its name, too.
///
/// # Safety
/// `path` is null or a string that lives as long as the result.
unsafe fn read<'a>(path: *const c_char) -> Result<(Bytes, &'a CStr), Error> {
    // SAFETY: the caller states that it is null or a string.
    let path = unsafe { string(path) }.ok_or(Error::INVALID_PARAM_VAL)?;
    if path.is_empty() {
        return Err(Error::INVALID_PARAM_VAL);
    }
    let bytes = std::fs::read(file_name(path)).map_err(|_| Error::MEM_ACC_FILE_NOT_FOUND)?;
    Ok((bytes.into(), path))
}

/// The range of `bytes` at `address`.
fn range(address: u64, bytes: Bytes) -> Result<(u64, u64, Content), Error> {
    let last = (bytes.len() as u64).checked_sub(1).and_then(|len| address.checked_add(len));
    Ok((address, last.ok_or(Error::MEM_ACC_RANGE_INVALID)?, Content::Bytes(bytes)))
}

/// Adds a file, which is memory from `address` on.
///
/// # Safety
/// `path` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_dt_add_binfile_mem_acc(
    handle: *mut c_void,
    address: u64,
    spaces: u32,
    path: *const c_char,
) -> Error {
    guard(Error::FAIL, || {
        // SAFETY: the caller states that it is null or a string.
        let file = unsafe { read(path) };
        match file.and_then(|(bytes, path)| Ok((range(address, bytes)?, path))) {
            Ok((range, path)) => add(handle, spaces, vec![range], Some(path)),
            Err(error) => error,
        }
    })
}

/// Adds regions of a file.
///
/// # Safety
/// `regions` is null or has `count` regions; `path` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_dt_add_binfile_region_mem_acc(
    handle: *mut c_void,
    regions: *const FileRegion,
    count: c_int,
    spaces: u32,
    path: *const c_char,
) -> Error {
    guard(Error::FAIL, || {
        if regions.is_null() || count <= 0 {
            return Error::INVALID_PARAM_VAL;
        }
        // SAFETY: it is not null, and the caller states that it has `count` regions.
        let regions = unsafe { std::slice::from_raw_parts(regions, count as usize) };
        // SAFETY: the caller states that it is null or a string.
        let (file, path) = match unsafe { read(path) } {
            Ok(file) => file,
            Err(error) => return error,
        };
        let ranges: Result<Vec<_>, Error> = regions
            .iter()
            .map(|region| {
                range(region.address, file.part(region.offset as u64, region.size as u64))
            })
            .collect();
        match ranges {
            Ok(ranges) => add(handle, spaces, ranges, Some(path)),
            Err(error) => error,
        }
    })
}

/// Adds memory that the client has. It is copied.
///
/// # Safety
/// `buffer` is null or has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_dt_add_buffer_mem_acc(
    handle: *mut c_void,
    address: u64,
    spaces: u32,
    buffer: *const u8,
    len: u32,
) -> Error {
    guard(Error::FAIL, || {
        if buffer.is_null() || len < MIN_BUFFER {
            return Error::INVALID_PARAM_VAL;
        }
        // SAFETY: it is not null, and the caller states that it has `len` bytes.
        let bytes = unsafe { std::slice::from_raw_parts(buffer, len as usize) }.to_vec();
        match range(address, bytes.into()) {
            Ok(range) => add(handle, spaces, vec![range], None),
            Err(error) => error,
        }
    })
}

/// Adds memory that a function of the client reads.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_dt_add_callback_mem_acc(
    handle: *mut c_void,
    first: u64,
    last: u64,
    spaces: u32,
    function: Option<ReadMemory>,
    context: *const c_void,
) -> Error {
    guard(Error::FAIL, || match function {
        Some(function) => {
            let content = Content::Read(Callback { function, context });
            add(handle, spaces, vec![(first, last, content)], None)
        }
        None => Error::INVALID_PARAM_VAL,
    })
}

/// Adds memory that a function of the client reads, which gets the trace ID.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_dt_add_callback_trcid_mem_acc(
    handle: *mut c_void,
    first: u64,
    last: u64,
    spaces: u32,
    function: Option<ReadMemoryOfSource>,
    context: *const c_void,
) -> Error {
    guard(Error::FAIL, || match function {
        Some(function) => {
            let content = Content::ReadOfSource(Callback { function, context });
            add(handle, spaces, vec![(first, last, content)], None)
        }
        None => Error::INVALID_PARAM_VAL,
    })
}

/// Removes the memory at `address`.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_dt_remove_mem_acc(handle: *mut c_void, address: u64, spaces: u32) -> Error {
    with_tree(handle, Error::INVALID_PARAM_VAL, |tree| tree.memory.remove(address, spaces))
}

/// The text of a range of memory.
fn accessor_text(accessor: &Accessor) -> String {
    let kind = match accessor.content {
        Content::Bytes(_) if accessor.file.is_some() => "FileAcc",
        Content::Bytes(_) => "BuffAcc",
        Content::Read(_) | Content::ReadOfSource(_) => "CB  Acc",
    };
    let (first, last) = (accessor.first, accessor.last);
    format!("{kind}; Range::0x{first:02x}:{last:x}; Mem Space::{}", space_name(accessor.spaces))
}

/// Logs the memory of the tree.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_tl_log_mapped_mem_ranges(handle: *mut c_void) {
    guard((), || {
        // A handle without a tree has no memory to log.
        let _ = registry::with(handle, Error::BAD_HANDLE, |tree| {
            if !tree.memory.was_added() {
                return;
            }
            let print = |text: &str| crate::log::message(tree.outlet.printer.as_ref(), text);
            print("Gen_Info : Mapped Memory Accessors\n");
            for of_call in tree.memory.accessors().chunk_by(|a, b| a.group == b.group) {
                let lines: Vec<String> = of_call.iter().map(accessor_text).collect();
                let file = of_call.first().and_then(|accessor| accessor.file.as_deref());
                let file = file.map_or(String::new(), |name| format!("\nFilename={name}"));
                print(&format!("Gen_Info : {}{file}\n", lines.join("\n")));
            }
            print("Gen_Info : ========================\n");
        });
    });
}

/// The size of OpenCSD's cache of memory. This library stores what it needs, whatever the size is.
/// Sizes that OpenCSD refuses are refused.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_dt_set_mem_acc_cacheing(
    handle: *mut c_void,
    enable: c_int,
    page_size: u16,
    pages: c_int,
) -> Error {
    guard(Error::FAIL, || {
        code(registry::with(handle, Error::INVALID_PARAM_VAL, |_| {
            let valid = (64..=16384).contains(&page_size) && (4..=256).contains(&pages);
            if enable != 0 && !valid { Err(Error::INVALID_PARAM_VAL) } else { Ok(()) }
        }))
    })
}
