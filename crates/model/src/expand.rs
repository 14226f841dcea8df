//! Expansion of elements to executed instructions, with program memory.

use tracewright_base::{Code, Element, Isa, Pc, Sink, Space};
use tracewright_protocols::Observer;

/// An executed instruction, or an element other than a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ran {
    /// An instruction was executed.
    Instruction {
        /// Its address.
        address: u64,
        /// Its instruction set.
        isa: Isa,
        /// Whether the last instruction of a range took effect; `None` for other instructions.
        taken: Option<bool>,
    },
    /// A range whose instructions from an address on cannot be read.
    Unreadable {
        /// Address of the first unreadable instruction.
        address: u64,
    },
    /// An element other than a range.
    Element(Element),
}

/// A sink that expands ranges and passes each result on.
#[derive(Debug)]
pub struct Expand<K, F> {
    code: K,
    each: F,
    space: Space,
}

impl<K: Code, F: FnMut(u64, Ran)> Expand<K, F> {
    /// `code` reads the program; `each` receives the offset of the packet and the result.
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
