//! The version, and the text of elements.

use std::ffi::{c_char, c_int, c_void};

use tracewright_opencsd::client::codes::{Error, protocol};
use tracewright_opencsd::client::element::TraceElement;
use tracewright_opencsd::client::packets::etmv3::Etmv3Packet;
use tracewright_opencsd::client::packets::etmv4::Etmv4Packet;
use tracewright_opencsd::client::packets::itm::ItmPacket;
use tracewright_opencsd::client::packets::ptm::PtmPacket;
use tracewright_opencsd::client::packets::stm::StmPacket;
use tracewright_opencsd::client::text::text;

use super::guard;
use crate::client_element::{of_client, payload};
use crate::custom;

/// The version of OpenCSD's interface that the library has.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_get_version() -> u32 {
    tracewright_opencsd::client::VERSION
}

/// The version as text.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_get_version_str() -> *const c_char {
    c"1.8.0".as_ptr()
}

/// Copies `text` and a zero into `buffer`, as far as it has room.
///
/// # Safety
/// `buffer` is null or has `size` bytes.
pub(super) unsafe fn copy(text: &str, buffer: *mut c_char, size: c_int) {
    if buffer.is_null() || size < 1 {
        return;
    }
    let len = text.len().min(size as usize - 1);
    // SAFETY: `buffer` has `size` bytes, more than `len`; the two do not overlap, because one is
    // the client's and the other this library's.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, len);
        buffer.add(len).write(0);
    }
}

/// Copies the text of an element.
///
/// # Safety
/// `element` is null or an element; `buffer` is null or has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_gen_elem_str(
    element: *const TraceElement,
    buffer: *mut c_char,
    size: c_int,
) -> Error {
    guard(Error::FAIL, || {
        if element.is_null() || buffer.is_null() || size < 2 {
            return Error::INVALID_PARAM_VAL;
        }
        // SAFETY: it is not null, and the caller states that it is an element.
        let element = unsafe { of_client(element) };
        let text = text(&element, |bits| payload(&element, bits));
        // SAFETY: the caller states that it has `size` bytes.
        unsafe { copy(&text, buffer, size) };
        Error::OK
    })
}

/// Makes an element without content.
///
/// # Safety
/// `element` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_gen_elem_init(element: *mut TraceElement, kind: u32) {
    guard((), || {
        if element.is_null() {
            return;
        }
        // SAFETY: it is not null, and the caller states that it can be written. The element of a
        // client that was compiled for a release before 1.4 ends at offset 88: nothing is written
        // from there on. The second half of the payload is the pointer of such a client.
        unsafe {
            (&raw mut (*element).kind).write_unaligned(kind);
            (&raw mut (*element).flags).write_unaligned(0);
            (&raw mut (*element).payload).cast::<[u64; 2]>().write_unaligned([0; 2]);
        }
    });
}

/// Copies the text of a packet.
///
/// # Safety
/// `packet` is null or a packet of the protocol; `buffer` is null or has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_pkt_str(
    number: u32,
    packet: *const c_void,
    buffer: *mut c_char,
    size: c_int,
) -> Error {
    guard(Error::FAIL, || {
        if packet.is_null() || buffer.is_null() || size < 2 {
            return Error::INVALID_PARAM_VAL;
        }
        // SAFETY: it is not null, and the caller states that it is a packet of the protocol. Every
        // part of one may have any value.
        let text = unsafe {
            match number {
                protocol::ETMV4I | protocol::ETE => {
                    packet.cast::<Etmv4Packet>().read_unaligned().text()
                }
                protocol::ETMV3 => packet.cast::<Etmv3Packet>().read_unaligned().text(),
                protocol::PTM => packet.cast::<PtmPacket>().read_unaligned().text(),
                protocol::ITM => packet.cast::<ItmPacket>().read_unaligned().text(),
                protocol::STM => packet.cast::<StmPacket>().read_unaligned().text(),
                protocol::CUSTOM..protocol::CUSTOM_END => {
                    return custom::packet_text(number, packet, buffer, size);
                }
                _ => String::new(),
            }
        };
        // SAFETY: the caller states that it has `size` bytes.
        unsafe { copy(&text, buffer, size) };
        if text.is_empty() { Error::NO_PROTOCOL } else { Error::OK }
    })
}

/// Copies the text of a packet of a client's protocol.
///
/// # Safety
/// `packet` is null or a packet of the protocol; `buffer` is null or has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_cust_protocol_to_str(
    number: u32,
    packet: *const c_void,
    buffer: *mut c_char,
    size: c_int,
) -> Error {
    guard(Error::FAIL, || {
        if packet.is_null() || buffer.is_null() || size < 2 {
            return Error::INVALID_PARAM_VAL;
        }
        // SAFETY: neither is null, and the caller states the rest.
        unsafe { custom::packet_text(number, packet, buffer, size) }
    })
}
