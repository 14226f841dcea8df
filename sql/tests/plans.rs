//! What is decoded for a query: by metrics, by plans, and where a query ends early.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions, displayable,
};
use futures::StreamExt;
use tracewright_sql::{Captures, Limits, Session, units};

use common::{Row, decoded, decoders, generated, index, opened, rows, run, session, wait, whole};

/// Bytes of the usual segments.
const SEGMENT: u64 = 24 << 10;

fn number(row: &Row, name: &str) -> u64 {
    row[name].parse().expect("a number")
}

/// For a function in a window of a hundredth of the time, less than a fiftieth of the trace is
/// decoded, what is before the window included.
#[test]
fn a_function_in_a_window_is_decoded_alone() {
    let trace = generated(16 << 20);
    let index = index(&trace, SEGMENT);
    let [one, two, seven] =
        [1, 2, 7].map(|count| session([opened("a", &trace, Some(index.clone()))], count));
    let (all, plan) = run(
        &one,
        "SELECT sum(instructions) AS n, min(time) AS least, max(time) AS greatest FROM ranges",
    );
    let all = &common::texts(&all)[0];
    let whole = decoded(&plan);
    assert!(whole > 14 << 20, "{whole}");
    let (least, greatest) = (number(all, "least"), number(all, "greatest"));
    let each = (greatest - least) / 100;
    for n in [3, 98] {
        let (from, to) = (least + n * each, least + (n + 1) * each);
        let window = format!("time >= {from} AND time < {to}");
        let (busy, plan) = run(
            &one,
            &format!(
                "SELECT function, count(*) AS n, sum(instructions) AS i FROM ranges WHERE {window} GROUP BY function ORDER BY n DESC, function"
            ),
        );
        let busy = common::texts(&busy);
        assert!(decoded(&plan) * 50 < whole, "{} of {whole} for a window", decoded(&plan));
        // The same window in nanoseconds.
        let [begin, end] = [from, to].map(|time| common::CLOCK.nanoseconds(time));
        let ts = format!("SELECT count(*) AS n FROM ranges WHERE ts >= {begin} AND ts < {end}");
        let (count, plan) = run(&one, &ts);
        let of_window: u64 = busy.iter().map(|row| number(row, "n")).sum();
        assert_eq!(number(&common::texts(&count)[0], "n"), of_window, "{ts}");
        assert!(decoded(&plan) * 50 < whole, "{} of {whole} for {ts}", decoded(&plan));
        let of_window = decoded(&plan);
        for row in busy.iter().take(1).chain(busy.last()) {
            let name = &row["function"];
            let query = format!(
                "SELECT count(*) AS n, sum(instructions) AS i FROM ranges WHERE {window} AND function = '{name}'"
            );
            for session in [&one, &two, &seven] {
                let (own, plan) = run(session, &query);
                let own = &common::texts(&own)[0];
                assert_eq!((&own["n"], &own["i"]), (&row["n"], &row["i"]), "{query}");
                assert!(decoded(&plan) * 50 < whole, "{} of {whole} for {query}", decoded(&plan));
            }
            // A function is in few segments.
            let rare = decoded(&run(&one, &query).1);
            assert!(rare <= of_window, "{rare} {of_window} {query}");
        }
    }
    // Nothing has a function that no program has.
    let (none, plan) = run(&one, "SELECT * FROM ranges WHERE function = 'nothing'");
    assert_eq!((none.iter().map(|own| own.num_rows()).sum::<usize>(), decoded(&plan)), (0, 0));
    // With a limit, decoding ends.
    let (some, plan) = run(&one, "SELECT element FROM ranges LIMIT 3");
    assert_eq!(some.iter().map(|own| own.num_rows()).sum::<usize>(), 3);
    assert!(decoded(&plan) * 20 < whole, "{} of {whole} for a limit", decoded(&plan));
    ended(&one, whole);
}

/// A result that is dropped ends decoding.
fn ended(session: &Session, whole: usize) {
    wait(async {
        let frame = session.query("SELECT address FROM ranges").await.expect("a query");
        let task = Arc::new(frame.task_ctx());
        let plan = frame.create_physical_plan().await.expect("a plan");
        let mut batches = plan.execute(0, task).expect("a result");
        assert!(batches.next().await.expect("a batch").is_ok());
        drop(batches);
        let begin = Instant::now();
        let mut last = decoded(&plan);
        loop {
            std::thread::sleep(Duration::from_millis(200));
            let now = decoded(&plan);
            if now == last {
                break;
            }
            last = now;
            assert!(begin.elapsed() < Duration::from_secs(60), "{now} of {whole}");
        }
        assert!(last * 5 < whole, "{last} of {whole} after one batch");
    });
}

/// Counts and times of all elements are those of the index: nothing is decoded. They are those that
/// decoding finds.
#[test]
fn totals_are_answered_without_decoding() {
    let mut compared = 0;
    for path in common::captures() {
        let Some(trace) = common::open(&path) else { continue };
        let indexed = session([opened("a", &trace, Some(index(&trace, 256)))], 2);
        let query = "SELECT count(*) AS n, min(time) AS least, max(time) AS greatest FROM elements";
        let elements = whole("elements", &trace);
        let (own, plan) = run(&indexed, query);
        let own = common::texts(&own);
        let times = || {
            elements.iter().filter_map(|row| Some(row.get("time")?.parse::<u64>().expect("ticks")))
        };
        assert_eq!(number(&own[0], "n"), elements.len() as u64, "{}", path.display());
        let time = |name: &str| own[0].get(name).map(|text| text.parse::<u64>().expect("ticks"));
        assert_eq!(
            (time("least"), time("greatest")),
            (times().min(), times().max()),
            "{}",
            path.display()
        );
        let counted = run(&indexed, "SELECT count(*) FROM elements").1;
        if decoders(&counted).is_empty() {
            compared += usize::from(decoders(&plan).is_empty());
        } else {
            // Other protocols have loops whose turns are not all listed.
            let name = path.display().to_string();
            let other = ["etmv1", "etmv2", "etrace", "ntrace"].iter().any(|own| name.contains(own));
            let index = index(&trace, 256);
            assert!(other || index.buffers().iter().any(|own| own.len() < 2), "{name}");
        }
        // With a condition, it is decoded.
        let some = run(&indexed, "SELECT count(*) FROM elements WHERE element > 2").1;
        assert_eq!(decoders(&some).len(), 1, "{}", path.display());
    }
    assert!(compared > 3, "{compared} captures with exact totals");
}

/// The leaf of a plan is a table of units in memory, which other plans can divide.
#[test]
fn a_plan_is_units_and_what_decodes_them() {
    let trace = generated(1 << 14);
    let own = session([opened("a", &trace, Some(index(&trace, 256)))], 4);
    let (_, plan) = run(&own, "SELECT element, address FROM ranges WHERE taken");
    let [decoder] = &decoders(&plan)[..] else { panic!("one operator decodes") };
    let [input] = decoder.children()[..] else { panic!("it is unary") };
    assert_eq!(input.schema(), units::schema());
    assert_eq!(input.name(), "DataSourceExec");
    let task = Arc::new(datafusion::execution::TaskContext::default());
    let batches = wait(datafusion::physical_plan::collect(Arc::clone(input), task)).expect("units");
    let mut all: Vec<units::Unit> =
        batches.iter().flat_map(|batch| units::read(batch).expect("units")).collect();
    all.sort_by_key(|unit| unit.segments);
    // They are all segments, one after another.
    let segments: Vec<_> = all.iter().map(|unit| unit.segments.expect("segments")).collect();
    assert!(segments.len() >= 4 && segments[0].0 == 0, "{segments:?}");
    assert!(segments.windows(2).all(|pair| pair[0].1 == pair[1].0), "{segments:?}");
    let text = displayable(plan.as_ref()).indent(false).to_string();
    assert!(
        text.contains(
            "TraceDecodeExec: table=ranges, columns=[element, address, taken], filter=taken@2"
        ),
        "{text}"
    );

    // The same units in another order and division have the same rows.
    let mut shares = vec![Vec::new(); 3];
    for (n, unit) in all.iter().rev().enumerate() {
        shares[n % 3].push(unit.clone());
    }
    let batches = shares.iter().map(|own| vec![units::batch(own).expect("rows")]);
    let batches: Vec<_> = batches.collect();
    let input = MemorySourceConfig::try_new_exec(&batches, units::schema(), None).expect("units");
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    let other = Arc::clone(decoder).replace_children(vec![input], options).expect("an operator");
    let rows = |plan: &Arc<dyn ExecutionPlan>| {
        let task = Arc::new(datafusion::execution::TaskContext::default());
        let batches = datafusion::physical_plan::collect(Arc::clone(plan), task);
        let mut rows = common::texts(&wait(batches).expect("rows"));
        rows.sort();
        rows
    };
    let (own, other) = (rows(decoder), rows(&other));
    assert!(own.len() > 1000 && own == other, "{} {}", own.len(), other.len());
}

/// Rows that are sorted or grouped take no more memory than is allowed.
#[test]
fn memory_has_a_limit() {
    let trace = generated(1 << 20);
    let of = |memory| {
        let limits = Limits { partitions: 2, memory: Some(memory), ..Limits::default() };
        let captures: Captures = [opened("a", &trace, None)].into_iter().collect();
        Session::new(&Arc::new(captures), &limits).expect("a session")
    };
    // The build side of a hash join is not written to disk.
    let query = "SELECT count(*) AS n FROM ranges a JOIN ranges b USING (element)";
    let error = wait(async {
        let frame = of(1 << 20).query(query).await.expect("a query");
        frame.collect().await.expect_err("more memory than is allowed").to_string()
    });
    assert!(error.contains("Resources exhausted"), "{error}");
    assert_eq!(rows(&of(1 << 30), query), rows(&of(1 << 30), "SELECT count(*) AS n FROM ranges"));
}
