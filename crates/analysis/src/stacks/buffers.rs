//! The sources of a buffer, and their numbers in a capture of several buffers.

use std::collections::HashMap;
use std::sync::Arc;

use crate::transfer::Transfer;

/// A source of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferSource {
    /// The number of the source in the capture.
    pub source: usize,
    /// The thread that executes at the beginning, where it is known.
    pub thread: Option<u64>,
    /// What identifies the thread in the trace.
    pub identifier: ThreadIdentifier,
}

/// What identifies a thread in the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadIdentifier {
    /// Nothing: it executes in the whole buffer.
    #[default]
    None,
    /// The context ID.
    ContextId,
    /// The VMID.
    Vmid,
}

/// The sources of a buffer, in the order of its plan.
#[derive(Clone, Debug, Default)]
pub struct BufferSources {
    /// The sources.
    pub sources: Arc<[BufferSource]>,
    /// The position of the buffer in all trace of its processor or thread, in bytes.
    pub offset: u64,
    /// Trace was lost between the buffer before, of the same processor or thread, and this one.
    pub lost: bool,
}

/// The buffer whose transfers are next, and the threads of all sources.
#[derive(Debug, Default)]
pub(super) struct Joined {
    pub(super) buffer: BufferSources,
    /// A thread is the same on all sources.
    pub(super) shared: bool,
    pub(super) known: HashMap<u64, usize>,
}

impl Joined {
    /// The number in the capture of a source of the buffer.
    pub(super) fn number(&self, source: usize) -> usize {
        self.buffer.sources.get(source).map_or(source, |own| own.source)
    }

    /// What is added to offsets in the buffer.
    pub(super) fn offset(&self) -> u64 {
        self.buffer.offset
    }

    /// The transfer with the source and the offset in the capture.
    #[inline]
    pub(super) fn numbered(&self, transfer: &Transfer) -> Transfer {
        let source = self.number(transfer.source.into()) as u16;
        Transfer { source, at: transfer.at.wrapping_add(self.offset()), ..*transfer }
    }
}
