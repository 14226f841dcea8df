//! Comparisons of data values by size. (IHI 0014, 2.8.1 to 2.8.3, Tables 2-11 to 2-13)

use crate::etm::settings::AccessType;
use crate::etm::version::Version;

/// The size of a comparison: the largest that the alignment of the address permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 8 bits.
    Byte,
    /// 16 bits.
    Halfword,
    /// 32 bits.
    Word,
}

impl Size {
    /// The size of a comparison at `address`.
    pub const fn at(address: u32) -> Size {
        match address & 3 {
            0 => Size::Word,
            2 => Size::Halfword,
            _ => Size::Byte,
        }
    }

    /// The size that ETMACTR \[4:3] selects. `None` for the reserved code.
    pub const fn of(kind: AccessType) -> Option<Size> {
        match kind.size() {
            Some(1) => Some(Size::Byte),
            Some(2) => Some(Size::Halfword),
            Some(_) => Some(Size::Word),
            None => None,
        }
    }

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Size::Byte => "byte",
            Size::Halfword => "halfword",
            Size::Word => "word",
        }
    }

    /// The largest value.
    pub const fn largest(self) -> u32 {
        match self {
            Size::Byte => 0xff,
            Size::Halfword => 0xffff,
            Size::Word => u32::MAX,
        }
    }

    /// ETMACTR bits \[4:3].
    pub const fn bits(self) -> u32 {
        match self {
            Size::Byte => 0,
            Size::Halfword => 0b01 << 3,
            Size::Word => 0b11 << 3,
        }
    }

    /// The registers ETMDCVR and ETMDCMR that compare `value` at `address`: from ETMv3.3 value and
    /// mask are repeated; before, the other bits are masked. An ETMv1 compares the data bus of a
    /// little-endian processor, on which the address selects the bits.
    pub const fn compared(self, value: u32, address: u32, version: Version) -> (u32, u32) {
        let largest = self.largest();
        if version.since(Version::V3_3) {
            return (value * (u32::MAX / largest), 0);
        }
        let shift = self.shift(address, version);
        (value << shift, !(largest << shift))
    }

    /// The value and the mask of this size that ETMDCVR `register` and ETMDCMR `mask` compare at
    /// `address`: the inverse of [`Size::compared`] with a mask. Bits that the mask excludes are 0
    /// in the value. `None` where registers are not of the form of [`Size::compared`]: where bits
    /// beyond the size are compared, repetitions differ, or the address is not a multiple of the
    /// size.
    pub fn of_registers(
        self,
        register: u32,
        mask: u32,
        address: u32,
        version: Version,
    ) -> Option<(u32, u32)> {
        if !address.is_multiple_of(self.bytes()) {
            return None;
        }
        let largest = self.largest();
        let compared = register & !mask;
        let [value, mask] = match version.since(Version::V3_3) {
            true => {
                let parts = [compared & largest, mask & largest];
                let repeated = parts.map(|part| part * (u32::MAX / largest));
                (repeated == [compared, mask]).then_some(parts)?
            }
            false => {
                let shift = self.shift(address, version);
                let beyond = !(largest << shift);
                (mask & beyond == beyond).then_some([compared, mask])?.map(|all| all >> shift)
            }
        };
        Some((value & largest, mask & largest))
    }

    /// The size in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Size::Byte => 1,
            Size::Halfword => 2,
            Size::Word => 4,
        }
    }

    const fn shift(self, address: u32, version: Version) -> u32 {
        if version.since(Version::V2_0) { 0 } else { 8 * (address & 3) }
    }
}
