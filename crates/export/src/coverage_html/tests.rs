//! The pages of a report whose names and texts are hostile, and whose parts have each value.

use std::collections::{BTreeMap, BTreeSet};

use tracewright_analysis::coverage::{BranchOutcomes, FunctionLine, Line, SourceFile};
use tracewright_analysis::coverage_runs::{CoverageRuns, Digest, Run};
use tracewright_analysis::decisions::Criterion;
use tracewright_analysis::exemptions::Part;

use super::report::{CoverageReport, missed, totals_of};
use super::violations::find;

/// Text that ends elements, attributes and comments, and changes the direction of text.
const HOSTILE: &str = "\"><script>alert(1)</script><!--'\u{202e}\u{0}</td></table>&lt;";

fn function(name: &str, lines: (u32, u32), count: Option<u64>) -> FunctionLine {
    FunctionLine { name: name.to_owned(), symbol: name.to_owned(), lines, count }
}

/// A file whose second function was not executed, and whose third is unknown.
fn source() -> SourceFile {
    let branch = |address, counts| BranchOutcomes { address, counts };
    let line = |count, branches| Line { count, branches };
    let none = Vec::new;
    let lines = BTreeMap::from([
        (2, line(Some(7), vec![branch(0x10, [Some(3), Some(0)]), branch(0x14, [None, Some(4)])])),
        (3, line(Some(0), vec![branch(0x20, [Some(0), Some(0)])])),
        (5, line(Some(0), none())),
        (6, line(Some(0), vec![branch(0x30, [Some(0), Some(0)])])),
        (8, line(None, none())),
        (9, line(None, vec![branch(0x40, [None, None])])),
        (3000, line(Some(u64::MAX), none())),
    ]);
    let functions = vec![
        function("first", (2, 3), Some(7)),
        function(HOSTILE, (5, 6), Some(0)),
        function("third", (8, 9), None),
    ];
    let exempted = BTreeMap::from([(Part::Line(8), 0)]);
    SourceFile { lines, functions, exempted, ..SourceFile::default() }
}

fn pages(text: &str) -> BTreeMap<String, String> {
    let sources = BTreeMap::from([(format!("/a/{HOSTILE}.c"), source())]);
    let run = |tag: &str| Run {
        tags: BTreeSet::from([tag.to_owned()]),
        id: Digest::default(),
        tool: HOSTILE.to_owned(),
        options: vec![HOSTILE.to_owned()],
        inputs: Vec::new(),
        losses: 1,
        sound: false,
        programs: BTreeSet::new(),
    };
    let runs = CoverageRuns { runs: vec![run(HOSTILE), run("b")], ..CoverageRuns::default() };
    let read = |_: &str, _: &SourceFile| Ok(text.to_owned());
    let report = CoverageReport {
        sources: &sources,
        runs: &runs,
        losses: 1,
        criterion: Criterion::Masking,
        tool: HOSTILE.to_owned(),
        command: vec![HOSTILE.to_owned()],
        limits: &[],
        exemptions: Some((&[], &[])),
        changes: None,
        object: &[],
        text: &read,
    };
    let mut all = BTreeMap::new();
    report.write(|name, bytes| {
        assert!(all.insert(name.to_owned(), String::from_utf8(bytes).unwrap()).is_none());
        true
    });
    all
}

/// The values of an attribute in a page.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let begin = format!(" {name}=\"");
    page.split(&begin).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn hostile_text_is_text() {
    let all = pages(&format!("{HOSTILE}\n\tint x;{HOSTILE}\n").repeat(3));
    for (name, page) in &all {
        assert!(!page.contains("<script") && !page.contains("<!--"), "{name}");
        assert!(!page.contains(['\u{202e}', '\u{0}']), "{name}");
        for element in ["table", "td", "main", "section", "code"] {
            let begun = page.matches(&format!("<{element}>")).count()
                + page.matches(&format!("<{element} ")).count();
            assert_eq!(begun, page.matches(&format!("</{element}>")).count(), "{name}: {element}");
        }
        assert_eq!(page.matches("<h1>").count(), 1, "{name}");
        // Identifiers are unique.
        let ids = attributes(page, "id");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{name}");
    }
    let lines = all.get("file-0001.html").unwrap();
    assert!(lines.contains("<code>\tint x;&quot;&gt;&lt;script&gt;"), "{lines}");
}

/// Each link leads to a page that is written, and to a part of it.
#[test]
fn links_lead_somewhere() {
    let all = pages("a\nb\nc\nd\ne\nf\n");
    let names: Vec<&str> = all.keys().map(String::as_str).collect();
    let expected = [
        "exemptions.html",
        "file-0001-3.html",
        "file-0001.html",
        "functions.html",
        "index.html",
        "runs.html",
        "violations.html",
    ];
    assert_eq!(names, expected);
    let mut count = 0;
    for (name, page) in &all {
        for link in attributes(page, "href") {
            let (file, part) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { name } else { file };
            let to = all.get(file).unwrap_or_else(|| panic!("{name}: {link}"));
            // The exemption of the test is not in a list.
            let known = part.is_empty() || file == "exemptions.html";
            assert!(known || attributes(to, "id").contains(&part), "{name}: {link}");
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
    let last = all.get("file-0001-3.html").unwrap();
    assert!(last.contains("code in line 3000; the text has 6 lines"), "{last}");
    assert!(last.contains(&u64::MAX.to_string()));
}

/// What is listed and what follows from it is all that is not covered and unknown, and only the
/// most basic part is listed.
#[test]
fn the_most_basic_part_is_listed() {
    let sources = BTreeMap::from([("a.c".to_owned(), source())]);
    let found = find(&sources);
    let totals = totals_of(&source());
    let lacks: u64 = totals.iter().map(|own| missed(*own) + own.unknown).sum();
    assert_eq!(found.all.len() as u64 + found.implied.iter().sum::<u64>(), lacks);
    // Both functions; line 3; two outcomes of line 2. Line 8 is exempted, 9 is in the function.
    let listed: Vec<String> = found.all.iter().map(|own| format!("{own:?}")).collect();
    assert_eq!(listed.len(), 5, "{listed:#?}");
    assert_eq!(found.implied, [3, 6, 0, 0, 0, 0], "{listed:#?}");
}

/// Lists have a bounded number of rows on a page, and a page of a file a bounded number of
/// branches; what is left out is stated. Texts beyond the bound of all are left out.
#[test]
fn pages_are_bounded() {
    let many = 4500_u32;
    let functions = (0..many).map(|n| function(&format!("f{n}"), (n + 1, n + 1), Some(0)));
    let branches = (0..3000).map(|n| BranchOutcomes { address: n, counts: [Some(0), Some(1)] });
    let line = |branches| Line { count: Some(1), branches };
    let mut lines: BTreeMap<u32, Line> = (1..=many).map(|n| (n, line(Vec::new()))).collect();
    lines.insert(7, line(branches.collect()));
    let source = SourceFile { lines, functions: functions.collect(), ..SourceFile::default() };
    let other = SourceFile {
        lines: BTreeMap::from([1, 1_000_000, u32::MAX].map(|n| (n, line(Vec::new())))),
        ..SourceFile::default()
    };
    let sources = BTreeMap::from([("a.c".to_owned(), source), ("b.c".to_owned(), other)]);
    let read = |path: &str, _: &SourceFile| {
        // Each line counts more than its bytes.
        Ok(if path == "a.c" { "\n".repeat(many as usize) } else { "\n".repeat(5 << 20) })
    };
    let report = CoverageReport {
        sources: &sources,
        runs: &CoverageRuns::default(),
        losses: 0,
        criterion: Criterion::Masking,
        tool: String::new(),
        command: Vec::new(),
        limits: &[],
        exemptions: None,
        changes: None,
        object: &[],
        text: &read,
    };
    let mut all = BTreeMap::new();
    report.write(|name, bytes| {
        all.insert(name.to_owned(), String::from_utf8(bytes).unwrap());
        true
    });
    let rows = |name: &str| all[name].matches("<th scope=\"row\"").count();
    assert_eq!(rows("functions.html"), 2000);
    assert_eq!(rows("functions-3.html"), 500);
    assert!(all["functions-2.html"].contains("Page 2 of 3"));
    assert_eq!(all.keys().filter(|name| name.starts_with("file-0001")).count(), 5);
    assert!(all["file-0001.html"].contains("1000 more branches: coverage.jsonl has all."));
    assert!(all["file-0002.html"].contains("texts of all files have more than 256 MiB"));
    assert!(all["file-0002-4294968.html"].contains("id=\"L4294967295\""));
    for (name, page) in &all {
        assert!(page.len() < 2 << 20, "{name}");
        // A screen reader lists regions and navigations by their names.
        let names = attributes(page, "aria-label");
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{name}");
    }
    // Writing ends where the pages cannot be written.
    let mut count = 0;
    report.write(|_, _| {
        count += 1;
        count < 3
    });
    assert_eq!(count, 3);
}

/// The colours are those of the viewer's page.
#[test]
fn colours_are_those_of_the_viewer() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../viewer/src/style/theme.css");
    let Ok(theme) = std::fs::read_to_string(path) else {
        return tracewright_testing::skip("the sources of the viewer are not there");
    };
    let colours = |text: &str, scheme: usize| -> BTreeMap<String, String> {
        let block = text.split(":root {").nth(1 + scheme).unwrap().split('}').next().unwrap();
        let pairs =
            block.lines().filter_map(|line| line.trim().strip_suffix(';')?.split_once(": "));
        pairs
            .filter(|(name, _)| name.starts_with("--"))
            .map(|(name, colour)| (name.to_owned(), colour.to_owned()))
            .collect()
    };
    for scheme in [0, 1] {
        let own = colours(include_str!("style.css"), scheme);
        let its = colours(&theme, scheme);
        assert!(own.len() > 10);
        for (name, colour) in own {
            assert_eq!(Some(&colour), its.get(&name), "{name}");
        }
    }
}
