//! Decisions of a task that a handler interrupts, compared with those of the same execution without
//! other tasks.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use tracewright_testing::{Random, tool};

use super::decisions::{build, decisions, decisions_with, mapping};
use super::{A64, HEADER, START, logged};
use crate::common::{Folder, args, tracewright};

const HANDLER: u64 = 0x9_0000;
const NOP: u32 = 0xd503_201f;
const ERET: u32 = 0xd69f_03e0;
const SVC: &str = "d4000001";

/// Decisions with calls and recursive calls in them, and no system call.
const PROGRAM: &str = r#"#include "start.h"
NOINLINE static int deep(int n) {
  if (n > 0 && deep(n - 1)) return n & 1;
  return n == 0 || n > 4;
}
NOINLINE static int both(int a, int b, int c) {
  if ((a || b > 2) && c) return 1;
  while (a > 0 && b--) a--;
  return a;
}
void program(void) {
  for (int n = 0; n < 24; n++) sink += both(n % 3, n % 5, n % 7 > 2) + deep(n % 6);
}
"#;

/// Address and opcode of each instruction, up to the first system call.
fn steps(folder: &Path, elf: &Path, log: &Path) -> Vec<(u64, String)> {
    let csv = folder.join("log.csv");
    let words = args("log convert --to csv --image", &[elf, Path::new("-o"), &csv, log]);
    let output = tracewright(&words);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let text = fs::read_to_string(&csv).unwrap();
    let mut all = Vec::new();
    for line in text.lines().filter(|line| line.contains(",instruction,")) {
        let cells: Vec<&str> = line.split(',').collect();
        if cells[4] == SVC {
            break;
        }
        all.push((u64::from_str_radix(cells[2], 16).unwrap(), cells[4].to_owned()));
    }
    all
}

/// The capture of a log.
fn captured(folder: &Path, name: &str, elf: &Path, rows: &str) -> PathBuf {
    let (log, snapshot) = (folder.join(format!("{name}.csv")), folder.join(name));
    fs::write(&log, format!("step,address,isa,opcode,value,cause,target\n{rows}")).unwrap();
    let handler = folder.join("handler.bin");
    fs::write(&handler, [NOP, NOP, ERET].map(u32::to_le_bytes).concat()).unwrap();
    let words = format!(
        "encode --protocol ETM4 --config TRCCONFIGR=0x841 --image {} --image {}@{HANDLER:#x} --log",
        elf.display(),
        handler.display()
    );
    let output = tracewright(&args(&words, &[&log, Path::new("-o"), &snapshot]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    snapshot
}

fn step(out: &mut String, (address, opcode): &(u64, String)) {
    writeln!(out, ",{address:x},A64,{opcode},,,").unwrap();
}

fn context(out: &mut String, task: usize) {
    writeln!(out, "contextid,,,,{:x},,", 0x51 + task).unwrap();
}

/// Two tasks execute the same code, one of them only a part of it.
#[test]
fn evaluations_are_those_of_a_task() {
    let folder = Folder::new("decisions-of-tasks");
    let path = folder.path("");
    for (name, text) in [("start.h", HEADER), ("start.c", START), ("program.c", PROGRAM)] {
        fs::write(path.join(name), text).expect("a source");
    }
    let gcc = "aarch64-linux-gnu-gcc";
    let Some(_) = tool(&[(gcc, "gcc-aarch64-linux-gnu")]) else { return };
    let Some(map) = mapping(&A64, &path) else { return };
    let elf = build(&A64, &path, gcc, "-O0");
    let Some(log) = logged(&A64, &elf, None) else { return };
    let whole = steps(&path, &elf, &log);
    let part = whole[..whole.len() / 3].to_vec();
    let tasks = [&part[..], &whole];
    let alone = [0, 1].map(|n| {
        let mut rows = String::new();
        context(&mut rows, n);
        tasks[n].iter().for_each(|own| step(&mut rows, own));
        decisions(&captured(&path, &format!("alone{n}"), &elf, &rows), &map)
    });
    assert!(alone[0].len() > 3 && alone[0] != alone[1]);
    // Runs of a few instructions, with a handler between them.
    let (mut random, mut rows, mut done, mut task) = (Random::new(5), String::new(), [0, 0], 0);
    context(&mut rows, task);
    let mut interrupted = 0;
    loop {
        let left = &tasks[task][done[task]..];
        let count = random.between(1, 60).min(left.len());
        left[..count].iter().for_each(|own| step(&mut rows, own));
        done[task] += count;
        let other = 1 - task;
        if done[other] == tasks[other].len() && done[task] == tasks[task].len() {
            break;
        }
        // Execution continues at the next instruction; what has ended does not run again.
        let back = tasks[task].get(done[task]).or(tasks[task].last()).expect("an instruction").0;
        writeln!(rows, "exception,{back:x},,,,irq,{HANDLER:x}").unwrap();
        for (n, opcode) in [NOP, NOP, ERET].into_iter().enumerate() {
            step(&mut rows, &(HANDLER + 4 * n as u64, format!("{opcode:08x}")));
        }
        task = if done[other] < tasks[other].len() { other } else { task };
        context(&mut rows, task);
        interrupted += 1;
    }
    assert!(interrupted > 100, "{interrupted}");
    let both = captured(&path, "both", &elf, &rows);
    for (n, want) in alone.iter().enumerate() {
        let found = decisions_with(&both, &map, &format!("--task {:#x}", 0x51 + n));
        assert_eq!(found.len(), want.len());
        for (line, own) in &found {
            assert!(*own == want[line], "task {n}, line {line}: {own}, want {}", want[line]);
        }
    }
    // Of both, each evaluation counts.
    let all = decisions_with(&both, &map, "--task 0x51 --task 0x52");
    assert!(all == decisions(&both, &map));
    let unknown = args("coverage --task 0x53 --decisions", &[&map, &both]);
    let unknown = tracewright(&unknown);
    assert_eq!(unknown.code, Some(2), "{}", unknown.out);
    assert!(unknown.err.contains("no task has this name"), "{}", unknown.err);
}
