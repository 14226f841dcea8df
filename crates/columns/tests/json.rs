//! Tables and `--format json` of the same captures: the two share decoders, but no code that makes
//! rows or lines.

mod common;

use std::collections::BTreeMap;

use serde_json::Value;
use tracewright::Trace;
use tracewright::decode::{Fork, Jobs};
use tracewright::views::instructions::{Expand, Json};
use tracewright::views::json::{Listing, Shown};
use tracewright_columns::{Query, tables};
use tracewright_testing::short_or_long;

use common::{Row, all_columns, captures, open, rows};

/// How a field of JSON is the column of a table.
enum As {
    /// A number or a text.
    Same,
    /// A number that JSON has in hexadecimal.
    Hex,
    /// It is there if true; a column without it is false.
    Mark,
    /// The symbol of the function, and the offset in it.
    Symbol,
}
use As::{Hex, Mark, Same, Symbol};

type Mapping = &'static [(&'static str, &'static str, As)];

/// By kind of element: the table, and its columns by the names of fields.
const TABLES: &[(&str, &[&str], Mapping)] = &[
    (
        "ranges",
        &["range"],
        &[
            ("start", "address", Hex),
            ("end", "end", Hex),
            ("instructions", "instructions", Same),
            ("isa", "isa", Same),
            ("last", "last", Same),
            ("role", "role", Same),
            ("conditional", "conditional", Mark),
            ("taken", "taken", Same),
            ("cycles", "cycles", Same),
            ("symbol", "function", Symbol),
        ],
    ),
    (
        "exceptions",
        &["exception"],
        &[
            ("number", "number", Same),
            ("name", "name", Same),
            ("return_address", "return_address", Hex),
            ("also_target", "also_target", Mark),
            ("tail_chain", "tail_chain", Mark),
            ("symbol", "function", Symbol),
        ],
    ),
    (
        "gaps",
        &["gap", "trace-on", "no-code", "undecodable", "inconsistency", "ambiguity"],
        &[
            ("kind", "kind", Same),
            ("reason", "reason", Same),
            ("address", "address", Hex),
            ("len", "len", Same),
            ("text", "text", Same),
            ("el", "el", Same),
            ("security", "security", Same),
        ],
    ),
    (
        "timestamps",
        &["timestamp", "global-timestamp", "local-timestamp", "cycles"],
        &[
            ("kind", "kind", Same),
            ("value", "value", Same),
            ("total", "value", Same),
            ("delta", "delta", Same),
            ("cycles", "cycles", Same),
            ("clock_changed", "clock_changed", Mark),
            ("delayed", "delayed", Same),
            ("after_overflow", "after_overflow", Mark),
        ],
    ),
    (
        "contexts",
        &["context"],
        &[
            ("isa", "isa", Same),
            ("bits", "bits", Same),
            ("el", "el", Same),
            ("privilege", "privilege", Same),
            ("security", "security", Same),
            ("context_id", "context_id", Hex),
            ("vmid", "vmid", Hex),
            ("process", "pid", Same),
            ("thread", "tid", Same),
            ("command", "comm", Same),
        ],
    ),
    (
        "software_writes",
        &["software-write"],
        &[
            ("port", "port", Same),
            ("master", "master", Same),
            ("channel", "channel", Same),
            ("bits", "bits", Same),
            ("value", "value", Hex),
            ("time", "write_time", Same),
            ("marker", "marker", Mark),
            ("trigger", "trigger", Mark),
            ("after_overflow", "after_overflow", Mark),
            ("frequency", "frequency", Mark),
            ("master_error", "master_error", Mark),
            ("global_error", "global_error", Mark),
            ("channel_error", "channel_error", Mark),
            ("cross_sync", "cross_sync", Mark),
            ("flag", "flag", Mark),
            ("user", "user", Mark),
        ],
    ),
    (
        "dwt_events",
        &["dwt-event"],
        &[
            ("discriminator", "discriminator", Same),
            ("value", "value", Hex),
            ("meaning", "meaning", Same),
            ("counters", "counters", Same),
            ("number", "exception", Same),
            ("step", "step", Same),
            ("pc", "pc", Hex),
            ("pc_low", "low", Hex),
            ("address_low", "low", Hex),
            ("comparator", "comparator", Same),
            ("address", "address", Hex),
            ("direction", "direction", Same),
            ("after_overflow", "after_overflow", Mark),
            ("symbol", "function", Symbol),
        ],
    ),
    (
        "data_accesses",
        &["data-access"],
        &[
            ("address", "address", Hex),
            ("value", "value", Hex),
            ("direction", "direction", Same),
            ("size", "size", Same),
            ("pc", "pc", Hex),
            ("symbol", "function", Symbol),
            ("coprocessor", "coprocessor", Mark),
            ("continued", "continued", Mark),
            ("late", "late", Mark),
            ("store_failed", "store_failed", Mark),
            ("value_not_traced", "value_not_traced", Mark),
            ("suppressed", "suppressed", Mark),
            ("big_endian", "big_endian", Mark),
            ("exception", "exception", Mark),
        ],
    ),
];

/// The lines of a listing of one type.
fn lines(text: &[u8], of: &[&str]) -> Vec<Value> {
    let lines = std::str::from_utf8(text).expect("UTF-8").lines();
    let values = lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    values.filter(|value| value["type"].as_str().is_some_and(|own| of.contains(&own))).collect()
}

/// The elements of a buffer, with the numbers of elements and instructions before each.
fn elements(trace: &Trace, number: usize, shown: Shown) -> Vec<Value> {
    let plan = &trace.plans()[number];
    let sources = trace.sources_of(number).to_vec();
    let mut all = Listing::new(Vec::new(), plan, sources, "", None, shown);
    let mut text = Vec::new();
    let mut session = trace.session(plan).expect("its own plan");
    for part in trace.capture().buffers[plan.buffer].bytes().chunks(1 << 12) {
        session.feed(part, &mut all);
        text.extend(Fork::take(&mut all));
    }
    session.finish(&mut all);
    text.extend(Fork::take(&mut all));
    lines(&text, &["element", "packet"])
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The row that a line is.
fn mapped(line: &Value, mapping: Mapping) -> Row {
    let mut row = Row::new();
    for (field, column, how) in mapping {
        let value = line.get(*field);
        let value = match (how, value) {
            (Mark, value) => Some(value.is_some().to_string()),
            (_, None) => None,
            (Same, Some(value)) => Some(text(value)),
            (Hex, Some(value)) => {
                let digits = value.as_str().and_then(|text| text.strip_prefix("0x"));
                let digits = digits.unwrap_or_else(|| panic!("{field}: {line}"));
                Some(u64::from_str_radix(digits, 16).expect("hexadecimal").to_string())
            }
            (Symbol, Some(value)) => {
                let symbol = text(value);
                Some(symbol.rsplit_once("+0x").map_or(symbol.clone(), |(name, _)| name.to_owned()))
            }
        };
        if let Some(value) = value {
            row.insert((*column).to_owned(), value);
        }
    }
    for key in ["source", "offset"] {
        row.insert(key.to_owned(), text(&line[key]));
    }
    row
}

/// The columns of `row` that `mapping` has.
fn reduced(row: &Row, mapping: Mapping) -> Row {
    let has = |name: &str| {
        name == "source" || name == "offset" || mapping.iter().any(|(_, column, _)| *column == name)
    };
    row.iter().filter(|(name, _)| has(name)).map(|(a, b)| (a.clone(), b.clone())).collect()
}

/// What a line has in common with others: where it is, and what was before it.
fn numbered(lines: &[Value]) -> Vec<(u64, u64, Option<u64>)> {
    let (mut elements, mut instructions) = (0, 0);
    let mut times: BTreeMap<String, u64> = BTreeMap::new();
    let mut all = Vec::new();
    for line in lines {
        let source = text(&line["source"]);
        let kind = text(&line["kind"]);
        let ticks = match kind.as_str() {
            "timestamp" | "global-timestamp" => line["value"].as_str(),
            "software-write" => line["time"].as_str(),
            _ => None,
        };
        if let Some(ticks) = ticks {
            times.insert(source.clone(), ticks.parse().expect("ticks"));
        }
        all.push((elements, instructions, times.get(&source).copied()));
        match kind.as_str() {
            "loop-turns" => {
                let of = |key: &str| line[key].as_u64().expect("a number");
                elements += of("turns") * of("ranges");
                instructions += of("instructions");
            }
            "range" => {
                elements += 1;
                instructions += line["instructions"].as_u64().expect("a number");
            }
            _ => elements += 1,
        }
    }
    all
}

/// Rows of `buffer`, without those of turns of loops that are not listed.
fn listed(all: Vec<Row>, buffer: usize) -> Vec<Row> {
    let own = |row: &Row| {
        row.get("buffer").is_none_or(|own| *own == buffer.to_string())
            && row.get("times").is_none_or(|times| times == "1")
    };
    all.into_iter().filter(own).collect()
}

#[test]
fn tables_of_elements_have_the_lines_of_json() {
    let mut compared = BTreeMap::<&str, usize>::new();
    for path in captures() {
        let Some(trace) = open(&path) else { continue };
        let of = |name: &str| rows(name, &trace, &all_columns(name), None);
        let tables: Vec<Vec<Row>> = TABLES.iter().map(|(name, ..)| of(name)).collect();
        let all = rows("elements", &trace, &Query::default(), None);
        for (number, plan) in trace.plans().iter().enumerate() {
            let shown = Shown { elements: true, ..Shown::default() };
            let lines = elements(&trace, number, shown);
            let places = numbered(&lines);
            for ((name, kinds, mapping), table) in TABLES.iter().zip(&tables) {
                let has = |line: &&Value| kinds.contains(&text(&line["kind"]).as_str());
                let want: Vec<_> = lines
                    .iter()
                    .zip(&places)
                    .filter(|(line, _)| has(line))
                    .map(|(line, place)| (mapped(line, mapping), place))
                    .collect();
                let mut own = listed(table.clone(), plan.buffer);
                // Rows of intervals come in the order in which they end.
                own.sort_by_key(|row| row["element"].parse::<u64>().expect("a number"));
                assert_eq!(own.len(), want.len(), "{} {name}", path.display());
                for (own, (want, place)) in own.iter().zip(&want) {
                    assert_eq!(&reduced(own, mapping), want, "{} {name}", path.display());
                    let number =
                        |key: &str| own.get(key).map(|text| text.parse::<u64>().expect(key));
                    let (element, instruction) = (number("element"), number("instruction"));
                    assert_eq!((element, instruction), (Some(place.0), Some(place.1)), "{own:?}");
                    assert_eq!(number("time"), place.2, "{} {own:?}", path.display());
                }
                *compared.entry(name).or_default() += own.len();
            }
            let own = listed(all.clone(), plan.buffer);
            let want = lines.iter().filter(|line| line["kind"] != "loop-turns");
            let want: Vec<(String, String)> =
                want.map(|line| (text(&line["kind"]), text(&line["offset"]))).collect();
            let own: Vec<(String, String)> =
                own.iter().map(|row| (row["kind"].clone(), row["offset"].clone())).collect();
            assert_eq!(own, want, "{}", path.display());
        }
    }
    for (name, ..) in TABLES {
        let some = compared.get(name).is_some_and(|rows| *rows > 0);
        // The captures have no data trace.
        assert!(some || *name == "data_accesses", "{name}: {compared:?}");
    }
    println!("{compared:?}");
}

#[test]
fn packets_have_the_lines_of_json() {
    let mut compared = 0;
    for path in captures() {
        let Some(trace) = open(&path) else { continue };
        let all = rows("packets", &trace, &all_columns("packets"), None);
        for (number, plan) in trace.plans().iter().enumerate() {
            let shown = Shown { packets: true, ..Shown::default() };
            let lines = elements(&trace, number, shown);
            let own = listed(all.clone(), plan.buffer);
            assert_eq!(own.len(), lines.len(), "{}", path.display());
            for (own, want) in own.iter().zip(&lines) {
                for key in ["source", "offset", "kind"] {
                    assert_eq!(own[key], text(&want[key]), "{} {want}", path.display());
                }
                if want["type"] == "packet" {
                    assert_eq!(own["text"], text(&want["text"]), "{}", path.display());
                    let bytes = text(&want["bytes"]);
                    let halves = bytes.len() == own["size"].parse::<usize>().expect("a number");
                    assert!(halves || own["bytes"] == bytes, "{} {own:?} {want}", path.display());
                }
            }
            compared += own.len();
        }
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
fn instructions_have_the_lines_of_json() {
    let mut compared = 0;
    for path in captures() {
        let Some(trace) = open(&path) else { continue };
        let all = rows("instructions", &trace, &all_columns("instructions"), None);
        for (number, plan) in trace.plans().iter().enumerate() {
            let sources = trace.sources_of(number);
            let json = Json::new(Vec::new(), plan, sources.to_vec(), "", None);
            let mut expand = Expand::new(json, sources);
            let mut session = trace.session(plan).expect("its own plan");
            let mut text_of_all = Vec::new();
            for part in trace.capture().buffers[plan.buffer].bytes().chunks(1 << 12) {
                session.feed(part, &mut expand);
                text_of_all.extend(Fork::take(&mut expand));
            }
            session.finish(&mut expand);
            text_of_all.extend(Fork::take(&mut expand));
            let want = lines(&text_of_all, &["instruction"]);
            let mapping: Mapping = &[
                ("address", "address", Hex),
                ("isa", "isa", Same),
                ("opcode", "opcode", Hex),
                ("text", "text", Same),
                ("symbol", "function", Symbol),
                ("taken", "taken", Same),
                ("passed", "passed", Same),
                ("cycles", "cycles", Same),
            ];
            let own = listed(all.clone(), plan.buffer);
            assert_eq!(own.len(), want.len(), "{}", path.display());
            for (own, want) in own.iter().zip(&want) {
                assert_eq!(reduced(own, mapping), mapped(want, mapping), "{}", path.display());
            }
            compared += own.len();
        }
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
fn threads_do_not_change_tables() {
    for path in captures().iter().step_by(short_or_long(5, 1)) {
        let Some(trace) = open(path) else { continue };
        for table in tables().iter().filter(|table| table.is_decoded()) {
            let name = table.name();
            let query = all_columns(name);
            let one = rows(name, &trace, &query, None);
            for count in [2, 3] {
                let jobs = Jobs { count, step: 16, chunk: 64..=4096, output: 1 << 10 };
                let own = rows(name, &trace.clone().with_jobs(jobs), &query, None);
                assert!(own == one, "{} {name} {count}", path.display());
            }
        }
    }
}
