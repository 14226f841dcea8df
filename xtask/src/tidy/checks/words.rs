//! Words that the field does not use, and lines that are too long.

use aho_corasick::AhoCorasick;

use super::{Finding, Tree, memmem};
use crate::tidy::rust;
use crate::tidy::tree::{File, lines};

/// Words that are refused, and what to write. A word is part of an identifier in any case:
/// `SourceBoard`, `board_of`, `BOARD`.
const WORDS: &[(&str, &str)] = &[
    ("board boards", "work queue, machine"),
    ("bring brings", "prefetch, load"),
    ("carry carries carried carrying", "hold, contain, resume"),
    ("doubt doubts doubtful", "inconsistency"),
    ("ear ears", "observer"),
    ("family families", "class, series, group"),
    ("foresee foresees", "predict, prefetch_lookup"),
    ("guess guesses guessed", "predict, infer"),
    ("hear hears heard", "observe, receive"),
    ("hop hops", "cached block"),
    ("keep keeps kept keeping", "hold, cache, store, retain"),
    ("landing landings", "target cache"),
    ("lane lanes", "fast path"),
    ("listens", "receives"),
    ("nature", "stimulus"),
    ("news", "report"),
    ("owed owe owes", "pending"),
    ("pace", "scheduler, timing"),
    ("realm realms", "code space"),
    ("road roads", "packet source"),
    ("say says said saying", "report, emit, state, print"),
    ("stranger strangers", "unknown ID"),
    ("stretch stretches", "chunk"),
    ("tell tells told telling", "report, record, configure, indicate"),
    ("truth truths", "expected state"),
];

/// Phrases that are refused in any case, and what to write.
const PHRASES: &[(&str, &str)] = &[
    ("bare bytes", "raw trace data"),
    ("bytes that are no packet", "undecodable bytes"),
    ("by turns", "repeat, interleave"),
    ("came by", "reported, executed"),
    ("came_by", "loop_label"),
    ("link layer", "formatter, trace link framing"),
    ("one who", "the subject's name"),
    ("so many", "the number's meaning"),
    ("the reference", "OpenCSD"),
    ("the wire", "packet encoding"),
    ("words of the answer", "output format"),
];

/// Where a refused word or phrase is right: in a phrase, or in a file.
const ALLOWED: &[(&str, Where, &str)] = &[
    ("truth", Where::Phrase("ground truth"), "a term of measurement"),
    ("truth", Where::Phrase("ground_truth"), "a term of measurement"),
    (
        "the reference",
        Where::Phrase("the reference flow"),
        "the RISC-V group's program of that name",
    ),
    ("the reference", Where::Phrase("the reference model"), "a term of verification"),
    ("the reference", Where::Phrase("the reference manual"), "a document"),
    ("keep", Where::Phrase("pldl1keep"), "the operand of an A64 prefetch instruction"),
    ("keep", Where::Phrase("keep-going"), "the option of make(1)"),
    ("keep", Where::Phrase("keep_going"), "the option of make(1)"),
    ("family", Where::Phrase("font-family"), "a property of CSS"),
    ("stretch", Where::Phrase("align-items: stretch"), "a value of CSS"),
    ("stretch", Where::Phrase("align-self: stretch"), "a value of CSS"),
    ("realm", Where::File("crates/base/src/context.rs"), ARM_REALM),
    ("realm", Where::File("crates/capi/"), ARM_REALM),
    ("realm", Where::File("crates/columns/src/"), ARM_REALM),
    ("realm", Where::File("crates/image/src/host.rs"), ARM_REALM),
    ("realm", Where::File("crates/image/src/image.rs"), ARM_REALM),
    ("realm", Where::File("crates/image/src/space.rs"), ARM_REALM),
    ("realm", Where::File("crates/index/src/bytes.rs"), ARM_REALM),
    ("realm", Where::File("crates/opencsd/src/"), ARM_REALM),
    ("realm", Where::File("crates/protocols/src/etmv4/"), ARM_REALM),
    ("realm", Where::File("crates/units/src/"), ARM_REALM),
    ("realm", Where::File("crates/views/src/"), ARM_REALM),
    ("realm", Where::File("docs/ete-programming.md"), ARM_REALM),
    ("realm", Where::File("docs/index-format.md"), ARM_REALM),
    ("realm", Where::File("docs/json.md"), ARM_REALM),
    ("realm", Where::File("docs/glossary.md"), ARM_REALM),
];

const ARM_REALM: &str = "a security state of the Arm architecture (FEAT_RME)";

/// Files that quote refused words: this one, the record of past changes, and the built page.
const QUOTES: [&str; 4] =
    ["xtask/src/tidy/checks/words.rs", "CHANGELOG.md", "changelog/", "crates/viewer/dist/"];

enum Where {
    Phrase(&'static str),
    File(&'static str),
}

/// No file holds a refused word, in names, comments, strings or prose.
pub(super) fn vocabulary(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Most lines have none of the words, not even in other words.
    let words = WORDS.iter().flat_map(|(group, _)| group.split(' '));
    let all = words.chain(PHRASES.iter().map(|(phrase, _)| *phrase));
    let any = AhoCorasick::builder().ascii_case_insensitive(true).build(all);
    for file in tree.files.iter().filter(|f| !QUOTES.iter().any(|q| f.path.starts_with(q))) {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let names = refused(&file.path, name).map(|(word, new)| (0, word, new));
        let texts = lines(&file.text)
            .filter(|(_, line)| any.as_ref().map_or(true, |any| any.is_match(line)))
            .flat_map(|(n, line)| refused(&file.path, line).map(move |(word, new)| (n, word, new)));
        for (line, word, new) in names.chain(texts) {
            findings.push(Finding::new(file, line, format!("`{word}`: {new}")));
        }
    }
    findings
}

/// The refused words and phrases of a line, each with what to write.
fn refused<'a>(
    path: &'a str,
    line: &'a str,
) -> impl Iterator<Item = (&'static str, &'static str)> + 'a {
    let lower = line.to_lowercase();
    let parts = parts(line);
    let words = WORDS.iter().filter_map({
        let lower = lower.clone();
        move |&(group, new)| {
            let word = group.split(' ').find(|word| parts.iter().any(|part| part == word))?;
            let first = group.split(' ').next()?;
            (!allowed(first, path, &lower)).then_some((word, new))
        }
    });
    let phrases = PHRASES.iter().filter_map(move |&(phrase, new)| {
        let found = super::holds(&lower, phrase);
        (found && !allowed(phrase, path, &lower)).then_some((phrase, new))
    });
    words.chain(phrases)
}

fn allowed(word: &str, path: &str, lower: &str) -> bool {
    ALLOWED.iter().any(|(of, place, _)| {
        *of == word
            && match place {
                Where::Phrase(phrase) => {
                    let found = lower.matches(phrase).count();
                    found > 0 && found == lower.matches(word).count()
                }
                Where::File(folder) => path.starts_with(folder),
            }
    })
}

/// The words of a line in small letters; `SourceBoard` and `source_board` are two words each.
fn parts(line: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut before = ' ';
    for c in line.chars() {
        let starts = c.is_uppercase() && before.is_lowercase();
        if (starts || !c.is_alphabetic()) && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(String::new());
        }
        if c.is_alphabetic()
            && let Some(part) = parts.last_mut()
        {
            part.extend(c.to_lowercase());
        }
        before = c;
    }
    parts
}

/// `max_width` of rustfmt.toml.
const RUST: usize = 100;
const MARKDOWN: usize = 120;

/// Prose is within the width: comments of Rust, and paragraphs of Markdown.
pub(super) fn width(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        let most = match file.path.rsplit('.').next() {
            Some("rs") => RUST,
            Some("md") => MARKDOWN,
            _ => continue,
        };
        let mut fenced = false;
        let prose = if most == RUST { &file.comments } else { &file.text };
        for ((n, whole), (_, text)) in lines(&file.text).zip(lines(prose)) {
            let text = text.trim_start().trim_start_matches(['/', '!']).trim();
            fenced ^= text.starts_with("```");
            let table = text.starts_with('|');
            let link = text.contains("](") || text.contains("://") || text.starts_with('[');
            let code = most == MARKDOWN && whole.starts_with("    ");
            let len = whole.chars().count();
            if len > most && !(text.is_empty() || fenced || table || link || code) {
                findings.push(Finding::new(file, n, format!("{len} columns")));
            }
        }
    }
    findings
}

/// Tests find shared data through `tracewright-testing` alone, and do not skip by themselves.
pub(super) fn skips(tree: &Tree) -> Vec<Finding> {
    const SIGNS: [(&str, &str); 5] = [
        ("TRACEWRIGHT_SHARED", "looks for shared data"),
        ("../shared", "looks for shared data"),
        ("\"skipped", "skips by itself"),
        ("#[ignore", "is ignored"),
        (", ignore", "is ignored"),
    ];
    let mut findings = Vec::new();
    let tests = |f: &&File| f.path.starts_with("crates/") && f.crate_name() != Some("testing");
    for file in tree.rust().filter(tests) {
        if !SIGNS.iter().any(|(sign, _)| memmem(&file.text, sign)) {
            continue;
        }
        for (n, line) in lines(&rust::without_comments(&file.text)) {
            for (_, what) in SIGNS.iter().filter(|(sign, _)| {
                line.contains(sign) && (sign.starts_with(',') <= line.contains("cfg_attr"))
            }) {
                findings.push(Finding::new(file, n, *what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    #[test]
    fn refused_words_are_found_anywhere() {
        for bad in [
            "struct SourceBoard;",
            "let board_of = 1;",
            "const BOARDS: u8 = 1;",
            "// what was said",
            "println!(\"told\");",
            "The wire has it.",
            "written by turns",
        ] {
            assert_eq!(
                findings(vocabulary, &[("crates/a/src/a.rs", bad)]),
                ["crates/a/src/a.rs:1"]
            );
            assert_eq!(findings(vocabulary, &[("docs/a.md", bad)]), ["docs/a.md:1"]);
        }
        assert_eq!(
            findings(vocabulary, &[("crates/a/src/lane.rs", "")]),
            ["crates/a/src/lane.rs:0"]
        );
    }

    #[test]
    fn other_words_are_allowed() {
        for good in [
            "a keyboard, a planet, an early essay",
            "the ground truth",
            "RISC-V: the reference flow",
            "the wired input",
        ] {
            assert_eq!(findings(vocabulary, &[("docs/a.md", good)]), [""; 0], "{good}");
        }
        let realm = "Security::Realm";
        assert_eq!(findings(vocabulary, &[("crates/base/src/context.rs", realm)]), [""; 0]);
        assert_eq!(findings(vocabulary, &[("crates/image/src/table.rs", realm)]).len(), 1);
        let both = "the ground truth and the truth";
        assert_eq!(findings(vocabulary, &[("docs/a.md", both)]), ["docs/a.md:1"]);
    }

    #[test]
    fn long_prose_is_found() {
        let words = "word ".repeat(20);
        let rust = format!("/// {words}\nlet a = \"{words}{words}\";\n// | {words}\n// short\n");
        assert_eq!(findings(width, &[("a.rs", &rust)]), ["a.rs:1"]);
        let long = format!("{words}{words}");
        let text = format!("{long}\n| {long}|\n```\n{long}\n```\n[a](b) {long}\n{words}\n");
        assert_eq!(findings(width, &[("a.md", &text)]), ["a.md:1"]);
    }

    #[test]
    fn planted_skips_are_found() {
        for bad in [
            "println!(\"skipped: no captures\");",
            "let Some(root) = env::var_os(\"TRACEWRIGHT_SHARED\") else { return };",
            "let path = here.join(\"../../../shared\");",
            "#[ignore]",
            "#[cfg_attr(miri, ignore)]",
        ] {
            assert_eq!(findings(skips, &[("crates/a/tests/a.rs", bad)]), ["crates/a/tests/a.rs:1"]);
            assert_eq!(findings(skips, &[("crates/testing/src/data.rs", bad)]), [""; 0]);
        }
        let good =
            "// skipped: ../shared\nlet Some(f) = shared(\"a\") else { return };\nf(a, ignored)";
        assert_eq!(findings(skips, &[("crates/a/tests/a.rs", good)]), [""; 0]);
    }
}
