//! Handlers of which another trace states what they store to the variable of the running task.

use super::{Stacks, Visitor};
use crate::stored::{Stored, Stores};
use crate::transfer::{Kind, Transfer, empty};

/// What the handlers of a source store, and the number of those that have begun.
#[derive(Clone, Debug, Default)]
pub(super) struct HandlerStores {
    stores: Stores,
    next: usize,
}

impl<V: Visitor> Stacks<V> {
    /// What the handlers of a source store to the variable of the running task is known of another
    /// trace. All transfers must be taken in order, and no part as frames.
    #[must_use]
    pub fn with_stores(self, stores: Option<&Stores>) -> Self {
        let stores = stores.map(|own| Box::new(HandlerStores { stores: own.clone(), next: 0 }));
        Stacks { stores, ..self }
    }

    /// A handler has begun.
    pub(super) fn handler_stores(&mut self, source: usize, at: u64) {
        let Some(own) = self.stores.as_mut().filter(|own| own.stores.source == source) else {
            return;
        };
        let stored = own.stores.handlers.get(own.next).copied().unwrap_or(Stored::Unknown);
        own.next += 1;
        let ret = match stored {
            Stored::Nothing => return,
            Stored::Named(value) => Some(value),
            Stored::Unknown => None,
        };
        self.task_named(source, &Transfer { kind: Kind::Task, ret, ..empty(source, at) });
    }
}
