//! Elements by calls of a function of the client.

use std::ffi::c_void;
use std::sync::Arc;

use tracewright::decode::Tally;

use crate::batch::Batch;
use crate::element::TwElement;
use crate::error::TwError;
use crate::guard::guard;
use crate::handle::shared;
use crate::opened::{Shared, TwCapture};
use crate::plain::{self, Plain};
use crate::run;
use crate::select::TwDecodeOptions;
use crate::status::{Failure, TwStatus, TW_ERR_NULL, TW_OK, TW_STOPPED};

/// A function of the client that receives `count` elements, which are valid during the call. It
/// returns 0 for more, or another number to stop. All calls are made by the thread that decodes.
pub type TwReceiveElements = Option<
    unsafe extern "C" fn(user: *mut c_void, elements: *const TwElement, count: usize) -> i32,
>;

/// Counts of what was decoded, over all sources.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TwCounts {
    /// Size of the structure in bytes.
    pub size: u32,
    /// 0.
    pub reserved: u32,
    /// Bytes of the sources.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
    /// Elements, with the executions that `TW_ELEMENT_REPEAT` stands for.
    pub elements: u64,
    /// Ranges of executed instructions, likewise.
    pub ranges: u64,
    /// Executed instructions of the ranges.
    pub instructions: u64,
    /// Bytes before a synchronisation.
    pub unsynchronised: u64,
    /// Other undecodable bytes.
    pub undecodable: u64,
    /// Inconsistencies.
    pub inconsistencies: u64,
    /// Number of times that program memory was missing.
    pub no_code: u64,
    /// Number of times that trace was lost.
    pub gaps: u64,
    /// Bytes of trace IDs that no source has.
    pub unknown_ids: u64,
    /// Undecodable bytes of the trace link.
    pub bad_frames: u64,
    /// Executed instructions on unknown paths (`TW_ELEMENT_UNKNOWN`), as far as the trace has their
    /// number.
    pub unknown_instructions: u64,
}

// SAFETY: integers only, and the size is first.
unsafe impl Plain for TwCounts {}

impl TwCounts {
    /// Adds the counts of a buffer.
    pub(crate) fn add(&mut self, tally: &Tally) {
        for counts in &tally.sources {
            self.bytes += counts.bytes();
            self.packets += counts.packets;
            self.elements += counts.elements;
            self.ranges += counts.ranges;
            self.instructions = self.instructions.saturating_add(counts.instructions);
            self.unknown_instructions += counts.unknown_instructions;
            self.unsynchronised += counts.unsynchronised;
            self.undecodable += counts.undecodable;
            self.inconsistencies += counts.inconsistencies;
            self.no_code += counts.no_code;
            self.gaps += counts.gaps;
        }
        self.unknown_ids += tally.unknown_ids.values().sum::<u64>();
        self.bad_frames += tally.bad_frames;
    }
}

/// Elements with the size that the client's version has.
struct Resized {
    size: usize,
    words: Vec<u64>,
}

impl Resized {
    fn new(size: usize) -> Resized {
        Resized { size, words: Vec::new() }
    }

    /// `elements` with the size of the client.
    fn of<'a>(&'a mut self, elements: &'a [TwElement]) -> *const TwElement {
        if self.size == std::mem::size_of::<TwElement>() {
            return elements.as_ptr();
        }
        self.words.clear();
        self.words.resize(self.size / 8 * elements.len(), 0);
        for (to, element) in self.words.chunks_exact_mut(self.size / 8).zip(elements) {
            // SAFETY: `to` has `size` bytes.
            unsafe { plain::put(to.as_mut_ptr().cast(), self.size, element) };
        }
        self.words.as_ptr().cast()
    }
}

/// Decodes a capture: `receive` is called with the elements of all selected buffers, one buffer
/// after the other, in the order in which they become certain. `options` may be NULL, and so may
/// `counts`. Returns `TW_STOPPED` where `receive` stopped. Of a part of a buffer, the first element
/// of each source is preceded by the context of the source, where one is known: an element more
/// than the part has, which is counted.
#[no_mangle]
pub unsafe extern "C" fn tw_decode(
    capture: *const TwCapture,
    options: *const TwDecodeOptions,
    receive: TwReceiveElements,
    user: *mut c_void,
    counts: *mut TwCounts,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let capture = shared::<Shared>(capture)?;
            let Shared(opened) = &*capture;
            // The client may free the capture in its function.
            let opened = Arc::clone(opened);
            let null = || Failure::new(TW_ERR_NULL, "`receive` is null");
            let receive = receive.ok_or_else(null)?;
            if !counts.is_null() {
                plain::check(counts, "counts")?;
            }
            let selected = plain::read_or_zero(options, "options")?.selected(&opened)?;
            let mut own = plain::zeroed::<TwCounts>();
            let mut resized = Resized::new(selected.element_size);
            let mut wanted = true;
            for (plan, first) in run::plans(&opened, &selected)? {
                let tally = run::run(&opened, plan, &selected, Batch::new(first), |elements| {
                    for some in elements.chunks(selected.batch) {
                        wanted = wanted && receive(user, resized.of(some), some.len()) == 0;
                    }
                    wanted
                })?;
                own.add(&tally);
                if !wanted {
                    break;
                }
            }
            if !counts.is_null() {
                plain::write(counts, own, "counts")?;
            }
            Ok(if wanted { TW_OK } else { TW_STOPPED })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use tracewright::decode::Counts;

    use super::*;

    /// Instructions on unknown paths have their own count, behind those of earlier versions.
    #[test]
    fn instructions_on_unknown_paths_are_counted_apart() {
        let counts = Counts { instructions: 7, unknown_instructions: 3, ..Counts::default() };
        let tally = Tally { sources: vec![counts; 2], ..Tally::default() };
        // SAFETY: integers only.
        let mut all: TwCounts = unsafe { std::mem::zeroed() };
        all.add(&tally);
        assert_eq!((all.instructions, all.unknown_instructions), (14, 6));
        assert_eq!(offset_of!(TwCounts, unknown_instructions), size_of::<TwCounts>() - 8);
    }
}
