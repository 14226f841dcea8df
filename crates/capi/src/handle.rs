//! Handles.
//!
//! A handle is the address of its memory, and all handles are in a table. A call looks its handle
//! up, and the memory stays until the last call that uses it has ended, also where another thread
//! frees the handle at the same time.

use std::any::Any;
use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::plain::not_null;
use crate::status::{Done, Failure, TW_ERR_BUSY, TW_ERR_HANDLE, TW_OK};

type Handles = BTreeMap<usize, Arc<dyn Any + Send + Sync>>;

/// All handles, by address.
static HANDLES: RwLock<Handles> = RwLock::new(BTreeMap::new());

/// What a handle refers to.
pub(crate) trait Kind: Send + 'static {
    /// The type that the client sees.
    type Opaque;
    /// The name of the argument.
    const NAME: &'static str;
}

/// The memory of a handle.
struct Slot<T> {
    busy: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `used` borrows the value in one thread at a time, and `shared` is for types that are
// `Sync`.
unsafe impl<T: Send> Sync for Slot<T> {}

/// Makes a handle.
pub(crate) fn make<T: Kind>(value: T) -> *mut T::Opaque {
    let slot = Arc::new(Slot { busy: AtomicBool::new(false), value: UnsafeCell::new(value) });
    let handle: *mut T::Opaque = Arc::as_ptr(&slot).cast_mut().cast();
    HANDLES.write().unwrap_or_else(PoisonError::into_inner).insert(handle as usize, slot);
    handle
}

/// The memory of `handle`, which may be any pointer.
fn slot<T: Kind>(handles: &Handles, handle: *const T::Opaque) -> Result<Arc<Slot<T>>, Failure> {
    not_null(handle, T::NAME)?;
    let slot = handles.get(&(handle as usize)).cloned();
    let slot = slot.and_then(|slot| Arc::downcast::<Slot<T>>(slot).ok());
    let wrong = || Failure::new(TW_ERR_HANDLE, format_args!("`{}` is a wrong handle", T::NAME));
    slot.ok_or_else(wrong)
}

fn find<T: Kind>(handle: *const T::Opaque) -> Result<Arc<Slot<T>>, Failure> {
    slot(&HANDLES.read().unwrap_or_else(PoisonError::into_inner), handle)
}

/// What a handle refers to, for a type of which several threads use a handle at once.
pub(crate) struct InUse<T>(Arc<Slot<T>>);

impl<T> Deref for InUse<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the value of such a type is never changed: `used` is not called for it.
        unsafe { &*self.0.value.get() }
    }
}

/// What `handle` refers to, for a type of which several threads use a handle at once.
///
/// # Safety
/// [`used`] is not called for handles of the type.
pub(crate) unsafe fn shared<T: Kind + Sync>(handle: *const T::Opaque) -> Result<InUse<T>, Failure> {
    find(handle).map(InUse)
}

/// What a handle refers to, while this call uses it.
pub(crate) struct Used<T>(Arc<Slot<T>>);

/// What `handle` refers to, for a type of which one thread uses a handle at a time.
///
/// # Safety
/// [`shared`] is not called for handles of the type.
pub(crate) unsafe fn used<T: Kind>(handle: *mut T::Opaque) -> Result<Used<T>, Failure> {
    let slot = find::<T>(handle)?;
    if slot.busy.swap(true, Ordering::Acquire) {
        return Err(Failure::new(TW_ERR_BUSY, format_args!("`{}` is in use", T::NAME)));
    }
    Ok(Used(slot))
}

impl<T> Deref for Used<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the value is borrowed only by the call that has set `busy`.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Used<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Used<T> {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::Release);
    }
}

/// Frees the handle in a variable of the client and sets the variable to null. A null handle is
/// left as it is. Calls of other threads that use the handle end as they would have.
///
/// # Safety
/// `variable` is null, or points to a pointer.
pub(crate) unsafe fn free<T: Kind>(variable: *mut *mut T::Opaque) -> Done {
    not_null(variable, T::NAME)?;
    // SAFETY: it is not null, and the caller states that it points to a pointer.
    let handle = unsafe { variable.read_unaligned() };
    if handle.is_null() {
        return Ok(TW_OK);
    }
    let freed = {
        let mut handles = HANDLES.write().unwrap_or_else(PoisonError::into_inner);
        if slot::<T>(&handles, handle)?.busy.load(Ordering::Acquire) {
            return Err(Failure::new(TW_ERR_BUSY, format_args!("`{}` is in use", T::NAME)));
        }
        handles.remove(&(handle as usize))
    };
    // SAFETY: as above.
    unsafe { variable.write_unaligned(std::ptr::null_mut()) };
    drop(freed);
    Ok(TW_OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Text(String);

    impl Kind for Text {
        type Opaque = u8;
        const NAME: &'static str = "text";
    }

    struct Number(u32);

    impl Kind for Number {
        type Opaque = u8;
        const NAME: &'static str = "number";
    }

    fn code<T>(result: Result<T, Failure>) -> i32 {
        result.map_or_else(|failure| failure.code, |_| TW_OK)
    }

    /// A thread frees handles while others use them: each use is whole, or is refused.
    #[test]
    fn a_handle_is_freed_beside_calls() {
        for round in 0..200 {
            let text = round.to_string().repeat(1000);
            let mut handle = make(Text(text.clone()));
            let address = handle as usize;
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        for _ in 0..20 {
                            // SAFETY: such handles are shared only.
                            match unsafe { shared::<Text>(address as *const u8) } {
                                Ok(own) => assert!((*own).0 == text),
                                Err(failure) => assert_eq!(failure.code, TW_ERR_HANDLE),
                            }
                        }
                    });
                }
                // SAFETY: it points to a pointer.
                assert_eq!(code(unsafe { free::<Text>(&mut handle) }), TW_OK);
            });
            assert!(handle.is_null());
        }
    }

    #[test]
    fn a_handle_in_use_is_not_freed() {
        let mut handle = make(Number(5));
        // SAFETY: such handles are used by one call at a time, and the variables are pointers.
        unsafe {
            let own = used::<Number>(handle).ok().unwrap();
            assert_eq!((*own).0, 5);
            assert_eq!(code(used::<Number>(handle)), TW_ERR_BUSY);
            assert_eq!(code(free::<Number>(&mut handle)), TW_ERR_BUSY);
            drop(own);
            assert_eq!(code(free::<Text>(&mut handle)), TW_ERR_HANDLE);
            let mut again = handle;
            assert_eq!(code(free::<Number>(&mut handle)), TW_OK);
            assert_eq!(code(free::<Number>(&mut again)), TW_ERR_HANDLE);
            assert_eq!(code(used::<Number>(7 as *mut u8)), TW_ERR_HANDLE);
        }
    }
}
