//! Answers without a server are those of the server.

use std::path::Path;

use tracewright::ImageSource;
use tracewright_viewer::{Answers, Files, Limits, Served};

use crate::common::{capture, demo, index, with_server};

/// Each route, what is asked wrongly, and a search.
#[test]
fn answers_without_a_server_are_those_of_the_server() {
    let trace = demo();
    let index = index(&trace);
    let roots = vec![capture("etmv4")];
    let read = |path: &Path, _| std::fs::read(path);
    let files = Files {
        disk: tracewright::Files::default(),
        read: &read,
        notes: &|| Ok(None),
        save: None,
        source_roots: roots.clone(),
        any_source: false,
    };
    let served = Served::new(&trace, &index, files).expect("an index");
    let mut answers = Answers::new(&served);
    with_server(&trace, false, &roots, Limits::default(), |server| {
        let mut well = 0;
        for (route, query) in [
            ("capture", ""),
            ("functions", ""),
            ("tiles", "level=0"),
            ("frames", "min=1"),
            ("detail", "from=0&to=400"),
            ("list", "at=10&after=20"),
            ("stack", "at=100"),
            ("profile", ""),
            ("tree", "function=1"),
            ("calls", "function=1&order=time"),
            ("histogram", "function=1"),
            ("source", "file=0"),
            ("place", "function=1"),
            ("values", "level=0"),
            ("output", ""),
            ("exceptions", ""),
            ("notes", ""),
            ("none", ""),
            ("detail", "from=x"),
            ("list", "buffer=9"),
        ] {
            let want = server.get(&format!("api/{route}?{query}"));
            let mine = answers.answer(route, query, None);
            assert_eq!(mine.status, want.status, "{route}?{query}");
            assert_eq!(mine.content_type, want.headers["content-type"], "{route}?{query}");
            assert!(mine.body == want.body, "{route}?{query}");
            well += usize::from(mine.status == 200);
        }
        assert!(well >= 12, "{well}");
        for query in ["q=exception&direction=all", "q=last+any", "q=("] {
            let want = String::from_utf8(server.get(&format!("api/find?{query}")).body).unwrap();
            let mut mine = String::new();
            answers.find(query, &mut |event| {
                mine.push_str(&event);
                true
            });
            assert_eq!(mine, want, "{query}");
            assert!(mine.contains("event: "), "{query}");
        }
        let saved = answers.answer("notes", "", Some(b"{\"notes\":[]}"));
        assert_eq!(saved.status, 405);
    });
}

/// Sources in memory are found by the last parts of their paths, below the folders that are given.
#[test]
fn sources_may_be_in_memory() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/src/demo/program.elf");
    // Its source is beside it on the disk, which is not read.
    assert!(program.with_file_name("program.c").is_file());
    let trace = demo().with_image(&ImageSource::file(program)).expect("a program");
    let index = index(&trace);
    let read = |_: &Path, _| Ok(b"one\ntwo\n".to_vec());
    for (name, readable) in [
        ("sources/program.c", true),
        ("program.c", false),
        ("sources/other/program.c", false),
        ("sources/program.c.orig", false),
    ] {
        let files = Files {
            disk: tracewright::Files::named([(name, b"one\ntwo\n".to_vec())]),
            read: &read,
            notes: &|| Ok(None),
            save: None,
            source_roots: vec!["sources".into()],
            any_source: false,
        };
        let served = Served::new(&trace, &index, files).expect("an index");
        let mut answers = Answers::new(&served);
        let text = answers.answer("capture", "", None).body;
        let value: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let files = value["files"].as_array().expect("files");
        let is_own = |file: &&serde_json::Value| {
            file["path"].as_str().is_some_and(|path| path.ends_with("program.c"))
        };
        let number = files.iter().position(|file| is_own(&file)).expect("program.c");
        assert_eq!(files[number]["readable"], readable, "{name}");
        let status = answers.answer("source", &format!("file={number}"), None).status;
        assert_eq!(status, if readable { 200 } else { 404 }, "{name}");
    }
}
