//! Captures of the trace ports of ETMv1 and ETMv2, in each file format.

use std::fs;
use std::path::{Path, PathBuf};

use tracewright::capture::cycles::{Form, write};
use tracewright::frames::cycles::port::{Driver, Wiring};
use tracewright::frames::cycles::{Cycle, Width, cycles, etb};

use crate::common::{Folder, Output, args, tracewright};

/// A load, a branch that is not taken, a return, and an interrupt.
const LOG: &str = "\
step,address,isa,opcode,passed,size,value,cause,target
instruction,8000,A32,e5920000,1,,,,
read,20000004,,,,4,44332211,,
instruction,8004,A32,0a000000,0,,,,
instruction,8008,A32,e12fff1e,1,,,,
instruction,8010,A32,e1a00000,1,,,,
instruction,8014,A32,0a000000,0,,,,
exception,8018,,,,,,irq,18
instruction,18,A32,e25ef004,1,,,,
instruction,8018,A32,e1a00000,1,,,,
";

const CODE: [(usize, u32); 7] = [
    (0x18, 0xe25e_f004),
    (0x8000, 0xe592_0000),
    (0x8004, 0x0a00_0000),
    (0x8008, 0xe12f_ff1e),
    (0x8010, 0xe1a0_0000),
    (0x8014, 0x0a00_0000),
    (0x8018, 0xe1a0_0000),
];

/// A folder with the program, its log, and a snapshot of an 8-bit port.
struct Port {
    folder: Folder,
    control: u32,
    protocol: &'static str,
}

impl Port {
    fn new(test: &str, protocol: &'static str) -> Port {
        let port =
            Port { folder: Folder::new(&format!("{test}-{protocol}")), control: 0x9e, protocol };
        let mut memory = vec![0; 0x8020];
        for (at, word) in CODE {
            memory[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        let (log, program) = (port.path("log.csv"), port.path("program"));
        fs::write(&log, LOG).unwrap();
        fs::write(&program, memory).unwrap();
        let words = format!("encode --isa a32 --protocol {protocol} --config ETMCR=0x9e --log");
        let mut words = args(&words, &[&log]);
        words.extend(args(&format!("--image {}@0 -o", program.display()), &[&port.snapshot()]));
        let output = tracewright(&words);
        assert_eq!(output.code, Some(0), "{}", output.err);
        port
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path(name)
    }

    fn snapshot(&self) -> PathBuf {
        self.path("snapshot")
    }

    fn records(&self) -> Vec<u8> {
        tracewright::read_capture(&self.snapshot()).unwrap().buffers[0].bytes().into_owned()
    }

    /// Writes bytes to a file, and runs `verb` on it with the program.
    fn run(&self, verb: &str, name: &str, bytes: &[u8]) -> Output {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        let image = format!("{verb} --image {}@0", self.path("program").display());
        tracewright(&args(&image, &[&path]))
    }

    /// The register that records the version of the unit.
    fn version(&self) -> &'static str {
        match self.protocol {
            "ETM1" => "ETMCCR=0x30000000",
            _ => "ETMIDR=0x41002100",
        }
    }
}

/// Lines without offset and source.
fn words(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ")).collect()
}

fn decode(path: &Path) -> Output {
    tracewright(&args("decode --strict", &[path]))
}

#[test]
fn every_format_decodes_alike() {
    for protocol in ["ETM1", "ETM2"] {
        let port = Port::new("ports-forms", protocol);
        let output = decode(&port.snapshot());
        assert_eq!(output.code, Some(0), "{}", output.err);
        let want = words(&output.out);
        assert_eq!(want[3], "range 0x8000..0x8004 1 A32 no branch");
        assert_eq!(want[4], "data-access 0x20000004 -> 0x44332211 by 0x00008000");
        assert_eq!(want[9], "exception 6 IRQ, returns to 0x8018");
        assert_eq!(want.len(), 13);

        let capture = tracewright::read_capture(&port.snapshot()).unwrap();
        for form in [Form::Etmp, Form::Text, Form::OpenOcd] {
            if (form, protocol) == (Form::OpenOcd, "ETM2") {
                // OpenOCD supports ETMv1 only.
                continue;
            }
            let bytes = write(&capture, form).unwrap();
            let output = port.run("decode --strict", "file", &bytes);
            assert_eq!(output.code, Some(0), "{form:?}: {}", output.err);
            assert_eq!(words(&output.out), want, "{form:?}");
        }
        let all: Vec<Cycle> = cycles(&port.records(), Width::W8).collect();
        let ram: Vec<u8> = etb::write(all, Width::W8).flat_map(u32::to_le_bytes).collect();
        let (control, version) = (port.control, port.version());
        let config =
            format!("--protocol {protocol} --config ETMCR={control:#x} --config {version}");
        let output = port.run(&format!("decode --strict {config} --framing etb"), "ram", &ram);
        assert_eq!((output.code, words(&output.out)), (Some(0), want.clone()), "{}", output.err);
        let output = port.run(&format!("decode --strict {config}"), "records", &port.records());
        assert_eq!((output.code, words(&output.out)), (Some(0), want), "{}", output.err);
    }
    let output =
        tracewright(&args("decode --protocol ETM4 --framing etb", &[Path::new("Cargo.toml")]));
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("needs --protocol ETM1 or ETM2"), "{}", output.err);
}

/// The levels of the pins decode to the same as the cycles, in each mode of the port.
#[test]
fn levels_decode_alike() {
    let port = Port::new("ports-levels", "ETM1");
    let want = words(&decode(&port.snapshot()).out);
    assert_eq!(want.len(), 13);
    // Normal, half-rate, demultiplexed.
    for mode in [0, 1 << 13, 2 << 16] {
        let control = port.control | mode;
        let mut driver = Driver::new(Wiring::of_control(control).unwrap());
        let mut levels = Vec::new();
        driver.push(&cycles(&port.records(), Width::W8).collect::<Vec<_>>(), &mut levels);
        driver.finish(&mut levels);
        let suffixes: &[&str] = if mode == 2 << 16 { &["_A", "_B"] } else { &[""] };
        let mut vcd = "$var wire 1 ! clk $end ".to_owned();
        for at in suffixes {
            vcd += &format!("$var wire 3 p{at} PIPESTAT{at} [2:0] $end ");
            vcd += &format!("$var wire 1 s{at} TRACESYNC{at} $end ");
            vcd += &format!("$var wire 8 d{at} TRACEPKT{at} [7:0] $end\n");
        }
        vcd += "$enddefinitions $end\n";
        for (time, level) in levels.iter().enumerate() {
            vcd += &format!("#{time} {}!", u8::from(level.clock));
            for (at, pins) in suffixes.iter().zip([level.a, level.b]) {
                let (status, sync, packet) = (pins & 7, pins >> 3 & 1, pins >> 4);
                vcd += &format!(" b{status:b} p{at} {sync}s{at} b{packet:b} d{at}");
            }
            vcd.push('\n');
        }
        let file = port.path("levels.vcd");
        fs::write(&file, &vcd).unwrap();
        let words = format!(
            "decode --strict --protocol ETM1 --config ETMCR={control:#x} --config {} --signal \
             TRACECLK=clk --image {}@0 --pins",
            port.version(),
            port.path("program").display()
        );
        let output = tracewright(&args(&words, &[&file]));
        assert_eq!(output.code, Some(0), "{}", output.err);
        assert_eq!(self::words(&output.out), want, "{control:#x}");
    }
    let file = port.path("levels.vcd");
    for (words, want) in [
        ("--protocol ETM1 --pins", "needs the mode of the port; add --config ETMCR=VALUE"),
        ("--protocol ETM1 --config ETMCR=0x30000 --pins", "encodes no known mode of the port"),
        ("--protocol ETM3 --pins", "it has no signal TRACECLK"),
        ("--pins", "--protocol"),
        ("--protocol ETM3 --signal TRACECLK=clk", "--pins"),
    ] {
        let output = tracewright(&args(&format!("decode {words}"), &[&file]));
        assert_eq!(output.code, Some(2), "{words}: {}", output.out);
        assert!(output.err.contains(want), "{words}: {}", output.err);
    }
    assert_eq!(tracewright(&args("decode", &[])).code, Some(2));
}

/// OpenOCD does not record the version of the ETMv1; the user can give it.
#[test]
fn registers_that_a_file_lacks() {
    let port = Port::new("ports-registers", "ETM1");
    let dump = write(&tracewright::read_capture(&port.snapshot()).unwrap(), Form::OpenOcd).unwrap();
    for (more, version) in
        [("", "ETMv1.3"), ("--protocol ETM1 --config ETMCCR=0x10000000", "ETMv1.1")]
    {
        fs::write(port.path("dump"), &dump).unwrap();
        let output = tracewright(&args(&format!("info --all {more}"), &[&port.path("dump")]));
        assert!(
            output.out.contains(&format!("(ETMv1): {version}")),
            "{}{}",
            output.out,
            output.err
        );
        let output = port.run(&format!("decode --strict {more}"), "dump", &dump);
        assert_eq!(output.code, Some(0), "{}", output.err);
    }
}

#[test]
fn packets_are_described() {
    let port = Port::new("ports-packets", "ETM1");
    let output = tracewright(&args("packets", &[&port.snapshot()]));
    for line in [
        " 0  ETM1_0  BE* 80     branch executed; address, byte 1",
        " 4  ETM1_0  IE  82     address packet offset [3:2] = 0: no address before its own; address, byte 3",
        " 8  ETM1_0  IN  10     instruction not executed; branch address 0x00008000 A32, trace enabled",
        "10  ETM1_0  BE  84     branch executed; data or nothing: 84",
        "34  ETM1_0  WT  00     wait; branch address 21 bits 0x18: 0x00000018 A32",
    ] {
        assert!(output.out.lines().any(|l| l == line), "{line} is not in\n{}", output.out);
    }
    let output = tracewright(&args("packets --format json", &[&port.snapshot()]));
    assert!(
        output.out.contains(
            "\"text\":\"BE* 80\",\"interpretation\":\"branch executed; address, byte 1\""
        )
    );

    let port = Port::new("ports-packets", "ETM2");
    let output = tracewright(&args("packets", &[&port.snapshot()]));
    for line in [
        " 0  ETM2_0  TD 09      trace FIFO offset; 0 bytes before the TFO packet",
        "10  ETM2_0  IN 00      instruction not executed; TFO packet, trace enabled, 0x00008000 A32 (of 0)",
        "30  ETM2_0  WT 44      wait; data at 0x20000004: 0x44332211 (of 2)",
    ] {
        assert!(output.out.lines().any(|l| l == line), "{line} is not in\n{}", output.out);
    }
}

#[test]
fn invalid_files_are_reported() {
    let port = Port::new("ports-wrong", "ETM1");
    let etmp = write(&tracewright::read_capture(&port.snapshot()).unwrap(), Form::Etmp).unwrap();

    // A file truncated after any cycle decodes without inconsistencies.
    for cut in (64..etmp.len()).step_by(2) {
        let output = port.run("decode --strict", "cut", &etmp[..cut]);
        // The first one has no cycle.
        assert_eq!(output.code, Some(i32::from(cut == 64)), "{cut}: {}{}", output.out, output.err);
        assert!(output.err.contains("the header records 23 cycles"), "{}", output.err);
    }
    let output = port.run("decode", "head", &etmp[..40]);
    assert!(output.err.contains("shorter than the 64 bytes of its head"), "{}", output.err);

    let mut pins = etmp.clone();
    pins[64 + 13] |= 0xf0;
    let output = port.run("decode", "pins", &pins);
    assert!(output.out.contains("2 bytes: the record has pins that the port"), "{}", output.out);

    // A trace without traced instructions.
    let off: Vec<u8> = etmp[..64].iter().copied().chain([7, 0].repeat(30)).collect();
    let output = port.run("decode", "off", &off);
    assert!(output.err.contains("30 packets, but no instructions"), "{}", output.err);
    assert!(!output.err.contains("may be formatter frames"), "{}", output.err);
}
