//! Samples as `perf script --itrace` prints them, and as records of a `perf.data` file.
//! (Linux 6.1.192, tools/perf/util/cs-etm.c:1397, 1545 and 1599, `cs_etm__sample`, `cs_etm__flush`
//! and `cs_etm__end_block`)
//!
//! | file | contents |
//! |---|---|
//! | `sampler.rs` | [`Sampler`]: the samples of elements |
//! | `text.rs` | [`Text`]: lines of `perf script` |
//! | `records.rs` | [`Records`]: records of kind SAMPLE |

mod records;
mod sampler;
mod text;

use tracewright_base::{Batch, Element};
use tracewright_decode::listener::{each_part, each_turn};
use tracewright_decode::{Fork, Listener, Size};

pub use records::{Records, SAMPLE_TYPE};
pub use sampler::{Branch, Event, Sample, Sampler, Samples, State, Traced};
pub use text::{Fields, Text};

/// Receives samples.
pub trait Receiver: Send {
    /// A sample of `traced`, which is in `state`.
    fn sample(&mut self, traced: &Traced, state: &State, sample: &Sample<'_>);

    /// The same without output.
    #[must_use]
    fn fork(&self) -> Self;

    /// Takes the output so far.
    fn take(&mut self) -> Vec<u8>;

    /// Drops the output.
    fn clear(&mut self);

    /// The number of bytes of output.
    fn waiting(&self) -> usize;
}

/// Makes the samples of a trace for a receiver. The samples of one CPU or thread continue from
/// buffer to buffer: see [`begin`](PerfScript::begin).
#[derive(Debug)]
pub struct PerfScript<R> {
    sampler: Sampler,
    receiver: R,
}

impl<R: Receiver> PerfScript<R> {
    /// Makes `samples` for `receiver`.
    pub fn new(samples: Samples, receiver: R) -> Self {
        PerfScript { sampler: Sampler::new(samples), receiver }
    }

    /// A buffer with these sources begins. `before` are the states at the end of the buffer before
    /// it, of the same sources.
    pub fn begin(&mut self, sources: Vec<Traced>, before: Vec<State>) {
        self.sampler.begin(sources, before);
    }

    /// The states at the end of the buffer.
    pub fn states(&self) -> &[State] {
        self.sampler.states()
    }
}

impl<R: Receiver> Listener for PerfScript<R> {
    fn element(&mut self, n: usize, _: u64, element: Element) {
        self.sampler.element(n, &element, &mut self.receiver);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        // Turns beyond the expansion that the options allow have no samples.
        each_part(self, batch, |script, turns| {
            if turns.listed {
                each_turn(script, batch.source, turns);
            }
        });
    }
}

impl<R: Receiver> Fork for PerfScript<R> {
    type State = Vec<State>;
    type Output = Vec<u8>;

    fn fork(&self) -> Self {
        PerfScript { sampler: self.sampler.fork(), receiver: self.receiver.fork() }
    }

    fn state(&self) -> Vec<State> {
        self.sampler.states().to_vec()
    }

    fn resume(&mut self, states: Vec<State>) {
        self.sampler.resume(states);
        self.receiver.clear();
    }

    fn take(&mut self) -> Vec<u8> {
        self.receiver.take()
    }

    fn size(&self) -> Size {
        let state = self.sampler.states().iter().map(State::weight).sum();
        Size { state, ..Size::of(self.receiver.waiting()) }
    }
}
