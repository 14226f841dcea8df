//! Trace buffers: encoding into them, and reading them with their registers.

use std::fs;
use std::path::Path;

use crate::common::{Folder, args, tracewright};

/// A loop with a call, 20,000 times, and the program.
fn log(folder: &Folder) -> (Vec<String>, String) {
    let body = [
        ("80004", 0x9400_0007u32),
        ("80020", 0xd503_201f),
        ("80024", 0xd65f_03c0),
        ("80008", 0xf100_0400),
        ("8000c", 0x54ff_ffc1),
    ];
    let mut words = [0xd503_201fu32; 10];
    words[0] = 0xd280_0060;
    for (address, opcode) in body {
        words[(usize::from_str_radix(address, 16).unwrap() - 0x80000) / 4] = opcode;
    }
    let image = folder.path("program.bin");
    fs::write(&image, words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
        .unwrap();
    let mut text = String::from("address,isa,opcode\n80000,A64,d2800060\n");
    let mut addresses = vec!["80000".to_owned()];
    for _ in 0..20_000 {
        for (address, opcode) in body {
            text += &format!("{address},A64,{opcode:08x}\n");
            addresses.push(address.to_owned());
        }
    }
    // The last branch is not taken.
    text += "80010,A64,d503201f\n";
    addresses.push("80010".to_owned());
    fs::write(folder.path("log.csv"), text).unwrap();
    (addresses, format!("--image {}@0x80000", image.display()))
}

fn encode(folder: &Folder, image: &str, words: &str, to: &str) -> crate::common::Output {
    let words = format!("encode {words} --config TRCSYNCPR=8 {image} --log");
    let mut all = args(&words, &[&folder.path("log.csv")]);
    all.extend(args("-o", &[&folder.path(to)]));
    tracewright(&all)
}

fn executed(words: &str, input: &Path) -> Vec<String> {
    let output = tracewright(&args(&format!("instructions --format pc {words}"), &[input]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    output.out.lines().map(str::to_owned).collect()
}

/// What is left in the buffer is the end of the log, or its start, and `info` describes the buffer.
#[test]
fn encoded_into_buffers() {
    let folder = Folder::new("sinks");
    let (want, image) = log(&folder);
    for (to, words, state, lost) in [
        (
            "circular",
            "--protocol ETE --sink trbe --size 4096 --mode circular",
            "Circular Buffer mode; 2813 of 4096 bytes written, not wrapped",
            "",
        ),
        (
            "etb",
            "--protocol ETM4 --sink etb --size 0x400 --mode circular",
            "ETB ETB_0, 1024 bytes stored: 1024 bytes, wrapped; the oldest byte is at offset",
            "lost: trace before the oldest byte was overwritten",
        ),
        (
            "etr",
            "--protocol ETM4 --sink etr --size 1024 --mode fill",
            "ETR ETR_0, 1024 bytes stored: 1024 bytes, wrapped at its end; the oldest byte is the \
             first",
            "lost: trace before the oldest byte may have been overwritten, or trace after the",
        ),
        (
            "trigger",
            "--protocol ETE --sink trbe --size 4096 --mode wrap --trigger 50000 --trigger-delay 64",
            "a Detected Trigger was observed; collection stopped: Trigger Event",
            "",
        ),
        ("stop", "--protocol ETE --sink trbe --size 4096 --stop 1000", "Circular Buffer mode", ""),
    ] {
        let output = encode(&folder, &image, words, to);
        assert_eq!(output.code, Some(0), "{}", output.err);
        let snapshot = folder.path(to);
        let info = tracewright(&args("info --all", &[&snapshot])).out;
        assert!(info.contains(state), "{to}: {info}");
        assert!(info.contains(lost), "{to}: {info}");
        let json = tracewright(&args("info --format json", &[&snapshot])).out;
        for key in ["\"sink\":", "\"stored_bytes\":", "\"state\":", "\"sink_registers\":"] {
            assert!(json.contains(key), "{to}: {json}");
        }
        let got = executed("", &snapshot);
        match to {
            "circular" => assert_eq!(got, want),
            "etb" => assert!(got.len() > 5000 && got[..] == want[want.len() - got.len()..]),
            "etr" => assert!(got.len() > 5000 && got[..] == want[..got.len()]),
            "trigger" => {
                assert!((50_000..60_000).contains(&got.len()), "{}", got.len());
                assert_eq!(got[..], want[..got.len()]);
            }
            _ => {
                assert!((990..=1000).contains(&got.len()), "{}", got.len());
                assert_eq!(got[..], want[..got.len()]);
            }
        }
    }
}

/// A dump of the stored bytes, with the registers of the buffer on the command line.
#[test]
fn registers_on_the_command_line() {
    let folder = Folder::new("sink-registers");
    let (want, image) = log(&folder);
    let words = "--protocol ETM4 --framing raw --sink etr --size 1024 --mode circular";
    let output = encode(&folder, &image, words, "etr");
    assert_eq!(output.code, Some(0), "{}", output.err);
    let registers = |file: &str| {
        let text = fs::read_to_string(folder.path("etr").join(file)).unwrap();
        let regs = text.split("[regs]\n").nth(1).unwrap().to_owned();
        regs.lines().take_while(|line| line.contains('=')).map(str::to_owned).collect::<Vec<_>>()
    };
    let unit: Vec<_> =
        registers("ETM4_0.ini").iter().map(|pair| format!("--config {pair}")).collect();
    let buffer = registers("ETR_0.ini").join(",");
    let dump = folder.path("dump.bin");
    fs::copy(folder.path("etr").join("ETR_0.bin"), &dump).unwrap();
    let raw = format!("--protocol ETM4 {} --core ARMv8-A {image}", unit.join(" "));
    let got = executed(&format!("{raw} --buffer-registers {buffer}"), &dump);
    assert_eq!(got, executed("", &folder.path("etr")));
    assert_eq!(got[..], want[want.len() - got.len()..]);
    assert_ne!(got, executed(&raw, &dump), "the dump alone begins with the youngest bytes");
    let words = format!("info {raw} --buffer-registers RWP=0x7fc --buffer-registers RSZ=0x200");
    let output = tracewright(&args(&words, &[&dump]));
    assert!(output.out.contains("is read as it is stored"), "{}", output.out);
    let words = format!("info {raw} --buffer-registers RWP");
    let output = tracewright(&args(&words, &[&dump]));
    assert!(output.err.contains("--buffer-registers"), "{}", output.err);
    assert_eq!(output.code, Some(2));
}

#[test]
fn impossible_buffers() {
    let folder = Folder::new("sink-errors");
    let (_, image) = log(&folder);
    for (words, message) in [
        (
            "--protocol ETE --sink trbe --size 100",
            "--size 100: the size must be a multiple of 4096",
        ),
        (
            "--protocol ETM4 --sink etr --size 64 --mode wrap",
            "--mode wrap: an ETR or ETB has no Wrap",
        ),
        (
            "--protocol ITM --sink trbe --size 4096",
            "--sink trbe: stores the trace of an ETE or ETM4",
        ),
        (
            "--protocol ETM4 --sink etb --size 64 --framing tpiu",
            "--sink etb: stores coresight or raw",
        ),
        (
            "--protocol ETM4 --sink etb --size 64 --trigger 1 --trigger-delay 3",
            "--trigger-delay 3: an ETR or ETB counts words",
        ),
        ("--protocol ETE --size 4096", "--sink"),
        ("--protocol ETE --sink etb", "--size"),
    ] {
        let output = encode(&folder, &image, words, "x");
        assert_eq!(output.code, Some(2), "{words}");
        assert!(output.err.contains(message), "{words}: {}", output.err);
        assert!(!folder.path("x").exists());
    }
}

/// The registers of buffers in words: given one by one, and those of a snapshot.
#[test]
fn registers_in_words() {
    let run = |words: &str| tracewright(&args(words, &[]));
    let base = "TRBBASER_EL1=0xffff000010000000";
    let full = format!(
        "TRBE {base} TRBLIMITR_EL1=0xffff000010002019 TRBPTR_EL1=0xffff000010000000 \
         TRBSR_EL1=0x520001"
    );
    let output = run(&format!("unit explain {full}"));
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    for line in [
        "  [2:1]   FM                0x0         buffer mode: Fill mode\n",
        "  The unit is stopped: it is enabled in Self-hosted mode, TRBSR_EL1.S is 1, and trace is \
         discarded.\n",
        "  The buffer is 0xffff000010000000 to 0xffff000010002000: 8192 bytes, virtual addresses.\n",
        "  The buffer has wrapped at its end: all 8192 bytes are trace, and the first byte is the \
         oldest.\n",
        "  A management event has stopped collection: the buffer is full.\n",
    ] {
        assert!(output.out.contains(line), "{line}{}", output.out);
    }
    let running = "TRBLIMITR_EL1=0xffff00001000201f TRBPTR_EL1=0xffff000010000123 \
                   TRBSR_EL1=0x100000";
    let output = run(&format!("unit explain TRBE {base} {running}"));
    assert!(output.out.contains("The unit is running"), "{}", output.out);
    assert!(output.out.contains("the oldest byte is at offset 0x123."), "{}", output.out);
    assert!(!output.out.contains("findings"), "{}", output.out);
    let wrong = "TRBLIMITR_EL1=0xffff00001000201d TRBPTR_EL1=0xffff000010002000";
    let output = run(&format!("unit lint TRBE {base} {wrong}"));
    assert_eq!(output.code, Some(1));
    assert!(output.out.contains("error reserved-mode: TRBLIMITR_EL1: FM"), "{}", output.out);
    assert!(output.out.contains("error pointer-range: TRBPTR_EL1"), "{}", output.out);
    let output = run(&format!("unit lint TRBE {base} {running} TRBIDR_EL1=4"));
    assert_eq!(output.code, Some(0));
    assert!(output.out.contains("warning alignment: TRBPTR_EL1"), "{}", output.out);
    let stopped =
        "TRBLIMITR_EL1=0xffff000010002001 TRBPTR_EL1=0xffff000010000010 TRBSR_EL1=0x20000";
    let output = run(&format!("unit lint TRBE {base} {stopped}"));
    assert!(output.out.contains("warning stopped: TRBSR_EL1"), "{}", output.out);
    let output = run("unit explain ETB ETB_RDP=0x100 ETB_RWP=0x40 STS=5");
    assert!(output.out.contains("oldest byte is at offset 0x100"), "{}", output.out);

    let folder = Folder::new("sink-words");
    let (_, image) = log(&folder);
    let words = "--protocol ETE --sink trbe --size 4096 --mode circular";
    let output = encode(&folder, &image, words, "trbe");
    assert_eq!(output.code, Some(0), "{}", output.err);
    let output = tracewright(&args("unit explain TRBE", &[&folder.path("trbe")]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.out.contains(": TRBE\n"), "{}", output.out);
    assert!(output.out.contains("2813 of 4096 bytes are trace"), "{}", output.out);
}
