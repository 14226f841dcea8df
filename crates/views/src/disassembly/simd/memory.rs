//! Advanced SIMD loads and stores of elements and structures: VLD1 to VLD4 and VST1 to VST4.
//! (F4.1.24)

use super::template::core;

/// The registers of an instruction, and its alignment.
struct Access {
    /// The number of registers of a structure: 1 to 4 in the mnemonic.
    structure: u32,
    /// The size of an element in bits.
    size: u32,
    /// The number of registers.
    count: u32,
    /// The difference between register numbers.
    step: u32,
    /// After each register: an index, or `[]` for all elements.
    element: String,
    /// The alignment of the address in bits; 0 for none.
    align: u32,
}

/// The text of an opcode of A32.
pub(super) fn text(opcode: u32) -> Option<String> {
    if opcode >> 20 & 1 == 1 {
        return None;
    }
    let load = opcode >> 21 & 1 == 1;
    let access = match (opcode >> 23 & 1, opcode >> 10 & 0b11) {
        (0, _) => multiple(opcode)?,
        (_, 3) if load => all_copies(opcode)?,
        (_, 3) => return None,
        (_, size) => one_element(opcode, size)?,
    };
    let first = opcode >> 12 & 0xf | opcode >> 18 & 0x10;
    let (rn, rm) = (opcode >> 16 & 0xf, opcode & 0xf);
    if first + access.step * (access.count - 1) > 31 {
        return None;
    }
    let numbers = (0..access.count).map(|n| first + n * access.step);
    let list: Vec<_> = numbers.map(|n| format!("d{n}{}", access.element)).collect();
    let align = if access.align == 0 { String::new() } else { format!(":{}", access.align) };
    let after = match rm {
        15 => String::new(),
        13 => "!".to_owned(),
        _ => format!(", {}", core(rm)),
    };
    Some(format!(
        "v{}{}.{} {{{}}}, [{}{align}]{after}",
        if load { "ld" } else { "st" },
        access.structure,
        access.size,
        list.join(", "),
        core(rn),
    ))
}

/// All elements of registers: type 11:8, size 7:6, align 5:4.
fn multiple(opcode: u32) -> Option<Access> {
    // Structure, count and step of the registers, and the greatest value of align.
    let (structure, count, step, most) = match opcode >> 8 & 0xf {
        0b0000 => (4, 4, 1, 3),
        0b0001 => (4, 4, 2, 3),
        0b0010 => (1, 4, 1, 3),
        0b0011 => (2, 4, 1, 3),
        0b0100 => (3, 3, 1, 1),
        0b0101 => (3, 3, 2, 1),
        0b0110 => (1, 3, 1, 1),
        0b0111 => (1, 1, 1, 1),
        0b1000 => (2, 2, 1, 2),
        0b1001 => (2, 2, 2, 2),
        0b1010 => (1, 2, 1, 2),
        _ => return None,
    };
    let (size, align) = (opcode >> 6 & 0b11, opcode >> 4 & 0b11);
    if align > most || size == 3 && structure != 1 {
        return None;
    }
    let align = if align == 0 { 0 } else { 32 << align };
    Some(Access { structure, size: 8 << size, count, step, element: String::new(), align })
}

/// One element in each register: size 11:10, structure 9:8, index and alignment 7:4.
fn one_element(opcode: u32, size: u32) -> Option<Access> {
    let (structure, index_align) = ((opcode >> 8 & 0b11) + 1, opcode >> 4 & 0xf);
    let index = index_align >> (size + 1);
    let step = if size > 0 && index_align >> size & 1 == 1 { 2 } else { 1 };
    // The bits below the index and the step.
    let low = index_align & ((1 << size.max(1)) - 1);
    let align = match (structure, size, low) {
        (_, _, 0) => 0,
        (1, 1, 1) => 16,
        (1, 2, 3) => 32,
        (2, _, 1) => 16 << size,
        (4, _, 1) => [32, 64, 64].get(size as usize).copied()?,
        (4, 2, 2) => 128,
        _ => return None,
    };
    if structure == 1 && step == 2 {
        return None;
    }
    let element = format!("[{index}]");
    Some(Access { structure, size: 8 << size, count: structure, step, element, align })
}

/// One element in all elements of each register: structure 9:8, size 7:6, T 5, alignment 4.
fn all_copies(opcode: u32) -> Option<Access> {
    let structure = (opcode >> 8 & 0b11) + 1;
    let (size, t, a) = (opcode >> 6 & 0b11, opcode >> 5 & 1, opcode >> 4 & 1);
    let align = match (structure, size, a) {
        (4, 3, 1) => 128,
        (_, 3, _) => return None,
        (_, _, 0) => 0,
        (1, 1.., _) | (2, ..) => (8 * structure) << size,
        (4, ..) => [32, 64, 64].get(size as usize).copied()?,
        _ => return None,
    };
    let (count, step) = if structure == 1 { (1 + t, 1) } else { (structure, 1 + t) };
    let size = if size == 3 { 32 } else { 8 << size };
    Some(Access { structure, size, count, step, element: "[]".to_owned(), align })
}
