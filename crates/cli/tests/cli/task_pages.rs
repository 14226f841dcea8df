//! Names of tasks on the page, beside those of `timeline`, of a program with an operating system
//! that a file describes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::common::{Folder, args, command, report_of, tracewright};
use crate::view::get;

const NOP: u32 = 0xd503_201f;
const ERET: u32 = 0xd69f_03e0;
const BASE: u64 = 0x8_0000;
const HANDLER: u64 = 0x8_1000;
/// The functions of the tasks, and the address of the variable of the running one.
const TASKS: [(&str, u64); 3] =
    [("first_task", BASE), ("other_task", 0x8_0100), ("idle", 0x8_0200)];
const CURRENT: u64 = 0x9_0000;
const BLOCKS: [u32; 3] = [0x9_0100, 0x9_0200, 0x9_0300];

/// A loop of three instructions and a branch back; the handler.
fn opcode(address: u64) -> u32 {
    match address {
        0x8_000c | 0x8_010c | 0x8_020c => 0x1400_0000 | (-3i32 as u32) & 0x3ff_ffff,
        0x8_1008 => ERET,
        _ => NOP,
    }
}

/// An executable with symbols: name, address, size, kind.
fn elf(symbols: &[(&str, u64, u64, u8)]) -> Vec<u8> {
    let text: Vec<u8> =
        (BASE..HANDLER + 0x10).step_by(4).map(opcode).flat_map(u32::to_le_bytes).collect();
    let (mut names, mut table) = (vec![0u8], vec![0u8; 24]);
    for (name, address, size, kind) in symbols {
        table.extend((names.len() as u32).to_le_bytes());
        table.extend([0x10 | kind, 0, 1, 0]);
        table.extend(address.to_le_bytes());
        table.extend(size.to_le_bytes());
        names.extend(name.as_bytes());
        names.push(0);
    }
    let sections = b"\0.text\0.symtab\0.strtab\0";
    let at = |before: usize, len: usize| (before + len).next_multiple_of(8);
    let text_at = 64 + 56;
    let table_at = at(text_at, text.len());
    let names_at = at(table_at, table.len());
    let sections_at = at(names_at, names.len());
    let heads_at = at(sections_at, sections.len());
    let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let half = |out: &mut Vec<u8>, value: u16| out.extend(value.to_le_bytes());
    let word = |out: &mut Vec<u8>, value: u32| out.extend(value.to_le_bytes());
    let long = |out: &mut Vec<u8>, value: u64| out.extend(value.to_le_bytes());
    half(&mut out, 2);
    half(&mut out, 183);
    word(&mut out, 1);
    long(&mut out, BASE);
    long(&mut out, 64);
    long(&mut out, heads_at as u64);
    word(&mut out, 0);
    [64, 56, 1, 64, 5, 4].iter().for_each(|value| half(&mut out, *value));
    word(&mut out, 1);
    word(&mut out, 5);
    for value in [text_at as u64, BASE, BASE, text.len() as u64, text.len() as u64, 4] {
        long(&mut out, value);
    }
    for (offset, bytes) in [(text_at, &text), (table_at, &table), (names_at, &names)] {
        out.resize(offset, 0);
        out.extend(bytes);
    }
    out.resize(sections_at, 0);
    out.extend(sections);
    out.resize(heads_at, 0);
    out.resize(heads_at + 64, 0);
    for (name, kind, flags, address, offset, size, link, entry) in [
        (1, 1, 6, BASE, text_at, text.len(), 0, 0),
        (7, 2, 0, 0, table_at, table.len(), 3, 24),
        (15, 3, 0, 0, names_at, names.len(), 0, 0),
        (15, 3, 0, 0, sections_at, sections.len(), 0, 0),
    ] {
        word(&mut out, name);
        word(&mut out, kind);
        long(&mut out, flags);
        long(&mut out, address);
        long(&mut out, offset as u64);
        long(&mut out, size as u64);
        word(&mut out, link);
        word(&mut out, if kind == 2 { 1 } else { 0 });
        long(&mut out, 4);
        long(&mut out, entry);
    }
    out
}

/// Writes the trace of tasks that a handler switches, which writes the context ID.
fn trace(folder: &Folder) -> std::path::PathBuf {
    let mut symbols: Vec<_> = TASKS.iter().map(|(name, at)| (*name, *at, 0x10, 2)).collect();
    symbols.push(("irq_handler", HANDLER, 0xc, 2));
    symbols.push(("own_current", CURRENT, 8, 1));
    symbols.push(("second_block", u64::from(BLOCKS[1]), 0x40, 1));
    let elf_path = folder.path("program.elf");
    fs::write(&elf_path, elf(&symbols)).unwrap();
    let line = |address: u64| format!(",{address:x},A64,{:08x},,,\n", opcode(address));
    let mut log = "step,address,isa,opcode,value,cause,target\n".to_owned();
    let mut places = TASKS.map(|(_, at)| at);
    let mut task = 0;
    for n in 0..600usize {
        for _ in 0..1 + n % 5 {
            let place = &mut places[task];
            log.push_str(&line(*place));
            *place = if *place == TASKS[task].1 + 12 { TASKS[task].1 } else { *place + 4 };
        }
        let next = n * n % 7 % 3;
        let _ = writeln!(log, "exception,{:x},,,,irq,{HANDLER:x}", places[task]);
        log.push_str(&line(HANDLER));
        let _ = writeln!(log, "contextid,,,,{:x},,", BLOCKS[next]);
        log.push_str(&line(HANDLER + 4));
        log.push_str(&line(HANDLER + 8));
        task = next;
    }
    log.push_str(&line(places[task]));
    let path = folder.path("log.csv");
    fs::write(&path, log).unwrap();
    let snapshot = folder.path("snapshot");
    let words = "encode --protocol ETM4 --config TRCCONFIGR=0x41 --image";
    let mut all = args(words, &[&elf_path]);
    all.extend(args("--log", &[&path]));
    all.extend(args("-o", &[&snapshot]));
    let output = tracewright(&all);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let table = folder.path("tasks.toml");
    let text = "[os.own]\ndetect = [\"own_current\"]\ncurrent = { symbol = \"own_current\" }\n\
                wrappers = []\n[names]\n\"0x90300\" = \"Idle\"\n";
    fs::write(table, text).unwrap();
    snapshot
}

/// The threads of the page, and the address of the server while `ask` runs.
fn threads(snapshot: &Path, options: &[&str], ask: impl FnOnce(&str)) -> Vec<Value> {
    let path = snapshot.to_str().unwrap();
    let all = [&["view", path, "--no-browser", "--idle", "2"], options].concat();
    let mut server = command(&all);
    let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let capture = get(address.trim_end(), "api/capture");
    ask(address.trim_end());
    server.wait().unwrap();
    json(&capture)["buffers"][0]["threads"].as_array().expect("threads").clone()
}

/// The body of an answer, as JSON.
fn json(answer: &str) -> Value {
    let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
    let mut whole = String::new();
    if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        let mut rest = body;
        while let Some((len, after)) = rest.split_once("\r\n") {
            let len = usize::from_str_radix(len, 16).expect("a length");
            whole.push_str(&after[..len]);
            rest = &after[(len + 2).min(after.len())..];
        }
    } else {
        whole.push_str(body);
    }
    serde_json::from_str(&whole).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[test]
fn the_page_has_the_names_of_tasks() {
    let folder = Folder::new("task-pages");
    let snapshot = trace(&folder);
    let table = folder.path("tasks.toml");
    let (path, table) = (snapshot.to_str().unwrap(), table.to_str().unwrap());
    let functions =
        tracewright(&["functions", path, "--per-thread", "--format", "json", "--tasks", table]);
    assert_eq!(functions.code, Some(0), "{}", functions.err);
    let rows = functions.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |row: Value| Some(row["thread"].as_str()?.strip_prefix("ETM4_0 ")?.to_owned());
    let expected: BTreeSet<String> = rows.filter_map(text).collect();
    for name in ["task 0x90100 first_task", "task second_block", "task Idle"] {
        assert!(expected.contains(name), "{expected:?}");
    }
    let names = |threads: &[Value]| -> BTreeSet<String> {
        threads.iter().filter_map(|own| own["name"].as_str().map(str::to_owned)).collect()
    };
    // In memory, and with an index that has them.
    let without = threads(&snapshot, &[], |_| ());
    // Without the file, a name is that of the variable.
    assert_eq!(names(&without), BTreeSet::from(["task second_block".to_owned()]));
    for indexed in [false, true] {
        if indexed {
            let made = tracewright(&["index", path, "--segment", "64", "--tasks", table]);
            assert_eq!(made.code, Some(0), "{}", made.err);
        }
        let found = threads(&snapshot, &["--tasks", table], |_| ());
        assert_eq!(names(&found), expected, "{indexed}");
    }
    // The thread in the middle of the trace is that of the task that runs, whatever was stored.
    let words = ["find", path, "all", "address", "0x80200", "--format", "json"];
    let found = tracewright(&[&words[..], &["--task", "Idle", "--tasks", table]].concat());
    assert_eq!(found.code, Some(0), "{}", found.err);
    let lines = found.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let idle: Vec<u64> = lines.filter_map(|line| line["element"].as_u64()).collect();
    assert!(idle.len() > 50);
    let mut stacks = Vec::new();
    let found = threads(&snapshot, &["--tasks", table], |address| {
        for at in idle.iter().step_by(idle.len() / 20) {
            stacks.push(json(&get(address, &format!("api/stack?element={at}"))));
        }
    });
    for stack in &stacks {
        let own = found.iter().find(|own| own["number"] == stack["thread"]).expect("a thread");
        assert_eq!(own["name"], "task Idle", "{stack}");
    }
    assert!(stacks.len() > 15);
    // An index without these tasks is not used for the page, and stated.
    let made = tracewright(&["index", path, "--segment", "64"]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let file = folder.path("page.html");
    let file = file.to_str().unwrap();
    let report = tracewright(&["report", path, "--tasks", table, "-o", file]);
    assert_eq!(report.code, Some(0), "{}", report.err);
    assert!(report.err.contains("`tracewright index` makes it again"), "{}", report.err);
    let page = fs::read_to_string(file).unwrap();
    let listed = report_of(&page).to_string();
    for name in ["first_task", "second_block", "Idle"] {
        assert!(listed.contains(name), "{name}");
    }
    let refused = tracewright(&["index", path, "--no-view", "--tasks", table]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
}

/// The outputs of `timeline` are read again.
#[test]
fn files_of_timelines_have_the_names_of_tasks() {
    let folder = Folder::new("task-files");
    let snapshot = trace(&folder);
    let table = folder.path("tasks.toml");
    let written = |format: &str| {
        let file = folder.path("timeline");
        let mut all = args("timeline --tasks", &[&table, &snapshot]);
        all.extend(args(&format!("--format {format} -o"), &[&file]));
        let output = tracewright(&all);
        assert_eq!(output.code, Some(0), "{}", output.err);
        fs::read(file).unwrap()
    };
    let names = ["task 0x90100 first_task", "task second_block", "task Idle"];
    let own = |name: &str| format!("ETM4_0 {name}");
    for (format, list) in [("firefox", "threads"), ("chrome", "traceEvents")] {
        let json: Value = serde_json::from_slice(&written(format)).expect("JSON");
        let all = json[list].as_array().expect("a list");
        for name in names.map(own) {
            let is = |thread: &&Value| match format {
                "firefox" => thread["name"] == *name,
                _ => thread["name"] == "thread_name" && thread["args"]["name"] == *name,
            };
            assert!(all.iter().any(|thread| is(&thread)), "{format} {name}");
        }
    }
    let bytes = written("perfetto");
    for name in names.map(own) {
        assert!(bytes.windows(name.len()).any(|part| part == name.as_bytes()), "{name}");
    }
    // The changes of the variable that has the running task are the runs of the log.
    let text = String::from_utf8(written("vcd --load 100 --idle idle")).expect("text");
    let load = text.lines().find(|line| line.contains("$var real 64 ")).expect("the load");
    let load = load.split(' ').nth(3).expect("an identifier");
    let values = text.lines().filter_map(|line| line.strip_prefix('r')?.split_once(' '));
    let values: Vec<f64> = values
        .filter(|(_, id)| *id == load)
        .map(|(value, _)| value.parse().expect("a number"))
        .collect();
    assert!(values.len() > 10 && values.iter().all(|value| (0.0..=100.0).contains(value)));
    assert!(values.iter().any(|value| *value < 100.0 && *value > 0.0), "{values:?}");
    let (head, _) = text.split_once("$scope module ETM4_0 $end").expect("the source");
    let id = text[head.len()..].split_whitespace().nth(7).expect("a variable");
    let runs = text.lines().filter_map(|line| {
        let (name, of) = line.strip_prefix('s')?.split_once(' ')?;
        (of == id).then(|| name.to_owned())
    });
    let runs: Vec<String> = runs.collect();
    let mut order: Vec<usize> = (0..600usize).map(|n| n * n % 7 % 3).collect();
    order.dedup();
    let word = |name: &str| own(name).replace(' ', "_");
    let mut known: Vec<usize> =
        runs.iter().filter_map(|run| names.iter().position(|name| word(name) == *run)).collect();
    // A task that is seen first has its name twice.
    known.dedup();
    assert!(known.len() > 200 && order.ends_with(&known), "{known:?}\n{order:?}");
}
