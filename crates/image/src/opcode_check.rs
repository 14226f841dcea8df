//! Which opcodes end a path.

use tracewright_base::{Isa, Kind};
use tracewright_isa::is_illegal;

/// Which undefined opcodes end a block ([`End::Invalid`](tracewright_base::End::Invalid)): where
/// they are in the path of a trace, the program image is missing or wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OpcodeCheck {
    /// None in Arm code, as in OpenCSD; in RISC-V code those of [`Illegal`](Self::Illegal).
    Off,
    /// Those that are defined to be illegal ([`tracewright_isa::is_illegal`]); in A32 and T32 also
    /// 64 bytes of zeros.
    #[default]
    Illegal,
    /// All that are classified as [`Kind::Undefined`], and the zeros.
    Undefined,
}

impl OpcodeCheck {
    /// Whether a block ends before an opcode of this kind. `opcode` reads it.
    #[inline]
    pub(crate) fn is_invalid(
        self,
        isa: Isa,
        kind: Kind,
        opcode: impl FnOnce() -> Option<u32>,
    ) -> bool {
        kind == Kind::Undefined
            && match self {
                OpcodeCheck::Off if !matches!(isa, Isa::Rv32 | Isa::Rv64) => false,
                OpcodeCheck::Off | OpcodeCheck::Illegal => {
                    opcode().is_some_and(|opcode| is_illegal(isa, opcode))
                }
                OpcodeCheck::Undefined => true,
            }
    }
}
