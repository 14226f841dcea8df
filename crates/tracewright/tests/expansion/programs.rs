//! Programs that make decoders work.

use tracewright::base::Isa;
use tracewright::image::{Bytes, Image, Region};

/// The length of each region, in bytes.
const LEN: usize = 4 << 20;

/// Where the regions are: the addresses that the cases use most.
const STARTS: [u64; 6] = [0, 0x1000_0000, 0x4000_0000, 0x8000_0000, 0xffc0_0000, !0 << 22];

/// One opcode repeated, and another one at regular distances.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    pub isa: Isa,
    pub opcode: u32,
    pub other: u32,
    /// In instructions.
    pub distance: usize,
}

impl Fill {
    /// Straight code with `others` here and there, for `isa`.
    pub fn all(isa: Isa) -> Vec<Fill> {
        let opcodes: &[u32] = match isa {
            // NOP, B to itself, CBZ to itself, RET, BL to the next, ISB.
            Isa::A64 => {
                &[0xd503_201f, 0x1400_0000, 0xb400_0000, 0xd65f_03c0, 0x9400_0001, 0xd503_3fdf]
            }
            // NOP, B to itself, BEQ to itself, BX LR, BL to the next, LDM of all registers.
            Isa::A32 => {
                &[0xe320_f000, 0xeaff_fffe, 0x0aff_fffe, 0xe12f_ff1e, 0xebff_ffff, 0xe890_7fff]
            }
            // NOP, B to itself, BEQ to itself, BX LR, IT, LDM.
            Isa::T32 | Isa::ThumbEe | Isa::Jazelle => {
                &[0xbf00, 0xe7fe, 0xd0fe, 0x4770, 0xbf08, 0xc8ff]
            }
            // NOP, J to itself, BEQ to itself and to the last, RET, AUIPC, JAL to the next; C.NOP,
            // C.J to itself.
            Isa::Rv32 | Isa::Rv64 => &[
                0x0000_0013,
                0x0000_006f,
                0x0000_0063,
                0xfe00_0ee3,
                0x0000_8067,
                0x0000_0317,
                0x0040_00ef,
                0x0001,
                0xa001,
            ],
        };
        let one = |&opcode: &u32| Fill { isa, opcode, other: opcode, distance: 1 };
        let mut all: Vec<Fill> = opcodes.iter().map(one).collect();
        for &other in &opcodes[1..] {
            for distance in [2, 100, 1000, 2000, 30_000, 200_000] {
                all.push(Fill { isa, opcode: opcodes[0], other, distance });
            }
        }
        for distance in [2, 100, 1000, 16_000, 43_000] {
            if let Some(other) = back(isa, distance) {
                all.push(Fill { isa, opcode: opcodes[0], other, distance });
            }
        }
        all
    }

    pub fn image(&self) -> Image {
        let mut code = Vec::with_capacity(LEN + 4);
        for n in 0.. {
            let opcode =
                if n % self.distance == self.distance - 1 { self.other } else { self.opcode };
            let narrow = match self.isa {
                Isa::A64 | Isa::A32 => false,
                Isa::Rv32 | Isa::Rv64 => opcode & 3 != 3,
                Isa::T32 | Isa::ThumbEe | Isa::Jazelle => true,
            };
            let bytes = opcode.to_le_bytes();
            code.extend_from_slice(if narrow { &bytes[..2] } else { &bytes });
            if code.len() >= LEN {
                break;
            }
        }
        let code = Bytes::from(code);
        Image::new(STARTS.map(|start| Region::new("code", start, code.clone())))
    }
}

/// A branch to the instruction after the branch before it, `distance` instructions apart.
fn back(isa: Isa, distance: usize) -> Option<u32> {
    let words = 1 - distance as i32;
    Some(match isa {
        Isa::A64 => 0x1400_0000 | words as u32 & 0x3ff_ffff,
        Isa::A32 => 0xea00_0000 | (words - 2) as u32 & 0xff_ffff,
        // 11 bits.
        Isa::T32 | Isa::ThumbEe | Isa::Jazelle if distance <= 1000 => {
            0xe000 | (words - 2) as u32 & 0x7ff
        }
        Isa::T32 | Isa::ThumbEe | Isa::Jazelle => return None,
        Isa::Rv32 | Isa::Rv64 => {
            let offset = (4 * words) as u32;
            0x6f | (offset >> 20 & 1) << 31
                | (offset >> 1 & 0x3ff) << 21
                | (offset >> 11 & 1) << 20
                | (offset >> 12 & 0xff) << 12
        }
    })
}
