//! Tasks that a DWT names in the trace of an ITM alone: of FreeRTOS under QEMU, and of a random
//! program. The packets are written here, with timestamps that are sparse or delayed, and losses;
//! what is true follows from QEMU's log and what a hook at each switch recorded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;
use tracewright_testing::{Random, skip, times};

use super::named_tasks::{FREERTOS, Step, execute, missing, symbols};
use super::tasks::compile;
use crate::common::{Folder, args, tracewright};

/// What the processor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Entered(u16),
    Exited(u16),
    Returned(u16),
    Store(u32),
}

/// What is done, at which cycle.
pub(super) type Program = Vec<(u64, What)>;

/// How the unit sends.
#[derive(Clone, Copy, Debug)]
struct Unit {
    /// Cycles of a tick, 1 or 4.
    tick: u64,
    /// The number of packets of which one has a timestamp.
    stamps: u64,
    delays: bool,
    losses: bool,
    /// Software writes the task to stimulus port 5, in place of the DWT.
    by_software: bool,
}

/// Writes the bytes of an ITM. (Armv7-M ARM, appendix D4)
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
    ticks: u64,
}

impl Writer {
    pub(super) fn new() -> Writer {
        Writer { bytes: vec![0, 0, 0, 0, 0, 0x80], ticks: 0 }
    }

    pub(super) fn packet(&mut self, what: What, by_software: bool) {
        let step = |number: u16, step: u16| (number | step << 12).to_le_bytes();
        let (header, bytes) = match what {
            What::Entered(number) => (0x0e, step(number, 1).to_vec()),
            What::Exited(number) => (0x0e, step(number, 2).to_vec()),
            What::Returned(number) => (0x0e, step(number, 3).to_vec()),
            What::Store(value) if by_software => (0b0010_1011, value.to_le_bytes().to_vec()),
            // A value that comparator 1 has seen written, of 4 bytes.
            What::Store(value) => (0b1001_1111, value.to_le_bytes().to_vec()),
        };
        self.bytes.push(header);
        self.bytes.extend(bytes);
    }

    /// A local timestamp at a cycle, with its code TC.
    fn stamp(&mut self, cycle: u64, unit: Unit, code: u8) {
        let ticks = cycle / unit.tick;
        let mut delta = ticks - std::mem::replace(&mut self.ticks, ticks);
        if code == 0 && (1..=6).contains(&delta) {
            return self.bytes.push((delta as u8) << 4);
        }
        self.bytes.push(0xc0 | code << 4);
        while delta > 0x7f {
            self.bytes.push(0x80 | delta as u8);
            delta >>= 7;
        }
        self.bytes.push(delta as u8);
    }
}

/// The trace of a program.
fn trace(program: &Program, unit: Unit, random: &mut Random) -> Vec<u8> {
    let mut writer = Writer::new();
    let (mut clock, mut lose, mut delayed, mut waiting) = (0, 0, false, false);
    for &(happened, what) in program {
        let out = happened.max(clock);
        delayed |= out > happened;
        clock = out;
        if unit.losses && lose == 0 && random.one_in(50) {
            lose = 1 + random.below(20);
        }
        if lose > 0 {
            lose -= 1;
            if lose == 0 {
                writer.bytes.push(0x70);
                // The counter has begun again meanwhile.
                writer.ticks = out / unit.tick;
                (delayed, waiting) = (false, false);
            }
            continue;
        }
        if unit.delays && !waiting && random.one_in(6) {
            clock += 1 + random.below(400);
            delayed = true;
        }
        writer.packet(what, unit.by_software);
        waiting = true;
        if !delayed && !random.one_in(unit.stamps) {
            continue;
        }
        let late = unit.delays && random.one_in(4);
        if late {
            clock += random.below(200);
        }
        writer.stamp(clock, unit, u8::from(delayed) << 1 | u8::from(late));
        (delayed, waiting) = (false, false);
    }
    writer.bytes
}

/// Least, greatest, sum and number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    least: u64,
    most: u64,
    sum: u64,
    count: u64,
}

impl Totals {
    fn add(&mut self, duration: u64) {
        self.least = if self.count == 0 { duration } else { self.least.min(duration) };
        self.most = self.most.max(duration);
        self.sum += duration;
        self.count += 1;
    }
}

/// What is true of a program.
#[derive(Debug, Default)]
struct Expected {
    /// The tasks in order.
    order: Vec<u64>,
    /// Of each task, from begin to end and without handlers; of each exception, from begin to end.
    tasks: BTreeMap<u64, [Totals; 2]>,
    exceptions: BTreeMap<u64, Totals>,
}

impl Expected {
    fn of(program: &Program) -> Expected {
        let mut expected = Expected::default();
        let (mut named, mut run, mut in_handlers) = (None, None::<(u64, u64)>, 0);
        let mut open: Vec<(u16, u64)> = Vec::new();
        for &(time, what) in program {
            match what {
                What::Entered(number) => open.push((number, time)),
                What::Exited(number) => {
                    let (own, begin) = open.pop().expect("a handler");
                    assert_eq!(own, number);
                    expected.exceptions.entry(number.into()).or_default().add(time - begin);
                    in_handlers += if open.is_empty() { time - begin } else { 0 };
                }
                What::Store(value) if !open.is_empty() => named = Some(u64::from(value)),
                // Before the scheduler starts.
                What::Store(_) => assert!(run.is_none()),
                What::Returned(0) => {
                    let Some(task) = named.filter(|task| run.is_none_or(|run| run.0 != *task))
                    else {
                        continue;
                    };
                    expected.order.push(task);
                    if let Some((task, begin)) = run.replace((task, time)) {
                        let all = expected.tasks.entry(task).or_default();
                        all[0].add(time - begin);
                        all[1].add(time - begin - in_handlers);
                    }
                    in_handlers = 0;
                }
                What::Returned(_) => {}
            }
        }
        expected
    }
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64()
}

/// Asserts that the statistics of a row are true.
fn check_row(row: &Value, measure: &str, want: &Totals, unit: Unit) {
    let own = &row[measure];
    let what = format!("{unit:?} {measure} {want:?} {row}");
    if unit.losses {
        // Each of those that are known is a true one.
        assert!(number(&own["count"]).unwrap_or(0) <= want.count, "{what}");
        if number(&own["count"]).unwrap_or(0) > 0 {
            assert!(number(&own["max"]["least"]).unwrap() <= want.most, "{what}");
            assert!(number(&own["min"]["most"]).is_none_or(|most| most >= want.least), "{what}");
        }
        return;
    }
    assert_eq!(number(&own["count"]), Some(want.count), "{what}");
    for (name, value) in [("min", want.least), ("max", want.most), ("sum", want.sum)] {
        assert!(number(&own[name]["least"]).unwrap() <= value, "{name} {what}");
        assert!(number(&own[name]["most"]).is_none_or(|most| value <= most), "{name} {what}");
    }
    // With a timestamp behind each packet, all is known exactly.
    if unit.stamps == 1 && !unit.delays && unit.tick == 1 {
        assert_eq!(own["sum"]["least"], own["sum"]["most"], "{what}");
    }
}

fn json(options: &str, path: &Path) -> Vec<Value> {
    let output = tracewright(&args(options, &[path]));
    assert_eq!(output.code, Some(0), "{options}: {}", output.err);
    assert!(!output.err.contains("not used"), "{}", output.err);
    output.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Compares what `timing` and `timeline` have of a trace with what is true.
fn check(path: &Path, options: &str, expected: &Expected, unit: Unit) {
    let rows = json(&format!("timing --format json {options}"), path);
    let mut found = 0;
    for row in &rows {
        let (id, exception) = (number(&row["id"]), number(&row["exception"]));
        if let Some(want) = exception.and_then(|number| expected.exceptions.get(&number)) {
            check_row(row, "gross", want, unit);
        }
        if row["kind"] == "run"
            && let Some(id) = id
        {
            let want = expected.tasks.get(&id).copied().unwrap_or_default();
            assert!(expected.order.contains(&id), "{row}");
            check_row(row, "gross", &want[0], unit);
            check_row(row, "net", &want[1], unit);
            found += 1;
        }
    }
    let exceptions = rows.iter().filter(|row| row["exception"].is_u64()).count();
    if unit.losses {
        assert!(found > 1 && exceptions > 1);
        return;
    }
    assert_eq!(exceptions, expected.exceptions.len());
    // The last run does not end.
    assert!(found == expected.tasks.len() || found == expected.tasks.len() + 1, "{found}");
    let output = tracewright(&args(&format!("timeline --format btf {options}"), &[path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let texts: BTreeMap<String, u64> = rows
        .iter()
        .filter(|row| row["kind"] == "run")
        .filter_map(|row| {
            let id = number(&row["id"])?;
            Some((row["name"].as_str()?.replace([' ', ','], "_"), id))
        })
        .collect();
    let mut order: Vec<u64> = Vec::new();
    for line in output.out.lines() {
        let columns: Vec<&str> = line.split(',').collect();
        let [_, _, _, "T", task, _, "start" | "resume", ..] = columns[..] else { continue };
        let Some(&id) = texts.get(task) else { continue };
        if order.last() != Some(&id) {
            order.push(id);
        }
    }
    // The task that runs at the end has no row, if it runs for the first time.
    let known: Vec<u64> =
        expected.order.iter().copied().filter(|id| texts.values().any(|own| own == id)).collect();
    assert_eq!(order, known);
}

const EXACT: Unit = Unit { tick: 1, stamps: 1, delays: false, losses: false, by_software: false };

const UNITS: [Unit; 7] = [
    EXACT,
    Unit { stamps: 5, ..EXACT },
    Unit { tick: 4, stamps: 2, ..EXACT },
    Unit { stamps: 3, delays: true, ..EXACT },
    Unit { tick: 4, stamps: 3, delays: true, ..EXACT },
    Unit { stamps: 3, delays: true, losses: true, ..EXACT },
    Unit { stamps: 2, by_software: true, ..EXACT },
];

/// The register in which a unit states the cycles of a tick.
fn control(unit: Unit) -> &'static str {
    if unit.tick == 4 { "ITMTCR=0x10f" } else { "ITMTCR=0xf" }
}

/// What the processor does in a run of FreeRTOS: QEMU's log, and the stores of `steps`. An
/// instruction takes ten cycles.
pub(super) fn of_log(log: &str, steps: &[Step]) -> Program {
    let (mut program, mut count, mut now, mut returns) = (Program::new(), 0usize, 0, false);
    let mut open: Vec<u16> = Vec::new();
    let word = |line: &str| line.rsplit(' ').next().and_then(|word| word.parse().ok());
    let mut add = |count: usize, offset: u64, what| {
        now = (10 * count as u64 + offset).max(now + 1);
        program.push((now, what));
    };
    let mut stores = steps.iter().enumerate().filter_map(|(n, s)| Some((n, s.store?))).peekable();
    for line in log.lines() {
        if line.starts_with("cpu_io_recompile") || line.starts_with("Stopped execution") {
            count -= 1;
        } else if line.starts_with("XPSR=") {
            count += 1;
        }
        let is_event = line.starts_with("...") || line.starts_with("Exception return:");
        if is_event {
            while let Some((n, value)) = stores.next_if(|(n, _)| *n < count) {
                add(n, 5, What::Store(value as u32));
            }
        }
        if line.starts_with("...taking pending nonsecure exception ") {
            let number = word(line).expect("a number");
            open.push(number);
            add(count, 0, What::Entered(number));
            returns = false;
        } else if line.starts_with("Exception return:") {
            let number = word(line).expect("a number");
            assert_eq!(open.pop(), Some(number));
            add(count, 0, What::Exited(number));
            returns = true;
        } else if line.starts_with("...successful exception return") {
            assert!(returns);
            add(count, 0, What::Returned(open.last().copied().unwrap_or(0)));
        }
    }
    program
}

#[test]
fn tasks_are_those_that_a_dwt_reports() {
    let Some(kernel) = env::var_os("TRACEWRIGHT_FREERTOS").map(PathBuf::from) else {
        return skip("TRACEWRIGHT_FREERTOS does not name the sources of FreeRTOS");
    };
    for (level, name) in [("-O0", "freertos-dwt"), ("-O2", "freertos-dwt-optimised")] {
        let folder = Folder::new(name);
        let path = folder.path("");
        let Some(elf) = compile(&path, &kernel, level) else { return };
        let Some((steps, _, hook)) = execute(&elf, "mps2-an385", FREERTOS) else { return };
        let raw = fs::read_to_string(elf.with_extension("raw")).expect("a log");
        let program = of_log(&raw, &steps);
        let expected = Expected::of(&program);
        let mut want: Vec<u64> = hook.iter().map(|(_, block)| *block).collect();
        want.dedup();
        // A handler that follows directly may name another task before one runs.
        let unseen = missing(&expected.order, &want).expect("the order of the hook");
        assert!(want.len() > 100 && unseen * 10 < want.len(), "{} {unseen}", want.len());
        assert!(expected.tasks.len() > 4);
        let all = symbols(&elf);
        let variable = all[FREERTOS];
        for unit in UNITS.into_iter().filter(|unit| !unit.by_software) {
            let bytes = trace(&program, unit, &mut Random::new(7));
            let file = path.join("itm.bin");
            fs::write(&file, bytes).expect("a trace");
            let elf = elf.display();
            let options = format!(
                "--protocol ITM --config {} --config DWT_COMP1={variable:#x} --image {elf}",
                control(unit)
            );
            check(&file, &options, &expected, unit);
            // Static tasks have the names of their variables.
            for row in json(&format!("timing --task-times --format json {options}"), &file) {
                if let Some(name) = row["task"].as_str() {
                    assert_eq!(all.get(name).copied(), number(&row["id"]), "{row}");
                }
            }
        }
    }
}

/// A random program: three tasks, nested and tail-chained handlers.
fn random_program(random: &mut Random) -> Program {
    fn handler(number: u16, depth: u64, now: &mut u64, random: &mut Random, out: &mut Program) {
        let mut add = |what: What, random: &mut Random| {
            out.push((*now, what));
            *now += 1 + random.below(60);
        };
        add(What::Entered(number), random);
        if number == 14 {
            let block = 0x2000_0100 + 0x80 * random.below(3) as u32;
            add(What::Store(block), random);
        }
        if depth < 2 && random.one_in(3) {
            handler(number + 10, depth + 1, now, random, out);
            out.push((*now, What::Returned(number)));
            *now += 1 + random.below(60);
        }
        out.push((*now, What::Exited(number)));
        *now += 1 + random.below(20);
    }
    let (mut out, mut now) = (Program::new(), 500);
    for _ in 0..300 {
        now += random.below(4000);
        loop {
            handler(random.pick(&[14, 15, 20]), 0, &mut now, random, &mut out);
            if !random.one_in(5) {
                break;
            }
        }
        out.push((now, What::Returned(0)));
    }
    out
}

#[test]
fn tasks_of_random_programs() {
    let folder = Folder::new("dwt-random");
    let path = folder.path("");
    for (name, origin) in [("tasks.toml", "dwt1"), ("software.toml", "5")] {
        let names = "[names]\n\"0x20000100\" = \"A\"\n";
        let text = format!("[events]\nrunning = \"{origin}\"\nidle = [0x20000180]\n\n{names}");
        fs::write(path.join(name), text).expect("a file");
    }
    for seed in 0..times(3) {
        for unit in UNITS {
            let mut random = Random::new(seed);
            let program = random_program(&mut random);
            let bytes = trace(&program, unit, &mut random);
            let file = path.join("itm.bin");
            fs::write(&file, bytes).expect("a trace");
            let tasks = path.join(if unit.by_software { "software.toml" } else { "tasks.toml" });
            let options =
                format!("--protocol ITM --config {} --tasks {}", control(unit), tasks.display());
            let expected = Expected::of(&program);
            check(&file, &options, &expected, unit);
            if !unit.losses {
                check_load(&file, &options, &program, &expected);
            }
        }
    }
    // Without a description, it is not known which packets name a task.
    let file = path.join("itm.bin");
    let output = tracewright(&args("timing --task-times --protocol ITM", &[&file]));
    assert_eq!(output.code, Some(1));
    assert!(output.err.contains("which events name the running task"), "{}", output.err);
    let output = tracewright(&args("timing --clock cycles --protocol ITM", &[&file]));
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("timestamps only"), "{}", output.err);
}

/// Compares the load with the time outside of the idle task, 0x20000180, and in handlers.
fn check_load(path: &Path, options: &str, program: &Program, expected: &Expected) {
    let rows = json(&format!("timing --load 5000 --format json {options}"), path);
    let (mut busy, mut named, mut task, mut depth) = (Vec::new(), None, None, 0);
    for pair in program.windows(2) {
        let ((begin, what), (end, _)) = (pair[0], pair[1]);
        match what {
            What::Entered(_) => depth += 1,
            What::Exited(_) => depth -= 1,
            What::Store(value) => named = Some(value),
            What::Returned(0) => task = named,
            What::Returned(_) => {}
        }
        // Which task runs first is not known.
        let own = task.map(|task| depth > 0 || task != 0x2000_0180);
        busy.push((begin, end, own.or((depth > 0).then_some(true))));
    }
    let mut checked = 0;
    for row in rows.iter().filter(|row| row["type"] == "load" && row["traced"] == 5000) {
        let begin = number(&row["begin"]).unwrap();
        let part = |own: &(u64, u64, Option<bool>)| {
            own.1.min(begin + 5000).saturating_sub(own.0.max(begin))
        };
        let sum = |is: fn(Option<bool>) -> bool| -> u64 {
            busy.iter().filter(|own| is(own.2)).map(part).sum()
        };
        let (least, most) = (sum(|own| own == Some(true)), sum(|own| own != Some(false)));
        let found = (number(&row["busy"]["least"]).unwrap(), number(&row["busy"]["most"]).unwrap());
        assert!(found.0 <= most && least <= found.1, "{least}..{most} {row}");
        checked += 1;
    }
    assert!(checked > 20 && !expected.order.is_empty());
}
