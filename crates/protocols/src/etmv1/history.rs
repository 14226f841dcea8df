//! What completes compressed addresses: the addresses before.

use tracewright_base::Isa;

use super::packet::Address;
use crate::bits::replace_low;

/// The last branch address and the last data address that were sent. A plain value; its default knows
/// nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// As it was sent, its lowest bits too.
    address: u32,
    /// Low bits of `address` that are known.
    known: u8,
    jazelle: bool,
    data: u32,
    /// Low bits of `data` that are known.
    data_known: u8,
}

/// A branch address, completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Byte address.
    pub address: u32,
    /// Low bits of it that are known.
    pub known: u8,
    /// The instruction set there.
    pub isa: Isa,
}

impl History {
    /// Completes a branch address. Bit \[0] says which instruction set is next, unless it is Jazelle:
    /// to enter and to leave that takes a whole address. (IHI 0014, 5.5.2 and 5.5.4)
    pub fn branch(&mut self, address: &Address) -> Target {
        self.address = replace_low(self.address.into(), address.bits.into(), address.count) as u32;
        self.known = self.known.max(address.count);
        if let Some(last) = address.last {
            self.jazelle = last.jazelle;
        }
        let isa = match (self.jazelle, self.address & 1) {
            (true, _) => Isa::Jazelle,
            (false, 0) => Isa::A32,
            (false, _) => Isa::T32,
        };
        let address = self.address & !(isa.alignment() as u32 - 1);
        Target { address, known: self.known, isa }
    }

    /// Completes a data address; `None` where not all of its bits are known.
    pub fn data(&mut self, bits: u32, count: u8) -> Option<u32> {
        self.data = replace_low(self.data.into(), bits.into(), count) as u32;
        self.data_known = self.data_known.max(count);
        (self.data_known >= 32).then_some(self.data)
    }

    /// The next data address comes whole: what was before is no base for it.
    pub fn forget_data(&mut self) {
        (self.data, self.data_known) = (0, 0);
    }

    /// The last branch address as it was sent, where all of it is known.
    pub fn base(&self) -> Option<u32> {
        (self.known >= 32).then_some(self.address)
    }
}
