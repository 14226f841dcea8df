//! Floating-point and Advanced SIMD instructions of A32 and T32, as text. (Arm ARM, F3.1 and F4.1,
//! "Advanced SIMD and floating-point instructions")
//!
//! Each encoding class is a table of masks, values and templates: see [`template`].

mod compute;
mod immediate;
mod memory;
mod misc;
mod template;
mod vfp;

pub(super) use template::{condition, core};

/// The bits of an opcode that a row has, their values, and the text.
pub(super) type Row = (u32, u32, &'static str);

/// Whether a 4-byte opcode of A32 is of these classes: coprocessors 8 to 11, and without a
/// condition also 13; 1111 001; and 1111 0100 with bit 20 clear.
pub(super) const fn is_a32(opcode: u32) -> bool {
    let coprocessor = opcode >> 8 & 0xf;
    match opcode >> 24 {
        0xf2 | 0xf3 => true,
        0xf4 => opcode >> 20 & 1 == 0,
        0xfc..=0xfe if coprocessor == 13 => true,
        top => matches!(top & 0xf, 0xc..=0xe) && matches!(coprocessor, 8..=11),
    }
}

/// Whether a 4-byte opcode of T32 is of these classes.
pub(super) const fn is_t32(opcode: u32) -> bool {
    match opcode >> 24 {
        0xef | 0xff => true,
        0xf9 => opcode >> 20 & 1 == 0,
        0xec..=0xee | 0xfc..=0xfe => is_a32(opcode),
        _ => false,
    }
}

/// The text of a 4-byte opcode of A32. `None` where it is of another class, or unallocated.
pub(super) fn a32(opcode: u32) -> Option<String> {
    match opcode >> 24 {
        0xf2 | 0xf3 => data_processing(opcode),
        0xf4 => memory::text(opcode),
        0xfc..=0xfe => first(vfp::UNCONDITIONAL, opcode),
        0xf0.. => None,
        _ => vfp::moves_of_many(opcode).or_else(|| first(vfp::CONDITIONAL, opcode)),
    }
}

/// The text of a 4-byte opcode of T32 with its first halfword in bits \[31:16].
pub(super) fn t32(opcode: u32) -> Option<String> {
    match opcode >> 24 {
        // 111U 1111 of T32 is 1111 001U of A32.
        0xef | 0xff => a32(opcode & 0x00ff_ffff | 0xf200_0000 | opcode >> 28 << 24 & 0x0100_0000),
        0xf9 => a32(opcode & 0x00ff_ffff | 0xf400_0000),
        0xec..=0xee | 0xfc..=0xfe => a32(opcode),
        _ => None,
    }
}

/// Advanced SIMD data-processing: 1111 001U.
fn data_processing(opcode: u32) -> Option<String> {
    let bit = |n: u32| opcode >> n & 1 != 0;
    if !bit(23) {
        return first(compute::THREE_SAME, opcode);
    }
    if bit(4) {
        return match opcode & 0x0038_0080 {
            0 => immediate::modified(opcode),
            _ => first(immediate::SHIFTS, opcode),
        };
    }
    match (opcode >> 20 & 0b11, bit(6)) {
        (0b11, _) if !bit(24) => first(misc::EXTRACT, opcode),
        (0b11, _) => first(misc::TWO_REGISTERS, opcode),
        (_, false) => first(compute::THREE_DIFFERENT, opcode),
        (_, true) => first(compute::SCALAR, opcode),
    }
}

/// The text of the first row that has `opcode`.
pub(super) fn first(rows: &[Row], opcode: u32) -> Option<String> {
    let mut fitting = rows.iter().filter(|(mask, value, _)| opcode & mask == *value);
    fitting.find_map(|(.., text)| template::expand(text, opcode))
}
