//! Jumps whose target follows from two consecutive instructions.

use tracewright_base::Isa;

use crate::sign_extend;

/// The result of an AUIPC, LUI or C.LUI, for the next instruction. The target of a JALR through the
/// same register follows from it. (E-Trace specification, "sequentially inferable jumps")
///
/// The default is the state at the target of a jump and after all other instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upper {
    /// Number of the register, 1 to 31; 0 for none.
    register: u8,
    /// Value of the register.
    value: u64,
}

impl Upper {
    /// The state after the instruction `opcode` at `address`.
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

    /// Whether no register value is known.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.register == 0
    }

    /// The target of the next instruction `opcode`, or `None` if it is no jump through the
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
