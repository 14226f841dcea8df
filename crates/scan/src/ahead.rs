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
