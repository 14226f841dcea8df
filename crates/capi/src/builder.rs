//! A capture that is made in memory.

use std::ffi::c_char;
use std::sync::Arc;

use tracewright::capture::{Buffer, BufferRef, Core, Dump, Format, Register, Source};
use tracewright::decode::parameters;
use tracewright::Capture;

use crate::capture::TwOpenOptions;
use crate::error::TwError;
use crate::guard::guard;
use crate::handle::{free, make, used, Kind};
use crate::opened::{Shared, TwCapture};
use crate::plain;
use crate::status::{Failure, TwStatus, TW_ERR_OPEN, TW_ERR_ORDER, TW_OK};

/// A capture that is being made.
pub struct TwBuilder(());

/// What the handle refers to.
#[derive(Default)]
struct Made(Capture);

impl Kind for Made {
    type Opaque = TwBuilder;
    const NAME: &'static str = "builder";
}

impl Made {
    /// The source that was added last.
    fn source(&mut self) -> Result<&mut Source, Failure> {
        let missing = || Failure::new(TW_ERR_ORDER, "tw_builder_source must be called before");
        self.0.sources.last_mut().ok_or_else(missing)
    }
}

/// Makes an empty capture.
#[no_mangle]
pub unsafe extern "C" fn tw_builder_new(
    builder: *mut *mut TwBuilder,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(builder, "builder")?;
            plain::give(builder, make(Made::default()));
            Ok(TW_OK)
        })
    }
}

/// Frees it.
#[no_mangle]
pub unsafe extern "C" fn tw_builder_free(
    builder: *mut *mut TwBuilder,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe { guard(error, || free::<Made>(builder)) }
}

/// Adds a trace buffer with a copy of `length` bytes. `format`: `coresight` for formatter frames,
/// `source_data` for the bytes of one source, `dstream_coresight`, `encapsulated` for messages of
/// RISC-V.
#[no_mangle]
pub unsafe extern "C" fn tw_builder_buffer(
    builder: *mut TwBuilder,
    name: *const c_char,
    format: *const c_char,
    bytes: *const u8,
    length: usize,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let mut made = used::<Made>(builder)?;
            let name = plain::string(name, "name")?;
            let word = plain::string(format, "format")?;
            let format = Format::from_word(word);
            if matches!(format, Format::Other(_)) {
                return Err(Failure::argument(format_args!("`{word}` is no format of a buffer")));
            }
            let bytes = plain::copy(plain::array(bytes, length, "bytes")?)?;
            made.0.buffers.push(Buffer::new(name, format, bytes));
            Ok(TW_OK)
        })
    }
}

/// Adds a source of the last buffer: a trace unit of the type `device_type`, such as `ETM4.2`.
#[no_mangle]
pub unsafe extern "C" fn tw_builder_source(
    builder: *mut TwBuilder,
    name: *const c_char,
    device_type: *const c_char,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let mut made = used::<Made>(builder)?;
            let name = plain::string(name, "name")?.to_owned();
            let device_type = plain::string(device_type, "device_type")?.to_owned();
            let missing = || Failure::new(TW_ERR_ORDER, "tw_builder_buffer must be called before");
            let buffer = made.0.buffers.len().checked_sub(1).ok_or_else(missing)?;
            let buffers = vec![BufferRef { buffer, stream: None }];
            made.0.sources.push(Source { name, device_type, buffers, ..Source::default() });
            Ok(TW_OK)
        })
    }
}

/// Sets a register of the last source, such as `TRCTRACEIDR`.
#[no_mangle]
pub unsafe extern "C" fn tw_builder_register(
    builder: *mut TwBuilder,
    name: *const c_char,
    value: u64,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let mut made = used::<Made>(builder)?;
            let name = plain::string(name, "name")?.to_owned();
            let registers = &mut made.source()?.registers.0;
            registers.retain(|register| !register.name.eq_ignore_ascii_case(&name));
            registers.push(Register { name, id: None, size: None, value: value.into() });
            Ok(TW_OK)
        })
    }
}

/// States the type of the core that the last source traces, such as `Cortex-A53`.
#[no_mangle]
pub unsafe extern "C" fn tw_builder_core(
    builder: *mut TwBuilder,
    core_type: *const c_char,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let mut made = used::<Made>(builder)?;
            let device_type = plain::string(core_type, "core_type")?.to_owned();
            let number = made.0.cores.len();
            made.source()?.core = Some(number);
            let name = format!("cpu_{number}");
            made.0.cores.push(Core { name, device_type, ..Core::default() });
            Ok(TW_OK)
        })
    }
}

/// Adds program memory for all sources: a copy of `length` bytes, of which the first one is at
/// `address`.
#[no_mangle]
pub unsafe extern "C" fn tw_builder_memory(
    builder: *mut TwBuilder,
    address: u64,
    bytes: *const u8,
    length: usize,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let mut made = used::<Made>(builder)?;
            let bytes = plain::copy(plain::array(bytes, length, "bytes")?)?;
            let name = format!("memory_{}", made.0.memory.len());
            made.0.memory.push(Dump::new(name, address, bytes));
            Ok(TW_OK)
        })
    }
}

/// Opens what was made, and frees the builder if that succeeds. `options` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn tw_builder_open(
    builder: *mut *mut TwBuilder,
    options: *const TwOpenOptions,
    capture: *mut *mut TwCapture,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(capture, "capture")?;
            plain::give(capture, std::ptr::null_mut());
            plain::not_null(builder, "builder")?;
            let made = used::<Made>(builder.read_unaligned())?;
            let options = plain::read_or_zero(options, "options")?;
            let mut own = made.0.clone();
            drop(made);
            own.protocols = options.registry()?;
            parameters::resolve(&mut own).map_err(|error| Failure::new(TW_ERR_OPEN, error))?;
            let opened = options.open(own)?;
            free::<Made>(builder)?;
            plain::give(capture, make(Shared(Arc::new(opened))));
            Ok(TW_OK)
        })
    }
}
