//! Listeners, states and outputs without their types, so that the loops of this folder are compiled
//! once, and not for each listener.

use std::any::Any;

use crate::fork::{Fork, ForkState, Received, Size};
use crate::listener::Listener;

/// The output of a listener: its [`Fork::Output`].
pub(super) type Output = Box<dyn Any + Send>;

/// Receives output and a number, and returns whether more is wanted.
pub(super) type Write<'a> = dyn FnMut(Output, u64) -> bool + 'a;

/// A listener of any type, with the members of [`Fork`].
pub(super) trait AnyFork: Listener + Send {
    fn fork<'a>(&self) -> Box<dyn AnyFork + 'a>
    where
        Self: 'a;
    fn state(&self) -> Box<dyn AnyState>;
    /// Resumes a state of a listener of the same type.
    fn resume(&mut self, state: Box<dyn AnyState>);
    fn take(&mut self) -> Output;
    fn size(&self) -> Size;
    fn receive(&mut self, next: Option<Received>) -> bool;
}

impl<L: Listener + Fork + Send> AnyFork for L {
    fn fork<'a>(&self) -> Box<dyn AnyFork + 'a>
    where
        Self: 'a,
    {
        Box::new(Fork::fork(self))
    }

    fn state(&self) -> Box<dyn AnyState> {
        Box::new(Fork::state(self))
    }

    fn resume(&mut self, state: Box<dyn AnyState>) {
        let state: Box<dyn Any> = state;
        if let Ok(state) = state.downcast() {
            Fork::resume(self, *state);
        }
    }

    fn take(&mut self) -> Output {
        Box::new(Fork::take(self))
    }

    fn size(&self) -> Size {
        Fork::size(self)
    }

    fn receive(&mut self, next: Option<Received>) -> bool {
        Fork::receive(self, next)
    }
}

/// A state of any type, with the members of [`ForkState`]. States of different types are never the
/// same.
pub(super) trait AnyState: Any + Send {
    fn same(&self, source: usize, other: &dyn AnyState) -> bool;
    fn same_beside(&self, other: &dyn AnyState) -> bool;
    fn adopt(&mut self, source: usize, other: &dyn AnyState);
}

impl<S: ForkState + 'static> AnyState for S {
    fn same(&self, source: usize, other: &dyn AnyState) -> bool {
        typed(other).is_some_and(|other| ForkState::same(self, source, other))
    }

    fn same_beside(&self, other: &dyn AnyState) -> bool {
        typed(other).is_some_and(|other| ForkState::same_beside(self, other))
    }

    fn adopt(&mut self, source: usize, other: &dyn AnyState) {
        if let Some(other) = typed(other) {
            ForkState::adopt(self, source, other);
        }
    }
}

fn typed<S: 'static>(state: &dyn AnyState) -> Option<&S> {
    let state: &dyn Any = state;
    state.downcast_ref()
}
