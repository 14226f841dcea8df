//! Elements behind the pointers of a client.

use std::ffi::c_void;
use std::ptr;

use tracewright_opencsd::client::element::{TraceElement, flag, kind};

/// Reads an element of a client. That of a client that was compiled for a release before 1.4
/// ends at offset 88, and has the pointer to its payload at 80. A payload is looked for only
/// where the element states that it has one, and has a kind whose payload the library reads:
/// STM packets.
///
/// # Safety
/// `element` is an element of a client of any release.
pub unsafe fn of_client(element: *const TraceElement) -> TraceElement {
    let mut own = TraceElement::new(0);
    let (from, to) = (element.cast::<u8>(), ptr::from_mut(&mut own).cast::<u8>());
    let both = std::mem::offset_of!(TraceElement, extended);
    // SAFETY: the caller states that it is an element, which has this length in all releases;
    // every part of one may have any value.
    unsafe { ptr::copy_nonoverlapping(from, to, both) };
    let [info, pointer] = own.payload.words;
    let has_payload = own.flags & flag::EXTENDED != 0 && info >> 32 & 0xff != 0;
    if own.kind == kind::SOFTWARE && has_payload {
        own.extended = match pointer as usize {
            // SAFETY: an STM packet with a payload has a pointer to it. Where it is not at 80
            // the element is that of a later release, which has it at 88.
            0 => unsafe { from.add(both).cast::<*const c_void>().read_unaligned() },
            pointer => ptr::with_exposed_provenance(pointer),
        };
    }
    own
}

/// Reads the payload of an element of this library or of a client.
pub fn payload(element: &TraceElement, bits: u32) -> u64 {
    let bytes = element.extended.cast::<u8>();
    if bytes.is_null() {
        return 0;
    }
    let mut value = [0; 8];
    let len = (bits as usize).div_ceil(8).min(value.len());
    // SAFETY: an element with a payload of `bits` bits points to that many, in whole bytes;
    // `value` has room for `len`.
    unsafe { std::ptr::copy_nonoverlapping(bytes, value.as_mut_ptr(), len) };
    let value = u64::from_le_bytes(value);
    if bits < 8 { value & ((1 << bits) - 1) } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only an STM packet that states that it has a payload has a pointer at 80 or 88.
    #[test]
    fn payloads_of_clients() {
        let value = 0x1234_5678_u32;
        let pointer = ptr::from_ref(&value).expose_provenance() as u64;
        let with_payload = u64::from(flag::EXTENDED) << 32;
        for (kind, flags, info, at_80, at_88, want) in [
            // A client of a release before 1.4, then one of a later release.
            (kind::SOFTWARE, with_payload, 32 << 32, pointer, 7, pointer),
            (kind::SOFTWARE, with_payload, 32 << 32, 0, pointer, pointer),
            // Behind an element without a payload is other memory of the client.
            (kind::SOFTWARE, 0, 32 << 32, 0, pointer, 0),
            (kind::SOFTWARE, with_payload, 0, 0, pointer, 0),
            (kind::EVENT, with_payload, 32 << 32, 0, pointer, 0),
            (kind::EVENT, u64::MAX, u64::MAX, 0, pointer, 0),
        ] {
            let words = [kind.into(), 0, 0, 0, 0, 0, 0, 0, flags, info, at_80, at_88];
            // SAFETY: the words have the size of the longest element, 96 bytes.
            let element = unsafe { of_client(words.as_ptr().cast()) };
            assert_eq!(element.extended.addr() as u64, want, "{kind} {flags:x} {info:x}");
        }
    }
}
