//! FMLAL, FMLAL2, FMLSL and FMLSL2 of A64 vectors: half-precision products, added to or subtracted
//! from single-precision elements. (Arm ARM, C7.2, FEAT_FHM)

/// FMLAL of vectors, and bits \[31], \[28:24], \[22:21], \[15:14] and \[12:10].
const VECTORS: (u32, u32) = (0x0e20_cc00, 0x9f60_dc00);

/// FMLAL of an element, and bits \[31], \[28:22], \[13:12] and \[10].
const ELEMENT: (u32, u32) = (0x0f80_0000, 0x9fc0_3400);

/// Whether `opcode` is one of them.
pub(super) fn is_here(opcode: u32) -> bool {
    name(opcode).is_some()
}

/// The name, and whether the second operand is one element.
fn name(opcode: u32) -> Option<(&'static str, bool)> {
    let bit = |n: u32| opcode >> n & 1 != 0;
    // Bit 29 selects the upper half of the operands; another bit has its complement, or its value.
    let (upper, subtract, element) = if opcode & VECTORS.1 == VECTORS.0 {
        (bit(29) != bit(13)).then_some((bit(29), bit(23), false))?
    } else if opcode & ELEMENT.1 == ELEMENT.0 {
        (bit(29) == bit(15)).then_some((bit(29), bit(14), true))?
    } else {
        return None;
    };
    let name = match (upper, subtract) {
        (false, false) => "fmlal",
        (false, true) => "fmlsl",
        (true, false) => "fmlal2",
        (true, true) => "fmlsl2",
    };
    Some((name, element))
}

/// The text of an opcode that is one of them.
pub(super) fn text(opcode: u32) -> Option<String> {
    let (name, element) = name(opcode)?;
    let (d, n, m) = (opcode & 0x1f, opcode >> 5 & 0x1f, opcode >> 16 & 0x1f);
    let (wide, narrow) = if opcode >> 30 & 1 != 0 { ("4s", "4h") } else { ("2s", "2h") };
    let second = if element {
        // H, L and M: bits 11, 21 and 20.
        let index = (opcode >> 11 & 1) << 2 | opcode >> 20 & 0b11;
        format!("v{}.h[{index}]", m & 0xf)
    } else {
        format!("v{m}.{narrow}")
    };
    Some(format!("{name} v{d}.{wide}, v{n}.{narrow}, {second}"))
}
