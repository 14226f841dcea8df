//! Elements and program memory, to the instructions that ran: the way back from a trace unit.

use tracewright_base::{Code, Element, Isa, Pc, Sink, Space};
use tracewright_protocols::Observer;

/// What ran, an instruction at a time; whatever is no range comes as it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ran {
    /// An instruction was executed.
    Instruction {
        /// Where.
        address: u64,
        /// Its instruction set.
        isa: Isa,
        /// It took effect, where it is the last of its range; `None` for the others.
        taken: Option<bool>,
    },
    /// A range whose instructions cannot be read: nothing is known of those from here on.
    Unreadable {
        /// The first that cannot be read.
        address: u64,
    },
    /// Anything else that a trace says.
    Element(Element),
}

/// Expands the ranges that it is given, and passes each thing on.
#[derive(Debug)]
pub struct Expand<K, F> {
    code: K,
    each: F,
    space: Space,
}

impl<K: Code, F: FnMut(u64, Ran)> Expand<K, F> {
    /// `code` reads the program; `each` is given a place and what ran.
    pub fn new(code: K, each: F) -> Self {
        Expand { code, each, space: Space::ANY }
    }
}

impl<K: Code, F: FnMut(u64, Ran)> Observer for Expand<K, F> {}

impl<K: Code, F: FnMut(u64, Ran)> Sink for Expand<K, F> {
    fn element(&mut self, at: u64, element: Element) {
        let range = match element {
            Element::Range(range) => range,
            Element::Context(context) => {
                self.space = context.space();
                return (self.each)(at, Ran::Element(element));
            }
            other => return (self.each)(at, Ran::Element(other)),
        };
        let (mut address, isa) = (range.start, range.last.isa);
        for left in (0..range.instructions).rev() {
            let size = if left == 0 {
                range.last.size()
            } else {
                match self.code.instruction(Pc { address, isa, space: self.space }) {
                    Ok(instruction) => instruction.size,
                    Err(_) => return (self.each)(at, Ran::Unreadable { address }),
                }
            };
            let taken = (left == 0).then_some(range.taken());
            (self.each)(at, Ran::Instruction { address, isa, taken });
            address = address.wrapping_add(size.into()) & isa.address_mask();
        }
    }
}
