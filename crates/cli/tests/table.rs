//! `tracewright table`, of commands with and without tables.

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tracewright"));
    command.args(arguments).output().expect("the command")
}

/// A capture of this repository.
fn capture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(name);
    path.join("capture").to_string_lossy().into_owned()
}

#[cfg(not(feature = "columns"))]
#[test]
fn a_command_without_tables_has_advice() {
    for arguments in [&["table"][..], &["table", "ranges", &capture("etmv4"), "-o", "x.parquet"]] {
        let done = run(arguments);
        assert_eq!(done.status.code(), Some(2));
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(text.contains("--features columns"), "{text}");
        assert!(done.stdout.is_empty());
    }
}

#[cfg(feature = "columns")]
mod with_tables {
    use super::*;

    fn text(arguments: &[&str]) -> String {
        let done = run(arguments);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("UTF-8")
    }

    #[test]
    fn tables_are_listed() {
        let text = text(&["table"]);
        for name in ["ranges: ", "calls: ", "missing: ", "  function ", "(on request)"] {
            assert!(text.contains(name), "{name}: {text}");
        }
    }

    /// Rows are the lines of JSON.
    #[test]
    fn ranges_as_csv() {
        let input = capture("etmv4");
        let csv = text(&["table", "ranges", &input, "--columns", "offset,instructions,taken"]);
        let json = text(&["decode", "--only", "range", "--format", "json", &input]);
        let own: Vec<String> = csv.lines().skip(1).map(str::to_owned).collect();
        let want = json.lines().filter(|line| line.contains("\"kind\":\"range\"")).map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
            format!("{},{},{}", value["offset"], value["instructions"], value["taken"])
        });
        assert_eq!(own, want.collect::<Vec<_>>());
        assert!(!own.is_empty());
        let limited = text(&["table", "ranges", &input, "--limit", "2"]);
        assert_eq!(limited.lines().count(), 3);
        let view = text(&["table", "ranges_view", &input, "--limit", "1", "--columns", "address"]);
        assert!(view.lines().nth(1).is_some_and(|line| line.starts_with("0x")), "{view}");
        let part = text(&["table", "elements", &input, "--at", "5", "--around", "1"]);
        assert_eq!(part.lines().count(), 4, "{part}");
        let kinds = text(&["table", "elements", &input, "--only", "range", "--columns", "kind"]);
        assert_eq!(kinds.lines().count(), own.len() + 1);
        let signed = text(&["table", "ranges", &input, "--signed", "--limit", "1"]);
        assert_eq!(signed.lines().count(), 2);
    }

    #[test]
    fn files_by_their_names() {
        let folder = std::env::temp_dir().join(format!("tracewright-table-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let input = capture("etmv4");
        for (name, start) in [
            ("a.parquet", &b"PAR1"[..]),
            ("a.arrow", b"ARROW1"),
            ("a.arrows", b"\xff\xff\xff\xff"),
            ("a.csv", b"buffer,source"),
        ] {
            let path = folder.join(name).to_string_lossy().into_owned();
            text(&["table", "ranges", &input, "-o", &path]);
            let bytes = std::fs::read(&path).expect("a file");
            assert!(bytes.starts_with(start), "{name}");
            text(&["table", "ranges", &input, "-o", &path, "--jobs", "3"]);
            assert!(std::fs::read(&path).expect("a file") == bytes, "{name}: other bytes");
        }
        let path = folder.join("a.txt").to_string_lossy().into_owned();
        let done = run(&["table", "ranges", &input, "-o", &path]);
        assert_eq!(done.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&done.stderr).contains(".parquet"));
        text(&["table", "ranges", &input, "-o", &path, "--format", "csv"]);
        std::fs::remove_dir_all(&folder).expect("the folder");
    }

    #[test]
    fn what_is_not_there() {
        let input = capture("etmv4");
        for (arguments, want) in [
            (&["table", "range", &input][..], "the tables are"),
            (&["table", "ranges", &input, "--columns", "x"], "no column `x`"),
            (&["table", "ranges", &input, "--function", "x"], "no program has"),
            (&["table", "ranges", &input, "--only", "range"], "cannot be selected by kind"),
            (&["table", "segments", &input], "index"),
        ] {
            let done = run(arguments);
            assert_eq!(done.status.code(), Some(2), "{arguments:?}");
            let text = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(text.contains(want), "{text}");
        }
        let done = run(&["table", "texts", &input]);
        assert!(String::from_utf8_lossy(&done.stderr).contains("no rows"));
    }
}
