//! Tasks of FreeRTOS and ThreadX that the stores to the variable of the running task name, and
//! context IDs: who runs, when it is
//! switched, and how long each run is, beside QEMU's log and what a hook at each switch recorded.
//!
//! QEMU logs the registers before each instruction; the stores are those of the disassembly whose
//! address is that of the variable. Whether an instruction is one of a handler is in the log.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;
use tracewright_testing::{skip, tool, tool_since};

use super::counted_tasks::check_coverage;
use super::oracle::pc;
use super::tasks::{M3, M7, compile_for, function_of};
use super::{good, words};
use crate::common::{Folder, args, tracewright};

/// The variable of the running task of FreeRTOS, and of ThreadX.
pub(super) const FREERTOS: &str = "pxCurrentTCB";
const THREADX: &str = "_tx_thread_current_ptr";

/// An instruction that was executed.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pc: u64,
    handler: bool,
    /// What it stores to the variable.
    pub(super) store: Option<u64>,
}

/// The symbols by name.
pub(super) fn symbols(elf: &Path) -> HashMap<String, u64> {
    let output = Command::new("arm-none-eabi-nm").arg(elf).output().expect("the tool runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (address, _, name) = (words.next()?, words.next()?, words.next()?);
        Some((name.to_owned(), u64::from_str_radix(address, 16).ok()?))
    });
    lines.collect()
}

/// A store of the disassembly: its condition, and its operands.
#[derive(Debug)]
struct Store {
    condition: String,
    operands: Vec<String>,
}

/// The stores of words.
fn stores(elf: &Path) -> HashMap<u64, Store> {
    let output = Command::new("arm-none-eabi-objdump").arg("-d").arg(elf).output();
    let text = String::from_utf8(output.expect("the tool runs").stdout).expect("text");
    let mut all = HashMap::new();
    for line in text.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [address, _, name, operands, ..] = columns[..] else { continue };
        let name = name.trim_end_matches(".w");
        let Some(condition) = name
            .strip_prefix("str")
            .filter(|rest| rest.is_empty() || rest.len() == 2 && !["bt", "ht"].contains(rest))
        else {
            continue;
        };
        let address = address.trim().trim_end_matches(':');
        let Ok(address) = u64::from_str_radix(address, 16) else { continue };
        let plain = operands.replace(['[', ']', '!', '#'], "");
        let operands = plain.split(',').map(|word| word.trim().to_owned()).collect();
        all.insert(address, Store { condition: condition.to_owned(), operands });
    }
    all
}

fn register(name: &str) -> Option<usize> {
    match name {
        "sl" => Some(10),
        "fp" => Some(11),
        "ip" => Some(12),
        "sp" => Some(13),
        "lr" => Some(14),
        _ => name.strip_prefix('r')?.parse().ok(),
    }
}

/// Whether a condition holds with these flags: N 8, Z 4, C 2, V 1.
fn holds(condition: &str, flags: u64) -> bool {
    let [n, z, c, v] = [8, 4, 2, 1].map(|bit| flags & bit != 0);
    match condition {
        "" => true,
        "eq" => z,
        "ne" => !z,
        "cs" => c,
        "cc" => !c,
        "mi" => n,
        "pl" => !n,
        "vs" => v,
        "vc" => !v,
        "hi" => c && !z,
        "ls" => !c || z,
        "ge" => n == v,
        "lt" => n != v,
        "gt" => !z && n == v,
        "le" => z || n != v,
        _ => panic!("the condition {condition}"),
    }
}

/// What a store writes, if it is one to `variable`.
fn stored(store: &Store, registers: &[u64; 16], flags: u64, variable: u64) -> Option<u64> {
    if !holds(&store.condition, flags) {
        return None;
    }
    let value = |name: &String| Some(registers[register(name)?]);
    let (data, base) = (value(store.operands.first()?)?, value(store.operands.get(1)?)?);
    let offset = match store.operands.get(2) {
        None => 0,
        Some(word) => match value(word) {
            Some(index) => {
                let shift = store.operands.get(3).and_then(|text| text.strip_prefix("lsl "));
                index << shift.map_or(0, |digits| digits.parse::<u32>().expect("a shift"))
            }
            None => word.parse::<i64>().ok()? as u64,
        },
    };
    (base.wrapping_add(offset) & 0xffff_ffff == variable).then_some(data)
}

/// The name of each task that is switched to, and its control block.
pub(super) type Hook = Vec<(String, u64)>;

/// Runs the program. Returns its steps, the log without registers, and the switches of the hook.
pub(super) fn execute(
    elf: &Path,
    machine: &str,
    variable: &str,
) -> Option<(Vec<Step>, PathBuf, Hook)> {
    let qemu = tool_since(&[("qemu-system-arm", "qemu-system-arm")], (7, 2))?;
    let (raw, hook) = (elf.with_extension("raw"), elf.with_extension("hook"));
    let options = format!(
        "-M {machine} -display none -monitor none -semihosting -icount shift=6 -singlestep -d \
         exec,nochain,int,cpu -D"
    );
    let mut command = Command::new(qemu);
    command.args(words(&options)).arg(&raw).arg("-kernel").arg(elf);
    good(command.arg("-serial").arg(format!("file:{}", hook.display())));
    let (all, variable) = (stores(elf), symbols(elf)[variable]);
    let (mut steps, mut log) = (Vec::<Step>::new(), Vec::<String>::new());
    let (mut registers, mut next) = ([0; 16], None);
    for line in fs::read_to_string(raw).expect("a log").lines() {
        if line.starts_with('R') && line.contains('=') {
            for word in line.split(' ').filter(|word| word.len() == 12) {
                let number: usize = word[1..3].parse().expect("a register");
                registers[number] = u64::from_str_radix(&word[4..], 16).expect("hexadecimal");
            }
            continue;
        }
        if let Some(rest) = line.strip_prefix("XPSR=") {
            let flags = u64::from_str_radix(&rest[..1], 16).expect("flags");
            if let Some(pc) = next.take() {
                let store = all.get(&pc).and_then(|s| stored(s, &registers, flags, variable));
                steps.push(Step { pc, handler: rest.contains("handler"), store });
            }
            continue;
        }
        // An access to a device is executed again.
        if line.starts_with("cpu_io_recompile") {
            while log.pop().is_some_and(|line| !line.starts_with("Trace ")) {}
            steps.pop();
            continue;
        }
        if line.starts_with("Stopped execution") {
            steps.pop();
        }
        next = pc(line).or(next);
        log.push(line.to_owned());
    }
    let path = elf.with_extension("log");
    fs::write(&path, log.join("\n")).expect("a log");
    let text = fs::read_to_string(hook).expect("the switches");
    let switch = |line: &str| {
        let (name, block) = line.split_once('\t').expect("a name and a block");
        (name.to_owned(), u64::from_str_radix(block, 16).expect("hexadecimal"))
    };
    Some((steps, path, text.lines().map(switch).collect()))
}

/// The control block of a task that runs, and the instructions outside of handlers.
pub(super) type Run = (Option<u64>, u64);

/// The runs of tasks: the control block, and the instructions outside of handlers. The first one is
/// that of the program before the scheduler starts.
pub(super) fn runs(steps: &[Step]) -> Vec<Run> {
    let mut runs: Vec<Run> = vec![(None, 0)];
    let (mut current, mut started) = (None, false);
    for step in steps {
        started |= step.handler;
        if !step.handler {
            let task = current.filter(|task| started && *task != 0);
            match runs.last_mut() {
                Some((last, count)) if *last == task => *count += 1,
                _ => runs.push((task, 1)),
            }
        }
        current = step.store.or(current);
    }
    runs
}

/// The log with the stores, as data of its instructions or as context IDs.
fn with_stores(elf: &Path, log: &Path, steps: &[Step], variable: &str, context: bool) -> PathBuf {
    let plain = elf.with_extension("csv");
    let mut all = args("log convert --to csv", &[log]);
    all.extend(args("--image", &[elf]));
    all.extend(args("--output", &[&plain]));
    assert_eq!(tracewright(&all).code, Some(0));
    let (symbols, all) = (symbols(elf), symbols_of_switch());
    let variable = symbols[variable];
    let switch = all.iter().find_map(|name| symbols.get(*name)).copied().expect("a scheduler");
    let text = fs::read_to_string(&plain).expect("a log");
    let lines: Vec<&str> = text.lines().collect();
    let revoked = |n: usize, pc: &str| {
        let next = lines.get(n + 1).map(|line| line.split(',').collect::<Vec<_>>());
        next.is_some_and(|next| next[1] == "withdrawn" && next[2] == pc)
    };
    let (mut out, mut left) = (String::new(), steps.iter());
    for (n, line) in lines.iter().enumerate() {
        out.push_str(line);
        out.push('\n');
        let columns: Vec<&str> = line.split(',').collect();
        if columns[1] != "instruction" || revoked(n, columns[2]) {
            continue;
        }
        let step = left.next().expect("a step");
        assert_eq!(u64::from_str_radix(columns[2], 16), Ok(step.pc), "line {n}");
        // A port that writes the register does so where it switches, not where tasks are made.
        let Some(value) = step.store else { continue };
        if !context {
            out.push_str(&format!("0,write,{variable:x},,,,,,4,{value:x},,,\n"));
        } else if (switch..switch + 400).contains(&step.pc) {
            out.push_str(&format!("0,contextid,,,,,,,,{value:x},,,\n"));
        }
    }
    assert!(left.next().is_none());
    let path = elf.with_extension(if context { "context.csv" } else { "data.csv" });
    fs::write(&path, out).expect("a log");
    path
}

/// The functions that store to the variable where they switch.
const fn symbols_of_switch() -> [&'static str; 2] {
    ["vTaskSwitchContext", "PendSV_Handler"]
}

pub(super) fn lines(options: &str, snapshot: &Path) -> Vec<Value> {
    let output = tracewright(&args(options, &[snapshot]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    output.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The identifiers of threads by their names.
pub(super) fn blocks(rows: &[Value]) -> HashMap<String, Option<u64>> {
    let of = |row: &Value| Some((row["name"].as_str()?.to_owned(), row["id"].as_u64()));
    rows.iter().filter(|row| row["kind"] == "run").filter_map(of).collect()
}

/// The control blocks in the order in which their tasks execute.
pub(super) fn order(snapshot: &Path, blocks: &HashMap<String, Option<u64>>) -> Vec<u64> {
    let mut order: Vec<u64> = Vec::new();
    let output = tracewright(&args("timeline --format btf", &[snapshot]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let word = |name: &String| name.replace([' ', ','], "_");
    let known: HashMap<String, u64> = blocks
        .iter()
        .filter_map(|(name, id)| Some((word(name), id.filter(|id| *id != 0)?)))
        .collect();
    for line in output.out.lines() {
        let columns: Vec<&str> = line.split(',').collect();
        let [_, _, _, "T", task, _, "start" | "resume", ..] = columns[..] else { continue };
        if let Some(&block) = known.get(task)
            && order.last() != Some(&block)
        {
            order.push(block);
        }
    }
    order
}

/// `part` without what is missing of `whole`, in order: how many are missing.
pub(super) fn missing(part: &[u64], whole: &[u64]) -> Option<usize> {
    let mut left = whole.iter();
    part.iter().all(|own| left.any(|other| other == own)).then(|| whole.len() - part.len())
}

#[test]
fn tasks_are_those_that_the_variable_names() {
    let Some(kernel) = env::var_os("TRACEWRIGHT_FREERTOS").map(PathBuf::from) else {
        return skip("TRACEWRIGHT_FREERTOS does not name the sources of FreeRTOS");
    };
    for (level, port, machine, name) in [
        ("-O0", M3, "mps2-an385", "freertos-named"),
        ("-O2", M3, "mps2-an385", "freertos-named-optimised"),
        ("-O0", M7, "mps2-an500", "freertos-named-m7"),
        ("-O2", M7, "mps2-an500", "freertos-named-m7-optimised"),
    ] {
        let folder = Folder::new(name);
        let path = folder.path("");
        let Some(elf) = compile_for(&path, &kernel, level, port) else { return };
        let Some((steps, log, hook)) = execute(&elf, machine, FREERTOS) else { return };
        let mut want: Vec<u64> = hook.iter().map(|(_, block)| *block).collect();
        want.dedup();
        let expected_runs = runs(&steps);
        let executed: Vec<u64> = expected_runs.iter().filter_map(|(task, _)| *task).collect();
        // Tasks that the next exception follows before they execute an instruction.
        let unseen = missing(&executed, &want).expect("the order of the hook");
        assert!(want.len() > 100 && unseen * 10 < want.len(), "{} {unseen}", want.len());
        for (context, config) in [(false, "ETMCR=0xc"), (true, "ETMCR=0xc000")] {
            let data = with_stores(&elf, &log, &steps, FREERTOS, context);
            let snapshot = path.join(if context { "context" } else { "data" });
            let options =
                format!("encode --protocol ETM3 --core Cortex-M3 --config {config} --log");
            let mut all = args(&options, &[&data]);
            all.extend(args("--image", &[&elf]));
            all.extend(args("--output", &[&snapshot]));
            let output = tracewright(&all);
            assert_eq!(output.code, Some(0), "{}", output.err);
            let rows = check(&snapshot, &expected_runs, context);
            check_names(&snapshot, &elf, &rows, &hook, context);
            let sensor = hook.iter().find(|(name, _)| name == "sensor").expect("the task").1;
            check_instructions(&snapshot, &steps, sensor);
            if name == "freertos-named" && !context {
                check_coverage(&snapshot);
            }
        }
    }
}

/// Compares the tasks of a snapshot with those that executed. Returns their rows.
pub(super) fn check(snapshot: &Path, expected_runs: &[Run], context: bool) -> Vec<Value> {
    let rows = lines("timing --clock instructions --task-times --format json", snapshot);
    let blocks = blocks(&rows);
    let first = expected_runs.iter().position(|(task, _)| task.is_some()).expect("a task");
    let expected_runs = &expected_runs[first..];
    let executed: Vec<u64> = expected_runs.iter().filter_map(|(task, _)| *task).collect();
    let found = order(snapshot, &blocks);
    // Up to the first switch, a context ID names no task: that run has no name, or only its end
    // has.
    let unnamed = usize::from(context && found.len() < executed.len());
    assert_eq!(found, executed[unnamed..], "context {context}");
    // The last run does not end in the trace.
    let mut sums: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for (task, count) in &expected_runs[..expected_runs.len() - 1] {
        let sum = sums.entry(task.expect("a task")).or_default();
        *sum = (sum.0 + 1, sum.1 + count);
    }
    let mut found: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row["kind"] == "run") {
        let Some(block) = row["id"].as_u64().filter(|id| *id != 0) else { continue };
        let net = &row["net"];
        let sum = found.entry(block).or_default();
        assert_eq!(net["sum"]["least"], net["sum"]["most"], "{row}");
        *sum = (
            sum.0 + net["count"].as_u64().unwrap_or(0),
            sum.1 + net["sum"]["least"].as_u64().unwrap_or(0),
        );
    }
    found.retain(|_, (count, _)| *count > 0);
    if context {
        let first = expected_runs[0].0.expect("a task");
        assert!(found.remove(&first) < sums.remove(&first));
    }
    assert_eq!(found, sums, "context {context}");
    rows
}

/// Compares the instructions while a task runs with those that it executed, outside of handlers.
fn check_instructions(snapshot: &Path, steps: &[Step], block: u64) {
    let words = format!("instructions --format pc --task {block:#x}");
    let output = tracewright(&args(&words, &[snapshot]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let pcs = output.out.lines().map(|pc| u64::from_str_radix(pc, 16).expect("hexadecimal"));
    let in_handlers: HashSet<u64> =
        steps.iter().filter(|step| step.handler).map(|step| step.pc).collect();
    let (mut current, mut want, mut handlers) = (None, Vec::new(), 0);
    for step in steps {
        if current == Some(block) && !in_handlers.contains(&step.pc) {
            want.push(step.pc);
        }
        handlers += usize::from(current == Some(block) && step.handler);
        current = step.store.or(current);
    }
    let (own, others): (Vec<u64>, Vec<u64>) = pcs.partition(|pc| !in_handlers.contains(pc));
    assert!(want.len() > 1000, "{}", want.len());
    assert_eq!(own, want);
    // The handlers that interrupt it, and the one that switches to another task.
    assert!(others.len() > handlers / 2, "{} {handlers}", others.len());
}

/// Compares the names of tasks with those of the hook, and selects one.
fn check_names(snapshot: &Path, elf: &Path, rows: &[Value], hook: &[(String, u64)], context: bool) {
    // Names are the variables of static tasks, and the functions of others.
    let symbols = symbols(elf);
    let named: HashMap<u64, &str> =
        hook.iter().map(|(name, block)| (*block, name.as_str())).collect();
    let mut by_variable = 0;
    for row in rows.iter().filter(|row| row["kind"] == "run" && row["id"].as_u64() != Some(0)) {
        let Some(block) = row["id"].as_u64() else { continue };
        let (name, by) = (row["task"].as_str().expect("a name"), &row["named_by"]);
        match symbols.get(name) {
            Some(address) if by == "symbol" => {
                assert_eq!(*address, block);
                by_variable += 1;
            }
            _ => {
                assert_eq!(by, "function", "{row}");
                assert_eq!(name, function_of(named[&block]), "{row}");
            }
        }
    }
    assert!(by_variable >= 4, "context {context}");
    // A task by its name, and by its identifier.
    let all = lines("functions --per-thread --format json", snapshot);
    let own = |text: &str| -> Vec<Value> {
        lines(&format!("functions --per-thread --format json --task {text}"), snapshot)
            .into_iter()
            .filter(|row| row["type"] == "function")
            .collect()
    };
    let expected: Vec<Value> = all
        .into_iter()
        .filter(|row| row["thread"].as_str().is_some_and(|text| text.ends_with("sensor_task")))
        .collect();
    assert!(!expected.is_empty());
    assert_eq!(own("sensor_task"), expected);
    let block = hook.iter().find(|(name, _)| name == "sensor").expect("the task").1;
    assert_eq!(own(&format!("{block:#x}")), expected);
    let output = tracewright(&args("functions --task nobody", &[snapshot]));
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("no task has this name; the trace has "), "{}", output.err);
    assert!(output.err.contains("control_data"), "{}", output.err);
}

/// Compiles the program with ThreadX.
fn compile_threadx(folder: &Path, sources: &Path, level: &str) -> Option<PathBuf> {
    let gcc = tool(&[("arm-none-eabi-gcc", "gcc-arm-none-eabi")])?;
    let files = [
        ("program.c", include_str!("program/threadx/program.c")),
        ("program.ld", include_str!("program/freertos/program.ld")),
        ("stdlib.h", "#include <stddef.h>\n"),
        (
            "string.h",
            "#include <stddef.h>\nvoid *memset(void *, int, size_t);\n\
             void *memcpy(void *, const void *, size_t);\n",
        ),
    ];
    for (name, text) in files {
        fs::write(folder.join(name), text).expect("a source");
    }
    let port = sources.join("ports/cortex_m4/gnu");
    let of = |folder: PathBuf, begin: &str, end: &str| -> Vec<PathBuf> {
        let all = fs::read_dir(folder).expect("a folder").flatten().map(|file| file.path());
        let is = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(begin) && name.ends_with(end)
        };
        let mut all: Vec<PathBuf> = all.filter(is).collect();
        all.sort();
        all
    };
    let options = "-mcpu=cortex-m4 -mthumb -g -ffreestanding -nostdlib -fno-builtin \
                   -DTX_ENABLE_EXECUTION_CHANGE_NOTIFY -ffunction-sections -Wl,--gc-sections -T \
                   program.ld program.c -o rtos.elf -I.";
    let mut command = Command::new(gcc);
    command.arg(level).args(words(options));
    command.arg("-I").arg(sources.join("common/inc")).arg("-I").arg(port.join("inc"));
    command.args(of(sources.join("common/src"), "tx", ".c"));
    command.args(of(port.join("src"), "tx", ".S")).arg("-lgcc");
    good(command.current_dir(folder));
    Some(folder.join("rtos.elf"))
}

/// The sources of ThreadX are where `TRACEWRIGHT_THREADX` names them.
#[test]
fn threads_are_those_that_the_variable_names() {
    let Some(sources) = env::var_os("TRACEWRIGHT_THREADX").map(PathBuf::from) else {
        return skip("TRACEWRIGHT_THREADX does not name the sources of ThreadX");
    };
    for (level, name) in [("-O0", "threadx-named"), ("-O2", "threadx-named-optimised")] {
        let folder = Folder::new(name);
        let path = folder.path("");
        let Some(elf) = compile_threadx(&path, &sources, level) else { return };
        let Some((steps, log, hook)) = execute(&elf, "mps2-an386", THREADX) else { return };
        let mut want: Vec<u64> = hook.iter().map(|(_, block)| *block).collect();
        want.dedup();
        let expected_runs = runs(&steps);
        let executed: Vec<u64> = expected_runs.iter().filter_map(|(task, _)| *task).collect();
        let unseen = missing(&executed, &want).expect("the order of the hook");
        assert!(want.len() > 100 && unseen * 10 < want.len(), "{} {unseen}", want.len());
        let data = with_stores(&elf, &log, &steps, THREADX, false);
        let snapshot = path.join("data");
        let options = "encode --protocol ETM3 --core Cortex-M3 --config ETMCR=0xc --log";
        let mut all = args(options, &[&data]);
        all.extend(args("--image", &[&elf]));
        all.extend(args("--output", &[&snapshot]));
        let output = tracewright(&all);
        assert_eq!(output.code, Some(0), "{}", output.err);
        let rows = check(&snapshot, &expected_runs, false);
        let names: Vec<&str> = rows.iter().filter_map(|row| row["task"].as_str()).collect();
        for name in ["control", "logger", "sensor", "maker"] {
            assert!(names.contains(&name), "{name} of {names:?}");
        }
    }
}
