//! The call tree of a program, from QEMU's log of each instruction and of the stack pointer, the
//! disassembly of LLVM, and its symbol table. No return address of the decoder's is used: a frame
//! ends where the stack pointer is that before the call again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::process::Command;

/// The sums of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) calls: u64,
    pub(super) instructions: u64,
    pub(super) inclusive: u64,
}

/// An instruction before its execution.
#[derive(Clone, Copy, Debug)]
struct Executed {
    pc: u64,
    sp: u64,
}

/// A program: names by address, instructions.
struct Program {
    /// The first address, the last one, the name.
    symbols: Vec<(u64, u64, String)>,
    /// The size and the mnemonic of each instruction.
    instructions: HashMap<u64, (u64, String)>,
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("the tool runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("hexadecimal")
}

impl Program {
    fn read(path: &Path) -> Program {
        let mut symbols = Vec::new();
        let text = output(Command::new("llvm-nm-19").args(["-S", "--defined-only"]).arg(path));
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [start, size, kind, name] = words[..]
                && kind.eq_ignore_ascii_case("t")
            {
                let start = hex(start) & !1;
                symbols.push((start, start + hex(size) - 1, name.to_owned()));
            }
        }
        let mut instructions = HashMap::new();
        let mut command = Command::new("llvm-objdump-19");
        let text = output(command.args(["-d", "--no-show-raw-insn"]).arg(path));
        let mut before: Option<(u64, String)> = None;
        for line in text.lines() {
            let Some((address, text)) = line.trim_start().split_once(':') else { continue };
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            if let Some((last, mnemonic)) = before.take() {
                instructions.insert(last, (address - last, mnemonic));
            }
            before = Some((address, text.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
        if let Some((last, mnemonic)) = before {
            instructions.insert(last, (4, mnemonic));
        }
        Program { symbols, instructions }
    }

    /// The function at `pc`, and whether that is its first instruction. A veneer of the linker is
    /// a part of the function that it continues in.
    fn function(&self, pc: u64) -> (usize, bool) {
        let found = self.symbols.iter().position(|(start, last, _)| *start <= pc && pc <= *last);
        let found = found.unwrap_or_else(|| panic!("{pc:#x} is in no function"));
        let (start, _, name) = &self.symbols[found];
        let whole = name.split_once("Thunk_").map(|(_, whole)| whole);
        let whole = whole.and_then(|whole| self.symbols.iter().position(|(.., n)| n == whole));
        (whole.unwrap_or(found), *start == pc)
    }

    /// Whether the instruction at `pc` writes a return address, and the address.
    fn link(&self, pc: u64) -> Option<u64> {
        let (size, text) = &self.instructions[&pc];
        let mnemonic = text.split(' ').next().unwrap_or_default();
        // `jal symbol` and `jalr register` write ra.
        let calls = matches!(mnemonic, "bl" | "blr" | "blx" | "jal" | "jalr")
            && !text.starts_with("jal zero");
        calls.then_some(pc + size)
    }
}

/// The instructions of QEMU's log: a `Trace` line, and the registers after it.
fn executed(log: &str) -> Vec<Executed> {
    let mut all: Vec<Executed> = Vec::new();
    let mut pc = None;
    for line in log.lines() {
        if let Some(rest) = line.strip_prefix("Trace ") {
            // Trace 0: host [cs_base/pc/flags/cflags]
            let inside = rest.split('[').nth(1).expect("brackets");
            pc = Some(hex(inside.split('/').nth(1).expect("a pc")));
            // The registers follow.
            all.push(Executed { pc: pc.unwrap_or_default(), sp: u64::MAX });
        } else if line.starts_with("Stopped execution") {
            all.pop();
        } else if let Some(last) = all.last_mut().filter(|last| last.sp == u64::MAX) {
            let words = line.replace('=', " ");
            let words: Vec<&str> = words.split_whitespace().collect();
            for pair in words.windows(2) {
                if matches!(pair[0], "SP" | "R13" | "x2/sp") {
                    last.sp = hex(pair[1]);
                }
            }
        }
    }
    assert!(pc.is_some(), "the log has instructions");
    assert!(all.iter().all(|e| e.sp != u64::MAX), "the log has registers");
    all
}

/// A frame: the function, the stack pointer at its entry, where it returns to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frame {
    function: usize,
    sp: u64,
    ret: u64,
}

/// The frames of each stack. A stack is 64 KiB, aligned; all others are the main one.
type Stacks = HashMap<u64, Vec<Frame>>;

/// The functions of a program, its number of instructions, and the calls in order: the depth and
/// the name.
pub(super) struct Tree {
    pub(super) functions: BTreeMap<String, Sums>,
    pub(super) instructions: u64,
    pub(super) calls: Vec<(usize, String)>,
}

/// The call tree of the program at `elf`, which wrote `log`. `coroutines`: it changes stacks.
pub(super) fn tree(elf: &Path, log: &str, coroutines: bool) -> Tree {
    let program = Program::read(elf);
    let steps = executed(log);
    let mut sums = vec![Sums::default(); program.symbols.len()];
    let mut calls = Vec::new();
    let main = steps[0].sp >> 20;
    let region = |sp: u64| if coroutines && sp >> 20 != main { sp >> 16 } else { 0 };
    let mut stacks = Stacks::new();
    let start = Frame { function: program.function(steps[0].pc).0, sp: u64::MAX, ret: 0 };
    stacks.insert(0, vec![start]);
    // The stack: within `change` that before it.
    let mut here = 0;
    for (n, step) in steps.iter().enumerate() {
        let active = logical(&stacks, here, &program);
        let top = stacks[&here].last().expect("a frame");
        let function = program.function(step.pc).0;
        let names = (&program.symbols[top.function].2, &program.symbols[function].2);
        assert_eq!(names.0, names.1, "{}, step {n}, {:#x}", elf.display(), step.pc);
        sums[function].instructions += 1;
        let distinct: HashSet<usize> = active.iter().map(|frame| frame.function).collect();
        distinct.into_iter().for_each(|function| sums[function].inclusive += 1);
        let Some(next) = steps.get(n + 1) else { break };
        let (size, _) = program.instructions[&step.pc];
        let (to, entry) = program.function(next.pc);
        if next.pc == step.pc + size && to == function {
            continue;
        }
        let after = if to == function { here } else { region(next.sp) };
        let mut begins = None;
        if let Some(ret) = program.link(step.pc) {
            let frames = stacks.get_mut(&here).expect("frames");
            frames.push(Frame { function: to, sp: next.sp, ret });
            begins = Some(to);
        } else if after != here {
            // The function that changes stacks ends when its stack continues.
            here = after;
            let frames = stacks.entry(here).or_default();
            if entry {
                frames.push(Frame { function: to, sp: next.sp, ret: 0 });
                begins = Some(to);
            } else {
                frames.pop();
            }
        } else {
            let frames = stacks.get_mut(&here).expect("frames");
            let top = *frames.last().expect("a frame");
            if next.pc == top.ret && next.sp == top.sp {
                frames.pop();
            } else if to != function || next.sp > top.sp {
                if entry {
                    frames.last_mut().expect("a frame").function = to;
                    begins = Some(to);
                } else {
                    // The frame that has the stack pointer: the frames above began below it.
                    while frames.len() > 1 {
                        let top = frames[frames.len() - 1];
                        if top.function == to && next.sp <= top.sp {
                            break;
                        }
                        frames.pop();
                    }
                }
            }
        }
        if let Some(function) = begins {
            sums[function].calls += 1;
            let depth = logical(&stacks, here, &program).len() - 1;
            calls.push((depth, program.symbols[function].2.clone()));
        }
    }
    let functions = program.symbols.iter().zip(&sums).filter(|(_, sums)| sums.instructions > 0);
    let functions = functions.map(|((_, _, name), sums)| (name.clone(), *sums)).collect();
    Tree { functions, instructions: steps.len() as u64, calls }
}

/// The frames of the current stack, above those of the stack that changed to it, without the frame
/// of the function that changed.
fn logical(stacks: &Stacks, here: u64, program: &Program) -> Vec<Frame> {
    let mut all = Vec::new();
    if here != 0 {
        let main = &stacks[&0];
        let change = main.last().is_some_and(|top| program.symbols[top.function].2 == "change");
        all.extend(&main[..main.len() - usize::from(change)]);
    }
    all.extend(&stacks[&here]);
    all
}
