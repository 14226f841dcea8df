//! Captures with something wrong: what is said, where, what to do, and the exit code.

use std::fs;

use crate::common::{Folder, Said, args, tracewright};

#[track_caller]
fn says(said: &Said, code: i32, words: &[&str]) {
    assert_eq!(said.code, Some(code), "{}", said.err);
    for word in words {
        assert!(said.err.contains(word), "{word:?} is not in\n{}", said.err);
    }
    if code == 2 {
        assert_eq!(said.out, "");
    }
    if code == 2 && !said.err.contains("nothing can be decoded") {
        assert!(said.err.starts_with("tracewright: error: "), "{}", said.err);
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
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
fn what_cannot_be_opened() {
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
        (path("empty", b""), &["--protocol"]),
        (path("garbage", &[0x5a; 100]), &["--protocol", "--config"]),
        (path("program", b"\x7fELF\x02\x01\x01"), &["ELF"]),
        (path("perf.data", b"PERFILE2........"), &["perf.data"]),
        (path("no.ini", b"[device_list]\n"), &["no trace"]),
    ] {
        says(&tracewright(&args("decode", &[&input])), 2, words);
    }
}

#[test]
fn options_that_do_not_fit() {
    let folder = Folder::with_demo("options");
    let demo = folder.demo();
    for (words, want) in [
        ("decode --protocol ETM4", &["leave out --protocol"][..]),
        ("decode --source nothing", &["`nothing`", "ETB"]),
        ("decode --image /nowhere/file", &["/nowhere/file"]),
        ("decode -o /nowhere/file", &["cannot write /nowhere/file"]),
        ("demo --write", &["not empty"]),
    ] {
        says(&tracewright(&args(words, &[&demo])), 2, want);
    }
    let bin = demo.join("ETB.bin");
    for (words, want) in [
        ("decode --protocol ITM@0x80", &["--protocol ITM@0x80", "trace id"][..]),
        ("decode --protocol ITM --config ITMTCR", &["ITMTCR", "NAME=VALUE"]),
    ] {
        says(&tracewright(&args(words, &[&bin])), 2, want);
    }
}

#[test]
fn an_empty_buffer_explains_itself() {
    let folder = Folder::with_demo("empty");
    fs::write(folder.demo().join("ETB.bin"), b"").unwrap();
    let said = tracewright(&args("decode", &[&folder.demo()]));
    says(&said, 0, &["0 bytes", "is empty", "nothing was captured"]);
}

#[test]
fn a_missing_buffer_is_an_error() {
    let folder = Folder::with_demo("no-buffer");
    fs::remove_file(folder.demo().join("ETB.bin")).unwrap();
    let said = tracewright(&args("decode", &[&folder.demo()]));
    says(&said, 2, &["ETB.bin, no such file", "nothing can be decoded"]);
}

#[test]
fn a_register_that_no_unit_has_is_said() {
    let folder = Folder::with_demo("register");
    let bin = folder.demo().join("ETB.bin");
    let words = "decode --framing coresight --protocol ITM@0x20 --config FOO=1 --config itmtcr=1";
    let said = tracewright(&args(words, &[&bin]));
    says(&said, 0, &["--config FOO=1: there is no register FOO; there are ITMTER, ITMTPR, ITMTCR"]);
    assert!(!said.err.contains("no register itmtcr"), "{}", said.err);
}

#[test]
fn frames_of_nothing_explain_themselves() {
    let folder = Folder::with_demo("no-frames");
    let buffer = folder.demo().join("ETB.bin");
    for format in ["text", "opencsd"] {
        let words = format!("frames --format {format}");
        fs::write(&buffer, b"").unwrap();
        says(&tracewright(&args(&words, &[&folder.demo()])), 0, &["ETB holds no bytes"]);
        fs::write(&buffer, b"short").unwrap();
        says(&tracewright(&args(&words, &[&folder.demo()])), 0, &["5 bytes, and no frame"]);
    }
}

#[test]
fn an_id_of_no_source_lists_those_there_are() {
    let folder = Folder::with_demo("id");
    let said = tracewright(&args("decode --id 0x55", &[&folder.demo()]));
    says(&said, 2, &["0x55", "ETM_0 has 0x10", "ITM_0 has 0x20", "nothing can be decoded"]);
}

#[test]
fn a_buffer_that_nobody_wrote_is_an_error() {
    let folder = Folder::with_demo("nobody");
    for name in ["ETM_0.ini", "ITM_0.ini"] {
        edit(&folder, name, |text| text.replace("trace_source", "other"));
    }
    let said = tracewright(&args("decode", &[&folder.demo()]));
    says(&said, 2, &["no source is configured for the buffer ETB", "nothing can be decoded"]);
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

/// What comes through a pipe is shown while more is waited for, and who reads no more ends it all.
#[test]
#[cfg(target_os = "linux")]
fn a_pipe_is_decoded_as_it_comes() {
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
        // Nothing more is written until this has come.
        let first = lines.next().unwrap().unwrap();
        assert!(first.contains("ITM"), "{first}");
        // Now the reader goes away, and so does the command.
        drop(lines);
        while stdin.write_all(&once).is_ok() {}
        assert!(child.wait().unwrap().success());
    }
}

/// A snapshot whose trace comes through a named pipe.
#[test]
#[cfg(target_os = "linux")]
fn a_buffer_may_be_a_named_pipe() {
    let folder = Folder::with_demo("fifo");
    let want = tracewright(&args("decode --format opencsd", &[&folder.demo()]));
    let buffer = folder.demo().join("ETB.bin");
    let bytes = fs::read(&buffer).unwrap();
    fs::remove_file(&buffer).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&buffer).status();
    if !made.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: there is no mkfifo");
    }
    let writer = std::thread::spawn({
        let buffer = buffer.clone();
        move || fs::write(buffer, bytes)
    });
    let said = tracewright(&args("decode --format opencsd", &[&folder.demo()]));
    writer.join().unwrap().unwrap();
    assert_eq!((said.code, &said.out), (Some(0), &want.out), "{}", said.err);
}

#[test]
fn garbage_explains_itself() {
    let folder = Folder::with_demo("garbage");
    // Frames of one id, and never a synchronisation.
    let frame = [
        0x21, 0x55, 0x54, 0x55, 0x54, 0x55, 0x54, 0x55, 0x54, 0x55, 0x54, 0x55, 0x54, 0x55, 0x54, 0,
    ];
    fs::write(folder.demo().join("ETB.bin"), frame.repeat(100)).unwrap();
    let said = tracewright(&args("decode", &[&folder.demo()]));
    let words =
        ["1600 bytes", "no synchronisation in 1400 bytes", "ITM_0", "contains no bytes of ITM_0"];
    says(&said, 0, &words);
}

#[test]
fn a_missing_register_is_named_with_its_file() {
    let folder = Folder::with_demo("missing-register");
    edit(&folder, "ETM_0.ini", |text| text.replace("TRCIDR0=0x28000EA1\n", ""));
    let words = ["ETM_0.ini", "[regs]", "TRCIDR0", "add `TRCIDR0=VALUE`", "ETM_0 is not decoded"];
    let said = tracewright(&args("decode", &[&folder.demo()]));
    says(&said, 0, &words);
    // The other source is decoded all the same.
    assert!(said.out.contains("text       port 0 \"done\\n\""), "{}", said.out);
    let info = tracewright(&args("info", &[&folder.demo()]));
    assert!(info.out.contains("TRCIDR0 is missing"), "{}", info.out);
}

#[test]
fn an_unknown_protocol_lists_the_known_ones() {
    let folder = Folder::with_demo("protocol");
    edit(&folder, "ETM_0.ini", |text| text.replace("ETM4.0", "ETM9"));
    let words = ["`ETM9`", "ETM4", "ETE", "ITM", "STM", "0x10 (82 bytes)"];
    says(&tracewright(&args("decode", &[&folder.demo()])), 0, &words);
}

#[test]
fn ids_of_no_source_are_listed() {
    let folder = Folder::with_demo("ids");
    edit(&folder, "ITM_0.ini", |text| text.replace("0x00200003", "0x00300003"));
    let said = tracewright(&args("decode", &[&folder.demo()]));
    says(&said, 0, &["no bytes of ITM_0 (ID 0x30)", "no configured source: 0x20 (48 bytes)"]);
    // Those that were left out on purpose are not.
    let said = tracewright(&args("decode --id 0x10", &[&folder.demo()]));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
}

#[test]
fn missing_memory_names_the_first_address() {
    let folder = Folder::with_demo("memory");
    for name in ["demo.bin", "demo_2.bin"] {
        fs::remove_file(folder.demo().join(name)).unwrap();
    }
    let said = tracewright(&args("decode", &[&folder.demo()]));
    says(&said, 0, &["demo.bin", "first at 0x80000", "no image is configured", "--image"]);
    let said = tracewright(&args("decode --strict", &[&folder.demo()]));
    assert_eq!(said.code, Some(1));
}

#[test]
fn the_wrong_framing_is_found_out() {
    let folder = Folder::with_demo("framing");
    for (framing, at) in [("raw", "--framing coresight"), ("tpiu", "--framing coresight")] {
        let words = format!("decode --framing {framing}");
        says(&tracewright(&args(&words, &[&folder.demo()])), 0, &[at]);
    }
    edit(&folder, "trace.ini", |text| text.replace("coresight", "source_data"));
    says(&tracewright(&args("decode", &[&folder.demo()])), 0, &["try --framing coresight"]);
}

#[test]
fn bare_bytes_that_are_frames_are_found_out() {
    let folder = Folder::with_demo("bare");
    let bin = folder.demo().join("ETB.bin");
    let words =
        ["may be formatter frames", "0x10 (82 bytes), 0x20 (48 bytes)", "--framing coresight"];
    says(&tracewright(&args("decode --protocol STM", &[&bin])), 0, &words);
    let words = ["needs the register TRCCONFIGR", "--config TRCCONFIGR=VALUE"];
    // Nothing at all can be decoded: that is an error, after what is known.
    let said = tracewright(&args("decode --protocol ETM4", &[&bin]));
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(words.iter().all(|word| said.err.contains(word)), "{}", said.err);
    let last = said.err.lines().last().unwrap_or_default();
    assert!(last.starts_with("tracewright: error: ") && last.contains("nothing"), "{last}");
    // A missing id is taken from the frames only where there is one.
    let said = tracewright(&args("decode --framing coresight --protocol STM", &[&bin]));
    says(
        &said,
        0,
        &["no configured source: 0x10 (82 bytes), 0x20 (48 bytes)", "--protocol NAME@0x10"],
    );
}

#[test]
fn strict_is_satisfied_with_a_good_capture() {
    let folder = Folder::with_demo("strict");
    for verb in ["packets", "decode", "instructions", "frames"] {
        let said = tracewright(&args(&format!("{verb} --strict"), &[&folder.demo()]));
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{verb}");
    }
    let bytes = fs::read(folder.demo().join("ETB.bin")).unwrap();
    fs::write(folder.demo().join("ETB.bin"), &bytes[..bytes.len() - 7]).unwrap();
    let said = tracewright(&args("decode --strict", &[&folder.demo()]));
    assert_eq!(said.code, Some(1), "{}", said.err);
}

/// A capture cut anywhere, and one with any byte changed, is decoded as far as it goes.
#[test]
fn damaged_captures_are_decoded() {
    let folder = Folder::with_demo("damaged");
    let path = folder.demo().join("ETB.bin");
    let bytes = fs::read(&path).unwrap();
    for n in (0..bytes.len()).step_by(11) {
        let mut changed = bytes.clone();
        changed[n] ^= 0xff;
        for bytes in [&bytes[..n], &changed] {
            fs::write(&path, bytes).unwrap();
            for verb in ["info", "decode --packets", "instructions", "frames"] {
                let said = tracewright(&args(verb, &[&folder.demo()]));
                assert_eq!(said.code, Some(0), "{verb}, byte {n}: {}", said.err);
            }
        }
    }
}
