//! One range after another.

use tracewright_base::{Element, Gap, Role};

/// From where to where one source went: the address of the last instruction of a range, and the start
/// of the range after it.
///
/// Exceptions, their returns and everything that is not known breaks the chain: what is left is what
/// the program itself does, and every run of it does the same. Time, contexts and events do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chain {
    head: Head,
    /// The last instruction of the last range, if nothing came between.
    last: Option<u64>,
}

/// What a chain began with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Head {
    /// Nothing came yet.
    #[default]
    Nothing,
    /// A range that starts here: what came before it may lead to it.
    Range(u64),
    /// Something that nothing leads to.
    Broken,
}

impl Chain {
    /// Takes an element and answers with the edge that it ends.
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

    /// Takes over what `later` saw and answers with the edge between both.
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

/// Whether what comes after `element` does not follow from what came before it.
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
        Element::Range(_)
        | Element::Corrected { .. }
        | Element::Context(_)
        | Element::Timestamp { .. }
        | Element::Cycles(_)
        | Element::Events(_)
        | Element::Trigger
        | Element::Marker
        | Element::Instrumentation { .. }
        | Element::TrapValue(_)
        | Element::SoftwareWrite(_)
        | Element::DwtEvent(_)
        | Element::LocalTimestamp(_)
        | Element::GlobalTimestamp { .. }
        | Element::DataAccess(_) => false,
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

    /// Takes over what `later` saw; `edge` gets what is between.
    pub(super) fn join(&mut self, later: Chains, mut edge: impl FnMut(u64, u64)) {
        for (n, chain) in later.0.into_iter().enumerate() {
            if let Some((from, to)) = self.of(n).and_then(|own| own.join(chain)) {
                edge(from, to);
            }
        }
    }
}
