//! The program: formats, several captures, functions, errors.

mod common;

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use common::{open, opened, rows, session, whole};

fn capture(name: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    root.join(name).to_string_lossy().into_owned()
}

fn example() -> String {
    capture("crates/columns/tests/example")
}

fn sql(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tracewright-sql")).args(words).output().expect("the program")
}

/// The output of a query without errors and notes.
fn good(words: &[&str]) -> String {
    let done = sql(words);
    let err = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!((done.status.code(), err.as_str()), (Some(0), ""), "{words:?}");
    String::from_utf8(done.stdout).expect("text")
}

/// The message of a query that fails.
fn refused(words: &[&str]) -> String {
    let done = sql(words);
    assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0), "{words:?}");
    String::from_utf8(done.stderr).expect("text")
}

#[test]
fn formats_have_the_same_rows() {
    let example = example();
    let query = "SELECT element, address, function, cycles FROM ranges WHERE address = 0x246 ORDER BY element LIMIT 2";
    let trace = open(example.as_ref()).expect("a capture");
    let all = whole("ranges", &trace);
    let own: Vec<_> =
        all.iter().filter(|row| row["address"] == 0x246.to_string()).take(2).collect();
    let [a, b] = own[..] else { panic!("two rows") };
    let (a, b) = (&a["element"], &b["element"]);
    let csv = format!("element,address,function,cycles\n{a},582,place,\n{b},582,place,\n");
    assert_eq!(good(&["--format", "csv", &example, query]), csv);
    let json =
        |element| format!("{{\"element\":{element},\"address\":582,\"function\":\"place\"}}\n");
    assert_eq!(good(&["--format", "json", &example, query]), json(a) + &json(b));
    let text = good(&[&example, query]);
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["element", "address", "function", "cycles"]);
    assert_eq!(
        lines[1..],
        [[a.as_str(), "0x246", "place", "-"], [b.as_str(), "0x246", "place", "-"]]
    );
    assert!(
        text.lines()
            .all(|line| line.find("place").is_none_or(|at| Some(at) == text.find("function")))
    );
}

/// Who reads the result may want no more of it.
#[test]
fn a_closed_output_is_no_error() {
    for format in ["table", "csv", "json"] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_tracewright-sql"));
        program.args(["--format", format, &example(), "SELECT * FROM instructions"]);
        program.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut run = program.spawn().expect("the program");
        drop(run.stdout.take());
        let done = run.wait_with_output().expect("its end");
        let err = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!((done.status.code(), err.as_str()), (Some(0), ""), "{format}");
    }
}

#[test]
fn several_captures_are_one_table() {
    let (one, other) = (example(), capture("tests/captures/etmv4/capture"));
    let query = "SELECT capture, count(*) AS n FROM ranges GROUP BY capture ORDER BY n";
    let count = |path: &str| whole("ranges", &open(path.as_ref()).expect("a capture")).len();
    let text = good(&["--format", "csv", &one, &other, query]);
    let mut want = [(count(&one), &one), (count(&other), &other)];
    want.sort();
    let want: String = want.iter().map(|(n, path)| format!("{path},{n}\n")).collect();
    assert_eq!(text, format!("capture,n\n{want}"));
    // One of them.
    let query = format!("SELECT count(*) AS n FROM ranges WHERE capture = '{other}'");
    assert_eq!(good(&["--format", "csv", &one, &other, &query]), format!("n\n{}\n", count(&other)));
    let text = refused(&[&one, &one, "SELECT 1"]);
    assert!(text.contains("given twice"), "{text}");
}

#[test]
fn functions_know_what_is_unknown() {
    let (one, other) = (example(), capture("tests/captures/etmv4/capture"));
    let named = |path: &str| opened(path, &open(path.as_ref()).expect("a capture"), None);
    let alone = session([named(&one)], 1);
    let both = session([named(&one), named(&other)], 1);
    for (call, in_one, in_both) in [
        ("symbol(0x246)", Some("place+0x44"), None),
        ("symbol('ETM_0', 0x246)", Some("place+0x44"), Some("place+0x44")),
        (&*format!("symbol('{one}', 'ETM_0', 0x246)"), Some("place+0x44"), Some("place+0x44")),
        (&*format!("symbol('{other}', 'ETM_0', 0x246)"), None, None),
        ("symbol('ETM_9', 0x246)", None, None),
        ("symbol('ETM_0', NULL)", None, None),
        ("line(0x246)", Some("program.c:53"), None),
        (&*format!("line('{one}', 0x246)"), Some("program.c:53"), Some("program.c:53")),
        ("line(0xfffffff0)", None, None),
        ("hex(0x246)", Some("0x246"), Some("0x246")),
        ("hex(18446744073709551615)", Some("0xffffffffffffffff"), Some("0xffffffffffffffff")),
        ("hex(0x246 - 2)", Some("0x244"), Some("0x244")),
        ("hex(-1)", None, None),
        ("hex(NULL)", None, None),
    ] {
        for (session, want) in [(&alone, in_one), (&both, in_both)] {
            let own = rows(session, &format!("SELECT {call} AS own"));
            assert_eq!(own[0].get("own").map(String::as_str), want, "{call}");
        }
    }
    // In rows, the symbol of an address is the function of its row, and an offset.
    let own = rows(&alone, "SELECT function, symbol(source, address) AS own FROM ranges");
    assert!(
        own.len() > 1000
            && own.iter().all(|row| row["own"].split('+').next() == Some(&row["function"]))
    );
}

#[test]
fn numbers_in_hexadecimal_are_not_bytes() {
    let example = example();
    let text = good(&[
        "--format",
        "csv",
        &example,
        "SELECT 0x1F4 AS a, 0x1f4 + 1 AS b, X'1f' = X'1F' AS c, '0x1f4' AS d",
    ]);
    assert_eq!(text, "a,b,c,d\n500,501,true,0x1f4\n");
    let text = good(&[
        "--format",
        "csv",
        &example,
        "SELECT count(*) AS n\nFROM ranges\n  WHERE address\n= 0x246 AND 1 = 0x1",
    ]);
    assert_eq!(text, "n\n238\n");
}

#[test]
fn a_query_only_reads() {
    let example = example();
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("written.csv");
    let path = file.display();
    for query in [
        format!("COPY ranges TO '{path}'"),
        format!("CREATE EXTERNAL TABLE t (a INT) STORED AS CSV LOCATION '{path}'"),
        "CREATE TABLE t AS SELECT 1".to_owned(),
        "INSERT INTO ranges VALUES (1)".to_owned(),
        "DROP TABLE ranges".to_owned(),
        format!("SELECT * FROM '{path}'"),
    ] {
        let text = refused(&[&example, &query]);
        assert!(text.starts_with("tracewright-sql: "), "{query}: {text}");
        assert!(!file.exists(), "{query}");
    }
}

#[test]
fn errors_are_explained() {
    let example = example();
    for (words, want) in [
        (&[&*example, "SELECT nothing FROM ranges"][..], "No field named nothing"),
        (&[&example, "SELECT * FROM nothing"], "nothing' not found"),
        (&[&example, "SELECT * FROM segments"], "make one first"),
        (&[&example], "write the query after the captures"),
        (&["/nowhere", "SELECT 1"], "/nowhere"),
        (
            &["--index", "/nowhere.twx", &example, "SELECT 1"],
            "/nowhere.twx: the index cannot be used",
        ),
        (&["-f", "/nowhere.sql", &example], "/nowhere.sql"),
        (&[&example, "SELECT hex('x')"], "the last argument of hex is a whole number"),
    ] {
        let text = refused(words);
        assert!(text.contains(want), "{words:?}: {text}");
    }
    // An empty result is one, with a note.
    let done = sql(&[&example, "SELECT element FROM ranges WHERE function = 'nothing'"]);
    let err = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!((done.status.code(), &*done.stdout), (Some(0), &b"element\n"[..]));
    assert!(err.starts_with("note: the result has no rows"), "{err}");
    assert_eq!(good(&["-q", &example, "SELECT element FROM ranges LIMIT 0"]), "element\n");
}

/// Tables that are not divided at segments are those that are read without a query.
#[test]
fn other_tables_are_whole() {
    let mut compared = 0;
    for path in common::captures() {
        let Some(trace) = open(&path) else { continue };
        let session = session([opened("a", &trace, Some(common::index(&trace, 256)))], 3);
        for name in [
            "branches",
            "calls",
            "functions",
            "call_paths",
            "exceptions",
            "contexts",
            "texts",
            "packets",
            "buffers",
            "sources",
            "images",
        ] {
            let table = tracewright_columns::table(name).expect("a table");
            let columns: Vec<String> =
                table.columns().iter().map(|own| format!("\"{}\"", own.name)).collect();
            let columns = columns
                .iter()
                .filter(|own| *own != "\"capture\"")
                .cloned()
                .collect::<Vec<_>>()
                .join(", ");
            let (mut own, mut want) =
                (rows(&session, &format!("SELECT {columns} FROM {name}")), whole(name, &trace));
            want.iter_mut().for_each(|row| drop(row.remove("capture")));
            own.sort();
            want.sort();
            assert!(own == want, "{} {name}: {} {}", path.display(), own.len(), want.len());
            compared += usize::from(!want.is_empty());
        }
    }
    assert!(compared > 50, "{compared} tables with rows");
}
