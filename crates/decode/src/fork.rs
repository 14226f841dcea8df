//! Listeners that can be forked: one for each worker; their outputs are joined in order.

use tracewright_base::{Batch, Element};

use crate::listener::{Event, Listener, Wants};
use crate::merge::Merge;

/// A listener of which there can be several, each for a chunk of the trace.
///
/// The output of a fork is separate from its state: [`take`](Fork::take) returns the output so far,
/// and [`state`](Fork::state) is everything else that later output depends on. Two forks in the
/// same state that receive the same calls make the same output, so that the output of one may be
/// appended to earlier output of the other.
pub trait Fork: Sized {
    /// Everything that later output depends on. `()` where the output of an element depends on
    /// nothing else.
    type State: ForkState + 'static;
    /// The output: text, counts. The outputs of all chunks, joined in order, are those of one
    /// listener.
    type Output: Send + 'static;

    /// Whether the output grows with the number of elements, as text does. Such output is taken
    /// whenever its [`weight`](Fork::weight) reaches a bound. Otherwise it is taken between blocks
    /// of bytes only.
    const GROWS: bool = true;
    /// How many times larger parts of the output are than usually, where each part costs time.
    const PARTS: usize = 1;

    /// A listener of the same kind for a worker, without output. Its initial state may be predicted
    /// from the state of this one: if the prediction is wrong, the
    /// worker's state never equals the actual state, and its output is not taken.
    #[must_use]
    fn fork(&self) -> Self;

    /// The state. Called only after [`take`](Fork::take).
    fn state(&self) -> Self::State;

    /// Replaces the state by `state`. Output that was not taken is dropped.
    fn resume(&mut self, state: Self::State);

    /// Takes the output so far.
    fn take(&mut self) -> Self::Output;

    /// The size of the output that was not taken, in bytes of memory, approximately; 0 where it is
    /// always small.
    fn weight(&self) -> usize {
        0
    }

    /// The size of the [state](Fork::state) in bytes of memory, approximately; 0 where it is always
    /// small.
    fn state_weight(&self) -> usize {
        0
    }

    /// Receives an element as [`Listener::element`] does, but may stop before all output of the
    /// element is made, so that the output so far can be taken. Then it returns `true`, and
    /// [`more`](Fork::more) continues until that returns `false`.
    #[inline]
    fn start(&mut self, source: usize, at: u64, element: Element) -> bool
    where
        Self: Listener,
    {
        self.element(source, at, element);
        false
    }

    /// Makes more of the output that [`start`](Fork::start) has not made. Returns whether there is
    /// still more.
    fn more(&mut self) -> bool {
        false
    }
}

/// The state of a [`Fork`], by source.
pub trait ForkState: Clone + Send {
    /// Whether the output for `source` will be the same.
    fn same(&self, source: usize, other: &Self) -> bool;

    /// Whether the parts of the state that belong to no source are equal.
    fn same_beside(&self, other: &Self) -> bool {
        let _ = other;
        true
    }

    /// Copies the part that belongs to `source` from `other`.
    fn adopt(&mut self, source: usize, other: &Self);
}

/// A listener whose outputs can be [merged](Merge): it has no state.
#[derive(Clone, Debug, Default)]
pub struct Merging<L>(pub L);

impl<L: Merge + Send> Fork for Merging<L> {
    type State = ();
    type Output = L;
    const GROWS: bool = false;

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
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.element(source, at, element);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        self.0.batch(batch);
    }

    fn event(&mut self, event: &Event<'_>) {
        self.0.event(event);
    }

    fn wants(&self) -> Wants {
        self.0.wants()
    }

    fn full(&self) -> bool {
        self.0.full()
    }
}

/// No state.
impl ForkState for () {
    fn same(&self, _: usize, _: &Self) -> bool {
        true
    }

    fn adopt(&mut self, _: usize, _: &Self) {}
}

/// One element for each source; a missing element equals the default.
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

/// Both listeners make output.
impl<A: Fork + Listener, B: Fork + Listener> Fork for (A, B) {
    type State = (A::State, B::State);
    type Output = (A::Output, B::Output);
    const GROWS: bool = A::GROWS || B::GROWS;
    const PARTS: usize = if A::PARTS > B::PARTS { A::PARTS } else { B::PARTS };

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

    #[inline]
    fn weight(&self) -> usize {
        self.0.weight() + self.1.weight()
    }

    fn state_weight(&self) -> usize {
        self.0.state_weight() + self.1.state_weight()
    }

    #[inline]
    fn start(&mut self, source: usize, at: u64, element: Element) -> bool {
        self.0.start(source, at, element) | self.1.start(source, at, element)
    }

    fn more(&mut self) -> bool {
        self.0.more() | self.1.more()
    }
}

/// `None` makes no output.
impl<L: Fork + Listener> Fork for Option<L> {
    type State = Option<L::State>;
    type Output = Option<L::Output>;
    const GROWS: bool = L::GROWS;
    const PARTS: usize = L::PARTS;

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

    #[inline]
    fn weight(&self) -> usize {
        self.as_ref().map_or(0, L::weight)
    }

    fn state_weight(&self) -> usize {
        self.as_ref().map_or(0, L::state_weight)
    }

    #[inline]
    fn start(&mut self, source: usize, at: u64, element: Element) -> bool {
        self.as_mut().is_some_and(|listener| listener.start(source, at, element))
    }

    fn more(&mut self) -> bool {
        self.as_mut().is_some_and(L::more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both parts of a pair are those of the other state, for this source only.
    #[test]
    fn states_of_pairs_are_adopted_by_source() {
        let mut own = (vec![1, 2], (Some(vec![3, 4]), vec![5]));
        let other = (vec![10, 20], (Some(vec![30, 40]), vec![50, 60]));
        own.adopt(1, &other);
        assert_eq!(own, (vec![1, 20], (Some(vec![3, 40]), vec![5, 60])));
        assert!(own.same(1, &other) && !own.same(0, &other));
        own.adopt(0, &other);
        assert_eq!(own, other);
        // Each part counts.
        for part in 0..3 {
            let mut one = other.clone();
            match part {
                0 => one.0[1] = 0,
                1 => one.1.0 = Some(vec![30, 0]),
                _ => one.1.1[1] = 0,
            }
            assert!(!one.same(1, &other) && one.same(0, &other), "{part}");
        }
    }
}
