//! `--task` of verbs that list a trace, beside random executions of tasks that a handler switches:
//! who executes each instruction is known before it is traced.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Folder, Output, args, tracewright};

const NOP: u32 = 0xd503_201f;
const RET: u32 = 0xd65f_03c0;
const ERET: u32 = 0xd69f_03e0;
const DAIFSET: u32 = 0xd503_42df;
const DAIFCLR: u32 = 0xd503_42ff;

const FIRST: u64 = 0x8_1000;
const COMMON: u64 = 0x8_4000;
const HANDLER: u64 = 0x9_0000;
const TASKS: u64 = 3;

/// B or BL.
const fn branch(opcode: u32, from: u64, to: u64) -> u32 {
    opcode | (to.wrapping_sub(from) as i64 / 4) as u32 & 0x3ff_ffff
}

/// The instructions of the program: each task calls the same function in a loop.
fn opcode(address: u64) -> u32 {
    match address {
        0x8_1004 | 0x8_2004 | 0x8_3004 => branch(0x9400_0000, address, COMMON),
        0x8_100c | 0x8_200c | 0x8_300c => branch(0x1400_0000, address, address - 12),
        0x8_4004 => RET,
        0x9_0008 => ERET,
        // The function masks interrupts, and its caller ends that.
        COMMON => DAIFSET,
        0x8_1008 | 0x8_2008 | 0x8_3008 => DAIFCLR,
        _ => NOP,
    }
}

struct Execution {
    seed: u64,
    log: String,
    /// The task, and the address of each instruction. A handler is of the task that it interrupts.
    steps: Vec<(u64, u64)>,
}

impl Execution {
    fn random(&mut self, below: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) % below
    }

    fn step(&mut self, task: u64, address: u64) {
        let code = opcode(address);
        let _ = writeln!(self.log, ",{address:x},A64,{code:08x},,,");
        self.steps.push((task, address));
        if self.random(6) == 0 {
            let time = 1000 + self.steps.len();
            let _ = writeln!(self.log, "timestamp,,,,{time:x},,");
        }
    }
}

/// An execution of many runs. With `contexts`, the context ID follows each switch.
fn execute(seed: u64, contexts: bool) -> Execution {
    let log = "step,address,isa,opcode,value,cause,target\n".to_owned();
    let mut own = Execution { seed: seed * 2 + 1, log, steps: Vec::new() };
    let context = |own: &mut Execution, task: u64| {
        if contexts {
            let _ = writeln!(own.log, "contextid,,,,{:x},,", 0x51 + task);
        }
    };
    let mut places: Vec<u64> = (0..TASKS).map(|task| FIRST + 0x1000 * task).collect();
    let mut task = 0;
    context(&mut own, task);
    for _ in 0..60 {
        let base = FIRST + 0x1000 * task;
        // To a place of its own: several tasks in the function could not be distinguished.
        let mut turns = 1 + own.random(9);
        while turns > 0 {
            let at = places[task as usize];
            own.step(task, at);
            match at - base {
                4 => {
                    own.step(task, COMMON);
                    own.step(task, COMMON + 4);
                    places[task as usize] = at + 4;
                }
                12 => places[task as usize] = base,
                _ => places[task as usize] = at + 4,
            }
            turns -= 1;
        }
        let back = places[task as usize];
        let _ = writeln!(own.log, "exception,{back:x},,,,irq,{HANDLER:x}");
        (0..3).for_each(|n| own.step(task, HANDLER + 4 * n));
        task = own.random(TASKS);
        context(&mut own, task);
    }
    own.step(task, places[task as usize]);
    own
}

/// The trace of an execution.
fn trace(folder: &Folder, own: &Execution, contexts: bool) -> PathBuf {
    let (log, image) = (folder.path("log.csv"), folder.path("program.bin"));
    fs::write(&log, &own.log).unwrap();
    let words = (FIRST..HANDLER + 0x20).step_by(4).map(opcode);
    fs::write(&image, words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    let snapshot = folder.path(if contexts { "contexts" } else { "plain" });
    let _ = fs::remove_dir_all(&snapshot);
    let words = format!(
        "encode --protocol ETM4 --config TRCCONFIGR={:#x} --image {}@{FIRST:#x} --log",
        0x801 | u32::from(contexts) << 6,
        image.display()
    );
    let mut all = args(&words, &[&log]);
    all.extend(args("-o", &[&snapshot]));
    let output = tracewright(&all);
    assert_eq!(output.code, Some(0), "{}", output.err);
    snapshot
}

/// Runs a verb, its capture, and options.
fn run(words: &str, snapshot: &Path) -> Output {
    let (verb, options) = words.split_once(' ').unwrap_or((words, ""));
    let mut all = args(verb, &[snapshot]);
    all.extend(args(options, &[]));
    tracewright(&all)
}

#[track_caller]
fn out(words: &str, snapshot: &Path) -> String {
    let output = run(words, snapshot);
    assert_eq!(output.code, Some(0), "{words}: {}", output.err);
    output.out
}

/// The elements of a listing or a search in JSON, without contexts, which are repeated.
fn elements(text: &str) -> Vec<Value> {
    let all = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let is = |line: &Value| {
        (line["type"] == "element" || line["type"] == "found") && line["kind"] != "context"
    };
    all.filter(is).collect()
}

/// What `--task` is for each task, in the order in which they begin.
fn names(own: &Execution, contexts: bool) -> BTreeMap<u64, String> {
    let mut known = BTreeSet::new();
    let order = own.steps.iter().map(|(task, _)| *task).filter(|task| known.insert(*task));
    let name = |(n, task): (usize, u64)| {
        let name = match (contexts, n, task) {
            (true, _, 1) => "Con*".to_owned(),
            (true, ..) => format!("{:#x}", 0x51 + task),
            // The first thread has no number.
            (false, 0, _) => "ETM4_0".to_owned(),
            (false, n, _) => (n + 1).to_string(),
        };
        (task, name)
    };
    order.enumerate().map(name).collect()
}

#[test]
fn instructions_and_elements_are_those_of_a_task() {
    for (seed, contexts) in [(1, false), (2, true), (3, false), (4, true)] {
        let folder = Folder::new("running-tasks");
        let own = execute(seed, contexts);
        let snapshot = trace(&folder, &own, contexts);
        let table = folder.path("tasks.toml");
        fs::write(&table, "[names]\n\"0x52\" = \"Control\"\n").unwrap();
        let names = names(&own, contexts);
        assert_eq!(names.len(), TASKS as usize);
        let select = |name: &str| match contexts {
            true => format!("--task {name} --tasks {}", table.display()),
            false => format!("--task {name}"),
        };
        let all = elements(&out("decode --format json", &snapshot));
        let found = elements(&out("find all any --format json", &snapshot));
        let whole = out("instructions --format pc", &snapshot);
        assert_eq!(whole.lines().count(), own.steps.len());
        let offsets = |line: &Value| line["offset"].as_u64().unwrap();
        let middle = offsets(&all[all.len() / 2]);
        let packets = |text: &str| -> Vec<String> {
            text.lines().filter(|line| line.contains("\"packet\"")).map(str::to_owned).collect()
        };
        let all_packets = packets(&out("decode --packets --format json", &snapshot));
        let (mut parts, mut parts_found, mut parts_packets) = (Vec::new(), Vec::new(), Vec::new());
        // The second time, with an index.
        for indexed in [false, true] {
            if indexed {
                out("index --full --segment 64", &snapshot);
            }
            for (task, name) in &names {
                let (select, case) = (select(name), format!("{seed} {name} {indexed}"));
                let listed = out(&format!("instructions --format pc {select}"), &snapshot);
                let listed: Vec<u64> =
                    listed.lines().map(|pc| u64::from_str_radix(pc, 16).unwrap()).collect();
                let want = own.steps.iter().filter(|step| step.0 == *task).map(|step| step.1);
                assert_eq!(listed, want.collect::<Vec<_>>(), "{case}");
                let text = out(&format!("decode --format json {select}"), &snapshot);
                let part = elements(&text);
                let counts = part.iter().filter_map(|line| line["instructions"].as_u64());
                assert_eq!(counts.sum::<u64>(), listed.len() as u64, "{case}");
                // A part of it.
                let words = format!("decode --format json {select} --offset {middle}..");
                let late = elements(&out(&words, &snapshot));
                let want = part.iter().filter(|line| offsets(line) >= middle).cloned();
                assert_eq!(late, want.collect::<Vec<_>>(), "{case}");
                let words = format!("find all any --format json --jobs 3 {select}");
                let searched = elements(&out(&words, &snapshot));
                let kinds = |all: &[Value]| -> Vec<String> {
                    all.iter().map(|line| format!("{} {}", line["offset"], line["kind"])).collect()
                };
                assert_eq!(kinds(&searched), kinds(&part), "{case}");
                let count = out(&format!("find count address {COMMON:#x} {select}"), &snapshot);
                let in_common = |line: &&Value| {
                    line["kind"] == "range" && line["start"] == format!("{COMMON:#x}")
                };
                assert_eq!(
                    count.trim(),
                    part.iter().filter(in_common).count().to_string(),
                    "{case}"
                );
                if !indexed {
                    parts.extend(part);
                    parts_found.extend(searched);
                    let words = format!("decode --packets --format json {select}");
                    parts_packets.extend(packets(&out(&words, &snapshot)));
                }
            }
        }
        // Each element and each packet is one of exactly one task.
        let offset = |line: &String| offsets(&serde_json::from_str(line).unwrap());
        parts_packets.sort_by_key(offset);
        assert!(!all_packets.is_empty());
        assert_eq!(parts_packets, all_packets, "{seed}");
        let sorted = |all: Vec<Value>| {
            let mut all: Vec<String> = all.into_iter().map(|line| line.to_string()).collect();
            all.sort();
            all
        };
        assert_eq!(sorted(parts), sorted(all), "{seed}");
        let key = |line: &Value| line["element"].as_u64();
        parts_found.sort_by_key(key);
        let without_context = |line: &Value| {
            let mut line = line.clone();
            line.as_object_mut().unwrap().remove("stack");
            line
        };
        let found: Vec<Value> = found.iter().map(without_context).collect();
        assert_eq!(parts_found.iter().map(without_context).collect::<Vec<_>>(), found, "{seed}");
    }
}

/// The executions of each instruction, by address.
type Executions = BTreeMap<u64, u64>;

/// What a profile or the page counts: `program.bin` has no symbols.
fn executions(folded: &str) -> u64 {
    folded.lines().filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum()
}

/// Verbs that count, and lists of branches: the counts of all tasks are those of the trace.
#[test]
fn counts_and_branches_are_those_of_a_task() {
    for (seed, contexts) in [(1, false), (2, true), (5, false)] {
        let folder = Folder::new("counted-tasks");
        let own = execute(seed, contexts);
        let snapshot = trace(&folder, &own, contexts);
        let names = names(&own, contexts);
        let select = |task: u64| match contexts {
            true => format!("--task {:#x}", 0x51 + task),
            false => format!("--task {}", names[&task]),
        };
        let branches = |words: &str| -> Vec<(u64, u64)> {
            let text = out(&format!("branches --format json {words}"), &snapshot);
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let address = |value: &Value| {
                u64::from_str_radix(value.as_str()?.trim_start_matches("0x"), 16).ok()
            };
            let pair = |line: Value| Some((address(&line["from"])?, address(&line["to"])?));
            lines.filter_map(pair).collect()
        };
        // The first branch of a run has no address that it comes from, as none is of another run.
        let all = branches("");
        let mut of_tasks = Vec::new();
        let mut sum = Executions::new();
        for task in names.keys() {
            let select = select(*task);
            let steps: Vec<u64> =
                own.steps.iter().filter(|step| step.0 == *task).map(|step| step.1).collect();
            // The instructions of its own and of the functions that it shares.
            let folded = out(&format!("profile --format folded {select}"), &snapshot);
            assert_eq!(executions(&folded), steps.len() as u64, "{seed} {task}: {folded}");
            steps.iter().for_each(|at| *sum.entry(*at).or_default() += 1);
            // Each branch is one that it has executed, from an instruction to the next one of it.
            let part = branches(&select);
            // An exception comes from the address to which it returns.
            for (from, to) in part.iter().filter(|pair| pair.1 != HANDLER) {
                assert!(steps.windows(2).any(|two| two == [*from, *to]), "{seed} {from:x} {to:x}");
            }
            of_tasks.extend(part);
            let last = |words: &str| {
                let text = out(&format!("history --count 3 {words}"), &snapshot);
                let at = |line: &str| {
                    let word = line.split_whitespace().find(|word| word.starts_with("0x"))?;
                    u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()
                };
                text.lines().filter_map(at).collect::<Vec<u64>>()
            };
            let want = &steps[steps.len() - 3..];
            let found = last(&select);
            let all = found.windows(3).any(|three| three == want);
            assert!(all, "{seed} {task}: {found:x?} {want:x?}");
        }
        let mut left = all.clone();
        for pair in &of_tasks {
            let at = left.iter().position(|own| own == pair);
            left.remove(at.unwrap_or_else(|| panic!("{seed}: {pair:x?}")));
        }
        // What is left over leads from one task to another.
        let switches = own.steps.windows(2).filter(|two| two[0].0 != two[1].0);
        let switches: Vec<(u64, u64)> = switches.map(|two| (two[0].1, two[1].1)).collect();
        assert!(left.iter().all(|pair| switches.contains(pair)), "{seed}: {left:x?}");
        assert!((contexts || !left.is_empty()) && of_tasks.len() > 50, "{seed}");
        assert_eq!(sum.values().sum::<u64>(), own.steps.len() as u64);
    }
}

/// Durations between events, and the begins of sections in which interrupts are masked, of a task.
#[test]
fn events_and_sections_are_those_of_a_task() {
    for (seed, contexts) in [(1, false), (2, true), (5, false)] {
        let folder = Folder::new("timed-tasks");
        let own = execute(seed, contexts);
        let snapshot = trace(&folder, &own, contexts);
        let sections = |words: &str| -> Vec<u64> {
            let words = format!("timing --masked --rows 1000 --format json {words}");
            let text = out(&words, &snapshot);
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            lines.filter_map(|line| line["begin"]["instructions"].as_u64()).collect()
        };
        let (mut all, mut parts) = (sections(""), Vec::new());
        for (task, name) in &names(&own, contexts) {
            let select = match contexts {
                true => format!("--task {:#x}", 0x51 + task),
                false => format!("--task {name}"),
            };
            // Each begins with an instruction of the task.
            let part = sections(&select);
            assert!(!part.is_empty() && part.len() < all.len());
            for number in &part {
                assert_eq!(own.steps[*number as usize - 1], (*task, COMMON), "{seed} {task}");
            }
            parts.extend(part);
            // From its loop to the function that it shares, over what other tasks execute.
            let (from, to) = (FIRST + 0x1000 * task, COMMON);
            let (mut begin, mut distances) = (None, Vec::new());
            for (n, step) in own.steps.iter().enumerate().filter(|(_, step)| step.0 == *task) {
                match step.1 {
                    at if at == from => begin = Some(n as u64),
                    at if at == to => distances.extend(begin.take().map(|from| n as u64 - from)),
                    _ => {}
                }
            }
            let mut words = args("timing --clock instructions --format json", &[&snapshot]);
            words.extend(args(&select, &[]));
            words.push("--between".into());
            words.extend([from, to].map(|at| format!("address {at:#x}").into()));
            let output = tracewright(&words);
            assert_eq!(output.code, Some(0), "{}", output.err);
            let lines = output.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let found = lines.into_iter().find(|line| line["type"] == "between").unwrap();
            distances.sort_unstable();
            let time = &found["time"];
            assert_eq!(time["count"].as_u64(), Some(distances.len() as u64), "{seed}: {found}");
            let ends = [distances[0], *distances.last().unwrap(), distances.iter().sum()];
            for (name, want) in ["min", "max", "sum"].into_iter().zip(ends) {
                assert_eq!(time[name]["least"].as_u64(), Some(want), "{seed} {name}: {found}");
            }
        }
        all.sort_unstable();
        parts.sort_unstable();
        assert_eq!(parts, all, "{seed}");
    }
}

/// The page has the functions of a task, and states what is that of the whole trace.
#[test]
fn a_page_of_a_task() {
    let folder = Folder::new("page-of-task");
    let own = execute(3, false);
    let snapshot = trace(&folder, &own, false);
    let page = |select: &str| {
        let file = folder.path("page.html");
        let words = format!("report {select} -o");
        let output = tracewright(&args(&words, &[&file, &snapshot]));
        assert_eq!(output.code, Some(0), "{}", output.err);
        fs::read_to_string(&file).unwrap()
    };
    let names = names(&own, false);
    let (task, name) = names.last_key_value().unwrap();
    let count = own.steps.iter().filter(|step| step.0 == *task).count();
    let text = page(&format!("--task {name}"));
    assert!(text.contains(&format!("while {name} runs, with the handlers")));
    let fact = |count: usize| format!("[\"instructions\",\"{count}\"]");
    assert!(text.contains(&fact(count)), "{count}");
    assert!(!text.contains(&fact(own.steps.len())));
    assert!(page("").contains(&fact(own.steps.len())));
}

#[test]
fn tasks_that_cannot_be_selected_are_refused() {
    let folder = Folder::new("running-refused");
    let own = execute(7, false);
    let snapshot = trace(&folder, &own, false);
    let table = folder.path("tasks.toml");
    fs::write(&table, "[names]\n1 = \"Control\"\n").unwrap();
    let refused = |words: &str, what: &str| {
        let output = run(words, &snapshot);
        assert_eq!(output.code, Some(2), "{words}");
        assert!(output.err.contains(what), "{words}: {}", output.err);
    };
    let file = folder.path("page.html");
    let report = format!("report -o {}", file.display());
    refused(&format!("{report} --task nobody"), "no task has this name; the trace has ETM4_0");
    refused(&format!("{report} --task 2 --committed"), "--committed needs the whole trace");
    refused("profile --task 2 --format perf-data", "the samples of the whole trace");
    for verb in ["decode", "instructions", "find count any", "branches", "history", "profile"] {
        let what = "--task nobody: no task has this name; the trace has ETM4_0, ETM4_0 task 2, \
                    ETM4_0 task 3";
        refused(&format!("{verb} --task nobody"), what);
        refused(&format!("{verb} --tasks {}", table.display()), "add --task NAME");
        refused(&format!("{verb} --switch-at f"), "add --task NAME");
    }
    refused("decode --task 2 --format opencsd", "--task");
    refused("decode --task 2 --committed", "--committed needs the whole trace");
    refused("instructions --task 2 --committed", "--committed needs the whole trace");
    refused("timing --masked --task nobody", "--task nobody: no task has this name");
    refused("timing --between any any --task nobody", "--task nobody: no task has this name");
}
