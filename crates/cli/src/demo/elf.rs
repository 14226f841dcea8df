//! A minimal ELF file with code and symbols. (System V gABI, chapters 4 and 5)

const HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
const SYMBOL: u64 = 24;

/// An ELF64 file for AArch64 with `code` at `address`, and symbols by name, address and size.
pub fn elf(address: u64, code: &[u8], symbols: &[(&str, u64, u64)]) -> Vec<u8> {
    let code_at = HEADER + PROGRAM_HEADER;
    let (mut table, mut names) = (vec![0; SYMBOL as usize], vec![0]);
    for &(name, start, size) in symbols {
        table.extend((names.len() as u32).to_le_bytes());
        // STT_FUNC, STB_GLOBAL; default visibility; section 1.
        table.extend([0x12, 0, 1, 0]);
        table.extend(start.to_le_bytes());
        table.extend(size.to_le_bytes());
        names.extend(name.as_bytes());
        names.push(0);
    }
    let sections = b"\0.text\0.symtab\0.strtab\0.shstrtab\0";
    let table_at = code_at + code.len() as u64;
    let names_at = table_at + table.len() as u64;
    let sections_at = names_at + names.len() as u64;
    let headers_at = (sections_at + sections.len() as u64).next_multiple_of(8);

    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    let (halves, words) = (|n: u16| n.to_le_bytes(), |n: u64| n.to_le_bytes());
    // ET_EXEC, EM_AARCH64, version 1.
    file.extend([halves(2), halves(183), halves(1), halves(0)].concat());
    file.extend([words(address), words(HEADER), words(headers_at)].concat());
    // Flags 0; sizes and numbers of headers; section 4 contains the names of sections.
    file.extend([0; 4]);
    file.extend([64u16, 56, 1, 64, 5, 4].map(u16::to_le_bytes).concat());
    // PT_LOAD, readable and executable.
    file.extend([1u32, 5].map(u32::to_le_bytes).concat());
    let len = code.len() as u64;
    file.extend([code_at, address, address, len, len, 4].map(u64::to_le_bytes).concat());
    file.extend(code);
    file.extend(&table);
    file.extend(&names);
    file.extend(sections);
    file.resize(headers_at as usize, 0);

    // Name, type, flags, address, offset, size, link, info, alignment, size of an entry.
    let mut section = |name: u32, kind: u32, row: [u64; 4], link: [u32; 2], tail: [u64; 2]| {
        file.extend([name, kind].map(u32::to_le_bytes).concat());
        file.extend(row.map(u64::to_le_bytes).concat());
        file.extend(link.map(u32::to_le_bytes).concat());
        file.extend(tail.map(u64::to_le_bytes).concat());
    };
    section(0, 0, [0; 4], [0; 2], [0; 2]);
    section(1, 1, [6, address, code_at, len], [0; 2], [4, 0]);
    section(7, 2, [0, 0, table_at, table.len() as u64], [3, 1], [8, SYMBOL]);
    section(15, 3, [0, 0, names_at, names.len() as u64], [0; 2], [1, 0]);
    section(23, 3, [0, 0, sections_at, sections.len() as u64], [0; 2], [1, 0]);
    file
}
