//! Elements that may select other program memory, on their way from a decoder's output to its
//! input.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tracewright_base::Element;

use crate::address_spaces::Viewpoint;
use crate::conditions::Selection;

/// Elements that the decoder emitted since it last asked for code. A clone has none.
#[derive(Debug)]
pub struct MemorySelectors {
    viewpoint: Viewpoint,
    /// Ranges that are emitted may select other memory. A decoder that asks for each instruction
    /// emits its range later, and what it asks for is what selects.
    ranges: bool,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    any: AtomicBool,
    elements: Mutex<Vec<Element>>,
}

impl MemorySelectors {
    pub(crate) fn new(viewpoint: Viewpoint, each: bool) -> MemorySelectors {
        let ranges = !each && viewpoint.watches_addresses();
        MemorySelectors { viewpoint, ranges, shared: Arc::default() }
    }

    /// The same elements, for the receiver of the decoder's output.
    #[must_use]
    pub fn sender(&self) -> MemorySelectors {
        let (viewpoint, shared) = (self.viewpoint.clone(), Arc::clone(&self.shared));
        MemorySelectors { viewpoint, ranges: self.ranges, shared }
    }

    /// Follows what `element` selects. Returns whether it is other memory.
    pub fn follow(&self, selection: &mut Selection, element: &Element) -> bool {
        self.viewpoint.follow(selection, element)
    }

    /// The decoder emitted `element`.
    #[cold]
    pub fn element(&self, element: &Element) {
        let watches = match element {
            Element::Range(_) => self.ranges,
            element => self.viewpoint.watches(element),
        };
        if !watches {
            return;
        }
        if let Ok(mut elements) = self.shared.elements.lock() {
            elements.push(*element);
            self.shared.any.store(true, Ordering::Relaxed);
        }
    }

    /// Takes the elements, in their order.
    pub(crate) fn take(&self) -> Vec<Element> {
        if !self.shared.any.swap(false, Ordering::Relaxed) {
            return Vec::new();
        }
        self.shared
            .elements
            .lock()
            .map(|mut elements| std::mem::take(&mut *elements))
            .unwrap_or_default()
    }
}

impl Clone for MemorySelectors {
    fn clone(&self) -> Self {
        MemorySelectors {
            viewpoint: self.viewpoint.clone(),
            ranges: self.ranges,
            shared: Arc::default(),
        }
    }
}
