//! Consecutive ranges of one source.

use tracewright_base::{Element, Gap, Role};

/// Finds the edges of one source. An edge leads from the last instruction of a range to the start
/// of the range after it.
///
/// Exceptions, exception returns and missing information break the chain, so the edges are those of
/// the program itself and do not vary between runs. Timestamps, contexts and events do not break
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chain {
    head: Head,
    /// The address of the last instruction of the last range, if the chain is unbroken.
    last: Option<u64>,
}

/// The beginning of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Head {
    /// No range and no break so far.
    #[default]
    Nothing,
    /// A range with this start. A chunk before this one can have an edge to it.
    Range(u64),
    /// An element that breaks the chain.
    Broken,
}

impl Chain {
    /// Takes an element and returns the edge that it ends.
    #[inline]
    pub(super) fn element(&mut self, element: &Element) -> Option<(u64, u64)> {
        match element {
            Element::Range(range) => {
                if self.head == Head::Nothing {
                    self.head = Head::Range(range.start);
                }
                let edge = self.last.map(|from| (from, range.start));
                let returns = range.last.role == Role::ExceptionReturn;
                self.last = (!returns).then_some(range.last_address());
                edge
            }
            element => {
                if breaks(element) {
                    if self.head == Head::Nothing {
                        self.head = Head::Broken;
                    }
                    self.last = None;
                }
                None
            }
        }
    }

    /// Appends the chain of the chunk after this one, and returns the edge between both.
    pub(super) fn join(&mut self, later: Chain) -> Option<(u64, u64)> {
        let last = self.last;
        if later.head == Head::Nothing {
            return None;
        }
        if self.head == Head::Nothing {
            self.head = later.head;
        }
        self.last = later.last;
        match later.head {
            Head::Range(start) => last.map(|from| (from, start)),
            Head::Nothing | Head::Broken => None,
        }
    }
}

/// Whether `element` breaks the chain.
const fn breaks(element: &Element) -> bool {
    match element {
        Element::Gap(gap) => !matches!(gap, Gap::Data),
        Element::TraceOn(_)
        | Element::Unknown { .. }
        | Element::NoCode { .. }
        | Element::Exception(_)
        | Element::ExceptionReturn
        | Element::Undecodable { .. }
        | Element::Inconsistency(_)
        | Element::Transaction(_)
        | Element::End => true,
        // Ranges, contexts, time, events, writes and data accesses.
        _ => false,
    }
}

/// A chain for each source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Chains(Vec<Chain>);

impl Chains {
    #[inline]
    pub(super) fn of(&mut self, source: usize) -> Option<&mut Chain> {
        if source >= self.0.len() {
            self.0.resize(source + 1, Chain::default());
        }
        self.0.get_mut(source)
    }

    /// Appends the chains of the chunk after this one, and passes the edges between both to `edge`.
    pub(super) fn join(&mut self, later: Chains, mut edge: impl FnMut(u64, u64)) {
        for (n, chain) in later.0.into_iter().enumerate() {
            if let Some((from, to)) = self.of(n).and_then(|own| own.join(chain)) {
                edge(from, to);
            }
        }
    }
}
