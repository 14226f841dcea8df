//! Instructions of a processor that are not those of the architecture.

use std::fmt::Debug;

use tracewright_base::{Instruction, Isa};

/// Classifies instructions of a processor that has others than the architecture: custom opcodes, or
/// a coprocessor that changes the control flow. An [`Image`](crate::Image) has it
/// ([`Image::with_classifier`](crate::Image::with_classifier)), so that caches, whose blocks are
/// those of an image, never mix the blocks of two classifiers.
pub trait Classify: Debug + Send + Sync {
    /// The instruction at the start of `bytes`, the memory at `address`: 8 bytes, or fewer where
    /// less is known. `None`: it is that of the architecture, or more bytes are needed. The answer
    /// depends on the arguments only.
    ///
    /// The length of the instruction is a multiple of the alignment of `isa` and not above that of
    /// `bytes`; another one is not used.
    fn classify(&self, isa: Isa, address: u64, bytes: &[u8]) -> Option<Instruction>;
}

/// The most bytes that [`Classify::classify`] receives.
pub(crate) const MAX_CLASSIFIED: usize = 8;
