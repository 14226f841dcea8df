//! Execution logs: encoding, conversion, description, comparison.

use std::fs;
use std::path::Path;

use crate::common::{Folder, args, tracewright};
use crate::dumps::gzip;

/// A loop of three iterations with a call, in A64.
const LOG: &str = "\
address,isa,opcode
80000,A64,d2800060
80004,A64,94000007
80020,A64,d503201f
80024,A64,d65f03c0
80008,A64,f1000400
8000c,A64,54ffffc1
80004,A64,94000007
80020,A64,d503201f
80024,A64,d65f03c0
80008,A64,f1000400
8000c,A64,54ffffc1
80010,A64,d503201f
";

/// The program of the log: memory from 0x80000 on.
fn program() -> Vec<u8> {
    let mut words = [0xd503_201fu32; 10];
    for line in LOG.lines().skip(1) {
        let mut cells = line.split(',');
        let address = u32::from_str_radix(cells.next().unwrap(), 16).unwrap();
        words[(address as usize - 0x80000) / 4] =
            u32::from_str_radix(cells.nth(1).unwrap(), 16).unwrap();
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn there_and_back() {
    let folder = Folder::new("log");
    let (log, image) = (folder.path("log.csv"), folder.path("program.bin"));
    fs::write(&log, LOG).unwrap();
    fs::write(&image, program()).unwrap();
    let image = format!("--image {}@0x80000", image.display());
    for protocol in ["ETM4", "ETE"] {
        let snapshot = folder.path(protocol);
        let words = format!("encode --protocol {protocol} {image} --log");
        let mut all = args(&words, &[&log]);
        all.extend(args("-o", &[&snapshot]));
        let output = tracewright(&all);
        assert_eq!((output.code, output.out.as_str()), (Some(0), ""), "{}", output.err);
        assert!(output.err.starts_with("12 instructions of 1 processor to "), "{}", output.err);

        let output = tracewright(&args("instructions --format pc", &[&snapshot]));
        let want: Vec<_> = LOG.lines().skip(1).filter_map(|l| l.split(',').next()).collect();
        assert_eq!(output.out.lines().collect::<Vec<_>>(), want, "{}", output.err);

        let output = tracewright(&args(&format!("compare {image}"), &[&snapshot, &log]));
        assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
        assert_eq!(output.out, "the same: 12 instructions and events of 1 source\n");
        let packed = folder.path("log.csv.gz");
        fs::write(&packed, gzip(LOG.as_bytes())).unwrap();
        let output = tracewright(&args(&format!("compare {image}"), &[&snapshot, &packed]));
        assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
        assert_eq!(output.out, "the same: 12 instructions and events of 1 source\n");
        let output = tracewright(&args("log info", &[&packed]));
        assert!(output.out.contains("12 instructions"), "{}{}", output.out, output.err);
    }
    let (etm4, ete) = (folder.path("ETM4"), folder.path("ETE"));
    let output = tracewright(&args("compare --only-instructions", &[&etm4, &ete]));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);

    // The last instruction differs.
    let other = folder.path("other.csv");
    fs::write(&other, LOG.replace("80010,A64", "80014,A64")).unwrap();
    let output = tracewright(&args(&format!("compare {image}"), &[&etm4, &other]));
    assert_eq!(output.code, Some(1), "{}", output.err);
    for part in ["differs after 11", "0x00080010 A64", "bytes ", "  B "] {
        assert!(output.out.contains(part), "{part} is not in {}", output.out);
    }
}

/// A capture with an ITM has the instructions of a log that has nothing else.
#[test]
fn software_writes_are_no_instructions() {
    let folder = Folder::with_demo("log-itm");
    let (demo, log) = (folder.demo(), folder.path("log.csv"));
    let listed = tracewright(&args("instructions --format json", &[&demo])).out;
    let mut text = "address,isa,opcode\n".to_owned();
    for line in listed.lines().filter(|line| line.contains(r#""type":"instruction""#)) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let [address, isa, opcode] =
            ["address", "isa", "opcode"].map(|k| line[k].as_str().unwrap());
        let hex = |number: &str| number.trim_start_matches("0x").to_owned();
        text += &format!("{},{isa},{}\n", hex(address), hex(opcode));
    }
    fs::write(&log, &text).unwrap();
    let output = tracewright(&args("compare --only-instructions", &[&demo, &log]));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let count = text.lines().count() - 1;
    assert_eq!(output.out, format!("the same: {count} instructions and events of 1 source\n"));
    let output = tracewright(&args("compare", &[&demo, &log]));
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
}

#[test]
fn logs_in_other_formats() {
    let folder = Folder::new("log-words");
    let log = folder.path("log.csv");
    fs::write(&log, LOG).unwrap();
    let output = tracewright(&args("log info", &[&log]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.out.contains("csv, 13 lines, 12 entries"), "{}", output.out);
    assert!(output.out.contains("A64             12 instructions"), "{}", output.out);

    let tarmac = folder.path("log.tarmac");
    let mut all = args("log convert --to tarmac -o", &[&tarmac]);
    all.push(log.clone().into());
    assert_eq!(tracewright(&all).code, Some(0));
    let output = tracewright(&args("log convert --to csv", &[&tarmac]));
    let addresses = |text: &str, n: usize| -> Vec<String> {
        text.lines().skip(1).filter_map(|l| Some(l.split(',').nth(n)?.to_owned())).collect()
    };
    assert_eq!(addresses(&output.out, 2), addresses(LOG, 0));
    assert_eq!(output.err, "");
}

/// A format of Arm logs has no RISC-V instructions, and one of RISC-V logs has no others.
#[test]
fn formats_refuse_other_instruction_sets() {
    let folder = Folder::new("log-sets");
    let (log, to) = (folder.path("log.csv"), folder.path("converted"));
    for (line, format, isa) in [
        ("100,T32,f000f800", "spike", "T32"),
        ("100,A64,d503201f", "spike-csv", "A64"),
        ("100,RV32,00000013", "tarmac", "RV32"),
    ] {
        fs::write(&log, format!("address,isa,opcode\n{line}\n")).unwrap();
        let output = tracewright(&args(&format!("log convert --to {format} -o"), &[&to, &log]));
        let want = format!("the format has no {isa} instructions, and the log has one at 0x100");
        assert_eq!(output.code, Some(2), "{}", output.out);
        assert!(output.err.contains(&want) && !to.exists(), "{}", output.err);
    }
    // The causes of Arm exceptions are not those of RISC-V.
    fs::write(&log, "step,address,isa,opcode,cause\n,100,RV64,00000013\nexception,104,,,irq\n")
        .unwrap();
    let output = tracewright(&args("log convert --to spike", &[&log]));
    assert_eq!(output.out.lines().count(), 1, "{}", output.out);
    assert!(output.err.contains("1 entries cannot be expressed in spike"), "{}", output.err);
}

/// Conditional branches are not taken in Tarmac where the log continues behind them, and a
/// discontinuity adds no taken branch.
#[test]
fn tarmac_has_the_outcomes_of_branches() {
    let folder = Folder::new("log-outcomes");
    let (log, tarmac) = (folder.path("log.csv"), folder.path("log.tarmac"));
    fs::write(&log, "address,isa,opcode\n100,T32,d000\n102,T32,d000\n106,T32,d000\n200,T32,bf00\n")
        .unwrap();
    let output = tracewright(&args("log convert --to tarmac -o", &[&tarmac, &log]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let text = fs::read_to_string(&tarmac).unwrap();
    let kinds: Vec<_> = text.lines().filter_map(|line| line.split(' ').nth(3)).collect();
    assert_eq!(kinds, ["IS", "IT", "IS", "IT"]);
    for path in [&log, &tarmac] {
        let output = tracewright(&args("log info", &[path]));
        assert!(output.out.contains("taken branches  1\n"), "{}", output.out);
    }
}

/// The trace of an MTB, and of an ETM with a port of its own, is in no frames.
#[test]
fn trace_without_frames_is_raw() {
    let folder = Folder::new("log-frames");
    let log = folder.path("log.csv");
    fs::write(&log, "address,isa,opcode\n100,T32,e002\n108,T32,bf00\n10a,T32,e7f9\n100,T32,e002\n")
        .unwrap();
    let image = folder.path("image.bin");
    fs::write(&image, [0x02, 0xe0, 0, 0xbf, 0, 0xbf, 0, 0xbf, 0, 0xbf, 0xf9, 0xe7]).unwrap();
    let image = format!("--image {}@0x100", image.display());
    for protocol in ["MTB", "ETM1", "ETM2"] {
        let (usual, raw) = (folder.path(protocol), folder.path(&format!("{protocol}-raw")));
        for (framing, to) in [("", &usual), ("--framing raw", &raw)] {
            let words = format!("encode {image} --protocol {protocol} {framing} --log");
            let output = tracewright(&args(&words, &[&log, Path::new("-o"), to]));
            assert_eq!(output.code, Some(0), "{words}: {}", output.err);
        }
        let decoded = [&usual, &raw].map(|path| tracewright(&args("instructions", &[path])).out);
        assert_eq!(decoded[0], decoded[1], "{protocol}");
        assert!(decoded[0].lines().count() >= 3, "{}", decoded[0]);
        for framing in ["coresight", "tpiu", "tpiu-hsync", "dstream"] {
            let words = format!("encode --protocol {protocol} --framing {framing} --log");
            let other = folder.path("other");
            let output = tracewright(&args(&words, &[&log, Path::new("-o"), &other]));
            assert_eq!(output.code, Some(2), "{words}: {}", output.err);
            let want = format!("--framing {framing}: ");
            assert!(output.err.contains(&want) && output.err.contains("select raw"));
            assert!(!other.exists(), "{words}");
        }
    }
}

/// A log of software writes is not one whose instructions are missing.
#[test]
fn logs_without_instructions() {
    let folder = Folder::new("log-software");
    let log = folder.path("log.csv");
    fs::write(
        &log,
        "step,address,target,size,value\nsoftware-write,0,0,8,41\ndwt-event,1,,2,0123\n",
    )
    .unwrap();
    let encode = |words: &str, to: &str| {
        let words = format!("encode {words} --log");
        let output = tracewright(&args(&words, &[&log, Path::new("-o"), &folder.path(to)]));
        assert_eq!(output.code, Some(0), "{words}: {}", output.err);
        output.err
    };
    let itm = encode("--protocol ITM", "itm");
    assert!(itm.starts_with("2 software writes and DWT events of 1 processor to "), "{itm}");
    assert!(!itm.contains("note"), "{itm}");
    let etm = encode("--protocol ETM4", "etm");
    assert!(etm.contains("ETM4 traces nothing that the log contains"), "{etm}");
    fs::write(&log, "address,isa\n").unwrap();
    let empty = encode("--protocol ITM", "empty");
    assert!(empty.contains("the log contains no instructions; check the log options"), "{empty}");
}

#[test]
fn invalid_options_are_reported() {
    let folder = Folder::new("log-wrong");
    let (log, other) = (folder.path("log.csv"), folder.path("other"));
    fs::write(&log, LOG.replace("80024,A64", "80024,A65")).unwrap();
    fs::write(&other, "nothing\n").unwrap();
    let snapshot = folder.path("snapshot");
    let encode = |words: &str, log: &std::path::Path| {
        let mut all = args(&format!("encode {words} --log"), &[log]);
        all.extend(args("-o", &[&snapshot]));
        tracewright(&all)
    };
    for (words, path, part) in [
        ("--protocol ETE", &log, "line 5: expected an instruction set"),
        ("--protocol ETE", &other, "unknown format of execution log"),
        ("--protocol XYZ", &log, "unknown protocol; expected one of"),
        ("--protocol PTM", &log, "cannot trace A64"),
        ("--protocol ETE --config NOPE=1", &log, "no register or setting NOPE; none of the"),
        ("--protocol ETE --config TRCCONFIGR", &log, "expected NAME=VALUE"),
        ("--protocol ETE --image nowhere.elf", &log, "no such file"),
    ] {
        let output = encode(words, path);
        assert_eq!(output.code, Some(2), "{words}: {}", output.err);
        assert!(output.err.contains(part), "{words}: {}", output.err);
    }
    let output = tracewright(&args("compare", &[&log, &log]));
    assert_eq!(output.code, Some(2), "{}", output.out);
    // A capture that cannot be read is not taken for a log.
    fs::create_dir(folder.path("broken")).unwrap();
    fs::write(folder.path("broken/capture.toml"), "[[buffer]\n").unwrap();
    let output = tracewright(&args("compare", &[&folder.path("broken"), &log]));
    assert!(output.err.contains("capture.toml:1: "), "{}", output.err);
}

/// A log that records its instruction set needs no option.
#[test]
fn the_instruction_set_of_a_log_is_used() {
    let folder = Folder::new("log-isa");
    let (log, snapshot) = (folder.path("log.csv"), folder.path("snapshot"));
    for (isa, rows, protocols) in [
        ("A32", "8000,A32,e1a00000\n8004,A32,eafffffd\n", &["ETM1", "ETM2", "ETM3", "PTM"][..]),
        ("RV32", "8000,RV32,00000013\n8004,RV32,ffdff06f\n", &["etrace"]),
        ("RV64", "8000,RV64,00000013\n8004,RV64,ffdff06f\n", &["etrace"]),
    ] {
        fs::write(&log, format!("address,isa,opcode\n{}", rows.repeat(3))).unwrap();
        for protocol in protocols {
            let _ = fs::remove_dir_all(&snapshot);
            let mut all = args(&format!("encode --protocol {protocol} --log"), &[&log]);
            all.extend(args("-o", &[&snapshot]));
            let output = tracewright(&all);
            assert!(
                output.err.starts_with("6 instructions of 1 "),
                "{isa} {protocol}: {}",
                output.err
            );
        }
    }
    // A trace unit that traces nothing of the log is reported.
    let _ = fs::remove_dir_all(&snapshot);
    let mut all = args("encode --protocol ITM --log", &[&log]);
    all.extend(args("-o", &[&snapshot]));
    let output = tracewright(&all);
    assert!(
        output.err.contains("note: ITM traces nothing that the log contains"),
        "{}",
        output.err
    );
}

/// An instruction at the last address.
#[test]
fn the_top_of_memory() {
    let folder = Folder::new("log-top");
    let log = folder.path("log.csv");
    fs::write(&log, "address,isa,opcode\nfffffffffffffffc,A64,d503201f\n0,A64,d503201f\n").unwrap();
    let output = tracewright(&args("log info", &[&log]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.out.contains("A64             2 instructions"), "{}", output.out);
}

/// A folder with a `capture.toml` is compared like a snapshot.
#[test]
fn a_described_folder_is_compared() {
    let folder = Folder::new("log-folder");
    let (log, image) = (folder.path("log.csv"), folder.path("program.bin"));
    let mut rows = "address,isa,opcode\n".to_owned();
    for n in 0..7 {
        rows += &format!("{:x},RV64,00000013\n", 0x8000_0000u32 + n * 4);
    }
    fs::write(&log, &rows).unwrap();
    fs::write(&image, 0x13u32.to_le_bytes().repeat(8)).unwrap();
    let image = format!("--image {}@0x80000000", image.display());
    let described = folder.path("described");
    let mut all = args(&format!("encode --protocol etrace --isa rv64 {image} --log"), &[&log]);
    all.extend(args("-o", &[&described]));
    assert_eq!(tracewright(&all).code, Some(0));
    assert!(described.join("capture.toml").exists());
    for other in [&log, &described] {
        let output = tracewright(&args(&format!("compare {image}"), &[&described, other]));
        assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
        assert_eq!(output.out, "the same: 7 instructions and events of 1 source\n");
    }
}

/// Raw trace data is compared as its options describe it: with a log, with a capture, and with
/// itself. Parameters of another unit show a difference.
#[test]
fn raw_trace_data_is_compared() {
    let folder = Folder::new("log-raw");
    let (log, image) = (folder.path("log.csv"), folder.path("program.bin"));
    let mut rows = "address,isa,opcode\n".to_owned();
    for n in [0, 1, 2, 0, 1, 2, 3] {
        let opcode = if n == 2 { "fe000ce3" } else { "00000013" };
        rows += &format!("{:x},RV64,{opcode}\n", 0x8000_0000u32 + n * 4);
    }
    fs::write(&log, &rows).unwrap();
    let words = [0x13u32, 0x13, 0xfe00_0ce3, 0x13];
    fs::write(&image, words.map(u32::to_le_bytes).concat()).unwrap();
    let image = format!("--image {}@0x80000000", image.display());
    let (described, params) = (folder.path("described"), folder.path("unit.params"));
    fs::write(&params, "version = 2.0\nxlen = 64\n").unwrap();
    let unit = format!("{image} --params {}", params.display());
    let mut all =
        args(&format!("encode --protocol etrace --framing raw --isa rv64 {unit} --log"), &[&log]);
    all.extend(args("-o", &[&described]));
    let output = tracewright(&all);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let files = fs::read_dir(&described).unwrap().map(|file| file.unwrap().path());
    let mut files = files.filter(|path| path.extension().is_some_and(|end| end == "bin"));
    let raw = files.next().unwrap();
    let same = "the same: 7 instructions and events of 1 source\n";
    for (a, b) in [(&raw, &log), (&raw, &raw), (&raw, &described), (&described, &raw)] {
        let words = format!("compare {unit} --protocol etrace --framing raw");
        let output = tracewright(&args(&words, &[a, b]));
        assert_eq!((output.code, output.out.as_str()), (Some(0), same), "{}", output.err);
    }
    let words = format!("compare {unit} --protocol etrace --framing raw");
    let output = tracewright(&args(&format!("{words} --config iaddress_lsb_p=0"), &[&raw, &log]));
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    let output = tracewright(&args(&words, &[&described, &log]));
    assert_eq!(output.code, Some(2), "{}", output.out);
    assert!(output.err.contains("--protocol is for raw trace data"), "{}", output.err);
}

/// A log of RISC-V: a loop of three iterations, and a boot ROM that no image has.
fn riscv_log(changed: &str) -> String {
    let mut log = "core   0: 0x00001000 (0x00000297) auipc t0, 0x0\n\
                   core   0: 0x00001004 (0x00002337) lui t1, 0x2\n\
                   core   0: 0x00001008 (0x00030067) jr t1\n\
                   core   0: 0x00002000 (0x00300513) li a0, 3\n"
        .to_owned();
    for n in 0..30 {
        log += "core   0: 0x00002004 (0xfff50513) addi a0, a0, -1\n\
                core   0: 0x00002008 (0x00058463) beqz a1, 8\n";
        let skipped = if n % 10 == 3 { changed } else { "" };
        log += match skipped {
            "" => "core   0: 0x0000200c (0x00000013) nop\n",
            other => other,
        };
        log += "core   0: 0x00002010 (0xff5ff06f) j 2004\n";
    }
    log
}

/// Raw E-Trace and a log need no options; the log has the boot ROM; all differences are counted.
#[test]
fn raw_traces_are_compared_with_logs() {
    let folder = Folder::new("compare-raw");
    let log = folder.path("log");
    fs::write(&log, riscv_log("")).unwrap();
    let encode = |name: &str| {
        let words = "encode --isa rv32 --protocol etrace --config version=2.0 --log";
        let mut all = args(words, &[&log]);
        all.extend(args("-o", &[&folder.path(name)]));
        tracewright(&all)
    };
    let encoded = encode("encoded");
    assert!(encoded.err.contains(" bits an instruction in"), "{}", encoded.err);
    let described = fs::read_to_string(folder.path("encoded").join("capture.toml")).unwrap();
    assert!(described.contains("source_data"), "E-Trace is unframed: {described}");
    let trace = fs::read_dir(folder.path("encoded")).unwrap().flatten().map(|entry| entry.path());
    let trace = trace.filter(|path| path.extension().is_some_and(|e| e == "bin"));
    let trace = trace
        .max_by_key(|path| path.file_name().map(|name| !name.to_string_lossy().contains("log")));
    let raw = folder.path("raw.bin");
    fs::copy(trace.unwrap(), &raw).unwrap();

    let options = "compare --isa rv32 --protocol etrace --config version=2.0 --config xlen=32";
    let same = tracewright(&args(options, &[&raw, &log]));
    assert_eq!(same.code, Some(0), "{}{}", same.out, same.err);
    assert!(same.out.starts_with("the same: 124 instructions"), "{}", same.out);
    assert!(same.err.contains("are taken from the log: there is no --image"), "{}", same.err);

    let swapped = tracewright(&args(options, &[&log, &raw]));
    assert_eq!(swapped.code, Some(2), "{}{}", swapped.out, swapped.err);
    assert!(
        swapped.err.contains("the arguments are swapped; run: tracewright compare"),
        "{}",
        swapped.err
    );

    let image = folder.path("program.bin");
    let memory = [0x0030_0513u32, 0xfff5_0513, 0x0005_8463, 0x13, 0xff5f_f06f];
    fs::write(&image, memory.map(u32::to_le_bytes).concat()).unwrap();
    let rom = folder.path("rom.bin");
    fs::write(&rom, [0x297u32, 0x2337, 0x0003_0067].map(u32::to_le_bytes).concat()).unwrap();
    let images =
        format!("{options} --image {}@0x2000 --image {}@0x1000", image.display(), rom.display());
    let both = tracewright(&args(&images, &[&raw, &raw]));
    assert_eq!(both.code, Some(0), "{}{}", both.out, both.err);
    assert!(both.out.starts_with("the same: 124 instructions"), "{}", both.out);

    let other = folder.path("other");
    fs::write(
        &other,
        riscv_log("core   0: 0x0000200c (0x00000013) nop\ncore   0: 0x0000200e (0x0001) nop\n"),
    )
    .unwrap();
    let differs = tracewright(&args(options, &[&raw, &other]));
    assert_eq!(differs.code, Some(1), "{}{}", differs.out, differs.err);
    assert!(differs.out.contains("3 differences: A has 0 instructions and events that B lacks, and B 3 that A lacks; 124 are the same"), "{}", differs.out);
}

#[test]
fn logs_are_described_by_maps() {
    let folder = Folder::new("log-maps");
    let (log, map) = (folder.path("log"), folder.path("map.toml"));
    fs::write(&log, "# own format\n12 80000000 00000013 M\n13 80000004 0000006f M\n").unwrap();
    fs::write(&map, "isa = \"RV32\"\nskip = ['^#']\n[[line]]\nstep = \"instruction\"\nmatch = '^(?<cycle>\\d+) (?<address>\\w+) (?<opcode>\\w+) (?<el>\\w)'\nvalues = { el = { M = \"3\" } }\n").unwrap();
    let info = |option: &str, value: &Path| {
        let mut all = args("log info", &[&log]);
        all.extend(args(option, &[value]));
        tracewright(&all)
    };
    let mapped = info("--log-map", &map);
    for part in ["described by a map", "RV32            2 instructions", "3: 2 instructions"] {
        assert!(mapped.out.contains(part), "{}{}", mapped.out, mapped.err);
    }
    let pattern =
        info("--isa rv32 --log-pattern", Path::new("^\\d+ (?<address>\\w+) (?<opcode>\\w+)"));
    assert!(pattern.out.contains("2 instructions"), "{}{}", pattern.out, pattern.err);
    let unknown = info("--log-format", Path::new("none"));
    assert!(unknown.err.contains("ibex"), "{}", unknown.err);
    fs::write(&map, "[[line]]\nstep = \"instruction\"\nmatch = '(?<pc>x)'").unwrap();
    assert!(info("--log-map", &map).err.contains("`pc` is no field"));
}

/// The instruction set of a log that does not state it: found, assumed, or unknown.
#[test]
fn instruction_sets_that_are_not_stated() {
    let folder = Folder::new("log-set-found");
    let log = folder.path("log");
    let info = |text: &str| {
        fs::write(&log, text).unwrap();
        tracewright(&args("log info", &[&log]))
    };
    let riscv = "0, 0x1000, 0x297, \"auipc\"\n0, 0x1004, 0x2828613, \"addi\"\n\
                 0, 0x1008, 0x202b583, \"ld\", load, 0x00001020, RAM\n0, 0x100c, 0x28067, \"jr\"\n\
                 0, 0x80000000, 0x134481, \"c.li\"\n";
    let output = info(riscv);
    assert!(
        output.out.contains("execlog") && output.out.contains("RV64            5 instructions")
    );
    assert!(!output.out.contains("instruction set:") && output.err.is_empty(), "{}", output.err);
    // No opcodes: nothing is stated of an instruction set, and nothing contradicts the count.
    let gem5 = "1000: system.cpu: T0 : 0x8000 @f    : nop : No_OpClass :\n";
    let output = info(gem5);
    for want in
        ["instruction set: not stated", "instructions    1, none with an opcode", "0x8000 first"]
    {
        assert!(output.out.contains(want), "{want}: {}", output.out);
    }
    assert!(!output.out.contains("A64") && !output.err.contains("contains no instructions"));
    // Verbs that need one ask for it.
    let out = folder.path("out");
    let output = tracewright(&args("encode --protocol ETM4 -o", &[&out, Path::new("--log"), &log]));
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("select it with --isa"), "{}", output.err);
    let output = info("address\n8000\n");
    assert!(output.out.contains("A64 is assumed, and --isa selects another one"), "{}", output.out);
}

/// The signals of RVFI in a dump, where several have them.
#[test]
fn signals_of_a_dump() {
    let folder = Folder::new("log-signals");
    let log = folder.path("sim.vcd");
    let scope = |name: &str, ids: [&str; 3]| {
        let [valid, insn, pc] = ids;
        format!(
            "$scope module {name} $end\n$var wire 1 ! clk $end\n$var wire 1 {valid} rvfi_valid $end\n\
             $var wire 32 {insn} rvfi_insn [31:0] $end\n$var wire 32 {pc} rvfi_pc_rdata [31:0] $end\n\
             $upscope $end\n"
        )
    };
    let header = scope("core", ["a", "b", "c"]) + &scope("model", ["d", "e", "f"]);
    let values = "#0\n0!\n1a\nb10011 b\nb10000000 c\n1d\nb10011 e\nb11000000 f\n#5\n1!\n";
    fs::write(&log, header + "$enddefinitions $end\n" + values).unwrap();
    let output = tracewright(&args("log info", &[&log]));
    assert_eq!(output.code, Some(2), "{}", output.out);
    assert!(output.err.contains("there are several"), "{}", output.err);
    for (signals, address) in [("core.rvfi_", "0x80 first"), ("model", "0xc0 first")] {
        let output = tracewright(&args(&format!("log info --log-signals {signals}"), &[&log]));
        assert!(output.out.contains(address) && output.out.contains("RV32"), "{}", output.out);
    }
}

/// The trace of a log in N-Trace is that of the capture beside it, with each name of a parameter.
#[test]
fn n_trace_is_encoded() {
    let folder = Folder::new("log-ntrace");
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let encode = |name: &str, config: &str, out: &str| {
        let (log, out) = (captures.join(name).join("log.csv"), folder.path(out));
        let words = format!("encode --protocol ntrace --framing raw {config} --log");
        let mut words = args(&words, &[&log]);
        words.extend(args("-o", &[&out]));
        let output = tracewright(&words);
        assert_eq!(output.code, Some(0), "{config}: {}{}", output.out, output.err);
        let bytes = fs::read(out.join("ETB_0.bin")).unwrap();
        (bytes, fs::read_to_string(out.join("capture.toml")).unwrap())
    };
    let want = |name: &str| fs::read(captures.join(name).join("capture/ETB_0.bin")).unwrap();
    for (n, mode) in
        ["mode=btm", "trTeInstMode=3", "trteinstmode=3", "trTeControl=0x30"].into_iter().enumerate()
    {
        let config = format!("--isa rv32 --config {mode}");
        let (bytes, description) = encode("ntrace-btm", &config, &format!("btm-{n}"));
        assert_eq!(bytes, want("ntrace-btm"), "{mode}");
        // The capture has what its decoder needs.
        assert!(
            description.contains("mode = \"btm\"") || mode.starts_with("trTeC"),
            "{description}"
        );
        let encoded = folder.path(&format!("btm-{n}"));
        let output = tracewright(&args("decode", &[&encoded]));
        assert_eq!(output.code, Some(0), "{mode}: {}{}", output.out, output.err);
    }
    // Outcomes of direct jumps do not fit the branches of the program.
    encode("ntrace-btm", "--isa rv32 --config mode=htm --config all_jumps=1", "jumps");
    let image = captures.join("ntrace-btm/capture/log.elf");
    let jumps = folder.path("jumps/ETB_0.bin");
    let words = format!("info --config xlen=32 --image {}", image.display());
    let output = tracewright(&args(&words, &[&jumps]));
    assert!(output.out.contains("--config all_jumps=true"), "{}", output.out);
    let shared = "--isa rv64 --config mode=htm --config trTsEnable=1 --config trTeContext=1 \
                  --config trTeInstEnImplicitReturn=1";
    let names = [("source_width", "source"), ("src_bits", "src"), ("trTeSrcBits", "trTeSrcID")];
    let all = names.map(|(width, number)| {
        let config = format!("{shared} --config {width}=4 --config {number}=5");
        encode("ntrace-htm", &config, &format!("htm-{width}"))
    });
    assert_eq!(all[0].0, want("ntrace-htm"));
    assert!(all[0].1.contains("source_width = 0x4") && all[0].1.contains("source = 0x5"));
    assert_eq!(all[1], all[0]);
    assert_eq!(all[2], all[0]);
}

/// The last line of a simulator that was stopped is left out, and the lines before are read.
#[test]
fn logs_may_end_inside_a_line() {
    let folder = Folder::new("log-cut");
    let log = folder.path("log");
    for (format, line, cut) in [
        (
            "spike",
            "core   0: 3 0x00000000800002d2 (0x00000013)\n",
            "core   0: 3 0x00000000800002d6 (0x00",
        ),
        ("cva6", "3 0x00000000800002d2 (0x00000013) x10 0x0\n", "3 0x00000000800002d6 (0x00"),
        (
            "dromajo",
            "0 3 0x00000000800002d2 (0x00000013) x10 0x0\n",
            "0 3 0x00000000800002d6 (0x00",
        ),
        ("execlog", "0, 0x800002d2, 0x13, \"nop\"\n", "0, 0x8000"),
        (
            "qemu",
            "Trace 0: 0x7f0000000000 [0000000000000000/00000000800002d2/00000003/ff020001] \n",
            "Trace 0: 0x7f0000000000 [0000000000000000/0000",
        ),
        ("tarmac", "1 clk IT (1) 00080000 d503201f O EL1h_n : NOP\n", "2 clk IT (2) 0008"),
        ("csv", "80004,A64,d503201f\n", "80008,A6"),
    ] {
        let head = if format == "csv" { "address,isa,opcode\n" } else { "" };
        let whole = format!("{head}{}", line.repeat(3));
        let isa = if format == "execlog" || format == "qemu" { " --isa rv64" } else { "" };
        let words = format!("log info --log-format {format}{isa}");
        fs::write(&log, &whole).unwrap();
        let want = tracewright(&args(&words, &[&log]));
        assert_eq!(want.code, Some(0), "{format}: {}", want.err);
        assert!(!want.err.contains("ends inside"), "{format}: {}", want.err);
        let count = |text: &str| {
            let entries = text.lines().next().and_then(|line| line.rsplit(", ").next());
            entries.filter(|entries| !entries.starts_with("0 ")).map(str::to_owned)
        };
        assert!(count(&want.out).is_some(), "{format}: {}", want.out);
        fs::write(&log, whole.clone() + cut).unwrap();
        let got = tracewright(&args(&words, &[&log]));
        let number = whole.lines().count() + 1;
        let note = format!("the log ends inside line {number}, `{cut}`, which is left out");
        assert_eq!(got.code, Some(0), "{format}: {}", got.err);
        assert!(got.err.contains(&note), "{format}: {}", got.err);
        assert_eq!(count(&got.out), count(&want.out), "{format}: {}", got.out);
        // An invalid line that ends is an error.
        fs::write(&log, format!("{whole}{cut}\n{line}")).unwrap();
        let bad = tracewright(&args(&words, &[&log]));
        assert_eq!(bad.code, Some(2), "{format}: {}{}", bad.out, bad.err);
        assert!(bad.err.contains(&format!("line {number}: expected")), "{format}: {}", bad.err);
    }
}

/// A format that no line has, and a log that is compressed otherwise or damaged, are errors.
#[test]
fn what_is_no_log_of_the_format() {
    let folder = Folder::new("log-other");
    let log = folder.path("log");
    fs::write(&log, "core   0: 3 0x00000000800002d2 (0x00000013)\n".repeat(9)).unwrap();
    for verb in ["log info", "log convert --to csv", "encode --protocol etrace --log"] {
        let mut all = args(verb, &[&log]);
        all.extend(args("--log-format sail --isa rv64 -o", &[&folder.path("to")]));
        if verb == "log info" {
            all.truncate(all.len() - 2);
        }
        let output = tracewright(&all);
        assert_eq!(output.code, Some(2), "{verb}: {}{}", output.out, output.err);
        let part = "none of its 9 lines is an instruction or event of the format sail";
        assert!(output.err.contains(part), "{verb}: {}", output.err);
    }
    for (head, name) in [
        (&b"\x1f\x8b\x08\0\0\0\0\0"[..], "it is a file compressed by gzip, and damaged"),
        (b"\xfd7zXZ\0\0\x04", "a file compressed by xz, not an execution log; unpack"),
        (b"\x28\xb5\x2f\xfd\x04", "a file compressed by Zstandard, not an execution log; unpack"),
    ] {
        fs::write(&log, head).unwrap();
        let output = tracewright(&args("log info", &[&log]));
        assert!(output.err.contains(name), "{}", output.err);
    }
}

/// An ITM has no instructions that a log could have, and two that differ are counted to their ends.
#[test]
fn itms_are_compared_with_itms() {
    let folder = Folder::new("log-itms");
    let (a, b, log) = (folder.path("a.bin"), folder.path("b.bin"), folder.path("log.csv"));
    let letters = |first: u8| (0..400u32).flat_map(move |n| [1, first + (n * n % 23) as u8]);
    fs::write(&a, letters(b'a').collect::<Vec<u8>>()).unwrap();
    fs::write(&b, letters(b'A').collect::<Vec<u8>>()).unwrap();
    fs::write(&log, LOG).unwrap();
    let output = tracewright(&args("compare --protocol ITM", &[&a, &log]));
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{}", output.err);
    let part = "it traces no instructions (ITM), and ";
    assert!(output.err.contains(part), "{}", output.err);
    let output = tracewright(&args("compare --protocol ITM", &[&a, &b]));
    assert_eq!(output.code, Some(1), "{}", output.err);
    let part = "1 difference: A has 400 instructions and events that B lacks, and B 400 that A \
                lacks; 0 are the same; the inputs do not agree again";
    assert!(output.out.contains(part), "{}", output.out);
}

/// Lines of Ibex's tracer in Verilator: an ECALL that trapped, whose cause the log does not have.
/// The trap is encoded, and the handler is traced. (rtl/ibex_tracer.sv, printbuffer_dumpline)
#[test]
fn traps_without_a_cause_are_encoded() {
    const LOG: &str = "\
Time\tCycle\tPC\tInsn\tDecoded instruction\tRegister and memory contents\n\
\x20           728\t       354\t000001ac\t    147d\tc.addi\tx8,-1\t  x8:0x00000001  x8=0x00000000\n\
\x20           730\t       355\t000001ae\t    fc71\tc.bnez\tx8,18a\t  x8:0x00000000\n\
\x20           732\t       356\t000001b0\t00000073\t-->ecall\t\n\
\x20           740\t       360\t00000100\t1000006f\tjal\tx0,200\t  x0=0x00000000\n\
\x20           742\t       361\t00000200\t34202e73\tcsrrs\tx28,mcause,x0\t  x0:0x00000000 x28=0x00000008\n\
\x20           744\t       362\t00000204\t34102ef3\tcsrrs\tx29,mepc,x0\t  x0:0x00000000 x29=0x000001b0\n\
\x20           748\t       364\t00000208\t000edf03\tlhu\tx30,0(x29)\t x29:0x000001b0 x30=0x00000073 PA:0x000001b0 load:0x00000073\n\
\x20           750\t       365\t0000020c\t003f7f13\tandi\tx30,x30,3\t x30:0x00000073 x30=0x00000003\n\
\x20           752\t       366\t00000210\t    1f75\tc.addi\tx30,-3\t x30:0x00000003 x30=0x00000000\n\
\x20           754\t       367\t00000212\t000f1363\tbne\tx30,x0,218\t x30:0x00000000  x0:0x00000000\n\
\x20           756\t       368\t00000216\t    0e89\tc.addi\tx29,2\t x29:0x000001b0 x29=0x000001b2\n\
\x20           758\t       369\t00000218\t    0e89\tc.addi\tx29,2\t x29:0x000001b2 x29=0x000001b4\n\
\x20           760\t       370\t0000021a\t341e9073\tcsrrw\tx0,mepc,x29\t x29:0x000001b4  x0=0x00000000\n\
\x20           762\t       371\t0000021e\t30200073\tmret\t\n\
\x20           768\t       374\t000001b4\t    0001\tc.addi\tx0,0\t  x0:0x00000000  x0=0x00000000\n\
\x20           770\t       375\t000001b6\tffffffff\t-->INVALID\t\n\
\x20           778\t       379\t00000100\t1000006f\tjal\tx0,200\t  x0=0x00000000\n\
\x20           780\t       380\t00000200\t34202e73\tcsrrs\tx28,mcause,x0\t  x0:0x00000000 x28=0x00000002\n\
\x20           782\t       381\t00000204\t34102ef3\tcsrrs\tx29,mepc,x0\t  x0:0x00000000 x29=0x000001b6\n";
    let folder = Folder::new("log-uncaused");
    let (log, output) = (folder.path("ibex.log"), folder.path("trace"));
    fs::write(&log, LOG).unwrap();
    for protocol in ["etrace --config version=2.0 --config xlen=32", "ntrace"] {
        let words = format!("encode --protocol {protocol} --log");
        let encoded = tracewright(&args(&words, &[&log, Path::new("-o"), &output]));
        assert_eq!(encoded.code, Some(0), "{}", encoded.err);
        assert!(encoded.err.contains("no cause of its traps (2)"), "{}", encoded.err);
        let same = tracewright(&args("compare", &[&output, &log]));
        assert_eq!(same.code, Some(0), "{protocol}: {}{}", same.out, same.err);
        assert!(same.out.contains("the same"), "{protocol}: {}", same.out);
        fs::remove_dir_all(&output).unwrap();
    }
}
