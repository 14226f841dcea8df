//! Jumps whose target two instructions in a row tell.

use tracewright_base::Isa;

use crate::sign_extend;

/// What an AUIPC, LUI or C.LUI leaves for the instruction right after it: where a JALR of the same
/// register goes is then known from the program. ("sequentially inferable jumps" of the trace
/// specification)
///
/// The default, at the target of a jump and after all else, leaves nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upper {
    /// The register, 1 to 31; 0 for none.
    register: u8,
    /// What it holds.
    value: u64,
}

impl Upper {
    /// What the instruction `opcode` at `address` leaves.
    #[inline]
    #[must_use]
    pub const fn after(isa: Isa, opcode: u32, address: u64) -> Self {
        let register = (opcode >> 7 & 31) as u8;
        // imm[31:12], in place.
        let high = (opcode & 0xffff_f000) as i32 as i64;
        let value = match opcode & 0x7f {
            // AUIPC.
            0b001_0111 => address.wrapping_add_signed(high),
            // LUI.
            0b011_0111 => high as u64,
            // C.LUI: 011, nzimm[17] in bit 12, nzimm[16:12] in bits [6:2]. With X2: C.ADDI16SP.
            _ if opcode & 0xe003 == 0x6001 && register != 2 => {
                let field = (opcode >> 12 & 1) << 5 | opcode >> 2 & 0b1_1111;
                if field == 0 {
                    return Upper { register: 0, value: 0 };
                }
                ((sign_extend(field, 6) as i64) << 12) as u64
            }
            _ => return Upper { register: 0, value: 0 },
        };
        Upper { register, value: value & isa.address_mask() }
    }

    /// Nothing is left.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.register == 0
    }

    /// Where the instruction `opcode`, right after, goes: `None` where it is not a jump through the
    /// register.
    #[inline]
    pub const fn target(self, isa: Isa, opcode: u32) -> Option<u64> {
        let (base, offset) = if opcode & 0x707f == 0x67 {
            // JALR: imm[11:0] in bits [31:20].
            (opcode >> 15 & 31, (opcode as i32 >> 20) as i64)
        } else if opcode & 0xe07f == 0x8002 {
            // C.JR, C.JALR.
            (opcode >> 7 & 31, 0)
        } else {
            return None;
        };
        if self.register == 0 || base != self.register as u32 {
            return None;
        }
        Some(self.value.wrapping_add_signed(offset) & !1 & isa.address_mask())
    }
}
