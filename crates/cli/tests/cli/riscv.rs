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
