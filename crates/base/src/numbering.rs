//! How the blocks of a table are numbered.

use alloc::sync::{Arc, Weak};

/// Identifies how the blocks of a table are numbered. A table whose blocks get other numbers, or a
/// clone of it, has another numbering.
#[derive(Debug, Default)]
pub struct Numbering(Arc<()>);

impl Numbering {
    /// The blocks get other numbers. Allocates memory only where counts have the present ones.
    pub fn renew(&mut self) {
        if Arc::get_mut(&mut self.0).is_none() {
            *self = Numbering::default();
        }
    }

    /// What identifies the numbering as long as it exists.
    pub fn downgrade(&self) -> Weak<()> {
        Arc::downgrade(&self.0)
    }

    /// Whether `known` is what [`downgrade`](Numbering::downgrade) returns.
    #[inline]
    pub fn is(&self, known: &Weak<()>) -> bool {
        Arc::as_ptr(&self.0) == known.as_ptr()
    }
}

impl Clone for Numbering {
    fn clone(&self) -> Self {
        Numbering::default()
    }
}
