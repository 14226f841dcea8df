//! `index`, `find`, and parts of a trace with and without an index.

use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use tracewright_testing::{Random, sample, shared, times};

use crate::common::{Folder, Output, args, command, report_of, tracewright};

fn run(words: &str, paths: &[&Path]) -> Output {
    tracewright(&args(words, paths))
}

/// The captures of the repository, each copied to `folder` with its trace several times.
fn repeated(folder: &Folder, times: usize) -> Vec<PathBuf> {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let mut copies = Vec::new();
    for entry in fs::read_dir(captures).unwrap().map(Result::unwrap) {
        let from = entry.path().join("capture");
        if !from.exists() {
            continue;
        }
        let to = folder.path(&entry.file_name().to_string_lossy());
        fs::create_dir_all(&to).unwrap();
        for file in fs::read_dir(&from).unwrap().map(|file| file.unwrap().path()) {
            let mut bytes = fs::read(&file).unwrap();
            let name = file.file_name().unwrap().to_string_lossy();
            if name.starts_with("ETB_") {
                bytes = bytes.repeat(times);
            }
            fs::write(to.join(&*name), bytes).unwrap();
        }
        copies.push(to);
    }
    assert!(copies.len() >= 11);
    copies.sort();
    copies
}

/// Whether the outputs of a verb are the same. The page of `report` has the tiles of the index,
/// too, whose size is that of its segments.
fn alike(verb: &str, a: &str, b: &str) -> bool {
    match verb.starts_with("report") {
        true => report_of(a) == report_of(b),
        false => a == b,
    }
}

/// Compares commands with the index beside `capture` and without.
fn same(capture: &Path, verb: &str, window: &str) {
    let with = run(&format!("{verb} {window}"), &[capture]);
    let without = run(&format!("{verb} {window} --no-index"), &[capture]);
    assert_eq!(with.err, without.err, "{verb} {window} {}", capture.display());
    assert_eq!(with.code, without.code, "{verb} {window} {}", capture.display());
    assert!(alike(verb, &with.out, &without.out), "{verb} {window} {}", capture.display());
}

#[test]
fn parts_are_the_same_with_and_without_an_index() {
    let folder = Folder::new("index-parts");
    let mut random = Random::new(1);
    for (n, capture) in repeated(&folder, 6).into_iter().enumerate() {
        let made = run("index --segment 64 --jobs 2", &[&capture]);
        assert_eq!(made.code, Some(0), "{}", made.err);
        let mut some = |most: u64| {
            let start = random.below(most);
            format!("{start}..{}", start + 1 + random.below(most / 2))
        };
        let parts = [
            ("decode --packets", format!("--offset {}", some(600))),
            ("decode --format json", format!("--time {}", some(3000))),
            ("decode --format none", format!("--instruction {}", some(900))),
            ("decode", "--at 40 --around 3".to_owned()),
            ("instructions", format!("--instruction {}", some(900))),
            ("instructions --format pc", format!("--offset {}", some(600))),
            ("packets --bytes", format!("--offset {}", some(600))),
            ("functions --format json", format!("--offset {}", some(600))),
            ("calls", format!("--instruction {}", some(900))),
            ("history --count 5", format!("--offset {}", some(600))),
            ("timeline --format chrome", format!("--time {}", some(3000))),
            ("report", format!("--offset {}", some(600))),
            ("profile --format json", format!("--instruction {}", some(900))),
            ("coverage", format!("--offset {}", some(600))),
        ];
        // Each capture in two of these, in the default run.
        let count = times(2) as usize;
        for k in 0..count.min(parts.len()) {
            let (verb, window) = &parts[(2 * n + k) % parts.len()];
            same(&capture, verb, window);
        }
    }
}

/// Two RISC-V harts in messages with source numbers.
#[test]
fn parts_of_two_harts_are_the_same() {
    let small = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/etrace-2.0");
    let log = fs::read_to_string(small.join("log.csv")).unwrap();
    let (head, steps) = log.split_once('\n').unwrap();
    // The other hart takes the same steps, a few lines later.
    let other: Vec<String> = steps
        .lines()
        .map(|line| line.strip_prefix('0').map_or(line.to_owned(), |line| format!("1{line}")))
        .collect();
    let mut both = vec![head.to_owned()];
    for (n, line) in steps.lines().enumerate() {
        both.push(line.to_owned());
        both.extend(n.checked_sub(5).map(|n| other[n].clone()));
    }
    both.extend_from_slice(&other[other.len() - 5..]);
    let folder = Folder::new("index-harts");
    let log = folder.path("log.csv");
    fs::write(&log, both.join("\n") + "\n").unwrap();
    let capture = folder.path("capture");
    let mut words = args(
        "encode --protocol etrace --framing encapsulated --config xlen=64 --config version=10 \
         --config source_width=3 --config source=2 --log",
        &[&log],
    );
    words.extend(args("-o", &[&capture]));
    let made = tracewright(&words);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let files = fs::read_dir(&capture).unwrap().map(|file| file.unwrap().path());
    let trace = files.into_iter().find(|file| file.extension().is_some_and(|e| e == "bin"));
    let trace = trace.expect("a trace");
    fs::write(&trace, fs::read(&trace).unwrap().repeat(12)).unwrap();
    let made = run("index --segment 128 --jobs 2", &[&capture]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    for (verb, window) in [
        ("decode", "--offset 3000..3100"),
        ("decode --format json", "--instruction 2000..2050"),
        ("functions --format json", "--offset 1500..4000"),
    ] {
        same(&capture, verb, window);
    }
    let both = run("decode --offset 3000..3200", &[&capture]).out;
    assert!(both.contains("ETRACE_0") && both.contains("ETRACE_1"), "{both}");
    let [with, without] = ["", " --no-index"].map(|index| {
        let mut words = args("find", &[&capture]);
        words.extend(args(&format!("--all exception 12{index}"), &[]));
        tracewright(&words).out
    });
    assert!(with == without && with.lines().count() > 12, "{with}\n{without}");
}

/// Captures of OpenCSD: each part in its format, too.
#[test]
fn parts_of_conformance_captures_are_the_same() {
    let Some(snapshots) = shared("conformance/arm/snapshots") else { return };
    let folder = Folder::new("index-conformance");
    let mut random = Random::new(2);
    let mut all: Vec<_> =
        fs::read_dir(snapshots).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    // In the default run, the short ones.
    let most = if times(0) > 0 { u64::MAX } else { 10_000 };
    let mut checked = 0;
    for snapshot in sample(2, all) {
        let index = folder.path("snapshot.twx");
        let info = run("info --format json", &[&snapshot]).out;
        let size = info.lines().find_map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).ok()?;
            line.get("bytes")?.as_u64()
        });
        let Some(size) = size.filter(|size| *size > 0 && *size < most) else { continue };
        let segment = (size / 12).clamp(64, 1 << 18);
        let words = format!("index --segment {segment} -o {}", index.display());
        let made = run(&words, &[&snapshot]);
        assert_eq!(made.code, Some(0), "{}", made.err);
        // The first and the last time.
        let time = |which: &str| -> Option<u64> {
            let found = run(&format!("find {which} time 0 --no-index"), &[&snapshot]).out;
            found.split_whitespace().skip_while(|word| *word != "time").nth(1)?.parse().ok()
        };
        let reported = if times(0) > 0 { time("first").zip(time("last")) } else { None };
        let reported = reported.map(|(a, b)| a.min(b)..a.max(b));
        let words = [
            "decode --packets",
            "decode --format json",
            "instructions",
            "packets",
            "functions",
            "calls --limit 5000",
            "profile --format json",
            "timeline --format chrome --limit 5000",
            "coverage",
            "report --limit 5000",
            "history",
            "decode --format opencsd",
        ];
        let long = times(0) > 0;
        let of = if long { &words[..] } else { &words[checked % words.len()..][..1] };
        let index = format!("--index {}", index.display());
        let compare = |words: &str| {
            let with = run(&format!("{words} {index}"), &[&snapshot]);
            let without = run(&format!("{words} --no-index"), &[&snapshot]);
            assert!(alike(words, &with.out, &without.out), "{words} {}", snapshot.display());
            assert_eq!(with.code, without.code, "{words} {}", snapshot.display());
        };
        for verb in of {
            let mut some = |most: u64| {
                let start = random.below(most);
                format!("{start}..{}", start + 1 + random.below(most / 4 + 1))
            };
            compare(&format!("{verb} --offset {}", some(size)));
            if long {
                // Everything, and parts of the other kinds.
                compare(verb);
                compare(&format!("{verb} --instruction {}", some(4 * size)));
                compare(&format!("{verb} --at {} --around 40", random.below(size)));
                if let Some(Range { start, end }) = &reported {
                    let from = start + random.below(end - start + 1);
                    compare(&format!("{verb} --time {from}..{}", from + (end - start) / 8 + 1));
                }
            }
        }
        for query in ["count any", "last any", "first exception", "count gap", "nth 3 context"] {
            if long {
                compare(&format!("find {query}"));
            }
        }
        checked += 1;
    }
    assert!(checked > 5, "{checked}");
}

#[test]
fn results_are_printed_and_shown() {
    let folder = Folder::with_demo("find");
    let demo = folder.demo();
    let all = run("decode", &[&demo]).out;
    let ranges = all.lines().filter(|line| line.contains("  range ")).count();
    let find = |words: &str| {
        let mut words: Vec<_> = words.split(' ').collect();
        words.insert(1, demo.to_str().unwrap());
        tracewright(&words)
    };
    let count = find("find count address 0..");
    assert_eq!((count.code, count.out.trim()), (Some(0), ranges.to_string().as_str()));
    let listed = find("find address 0.. --all --limit 3");
    assert_eq!(listed.out.lines().count(), 3, "{}", listed.out);
    let none = find("find exception 12345");
    assert_eq!((none.code, none.out.as_str()), (Some(1), ""));

    let json = find("find first address 0.. --format json").out;
    let found: serde_json::Value = serde_json::from_str(json.lines().nth(1).unwrap()).unwrap();
    assert_eq!(found["type"], "found");
    assert_eq!(found["kind"], "range");
    let number = found["element"].as_u64().unwrap();
    let shown = run(&format!("decode --at {number}"), &[&demo]).out;
    let line = shown.lines().last().unwrap();
    assert!(all.lines().any(|other| other == line), "{line}");
    assert!(line.contains("range"), "{line}");
    assert_eq!(all.lines().nth(number as usize).map(str::trim), Some(line.trim()));

    // An exception has a number, too.
    let json = find("find first exception --format json").out;
    let line = json.lines().nth(1).expect("an exception");
    let found: serde_json::Value = serde_json::from_str(line).unwrap();
    let fields = found.as_object().expect("an object");
    for name in fields.keys() {
        assert_eq!(line.matches(&format!("\"{name}\":")).count(), 1, "{name}: {line}");
    }
    let shown = run(&format!("decode --at {} --format json", found["element"]), &[&demo]).out;
    let shown = shown.lines().filter_map(|line| serde_json::from_str(line).ok());
    let shown = shown.filter(|line: &serde_json::Value| line["kind"] == "exception");
    let numbers: Vec<_> = shown.map(|line| line["number"].clone()).collect();
    assert_eq!(numbers, [found["number"].clone()]);

    for (words, part) in [
        ("find", "a condition is missing"),
        ("find functions main", "is not a condition"),
        ("find function no_such_function", "no program image has a function"),
        ("find last gap --all", "--all"),
        ("find gap --index /no/such/index", "no such file"),
        ("decode --offset 9..3", "is empty"),
        ("decode --offset 0..9 --committed", "needs the whole trace"),
        ("decode --around 3", "--at"),
        ("index --committed", "an index has all elements"),
        ("index --segment 3", "64"),
    ] {
        let failed = find(words);
        assert_eq!(failed.code, Some(2), "{words}: {}", failed.err);
        assert!(failed.err.contains(part), "{words}: {}", failed.err);
    }
}

/// The length of a segment is in bytes 16 to 23 of the file.
#[test]
fn segments_have_the_documented_length() {
    let folder = Folder::with_demo("index-segment");
    let demo = folder.demo();
    let index = folder.path("demo.twx");
    for (words, len) in [("", 24576u64), (" --segment 4096", 4096)] {
        let made = run(&format!("index{words} -o {}", index.display()), &[&demo]);
        assert_eq!(made.code, Some(0), "{}", made.err);
        assert_eq!(fs::read(&index).unwrap()[16..24], len.to_le_bytes(), "index{words}");
    }
}

#[test]
fn a_stale_index_is_not_used() {
    let folder = Folder::new("index-stale");
    repeated(&folder, 6);
    let capture = &folder.path("etmv4");
    assert_eq!(run("index --segment 64", &[capture]).code, Some(0));
    let index = capture.with_extension("twx");
    let file = capture.join("ETB_0.bin");
    let trace = fs::read(&file).unwrap();

    let window = "decode --offset 100..300";
    let before = run(window, &[capture]);
    assert_eq!(before.err, "");
    let before_out = before.out.clone();
    // The same bytes with another time of modification: the segments are compared.
    fs::write(&file, &trace).unwrap();
    let touched = run(window, &[capture]);
    assert_eq!((touched.out.as_str(), touched.err.as_str()), (before.out.as_str(), ""));
    // Other bytes.
    let mut other = trace.clone();
    other[200] ^= 0x20;
    fs::write(&file, &other).unwrap();
    let stale = run(window, &[capture]);
    assert!(stale.err.contains("made of other trace data"), "{}", stale.err);
    assert_eq!(stale.out, run(&format!("{window} --no-index"), &[capture]).out);
    fs::write(&file, &trace).unwrap();
    // Other bytes, other program memory, and a file of the same size in the place of another one,
    // each with the former time of modification.
    #[cfg(unix)]
    for (name, reason) in
        [("ETB_0.bin", "made of other trace data"), ("cpu_0.bin", "made with other program memory")]
    {
        let path = capture.join(name);
        let before = fs::read(&path).unwrap();
        assert_eq!(run("index --segment 64", &[capture]).code, Some(0));
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let restore = |path: &std::path::Path| {
            fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        };
        let mut other = before.clone();
        let half = other.len() / 2;
        other[half] ^= 0x20;
        for moved in [false, true] {
            if moved {
                let apart = folder.path("apart");
                fs::write(&apart, &other).unwrap();
                restore(&apart);
                fs::rename(&apart, &path).unwrap();
            } else {
                fs::write(&path, &other).unwrap();
                restore(&path);
            }
            let stale = run(window, &[capture]);
            assert!(stale.err.contains(reason), "{name}: {}", stale.err);
            assert_eq!(stale.out, run(&format!("{window} --no-index"), &[capture]).out);
            fs::write(&path, &before).unwrap();
            restore(&path);
            let same = run(window, &[capture]);
            assert_eq!((same.out.as_str(), same.err.as_str()), (before_out.as_str(), ""), "{name}");
        }
    }
    // Other options.
    let options = run(&format!("{window} --check-opcodes"), &[capture]);
    assert!(options.err.contains("other options"), "{}", options.err);
    // A damaged index, and no index at all.
    let whole = fs::read(&index).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&index, &damaged).unwrap();
    assert_eq!(run(window, &[capture]).out, before.out);
    fs::write(&index, b"not an index at all").unwrap();
    let refused = run(window, &[capture]);
    assert!(refused.err.contains("it is not an index"), "{}", refused.err);
    assert_eq!(refused.out, before.out);
    fs::write(&index, &whole[..whole.len() - 9]).unwrap();
    assert_eq!(run(window, &[capture]).out, before.out);
}

/// What was before an event is the same whether it is found with an index or by decoding the whole
/// trace.
#[test]
fn history_is_the_same_with_and_without_an_index() {
    let folder = Folder::new("index-history");
    for (n, capture) in repeated(&folder, 5).into_iter().enumerate() {
        let made = run("index --segment 128", &[&capture]);
        assert_eq!(made.code, Some(0), "{}", made.err);
        let address = run("instructions --format pc", &[&capture]).out;
        let address = address.lines().last().unwrap_or("0").trim().to_owned();
        let address = format!("0x{}", address.trim_start_matches("0x"));
        let events = [
            "--count 4".to_owned(),
            "--before exception".to_owned(),
            format!("--before {address}"),
            "--before exception --first --count 1".to_owned(),
            format!("--before {address} --first --count 300"),
            "--count 0".to_owned(),
        ];
        let count = times(2) as usize;
        for k in 0..count.min(events.len()) {
            let words = format!("history {}", events[(2 * n + k) % events.len()]);
            let with = run(&words, &[&capture]);
            let without = run(&format!("{words} --no-index"), &[&capture]);
            assert_eq!(with.out, without.out, "{words} {}", capture.display());
            assert_eq!(with.code, without.code, "{words} {}", capture.display());
            // Notes about the event; the summary is only that of the whole trace.
            let notes = |err: &str| -> Vec<String> {
                let own = err.lines().filter(|line| line.contains("occur"));
                own.map(str::to_owned).collect()
            };
            assert_eq!(notes(&with.err), notes(&without.err), "{words} {}", capture.display());
        }
    }
}

/// The file has its name when it is complete: a process that is killed leaves the index before it,
/// or none.
#[test]
fn a_killed_process_leaves_no_part_of_an_index() {
    let folder = Folder::new("index-killed");
    repeated(&folder, 1500);
    let capture = folder.path("etmv4");
    let index = capture.with_extension("twx");
    let mut left = 0;
    for delay in [1, 5, 20, 60, 150] {
        let mut making = command(&args("index --segment 256 --jobs 1", &[&capture]));
        let mut making = making.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        making.kill().unwrap();
        let killed = !making.wait().unwrap().success();
        left += usize::from(killed);
        if killed && !index.exists() {
            continue;
        }
        let used = run("decode --format none --offset 0..100", &[&capture]);
        assert_eq!(used.err, "", "after {delay} ms");
    }
    assert!(left > 0, "no process was killed");
    assert_eq!(run("index", &[&capture]).code, Some(0));
    let names = fs::read_dir(folder.path("")).unwrap().map(|e| e.unwrap().file_name());
    let names: Vec<_> = names.filter(|name| name.to_string_lossy().contains("twx")).collect();
    assert!(names.contains(&"etmv4.twx".into()), "{names:?}");
}

/// An index goes to a pipe, too, but not one that is written again and again.
#[test]
fn an_index_on_standard_output() {
    let folder = Folder::with_demo("index-stdout");
    let (demo, file) = (folder.demo(), folder.path("index.twx"));
    assert_eq!(run("index --output", &[&file, &demo]).code, Some(0));
    let piped = command(&args("index --output -", &[&demo])).output().unwrap();
    assert!(piped.status.success() && piped.stderr.is_empty(), "{piped:?}");
    assert_eq!(piped.stdout, fs::read(&file).unwrap());
    let followed = run("index --follow 0 --output -", &[&demo]);
    assert_eq!((followed.code, followed.out.as_str()), (Some(2), ""));
    assert!(followed.err.contains("name a file"), "{}", followed.err);
}

/// An index of a growing trace, and one whose process is killed.
#[test]
fn a_growing_trace_is_followed() {
    let folder = Folder::new("index-follow");
    repeated(&folder, 1);
    let capture = folder.path("etmv4");
    let file = capture.join("ETB_0.bin");
    let part = fs::read(&file).unwrap();
    let index = capture.with_extension("twx");
    let grow = || {
        let mut growing = fs::OpenOptions::new().append(true).open(&file).unwrap();
        growing.write_all(&part.repeat(4)).unwrap();
    };
    let follow = |seconds: u64| {
        let words = format!("index --segment 64 --follow {seconds}");
        let mut command = command(&args(&words, &[&capture]));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let size = || fs::metadata(&index).map_or(0, |about| about.len());
    let wait = |child: &mut Child, least: u64| {
        while size() <= least {
            assert_eq!(child.try_wait().unwrap(), None, "the index does not grow");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    // The index of all that is there at the beginning.
    assert_eq!(run("index --segment 64", &[&capture]).code, Some(0));
    let first = size();
    fs::remove_file(&index).unwrap();
    let mut killed = follow(60);
    wait(&mut killed, 0);
    grow();
    // A larger one has a part of what was added.
    wait(&mut killed, first);
    killed.kill().unwrap();
    killed.wait().unwrap();
    // The first part of the trace.
    same(&capture, "decode", "--offset 0..300");
    // A batch that was not written to its end.
    let bytes = fs::read(&index).unwrap();
    fs::write(&index, &bytes[..bytes.len() - 5]).unwrap();
    let cut = run("find", &[&capture, Path::new("count any")]);
    assert!(cut.err.contains("only the first part"), "{}", cut.err);
    grow();
    let mut rest = follow(0);
    assert!(rest.wait().unwrap().success());
    same(&capture, "decode", "--offset 300..900");
    same(&capture, "decode", "--instruction 2000..2100");
    let complete = run("decode --offset 0..300", &[&capture]);
    assert_eq!(complete.err, "");
}
