//! Memory that will be wanted soon.

/// Asks the processor to bring `slice[index]` near, without waiting for it. Nothing happens where there is
/// no such item, or the processor has no such request.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    let Some(item) = slice.get(index) else { return };
    let item: *const T = item;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the address is that of an item, and the request reads nothing.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(item.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the address is that of an item, and the request reads nothing.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) item, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = item;
}

/// Asks the system for large pages behind the memory that `list` has, the part that is not used yet
/// included. What does not fill a large page stays as it is, and nothing happens where the system has no such
/// request.
#[cfg(feature = "map")]
#[allow(unsafe_code)]
pub fn huge<T>(list: &Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 2 << 20;
        let (start, len) = (list.as_ptr(), list.capacity() * size_of::<T>());
        let before = start.cast::<u8>().align_offset(PAGE);
        let Some(whole) = len.checked_sub(before).map(|rest| rest / PAGE * PAGE) else { return };
        if whole > 0 {
            // SAFETY: the pages are of one allocation, and the request changes nothing in them. Whether it
            // is granted does not matter.
            unsafe {
                let first = start.cast::<u8>().add(before);
                libc::madvise(first.cast_mut().cast(), whole, libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = list;
}

#[cfg(all(test, feature = "map"))]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_what_they_have() {
        for len in [0, 1, 3 << 20, 9 << 20] {
            let mut list = Vec::with_capacity(len);
            list.extend((0..len / 2).map(|n| n as u8));
            huge(&list);
            prefetch(&list, len);
            list.extend((len / 2..len).map(|n| n as u8));
            assert!(list.iter().zip(0..len).all(|(&item, n)| item == n as u8));
            assert_eq!(list.len(), len);
        }
    }
}
