//! Coverage and timelines.

use std::ffi::c_void;
use std::sync::Arc;

use tracewright::export::coverage::{CoverageFormat, CoverageView};
use tracewright::export::timeline::{TimelineFormat, TimelineView};

use crate::error::TwError;
use crate::guard::guard;
use crate::handle::shared;
use crate::opened::{Shared, TwCapture};
use crate::profile::TwWrite;
use crate::status::{Failure, TwStatus, TW_ERR_NULL, TW_ERR_PROFILE, TW_OK, TW_STOPPED};

/// Tracefile of lcov.
pub const TW_COVERAGE_LCOV: u32 = 1;
/// Cobertura XML.
pub const TW_COVERAGE_COBERTURA: u32 = 2;
/// JSON of gcov.
pub const TW_COVERAGE_GCOV: u32 = 3;
/// JSON of llvm-cov export.
pub const TW_COVERAGE_LLVM_COV: u32 = 4;

/// Chrome JSON.
pub const TW_TIMELINE_CHROME: u32 = 1;
/// Processed profile of the Firefox Profiler.
pub const TW_TIMELINE_FIREFOX: u32 = 2;
/// Perfetto protobuf.
pub const TW_TIMELINE_PERFETTO: u32 = 3;
/// speedscope.
pub const TW_TIMELINE_SPEEDSCOPE: u32 = 4;
/// Value Change Dump.
pub const TW_TIMELINE_VCD: u32 = 5;

/// Writes which lines, branches and functions of the source files a capture executed, in the format
/// `format`, `TW_COVERAGE_*`, with one call of `write`. Where trace was lost, what was not executed
/// is unknown, and the formats leave it out. `write` is called by the calling thread, and where it
/// returns another number than 0, `TW_STOPPED` is returned. `TW_ERR_ARGUMENT` for another format,
/// `TW_ERR_SOURCES` where nothing can be decoded, `TW_ERR_PROFILE` where no program has line
/// numbers.
#[no_mangle]
pub unsafe extern "C" fn tw_coverage(
    capture: *const TwCapture,
    format: u32,
    write: TwWrite,
    user: *mut c_void,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let capture = shared::<Shared>(capture)?;
            let opened = Arc::clone(&capture.0);
            let write = write.ok_or_else(|| Failure::new(TW_ERR_NULL, "`write` is null"))?;
            let format = match format {
                TW_COVERAGE_LCOV => CoverageFormat::Lcov,
                TW_COVERAGE_COBERTURA => CoverageFormat::Cobertura,
                TW_COVERAGE_GCOV => CoverageFormat::Gcov,
                TW_COVERAGE_LLVM_COV => CoverageFormat::LlvmCov,
                _ => return Err(Failure::argument(format_args!("format {format}"))),
            };
            opened.decodable(false)?;
            let sources = opened.trace.coverage();
            let sources = sources.map_err(|error| Failure::new(TW_ERR_PROFILE, error))?;
            if sources.is_empty() {
                let text = "no program of the capture has line numbers";
                return Err(Failure::new(TW_ERR_PROFILE, text));
            }
            let bytes = format.write(&CoverageView { sources: &sources, programs: &[] });
            let more = write(user, bytes.as_ptr(), bytes.len()) == 0;
            Ok(if more { TW_OK } else { TW_STOPPED })
        })
    }
}

/// Writes the calls over time, in the format `format`, `TW_TIMELINE_*`, with calls of `write`, of
/// buffer `buffer`; of a perf.data file, whose buffers are joined by thread, of buffer 0. `limit`
/// is the most frames; 0 stands for a million. `frequency` is that of the timestamps in Hz; with 0
/// a tick is a nanosecond. `write` is called by the calling thread, and not again where it returns
/// another number than 0: then `TW_STOPPED` is returned. `TW_ERR_ARGUMENT` for another format,
/// `TW_ERR_RANGE` for another buffer, `TW_ERR_SOURCES` where nothing can be decoded.
#[no_mangle]
pub unsafe extern "C" fn tw_timeline(
    capture: *const TwCapture,
    buffer: u32,
    format: u32,
    limit: usize,
    frequency: u64,
    write: TwWrite,
    user: *mut c_void,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let capture = shared::<Shared>(capture)?;
            let opened = Arc::clone(&capture.0);
            let write = write.ok_or_else(|| Failure::new(TW_ERR_NULL, "`write` is null"))?;
            let format = match format {
                TW_TIMELINE_CHROME => TimelineFormat::Chrome,
                TW_TIMELINE_FIREFOX => TimelineFormat::Firefox,
                TW_TIMELINE_PERFETTO => TimelineFormat::Perfetto,
                TW_TIMELINE_SPEEDSCOPE => TimelineFormat::Speedscope,
                TW_TIMELINE_VCD => TimelineFormat::Vcd,
                _ => return Err(Failure::argument(format_args!("format {format}"))),
            };
            opened.decodable(false)?;
            let limit = if limit == 0 { 1_000_000 } else { limit };
            let all = opened.trace.timelines(limit);
            let all = all.map_err(|error| Failure::new(TW_ERR_PROFILE, error))?;
            let count = all.buffers.len();
            let own = all.buffers.get(buffer as usize);
            let own = own.ok_or_else(|| Failure::range("buffer", buffer as usize, count))?;
            let view = TimelineView {
                timeline: &own.frames,
                code: &all.code,
                threads: &own.threads,
                sources: &own.sources,
                counters: &[],
                warning: "",
                frequency: (frequency > 0).then_some(frequency),
            };
            let mut more = true;
            format.write(&view, &mut |bytes| {
                more = more && write(user, bytes.as_ptr(), bytes.len()) == 0;
                more
            });
            Ok(if more { TW_OK } else { TW_STOPPED })
        })
    }
}
