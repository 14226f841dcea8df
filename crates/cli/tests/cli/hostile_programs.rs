//! Captures of programs whose ELF files have as much of one kind as they can.
//! (System V gABI, "Object Files"; DWARF 4, 6.2 and 7.5)

use std::fs;
use std::path::PathBuf;

use crate::common::Folder;

/// Where the code begins.
const CODE: u64 = 0x1_0000;

/// `b.eq .+4`: a conditional branch.
const BRANCH: [u8; 4] = [0x20, 0, 0, 0x54];

/// An ELF file of an AArch64 program.
struct Program {
    /// The bytes of the code.
    code: Vec<u8>,
    /// The addresses of the segments, which all have these bytes.
    segments: Vec<u64>,
    /// Address and size of each section of code.
    sections: Vec<(u64, u64)>,
    /// Of each function, whose name is `f`: the number of its section, address and size.
    functions: Vec<(usize, u64, u64)>,
}

fn numbers(size: usize, numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes().into_iter().take(size)).collect()
}

/// A header of a section: kind, flags, address, offset, size, link, size of an entry.
fn section([kind, flags, address, offset, size, link, entry]: [u64; 7]) -> Vec<u8> {
    let head = [numbers(4, &[0, kind]), numbers(8, &[flags, address, offset, size])].concat();
    [head, numbers(4, &[link, 0]), numbers(8, &[1, entry])].concat()
}

/// The contents after the length that stands before them.
fn counted(contents: &[u8]) -> Vec<u8> {
    [&numbers(4, &[contents.len() as u64]), contents].concat()
}

/// A line program in which all code of each part is line 1 of `a.c`.
fn line_program(parts: &[u64], size: u64) -> Vec<u8> {
    // Lengths of instructions, statements, bases and ranges of lines; operands of 9 opcodes.
    let mut tables = vec![4, 1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1];
    tables.extend(b"\0a.c\0\0\0\0\0");
    let mut program = [numbers(2, &[4]), counted(&tables)].concat();
    for address in parts {
        // DW_LNE_set_address, DW_LNS_copy, DW_LNE_set_address, DW_LNE_end_sequence.
        let set = |address: u64| [vec![0, 9, 2], numbers(8, &[address])].concat();
        program.extend([set(*address), vec![1], set(address + size), vec![0, 1, 1]].concat());
    }
    counted(&program)
}

impl Program {
    fn bytes(&self) -> Vec<u8> {
        let lines = line_program(&self.segments, self.code.len() as u64);
        // The names of the debug sections begin behind those of the others.
        let names = b"\0.debug_info\0.debug_abbrev\0.debug_line\0f\0";
        // A DW_TAG_compile_unit with DW_AT_stmt_list.
        let unit = counted(&[4, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0, 0]);
        let abbreviations = [1, 0x11, 0, 0x10, 0x17, 0, 0, 0];
        let symbols: Vec<u8> = self
            .functions
            .iter()
            .flat_map(|(section, address, size)| {
                // A global function.
                let head = [numbers(4, &[39]), vec![0x12, 0]].concat();
                [head, numbers(2, &[*section as u64]), numbers(8, &[*address, *size])].concat()
            })
            .collect();
        let symbols = [vec![0; 24], symbols].concat();
        let mut file = vec![0; 64];
        for address in &self.segments {
            let (offset, size) = (64 + 56 * self.segments.len() as u64, self.code.len() as u64);
            file.extend(numbers(4, &[1, 5]));
            file.extend(numbers(8, &[offset, *address, *address, size, size, 4]));
        }
        let code = file.len() as u64;
        file.extend(&self.code);
        let mut headers = section([0; 7]);
        for (address, size) in &self.sections {
            let offset = code + address.saturating_sub(CODE).min(self.code.len() as u64 - size);
            headers.extend(section([1, 6, *address, offset, *size, 0, 0]));
        }
        let first = self.sections.len() as u64 + 1;
        for (name, kind, contents, link, entry) in [
            (1, 1, &unit[..], 0, 0),
            (13, 1, &abbreviations, 0, 0),
            (27, 1, &lines, 0, 0),
            (0, 2, &symbols, first + 4, 24),
            (0, 3, names, 0, 0),
        ] {
            let offset = file.len() as u64;
            let mut header = section([kind, 0, 0, offset, contents.len() as u64, link, entry]);
            header[..4].copy_from_slice(&numbers(4, &[name]));
            headers.extend(header);
            file.extend(contents);
        }
        let at = file.len() as u64;
        file.extend(headers);
        // 64 bits, little-endian; an executable file for AArch64.
        let head = [
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec(),
            numbers(2, &[2, 183]),
            numbers(4, &[1]),
            numbers(8, &[CODE, 64, at]),
            numbers(4, &[0]),
            numbers(2, &[64, 56, self.segments.len() as u64, 64, first + 5, first + 4]),
        ];
        file[..64].copy_from_slice(&head.concat());
        file
    }

    /// A snapshot in which the first branch of the program is executed.
    fn snapshot(&self, folder: &Folder) -> PathBuf {
        let put = |name: &str, text: &str| fs::write(folder.path(name), text).unwrap();
        let bytes = self.bytes();
        fs::write(folder.path("program.elf"), &bytes).unwrap();
        // Alignment synchronisation, trace info, trace on, an address with a context, an E atom.
        let start = [0x80, 1, 0, 4, 0x85, 0, 0, 1, 0, 0, 0, 0, 0, 0x10, 0xf7];
        fs::write(folder.path("trace.bin"), [&[0; 11][..], &start].concat()).unwrap();
        put(
            "snapshot.ini",
            "[snapshot]\nversion=1.0\n[device_list]\ndevice0=cpu.ini\ndevice1=ete.ini\n[trace]\n\
             metadata=trace.ini\n",
        );
        // Two decisions in the line of all code.
        let condition =
            |column: u32| format!("{{\"start\": [1, {column}], \"end\": [1, {}]}}", column + 2);
        let list = [
            format!("{{\"start\": [1, 1], \"end\": [1, 3], \"conditions\": [{}]}}", condition(1)),
            format!(
                "{{\"start\": [1, 9], \"end\": [1, 16], \"conditions\": [{}, {}], \"tree\": [\"&&\", 0, 1]}}",
                condition(9),
                condition(14)
            ),
        ];
        let list = list.join(", ");
        put("decisions.json", &format!("{{\"file\": \"a.c\", \"decisions\": [{list}]}}"));
        let size = bytes.len();
        let core = "[device]\nname=cpu_0\nclass=core\ntype=ARMv9-A\n";
        put(
            "cpu.ini",
            &format!("{core}[elf_all1]\nfile=program.elf\naddress=0x0\nlength={size}\n"),
        );
        let ete = "[device]\nname=ETE_0\nclass=trace_source\ntype=ETE\n[regs]\n";
        put(
            "ete.ini",
            &format!(
                "{ete}TRCCONFIGR=0x1\nTRCTRACEIDR=0x10\nTRCIDR0=0x28000ea1\nTRCIDR1=0x4100fff3\nTRCIDR2=0x1088\nTRCIDR8=0x0\n"
            ),
        );
        put(
            "trace.ini",
            "[trace_buffers]\nbuffers=b\n[b]\nname=B\nfile=trace.bin\nformat=source_data\n\
             [core_trace_sources]\ncpu_0=ETE_0\n[source_buffers]\nETE_0=B\n",
        );
        folder.path("")
    }
}

/// 20,000 functions over 256 KiB of branches, which overlap: each ends where the code ends.
pub fn overlapping_functions(folder: &Folder) -> PathBuf {
    let size = 0x4_0000;
    let functions = (0..20_000).map(|n| (1, CODE + 4 * n, size - 4 * n)).collect();
    let code = BRANCH.repeat(size as usize / 4);
    let sections = vec![(CODE, size)];
    Program { code, segments: vec![CODE], sections, functions }.snapshot(folder)
}

/// 1,000 segments with the same 64 KiB of branches.
pub fn shared_segments(folder: &Folder) -> PathBuf {
    let size = 0x1_0000;
    let segments: Vec<u64> = (0..1000).map(|n| CODE + n * size).collect();
    let code = BRANCH.repeat(size as usize / 4);
    let sections = vec![(CODE, size)];
    let functions = vec![(1, CODE, 1000 * size)];
    Program { code, segments, sections, functions }.snapshot(folder)
}

/// 60,000 sections of 4 bytes, and 100,000 functions in them.
pub fn many_sections(folder: &Folder) -> PathBuf {
    let sections: Vec<_> = (0..60_000).map(|n| (CODE + 4 * n, 4)).collect();
    let function = |n: usize| {
        let (address, size) = sections[n % sections.len()];
        (n % sections.len() + 1, address, size)
    };
    let functions = (0..100_000).map(function).collect();
    let code = BRANCH.repeat(sections.len());
    Program { code, segments: vec![CODE], sections, functions }.snapshot(folder)
}
