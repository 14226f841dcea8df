//! Files that show a trace without a server: their answers are those of the server, and they have a
//! bound.

use std::path::PathBuf;

use serde_json::Value;
use tracewright::Trace;
use tracewright::index::{Index, Window};
use tracewright_testing::embedded as answers;
use tracewright_viewer::{Exporting, Files, Limits, MOST_EXPORTED, Served, export, part_of};

use crate::common::{capture, demo, index, with_server};

fn served<'a>(trace: &'a Trace, index: &'a Index, roots: Vec<PathBuf>) -> Served<'a> {
    let files = Files {
        disk: tracewright::Files::default(),
        read: &|path, _| std::fs::read(path),
        notes: &|| Ok(None),
        save: None,
        source_roots: roots,
        any_source: false,
    };
    Served::new(trace, index, files).expect("an index")
}

fn exporting(most: usize) -> Exporting {
    let about = vec![("trace".to_owned(), "a </script> b".to_owned())];
    let title = "a </title><script>".to_owned();
    Exporting { title, about, part: None, report: None, most }
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

#[test]
fn answers_in_a_file_are_those_of_the_server() {
    for name in ["etmv4", "itm"] {
        let trace = tracewright::open(capture(name)).expect("a capture");
        let index = index(&trace);
        let (page, _) =
            export(&served(&trace, &index, Vec::new()), &exporting(MOST_EXPORTED)).expect("a file");
        let answers = answers(&page);
        with_server(&trace, false, &[], Limits::default(), |server| {
            let capture = server.json("api/capture");
            assert_eq!(json(&answers["capture"])["buffers"], capture["buffers"], "{name}");
            let bytes = capture["buffers"][0]["bytes"].as_u64().unwrap();
            let (mut compared, mut exact) = (0, 0);
            for (own, found) in &answers {
                let parts: Vec<&str> = own.split('/').collect();
                let route = match parts[..] {
                    ["functions", buffer] => format!("functions?buffer={buffer}"),
                    ["tiles" | "values", buffer, source, level, block] => format!(
                        "{}?buffer={buffer}&source={source}&level={level}&first={}&count=512",
                        parts[0],
                        block.parse::<u64>().unwrap() * 512
                    ),
                    ["detail", buffer, source] => {
                        exact += 1;
                        format!("detail?buffer={buffer}&source={source}&from=0&to={bytes}")
                    }
                    ["profile", buffer, from, to] => {
                        format!("profile?buffer={buffer}&from={from}&to={to}")
                    }
                    ["calls", buffer, function] => {
                        format!("calls?buffer={buffer}&function={function}&limit=20")
                    }
                    ["histogram", buffer, function] => {
                        format!("histogram?buffer={buffer}&function={function}")
                    }
                    _ => continue,
                };
                assert_eq!(&server.get(&format!("api/{route}")).body, found, "{name}: {route}");
                compared += 1;
            }
            assert!(compared >= 4 && exact >= 1, "{name}: {compared} {exact}");
            // The pages of a list have each row.
            for (route, rows) in [("exceptions", "exceptions"), ("output", "lines")] {
                let pages = json(&answers[&format!("{route}/0")]);
                let found: Vec<_> = pages.as_array().unwrap().iter().collect();
                let found: Vec<_> =
                    found.iter().flat_map(|p| p[rows].as_array().unwrap()).collect();
                let all = server.json(&format!("api/{route}?limit=500"));
                assert_eq!(found, all[rows].as_array().unwrap().iter().collect::<Vec<_>>());
            }
            let pages = json(&answers["list/0"]);
            let rows = pages.as_array().unwrap().iter().flat_map(|p| p["rows"].as_array().unwrap());
            let numbers: std::collections::BTreeSet<u64> =
                rows.filter_map(|row| row["n"].as_u64()).collect();
            let instructions = capture["buffers"][0]["instructions"].as_u64().unwrap();
            assert_eq!(numbers.len() as u64, instructions.min(20_000), "{name}");
        });
    }
}

/// What does not fit is left out, which the file states.
#[test]
fn files_have_a_bound() {
    let trace = demo();
    let index = index(&trace);
    let served = served(&trace, &index, Vec::new());
    let (page, whole) = export(&served, &exporting(MOST_EXPORTED)).expect("a file");
    let (len, all) = (page.len(), answers(&page).len());
    let (mut least, mut left_out) = (0, 0);
    for most in (0..len + 100_000).step_by(9_000) {
        match export(&served, &exporting(most)) {
            Err(error) => {
                assert!(error.to_string().contains("does not fit"), "{error}");
                least = most;
            }
            Ok((page, lacks)) => {
                assert!(page.len() <= most, "{} of {most}", page.len());
                let about = json(&answers(&page)["about"]);
                let stated: Vec<&str> = about["lacks"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|t| t.as_str().unwrap())
                    .collect();
                assert_eq!(stated, lacks);
                if answers(&page).len() < all {
                    assert!(lacks.len() > whole.len(), "{most}: {lacks:?}");
                    left_out += 1;
                }
            }
        }
    }
    assert!(least > 100_000 && left_out > 0, "{least} {left_out}");
}

/// No text of a trace ends an element, and nothing is loaded.
#[test]
fn texts_are_no_markup() {
    let trace = demo();
    let index = index(&trace);
    let report = "{\"notes\":[\"</script><script>alert(1)</script>\"]}".to_owned();
    let how = Exporting { report: Some(report.clone()), ..exporting(MOST_EXPORTED) };
    let (page, _) = export(&served(&trace, &index, Vec::new()), &how).expect("a file");
    // The report, the answers and the code.
    assert_eq!(page.matches("</script").count(), 3);
    assert_eq!(page.matches("<title>").count(), 1);
    assert!(page.contains("<title>a &lt;/title&gt;&lt;script&gt;</title>"));
    assert!(!page.contains(" src=") && !page.contains("@import"));
    let (_, policy) = page.split_once("http-equiv=\"Content-Security-Policy\" content=\"").unwrap();
    let (policy, _) = policy.split_once('"').unwrap();
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
    assert!(!policy.contains("connect-src"), "{policy}");
    let (_, own) = page.split_once("<script id=\"report\" type=\"application/json\">").unwrap();
    let (own, _) = own.split_once("</script>").unwrap();
    assert_eq!(json(own.as_bytes()), json(report.as_bytes()));
}

/// The part of a window is where its first and its last element are.
#[test]
fn windows_are_parts() {
    let trace = demo();
    let index = index(&trace);
    let served = served(&trace, &index, Vec::new());
    let at = |window: &Window| part_of(&served, window).expect("an index");
    let (_, whole) = at(&Window::default()).expect("a part");
    let half = whole.end / 2;
    let by_offset = Window { offset: Some(half..whole.end), ..Window::default() };
    let (buffer, part) = at(&by_offset).expect("a part");
    assert!(part.start >= half && part.end <= whole.end, "{part:?}");
    let instruction = Window { instruction: Some(3..9), ..Window::default() };
    let (_, few) = at(&instruction).expect("a part");
    assert!(few.end < half, "{few:?}");
    // Both: nothing is in each of them.
    let both = Window { instruction: Some(3..9), ..by_offset };
    assert_eq!(at(&both), None);
    let how = Exporting { part: Some((buffer, part.clone())), ..exporting(MOST_EXPORTED) };
    let (page, _) = export(&served, &how).expect("a file");
    let about = json(&answers(&page)["about"]);
    assert_eq!(about["part"]["from"], part.start);
    assert!(answers(&page).contains_key(&format!("profile/{buffer}/{}/{}", part.start, part.end)));
}
