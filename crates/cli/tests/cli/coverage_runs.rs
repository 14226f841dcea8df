//! Files of runs: `coverage --save` and `--load` on the built-in example.

use std::fs;
use std::io::Write as _;

use tracewright::analysis::coverage_runs::Digest;

use crate::common::{Folder, Output};
use crate::coverage::{example, full, objects, run};

fn done(folder: &Folder, words: &str) -> Output {
    let output = run(folder, words);
    assert_eq!(output.code, Some(0), "{words}: {}", output.err);
    output
}

/// Runs of parts of the example, in which others of its instructions were executed.
pub fn parts(folder: &Folder) -> [&'static str; 3] {
    example(folder, "demo");
    let ranges = [("a", "0..1500"), ("b", "1000..4000"), ("c", "3000..")];
    for (name, range) in ranges {
        let words = format!("coverage demo --instruction {range} --tag TEST-{name}");
        done(folder, &format!("{words} --save {name}.runs"));
    }
    ["a.runs", "b.runs", "c.runs"]
}

/// What a file has is what its capture has, in each format.
#[test]
fn a_file_has_what_its_capture_has() {
    let folder = Folder::new("runs-same");
    example(&folder, "demo");
    for form in ["", "--by function", "--format lcov", "--format gcov", "--format json"] {
        let plain = done(&folder, &format!("coverage demo {form}"));
        let saved = done(&folder, &format!("coverage demo {form} --save a.runs"));
        assert_eq!(saved.out, plain.out, "{form}");
        let loaded = done(&folder, &format!("coverage --load a.runs {form}"));
        let own = |line: &&str| {
            !line.contains("-runs\"")
                && !line.contains("\"type\":\"run\"")
                && !line.contains("  in ")
        };
        let lines = |text: &str| text.lines().filter(own).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(lines(&loaded.out), lines(&plain.out), "{form}");
        assert!(!plain.out.is_empty());
    }
    // The same command writes the same file.
    let before = fs::read(folder.path("a.runs")).unwrap();
    done(&folder, "coverage demo --format json --save b.runs");
    assert_eq!(fs::read(folder.path("b.runs")).unwrap(), before);
}

/// Sums have the same bytes in any order and any groups; runs state what they add.
#[test]
fn sums_have_the_same_bytes() {
    let folder = Folder::new("runs-sums");
    let [a, b, c] = parts(&folder);
    let sum = |files: &[&str], name: &str| {
        let loads: String = files.iter().map(|file| format!(" --load {file}")).collect();
        done(&folder, &format!("coverage{loads} --save {name}"));
        fs::read(folder.path(name)).unwrap()
    };
    let all = sum(&[a, b, c], "abc");
    assert_eq!(sum(&[c, a, b], "cab"), all);
    sum(&[b, c], "bc");
    assert_eq!(sum(&["bc", a], "bc-a"), all);
    sum(&[c, a], "ca");
    assert_eq!(sum(&[b, "ca"], "b-ca"), all);
    // A run that a file has already is added once, in any order.
    assert_eq!(sum(&["bc", a, b, a], "again"), all);
    let both = run(&folder, "coverage --load bc --load ca");
    assert_eq!(both.code, Some(2));
    assert!(both.err.contains("counts cannot be separated"), "{}", both.err);

    let json = done(&folder, "coverage --load abc --format json");
    let runs = objects(&json, "run");
    assert_eq!(runs.len(), 3);
    let number = |n: usize, key: &str| runs[n][key].as_u64().unwrap();
    assert_eq!(number(0, "added_lines"), number(0, "lines"));
    assert!(number(1, "added_lines") < number(1, "lines"), "{}", json.out);
    let executed = objects(&json, "coverage")[0]["executed_lines"].as_u64().unwrap();
    assert_eq!((0..3).map(|n| number(n, "added_lines")).sum::<u64>(), executed);
    let functions = objects(&json, "function-runs");
    let names = |symbol: &str| {
        let own = functions.iter().find(|own| own["symbol"] == symbol).expect("a function");
        own["runs"].clone()
    };
    assert!(names("main").as_array().is_some_and(|all| !all.is_empty()));
    let text = done(&folder, "coverage --load abc --by run").out;
    assert!(text.lines().nth(1).is_some_and(|line| line.ends_with("  TEST-a")), "{text}");
    // A capture with files.
    let with = done(&folder, "coverage demo --tag TEST-d --load abc --by run --save abcd").out;
    assert_eq!(with.lines().count(), 5, "{with}");
}

/// A file that was cut or altered, that is none, and runs of other programs are refused, and
/// nothing is written.
#[test]
fn wrong_files_are_refused() {
    let folder = Folder::new("runs-wrong");
    example(&folder, "demo");
    done(&folder, "coverage demo --save a.runs");
    let good = fs::read_to_string(folder.path("a.runs")).unwrap();
    let last = good.lines().count();
    let cut = good.lines().take(3).map(|line| format!("{line}\n")).collect::<String>();
    let altered = good.replacen("\"losses\":0", "\"losses\":1", 1);
    assert_ne!(altered, good);
    for (text, what) in [
        (cut, "w.runs: line 4: the file ends here".to_owned()),
        (altered, format!("w.runs: line {last}: the SHA-256 digest")),
        ("{}\n".to_owned(), "w.runs: line 1: not a file of runs".to_owned()),
    ] {
        fs::write(folder.path("w.runs"), text).unwrap();
        let output = run(&folder, "coverage --load a.runs --load w.runs --save sum.runs");
        assert_eq!(output.code, Some(2));
        assert!(output.err.contains(&what), "{what}: {}", output.err);
        assert!(output.out.is_empty() && !folder.path("sum.runs").exists());
    }
    // Another byte of code.
    let other = example(&folder, "other");
    let elf = other.join("program.bin");
    let mut bytes = fs::read(&elf).unwrap();
    let end = u32::from_le_bytes(bytes[0x64..0x68].try_into().unwrap()) as usize;
    let offset = u32::from_le_bytes(bytes[0x58..0x5c].try_into().unwrap()) as usize;
    bytes[offset + end - 1] ^= 0x10;
    fs::write(&elf, bytes).unwrap();
    run(&folder, "coverage other --save b.runs");
    let refused = run(&folder, "coverage --load a.runs --load b.runs");
    assert_eq!(refused.code, Some(2), "{}", refused.out);
    assert!(refused.err.contains("different programs: "), "{}", refused.err);
    let forced = done(&folder, "coverage --load a.runs --load b.runs --force");
    assert!(forced.err.contains("note: different programs: "), "{}", forced.err);
    // No input is replaced.
    let own = run(&folder, "coverage --load a.runs --save a.runs");
    assert_eq!((own.code, own.err.contains("--save a.runs: this file is read")), (Some(2), true));
    assert_eq!(fs::read_to_string(folder.path("a.runs")).unwrap(), good);
}

/// A thousand runs in a list of files.
#[test]
fn a_thousand_runs() {
    let folder = Folder::new("runs-thousand");
    example(&folder, "demo");
    let mut list = fs::File::create(folder.path("list")).unwrap();
    done(&folder, "coverage demo --tag RUN --save 0.runs");
    // The same run with other names, as its digest is not that of the file.
    let text = fs::read_to_string(folder.path("0.runs")).unwrap();
    for n in 0..1000 {
        let id = format!("{n:064x}");
        let at = text.find("\"id\":\"").unwrap() + 6;
        let own = format!("{}{id}{}", &text[..at], &text[at + 64..]);
        let end = own.find("{\"type\":\"end\"").unwrap();
        let sum = Digest::of(&own.as_bytes()[..end]);
        let at = own.rfind("\"sha256\":\"").unwrap() + 10;
        fs::write(folder.path(&format!("{n}.runs")), format!("{}{sum}\"}}\n", &own[..at])).unwrap();
        writeln!(list, "{n}.runs").unwrap();
    }
    drop(list);
    let single = done(&folder, "coverage demo --format json");
    let sum = done(&folder, "coverage --load @list --format json");
    let count = |output: &Output| {
        let lines = objects(output, "line");
        lines.iter().map(|line| line["executions"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(count(&sum), 1000 * count(&single));
    assert_eq!(objects(&sum, "run").len(), 1000);
}

/// What is selected by functions, and what is not covered.
#[test]
fn selections() {
    let folder = Folder::new("runs-selections");
    let [a, ..] = parts(&folder);
    let all = done(&folder, &format!("coverage --load {a} --format json"));
    let functions = objects(&all, "source-function");
    let name = functions[0]["name"].as_str().unwrap();
    let one = done(&folder, &format!("coverage --load {a} --function {name} --format json"));
    assert_eq!(objects(&one, "source-function").len(), 1);
    let lines = objects(&one, "line");
    let inside = |line: &serde_json::Value| {
        let number = |own: &serde_json::Value, key: &str| own[key].as_u64().unwrap();
        (number(&functions[0], "first_line")..=number(&functions[0], "last_line"))
            .contains(&number(line, "line"))
    };
    assert!(!lines.is_empty() && lines.iter().all(inside));
    assert!(lines.len() < objects(&all, "line").len());
    let none = run(&folder, &format!("coverage --load {a} --function nothing"));
    assert_eq!((none.code, none.err.contains("no function of a source file")), (Some(2), true));

    let text = done(&folder, &format!("coverage --load {a} --uncovered")).out;
    let missed = objects(&all, "line").iter().filter(|line| line["executions"] == 0).count();
    assert!(missed > 0);
    assert_eq!(text.lines().filter(|line| line.ends_with(": line: not executed")).count(), missed);
}

/// Decisions of the example: one that its code has, one whose evaluations are not measurable, and
/// one of two conditions that a line without a branch would have.
pub const DECISIONS: &str = include_str!("../../src/verbs/selftest/decisions.json");

/// What a file has of decisions is what its capture has; those of two parts of a run are those of
/// the whole, and what a run without them may have covered is unknown.
#[test]
fn decisions_are_saved() {
    let folder = Folder::new("runs-decisions");
    example(&folder, "demo");
    fs::write(folder.path("d.json"), DECISIONS).unwrap();
    let forms = ["--by decision", "--format json", "--format lcov", "--format llvm-cov"];
    for (form, mcdc) in forms.iter().flat_map(|form| [(form, "masking"), (form, "unique-cause")]) {
        let words = format!("coverage demo --decisions d.json --mcdc {mcdc} {form}");
        let plain = done(&folder, &words);
        let saved = done(&folder, &format!("{words} --save a.runs"));
        assert_eq!(saved.out, plain.out, "{words}");
        let loaded = done(&folder, &format!("coverage --load a.runs --mcdc {mcdc} {form}"));
        let own = |line: &&str| !line.contains("-runs\"") && !line.contains("\"type\":\"run\"");
        let lines = |text: &str| text.lines().filter(own).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(lines(&loaded.out), lines(&plain.out), "{words}");
    }
    let whole = done(&folder, "coverage --load a.runs --by decision").out;
    let rows: Vec<&str> = whole.lines().filter(|line| line.contains("program.c:")).collect();
    assert!(rows[0].contains("2/2          2/2          1/1") && rows.len() == 4, "{whole}");
    for (name, range) in [("b", "0..2000"), ("c", "2000..")] {
        let words = format!("coverage demo --decisions d.json --instruction {range}");
        done(&folder, &format!("{words} --tag {name} --save {name}.runs"));
    }
    let values = |words: &str| {
        let all = objects(&done(&folder, &format!("{words} --format json")), "decision");
        let own = all.iter().find(|own| own["line"] == 30).expect("the decision");
        ["false", "true"].map(|value| own[value].as_u64().unwrap_or(0))
    };
    let [whole, b, c] = ["a", "b", "c"].map(|name| values(&format!("coverage --load {name}.runs")));
    let sum = values("coverage --load b.runs --load c.runs");
    assert_eq!(sum, [b[0] + c[0], b[1] + c[1]]);
    assert!(sum[1] <= whole[1] && sum[1] + 1 >= whole[1], "{sum:?} {whole:?}");
    // A run in which nobody asked for decisions.
    done(&folder, "coverage demo --tag plain --save d.runs");
    let with = done(&folder, "coverage --load b.runs --load d.runs --by decision --mcdc masking");
    assert!(with.out.contains("?"), "{}", with.out);
    for words in ["--by decision", "--fail-under mcdc=1"] {
        let none = run(&folder, &format!("coverage --load d.runs {words}"));
        let refused = (none.code, none.err.contains("decisions are wanted, and no file has them"));
        assert_eq!(refused, (Some(2), true), "{}", none.err);
        let none = run(&folder, &format!("coverage demo --load d.runs {words}"));
        assert_eq!(none.code, Some(2), "{}", none.err);
    }
    let file = run(&folder, "coverage demo --decisions d.json --save d.json");
    assert_eq!((file.code, file.err.contains("--save d.json: this file is read")), (Some(2), true));
}

/// Buffers that lost trace: a file has what is unknown, as its capture has, and a sum with a run
/// that lost nothing has what that one executed.
#[test]
fn losses_are_saved() {
    let folder = Folder::new("runs-losses");
    example(&folder, "whole");
    full(&folder, "full", ..);
    full(&folder, "overwritten", 1600..1664);
    done(&folder, "coverage whole --save whole.runs");
    for (name, unknown) in [("full", 1), ("overwritten", 63)] {
        let plain = done(&folder, &format!("coverage {name} --format json --save {name}.runs"));
        let loaded = done(&folder, &format!("coverage --load {name}.runs --format json"));
        let all = |output: &Output| {
            ["line", "source-function", "coverage"].map(|kind| objects(output, kind))
        };
        assert_eq!(all(&loaded), all(&plain), "{name}");
        assert_eq!(objects(&loaded, "coverage")[0]["unknown_lines"], unknown, "{name}");
        assert!(loaded.err.contains("note: losses of trace: "), "{}", loaded.err);
        assert_eq!(run(&folder, &format!("coverage --load {name}.runs --strict")).code, Some(1));
        // The line that the whole run does not execute is unknown in the sum.
        let words = format!("coverage --load {name}.runs --load whole.runs");
        let sum = done(&folder, &format!("{words} --format json"));
        assert_eq!(objects(&sum, "coverage")[0]["unknown_lines"], 1, "{name}");
        assert_eq!(run(&folder, &format!("{words} --fail-under lines=100")).code, Some(1));
    }
    assert_eq!(run(&folder, "coverage --load whole.runs --strict").code, Some(0));
}
