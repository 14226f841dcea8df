//! How a capture is decoded, and which part of it.

use std::ops::Range;
use std::sync::Arc;

use tracewright::decode::Jobs;
use tracewright::index::{Index, Window};

use crate::element::TwElement;
use crate::handle::shared;
use crate::index::{Indexed, TwIndex};
use crate::opened::Opened;
use crate::plain::Plain;
use crate::status::{Failure, TW_ERR_INDEX, TW_ERR_RANGE, TW_ERR_SIZE};

/// Sources that can be decoded are, even if others cannot.
pub const TW_DECODE_PARTIAL: u32 = 1;

/// Only the buffer with the number `buffer`.
pub const TW_SELECT_BUFFER: u32 = 1;
/// Only packets at offsets from `offset_from` up to, not including, `offset_to`.
pub const TW_SELECT_OFFSET: u32 = 2;
/// Only elements with a time in ticks from `time_from` up to, not including, `time_to`.
pub const TW_SELECT_TIME: u32 = 4;
/// Only instructions with numbers from `instruction_from` up to, not including, `instruction_to`.
pub const TW_SELECT_INSTRUCTION: u32 = 8;
/// Only elements with numbers from `element_from` up to, not including, `element_to`.
pub const TW_SELECT_ELEMENT: u32 = 16;

/// How a capture is decoded, and which part of it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TwDecodeOptions {
    /// Size of the structure in bytes.
    pub size: u32,
    /// The size of `tw_element` of the client; 0 stands for that of the library.
    pub element_size: u32,
    /// `TW_DECODE_*`.
    pub flags: u32,
    /// Threads that decode; 0 stands for one for each core.
    pub threads: u32,
    /// The most elements that the client's function receives at once; 0 stands for 4096.
    pub batch: u32,
    /// `TW_SELECT_*`: which part is decoded. Several select what is in all of them.
    pub select: u32,
    /// Number of the selected buffer.
    pub buffer: u32,
    /// 0.
    pub reserved: u32,
    /// First selected offset.
    pub offset_from: u64,
    /// Offset after the last selected one.
    pub offset_to: u64,
    /// First selected time.
    pub time_from: u64,
    /// Time after the last selected one.
    pub time_to: u64,
    /// Number of the first selected instruction.
    pub instruction_from: u64,
    /// Number of the instruction after the last selected one.
    pub instruction_to: u64,
    /// Number of the first selected element.
    pub element_from: u64,
    /// Number of the element after the last selected one.
    pub element_to: u64,
    /// An index, so that decoding begins near the selected part; NULL for none.
    pub index: *const TwIndex,
}

// SAFETY: integers and a raw pointer, and the size is first.
unsafe impl Plain for TwDecodeOptions {}

/// The most elements at once.
const BATCH: usize = 4096;

/// The most threads.
const THREADS: u32 = 4096;

/// What the options state.
pub(crate) struct Selected {
    pub(crate) jobs: Jobs,
    pub(crate) batch: usize,
    pub(crate) element_size: usize,
    pub(crate) partial: bool,
    pub(crate) buffer: Option<usize>,
    pub(crate) window: Window,
    pub(crate) index: Option<Arc<Index>>,
}

impl TwDecodeOptions {
    /// The options for decoding `opened`.
    ///
    /// # Safety
    /// `index` is null or a handle.
    pub(crate) unsafe fn selected(&self, opened: &Arc<Opened>) -> Result<Selected, Failure> {
        let least = std::mem::size_of::<TwElement>();
        let element_size = match self.element_size as usize {
            0 => least,
            size if (least..=4096).contains(&size) && size % 8 == 0 => size,
            size => {
                let text = format_args!("`element_size` is {size}, and a tw_element has {least}");
                return Err(Failure::new(TW_ERR_SIZE, text));
            }
        };
        let all = TW_SELECT_BUFFER
            | TW_SELECT_OFFSET
            | TW_SELECT_TIME
            | TW_SELECT_INSTRUCTION
            | TW_SELECT_ELEMENT;
        if self.flags & !TW_DECODE_PARTIAL != 0 || self.select & !all != 0 || self.reserved != 0 {
            return Err(Failure::argument("`options` has unknown flags"));
        }
        if self.threads > THREADS {
            return Err(Failure::argument(format_args!("{} threads", self.threads)));
        }
        let buffer = (self.select & TW_SELECT_BUFFER != 0).then_some(self.buffer as usize);
        let count = opened.trace.capture().buffers.len();
        if let Some(buffer) = buffer.filter(|&buffer| buffer >= count) {
            return Err(Failure::range("buffer", buffer, count));
        }
        let window = Window {
            offset: self.part(TW_SELECT_OFFSET, self.offset_from..self.offset_to)?,
            time: self.part(TW_SELECT_TIME, self.time_from..self.time_to)?,
            instruction: self
                .part(TW_SELECT_INSTRUCTION, self.instruction_from..self.instruction_to)?,
            element: self.part(TW_SELECT_ELEMENT, self.element_from..self.element_to)?,
        };
        let index = if self.index.is_null() {
            None
        } else {
            // SAFETY: the caller states it.
            let indexed = unsafe { shared::<Indexed>(self.index) }?;
            if !Arc::ptr_eq(&indexed.opened, opened) {
                return Err(Failure::new(TW_ERR_INDEX, "the index is that of another capture"));
            }
            Some(Arc::clone(&indexed.index))
        };
        let mut jobs = match self.threads {
            0 => Jobs::all(),
            threads => Jobs::new(threads as usize),
        };
        let batch = if self.batch == 0 { BATCH } else { self.batch as usize };
        jobs.output = jobs.output.min(batch.saturating_mul(least));
        let partial = self.flags & TW_DECODE_PARTIAL != 0;
        Ok(Selected { jobs, batch, element_size, partial, buffer, window, index })
    }

    /// A part, where it is selected.
    fn part(&self, select: u32, range: Range<u64>) -> Result<Option<Range<u64>>, Failure> {
        if self.select & select == 0 {
            return Ok(None);
        }
        if range.start > range.end {
            let Range { start, end } = range;
            return Err(Failure::new(TW_ERR_RANGE, format_args!("from {start} to {end}")));
        }
        Ok(Some(range))
    }
}
