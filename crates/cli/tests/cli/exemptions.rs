//! Exemptions of coverage: `--justify` and `--justify-comments` on the built-in example.

use std::fs;

use serde_json::Value;

use crate::common::Folder;
use crate::coverage::{example, objects, run};

/// The numbers of the last line of JSON.
fn numbers(folder: &Folder, words: &str, keys: &[&str]) -> Vec<u64> {
    let output = run(folder, &format!("{words} --format json"));
    assert_eq!(output.code, Some(0), "{words}: {}", output.err);
    let all = objects(&output, "coverage").remove(0);
    keys.iter().map(|key| all[*key].as_u64().unwrap_or(0)).collect()
}

const KEYS: [&str; 6] = [
    "lines",
    "executed_lines",
    "exempted_lines",
    "outcomes",
    "occurred_outcomes",
    "exempted_outcomes",
];

/// A function of the example with a line that is not executed: its name, and that line.
fn function(folder: &Folder) -> (String, u64) {
    let all = run(folder, "coverage demo --format json");
    let missed = |line: &&Value| line["executions"] == 0;
    let lines = objects(&all, "line");
    let line = lines.iter().find(missed).expect("a line")["line"].as_u64().unwrap();
    let functions = objects(&all, "source-function");
    let has = |own: &&Value| {
        (own["first_line"].as_u64().unwrap()..=own["last_line"].as_u64().unwrap()).contains(&line)
    };
    let own = functions.iter().find(has).expect("a function");
    (own["name"].as_str().unwrap().to_owned(), line)
}

/// Without its hash, an exemption is refused with the hash of the text; with it, what is not
/// covered is counted apart in each format; where the text is changed, it is refused.
#[test]
fn exemptions_are_valid_for_a_text() {
    let folder = Folder::new("exemptions");
    let path = example(&folder, "demo");
    let (name, line) = function(&folder);
    let keys = "reason = \"by design\"\nby = \"A. Reviewer\"\ndate = 2026-11-30\n";
    let head = "[[exempt]]\nfile = \"program.c\"\nfunction";
    // The loop of `place` is in its line 7: that it ends before its first turn is exempted.
    let tables = [
        format!("{head} = \"{name}\"\n{keys}"),
        format!("{head} = \"place\"\nlines = 7\nkind = \"branches\"\n{keys}"),
    ];
    let write = |text: &str| fs::write(folder.path("e.toml"), text).unwrap();
    write(&tables.concat());
    let words = "coverage demo --justify e.toml";
    let refused = run(&folder, words);
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{}", refused.err);
    let hashes: Vec<&str> = refused
        .err
        .split("that of the text is ")
        .skip(1)
        .map(|own| own.get(..64).expect("64 digits"))
        .collect();
    assert_eq!(hashes.len(), 2, "{}", refused.err);
    let tables = [0, 1].map(|n| format!("{}hash = \"{}\"\n", tables[n], hashes[n]));
    write(&tables.concat());
    let before = numbers(&folder, "coverage demo", &KEYS);
    let after = numbers(&folder, words, &KEYS);
    assert!([after[2], after[5]] == [1, 1] && before[2] == 0, "{before:?} {after:?}");
    for n in [0, 3] {
        assert_eq!(after[n] + after[n + 2], before[n]);
        assert_eq!(after[n + 1], before[n + 1], "what is exempted is not covered");
    }
    let all = run(&folder, &format!("{words} --format json"));
    let own = objects(&all, "exemption").remove(0);
    assert_eq!((&own["by"], &own["hash"]), (&"A. Reviewer".into(), &hashes[0].into()));
    let parts = objects(&all, "exempted");
    assert_eq!((own["exempted"].as_u64(), parts.len()), (Some(1), 2));
    assert!(parts.iter().any(|own| own["kind"] == "line" && own["line"] == line));
    let text = run(&folder, words).out;
    assert!(text.ends_with(&"lines 1, outcomes of branches 1\n"), "{text}");
    let text = run(&folder, &format!("{words} --by exemption")).out;
    assert!(text.contains("A. Reviewer, 2026-11-30"), "{text}");
    let lists = |words: &str| {
        let output = run(&folder, &format!("{words} --uncovered")).out;
        output.contains(&format!("program.c:{line}: line: not executed"))
    };
    assert_eq!([lists("coverage demo"), lists(words)], [true, false]);
    let annotated = run(&folder, &format!("{words} --annotate program.c")).out;
    assert_eq!(annotated.lines().filter(|line| line.starts_with("  exempted")).count(), 1);
    // The other formats have no record of it.
    for (format, record) in [
        ("lcov", format!("DA:{line},0\n")),
        ("cobertura", format!("<line number=\"{line}\" hits=\"0\"")),
        ("gcov", "\"count\":0,\"function_name\"".to_owned()),
    ] {
        let has =
            |words: &str| run(&folder, &format!("{words} --format {format}")).out.contains(&record);
        assert_eq!([has("coverage demo"), has(words)], [true, false], "{format}");
    }
    for (words, code) in [("coverage demo", 1), (words, 0)] {
        assert_eq!(run(&folder, &format!("{words} --fail-under 100")).code, Some(code));
    }
    // A file of runs has what was executed, and no exemption.
    run(&folder, "coverage demo --save a.runs");
    run(&folder, &format!("{words} --save b.runs"));
    let file = |name: &str| fs::read(folder.path(name)).unwrap();
    assert_eq!(file("a.runs"), file("b.runs"));
    let loaded = "coverage --load a.runs --justify e.toml";
    let unread = run(&folder, loaded);
    assert!(unread.code == Some(2) && unread.err.contains("--source-root"), "{}", unread.err);
    assert_eq!(numbers(&folder, &format!("{loaded} --source-root demo"), &KEYS), after);
    // Another text.
    let source = fs::read_to_string(path.join("program.c")).unwrap();
    let changed: String = (1..)
        .zip(source.lines())
        .map(|(n, own)| if n == line { format!("{own} //\n") } else { format!("{own}\n") })
        .collect();
    fs::write(path.join("program.c"), changed).unwrap();
    let stale = run(&folder, words);
    assert!(stale.code == Some(2) && stale.err.contains("stale: the text was changed"));
    assert!(stale.out.is_empty() && stale.err.contains("exemptions that are not valid: 1"));
    fs::write(path.join("program.c"), source).unwrap();
    // One that is not used, and the file as an output.
    write(&tables[0].replace("program.c", "other.c"));
    let unused = run(&folder, words);
    let note = "exempts nothing: no program has such a source file";
    assert!(unused.code == Some(0) && unused.err.contains(note), "{}", unused.err);
    let output = run(&folder, &format!("{words} -o e.toml"));
    assert_eq!((output.code, output.err.contains("this file is read")), (Some(2), true));
}

/// Comments of other tools exempt only where that is wanted.
#[test]
fn comments_exempt() {
    let folder = Folder::new("exemptions-comments");
    let path = example(&folder, "demo");
    let (_, line) = function(&folder);
    let source = fs::read_to_string(path.join("program.c")).unwrap();
    let before = numbers(&folder, "coverage demo", &KEYS);
    for (word, at, exempted) in [
        ("LCOV_EXCL_LINE never", line, [1, 0]),
        ("GCOVR_EXCL_BR_LINE", line, [0, 0]),
        ("GCOVR_EXCL_BR_LINE", 52, [0, 1]),
        ("LCOV_EXCL", line, [0, 0]),
    ] {
        let marked: String = (1..)
            .zip(source.lines())
            .map(|(n, own)| if n == at { format!("{own} // {word}\n") } else { format!("{own}\n") })
            .collect();
        fs::write(path.join("program.c"), marked).unwrap();
        assert_eq!(numbers(&folder, "coverage demo", &KEYS), before);
        let after = numbers(&folder, "coverage demo --justify-comments", &KEYS);
        assert_eq!([after[2], after[5]], exempted, "{word}");
        assert_eq!(after[1], before[1]);
    }
    fs::write(path.join("program.c"), format!("{source}// LCOV_EXCL_START\n")).unwrap();
    let wrong = run(&folder, "coverage demo --justify-comments");
    assert!(wrong.err.contains("LCOV_EXCL_START has no end; it exempts nothing"), "{}", wrong.err);
    fs::remove_file(path.join("program.c")).unwrap();
    let unread = run(&folder, "coverage demo --justify-comments --by exemption");
    assert!(unread.err.contains("source files whose comments are not read: 1"), "{}", unread.err);
    assert_eq!(run(&folder, "coverage demo --by exemption").code, Some(2));
}
