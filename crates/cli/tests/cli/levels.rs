//! `--quiet` and `--verbose`: the messages on standard error.

use std::fs;

use crate::common::{Folder, args, tracewright};

#[test]
fn messages_are_those_of_a_level() {
    let folder = Folder::with_demo("levels");
    let trace = folder.demo().join("ETB.bin");
    let mut bytes = fs::read(&trace).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 16].fill(0xff);
    fs::write(&trace, bytes).unwrap();
    let run = |words: &str| tracewright(&args(words, &[&folder.demo()]));
    for verb in ["decode", "instructions", "functions"] {
        let usual = run(verb);
        let quiet = run(&format!("{verb} --quiet"));
        let verbose = run(&format!("{verb} --verbose"));
        assert_eq!((quiet.out.as_str(), quiet.code), (usual.out.as_str(), usual.code), "{verb}");
        assert_eq!((verbose.out.as_str(), verbose.code), (usual.out.as_str(), usual.code));
        assert!(!usual.err.is_empty() && quiet.err.is_empty(), "{verb}: {}", quiet.err);
        let reports = |err: &str| {
            let words = ["error: ETB: offset ", "warning: ETB: offset "];
            err.lines().filter(|line| words.iter().any(|word| line.starts_with(word))).count()
        };
        assert_eq!(reports(&usual.err), 0, "{}", usual.err);
        assert!(reports(&verbose.err) > 0, "{}", verbose.err);
    }
    // Errors are printed, and --strict fails as before.
    assert_eq!(run("decode --quiet --strict").code, Some(1));
    let missing = tracewright(&["decode", "--quiet", "no-such-file"]);
    assert!(missing.err.starts_with("tracewright: error: "), "{}", missing.err);
    assert_eq!(run("decode --quiet --verbose").code, Some(2));
}

/// What is for information is printed with `--verbose`.
#[test]
fn notes_for_information_are_verbose() {
    let folder = Folder::with_demo("levels-notes");
    let index = folder.demo().join("snapshot.ini");
    let text = fs::read_to_string(&index).unwrap();
    fs::write(&index, text + "\n[clusters]\nall=no_such_core\n").unwrap();
    let run = |words: &str| tracewright(&args(words, &[&folder.demo()])).err;
    let note = "unknown core `no_such_core`";
    assert!(!run("decode").contains(note));
    assert!(run("decode --verbose").contains(note), "{}", run("decode --verbose"));
}
