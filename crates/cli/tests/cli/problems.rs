//! Captures with problems: messages with origin and remedy, and exit codes.

use std::fs;

use tracewright_testing::sample;

use crate::common::{Folder, Output, args, tracewright};

/// A trace of which nothing is committed has no instructions, and that may be the reason.
#[test]
fn nothing_is_committed() {
    let folder = Folder::new("not-committed");
    let mut trace = vec![0; 11];
    // Alignment Sync, Trace Info, Trace On, address 0x1000 with context, two atoms.
    trace.extend([0x80, 0x01, 0x00, 0x04, 0x82, 0x00, 0x08, 0x00, 0x00, 0x11, 0xd9]);
    let (image, input) = (folder.path("code.bin"), folder.path("trace.bin"));
    fs::write(&image, 0x1400_0000u32.to_le_bytes().repeat(4)).unwrap();
    fs::write(&input, trace).unwrap();
    for (speculation, text) in [(4, "no element is committed, "), (0, "2 instructions")] {
        let words = format!(
            "decode --framing raw --protocol ETE --core ARMv8-A --config TRCCONFIGR=1 \
             --config TRCIDR0=0x28000ea1 --config TRCIDR1=0x4100f463 --config TRCIDR2=0x488 \
             --config TRCIDR8={speculation} --image {}@0x1000",
            image.display()
        );
        let output = tracewright(&args(&words, &[&input]));
        assert!(output.err.contains(text), "{}", output.err);
    }
}

#[track_caller]
fn check(output: &Output, code: i32, words: &[&str]) {
    assert_eq!(output.code, Some(code), "{}", output.err);
    for word in words {
        assert!(output.err.contains(word), "{word:?} is not in\n{}", output.err);
    }
    if code == 2 {
        assert_eq!(output.out, "");
    }
    if code == 2 && !output.err.contains("nothing can be decoded") {
        assert!(output.err.starts_with("tracewright: error: "), "{}", output.err);
        assert_eq!(output.err.lines().count(), 1, "{}", output.err);
    }
}

/// Changes a file of the example.
fn edit(folder: &Folder, name: &str, change: impl FnOnce(String) -> String) {
    let path = folder.demo().join(name);
    let text = fs::read_to_string(&path).unwrap();
    let changed = change(text.clone());
    assert_ne!(text, changed, "{name}: nothing to change");
    fs::write(path, changed).unwrap();
}

#[test]
fn unreadable_inputs_are_reported() {
    let folder = Folder::new("open");
    let path = |name: &str, bytes: &[u8]| {
        let path = folder.path(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let empty = folder.path("empty-folder");
    fs::create_dir(&empty).unwrap();
    for (input, words) in [
        (folder.path("missing"), &["missing", "check the path"][..]),
        (empty, &["snapshot.ini"]),
        (path("empty", b""), &["there are no bytes"]),
        (path("cleared", &[0xda; 100]), &["0xda only: memory that was cleared or filled"]),
        (path("garbage", &[&[0xda; 99][..], &[0xdb]].concat()), &["--protocol", "--config"]),
        (path("program", b"\x7fELF\x02\x01\x01"), &["ELF"]),
        (path("perf.data", b"PERFILE2........"), &["perf.data"]),
        (path("no.ini", b"[device_list]\n"), &["no trace"]),
    ] {
        check(&tracewright(&args("decode", &[&input])), 2, words);
    }
}

#[test]
fn invalid_options_are_reported() {
    let folder = Folder::with_demo("options");
    let demo = folder.demo();
    for (words, want) in [
        ("decode --protocol ETM4", &["remove --protocol"][..]),
        ("decode --source nothing", &["`nothing`", "ETB"]),
        ("decode --image /nowhere/file", &["/nowhere/file"]),
        ("decode -o /nowhere/file", &["cannot write /nowhere/file"]),
        ("demo --write", &["not empty"]),
    ] {
        check(&tracewright(&args(words, &[&demo])), 2, want);
    }
    let bin = demo.join("ETB.bin");
    for (words, want) in [
        ("decode --protocol ITM@0x80", &["--protocol ITM@0x80", "not a trace ID"][..]),
        ("decode --protocol ITM --config ITMTCR", &["ITMTCR", "NAME=VALUE"]),
    ] {
        check(&tracewright(&args(words, &[&bin])), 2, want);
    }
}

#[test]
fn an_empty_buffer_is_explained() {
    let folder = Folder::with_demo("empty");
    fs::write(folder.demo().join("ETB.bin"), b"").unwrap();
    let output = tracewright(&args("decode", &[&folder.demo()]));
    check(&output, 1, &["0 bytes", "is empty", "nothing was captured", "there is no trace"]);
}

#[test]
fn a_missing_buffer_is_an_error() {
    let folder = Folder::with_demo("no-buffer");
    fs::remove_file(folder.demo().join("ETB.bin")).unwrap();
    let output = tracewright(&args("decode", &[&folder.demo()]));
    check(
        &output,
        2,
        &["ETB.bin, so its trace is missing: no such file", "nothing can be decoded"],
    );
}

#[test]
fn an_unknown_register_is_reported() {
    let folder = Folder::with_demo("register");
    let bin = folder.demo().join("ETB.bin");
    let words = "decode --framing coresight --protocol ITM@0x20 --config FOO=1 --config itmtcr=1";
    let output = tracewright(&args(words, &[&bin]));
    check(
        &output,
        0,
        &["--config FOO=1: unknown register FOO, not used; expected one of ITMTER, ITMTPR, ITMTCR"],
    );
    assert!(!output.err.contains("unknown register itmtcr"), "{}", output.err);
}

#[test]
fn missing_frames_are_explained() {
    let folder = Folder::with_demo("no-frames");
    let buffer = folder.demo().join("ETB.bin");
    for format in ["text", "opencsd"] {
        let words = format!("frames --format {format}");
        fs::write(&buffer, b"").unwrap();
        check(&tracewright(&args(&words, &[&folder.demo()])), 1, &["ETB: the buffer is empty"]);
        fs::write(&buffer, b"short").unwrap();
        check(
            &tracewright(&args(&words, &[&folder.demo()])),
            0,
            &["no formatter frame in 5 bytes"],
        );
    }
}

#[test]
fn an_unknown_id_lists_the_known_ones() {
    let folder = Folder::with_demo("id");
    let output = tracewright(&args("decode --id 0x55", &[&folder.demo()]));
    check(&output, 2, &["0x55", "ETM_0 has 0x10", "ITM_0 has 0x20", "nothing can be decoded"]);
}

#[test]
fn a_buffer_without_a_source_is_an_error() {
    let folder = Folder::with_demo("no-source");
    for name in ["ETM_0.ini", "ITM_0.ini"] {
        edit(&folder, name, |text| text.replace("trace_source", "other"));
    }
    let output = tracewright(&args("decode", &[&folder.demo()]));
    check(&output, 2, &["no source is configured for the buffer ETB", "nothing can be decoded"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_pipe_is_read_once() {
    let folder = Folder::with_demo("pipe");
    let (ours, theirs) = std::io::pipe().unwrap();
    let bytes = fs::read(folder.demo().join("ETB.bin")).unwrap();
    std::io::Write::write_all(&mut { theirs }, &bytes).unwrap();
    let words = ["packets", "--framing", "coresight", "--protocol", "ITM@0x20", "/dev/stdin"];
    let out = super::common::command(&words).stdin(ours).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains("port 0: 0x61757173"), "{text}");
}

/// Data from a pipe are decoded as they arrive, and the command ends when its output is closed.
#[test]
#[cfg(target_os = "linux")]
fn a_pipe_is_decoded_as_data_arrive() {
    use std::io::{BufRead, BufReader, Write};
    let folder = Folder::with_demo("stream");
    let bytes = fs::read(folder.demo().join("ETB.bin")).unwrap();
    let once = bytes.repeat((1 << 16) / bytes.len());
    for jobs in ["1", "3"] {
        let words =
            ["decode", "--framing", "coresight", "--protocol", "ITM@0x20", "--jobs", jobs, "-"];
        let pipe = std::process::Stdio::piped;
        let mut child =
            super::common::command(&words).stdin(pipe()).stdout(pipe()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        stdin.write_all(&once).unwrap();
        // The first line arrives before more data are written.
        let first = lines.next().unwrap().unwrap();
        assert!(first.contains("ITM"), "{first}");
        // When the reader closes the output, the command ends.
        drop(lines);
        while stdin.write_all(&once).is_ok() {}
        assert!(child.wait().unwrap().success());
    }
}

/// A snapshot whose trace data come from a named pipe.
#[test]
#[cfg(target_os = "linux")]
fn a_buffer_may_be_a_named_pipe() {
    let folder = Folder::with_demo("fifo");
    let want = tracewright(&args("decode --format opencsd", &[&folder.demo()]));
    let buffer = folder.demo().join("ETB.bin");
    let bytes = fs::read(&buffer).unwrap();
    fs::remove_file(&buffer).unwrap();
    let Some(mkfifo) = tracewright_testing::tool(&[("mkfifo", "coreutils")]) else { return };
    let made = std::process::Command::new(mkfifo).arg(&buffer).status();
    assert!(made.is_ok_and(|status| status.success()));
    let writer = std::thread::spawn({
        let buffer = buffer.clone();
        move || fs::write(buffer, bytes)
    });
    let output = tracewright(&args("decode --format opencsd --pipes", &[&folder.demo()]));
    writer.join().unwrap().unwrap();
    assert_eq!((output.code, &output.out), (Some(0), &want.out), "{}", output.err);
}

#[test]
fn random_data_are_explained() {
    let folder = Folder::with_demo("garbage");
    // Frames of one trace ID without a synchronisation packet.
    let frame = [
        0x21, 0x55, 0x54, 0x55, 0x54, 0x55, 0x54, 0x55, 0x54, 0x55, 0x54, 0x55, 0x54, 0x55, 0x54, 0,
    ];
    fs::write(folder.demo().join("ETB.bin"), frame.repeat(100)).unwrap();
    let output = tracewright(&args("decode", &[&folder.demo()]));
    let words =
        ["1600 bytes", "no synchronisation in 1400 bytes", "ITM_0", "contains no bytes of ITM_0"];
    check(&output, 0, &words);
}

#[test]
fn a_missing_register_is_reported_with_its_file() {
    let folder = Folder::with_demo("missing-register");
    edit(&folder, "ETM_0.ini", |text| text.replace("TRCIDR0=0x28000EA1\n", ""));
    let words = ["ETM_0.ini", "[regs]", "TRCIDR0", "add `TRCIDR0=VALUE`", "ETM_0 is not decoded"];
    let output = tracewright(&args("decode", &[&folder.demo()]));
    check(&output, 0, &words);
    // The other source is decoded.
    assert!(output.out.contains("text       port 0 \"done\\n\""), "{}", output.out);
    let info = tracewright(&args("info", &[&folder.demo()]));
    assert!(info.out.contains("TRCIDR0 is missing"), "{}", info.out);
}

#[test]
fn an_unknown_protocol_lists_the_known_ones() {
    let folder = Folder::with_demo("protocol");
    edit(&folder, "ETM_0.ini", |text| text.replace("ETM4.0", "ETM9"));
    let words = ["`ETM9`", "ETM4", "ETE", "ITM", "STM", "0x10 (82 bytes)"];
    check(&tracewright(&args("decode", &[&folder.demo()])), 0, &words);
}

#[test]
fn unknown_ids_are_listed() {
    let folder = Folder::with_demo("ids");
    edit(&folder, "ITM_0.ini", |text| text.replace("0x00200003", "0x00300003"));
    let output = tracewright(&args("decode", &[&folder.demo()]));
    check(&output, 0, &["no bytes of ITM_0 (ID 0x30)", "no configured source: 0x20 (48 bytes)"]);
    // Those that were left out on purpose are not.
    let output = tracewright(&args("decode --id 0x10", &[&folder.demo()]));
    assert_eq!((output.code, output.notes().as_str()), (Some(0), ""));
}

/// Loads and stores as P0 elements, INSTP0 of TRCIDR0 and of TRCCONFIGR, where the core may execute
/// A64 code.
#[test]
fn loads_as_p0_elements_of_a64_code_have_a_note() {
    let folder = Folder::with_demo("load-p0");
    let set = |name: &'static str, bits: u64| {
        edit(&folder, "ETM_0.ini", |text| {
            let at = text.find(&format!("{name}=")).unwrap() + name.len() + 1;
            let (head, rest) = text.split_at(at);
            let (value, tail) = rest.split_once('\n').unwrap();
            let value = u64::from_str_radix(value.trim_start_matches("0x"), 16).unwrap();
            format!("{head}{:#x}\n{tail}", value | bits)
        });
    };
    let note = "note: ETM_0: TRCCONFIGR.INSTP0 makes loads or stores P0 elements";
    let has_note = || tracewright(&args("decode", &[&folder.demo()])).err.contains(note);
    set("TRCCONFIGR", 0b010);
    assert!(!has_note(), "TRCIDR0.INSTP0 is 0");
    set("TRCIDR0", 0b110);
    edit(&folder, "cpu_0.ini", |text| text.replace("Cortex-A53", "Cortex-M7"));
    assert!(!has_note(), "T32 code only");
    edit(&folder, "cpu_0.ini", |text| text.replace("Cortex-M7", "Cortex-A53"));
    check(&tracewright(&args("decode", &[&folder.demo()])), 0, &[note]);
    let info = tracewright(&args("info", &[&folder.demo()]));
    assert!(info.out.contains("TRCCONFIGR.INSTP0 makes loads"), "{}", info.out);
}

#[test]
fn missing_memory_reports_the_first_address() {
    let folder = Folder::with_demo("memory");
    for name in ["demo.bin", "demo_2.bin"] {
        fs::remove_file(folder.demo().join(name)).unwrap();
    }
    let output = tracewright(&args("decode", &[&folder.demo()]));
    check(&output, 0, &["demo.bin", "first at 0x80000", "no image is configured", "--image"]);
    let output = tracewright(&args("decode --strict", &[&folder.demo()]));
    assert_eq!(output.code, Some(1));
}

#[test]
fn wrong_framing_is_detected() {
    let folder = Folder::with_demo("framing");
    for (framing, code) in [("raw", 0), ("tpiu", 1)] {
        let words = format!("decode --framing {framing}");
        check(&tracewright(&args(&words, &[&folder.demo()])), code, &["--framing coresight"]);
    }
    edit(&folder, "trace.ini", |text| text.replace("coresight", "source_data"));
    check(&tracewright(&args("decode", &[&folder.demo()])), 0, &["try --framing coresight"]);
}

#[test]
fn unframed_data_with_frames_are_detected() {
    let folder = Folder::with_demo("bare");
    let bin = folder.demo().join("ETB.bin");
    let words =
        ["may be formatter frames", "0x10 (82 bytes), 0x20 (48 bytes)", "--framing coresight"];
    check(&tracewright(&args("decode --protocol STM", &[&bin])), 0, &words);
    let words = ["without register ETMCR", "--config ETMCR=VALUE"];
    // If nothing can be decoded, an error follows the notes.
    let output = tracewright(&args("decode --framing raw --protocol PTM", &[&bin]));
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(words.iter().all(|word| output.err.contains(word)), "{}", output.err);
    let last = output.err.lines().last().unwrap_or_default();
    assert!(last.starts_with("tracewright: error: ") && last.contains("nothing"), "{last}");
    // A missing trace ID is inferred only if the frames contain a single one.
    let output = tracewright(&args("decode --framing coresight --protocol STM", &[&bin]));
    check(
        &output,
        0,
        &["no configured source: 0x10 (82 bytes), 0x20 (48 bytes)", "--protocol NAME@0x10"],
    );
}

#[test]
fn values_wider_than_a_register() {
    let folder = Folder::with_demo("wide");
    let bin = folder.demo().join("ETB.bin");
    for value in ["99999999999999999999", "0x10000000000000008b"] {
        let words = format!("decode --protocol ETM4 --config TRCCONFIGR={value}");
        check(&tracewright(&args(&words, &[&bin])), 2, &["TRCCONFIGR=", "at most 64 bits"]);
    }
    let wide = "TRCCONFIGR=0x10000000000000008b\nTRCCONFIGR";
    edit(&folder, "ETM_0.ini", |text| text.replacen("TRCCONFIGR", wide, 1));
    check(&tracewright(&args("decode", &[&folder.demo()])), 0, &["is wider than 64 bits"]);
}

#[test]
fn a_file_of_registers_that_is_no_text() {
    let folder = Folder::new("no-text");
    let file = folder.path("unit.txt");
    fs::write(&file, b"TRCCONFIGR=1\nTRC\xff=2\n").unwrap();
    for words in ["unit lint ETE", "unit sequence ETE"] {
        check(&tracewright(&args(words, &[&file])), 2, &["unit.txt: line 2 is not text in UTF-8"]);
    }
}

#[test]
fn least_coverage_is_a_percentage() {
    let folder = Folder::with_demo("percent");
    for (least, code) in [("0", 0), ("100", 1), ("nan", 2), ("-5", 2), ("100.1", 2), ("inf", 2)] {
        let words = format!("coverage --fail-under={least}");
        let run = tracewright(&args(&words, &[&folder.demo()]));
        assert_eq!(run.code, Some(code), "{least}: {}", run.err);
    }
}

#[test]
fn strict_accepts_a_capture_without_problems() {
    let folder = Folder::with_demo("strict");
    for verb in ["packets", "decode", "instructions", "frames"] {
        let output = tracewright(&args(&format!("{verb} --strict"), &[&folder.demo()]));
        assert_eq!((output.code, output.notes().as_str()), (Some(0), ""), "{verb}");
    }
    let bytes = fs::read(folder.demo().join("ETB.bin")).unwrap();
    fs::write(folder.demo().join("ETB.bin"), &bytes[..bytes.len() - 7]).unwrap();
    let output = tracewright(&args("decode --strict", &[&folder.demo()]));
    assert_eq!(output.code, Some(1), "{}", output.err);
}

/// Truncated captures, and captures with a changed byte, are decoded.
#[test]
fn damaged_captures_are_decoded() {
    let folder = Folder::with_demo("damaged");
    let path = folder.demo().join("ETB.bin");
    let bytes = fs::read(&path).unwrap();
    for n in sample(2, (0..bytes.len()).step_by(11)) {
        let mut changed = bytes.clone();
        changed[n] ^= 0xff;
        for bytes in [&bytes[..n], &changed] {
            fs::write(&path, bytes).unwrap();
            for verb in ["info", "decode --packets", "instructions", "frames"] {
                let output = tracewright(&args(verb, &[&folder.demo()]));
                let empty = n == 0 || output.out.is_empty();
                let fails = output.code == Some(1) && empty;
                assert!(output.code == Some(0) || fails, "{verb}, byte {n}: {}", output.err);
            }
        }
    }
}
