//! The branch predictor and the jump target cache of the Accemic encoder, which the decoder updates
//! as the encoder does. Both are empty after a start of trace and after an overrun.
//! (Accemic TraceEncoder, messages VendorBP and VendorJTC)

use alloc::boxed::Box;

use tracewright_base::{BlockCache, Inconsistency, Sink};

use super::Decoder;
use super::outcomes::Outcomes;
use super::repeat::Turn;
use super::walk::{End, Walk};
use crate::ntrace::config::{Config, Profile};

/// Entries of the predictor.
const COUNTERS: usize = 512;
/// Entries of the cache.
const TARGETS: usize = 64;

/// What the encoder has learned of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Learned {
    /// A counter from 0 to 3 for branches: from 2 on, they are taken.
    counters: [u8; COUNTERS],
    /// Address fields of targets.
    targets: [Option<u64>; TARGETS],
}

/// [`Learned`] where it is known. Its memory is used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    known: bool,
    memory: Option<Box<Learned>>,
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Model {}

impl Model {
    /// A start of trace: branches are not taken, and there are no targets.
    pub(super) fn begin(&mut self) {
        const EMPTY: Learned = Learned { counters: [1; COUNTERS], targets: [None; TARGETS] };
        self.known = true;
        match &mut self.memory {
            Some(memory) => **memory = EMPTY,
            None => self.memory = Some(Box::new(EMPTY)),
        }
    }

    /// What the encoder knows is not known.
    pub(super) fn forget(&mut self) {
        self.known = false;
    }

    fn get(&self) -> Option<&Learned> {
        self.memory.as_deref().filter(|_| self.known)
    }

    fn get_mut(&mut self) -> Option<&mut Learned> {
        self.memory.as_deref_mut().filter(|_| self.known)
    }
}

impl Learned {
    fn counter(&mut self, branch: u64) -> Option<&mut u8> {
        self.counters.get_mut((branch >> 2) as usize % COUNTERS)
    }

    /// Where the branch at this address goes, if the prediction is right.
    pub(super) fn predict(&mut self, branch: u64) -> bool {
        self.counter(branch).is_some_and(|counter| *counter > 1)
    }

    /// Takes the outcome of the branch at this address.
    pub(super) fn update(&mut self, branch: u64, taken: bool) {
        if let Some(counter) = self.counter(branch) {
            *counter = if taken { 3.min(*counter + 1) } else { counter.saturating_sub(1) };
        }
    }

    /// The target with this index.
    fn target(&self, index: u64) -> Option<u64> {
        *self.targets.get(usize::try_from(index).ok()?)?
    }

    /// Takes the target of an indirect transfer: its address, and the address field.
    fn store(&mut self, address: u64, field: u64, config: &Config) {
        let used = if config.rv64 { address } else { address & 0x03ff_ffff };
        let mut rest = used >> 2;
        let mut index = 0;
        while rest > 0 {
            index ^= rest as usize % TARGETS;
            rest >>= 6;
        }
        if let Some(target) = self.targets.get_mut(index) {
            *target = Some(field);
        }
    }
}

impl Decoder {
    /// Takes the address field of a target that a message has in full.
    pub(super) fn learn_target(&mut self, field: u64, config: &Config) {
        if config.profile == Profile::Ctte
            && let Some(learned) = self.learned.get_mut()
        {
            learned.store(config.address(field), field, config);
        }
    }

    /// The address field of the target with this index. Where it is not known, the path is lost.
    pub(super) fn cached_target<S: Sink>(
        &mut self,
        at: u64,
        index: u64,
        sink: &mut S,
    ) -> Option<u64> {
        let target = self.learned.get().and_then(|learned| learned.target(index));
        if target.is_none() && self.reference.is_some() {
            self.lose(at, Inconsistency::Unexpected, sink);
        }
        target
    }

    /// Follows `right` branches that were predicted, and one that was not.
    pub(super) fn predicted_branches<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        right: u64,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if config.branch_prediction {
            self.follow(at, Walk::to_misprediction(right), config, code, sink);
        } else if self.reference.is_some() {
            self.lose(at, Inconsistency::Unexpected, sink);
        }
    }

    /// The outcome of the branch at this address in branch prediction mode.
    pub(super) fn predicted(&mut self, branch: u64, walk: &mut Walk) -> Option<bool> {
        let known = walk.outcomes.take();
        let Some(learned) = self.learned.get_mut() else { return known };
        let taken = match known {
            Some(taken) => taken,
            None if walk.count == 0 && walk.end == End::Taken => true,
            None => {
                let wrong = walk.predicted == 1;
                walk.predicted = walk.predicted.saturating_sub(1);
                learned.predict(branch) != wrong
            }
        };
        learned.update(branch, taken);
        Some(taken)
    }

    /// Follows a branch to itself `times` more times. No I-CNT counts these.
    pub(super) fn repeat_instruction<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        times: u64,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let turn = Turn::Outcomes(Outcomes::one(true));
        self.repeat(at, turn, times, config, code, sink);
        self.ahead = 0;
    }
}
