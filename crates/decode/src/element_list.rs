//! Elements with the bytes of own content.

use tracewright_base::{Custom, Element, Sink};

/// Elements in order, and the bytes of each [`Element::Custom`] among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ElementList {
    elements: Vec<(u64, Element)>,
    /// The index of an element, and its bytes; ascending.
    contents: Vec<(usize, Vec<u8>)>,
    /// The number of bytes in `contents`.
    bytes: usize,
}

impl ElementList {
    pub(crate) fn elements(&self) -> &[(u64, Element)] {
        &self.elements
    }

    /// The bytes of element `n`, if it is [`Element::Custom`].
    pub(crate) fn content(&self, n: usize) -> &[u8] {
        let found = self.contents.binary_search_by_key(&n, |(own, _)| *own).ok();
        found.and_then(|k| self.contents.get(k)).map_or(&[], |(_, bytes)| bytes)
    }

    /// The size in bytes of memory.
    pub(crate) fn weight(&self) -> usize {
        size_of_val(&self.elements[..]) + size_of_val(&self.contents[..]) + self.bytes
    }

    pub(crate) fn clear(&mut self) {
        self.elements.clear();
        self.contents.clear();
        self.bytes = 0;
    }

    /// Passes the elements that are `wanted` on to `sink`, and drops all.
    pub(crate) fn pass<S: Sink>(&mut self, sink: &mut S, wanted: impl Fn(&Element) -> bool) {
        for (n, &(at, element)) in self.elements.iter().enumerate() {
            match element {
                _ if !wanted(&element) => {}
                Element::Custom(Custom { kind, .. }) => sink.custom(at, kind, self.content(n)),
                element => sink.element(at, element),
            }
        }
        self.clear();
    }
}

impl Sink for ElementList {
    fn element(&mut self, at: u64, element: Element) {
        self.elements.push((at, element));
    }

    fn custom(&mut self, at: u64, kind: &'static str, bytes: &[u8]) {
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.contents.push((self.elements.len(), bytes.to_vec()));
        self.bytes += bytes.len();
        self.elements.push((at, Element::Custom(Custom::new(kind, len))));
    }
}
