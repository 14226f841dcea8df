//! Tests of exemptions.

use std::collections::BTreeMap;

use super::*;
use crate::coverage::{BranchOutcomes, FunctionLine, Line, SourceFile};
use crate::coverage_runs::Digest;
use crate::decisions::{
    Condition, ConditionCoverage, Decision, DecisionCoverage, MeasuredDecision, Next,
};

/// A source file of 12 lines, whose functions `f` and `g` are in lines 3 to 6 and 8 to 11.
const TEXT: &str = "one\ntwo\nf {\n if\n x\n}\nseven\ng {\n y\n z\n}\ntwelve\n";

fn decision(line: u32) -> MeasuredDecision {
    let region = tracewright_symbols::Region { start: (line, 5), end: (line, 9) };
    let next = [Next::Outcome(false), Next::Outcome(true)];
    let condition = Condition { region, text: String::new(), next };
    let covered = DecisionCoverage {
        outcomes: [Some(0), Some(3)],
        conditions: vec![ConditionCoverage {
            values: [Some(0), Some(3)],
            independent: Some(false),
        }],
        ..DecisionCoverage::default()
    };
    let decision = Decision {
        file: "src/a.c".to_owned(),
        region,
        conditions: vec![condition],
        exact: true,
        leads_to: Default::default(),
        refused: None,
    };
    MeasuredDecision { decision, covered }
}

fn sources() -> BTreeMap<String, SourceFile> {
    let line = |number: u32| {
        let branches = match number {
            4 | 9 => vec![BranchOutcomes { address: number.into(), counts: [Some(7), Some(0)] }],
            _ => Vec::new(),
        };
        let count = [Some(0), None, Some(2)][number as usize % 3];
        (number, Line { count, branches })
    };
    let function = |name: &str, lines| FunctionLine {
        name: name.to_owned(),
        symbol: format!("_{name}"),
        lines,
        count: Some(1),
    };
    let source = SourceFile {
        lines: (3..=11).map(line).collect(),
        functions: vec![function("f", (3, 6)), function("g", (8, 11))],
        decisions: vec![decision(4), decision(9)],
        ..SourceFile::default()
    };
    BTreeMap::from([("src/a.c".to_owned(), source)])
}

fn digest(lines: std::ops::RangeInclusive<usize>) -> Digest {
    let lines = TEXT.lines().skip(lines.start() - 1).take(lines.end() + 1 - lines.start());
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    Digest::of(text.as_bytes())
}

/// An exemption with these further keys, and its use.
fn tried(keys: &str, hash: Option<Digest>) -> (Applied, SourceFile) {
    let hash = hash.map(|hash| format!("hash = \"{hash}\"\n")).unwrap_or_default();
    let rest = "reason = \"r\"\nby = \"b\"\ndate = 2026-01-02\n";
    let text = format!("[[exempt]]\n{keys}\n{rest}{hash}");
    let all = read("e.toml", &text).expect("exemptions");
    let mut sources = sources();
    // An end of lines is no change.
    let applied = apply(&mut sources, &all, |_, _| Ok(TEXT.replace('\n', "\r\n")));
    (applied, sources.remove("src/a.c").expect("the file"))
}

/// What each target exempts, and that nothing covered is exempted.
#[test]
fn targets() {
    let branch = |line: u32| Part::Branch { line, address: line.into(), taken: false };
    let all_of = |line: u32| {
        vec![
            Part::Outcome((line, 5), false),
            Part::Value((line, 5), 0, false),
            Part::Independence((line, 5), 0),
        ]
    };
    // Lines 3, 6, 9 are not executed; 4, 7, 10 are unknown.
    let f = [vec![Part::Line(3), Part::Line(4), Part::Line(6), branch(4)], all_of(4)].concat();
    let g = [vec![Part::Line(9), Part::Line(10), branch(9)], all_of(9)].concat();
    for (keys, hash, want, covered) in [
        ("file = \"a.c\"\nfunction = \"f\"", digest(3..=6), f.clone(), 5),
        ("file = \"src/a.c\"\nfunction = \"_g\"", digest(8..=11), g.clone(), 6),
        // The lines of a function are counted from its first one.
        ("file = \"a.c\"\nfunction = \"g\"\nlines = 3", digest(8..=11), vec![Part::Line(10)], 0),
        (
            "file = \"a.c\"\nfunction = \"g\"\nlines = \"3-4, 2\"\nkind = \"lines\"",
            digest(8..=11),
            vec![Part::Line(9), Part::Line(10)],
            1,
        ),
        (
            "file = \"a.c\"\nlines = \"9-10\"\nkind = \"branches\"",
            digest(9..=10),
            vec![branch(9)],
            1,
        ),
        ("file = \"a.c\"\nfunction = \"g\"\ndecision = [2, 5]", digest(8..=11), all_of(9), 2),
        (
            "file = \"a.c\"\ndecision = [4, 5]\nvalue = false",
            digest(4..=4),
            vec![Part::Outcome((4, 5), false)],
            0,
        ),
        (
            "file = \"a.c\"\nfunction = \"f\"\ndecision = [2, 5]\ncondition = 1\nvalue = false",
            digest(3..=6),
            all_of(4)[1..].to_vec(),
            0,
        ),
        ("file = \"a.c\"", digest(1..=12), [f, g, vec![Part::Line(7)]].concat(), 11),
    ] {
        let (applied, source) = tried(keys, Some(hash));
        assert_eq!(applied.errors, [], "{keys}");
        let mut want = want;
        want.sort();
        let got: Vec<_> = source.exempted.keys().cloned().collect();
        assert_eq!(got, want, "{keys}");
        let used = &applied.uses[0];
        assert_eq!((used.exempted, used.covered), (want.len() as u64, covered), "{keys}");
        // They are counted apart; what is covered stays.
        let before = sources().remove("src/a.c").expect("the file");
        for (now, then) in [
            (source.line_totals(), before.line_totals()),
            (source.branch_totals(), before.branch_totals()),
            (source.decision_totals()[0], before.decision_totals()[0]),
            (source.decision_totals()[2], before.decision_totals()[2]),
        ] {
            assert_eq!((now.executed, now.all + now.exempted), (then.executed, then.all));
            assert!(now.unknown <= then.unknown, "{keys}");
        }
    }
}

/// An exemption without a digest, of another text, or of what is not there.
#[test]
fn stale_and_unused() {
    let error = |keys: &str, hash| tried(keys, hash).0.errors.remove(0).1;
    let f = "file = \"a.c\"\nfunction = \"f\"";
    assert_eq!(error(f, None), ExemptionError::Missing(digest(3..=6)));
    assert_eq!(error(f, Some(digest(3..=5))), ExemptionError::Stale(digest(3..=6)));
    let outside = error(&format!("{f}\nlines = 5"), Some(digest(3..=6)));
    assert_eq!(outside, ExemptionError::Outside(5, 4));
    let outside = error("file = \"a.c\"\nlines = 13", Some(digest(3..=6)));
    assert_eq!(outside, ExemptionError::Outside(13, 12));
    let unused = |keys: &str, hash| tried(keys, Some(hash)).0.uses[0].unused.expect("a reason");
    let none = Digest::default();
    let covered = format!("{f}\nlines = 3");
    for (keys, hash, want) in [
        ("file = \"b.c\"", none, "no program has such a source file"),
        // The end of a path begins with a folder.
        ("file = \".c\"", none, "no program has such a source file"),
        ("file = \"a.c\"\nfunction = \"h\"", none, "the programs do not have the function"),
        ("file = \"a.c\"\ndecision = [4, 6]", digest(4..=4), "no such decision is measured"),
        ("file = \"a.c\"\nlines = 1", digest(1..=1), "there is no code"),
        (&covered, digest(3..=6), "all of it is covered"),
    ] {
        assert_eq!(unused(keys, hash).to_string(), want, "{keys}");
    }
    // Two exemptions of the same part, and a file that cannot be read.
    let one = format!("[[exempt]]\n{f}\nreason = \"r\"\nby = \"b\"\ndate = \"2026-01-02\"\n");
    let one = format!("{one}hash = \"{}\"\n", digest(3..=6));
    let all = read("e.toml", &format!("{one}{one}")).expect("exemptions");
    let applied = apply(&mut sources(), &all, |_, _| Ok(TEXT.to_owned()));
    assert_eq!(
        applied.uses[1].unused.map(|own| own.to_string()).as_deref(),
        Some("other exemptions have all of it")
    );
    let mut unread = sources();
    let applied = apply(&mut unread, &all, |_, _| Err("gone".to_owned()));
    assert_eq!(applied.errors.len(), 2);
    assert_eq!(unread, sources());
}

#[test]
fn wrong_tables() {
    let good = "[[exempt]]\nfile = \"a\"\nreason = \"r\"\nby = \"b\"\ndate = 2026-01-02\n";
    assert_eq!(read("e", good).expect("exemptions")[0].date, "2026-01-02");
    for (text, want) in [
        ("x".to_owned(), "line 1: not TOML"),
        ("a = 1\n".to_owned(), "`a` is not known; expected tables [[exempt]]"),
        (String::new(), "expected tables [[exempt]]"),
        (good.replace("reason", "lines"), "exemption 1: lines: expected a line or ranges"),
        (good.replace("reason = \"r\"\n", ""), "`reason` is missing"),
        (good.replace("\"r\"", "\" \""), "reason: expected a text that is not empty"),
        (good.replace("by = \"b\"\n", ""), "`by` is missing"),
        (good.replace("date = 2026-01-02\n", ""), "`date` is missing"),
        (good.replace("2026-01-02", "\"soon\""), "exemption 1: date: expected a day as YYYY-MM-DD"),
        (good.replace("2026-01-02", "\"2026-02-30\""), "date: expected a day"),
        (good.replace("2026-01-02", "2026-01-02T03:04:05"), "date: expected a day"),
        (good.replace("2026-01-02", "03:04:05"), "date: expected a day"),
        (good.replace("2026-01-02", "20260102"), "date: expected a text"),
        (format!("{good}hash = \"1\"\n"), "hash: expected 64"),
        (format!("{good}kind = \"x\"\n"), "kind: expected one of lines, branches"),
        (format!("{good}lines = \"5-3\"\n"), "lines: expected a line or ranges"),
        (format!("{good}lines = 0\n"), "lines: expected a line or ranges"),
        (format!("{good}condition = 0\n"), "condition: expected the number"),
        (format!("{good}value = true\n"), "`condition` and `value` are of a `decision`"),
        (format!("{good}decision = [1]\n"), "decision: expected [line, column]"),
        (format!("{good}decision = [1, 2]\nlines = 3\n"), "either `lines` or `decision`"),
        (format!("{good}note = \"x\"\n"), "`note` is not known; the keys are file"),
        (format!("{good}{}", good.replace("by", "my")), "exemption 2: `my` is not known"),
    ] {
        let error = read("e", &text).expect_err("a wrong table").to_string();
        assert!(error.contains(want), "{text}: {error}");
    }
}

/// Words of lcov, gcovr and GNATcoverage, and those that are wrong.
#[test]
fn words_of_comments() {
    let text = "\
int f() {          // GCOVR_EXCL_FUNCTION never called
  a(); // LCOV_EXCL_LINE: cannot fail
  b(); /* LCOV_EXCL_START hardware */
  c();
  d(); // LCOV_EXCL_STOP
  /* GNATCOV_EXEMPT_ON (\"by review\") */
  e();
  /* GNATCOV_EXEMPT_OFF */
  pragma Annotate (xcov, EXEMPT_ON, \"in Ada\");
  pragma Annotate (Xcov, Exempt_Off);
  f(); // GCOV_EXCL_BR_LINE
  Exempt_On; NOT_LCOV_EXCL_LINE LCOV_EXCL_LINES
  // GCOVR_EXCL_FUNCTION GCOVR_EXCL_STOP
  // GCOVR_EXCL_START
  // GCOVR_EXCL_START LCOV_EXCL_STOP
";
    let mut source = SourceFile::default();
    source.functions.push(FunctionLine { lines: (1, 15), ..FunctionLine::default() });
    let (all, problems) = comments("a.c", text, &source);
    let got: Vec<_> = all
        .iter()
        .map(|own| {
            let Target::Lines(lines) = &own.target else { panic!("{own:?}") };
            let ExemptionOrigin::Comment(line, word) = own.origin else { panic!("{own:?}") };
            (line, word, lines[0], own.kind.is_some(), own.reason.as_str())
        })
        .collect();
    let want = [
        (1, "GCOVR_EXCL_FUNCTION", (1, 15), false, "never called"),
        (2, "LCOV_EXCL_LINE", (2, 2), false, "cannot fail"),
        (3, "LCOV_EXCL_START", (3, 4), false, "hardware"),
        (6, "GNATCOV_EXEMPT_ON", (6, 8), false, "by review"),
        (9, "Exempt_On", (9, 10), false, "in Ada"),
        (11, "GCOV_EXCL_BR_LINE", (11, 11), true, ""),
    ];
    assert_eq!(got, want);
    let problems: Vec<_> =
        problems.into_iter().map(|(line, what)| format!("{line}: {what}")).collect();
    let want = [
        "12: LCOV_EXCL_LINES is not known; it exempts nothing",
        "13: GCOVR_EXCL_FUNCTION: no function begins in this line",
        "13: GCOVR_EXCL_STOP: no region has begun",
        "14: GCOVR_EXCL_START has no end; it exempts nothing",
        "15: GCOVR_EXCL_START is in a region that has begun",
        "15: LCOV_EXCL_STOP: no region has begun",
    ];
    assert_eq!(problems, want);
}
