//! Captures and options that units do not accept, and parts that have no sum.

use std::fs;

use super::{Folder, demo, error, good, parts, refused, run};

#[test]
fn captures_of_different_programs_are_refused() {
    let folder = Folder::new("programs");
    let (one, other) = (demo(&folder, "d1"), folder.path("dx"));
    good(&["demo", "--write", &other]);
    // The same name, other code; and other trace, as a copy is refused for another reason.
    for file in fs::read_dir(&other).expect("a folder").map(|own| own.expect("a file").path()) {
        let mut bytes = fs::read(&file).expect("a file");
        if bytes.starts_with(b"\x7fELF") {
            let (at, len) = text_section(&bytes);
            bytes[at + len - 3] ^= 1;
        } else if file.ends_with("ETB.bin") {
            bytes.truncate(bytes.len() / 2);
        }
        fs::write(&file, bytes).expect("room");
    }
    let of = ["profile", &one, &other, "--format", "branch-list"];
    let whole = refused(&of);
    assert!(whole.contains("different programs"), "{whole}");
    for share in ["1/2", "2/2"] {
        let text = refused(&[&of[..], &["--units", share, "-o", &folder.path("no.part")]].concat());
        assert!(text.contains("different programs") && text.contains("--force"), "{text}");
    }
    let mut files = Vec::new();
    for share in ["1/2", "2/2"] {
        let part = folder.path(&format!("{}.part", &share[..1]));
        let done = run(&[&of[..], &["--force", "--units", share, "-o", &part]].concat());
        assert!(done.status.success(), "{}", error(&done));
        assert!(error(&done).contains("different programs"), "{}", error(&done));
        files.push(part);
    }
    // Their sum is that of both lists.
    let lists = [&one, &other].map(|input| {
        let list = format!("{input}.list");
        good(&["profile", input, "--format", "branch-list", "-o", &list]);
        list
    });
    let sum = good(&["merge", &lists[0], &lists[1]]);
    assert!(good(&["merge", &files[0], &files[1]]) == sum);
}

/// The offset and the length of the section `.text` of an ELF file of 32 bits.
fn text_section(elf: &[u8]) -> (usize, usize) {
    let word =
        |at: usize| u32::from_le_bytes(elf[at..at + 4].try_into().expect("4 bytes")) as usize;
    let half = |at: usize| usize::from(u16::from_le_bytes([elf[at], elf[at + 1]]));
    let header = |n: usize| word(32) + n * half(46);
    let names = word(header(half(50)) + 16);
    let own = (0..half(48)).map(header).find(|at| elf[names + word(*at)..].starts_with(b".text\0"));
    let at = own.expect("a section .text");
    (word(at + 16), word(at + 20))
}

/// A copy would be counted twice, whether the captures have an index or not.
#[test]
fn a_copy_of_a_capture_is_refused() {
    let folder = Folder::new("copies");
    let [one, other] = ["d1", "d2"].map(|name| {
        let path = folder.path(name);
        good(&["demo", "--write", &path]);
        path
    });
    let of = ["profile", &one, &other, "--format", "branch-list"];
    let check = || {
        for arguments in [
            &[&of[..], &["--units", "1/2"]].concat()[..],
            &["units", &one, &other, "--job", "branch-list"],
        ] {
            let text = refused(arguments);
            assert!(text.contains("d1 and ") && text.contains("the same trace"), "{text}");
        }
    };
    check();
    good(&["index", &one, "--segment", "256"]);
    check();
    good(&["index", &other, "--segment", "512"]);
    check();
    good(&["index", &other, "--segment", "256"]);
    check();
    // Without units, both are added.
    good(&of);
}

#[test]
fn options_that_change_no_part_are_refused() {
    let folder = Folder::new("options");
    let input = demo(&folder, "d1");
    for (arguments, why) in [
        (&["coverage", &input, "--units", "1/2", "--by", "object"][..], "--by"),
        (&["coverage", &input, "--units", "1/2", "--by", "decision"], "--by"),
        (&["coverage", &input, "--unit-size", "256"], "--unit-size"),
        (&["profile", &input, "--unit-size", "256"], "--unit-size"),
        (&["profile", &input, "--parts", "/absent", "--unit-size", "256"], "--unit-size"),
    ] {
        assert!(refused(arguments).contains(why), "{arguments:?}");
    }
    let text = refused(&["coverage", &input, "--decisions", "x.json", "--units", "1/2"]);
    assert!(text.contains("without --units and --parts"), "{text}");
}

/// What differs between parts of different plans is stated.
#[test]
fn parts_of_another_index_are_refused_with_the_reason() {
    let folder = Folder::new("plan");
    let input = demo(&folder, "d1");
    let files = parts(&folder, &["profile"], &input, "256", 2);
    let whole = folder.path("whole.part");
    good(&["profile", &input, "--no-index", "--units", "1/1", "-o", &whole]);
    let text = refused(&["merge", &files[0], &whole]);
    let words = ["the index: buffer", "divided in", "not divided", "left out"];
    assert!(words.iter().all(|word| text.contains(word)) && !text.contains("Extent"), "{text}");
    let text = refused(&["profile", &input, "--parts", &whole]);
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
}

/// Verbs whose results begin any number of segments before they end name one that has units.
#[test]
fn verbs_without_units_name_those_with_units() {
    let folder = Folder::new("without");
    let input = demo(&folder, "d1");
    for (verb, other) in [
        ("functions", "table functions"),
        ("calls", "table calls"),
        ("timing", "table calls"),
        ("itm", "table software_writes"),
    ] {
        for option in ["--units=1/2", "--unit=x", "--unit-size=9", "--parts=x"] {
            let text = refused(&[verb, &input, option]);
            let advice = format!("`tracewright {other} --units K/N` has");
            assert!(text.contains("the verb has no units: "), "{text}");
            assert!(text.contains(&advice) && text.contains("segments before it ends"), "{text}");
        }
    }
    assert!(!refused(&["decode", &input, "--units", "1/2"]).contains("no units"));
}
