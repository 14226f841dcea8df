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
    // One of them: the other's messages are no source's.
    let all = format!("instructions --format pc {image} --protocol etrace@0x124 {unit}");
    let said = tracewright(&args(&all, &[&bytes]));
    assert_eq!(ok(&said).lines().count(), ran('1').len());
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
    assert!(said.err.contains("has no room"), "{}", said.err);
    let said = encode("--config profile=esp32", &folder.path("none"));
    assert!(said.err.contains("no source's number"), "{}", said.err);
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
