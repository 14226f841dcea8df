//! Captures, results of queries, and what is compared with them: the rows of whole tables, which
//! are read without a query.

// Each test uses some of it.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use benches::capture::cores;
use benches::{Op, Workload};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::physical_plan::{ExecutionPlan, collect};
use tracewright::Trace;
use tracewright::capture::{Bytes, Capture, Dump, Form, Linux};
use tracewright::decode::Jobs;
use tracewright::image::TimeConversion;
use tracewright::index::{Index, Making, Shape};
use tracewright_columns::{Query, Table, table};
use tracewright_sql::decode::TraceDecodeExec;
use tracewright_sql::{Captures, Limits, Opened, Session};

/// A row: the names of its columns, and their values where they are known.
pub type Row = BTreeMap<String, String>;

/// The clock of generated captures: a tick takes 40.5 nanoseconds.
pub const CLOCK: TimeConversion =
    TimeConversion { shift: 10, multiplier: 81 << 9, zero: 1_000_003 };

/// The captures of this repository.
pub fn captures() -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let own = std::fs::read_dir(root.join("tests/captures")).expect("captures");
    let mut all: Vec<PathBuf> = own
        .map(|entry| entry.expect("a folder").path().join("capture"))
        .filter(|path| path.exists())
        .collect();
    // It has symbols.
    all.push(root.join("crates/columns/tests/example"));
    all.sort();
    all
}

/// Opens a capture. `None`: nothing of it can be decoded.
pub fn open(path: &std::path::Path) -> Option<Trace> {
    let trace = tracewright::open(path).ok()?.partial().with_jobs(Jobs::new(1));
    (!trace.sources().is_empty()).then_some(trace)
}

/// An index with segments of `segment` bytes.
pub fn index(trace: &Trace, segment: u64) -> Index {
    let mut file = Vec::new();
    let making = Making { shape: Shape::with_segment(segment), ..Making::default() };
    let subject = trace.subject();
    let made = subject.make(trace.plans(), &making, |bytes, _| {
        file.extend_from_slice(bytes);
        Ok(true)
    });
    made.expect("an index");
    Index::read(Bytes::from(file)).expect("an index")
}

/// A capture in memory, as if it were opened.
pub fn opened(name: &str, trace: &Trace, index: Option<Index>) -> Opened {
    Opened { name: name.to_owned(), trace: trace.clone(), index, notes: Vec::new() }
}

/// A session with these captures.
pub fn session(captures: impl IntoIterator<Item = Opened>, partitions: usize) -> Session {
    let limits = Limits { partitions, memory: None, unit: 64 };
    Session::new(&Arc::new(captures.into_iter().collect::<Captures>()), &limits).expect("a session")
}

/// Runs `task` to its end.
pub fn wait<T>(task: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).build().expect("a runtime").block_on(task)
}

/// The rows of batches, as texts.
pub fn texts(batches: &[RecordBatch]) -> Vec<Row> {
    let options = FormatOptions::new();
    let mut rows = Vec::new();
    for batch in batches {
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns()).map(|(field, array)| {
            (field.name(), array, ArrayFormatter::try_new(array, &options).expect("a type"))
        });
        let columns: Vec<_> = columns.collect();
        rows.extend((0..batch.num_rows()).map(|n| {
            let known = columns.iter().filter(|(_, array, _)| {
                array.logical_nulls().is_none_or(|nulls| nulls.is_valid(n))
            });
            known.map(|(name, _, own)| ((*name).clone(), own.value(n).to_string())).collect::<Row>()
        }));
    }
    rows
}

/// The result of a query, and its plan, which has the metrics.
pub fn run(session: &Session, query: &str) -> (Vec<RecordBatch>, Arc<dyn ExecutionPlan>) {
    wait(async {
        let frame = session.query(query).await.unwrap_or_else(|why| panic!("{query}: {why}"));
        let task = Arc::new(frame.task_ctx());
        let plan =
            frame.create_physical_plan().await.unwrap_or_else(|why| panic!("{query}: {why}"));
        let rows = collect(Arc::clone(&plan), task).await;
        (rows.unwrap_or_else(|why| panic!("{query}: {why}")), plan)
    })
}

/// The rows of a query.
pub fn rows(session: &Session, query: &str) -> Vec<Row> {
    texts(&run(session, query).0)
}

/// The operators that decode in `plan`.
pub fn decoders(plan: &Arc<dyn ExecutionPlan>) -> Vec<Arc<dyn ExecutionPlan>> {
    let own = (plan.name() == "TraceDecodeExec").then(|| Arc::clone(plan));
    let children = plan.children().into_iter().flat_map(decoders);
    own.into_iter().chain(children).collect()
}

/// The bytes that were decoded.
pub fn decoded(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let all = decoders(plan);
    let metric = |own: &Arc<dyn ExecutionPlan>| {
        assert!(own.downcast_ref::<TraceDecodeExec>().is_some());
        own.metrics()
            .and_then(|own| own.sum_by_name("bytes_decoded"))
            .map_or(0, |own| own.as_usize())
    };
    all.iter().map(metric).sum()
}

/// All rows of a table, with all columns, that were read without a query.
pub fn whole(name: &str, trace: &Trace) -> Vec<Row> {
    let table: Table = table(name).expect("a table");
    let columns = table.columns().iter().map(|column| column.name.to_owned()).collect();
    let query = Query { columns: Some(columns), ..Query::default() };
    let mut batches = Vec::new();
    let read = table.read(trace, &query, None, &mut |batch| {
        batches.push(batch);
        true
    });
    read.expect("a table");
    texts(&batches)
}

/// A generated capture of two processors, with about `bytes` bytes of trace, whose program has a
/// symbol for each function.
pub fn generated(bytes: usize) -> Trace {
    let mut capture: Capture = cores(bytes).expect("a workload");
    let program = Workload::Large.program();
    let mut starts = vec![0];
    let ends = program.ops.iter().enumerate().filter(|(_, op)| **op == Op::Return);
    starts.extend(ends.map(|(n, _)| n + 1).filter(|n| *n < program.ops.len()));
    let after = starts.iter().skip(1).copied().chain([program.ops.len()]);
    let symbols = starts.iter().zip(after).map(|(start, end)| {
        (format!("function_{start}"), program.at(*start), 4 * (end - start) as u64)
    });
    let file = elf(program.address, &program.code().expect("code"), symbols);
    capture.memory = vec![Dump { form: Form::Elf, ..Dump::new("program", 0, file) }];
    // Of the system, the clock alone is known.
    capture.linux = Some(Box::new(Linux {
        about: Vec::new(),
        spaces: Arc::default(),
        names: BTreeMap::new(),
        parts: Vec::new(),
        keys: Vec::new(),
        hosts: Vec::new(),
        cpus: Vec::new(),
        modes: String::new(),
        timed: false,
        kcore: false,
        conversion: Some(CLOCK),
        virtual_counter: true,
        queues: BTreeMap::new(),
    }));
    Trace::new(capture).with_jobs(Jobs::new(1))
}

/// An ELF file for A64 with `code` at `address`, and these functions: name, address, size.
fn elf(address: u64, code: &[u8], functions: impl Iterator<Item = (String, u64, u64)>) -> Vec<u8> {
    fn words(file: &mut Vec<u8>, words: &[u64]) {
        words.iter().for_each(|word| file.extend(word.to_le_bytes()));
    }
    fn halves(file: &mut Vec<u8>, halves: &[u16]) {
        halves.iter().for_each(|half| file.extend(half.to_le_bytes()));
    }
    let (mut names, mut table) = (vec![0u8], vec![0u8; 24]);
    for (name, start, size) in functions {
        table.extend((names.len() as u32).to_le_bytes());
        // A global function of the first section.
        table.extend([0x12, 0, 1, 0]);
        words(&mut table, &[start, size]);
        names.extend(name.bytes().chain([0]));
    }
    let header = 64 + 56;
    let (at_code, at_table) = (header, header + code.len() as u64);
    let at_names = at_table + table.len() as u64;
    let at_sections = at_names + names.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    halves(&mut file, &[2, 183, 1, 0]);
    words(&mut file, &[address, 64, at_sections]);
    halves(&mut file, &[0, 0, 64, 56, 1, 64, 4, 0]);
    // A program header: code that is loaded, and executed.
    halves(&mut file, &[1, 0, 5, 0]);
    let len = code.len() as u64;
    words(&mut file, &[at_code, address, address, len, len, 4]);
    file.extend(code);
    file.extend(&table);
    file.extend(&names);
    let mut section = |of: u32, flags: u64, at: [u64; 3], link: u32, each: u64| {
        file.extend(0u32.to_le_bytes());
        file.extend(of.to_le_bytes());
        words(&mut file, &[flags, at[0], at[1], at[2]]);
        file.extend(link.to_le_bytes());
        file.extend(1u32.to_le_bytes());
        words(&mut file, &[1, each]);
    };
    section(0, 0, [0; 3], 0, 0);
    // Code, symbols, names.
    section(1, 6, [address, at_code, len], 0, 0);
    section(2, 0, [0, at_table, table.len() as u64], 3, 24);
    section(3, 0, [0, at_names, names.len() as u64], 0, 0);
    file
}
