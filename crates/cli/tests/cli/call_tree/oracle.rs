//! The call tree of a program, from QEMU's log of each instruction and of the stack pointer, the
//! disassembly of LLVM, and its symbol table. No return address of the decoder's is used: a frame
//! ends where the stack pointer is that before the call again.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
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
    /// A system call precedes it.
    after_system: bool,
}

/// A program: names by address, instructions.
pub(super) struct Program {
    /// The first address, the last one, the name; by address.
    symbols: Vec<(u64, u64, String)>,
    /// The size and the mnemonic of each instruction.
    instructions: HashMap<u64, (u64, String)>,
    /// Results of `function`.
    known: HashMap<u64, Option<(usize, bool)>>,
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("the tool runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("hexadecimal")
}

/// The functions of a program: the first address, the last one, the name.
fn symbols(path: &Path) -> Vec<(u64, u64, String)> {
    let mut symbols = Vec::new();
    let text = output(Command::new("llvm-nm-19").args(["-S", "--defined-only"]).arg(path));
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [start, size, "t" | "T" | "w" | "W" | "i", name] = words[..]
            && !name.starts_with('$')
        {
            let start = hex(start) & !1;
            symbols.push((start, start + hex(size), name.to_owned()));
        }
    }
    symbols.sort();
    symbols
}

/// The last address of each symbol. Code of a symbol without a size extends to the next symbol, or
/// to the next section.
fn sized(symbols: &mut [(u64, u64, String)], sections: &[u64]) {
    let starts: Vec<u64> = symbols.iter().map(|symbol| symbol.0).collect();
    for symbol in symbols {
        if symbol.1 == symbol.0 {
            let next = |all: &[u64]| all.iter().copied().find(|start| *start > symbol.0);
            let end = next(&starts).into_iter().chain(next(sections)).min();
            symbol.1 = end.unwrap_or(symbol.0 + 4);
        }
        symbol.1 -= 1;
    }
}

/// The address of a function.
pub(super) fn address(path: &Path, name: &str) -> u64 {
    let symbols = symbols(path);
    symbols.iter().find(|symbol| symbol.2 == name).expect("the function").0
}

/// The system calls of a program.
pub(super) fn system_calls(path: &Path) -> HashSet<u64> {
    let program = Program::read(path);
    let calls = program.instructions.iter().filter(|(_, (_, text))| text.starts_with("svc"));
    calls.map(|(address, _)| *address).collect()
}

impl Program {
    pub(super) fn read(path: &Path) -> Program {
        let mut instructions = HashMap::new();
        let mut command = Command::new("llvm-objdump-19");
        let text = output(command.args(["-d", "--no-show-raw-insn"]).arg(path));
        let mut before: Option<(u64, String)> = None;
        let (mut sections, mut section) = (Vec::new(), false);
        for line in text.lines() {
            section |= line.starts_with("Disassembly of section");
            let Some((address, text)) = line.trim_start().split_once(':') else { continue };
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            if std::mem::take(&mut section) {
                sections.push(address);
            }
            if let Some((last, mnemonic)) = before.take() {
                instructions.insert(last, (address - last, mnemonic));
            }
            before = Some((address, text.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
        if let Some((last, mnemonic)) = before {
            instructions.insert(last, (4, mnemonic));
        }
        let mut symbols = symbols(path);
        sized(&mut symbols, &sections);
        Program { symbols, instructions, known: HashMap::new() }
    }

    /// The function at `pc`, and whether that is its first instruction. A veneer of the linker is
    /// a part of the function that it continues in, and code that the compiler has moved away one
    /// of the function that it was in.
    fn look_up(&self, pc: u64) -> Option<(usize, bool)> {
        let next = self.symbols.partition_point(|symbol| symbol.0 <= pc);
        let before = self.symbols[..next].iter().rev().take(64);
        let start = before.clone().find(|symbol| pc <= symbol.1)?.0;
        let found = self.symbols.partition_point(|symbol| symbol.0 < start);
        let name = &self.symbols[found].2;
        let named = |name: &str| self.symbols.iter().position(|symbol| symbol.2 == name);
        if let Some(whole) = name.split(".cold").next().filter(|whole| whole != name) {
            return Some((named(whole)?, false));
        }
        let gnu = ["_veneer", "_from_thumb", "_from_arm"].iter();
        let gnu = gnu.filter_map(|end| name.strip_prefix("__")?.strip_suffix(end));
        let whole = gnu.chain(name.split_once("Thunk_").map(|(_, whole)| whole)).next();
        let whole = whole.and_then(named);
        Some((whole.unwrap_or(found), start == pc))
    }

    pub(super) fn function(&mut self, pc: u64) -> Option<(usize, bool)> {
        if let Some(known) = self.known.get(&pc) {
            return *known;
        }
        let found = self.look_up(pc);
        self.known.insert(pc, found);
        found
    }

    pub(super) fn name(&self, function: usize) -> &str {
        &self.symbols[function].2
    }

    /// The first address of a function.
    pub(super) fn start(&self, function: usize) -> u64 {
        self.symbols[function].0
    }

    /// The size of the instruction at `pc`.
    pub(super) fn size(&self, pc: u64) -> u64 {
        self.instructions[&pc].0
    }

    /// The functions: the first address, the name.
    pub(super) fn names(&self) -> impl Iterator<Item = (u64, String)> {
        self.symbols.iter().map(|(start, _, name)| (*start, name.clone()))
    }

    /// Whether the instruction at `pc` writes a return address, and the address.
    pub(super) fn link(&self, pc: u64) -> Option<u64> {
        let (size, text) = &self.instructions[&pc];
        let mnemonic = text.split([' ', '.']).next().unwrap_or_default();
        let condition = mnemonic.strip_prefix("blx").or_else(|| mnemonic.strip_prefix("bl"));
        let conditions =
            "eq ne hs cs lo cc mi pl vs vc hi ls ge lt gt le".split(' ').collect::<Vec<_>>();
        let arm = condition.is_some_and(|c| c.is_empty() || conditions.contains(&c));
        // `jal symbol` and `jalr register` write ra.
        let operands = text.split_once(' ').map_or("", |(_, operands)| operands);
        let calls = arm
            || mnemonic == "blr"
            || matches!(mnemonic, "jal" | "jalr")
                && (!operands.contains(',') || operands.starts_with("ra,"));
        calls.then_some(pc + size)
    }
}

/// The registers of QEMU's dump that are used: the stack pointer and the return address.
pub(super) fn registers(line: &str) -> (Option<u64>, Option<u64>) {
    let (mut sp, mut lr) = (None, None);
    if !["X29=", "R12=", " x0/zero", " SP="].iter().any(|start| line.starts_with(start)) {
        return (None, None);
    }
    let words = line.replace('=', " ");
    let words: Vec<&str> = words.split_whitespace().collect();
    for pair in words.windows(2) {
        match pair[0] {
            "SP" | "R13" | "x2/sp" => sp = Some(hex(pair[1])),
            "X30" | "LR" | "R14" | "x1/ra" => lr = Some(hex(pair[1])),
            _ => {}
        }
    }
    (sp, lr)
}

/// The address in a `Trace` line: `Trace 0: host [cs_base/pc/flags/cflags]`.
pub(super) fn pc(line: &str) -> Option<u64> {
    let inside = line.strip_prefix("Trace ")?.split('[').nth(1)?;
    Some(hex(inside.split('/').nth(1)?))
}

/// The instructions of QEMU's log: a `Trace` line, and the registers after it.
fn executed(log: &str, program: &Program) -> Vec<Executed> {
    let mut all: Vec<Executed> = Vec::new();
    let (mut after_system, mut complete) = (false, true);
    for line in log.lines() {
        if let Some(pc) = pc(line) {
            assert!(complete, "the log has registers");
            complete = false;
            all.push(Executed { pc, sp: 0, after_system });
            after_system = program.instructions[&pc].1.starts_with("svc");
        } else if line.starts_with("Stopped execution") {
            all.pop();
        } else if !complete && let (Some(sp), _) = registers(line) {
            all.last_mut().expect("an instruction").sp = sp;
            complete = true;
        }
    }
    assert!(!all.is_empty(), "the log has instructions");
    all
}

/// The function of each instruction, and whether it is the first one of the function. Code without
/// a symbol is a part of the function that it continues in: a stub of the procedure linkage table.
fn functions(program: &mut Program, steps: &[Executed]) -> Vec<(usize, bool)> {
    let mut all = vec![(0, false); steps.len()];
    let mut following = None;
    for n in (0..steps.len()).rev() {
        let found = program.function(steps[n].pc);
        let before = n.checked_sub(1).and_then(|n| program.function(steps[n].pc));
        all[n] = match (found, following) {
            (Some(found), _) => found,
            // The first instruction of a stub stands for that of the function.
            (None, Some((function, _))) => (function, before.is_some()),
            (None, None) => panic!("{:#x} is in no function", steps[n].pc),
        };
        following = Some(all[n]);
    }
    all
}

/// A frame: the function, the stack pointer at its entry, where it returns to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) function: usize,
    pub(super) sp: u64,
    pub(super) ret: u64,
}

/// The frames of each stack. A stack is 64 KiB, aligned; all others are the main one.
type Stacks = HashMap<u64, Vec<Frame>>;

/// The functions of a program by address, its number of instructions, and the calls in order: the
/// depth and the address.
pub(super) struct Tree {
    pub(super) functions: BTreeMap<u64, Sums>,
    pub(super) names: BTreeMap<u64, String>,
    pub(super) instructions: u64,
    pub(super) calls: Vec<(usize, u64)>,
}

/// The handlers of signals.
const HANDLER: &str = "on_signal";

/// The call tree of the program at `elf`, which wrote `log`. `coroutines`: it changes stacks.
pub(super) fn tree(elf: &Path, log: &str, coroutines: bool) -> Tree {
    let mut program = Program::read(elf);
    let steps = executed(log, &program);
    let functions = functions(&mut program, &steps);
    let mut sums = vec![Sums::default(); program.symbols.len()];
    let mut calls = Vec::new();
    // The stack pointer of a process begins at a random address.
    let main = steps[0].sp;
    let region = |sp: u64| if coroutines && sp.abs_diff(main) >> 20 > 0 { sp >> 16 } else { 0 };
    let mut stacks = Stacks::new();
    let start = Frame { function: functions[0].0, sp: u64::MAX, ret: 0 };
    stacks.insert(0, vec![start]);
    // The stack: within `change` that before it.
    let mut here = 0;
    let mut active = distinct(&stacks, here, &program);
    for (n, step) in steps.iter().enumerate() {
        let top = stacks[&here].last().expect("a frame");
        let function = functions[n].0;
        let names = (program.name(top.function), program.name(function));
        assert_eq!(names.0, names.1, "{}, step {n}, {:#x}", elf.display(), step.pc);
        sums[function].instructions += 1;
        active.iter().for_each(|&function| sums[function].inclusive += 1);
        let Some(next) = steps.get(n + 1) else { break };
        let (size, _) = program.instructions[&step.pc];
        let (to, entry) = functions[n + 1];
        if next.pc == step.pc + size && to == function {
            continue;
        }
        let after = if to == function { here } else { region(next.sp) };
        let frames = stacks.get_mut(&here).expect("frames");
        let mut begins = None;
        if next.after_system && entry && program.name(to).contains(HANDLER) {
            frames.push(Frame { function: to, sp: next.sp, ret: 0 });
            begins = Some(to);
        } else if next.after_system {
            unwind(frames, to, next.sp);
        } else if let Some(ret) = program.link(step.pc) {
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
            let top = *frames.last().expect("a frame");
            if next.pc == top.ret && next.sp == top.sp {
                frames.pop();
            } else if entry && to != function {
                frames.last_mut().expect("a frame").function = to;
                begins = Some(to);
            } else if next.sp > top.sp || to != function {
                unwind(frames, to, next.sp);
            } else {
                continue;
            }
        }
        active = distinct(&stacks, here, &program);
        if let Some(function) = begins {
            sums[function].calls += 1;
            let depth = logical(&stacks, here, &program).len() - 1;
            calls.push((depth, program.symbols[function].0));
        }
    }
    let executed = program.symbols.iter().zip(&sums).filter(|(_, sums)| sums.instructions > 0);
    let names = executed.clone().map(|((start, _, name), _)| (*start, name.clone())).collect();
    let functions = executed.map(|((start, ..), sums)| (*start, *sums)).collect();
    Tree { functions, names, instructions: steps.len() as u64, calls }
}

/// Execution continues in the middle of `function`: the frames above it end. Its frame is the one
/// that the stack pointer is in: below its entry, and not below that of the frame above it. A
/// function that has no frame replaces the one on top.
pub(super) fn unwind(frames: &mut Vec<Frame>, function: usize, sp: u64) {
    let contains = |strict: bool| {
        (0..frames.len()).rev().find(|&n| {
            let (frame, above) = (frames[n], frames.get(n + 1));
            frame.function == function
                && (sp < frame.sp || sp == frame.sp && !strict)
                && above.is_none_or(|above| above.sp <= sp)
        })
    };
    // A function without a frame on the stack has the stack pointer of its entry.
    match contains(true).or_else(|| contains(false)) {
        Some(index) => frames.truncate(index + 1),
        None => frames.last_mut().expect("a frame").function = function,
    }
}

/// The functions of the current stack, each once.
fn distinct(stacks: &Stacks, here: u64, program: &Program) -> BTreeSet<usize> {
    logical(stacks, here, program).iter().map(|frame| frame.function).collect()
}

/// The frames of the current stack, above those of the stack that changed to it, without the frame
/// of the function that changed.
fn logical(stacks: &Stacks, here: u64, program: &Program) -> Vec<Frame> {
    let mut all = Vec::new();
    if here != 0 {
        let main = &stacks[&0];
        let change = main.last().is_some_and(|top| program.name(top.function) == "change");
        all.extend(&main[..main.len() - usize::from(change)]);
    }
    all.extend(&stacks[&here]);
    all
}
