//! Threads whose trace is in several buffers, such as the AUX records of a `perf.data` file, and
//! whose identifiers are known: a stack continues where the next buffer of its thread begins.
//!
//! The sources are those of the capture. Before the transfers of a buffer, [`Stacks::begin_buffer`]
//! states which of them it has, and which thread executes at its beginning. Trace between two
//! buffers is not a call: the first range of a buffer is where execution continues, as after code
//! that is not traced. Identifier 0 is that of the idle thread of each processor.

use super::buffers::{BufferSources, Joined, ThreadIdentifier};
use super::engine::Source;
use super::{FunctionId, Stacks, Visitor};
use crate::transfer::{Kind, Transfer};

/// The current thread of a source that has executed nothing in its buffer.
const NONE: usize = usize::MAX;

impl<V: Visitor> Stacks<V> {
    /// Empty stacks for the buffers of a capture with `sources` sources. `shared`: the buffers come
    /// in the order of time, and the stack of a thread is the same on all sources; else a thread
    /// has one for each source.
    pub fn joined(sources: usize, visitor: V, shared: bool) -> Self {
        let mut stacks = Stacks::new(0, visitor);
        stacks.sources.resize_with(sources, || Source::new(NONE, Vec::new()));
        stacks.joined = Some(Box::new(Joined { shared, ..Joined::default() }));
        stacks
    }

    /// A buffer begins. Its transfers follow, or those of other buffers and then, after
    /// [`select`](Self::select), its own.
    pub fn begin_buffer(&mut self, buffer: &BufferSources) {
        for own in buffer.sources.iter() {
            let source = own.source;
            self.settle(source, u64::MAX);
            if buffer.lost {
                self.lost_between(source);
            }
            if let Some(state) = self.sources.get_mut(source) {
                (state.current, state.first) = (NONE, own.thread);
                state.here = FunctionId::Unknown;
            }
            self.visitor.buffer(source);
        }
        self.select(buffer);
    }

    /// The next transfers are those of `buffer`, which has begun.
    pub fn select(&mut self, buffer: &BufferSources) {
        if let Some(joined) = &mut self.joined {
            joined.buffer = buffer.clone();
        }
    }

    /// Trace of a source was lost before its buffer.
    fn lost_between(&mut self, source: usize) {
        let Some(own) = self.sources.get(source) else { return };
        let mut any = false;
        for number in &own.threads {
            if let Some(thread) = self.threads.get_mut(*number).filter(|t| !t.frames.is_empty()) {
                thread.lost = true;
                thread.mark_uncertain();
                any = true;
            }
        }
        if any {
            self.counts.losses += 1;
            let position = self.position(source, u64::MAX);
            if position.thread != NONE {
                self.visitor.lost(&position);
            }
        }
    }

    /// Whether the thread of the source is known, or the transfer does not depend on it.
    pub(super) fn resolved(&mut self, source: usize, transfer: &Transfer) -> bool {
        let executes = transfer.instructions > 0 || transfer.cycles > 0;
        match transfer.kind {
            Kind::Context | Kind::Timestamp | Kind::Cycles | Kind::CyclesLost if !executes => true,
            // Nothing was executed in the buffer before.
            Kind::Run | Kind::Lost | Kind::Untraced if !executes => !self.is_unresolved(source),
            _ => {
                self.resolve(source);
                true
            }
        }
    }

    /// Whether the source has executed nothing in its buffer, or since its thread changed.
    pub(super) fn is_unresolved(&self, source: usize) -> bool {
        self.sources.get(source).is_some_and(|own| own.current == NONE)
    }

    /// The source executes: where its thread is not known yet, it is the one at the beginning of
    /// the buffer.
    pub(super) fn resolve(&mut self, source: usize) {
        let Some(own) = self.sources.get(source).filter(|own| own.current == NONE) else { return };
        let (first, unknown) = (own.first, own.unknown);
        let current = match first {
            Some(id) => self.identified(source, id),
            None => unknown.unwrap_or_else(|| self.add_thread(source, None)),
        };
        if let Some(own) = self.sources.get_mut(source) {
            own.current = current;
            if first.is_none() {
                own.unknown = Some(current);
            }
        }
    }

    /// The thread with an identifier.
    fn identified(&mut self, source: usize, id: u64) -> usize {
        let shared = self.joined.as_ref().filter(|joined| joined.shared && id != 0);
        let known = match shared {
            Some(joined) => joined.known.get(&id).copied(),
            None => self.sources.get(source).and_then(|own| own.known.get(&id)).copied(),
        };
        let is_shared = shared.is_some();
        let number = known.unwrap_or_else(|| self.add_thread(source, Some(id)));
        let Some(own) = self.sources.get_mut(source) else { return number };
        own.has_ids = true;
        match &mut self.joined {
            Some(joined) if is_shared => joined.known.insert(id, number),
            _ => own.known.insert(id, number),
        };
        number
    }

    /// The trace reports the identifiers of the thread: the context ID, and the VMID in the place
    /// of the return address.
    pub(super) fn joined_context(&mut self, source: usize, transfer: &Transfer) {
        self.settle(source, transfer.at);
        let buffer = self.joined.as_ref().map(|joined| &joined.buffer);
        let own = buffer.and_then(|b| b.sources.iter().find(|own| own.source == source));
        let id = match own.map(|own| own.identifier) {
            Some(ThreadIdentifier::ContextId) => transfer.target,
            Some(ThreadIdentifier::Vmid) => transfer.ret.unwrap_or(0),
            Some(ThreadIdentifier::None) | None => return,
        };
        let current = self.thread(source).and_then(|thread| thread.id);
        let Some(own) = self.sources.get_mut(source) else { return };
        if own.current != NONE && current == Some(id) {
            return;
        }
        self.counts.switches += u64::from(own.current != NONE);
        (own.current, own.first) = (NONE, Some(id));
    }
}
