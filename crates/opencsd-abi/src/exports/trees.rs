//! Decode trees and decoders.

use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::ptr;

use tracewright_opencsd::client::codes::{Error, response};
use tracewright_opencsd::client::stats::DecodeStats;
use tracewright_opencsd::registers::DecoderRegisters;

use super::{code, guard, string, with_tree};
use crate::custom::{self, CustomDecoder};
use crate::outlet::{Client, ReceiveElement, Receiver};
use crate::packets::callbacks::{MonitorPacket, PacketCallbacks, SinkPacket};
use crate::registry;
use crate::tree::Tree;

/// Creates a decode tree.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_create_dcd_tree(source: u32, flags: u32) -> *mut c_void {
    guard(ptr::null_mut(), || match source {
        0 | 1 => Tree::new(source == 0, flags).map_or(ptr::null_mut(), registry::add),
        _ => ptr::null_mut(),
    })
}

/// Destroys a decode tree.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_destroy_dcd_tree(handle: *mut c_void) {
    guard((), || {
        let Some(tree) = registry::remove(handle) else { return };
        if let Ok(tree) = tree.try_lock()
            && let Some(printer) = tree.outlet.printer
        {
            crate::log::forget(printer);
        }
    });
}

/// A data path operation.
///
/// # Safety
/// `data` is null or has `size` bytes; `taken` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_dt_process_data(
    handle: *mut c_void,
    operation: u32,
    index: u32,
    size: u32,
    data: *const u8,
    taken: *mut u32,
) -> u32 {
    guard(response::FATAL_SYS_ERR, || {
        let is_data = operation == tracewright_opencsd::client::codes::operation::DATA;
        if is_data && (data.is_null() || size == 0 || taken.is_null()) {
            return match registry::with(handle, Error::BAD_HANDLE, |_| ()) {
                Ok(()) => response::FATAL_INVALID_PARAM,
                Err(_) => response::FATAL_NOT_INIT,
            };
        }
        let bytes = match is_data {
            // SAFETY: it is not null, and the caller states that it has `size` bytes.
            true => unsafe { std::slice::from_raw_parts(data, size as usize) },
            false => &[],
        };
        let done = registry::with(handle, Error::BAD_HANDLE, |tree| {
            tree.process(operation, index.into(), bytes)
        });
        let (answer, count) = match done {
            Ok(done) => done,
            Err(Error::BAD_HANDLE) => (response::FATAL_NOT_INIT, 0),
            Err(_) => (response::FATAL_INVALID_OP, 0),
        };
        if !taken.is_null() {
            // SAFETY: it is not null, and the caller states that it can be written.
            unsafe { taken.write(count as u32) };
        }
        answer
    })
}

/// Sets the function that receives elements. The last one is called for all decoders of the tree.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_dt_set_gen_elem_outfn(
    handle: *mut c_void,
    function: Option<ReceiveElement>,
    context: *const c_void,
) -> Error {
    with_tree(handle, Error::BAD_HANDLE, |tree| {
        tree.outlet.receiver = match function {
            Some(function) => Receiver::Client(Client { function, context }),
            None => Receiver::None,
        };
        Ok(())
    })
}

/// Prints elements as messages.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_dt_set_gen_elem_printer(handle: *mut c_void) -> Error {
    with_tree(handle, Error::NOT_INIT, |tree| {
        tree.outlet.receiver = Receiver::Printed;
        Ok(())
    })
}

/// Creates a decoder by its name.
///
/// # Safety
/// `name` is null or a string; `config` is null or the structure of the decoder; `id` is null or
/// can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_dt_create_decoder(
    handle: *mut c_void,
    name: *const c_char,
    flags: c_int,
    config: *const c_void,
    id: *mut c_uchar,
) -> Error {
    guard(Error::FAIL, || {
        // SAFETY: the caller states that it is null or a string.
        let Some(name) = (unsafe { string(name) }) else { return Error::INVALID_PARAM_VAL };
        code(registry::with(handle, Error::BAD_HANDLE, |tree| {
            let Some(builtin) = DecoderRegisters::named(name.to_bytes()) else {
                let factory = custom::named(name.to_bytes()).ok_or(Error::DCDREG_NAME_UNKNOWN)?;
                // SAFETY: the caller states that `config` is what the decoder takes, and that `id`
                // is null or can be written.
                return unsafe { create_custom(tree, factory, flags, config, id) };
            };
            if config.is_null() {
                return Err(Error::INVALID_PARAM_VAL);
            }
            let words: Vec<u32> = (0..builtin.words())
                // SAFETY: it is not null, and the caller states that it is the structure of the
                // decoder, which consists of this number of 32-bit words.
                .map(|n| unsafe { config.cast::<u32>().add(n).read_unaligned() })
                .collect();
            let made = tree.create(builtin, flags as u32, &words)?;
            if !id.is_null() {
                // SAFETY: it is not null, and the caller states that it can be written.
                unsafe { id.write(made) };
            }
            Ok(())
        }))
    })
}

/// Creates a decoder of the client.
///
/// # Safety
/// `config` is what the decoder takes; `id` is null or can be written.
unsafe fn create_custom(
    tree: &mut Tree,
    factory: custom::Factory,
    flags: c_int,
    config: *const c_void,
    id: *mut c_uchar,
) -> Result<(), Error> {
    // SAFETY: the caller states it.
    let own = unsafe { CustomDecoder::id_of(&factory, config) }?;
    tree.check_id(own)?;
    // SAFETY: the caller states it.
    tree.add(unsafe { CustomDecoder::new(own, factory, flags, config) }?)?;
    if !id.is_null() {
        // SAFETY: it is not null, and the caller states that it can be written.
        unsafe { id.write(own) };
    }
    Ok(())
}

/// Registers a decoder of the client.
///
/// # Safety
/// `name` is null or a string; `factory` is null or the structure with the functions of a decoder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_register_custom_decoder(
    name: *const c_char,
    factory: *mut custom::Factory,
) -> Error {
    guard(Error::FAIL, || {
        // SAFETY: the caller states that it is null or a string.
        let Some(name) = (unsafe { string(name) }) else { return Error::INVALID_PARAM_VAL };
        // SAFETY: the caller states that it is null or the structure.
        let Some(factory) = (unsafe { factory.as_mut() }) else { return Error::INVALID_PARAM_VAL };
        match custom::register(name.to_bytes(), *factory) {
            Ok(number) => {
                factory.set_protocol(number);
                Error::OK
            }
            Err(error) => error,
        }
    })
}

/// Forgets the decoders that clients registered.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_deregister_decoders() -> Error {
    guard(Error::FAIL, || {
        custom::deregister();
        Error::OK
    })
}

/// Sets a function that receives the packets of a source: its sink (0) or its monitor (1).
///
/// # Safety
/// `function` is null or a function of the type that `kind` states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_dt_attach_packet_callback(
    handle: *mut c_void,
    id: c_uchar,
    kind: u32,
    function: *mut c_void,
    context: *const c_void,
) -> Error {
    guard(Error::FAIL, || {
        if function.is_null() || kind > 1 {
            return Error::INVALID_PARAM_VAL;
        }
        let attach = |callbacks: &mut PacketCallbacks| match kind {
            0 => {
                // SAFETY: it is not null, and the caller states that it is of this type.
                let sink = unsafe { std::mem::transmute::<*mut c_void, SinkPacket>(function) };
                callbacks.set_sink(sink, context)
            }
            _ => {
                // SAFETY: as above.
                let monitor =
                    unsafe { std::mem::transmute::<*mut c_void, MonitorPacket>(function) };
                callbacks.set_monitor(monitor, context)
            }
        };
        code(registry::with(handle, Error::BAD_HANDLE, |tree| {
            let done = if let Some(decoder) = tree.decoder(id) {
                if !decoder.outputs.has_structures() {
                    return Err(Error::NO_PROTOCOL);
                }
                if kind == 0 && decoder.full || decoder.outputs.prints(kind == 1) {
                    return Err(Error::ATTACH_TOO_MANY);
                }
                attach(&mut decoder.outputs.callbacks)
            } else {
                tree.custom(id).ok_or(Error::INVALID_ID)?.set_packets(attach)
            };
            if done == Error::OK { Ok(()) } else { Err(done) }
        }))
    })
}

/// Removes a decoder.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_dt_remove_decoder(handle: *mut c_void, id: c_uchar) -> Error {
    with_tree(handle, Error::BAD_HANDLE, |tree| tree.remove(id))
}

/// Prints packets as messages.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_dt_set_pkt_protocol_printer(
    handle: *mut c_void,
    id: u8,
    monitor: c_int,
) -> Error {
    with_tree(handle, Error::NOT_INIT, |tree| {
        let decoder = tree.decoder(id).ok_or(Error::INVALID_PARAM_VAL)?;
        if monitor == 0 && decoder.full {
            return Err(Error::ATTACH_TOO_MANY);
        }
        decoder.outputs.print(id, monitor != 0)
    })
}

/// Prints frames as messages.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_dt_set_raw_frame_printer(handle: *mut c_void, flags: c_int) -> Error {
    with_tree(handle, Error::NOT_INIT, |tree| tree.print_frames(flags as u32))
}

/// The statistics of a decoder. They are valid until the decoder is removed.
///
/// # Safety
/// `stats` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ocsd_dt_get_decode_stats(
    handle: *mut c_void,
    id: c_uchar,
    stats: *mut *mut DecodeStats,
) -> Error {
    guard(Error::FAIL, || {
        if stats.is_null() {
            return Error::INVALID_PARAM_VAL;
        }
        code(registry::with(handle, Error::BAD_HANDLE, |tree| {
            let own = ptr::from_mut(tree.stats(id).ok_or(Error::INVALID_PARAM_VAL)?);
            // SAFETY: it is not null, and the caller states that it can be written.
            unsafe { stats.write(own) };
            Ok(())
        }))
    })
}

/// Sets the statistics of a decoder to zero.
#[unsafe(no_mangle)]
pub extern "C" fn ocsd_dt_reset_decode_stats(handle: *mut c_void, id: c_uchar) -> Error {
    with_tree(handle, Error::BAD_HANDLE, |tree| tree.reset_stats(id))
}
