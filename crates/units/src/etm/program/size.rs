//! Comparisons of data values by size. (IHI 0014, 2.8.1 to 2.8.3, Tables 2-11 to 2-13)

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

    /// The value that ETMDCVR `register` compares at `address`.
    pub const fn value(self, register: u32, address: u32, version: Version) -> u32 {
        register >> self.shift(address, version) & self.largest()
    }

    const fn shift(self, address: u32, version: Version) -> u32 {
        if version.since(Version::V2_0) { 0 } else { 8 * (address & 3) }
    }
}
