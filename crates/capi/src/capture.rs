//! A capture that is open.

use std::ffi::c_char;
use std::sync::Arc;

use tracewright::capture::Access;
use tracewright::decode::Options;
use tracewright::image::OpcodeCheck;
use tracewright::protocols::Registry;
use tracewright::ImageSource;

use crate::error::TwError;
use crate::guard::guard;
use crate::handle::{free, make, shared};
use crate::opened::{Opened, Shared, TwCapture};
use crate::plain::{self, Plain};
use crate::protocol::{self, TwProtocol};
use crate::status::{Failure, TwStatus, TW_ERR_OPEN, TW_OK};

/// An undefined opcode means that the program image is wrong.
pub const TW_OPEN_CHECK_OPCODES: u32 = 1;
/// The first byte of an ITM begins a packet.
pub const TW_OPEN_ASSUME_SYNCED: u32 = 4;
/// The range up to the address of a Source Address packet (ETE) is split at each waypoint, instead
/// of one range in which branches that were not taken are not reported.
pub const TW_OPEN_SPLIT_SOURCE_RANGES: u32 = 16;

/// How a capture is opened.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TwOpenOptions {
    /// Size of the structure in bytes.
    pub size: u32,
    /// `TW_OPEN_*`.
    pub flags: u32,
    /// Further program memory: files in ELF, Intel HEX, S-records or UF2, or raw images as
    /// `FILE@ADDRESS`. For `perf.data` it is that of all code, or of process N with `,pid=N` behind
    /// it.
    pub images: *const *const c_char,
    /// The number of images.
    pub image_count: usize,
    /// The most instructions that one byte of a packet can stand for; 0 for the usual limit.
    pub max_expansion: u32,
    /// 0.
    pub reserved: u32,
    /// Protocols of the client, whose names come before those of the library. What is copied of
    /// them stays in memory until the process ends.
    pub protocols: *const *const TwProtocol,
    /// Their number.
    pub protocol_count: usize,
}

// SAFETY: integers and raw pointers, and the size is first.
unsafe impl Plain for TwOpenOptions {}

/// What a capture has.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TwInfo {
    /// Size of the structure in bytes.
    pub size: u32,
    /// Trace buffers.
    pub buffers: u32,
    /// Sources that can be decoded.
    pub sources: u32,
    /// Sources that cannot. The notes have the reasons.
    pub left_out: u32,
    /// Notes: what was odd in the files of the capture.
    pub notes: u32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: integers only, and the size is first.
unsafe impl Plain for TwInfo {}

/// A source: a trace unit whose trace can be decoded.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TwSource {
    /// Size of the structure in bytes.
    pub size: u32,
    /// `TW_KNOWN_NUMBER` where the source has a trace ID.
    pub known: u32,
    /// Number of its trace buffer.
    pub buffer: u32,
    /// Trace ID, or number in messages.
    pub trace_id: u32,
    /// Its name.
    pub name: *const c_char,
    /// Its protocol.
    pub protocol: *const c_char,
}

// SAFETY: integers and raw pointers, and the size is first.
unsafe impl Plain for TwSource {}

impl TwOpenOptions {
    /// The options of decoding.
    pub(crate) fn decoding(&self) -> Result<Options, Failure> {
        let all = TW_OPEN_CHECK_OPCODES | TW_OPEN_ASSUME_SYNCED | TW_OPEN_SPLIT_SOURCE_RANGES;
        if self.flags & !all != 0 || self.reserved != 0 {
            return Err(Failure::argument("`options` has unknown flags"));
        }
        let mut options = Options {
            split_source_ranges: self.flags & TW_OPEN_SPLIT_SOURCE_RANGES != 0,
            assume_synced: self.flags & TW_OPEN_ASSUME_SYNCED != 0,
            ..Options::default()
        };
        if self.flags & TW_OPEN_CHECK_OPCODES != 0 {
            options.check_opcodes = OpcodeCheck::Undefined;
        }
        if self.max_expansion != 0 {
            options.max_expansion = self.max_expansion;
        }
        Ok(options)
    }

    /// The protocols by which devices are decoded.
    ///
    /// # Safety
    /// `protocols` has `protocol_count` structures.
    pub(crate) unsafe fn registry(&self) -> Result<Registry, Failure> {
        let mut registry = Registry::default();
        // SAFETY: the caller states it.
        for own in unsafe { plain::array(self.protocols, self.protocol_count, "protocols") }? {
            // SAFETY: as above.
            registry = registry.with(unsafe { protocol::read(*own) }?);
        }
        Ok(registry)
    }

    /// Adds the images to `capture`, and prepares it.
    ///
    /// # Safety
    /// `images` has `image_count` strings.
    pub(crate) unsafe fn open(&self, mut capture: tracewright::Capture) -> Result<Opened, Failure> {
        let options = self.decoding()?;
        // SAFETY: the caller states it.
        for image in unsafe { plain::array(self.images, self.image_count, "images") }? {
            // SAFETY: as above.
            let image = unsafe { plain::string(*image, "images") }?;
            let added = ImageSource::parse(image).and_then(|image| capture.add_image(&image));
            added.map_err(|error| Failure::new(TW_ERR_OPEN, error))?;
        }
        Ok(Opened::new(capture, options))
    }
}

/// Opens the capture at `path`: the folder of an Arm snapshot, a folder with a `capture.toml`, a
/// `perf.data` file or folder, a file with the cycles of a trace port. `options` may be NULL.
/// `capture` receives the handle, or NULL.
#[no_mangle]
pub unsafe extern "C" fn tw_open(
    path: *const c_char,
    options: *const TwOpenOptions,
    capture: *mut *mut TwCapture,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(capture, "capture")?;
            plain::give(capture, std::ptr::null_mut());
            let path = plain::path(path, "path")?;
            let options = plain::read_or_zero(options, "options")?;
            let (access, registry) = (Access::default(), options.registry()?);
            let read = tracewright::read_capture_by(path, access, &registry);
            let read = read.map_err(|error| Failure::new(TW_ERR_OPEN, error))?;
            plain::give(capture, make(Shared(Arc::new(options.open(read)?))));
            Ok(TW_OK)
        })
    }
}

/// Frees a capture. What was made from it stays valid.
#[no_mangle]
pub unsafe extern "C" fn tw_capture_free(
    capture: *mut *mut TwCapture,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe { guard(error, || free::<Shared>(capture)) }
}

/// The numbers of what a capture has.
#[no_mangle]
pub unsafe extern "C" fn tw_capture_info(
    capture: *const TwCapture,
    info: *mut TwInfo,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let capture = shared::<Shared>(capture)?;
            let Shared(opened) = &*capture;
            let own = TwInfo {
                buffers: opened.buffers.len() as u32,
                sources: opened.trace.sources().len() as u32,
                left_out: opened.left_out() as u32,
                notes: opened.notes.len() as u32,
                ..plain::zeroed()
            };
            plain::write(info, own, "info")?;
            Ok(TW_OK)
        })
    }
}

/// Source `number`, from 0.
#[no_mangle]
pub unsafe extern "C" fn tw_capture_source(
    capture: *const TwCapture,
    number: usize,
    source: *mut TwSource,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let capture = shared::<Shared>(capture)?;
            let Shared(opened) = &*capture;
            let count = opened.trace.sources().len();
            let range = || Failure::range("source", number, count);
            let own = opened.trace.sources().get(number).ok_or_else(range)?;
            let (name, protocol) = opened.texts.get(number).ok_or_else(range)?;
            let mut plans =
                opened.plans().filter(|(plan, first)| number < first + plan.sources.len());
            let (plan, _) = plans.next().ok_or_else(range)?;
            let own = TwSource {
                known: if own.id.is_some() { crate::element::TW_KNOWN_NUMBER } else { 0 },
                buffer: plan.buffer as u32,
                trace_id: own.id.map_or(0, u32::from),
                name: name.as_ptr(),
                protocol: protocol.as_ptr(),
                ..plain::zeroed()
            };
            plain::write(source, own, "source")?;
            Ok(TW_OK)
        })
    }
}

/// Name and length in bytes of trace buffer `number`, from 0. `name` and `length` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn tw_capture_buffer(
    capture: *const TwCapture,
    number: usize,
    name: *mut *const c_char,
    length: *mut u64,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let capture = shared::<Shared>(capture)?;
            let Shared(opened) = &*capture;
            let count = opened.buffers.len();
            let own = opened.buffers.get(number).zip(opened.trace.capture().buffers.get(number));
            let (own, buffer) = own.ok_or_else(|| Failure::range("buffer", number, count))?;
            plain::give(name, own.as_ptr());
            plain::give(length, buffer.len());
            Ok(TW_OK)
        })
    }
}

/// Note `number`, from 0.
#[no_mangle]
pub unsafe extern "C" fn tw_capture_note(
    capture: *const TwCapture,
    number: usize,
    text: *mut *const c_char,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(text, "text")?;
            let capture = shared::<Shared>(capture)?;
            let Shared(opened) = &*capture;
            let count = opened.notes.len();
            let own = opened.notes.get(number);
            plain::give(text, own.ok_or_else(|| Failure::range("note", number, count))?.as_ptr());
            Ok(TW_OK)
        })
    }
}

/// The symbol of an address in the program of a source, `main` or `main+0x14`, as text in the
/// `room` bytes at `text`. `needed` receives the number of bytes that all of it takes, with the
/// zero; 0 where no symbol has the address. `needed` may be NULL; `text` may be, where `room` is 0.
#[no_mangle]
pub unsafe extern "C" fn tw_symbol(
    capture: *const TwCapture,
    source: usize,
    address: u64,
    text: *mut c_char,
    room: usize,
    needed: *mut usize,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let capture = shared::<Shared>(capture)?;
            let Shared(opened) = &*capture;
            let count = opened.trace.sources().len();
            let source = opened
                .trace
                .sources()
                .get(source)
                .ok_or_else(|| Failure::range("source", source, count))?;
            let symbol = source.symbol_name(address);
            let length =
                plain::give_text(text, room, symbol.as_deref().unwrap_or_default(), "text")?;
            plain::give(needed, if symbol.is_some() { length } else { 0 });
            Ok(TW_OK)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use tracewright_testing::shared;

    use super::*;

    /// An image is the code of a `perf.data` file, whose own files are not found.
    #[test]
    fn images_are_used_for_perf_data() {
        let Some(data) = shared("captures/simpleperf-etm/perf_etm.data") else { return };
        let program = data.with_file_name("etm_test_loop");
        let folder = std::env::temp_dir().join(format!("tracewright-capi-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let moved = folder.join("perf.data");
        std::fs::copy(data, &moved).unwrap();
        // The mapping at 0x582b2b1000 has offset 0x1000 of the file.
        for (image, misses) in [
            (None, true),
            (Some(format!("{}@0x582b2b0000", program.display())), false),
            (Some(format!("{}@0x582b2b0000,pid=17235", program.display())), false),
            (Some(format!("{}@0x582b2b0000,pid=1", program.display())), true),
        ] {
            let texts: Vec<_> =
                image.iter().map(|text| CString::new(text.as_str()).unwrap()).collect();
            let images: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
            let options = TwOpenOptions {
                images: images.as_ptr(),
                image_count: images.len(),
                ..plain::zeroed()
            };
            let capture = tracewright::read_capture(&moved).unwrap();
            // SAFETY: `images` has the strings.
            let opened = unsafe { options.open(capture) }.ok().unwrap();
            let memory = &opened.trace.sources().last().unwrap().image;
            let run = memory.run(memory.view(tracewright::base::Space::ANY), 0x582b_2b10_00);
            assert_eq!(run.is_empty(), misses, "{image:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn ranges_are_split_by_wish_only() {
        for (flags, split) in
            [(0, false), (TW_OPEN_ASSUME_SYNCED, false), (TW_OPEN_SPLIT_SOURCE_RANGES, true)]
        {
            let options = TwOpenOptions {
                size: size_of::<TwOpenOptions>() as u32,
                flags,
                images: std::ptr::null(),
                image_count: 0,
                ..plain::zeroed()
            };
            let decoding = options.decoding().unwrap_or_else(|_| panic!("flags {flags}"));
            assert_eq!(decoding.split_source_ranges, split, "flags {flags}");
        }
    }
}
