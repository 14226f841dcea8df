//! Handles.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::plain::not_null;
use crate::status::{Done, Failure, TW_ERR_BUSY, TW_ERR_HANDLE, TW_OK};

/// The type of a handle, as a number in its first bytes. A handle that was freed has none.
const FREED: u64 = 0;

/// What a handle refers to.
pub(crate) trait Kind {
    /// The type that the client sees.
    type Opaque;
    /// The number in its first bytes: any that memory is unlikely to have.
    const KIND: u64;
    /// The name of the argument.
    const NAME: &'static str;
}

/// The memory of a handle. The first field is the same for each type, so that it can be read where
/// the client passes a handle of another type.
#[repr(C)]
struct Slot<T> {
    kind: u64,
    busy: AtomicBool,
    value: T,
}

/// Makes a handle.
pub(crate) fn make<T: Kind>(value: T) -> *mut T::Opaque {
    Box::into_raw(Box::new(Slot { kind: T::KIND, busy: AtomicBool::new(false), value })).cast()
}

/// The memory of `handle`.
///
/// # Safety
/// `handle` is null, or a handle of any type that was not freed.
unsafe fn slot<T: Kind>(handle: *const T::Opaque) -> Result<*mut Slot<T>, Failure> {
    not_null(handle, T::NAME)?;
    let slot = handle.cast::<Slot<T>>().cast_mut();
    let wrong = || Failure::new(TW_ERR_HANDLE, format_args!("`{}` is a wrong handle", T::NAME));
    if !slot.is_aligned() {
        return Err(wrong());
    }
    // SAFETY: it is aligned, and each handle begins with this number.
    let kind = unsafe { slot.cast::<u64>().read() };
    if kind == T::KIND {
        Ok(slot)
    } else {
        Err(wrong())
    }
}

/// What `handle` refers to, for a type of which several threads use a handle at once.
///
/// # Safety
/// As [`slot`], and it is not freed while the result is used.
pub(crate) unsafe fn shared<'a, T: Kind + Sync>(
    handle: *const T::Opaque,
) -> Result<&'a T, Failure> {
    // SAFETY: the caller states it; the type was checked, and such a handle is never changed.
    Ok(unsafe { &(*slot::<T>(handle)?).value })
}

/// What a handle refers to, while this call uses it.
pub(crate) struct Used<'a, T> {
    value: &'a mut T,
    busy: &'a AtomicBool,
}

/// What `handle` refers to, for a type of which one thread uses a handle at a time.
///
/// # Safety
/// As [`shared`].
pub(crate) unsafe fn used<'a, T: Kind>(handle: *mut T::Opaque) -> Result<Used<'a, T>, Failure> {
    // SAFETY: the caller states it.
    let slot = unsafe { slot::<T>(handle) }?;
    // SAFETY: the type was checked. The value is borrowed only by the call that has set `busy`.
    let busy = unsafe { &(*slot).busy };
    if busy.swap(true, Ordering::Acquire) {
        return Err(Failure::new(TW_ERR_BUSY, format_args!("`{}` is in use", T::NAME)));
    }
    // SAFETY: as above.
    Ok(Used { value: unsafe { &mut (*slot).value }, busy })
}

impl<T> Deref for Used<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for Used<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value
    }
}

impl<T> Drop for Used<'_, T> {
    fn drop(&mut self) {
        self.busy.store(false, Ordering::Release);
    }
}

/// Frees the handle in a variable of the client and sets the variable to null. A null handle is
/// left as it is.
///
/// # Safety
/// `variable` is null, or has null or a handle of any type that was not freed.
pub(crate) unsafe fn free<T: Kind>(variable: *mut *mut T::Opaque) -> Done {
    not_null(variable, T::NAME)?;
    // SAFETY: it is not null, and the caller states that it has a handle.
    let handle = unsafe { variable.read_unaligned() };
    if handle.is_null() {
        return Ok(TW_OK);
    }
    // SAFETY: as above.
    let slot = unsafe { slot::<T>(handle) }?;
    // SAFETY: the type was checked. No call uses the handle, and none will, as the caller states.
    let owned = unsafe {
        if (*slot).busy.load(Ordering::Acquire) {
            return Err(Failure::new(TW_ERR_BUSY, format_args!("`{}` is in use", T::NAME)));
        }
        (*slot).kind = FREED;
        variable.write_unaligned(std::ptr::null_mut());
        Box::from_raw(slot)
    };
    drop(owned);
    Ok(TW_OK)
}
