//! Inputs that change, that lie outside of the capture, or that have no end.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::common::{Folder, Output, args, command, tracewright};

/// A trace that is cut while it is decoded ends there. The change is reported, and the exit code
/// is 1.
#[test]
fn a_file_that_changes_is_reported() {
    let folder = Folder::new("changes");
    // A name that sets colours is shown without them.
    let (trace, image) = (folder.path("itm\u{1b}[31m.bin"), folder.path("image.bin"));
    let mut bytes = vec![0, 0, 0, 0, 0, 0x80];
    bytes.extend_from_slice(&b"\x03text".repeat(250_000));
    for (cut, len) in [(&trace, 100_000), (&image, 10)] {
        for jobs in ["1", "2"] {
            fs::write(&trace, &bytes).unwrap();
            fs::write(&image, vec![0; 2 << 20]).unwrap();
            let at = format!("{}@0", image.display());
            let words = ["decode", "--protocol", "ITM", "--image", &at, "--jobs", jobs];
            let mut run = command(&words);
            run.arg(&trace).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = run.spawn().unwrap();
            let mut out = child.stdout.take().unwrap();
            // The command waits until its output is read.
            out.read_exact(&mut [0; 100]).unwrap();
            fs::OpenOptions::new().write(true).open(cut).unwrap().set_len(len).unwrap();
            let reader = std::thread::spawn(move || {
                let mut rest = Vec::new();
                out.read_to_end(&mut rest).map(|_| rest.len())
            });
            let output: Output = child.wait_with_output().unwrap().into();
            assert!(reader.join().unwrap().is_ok_and(|len| len > 10_000));
            assert_eq!(output.code, Some(1), "{}", output.err);
            let want = format!("{}: the file changed after it was opened", cut.display());
            let want = want.replace('\u{1b}', "\u{fffd}");
            assert!(output.err.contains(&want), "{}", output.err);
        }
    }
}

/// Files outside of the capture's folder are reported, and refused with `--strict`.
#[test]
fn files_outside_of_the_capture_are_refused() {
    let folder = Folder::with_demo("outside");
    let demo = folder.demo();
    fs::rename(demo.join("ETB.bin"), folder.path("ETB.bin")).unwrap();
    let trace = demo.join("trace.ini");
    let text = fs::read_to_string(&trace).unwrap();
    fs::write(&trace, text.replace("ETB.bin", "../ETB.bin")).unwrap();
    let want = "../ETB.bin is outside of the capture's folder";
    for verb in ["decode", "packets", "instructions", "frames", "bench --repeat 1"] {
        let output = tracewright(&args(verb, &[&demo]));
        assert_eq!(output.code, Some(0), "{verb}: {}", output.err);
        assert!(output.err.contains(want), "{verb}: {}", output.err);
        let output = tracewright(&args(&format!("{verb} --strict"), &[&demo]));
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{verb}: {}", output.err);
        assert!(output.err.contains(want), "{verb}: {}", output.err);
    }
    assert!(tracewright(&args("info", &[&demo])).out.contains(want));
    // A description is not read.
    let index = demo.join("snapshot.ini");
    fs::write(folder.path("other.ini"), "CANARY\n").unwrap();
    let text = fs::read_to_string(&index).unwrap();
    fs::write(&index, text.replace("[device_list]", "[device_list]\nother=../other.ini")).unwrap();
    fs::write(&trace, fs::read_to_string(&trace).unwrap().replace("../ETB.bin", "ETB.bin"))
        .unwrap();
    fs::rename(folder.path("ETB.bin"), demo.join("ETB.bin")).unwrap();
    let want = "../other.ini is outside of the capture's folder and is not read";
    for (words, code) in [("decode", 0), ("decode --strict", 2), ("info", 0)] {
        let output = tracewright(&args(words, &[&demo]));
        let all = output.out + &output.err;
        assert_eq!(output.code, Some(code), "{words}: {all}");
        assert!(all.contains(want) && !all.contains("CANARY"), "{words}: {all}");
        assert!(code == 0 || all.contains("error: "), "{all}");
    }
}

/// A line of a log is not collected without an end.
#[test]
#[cfg(target_os = "linux")]
fn a_log_line_has_a_limit() {
    for verb in [
        "log info --log-format csv",
        "log info --log-format qemu",
        "log info --log-format tarmac",
        "log info --log-format spike",
        "log info --log-format spike-csv",
        "log convert --to csv --log-format tarmac",
    ] {
        let output = tracewright(&args(verb, &["/dev/zero".as_ref()]));
        assert_eq!(output.code, Some(2), "{verb}: {}", output.err);
        let want = "/dev/zero: line 1: expected a line of at most 1048576 bytes";
        assert!(output.err.contains(want), "{verb}: {}", output.err);
    }
}

/// A trace port records each cycle, so that the cycles of one instruction are limited.
#[test]
fn the_cycles_of_an_instruction_have_a_limit() {
    let folder = Folder::new("cycles");
    let log = folder.path("log.csv");
    for protocol in ["ETM1", "ETM2"] {
        for (cycles, code) in [(u32::MAX, 2), (0x100_0001, 2), (100_000, 0)] {
            let value = format!("{cycles:x}");
            let text = format!(
                "step,address,opcode,isa,value\n,8000,e1a00000,A32\ncycles,,,,{value}\n\
                 ,8004,e1a00000,A32\n"
            );
            fs::write(&log, text).unwrap();
            let capture = folder.path(&format!("{protocol}-{cycles}"));
            let words = format!("encode --protocol {protocol}");
            let output =
                tracewright(&args(&words, &["-o".as_ref(), &capture, "--log".as_ref(), &log]));
            assert_eq!(output.code, Some(code), "{protocol} {cycles}: {}", output.err);
            if code == 2 {
                let want = "cycles in one step, and";
                assert!(output.err.contains(want), "{}", output.err);
                assert!(!capture.exists());
            }
        }
    }
}
