//! Custom opcodes, from a log to a capture and back.

use std::fs;
use std::path::Path;

use super::ok;
use crate::common::{Folder, args, tracewright};

/// The executed instructions: address, opcode and disassembly. They include Zcmp and Zcmt, a branch
/// of CORE-V and a call of 48 bits.
const RUN: &[(u32, &str, &str)] = &[
    (0x1000, "a082", "cm.jalt 32"),
    (0x1100, "b862", "cm.push {ra, s0-s1}, -16"),
    (0x1102, "0055660b", "cv.beqimm 0x110e"),
    (0x110e, "be62", "cm.popret {ra, s0-s1}, 16"),
    (0x1002, "0ecc049f", "qc.e.jal"),
    (0x1100, "b862", "cm.push {ra, s0-s1}, -16"),
    (0x1102, "0055660b", "cv.beqimm 0x110e"),
    (0x1106, "00000013", "nop"),
    (0x110a, "00000013", "nop"),
    (0x110e, "be62", "cm.popret {ra, s0-s1}, 16"),
    (0x1008, "00000013", "nop"),
    (0x100c, "a006", "cm.jt 1"),
    (0x1200, "00000013", "nop"),
    (0x1204, "00000013", "nop"),
];

const PARAMS: &str = "\
# The trace unit.
profile = \"reference-flow\"
xlen = 32
zcm = true
jvt = 0x3000

[[custom]]
name = \"cv.beqimm\"
mask = 0x707f       # funct3 and the opcode
match = 0x600b
kind = \"branch\"
offset = \"B\"

[[custom]]
name = \"qc.e.jal\"
mask = 0x1f1f07f
match = 0xc01f
kind = \"call\"
offset = \"47:32, 19:17, 31, 7, 30:25, 11:8\"
";

/// The program: code and jump table.
fn program() -> Vec<u8> {
    let mut memory = vec![0u8; 0x2100];
    let mut put = |at: usize, bytes: &[u8]| {
        memory[at - 0x1000..at - 0x1000 + bytes.len()].copy_from_slice(bytes);
    };
    for (at, opcode, _) in RUN {
        let bits = u32::from_str_radix(opcode, 16).unwrap().to_le_bytes();
        put(*at as usize, &bits[..opcode.len() / 2]);
    }
    // qc.e.jal 0x1100, at an offset of 0xfe bytes.
    let call = 0xc01fu64 | offset(0xfe);
    put(0x1002, &call.to_le_bytes()[..6]);
    put(0x1208, &[0x13, 0, 0, 0]);
    put(0x3004, &0x1200u32.to_le_bytes());
    put(0x3080, &0x1100u32.to_le_bytes());
    memory
}

/// The immediate of qc.e.jal for an offset.
fn offset(by: u64) -> u64 {
    (by >> 16 & 0xffff) << 32
        | (by >> 13 & 7) << 17
        | (by >> 12 & 1) << 31
        | (by >> 11 & 1) << 7
        | (by >> 5 & 0x3f) << 25
        | (by >> 1 & 0xf) << 8
}

/// A log of addresses, with or without opcodes.
fn log(opcodes: bool) -> String {
    let mut text = "address,isa,el,opcode\n".to_owned();
    for (at, opcode, name) in RUN {
        // A log cannot express opcodes of 48 bits.
        let opcode = if opcodes && *name != "qc.e.jal" { opcode } else { "" };
        text += &format!("{at:x},RV32,3,{opcode}\n");
    }
    text
}

#[test]
fn custom_opcodes() {
    let folder = Folder::new("riscv-own");
    let (image, params) = (folder.path("program.bin"), folder.path("unit.params"));
    fs::write(&image, program()).unwrap();
    fs::write(&params, PARAMS).unwrap();
    let image = format!("--image {}@0x1000", image.display());
    let isa = "--isa rv32";
    for opcodes in [false, true] {
        let (log, capture) = (
            folder.path("log.csv"),
            folder.path(if opcodes { "with-opcodes" } else { "without-opcodes" }),
        );
        fs::write(&log, self::log(opcodes)).unwrap();
        let mut all = args(&format!("encode --protocol etrace --framing raw {isa} {image}"), &[]);
        all.extend(args("--params", &[&params]));
        all.extend(args("--log", &[&log]));
        all.extend(args("-o", &[&capture]));
        let output = tracewright(&all);
        ok(&output);
        assert!(output.err.starts_with("14 instructions of 1 processor to "), "{}", output.err);

        let addresses: Vec<_> = RUN.iter().map(|(at, ..)| format!("{at:x}")).collect();
        let output = tracewright(&args("instructions --strict --format pc", &[&capture]));
        assert_eq!(ok(&output).lines().collect::<Vec<_>>(), addresses, "{}", output.err);
        let output = tracewright(&args("instructions", &[&capture]));
        let texts: Vec<_> = ok(&output).lines().filter(|line| line.starts_with("0x")).collect();
        assert_eq!(texts.len(), RUN.len());
        for (line, (_, _, text)) in texts.iter().zip(RUN) {
            assert!(line.contains(text), "{text} is not in {line}");
        }
        let output = tracewright(&args("decode --strict", &[&capture]));
        assert!(
            ok(&output).contains("0x1100..0x1106 2 RV32 conditional branch taken"),
            "{}",
            output.out
        );
        let output = tracewright(&args("info --all", &[&capture]));
        assert!(
            ok(&output).contains("custom = name=cv.beqimm mask=0x707f match=0x600b"),
            "{}",
            output.out
        );
        let output = tracewright(&args(&format!("compare {isa} {image}"), &[&capture, &log]));
        assert_eq!(ok(&output), "the same: 14 instructions and events of 1 source\n");

        // The same bytes, described by options.
        let bytes = fs::read_dir(&capture).unwrap().map(|f| f.unwrap().path());
        let bytes = bytes.into_iter().find(|p| p.extension().is_some_and(|e| e == "bin")).unwrap();
        let words = format!("instructions --strict --format pc --protocol etrace {image} --params");
        let output = tracewright(&args(&words, &[&params, &bytes]));
        assert_eq!(ok(&output).lines().collect::<Vec<_>>(), addresses, "{}", output.err);
        let words = format!(
            "instructions --format pc --protocol etrace {image} --config profile=reference-flow"
        );
        let mut all =
            args(&format!("{words} --config xlen=32 --config zcm=true --config jvt=0x3000"), &[]);
        for custom in [
            "custom=name=cv.beqimm mask=0x707f match=0x600b kind=branch offset=B",
            "custom=mask=0x1f1f07f match=0xc01f kind=call offset=47:32,19:17,31,7,30:25,11:8",
        ] {
            all.extend(["--config".into(), custom.into()]);
        }
        all.push(bytes.clone().into());
        let output = tracewright(&all);
        assert_eq!(ok(&output).lines().collect::<Vec<_>>(), addresses, "{}", output.err);
        assert_eq!(output.err.matches("note:").count(), 0, "{}", output.err);

        // Without the custom opcodes, decoding fails.
        let plain = args(
            &format!(
                "decode --strict --protocol etrace {image} --config profile=reference-flow --config xlen=32"
            ),
            &[&bytes],
        );
        assert_eq!(tracewright(&plain).code, Some(1));
    }
}

/// An ELF file for RV32 with `memory` at 0x1000 and absolute `symbols`.
fn elf(memory: &[u8], symbols: &[(&str, u32)]) -> Vec<u8> {
    let mut names = vec![0u8];
    // The null symbol; then name, value, size, type and binding (weak), section (none: a number).
    let mut table = vec![0u8; 16];
    for (name, value) in symbols {
        table.extend((names.len() as u32).to_le_bytes());
        table.extend(value.to_le_bytes());
        table.extend([0, 0, 0, 0, 0x20, 0, 0xf1, 0xff]);
        names.extend(name.bytes().chain([0]));
    }
    let (code, size) = (52 + 32, memory.len() as u32);
    let (symtab, strings) = (code + size, code + size + table.len() as u32);
    let sections = (strings + names.len() as u32).next_multiple_of(4);
    let mut file = vec![0x7f, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend([2u16, 243].into_iter().flat_map(u16::to_le_bytes));
    file.extend([1, 0x1000, 52, sections, 0].into_iter().flat_map(u32::to_le_bytes));
    file.extend([52u16, 32, 1, 40, 3, 0].into_iter().flat_map(u16::to_le_bytes));
    // One loadable segment: offset, addresses, sizes, flags.
    file.extend([1, code, 0x1000, 0x1000, size, size, 7, 4].into_iter().flat_map(u32::to_le_bytes));
    file.extend(memory);
    file.extend(&table);
    file.extend(&names);
    file.resize(sections as usize, 0);
    // The null section; the symbols, whose names are in the next section; the names.
    file.extend([0u8; 40]);
    let row = [0, 2, 0, 0, symtab, table.len() as u32, 2, 1, 4, 16];
    file.extend(row.into_iter().flat_map(u32::to_le_bytes));
    let row = [0, 3, 0, 0, strings, names.len() as u32, 0, 0, 1, 0];
    file.extend(row.into_iter().flat_map(u32::to_le_bytes));
    file
}

/// Without `jvt`, the symbol of the linker gives the address of the Zcmt jump table; `jvt` has
/// priority.
#[test]
fn a_jump_table_by_its_symbol() {
    let folder = Folder::new("riscv-jvt");
    let (image, log) = (folder.path("program.elf"), folder.path("log.csv"));
    fs::write(&image, elf(&program(), &[("__jvt_base$", 0x3000), ("other", 0x2000)])).unwrap();
    fs::write(&log, self::log(false)).unwrap();
    let without = PARAMS.replace("jvt = 0x3000\n", "");
    let params = |name: &str, text: &str| {
        let path = folder.path(name);
        fs::write(&path, text).unwrap();
        path
    };
    let (without, other, plain) = (
        params("without.params", &without),
        params("other.params", &PARAMS.replace("jvt = 0x3000", "jvt = 0x2000")),
        params("plain.params", &without.replace("zcm = true\n", "")),
    );
    let capture = folder.path("capture");
    let mut all = args("encode --protocol etrace --framing raw --params", &[&without]);
    all.extend(args("--image", &[&image]));
    all.extend(args("--log", &[&log]));
    all.extend(args("-o", &[&capture]));
    let output = tracewright(&all);
    ok(&output);
    let note = "jvt is taken to be 0x3000, the symbol __jvt_base$ of program.elf";
    assert!(output.err.contains(note), "{}", output.err);
    // The capture does not record the address; it is inferred again.
    assert!(!fs::read_to_string(capture.join("capture.toml")).unwrap().contains("jvt"));
    let addresses: Vec<_> = RUN.iter().map(|(at, ..)| format!("{at:x}")).collect();
    let output = tracewright(&args("instructions --strict --format pc", &[&capture]));
    assert_eq!(ok(&output).lines().collect::<Vec<_>>(), addresses, "{}", output.err);
    assert_eq!(output.err.matches(note).count(), 1, "{}", output.err);
    for format in ["text", "json"] {
        let output = tracewright(&args(&format!("info --format {format}"), &[&capture]));
        assert_eq!(ok(&output).matches(note).count(), 1, "{}", output.out);
    }
    let output = tracewright(&args("compare", &[&capture, &log]));
    assert_eq!(ok(&output), "the same: 14 instructions and events of 1 source\n");

    let bytes = fs::read_dir(&capture).unwrap().map(|f| f.unwrap().path());
    let bytes = bytes.into_iter().find(|p| p.extension().is_some_and(|e| e == "bin")).unwrap();
    for (params, right, noted) in [(&without, true, true), (&other, false, false)] {
        let mut all = args("instructions --format pc --protocol etrace --image", &[&image]);
        all.extend(args("--params", &[params, &bytes]));
        let output = tracewright(&all);
        assert_eq!(output.out.lines().eq(&addresses), right, "{}", output.out);
        assert_eq!(output.err.contains("__jvt_base$"), noted, "{}", output.err);
    }
    // A program linked for Zcmt, on a processor without the extension.
    let mut all = args("info --all --protocol etrace --image", &[&image]);
    all.extend(args("--params", &[&plain, &bytes]));
    let output = tracewright(&all);
    assert!(ok(&output).contains("program.elf has a jump table of Zcmt"), "{}", output.out);
    assert!(!ok(&output).contains("jvt is taken"), "{}", output.out);
}

/// Two harts of one stream, where an opcode is a branch on one of them only. A log of both equals
/// the stream, with the parameters of the capture alone.
#[test]
fn custom_opcodes_of_one_hart() {
    const CUSTOM: &str = "\n[[source.parameters.custom]]\nmask = 0x707f\nmatch = 0x600b\nkind = \"branch\"\noffset = \"B\"\n";
    let folder = Folder::new("riscv-own-of-one");
    // cv.beqimm by 12, two other instructions, and a branch back, which makes the iterations
    // traceable.
    let code = [0x0055_660bu32, 0x13, 0x13, 0xfe05_1ae3];
    let memory: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::write(folder.path("program.bin"), memory).unwrap();
    let ran = [
        [0x1000, 0x100c, 0x1000, 0x100c, 0x1000, 0x1004, 0x1008, 0x100c],
        [0x1000, 0x1004, 0x1008, 0x100c, 0x1000, 0x1004, 0x1008, 0x100c],
    ];
    let mut stream = Vec::new();
    let mut both = "cpu,address,isa,el\n".to_owned();
    let described = folder.path("described");
    let mut toml = "[[buffer]]\nname = \"ram\"\nfile = \"ram.bin\"\nformat = \"encapsulated\"\n\
                    [[image]]\nfile = \"../program.bin\"\naddress = 0x1000\n"
        .to_owned();
    for (cpu, addresses) in ran.iter().enumerate() {
        let mut log = "address,isa,el\n".to_owned();
        for address in addresses {
            log += &format!("{address:x},RV32,3\n");
            both += &format!("{cpu},{address:x},RV32,3\n");
        }
        let (path, out) = (folder.path("one.csv"), folder.path(&format!("one{cpu}")));
        fs::write(&path, log).unwrap();
        let image = format!("{}@0x1000", folder.path("program.bin").display());
        let unit = format!("--config xlen=32 --config source_width=3 --config source={cpu}");
        let words = "encode --protocol etrace --framing raw --config framing=encapsulated";
        let mut all = args(&format!("{words} --image {image} {unit}"), &[]);
        if cpu == 0 {
            let custom = "custom=mask=0x707f match=0x600b kind=branch offset=B";
            all.extend(["--config".into(), custom.into()]);
        }
        all.extend(args("--log", &[&path]));
        all.extend(args("-o", &[&out]));
        ok(&tracewright(&all));
        let bytes = fs::read_dir(&out).unwrap().map(|f| f.unwrap().path());
        let bytes = bytes.into_iter().find(|p| p.extension().is_some_and(|e| e == "bin")).unwrap();
        stream.extend(fs::read(bytes).unwrap());
        toml += &format!(
            "[[source]]\nname = \"hart{cpu}\"\nprotocol = \"etrace\"\n[source.parameters]\nxlen = 32\n\
             framing = \"encapsulated\"\nsource_width = 3\nsource = {cpu}\n"
        );
        toml += if cpu == 0 { CUSTOM } else { "" };
    }
    fs::create_dir(&described).unwrap();
    fs::write(described.join("ram.bin"), stream).unwrap();
    fs::write(described.join("capture.toml"), toml).unwrap();
    let log = folder.path("both.csv");
    fs::write(&log, &both).unwrap();
    let output = tracewright(&args("compare", &[&described, &log]));
    assert_eq!(
        ok(&output),
        "the same: 16 instructions and events of 2 sources\n",
        "{}",
        output.err
    );
    // With exchanged harts they differ.
    fs::write(&log, both.replace("\n0,", "\n2,").replace("\n1,", "\n0,").replace("\n2,", "\n1,"))
        .unwrap();
    let output = tracewright(&args("compare", &[&described, &log]));
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
}

/// Errors in tables of custom opcodes have file, section, key and the expected values.
#[test]
fn invalid_tables_are_reported() {
    let folder = Folder::new("riscv-wrong");
    fs::write(folder.path("trace.bin"), [0x41, 0x1f]).unwrap();
    let toml = |custom: &str| {
        format!(
            "[[buffer]]\nfile = \"trace.bin\"\n[[source]]\nprotocol = \"etrace\"\n[source.parameters]\n{custom}\n"
        )
    };
    let index = folder.path("capture.toml");
    let table = "[[source.parameters.custom]]\nmask = 0x7f\nmatch = 0x5b\nkind = \"plain\"\n";
    for (custom, parts) in [
        (
            format!("{table}{}", table.replace("plain", "brnch")),
            &["capture.toml: [source 1] custom 2: ", "`kind` must be one of plain branch jump"][..],
        ),
        (table.replace("0x7f", "true"), &["[source 1] custom 1: `mask` must be a number"]),
        ("custom = [1]".to_owned(), &["[source 1] custom 1: expected a table or a string"]),
        ("custom = [\"mask=1\"]".to_owned(), &["[source 1] custom 1: ", "`match` is missing"]),
        (
            "custm = [\"mask=1\"]".to_owned(),
            &["custm 1: no list is called `custm`; there is custom"],
        ),
        (table.repeat(25), &["custom 25: ", "more than 24 opcodes"]),
    ] {
        fs::write(&index, toml(&custom)).unwrap();
        let output = tracewright(&args("info --all", &[Path::new(&folder.path(""))]));
        assert_eq!(output.code, Some(2), "{custom}: {}", output.out);
        for part in parts {
            assert!(output.err.contains(part), "{part} is not in {}", output.err);
        }
    }
    let params = folder.path("unit.params");
    fs::write(&params, "xlen = 32\n[[custom]]\nmask = 3\nmatch = 4\nkind = \"plain\"\n").unwrap();
    let output = tracewright(&args(
        "info --protocol etrace --params",
        &[&params, &folder.path("trace.bin")],
    ));
    assert_eq!(output.code, Some(2), "{}", output.out);
    assert!(output.err.contains("unit.params:2: custom: "), "{}", output.err);
    assert!(output.err.contains("`match` has bits that `mask` has not"), "{}", output.err);
}
