//! Target and source addresses in their encoded forms.

use core::fmt;

use tracewright_base::Isa;

/// Which of two instruction sets an address is in. It determines the low bits that are omitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SubIsa {
    /// IS0, instructions of 4 bytes: A64, or A32 in AArch32 state.
    #[default]
    Is0,
    /// IS1, instructions of 2 bytes: T32.
    Is1,
}

impl SubIsa {
    /// The number of low address bits that are not sent: 2 or 1.
    #[inline]
    pub const fn shift(self) -> u8 {
        match self {
            SubIsa::Is0 => 2,
            SubIsa::Is1 => 1,
        }
    }

    /// The instruction set, in AArch64 state (`bits64`) or in AArch32 state.
    #[inline]
    pub const fn isa(self, bits64: bool) -> Isa {
        match (self, bits64) {
            (SubIsa::Is0, true) => Isa::A64,
            (SubIsa::Is0, false) => Isa::A32,
            (SubIsa::Is1, _) => Isa::T32,
        }
    }
}

impl fmt::Display for SubIsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SubIsa::Is0 => "IS0",
            SubIsa::Is1 => "IS1",
        })
    }
}

/// The address bits of a packet. [`History`](crate::etmv4::History) has the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// One of the last three addresses: 0 is the last, up to 2.
    Match(u8),
    /// The low `count` bits; the others are those of the last address.
    Short {
        /// Instruction set.
        is: SubIsa,
        /// The address bits \[count - 1:0].
        bits: u32,
        /// 9 or 17 for IS0, 8 or 16 for IS1.
        count: u8,
    },
    /// The low 32 bits; the others are those of the last address.
    Long32 {
        /// Instruction set.
        is: SubIsa,
        /// Address bits \[31:0].
        bits: u32,
    },
    /// All 64 bits.
    Long64 {
        /// Instruction set.
        is: SubIsa,
        /// The address.
        bits: u64,
    },
}

impl Address {
    /// Reads the address of an address packet from `bytes`, which follow `header`. Returns it with
    /// the number of its bytes. [`None`]: `header` is not that of an address packet. `Some(None)`:
    /// more bytes are needed.
    #[inline]
    pub(in crate::etmv4) fn parse(header: u8, bytes: &[u8]) -> Option<Option<(Self, usize)>> {
        Some(match header {
            0x90..=0x92 => Some((Address::Match(header & 0b11), 0)),
            0x95 => Address::short(SubIsa::Is0, bytes),
            0x96 => Address::short(SubIsa::Is1, bytes),
            0x9a => Address::long32(SubIsa::Is0, bytes).map(|address| (address, 4)),
            0x9b => Address::long32(SubIsa::Is1, bytes).map(|address| (address, 4)),
            0x9d => Address::long64(SubIsa::Is0, bytes).map(|address| (address, 8)),
            0x9e => Address::long64(SubIsa::Is1, bytes).map(|address| (address, 8)),
            _ => return None,
        })
    }

    /// Reads the bytes of a short address and returns their number. `None`: more are needed.
    #[inline]
    pub(super) fn short(is: SubIsa, bytes: &[u8]) -> Option<(Self, usize)> {
        let low = *bytes.first()?;
        let bits = u32::from(low & 0x7f) << is.shift();
        if low & 0x80 == 0 {
            return Some((Address::Short { is, bits, count: 7 + is.shift() }, 1));
        }
        let high = *bytes.get(1)?;
        let bits = bits | u32::from(high) << (7 + is.shift());
        Some((Address::Short { is, bits, count: 15 + is.shift() }, 2))
    }

    /// Reads the 4 bytes of a 32-bit address. `None`: more are needed.
    #[inline]
    pub(super) fn long32(is: SubIsa, bytes: &[u8]) -> Option<Self> {
        Some(Address::of_32(is, *bytes.first_chunk()?))
    }

    /// The 32-bit address of these bytes.
    #[inline]
    pub(in crate::etmv4) const fn of_32(is: SubIsa, bytes: [u8; 4]) -> Self {
        let bits = u32::from_le_bytes(bytes) as u64;
        Address::Long32 { is, bits: join(is, bits) as u32 }
    }

    /// Reads the 8 bytes of a 64-bit address. `None`: more are needed.
    #[inline]
    pub(super) fn long64(is: SubIsa, bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; 8] = *bytes.first_chunk()?;
        Some(Address::Long64 { is, bits: join(is, u64::from_le_bytes(bytes)) })
    }

    /// Writes the bytes after the header.
    pub(super) fn emit(self, out: &mut impl Extend<u8>) {
        match self {
            Address::Match(_) => {}
            Address::Short { is, bits, count } => {
                let field = bits >> is.shift();
                if count > 7 + is.shift() {
                    out.extend([field as u8 | 0x80, (field >> 7) as u8]);
                } else {
                    out.extend([field as u8 & 0x7f]);
                }
            }
            Address::Long32 { is, bits } => {
                out.extend((split(is, bits.into()) as u32).to_le_bytes());
            }
            Address::Long64 { is, bits } => out.extend(split(is, bits).to_le_bytes()),
        }
    }
}

/// Shifts the bits of the first two bytes of a long address: for IS0 they are address bits \[8:2]
/// and \[15:9], for IS1 \[7:1] and \[15:8]. Bit 7 of a byte with 7 address bits should be zero; it
/// is ignored.
#[inline]
const fn join(is: SubIsa, bytes: u64) -> u64 {
    let low = bytes & 0x7f;
    match is {
        SubIsa::Is0 => bytes & !0xffff | low << 2 | (bytes >> 8 & 0x7f) << 9,
        SubIsa::Is1 => bytes & !0xff | low << 1,
    }
}

const fn split(is: SubIsa, address: u64) -> u64 {
    match is {
        SubIsa::Is0 => address & !0xffff | address >> 2 & 0x7f | (address >> 9 & 0x7f) << 8,
        SubIsa::Is1 => address & !0xff | address >> 1 & 0x7f,
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Address::Match(n) => write!(f, "address, same as {n} before the last"),
            Address::Short { is, bits, count } => {
                let digits = usize::from(count).div_ceil(4);
                write!(f, "address 0x..{bits:0digits$x} {is} (short, {count} bits)")
            }
            Address::Long32 { is, bits } => write!(f, "address 0x..{bits:08x} {is} (32 bits)"),
            Address::Long64 { is, bits } => write!(f, "address 0x{bits:016x} {is} (64 bits)"),
        }
    }
}
