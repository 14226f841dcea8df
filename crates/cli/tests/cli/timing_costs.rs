//! Durations of random executions of a program with a cost for each instruction, beside what
//! `timing` prints of their trace.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{Folder, Output, args, tracewright};

const NOP: u32 = 0xd503_201f;
const RET: u32 = 0xd65f_03c0;
const ERET: u32 = 0xd69f_03e0;
const MASK: u32 = 0xd503_42df;
const UNMASK: u32 = 0xd503_42ff;

const MAIN: u64 = 0x8_0000;
const F: u64 = 0x8_1000;
const G: u64 = 0x8_2000;
const H: u64 = 0x8_3000;
const HANDLER: u64 = 0x9_0000;

const fn branch(opcode: u32, from: u64, to: u64) -> u32 {
    let words = (to.wrapping_sub(from) as i64 / 4) as u32;
    match opcode {
        // BL
        0x9400_0000 => opcode | words & 0x3ff_ffff,
        _ => opcode | (words & 0x7_ffff) << 5,
    }
}

const BL: u32 = 0x9400_0000;
/// B.NE
const BNE: u32 = 0x5400_0001;
/// CBZ X2
const CBZ: u32 = 0xb400_0002;

/// The instructions of the program.
fn opcode(address: u64) -> u32 {
    match address {
        0x8_0004 => branch(BL, address, F),
        0x8_000c => branch(BNE, address, 0x8_0004),
        0x8_1004 => branch(BL, address, G),
        0x8_100c => branch(BNE, address, 0x8_1004),
        0x8_1010 => MASK,
        0x8_101c => branch(BNE, address, 0x8_1014),
        0x8_1020 => UNMASK,
        0x8_1024 => branch(CBZ, address, 0x8_102c),
        0x8_1028 => branch(BL, address, H),
        0x8_102c | 0x8_2008 | 0x8_3010 => RET,
        0x9_0008 => branch(BNE, address, 0x9_0004),
        0x9_000c => ERET,
        _ => NOP,
    }
}

/// The cycles of an instruction.
fn cost(address: u64) -> u64 {
    match opcode(address) {
        NOP => 1,
        RET | ERET => 5,
        MASK | UNMASK => 2,
        _ => 3,
    }
}

/// A measured activation: its function, and gross, net and own time.
struct Call {
    function: u64,
    gross: u64,
    net: u64,
    own: u64,
}

#[derive(Default)]
struct Execution {
    seed: u64,
    log: String,
    now: u64,
    /// How often a timestamp is traced.
    often: u64,
    open: Vec<(Call, bool)>,
    calls: Vec<Call>,
    /// The times of masked sections, and the begin of an open one.
    masked: Vec<u64>,
    mask: Option<u64>,
    /// The times from the begin of F to that of the next call of G, and the last begin of F.
    distances: Vec<u64>,
    begin: Option<u64>,
    /// The times in which something is executed outside of G.
    busy: std::collections::BTreeMap<u64, u64>,
}

/// The width of the parts of the load.
const WIDTH: u64 = 50;

impl Execution {
    fn random(&mut self, below: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) % below
    }

    fn timestamp(&mut self) {
        let _ = writeln!(self.log, ",timestamp,,,,,,,,{:x},,,,", self.now);
    }

    fn step(&mut self, address: u64) {
        // Sometimes an instruction waits.
        let wait = self.random(8).saturating_sub(5) * 7;
        let cycles = cost(address) + wait;
        let in_g = self.open.last().is_some_and(|open| open.0.function == G);
        for tick in self.now..self.now + cycles {
            *self.busy.entry(tick / WIDTH).or_default() += u64::from(!in_g);
        }
        let (opcode_here, end) = (opcode(address), self.now + cycles);
        let _ = writeln!(self.log, ",,{address:x},A64,{opcode_here:08x},,,,,,,,{end},");
        self.now += cycles;
        let mut handler = false;
        for (n, (call, is_handler)) in self.open.iter_mut().rev().enumerate() {
            call.gross += cycles;
            call.own += if n == 0 { cycles } else { 0 };
            call.net += if handler { 0 } else { cycles };
            handler |= *is_handler;
        }
        match opcode(address) {
            MASK => self.mask = Some(self.now),
            UNMASK => self.masked.extend(self.mask.take().map(|mask| self.now - mask)),
            _ => {}
        }
        if self.random(self.often) == 0 {
            self.timestamp();
        }
    }

    fn enter(&mut self, function: u64, handler: bool) {
        match function {
            F => self.begin = Some(self.now),
            G => self.distances.extend(self.begin.take().map(|begin| self.now - begin)),
            _ => {}
        }
        self.open.push((Call { function, gross: 0, net: 0, own: 0 }, handler));
    }

    fn leave(&mut self) {
        self.calls.extend(self.open.pop().map(|open| open.0));
    }

    fn loops(&mut self, addresses: &[u64], turns: u64) {
        for _ in 0..turns {
            addresses.iter().for_each(|address| self.step(*address));
        }
    }

    fn handler(&mut self, back: u64, turns: u64) {
        let _ = writeln!(self.log, ",exception,{back:x},,,,,,,,irq,{HANDLER:x},,");
        self.enter(HANDLER, true);
        self.step(HANDLER);
        self.loops(&[HANDLER + 4, HANDLER + 8], turns);
        self.step(HANDLER + 12);
        self.leave();
    }

    /// A call of F: turns of its first and its masked loop, whether it calls H, and the turns of a
    /// handler that interrupts it, or 0.
    fn call_f(&mut self, turns: u64, masked: u64, calls_h: bool, interrupted: u64) {
        self.enter(F, false);
        self.step(F);
        for _ in 0..turns {
            self.step(F + 4);
            self.enter(G, false);
            [G, G + 4, G + 8].into_iter().for_each(|address| self.step(address));
            self.leave();
            self.step(F + 8);
            self.step(F + 12);
        }
        self.step(F + 16);
        self.loops(&[F + 0x14, F + 0x18, F + 0x1c], masked);
        self.step(F + 0x20);
        if interrupted > 0 {
            self.handler(F + 0x24, interrupted);
        }
        self.step(F + 0x24);
        if calls_h {
            self.step(F + 0x28);
            self.enter(H, false);
            (0..5).for_each(|n| self.step(H + 4 * n));
            self.leave();
        }
        self.step(F + 0x2c);
        self.leave();
    }
}

/// An execution in which one call, in the middle, is `planted`.
fn execute(seed: u64, often: u64, planted: Option<(u64, u64, bool, u64)>) -> Execution {
    let log = "cpu,step,address,isa,opcode,passed,el,security,size,value,cause,target,time,stall\n";
    let mut own = Execution {
        seed: seed * 2 + 1,
        log: log.to_owned(),
        now: 1000,
        often,
        ..Execution::default()
    };
    own.timestamp();
    own.step(MAIN);
    let count = 20;
    for n in 0..count {
        own.step(MAIN + 4);
        match planted.filter(|_| n == 11) {
            Some((turns, masked, calls_h, interrupted)) => {
                own.call_f(turns, masked, calls_h, interrupted);
            }
            None => {
                let (turns, masked) = (1 + own.random(3), 1 + own.random(2));
                let free = planted.is_none();
                let calls_h = free && own.random(3) == 0;
                let interrupted = if free && own.random(4) == 0 { 1 + own.random(4) } else { 0 };
                own.call_f(turns, masked, calls_h, interrupted);
            }
        }
        own.step(MAIN + 8);
        own.step(MAIN + 12);
    }
    own.step(MAIN + 16);
    own.timestamp();
    own
}

/// The trace of an execution.
fn trace(folder: &Folder, own: &Execution, name: &str) -> std::path::PathBuf {
    let (log, image) = (folder.path(&format!("{name}.csv")), folder.path("program.bin"));
    fs::write(&log, &own.log).unwrap();
    let words = (MAIN..HANDLER + 0x20).step_by(4).map(opcode);
    fs::write(&image, words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    let snapshot = folder.path(name);
    let _ = fs::remove_dir_all(&snapshot);
    let words = format!(
        "encode --protocol ETM4 --config TRCCONFIGR=0x811 --config TRCCCCTLR=4 --cycles log --image \
         {}@{MAIN:#x} --log",
        image.display()
    );
    let mut all = args(&words, &[&log]);
    all.extend(args("-o", &[&snapshot]));
    let output = tracewright(&all);
    assert_eq!(output.code, Some(0), "{}", output.err);
    snapshot
}

fn lines(output: &Output, kind: &str) -> Vec<Value> {
    let all = output.out.lines().map(|line| serde_json::from_str(line).unwrap());
    all.filter(|line: &Value| line["type"] == kind).collect()
}

#[track_caller]
fn contains(interval: &Value, value: u64, case: &str) {
    let least = interval["least"].as_u64().unwrap_or_else(|| panic!("{case}: {interval}"));
    let most = interval["most"].as_u64().unwrap_or(u64::MAX);
    assert!(least <= value && value <= most, "{case}: {value} in {interval}");
}

/// The bounds by timestamps, and by the counts of cycles, have the true durations, wherever the
/// clock is traced.
#[test]
fn true_times_lie_in_the_intervals() {
    let folder = Folder::new("timing-costs");
    let mut compared = 0;
    for seed in 0..12 {
        let own = execute(seed, 1 + seed * 4, None);
        let path = trace(&folder, &own, "random");
        for clock in ["timestamps", "cycles"] {
            let words = format!("timing --clock {clock} --format json");
            let output = tracewright(&args(&words, &[&path]));
            assert_eq!(output.code, Some(0), "{}", output.err);
            for line in lines(&output, "timing").iter().filter(|line| line["exception"].is_null()) {
                let case = format!("seed {seed} by {clock}");
                // Before the first count of cycles the time is not known.
                let bounded = measured(&own, line, &case);
                let all = bounded.iter().all(|bounded| *bounded);
                assert!(all || clock == "cycles", "{case}: {line}");
                compared += bounded.len();
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

/// Compares the durations of a function. Returns of each measure whether its sum has an upper end.
fn measured(own: &Execution, line: &Value, case: &str) -> Vec<bool> {
    let name = line["name"].as_str().unwrap();
    let address = u64::from_str_radix(name.trim_start_matches("0x"), 16).unwrap_or(0);
    let mut bounded = Vec::new();
    for (measure, of) in [
        ("gross", (|call| call.gross) as fn(&Call) -> u64),
        ("net", |call| call.net),
        ("own", |call| call.own),
    ] {
        let calls = own.calls.iter().filter(|call| call.function == address);
        let mut times: Vec<u64> = calls.map(of).collect();
        if times.is_empty() {
            continue;
        }
        times.sort_unstable();
        let found = &line[measure];
        let case = format!("{case} {name} {measure}");
        assert_eq!(found["count"].as_u64(), Some(times.len() as u64), "{case}");
        contains(&found["min"], times[0], &case);
        contains(&found["median"], times[(times.len() - 1) / 2], &case);
        contains(&found["max"], times[times.len() - 1], &case);
        contains(&found["sum"], times.iter().sum(), &case);
        bounded.push(found["sum"]["most"].is_u64());
    }
    bounded
}

/// The sections in which interrupts are masked have their true durations.
#[test]
fn true_masked_sections_lie_in_the_intervals() {
    let folder = Folder::new("timing-sections");
    for seed in 0..12 {
        let own = execute(seed, 1 + seed * 4, None);
        let path = trace(&folder, &own, "random");
        let masked = tracewright(&args(
            "timing --masked --rows 1000 --clock timestamps --format json",
            &[&path],
        ));
        assert_eq!(masked.code, Some(0), "{}", masked.err);
        let mut found = lines(&masked, "masked");
        assert_eq!(found.len(), own.masked.len());
        found.sort_by_key(|line| line["begin"]["instructions"].as_u64());
        for (line, time) in found.iter().zip(&own.masked) {
            contains(&line["time"], *time, &line.to_string());
            assert_eq!((&line["ends"], &line["mask"]), (&"unmasked".into(), &"all".into()));
            assert_eq!(line["begin"]["address"], "0x81010");
            assert_eq!(line["begin"]["stack"][1], "0x81000", "{line}");
        }
    }
}

/// The rows by caller are parts of those without: counts and exact sums agree.
#[test]
fn callers_divide_calls() {
    let folder = Folder::new("timing-callers");
    let own = execute(7, 3, None);
    let path = trace(&folder, &own, "callers");
    let words = "timing --clock instructions --format json";
    let whole = lines(&tracewright(&args(words, &[&path])), "timing");
    let parts = tracewright(&args(&format!("{words} --by-caller"), &[&path]));
    assert_eq!(parts.code, Some(0), "{}", parts.err);
    let parts = lines(&parts, "timing");
    let sum = |rows: &[&Value], field: &str| -> u64 {
        rows.iter().filter_map(|row| row["net"][field].as_u64()).sum()
    };
    let total = |rows: &[&Value]| -> u64 {
        rows.iter().filter_map(|row| row["net"]["sum"]["least"].as_u64()).sum()
    };
    for name in ["0x81000", "0x82000", "0x83000", "0x90000"] {
        let whole: Vec<&Value> = whole.iter().filter(|row| row["name"] == name).collect();
        let parts: Vec<&Value> = parts.iter().filter(|row| row["name"] == name).collect();
        assert!(!parts.is_empty() && parts.iter().all(|row| row["caller"].is_string()), "{name}");
        assert_eq!(sum(&whole, "count"), sum(&parts, "count"), "{name}");
        assert_eq!(total(&whole), total(&parts), "{name}");
    }
    let of_g = parts.iter().find(|row| row["name"] == "0x82000").unwrap();
    assert_eq!(of_g["caller"], "0x81000");
    let text = tracewright(&args("timing --by-caller", &[&path])).out;
    assert!(text.contains("0x82000 from 0x81000"), "{text}");
}

/// The time between two events of the queries of `find`.
#[test]
fn true_distances_lie_in_the_intervals() {
    let folder = Folder::new("timing-between");
    for seed in 0..8 {
        let own = execute(seed, 1 + seed * 3, None);
        let path = trace(&folder, &own, "between");
        let between = ["--between", "address 0x81000", "address 0x82000"];
        let run = |more: &[&str]| {
            let path = path.to_str().unwrap();
            tracewright(&[&["timing", path][..], &between[..], more].concat())
        };
        let output = run(&["--clock", "timestamps", "--format", "json"]);
        assert_eq!(output.code, Some(0), "{}", output.err);
        let line = &lines(&output, "between")[0];
        let mut times = own.distances.clone();
        times.sort_unstable();
        let case = format!("seed {seed}");
        assert_eq!(line["time"]["count"].as_u64(), Some(times.len() as u64), "{line}");
        contains(&line["time"]["min"], times[0], &case);
        contains(&line["time"]["median"], times[(times.len() - 1) / 2], &case);
        contains(&line["time"]["max"], times[times.len() - 1], &case);
        contains(&line["time"]["sum"], times.iter().sum(), &case);
        // Further calls of G are ends without a begin.
        let all = own.calls.iter().filter(|call| call.function == G).count() as u64;
        assert_eq!(line["unpaired_to"].as_u64(), Some(all - 20), "{line}");
        // From the first instruction of F to that of G there are two.
        let text = run(&["--clock", "instructions"]).out;
        assert!(text.starts_with("from address 0x81000 to address 0x82000, by instr"), "{text}");
        let cells: Vec<&str> = text.lines().nth(2).unwrap().split_ascii_whitespace().collect();
        assert_eq!(cells[..4], ["20", "2", "2", "2"], "{text}");
    }
    let path = folder.path("between");
    let path = path.to_str().unwrap();
    for (queries, part) in [
        (["address 0x81000", "last gap"], "all events are measured"),
        (["address 0x81000", "functions f"], "is not a condition"),
        (["address 0x81000", "address 0x123"], "no event of the second query follows"),
    ] {
        let output = tracewright(&[&["timing", path, "--between"][..], &queries[..]].concat());
        assert!(output.code != Some(0) && output.err.contains(part), "{}", output.err);
    }
}

/// The load in parts of the time, where a function stands for the idle task.
#[test]
fn true_loads_lie_in_the_intervals() {
    let folder = Folder::new("timing-load");
    for seed in 0..6 {
        let own = execute(seed, 1 + seed * 3, None);
        let path = trace(&folder, &own, "load");
        let words =
            format!("timing --load {WIDTH} --clock timestamps --format json --idle 0x82000");
        let output = tracewright(&args(&words, &[&path]));
        assert_eq!(output.code, Some(0), "{}", output.err);
        let found = lines(&output, "load");
        let whole = found.iter().filter(|line| line["traced"] == WIDTH);
        let mut compared = 0;
        for line in whole {
            let begin = line["begin"].as_u64().unwrap();
            let busy = own.busy.get(&(begin / WIDTH)).copied().unwrap_or(0);
            contains(&line["busy"], busy, &format!("seed {seed} at {begin}"));
            compared += 1;
        }
        assert!(compared >= found.len() - 2 && compared > 5, "{}", output.out);
        let text =
            tracewright(&args("timing --load 100ns --frequency 1G --idle 0x82000", &[&path]));
        assert!(text.out.contains("load %"), "{}{}", text.out, text.err);
        rows_of_load(&path, &found);
    }
    let output = tracewright(&args("timing --load 1ms --idle 0x82000", &[&folder.path("load")]));
    assert!(output.err.contains("the frequency of the clock is not known"), "{}", output.err);
}

/// The timeline has the bounds of `found` at their times.
fn rows_of_load(path: &Path, found: &[Value]) {
    let words = format!("timeline --load {WIDTH} --idle 0x82000");
    let output = tracewright(&args(&words, &[path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let timeline: Value = serde_json::from_str(&output.out).expect("JSON");
    let events = timeline["traceEvents"].as_array().expect("events");
    let values = |name: &str| -> Vec<(f64, f64)> {
        let own = events.iter().filter(|event| event["ph"] == "C" && event["name"] == name);
        own.map(|event| (event["ts"].as_f64().unwrap(), event["args"]["%"].as_f64().unwrap()))
            .collect()
    };
    for (name, bound) in [("load, at least", "least"), ("load, at most", "most")] {
        let want = found.iter().map(|line| {
            let busy = line["busy"][bound].as_f64().expect("a bound");
            let share = busy * 100.0 / line["traced"].as_f64().unwrap();
            (line["begin"].as_f64().unwrap() / 1000.0, share)
        });
        assert_eq!(values(name), want.collect::<Vec<_>>(), "{name}: {found:?}");
    }
    let words = format!("timeline --format firefox --load {WIDTH} --idle 0x82000");
    let output = tracewright(&args(&words, &[path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    firefox_counters(&serde_json::from_str(&output.out).expect("JSON"), found);
    let output = tracewright(&args("timeline --format btf --load 9 --idle 0x82000", &[path]));
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("chrome, firefox, perfetto or vcd"), "{}", output.err);
}

/// The counters of a profile are drawn at the shares of `found`: the Firefox Profiler takes the
/// first change for 0, sums the others, and draws the sums from the least one, or from 0.
fn firefox_counters(profile: &Value, found: &[Value]) {
    let counters = profile["counters"].as_array().expect("counters");
    let names: Vec<_> = counters.iter().map(|own| own["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["load, at least", "load, at most"]);
    for (counter, bound) in counters.iter().zip(["least", "most"]) {
        let numbers = |name: &str| -> Vec<f64> {
            let column = counter["samples"][name].as_array().expect("a column");
            assert_eq!(counter["samples"]["length"], column.len());
            column.iter().map(|value| value.as_f64().unwrap()).collect()
        };
        let thread = &profile["threads"][counter["mainThreadIndex"].as_u64().unwrap() as usize];
        assert_eq!(thread["pid"], counter["pid"]);
        assert_eq!(counter["display"]["graphType"], "line-accumulated");
        let (mut now, mut sum, mut drawn) = (0.0, 0.0, Vec::new());
        for (n, (delta, change)) in
            numbers("timeDeltas").into_iter().zip(numbers("count")).enumerate()
        {
            // No two samples are at one time: rates divide by the distance.
            assert!(delta > 0.0 || n == 0, "{counter}");
            now += delta;
            sum += if n == 0 { 0.0 } else { change };
            drawn.push((now, sum));
        }
        let least = drawn.iter().fold(0.0, |least: f64, (_, sum)| least.min(*sum));
        for line in found {
            let at = line["begin"].as_f64().unwrap() / 1e6;
            let share = line["busy"][bound].as_f64().unwrap() / line["traced"].as_f64().unwrap();
            // A value holds from its time to the picosecond before the next one.
            let (_, value) = drawn.iter().rfind(|(time, _)| *time < at + 2e-9).expect("a value");
            assert!((value - least - share).abs() < 1e-9, "{at} {share} {drawn:?}");
        }
        assert!(
            drawn
                .windows(2)
                .all(|two| { two[1].0 - two[0].0 < 2e-9 || (two[1].1 - two[0].1).abs() < 1e-9 })
        );
    }
}

/// The longest section is first, and its instructions are counted.
#[test]
fn planted_sections_are_found() {
    let folder = Folder::new("timing-masked");
    let own = execute(3, 9, Some((2, 60, false, 0)));
    let path = trace(&folder, &own, "masked");
    let output = tracewright(&args("timing --masked --rows 2 --clock instructions", &[&path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let lines: Vec<&str> = output.out.lines().collect();
    assert!(lines[0].starts_with("interrupts are masked: 20 sections"), "{}", output.out);
    // 60 turns of three instructions, and the one that ends it.
    assert!(lines[2].contains("181") && lines[2].contains("unmasked"), "{}", output.out);
    assert!(output.out.contains("When an interrupt became pending is not in the trace"));
    // Without such an instruction there is a note.
    let mut none =
        Execution { log: own.log.lines().next().unwrap().to_owned() + "\n", ..execute(1, 5, None) };
    none.step(MAIN);
    none.step(MAIN + 4);
    none.step(F);
    let path = trace(&folder, &none, "nothing");
    let output = tracewright(&args("timing --masked", &[&path]));
    assert_eq!(output.code, Some(1), "{}", output.out);
    assert!(output.err.contains("no executed instruction masks interrupts"), "{}", output.err);
}

/// What is planted in one call comes first.
#[test]
fn planted_causes_are_first() {
    let folder = Folder::new("timing-worst");
    for (name, planted, kind, first) in [
        ("turns", (40, 1, false, 0), "function", "0x82000"),
        ("masked", (1, 90, false, 0), "function", "0x81000"),
        ("interrupt", (1, 1, false, 60), "exception", "exception 14"),
    ] {
        for clock in ["timestamps", "instructions"] {
            let own = execute(5, 3, Some(planted));
            let path = trace(&folder, &own, name);
            let words = format!("timing --worst 0x81000 --clock {clock} --format json");
            let output = tracewright(&args(&words, &[&path]));
            assert_eq!(output.code, Some(0), "{}", output.err);
            let found = &lines(&output, "difference")[0];
            assert_eq!(found["kind"], kind, "{name}: {}", output.out);
            if kind == "function" {
                // A turn of the loop has as many instructions as what it calls.
                let both = ["0x81000", "0x82000"].map(Value::from);
                let tie = name == "turns" && both.contains(&found["name"]);
                assert!(tie || found["name"] == first, "{name}: {}", output.out);
                let turns = &lines(&output, "loop")[0];
                let expected = planted.0.max(planted.1) - 1;
                assert_eq!(turns["longest"].as_u64(), Some(expected), "{name}: {}", output.out);
            }
            let whole = &lines(&output, "worst")[0];
            assert_eq!(whole["calls"], 20, "{name}");
            // The rank selects another call.
            let words = format!("timing --worst 0x81000 --rank 2 --clock {clock} --format json");
            let second = tracewright(&args(&words, &[&path]));
            let second = &lines(&second, "worst")[0];
            assert_ne!(second["longest"]["at"], whole["longest"]["at"], "{name}");
            let text = tracewright(&args("timing --worst 0x81000", &[&path]));
            assert!(text.out.starts_with("0x81000: 20 calls\nlongest: "), "{}", text.out);
        }
    }
}
