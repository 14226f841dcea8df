//! Which packets, elements and instructions a listing shows.

use std::ops::Range;
use std::sync::Arc;

use tracewright_base::{self as base, Element, Inconsistency};
use tracewright_protocols::PacketKind;
use tracewright_protocols::Registry;

/// Selects packets, elements and instructions by kind, address and context ID.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    kinds: Arc<[String]>,
    /// The addresses that are selected in each source; all for `None`.
    addresses: Option<Arc<[Vec<Range<u64>>]>>,
    context: Option<u32>,
    /// The context ID of each source, where it is known.
    contexts: Vec<Option<u32>>,
}

impl Filter {
    /// Selects what is of one of `kinds` (of any, where it is empty), at one of the `addresses` of
    /// its source (anywhere for `None`), and in `context` (in any for `None`).
    pub fn new(
        kinds: Vec<String>,
        addresses: Option<Vec<Vec<Range<u64>>>>,
        context: Option<u32>,
    ) -> Filter {
        let addresses = addresses.map(Arc::from);
        Filter { kinds: kinds.into(), addresses, context, contexts: Vec::new() }
    }

    /// Whether everything is selected.
    #[inline]
    pub fn is_all(&self) -> bool {
        self.kinds.is_empty() && self.addresses.is_none() && self.context.is_none()
    }

    /// Whether this kind is selected by its name, anywhere.
    pub fn names(&self, kind: &str) -> bool {
        let anywhere = self.addresses.is_none() && self.context.is_none();
        anywhere && self.kinds.iter().any(|own| own == kind)
    }

    /// The context IDs: the state that later results depend on.
    pub fn contexts(&self) -> Vec<Option<u32>> {
        self.contexts.clone()
    }

    /// Continues with `contexts`.
    pub fn resume(&mut self, contexts: Vec<Option<u32>>) {
        self.contexts = contexts;
    }

    /// Follows the context ID, and returns whether `element` is selected.
    pub fn element(&mut self, source: usize, element: &Element) -> bool {
        if let Element::Context(context) = element {
            self.enter(source, context.context_id);
        }
        self.kind(element.kind()) && self.in_context(source) && self.addresses_of(source, element)
    }

    /// Whether a packet is selected. `address`: the one that it makes.
    pub fn packet(&self, source: usize, kind: &str, address: Option<u64>) -> bool {
        let at = |address| self.touches(source, address, address);
        self.kind(kind)
            && self.in_context(source)
            && (self.addresses.is_none() || address.is_some_and(at))
    }

    /// Whether an instruction is selected.
    #[inline]
    pub fn instruction(&self, source: usize, address: u64) -> bool {
        self.kind(INSTRUCTION) && self.in_context(source) && self.touches(source, address, address)
    }

    /// Whether the instructions of `range` are selected: all, none, or for `None` some.
    pub fn instructions(&self, source: usize, range: &base::Range) -> Option<bool> {
        if !self.kind(INSTRUCTION) || !self.in_context(source) {
            return Some(false);
        }
        let Some(own) = self.own(source) else { return Some(true) };
        let inside = |first, last| own.iter().any(|r| r.start <= first && last < r.end);
        let whole = !range.any_addresses(|first, last| !inside(first, last));
        match range.any_addresses(|first, last| self.touches(source, first, last)) {
            false => Some(false),
            true if whole => Some(true),
            true => None,
        }
    }

    /// Whether a line of text of software is selected.
    pub fn text(&self, source: usize) -> bool {
        self.kind("text") && self.in_context(source) && self.addresses.is_none()
    }

    /// Whether turns of a loop are selected.
    pub fn turns(&self, source: usize, kind: &str, ranges: &[base::Range]) -> bool {
        let touches =
            |r: &base::Range| r.any_addresses(|first, last| self.touches(source, first, last));
        self.kind(kind) && self.in_context(source) && ranges.iter().any(touches)
    }

    #[cold]
    fn enter(&mut self, source: usize, id: Option<u32>) {
        if self.context.is_none() {
            return;
        }
        if self.contexts.len() <= source {
            self.contexts.resize(source + 1, None);
        }
        if let Some(context) = self.contexts.get_mut(source) {
            *context = id;
        }
    }

    fn kind(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|own| own == kind)
    }

    fn in_context(&self, source: usize) -> bool {
        self.context.is_none() || self.contexts.get(source).copied().flatten() == self.context
    }

    /// The addresses of a source; `None` where all are selected.
    fn own(&self, source: usize) -> Option<&[Range<u64>]> {
        let all = self.addresses.as_ref()?;
        Some(all.get(source).map_or(&[], Vec::as_slice))
    }

    /// Whether an address from `first` to `last` is selected.
    fn touches(&self, source: usize, first: u64, last: u64) -> bool {
        self.own(source).is_none_or(|own| own.iter().any(|r| r.start <= last && first < r.end))
    }

    fn addresses_of(&self, source: usize, element: &Element) -> bool {
        if self.addresses.is_none() {
            return true;
        }
        is_at(element, |first, last| self.touches(source, first, last))
    }
}

/// Whether an address of `element` is one for which `has` holds, of the first and last byte of a
/// range of addresses: of two, where they wrap around the end.
pub fn is_at(element: &Element, has: impl Fn(u64, u64) -> bool) -> bool {
    let at = |address: u64| has(address, address);
    match *element {
        Element::Range(range) => range.any_addresses(has),
        Element::Unknown { start, next, .. } => at(start) || at(next),
        Element::NoCode { address, .. }
        | Element::Inconsistency(Inconsistency::Misaligned { address, .. }) => at(address),
        Element::Exception(exception) => exception.return_address.is_some_and(at),
        Element::DataAccess(access) => {
            access.address().is_some_and(at) || access.by().is_some_and(at)
        }
        Element::DwtEvent(event) => event.meaning().pc().is_some_and(|pc| at(pc.into())),
        _ => false,
    }
}

/// The kind of instructions in a listing of instructions.
pub const INSTRUCTION: &str = "instruction";

/// The kinds of elements, and of the other lines of a listing.
pub const KINDS: [&str; 34] = [
    "ambiguity",
    "barrier",
    "context",
    "corrected",
    "custom",
    "cycles",
    "data-access",
    "dwt-event",
    "end",
    "events",
    "exception",
    "exception-return",
    "flush",
    "gap",
    "global-timestamp",
    "inconsistency",
    "instruction",
    "instrumentation",
    "local-timestamp",
    "loop-turns",
    "marker",
    "no-code",
    "range",
    "software-write",
    "sync",
    "text",
    "timestamp",
    "trace-on",
    "transaction",
    "trap-value",
    "trigger",
    "undecodable",
    "unknown",
    "unlisted",
];

/// The kinds of the packets of these protocols, and of undecodable bytes. Protocols share some.
pub fn packet_kinds(protocols: &Registry) -> impl Iterator<Item = &'static str> {
    protocols
        .all()
        .flat_map(|protocol| protocol.about().packet_kinds)
        .map(PacketKind::as_str)
        .chain(["undecodable"])
}

#[cfg(test)]
mod tests {
    use std::iter;

    use tracewright_base::{Counted, Instruction, Isa, Last};

    use super::*;

    #[test]
    fn ranges_that_wrap_are_at_both_ends() {
        let own = Instruction { isa: Isa::A64, size: 4, ..Instruction::default() };
        let (last, cycles) = (Last::new(&own, false), Counted::UNKNOWN);
        let range = base::Range { start: u64::MAX - 3, bytes: 8, instructions: 2, cycles, last };
        let top = u64::MAX - 3..u64::MAX;
        for (selected, some, all) in [
            (0..1, true, None),
            (3..9, true, None),
            (top.clone(), true, None),
            (4..u64::MAX - 3, false, Some(false)),
            (1 << 32..1 << 33, false, Some(false)),
        ] {
            let text = format!("{selected:x?}");
            let mut filter =
                Filter::new(Vec::new(), Some(vec![iter::once(selected).collect()]), None);
            assert_eq!(filter.element(0, &Element::Range(range)), some, "{text}");
            assert_eq!(filter.instructions(0, &range), all, "{text}");
        }
        // An interval does not include the greatest address.
        let range = base::Range { start: u64::MAX - 7, bytes: 12, ..range };
        let filter = Filter::new(Vec::new(), Some(vec![vec![0..9, top]]), None);
        assert_eq!(filter.instructions(0, &range), None);
        let range = base::Range { start: 0x1000, bytes: 8, ..range };
        let filter = Filter::new(Vec::new(), Some(vec![vec![0x1000..0x1008]]), None);
        assert_eq!(filter.instructions(0, &range), Some(true));
    }
}
