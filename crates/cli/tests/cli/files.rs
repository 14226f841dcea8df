//! Output files: no input is written, and nothing is left half written.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Folder, Output, args, command, tracewright};

/// The contents of a folder.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    files.map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

/// Runs the command in a shell that limits the size of files to 512 bytes, as a full disk does.
#[cfg(unix)]
fn with_full_disk(all: &[std::ffi::OsString]) -> Output {
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_tracewright")]).args(all);
    shell.stdin(Stdio::null()).output().unwrap().into()
}

fn with_output(words: &str, inputs: &[&Path], output: &Path) -> Vec<std::ffi::OsString> {
    let mut all = args(words, inputs);
    all.extend(args("-o", &[output]));
    all
}

/// The report that the command line names is written, with the snapshot and without.
#[test]
fn the_report_of_the_demo_is_written_where_it_is_asked_for() {
    let folder = Folder::new("demo-report");
    let (snapshot, first, second) =
        (folder.path("snapshot"), folder.path("first.html"), folder.path("second.html"));
    let output = tracewright(&args("demo --write", &[&snapshot, Path::new("--report"), &first]));
    assert_eq!((output.code, output.out.as_str()), (Some(0), ""), "{}", output.err);
    assert!(output.err.contains("first.html written\n"), "{}", output.err);
    let output = tracewright(&args("demo --report", &[&second]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let pages = [&first, &second].map(|path| fs::read_to_string(path).unwrap());
    assert!(pages[0].starts_with("<!") && pages[0] == pages[1]);
    // Without a folder in which to write it, the command fails.
    let (other, nowhere) = (folder.path("other"), folder.path("nowhere/report.html"));
    let output = tracewright(&args("demo --write", &[&other, Path::new("--report"), &nowhere]));
    assert_eq!(output.code, Some(2), "{}", output.err);
}

/// The index beside a capture, and the one that is named.
#[test]
fn an_index_is_not_an_output() {
    let folder = Folder::with_demo("files-index");
    let (demo, beside, named) = (folder.demo(), folder.path("demo.twx"), folder.path("named"));
    for index in [&beside, &named] {
        let run = tracewright(&with_output("index", &[&demo], index));
        assert_eq!(run.code, Some(0), "{}", run.err);
    }
    let before = contents(&folder.path(""));
    let with_index = format!("--index {}", named.display());
    for verb in
        ["decode", "instructions", "find", "calls", "functions", "report", "coverage", "history"]
    {
        for (option, output) in [("", &beside), (with_index.as_str(), &named)] {
            let mut words = with_output(&format!("{verb} {option}"), &[&demo], output);
            if verb == "find" {
                words.push("gap".into());
            }
            let run = tracewright(&words);
            assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{verb}: {}", run.err);
            assert!(run.err.contains("this file is read as"), "{verb}: {}", run.err);
        }
    }
    assert_eq!(contents(&folder.path("")), before);
    // Without the index, its file is as any other, and so it is where it is made again.
    for verb in ["decode --no-index", "index"] {
        let run = tracewright(&with_output(verb, &[&demo], &beside));
        assert_eq!(run.code, Some(0), "{verb}: {}", run.err);
    }
}

/// Each input is refused as an output, under each of its names.
#[test]
#[cfg(unix)]
fn an_input_is_not_an_output() {
    let folder = Folder::with_demo("files-inputs");
    let demo = folder.demo();
    let trace = demo.join("ETB.bin");
    let [link, hard, folder_link, image, log] =
        ["link", "hard", "folder", "image.bin", "log.csv"].map(|name| folder.path(name));
    std::os::unix::fs::symlink(&trace, &link).unwrap();
    fs::hard_link(&trace, &hard).unwrap();
    std::os::unix::fs::symlink(&demo, &folder_link).unwrap();
    fs::write(&image, [0; 8]).unwrap();
    fs::write(&log, "address,isa,opcode\n8000,A64,d503201f\n").unwrap();
    let before = (contents(&demo), contents(&folder.path("")));
    let roundabout = demo.join("../demo/ETB.bin");
    let inside = [
        trace.clone(),
        roundabout,
        folder_link.join("ETB.bin"),
        demo.join("snapshot.ini"),
        demo.join("demo.bin"),
        demo.join("new.txt"),
        folder_link.join("new.txt"),
    ];
    let raw = "--protocol ITM --framing coresight --id 0x20";
    for verb in ["info", "packets", "decode", "instructions", "frames", "bench"] {
        for output in inside.iter().chain([&link, &hard]) {
            let inputs = [&demo, &demo.join("snapshot.ini"), &folder_link];
            for input in inputs.into_iter().take(if verb == "decode" { 3 } else { 1 }) {
                let run = tracewright(&with_output(verb, &[input], output));
                assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{verb} {output:?}");
                assert!(run.err.contains("which is read") || run.err.contains("is read as"));
            }
        }
        let words = format!("{verb} {raw} --image {}@0x1000", image.display());
        for output in [&trace, &link, &hard, &image] {
            let run = tracewright(&with_output(&words, &[&trace], output));
            assert_eq!(run.code, Some(2), "{verb} {output:?}");
            assert!(run.err.contains("this file is read as"), "{}", run.err);
        }
        // The folder of raw trace data is not a capture.
        let other = folder.path("other.txt");
        let run = tracewright(&with_output(&words, &[&trace], &other));
        // An ITM has no instructions.
        let empty = i32::from(verb == "instructions");
        assert_eq!(run.code, Some(empty), "{verb}: {}", run.err);
        fs::remove_file(&other).unwrap();
        // Standard output may be an input, too.
        let appended = fs::OpenOptions::new().append(true).open(&trace).unwrap();
        let mut run = command(&args(&format!("{verb} {raw}"), &[&trace]));
        let run: Output = run.stdout(appended).output().unwrap().into();
        assert_eq!(run.code, Some(2), "{verb}");
        assert!(run.err.contains("standard output"), "{}", run.err);
    }
    // Every file of the capture under a name outside of its folder. The section of `demo_2.bin` is
    // for other programs: the ELF file has its code.
    let outside = folder.path("outside");
    fs::create_dir(&outside).unwrap();
    for entry in fs::read_dir(&demo).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() == "demo_2.bin" {
            continue;
        }
        let hard = outside.join(entry.file_name());
        fs::hard_link(entry.path(), &hard).unwrap();
        for words in ["decode", "info"] {
            let run = tracewright(&with_output(words, &[&demo], &hard));
            assert_eq!(run.code, Some(2), "{words} -o {}: {}", hard.display(), run.err);
            assert!(run.err.contains("this file is read as"), "{}", run.err);
        }
        fs::remove_file(hard).unwrap();
    }
    fs::remove_dir(outside).unwrap();
    let run = tracewright(&with_output("itm", &[&demo], &trace));
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert!(run.err.contains("this file is read as"), "{}", run.err);
    // Further captures, and the files that `encode` reads.
    let other = Folder::with_demo("files-further");
    let further = other.demo().join("ETB.bin");
    let elf = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/demo/program.elf");
    let coverage = format!("coverage --image {}", elf.display());
    for (verb, option) in [
        ("profile --format json", "-o"),
        ("profile --format propeller", "--symbol-order"),
        (&coverage, "-o"),
    ] {
        let words = format!("{verb} --add {} {option}", other.demo().display());
        let run = tracewright(&args(&words, &[&further, &demo]));
        assert_eq!(run.code, Some(2), "{verb}: {}", run.err);
        assert!(run.err.contains("is read"), "{}", run.err);
        assert_eq!(run.err.contains("--symbol-order "), option == "--symbol-order", "{}", run.err);
    }
    assert_eq!(contents(&other.demo()), contents(&demo));
    let words = format!("encode --protocol ETM4 --to perf --log {} --image", log.display());
    let image_at = format!("{}@0x8000", image.display());
    let run = tracewright(&with_output(&words, &[Path::new(&image_at)], &image));
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert!(run.err.contains("this file is read as"), "{}", run.err);
    let run = tracewright(&with_output("log convert --to csv", &[&log], &log));
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("this file is read as"), "{}", run.err);
    assert_eq!((contents(&demo), contents(&folder.path(""))), before);
}

/// A run that fails does not change the output file.
#[test]
#[cfg(unix)]
fn a_failed_run_leaves_the_file() {
    let folder = Folder::with_demo("files-failed");
    let (demo, output) = (folder.demo(), folder.path("output"));
    fs::write(&output, "before").unwrap();
    for verb in ["packets", "decode", "instructions", "frames", "info"] {
        let run = with_full_disk(&with_output(verb, &[&demo], &output));
        assert_eq!(run.code, Some(2), "{verb}: {}", run.err);
        assert!(run.err.contains("is unchanged, as the command fails"), "{}", run.err);
        assert!(run.err.contains("cannot write"), "{}", run.err);
        assert_eq!(contents(&folder.path("")).len(), 1, "{verb}");
        assert_eq!(fs::read_to_string(&output).unwrap(), "before", "{verb}");
    }
    // Nothing can be decoded.
    for unit in ["ETM_0.ini", "ITM_0.ini"] {
        let text = fs::read_to_string(demo.join(unit)).unwrap();
        fs::write(demo.join(unit), text.replace("type=", "type=un")).unwrap();
    }
    for verb in ["packets", "decode", "instructions"] {
        let run = tracewright(&with_output(verb, &[&demo], &output));
        assert_eq!(run.code, Some(2), "{verb}: {}", run.err);
        assert!(run.err.contains("nothing can be decoded"), "{}", run.err);
        assert_eq!(fs::read_to_string(&output).unwrap(), "before", "{verb}");
        let missing = folder.path("missing");
        let run = tracewright(&with_output(verb, &[&demo], &missing));
        assert!(run.err.contains("is not written, as the command fails"), "{}", run.err);
        assert!(!missing.exists(), "{verb}");
    }
    assert_eq!(contents(&folder.path("")).len(), 1);
}

/// A link is followed, a file retains its permissions, and devices are written directly.
#[test]
#[cfg(unix)]
fn outputs_that_exist() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::with_demo("files-exist");
    let want = tracewright(&args("decode", &[&folder.demo()])).out;
    let (file, link) = (folder.path("file"), folder.path("link"));
    fs::write(&file, "before").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    symlink("file", &link).unwrap();
    let run = tracewright(&with_output("decode", &[&folder.demo()], &link));
    assert_eq!((run.code, run.notes().as_str()), (Some(0), ""));
    assert_eq!(fs::read_to_string(&file).unwrap(), want);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    for device in ["-", "/dev/stdout", "/dev/fd/1"] {
        let run = tracewright(&with_output("decode", &[&folder.demo()], Path::new(device)));
        assert_eq!((run.code, run.out.as_str()), (Some(0), want.as_str()), "{device}");
    }
    let run = tracewright(&with_output("decode", &[&folder.demo()], Path::new("/dev/null")));
    assert_eq!((run.code, run.notes().as_str()), (Some(0), ""));
    let run = tracewright(&with_output("decode", &[&folder.demo()], &folder.path("no/file")));
    assert_eq!(run.code, Some(2));
}

/// A folder that cannot be filled is left as it was.
#[test]
#[cfg(unix)]
fn a_full_disk_leaves_no_folder() {
    let folder = Folder::new("files-full");
    let (outer, empty) = (folder.path("a"), folder.path("empty"));
    fs::create_dir(&empty).unwrap();
    for target in [&outer.join("b"), &empty] {
        let run = with_full_disk(&args("demo --write", &[target]));
        assert_eq!(run.code, Some(2), "{}", run.err);
        assert!(run.err.contains("cannot be written"), "{}", run.err);
    }
    assert!(!outer.exists());
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
    let log = folder.path("log.csv");
    let rows: String = (0..2_000).map(|n| format!("{:x},A64,d503201f\n", 4 * n)).collect();
    fs::write(&log, format!("address,isa,opcode\n{rows}")).unwrap();
    for (protocol, isa) in [("ETM4", "a64"), ("etrace", "rv64")] {
        let words = format!("encode --protocol {protocol} --isa {isa} --image");
        // The image does not fit.
        let image = format!("{}@0", log.display());
        let mut all = args(&format!("{words} {image} --log"), &[&log]);
        all.extend(args("-o", &[&empty]));
        let run = with_full_disk(&all);
        assert_eq!(run.code, Some(2), "{}", run.err);
        assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
    }
    let capture = Folder::with_demo("files-full-capture");
    let run =
        with_full_disk(&args("timeline --format ctf -o", &[&outer.join("b"), &capture.demo()]));
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert!(run.err.contains("b/metadata: cannot be written"), "{}", run.err);
    assert!(!outer.exists());
    // With room, the folder is filled.
    let run = tracewright(&args("demo --write", &[&outer.join("b")]));
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(outer.join("b/snapshot.ini").exists());
    let hidden = contents(&outer.join("b")).into_keys().find(|name| name.starts_with('.'));
    assert_eq!(hidden, None);
}

/// A folder that cannot be listed may have files.
#[test]
#[cfg(unix)]
fn a_folder_that_cannot_be_listed_is_not_empty() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let folder = Folder::new("files-unlisted");
    let (target, program) = (folder.path("target"), folder.path("tracewright"));
    fs::create_dir(&target).unwrap();
    fs::write(target.join("file"), "").unwrap();
    // The user without permissions, where the tests run as root, can read the copy. A file that
    // this process has written could not be executed while another test starts a program.
    let built = env!("CARGO_BIN_EXE_tracewright").as_ref();
    assert!(Command::new("cp").args([built, program.as_path()]).status().unwrap().success());
    fs::set_permissions(&target, fs::Permissions::from_mode(0o333)).unwrap();
    let mut run = Command::new(&program);
    run.args(args("demo --write", &[&target]));
    if fs::read_dir(&target).is_ok() {
        run.uid(65534).gid(65534);
    }
    let run: Output = run.output().unwrap().into();
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("permission denied"), "{}", run.err);
    fs::set_permissions(&target, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(fs::read_dir(&target).unwrap().count(), 1);
}

#[test]
#[cfg(target_os = "linux")]
fn help_is_an_output() {
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for words in ["--help", "decode --help", "help decode", "--version", "demo"] {
        let run: Output = command(&args(words, &[])).stdout(full()).output().unwrap().into();
        assert_eq!(run.code, Some(2), "{words}");
        assert!(run.err.contains("cannot write to standard output"), "{words}: {}", run.err);
        assert_eq!(tracewright(&args(words, &[])).code, Some(0), "{words}");
    }
}

/// The columns of Spike's CSV have no processor.
#[test]
fn merged_processors_are_reported() {
    let folder = Folder::new("files-merged");
    let log = folder.path("log.csv");
    let row = "80000000,RV64,00000013";
    fs::write(&log, format!("cpu,address,isa,opcode\n0,{row}\n1,{row}\n")).unwrap();
    for (format, reported) in [("spike-csv", true), ("spike", false), ("csv", false)] {
        let run = tracewright(&args(&format!("log convert --to {format}"), &[&log]));
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert_eq!(run.err.contains("several processors"), reported, "{format}: {}", run.err);
    }
}

/// Standard output is no input, whatever the verb, the option and the number of inputs.
#[test]
#[cfg(unix)]
fn standard_output_is_not_an_input() {
    let (folder, other) = (Folder::with_demo("files-standard"), Folder::with_demo("files-other"));
    let elf = folder.path("program.elf");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/demo/program.elf"), &elf).unwrap();
    let log = folder.path("log.csv");
    fs::write(&log, "address,isa,opcode\n8000,A64,d503201f\n").unwrap();
    let params = folder.path("params.txt");
    fs::write(&params, "TRCCONFIGR=1\n").unwrap();
    let (demo, second) = (folder.demo(), other.demo());
    let image = format!("--image={}@0x100000", elf.display());
    let before = (contents(&folder.path("")), contents(&demo), contents(&second));
    let (first_trace, second_trace) = (demo.join("ETB.bin"), second.join("ETB.bin"));
    // The command, its inputs, and the input to which standard output is appended.
    for (words, inputs, output) in [
        ("compare", [&demo, &second], &first_trace),
        ("compare", [&demo, &second], &second_trace),
        ("compare", [&demo, &log], &log),
        ("diff", [&demo, &second], &first_trace),
        ("diff", [&demo, &second], &second_trace),
        ("profile --format json --add", [&second, &demo], &second_trace),
        ("coverage --add", [&second, &demo], &second_trace),
        ("functions --index", [&elf, &demo], &elf),
        ("itm --image", [&elf, &demo], &elf),
        ("itm --image", [&elf, &demo], &first_trace),
        ("report --image", [&elf, &demo], &elf),
        ("perf-script --binary", [&elf, &demo], &elf),
        ("log info --image", [&elf, &log], &log),
        ("log info --image", [&elf, &log], &elf),
        ("log convert --to csv --image", [&elf, &log], &elf),
        ("unit lint", [&params, &params], &params),
        (&format!("decode {image}"), [&demo, &demo], &elf),
    ] {
        let inputs: Vec<&Path> = inputs.iter().map(|path| path.as_path()).collect();
        let count = if inputs[0] == inputs[1] { 1 } else { 2 };
        let appended = fs::OpenOptions::new().append(true).open(output).unwrap();
        let mut run = command(&args(words, &inputs[..count]));
        let run: Output = run.stdout(appended).output().unwrap().into();
        assert_eq!(run.code, Some(2), "{words} >> {output:?}: {}", run.err);
        let usage = words.starts_with("unit") || words.starts_with("perf-script");
        assert!(usage || run.err.contains("standard output"), "{words}: {}", run.err);
    }
    assert_eq!((contents(&folder.path("")), contents(&demo), contents(&second)), before);
}

/// A file beyond the limit of its size is a write error: nothing is left of it.
#[test]
#[cfg(unix)]
fn a_file_that_is_too_large_is_not_left() {
    let folder = Folder::with_demo("files-large");
    let out = folder.path("out");
    let script = "ulimit -f 1; exec \"$0\" \"$@\"";
    let mut words = vec!["-c".into(), script.into(), env!("CARGO_BIN_EXE_tracewright").into()];
    words.extend(with_output("decode --format json", &[&folder.demo()], &out));
    let run: Output = Command::new("sh").args(&words).output().unwrap().into();
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert!(run.err.contains("cannot write"), "{}", run.err);
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 1, "only the capture");
}
