//! The examples, compared with the library that they call in Rust.

use std::fmt::Write;

use tracewright::analysis::functions::{by_thread, together};
use tracewright::analysis::stacks::Stacks;
use tracewright::analysis::{Code, Filter, Paths, Profile, Profiler, Transfers};
use tracewright::base::Waypoints;
use tracewright::decode::Fork;
use tracewright::export::{Dialect, Format};
use tracewright::image::CacheOptions;
use tracewright::{Element, Listener};

use crate::client::{capture, compile, folder, output, run, run_checked};

/// What `ranges` prints of a capture.
fn ranges(name: &str) -> String {
    let trace = tracewright::open(capture(name)).unwrap();
    let mut text = String::new();
    let mut elements = trace.elements().unwrap();
    for item in &mut elements {
        let item = item.unwrap();
        let Element::Range(range) = item.element else { continue };
        let source = &trace.sources()[item.source].name;
        let (offset, start, end) = (item.offset, range.start, range.end());
        let _ = write!(text, "{offset} {source} {start:#x}-{end:#x} {}", range.instructions);
        if let Some(symbol) = trace.symbol(item.source, range.start) {
            let _ = write!(text, " {symbol}");
        }
        text.push('\n');
    }
    let counts = &elements.summary().sources;
    let sum = |count: fn(&tracewright::decode::tally::Counts) -> u64| -> u64 {
        counts.iter().map(|(_, counts)| count(counts)).sum()
    };
    let (elements, instructions) = (sum(|c| c.elements), sum(|c| c.instructions));
    let _ = writeln!(text, "{elements} elements, {instructions} instructions");
    text
}

#[test]
fn ranges_are_those_of_the_library() {
    let Some(program) = compile("examples/ranges.c", &[]) else { return };
    for name in ["etmv4", "ete", "ptm", "etmv3", "etrace-2.0", "ntrace-htm"] {
        let path = capture(name);
        let want = ranges(name);
        assert!(want.lines().count() > 2, "{name}: {want}");
        for threads in ["1", "3"] {
            let done = output(&run(&program, &[path.to_str().unwrap(), threads]));
            assert_eq!(done, want, "{name}, {threads} threads");
        }
    }
}

#[test]
fn a_search_finds_what_the_index_has() {
    let Some(program) = compile("examples/ranges.c", &[]) else { return };
    let path = capture("etmv4");
    let args = [path.to_str().unwrap(), "1", "all any"];
    let done = output(&run(&program, &args));
    let found = done.split(" instructions\n").nth(1).unwrap();
    let trace = tracewright::open(&path).unwrap();
    let items = trace.elements().unwrap().map(Result::unwrap);
    let want: Vec<String> = items
        .take(10)
        .map(|item| format!("offset {} {}", item.offset, item.element.kind()))
        .collect();
    let mut lines = found.lines();
    assert_eq!(lines.next(), Some("10 found"));
    for (n, (line, want)) in lines.zip(&want).enumerate() {
        assert!(line.starts_with(&format!("element {n} instruction ")), "{line}");
        assert!(line.ends_with(want.as_str()), "{line}: {want}");
    }
    if let Some(done) = run_checked(&program, &args) {
        assert_eq!(output(&done).split(" instructions\n").nth(1), Some(found));
    }
}

/// Passes elements on to what finds transfers, and counts exceptions.
struct Both(Transfers, u64);

impl Listener for Both {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.1 += u64::from(matches!(element, Element::Exception(_)));
        self.0.element(source, at, element);
    }
}

/// What `functions` prints of a capture.
fn functions(name: &str) -> String {
    let trace = tracewright::open(capture(name)).unwrap();
    let programs = trace.sources().iter().map(|source| source.program.clone());
    let code = Code::of_capture(trace.capture()).with_programs(programs);
    let caches = trace.sources().iter().map(|source| {
        let options = CacheOptions { riscv: source.config.riscv(), ..CacheOptions::default() };
        source.program.cache(Waypoints::default(), options)
    });
    let mut both = Both(Transfers::new(code.clone(), caches.collect()), 0);
    let _ = trace.decode(&mut both).unwrap();
    let mut stacks =
        Stacks::new(trace.sources().len(), Paths::new()).with_unwind_targets(code.unwind_targets());
    let transfers = both.0.take();
    stacks.transfers(transfers.transfers());
    stacks.finish();
    let all = together(&by_thread(&stacks.visitor));
    let mut rows: Vec<_> =
        all.iter().map(|(function, totals)| (totals, code.name(*function).into_owned())).collect();
    rows.sort_by_key(|(totals, name)| (std::cmp::Reverse(totals.instructions), name.clone()));
    let mut text = String::new();
    for (totals, name) in rows {
        let (calls, own) = (totals.calls, totals.instructions);
        let _ = writeln!(text, "{calls} {own} {} {name}", totals.inclusive_instructions);
    }
    let _ = writeln!(text, "{} exceptions", both.1);
    text
}

/// The profile of a capture, as JSON Lines.
fn profile(name: &str) -> String {
    let trace = tracewright::open(capture(name)).unwrap();
    let programs: Vec<_> = trace.sources().iter().map(|source| source.program.clone()).collect();
    let mut profiler = Profiler::new(programs.iter().cloned());
    let _ = trace.decode(&mut profiler).unwrap();
    let mut profile = Profile::default();
    let modules = tracewright::decode::memory::modules(trace.capture());
    profile.add(profiler.take(), &programs, &modules, &Filter::default());
    String::from_utf8(Format::Json.write(&profile, Dialect::Full).unwrap()).unwrap()
}

#[test]
fn functions_and_profile_are_those_of_the_library() {
    let Some(program) = compile("examples/functions.cpp", &[]) else { return };
    let file = folder().join(format!("profile-{}.jsonl", std::process::id()));
    for name in ["etmv4", "etrace-2.0", "ntrace-htm"] {
        let path = capture(name);
        let args = [path.to_str().unwrap(), file.to_str().unwrap()];
        let want = functions(name);
        assert!(want.lines().count() > 1, "{want}");
        assert_eq!(output(&run(&program, &args)), want);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), profile(name));
        if let Some(done) = run_checked(&program, &args) {
            assert_eq!(output(&done), want);
        }
    }
    std::fs::remove_file(&file).unwrap();
}
