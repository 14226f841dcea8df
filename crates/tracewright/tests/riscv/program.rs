//! Random programs, and the steps of a processor that runs them. The processor does not compute:
//! it chooses the outcome of each branch and the target of each indirect jump at random, because
//! the trace has outcomes and targets, but not their reasons.

use std::sync::Arc;

use tracewright::base::{
    Cause, Code, Context, Instruction, Isa, Kind, Pc, Retired, Role, Space, Step, Taken, Waypoints,
};
use tracewright::image::{Cache, CacheOptions, Image, Region};
use tracewright::isa::assemble::rv;
use tracewright::isa::rv::Upper;
use tracewright::protocols::etrace::config::{Params, Vectors};
pub use tracewright_testing::Random;

/// The properties of a random run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mix {
    pub rv64: bool,
    /// One step in `traps` is a trap; 0: none.
    pub traps: u64,
    /// Traps may follow traps before an instruction is retired.
    pub nested: bool,
    /// With `nested`, exceptions follow interrupts, and interrupts follow exceptions.
    pub alternate: bool,
    /// One return in `astray` goes elsewhere; 0: none.
    pub astray: u64,
    /// Handlers run at another privilege level.
    pub levels: bool,
    /// One step in `contexts` changes the context; 0: none.
    pub contexts: u64,
    /// Traps go to the vectors of the CSRs; otherwise each goes to a random handler.
    pub vectored: bool,
    /// The program has ECALL, EBREAK and C.EBREAK.
    pub calls: bool,
    /// The program has MRET outside handlers, too, and returns from traps that it did not take.
    pub trap_returns: bool,
    /// A trap comes before the first instruction.
    pub trap_first: bool,
    /// The number of bits of a cause; 0: no limit.
    pub cause_bits: u8,
    /// There are only the privilege levels 0 and 1.
    pub two_levels: bool,
}

impl Mix {
    /// Whether a cause fits into the bits of a cause.
    fn has_cause(&self, code: u16) -> bool {
        self.cause_bits == 0 || u32::from(code) < 1u32 << self.cause_bits.min(16)
    }

    /// The highest privilege level.
    fn top(&self) -> u8 {
        if self.two_levels { 1 } else { 3 }
    }
}

/// A program, and the steps of its execution.
#[allow(dead_code, reason = "not every test needs all of it")]
pub struct Run {
    pub image: Arc<Image>,
    pub isa: Isa,
    pub steps: Vec<Step>,
    /// Addresses of the instructions that were retired.
    pub pcs: Vec<u64>,
    /// The trap vectors, with [`Mix::vectored`].
    pub vectors: Vectors,
}

const BASE: u64 = 0x8000_0000;
const HANDLERS: u64 = 0x8001_0000;
const TABLE: u64 = 0x8002_0000;

/// A random program of about `size` instructions, run for `count` instructions.
pub fn run(seed: u64, size: usize, count: usize, mix: Mix) -> Run {
    let mut random = Random::new(seed);
    let isa = if mix.rv64 { Isa::Rv64 } else { Isa::Rv32 };
    let (code, starts) = code(&mut random, isa, BASE, size, true, mix);
    let (handlers, vectors) = code_of_handlers(&mut random, isa);
    let image = Arc::new(Image::new([
        Region::new("code", BASE, code),
        Region::new("handlers", HANDLERS, handlers),
        Region::new("vectors", TABLE, table(&vectors)),
    ]));
    let csrs = Vectors {
        machine: Some(TABLE | u64::from(random.one_in(2))),
        supervisor: Some(vectors[1]),
        guest: None,
    };
    let cache = Cache::new(image.clone(), Waypoints::default(), CacheOptions::default());
    let (steps, pcs) = Machine {
        random,
        cache,
        isa,
        mix,
        starts,
        vectors,
        csrs: Params { vectors: csrs, ..Params::default() },
        calls: Vec::new(),
        traps: Vec::new(),
        steps: Vec::new(),
        pcs: Vec::new(),
        privilege: mix.top(),
        context: 0,
    }
    .run(count);
    Run { image, isa, steps, pcs, vectors: csrs }
}

/// Random code. Only branches and indirect jumps go back, so that every loop is traced.
/// `mix`: whether the code has ECALL, EBREAK, C.EBREAK and MRET.
fn code(
    random: &mut Random,
    isa: Isa,
    base: u64,
    size: usize,
    calls: bool,
    mix: Mix,
) -> (Vec<u8>, Vec<u64>) {
    // Sizes first, so that targets are known.
    let mut sizes = Vec::new();
    let mut kinds = Vec::new();
    while sizes.len() < size {
        let last = sizes.len() + 2 >= size;
        let kind = if last { 0 } else { random.below(if calls { 22 } else { 16 }) };
        let narrow = random.one_in(2);
        kinds.push((kind, narrow));
        sizes.push(if narrow && kind != 17 { 2u64 } else { 4 });
        if kind == 17 {
            kinds.push((100, false));
            sizes.push(4);
        }
    }
    let mut at = base;
    let mut starts = Vec::new();
    for size in &sizes {
        starts.push(at);
        at += size;
    }
    let end = starts.len() - 1;
    let mut bytes = Vec::new();
    let mut pair = None;
    for (n, &(kind, narrow)) in kinds.iter().enumerate() {
        let here = starts[n];
        // The second instruction of a pair is never a target.
        let target = |random: &mut Random, from: usize, to: usize| {
            let mut m = from + random.below((to - from + 1) as u64) as usize;
            if kinds[m].0 == 100 {
                m -= 1;
            }
            starts[m]
        };
        let by = |to: u64| to.wrapping_sub(here) as i64 as i32;
        let ahead = (n + 1).min(end);
        let opcode = match kind {
            // No instruction follows.
            12 | 16 | 18 if n == end => None,
            100 => pair.take(),
            5..=7 if mix.trap_returns && !narrow => Some(rv::MRET),
            0..=7 => None,
            8..=11 => {
                let near = target(random, n.saturating_sub(40), (n + 40).min(end));
                if narrow {
                    rv::c_beqz(8 + (n % 8) as u8, by(near))
                } else {
                    rv::beq(5, 6, by(near))
                }
            }
            12 => {
                let to = target(random, ahead, (n + 30).min(end).max(ahead));
                if narrow { rv::c_j(by(to)) } else { rv::jal(0, by(to)) }
            }
            13 => Some(if narrow { rv::c_jr(1) } else { rv::jalr(0, 5, 0).unwrap() }),
            14 | 15 if mix.calls && narrow => Some(rv::C_EBREAK),
            14 if mix.calls => Some(rv::EBREAK),
            15 if mix.calls => Some(rv::ECALL),
            14 | 15 => None,
            16 | 18 => {
                let to = target(random, ahead, (n + 60).min(end).max(ahead));
                match narrow {
                    true if isa == Isa::Rv32 => rv::c_jal(by(to)),
                    _ if !narrow => rv::jal(1, by(to)),
                    _ => None,
                }
            }
            17 => {
                let to = target(random, (n + 2).min(end), (n + 60).min(end).max((n + 2).min(end)));
                let low = (by(to) << 20) >> 20;
                pair = rv::jalr(random.pick(&[0, 1, 6]), 7, low);
                Some(rv::auipc(7, by(to).wrapping_sub(low) as u32))
            }
            19 => Some(if narrow { rv::c_jalr(10) } else { rv::jalr(1, 11, 4).unwrap() }),
            20 => Some(if narrow { rv::c_jr(12) } else { rv::jalr(0, 13, -4).unwrap() }),
            _ => Some(if narrow { rv::c_jalr(5) } else { rv::jalr(6, 14, 0).unwrap() }),
        };
        let opcode = opcode.unwrap_or(if narrow { rv::C_NOP } else { rv::NOP });
        let size = sizes[n] as usize;
        assert_eq!(
            size,
            usize::from(tracewright::isa::rv::size(opcode as u16)),
            "{kind} {opcode:x}"
        );
        bytes.extend(&opcode.to_le_bytes()[..size]);
    }
    // The last instruction is an indirect jump.
    bytes.extend(rv::jalr(0, 10, 0).unwrap().to_le_bytes());
    starts.retain(|start| {
        let n = kinds.len();
        let _ = n;
        *start < at
    });
    let seconds: Vec<u64> =
        kinds.iter().zip(&starts).filter(|(k, _)| k.0 == 100).map(|(_, s)| *s).collect();
    starts.retain(|start| !seconds.contains(start));
    (bytes, starts)
}

/// A jump to a handler for each interrupt.
fn table(handlers: &[u64]) -> Vec<u8> {
    let jump = |n: u64| {
        let to = handlers[n as usize % handlers.len()];
        rv::jal(0, to.wrapping_sub(TABLE + 4 * n) as i64 as i32).unwrap()
    };
    (0..16).flat_map(|n| jump(n).to_le_bytes()).collect()
}

/// A few handlers that return.
fn code_of_handlers(random: &mut Random, isa: Isa) -> (Vec<u8>, Vec<u64>) {
    let (mut bytes, mut vectors) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let base = HANDLERS + bytes.len() as u64;
        vectors.push(base);
        let size = 1 + random.below(8) as usize;
        let (mut body, _) = code(random, isa, base, size, false, Mix::default());
        // The MRET replaces the indirect jump at the end.
        body.truncate(body.len() - 4);
        bytes.extend(body);
        bytes.extend(rv::MRET.to_le_bytes());
        // CSRs hold multiples of 4.
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    (bytes, vectors)
}

struct Machine {
    random: Random,
    cache: Cache,
    isa: Isa,
    mix: Mix,
    starts: Vec<u64>,
    vectors: Vec<u64>,
    csrs: Params,
    calls: Vec<u64>,
    /// The return address and the privilege level of each open trap.
    traps: Vec<(u64, u8)>,
    steps: Vec<Step>,
    pcs: Vec<u64>,
    privilege: u8,
    context: u32,
}

impl Machine {
    fn run(mut self, count: usize) -> (Vec<Step>, Vec<u64>) {
        let mut at = self.starts[0];
        let mut upper = Upper::default();
        // The first instruction of a handler is retired, unless traps are nested.
        let mut trapped = false;
        self.push_context();
        while self.pcs.len() < count {
            let pc = Pc { address: at, isa: self.isa, space: Space::ANY };
            let opcode = self.cache.opcode(pc).expect("code");
            let mut instruction = self.cache.instruction(pc).expect("code");
            let call = self.call(opcode, instruction.size);
            let first = self.mix.trap_first && self.steps.len() == 1;
            let trap = !trapped && self.mix.traps > 0 && self.random.one_in(self.mix.traps);
            let aside = (trap || first) && self.traps.len() < 6;
            trapped = aside || call.is_some();
            if trapped {
                at = match call.filter(|_| !aside) {
                    Some(code) => self.trap(at, at + u64::from(instruction.size), code, false),
                    None => self.aside(at),
                };
                upper = Upper::default();
                while self.mix.nested && self.traps.len() < 6 && self.random.one_in(4) {
                    at = self.aside(at);
                }
                continue;
            }
            if self.mix.contexts > 0 && self.random.one_in(self.mix.contexts) {
                self.context = self.random.next() as u32;
                self.push_context();
            }
            if instruction.kind == Kind::Indirect {
                instruction.target = upper.target(self.isa, opcode);
            }
            upper = Upper::after(self.isa, opcode, at);
            let (next, taken) = self.next(at, &instruction);
            self.pcs.push(at);
            self.steps.push(Step::Retired(Retired {
                address: at,
                next,
                next_isa: self.isa,
                taken,
                instruction,
            }));
            if instruction.role == Role::ExceptionReturn {
                self.push_context();
            }
            at = next;
        }
        (self.steps, self.pcs)
    }

    fn next(&mut self, at: u64, i: &Instruction) -> (u64, bool) {
        let behind = at + u64::from(i.size);
        match (i.kind, i.role) {
            (Kind::Branch, _) if i.conditional => match self.random.one_in(2) {
                true => (i.target.expect("target"), true),
                false => (behind, false),
            },
            (Kind::Branch, role) => {
                if role == Role::Call {
                    self.calls.push(behind);
                }
                (i.target.expect("target"), true)
            }
            (Kind::Indirect, Role::ExceptionReturn) => {
                if self.mix.trap_returns && self.random.one_in(2) {
                    self.privilege = self.level();
                    return (self.random.pick(&self.starts), true);
                }
                let (to, privilege) = self.traps.pop().unwrap_or((self.starts[0], self.privilege));
                self.privilege = privilege;
                (to, true)
            }
            (Kind::Indirect, role) => {
                let to = match (i.target, role) {
                    (Some(target), _) => target,
                    (None, Role::Return) => {
                        let astray = self.mix.astray > 0 && self.random.one_in(self.mix.astray);
                        let back = self.calls.pop();
                        back.filter(|_| !astray).unwrap_or_else(|| self.random.pick(&self.starts))
                    }
                    _ => self.random.pick(&self.starts),
                };
                if role == Role::Call {
                    self.calls.push(behind);
                }
                (to, true)
            }
            _ => (behind, true),
        }
    }

    /// The cause of the exception of an ECALL, EBREAK or C.EBREAK.
    fn call(&self, opcode: u32, size: u8) -> Option<u16> {
        let code = match (opcode, size) {
            (rv::ECALL, 4) => 8 + u16::from(self.privilege),
            (rv::EBREAK, 4) => 3,
            (_, 2) if opcode & 0xffff == rv::C_EBREAK => 3,
            _ => return None,
        };
        // A narrower port has no code for the cause: the instruction does not trap.
        self.mix.has_cause(code).then_some(code)
    }

    /// A trap at any instruction.
    fn aside(&mut self, at: u64) -> u64 {
        let interrupt = match self.steps.iter().rfind(|s| !matches!(s, Step::Context(_))) {
            Some(Step::Exception(Taken { cause: Cause::Riscv { interrupt, .. }, .. }))
                if self.mix.alternate =>
            {
                !interrupt
            }
            _ => self.random.one_in(2),
        };
        let codes: &[u16] = if interrupt { &[3, 7, 11] } else { &[1, 2, 5, 7, 12] };
        let code = self.random.pick(codes);
        let code = if self.mix.has_cause(code) { code } else { self.random.below(2) as u16 };
        self.trap(at, at, code, interrupt)
    }

    /// The privilege level after a trap or a trap return.
    fn level(&mut self) -> u8 {
        match self.mix.levels {
            true if self.mix.two_levels => self.random.pick(&[0, 1]),
            true => self.random.pick(&[0, 1, 3]),
            false => self.privilege,
        }
    }

    /// A trap at `at`, whose handler returns to `back`.
    fn trap(&mut self, at: u64, back: u64, code: u16, interrupt: bool) -> u64 {
        let privilege = self.level();
        let vector = match self.mix.vectored {
            true => self.csrs.vector(privilege, interrupt, code.into()).unwrap(),
            false => self.random.pick(&self.vectors),
        };
        self.traps.push((back, self.privilege));
        self.steps.push(Step::Exception(Taken {
            cause: Cause::Riscv { code, interrupt },
            return_address: at,
            return_isa: self.isa,
            target: vector,
            target_isa: self.isa,
            value: (!interrupt).then(|| self.random.below(1 << 20)),
            cancels: false,
        }));
        self.privilege = privilege;
        self.push_context();
        vector
    }

    fn push_context(&mut self) {
        self.steps.push(Step::Context(Context {
            el: Some(self.privilege),
            context_id: Some(self.context),
            bits64: self.mix.rv64,
            isa: self.isa,
            ..Context::default()
        }));
    }
}
