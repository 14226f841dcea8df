//! Units that cannot be decoded: they are listed in parts, and counted.

use std::fs;
use std::process::Command;

use tracewright_testing::tool;

use super::plan::Fleet;
use super::{Folder, demo, error, good, indexed, refused, run};

#[test]
fn units_that_cannot_be_decoded_are_listed() {
    let folder = Folder::new("failed");
    let Some(fleet) = Fleet::new(&folder, 12) else { return };
    let plan = folder.path("fleet.plan");
    fleet.plan(&plan);
    // One has another trace, and one is no perf.data file any more.
    for (n, at) in [(3, 10_070), (7, 0)] {
        let mut bytes = fs::read(&fleet.paths[n]).expect("a capture");
        bytes[at] ^= 2;
        fs::write(&fleet.paths[n], bytes).expect("room");
    }
    let files: Vec<String> = (1..=3).map(|n| folder.path(&format!("{n}.part"))).collect();
    let mut failed = 0;
    for (n, file) in files.iter().enumerate() {
        let share = format!("{}/3", n + 1);
        let without = run(&fleet.worker(&plan, &["--units", &share, "-q", "-o", file]));
        if !without.status.success() {
            failed += 1;
            assert!(error(&without).contains(": unit "), "{}", error(&without));
        }
        let allowed = ["--units", &share, "--allow-failed", "2", "-o", file];
        let done = run(&fleet.worker(&plan, &allowed));
        assert!(done.status.success(), "{}", error(&done));
        assert_eq!(error(&done).contains("left out"), !without.status.success());
    }
    assert!(failed > 0);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let merge = |more: &[&str]| run(&[&["merge"][..], &files, more].concat());
    for more in [&[][..], &["--allow-failed", "1"]] {
        let done = merge(more);
        let text = error(&done);
        assert_eq!(done.status.code(), Some(2), "{text}");
        assert!(
            text.contains("2 units could not be decoded, and") && text.contains("not the capture")
        );
    }
    let done = merge(&["--allow-failed", "2"]);
    let text = error(&done);
    assert_eq!(done.status.code(), Some(1), "{text}");
    assert!(text.contains("2 of 12 units could not be decoded, and are not in the sum"), "{text}");
    // The sum is that of the others.
    let others = folder.path("others");
    let mut list = String::new();
    for (n, path) in fleet.paths.iter().enumerate().filter(|(n, _)| ![3, 7].contains(n)) {
        list += &format!("{}\n", path.display());
        assert!(n < 12);
    }
    fs::write(&others, list).expect("room");
    assert!(done.stdout == fleet.whole(&format!("@{others}")));
    // A partial sum has the list of them, too.
    let partial = folder.path("partial.part");
    let done = merge(&["--partial", "-o", &partial]);
    assert!(done.status.success(), "{}", error(&done));
    let text = fs::read_to_string(&partial).expect("a part");
    assert_eq!(text.lines().filter(|line| line.contains("\"failed\":\"")).count(), 2, "{text}");
    assert!(refused(&["merge", &partial]).contains("2 units could not be decoded"));
    // A file that cannot be read is no such unit: a worker fails, and may be started again.
    fs::remove_file(&fleet.paths[0]).expect("a file");
    let all = ["--units", "1/1", "--allow-failed", "12", "-o", &folder.path("none.part")];
    let done = run(&fleet.worker(&plan, &all));
    assert_eq!(done.status.code(), Some(2));
    assert!(error(&done).contains("0.data"), "{}", error(&done));
    assert!(!fs::exists(folder.path("none.part")).expect("a folder"));
}

/// What is shown of parts with such units has a part of the whole, and states that.
#[test]
fn losses_have_the_units_that_could_not_be_decoded() {
    let folder = Folder::new("failed-shown");
    let input = demo(&folder, "d1");
    let plan = folder.path("a.plan");
    good(&["units", &input, "--unit-size", "256", "-o", &plan]);
    let trace = folder.path("d1/ETB.bin");
    let bytes = fs::read(&trace).expect("a trace");
    let files: Vec<String> = (1..=3).map(|n| folder.path(&format!("{n}.part"))).collect();
    for (n, file) in files.iter().enumerate() {
        let mut own = bytes.clone();
        own[300] ^= u8::from(n == 1);
        fs::write(&trace, own).expect("room");
        let share = format!("{}/3", n + 1);
        let of = ["profile", "--plan", &plan, "--units", &share, "--allow-failed", "99"];
        good(&[&of[..], &["-o", file]].concat());
    }
    fs::write(&trace, bytes).expect("room");
    let failed = fs::read_to_string(&files[1]).expect("a part");
    let failed = failed.lines().filter(|line| line.contains("\"failed\":\"")).count();
    assert!(failed > 0, "no unit in share 2");
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let shown = |verb: &str, more: &[&str]| {
        let parts = files.iter().flat_map(|file| ["--parts", file]).collect::<Vec<_>>();
        run(&[&[verb, &input][..], &parts, more].concat())
    };
    let allowed = failed.to_string();
    for verb in ["profile", "coverage"] {
        let text = error(&shown(verb, &[]));
        assert!(text.contains(&format!("{failed} units could not be decoded")), "{text}");
        let done = shown(verb, &["--allow-failed", &allowed]);
        assert_eq!(done.status.code(), Some(1), "{}", error(&done));
        assert!(error(&done).contains("are not in the sum"), "{}", error(&done));
        assert!(!done.stdout.is_empty());
    }
    let json = |input: &str, more: &[&str]| {
        let all = [&["coverage", input, "--format", "json"][..], more].concat();
        String::from_utf8(run(&all).stdout).expect("text")
    };
    let parts = files.iter().flat_map(|file| ["--parts", file]).collect::<Vec<_>>();
    let losses = |text: String| {
        let (_, number) = text.split_once("\"losses\":").expect("losses");
        let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<usize>().expect("a number")
    };
    let whole = losses(json(&input, &[]));
    let more = losses(json(&input, &[&parts[..], &["--allow-failed", &allowed]].concat()));
    assert!(more >= whole && more >= failed, "{whole} and {more}");
    let text = refused(&["profile", &input, "--allow-failed", "1"]);
    assert!(text.contains("--allow-failed 1: it is for"), "{text}");
}

/// Damage in one segment fails its unit, and one that begins so close after it that the state there
/// is found in the segment. The parts of the others are the same as before.
#[test]
fn damage_in_one_segment_fails_the_units_that_decode_it() {
    let folder = Folder::new("segment");
    let input = indexed(&folder, "etmv4", "512");
    let file = fs::read_dir(&input)
        .expect("the capture")
        .map(|own| own.expect("a file").path())
        .max_by_key(|path| fs::metadata(path).expect("a file").len())
        .expect("the trace");
    let (own, sound) = ("--unit-size", fs::read(&file).expect("the trace"));
    let listed = good(&["units", &input, own, "1024", "--format", "json"]);
    let units: Vec<serde_json::Value> = String::from_utf8(listed)
        .expect("text")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert!(units.len() >= 10, "{}", units.len());
    let part = |n: usize, more: &[&str]| {
        let id = units[n]["id"].as_str().expect("an identifier");
        run(&[&["profile", &input, own, "1024", "--unit", id][..], more].concat())
    };
    let parts: Vec<Vec<u8>> = (0..units.len()).map(|n| part(n, &[]).stdout).collect();
    for at in [sound.len() / 3, sound.len() / 2, sound.len() - 700] {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x10;
        fs::write(&file, bytes).expect("room");
        let mut failed = Vec::new();
        for (n, sound) in parts.iter().enumerate() {
            let done = part(n, &[]);
            match done.status.success() {
                true => assert!(done.stdout == *sound, "unit {n}"),
                false => {
                    let text = error(&done);
                    assert!(text.contains("the bytes are not those of which the index"), "{text}");
                    failed.push(n);
                }
            }
        }
        assert!((1..=2).contains(&failed.len()), "{failed:?} of {}", parts.len());
        // The others have a sum, without those.
        let files: Vec<String> = (0..parts.len())
            .map(|n| {
                let path = folder.path(&format!("{at}-{n}.part"));
                fs::write(&path, part(n, &["--allow-failed", "1"]).stdout).expect("room");
                path
            })
            .collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let sum = folder.path(&format!("{at}.part"));
        let merge = [&["merge", "--allow-failed", "2", "-o", &sum][..], &files].concat();
        let done = run(&merge);
        let text = error(&done);
        assert_eq!(done.status.code(), Some(1), "{text}");
        let count = format!("{} of {} units could not be decoded", failed.len(), parts.len());
        assert!(text.contains(&count), "{text}");
    }
}

/// Captures of a list that are no captures any more are positions of the list.
#[test]
fn captures_of_a_list_that_cannot_be_opened_are_listed() {
    let folder = Folder::new("unopened");
    let Some(fleet) = Fleet::new(&folder, 34) else { return };
    let whole = fleet.paths.iter().zip(0..).filter(|(_, n)| ![5, 20].contains(n));
    let others: Vec<String> = whole.map(|(path, _)| path.display().to_string()).collect();
    for n in [5, 20] {
        let mut bytes = fs::read(&fleet.paths[n]).expect("a capture");
        bytes[0] ^= 2;
        fs::write(&fleet.paths[n], bytes).expect("room");
    }
    let files = [folder.path("1.part"), folder.path("2.part")];
    let worker = |share: &str, more: &[&str]| {
        let of = ["profile", &fleet.list, "--format", "branch-list", "--binary", &fleet.binary];
        run(&[&of[..], &["--units", share], more].concat())
    };
    for (file, share) in files.iter().zip(["1/2", "2/2"]) {
        let text = error(&worker(share, &["-o", file]));
        assert!(text.contains("error: ") && text.contains(".data: "), "{text}");
        let done = worker(share, &["--allow-failed", "1", "-o", file]);
        assert!(done.status.success() && error(&done).contains("left out: "), "{}", error(&done));
        assert!(!fs::read_to_string(file).expect("a part").contains(&folder.path("")), "a path");
    }
    let merge = |more: &[&str]| run(&[&["merge", &files[1], &files[0]], more].concat());
    let text = error(&merge(&["--allow-failed", "1"]));
    let listed = "2 units could not be decoded, and 1 are allowed: capture 6 of the list: ";
    assert!(text.contains(listed) && text.contains("; capture 21 of the list: "), "{text}");
    let partial = folder.path("partial.part");
    good(&["merge", "--partial", &files[0], &files[1], "-o", &partial]);
    let list = folder.path("others");
    fs::write(&list, others.join("\n")).expect("room");
    for done in [merge(&["--allow-failed", "2"]), run(&["merge", "--allow-failed", "2", &partial])]
    {
        let text = error(&done);
        assert_eq!(done.status.code(), Some(1), "{text}");
        assert!(text.contains("2 of 34 units could not be decoded"), "{text}");
        assert!(done.stdout == fleet.whole(&format!("@{list}")));
    }
    // A file that cannot be read is no such capture.
    fs::remove_file(&fleet.paths[5]).expect("a file");
    let done = worker("1/2", &["--allow-failed", "9"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(error(&done).contains("5.data"), "{}", error(&done));
    // A pipe is not waited for.
    let Some(mkfifo) = tool(&[("mkfifo", "coreutils")]) else { return };
    assert!(Command::new(mkfifo).arg(&fleet.paths[5]).status().expect("mkfifo").success());
    let text = error(&worker("1/2", &[]));
    assert!(text.contains("5.data") && text.contains("a pipe has no units"), "{text}");
    let done = worker("1/2", &["--allow-failed", "1"]);
    assert!(done.status.success(), "{}", error(&done));
}
