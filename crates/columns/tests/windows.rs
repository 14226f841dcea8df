//! Parts of tables: windows, limits, selections, with and without an index; damaged captures;
//! files.

mod common;

use std::ops::Range;

use tracewright::analysis::stacks::{Begin, Ending, Position, Time, Visitor};
use tracewright::capture::Bytes;
use tracewright::index::{Index, Making, Shape, Window};
use tracewright::{Trace, VisitFrames};
use tracewright_columns::{Query, TableError, files, table, tables};
use tracewright_testing::Random;

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

/// A window has the rows of the whole table that are inside of it, however the trace is cut, and
/// with an index the same.
#[test]
fn parts_are_the_whole() {
    let mut random = Random::new(54);
    for path in captures().iter().step_by(5) {
        let Some(trace) = open(path) else { continue };
        let index = index(&trace);
        for name in ["elements", "ranges", "gaps", "exceptions"] {
            let all = sorted(rows(name, &trace, &Query::default(), None));
            for by in ["element", "offset", "time"] {
                let value = |row: &Row| row.get(by).and_then(|text| text.parse::<u64>().ok());
                let most = all.iter().filter_map(value).max().unwrap_or(0);
                let mut cuts: Vec<u64> = (0..2).map(|_| random.below(most.max(1))).collect();
                cuts.extend([0, u64::MAX]);
                cuts.sort_unstable();
                // An exception that ends after a window has no end in it.
                let comparable = |row: Row| -> Row {
                    let ends = ["exit_element", "exit_time", "ticks", "inclusive_instructions"];
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
    let mut compared = 0;
    for path in captures() {
        let Some(trace) = open(&path) else { continue };
        let calls = rows("calls", &trace, &Query::default(), None);
        let functions = rows("functions", &trace, &Query::default(), None);
        let number = |row: &Row, key: &str| row[key].parse::<u64>().expect("a number");
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
    assert!(compared > 1000, "{compared}");
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
