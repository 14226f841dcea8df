//! Captures that were made to use memory and time, or to read what they should not.

use crate::common;

use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::time::{Duration, Instant};

use common::{Folder, base};
use tracewright_capture::limits::{MAX_FILES, MAX_NOTES, MAX_REPEATED};
use tracewright_capture::{Access, Problem, open, open_with};
use tracewright_testing::processor_time;

/// Far more than any of the captures takes, also without optimisation.
const SOON: Duration = Duration::from_secs(20);

#[track_caller]
fn soon<T>(what: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let now = || processor_time().unwrap_or_else(|| begin.elapsed());
    let start = now();
    let done = what();
    let time = now().saturating_sub(start);
    assert!(time < SOON, "{time:?}");
    done
}

/// `n` items, each made of its number.
fn each(n: usize, mut item: impl FnMut(&mut String, usize)) -> String {
    let mut text = String::new();
    (0..n).for_each(|n| item(&mut text, n));
    text
}

#[test]
#[cfg(feature = "toml")]
fn a_buffer_of_many_files_is_read_without_recursion() {
    let folder = Folder::new();
    folder.put("a", "trace");
    let list = |n| format!("[[buffer]]\nfiles = [{}]\n", each(n, |out, _| *out += "'a',"));
    folder.put("capture.toml", list(50_000));
    let capture = open(&folder.0).unwrap();
    let mut bytes = Vec::new();
    capture.buffers[0].reader().read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 5 * 50_000);
    folder.put("capture.toml", list(MAX_FILES + 1));
    let error = folder.short(open(&folder.0).unwrap_err());
    let want = "capture.toml: [buffer 1] file: more than 65536 files of trace data, and the \
                remaining ones were skipped; split the capture";
    assert_eq!(error, want);
}

/// A file counts each time that it is named, by any of its paths.
#[test]
fn files_that_are_named_repeatedly_are_bounded() {
    let folder = base(&[]);
    let (once, size) = (MAX_REPEATED as usize, 1 << 14);
    folder.put("large.bin", "t".repeat(once));
    folder.put("small.bin", "t".repeat(size));
    fs::hard_link(folder.0.join("small.bin"), folder.0.join("other.bin")).unwrap();
    let capture = |times| {
        let names = each(times, |out, n| {
            *out += ["small.bin,", "./small.bin,", "other.bin,"][n % 3];
        });
        folder.put(
            "trace.ini",
            format!("[trace_buffers]\nbuffers=b\n[b]\nname=b\nfile=large.bin,{names}\n"),
        );
        open(&folder.0).unwrap()
    };
    // Both files, and what may be read again: their bytes and the limit.
    let most = 2 + (2 * once + size) / size;
    let most_files = |times| capture(times).buffers[0].files.len();
    assert_eq!((most_files(most - 1), most_files(most + 9)), (most, most));
    let notes =
        |times| capture(times).notes.iter().map(|note| note.to_string()).collect::<String>();
    let want = "files of trace data that are named repeatedly have more bytes than all files";
    assert!(!notes(most - 1).contains(want) && notes(most).contains(want));
}

#[test]
fn many_buffers_are_linked_in_linear_time() {
    let folder = base(&[]);
    folder.put("trace.bin", "t");
    let half = 20_000;
    let names = each(half, |out, n| write!(out, "b{n},").unwrap());
    let sections = each(half, |out, n| write!(out, "[b{n}]\nfile=trace.bin\n").unwrap());
    let text =
        format!("[trace_buffers]\nbuffers={names}\n{sections}[source_buffers]\netm={names}\n");
    folder.put("trace.ini", text);
    let capture = soon(|| open(&folder.0)).unwrap();
    assert_eq!((capture.buffers.len(), capture.sources[0].buffers.len()), (half, half));
    let count = |find: fn(&Problem) -> bool| {
        capture.notes.iter().filter(|note| find(&note.problem)).count()
    };
    assert_eq!(count(|p| matches!(p, Problem::BufferNoKey(..))), MAX_NOTES);
    let repeated = capture.notes.iter().find_map(|note| match &note.problem {
        Problem::Repeated { count, first } => Some((*count, first.clone())),
        _ => None,
    });
    assert!(repeated.is_some_and(|(count, _)| count == 2 * half - MAX_NOTES));
}

#[test]
fn a_device_file_that_is_listed_often_is_read_once() {
    let folder = base(&[]);
    let devices = each(30_000, |out, n| writeln!(out, "d{n}=etm.ini").unwrap());
    folder.put(
        "etm.ini",
        format!(
            "[device]\nname=etm\nclass=trace_source\ntype=ETM4\n[regs]\n{}",
            each(10_000, |out, n| writeln!(out, "R{n}=1").unwrap())
        ),
    );
    folder.put("snapshot.ini", format!("[device_list]\n{devices}[trace]\nmetadata=trace.ini\n"));
    let capture = soon(|| open(&folder.0)).unwrap();
    assert_eq!((capture.sources.len(), capture.sources[0].registers.0.len()), (1, 10_000));
    let notes: Vec<_> = capture.notes.iter().map(ToString::to_string).collect();
    assert!(notes.len() < 2 * MAX_NOTES, "{}", notes.len());
    assert!(notes.iter().any(|note| note.contains("more than 4096 devices")), "{notes:?}");
}

#[test]
fn the_size_of_all_descriptions_is_limited() {
    let folder = base(&[]);
    let comment = "#".repeat(1 << 20);
    let devices = each(8, |out, n| {
        folder.put(&format!("d{n}.ini"), &comment);
        writeln!(out, "d{n}=d{n}.ini").unwrap();
    });
    folder.put("snapshot.ini", format!("[device_list]\n{devices}[trace]\nmetadata=trace.ini\n"));
    let error = folder.short(soon(|| open(&folder.0)).map(drop).unwrap_err());
    let want = "trace.ini: the files that describe the capture are larger than 8388608 bytes \
                together; check that none is listed repeatedly, or split the capture";
    assert_eq!(error, want);
}

#[test]
fn large_descriptions_are_refused() {
    let folder = base(&[]);
    folder.put("etm.ini", each(1 << 17, |out, _| *out += "nonsense\n"));
    let notes: Vec<_> =
        open(&folder.0).unwrap().notes.iter().map(|note| folder.short(note)).collect();
    let want = "etm.ini: 1179648 bytes is more than the limit of 1048576 bytes for a file that \
                describes a capture; check that the path is right";
    assert!(notes.iter().any(|note| note == want), "{notes:#?}");
}

#[test]
#[cfg(feature = "toml")]
fn a_large_toml_is_refused() {
    let folder = Folder::new();
    folder.put("capture.toml", "#".repeat((1 << 20) + 1));
    let error = open(&folder.0).unwrap_err().to_string();
    assert!(error.contains("1048577 bytes is more than the limit of 1048576 bytes"), "{error}");
}

/// Each dot of a key and each inline table takes hundreds of bytes of memory.
#[test]
#[cfg(feature = "toml")]
fn a_toml_of_many_tables_is_refused() {
    let folder = Folder::new();
    folder.put("a.b", "trace");
    // Dots and brackets in texts and comments make no tables.
    let texts = "'a.b',".repeat(40_000);
    let buffer = format!("[[buffer]]\nfiles = [{texts}]\n#{}\n", "{a.b".repeat(40_000));
    let want = "more than 32768 tables, dotted keys and inline tables; split the capture";
    for (tables, refused) in [
        ("[[x]]\nb=1\n".repeat(32_767), false),
        (" [[x]]\nb=1\n".repeat(32_768), true),
        (each(32_767, |out, n| writeln!(out, "a{n}.b=1").unwrap()), false),
        (each(32_768, |out, n| writeln!(out, "a{n}.b=1").unwrap()), true),
        (format!("a=[{}]", "{a={}},".repeat(16_384)), true),
        (each(500, |out, n| writeln!(out, "[a{n}{}]", ".b".repeat(70)).unwrap()), true),
        (String::new(), false),
    ] {
        folder.put("capture.toml", tables.clone() + "\n" + &buffer);
        match soon(|| open(&folder.0)) {
            Ok(capture) => assert_eq!((tables.len(), capture.buffers[0].files.len()), (0, 40_000)),
            Err(error) => {
                let error = error.to_string();
                assert_eq!(error.ends_with(want), refused, "{error}");
            }
        }
    }
}

#[test]
fn bad_lines_are_counted() {
    let folder = base(&[]);
    let lines = each(90_000, |out, n| writeln!(out, "R{n}=?").unwrap());
    folder.put(
        "etm.ini",
        format!("[device]\nname=etm\nclass=trace_source\ntype=ETM4\n[regs]\n{lines}"),
    );
    let notes = soon(|| open(&folder.0)).unwrap().notes;
    let notes: Vec<_> = notes.iter().map(|note| folder.short(note)).collect();
    assert_eq!(notes.len(), MAX_NOTES + 1);
    let want = "etm.ini:106: [regs] R100: 89900 more problems of this kind; the first is: `?` is \
                not a number and was skipped; write decimal digits, or 0x and hexadecimal digits";
    assert_eq!(notes[MAX_NOTES], want);
}

#[test]
fn dumps_that_overlap_are_compared_to_a_limit() {
    let folder = base(&[]);
    folder.put("code.bin", vec![0; (1 << 20) - 1]);
    let dumps = each(15_000, |out, n| {
        write!(out, "[dump{n}]\nfile=code.bin\naddress=0\noffset={n}\n").unwrap()
    });
    folder.put("cpu.ini", format!("[device]\nname=cpu\nclass=core\ntype=Cortex-A53\n{dumps}"));
    let capture = soon(|| open(&folder.0)).unwrap();
    assert!(capture.notes.iter().any(|note| note.problem == Problem::NotCompared));
    assert!(!capture.one_memory());
}

#[test]
fn files_outside_of_the_folder_are_reported() {
    let folder = Folder::new();
    folder.put("secret", "0123456789abcdef");
    for (name, text) in common::BASE {
        folder.put(&format!("capture/{name}"), text);
    }
    let inside = folder.0.join("capture");
    let note = |name: &str, line: &str, from: &str| {
        let mut text = common::BASE.iter().find(|(known, _)| *known == name).unwrap().1.to_owned();
        text = text.replace(line, from);
        folder.put(&format!("capture/{name}"), text);
        let notes = open(&inside).unwrap().notes;
        let outside = notes.iter().filter(|note| {
            matches!(note.problem, Problem::Outside(_) | Problem::OutsideDescription(_))
        });
        let outside: Vec<_> = outside.map(|note| folder.short(note)).collect();
        let text = common::BASE.iter().find(|(known, _)| *known == name).unwrap().1;
        folder.put(&format!("capture/{name}"), text);
        outside
    };
    let absolute = format!("file={}", folder.0.join("secret").display());
    for (name, line, from) in [
        ("trace.ini", "file=trace.bin", "file=../secret"),
        ("trace.ini", "file=trace.bin", absolute.as_str()),
        ("cpu.ini", "file=code.bin", "file=../secret"),
        ("snapshot.ini", "device1=etm.ini", "device1=../secret"),
    ] {
        let notes = note(name, line, from);
        assert_eq!(notes.len(), 1, "{from}: {notes:?}");
        assert!(notes[0].contains("is outside of the capture's folder"), "{notes:?}");
    }
    assert_eq!(note("cpu.ini", "file=code.bin", "file=../capture/code.bin"), [""; 0]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../secret", inside.join("link")).unwrap();
        assert_eq!(note("cpu.ini", "file=code.bin", "file=link").len(), 1);
    }
}

/// Messages quote descriptions: those outside of the folder are not read, whatever leads there.
#[test]
fn descriptions_outside_of_the_folder_are_not_read() {
    const TEXT: &str = "[device]\nname=CANARY\n[regs]\nCANARY=CANARY\nCANARY\n";
    const WANT: &str = "is outside of the capture's folder and is not read";
    let folder = Folder::new();
    folder.put("outside/file", TEXT);
    for (name, text) in common::BASE {
        folder.put(&format!("capture/{name}"), text);
    }
    let inside = folder.0.join("capture");
    let absolute = folder.0.join("outside/file").display().to_string();
    let mut files = vec!["../outside/file", "..\\outside\\file", absolute.as_str()];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../outside/file", inside.join("link")).unwrap();
        std::os::unix::fs::symlink("../outside", inside.join("folder")).unwrap();
        files.extend(["link", "folder/file"]);
    }
    let text = |name: &str| common::BASE.iter().find(|(known, _)| *known == name).unwrap().1;
    let index = text("snapshot.ini");
    let put = |text: &str| folder.put("capture/snapshot.ini", text);
    for file in &files {
        // A missing file beside it does not hide it.
        put(&index.replace("=etm.ini", &format!("=../outside/none\ndevice7={file}")));
        for path in [inside.clone(), inside.join("snapshot.ini"), inside.join("cpu.ini")] {
            let capture = open(&path).unwrap();
            let notes: Vec<_> = capture.notes.iter().map(|note| folder.short(note)).collect();
            assert!(notes.iter().any(|note| note.contains(WANT)), "{file}: {notes:?}");
            assert!(!format!("{capture:?}").contains("CANARY"), "{file}: {notes:?}");
        }
        put(&index.replace("=trace.ini", &format!("={file}")));
        let error = open(&inside).unwrap_err().to_string();
        assert!(error.contains(WANT) && !error.contains("CANARY"), "{error}");
    }
    put(&index.replace("=etm.ini", "=../capture/etm.ini"));
    assert!(!open(&inside).unwrap().notes.iter().any(|note| note.to_string().contains(WANT)));
    put(index);
    #[cfg(feature = "toml")]
    for file in &files {
        let text = "[[buffer]]\nfile='trace.bin'\n[[source]]\nprotocol='ETM4'\nparams=";
        folder.put("toml/capture.toml", format!("{text}'{file}'\n"));
        folder.put("toml/trace.bin", "trace");
        #[cfg(unix)]
        for name in ["link", "folder"] {
            let link = folder.0.join("toml").join(name);
            if link.symlink_metadata().is_err() {
                std::os::unix::fs::symlink(inside.join(name), link).unwrap();
            }
        }
        let error = open(&folder.0.join("toml")).unwrap_err().to_string();
        assert!(error.contains(WANT) && !error.contains("CANARY"), "{error}");
    }
    #[cfg(unix)]
    {
        // A folder that is a link is a capture. The index is read where it is named itself.
        let own = open(&inside).unwrap();
        std::os::unix::fs::symlink("capture", folder.0.join("linked")).unwrap();
        let linked = open(&folder.0.join("linked")).unwrap();
        assert_eq!((linked.sources.len(), linked.notes), (own.sources.len(), own.notes));
        fs::rename(inside.join("snapshot.ini"), folder.0.join("outside/index")).unwrap();
        std::os::unix::fs::symlink("../outside/index", inside.join("snapshot.ini")).unwrap();
        let error = open(&inside).unwrap_err().to_string();
        assert!(error.contains(WANT), "{error}");
        assert!(open(&inside.join("snapshot.ini")).is_ok());
    }
}

/// Files that the system generates have no end, or wait: nothing is read from them.
#[test]
#[cfg(target_os = "linux")]
fn files_of_the_system_are_not_read() {
    use common::Edit::Text;
    for file in ["/proc/self/pagemap", "/proc/kmsg", "/proc/self/maps", "/dev/zero", "/dev/stdin"] {
        let folder =
            base(&[Text("cpu.ini", "code.bin", file), Text("trace.ini", "trace.bin", file)]);
        let capture = soon(|| open(&folder.0)).unwrap();
        assert!(capture.buffers.iter().all(|buffer| buffer.is_empty()), "{file}");
        let read =
            |dump: &tracewright_capture::Dump| dump.bytes.as_ref().is_some_and(|b| !b.is_empty());
        assert!(!capture.memory.iter().any(read), "{file}");
    }
}

#[cfg(target_os = "linux")]
fn fifo(path: &std::path::Path) -> bool {
    let Some(mkfifo) = tracewright_testing::tool(&[("mkfifo", "coreutils")]) else { return false };
    let made = std::process::Command::new(mkfifo).arg(path).status();
    assert!(made.is_ok_and(|status| status.success()));
    true
}

/// A named pipe has no writer: opening it would wait.
#[test]
#[cfg(target_os = "linux")]
fn named_pipes_are_not_opened() {
    let folder = base(&[]);
    fs::rename(folder.0.join("snapshot.ini"), folder.0.join("other.ini")).unwrap();
    if !fifo(&folder.0.join("a.ini")) {
        return;
    }
    assert_eq!(soon(|| open(&folder.0)).unwrap().sources.len(), 1);
    for name in ["etm.ini", "code.bin", "trace.bin"] {
        fs::remove_file(folder.0.join(name)).unwrap();
        fifo(&folder.0.join(name));
    }
    let notes: Vec<_> =
        soon(|| open(&folder.0)).unwrap().notes.iter().map(|note| folder.short(note)).collect();
    let want = "cannot read trace.bin, so its trace is missing: it is a named pipe, which is read \
                with <pipes> only";
    assert!(notes.iter().any(|note| note.contains(want)), "{notes:#?}");
    let asked = open_with(&folder.0, Access::with_pipes(true)).unwrap();
    assert!(asked.buffers[0].is_piped());
}

/// A file that is cut while it is read ends, and is reported. So is one that grew, was replaced or
/// was removed.
#[test]
fn changed_files_are_noticed() {
    let large = vec![7; 3 << 20];
    for (name, length) in [("trace.bin", 3 << 20), ("code.bin", 3 << 20), ("etm.ini", 66)] {
        for change in ["nothing", "cut", "grown", "replaced", "removed"] {
            let folder = base(&[]);
            folder.put("trace.bin", &large);
            folder.put("code.bin", &large);
            let capture = open(&folder.0).unwrap();
            assert_eq!(capture.changed(), []);
            let path = folder.0.join(name);
            let file = || fs::OpenOptions::new().write(true).open(&path).unwrap();
            match change {
                "cut" => file().set_len(10).unwrap(),
                "grown" => file().set_len(4 << 20).unwrap(),
                "replaced" => {
                    folder.put("new", vec![0; length]);
                    fs::rename(folder.0.join("new"), &path).unwrap();
                }
                "removed" => fs::remove_file(&path).unwrap(),
                _ => {}
            }
            let mut bytes = Vec::new();
            capture.buffers[0].reader().read_to_end(&mut bytes).unwrap();
            let cut = change == "cut";
            let want = if cut && name == "trace.bin" { 10 } else { large.len() };
            assert_eq!(bytes.len(), want, "{name} {change}");
            let dump = capture.memory[0].bytes.as_ref().unwrap();
            let want = if cut && name == "code.bin" { 10 } else { large.len() };
            assert_eq!((**dump).len(), want, "{name} {change}");
            let notes: Vec<_> = capture.changed().iter().map(|note| folder.short(note)).collect();
            if change == "nothing" {
                assert_eq!(notes, [""; 0]);
                continue;
            }
            assert_eq!(notes.len(), 1, "{name} {change}: {notes:?}");
            assert!(notes[0].contains(name) && notes[0].contains("changed after"), "{notes:?}");
        }
    }
}
