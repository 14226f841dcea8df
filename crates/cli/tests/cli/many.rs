//! A profile of many captures, and what is printed of each.

use std::fs;
use std::path::Path;

use crate::common::{Folder, args, tracewright};
use tracewright::capture::perf::{BranchList, Sequence};
use tracewright_testing::shared;

/// Copies the demo to several folders, and writes their paths to a list.
fn captures(test: &str, count: usize) -> Folder {
    let folder = Folder::with_demo(test);
    let mut list = String::new();
    for n in 0..count {
        let copy = folder.path(&format!("copy{n}"));
        fs::create_dir(&copy).unwrap();
        for file in fs::read_dir(folder.demo()).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), copy.join(file.file_name())).unwrap();
        }
        list.push_str(&format!("{}\n\n", copy.display()));
    }
    fs::write(folder.path("list"), list).unwrap();
    folder
}

/// The executed instructions of `profile --format json`.
fn instructions(out: &str) -> u64 {
    let head: serde_json::Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    head["instructions"].as_u64().unwrap()
}

#[test]
fn counts_of_several_captures_are_summed() {
    let folder = captures("many-sums", 3);
    let demo = folder.demo();
    let one = tracewright(&args("profile --format json", &[&demo]));
    assert_eq!(one.code, Some(0), "{}", one.err);
    let own = instructions(&one.out);
    let list = format!("@{}", folder.path("list").display());
    let words = format!("profile --format json --add {list}");
    let all = tracewright(&args(&words, &[&demo, &folder.path("copy0")]));
    assert_eq!((all.code, instructions(&all.out)), (Some(0), 5 * own), "{}", all.err);
    // A line for each.
    assert_eq!(all.err.lines().count(), 5, "{}", all.err);
    let line = format!("{}: {own} instructions", folder.path("copy1").display());
    assert!(all.err.lines().any(|found| found.starts_with(&line)), "{}", all.err);
    let quiet = tracewright(&args(&format!("{words} --quiet"), &[&demo, &folder.path("copy0")]));
    assert_eq!((quiet.out, quiet.err.as_str()), (all.out, ""));
    let absent = tracewright(&args("profile --add @absent", &[&demo]));
    assert_eq!(absent.code, Some(2));
    assert!(absent.err.contains("absent"), "{}", absent.err);
}

#[test]
fn captures_that_cannot_be_read_are_listed_at_the_end() {
    let folder = captures("many-damaged", 2);
    let (demo, copy) = (folder.demo(), folder.path("copy0"));
    let damaged = folder.path("damaged.data");
    fs::write(&damaged, b"PERFILE2\x68\0\0").unwrap();
    let paths: [&Path; 3] = [&demo, &damaged, &copy];
    let stopped = tracewright(&args("profile --format json", &paths));
    assert_eq!((stopped.code, stopped.out.as_str()), (Some(2), ""), "{}", stopped.err);
    let own = instructions(&tracewright(&args("profile --format json", &[&demo])).out);
    let orders: [[&Path; 3]; 2] = [paths, [&damaged, &demo, &copy]];
    for order in orders {
        let output = tracewright(&args("profile --keep-going --format json", &order));
        assert_eq!((output.code, instructions(&output.out)), (Some(1), 2 * own), "{}", output.err);
        let lines: Vec<&str> = output.err.lines().collect();
        assert_eq!(lines.len(), 4, "{}", output.err);
        assert!(lines[2].starts_with("1 of 3 captures cannot be read"), "{}", lines[2]);
        assert!(lines[3].contains("damaged.data: "), "{}", lines[3]);
    }
    let output = tracewright(&args("profile --keep-going --quiet", &paths));
    assert_eq!((output.code, output.err.lines().count()), (Some(1), 2), "{}", output.err);
    let output = tracewright(&args("profile --keep-going", &[&damaged, &damaged]));
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{}", output.err);
    assert!(output.err.contains("none of the 2 captures can be read"), "{}", output.err);
}

/// Without a format, people read it.
#[test]
fn a_profile_is_tables_by_default() {
    let folder = Folder::with_demo("many-tables");
    let output = tracewright(&args("profile", &[&folder.demo()]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    for want in [" in 1 file\n", "%  function\n", "%  branch\n", "square", " -> "] {
        assert!(output.out.contains(want), "{want}: {}", output.out);
    }
    let short = tracewright(&args("profile --limit 1", &[&folder.demo()]));
    assert!(short.out.lines().count() < output.out.lines().count(), "{}", short.out);
    assert!(short.out.contains(" more\n"), "{}", short.out);
    let refused = tracewright(&args("profile --limit 1 --format json", &[&folder.demo()]));
    assert_eq!(refused.code, Some(2));
}

/// An empty profile is an answer, with its reason.
#[test]
fn an_empty_profile_has_a_reason() {
    let folder = Folder::with_demo("many-empty");
    let output = tracewright(&args("profile --kernel --format json", &[&folder.demo()]));
    assert_eq!((output.code, instructions(&output.out)), (Some(1), 0), "{}", output.err);
    let want = "note: the profile is empty: --kernel, --user and --exclude-process leave none of";
    assert!(output.err.contains(want), "{}", output.err);
}

/// A thousand recordings of a phone, one of them damaged.
#[test]
fn a_thousand_captures_are_summed() {
    let Some(path) = shared("captures/simpleperf-etm/perf_etm.data") else { return };
    let folder = Folder::new("many-thousand");
    let bytes = fs::read(&path).unwrap();
    let mut list = String::new();
    for n in 0..1000 {
        let copy = folder.path(&format!("{n}.data"));
        fs::write(&copy, if n == 500 { &bytes[..300] } else { &bytes }).unwrap();
        list.push_str(&format!("{}\n", copy.display()));
    }
    fs::write(folder.path("list"), list).unwrap();
    let binary = path.with_file_name("etm_test_loop");
    let words = format!(
        "profile --keep-going --format autofdo --binary {} --add @{}",
        binary.display(),
        folder.path("list").display()
    );
    let output = tracewright(&args(&words, &[&path]));
    assert_eq!(output.code, Some(1), "{}", output.err);
    assert!(output.err.lines().count() <= 1002, "{}", output.err.lines().count());
    let one = tracewright(&args(
        &format!("profile --format autofdo --binary {}", binary.display()),
        &[&path],
    ));
    // 999 of the list, and the first.
    let scaled = one.out.lines().map(|line| match line.rsplit_once(':') {
        Some((range, count)) if !line.starts_with("//") => {
            format!("{range}:{}", count.parse::<u64>().unwrap() * 1000)
        }
        _ => line.to_owned(),
    });
    assert_eq!(output.out.lines().collect::<Vec<_>>(), scaled.collect::<Vec<_>>());
}

/// Synchronisation, and 20 samples of the program counter 0x08000204.
fn itm(folder: &Folder, name: &str) -> std::path::PathBuf {
    let path = folder.path(name);
    let sample = [0x17, 0x04, 0x02, 0x00, 0x08, 0xc0, 0x05];
    fs::write(&path, [&[0, 0, 0, 0, 0, 0x80][..], &sample.repeat(20)].concat()).unwrap();
    path
}

/// The samples of ITMs have a sum, but not with instructions.
#[test]
fn captures_of_itms_are_summed() {
    let folder = captures("many-itms", 1);
    let (demo, absent) = (folder.demo(), folder.path("absent.bin"));
    let (a, b) = (itm(&folder, "a.bin"), itm(&folder, "b.bin"));
    let run = |words: &str, paths: &[&Path]| tracewright(&args(words, paths));
    let paths: [&Path; 3] = [&absent, &a, &b];
    let output = run("profile --keep-going --format folded", &paths);
    assert_eq!((output.code, output.out.as_str()), (Some(1), "0x08000204 40\n"), "{}", output.err);
    let lines: Vec<&str> = output.err.lines().collect();
    assert_eq!(lines.len(), 4, "{}", output.err);
    assert!(lines[0].ends_with("a.bin: 20 samples of the program counter"), "{}", lines[0]);
    assert!(lines[2].starts_with("1 of 3 captures cannot be read"), "{}", lines[2]);
    assert_eq!(run("profile --format folded", &paths).code, Some(2));
    // A list needs no capture beside it.
    fs::write(folder.path("itms"), format!("{}\n{}\n", a.display(), b.display())).unwrap();
    let list = format!("@{}", folder.path("itms").display());
    let output = run(&format!("profile --quiet --format folded --add {list}"), &[]);
    let want = (Some(0), "0x08000204 40\n", "");
    assert_eq!((output.code, output.out.as_str(), output.err.as_str()), want);
    fs::write(folder.path("itms"), "\n").unwrap();
    let output = run(&format!("profile --add {list}"), &[]);
    assert!(output.code == Some(2) && output.err.contains("no path"), "{}", output.err);
    assert_eq!(run("profile", &[]).code, Some(2));
    // Of the two kinds, the first one is counted.
    for (paths, want) in
        [([&*demo, &*a], "is the trace of an ITM"), ([&*a, &*demo], "is not the trace of an ITM")]
    {
        let output = run("profile --format folded", &paths);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{}", output.err);
        assert!(output.err.contains(want), "{}", output.err);
        let alone = run("profile --quiet --format folded", &paths[..1]);
        let output = run("profile --keep-going --format folded", &paths);
        assert_eq!((output.code, output.out), (Some(1), alone.out), "{}", output.err);
        assert!(output.err.contains(want), "{}", output.err);
    }
    let output = run("profile --format perf-data", &[&a]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("samples of the program counter"), "{}", output.err);
}

/// Branch lists are summed without their program files, and samples with branches become a list,
/// whose profile is that of the samples.
#[test]
fn branch_lists_are_merged() {
    let Some(data) = shared("captures/simpleperf-etm/perf_etm.data") else { return };
    let binary = data.with_file_name("etm_test_loop");
    let folder = Folder::new("many-merge");
    let [list, samples, listed, sum] =
        ["list", "samples.data", "listed", "sum"].map(|name| folder.path(name));
    let with = format!("--binary {}", binary.display());
    for (format, out) in [("branch-list", &list), ("perf-data", &samples)] {
        let words = format!("profile --quiet --format {format} {with} -o");
        assert_eq!(tracewright(&args(&words, &[out, &data])).code, Some(0));
    }
    let output = tracewright(&args(&format!("merge {with} -o"), &[&listed, &samples]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let [want, found] = [&samples, &listed].map(|path| {
        let output = tracewright(&args(&format!("profile --quiet --format json {with}"), &[path]));
        assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
        output.out
    });
    assert!(found == want && want.contains("\"branch\""), "{found}\n{want}");
    let damaged = folder.path("damaged");
    fs::write(&damaged, &fs::read(&list).unwrap()[..30]).unwrap();
    let paths: [&Path; 5] = [&sum, &list, &damaged, &listed, &list];
    let output = tracewright(&args("merge --keep-going -o", &paths));
    assert_eq!((output.code, output.err.lines().count()), (Some(1), 5), "{}", output.err);
    assert!(output.err.contains("1 of 4 files cannot be read"), "{}", output.err);
    assert_eq!(tracewright(&args("merge -o", &paths)).code, Some(2));
    let [one, part, all] =
        [&list, &listed, &sum].map(|path| BranchList::read(&fs::read(path).unwrap()).unwrap());
    assert_eq!(all.sampled, part.sampled);
    assert_eq!(all.binaries.len(), one.binaries.len());
    for (all, one) in all.binaries.iter().zip(&one.binaries) {
        let twice =
            one.sequences.iter().map(|own| Sequence { count: 2 * own.count, ..own.clone() });
        let mut twice: Vec<Sequence> = twice.collect();
        twice.sort_by(|a, b| (a.address, a.len, &a.bits).cmp(&(b.address, b.len, &b.bits)));
        assert_eq!(all.sequences, twice);
    }
    // A trace is no list.
    let output = tracewright(&args("merge", &[&data]));
    assert!(
        output.code == Some(2) && output.err.contains("--format branch-list"),
        "{}",
        output.err
    );
}

/// The source lines of a jitdump: `struct jr_code_debug_info`, put before the code of the function.
/// (Linux 6.1.192, tools/perf/util/jitdump.h:95)
#[test]
fn generated_code_has_its_source_lines() {
    let Some(data) = shared("findings/repro/linux/jit/anon.data") else { return };
    let bytes = fs::read(data.with_file_name("jit-101.dump")).unwrap();
    let folder = Folder::new("many-jit-lines");
    let code = 0xffff_7000_0000_u64;
    let mut debug = 2u32.to_le_bytes().to_vec();
    let entries: [(u64, u32, &[u8]); 3] =
        [(code, 7, b"src/Hot.java"), (code + 0x44, 9, b"\xff"), (code + 0x80, 3, b"Other.java")];
    let mut rest = [5, code, entries.len() as u64].map(u64::to_le_bytes).concat();
    for (address, line, name) in entries {
        rest.extend(
            [&address.to_le_bytes()[..], &line.to_le_bytes(), &[0; 4], name, &[0]].concat(),
        );
    }
    debug.extend((8 + rest.len() as u32).to_le_bytes());
    debug.extend(rest);
    let (header, records) = bytes.split_at(40);
    let dump = folder.path("jit-101.dump");
    fs::write(&dump, [header, &debug, records].concat()).unwrap();
    let output = tracewright(&args("profile --binary", &[&dump, &data]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    // 22 instructions, as the functions have them.
    let count = |place: &str| {
        let row = output.out.lines().find(|line| line.contains(&format!("  {place} (")));
        row.and_then(|row| row.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    let found = ["Hot.java:7", "Hot.java:9", "Other.java:3"].map(count);
    assert!(found.iter().all(|count| *count > 0), "{found:?} {}", output.out);
    assert_eq!(found.iter().sum::<u64>(), 22, "{}", output.out);
}

/// The call paths of all AUX records of a recording are one file, with those of each.
#[test]
fn call_paths_of_all_buffers_are_joined() {
    let Some(data) = shared("captures/simpleperf-etm/perf_etm.data") else { return };
    let with = format!("--binary {}", data.with_file_name("etm_test_loop").display());
    let folded = |words: &str| {
        let words = format!("functions --format folded {with} {words}");
        let output = tracewright(&args(&words, &[&data]));
        // Of the first AUX records there is nothing.
        assert_eq!(output.code, Some(i32::from(output.out.is_empty())), "{}", output.err);
        let rows = output.out.lines().map(|line| {
            let (path, count) = line.rsplit_once(' ').unwrap();
            (path.to_owned(), count.parse::<u64>().unwrap())
        });
        rows.collect::<std::collections::BTreeMap<_, _>>()
    };
    let mut sum = std::collections::BTreeMap::new();
    for source in ["cpu7@0x0#0", "cpu7@0x50#1", "cpu7@0xa0#2", "cpu7@0xf0#3"] {
        for (path, count) in folded(&format!("--source {source}")) {
            *sum.entry(path).or_insert(0) += count;
        }
    }
    assert_eq!((folded(""), sum.values().sum::<u64>()), (sum.clone(), 944));
    let folder = Folder::new("many-paths");
    let out = folder.path("out");
    for format in ["flame-graph", "callgrind", "pprof"] {
        let words = format!("functions --format {format} {with} -o");
        assert_eq!(tracewright(&args(&words, &[&out, &data])).code, Some(0), "{format}");
        assert!(fs::metadata(&out).unwrap().len() > 100, "{format}");
    }
}
