//! Structures that begin with their size; strings and arrays of the client.

use std::ffi::{c_char, CStr};
use std::mem::{size_of, MaybeUninit};
use std::ptr;

use crate::status::{Failure, TW_ERR_MEMORY, TW_ERR_NULL, TW_ERR_SIZE};

/// The largest structure that a client of any version has.
const LARGEST: usize = 4096;

/// A structure of the interface.
///
/// # Safety
/// It consists of integers, floating point numbers and raw pointers, for which all zeros is a valid
/// value, and begins with its size as `u32`.
pub(crate) unsafe trait Plain: Copy {
    /// The size of its first version.
    const FIRST: usize = size_of::<Self>();
}

/// A structure with all fields 0.
pub(crate) fn zeroed<T: Plain>() -> T {
    // SAFETY: all zeros is a valid value of a `Plain`.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// The error of a null pointer.
fn null(name: &str) -> Failure {
    Failure::new(TW_ERR_NULL, format_args!("`{name}` is null"))
}

/// Checks that a pointer is not null.
pub(crate) fn not_null<T>(pointer: *const T, name: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(null(name));
    }
    Ok(())
}

/// A copy of `bytes`.
pub(crate) fn copy(bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).map_err(|error| Failure::new(TW_ERR_MEMORY, error))?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// The size that a structure states.
///
/// # Safety
/// `structure` is not null, and has a size.
unsafe fn stated<T: Plain>(structure: *const T, name: &str) -> Result<usize, Failure> {
    // SAFETY: the caller states that it has a size, which is first.
    let size = unsafe { structure.cast::<u32>().read_unaligned() } as usize;
    if !(T::FIRST..=LARGEST).contains(&size) {
        let text =
            format_args!("the size of `{name}` is {size}, and must be at least {}", T::FIRST);
        return Err(Failure::new(TW_ERR_SIZE, text));
    }
    Ok(size)
}

/// Reads a structure. Fields that the client's version does not have are 0.
///
/// # Safety
/// `structure` is null, or points to as many bytes as it states.
pub(crate) unsafe fn read<T: Plain>(structure: *const T, name: &str) -> Result<T, Failure> {
    not_null(structure, name)?;
    // SAFETY: it is not null, and the caller states the rest.
    let size = unsafe { stated(structure, name) }?;
    let mut own = zeroed::<T>();
    let both = size.min(size_of::<T>());
    // SAFETY: the caller states that the structure has `size` bytes; `own` has those of its type.
    unsafe {
        ptr::copy_nonoverlapping(structure.cast::<u8>(), ptr::from_mut(&mut own).cast(), both);
    }
    let more = both..size;
    // SAFETY: these bytes are within the size that the structure states.
    if more.into_iter().any(|n| unsafe { structure.cast::<u8>().add(n).read() } != 0) {
        let text = format_args!("`{name}` has fields that are set and not known");
        return Err(Failure::new(TW_ERR_SIZE, text));
    }
    Ok(own)
}

/// Reads a structure that may be null, which stands for one with all fields 0.
///
/// # Safety
/// As [`read`].
pub(crate) unsafe fn read_or_zero<T: Plain>(structure: *const T, name: &str) -> Result<T, Failure> {
    if structure.is_null() {
        return Ok(zeroed());
    }
    // SAFETY: the caller states it.
    unsafe { read(structure, name) }
}

/// Checks that a structure can be written.
///
/// # Safety
/// As [`read`].
pub(crate) unsafe fn check<T: Plain>(structure: *const T, name: &str) -> Result<(), Failure> {
    not_null(structure, name)?;
    // SAFETY: it is not null, and the caller states the rest.
    unsafe { stated(structure, name) }.map(|_| ())
}

/// Writes a structure: the fields that the client's version has, and 0 for those that this version
/// does not have. Its size becomes the number of bytes that this version knows.
///
/// # Safety
/// `structure` is null, or points to as many bytes as it states, which can be written.
pub(crate) unsafe fn write<T: Plain>(
    structure: *mut T,
    value: T,
    name: &str,
) -> Result<(), Failure> {
    not_null(structure, name)?;
    // SAFETY: it is not null, and the caller states the rest.
    let size = unsafe { stated(structure, name) }?;
    // SAFETY: the caller states that the structure has `size` bytes.
    unsafe { put(structure.cast(), size, &value) };
    Ok(())
}

/// Writes `value` to the `size` bytes at `to`, and the number of bytes that have a meaning as its
/// size.
///
/// # Safety
/// `to` has `size` bytes, at least 4, that can be written.
pub(crate) unsafe fn put<T: Plain>(to: *mut u8, size: usize, value: &T) {
    let both = size.min(size_of::<T>());
    // SAFETY: the caller states that there are `size` bytes; `value` has those of its type.
    unsafe {
        ptr::copy_nonoverlapping(ptr::from_ref(value).cast::<u8>(), to, both);
        to.add(both).write_bytes(0, size - both);
        to.cast::<u32>().write_unaligned(both as u32);
    }
}

/// A string of the client.
///
/// # Safety
/// `text` is null, or a string that ends with a zero and lives as long as the result.
pub(crate) unsafe fn string<'a>(text: *const c_char, name: &str) -> Result<&'a str, Failure> {
    not_null(text, name)?;
    // SAFETY: it is not null, and the caller states the rest.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::argument(format_args!("`{name}` is not UTF-8")))
}

/// A path of the client: bytes that end with a zero.
///
/// # Safety
/// As [`string`].
pub(crate) unsafe fn path<'a>(
    text: *const c_char,
    name: &str,
) -> Result<&'a std::path::Path, Failure> {
    not_null(text, name)?;
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        // SAFETY: it is not null, and the caller states the rest.
        let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
        Ok(std::path::Path::new(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    {
        // SAFETY: the caller states it.
        unsafe { string(text, name) }.map(std::path::Path::new)
    }
}

/// An array of the client. A null pointer is an array without elements.
///
/// # Safety
/// `items` is null and `count` is 0, or it has `count` elements that live as long as the result.
pub(crate) unsafe fn array<'a, T>(
    items: *const T,
    count: usize,
    name: &str,
) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    not_null(items, name)?;
    let most = isize::MAX as usize / size_of::<T>().max(1);
    if count > most || !items.is_aligned() {
        return Err(Failure::argument(format_args!("`{name}` is no array of {count} elements")));
    }
    // SAFETY: it is not null and aligned, the caller states that it has `count` elements, and they
    // take no more bytes than memory has.
    Ok(unsafe { std::slice::from_raw_parts(items, count) })
}

/// Writes a value where the client wants it.
///
/// # Safety
/// `to` is null, or can be written.
pub(crate) unsafe fn give<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: it is not null, and the caller states that it can be written.
        unsafe { to.write_unaligned(value) };
    }
}

/// Copies `text` with a zero at its end to the `room` bytes at `to`; a text that is too long is cut
/// at the end of a character. Returns the number of bytes that all of it takes, with the zero.
///
/// # Safety
/// `to` is null and `room` is 0, or it has `room` bytes that can be written.
pub(crate) unsafe fn give_text(
    to: *mut c_char,
    room: usize,
    text: &str,
    name: &str,
) -> Result<usize, Failure> {
    // A zero inside would end the text.
    let text = text.split('\0').next().unwrap_or_default();
    if room > 0 {
        not_null(to, name)?;
        let cut = (0..room.min(text.len() + 1)).rev().find(|&n| text.is_char_boundary(n));
        let cut = cut.unwrap_or(0);
        // SAFETY: it is not null, has `room` bytes, and `cut` is less than `room`.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr(), to.cast::<u8>(), cut);
            to.add(cut).write(0);
        }
    }
    Ok(text.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Numbers {
        size: u32,
        first: u32,
        second: u64,
    }

    // SAFETY: integers, and the size is first.
    unsafe impl Plain for Numbers {
        const FIRST: usize = 8;
    }

    /// The structure of a client whose version has one more field.
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Newer {
        numbers: Numbers,
        third: u64,
    }

    #[test]
    fn older_clients_have_shorter_structures() {
        let old = Numbers { size: 8, first: 5, second: 77 };
        // SAFETY: it has more bytes than it states.
        let read = unsafe { read(&old, "old") }.unwrap();
        assert_eq!(read, Numbers { size: 8, first: 5, second: 0 });
        let mut to = old;
        let value = Numbers { size: 0, first: 1, second: 2 };
        // SAFETY: as above.
        unsafe { write(&mut to, value, "to") }.unwrap();
        assert_eq!(to, Numbers { size: 8, first: 1, second: 77 });
    }

    #[test]
    fn newer_clients_have_longer_structures() {
        let mut new = Newer { numbers: Numbers { size: 24, first: 5, second: 6 }, third: 0 };
        let pointer: *mut Numbers = ptr::from_mut(&mut new).cast();
        // SAFETY: it has the bytes that it states.
        assert_eq!(unsafe { read(pointer, "new") }.unwrap().second, 6);
        new.third = 1;
        let pointer: *mut Numbers = ptr::from_mut(&mut new).cast();
        // SAFETY: as above.
        assert_eq!(unsafe { read(pointer, "new") }.unwrap_err().code, TW_ERR_SIZE);
        let value = Numbers { size: 0, first: 1, second: 2 };
        // SAFETY: as above.
        unsafe { write(pointer, value, "new") }.unwrap();
        assert_eq!((new.numbers.size, new.numbers.second, new.third), (16, 2, 0));
    }

    #[test]
    fn texts_are_cut_between_characters() {
        for (room, want, text) in
            [(1, 4, ""), (2, 4, "a"), (3, 4, "a"), (4, 4, "a\u{e4}"), (9, 4, "a\u{e4}")]
        {
            let mut to = [1 as c_char; 9];
            // SAFETY: `to` has as many bytes.
            let needed = unsafe { give_text(to.as_mut_ptr(), room, "a\u{e4}", "to") }.unwrap();
            assert_eq!(needed, want);
            // SAFETY: it ends with a zero.
            let got = unsafe { CStr::from_ptr(to.as_ptr()) };
            assert_eq!(got.to_str().unwrap(), text, "{room}");
        }
    }
}
