//! The previous addresses, which complete compressed ones.

use tracewright_base::Isa;

use super::packet::Address;
use crate::bits::replace_low;

/// The last branch address and the last data address that were sent. By default nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The last branch address as it was sent, including its lowest bits.
    address: u32,
    /// Number of low bits of `address` that are known.
    known: u8,
    jazelle: bool,
    data: u32,
    /// Number of low bits of `data` that are known.
    data_known: u8,
}

/// A branch address, completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Byte address.
    pub address: u32,
    /// Number of its low bits that are known.
    pub known: u8,
    /// The instruction set there.
    pub isa: Isa,
}

impl History {
    /// Completes a branch address. Bit \[0] selects A32 or T32. A change to or from Jazelle state
    /// takes a whole address. (IHI 0014, 5.5.2 and 5.5.4)
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

    /// Forgets the last data address: the next one comes whole.
    pub fn forget_data(&mut self) {
        (self.data, self.data_known) = (0, 0);
    }

    /// The last branch address as it was sent, where all of it is known.
    pub fn base(&self) -> Option<u32> {
        (self.known >= 32).then_some(self.address)
    }
}
