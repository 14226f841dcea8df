//! The system whose trace a capture of perf or simpleperf has: processes, files, and CPUs.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracewright_image::{AddressSpaces, ContextKey, Viewpoint};

/// The system that was traced, and what was recorded about it.
#[derive(Clone, Debug)]
pub struct Linux {
    /// About the machine and the recording: name and text.
    pub about: Vec<(String, String)>,
    /// The memory of the processes over time.
    pub spaces: Arc<AddressSpaces>,
    /// One for each buffer of the capture.
    pub parts: Vec<Part>,
    /// The identifier that selects the thread, for each source of the capture.
    pub keys: Vec<ContextKey>,
    /// The CPU of each source of the capture.
    pub cpus: Vec<u32>,
    /// The letters of the modes that are traced, as perf writes them; empty where all are.
    pub modes: String,
    /// The records have times; otherwise their moments are their ordinals in the file.
    pub timed: bool,
    /// How timestamps of the trace are converted to times.
    pub conversion: Option<TimeConversion>,
    /// The trace of each CPU or thread.
    pub queues: BTreeMap<Queue, QueueTotals>,
}

/// The trace buffer of a CPU or of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Queue {
    /// Of a CPU.
    Cpu(u32),
    /// Of a thread, on any CPU.
    Thread(u32),
}

/// How ticks of the timestamp counter are converted to nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeConversion {
    /// `time_shift`.
    pub shift: u64,
    /// `time_mult`.
    pub multiplier: u64,
    /// `time_zero`.
    pub zero: u64,
}

impl TimeConversion {
    /// The time in nanoseconds of `ticks` of the counter.
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        let shift = self.shift.min(63) as u32;
        let (high, low) = (ticks >> shift, ticks & ((1 << shift) - 1));
        self.zero
            .wrapping_add(high.wrapping_mul(self.multiplier))
            .wrapping_add(low.wrapping_mul(self.multiplier) >> shift)
    }
}

/// One buffer: the trace of one AUX record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Whose trace it is.
    pub queue: Queue,
    /// The CPU that ran, where it is known.
    pub cpu: Option<u32>,
    /// The thread that ran when the record was made, where it is known.
    pub thread: Option<u32>,
    /// The moment of the record.
    pub moment: u64,
    /// The position in all bytes of the queue.
    pub offset: u64,
    /// The flags of the record.
    pub flags: u64,
}

/// Totals of the trace of one CPU or thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueTotals {
    /// AUX records with bytes.
    pub records: u64,
    /// Bytes.
    pub bytes: u64,
    /// Records that report a loss.
    pub losses: u64,
}

impl Linux {
    /// What the source with index `source` sees in the buffer with index `buffer`.
    pub fn viewpoint(&self, buffer: usize, source: usize) -> Option<Viewpoint> {
        let part = self.parts.get(buffer)?;
        Some(Viewpoint {
            spaces: Arc::clone(&self.spaces),
            key: self.keys.get(source).copied().unwrap_or_default(),
            thread: part.thread,
            moment: part.moment,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_converted_to_nanoseconds() {
        // 25 MHz: 40 ns a tick, as 40 * 2^10 >> 10.
        let time = TimeConversion { shift: 10, multiplier: 40 << 10, zero: 1000 };
        for (ticks, want) in [(0, 1000), (1, 1040), (1025, 1000 + 1025 * 40)] {
            assert_eq!(time.nanoseconds(ticks), want);
        }
    }
}
