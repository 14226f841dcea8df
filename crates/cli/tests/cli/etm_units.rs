//! The verbs of `unit` for ETMs: from a request to a trace.

use std::fs;

use crate::common::{Folder, Output, args, tracewright};

/// A program at 0x8000 that calls a function at 0x9000 and writes a counter to 0x20000000.
const CODE: [(usize, u32); 8] = [
    (0x8000, 0xe3a0_0000),
    (0x8004, 0xeb00_03fd),
    (0x8008, 0xe581_0000),
    (0x800c, 0xe350_0003),
    (0x8010, 0x1aff_fffb),
    (0x8014, 0xeaff_fffe),
    (0x9000, 0xe280_0001),
    (0x9004, 0xe12f_ff1e),
];

/// The log of the program, in context 0x2a.
pub fn log() -> String {
    let mut log = String::from("step,address,isa,passed,size,value\ncontextid,,,,,2a\n");
    log += ",8000,A32,1,,\n";
    for n in 1..=3 {
        let again = u8::from(n < 3);
        log += ",8004,A32,1,,\n,9000,A32,1,,\n,9004,A32,1,,\n,8008,A32,1,,\n";
        log += &format!("write,20000000,,,4,{n}\n,800c,A32,1,,\n,8010,A32,{again},,\n");
    }
    log + ",8014,A32,1,,\n"
}

/// The bytes of the program.
pub fn program() -> Vec<u8> {
    let mut code = vec![0; 0x1008];
    for (address, opcode) in CODE {
        let at = address - 0x8000;
        code[at..at + 4].copy_from_slice(&opcode.to_le_bytes());
    }
    code
}

fn run(words: &str) -> Output {
    tracewright(&args(words, &[]))
}

const REQUEST: &str = "--trace 0x8000..0x9000 --data 0x20000000..+0x1000 --context 42 \
                       --context-bytes 4 --trigger write:0x20000000=2 --trace-id 0x10";

/// The example of docs/trace-units.md.
#[test]
fn from_a_request_to_a_trace() {
    let folder = Folder::new("etm-units-a8");
    let path = |name: &str| folder.path(name).display().to_string();
    fs::write(path("program.bin"), program()).unwrap();
    fs::write(path("log.csv"), log()).unwrap();
    let output = run(&format!("unit program Cortex-A8 {REQUEST} --for snapshot"));
    assert_eq!(output.code, Some(0), "{}", output.err);
    fs::write(path("registers.ini"), &output.out).unwrap();

    let registers = path("registers.ini");
    let output = run(&format!("unit lint Cortex-A8 {registers}"));
    assert_eq!((output.code, output.out.as_str()), (Some(0), "ETM-A8 (ETMv3.3)\n  no finding\n"));
    let output = run(&format!("unit explain {registers}"));
    assert!(
        output
            .out
            .contains("Traces instructions at execution of 0x8000..0x9000 in context 0x2a.\n"),
        "{}",
        output.out
    );
    let image = format!("{}@0x8000", path("program.bin"));
    let log = format!("--log {} --image {image}", path("log.csv"));
    let output = run(&format!("unit filter Cortex-A8 {registers} {log} --summary"));
    assert_eq!(
        output.out,
        "instructions: 14 must be traced, 6 must not, 0 may\ndata accesses: 3 must be traced, 0 \
         must not, 0 may\ntriggers: 1\n"
    );
    let encode = format!("encode {log} --protocol ETM3 --core Cortex-A8 --registers {registers}");
    let output = run(&format!("{encode} -o {}", path("trace")));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let output = run(&format!("instructions --format pc {}", path("trace")));
    let addresses: Vec<_> = output.out.split_whitespace().collect();
    assert_eq!(addresses.len(), 14, "{}", output.out);
    assert!(!addresses.iter().any(|address| address.contains("900")), "{}", output.out);
    let output = run(&format!("decode {}", path("trace")));
    assert_eq!(output.out.matches("data-access 0x20000000").count(), 3, "{}", output.out);
    assert_eq!(output.out.matches("trigger").count(), 1, "{}", output.out);
    let filter = format!("unit filter Cortex-A8 {registers} {log} --summary --capture");
    let output = run(&format!("{filter} {}", path("trace")));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    // A unit that traces everything.
    let encode = format!("encode {log} --protocol ETM3 --core Cortex-A8");
    assert_eq!(run(&format!("{encode} -o {}", path("all"))).code, Some(0));
    let output = run(&format!("{filter} {}", path("all")));
    assert_eq!(output.code, Some(1));
    assert!(
        output
            .out
            .ends_with("first difference: 0x8008 must be traced, and the capture has 0x9000\n"),
        "{}{}",
        output.out,
        output.err
    );
    // The registers of the capture are those of the program.
    let output = run(&format!("unit explain {}", path("trace")));
    assert!(output.out.contains("of value 0x2.\n"), "{}", output.out);
    assert!(!output.out.contains("not a register of this unit"), "{}", output.out);
}

#[test]
fn refusals_and_findings() {
    let output = run("unit program Cortex-M4 --trace 0x100..0x200");
    assert_eq!((output.code, output.out.as_str()), (Some(1), ""));
    assert!(output.err.contains("cannot: --trace 0x100..0x200: the unit has no pair"));
    let output = run("unit lint Cortex-A8 ETMCR=0x8080c ETMTECR1=0");
    assert_eq!(output.code, Some(1));
    assert!(output.out.contains("error coprocessor-filter: ETMCR: "), "{}", output.out);
    let output = run("unit explain --format json Cortex-A8 ETMTEEVR=0x8941");
    assert!(
        output.out.contains("(counter 2 at zero) and (address range 3)"),
        "{}{}",
        output.out,
        output.err
    );
    let output = run("unit explain trRam trRamLimitLow=0x1000 trRamRPLow=4 trRamData=4");
    assert!(output.out.contains("trRamLimitLow (0x018) = 0x1000"), "{}", output.out);
    assert!(!output.out.contains("reserved"), "{}", output.out);
    for words in ["trRam trRamLimitLow", "trRamLimitLow", "ETE TRCCONFIGR"] {
        let output = run(&format!("unit explain {words}"));
        assert_eq!(output.code, Some(2), "{words}");
        assert!(output.err.contains("write its value: NAME=VALUE"), "{words}: {}", output.err);
    }
    let output = run("unit explain ETM-Z80 ETMCR=0");
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("neither a unit nor a file"), "{}", output.err);
    assert!(output.err.contains("ETM7-small"), "{}", output.err);
}

#[test]
fn sequences() {
    let folder = Folder::new("etm-units-sequence");
    let path = folder.path("recording");
    fs::write(&path, "r ETMCR 0x400\nw ETMTECR1 0x20000001\nw ETMCR 0\n").unwrap();
    let output = tracewright(&args("unit sequence Cortex-M4", &[&path]));
    assert_eq!(output.code, Some(1));
    assert!(output.out.contains("error not-programming: line 2, ETMTECR1: "), "{}", output.out);
    let output = tracewright(&args("unit sequence Cortex-M4 --format json", &[&path]));
    let lines: Vec<serde_json::Value> = json(&output.out);
    assert_eq!((output.code, &lines[0]["verb"]), (Some(1), &"unit sequence".into()));
    assert_eq!((&lines[1]["type"], &lines[1]["accesses"]), (&"recording".into(), &3.into()));
    let found = lines.iter().any(|line| line["rule"] == "not-programming");
    assert!(found, "{}", output.out);
}

fn json(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The lines of JSON have what the text has.
#[test]
fn verdicts_as_json() {
    let folder = Folder::new("etm-units-json");
    let path = |name: &str| folder.path(name).display().to_string();
    fs::write(path("program.bin"), program()).unwrap();
    fs::write(path("log.csv"), log()).unwrap();
    let output = run(&format!("unit program Cortex-A8 {REQUEST} --for snapshot"));
    fs::write(path("registers.ini"), &output.out).unwrap();
    let filter = format!(
        "unit filter Cortex-A8 {} --log {} --image {}@0x8000",
        path("registers.ini"),
        path("log.csv"),
        path("program.bin")
    );
    let text = run(&filter).out;
    let lines = json(&run(&format!("{filter} --format json")).out);
    assert_eq!(lines[0]["verb"], "unit filter");
    let verdicts: Vec<_> = lines.iter().filter(|line| line["type"] == "verdict").collect();
    let shown = text.lines().filter(|line| line.contains("IHI 0014"));
    assert_eq!(verdicts.len(), shown.clone().count());
    for (verdict, line) in verdicts.iter().zip(shown) {
        let of = |key: &str| verdict[key].as_str().unwrap().to_owned();
        let address = u64::from_str_radix(of("address").trim_start_matches("0x"), 16).unwrap();
        assert!(line.contains(&format!("{address:#010x}")), "{line} {verdict}");
        assert!(line.contains(&format!(" {} ", of("traced"))), "{line} {verdict}");
        assert!(line.contains(&of("reason")) && line.contains(&of("section")), "{line} {verdict}");
        let kind = of("of");
        assert_eq!(line.trim().starts_with(&kind), kind != "instruction", "{line} {verdict}");
    }
    assert_eq!(lines.iter().filter(|line| line["type"] == "trigger").count(), 1);
    let last = lines.last().unwrap();
    assert_eq!((&last["type"], &last["triggers"]), (&"verdicts".into(), &1.into()));
    let counts = serde_json::json!({"must": 14, "must_not": 6, "may": 0});
    assert_eq!(last["instructions"], counts);
    assert!(last["differs"].is_null());
    let summary = json(&run(&format!("{filter} --format json --summary")).out);
    assert_eq!(summary.len(), 2);
}

/// DBG instructions of the program set and clear a resource of TraceEnable; they are found in the
/// image, by `filter` and by `encode`. A change of the event takes effect after the cycle.
#[test]
fn hints_of_the_program() {
    let folder = Folder::new("etm-units-hints");
    let path = |name: &str| folder.path(name).display().to_string();
    // NOP, DBG #0, NOP, NOP, DBG #4, NOP, NOP.
    let opcodes = [0xe320_f000u32, 0xe320_f0f0, 0xe320_f000, 0xe320_f000, 0xe320_f0f4];
    let opcodes = opcodes.into_iter().chain([0xe320_f000; 2]);
    let code: Vec<u8> = opcodes.flat_map(u32::to_le_bytes).collect();
    fs::write(path("program.bin"), code).unwrap();
    let steps: String = (0..7).map(|n| format!("{:x},A32\n", 0x8000 + 4 * n)).collect();
    fs::write(path("log.csv"), format!("address,isa\n{steps}")).unwrap();
    // Instrumentation resource 1 is resource 0x18.
    let registers = "ETMCR=0x800 ETMTEEVR=0x18 ETMTECR1=0x1000000 ETMTECR2=0";
    let log = format!("--log {} --image {}@0x8000", path("log.csv"), path("program.bin"));
    let output = run(&format!("unit filter ETMv3.3 {registers} {log}"));
    let verdicts: Vec<_> = output.out.lines().take(7).map(|line| &line[24..30]).collect();
    let want = ["must n", "may   ", "must  ", "must  ", "may   ", "must n", "must n"];
    assert_eq!(verdicts, want, "{}", output.out);
    let config = registers.split(' ').map(|one| format!("--config {one} ")).collect::<String>();
    let unit = "--protocol ETM3 --config ETMIDR=0x4104f230 --config ETMCCER=0x2000";
    let encode = format!("encode {log} {unit} {config} -o {}", path("trace"));
    let output = run(&encode);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let output = run(&format!("instructions --format pc {}", path("trace")));
    assert_eq!(output.out, "8004\n8008\n800c\n8010\n", "{}", output.err);
}

/// The registers of a trace unit that a program of T32 code for `core` was encoded with, and the
/// notes.
fn unit_of(folder: &Folder, protocol: &str, core: &str) -> (String, String) {
    let path = |name: &str| folder.path(name).display().to_string();
    let out = path(&format!("{protocol}-{core}"));
    let how = format!("--image {}@0x8000 --isa t32 --protocol {protocol}", path("program.bin"));
    let output = run(&format!("encode --log {} {how} --core {core} -o {out}", path("log.csv")));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let pcs = run(&format!("instructions {out} --format pc")).out;
    assert_eq!(pcs, "8000\n8002\n8004\n8000\n8002\n8004\n8006\n", "{protocol} {core}");
    let registers = fs::read_to_string(format!("{out}/{protocol}_0.ini")).unwrap();
    let registers = registers.split_once("[regs]\n").unwrap().1;
    (registers.replace("=0x", "=").replace('\n', " "), output.err)
}

/// The unit of the named core encodes, not that of another one: what it has, it has by the core's
/// manual, or it is stated to be assumed.
#[test]
fn the_named_core_has_its_own_trace_unit() {
    let folder = Folder::new("etm-units-cores");
    // movs r0, #1; nop; bne 8000; nop
    let code = [0x2001u16, 0xbf00, 0xd1fc, 0xbf00].map(u16::to_le_bytes).concat();
    fs::write(folder.path("program.bin"), code).unwrap();
    let log = "address,passed\n8000,1\n8002,1\n8004,1\n8000,1\n8002,1\n8004,0\n8006,1\n";
    fs::write(folder.path("log.csv"), log).unwrap();
    for (protocol, core, registers, assumed) in [
        (
            "ETM4",
            "Cortex-M33",
            "TRCCONFIGR=00001801 TRCIDR0=280006E1 TRCIDR1=4100F421 TRCIDR2=00000004",
            "",
        ),
        (
            "ETM4",
            "Cortex-M7",
            "TRCCONFIGR=00001801 TRCIDR0=080006E1 TRCIDR1=4100F401 TRCIDR2=00000004",
            "",
        ),
        ("ETM4", "Cortex-M55", "TRCCONFIGR=00001801 TRCIDR1=4100F454 TRCIDR2=00000004", ""),
        (
            "ETM4",
            "Cortex-M85",
            "TRCIDR2=00000004",
            "TRCIDR2=0x4 is assumed, as a Cortex-M55 has it",
        ),
        ("ETM4", "ARMv8-M", "TRCIDR2=00000004", "TRCIDR2=0x4 is assumed, as a Cortex-M33 has it"),
        ("ETM4", "Cortex-R52", "TRCCONFIGR=00001841 TRCIDR2=00000084", "TRCIDR2=0x84 is assumed"),
        ("ETM4", "Cortex-A53", "TRCCONFIGR=000018C1 TRCIDR2=00000488", ""),
        ("ETM3", "Cortex-M4", "ETMCR=10000800 ETMIDR=4114F250 ETMCCER=18541800", ""),
        ("ETM3", "Cortex-M23", "ETMIDR=4114F250", "ETMIDR=0x4114f250 is assumed, as a Cortex-M4"),
        ("ETM3", "Cortex-R5", "ETMCR=00000800 ETMIDR=4104F230 ETMCCER=000009BA", ""),
        ("PTM", "Cortex-A9", "ETMCR=00000400 ETMIDR=411CF301", ""),
        (
            "ETM3",
            "Cortex-M33",
            "ETMIDR=4114F250",
            "the trace unit of a Cortex-M33 is an ETM4, and no ETM3",
        ),
    ] {
        let (found, notes) = unit_of(&folder, protocol, core);
        for register in registers.split(' ') {
            assert!(found.contains(register), "{protocol} {core}: {register} in {found}");
        }
        assert!(notes.contains(assumed), "{protocol} {core}: {notes}");
        assert_eq!(notes.contains("tracewright: note:"), !assumed.is_empty(), "{notes}");
    }
}

/// A NOP is at each of the five addresses from 0x1000 on. The line of a trigger is behind that of
/// the instruction at which it occurs: inside the log, and at its end.
#[test]
fn triggers_are_listed_behind_their_instructions() {
    let folder = Folder::new("etm-units-triggers");
    let path = |name: &str| folder.path(name).display().to_string();
    fs::write(path("program.bin"), 0xe320_f000u32.to_le_bytes().repeat(5)).unwrap();
    let addresses = [0x1000, 0x1004, 0x1008, 0x100c, 0x1010];
    let steps: String = addresses.iter().map(|address| format!("{address:x},A32\n")).collect();
    fs::write(path("log.csv"), format!("address,isa\n{steps}")).unwrap();
    let log = format!("--log {} --image {}@0x1000", path("log.csv"), path("program.bin"));
    // Address comparator 1 compares executed A32 instructions.
    let unit = "ETMv3.4 ETMCR=0 ETMTEEVR=0x6f ETMTECR1=0x1000000 ETMTECR2=0 ETMTRIGGER=0 \
                ETMACTR1=0x19";
    for triggered in addresses {
        let filter = format!("unit filter {unit} ETMACVR1={triggered:#x} {log}");
        let want = addresses.iter().flat_map(|address| {
            let trigger = (*address == triggered).then(|| "trigger".to_owned());
            [Some(format!("{address:#x}")), trigger].into_iter().flatten()
        });
        let want: Vec<_> = want.collect();
        let output = run(&filter);
        let listed = output.out.lines().filter_map(|line| match line {
            "trigger" => Some(line.to_owned()),
            _ => Some(format!("0x{}", line.strip_prefix("0x0000")?.split(' ').next()?)),
        });
        let listed: Vec<_> = listed.collect();
        assert_eq!(listed, want, "{}{}", output.out, output.err);
        let lines = json(&run(&format!("{filter} --format json")).out);
        let listed = lines.iter().filter_map(|line| match line["type"].as_str()? {
            "trigger" => Some("trigger".to_owned()),
            "verdict" => Some(line["address"].as_str()?.to_owned()),
            _ => None,
        });
        assert_eq!(listed.collect::<Vec<_>>(), want, "{lines:?}");
    }
}

/// The identification register by its number, as an argument and in a file.
#[test]
fn registers_by_their_numbers() {
    let folder = Folder::new("etm-units-numbers");
    let file = folder.path("registers.txt");
    for text in ["#121=0x4100f240", "ETMIDR(0x079)=0x4100f240", "0x1e4=0x4100f240"] {
        fs::write(&file, format!("{text}\n")).unwrap();
        for output in
            [run(&format!("unit explain {text}")), tracewright(&args("unit explain", &[&file]))]
        {
            assert_eq!(output.code, Some(0), "{text}: {}", output.err);
            assert!(output.out.starts_with("ETMv3.4\n"), "{text}: {}", output.out);
            assert!(output.out.contains("\nETMIDR (0x1e4) = 0x4100f240: "), "{}", output.out);
        }
    }
}

/// The value of a byte, which the register has four times.
#[test]
fn values_of_bytes() {
    let folder = Folder::new("etm-units-bytes");
    let file = folder.path("registers.ini");
    let output = run("unit program ETMv3.4 --trigger write:0x2001=0xab --for snapshot");
    fs::write(&file, &output.out).unwrap();
    let output = tracewright(&args("unit explain ETMv3.4", &[&file]));
    assert!(output.out.contains("ETMDCVR8 (0x0f8) = 0xabababab: "), "{}", output.out);
    let want = "  The trigger occurs at the first byte store to 0x2001 of value 0xab.\n";
    assert!(output.out.contains(want), "{}", output.out);
}
