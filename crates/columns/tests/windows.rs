//! Parts of tables: windows, limits, selections, with and without an index; damaged captures;
//! files.

mod common;

use std::collections::BTreeSet;
use std::ops::Range;

use tracewright::analysis::stacks::{Begin, Ending, Position, Time, Visitor};
use tracewright::capture::{Bytes, TimeConversion};
use tracewright::decode::Jobs;
use tracewright::index::{Index, Making, Shape, Window};
use tracewright::{Trace, VisitFrames};
use tracewright_columns::{Decoded, Query, TableError, files, table, tables};
use tracewright_testing::{Random, short_or_long};

use common::{Row, all_columns, captures, open, rows};

fn index(trace: &Trace) -> Index {
    let mut file = Vec::new();
    let making = Making { shape: Shape::with_segment(256), ..Making::default() };
    trace
        .subject()
        .make(trace.plans(), &making, |bytes, _| {
            file.extend_from_slice(bytes);
            Ok(true)
        })
        .expect("an index");
    Index::read(Bytes::from(file)).expect("an index")
}

fn window(by: &str, range: Range<u64>) -> Query {
    let mut window = Window::default();
    match by {
        "element" => window.element = Some(range),
        "offset" => window.offset = Some(range),
        "time" => window.time = Some(range),
        _ => window.instruction = Some(range),
    }
    Query { window, ..Query::default() }
}

/// The rows of parts between `cuts`, one after another.
fn parts(name: &str, trace: &Trace, by: &str, cuts: &[u64], index: Option<&Index>) -> Vec<Row> {
    let ends = cuts.iter().skip(1);
    cuts.iter()
        .zip(ends)
        .flat_map(|(from, to)| rows(name, trace, &window(by, *from..*to), index))
        .collect()
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| {
        (row["buffer"].clone(), row["element"].parse::<u64>().expect("a number"))
    });
    rows
}

fn number(row: &Row, key: &str) -> u64 {
    row[key].parse().expect("a number")
}

/// Tables whose rows have a position of one element.
const PLACED: [&str; 10] = [
    "elements",
    "ranges",
    "gaps",
    "exceptions",
    "timestamps",
    "contexts",
    "software_writes",
    "dwt_events",
    "data_accesses",
    "range_blocks",
];

/// A window has the rows of the whole table that are inside of it, however the trace is cut, and
/// with an index the same.
#[test]
fn parts_are_the_whole() {
    let mut random = Random::new(54);
    for path in captures().iter().step_by(5) {
        let Some(trace) = open(path) else { continue };
        let index = index(&trace);
        for name in PLACED {
            let all = sorted(rows(name, &trace, &Query::default(), None));
            for by in ["element", "offset", "time"] {
                let value = |row: &Row| row.get(by).and_then(|text| text.parse::<u64>().ok());
                let most = all.iter().filter_map(value).max().unwrap_or(0);
                let mut cuts: Vec<u64> = (0..2).map(|_| random.below(most.max(1))).collect();
                cuts.extend([0, u64::MAX]);
                cuts.sort_unstable();
                // An exception or context that ends after a window has no end in it, and blocks are
                // numbered as they occur in it.
                let comparable = |row: Row| -> Row {
                    let ends = [
                        "exit_element",
                        "exit_time",
                        "ticks",
                        "inclusive_instructions",
                        "until_element",
                        "block",
                    ];
                    row.into_iter().filter(|(key, _)| !ends.contains(&key.as_str())).collect()
                };
                // Without a time an element is in no window of time.
                let timed = |row: &Row| by != "time" || row.contains_key("time");
                let want: Vec<Row> =
                    all.iter().filter(|row| timed(row)).cloned().map(comparable).collect();
                for index in [None, Some(&index)] {
                    let own = sorted(parts(name, &trace, by, &cuts, index));
                    let own: Vec<Row> = own.into_iter().map(comparable).collect();
                    let about =
                        format!("{} {name} {by} {cuts:?} {}", path.display(), index.is_some());
                    assert_eq!(own.len(), want.len(), "{about}");
                    for (own, want) in own.iter().zip(&want) {
                        assert_eq!(own, want, "{about}");
                    }
                }
            }
        }
        let all = rows("instructions", &trace, &Query::default(), None);
        let middle = all.len() as u64 / 2;
        for index in [None, Some(&index)] {
            let cuts = [0, middle, u64::MAX];
            let own = parts("instructions", &trace, "instruction", &cuts, index);
            assert!(own == all, "{} {} {}", path.display(), own.len(), all.len());
        }
    }
}

/// Runs of segments have the rows of the whole table, wherever it is cut; only they are decoded.
#[test]
fn runs_of_segments_are_the_whole() {
    let mut random = Random::new(58);
    let mut divided = 0;
    for path in captures().iter().step_by(short_or_long(4, 1)) {
        let Some(trace) = open(path) else { continue };
        let index = index(&trace);
        for name in ["elements", "ranges", "instructions", "timestamps", "gaps"] {
            for own in index.buffers() {
                let (buffers, whole) = (Some(vec![own.number()]), Decoded::default());
                let all =
                    Query { buffers: buffers.clone(), decoded: whole.clone(), ..Query::default() };
                let want = rows(name, &trace, &all, None);
                let mut cuts: Vec<usize> = (0..3).map(|_| random.index(own.len() + 1)).collect();
                cuts.extend([0, own.len()]);
                cuts.sort_unstable();
                let mut parts = Vec::new();
                for (&from, &to) in cuts.iter().zip(&cuts[1..]).filter(|(from, to)| from < to) {
                    // Two runs of one query.
                    let middle = from + (to - from) / 2;
                    let runs = [from..middle, middle..to].into_iter().filter(|own| !own.is_empty());
                    let (segments, decoded) = (Some(runs.collect()), Decoded::default());
                    let query = Query {
                        buffers: buffers.clone(),
                        segments,
                        decoded: decoded.clone(),
                        ..Query::default()
                    };
                    parts.extend(rows(name, &trace, &query, Some(&index)));
                    divided += usize::from(decoded.bytes() < whole.bytes());
                }
                let about = format!("{} {name} {cuts:?}", path.display());
                assert!(parts == want, "{about} {} {}", parts.len(), want.len());
                let plan = trace.plans().iter().find(|plan| plan.buffer == own.number());
                if plan.is_some_and(|plan| !plan.sources.is_empty()) && name == "elements" {
                    assert!(whole.bytes() > 0, "{about}");
                }
            }
        }
    }
    assert!(divided > 10, "{divided} runs for which less than the whole was decoded");
}

/// The bytes of sources that were decoded for a query.
fn decoded(name: &str, trace: &Trace, query: &Query, index: Option<&Index>) -> u64 {
    let tally = table(name).expect("a table").read(trace, query, index, &mut |_| true);
    tally.expect("rows").sources.iter().map(|counts| counts.bytes()).sum()
}

/// The trace, of which three threads decode small parts.
fn on_threads(trace: &Trace) -> Trace {
    trace.clone().with_jobs(Jobs { count: 3, step: 16, chunk: 64..=4096, output: 1 << 10 })
}

/// With an index, code and sources select the same rows.
#[test]
fn an_index_does_not_change_what_code_selects() {
    let mut random = Random::new(56);
    for path in captures().iter().step_by(short_or_long(3, 1)) {
        let Some(trace) = open(path) else { continue };
        let index = index(&trace);
        let all = rows("ranges", &trace, &Query::default(), None);
        if all.is_empty() {
            continue;
        }
        let end = all.iter().map(|row| number(row, "offset")).max().unwrap_or(0);
        let from = random.below(end + 1);
        let offset = Some(from..from.saturating_add(end / 2));
        let part = Window { offset, ..Window::default() };
        let mut queries = Vec::new();
        for window in [Window::default(), part] {
            let address = number(&all[random.index(all.len())], "address");
            let addresses = vec![Range { start: address, end: address + 1 }];
            queries.push(Query { addresses, window, ..Query::default() });
        }
        for source in trace.sources() {
            queries.push(Query { sources: vec![source.name.clone()], ..Query::default() });
        }
        let threads = on_threads(&trace);
        for (name, query) in ["ranges", "instructions"]
            .iter()
            .flat_map(|name| queries.iter().map(move |query| (*name, query)))
        {
            let want = rows(name, &trace, query, None);
            for trace in [&trace, &threads] {
                let own = rows(name, trace, query, Some(&index));
                assert!(own == want, "{} {query:?}", path.display());
            }
        }
    }
}

/// Selected ranges are the same whether a function, which is made by another way, is among their
/// columns or not.
#[test]
fn selected_ranges_with_and_without_functions() {
    let mut random = Random::new(57);
    let own = ["buffer", "source", "element", "offset", "time", "instruction", "address", "times"];
    let columns =
        |more: &[&str]| Some([&own[..], more].concat().iter().map(|n| (*n).to_owned()).collect());
    let mut compared = 0;
    for path in captures().iter().step_by(short_or_long(2, 1)) {
        let Some(trace) = open(path) else { continue };
        let index = index(&trace);
        let threads = on_threads(&trace);
        let all = rows("ranges", &trace, &Query::default(), None);
        if all.is_empty() {
            continue;
        }
        let mut any = |key: &str| {
            all[random.index(all.len())].get(key).map_or(0, |text| text.parse().expect("a number"))
        };
        let mut queries = Vec::new();
        for by in ["element", "offset", "time", "instruction"] {
            let (a, b) = (any(by), any(by));
            queries.push(window(by, a.min(b)..a.max(b) + 1));
        }
        let (address, offset) = (any("address"), any("offset"));
        let addresses = vec![Range { start: address, end: address + 8 }];
        queries.push(Query { addresses: addresses.clone(), ..Query::default() });
        queries.push(Query { addresses, limit: Some(2), ..window("offset", offset / 2..u64::MAX) });
        queries.push(Query { sources: vec![trace.sources()[0].name.clone()], ..Query::default() });
        for query in queries {
            let with = Query { columns: columns(&["function"]), ..query.clone() };
            let mut want = rows("ranges", &trace, &with, None);
            want.iter_mut().for_each(|row| drop(row.remove("function")));
            let query = Query { columns: columns(&[]), ..query };
            for (trace, index) in [(&trace, None), (&trace, Some(&index)), (&threads, Some(&index))]
            {
                let own = rows("ranges", trace, &query, index);
                assert!(own == want, "{} {query:?} {}", path.display(), index.is_some());
            }
            compared += want.len();
        }
    }
    assert!(compared > 1000, "{compared}");
}

/// With an index, what has none of the selected code, or of the selected source, is not decoded.
#[test]
fn an_index_leaves_out_what_has_not_the_code() {
    let snapshot = "conformance/arm/snapshots/bugfix-exact-match";
    let Some(path) = tracewright_testing::shared(snapshot) else { return };
    let trace = open(&path).expect("a capture");
    let index = index(&trace);
    let of = |addresses: Range<u64>| Query { addresses: vec![addresses], ..Query::default() };
    let from = |source: &str| Query { sources: vec![source.to_owned()], ..Query::default() };
    for name in ["ranges", "instructions"] {
        // One of six trace units traced.
        for (query, some) in [
            (of(0..1 << 20), false),
            (of(0x4e_b5c0..0x4e_b5c4), true),
            (from("etm_0"), false),
            (from("etm_1"), true),
        ] {
            let query = Query { limit: Some(1), ..query };
            let own = rows(name, &trace, &query, Some(&index));
            assert!(own == rows(name, &trace, &query, None) && own.is_empty() != some);
            assert_eq!(decoded(name, &trace, &query, Some(&index)) > 0, some, "{name} {query:?}");
            assert!(decoded(name, &trace, &query, None) > 0);
        }
    }
    // What the end of the trace makes certain has offsets before the window.
    let bytes = trace.capture().buffers[0].len();
    let query = window("offset", bytes / 10..bytes / 5);
    let columns = Some(vec!["element".to_owned()]);
    let query = Query { columns, ..query };
    let own = rows("gaps", &trace, &query, Some(&index));
    assert_eq!(own, rows("gaps", &trace, &query, None));
    assert!(decoded("gaps", &trace, &query, Some(&index)) < bytes / 5);
}

/// Packets between cuts are those of the whole, and the functions of the parts have as many
/// instructions as those of the whole: without a symbol, a function has its name where its call is
/// traced.
#[test]
fn parts_of_packets_and_functions_are_the_whole() {
    let mut random = Random::new(55);
    let mut sum = 0;
    for path in captures().iter().step_by(5) {
        let Some(trace) = open(path) else { continue };
        let index = index(&trace);
        let all = rows("packets", &trace, &Query::default(), None);
        let end = all.iter().filter_map(|row| row["offset"].parse().ok()).max().unwrap_or(1);
        let mut cuts = vec![0, random.below(end), random.below(end), u64::MAX];
        cuts.sort_unstable();
        let instructions =
            |rows: &[Row]| rows.iter().map(|row| number(row, "instructions")).sum::<u64>();
        let whole = instructions(&rows("functions", &trace, &Query::default(), None));
        for index in [None, Some(&index)] {
            let mut own = parts("packets", &trace, "offset", &cuts, index);
            let mut want = all.clone();
            own.sort();
            want.sort();
            assert!(own == want, "{} {} {}", path.display(), own.len(), want.len());
            let own = instructions(&parts("functions", &trace, "offset", &cuts, index));
            assert_eq!(own, whole, "{} {cuts:?}", path.display());
        }
        sum += whole;
    }
    assert!(sum > 0);
}

/// Columns of ranges are the same whether a function, which is made by another way, is among them
/// or not.
#[test]
fn ranges_with_and_without_functions() {
    let names = table("ranges").expect("a table").columns();
    let own: Vec<String> = names.iter().map(|column| column.name.to_owned()).collect();
    let without: Vec<String> = own
        .iter()
        .filter(|name| {
            let other = ["ts", "cpu", "pid", "tid", "comm", "el", "security", "context_id", "vmid"];
            !other.contains(&name.as_str())
                && !["function", "file", "line"].contains(&name.as_str())
        })
        .cloned()
        .collect();
    let mut compared = 0;
    for path in captures() {
        let Some(trace) = open(&path) else { continue };
        for (batch, limit, signed) in [(0, None, false), (7, Some(100), true)] {
            let of = |columns: &[String]| Query {
                columns: Some(columns.to_vec()),
                batch,
                limit,
                signed,
                ..Query::default()
            };
            let mut want = rows("ranges", &trace, &of(&own), None);
            for row in &mut want {
                row.retain(|name, _| without.contains(name));
            }
            for jobs in [1, 3] {
                let trace = match jobs {
                    1 => trace.clone(),
                    _ => on_threads(&trace),
                };
                let own = rows("ranges", &trace, &of(&without), None);
                assert!(own == want, "{} {batch}", path.display());
            }
            compared += want.len();
        }
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
fn limits_and_columns() {
    let trace = open(&captures()[4]).expect("a capture");
    let all = rows("ranges", &trace, &Query::default(), None);
    for limit in [0, 1, 7] {
        let own = rows("ranges", &trace, &Query { limit: Some(limit), ..Query::default() }, None);
        assert_eq!(own, all[..limit as usize]);
    }
    let columns = Some(vec!["taken".to_owned(), "address".to_owned()]);
    let query = Query { columns, limit: Some(3), ..Query::default() };
    let schema = table("ranges").expect("a table").schema(&trace, &query).expect("a schema");
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["taken", "address"]);
    let own = rows("ranges", &trace, &query, None);
    assert_eq!(own.len(), 3);
    assert!(own.iter().zip(&all).all(|(own, all)| own["address"] == all["address"]));
    let view = rows("ranges_view", &trace, &query, None);
    for (own, view) in own.iter().zip(&view) {
        let address: u64 = own["address"].parse().expect("a number");
        assert_eq!(view["address"], format!("{address:#x}"));
    }
    let signed = Query { signed: true, ..query };
    assert_eq!(rows("ranges", &trace, &signed, None), own);
}

/// Rows of a function are those whose range touches its code.
#[test]
fn selections_of_functions_and_sources() {
    let mut found = 0;
    for path in captures() {
        let Some(trace) = open(&path) else { continue };
        let all = rows("ranges", &trace, &all_columns("ranges"), None);
        let Some(function) = all.iter().find_map(|row| row.get("function")) else { continue };
        let query = Query { functions: vec![function.clone()], ..all_columns("ranges") };
        let own = rows("ranges", &trace, &query, None);
        let named: Vec<&Row> =
            all.iter().filter(|row| row.get("function") == Some(function)).collect();
        // A range may begin before the function.
        assert!(own.len() >= named.len() && named.iter().all(|row| own.contains(row)));
        let source = &all[0]["source"];
        let query = Query { sources: vec![source.clone()], ..Query::default() };
        let of_source = rows("ranges", &trace, &query, None);
        assert_eq!(of_source.len(), all.iter().filter(|row| row["source"] == *source).count());
        found += named.len();
    }
    assert!(found > 0);
}

#[test]
fn what_is_not_there_is_refused() {
    let trace = open(&captures()[4]).expect("a capture");
    let read =
        |name: &str, query: Query| table(name)?.read(&trace, &query, None, &mut |_| true).map(drop);
    let error = |name: &str, query: Query| read(name, query).expect_err("refused").to_string();
    assert!(error("range", Query::default()).contains("the tables are ranges, branches"));
    let columns = Some(vec!["start".to_owned()]);
    let text = error("ranges", Query { columns, ..Query::default() });
    assert!(text.contains("no column `start`") && text.contains("address"), "{text}");
    let sources = vec!["nothing".to_owned()];
    assert!(error("ranges", Query { sources, ..Query::default() }).contains("the sources are"));
    let functions = vec!["nothing".to_owned()];
    assert!(error("ranges", Query { functions, ..Query::default() }).contains("nothing"));
    let kinds = vec!["nothing".to_owned()];
    assert!(error("elements", Query { kinds: kinds.clone(), ..Query::default() }).contains("kind"));
    assert!(error("ranges", Query { kinds, ..Query::default() }).contains("cannot be selected"));
    assert!(matches!(read("segments", Query::default()), Err(TableError::NoIndex(_))));
}

/// Every table of every capture, of damaged ones too, has the rows of its schema, twice the same.
#[test]
fn damaged_captures_have_all_tables() {
    let mut random = Random::new(7);
    for path in captures().iter().step_by(9) {
        let Some(whole) = open(path) else { continue };
        let mut capture = whole.capture().clone();
        for buffer in &mut capture.buffers {
            let mut bytes = buffer.bytes().into_owned();
            bytes.truncate(1 << 14);
            for _ in 0..bytes.len().min(20) {
                let at = random.index(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            let (name, format) = (buffer.name.clone(), buffer.format.clone());
            *buffer = tracewright::capture::Buffer::new(name, format, bytes);
        }
        let trace = Trace::new(capture).partial();
        if trace.sources().is_empty() {
            continue;
        }
        let index = index(&trace);
        for table in tables() {
            let first = rows(table.name(), &trace, &all_columns(table.name()), Some(&index));
            let again = rows(table.name(), &trace, &all_columns(table.name()), Some(&index));
            assert!(first == again, "{} {}", path.display(), table.name());
            for column in table.columns().iter().filter(|column| !column.nullable) {
                let has = first.iter().all(|row| row.contains_key(column.name));
                assert!(has, "{} {} {}", path.display(), table.name(), column.name);
            }
        }
    }
}

/// Receives what a call is, as the listing of calls does.
#[derive(Default)]
struct Frames {
    open: Vec<(u64, u64)>,
    ended: Vec<(u64, u64, u64, u64)>,
    instructions: u64,
}

impl Visitor for Frames {
    type Node = usize;

    fn thread(&mut self, _: usize, _: usize, _: Option<u64>) -> usize {
        usize::MAX
    }

    fn begin(&mut self, position: &Position, _: usize, _: &Begin) -> usize {
        self.open.push((position.at, 0));
        self.open.len() - 1
    }

    fn end(&mut self, position: &Position, node: usize, _: Ending, _: bool) {
        let (at, own) = self.open[node];
        self.ended.push((at, position.at, own, position.depth as u64));
    }

    fn beneath(&mut self, position: &Position, root: usize, begin: &Begin) -> (usize, usize) {
        (self.begin(position, root, begin), root)
    }

    fn run(&mut self, _: &Position, node: usize, instructions: u64, _: u64) {
        self.instructions += instructions;
        if let Some(open) = self.open.get_mut(node) {
            open.1 += instructions;
        }
    }

    fn time(&mut self, _: &Position, _: Time) {}
}

impl VisitFrames for Frames {
    fn threads(&self) -> Vec<(usize, Option<u64>)> {
        Vec::new()
    }
}

#[test]
fn calls_and_functions_sum_up() {
    let (mut compared, mut timed) = (0, 0);
    for path in captures() {
        let Some(trace) = open(&path) else { continue };
        let calls = rows("calls", &trace, &Query::default(), None);
        let functions = rows("functions", &trace, &Query::default(), None);
        let sum = |rows: &[Row], key: &str| rows.iter().map(|row| number(row, key)).sum::<u64>();
        let frames = trace.frames(&Frames::default).expect("frames");
        let ended: Vec<_> = frames.buffers.iter().flat_map(|own| &own.frames.ended).collect();
        assert_eq!(calls.len(), ended.len(), "{}", path.display());
        for (row, (begin, end, own, _)) in calls.iter().zip(&ended) {
            assert_eq!(number(row, "instructions"), *own, "{}", path.display());
            let at =
                |key: &str| row.get(key).map_or(u64::MAX, |text| text.parse().expect("a number"));
            assert_eq!((at("begin_offset"), at("end_offset")), (*begin, *end));
        }
        let mut called = std::collections::BTreeMap::<&str, u64>::new();
        for row in calls.iter().filter(|row| row.contains_key("inclusive_ticks")) {
            if let Some(parent) = row.get("parent_id") {
                *called.entry(parent).or_default() += number(row, "inclusive_ticks");
            }
        }
        for row in calls.iter().filter(|row| row.contains_key("ticks")) {
            let within = called.get(row["id"].as_str()).copied().unwrap_or(0);
            assert_eq!(number(row, "ticks") + within, number(row, "inclusive_ticks"), "{row:?}");
            timed += u64::from(within > 0);
        }
        // The names and sums of the facade, which are those of `functions --format json`.
        let facade = trace.functions().expect("functions");
        let mut want: Vec<(String, u64, u64, u64)> = facade
            .rows
            .iter()
            .map(|r| {
                (
                    r.name.clone(),
                    r.totals.calls,
                    r.totals.instructions,
                    r.totals.inclusive_instructions,
                )
            })
            .collect();
        let mut own: Vec<(String, u64, u64, u64)> = functions
            .iter()
            .map(|r| {
                let (all, inclusive) =
                    (number(r, "instructions"), number(r, "inclusive_instructions"));
                (r["name"].clone(), number(r, "calls"), all, inclusive)
            })
            .collect();
        want.sort();
        own.sort();
        assert_eq!(own, want, "{}", path.display());
        let paths = rows("call_paths", &trace, &Query::default(), None);
        assert_eq!(sum(&paths, "calls"), sum(&functions, "calls"), "{}", path.display());
        compared += calls.len();
    }
    assert!(compared > 1000 && timed > 0, "{compared} {timed}");
}

/// The end of a trace without bytes is in a window from 0 on.
#[test]
fn a_window_of_an_empty_buffer() {
    let mut capture = open(&captures()[4]).expect("a capture").capture().clone();
    for buffer in &mut capture.buffers {
        let (name, format) = (buffer.name.clone(), buffer.format.clone());
        *buffer = tracewright::capture::Buffer::new(name, format, Vec::new());
    }
    let trace = Trace::new(capture).partial();
    let (index, query) = (index(&trace), window("offset", 0..u64::MAX));
    let own = rows("elements", &trace, &query, Some(&index));
    assert!(!own.is_empty() && own == rows("elements", &trace, &query, None));
}

/// Threads without an identifier are called as their sources, of one buffer or of several.
#[test]
fn calls_of_several_sources() {
    for name in ["TC2", "pauth_lr"] {
        let path = format!("conformance/arm/snapshots/{name}");
        let Some(path) = tracewright_testing::shared(&path) else { return };
        let trace = open(&path).expect("a capture");
        let calls = rows("calls", &trace, &Query::default(), None);
        let threads: BTreeSet<&str> = calls.iter().map(|row| row["thread"].as_str()).collect();
        let names: Vec<&str> = trace.sources().iter().map(|source| source.name.as_str()).collect();
        assert!(threads.len() > 2 && threads.iter().all(|own| names.contains(own)), "{threads:?}");
    }
}

/// Sources of several buffers may have the same name, as those of a recording of perf have.
#[test]
fn tables_of_several_buffers() {
    let Some(path) = tracewright_testing::shared("captures/simpleperf-etm/perf_etm.data") else {
        return;
    };
    let trace = tracewright::open(path).expect("a capture").partial();
    let names: Vec<&str> = trace.sources().iter().map(|source| source.name.as_str()).collect();
    let different: BTreeSet<&str> = names.iter().copied().collect();
    assert!(different.len() < names.len(), "{names:?}");
    for table in tables().iter().filter(|table| table.is_decoded()) {
        let all = rows(table.name(), &trace, &all_columns(table.name()), None);
        for source in all.iter().filter_map(|row| row.get("source")) {
            assert!(names.contains(&source.as_str()), "{} {source}", table.name());
        }
    }
    // With a function, ranges are made by another way.
    let columns = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    let query = |names: &[&str]| Query { columns: columns(names), ..Query::default() };
    let own = ["buffer", "source", "element", "address", "taken"];
    let more = [&own[..], &["function"]].concat();
    let with = rows("ranges", &trace, &query(&more), None);
    let with: Vec<Row> = with
        .into_iter()
        .map(|mut row| {
            row.remove("function");
            row
        })
        .collect();
    assert!(!with.is_empty() && with == rows("ranges", &trace, &query(&own), None));
}

/// A query that is stopped has no more rows than were made until then.
#[test]
fn a_query_that_is_stopped() {
    let trace = open(&captures()[4]).expect("a capture");
    let query = Query::default();
    let stop = query.stop.clone();
    assert!(!rows("ranges", &trace, &query, None).is_empty());
    stop.stop();
    assert!(stop.is_set());
    for name in ["ranges", "elements", "packets", "instructions"] {
        assert!(rows(name, &trace, &query, None).is_empty(), "{name}");
        assert!(rows(name, &trace, &query, Some(&index(&trace))).is_empty(), "{name}");
    }
}

/// The frequency of timestamps is that of their conversion to nanoseconds.
#[test]
fn the_frequency_of_timestamps() {
    let Some(path) = tracewright_testing::shared("captures/simpleperf-etm/perf_etm.data") else {
        return;
    };
    let mut capture = tracewright::open(path).expect("a capture").capture().clone();
    for (conversion, want) in [
        (None, None),
        // A tick is 10240 / 2^10 nanoseconds.
        (Some(TimeConversion { shift: 10, multiplier: 10_240, zero: 7 }), Some("100000000")),
    ] {
        let linux = capture.linux.as_mut().expect("a recording of perf");
        (linux.conversion, linux.virtual_counter) = (conversion, true);
        let trace = Trace::new(capture.clone()).partial();
        let sources = rows("sources", &trace, &Query::default(), None);
        let clocks: Vec<_> = sources.iter().map(|row| row.get("clock_hz").cloned()).collect();
        assert!(
            !clocks.is_empty() && clocks.iter().all(|own| own.as_deref() == want),
            "{clocks:?}"
        );
    }
}

/// A join of the two tables of the star layout is the table of ranges.
#[test]
fn blocks_and_their_ranges_are_ranges() {
    for path in captures().iter().step_by(6) {
        let Some(trace) = open(path) else { continue };
        let all = rows("ranges", &trace, &Query::default(), None);
        let small = rows("range_blocks", &trace, &Query::default(), None);
        let blocks = rows("blocks", &trace, &Query::default(), None);
        assert_eq!(all.len(), small.len());
        for (range, row) in all.iter().zip(&small) {
            let block = &blocks[row["block"].parse::<usize>().expect("a number")];
            for key in ["source", "address", "size", "instructions", "isa", "last", "conditional"] {
                assert_eq!(range[key], block[key], "{}", path.display());
            }
            assert_eq!((&range["element"], &range["taken"]), (&row["element"], &row["taken"]));
        }
    }
}

#[test]
fn files_have_the_rows_of_batches() {
    let trace = open(&captures()[4]).expect("a capture");
    let table = table("ranges").expect("a table");
    let all = rows("ranges", &trace, &Query::default(), None);
    for (format, end) in files::Format::ALL {
        let write = || {
            let mut out = Vec::new();
            let written =
                files::write((&table, &trace), &Query::default(), None, *format, &mut out);
            assert_eq!(written.expect("written").rows, all.len() as u64, "{end}");
            out
        };
        let first = write();
        assert!(!first.is_empty() && first == write(), "{end}");
        if *format == files::Format::Csv {
            let text = String::from_utf8(first).expect("UTF-8");
            let mut lines = text.lines();
            let names: Vec<&str> = lines.next().expect("names").split(',').collect();
            for (line, row) in lines.by_ref().zip(&all) {
                let known =
                    names.iter().zip(line.split(',')).filter(|(_, value)| !value.is_empty());
                let own: Row =
                    known.map(|(name, value)| ((*name).to_owned(), value.to_owned())).collect();
                assert_eq!(&own, row);
            }
            assert_eq!(text.lines().count(), all.len() + 1);
        }
    }
}
