//! A profile of many captures, and what is printed of each.

use std::fs;
use std::path::Path;

use crate::common::{Folder, args, tracewright};
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
