//! Plans: workers that open only the captures of their units.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tracewright_testing::shared;

use super::{Folder, command, demo, error, good, parts, refused, run};

/// The offset of the trace in `perf_etm.data`.
const TRACE: usize = 9944;

/// The offset of an instruction in `etm_test_loop`.
pub const CODE: usize = 0x1004;

/// Recordings of phones: `count` files with other numbers of turns of a loop, and with a number in
/// bytes of no source (ID 0), and the program.
pub struct Fleet {
    pub list: String,
    pub paths: Vec<PathBuf>,
    pub binary: String,
}

impl Fleet {
    pub fn new(folder: &Folder, count: usize) -> Option<Fleet> {
        let path = shared("captures/simpleperf-etm/perf_etm.data")?;
        let mut bytes = fs::read(&path).expect("a capture");
        let mut paths = Vec::new();
        for n in 0..count {
            // An atom packet of format 6 has 4 to 24 atoms, of which two are a turn.
            bytes[TRACE + 0x12b] = 0xc0 | (n % 11 * 2) as u8;
            let digits = (n as u32).to_le_bytes();
            (0..4).for_each(|at| bytes[TRACE + 0x171 + 2 * at] = digits[at]);
            let own = PathBuf::from(folder.path(&format!("{n}.data")));
            fs::write(&own, &bytes).expect("room");
            paths.push(own);
        }
        let list = folder.path("list");
        let text: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        fs::write(&list, text.join("\n")).expect("room");
        let binary = path.with_file_name("etm_test_loop").to_string_lossy().into_owned();
        Some(Fleet { list: format!("@{list}"), paths, binary })
    }

    /// The bytes of trace of one file.
    pub const SIZE: &str = "384";

    /// Writes the plan, in which each file is a unit.
    pub fn plan(&self, path: &str) {
        let of = ["units", &self.list, "--job", "branch-list", "--unit-size", Fleet::SIZE];
        good(&[&of[..], &["--binary", &self.binary, "-o", path]].concat());
    }

    /// The arguments of a worker with a plan.
    pub fn worker<'a>(&'a self, plan: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let of = ["profile", "--format", "branch-list", "--plan", plan, "--binary", &self.binary];
        [&of[..], more].concat()
    }

    /// The profile of the captures of this list, without units.
    pub fn whole(&self, list: &str) -> Vec<u8> {
        good(&["profile", "--format", "branch-list", "--binary", &self.binary, "--add", list])
    }
}

#[test]
fn workers_with_a_plan_open_their_captures_only() {
    let folder = Folder::new("plan");
    let Some(fleet) = Fleet::new(&folder, 30) else { return };
    let plan = folder.path("fleet.plan");
    fleet.plan(&plan);
    fleet.plan(&plan);
    let text = fs::read_to_string(&plan).expect("a plan");
    assert_eq!(text.lines().filter(|line| line.contains("\"type\":\"unit\"")).count(), 30);
    let shares: Vec<String> = (1..=4).map(|n| format!("{n}/4")).collect();
    let files: Vec<String> = (1..=4).map(|n| folder.path(&format!("{n}.part"))).collect();
    // The captures of other shares are not there.
    let absent = folder.path("absent");
    let mut opened = 0;
    for path in &fleet.paths {
        fs::rename(path, &absent).expect("a file");
        let failed = shares.iter().filter(|share| {
            let done = run(&fleet.worker(&plan, &["--units", share, "-q"]));
            let failed = !done.status.success();
            let name = path.to_string_lossy().into_owned();
            assert!(!failed || error(&done).contains(&name), "{}", error(&done));
            failed
        });
        opened += failed.count();
        fs::rename(&absent, path).expect("a file");
        if opened == 3 {
            break;
        }
    }
    assert_eq!(opened, 3, "each capture is of one share");
    for (share, file) in shares.iter().zip(&files) {
        good(&fleet.worker(&plan, &["--units", share, "-o", file]));
        // The same part as without a plan.
        let of = ["profile", &fleet.list, "--format", "branch-list", "--binary", &fleet.binary];
        let own = good(&[&of[..], &["--units", share, "--unit-size", Fleet::SIZE]].concat());
        assert!(own == fs::read(file).expect("a part"), "{share}");
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let sum = good(&[&["merge"][..], &files].concat());
    assert!(sum == fleet.whole(&fleet.list));
    // An extract of a plan, as the package for Python makes them: the first line, a capture, its
    // unit.
    let unit = text.lines().find(|line| line.contains("\"type\":\"unit\"")).expect("a unit");
    let unit: serde_json::Value = serde_json::from_str(unit).expect("JSON");
    let id = unit["id"].as_str().expect("an identifier");
    let part = good(&fleet.worker(&plan, &["--unit", id]));
    let data = unit["pieces"][0][0].as_str().expect("a digest");
    let lines = text.lines().enumerate().filter(|(n, line)| *n == 0 || line.contains(data));
    let lines: String = lines.map(|(_, line)| format!("{line}\n")).collect();
    let sha256 = tracewright::analysis::coverage_runs::Digest::of(lines.as_bytes());
    let end = format!("{{\"type\":\"end\",\"lines\":3,\"sha256\":\"{sha256}\"}}\n");
    let mut worker = command(&fleet.worker("-", &["--unit", id]));
    let mut child = worker.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a worker");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all((lines + &end).as_bytes()).expect("a reader");
    drop(pipe);
    assert!(child.wait_with_output().expect("a worker").stdout == part);
}

#[test]
fn a_worker_compares_its_captures_with_the_plan() {
    let folder = Folder::new("plan-other");
    let Some(fleet) = Fleet::new(&folder, 4) else { return };
    let plan = folder.path("fleet.plan");
    fleet.plan(&plan);
    let worker = fleet.worker(&plan, &["--units", "1/1", "-q"]);
    let good_part = good(&worker);
    // Another trace, another program, and an index that was made since.
    let mut bytes = fs::read(&fleet.paths[2]).expect("a capture");
    bytes[TRACE + 0x130] ^= 1;
    let before = fs::read(&fleet.paths[2]).expect("a capture");
    fs::write(&fleet.paths[2], &bytes).expect("room");
    let text = refused(&worker);
    let name = fleet.paths[2].to_string_lossy().into_owned();
    assert!(text.contains(&name) && text.contains("not the capture of which the plan"), "{text}");
    fs::write(&fleet.paths[2], &before).expect("room");
    let mut other = worker.clone();
    let at = other.iter().position(|own| *own == "--binary").expect("the program");
    other.drain(at..at + 2);
    let text = refused(&other);
    assert!(text.contains("what differs: the program"), "{text}");
    assert!(good(&worker) == good_part);
    // Another program with the same build identifier: an instruction that was not executed, and
    // bytes that are no code.
    let changed = folder.path("etm_test_loop");
    let program = fs::read(&fleet.binary).expect("the program");
    for (at, differs) in [(CODE, true), (program.len() - 1, false)] {
        let mut bytes = program.clone();
        bytes[at] ^= 1;
        fs::write(&changed, bytes).expect("room");
        let mut other = worker.clone();
        let at = other.iter().position(|own| *own == "--binary").expect("the program");
        other[at + 1] = &changed;
        match differs {
            true => {
                let text = refused(&other);
                assert!(text.contains("what differs: the program"), "{text}");
            }
            false => assert!(good(&other) == good_part),
        }
    }
}

#[test]
fn plans_that_cannot_be_used_are_refused() {
    let folder = Folder::new("plan-refused");
    let input = demo(&folder, "d1");
    let plan = folder.path("a.plan");
    good(&["units", &input, "--unit-size", "256", "-o", &plan]);
    // Of one capture with an index, too.
    let own = folder.path("own.part");
    good(&["coverage", "--plan", &plan, "--units", "2/3", "-o", &own]);
    let files = parts(&folder, &["profile"], &input, "256", 3);
    assert!(fs::read(&own).expect("a part") == fs::read(&files[1]).expect("a part"));
    for (arguments, why) in [
        (&["profile", "--plan", &plan][..], "--units K/N"),
        (&["profile", "--plan", &plan, &input, "--units", "1/2"], "cannot be used with"),
        (&["profile", "--plan", &plan, "--units", "1/2", "--unit-size", "9"], "cannot be used"),
        (&["profile", "--plan", &plan, "--units", "1/2", "--force"], "cannot be used"),
        (&["profile", "--plan", &own, "--units", "1/2"], "no plan"),
        (&["profile", "--plan", &input, "--units", "1/2"], "no plan"),
        (&["profile", "--plan", &plan, "--units", "1/2", "--committed"], "the job `counts`"),
        (&["profile", "--plan", &plan, "--units", "1/2", "--no-index"], "the index"),
        (
            &["profile", "--plan", &plan, "--units", "1/2", "--format", "branch-list"],
            "computes the job `branch-list`",
        ),
        (&["profile", "--plan", &plan, "--units", "1/2", "-o", &plan], "is read as"),
        (&["units", &input, "-o", &own], "other bytes"),
        (&["units", &input, "-o", &plan, "--format", "json"], "cannot be used"),
    ] {
        let text = refused(arguments);
        assert!(text.contains(why), "{arguments:?}: {text}");
    }
    let text = fs::read_to_string(&plan).expect("a plan");
    let version = text.replacen("\"version\":1", "\"version\":9", 1);
    for (n, other) in
        [&text[..text.len() - 9], &text.replacen(':', ";", 1), &version].into_iter().enumerate()
    {
        let path = folder.path(&format!("{n}.plan"));
        fs::write(&path, other).expect("room");
        let text = refused(&["profile", "--plan", &path, "--units", "1/2"]);
        assert!(text.contains(&path), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn a_line_break_in_a_path_is_not_printed() {
    let folder = Folder::new("line-break");
    let input = demo(&folder, "d1\nd2");
    assert!(Path::new(&input).exists());
    let listed = String::from_utf8(good(&["units", &input, "--no-index"])).expect("text");
    assert_eq!(listed.lines().count(), 1, "{listed}");
}
