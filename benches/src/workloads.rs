//! The programs.

use tracewright_model::Random;

use crate::{Op, Program, Taken};

/// Where programs lie: in the kernel's half, so that addresses are long.
const ADDRESS: u64 = 0xffff_8000_1008_0000;

/// A program that is traced, and the seed of what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// A loop of one block, 99 times, in a loop of two blocks: nearly all atoms are E.
    Loop,
    /// Functions that call each other, 6 deep; returns are in the return stack, one call in eight goes
    /// through a pointer.
    Calls,
    /// 8 MB of functions, each as likely as any other.
    Large,
    /// Branches that nobody can foresee, and jump tables, in 32 KB of code.
    Branchy,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 4] =
        [Workload::Loop, Workload::Calls, Workload::Large, Workload::Branchy];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Workload::Loop => "loop",
            Workload::Calls => "calls",
            Workload::Large => "large",
            Workload::Branchy => "branchy",
        }
    }

    /// The workload called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Workload::ALL.into_iter().find(|workload| workload.name() == name)
    }

    /// The program.
    pub fn program(self) -> Program {
        match self {
            Workload::Loop => tight(),
            Workload::Calls => functions(&[8, 16, 32, 64, 128, 256], 4, &mut Random::from_state(1)),
            Workload::Large => functions(&[8192, 8192, 8192, 8192], 12, &mut Random::from_state(2)),
            Workload::Branchy => branchy(&mut Random::from_state(3)),
        }
    }
}

fn tight() -> Program {
    let mut program = Program { address: ADDRESS, ops: Vec::new() };
    program.plain(6);
    let inner = program.ops.len();
    program.plain(3);
    program.op(Op::Conditional(inner, Taken::Times(98)));
    program.plain(2);
    program.op(Op::Jump(0));
    program
}

/// Levels of functions, so many on each; those of one level call those of the next. A function has so
/// many parts, each of a few instructions, a branch over some of them, and in some a short loop or a
/// call. The program calls functions of the first level through a pointer.
fn functions(levels: &[usize], parts: usize, random: &mut Random) -> Program {
    let mut program = Program { address: ADDRESS, ops: Vec::new() };
    let main = program.op(Op::CallOneOf(Vec::new()));
    program.plain(3);
    program.op(Op::Jump(main));
    // Callees come first, so that their places are known.
    let mut callees: Vec<usize> = Vec::new();
    for &count in levels.iter().rev() {
        let made: Vec<usize> =
            (0..count).map(|_| function(&mut program, &callees, parts, random)).collect();
        callees = made;
    }
    if let Some(op) = program.ops.get_mut(main) {
        *op = Op::CallOneOf(callees);
    }
    program
}

/// Adds a function and says where it is.
fn function(program: &mut Program, callees: &[usize], parts: usize, random: &mut Random) -> usize {
    let start = program.ops.len();
    let mut calls = 0;
    program.plain(random.between(1, 3));
    for _ in 0..parts {
        // A branch over the part, where it is not likely to run.
        let over = program.op(Op::Plain);
        let begin = program.ops.len();
        program.plain(random.between(1, 6));
        // Two calls at most, or the whole tree would run each time.
        if !callees.is_empty() && calls < 2 && random.chance(128) {
            calls += 1;
            if random.chance(32) {
                let some = (0..8).map(|_| random.pick(callees)).collect();
                program.op(Op::CallOneOf(some));
            } else {
                program.op(Op::Call(random.pick(callees)));
            }
            program.plain(random.between(1, 3));
        } else if random.chance(40) {
            program.op(Op::Conditional(begin, Taken::Times(random.between(1, 6) as u32)));
        }
        let likely = random.pick(&[16, 64, 128, 230]);
        program.ops[over] = Op::Conditional(program.ops.len(), Taken::Often(likely));
    }
    program.plain(random.between(1, 3));
    program.op(Op::Return);
    start
}

fn branchy(random: &mut Random) -> Program {
    const BLOCKS: usize = 1600;
    let mut program = Program { address: ADDRESS, ops: Vec::new() };
    let mut starts = Vec::new();
    let mut ends = Vec::new();
    for _ in 0..BLOCKS {
        starts.push(program.ops.len());
        program.plain(random.between(0, 7));
        ends.push(program.op(Op::Plain));
    }
    program.op(Op::Jump(0));
    for end in ends {
        let near = |random: &mut Random| random.pick(&starts);
        program.ops[end] = match random.below(16) {
            0 => Op::JumpOneOf((0..8).map(|_| near(random)).collect()),
            1 => Op::Jump(near(random)),
            _ => Op::Conditional(near(random), Taken::Often(random.between(64, 192) as u8)),
        };
    }
    program
}
