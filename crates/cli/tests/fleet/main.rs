//! Units, parts and their sums by the command: what it shows of parts has the bytes of what it
//! shows of the whole trace.

mod chaos;
mod diagnosis;
mod failed;
mod files;
mod list;
mod pages;
mod plan;
mod refused;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Output, Stdio};
use std::time::Duration;

use tracewright_testing::{Random, shared, short_or_long, times};

/// A temporary folder, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let name = format!("tracewright-fleet-{}-{test}", process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tracewright"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the command")
}

/// The output of a command that succeeds.
#[track_caller]
fn good(arguments: &[&str]) -> Vec<u8> {
    let done = run(arguments);
    assert!(done.status.success(), "{arguments:?}: {}", error(&done));
    done.stdout
}

/// The message of a command that is refused.
#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let done = run(arguments);
    assert_eq!(done.status.code(), Some(2), "{arguments:?}");
    error(&done)
}

fn error(done: &Output) -> String {
    String::from_utf8_lossy(&done.stderr).into_owned()
}

/// A capture of the repository.
fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(name).join("capture")
}

/// Copies a capture to `folder`, with its trace several times, and makes its index.
fn indexed(folder: &Folder, name: &str, segment: &str) -> String {
    let (from, to) = (capture(name), folder.0.join(name));
    fs::create_dir_all(&to).expect("a folder");
    for file in fs::read_dir(from).expect("the capture").map(|file| file.expect("a file").path()) {
        let mut bytes = fs::read(&file).expect("a file");
        let own = file.file_name().expect("a name").to_string_lossy().into_owned();
        if own.starts_with("ETB") || own.starts_with("trace.bin") {
            bytes = bytes.repeat(1 + 20_000 / bytes.len());
        }
        fs::write(to.join(own), bytes).expect("room");
    }
    let path = to.to_string_lossy().into_owned();
    good(&["index", &path, "--segment", segment]);
    path
}

/// The parts of `verb` of `input`: `count` shares.
fn parts(folder: &Folder, verb: &[&str], input: &str, size: &str, count: usize) -> Vec<String> {
    let all = (1..=count).map(|n| {
        let part = folder.path(&format!("{n}-of-{count}-{size}.part"));
        let share = format!("{n}/{count}");
        let own = [input, "--units", &share, "--unit-size", size, "-o", &part];
        good(&[verb, &own[..]].concat());
        part
    });
    all.collect()
}

/// Merges files in a random order and grouping.
fn merged(folder: &Folder, mut files: Vec<String>, random: &mut Random, to: &str) {
    let mut count = 0;
    while files.len() > 3 {
        let group: Vec<String> =
            (0..3).map(|_| files.swap_remove(random.index(files.len()))).collect();
        count += 1;
        let sum = folder.path(&format!("group-{count}"));
        let all: Vec<&str> = group.iter().map(String::as_str).collect();
        good(&[&["merge", "--partial", "-o", &sum][..], &all].concat());
        files.push(sum);
    }
    let all: Vec<&str> = files.iter().map(String::as_str).collect();
    good(&[&["merge", "-o", to][..], &all].concat());
}

#[test]
fn profiles_and_coverage_of_parts_are_those_of_the_whole() {
    let mut random = Random::new(58);
    let names = ["etmv4", "ete", "ptm", "etmv3", "etrace-2.0", "ntrace-htm"];
    for name in names.iter().take(short_or_long(3, names.len())) {
        let folder = Folder::new(&format!("whole-{name}"));
        let input = indexed(&folder, name, "512");
        let size = (600 + random.below(4000)).to_string();
        let count = 1 + random.index(9);
        // Both verbs make the same parts.
        let verb = if random.one_in(2) { "profile" } else { "coverage" };
        let files = parts(&folder, &[verb], &input, &size, count);
        let other = ["profile", "coverage"][usize::from(verb == "profile")];
        let again = [other, &input, "--units", &format!("1/{count}"), "--unit-size", &size];
        assert_eq!(good(&again), fs::read(&files[0]).expect("a part"), "{name}");
        let sum = folder.path("sum.part");
        merged(&folder, files, &mut random, &sum);
        for shown in [
            &["profile", "--limit", "100000"][..],
            &["profile", "--format", "pprof"],
            &["profile", "--format", "bolt", "--module", "cpu_0.bin"],
            &["profile", "--format", "autofdo", "--module", "cpu_0.bin"],
            &["profile", "--format", "folded"],
            &["coverage", "--format", "json"],
            &["coverage", "--format", "lcov"],
            &["coverage", "--by", "object"],
        ] {
            let whole = run(&[shown, &[&input[..]]].concat());
            let parts = run(&[shown, &[&input[..], "--parts", &sum]].concat());
            let outputs = [&whole, &parts].map(|own| (own.status.code(), own.stdout.clone()));
            assert_eq!(outputs[0], outputs[1], "{name} {shown:?}: {}", error(&parts));
        }
    }
}

#[test]
fn branch_lists_of_parts_are_those_of_the_whole() {
    let mut random = Random::new(7);
    let folder = Folder::new("lists");
    let input = indexed(&folder, "etmv4", "512");
    let verb = ["profile", "--format", "branch-list"];
    let files = parts(&folder, &verb, &input, "3000", 5);
    let whole = good(&[&verb[..], &[&input[..]]].concat());
    let sum = folder.path("sum.list");
    merged(&folder, files.clone(), &mut random, &sum);
    assert!(fs::read(&sum).expect("a list") == whole);
    // Parts and lists together.
    let list = folder.path("whole.list");
    fs::write(&list, &whole).expect("room");
    let twice = good(&["merge", &list, &list]);
    let all: Vec<&str> = files.iter().chain([&list]).map(String::as_str).collect();
    assert!(good(&[&["merge"][..], &all].concat()) == twice);
    // Of several captures, small ones are in one unit.
    let Some(folder_of) = shared("captures/simpleperf-etm") else { return };
    let own = ["perf_etm.data", "perf_with_missing_aux_data.data"];
    let paths = own.map(|name| folder_of.join(name).to_string_lossy().into_owned());
    let symfs = folder_of.to_string_lossy().into_owned();
    let captures = [&paths[0][..], &paths[1], "--symfs", &symfs];
    let whole = run(&[&verb[..], &captures].concat());
    let units = run(&[&["units", "--job", "branch-list"][..], &captures].concat());
    assert!(units.status.success(), "{}", error(&units));
    let part = folder.path("perf.part");
    good(&[&verb[..], &captures, &["--units", "1/1", "-o", &part]].concat());
    assert!(good(&["merge", &part]) == whole.stdout, "{}", error(&whole));
}

#[test]
fn what_cannot_be_added_or_divided_is_refused() {
    let folder = Folder::new("refused");
    let input = indexed(&folder, "etmv4", "512");
    let files = parts(&folder, &["profile"], &input, "2000", 4);
    let [a, b, c, d] = [0, 1, 2, 3].map(|n| files[n].as_str());
    let text = refused(&["merge", a, b, a]);
    assert!(text.contains("counted twice"), "{text}");
    let text = refused(&["merge", a, b, d]);
    assert!(text.contains("lacking") && text.contains("segments"), "{text}");
    let text = refused(&["profile", &input, "--parts", a, "--parts", b, "--parts", d]);
    assert!(text.contains("lacking"), "{text}");
    let partial = folder.path("partial.part");
    let done = run(&["merge", "--partial", a, d, "-o", &partial]);
    assert!(done.status.success() && error(&done).contains("lacking"), "{}", error(&done));
    assert!(refused(&["merge", &partial, b]).contains("lacking"));
    good(&["merge", &partial, c, b, "-o", &folder.path("sum.part")]);
    // Options of the decoder, and programs, are part of the identity.
    let other = folder.path("other.part");
    let options = ["profile", &input, "--check-opcodes", "--no-index", "--units", "1/1"];
    good(&[&options[..], &["-o", &other]].concat());
    let text = refused(&["merge", a, &other]);
    assert!(text.contains("another") && text.contains("and "), "{text}");
    let list = folder.path("list.part");
    let lists = ["profile", &input, "--format", "branch-list", "--units", "1/1", "-o", &list];
    good(&lists);
    assert!(refused(&["merge", a, &list]).contains("job"));
    // What a part does not have.
    for (arguments, why) in [
        (&["--limit", "3"][..], "--limit"),
        (&["--offset", "0..100"], "--offset"),
        (&["--kernel"], "--kernel"),
        (&["--format", "bolt"], "--format bolt: a part has no format"),
    ] {
        let share = ["profile", &input[..], "--units", "1/2"];
        let text = refused(&[&share[..], arguments].concat());
        assert!(text.contains(why), "{text}");
    }
    let text = refused(&["coverage", &input, "--decisions", "x.json", "--units", "1/2"]);
    assert!(text.contains("--decisions"), "{text}");
    for share in ["0/3", "4/3", "x", "1", "+1/2", "1/+2", "/2"] {
        refused(&["profile", &input, "--units", share]);
    }
    assert!(refused(&["profile", &input, "--unit", "0123"]).contains("no unit 0123"));
    // Verbs whose results depend on what was called before the unit do not divide a trace.
    for verb in ["functions", "calls", "timing"] {
        assert!(refused(&[verb, &input, "--units", "1/2"]).contains("--units"));
    }
}

#[test]
fn a_unit_has_the_same_identity_everywhere() {
    let folder = Folder::new("identity");
    let input = indexed(&folder, "etmv4", "512");
    let listed = String::from_utf8(good(&["units", &input, "--unit-size", "2000"])).expect("text");
    let ids = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split(' ').next().expect("an id").to_owned()).collect()
    };
    assert!(listed.lines().count() > 4, "{listed}");
    // In another folder, with another index of the same content.
    let other = Folder::new("elsewhere");
    let moved = indexed(&other, "etmv4", "512");
    let there = String::from_utf8(good(&["units", &moved, "--unit-size", "2000"])).expect("text");
    assert_eq!(ids(&there), ids(&listed));
    let unit = &ids(&listed)[1];
    let of = |input: &str| good(&["profile", input, "--unit", unit, "--unit-size", "2000"]);
    assert!(of(&moved) == of(&input));
    let json =
        String::from_utf8(good(&["units", &input, "--unit-size", "2000", "--format", "json"]))
            .expect("text");
    for (line, id) in json.lines().zip(ids(&listed)) {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(value["id"], id);
        assert_eq!(value["job"], "counts");
    }
}

#[test]
fn a_second_writer_must_write_the_same() {
    let folder = Folder::new("writers");
    let input = indexed(&folder, "etmv4", "512");
    let part = folder.path("a.part");
    let share = |share: &str| {
        run(&["profile", &input, "--units", share, "--unit-size", "2000", "-o", &part])
    };
    assert!(share("1/4").status.success());
    let bytes = fs::read(&part).expect("a part");
    let again = share("1/4");
    assert!(again.status.success() && error(&again).contains("same content"), "{}", error(&again));
    let other = share("2/4");
    assert_eq!(other.status.code(), Some(2));
    let text = error(&other);
    assert!(text.contains("a.part with other bytes") && text.contains(".other"), "{text}");
    assert!(fs::read(&part).expect("a part") == bytes);
}

/// Starts `arguments`, and kills the process after a random time.
fn killed(arguments: &[&str], random: &mut Random, longest: u64) -> bool {
    let start = |arguments: &[&str]| -> Child {
        command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process")
    };
    let mut child = start(arguments);
    std::thread::sleep(Duration::from_micros(random.below(longest)));
    let ended = child.try_wait().expect("a child").is_some();
    let _ = child.kill();
    child.wait().expect("a child");
    !ended
}

/// Workers that are killed at any moment leave either their part or none: units are computed until
/// each has its file, and the sum is the whole.
#[test]
fn workers_that_are_killed_leave_a_part_or_none() {
    let mut random = Random::new(99);
    let folder = Folder::new("killed");
    let input = indexed(&folder, "etmv4", "512");
    let start = std::time::Instant::now();
    good(&["profile", &input, "--units", "1/6", "--unit-size", "1500"]);
    let longest = start.elapsed().as_micros() as u64 * 3 / 2;
    let (mut kills, mut left) = (0, 0);
    let mut files = Vec::new();
    for n in 1..=6 {
        let part = folder.path(&format!("{n}.part"));
        let share = format!("{n}/6");
        let arguments = ["profile", &input, "--units", &share, "--unit-size", "1500", "-o", &part];
        for _ in 0..times(short_or_long(4, 40)) {
            // The file is removed, so that each worker may be the one that writes it.
            let _ = fs::remove_file(&part);
            kills += u64::from(killed(&arguments, &mut random, longest));
            if Path::new(&part).exists() {
                left += 1;
                good(&["merge", "--partial", &part]);
            }
        }
        good(&arguments);
        files.push(part);
    }
    let sum = folder.path("sum.part");
    merged(&folder, files, &mut random, &sum);
    let whole = good(&["profile", &input, "--format", "folded"]);
    assert!(good(&["profile", &input, "--format", "folded", "--parts", &sum]) == whole);
    assert!(kills > 0, "{kills} killed, {left} parts left");
}

/// A worker whose trace or program is another one fails, and has no part.
#[test]
fn a_worker_with_other_data_fails() {
    let folder = Folder::new("other");
    let input = indexed(&folder, "etmv4", "512");
    let files = parts(&folder, &["profile"], &input, "2000", 2);
    // Another program: the index is of another one, so the buffer is not divided, and the part is
    // not one of these.
    let other = Folder::new("other-program");
    let moved = indexed(&other, "etmv4", "512");
    for file in fs::read_dir(&moved).expect("a folder").map(|file| file.expect("a file").path()) {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        if name.starts_with("cpu_0") && name.ends_with(".bin") {
            let mut bytes = fs::read(&file).expect("a file");
            bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
            fs::write(&file, bytes).expect("room");
        }
    }
    let part = other.path("b.part");
    let done = run(&["profile", &moved, "--units", "2/2", "--unit-size", "2000", "-o", &part]);
    assert_eq!(done.status.code(), Some(2));
    assert!(error(&done).contains("the index cannot be used"), "{}", error(&done));
    good(&["index", &moved, "--segment", "512"]);
    let part = other.path("c.part");
    good(&["profile", &moved, "--units", "2/2", "--unit-size", "2000", "-o", &part]);
    let text = refused(&["merge", &files[0], &part]);
    assert!(text.contains("program"), "{text}");
}

#[cfg(feature = "columns")]
#[test]
fn rows_of_parts_are_those_of_the_whole() {
    let mut random = Random::new(1);
    for name in ["etmv4", "itm", "stm", "etmv3"] {
        let folder = Folder::new(&format!("rows-{name}"));
        let input = indexed(&folder, name, "256");
        for table in [
            "elements",
            "ranges",
            "instructions",
            "timestamps",
            "contexts",
            "software_writes",
            "data_accesses",
            "dwt_events",
            "gaps",
            "calls",
            "exceptions",
            "branches",
        ] {
            let of = ["table", table];
            let whole = good(&[&of[..], &[&input[..]]].concat());
            let size = (300 + random.below(3000)).to_string();
            let inner = Folder::new(&format!("rows-{name}-{table}"));
            let files = parts(&inner, &of, &input, &size, 5);
            let sum = inner.path("sum.csv");
            merged(&inner, files, &mut random, &sum);
            assert!(fs::read(&sum).expect("a table") == whole, "{name} {table}");
        }
        for table in ["packets", "captures", "segments"] {
            refused(&["table", table, &input, "--units", "1/2"]);
        }
    }
}

/// The demo capture, with its index.
fn demo(folder: &Folder, name: &str) -> String {
    let path = folder.path(name);
    good(&["demo", "--write", &path]);
    good(&["index", &path, "--segment", "256"]);
    path
}
