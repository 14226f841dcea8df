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

    /// A capture with symbols and source lines.
    fn example() -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../columns/tests/example");
        path.to_string_lossy().into_owned()
    }

    /// The rows of some columns. No value of the example has a comma.
    fn rows(table: &str, columns: &str) -> Vec<Vec<String>> {
        let text = text(&["table", table, &example(), "--columns", columns]);
        let row = |line: &str| line.split(',').map(str::to_owned).collect();
        text.lines().skip(1).map(row).collect()
    }

    /// The lines of one type that a verb prints, each with these fields; `0x10` is 16.
    fn lines(verb: &str, of: &str, fields: &[&str]) -> Vec<Vec<String>> {
        let text = text(&[verb, "--format", "json", &example()]);
        let values = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        let own = values.filter(|value: &serde_json::Value| value["type"] == of);
        let field = |value: &serde_json::Value| match value {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).expect("a number").to_string(),
                None => text.clone(),
            },
            serde_json::Value::Array(all) => all.len().to_string(),
            other => other.to_string(),
        };
        own.map(|value| fields.iter().map(|name| field(&value[*name])).collect()).collect()
    }

    fn sorted(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
        rows.sort();
        rows
    }

    /// What the other verbs print of the same capture, by code of their own.
    #[test]
    fn tables_are_what_verbs_print() {
        let fields = ["name", "calls", "instructions", "inclusive_instructions"];
        let functions = rows("functions", &fields.join(","));
        assert_eq!(sorted(functions.clone()), sorted(lines("functions", "function", &fields)));
        assert!(functions.len() > 5);

        let of = "thread,end_offset,end_instruction,end_time,depth,function,ending,instructions,\
                  inclusive_instructions";
        let fields = [
            "thread",
            "offset",
            "instruction",
            "time_after",
            "depth",
            "function",
            "ending",
            "instructions",
            "inclusive_instructions",
        ];
        let calls = rows("calls", of);
        assert!(calls == lines("calls", "end", &fields));
        assert!(calls.len() > 100);
        let of = "thread,begin_offset,begin_instruction,begin_time,depth,function,entry,exception";
        let fields = [
            "thread",
            "offset",
            "instruction",
            "time_after",
            "depth",
            "function",
            "entry",
            "exception",
        ];
        assert!(sorted(rows("calls", of)) == sorted(lines("calls", "begin", &fields)));

        let mut branches = rows(
            "branches",
            "source,offset,from_address,to_address,kind,taken,\
                                             exception_name",
        );
        branches.retain(|row| row[5] == "true" && row[4] != "other");
        for row in &mut branches {
            let name = row.pop().unwrap_or_default();
            row.truncate(5);
            if !name.is_empty() {
                row[4] = format!("{} {name}", row[4]);
            }
        }
        let fields = ["source", "offset", "from", "to", "kind"];
        assert!(branches == lines("branches", "branch", &fields));
        assert!(branches.len() > 100);

        let mut counts =
            rows("branch_counts", "from_address,to_address,to_outside,taken,indirect,followed");
        counts.retain(|row| row[3] != "0");
        let fields = ["from", "to", "to_outside", "count", "indirect", "followed"];
        assert_eq!(sorted(counts), sorted(lines("profile", "branch", &fields)));

        let own = rows("coverage_lines", "file,line,executions");
        assert_eq!(sorted(own), sorted(lines("coverage", "line", &["path", "line", "executions"])));
    }

    /// The instructions of a function are those of its ranges, where none leads into another.
    #[test]
    fn ranges_by_function_are_functions() {
        let mut sums = std::collections::BTreeMap::<String, u64>::new();
        for row in rows("ranges", "function,instructions,times") {
            let number = |text: &String| text.parse::<u64>().expect("a number");
            *sums.entry(row[0].clone()).or_default() += number(&row[1]) * number(&row[2]);
        }
        for row in rows("functions", "name,instructions") {
            assert_eq!(sums.get(&row[0]).map(u64::to_string), Some(row[1].clone()), "{row:?}");
        }
    }

    /// A selection by address or function has the rows of the whole table that are there.
    #[test]
    fn addresses_and_functions_select_rows() {
        let columns = "offset,address,size,function";
        let all = rows("ranges", columns);
        let number = |text: &String| text.parse::<u64>().expect("a number");
        let input = example();
        let selected = |option: &str, value: &str| -> Vec<Vec<String>> {
            let text = text(&["table", "ranges", &input, "--columns", columns, option, value]);
            let row = |line: &str| line.split(',').map(str::to_owned).collect();
            text.lines().skip(1).map(row).collect()
        };
        let first = number(&all[0][1]);
        let window = first..first + 0x40;
        let want = all.iter().filter(|row| {
            let start = number(&row[1]);
            start < window.end && start + number(&row[2]) > window.start
        });
        let own = selected("--address", &format!("{:#x}..{:#x}", window.start, window.end));
        assert_eq!(own, want.cloned().collect::<Vec<_>>());
        assert!(!own.is_empty() && own.len() < all.len());
        let function = all.last().map(|row| row[3].clone()).expect("a row");
        let want = all.iter().filter(|row| row[3] == function);
        let own = selected("--function", &function);
        assert_eq!(own, want.cloned().collect::<Vec<_>>());
        assert!(!own.is_empty() && own.len() < all.len());
    }

    /// With an index, the same rows; the index of another capture is not used.
    #[test]
    fn an_index_does_not_change_rows() {
        let name = format!("tracewright-table-index-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let index = |input: &str| {
            let path = folder.join("i.twx").to_string_lossy().into_owned();
            text(&["index", input, "-o", &path]);
            path
        };
        let input = example();
        let path = index(&input);
        let words = ["table", "elements", &input, "--at", "2000", "--around", "50"];
        let without = text(&[&words[..], &["--no-index"]].concat());
        assert_eq!(text(&[&words[..], &["--index", &path]].concat()), without);
        assert_eq!(without.lines().count(), 102);
        let path = index(&capture("etmv4"));
        let done = run(&[&words[..], &["--index", &path]].concat());
        assert!(String::from_utf8_lossy(&done.stderr).contains("is not used"));
        assert_eq!(String::from_utf8_lossy(&done.stdout), without);
        std::fs::remove_dir_all(&folder).expect("the folder");
    }

    /// What is missing or wrong is exit code 1 with `--strict`; the rows are the same.
    #[test]
    fn strict_tables_have_an_exit_code() {
        let name = format!("tracewright-table-strict-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        for entry in std::fs::read_dir(example()).expect("the example") {
            let path = entry.expect("a file").path();
            std::fs::copy(&path, folder.join(path.file_name().expect("a name"))).expect("a copy");
        }
        let damaged = folder.to_string_lossy().into_owned();
        let trace = folder.join("ETB.bin");
        let mut bytes = std::fs::read(&trace).expect("the trace");
        let middle = bytes.len() / 2;
        bytes[middle..middle + 64].fill(0xff);
        std::fs::write(&trace, bytes).expect("the trace");
        for (input, code) in [(example(), 0), (damaged, 1)] {
            let loose = run(&["table", "ranges", &input]);
            let strict = run(&["table", "ranges", &input, "--strict"]);
            assert_eq!((loose.status.code(), strict.status.code()), (Some(0), Some(code)));
            assert!(loose.stdout == strict.stdout);
        }
        std::fs::remove_dir_all(&folder).expect("the folder");
    }

    /// The rows of several captures follow each other, each with the path of its capture.
    #[test]
    fn several_captures() {
        let name = format!("tracewright-table-several-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let paths = [capture("etmv4"), capture("etmv3")];
        let columns = ["--columns", "element,address"];
        let mut want = vec!["capture,element,address".to_owned()];
        for path in &paths {
            let own = text(&[&["table", "ranges", path][..], &columns].concat());
            want.extend(own.lines().skip(1).map(|line| format!("{path},{line}")));
        }
        let both = ["table", "ranges", &paths[0], &paths[1]];
        let own = text(&[&both[..], &columns].concat());
        assert_eq!(own.lines().collect::<Vec<_>>(), want);
        // The limit is that of all rows.
        let limit = (want.len() - 3).to_string();
        let limited = text(&[&both[..], &columns, &["--limit", &limit]].concat());
        assert_eq!(limited.lines().collect::<Vec<_>>(), want[..want.len() - 2]);
        let list = folder.join("list.txt");
        std::fs::write(&list, paths.join("\n")).expect("a list");
        let list = format!("@{}", list.display());
        assert_eq!(text(&[&["table", "ranges", &list][..], &columns].concat()), own);

        let missing = folder.join("missing").to_string_lossy().into_owned();
        let three = ["table", "ranges", &paths[0], &missing, &paths[1]];
        let done = run(&[&three[..], &columns].concat());
        assert_eq!(done.status.code(), Some(2));
        let done = run(&[&three[..], &columns, &["--keep-going"]].concat());
        assert_eq!(done.status.code(), Some(1));
        assert_eq!(String::from_utf8_lossy(&done.stdout), own);
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(text.contains("left out") && text.contains("missing"), "{text}");
        let done = run(&["table", "ranges", &missing, &missing, "--keep-going"]);
        assert_eq!(done.status.code(), Some(2));
        std::fs::remove_dir_all(&folder).expect("the folder");
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
        if cfg!(unix) {
            text(&["table", "ranges", &input, "-o", "/dev/null", "--format", "parquet"]);
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
