//! Samples as records of a `perf.data` file. (perf_event_open(2), PERF_RECORD_SAMPLE)

use super::Receiver;
use super::sampler::{Event, Sample, State, Traced};

/// PERF_RECORD_SAMPLE.
const SAMPLE: u32 = 9;
/// PERF_RECORD_MISC_KERNEL and PERF_RECORD_MISC_USER.
const MODES: [u16; 2] = [1, 2];
/// The bit that distinguishes the addresses of the kernel.
const KERNEL: u64 = 1 << 63;
/// `predicted` of an entry: perf does not know whether a branch was predicted, and sets it.
/// (Linux 6.1.192, tools/perf/util/cs-etm.c:1012, `cs_etm__update_last_branch_rb`)
const PREDICTED: u64 = 2;

/// The fields of a sample without a time: PERF_SAMPLE_IP, TID, CPU, PERIOD, BRANCH_STACK.
pub const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 7 | 1 << 8 | 1 << 11;

/// Writes samples, little-endian.
#[derive(Clone, Debug, Default)]
pub struct Records {
    out: Vec<u8>,
    /// Samples have times: PERF_SAMPLE_TIME.
    timed: bool,
}

impl Records {
    /// Writes samples of [`SAMPLE_TYPE`], and with times if they are `timed`.
    pub fn new(timed: bool) -> Records {
        Records { out: Vec::new(), timed }
    }
}

impl Receiver for Records {
    fn sample(&mut self, traced: &Traced, state: &State, sample: &Sample<'_>) {
        if sample.event != Event::Instructions {
            return;
        }
        let context = state.context.unwrap_or_default();
        let thread = traced.source.program.thread(&context);
        let id = thread.map(|thread| thread.id).or(traced.thread).unwrap_or(u32::MAX);
        let process = thread.map_or(id, |thread| thread.process);
        let mut body = sample.address.to_le_bytes().to_vec();
        body.extend(process.to_le_bytes());
        body.extend(id.to_le_bytes());
        if self.timed {
            body.extend(state.time.or(traced.recorded).unwrap_or(0).to_le_bytes());
        }
        body.extend(u64::from(traced.cpu).to_le_bytes());
        body.extend(sample.period.to_le_bytes());
        body.extend((sample.last.len() as u64).to_le_bytes());
        for branch in sample.last.iter().rev() {
            [branch.from, branch.to, PREDICTED].iter().for_each(|w| body.extend(w.to_le_bytes()));
        }
        let [kernel, user] = MODES;
        let mode = if sample.address & KERNEL == 0 { user } else { kernel };
        self.out.extend(SAMPLE.to_le_bytes());
        self.out.extend(mode.to_le_bytes());
        // At most 1024 branches of 24 bytes.
        self.out.extend((8 + body.len() as u16).to_le_bytes());
        self.out.extend(body);
    }

    fn fork(&self) -> Records {
        Records::new(self.timed)
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    fn clear(&mut self) {
        self.out.clear();
    }

    fn waiting(&self) -> usize {
        self.out.len()
    }
}
