//! Execution logs: encoded, converted, described, compared.

use std::fs;

use crate::common::{Folder, args, tracewright};

/// A loop of three rounds and a call, in A64. The first column is all that a log needs beside opcodes.
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

/// The program of the log, as bytes from 0x80000 on.
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
        let said = tracewright(&all);
        assert_eq!((said.code, said.out.as_str()), (Some(0), ""), "{}", said.err);
        assert!(said.err.starts_with("12 instructions of 1 processor to "), "{}", said.err);

        let said = tracewright(&args("instructions --format pc", &[&snapshot]));
        let want: Vec<_> = LOG.lines().skip(1).filter_map(|l| l.split(',').next()).collect();
        assert_eq!(said.out.lines().collect::<Vec<_>>(), want, "{}", said.err);

        let said = tracewright(&args(&format!("compare {image}"), &[&snapshot, &log]));
        assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
        assert_eq!(said.out, "the same: 12 instructions and events of 1 source\n");
    }
    let (etm4, ete) = (folder.path("ETM4"), folder.path("ETE"));
    let said = tracewright(&args("compare --only-instructions", &[&etm4, &ete]));
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);

    // The last round is one too many.
    let other = folder.path("other.csv");
    fs::write(&other, LOG.replace("80010,A64", "80014,A64")).unwrap();
    let said = tracewright(&args(&format!("compare {image}"), &[&etm4, &other]));
    assert_eq!(said.code, Some(1), "{}", said.err);
    for part in ["differs after 11", "0x00080010 A64", "bytes ", "  B "] {
        assert!(said.out.contains(part), "{part} is not in {}", said.out);
    }
}

#[test]
fn logs_in_other_words() {
    let folder = Folder::new("log-words");
    let log = folder.path("log.csv");
    fs::write(&log, LOG).unwrap();
    let said = tracewright(&args("log info", &[&log]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("csv, 13 lines, 12 entries"), "{}", said.out);
    assert!(said.out.contains("A64           12 instructions"), "{}", said.out);

    let tarmac = folder.path("log.tarmac");
    let mut all = args("log convert --to tarmac -o", &[&tarmac]);
    all.push(log.clone().into());
    assert_eq!(tracewright(&all).code, Some(0));
    let said = tracewright(&args("log convert --to csv", &[&tarmac]));
    let addresses = |text: &str, n: usize| -> Vec<String> {
        text.lines().skip(1).filter_map(|l| Some(l.split(',').nth(n)?.to_owned())).collect()
    };
    assert_eq!(addresses(&said.out, 2), addresses(LOG, 0));
    assert_eq!(said.err, "");
}

#[test]
fn what_is_wrong_is_said() {
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
        ("--protocol ETE", &other, "not an execution log"),
        ("--protocol XYZ", &log, "unknown; known are"),
        ("--protocol PTM", &log, "cannot trace A64"),
        ("--protocol ETE --config NOPE=1", &log, "no register or setting NOPE; there are"),
        ("--protocol ETE --config TRCCONFIGR", &log, "expected NAME=VALUE"),
        ("--protocol ETE --image nowhere.elf", &log, "no such file"),
    ] {
        let said = encode(words, path);
        assert_eq!(said.code, Some(2), "{words}: {}", said.err);
        assert!(said.err.contains(part), "{words}: {}", said.err);
    }
    let said = tracewright(&args("compare", &[&log, &log]));
    assert_eq!(said.code, Some(2), "{}", said.out);
    // A capture that cannot be read is one all the same.
    fs::create_dir(folder.path("broken")).unwrap();
    fs::write(folder.path("broken/capture.toml"), "[[buffer]\n").unwrap();
    let said = tracewright(&args("compare", &[&folder.path("broken"), &log]));
    assert!(said.err.contains("capture.toml:1: "), "{}", said.err);
}

/// A log that says its instruction set need not be told.
#[test]
fn a_log_says_its_instruction_set() {
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
            let said = tracewright(&all);
            assert!(said.err.starts_with("6 instructions of 1 "), "{isa} {protocol}: {}", said.err);
        }
    }
    // What a unit traces nothing of is said.
    let _ = fs::remove_dir_all(&snapshot);
    let mut all = args("encode --protocol ITM --log", &[&log]);
    all.extend(args("-o", &[&snapshot]));
    let said = tracewright(&all);
    assert!(said.err.contains("note: ITM traces nothing of what the log says"), "{}", said.err);
}

/// The last instruction that there can be.
#[test]
fn the_top_of_memory() {
    let folder = Folder::new("log-top");
    let log = folder.path("log.csv");
    fs::write(&log, "address,isa,opcode\nfffffffffffffffc,A64,d503201f\n0,A64,d503201f\n").unwrap();
    let said = tracewright(&args("log info", &[&log]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("A64           2 instructions"), "{}", said.out);
}

/// A folder with a `capture.toml` is a capture, too.
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
        let said = tracewright(&args(&format!("compare {image}"), &[&described, other]));
        assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
        assert_eq!(said.out, "the same: 7 instructions and events of 1 source\n");
    }
}
