//! What a query selects: the rows of the whole table that a condition in Rust selects, however they
//! are divided, with and without an index.

mod common;

use datafusion::physical_plan::ExecutionPlanProperties;
use tracewright::Trace;
use tracewright_testing::{Random, short_or_long, times};

use common::{Row, captures, decoders, generated, index, open, opened, run, session, texts, whole};

/// Conditions for the value of a column.
type NumberCondition = Box<dyn Fn(u64) -> bool>;
type TextCondition = Box<dyn Fn(&str) -> bool>;

/// A condition in SQL and in Rust.
struct Filter {
    sql: String,
    rust: Box<dyn Fn(&Row) -> bool>,
}

fn number(row: &Row, name: &str) -> Option<u64> {
    row.get(name).map(|text| text.parse().unwrap_or_else(|_| panic!("{name} {text}")))
}

/// The values that a column has.
fn values(rows: &[Row], name: &str) -> Vec<String> {
    let mut all: Vec<String> = rows.iter().filter_map(|row| row.get(name).cloned()).collect();
    all.sort();
    all.dedup();
    all
}

/// A condition for a column of numbers, near values that it has.
fn numeric(random: &mut Random, rows: &[Row], name: &'static str) -> Option<Filter> {
    let mut all: Vec<u64> = rows.iter().filter_map(|row| number(row, name)).collect();
    all.sort_unstable();
    let mut near = || {
        let own = *all.get(random.below(all.len().max(1) as u64) as usize)?;
        Some(own.saturating_add(random.below(3)).saturating_sub(1))
    };
    let (a, b) = (near()?, near()?);
    let (low, high) = (a.min(b), a.max(b));
    let (sql, rust): (String, NumberCondition) = match random.below(9) {
        0 => (format!("{name} BETWEEN {low} AND {high}"), Box::new(move |n| low <= n && n <= high)),
        1 => (
            format!("{name} >= {low} AND {name} < {high}"),
            Box::new(move |n| low <= n && n < high),
        ),
        2 => (
            format!("{low} < {name} AND {high} >= {name}"),
            Box::new(move |n| low < n && n <= high),
        ),
        3 => (format!("{name} = {a}"), Box::new(move |n| n == a)),
        4 => (format!("{name} IN ({a}, {b})"), Box::new(move |n| n == a || n == b)),
        5 => (
            format!("{name} = {a:#x} OR {name} > {high:#x}"),
            Box::new(move |n| n == a || n > high),
        ),
        6 => (
            format!("NOT ({name} BETWEEN {low} AND {high})"),
            Box::new(move |n| n < low || high < n),
        ),
        7 => (format!("{name} > -1 AND {name} <= {b}"), Box::new(move |n| n <= b)),
        _ => (format!("{name} < {low}"), Box::new(move |n| n < low)),
    };
    Some(Filter {
        sql: format!("({sql})"),
        rust: Box::new(move |row| number(row, name).is_some_and(&rust)),
    })
}

/// A condition for a column of texts.
fn textual(random: &mut Random, rows: &[Row], name: &'static str) -> Option<Filter> {
    let all = values(rows, name);
    let mut pick = || all.get(random.below(all.len().max(1) as u64) as usize).cloned();
    let (a, b) = (pick()?, pick()?);
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let (x, y) = (quoted(&a), quoted(&b));
    let (sql, rust): (String, TextCondition) = match random.below(5) {
        0 => (format!("{name} = {x}"), Box::new(move |own| own == a)),
        1 => (format!("{name} IN ({x}, {y}, 'none')"), Box::new(move |own| own == a || own == b)),
        2 => (format!("{name} <> {x}"), Box::new(move |own| own != a)),
        3 => (format!("{name} LIKE '%e%'"), Box::new(|own| own.contains('e'))),
        _ => (format!("({name} = 'none' OR {y} = {name})"), Box::new(move |own| own == b)),
    };
    Some(Filter { sql, rust: Box::new(move |row| row.get(name).is_some_and(|own| rust(own))) })
}

/// A condition for some column.
fn any(random: &mut Random, rows: &[Row]) -> Option<Filter> {
    match random.below(11) {
        0 => numeric(random, rows, "time"),
        1 => numeric(random, rows, "offset"),
        2 => numeric(random, rows, "element"),
        3 => numeric(random, rows, "instruction"),
        4 | 5 => numeric(random, rows, "address"),
        6 => textual(random, rows, "function"),
        7 => textual(random, rows, "source"),
        8 => textual(random, rows, "kind"),
        9 => numeric(random, rows, "ts"),
        _ => numeric(random, rows, "buffer"),
    }
}

/// Each pushed-down column at least once, and some combined.
fn filters(random: &mut Random, rows: &[Row]) -> Vec<Filter> {
    let mut all = Vec::new();
    for name in ["time", "ts", "ts", "offset", "element", "instruction", "address", "buffer"] {
        all.extend(numeric(random, rows, name));
    }
    for name in ["function", "source", "kind"] {
        all.extend(textual(random, rows, name));
    }
    for n in 0..times(4) {
        let (Some(a), Some(b)) = (any(random, rows), any(random, rows)) else { continue };
        all.push(match n % 2 {
            0 => Filter {
                sql: format!("{} AND {}", a.sql, b.sql),
                rust: Box::new(move |row| (a.rust)(row) && (b.rust)(row)),
            },
            _ => Filter {
                sql: format!("({} OR {})", a.sql, b.sql),
                rust: Box::new(move |row| (a.rust)(row) || (b.rust)(row)),
            },
        });
    }
    all
}

/// The tables that are divided at segments.
const TABLES: [&str; 8] = [
    "elements",
    "ranges",
    "instructions",
    "timestamps",
    "software_writes",
    "data_accesses",
    "dwt_events",
    "gaps",
];

/// Compares queries of `trace` with its whole tables. Returns how many selected something, but not
/// all.
fn compare(
    about: &str,
    trace: &Trace,
    segment: u64,
    random: &mut Random,
    tables: &[&str],
) -> usize {
    let (mut some, mut divided) = (0, false);
    let sessions = [1, 2, 7].map(|partitions| {
        [Some(index(trace, segment)), None].map(|index| {
            let indexed = index.is_some();
            (partitions, indexed, session([opened("a", trace, index)], partitions))
        })
    });
    for &name in tables {
        let all = whole(name, trace);
        if all.len() > short_or_long(5_000, 1_000_000) {
            continue;
        }
        let columns: Vec<String> = tracewright_columns::table(name)
            .expect("a table")
            .columns()
            .iter()
            .map(|c| format!("\"{}\"", c.name))
            .collect();
        for filter in filters(random, &all) {
            let want: Vec<&Row> = all.iter().filter(|row| (filter.rust)(row)).collect();
            some += usize::from(!want.is_empty() && want.len() < all.len());
            let query = format!("SELECT {} FROM {name} WHERE {}", columns.join(", "), filter.sql);
            for (partitions, indexed, session) in sessions.iter().flatten() {
                let about = format!("{about} {name} {} {partitions} {indexed}", filter.sql);
                let (batches, plan) = run(session, &query);
                // Of several partitions the rows of one may come before those of another.
                let mut own = texts(&batches);
                if *partitions > 1 {
                    own.sort_by_key(|row| {
                        (number(row, "buffer"), number(row, "element"), number(row, "instruction"))
                    });
                }
                assert_eq!(own.len(), want.len(), "{about}");
                for (own, want) in own.iter().zip(&want) {
                    assert_eq!(own, *want, "{about}");
                }
                // Where something is decoded, nothing is left to filter.
                let shown =
                    datafusion::physical_plan::displayable(plan.as_ref()).indent(false).to_string();
                assert!(!shown.contains("FilterExec"), "{about}: {shown}");
                assert!(decoders(&plan).len() <= 1, "{about}: {shown}");
                let decoders = decoders(&plan);
                divided |=
                    decoders.iter().any(|own| own.output_partitioning().partition_count() > 2);
                if random.below(6) == 0 {
                    limited(session, &query, *partitions, random, (&want, &about));
                }
            }
        }
    }
    assert!(divided || !index(trace, segment).buffers().iter().any(|own| own.len() > 7), "{about}");
    some
}

/// With a limit, a query has this number of its rows; in one partition, the first.
fn limited(
    session: &tracewright_sql::Session,
    query: &str,
    partitions: usize,
    random: &mut Random,
    (want, about): (&[&Row], &str),
) {
    let limit = random.below(want.len() as u64 + 2) as usize;
    let own = common::rows(session, &format!("{query} LIMIT {limit}"));
    assert_eq!(own.len(), want.len().min(limit), "{about} limit {limit}");
    if partitions == 1 {
        assert!(own.iter().zip(want).all(|(own, want)| own == *want), "{about} limit {limit}");
    }
    let mut left = want.to_vec();
    for row in &own {
        let found = left.iter().position(|want| *want == row);
        left.swap_remove(found.unwrap_or_else(|| panic!("{about} limit {limit}: {row:?}")));
    }
}

#[test]
fn filters_select_the_rows_of_the_whole_table() {
    let mut random = Random::new(58);
    let mut some = 0;
    for path in captures() {
        let Some(trace) = open(&path) else { continue };
        some += compare(&path.display().to_string(), &trace, 256, &mut random, &TABLES);
    }
    assert!(some > 100, "{some} filters that select something");
}

/// Two processors with timestamps and symbols, in segments of the usual length.
#[test]
fn filters_select_the_rows_of_a_long_trace() {
    let mut random = Random::new(59);
    let trace = generated(1 << 10);
    let some = compare("generated", &trace, 64, &mut random, &["ranges", "elements"]);
    assert!(some > 10, "{some} filters that select something");
}
