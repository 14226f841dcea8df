//! Stubs of the procedure linkage table: code that loads the address of a function from a table and
//! jumps to it. Their names are those of the functions. (AAELF64, AAELF32, RISC-V psABI, "Procedure
//! Linkage Table")

use std::collections::HashMap;

use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget,
};

use crate::function::Candidate;

/// Sections of stubs.
const SECTIONS: [&str; 3] = [".plt", ".plt.sec", ".iplt"];

/// The stubs of `file`. Their names have at most `left` bytes; those after that have none.
pub(crate) fn stubs(file: &object::File<'_>, mut left: usize) -> Vec<Candidate> {
    let names = names(file);
    let decode: fn(u64, &[u8]) -> Vec<Slot> = match file.architecture() {
        Architecture::Aarch64 => a64,
        Architecture::Arm => a32,
        Architecture::Riscv32 | Architecture::Riscv64 => riscv,
        _ => return Vec::new(),
    };
    let mut all = Vec::new();
    // Sections may share their bytes: the first one of each name is read.
    let known = SECTIONS.iter().filter_map(|name| file.section_by_name(name));
    for section in known {
        let Ok(code) = section.data() else { continue };
        let (start, limit) = (section.address(), section.address().saturating_add(section.size()));
        let slots = decode(start, code);
        let mut add = |symbol: String, start: u64, end: u64| {
            if end > start {
                let size = end - start;
                all.push(Candidate { symbol, start, size, limit, rank: 0, stub: true });
            }
        };
        // The code before the first slot looks up the function when it is called first.
        add("[plt]".to_owned(), start, slots.first().map_or(limit, |slot| slot.start));
        for (n, slot) in slots.iter().enumerate() {
            let end = slots.get(n + 1).map_or(limit, |next| next.start);
            let name = names.get(&slot.entry).filter(|name| name.len() <= left);
            let name = match name {
                Some(name) => {
                    left -= name.len();
                    format!("{name}@plt")
                }
                None => format!("plt_{:x}", slot.start),
            };
            add(name, slot.start, end);
        }
    }
    all
}

/// The name of the function in each entry of the table, by the address of the entry.
fn names<'data>(file: &object::File<'data>) -> HashMap<u64, &'data str> {
    let mut names = HashMap::new();
    let (Some(relocations), Some(symbols)) =
        (file.dynamic_relocations(), file.dynamic_symbol_table())
    else {
        return names;
    };
    for (address, relocation) in relocations {
        if let RelocationTarget::Symbol(index) = relocation.target()
            && let Ok(symbol) = symbols.symbol_by_index(index)
            && let Ok(name) = symbol.name()
        {
            names.insert(address, name);
        }
    }
    names
}

/// A stub: its first instruction, and the entry of the table that it jumps through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    start: u64,
    entry: u64,
}

fn words(code: &[u8]) -> Vec<u32> {
    let words = code.chunks_exact(4).filter_map(|word| word.first_chunk());
    words.map(|word| u32::from_le_bytes(*word)).collect()
}

/// ADRP X16, page; LDR X17, [X16, #offset]; ..; BR X17, perhaps after BTI C. The stub that looks a
/// function up saves X16 and X30 first.
fn a64(address: u64, code: &[u8]) -> Vec<Slot> {
    let (words, mut slots) = (words(code), Vec::new());
    for (n, pair) in words.windows(2).enumerate() {
        let [adrp, ldr] = *pair else { continue };
        if adrp & 0x9f00_001f != 0x9000_0010 || ldr & 0xffc0_03ff != 0xf940_0211 {
            continue;
        }
        let before = n.checked_sub(1).and_then(|n| words.get(n)).copied();
        // STP X16, X30, [SP, #-16]!
        if before == Some(0xa9bf_7bf0) {
            continue;
        }
        let pc = address.wrapping_add(4 * n as u64);
        let pages = (adrp >> 5 & 0x7_ffff) << 2 | adrp >> 29 & 3;
        let distance = (i64::from(pages) << 43 >> 43) << 12;
        let page = (pc & !0xfff).wrapping_add_signed(distance);
        let entry = page.wrapping_add(u64::from(ldr >> 10 & 0xfff) * 8);
        let start = if before == Some(0xd503_245f) { pc.wrapping_sub(4) } else { pc };
        slots.push(Slot { start, entry });
    }
    slots
}

/// ADD R12, PC, #a; ADD R12, R12, #b; LDR PC, [R12, #c]!
fn a32(address: u64, code: &[u8]) -> Vec<Slot> {
    // Bits [7:0] rotated right by twice bits [11:8].
    let immediate = |word: u32| (word & 0xff).rotate_right((word >> 8 & 0xf) * 2);
    let (words, mut slots) = (words(code), Vec::new());
    for (n, triple) in words.windows(3).enumerate() {
        let [a, b, c] = *triple else { continue };
        if a >> 12 != 0xe28fc || b >> 12 != 0xe28cc || c >> 12 != 0xe5bcf {
            continue;
        }
        let start = address.wrapping_add(4 * n as u64);
        let pc = (start as u32).wrapping_add(8);
        let entry = pc.wrapping_add(immediate(a)).wrapping_add(immediate(b));
        slots.push(Slot { start, entry: u64::from(entry.wrapping_add(c & 0xfff)) });
    }
    slots
}

/// AUIPC T3, a; LD or LW T3, b(T3); JALR T1, T3; NOP.
fn riscv(address: u64, code: &[u8]) -> Vec<Slot> {
    let (words, mut slots) = (words(code), Vec::new());
    for (n, triple) in words.windows(3).enumerate() {
        let [auipc, load, jump] = *triple else { continue };
        let loads = load & 0xf_ffff == 0xe_3e03 || load & 0xf_ffff == 0xe_2e03;
        if auipc & 0xfff != 0xe17 || !loads || jump != 0x000e_0367 {
            continue;
        }
        let start = address.wrapping_add(4 * n as u64);
        let upper = i64::from((auipc & 0xffff_f000).cast_signed());
        let lower = i64::from(load.cast_signed() >> 20);
        slots.push(Slot { start, entry: start.wrapping_add_signed(upper + lower) });
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The opcodes are those of GNU ld for programs with one and two imported functions.
    #[test]
    fn slots_of_each_architecture() {
        let header = [0xa9bf_7bf0, 0xf000_00f0, 0xf947_fe11, 0x913f_e210, 0xd61f_0220, 0xd503_201f];
        let stub = [0xd503_245f, 0x9000_0110, 0xf940_0211, 0x9100_0210, 0xd61f_0220];
        let plt: Vec<u32> = header.iter().chain(&stub).copied().collect();
        assert_eq!(a64(0x600, &bytes(&plt)), [Slot { start: 0x618, entry: 0x2_0000 }]);

        // add r12, pc, #0, 12; add r12, r12, #16, 20; ldr pc, [r12, #0xd1c]!
        let stub = [0xe28f_c600, 0xe28c_ca10, 0xe5bc_fd1c];
        assert_eq!(a32(0x2dc, &bytes(&stub)), [Slot { start: 0x2dc, entry: 0x1_1000 }]);

        // auipc t3, 0x2; ld t3, -1440(t3); jalr t1, t3; nop
        let stub = [0x0000_2e17, 0xa60e_3e03, 0x000e_0367, 0x0000_0013];
        assert_eq!(riscv(0x5a0, &bytes(&stub)), [Slot { start: 0x5a0, entry: 0x2000 }]);
    }
}
