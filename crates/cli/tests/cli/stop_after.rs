//! `--stop-after`: the output ends with an error.

use std::fs;

use crate::common::{Folder, args, tracewright};

/// The example, in whose trace some frames are overwritten.
fn damaged(name: &str) -> Folder {
    let folder = Folder::new(name);
    assert_eq!(tracewright(&args("demo --write", &[&folder.demo()])).code, Some(0));
    let trace = folder.demo().join("ETB.bin");
    let mut bytes = fs::read(&trace).unwrap();
    for part in [2, 3, 4, 5] {
        let at = bytes.len() * part / 7;
        bytes[at..at + 16].fill(0xff);
    }
    fs::write(&trace, bytes).unwrap();
    folder
}

/// The numbers of the lines that are errors.
fn errors(out: &str) -> Vec<usize> {
    let is_error = |line: &str| {
        let words = ["undecodable", "inconsistency"];
        words.iter().any(|word| line.contains(word))
    };
    out.lines().enumerate().filter(|(_, line)| is_error(line)).map(|(n, _)| n).collect()
}

#[test]
fn the_listing_ends_with_the_error() {
    let folder = damaged("stop-after");
    let run = |words: &str| tracewright(&args(words, &[&folder.demo()]));
    for verb in ["decode", "decode --packets", "decode --committed", "decode --format json"] {
        let all = run(verb);
        let errors = errors(&all.out);
        assert!(errors.len() > 3, "{verb}: {}", all.out);
        for most in [1, 2, 3] {
            for jobs in [1, 3] {
                let some = run(&format!("{verb} --stop-after {most} --jobs {jobs}"));
                assert_eq!(some.code, Some(1), "{verb}: {}", some.err);
                // Undecodable bytes of the link are errors without a line in a listing of elements.
                let last = self::errors(&some.out);
                assert!(last.len() <= most && last.len() < errors.len(), "{verb} {most}");
                let lines: Vec<_> = some.out.lines().filter(|l| !l.contains("summary")).collect();
                assert!(all.out.starts_with(&lines.join("\n")), "{verb} {most} {jobs}");
                assert!(lines.len() < all.out.lines().count(), "{verb} {most}");
                let note = format!("note: ETB: decoding ended at error {most}, at offset ");
                assert!(some.err.contains(&note), "{}", some.err);
            }
        }
        let none = run(&format!("{verb} --stop-after 100000"));
        assert_eq!((none.out, none.err, none.code), (all.out, all.err, all.code), "{verb}");
    }
    for verb in ["packets", "instructions", "instructions --format none", "decode --format opencsd"]
    {
        let (all, some) = (run(verb), run(&format!("{verb} --stop-after 1")));
        assert_eq!((all.code, some.code), (Some(0), Some(1)), "{verb}");
        assert!(some.out.len() < all.out.len() || verb.contains("none"), "{verb}");
        assert!(some.err.contains("decoding ended at error 1"), "{verb}: {}", some.err);
    }
}

#[test]
fn what_cannot_be_stopped_is_refused() {
    let folder = damaged("stop-after-refused");
    let run = |words: &str| tracewright(&args(words, &[&folder.demo()]));
    assert_eq!(run("decode --stop-after 0").code, Some(2));
    let part = run("decode --stop-after 1 --format opencsd --offset 0..100");
    assert_eq!(part.code, Some(2));
    assert!(part.err.contains("--stop-after 1: with --format opencsd"), "{}", part.err);
    // A part of the trace has the errors of this part.
    let part = run("decode --offset 0..100 --stop-after 1");
    assert_eq!((part.code, part.err.contains("decoding ended")), (Some(0), false), "{}", part.err);
    let part = run("decode --offset 300..1900 --stop-after 1");
    assert_eq!((part.code, part.err.contains("decoding ended")), (Some(1), true), "{}", part.err);
}
