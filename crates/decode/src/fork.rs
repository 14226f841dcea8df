//! Listeners that can be forked: one for each worker; their outputs are joined in order.

use tracewright_base::{Batch, Custom, Element};

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

    /// How much the listener holds, and how its output grows. By default it grows with the number
    /// of elements, but is always small.
    fn size(&self) -> Size {
        Size::default()
    }

    /// Receives an element as [`Listener::element`] does, but may return `true` before all output
    /// of the element is made, so that the output so far can be taken. Then it is called with
    /// `None`, which continues, until it returns `false`.
    #[inline]
    fn receive(&mut self, next: Option<Received>) -> bool
    where
        Self: Listener,
    {
        if let Some(Received { source, at, element }) = next {
            self.element(source, at, element);
        }
        false
    }
}

/// An element and its source: the arguments of [`Listener::element`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The index of the source.
    pub source: usize,
    /// The offset in the trace buffer.
    pub at: u64,
    /// The element.
    pub element: Element,
}

/// How much a [`Fork`] holds, in bytes of memory, approximately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The output that was not taken; 0 where it is always small.
    pub output: usize,
    /// The [state](Fork::state); 0 where it is always small.
    pub state: usize,
    /// How the output grows. It is the same for all forks of a listener, at any time.
    pub growth: Growth,
}

/// How the output of a [`Fork`] grows with the number of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Growth {
    /// It does not, as counts. It is taken between blocks of bytes only.
    None,
    /// As text does: it is taken whenever it has a certain size.
    #[default]
    Steady,
    /// As [`Steady`](Growth::Steady), but each part that is taken costs time, so that parts are
    /// larger.
    Costly,
}

impl Size {
    /// Output of `output` bytes, which grows with the number of elements, and a small state.
    #[must_use]
    pub const fn of(output: usize) -> Size {
        Size { output, state: 0, growth: Growth::Steady }
    }

    /// A small output that does not grow, and a small state.
    pub const FIXED: Size = Size { output: 0, state: 0, growth: Growth::None };

    /// That of two listeners together.
    #[must_use]
    pub fn and(self, other: Size) -> Size {
        Size {
            output: self.output + other.output,
            state: self.state + other.state,
            growth: self.growth.max(other.growth),
        }
    }
}

impl Growth {
    /// How many times larger parts of the output are than usually.
    pub(crate) const fn parts(self) -> usize {
        match self {
            Growth::None | Growth::Steady => 1,
            Growth::Costly => 8,
        }
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

    fn size(&self) -> Size {
        Size::FIXED
    }
}

impl<L: Listener> Listener for Merging<L> {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.element(source, at, element);
    }

    fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
        self.0.custom(source, at, custom, bytes);
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
    fn size(&self) -> Size {
        self.0.size().and(self.1.size())
    }

    #[inline]
    fn receive(&mut self, next: Option<Received>) -> bool {
        self.0.receive(next) | self.1.receive(next)
    }
}

/// `None` makes no output.
impl<L: Fork + Listener> Fork for Option<L> {
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

    #[inline]
    fn size(&self) -> Size {
        self.as_ref().map_or(Size::FIXED, L::size)
    }

    #[inline]
    fn receive(&mut self, next: Option<Received>) -> bool {
        self.as_mut().is_some_and(|listener| listener.receive(next))
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

    /// The bytes of own content.
    #[derive(Clone, Default)]
    struct Contents(Vec<u8>);

    impl Listener for Contents {
        fn element(&mut self, _: usize, _: u64, _: Element) {}

        fn custom(&mut self, _: usize, _: u64, _: Custom, bytes: &[u8]) {
            self.0.extend(bytes);
        }
    }

    impl Merge for Contents {
        fn merge(&mut self, later: Self) {
            self.0.extend(later.0);
        }
    }

    #[test]
    fn own_content_is_merged() {
        let mut merging = Merging(Contents::default());
        merging.custom(0, 9, Custom::new("own", 2), &[8, 7]);
        assert_eq!(merging.0.0, [8, 7]);
    }

    /// Makes a byte of output for an element, `rest` times, one at a time.
    struct Slow {
        parts: usize,
        rest: usize,
        size: Size,
    }

    impl Slow {
        fn new(parts: usize, state: usize, growth: Growth) -> Self {
            Slow { parts, rest: 0, size: Size { output: 0, state, growth } }
        }
    }

    impl Listener for Slow {
        fn element(&mut self, _: usize, _: u64, _: Element) {
            self.size.output += self.parts;
        }
    }

    impl Fork for Slow {
        type State = ();
        type Output = usize;

        fn fork(&self) -> Self {
            Slow::new(self.parts, self.size.state, self.size.growth)
        }

        fn state(&self) {}

        fn resume(&mut self, (): ()) {}

        fn take(&mut self) -> usize {
            std::mem::take(&mut self.size.output)
        }

        fn size(&self) -> Size {
            self.size
        }

        fn receive(&mut self, next: Option<Received>) -> bool {
            if next.is_some() {
                self.rest = self.parts;
            }
            self.size.output += usize::from(self.rest > 0);
            self.rest = self.rest.saturating_sub(1);
            self.rest > 0
        }
    }

    /// Listeners together are done with an element when each of them is, and each makes its whole
    /// output, also where one of them is done before.
    #[test]
    fn listeners_together_are_done_when_each_is() {
        let next = Received { source: 0, at: 0, element: Element::Trigger };
        for parts in [[1, 1, 1], [3, 1, 2], [1, 3, 2], [1, 2, 3]] {
            let [a, b, c] = parts.map(|parts| Slow::new(parts, 10 * parts, Growth::None));
            let mut all = (a, (Some(b), (None::<Slow>, c)));
            let mut calls = 1;
            let mut more = all.receive(Some(next));
            while more {
                more = all.receive(None);
                calls += 1;
            }
            assert_eq!(calls, 3.min(*parts.iter().max().expect("three")), "{parts:?}");
            let sum = parts.iter().sum::<usize>();
            assert_eq!(all.size(), Size { output: sum, state: 10 * sum, growth: Growth::None });
            assert_eq!(all.take(), (parts[0], (Some(parts[1]), (None, parts[2]))));
        }
    }

    /// Output that grows with the elements decides when that of both is taken.
    #[test]
    fn growth_of_two_listeners() {
        use Growth::{Costly, None, Steady};
        for (a, b, want) in [
            (None, None, None),
            (None, Steady, Steady),
            (Steady, None, Steady),
            (Steady, Steady, Steady),
            (Costly, None, Costly),
            (Steady, Costly, Costly),
        ] {
            let both = (Slow::new(1, 0, a), Slow::new(1, 0, b));
            assert_eq!(both.size().growth, want, "{a:?} and {b:?}");
        }
        assert_eq!(
            (Merging(crate::tally::Tally::default()).size(), ().same(0, &())),
            (Size::FIXED, true)
        );
    }
}
