//! Decisions of random programs at six levels of optimisation, by GCC and clang, compared with what
//! the same programs record, and with the branches that a listing of the instructions has in their
//! lines: how often these were executed.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tracewright_testing::{Random, short_or_long, tool, tool_since};

use super::decisions::{build, compare, decisions, mapping, recorded};
use super::random_decisions::{Program, program};
use super::{A64, HEADER, Machine, START, T32, encoded, logged, oracle, rtos};
use crate::common::{Folder, args, tracewright};

const LEVELS: [&str; 6] = ["-O0", "-Og", "-O1", "-O2", "-O3", "-Os"];

/// Decisions of a compiler and a level.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    all: usize,
    /// All of them is known.
    whole: usize,
    /// What is covered is known.
    part: usize,
}

/// The conditional branches of each line of `program.c`, by the listing of LLVM.
fn listing(elf: &Path) -> BTreeMap<usize, Vec<u64>> {
    let options = ["-d", "-l", "--no-show-raw-insn"];
    let output = Command::new("llvm-objdump-19").args(options).arg(elf).output();
    let text = String::from_utf8(output.expect("a listing").stdout).expect("text");
    let (mut line, mut all) = (0, BTreeMap::<usize, Vec<u64>>::new());
    for row in text.lines() {
        if let Some(place) = row.strip_prefix("; ").and_then(|row| row.rsplit_once(':')) {
            line = match place.1.parse() {
                Ok(line) if place.0.ends_with("/program.c") => line,
                _ => 0,
            };
            continue;
        }
        let Some((address, rest)) = row.split_once(':') else { continue };
        let Ok(address) = u64::from_str_radix(address.trim(), 16) else { continue };
        let mnemonic = rest.split_whitespace().next().unwrap_or_default();
        let mnemonic = mnemonic.trim_end_matches(".w").trim_end_matches(".n");
        // Calls and returns in an IT block are conditional, too.
        let condition = ["b.", "bl", "bx", "pop", "b"]
            .map(|own| mnemonic.strip_prefix(own))
            .into_iter()
            .flatten();
        let conditions = [
            "eq", "ne", "hs", "cs", "lo", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt",
            "gt", "le",
        ];
        if condition.into_iter().any(|own| conditions.contains(&own))
            || matches!(mnemonic, "cbz" | "cbnz" | "tbz" | "tbnz")
        {
            all.entry(line).or_default().push(address);
        }
    }
    all
}

/// Compares the decision of a line with its branches.
fn compare_listing(
    decision: &Value,
    branches: &[u64],
    executed: &HashMap<u64, u64>,
    (what, exact): (&str, bool),
) {
    let reasons = decision["unmeasured"].as_array().unwrap();
    let conditions = decision["conditions"].as_array().unwrap();
    for reason in reasons.iter().filter_map(|own| own["reason"].as_str()) {
        let fewer = format!(" for {} conditions", conditions.len());
        let Some(number) = reason.strip_prefix("it has ").and_then(|own| own.split(' ').next())
        else {
            continue;
        };
        if reason.ends_with(&fewer) {
            let number = if number == "one" { 1 } else { number.parse().expect("a number") };
            // The listing has code of line 0 in the line before it, as optimisers leave it.
            let fits = number == branches.len() || !exact && number < branches.len();
            assert!(fits, "{what}: {decision} {branches:x?}");
            assert!(number < conditions.len(), "{what}: {decision}");
        }
    }
    // Of values without names the rarer one is known.
    if !exact || decision["copies"] == 0 || decision["unnamed_copies"] != 0 {
        return;
    }
    let sorted = |mut counts: Vec<u64>| {
        counts.sort_unstable();
        counts
    };
    let counts = branches.iter().map(|own| executed.get(own).copied().unwrap_or(0)).collect();
    let counts = sorted(counts);
    let mut each: Vec<u64> = conditions
        .iter()
        .map(|own| ["false", "true"].iter().filter_map(|key| own[*key].as_u64()).sum())
        .collect();
    if sorted(each.clone()) == counts {
        return;
    }
    // The last condition has no branch; that of a loop tests the value of each evaluation.
    let last = each.pop();
    if branches.len() == conditions.len() {
        let all = ["false", "true"].iter().filter_map(|key| decision[*key].as_u64()).sum();
        assert!(last <= Some(all), "{what}: {decision}");
        each.push(all);
    }
    assert_eq!(sorted(each), counts, "{what}: {decision} {branches:x?}");
}

/// How much of the decisions of a program is measured.
fn shares(found: &BTreeMap<usize, Value>, own: &Program, what: &str, share: &mut Share) {
    for (line, form) in own.lines.iter().zip(&own.forms) {
        let Some(decision) = found.get(line) else { continue };
        let whole = decision["unmeasured"].as_array().unwrap().is_empty();
        share.all += 1;
        share.whole += usize::from(whole);
        share.part += usize::from(!whole && decision["copies"].as_u64() > Some(0));
        // The value of an assignment is in no branch.
        let is_value = form.is_some_and(|form| form.is_value()) && what.contains("clang");
        if what.contains("-O0") && !is_value {
            assert!(whole, "{what}: {decision}");
        }
    }
}

fn check(machine: &Machine, gcc: (&'static str, &'static str), seed: u64) {
    let Some(_) = tool(&[("ld.lld-19", "lld-19")]) else { return };
    let Some(gcc) = tool_since(&[gcc], (12, 2)) else { return };
    let mut sums = BTreeMap::<(&str, usize), Share>::new();
    for n in 0..short_or_long(1, 6) {
        let folder = Folder::new(&format!("sweep-{}-{n}", machine.name));
        let path = folder.path("");
        let own = program(&mut Random::new(seed + n as u64), false);
        for (name, text) in [("start.h", HEADER), ("start.c", START), ("program.c", &own.texts[0])]
        {
            fs::write(path.join(name), text).expect("a source");
        }
        let Some(want) = recorded(&path, &own.texts[1]) else { return };
        let Some(map) = mapping(machine, &path) else { return };
        for compiler in ["clang-19", gcc] {
            for (at, level) in LEVELS.into_iter().enumerate() {
                // By default one of them beside that without optimisation.
                if at > 0 && at != 1 + seed as usize % 5 && short_or_long(true, false) {
                    continue;
                }
                let what = format!("{} {compiler} {level} {n}", machine.name);
                let elf = build(machine, &path, compiler, level);
                let Some(log) = logged(machine, &elf, None) else { return };
                let snapshot = encoded(&path, machine.protocols[0], &elf, &log);
                let found = decisions(&snapshot, &map);
                compare(&found, &own, &want, &what);
                let listed = listing(&elf);
                let log = fs::read_to_string(&log).expect("a log");
                let mut executed = HashMap::<u64, u64>::new();
                for pc in log.lines().filter_map(oracle::pc) {
                    *executed.entry(pc).or_default() += 1;
                }
                for line in &own.lines {
                    let Some(decision) = found.get(line) else { continue };
                    let branches = listed.get(line).map(Vec::as_slice).unwrap_or_default();
                    compare_listing(decision, branches, &executed, (&what, level == "-O0"));
                }
                shares(&found, &own, &what, sums.entry((compiler, at)).or_default());
                fs::remove_dir_all(&snapshot).expect("a folder");
            }
        }
    }
    for ((compiler, level), Share { all, whole, part }) in sums {
        let name = machine.name;
        println!("{name} {compiler} {}: {whole} whole, {part} in part, of {all}", LEVELS[level]);
    }
}

#[test]
fn levels_of_a64() {
    check(&A64, ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"), 500);
}

#[test]
fn levels_of_t32() {
    check(&T32, ("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf"), 601);
}

/// More of FreeRTOS than its program uses.
const CONFIG: &str = "\
#define configUSE_TIMERS 1
#define configTIMER_TASK_PRIORITY 2
#define configTIMER_QUEUE_LENGTH 4
#define configTIMER_TASK_STACK_DEPTH 256
#define configKERNEL_PROVIDED_STATIC_MEMORY 1
#define configUSE_EVENT_GROUPS 1
#define configUSE_STREAM_BUFFERS 1
#define configUSE_RECURSIVE_MUTEXES 1
#define configUSE_COUNTING_SEMAPHORES 1
#define configUSE_QUEUE_SETS 1
#define configUSE_TRACE_FACILITY 1
#define configQUEUE_REGISTRY_SIZE 4
#define configUSE_TICKLESS_IDLE 0
#define configTASK_NOTIFICATION_ARRAY_ENTRIES 2
#define configCHECK_FOR_STACK_OVERFLOW 0
#define INCLUDE_vTaskDelete 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_xTaskDelayUntil 1
#define INCLUDE_vTaskPrioritySet 1
#define INCLUDE_uxTaskPriorityGet 1
#define INCLUDE_eTaskGetState 1
#define INCLUDE_xTaskAbortDelay 1
#define INCLUDE_xTaskGetHandle 1
#define INCLUDE_uxTaskGetStackHighWaterMark 1
#define INCLUDE_xTaskResumeFromISR 1
#define INCLUDE_xTimerPendFunctionCall 1
#define INCLUDE_xTaskGetSchedulerState 1
#define INCLUDE_xTaskGetCurrentTaskHandle 1
";

/// Decisions of the kernel of FreeRTOS, by its place: executions of branches are those of QEMU.
#[test]
fn levels_of_freertos() {
    let Some(kernel) = rtos::kernel() else { return };
    let Some(gcc) = tool(&[("arm-none-eabi-gcc", "gcc-arm-none-eabi")]) else { return };
    for compiler in [gcc, "clang-19"] {
        for level in LEVELS {
            if level != "-O0" && short_or_long(true, false) {
                continue;
            }
            // The program has memory for the idle task, and the kernel for that of the timers.
            let options = format!("{level} -Wl,--allow-multiple-definition");
            let folder = Folder::new(&format!("sweep-{compiler}{level}"));
            let path = folder.path("");
            let Some(elf) = rtos::compile_by(compiler, &options, &path, CONFIG) else { return };
            let Some(map) = rtos::mapping(&path) else { return };
            let Some(log) = rtos::execute(&elf) else { return };
            let snapshot = path.join("trace");
            let mut words = args("encode --protocol ETM4 --core Cortex-M33 --log", &[&log]);
            words.extend(args("--image", &[&elf]));
            words.extend(args("--output", &[&snapshot]));
            let output = tracewright(&words);
            assert_eq!(output.code, Some(0), "{}", output.err);
            let mut words = args("coverage --format json", &[&snapshot]);
            words.extend(args("--decisions", &[&map]));
            words.extend(args("--source-root", &[&kernel]));
            let output = tracewright(&words);
            assert_eq!(output.code, Some(0), "{}", output.err);
            let lines = output.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let mut reasons = BTreeMap::<String, usize>::new();
            let (mut one, mut several) = (Share::default(), Share::default());
            for own in lines.filter(|own| own["type"] == "decision") {
                let is_single = own["conditions"].as_array().unwrap().len() == 1;
                let share = if is_single { &mut one } else { &mut several };
                let unmeasured = own["unmeasured"].as_array().unwrap();
                share.all += 1;
                share.whole += usize::from(unmeasured.is_empty());
                let in_part = !unmeasured.is_empty() && own["copies"].as_u64() > Some(0);
                share.part += usize::from(in_part);
                if let Some(reason) = unmeasured.first() {
                    *reasons.entry(reason["reason"].as_str().unwrap().to_owned()).or_default() += 1;
                }
            }
            println!("FreeRTOS {compiler} {level}: {one:?}, of several conditions {several:?}");
            println!("{reasons:#?}");
            if level == "-O0" {
                // GCC makes one branch of `0 <= n && n < 1`, and computes an overflow with another.
                assert!(several.whole + 2 >= several.all, "{compiler}: {several:?}");
            }
        }
    }
}
