//! Indexes.

use std::ffi::c_char;
use std::sync::Arc;

use tracewright::capture::{read_file, Bytes, Growing};
use tracewright::index::{Index, Making, Shape};

use crate::error::TwError;
use crate::guard::guard;
use crate::handle::{free, make, shared, Kind};
use crate::opened::{Opened, Shared, TwCapture};
use crate::plain::{self, Plain};
use crate::status::{Failure, TwStatus, TW_ERR_INDEX, TW_ERR_READ, TW_ERR_WRITE, TW_OK};

/// An index of a capture. Several threads may use it at once.
pub struct TwIndex(());

/// With a record of each occurrence, so that more queries are answered by the index alone.
pub const TW_INDEX_FULL: u32 = 1;

/// How an index is made.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TwIndexOptions {
    /// Size of the structure in bytes.
    pub size: u32,
    /// `TW_INDEX_*`.
    pub flags: u32,
    /// Threads that decode; 0 stands for one for each core.
    pub threads: u32,
    /// 0.
    pub reserved: u32,
    /// The length of a segment in bytes of trace, at most 2^30; 0 for the usual one.
    pub segment: u64,
}

// SAFETY: integers only, and the size is first.
unsafe impl Plain for TwIndexOptions {}

/// What the handle refers to.
pub(crate) struct Indexed {
    pub(crate) opened: Arc<Opened>,
    pub(crate) index: Arc<Index>,
    bytes: Bytes,
}

impl Kind for Indexed {
    type Opaque = TwIndex;
    const NAME: &'static str = "index";
}

impl Indexed {
    /// The index in `bytes`, if it is one of `opened`.
    fn read(opened: &Arc<Opened>, bytes: Bytes) -> Result<Indexed, Failure> {
        let index = Index::read(bytes.clone()).and_then(|index| {
            opened.trace.subject().check(&index, opened.trace.plans())?;
            Ok(index)
        });
        let index = index.map_err(|error| Failure::new(TW_ERR_INDEX, error))?;
        Ok(Indexed { opened: Arc::clone(opened), index: Arc::new(index), bytes })
    }

    /// Makes the index of `opened`.
    fn make(opened: &Arc<Opened>, options: &TwIndexOptions) -> Result<Indexed, Failure> {
        if options.flags & !TW_INDEX_FULL != 0 || options.reserved != 0 || options.threads > 4096 {
            return Err(Failure::argument("`options` has unknown flags or too many threads"));
        }
        if options.segment > Shape::LONGEST {
            let (segment, most) = (options.segment, Shape::LONGEST);
            return Err(Failure::argument(format_args!("segment {segment}, at most {most}")));
        }
        opened.decodable(true)?;
        let jobs = match options.threads {
            0 => tracewright::decode::Jobs::all().count,
            threads => threads as usize,
        };
        let shape = match options.segment {
            0 => Shape::default(),
            segment => Shape::with_segment(segment),
        };
        let full = options.flags & TW_INDEX_FULL != 0;
        let making = Making { shape, full, jobs, view: true, ..Making::default() };
        let mut file = Vec::new();
        let done = opened.trace.subject().make(opened.trace.plans(), &making, |bytes, _| {
            file.extend_from_slice(bytes);
            Ok(true)
        });
        done.map_err(|error| Failure::new(TW_ERR_READ, error))?;
        Indexed::read(opened, Bytes::from(file))
    }
}

/// Makes an index of a capture, in memory. `options` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn tw_index_new(
    capture: *const TwCapture,
    options: *const TwIndexOptions,
    index: *mut *mut TwIndex,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(index, "index")?;
            plain::give(index, std::ptr::null_mut());
            let capture = shared::<Shared>(capture)?;
            let Shared(opened) = &*capture;
            let opened = Arc::clone(opened);
            let options = plain::read_or_zero(options, "options")?;
            plain::give(index, make(Indexed::make(&opened, &options)?));
            Ok(TW_OK)
        })
    }
}

/// Opens the index of a capture in the file `path`, as `tw_index_save` and `tracewright index`
/// write it.
#[no_mangle]
pub unsafe extern "C" fn tw_index_open(
    capture: *const TwCapture,
    path: *const c_char,
    index: *mut *mut TwIndex,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(index, "index")?;
            plain::give(index, std::ptr::null_mut());
            let capture = shared::<Shared>(capture)?;
            let Shared(opened) = &*capture;
            let path = plain::path(path, "path")?;
            let unreadable =
                |why| Failure::new(TW_ERR_READ, format_args!("{}: {why}", path.display()));
            let bytes = read_file(path).map_err(unreadable)?;
            plain::give(index, make(Indexed::read(opened, bytes)?));
            Ok(TW_OK)
        })
    }
}

/// Writes an index to the file `path`, which replaces another file.
#[no_mangle]
pub unsafe extern "C" fn tw_index_save(
    index: *const TwIndex,
    path: *const c_char,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let index = shared::<Indexed>(index)?;
            let bytes = &index.bytes;
            let path = plain::path(path, "path")?;
            let written =
                Growing::create(path).and_then(|mut file| file.append(&bytes.head(bytes.len())));
            let failed =
                |error| Failure::new(TW_ERR_WRITE, format_args!("{}: {error}", path.display()));
            written.map_err(failed)?;
            Ok(TW_OK)
        })
    }
}

/// Frees an index.
#[no_mangle]
pub unsafe extern "C" fn tw_index_free(index: *mut *mut TwIndex, error: *mut TwError) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe { guard(error, || free::<Indexed>(index)) }
}
