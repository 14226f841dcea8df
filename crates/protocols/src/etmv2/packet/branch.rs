//! Branch address packets. (IHI 0014, 6.7.1)

use core::fmt;

use tracewright_base::{Fault, Isa, Parse};

/// A branch address as it was sent: low bits that replace those of the previous address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The bits that were sent, of the address shifted right by its instruction set's alignment.
    pub bits: u32,
    /// Number of bits: 6, 13, 20 or 27; of a whole address 30 (A32) or 31 (T32).
    pub count: u8,
    /// The state, which only a whole address has.
    pub state: Option<State>,
}

/// The upper half of the fifth byte. (Table 6-9)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// `0E00_1xxx`: A32.
    Arm {
        /// E, bit \[6]: an exception cancelled the last instruction.
        cancels: bool,
    },
    /// `0001_xxxx`: T32.
    Thumb,
}

impl State {
    /// The instruction set.
    pub const fn isa(self) -> Isa {
        match self {
            State::Arm { .. } => Isa::A32,
            State::Thumb => Isa::T32,
        }
    }
}

impl Branch {
    /// Number of address bits before the fifth byte.
    const BELOW: u8 = 27;

    /// Reads the packet at the start of `bytes`, whose first byte has bit \[0] set.
    pub(super) fn parse(bytes: &[u8]) -> Option<Parse<Branch>> {
        let (mut bits, mut count) = (0, 0);
        for (k, &byte) in bytes.iter().take(4).enumerate() {
            let (low, width) = if k == 0 { (byte >> 1 & 0x3f, 6) } else { (byte & 0x7f, 7) };
            bits |= u32::from(low) << count;
            count += width;
            if byte & 0x80 == 0 {
                return Some(Parse::Packet(Branch { bits, count, state: None }, k + 1));
            }
        }
        let last = *bytes.get(4)?;
        let (state, width) = match last {
            0x08..=0x0f | 0x48..=0x4f => (State::Arm { cancels: last & 0x40 != 0 }, 3),
            0x10..=0x1f => (State::Thumb, 4),
            _ => return Some(Parse::Bad(5, Fault::Reserved(last))),
        };
        bits |= u32::from(last & ((1 << width) - 1)) << Self::BELOW;
        let branch = Branch { bits, count: Self::BELOW + width, state: Some(state) };
        Some(Parse::Packet(branch, 5))
    }

    /// Writes the packet.
    pub fn emit(&self, out: &mut impl Extend<u8>) {
        let more = |below: u8| if self.state.is_some() || self.count > below { 0x80 } else { 0 };
        out.extend([(self.bits as u8 & 0x3f) << 1 | 1 | more(6)]);
        for below in [6, 13, 20] {
            if more(below) == 0 {
                return;
            }
            out.extend([(self.bits >> below) as u8 & 0x7f | more(below + 7)]);
        }
        let top = (self.bits >> Self::BELOW) as u8;
        match self.state {
            None => {}
            Some(State::Arm { cancels }) => {
                out.extend([top & 0b111 | 0x08 | u8::from(cancels) << 6])
            }
            Some(State::Thumb) => out.extend([top & 0xf | 0x10]),
        }
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state {
            None => write!(f, "branch {} bits {:#x}", self.count, self.bits),
            Some(State::Thumb) => write!(f, "branch {:#010x} T32", self.bits << 1),
            Some(State::Arm { cancels }) => {
                let text = if cancels { ", cancels" } else { "" };
                write!(f, "branch {:#010x} A32{text}", self.bits << 2)
            }
        }
    }
}
