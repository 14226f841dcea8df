//! Hints to the processor and to the operating system about memory.

/// Prefetches `slice[index]` into the cache, without waiting. The call has no effect if the index
/// is out of range or the architecture has no prefetch instruction here.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    let Some(item) = slice.get(index) else { return };
    let item: *const T = item;
    // Miri has no prefetch instruction.
    #[cfg(miri)]
    let _ = item;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: `item` points to an item of the slice, and a prefetch does not read it.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(item.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: `item` points to an item of the slice, and a prefetch does not read it.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) item, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = item;
}

/// Requests large pages for the allocation of `list`, unused capacity included. Memory that does
/// not fill a large page is unaffected. The call has no effect on other systems than
/// Linux.
#[cfg(feature = "large-pages")]
#[allow(unsafe_code)]
pub fn huge<T>(list: &Vec<T>) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        const PAGE: usize = 2 << 20;
        let (start, len) = (list.as_ptr(), list.capacity() * size_of::<T>());
        let before = start.cast::<u8>().align_offset(PAGE);
        let Some(whole) = len.checked_sub(before).map(|rest| rest / PAGE * PAGE) else { return };
        if whole > 0 {
            // SAFETY: the pages lie in one allocation, and MADV_HUGEPAGE does not change their
            // content. The result is not needed: a refusal has no effect.
            unsafe {
                let first = start.cast::<u8>().add(before);
                libc::madvise(first.cast_mut().cast(), whole, libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = list;
}

#[cfg(all(test, feature = "large-pages"))]
mod tests {
    use super::*;

    #[test]
    fn hints_preserve_the_content_of_lists() {
        let sizes: &[usize] = if cfg!(miri) { &[0, 1, 4096] } else { &[0, 1, 3 << 20, 9 << 20] };
        for &len in sizes {
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
