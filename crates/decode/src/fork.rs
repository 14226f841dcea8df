//! Listeners that can be forked: one for each worker, and what they say put together in order.

use std::ops::Range;

use tracewright_base::{self as base, Element, Fault, OffsetMap};
use tracewright_frames::{Event, Frame};
use tracewright_protocols::registry::AnyPacket;

use crate::listener::pass_on;
use crate::{Listener, Merge};

/// A listener of which there can be several, each for a stretch of the trace.
///
/// What it says is kept apart from what it carries on: [`take`](Fork::take) hands over what it was
/// told so far as it will be shown, [`state`](Fork::state) is all that this leaves behind. So two
/// that are in the same state and are told the same say the same, and what follows may be put after
/// either.
pub trait Fork: Sized {
    /// What it carries from what it was told to what it will be told. `()` where each element is
    /// said for itself.
    type State: ForkState;
    /// What it has to say: text, counts. Put together in order it is what one listener would have
    /// said.
    type Output: Send;

    /// One of the same kind that was told nothing, for a worker. What it begins with may depend on
    /// what this one was told: a worker whose guess is wrong is never in the same state as whoever
    /// was there before.
    #[must_use]
    fn fork(&self) -> Self;

    /// What it carries on. Asked only after [`take`](Fork::take).
    fn state(&self) -> Self::State;

    /// Goes on from `state`. What it has not handed over is dropped.
    fn resume(&mut self, state: Self::State);

    /// Hands over what it has to say.
    fn take(&mut self) -> Self::Output;

    /// How many bytes of memory wait to be taken, about; 0 where it is never much.
    fn weight(&self) -> usize {
        0
    }
}

/// What a [`Fork`] carries on, by source.
pub trait ForkState: Clone + Send {
    /// Whether the two will say the same of whatever comes from `source`.
    fn same(&self, source: usize, other: &Self) -> bool;

    /// Whether they are the same in what belongs to no source.
    fn same_beside(&self, other: &Self) -> bool {
        let _ = other;
        true
    }

    /// Takes what belongs to `source` from `other`.
    fn adopt(&mut self, source: usize, other: &Self);
}

/// A listener whose findings add up: nothing is carried on.
#[derive(Clone, Debug, Default)]
pub struct Merging<L>(pub L);

impl<L: Merge + Send> Fork for Merging<L> {
    type State = ();
    type Output = L;

    fn fork(&self) -> Self {
        Merging(L::default())
    }

    fn state(&self) {}

    fn resume(&mut self, (): ()) {
        self.0 = L::default();
    }

    fn take(&mut self) -> L {
        std::mem::take(&mut self.0)
    }
}

impl<L: Listener> Listener for Merging<L> {
    const PACKETS: bool = L::PACKETS;
    const FRAMES: bool = L::FRAMES;

    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.element(source, at, element);
    }

    #[inline]
    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        self.0.repeat(source, at, range, times);
    }

    fn each_packet(&self) -> bool {
        self.0.each_packet()
    }

    pass_on!(|this| Some(&mut this.0));

    fn full(&self) -> bool {
        self.0.full()
    }
}

/// Nothing is carried on.
impl ForkState for () {
    fn same(&self, _: usize, _: &Self) -> bool {
        true
    }

    fn adopt(&mut self, _: usize, _: &Self) {}
}

/// By source; one that is not there yet is as the default.
impl<T: Clone + Send + Default + PartialEq> ForkState for Vec<T> {
    fn same(&self, source: usize, other: &Self) -> bool {
        match (self.get(source), other.get(source)) {
            (Some(one), Some(other)) => one == other,
            (Some(one), None) | (None, Some(one)) => *one == T::default(),
            (None, None) => true,
        }
    }

    fn adopt(&mut self, source: usize, other: &Self) {
        let its = other.get(source).cloned().unwrap_or_default();
        if source >= self.len() {
            self.resize(source + 1, T::default());
        }
        if let Some(mine) = self.get_mut(source) {
            *mine = its;
        }
    }
}

impl<A: ForkState, B: ForkState> ForkState for (A, B) {
    fn same(&self, source: usize, other: &Self) -> bool {
        self.0.same(source, &other.0) && self.1.same(source, &other.1)
    }

    fn same_beside(&self, other: &Self) -> bool {
        self.0.same_beside(&other.0) && self.1.same_beside(&other.1)
    }

    fn adopt(&mut self, source: usize, other: &Self) {
        self.0.adopt(source, &other.0);
        self.1.adopt(source, &other.1);
    }
}

impl<A: ForkState> ForkState for Option<A> {
    fn same(&self, source: usize, other: &Self) -> bool {
        match (self, other) {
            (Some(one), Some(other)) => one.same(source, other),
            (None, None) => true,
            _ => false,
        }
    }

    fn same_beside(&self, other: &Self) -> bool {
        match (self, other) {
            (Some(one), Some(other)) => one.same_beside(other),
            _ => true,
        }
    }

    fn adopt(&mut self, source: usize, other: &Self) {
        if let (Some(mine), Some(its)) = (self, other) {
            mine.adopt(source, its);
        }
    }
}

/// Both say what they have to say.
impl<A: Fork, B: Fork> Fork for (A, B) {
    type State = (A::State, B::State);
    type Output = (A::Output, B::Output);

    fn fork(&self) -> Self {
        (self.0.fork(), self.1.fork())
    }

    fn state(&self) -> Self::State {
        (self.0.state(), self.1.state())
    }

    fn resume(&mut self, (a, b): Self::State) {
        self.0.resume(a);
        self.1.resume(b);
    }

    fn take(&mut self) -> Self::Output {
        (self.0.take(), self.1.take())
    }

    fn weight(&self) -> usize {
        self.0.weight() + self.1.weight()
    }
}

/// None has nothing to say.
impl<L: Fork> Fork for Option<L> {
    type State = Option<L::State>;
    type Output = Option<L::Output>;

    fn fork(&self) -> Self {
        self.as_ref().map(L::fork)
    }

    fn state(&self) -> Self::State {
        self.as_ref().map(L::state)
    }

    fn resume(&mut self, state: Self::State) {
        if let (Some(listener), Some(state)) = (self, state) {
            listener.resume(state);
        }
    }

    fn take(&mut self) -> Self::Output {
        self.as_mut().map(L::take)
    }

    fn weight(&self) -> usize {
        self.as_ref().map_or(0, L::weight)
    }
}
