//! IT blocks of T32.

/// The state of an IT block. (Arm ARM, "Process state, PSTATE", ITSTATE)
///
/// The default is the state outside of an IT block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ItState {
    /// ITSTATE: bits \[7:4] condition of the next instruction; \[3:0] the lowest bits of the
    /// following conditions, then a 1, then zeros. 0 outside of a block.
    state: u8,
}

impl ItState {
    /// Whether the next instruction is in the block.
    #[inline]
    pub const fn in_block(self) -> bool {
        self.state != 0
    }

    /// Whether the next instruction is conditional: it is in a block with a condition other than
    /// "always".
    #[inline]
    pub const fn conditional(self) -> bool {
        self.in_block() && self.state >> 5 != 0b111
    }

    /// The condition of the next instruction, 0 for EQ to 14 for always; 14 outside of a block.
    #[inline]
    pub const fn condition(self) -> u8 {
        if self.in_block() { self.state >> 4 } else { 14 }
    }

    /// The state after an instruction. `opcode` is in the form that
    /// [`t32::classify`](crate::t32::classify) takes.
    #[inline]
    #[must_use]
    pub const fn after(self, opcode: u32) -> Self {
        let state = match opcode {
            // IT: `1011_1111 cccc mmmm`, mmmm not 0.
            0xbf00..=0xbfff if opcode & 0xf != 0 => opcode as u8,
            // The last instruction of the block.
            _ if self.state & 0b111 == 0 => 0,
            _ => self.state & 0b1110_0000 | self.state << 1 & 0b0001_1111,
        };
        ItState { state }
    }
}
