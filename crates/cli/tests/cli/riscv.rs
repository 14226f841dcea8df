//! RISC-V: opcodes beyond the standard ones, from a log to a capture and back.

use std::fs;
use std::path::Path;

use crate::common::{Folder, Said, args, tracewright};

/// What runs: address, opcode and what it is. With Zcmp and Zcmt, a branch of CORE-V and a call of 48 bits.
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
# What the unit is.
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

/// The program: code, and the table of the jumps.
fn program() -> Vec<u8> {
    let mut memory = vec![0u8; 0x2100];
    let mut put = |at: usize, bytes: &[u8]| {
        memory[at - 0x1000..at - 0x1000 + bytes.len()].copy_from_slice(bytes);
    };
    for (at, opcode, _) in RUN {
        let bits = u32::from_str_radix(opcode, 16).unwrap().to_le_bytes();
        put(*at as usize, &bits[..opcode.len() / 2]);
    }
    // qc.e.jal 1100: 0xfe bytes on.
    let call = 0xc01fu64 | offset(0xfe);
    put(0x1002, &call.to_le_bytes()[..6]);
    put(0x1208, &[0x13, 0, 0, 0]);
    put(0x3004, &0x1200u32.to_le_bytes());
    put(0x3080, &0x1100u32.to_le_bytes());
    memory
}

/// The bits of an offset in qc.e.jal.
fn offset(by: u64) -> u64 {
    (by >> 16 & 0xffff) << 32
        | (by >> 13 & 7) << 17
        | (by >> 12 & 1) << 31
        | (by >> 11 & 1) << 7
        | (by >> 5 & 0x3f) << 25
        | (by >> 1 & 0xf) << 8
}

/// A log of addresses, and of opcodes where they are said.
fn log(opcodes: bool) -> String {
    let mut text = "address,isa,el,opcode\n".to_owned();
    for (at, opcode, name) in RUN {
        // A log has no words for 48 bits.
        let said = if opcodes && *name != "qc.e.jal" { opcode } else { "" };
        text += &format!("{at:x},RV32,3,{said}\n");
    }
    text
}

fn ok(said: &Said) -> &str {
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    &said.out
}

#[test]
fn opcodes_of_its_own() {
    let folder = Folder::new("riscv-own");
    let (image, params) = (folder.path("program.bin"), folder.path("unit.params"));
    fs::write(&image, program()).unwrap();
    fs::write(&params, PARAMS).unwrap();
    let image = format!("--image {}@0x1000", image.display());
    let isa = "--isa rv32";
    for opcodes in [false, true] {
        let (log, capture) =
            (folder.path("log.csv"), folder.path(if opcodes { "said" } else { "unsaid" }));
        fs::write(&log, self::log(opcodes)).unwrap();
        let mut all = args(&format!("encode --protocol etrace --framing raw {isa} {image}"), &[]);
        all.extend(args("--params", &[&params]));
        all.extend(args("--log", &[&log]));
        all.extend(args("-o", &[&capture]));
        let said = tracewright(&all);
        ok(&said);
        assert!(said.err.starts_with("14 instructions of 1 processor to "), "{}", said.err);

        let addresses: Vec<_> = RUN.iter().map(|(at, ..)| format!("{at:x}")).collect();
        let said = tracewright(&args("instructions --strict --format pc", &[&capture]));
        assert_eq!(ok(&said).lines().collect::<Vec<_>>(), addresses, "{}", said.err);
        let said = tracewright(&args("instructions", &[&capture]));
        let texts: Vec<_> = ok(&said).lines().filter(|line| line.starts_with("0x")).collect();
        assert_eq!(texts.len(), RUN.len());
        for (line, (_, _, text)) in texts.iter().zip(RUN) {
            assert!(line.contains(text), "{text} is not in {line}");
        }
        let said = tracewright(&args("decode --strict", &[&capture]));
        assert!(
            ok(&said).contains("0x1100..0x1106 2 RV32 conditional branch taken"),
            "{}",
            said.out
        );
        let said = tracewright(&args("info", &[&capture]));
        assert!(
            ok(&said).contains("custom = name=cv.beqimm mask=0x707f match=0x600b"),
            "{}",
            said.out
        );
        let said = tracewright(&args(&format!("compare {isa} {image}"), &[&capture, &log]));
        assert_eq!(ok(&said), "the same: 14 instructions and events of 1 source\n");

        // The same bytes, told with the command's words.
        let bytes = fs::read_dir(&capture).unwrap().map(|f| f.unwrap().path());
        let bytes = bytes.into_iter().find(|p| p.extension().is_some_and(|e| e == "bin")).unwrap();
        let words = format!("instructions --strict --format pc --protocol etrace {image} --params");
        let said = tracewright(&args(&words, &[&params, &bytes]));
        assert_eq!(ok(&said).lines().collect::<Vec<_>>(), addresses, "{}", said.err);
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
        let said = tracewright(&all);
        assert_eq!(ok(&said).lines().collect::<Vec<_>>(), addresses, "{}", said.err);
        assert_eq!(said.err.matches("note:").count(), 0, "{}", said.err);

        // Who does not know them gets lost.
        let plain = args(
            &format!(
                "decode --strict --protocol etrace {image} --config profile=reference-flow --config xlen=32"
            ),
            &[&bytes],
        );
        assert_eq!(tracewright(&plain).code, Some(1));
    }
}

/// An ELF file for RV32 with `memory` at 0x1000, and `symbols` that are numbers.
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
    // One segment to load: offset, addresses, sizes, what may be done.
    file.extend([1, code, 0x1000, 0x1000, size, size, 7, 4].into_iter().flat_map(u32::to_le_bytes));
    file.extend(memory);
    file.extend(&table);
    file.extend(&names);
    file.resize(sections as usize, 0);
    // No section; the symbols, whose names are in the section behind; the names.
    file.extend([0u8; 40]);
    let row = [0, 2, 0, 0, symtab, table.len() as u32, 2, 1, 4, 16];
    file.extend(row.into_iter().flat_map(u32::to_le_bytes));
    let row = [0, 3, 0, 0, strings, names.len() as u32, 0, 0, 1, 0];
    file.extend(row.into_iter().flat_map(u32::to_le_bytes));
    file
}

/// Where nobody says where the jump table of Zcmt is, the linker's symbol does; what is said counts more.
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
    let said = tracewright(&all);
    ok(&said);
    let note = "jvt is taken to be 0x3000, the symbol __jvt_base$ of program.elf";
    assert!(said.err.contains(note), "{}", said.err);
    // It is not among what the capture says, and found again.
    assert!(!fs::read_to_string(capture.join("capture.toml")).unwrap().contains("jvt"));
    let addresses: Vec<_> = RUN.iter().map(|(at, ..)| format!("{at:x}")).collect();
    let said = tracewright(&args("instructions --strict --format pc", &[&capture]));
    assert_eq!(ok(&said).lines().collect::<Vec<_>>(), addresses, "{}", said.err);
    assert_eq!(said.err.matches(note).count(), 1, "{}", said.err);
    for format in ["text", "json"] {
        let said = tracewright(&args(&format!("info --format {format}"), &[&capture]));
        assert_eq!(ok(&said).matches(note).count(), 1, "{}", said.out);
    }
    let said = tracewright(&args("compare", &[&capture, &log]));
    assert_eq!(ok(&said), "the same: 14 instructions and events of 1 source\n");

    let bytes = fs::read_dir(&capture).unwrap().map(|f| f.unwrap().path());
    let bytes = bytes.into_iter().find(|p| p.extension().is_some_and(|e| e == "bin")).unwrap();
    for (params, right, noted) in [(&without, true, true), (&other, false, false)] {
        let mut all = args("instructions --format pc --protocol etrace --image", &[&image]);
        all.extend(args("--params", &[params, &bytes]));
        let said = tracewright(&all);
        assert_eq!(said.out.lines().eq(&addresses), right, "{}", said.out);
        assert_eq!(said.err.contains("__jvt_base$"), noted, "{}", said.err);
    }
    // A program that was linked for Zcmt, on a processor that is not said to have it.
    let mut all = args("info --protocol etrace --image", &[&image]);
    all.extend(args("--params", &[&plain, &bytes]));
    let said = tracewright(&all);
    assert!(ok(&said).contains("program.elf has a jump table of Zcmt"), "{}", said.out);
    assert!(!ok(&said).contains("jvt is taken"), "{}", said.out);
}

/// Two harts of one stream, to one of which an opcode is a branch, and plain to the other: a log of both is the same as
/// the stream, with nothing but what the capture says.
#[test]
fn opcodes_of_one_of_two() {
    const CUSTOM: &str = "\n[[source.parameters.custom]]\nmask = 0x707f\nmatch = 0x600b\nkind = \"branch\"\noffset = \"B\"\n";
    let folder = Folder::new("riscv-own-of-one");
    // cv.beqimm 12 on; two that are plain, and a branch back: how often a loop without one ran is not traced.
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
    let said = tracewright(&args("compare", &[&described, &log]));
    assert_eq!(ok(&said), "the same: 16 instructions and events of 2 sources\n", "{}", said.err);
    // The other way round they differ.
    fs::write(&log, both.replace("\n0,", "\n2,").replace("\n1,", "\n0,").replace("\n2,", "\n1,"))
        .unwrap();
    let said = tracewright(&args("compare", &[&described, &log]));
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
}

/// Two harts that run the same program, each at its own pace.
#[test]
fn two_harts() {
    const LOG: &str = "\
cpu,address,isa,el,opcode
0,1000,RV32,3,00000013
1,1000,RV32,3,00000013
0,1004,RV32,3,00050463
0,100c,RV32,3,ff5ff06f
1,1004,RV32,3,00050463
1,1008,RV32,3,00008067
0,1000,RV32,3,00000013
1,100c,RV32,3,ff5ff06f
1,1000,RV32,3,00000013
0,1004,RV32,3,00050463
";
    let folder = Folder::new("riscv-harts");
    let (log, image) = (folder.path("log.csv"), folder.path("program.bin"));
    let code = [0x13u32, 0x0005_0463, 0x8067, 0xff5f_f06f, 0x13];
    fs::write(&image, code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    fs::write(&log, LOG).unwrap();
    let image = format!("--image {}@0x1000", image.display());
    let ran = |cpu: char| {
        let of = LOG.lines().filter(|line| line.starts_with(cpu));
        of.map(|line| format!("0x0000{}", line.split(',').nth(1).unwrap())).collect::<Vec<_>>()
    };
    let encode = |words: &str, out: &Path| {
        let words =
            format!("encode --protocol etrace --framing encapsulated --isa rv32 {image} {words}");
        let mut all = args(&words, &[]);
        all.extend(args("--log", &[&log]));
        all.extend(args("-o", &[out]));
        tracewright(&all)
    };
    let capture = folder.path("both");
    let unit = "--config xlen=32 --config source_width=12 --config source=0x123";
    let said = encode(unit, &capture);
    ok(&said);
    let toml = fs::read_to_string(capture.join("capture.toml")).unwrap();
    for part in
        ["format = \"encapsulated\"", "source = 0x123", "source = 0x124", "source_width = 0xc"]
    {
        assert!(toml.contains(part), "{part} is not in {toml}");
    }
    let by_hart = |text: &str, name: &str| -> Vec<String> {
        let lines =
            text.lines().filter_map(|line| line.strip_prefix(name)?.trim().split(' ').next());
        lines.filter(|word| word.starts_with("0x")).map(str::to_owned).collect()
    };
    let said = tracewright(&args("instructions --strict", &[&capture]));
    for (name, cpu) in [("ETRACE_0", '0'), ("ETRACE_1", '1')] {
        assert_eq!(by_hart(ok(&said), name), ran(cpu), "{}", said.out);
    }
    let said = tracewright(&args(&format!("compare --isa rv32 {image}"), &[&capture, &log]));
    assert_eq!(ok(&said), "the same: 10 instructions and events of 2 sources\n");
    let said = tracewright(&args("info", &[&capture]));
    assert!(ok(&said).contains("encapsulated"), "{}", said.out);
    let said = tracewright(&args("frames --format none", &[&capture]));
    assert!(ok(&said).contains("(ETRACE_0)"), "{}", said.out);

    // The same bytes: harts that are named, and those that are found.
    let bytes = fs::read_dir(&capture).unwrap().map(|f| f.unwrap().path());
    let bytes = bytes.into_iter().find(|p| p.extension().is_some_and(|e| e == "bin")).unwrap();
    let unit = "--config xlen=32 --config source_width=12";
    for (words, note) in [
        ("--protocol etrace@0x123 --protocol etrace@0x124", false),
        ("--protocol etrace", true),
        ("--protocol etrace --framing encapsulated", true),
    ] {
        let all = format!("instructions --strict {image} {words} {unit}");
        let said = tracewright(&args(&all, &[&bytes]));
        for (name, cpu) in [("etrace@0x123", '0'), ("etrace@0x124", '1')] {
            assert_eq!(by_hart(ok(&said), name), ran(cpu), "{}", said.out);
        }
        assert_eq!(said.err.contains("the messages are of 0x123, 0x124"), note, "{}", said.err);
    }
    // The number is the id, whatever shows it.
    for (verb, part) in [
        ("decode --format json", r#""name":"ETRACE_1","protocol":"ETRACE","id":292"#),
        ("info --format json", r#""id":292,"bytes""#),
        ("frames", "id 0x124"),
        ("frames --format json", r#""id":292"#),
        ("decode --format none", "ETRACE_1 (ETRACE, id 0x124)"),
        ("info", "id 0x124, in "),
    ] {
        let said = tracewright(&args(verb, &[&capture]));
        assert!(ok(&said).contains(part), "{verb}: {part} is not in {}", said.out);
    }
    for id in ["0x123", "292"] {
        let cpu = if id == "292" { '1' } else { '0' };
        let said = tracewright(&args(&format!("instructions --format pc --id {id}"), &[&capture]));
        assert_eq!(ok(&said).lines().count(), ran(cpu).len(), "{id}");
    }
    // Sources that are listed in another order are the same; those that differ have a number.
    let toml = fs::read_to_string(capture.join("capture.toml")).unwrap();
    let (head, sources) = toml.split_at(toml.find("[[source]]").unwrap());
    let (first, second) = sources.split_at(sources.rfind("[[source]]").unwrap());
    let (second, rest) = second.split_at(second.find("[[image]]").unwrap_or(second.len()));
    let swapped = folder.path("swapped");
    fs::create_dir(&swapped).unwrap();
    for file in fs::read_dir(&capture).unwrap().map(|file| file.unwrap().path()) {
        fs::copy(&file, swapped.join(file.file_name().unwrap())).unwrap();
    }
    fs::write(swapped.join("capture.toml"), format!("{head}{second}\n{first}\n{rest}")).unwrap();
    let said = tracewright(&args("compare", &[&capture, &swapped]));
    assert_eq!(ok(&said), "the same: 10 instructions and events of 2 sources\n");
    fs::write(&log, LOG.replace("1,100c", "1,1000")).unwrap();
    let said = tracewright(&args("compare", &[&capture, &log]));
    assert!(said.out.starts_with("ETRACE_1 (id 0x124): differs after"), "{}", said.out);
    // One of them: the other's messages are no source's.
    let all = format!("instructions --format pc {image} --protocol etrace@0x124 {unit}");
    let said = tracewright(&args(&all, &[&bytes]));
    assert_eq!(ok(&said).lines().count(), ran('1').len());
    assert!(said.err.contains("numbers that no source has: 0x123 ("), "{}", said.err);
    for (words, part) in [
        ("--protocol etrace --framing encapsulated", "--config source_width=N"),
        (
            "--protocol etrace --framing encapsulated --config source_width=4 --config aligned=false",
            "name them",
        ),
        ("--protocol etrace@70000 --config source_width=4", "a number from 0 to 0xffff"),
        ("--protocol ETM4@200 --framing coresight", "`200` is no trace id"),
    ] {
        let said = tracewright(&args(&format!("decode {words}"), &[&bytes]));
        assert_eq!(said.code, Some(2), "{words}: {}", said.out);
        assert!(said.err.contains(part), "{words}: {}", said.err);
    }
    let said =
        encode("--config xlen=32 --config source_width=1 --config source=1", &folder.path("none"));
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(said.err.contains("does not fit"), "{}", said.err);
    let said = encode("--config profile=esp32", &folder.path("none"));
    assert!(said.err.contains("no source number"), "{}", said.err);
}

/// A description with a table says file, section and key of what is wrong, and what could stand there.
#[test]
fn wrong_tables() {
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
        ("custom = [1]".to_owned(), &["[source 1] custom 1: it must be a table, or text"]),
        ("custom = [\"mask=1\"]".to_owned(), &["[source 1] custom 1: ", "`match` is missing"]),
        (
            "custm = [\"mask=1\"]".to_owned(),
            &["custm 1: no list is called `custm`; there is custom"],
        ),
        (table.repeat(25), &["custom 25: ", "more than 24 opcodes"]),
    ] {
        fs::write(&index, toml(&custom)).unwrap();
        let said = tracewright(&args("info", &[Path::new(&folder.path(""))]));
        assert_eq!(said.code, Some(2), "{custom}: {}", said.out);
        for part in parts {
            assert!(said.err.contains(part), "{part} is not in {}", said.err);
        }
    }
    let params = folder.path("unit.params");
    fs::write(&params, "xlen = 32\n[[custom]]\nmask = 3\nmatch = 4\nkind = \"plain\"\n").unwrap();
    let said = tracewright(&args(
        "info --protocol etrace --params",
        &[&params, &folder.path("trace.bin")],
    ));
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(said.err.contains("unit.params:2: custom: "), "{}", said.err);
    assert!(said.err.contains("`match` has bits that `mask` has not"), "{}", said.err);
}

/// A unit with a FIFO that is too small loses packets and says so, or makes the processor wait.
/// A long loop is one packet where its branch is predicted, and all of its turns are said.
#[test]
fn long_loops() {
    const TURNS: usize = 5000;
    let folder = Folder::new("riscv-turns");
    let (image, log, capture) =
        (folder.path("program.bin"), folder.path("log.csv"), folder.path("capture"));
    // addi a0, a0, -1; bnez a0, -4; a loop of two blocks: beqz a0, 8; addi, bnez a1, -8; nop.
    let code = [0xfff5_0513u32, 0xfe05_1ee3, 0x0005_0463, 0x0015_0513, 0xfe05_9ce3, 0x13, 0x8067];
    fs::write(&image, code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    let one = (0..TURNS).flat_map(|_| [0x1000, 0x1004]);
    let two = (0..TURNS).flat_map(|_| [0x1008, 0x1010]);
    let ran: Vec<_> = one.chain(two).chain([0x1014]).map(|at| format!("{at:x}")).collect();
    let rows: String = ran.iter().map(|at| format!("{at},RV32,3\n")).collect();
    fs::write(&log, format!("address,isa,el\n{rows}")).unwrap();
    let words = format!(
        "encode --protocol etrace --framing raw --image {}@0x1000 --config bpred_size=5 --config branch_prediction=1 \
         --config resync_max=100000 --log",
        image.display()
    );
    let mut all = args(&words, &[&log]);
    all.extend(args("-o", &[&capture]));
    ok(&tracewright(&all));
    let said = tracewright(&args("packets", &[&capture]));
    assert!(ok(&said).lines().count() < 12, "{}", said.out);
    let said = tracewright(&args("instructions --strict --format pc", &[&capture]));
    assert!(ok(&said).lines().eq(&ran), "{}", said.err);
    let counts = format!("{} ranges, {} instructions", 3 * TURNS + 1, ran.len());
    for verb in ["decode --strict --format none", "decode --strict --format none --stats"] {
        let said = tracewright(&args(verb, &[&capture]));
        assert!(ok(&said).contains(&counts), "{counts}: {}", said.out);
    }
    let said = tracewright(&args("decode --strict", &[&capture]));
    assert_eq!(ok(&said).matches(" range ").count(), 3 * TURNS + 1);
    // More than is allowed.
    let toml = fs::read_to_string(capture.join("capture.toml")).unwrap();
    let toml = toml.replace("[source.parameters]", "[source.parameters]\nlongest_count = 1000");
    fs::write(capture.join("capture.toml"), toml).unwrap();
    let said = tracewright(&args("decode --strict", &[&capture]));
    assert_eq!(said.code, Some(1), "{}", said.out);
    assert!(said.out.contains("than longest_count allows"), "{}", said.out);
}

/// What is wrong with a parameter is said with the place where it stands.
#[test]
fn wrong_parameters() {
    let folder = Folder::new("riscv-parameters");
    let (bytes, params, log) =
        (folder.path("trace.bin"), folder.path("unit.params"), folder.path("log.csv"));
    fs::write(&bytes, [0x41, 0x1f]).unwrap();
    fs::write(&params, "# the unit\nxlen = 99\n").unwrap();
    fs::write(&log, "address,isa,opcode\n1000,RV64,00000013\n").unwrap();
    fs::write(
        folder.path("capture.toml"),
        "[[buffer]]\nname = \"b\"\nfile = \"trace.bin\"\n[[source]]\nname = \"hart\"\nprotocol = \"etrace\"\n\
         params = \"unit.params\"\n",
    )
    .unwrap();
    let at = |words: &str, paths: &[&Path]| {
        let said = tracewright(&args(words, paths));
        assert_eq!(said.code, Some(2), "{words}: {}{}", said.out, said.err);
        said.err
    };
    let out = folder.path("out");
    let file = "unit.params:2: xlen: `xlen` cannot be `99`; it is one of 32 64";
    let encode = format!("encode --protocol etrace --log {} -o {}", log.display(), out.display());
    for (words, paths, want) in [
        ("decode --protocol etrace --params", &[&*params, &*bytes][..], file),
        ("decode", &[folder.path("").as_path()], file),
        (&*format!("{encode} --params"), &[&params], file),
        (
            "decode --protocol etrace --config xlen=99",
            &[&bytes],
            "--config: xlen: `xlen` cannot be `99`",
        ),
        (&*format!("{encode} --config xlen=99"), &[], "--config xlen=99: `xlen` cannot be `99`"),
    ] {
        let err = at(words, paths);
        assert!(err.contains(want), "{words}: {err}");
    }
    assert!(!out.exists());
    fs::write(&log, "address,isa,opcodes\n1000,RV64,00000013\n").unwrap();
    let err = at(&encode, &[]);
    assert!(err.contains("no column is called `opcodes`"), "{err}");
}

/// A Spike log begins in a boot ROM that no file has: the log's opcodes are in the capture.
#[test]
fn a_log_of_more_than_the_program() {
    const LOG: &str = "\
core   0: 0x0000000000001000 (0x00000297) auipc   t0, 0x0
core   0: 0x0000000000001004 (0x02028593) addi    a1, t0, 32
core   0: 0x0000000000001008 (0xf1402573) csrr    a0, mhartid
core   0: 0x000000000000100c (0x0182b283) ld      t0, 24(t0)
core   0: 0x0000000000001010 (0x00028067) jr      t0
core   0: 0x0000000080000000 (0x00000013) nop
core   0: 0x0000000080000004 (0x00050463) beqz    a0, pc + 8
core   0: 0x000000008000000c (0xff5ff06f) j       pc - 0xc
core   0: 0x0000000080000000 (0x00000013) nop
core   0: 0x0000000080000004 (0x00050463) beqz    a0, pc + 8
core   0: 0x0000000080000008 (0x8082) ret
";
    let folder = Folder::new("riscv-rom");
    let (log, image) = (folder.path("spike.log"), folder.path("program.bin"));
    let code = [0x13u32, 0x0005_0463, 0x8082, 0xff5f_f06f];
    fs::write(&image, code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    fs::write(&log, LOG).unwrap();
    let ran: Vec<_> = LOG.lines().map(|l| l[11..].split(' ').next().unwrap()).collect();
    let ran: Vec<_> = ran.iter().map(|at| at[2..].trim_start_matches('0').to_owned()).collect();
    for (images, note) in [
        (
            format!("--image {}@0x80000000", image.display()),
            "20 bytes of what was executed, the first at 0x1000",
        ),
        (String::new(), "34 bytes of what was executed, the first at 0x1000"),
    ] {
        let capture = folder.path("capture");
        let _ = fs::remove_dir_all(&capture);
        let mut all = args(&format!("encode --protocol etrace {images} --log"), &[&log]);
        all.extend(args("-o", &[&capture]));
        let said = tracewright(&all);
        ok(&said);
        assert!(said.err.contains(note), "{}", said.err);
        let said = tracewright(&args("instructions --strict --format pc", &[&capture]));
        assert_eq!(ok(&said).lines().collect::<Vec<_>>(), ran, "{}", said.err);
        assert_eq!(said.err, "");
        let said = tracewright(&args("compare", &[&capture, &log]));
        assert_eq!(ok(&said), "the same: 11 instructions and events of 1 source\n");
    }
}

/// What a log says beside the instructions reaches the unit: cycles in which the processor was stalled, that it was reset
/// or halted, and signals that a filter asks for.
#[test]
fn beside_the_instructions() {
    let folder = Folder::new("riscv-side");
    let image = folder.path("program.bin");
    // jr t1, twice: each is told.
    fs::write(&image, [0x67, 0, 3, 0, 0x67, 0, 3, 0]).unwrap();
    let image = format!("--image {}@0x1000", image.display());
    let (capture, log) = (folder.path("capture"), folder.path("log.csv"));
    let traced = |rows: &str, config: &str, decode: &str| {
        let _ = fs::remove_dir_all(&capture);
        fs::write(&log, format!("step,value,cause,stall,address,isa,el,opcode\n{rows}")).unwrap();
        let words = format!(
            "encode --protocol etrace --framing raw {image} --config xlen=32 {config} --log"
        );
        let mut all = args(&words, &[&log]);
        all.extend(args("-o", &[&capture]));
        let said = tracewright(&all);
        ok(&said);
        let waited = said.err.contains(" cycles a processor waited until its unit had room");
        let said = tracewright(&args(decode, &[&capture]));
        (ok(&said).to_owned(), waited)
    };
    let jump =
        |n: usize, stall: &str| format!(",,,{stall},{:x},RV32,3,00030067\n", 0x1000 + n % 2 * 4);
    let loops = |stall: &str| (0..1000).map(|n| jump(n, stall)).collect::<String>();
    // A FIFO is emptied while the processor is stalled by something else.
    let fifo = "--config fifo=150 --config fifo-drain=9";
    let pcs = "instructions --format pc";
    let (said, waited) = traced(&loops(""), fifo, pcs);
    assert!(said.lines().count() < 900 && !waited, "{}", said.lines().count());
    let (said, waited) = traced(&loops("60"), fifo, pcs);
    assert_eq!((said.lines().count(), waited), (1000, false));
    let (said, waited) = traced(&loops(""), &format!("{fifo} --config stall=1"), pcs);
    assert_eq!((said.lines().count(), waited), (1000, true));
    // The period of resynchronisation may be one of cycles.
    let period = "--config resync=cycles --config resync_max=2000";
    let starts = |stall: &str| {
        let (said, _) = traced(&loops(stall), period, "packets");
        said.lines().filter(|line| line.contains(" start ")).count()
    };
    let (few, many) = (starts(""), starts("19"));
    assert!(few <= 2 && (9..=11).contains(&many), "{few} and {many}");
    // A reset and a halt end a stretch; each of its instructions is told.
    for side in ["exception,,reset,,1000,,,", "exception,,halt,,1000,,,", "halted,,,,,,,"] {
        for more in ["", "--config retires=4"] {
            let rows = format!("{}{}{side}\n{}", jump(0, ""), jump(1, ""), jump(0, ""));
            let (said, _) = traced(&rows, more, "decode --strict");
            assert_eq!(said.matches("trace-on").count(), 2, "{side} {said}");
            let (said, _) = traced(&rows, more, pcs);
            assert_eq!(said, "1000\n1004\n1000\n", "{side}");
        }
    }
    // A filter asks for signals.
    let filter = "--config trTeFilter0Control=0x10001 --config trTeFilter0MatchMaskImpdef=0xf0 \
                  --config trTeFilter0MatchValueImpdef=0x50";
    let rows: Vec<_> = (0..8).map(|n| jump(n, "")).collect();
    let rows = rows.join("signals,57,,,,,,\n").replacen("signals,57", "signals,17", 3);
    let rows = rows.replacen("signals,57", "signals,5a", 2);
    let (said, _) = traced(&rows, filter, pcs);
    assert_eq!(said, "1000\n1004\n1000\n1004\n", "{said}");
}

#[test]
fn too_small_a_fifo() {
    let folder = Folder::new("riscv-fifo");
    let (image, log) = (folder.path("program.bin"), folder.path("log.csv"));
    // jr t1, twice: each is told.
    fs::write(&image, [0x67, 0, 3, 0, 0x67, 0, 3, 0]).unwrap();
    let addresses: Vec<u32> = (0..3000).map(|n| 0x1000 + n % 2 * 4).collect();
    let rows = addresses.iter().map(|at| format!("{at:x},RV32,3,00030067\n"));
    fs::write(&log, "address,isa,el,opcode\n".to_owned() + &rows.collect::<String>()).unwrap();
    let image = format!("--image {}@0x1000", image.display());
    let traced = |config: &str| {
        let capture = folder.path("capture");
        let _ = fs::remove_dir_all(&capture);
        let words = format!(
            "encode --protocol etrace --framing raw --isa rv32 {image} --config xlen=32 \
             --config fifo=150 --config fifo-drain=9 {config} --log"
        );
        let mut all = args(&words, &[&log]);
        all.extend(args("-o", &[&capture]));
        ok(&tracewright(&all));
        let said = tracewright(&args("decode --strict", &[&capture]));
        assert_eq!(said.code, Some(0), "{}", said.err);
        let gaps = said.out.matches("gap        trace unit overflow").count();
        // After the last loss there may be nothing more.
        let resumed = said.out.matches("trace-on   after an overflow").count();
        assert!(resumed == gaps || resumed + 1 == gaps, "{resumed} of {gaps}");
        let said = tracewright(&args("instructions --format pc", &[&capture]));
        (gaps, ok(&said).lines().count())
    };
    let (gaps, said) = traced("");
    assert!(gaps > 3 && said < 2000, "{gaps} gaps, {said} instructions");
    assert_eq!(traced("--config stall=1"), (0, 3000));
    let said = tracewright(&args("packets --explain", &[&folder.path("capture")]));
    for name in ["qual_status", "implicit_return", "branch_predictor", "dloss", "noaddr"] {
        assert!(ok(&said).contains(name), "no {name}");
    }
    // The values of a packet stand below each other, however long its names are.
    let fields = said.out.lines().filter(|line| line.contains(" +"));
    let value = |line: &str| line.rfind(" 0x").unwrap();
    let names =
        |line: &&str| ["branch_predictor", "implicit_return"].iter().any(|n| line.contains(n));
    let columns: Vec<_> = fields.filter(names).map(value).collect();
    assert!(columns.len() >= 2 && columns.windows(2).all(|two| two[0] == two[1]), "{columns:?}");
}

/// What is no such file says so in words.
#[test]
fn other_files() {
    let folder = Folder::new("riscv-other");
    let (noise, elf, empty) =
        (folder.path("noise.bin"), folder.path("unit.params"), folder.path("empty.csv"));
    let bytes = (0..3000u32).map(|n| (n.wrapping_mul(0x9e37_79b1) >> 13) as u8);
    fs::write(&noise, bytes.collect::<Vec<_>>()).unwrap();
    fs::write(&elf, b"\x7fELF\x02\x01\x1b[31m\n").unwrap();
    fs::write(&empty, "").unwrap();
    let words = "decode --protocol etrace --config profile=reference-flow";
    let said = tracewright(&args(words, &[&noise]));
    ok(&said);
    assert!(said.err.contains(" of 3000 bytes come before a synchronisation"), "{}", said.err);
    let said = tracewright(&args("decode --protocol etrace --params", &[&elf, &noise]));
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(said.err.contains("`\\u{7f}ELF") && !said.err.contains('\x1b'), "{}", said.err);
    let mut all = args("encode --protocol etrace --log", &[&empty]);
    all.extend(args("-o", &[&folder.path("out")]));
    let said = tracewright(&all);
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(said.err.contains("an empty log"), "{}", said.err);
}
