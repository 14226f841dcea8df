//! The source lines of generated code, as DWARF in an ELF file without code: the form in which
//! program files have them. (DWARF 4, sections 6.2.4 and 7.5)

use std::collections::HashMap;

use super::jitdump::JitCode;
use crate::Bytes;

/// The size of the header of an ELF file of 64 bits, and of an entry of its section table.
const HEADER: usize = 64;
/// SHT_PROGBITS and SHT_STRTAB.
const PROGRAM: u32 = 1;
const STRINGS: u32 = 3;
/// Operations of a line number program.
const COPY: u8 = 1;
const ADVANCE_PC: u8 = 2;
const ADVANCE_LINE: u8 = 3;
const SET_FILE: u8 = 4;
/// Extended operations, after a zero and their length.
const END_SEQUENCE: [u8; 3] = [0, 1, 1];
const SET_ADDRESS: [u8; 3] = [0, 9, 2];
/// A compile unit (DW_TAG_compile_unit) without children, which has the offset of its line number
/// program (DW_AT_stmt_list, DW_FORM_sec_offset).
const ABBREVIATIONS: [u8; 8] = [1, 0x11, 0, 0x10, 0x17, 0, 0, 0];
/// Version 4, abbreviations at 0, addresses of 8 bytes; number 1, and the line number program at 0.
const UNIT: [u8; 16] = [12, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0, 0];
/// From the fields after the length of the header to the directories: instructions of one byte, one
/// operation each, statements, a range of lines that is not used, ten opcodes and the numbers of
/// their operands.
const PROGRAM_HEADER: [u8; 15] = [1, 1, 1, 0, 1, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1];

/// The file with the lines of `code` for a processor with this `e_machine`; `None` without lines.
pub(super) fn debug_file(code: &[&JitCode], machine: u32) -> Option<Bytes> {
    if code.iter().all(|code| code.lines.is_empty()) {
        return None;
    }
    let names = b"\0.debug_line\0.debug_info\0.debug_abbrev\0.shstrtab\0";
    let sections: [(u32, u32, Vec<u8>); 4] = [
        (1, PROGRAM, line_program(code)),
        (13, PROGRAM, UNIT.to_vec()),
        (25, PROGRAM, ABBREVIATIONS.to_vec()),
        (39, STRINGS, names.to_vec()),
    ];
    let (mut contents, mut table): (Vec<u8>, Vec<u8>) = (Vec::new(), vec![0; HEADER]);
    for (name, kind, bytes) in &sections {
        let offset = (HEADER + contents.len()) as u64;
        table.extend([name.to_le_bytes(), kind.to_le_bytes()].concat());
        for field in [0, 0, offset, bytes.len() as u64, 0, 1, 0] {
            table.extend(u64::to_le_bytes(field));
        }
        contents.extend(bytes);
    }
    let mut out = b"\x7fELF\x02\x01\x01".to_vec();
    out.resize(16, 0);
    // ET_DYN.
    out.extend(3u16.to_le_bytes());
    out.extend((machine as u16).to_le_bytes());
    out.extend(1u32.to_le_bytes());
    for field in [0, 0, (HEADER + contents.len()) as u64] {
        out.extend(u64::to_le_bytes(field));
    }
    out.extend([0; 4]);
    // The sizes and numbers of headers, segments and sections, and the section with the names.
    for field in [HEADER, 0, 0, HEADER, sections.len() + 1, sections.len()] {
        out.extend((field as u16).to_le_bytes());
    }
    out.extend(contents);
    out.extend(table);
    Some(Bytes::from(out))
}

/// `.debug_line`: a sequence for each piece of code.
fn line_program(code: &[&JitCode]) -> Vec<u8> {
    let (mut numbers, mut files) = (HashMap::new(), Vec::new());
    let mut program = Vec::new();
    for code in code.iter().filter(|code| !code.lines.is_empty()) {
        program.extend(SET_ADDRESS);
        program.extend(code.address.to_le_bytes());
        let (mut offset, mut line) = (0, 1i64);
        for row in code.lines.iter().filter(|row| row.offset < code.len) {
            let next = numbers.len() as u64 + 1;
            let file = *numbers.entry(&row.file).or_insert_with(|| {
                files.extend(row.file.as_bytes());
                // The end of the name, directory 0, no time and no size.
                files.extend([0; 4]);
                next
            });
            program.push(ADVANCE_PC);
            unsigned(&mut program, row.offset.saturating_sub(offset));
            program.push(SET_FILE);
            unsigned(&mut program, file);
            program.push(ADVANCE_LINE);
            signed(&mut program, i64::from(row.line) - line);
            program.push(COPY);
            (offset, line) = (row.offset.max(offset), row.line.into());
        }
        program.push(ADVANCE_PC);
        unsigned(&mut program, code.len.saturating_sub(offset));
        program.extend(END_SEQUENCE);
    }
    // No directories; the end of the files.
    let tables = [&PROGRAM_HEADER[..], &[0], &files, &[0]].concat();
    let mut out = (6 + tables.len() as u32 + program.len() as u32).to_le_bytes().to_vec();
    out.extend(4u16.to_le_bytes());
    out.extend((tables.len() as u32).to_le_bytes());
    out.extend(tables);
    out.extend(program);
    out
}

/// Writes a number as ULEB128.
fn unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes a number as SLEB128.
fn signed(out: &mut Vec<u8>, mut value: i64) {
    while !(-0x40..0x40).contains(&value) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}
