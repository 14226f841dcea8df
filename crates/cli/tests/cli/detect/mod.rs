//! Detection by the command: inputs without a description, and inputs with a wrong one.

mod blind;
mod certainty;
mod cycles;
mod damage;
mod inputs;
mod ports;
mod problems;
mod stated;
mod wrong;

use std::fs;
use std::path::Path;

use tracewright_testing::shared;

use crate::common::{Folder, args, tracewright};

/// Files that are recognised are named, whatever the options are, and never decoded.
#[test]
fn other_files_are_named() {
    let folder = Folder::new("detect-named");
    for (name, bytes, want) in [
        ("program", b"\x7fELF\x02\x01\x01".as_slice(), "a program (ELF)"),
        ("dump.gz", b"\x1f\x8b\x08\0\0\0\0\0", "gzip"),
        ("dump.zip", b"PK\x03\x04..........................dump.bin", "a ZIP archive"),
        ("trace.sr", b"PK\x03\x04..........................version2", "sigrok"),
        ("port.vcd", b"$date today $end\n", "Value Change Dump"),
        ("uImage", b"\x27\x05\x19\x56\0\0\0\0", "U-Boot"),
    ] {
        let path = folder.path(name);
        fs::write(&path, bytes).unwrap();
        for words in ["info", "decode", "decode --protocol ITM", "packets --protocol ETM4"] {
            let output = tracewright(&args(words, &[&path]));
            assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{words} {name}");
            assert!(output.err.contains(want), "{words} {name}: {}", output.err);
        }
    }
}

/// Memory images without a header are named, and are no trace but with `--protocol`.
#[test]
fn programs_without_headers_are_named() {
    for (name, isa) in [
        ("juno_r1_1/kernel_dump.bin", "A64"),
        ("bugfix-exact-match/cc1.text_dump.bin", "A64"),
        ("Snowball/kernel_dump.bin", "A32"),
        ("TC2/kernel_dump.bin", "T32"),
        ("tc2-ptm-rstk-t32/mem_Cortex-A15_0_1_RO_CODE.bin", "T32"),
    ] {
        let Some(path) = shared(&format!("conformance/arm/snapshots/{name}")) else { return };
        let output = tracewright(&args("info", &[&path]));
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{name}");
        let want = format!("{isa} instructions that call each other, not trace data");
        assert!(output.err.contains(&want), "{name}: {}", output.err);
    }
}

/// Bytes before `--skip` and `--align` are not decoded; what follows is decoded as without them.
#[test]
fn bytes_are_skipped() {
    let folder = Folder::with_demo("detect-skip");
    let whole = tracewright(&args("decode", &[&folder.demo()]));
    let path = folder.demo().join("ETB.bin");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, [&[0xee; 21], bytes.as_slice()].concat()).unwrap();
    for words in ["decode --skip 21", "decode --align 21", "decode --skip 16 --align 5"] {
        let output = tracewright(&args(words, &[&folder.demo()]));
        assert_eq!((output.code, &output.out), (Some(0), &whole.out), "{words}: {}", output.err);
    }
    let output = tracewright(&args("decode --skip 200", &[&folder.demo()]));
    let what = "note: ETB: no bytes after the first 200 (--skip)\n";
    assert!(output.err.starts_with(what), "{}", output.err);
    let output = tracewright(&args("decode --align 600", &[&folder.demo()]));
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("no alignment"), "{}", output.err);
}

/// The buffer of a snapshot begins within a frame: its frames are found.
#[test]
fn frames_of_a_snapshot_are_aligned() {
    let folder = Folder::with_demo("detect-align");
    let decode = |words: &str| tracewright(&args(words, &[&folder.demo()]));
    let path = folder.demo().join("ETB.bin");
    let bytes = fs::read(&path).unwrap().repeat(8);
    fs::write(&path, &bytes).unwrap();
    let whole = decode("decode");
    fs::write(&path, [&[0xee; 5], bytes.as_slice()].concat()).unwrap();
    let output = decode("decode --align auto");
    assert_eq!((output.code, &output.out), (whole.code, &whole.out), "{}", output.err);
    assert_ne!(decode("decode").out, whole.out);
}

/// A missing description lists all registers that are missing, at once.
#[test]
fn all_missing_registers_are_listed_at_once() {
    let folder = Folder::with_demo("detect-missing");
    let unit = folder.demo().join("ETM_0.ini");
    let text = fs::read_to_string(&unit).unwrap();
    let lines =
        text.lines().filter(|line| !line.starts_with("TRCIDR") && !line.starts_with("TRCCONFIGR"));
    fs::write(&unit, lines.collect::<Vec<_>>().join("\n")).unwrap();
    let output = tracewright(&args("info", &[&folder.demo()]));
    for word in ["`TRCCONFIGR=VALUE`", "`TRCIDR0=VALUE`", "`TRCIDR2=VALUE`"] {
        assert!(output.out.contains(word), "{word}: {}", output.out);
    }
}

/// The first screen has the overview and the problems, and `--all` the registers.
#[test]
fn the_overview_comes_first() {
    let folder = Folder::with_demo("detect-overview");
    let output = tracewright(&args("info", &[&folder.demo()]));
    let rows: Vec<_> =
        output.out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for row in ["capture", "trace", "source", "time", "cycles", "images", "coverage", "problems:"] {
        assert!(rows.contains(&row), "{row}: {}", output.out);
    }
    assert!(output.out.starts_with("capture"), "{}", output.out);
    assert!(!output.out.contains("TRCCONFIGR ="), "{}", output.out);
    let output = tracewright(&args("info --all", &[&folder.demo()]));
    assert!(output.out.contains("TRCCONFIGR ="), "{}", output.out);
}

/// Hardware that is no protocol: what it is, and the next command, which runs.
#[test]
fn names_of_hardware_are_explained() {
    let folder = Folder::new("detect-hardware");
    // A synchronisation packet, and text on port 0 of an ITM.
    let mut bytes = vec![0, 0, 0, 0, 0, 0x80];
    bytes.extend(b"Hello, world!\n".repeat(8).iter().flat_map(|byte| [0x01, *byte]));
    let path = folder.path("dump.bin");
    fs::write(&path, bytes).unwrap();
    for (name, what, run) in [
        ("SWO", "SWO is a pin, not a protocol: it sends the packets of an ITM", "itm"),
        ("TPIU", "a TPIU is a trace port, not a protocol", "decode"),
        ("ETB", "that is where trace is stored, not a protocol", "decode"),
        ("CoreSight", "CoreSight is the system of trace units, not a protocol", "decode"),
        ("etm", "an ETM has one of several protocols", "decode"),
    ] {
        let output = tracewright(&args(&format!("decode --protocol {name}"), &[&path]));
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{name}");
        let next = format!("run: tracewright {run} {}", path.display());
        assert!(output.err.contains(what) && output.err.contains(&next), "{}", output.err);
        let output = tracewright(&args(run, &[&path]));
        assert_eq!(output.code, Some(0), "{}", output.err);
        assert!(output.out.contains("Hello, world!") || run == "decode", "{}", output.out);
    }
}

/// A unit without framing and registers is found in frames, too; names with `v` are corrected.
#[test]
fn a_protocol_suffices() {
    let Some(path) = shared("captures/ti-am243x-r5f/freertos/files/freertos.data") else { return };
    let folder = Folder::new("detect-protocol");
    let bytes = fs::read(path).unwrap();
    let file = folder.path("etb.bin");
    fs::write(&file, &bytes[..1 << 14]).unwrap();
    let output = tracewright(&args("decode --protocol ETM3", &[&file]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let want = "no --framing was given; detected: CoreSight formatter frames: ID 0x10 ETM3";
    assert!(output.err.contains(want), "{}", output.err);
    let all = tracewright(&args("decode --framing coresight --protocol ETM3@0x10", &[&file]));
    assert!(output.out == all.out && all.out.lines().count() > 1000, "{}", all.err);
    let output = tracewright(&args("decode --protocol ETMv3", &[&file]));
    let next = format!("run: tracewright decode {} --protocol ETM3\n", file.display());
    assert!(output.code == Some(2) && output.err.contains(&next), "{}", output.err);
}

/// Memory before the trace that was cleared, and memory without any trace.
#[test]
fn cleared_memory_is_no_trace() {
    let folder = Folder::new("detect-cleared");
    let path = folder.path("dump.bin");
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let trace = fs::read(captures.join("ntrace-htm/capture/ETB_0.bin")).unwrap();
    for (byte, len) in [(0, 50), (0, 100), (0, 1000), (0, 5000), (0, 100_000), (0xff, 5000)] {
        fs::write(&path, [vec![byte; len], trace.clone()].concat()).unwrap();
        let output = tracewright(&args("info", &[&path]));
        let found = "unframed data: NTRACE (profile spec, 4-bit SRC)";
        assert!(output.out.contains(found), "{byte} {len}: {}{}", output.out, output.err);
    }
    for (byte, len) in [(0, 4096), (0xff, 4096), (0xa5, 100)] {
        fs::write(&path, vec![byte; len]).unwrap();
        for protocol in ["", "--protocol ntrace", "--protocol etrace"] {
            let output = tracewright(&args(&format!("decode {protocol}"), &[&path]));
            let all = format!("all {len} bytes are {byte:#04x}");
            let first = format!("its first {len} bytes are {byte:#04x} only");
            let (output, what) = (&output.err, if protocol.is_empty() { first } else { all });
            assert!(output.contains(&what), "{protocol} {byte}: {output}");
            assert!(!output.contains("no instructions"), "{protocol} {byte}: {output}");
        }
    }
}
