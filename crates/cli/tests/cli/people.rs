//! What people see: summaries, colours, names, help, outputs that cannot be written.

use std::fs::{self, OpenOptions};
use std::process::{Command, Stdio};

use tracewright_testing::{shared, tool};

use crate::common::{Folder, Output, args, command, report_of, tracewright};

#[test]
fn a_clean_decode_ends_with_a_summary() {
    let folder = Folder::with_demo("people-summary");
    let output = tracewright(&args("decode", &[&folder.demo()]));
    assert_eq!(output.code, Some(0));
    assert!(output.err.contains("144 bytes of frames"), "{}", output.err);
    assert!(!output.err.contains("note:"), "{}", output.err);
    // The summary of JSON is in the output.
    let output = tracewright(&args("decode --format json", &[&folder.demo()]));
    assert_eq!(output.err, "");
}

/// The frames of raw trace data need no protocol.
#[test]
fn frames_need_no_protocol() {
    let folder = Folder::new("people-frames");
    let frame = [0x21, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0];
    let path = folder.path("etb.bin");
    fs::write(&path, [frame, frame].concat()).unwrap();
    let output = tracewright(&args("frames", &[&path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert_eq!(output.out.matches("ID 0x10").count(), 2, "{}", output.out);
    let output = tracewright(&args("frames --format none", &[&path]));
    assert!(output.out.contains("0x10"), "{}", output.out);
}

/// `info` of a pipe states how many bytes it has, also where none of them can be decoded.
#[test]
#[cfg(unix)]
fn the_bytes_of_a_pipe_are_counted() {
    let folder = Folder::new("people-pipe");
    let path = folder.path("trace.bin");
    fs::write(&path, [1; 100_000]).unwrap();
    let words = "info --protocol ETM4 --config TRCCONFIGR=1 -";
    let mut cat = Command::new("cat").arg(&path).stdout(Stdio::piped()).spawn().unwrap();
    let piped = cat.stdout.take().unwrap();
    let output: Output = command(&args(words, &[])).stdin(piped).output().unwrap().into();
    cat.wait().unwrap();
    assert!(output.out.contains("\ntrace      100000 bytes in 1 buffer\n"), "{}", output.out);
}

/// Text files begin with a byte order mark and have carriage returns, as programs of Windows write
/// them.
#[test]
fn text_files_of_windows_are_read() {
    let folder = Folder::new("people-windows");
    let parameters = folder.path("unit.params");
    let log = folder.path("log.csv");
    fs::write(&log, "address,isa,opcode\n80000000,RV64,00000013\n").unwrap();
    let encode = format!("encode --protocol etrace --log {} --params", log.display());
    let commands = [
        ("unit lint ETE", "# values\nTRCTRACEIDR=0x10\n"),
        ("unit sequence ETE", "# an access\nread TRCSTATR 3\n"),
        ("log info", "address,isa,opcode\n8000,A64,d503201f\n"),
        (&encode, "version = 2.0\nxlen = 64\n"),
    ];
    for (words, text) in commands {
        let run = |n: usize, text: String| {
            fs::write(&parameters, text).unwrap();
            let to = folder.path(&format!("{}{n}", words.len()));
            let mut all = args(words, &[&parameters]);
            if words == encode {
                all.extend(args("-o", &[&to]));
            }
            let output = tracewright(&all);
            (output.code, output.out)
        };
        let plain = run(0, text.to_owned());
        let marked = run(1, format!("\u{feff}{}", text.replace('\n', "\r\n")));
        assert_eq!(plain, marked, "{words}");
        assert_ne!(plain.0, Some(2), "{words}");
    }
}

/// All buffers are decoded; OpenCSD's listing has the first.
#[test]
fn every_buffer_is_decoded() {
    let folder = Folder::with_demo("people-buffers");
    let demo = folder.demo();
    folder.add_second_buffer();
    let all = tracewright(&args("decode --only range", &[&demo]));
    let first = tracewright(&args("decode --only range --format opencsd", &[&demo]));
    assert_eq!((all.code, first.code), (Some(0), Some(0)), "{}", all.err);
    assert!(all.err.contains("SECOND_"), "{}", all.err);
    assert!(first.err.contains("--all-buffers adds 1 more"), "{}", first.err);
}

#[test]
fn colours_are_chosen() {
    let folder = Folder::with_demo("people-colours");
    let demo = folder.demo();
    for (words, coloured) in
        [("decode", false), ("decode --color always", true), ("decode --color never", false)]
    {
        let output = tracewright(&args(words, &[&demo]));
        assert_eq!(output.out.contains('\x1b'), coloured, "{words}");
    }
}

/// On a terminal, text has colours, but not with NO_COLOR.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_has_colours() {
    let Some(script) = tool(&[("script", "bsdutils")]) else { return };
    let folder = Folder::with_demo("people-terminal");
    let words = format!("{} decode {}", env!("CARGO_BIN_EXE_tracewright"), folder.demo().display());
    for (variable, coloured) in [("NO_COLOR_", true), ("NO_COLOR", false)] {
        let mut run = Command::new(script);
        run.args(["-qec", &words, "/dev/null"]).env_remove("NO_COLOR").env("TERM", "xterm");
        let output: Output = run.env(variable, "1").output().unwrap().into();
        assert!(output.out.contains("square"), "{}", output.out);
        assert_eq!(output.out.contains("\x1b[3"), coloured, "{variable}: {:?}", output.out);
    }
}

/// Completions are for the name that the command was called by.
#[cfg(unix)]
#[test]
fn completions_have_the_name_of_the_command() {
    let folder = Folder::new("people-completions");
    let link = folder.path("twr");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tracewright"), &link).unwrap();
    let output: Output = Command::new(&link).args(["completions", "bash"]).output().unwrap().into();
    assert!(output.out.contains("complete -F _twr"), "{}", output.out.lines().last().unwrap());
    assert!(output.out.ends_with("twr\n") || output.out.contains(" twr\n"));
    let output = tracewright(&["completions", "fish"]);
    assert!(output.out.contains("complete -c tracewright"));
}

/// Messages that cannot be written are not an error.
#[cfg(target_os = "linux")]
#[test]
fn a_full_or_closed_standard_error() {
    let folder = Folder::with_demo("people-full");
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut run = command(&args("decode", &[&folder.demo()]));
    let status = run.stdout(Stdio::null()).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    let mut run = command(&args("decode", &[&folder.demo()]));
    let output: Output = run.stdout(full()).output().unwrap().into();
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("cannot write to standard output"), "{}", output.err);
    // Both go to a pipe that is closed.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut run = command(&args("decode", &[&folder.demo()]));
    let status = run.stdout(writer.try_clone().unwrap()).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(0));
}

/// An empty buffer is information on the page of `report`; data of unknown sources are a note.
#[test]
fn an_empty_buffer_is_no_warning() {
    let folder = Folder::with_demo("people-empty");
    let page = folder.path("page.html");
    let report = |bytes: &[u8]| {
        fs::write(folder.demo().join("ETB.bin"), bytes).unwrap();
        let output = tracewright(&args("report -o", &[&page, &folder.demo()]));
        // The page shows nothing that was executed.
        assert_eq!(output.code, Some(1), "{}", output.err);
        let page = fs::read_to_string(&page).unwrap();
        let report = report_of(&page);
        let information = report["information"].as_array().unwrap().iter();
        let mut information = information.filter_map(|text| text.as_str());
        let has_notes = !report["notes"].as_array().unwrap().is_empty();
        (has_notes, information.any(|text| text.starts_with("ETB: 0 bytes")))
    };
    assert_eq!(report(&[]), (false, true));
    // Frames of trace ID 0x30.
    let mut frame = [0; 16];
    frame[0] = 0x61;
    assert_eq!(report(&frame.repeat(20)), (true, false));
}

/// Names of C++ and Rust are demangled.
#[test]
fn names_are_demangled() {
    let folder = Folder::with_demo("people-demangled");
    let image = folder.demo().join("demo.bin");
    let bytes = fs::read(&image).unwrap();
    let core = folder.demo().join("cpu_0.ini");
    let ini = fs::read_to_string(&core).unwrap();
    let length = |bytes: usize| format!("length={bytes:#x}");
    for (mangled, shown) in [
        ("_Z5blinkj", "blink(unsigned int)"),
        ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
        ("_RNvC6_123foo3bar", "123foo::bar"),
    ] {
        let Some(renamed) = renamed(&bytes, "square", mangled) else {
            panic!("no symbol `square`")
        };
        // The snapshot has the length of the file.
        let text = ini.replace(&length(bytes.len()), &length(renamed.len()));
        assert_ne!(text, ini);
        fs::write(&core, text).unwrap();
        fs::write(&image, renamed).unwrap();
        let output = tracewright(&args("instructions", &[&folder.demo()]));
        assert_eq!(output.code, Some(0), "{}", output.err);
        assert!(output.out.contains(&format!("<{shown}>")), "{shown}: {}", output.out);
        assert!(!output.out.contains(mangled), "{mangled}");
        let output = tracewright(&args("functions", &[&folder.demo()]));
        assert!(output.out.contains(shown), "{shown}: {}", output.out);
        // All verbs take the same names.
        let short = shown.split('(').next().unwrap_or(shown);
        for name in [mangled, shown, short] {
            for option in ["--function", "--before", "first function"] {
                let verb = match option {
                    "--function" => "instructions",
                    "--before" => "history",
                    _ => "find",
                };
                let mut all = args(verb, &[&folder.demo()]);
                all.extend([option.into(), name.into()]);
                let output = tracewright(&all);
                assert_eq!(output.code, Some(0), "{verb} {name}: {}", output.err);
                assert!(output.out.contains(&format!("<{shown}>")), "{verb}: {}", output.out);
            }
        }
    }
}

/// An ELF file of which the symbol `from` is called `to`. The string table moves to the end.
fn renamed(elf: &[u8], from: &str, to: &str) -> Option<Vec<u8>> {
    let mut out = elf.to_vec();
    let number = |at: usize, size: usize| {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&elf[at..at + size]);
        u64::from_le_bytes(bytes) as usize
    };
    // Section headers of ELF64: sh_type 4, sh_offset 24, sh_size 32.
    let (headers, count) = (number(40, 8), number(60, 2));
    let table = |at: usize| number(at + 4, 4) == 3;
    for at in (0..count).map(|n| headers + 64 * n).filter(|at| table(*at)) {
        let (start, size) = (number(at + 24, 8), number(at + 32, 8));
        let names = &elf[start..start + size];
        let wanted = [b"\0", from.as_bytes(), b"\0"].concat();
        let Some(found) = names.windows(wanted.len()).position(|part| part == wanted) else {
            continue;
        };
        let moved = out.len();
        out.extend(names);
        out.extend(to.bytes().chain([0]));
        let size = size + to.len() + 1;
        out[at + 24..at + 32].copy_from_slice(&(moved as u64).to_le_bytes());
        out[at + 32..at + 40].copy_from_slice(&(size as u64).to_le_bytes());
        // The symbols that have the old name: ELF64 symbols of 24 bytes, st_name first.
        for section in (0..count).map(|n| headers + 64 * n).filter(|at| number(at + 4, 4) == 2) {
            let (symbols, bytes) = (number(section + 24, 8), number(section + 32, 8));
            for symbol in (symbols..symbols + bytes).step_by(24) {
                if number(symbol, 4) == found + 1 {
                    let name = (names.len() as u32).to_le_bytes();
                    out[symbol..symbol + 4].copy_from_slice(&name);
                }
            }
        }
        return Some(out);
    }
    None
}

/// Source lines, as `addr2line` of binutils gives them.
#[test]
fn functions_have_source_lines() {
    let Some(path) = shared("captures/ti-am243x-r5f/freertos") else { return };
    let image = path.join("freertos.out");
    let words = "instructions --lines --function xTaskResumeAll --limit 4 --image";
    let output = tracewright(&args(words, &[&image, &path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let lines: Vec<_> = output.out.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].contains("<xTaskResumeAll tasks.c:2145>"), "{}", lines[0]);
    assert!(lines[3].contains("<xTaskResumeAll+0x6 tasks.c:2146>"), "{}", lines[3]);
    let words = "decode --lines --format json --function xTaskResumeAll --limit 1 --image";
    let output = tracewright(&args(words, &[&image, &path]));
    assert!(output.out.contains("\"line\":\"tasks.c:2145\""), "{}", output.out);
    // Without lines, a note states it.
    let folder = Folder::with_demo("people-lines");
    let output = tracewright(&args("decode --lines", &[&folder.demo()]));
    assert!(output.err.contains("no program image has DWARF"), "{}", output.err);
}
