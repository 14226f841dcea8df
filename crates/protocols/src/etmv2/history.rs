//! The previous addresses, which complete compressed ones.

use tracewright_base::Isa;

use super::packet::{Branch, DataAddress, Tfo};
use crate::bits::replace_low;

/// The last addresses that were sent. By default nothing is known.
///
/// The base of a branch address is the last address that was sent in a TFO packet or a branch
/// packet, not the address of the last instruction. (IHI 0014, 6.7.1)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    address: u32,
    /// Number of low bits of `address` that are known.
    known: u8,
    isa: Option<Isa>,
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
    /// Takes a TFO packet.
    pub fn tfo(&mut self, tfo: &Tfo) {
        let (address, isa) = tfo.start_address();
        (self.address, self.known, self.isa) = (address, 32, Some(isa));
    }

    /// Completes a branch address. A change of the instruction set takes a whole address.
    pub fn branch(&mut self, branch: &Branch) -> Target {
        let isa = match branch.state {
            Some(state) => state.isa(),
            None => self.isa.unwrap_or(Isa::A32),
        };
        let shift = isa.alignment().trailing_zeros() as u8;
        let count = (branch.count + shift).min(32);
        let bits = u64::from(branch.bits) << shift;
        self.address = replace_low(self.address.into(), bits, count) as u32;
        if self.isa.is_some() || branch.state.is_some() {
            self.known = self.known.max(count);
            self.isa = Some(isa);
        }
        Target { address: self.address, known: self.known, isa }
    }

    /// Completes a data address; `None` where not all of its bits are known.
    pub fn data(&mut self, address: &DataAddress) -> Option<u32> {
        self.data = replace_low(self.data.into(), address.bits.into(), address.count) as u32;
        self.data_known = self.data_known.max(address.count);
        (self.data_known >= 32).then_some(self.data)
    }

    /// Forgets the last data address: the next one comes whole.
    pub fn forget_data(&mut self) {
        (self.data, self.data_known) = (0, 0);
    }
}
