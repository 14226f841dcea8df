//! Made-up programs for classic cores (Armv4T, Armv5TE): code, and what a processor did that ran
//! it.
//!
//! Values and the ways of conditional branches are chosen at random, not computed: a trace unit
//! does not mind. What is at an address stays there.

use std::collections::BTreeMap;

use tracewright::base::step::{Cause, Retired, Step, Taken};
use tracewright::base::{Access, Context, Direction, Instruction, Isa};
use tracewright::image::{Image, Region};
use tracewright::isa::assemble::{a32, t32};
use tracewright::isa::{ItState, classify};

use tracewright_testing::Random;

/// What happens beside the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Events {
    /// Exceptions.
    pub exceptions: bool,
    /// The context id changes.
    pub contexts: bool,
    /// Tracing is switched off and on, the processor halts.
    pub switches: bool,
    /// Vectors are at 0xffff0000.
    pub high_vectors: bool,
    /// LDC, whose words somebody must know.
    pub ldc: bool,
}

/// A program and what was done.
#[derive(Debug, Default)]
pub struct Script {
    code: BTreeMap<u32, u8>,
    ops: BTreeMap<(u32, Isa), Op>,
    /// What was done, in order.
    pub steps: Vec<Step>,
}

/// An instruction of the program.
#[derive(Clone, Copy, Debug)]
struct Op {
    instruction: Instruction,
    moves: Moves,
}

/// What it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moves {
    Nothing,
    /// The number of transfers and the bytes of each; the last one is the PC.
    Memory {
        size: u8,
        count: u8,
        load: bool,
    },
    Swap {
        size: u8,
    },
    Coprocessor {
        count: u8,
        load: bool,
    },
    /// SVC.
    Call,
    /// UDF.
    Undefined,
}

/// Words that LDC moves.
pub const LDC_WORDS: u8 = 3;
const A32_BASE: u32 = 0x8000;
const T32_BASE: u32 = 0x9000;

impl Script {
    /// A program of which `instructions` are executed.
    pub fn new(random: &mut Random, instructions: usize, events: Events) -> Script {
        let mut script = Script::default();
        let base = if events.high_vectors { 0xffff_0000u32 } else { 0 };
        let (mut pc, mut isa) = (A32_BASE, Isa::A32);
        let mut sp = 0x2000_0000u32;
        for _ in 0..instructions {
            let aside = random.index(100);
            if events.contexts && aside == 0 {
                let context_id = Some(random.next() as u32 & 0xff);
                script.steps.push(Step::Context(Context { context_id, ..Context::default() }));
            }
            if events.switches && aside == 1 {
                script.steps.push(if random.index(2) == 0 { Step::Off } else { Step::Halted });
                script.steps.push(Step::On);
                (pc, isa) = target(random);
            }
            if events.exceptions && aside == 2 {
                let (cause, offset) = [
                    (Cause::Irq, 0x18),
                    (Cause::Fiq, 0x1c),
                    (Cause::InstructionFault, 0x0c),
                    (Cause::Reset, 0),
                ][random.index(4)];
                // What does not execute is there all the same.
                script.op(random, pc, isa, events);
                script.raise(cause, pc, isa, base + offset, false);
                (pc, isa) = (base + offset, Isa::A32);
            }
            let op = script.op(random, pc, isa, events);
            let (next, next_isa, taken) = script.execute(random, pc, op, &mut sp);
            let (before, before_isa) = (pc, isa);
            (pc, isa) = (next, next_isa);
            if !events.exceptions {
                continue;
            }
            let memory = matches!(op.moves, Moves::Memory { .. } | Moves::Swap { .. });
            match op.moves {
                Moves::Call => {
                    script.raise(Cause::Call, pc, isa, base + 8, false);
                    (pc, isa) = (base + 8, Isa::A32);
                }
                Moves::Undefined => {
                    script.raise(Cause::Undefined, before, before_isa, base + 4, false);
                    (pc, isa) = (base + 4, Isa::A32);
                }
                _ if memory && taken && random.index(40) == 0 => {
                    script.raise(Cause::DataFault, before, before_isa, base + 0x10, false);
                    (pc, isa) = (base + 0x10, Isa::A32);
                }
                _ if random.index(100) == 0 => {
                    script.raise(Cause::Irq, before, before_isa, base + 0x18, true);
                    (pc, isa) = (base + 0x18, Isa::A32);
                }
                _ => {}
            }
        }
        script
    }

    /// The program.
    pub fn image(&self) -> Image {
        self.image_without(0..0)
    }

    /// The program less what lies in `gone`.
    pub fn image_without(&self, gone: std::ops::Range<u32>) -> Image {
        let mut regions: Vec<(u32, Vec<u8>)> = Vec::new();
        for (&at, &byte) in self.code.iter().filter(|(at, _)| !gone.contains(at)) {
            match regions.last_mut() {
                Some((start, bytes)) if u64::from(*start) + bytes.len() as u64 == u64::from(at) => {
                    bytes.push(byte);
                }
                _ => regions.push((at, vec![byte])),
            }
        }
        let regions = regions.into_iter();
        Image::new(regions.map(|(at, bytes)| Region::new("script", at.into(), bytes)))
    }

    /// Some transfers of load and store multiples are not traced. (A swap of which only the store
    /// were traced would look like one of which only the load is.)
    pub fn trace_in_part(&mut self, random: &mut Random) {
        let like = |step: &Step, other: &Access| matches!(step, Step::Access(access) if access.direction == other.direction);
        for n in 1..self.steps.len() {
            let Step::Access(this) = self.steps[n] else { continue };
            let follows = this.has(Access::CONTINUED) && like(&self.steps[n - 1], &this);
            let goes_on = self.steps.get(n + 1).is_some_and(|next| {
                like(next, &this)
                    && matches!(next, Step::Access(next) if next.has(Access::CONTINUED))
            });
            if let Step::Access(access) = &mut self.steps[n]
                && (follows || goes_on)
                && !access.has(Access::COPROCESSOR)
                && random.index(4) == 0
            {
                access.flags |= Access::VALUE_NOT_TRACED;
            }
        }
    }

    fn raise(&mut self, cause: Cause, pc: u32, isa: Isa, target: u32, cancels: bool) {
        self.steps.push(Step::Exception(Taken {
            cause,
            return_address: pc.into(),
            return_isa: isa,
            target: target.into(),
            target_isa: Isa::A32,
            value: None,
            cancels,
        }));
    }

    /// What is at `pc`; it is made up where nothing is there yet.
    fn op(&mut self, random: &mut Random, pc: u32, isa: Isa, events: Events) -> Op {
        if let Some(op) = self.ops.get(&(pc, isa)) {
            return *op;
        }
        let (opcode, moves) = match isa {
            Isa::A32 => a32_op(random, pc, events),
            _ => t32_op(random, pc, events),
        };
        let bytes = match (isa, opcode > 0xffff) {
            (Isa::A32, _) => opcode.to_le_bytes().to_vec(),
            (_, true) => opcode.rotate_left(16).to_le_bytes().to_vec(),
            (_, false) => (opcode as u16).to_le_bytes().to_vec(),
        };
        let instruction =
            classify(isa, &bytes, pc.into(), &mut ItState::default()).expect("an instruction");
        self.code.extend((pc..).zip(bytes));
        let op = Op { instruction, moves };
        self.ops.insert((pc, isa), op);
        op
    }

    /// Executes the instruction at `pc`: where the program goes on, and whether it passed.
    fn execute(&mut self, random: &mut Random, pc: u32, op: Op, sp: &mut u32) -> (u32, Isa, bool) {
        use tracewright::base::Kind;
        let instruction = op.instruction;
        let taken = !instruction.conditional || random.index(2) == 0;
        let (next, next_isa) = match instruction.kind {
            Kind::Branch if taken => {
                (instruction.target.unwrap_or(0) as u32, instruction.target_isa)
            }
            Kind::Indirect if taken => target(random),
            _ => (pc.wrapping_add(instruction.size.into()), instruction.isa),
        };
        self.steps.push(Step::Retired(Retired {
            address: pc.into(),
            next: next.into(),
            next_isa,
            taken,
            instruction,
        }));
        if taken {
            *sp = match random.index(8) {
                0 => random.next() as u32 & !3,
                _ => sp.wrapping_add(4 * random.index(64) as u32),
            };
            self.moved(random, op.moves, *sp);
        }
        (next, next_isa, taken)
    }

    fn moved(&mut self, random: &mut Random, moves: Moves, at: u32) {
        let way = |load| if load { Direction::Read } else { Direction::Write };
        let mut push = |direction, size, flags, address: Option<u32>| {
            let value =
                random.next() >> random.index(64) & (u64::MAX >> (64 - 8 * u32::from(size)));
            let access = Access::new(direction, size, flags).of(value);
            let access = address.map_or(access, |address| access.at(address.into()));
            self.steps.push(Step::Access(access));
        };
        match moves {
            Moves::Nothing | Moves::Call | Moves::Undefined => {}
            Moves::Memory { size, count, load } => {
                for n in 0..count {
                    let flags = if n == 0 { 0 } else { Access::CONTINUED };
                    push(way(load), size, flags, Some(at.wrapping_add(4 * u32::from(n))));
                }
            }
            Moves::Swap { size } => {
                push(Direction::Read, size, 0, Some(at));
                push(Direction::Write, size, Access::CONTINUED, Some(at));
            }
            Moves::Coprocessor { count, load } => {
                for n in 0..count {
                    let flags = if n == 0 { 0 } else { Access::CONTINUED };
                    push(way(load), 4, flags | Access::COPROCESSOR, None);
                }
            }
        }
    }
}

/// Where an indirect branch goes.
fn target(random: &mut Random) -> (u32, Isa) {
    let n = random.index(16) as u32;
    if random.index(2) == 0 {
        (A32_BASE + 0x40 * n, Isa::A32)
    } else {
        (T32_BASE + 0x20 * n, Isa::T32)
    }
}

const ALWAYS: u8 = a32::ALWAYS;

fn a32_op(random: &mut Random, pc: u32, events: Events) -> (u32, Moves) {
    let condition = if random.index(4) == 0 { 0 } else { ALWAYS };
    let when = |opcode: u32| opcode & 0x0fff_ffff | u32::from(condition) << 28;
    let memory = |size, count, load| Moves::Memory { size, count, load };
    let by = |to: u32| to.wrapping_sub(pc) as i32;
    let place = A32_BASE + 0x40 * random.index(16) as u32;
    let list = |random: &mut Random| 1 + (random.next() as u32 & 0x7ffe);
    // The end of a chunk of code.
    if pc & 0x3f == 0x3c {
        return (a32::bx(ALWAYS, 14), Moves::Nothing);
    }
    match random.index(26) {
        0 => (when(0xe590_1000), memory(4, 1, true)), // ldr r1, [r0]
        1 => (when(0xe580_1000), memory(4, 1, false)), // str
        2 => (when(0xe5d0_1000), memory(1, 1, true)), // ldrb
        3 => (when(0xe5c0_1000), memory(1, 1, false)), // strb
        4 => (when(0xe1d0_10b0), memory(2, 1, true)), // ldrh
        5 => (when(0xe1c0_10b0), memory(2, 1, false)), // strh
        6 => (when(0xe1d0_10d0), memory(1, 1, true)), // ldrsb
        7 => (when(0xe1d0_10f0), memory(2, 1, true)), // ldrsh
        8 => (when(0xe1c0_20d0), memory(4, 2, true)), // ldrd r2, r3
        9 => (when(0xe1c0_20f0), memory(4, 2, false)), // strd
        10 => {
            let list = list(random);
            (when(0xe8bd_0000 | list), memory(4, list.count_ones() as u8, true))
        }
        11 => {
            let list = list(random);
            (when(0xe92d_0000 | list), memory(4, list.count_ones() as u8, false))
        }
        12 => {
            let list = list(random) | 0x8000;
            (when(0xe8bd_0000 | list), memory(4, list.count_ones() as u8, true))
        }
        13 => (when(0xe590_f000), memory(4, 1, true)), // ldr pc, [r0]
        14 => (when(0xe100_1092), Moves::Swap { size: 4 }),
        15 => (when(0xe140_1092), Moves::Swap { size: 1 }),
        16 => (when(0xee01_0f10), Moves::Coprocessor { count: 1, load: false }), // mcr
        17 => (when(0xee11_0f10), Moves::Coprocessor { count: 1, load: true }),  // mrc
        18 => (when(0xec51_0f10), Moves::Coprocessor { count: 2, load: true }),  // mrrc
        19 => (a32::b(condition, by(place)).unwrap_or(0xe1a0_0000), Moves::Nothing),
        20 => (a32::bl(condition, by(place)).unwrap_or(0xe1a0_0000), Moves::Nothing),
        21 => {
            let thumb = T32_BASE + 0x20 * random.index(16) as u32;
            (a32::blx(by(thumb)).unwrap_or(0xe1a0_0000), Moves::Nothing)
        }
        22 => (a32::bx(condition, 3), Moves::Nothing),
        23 if events.exceptions => match random.index(3) {
            0 => (0xe7f0_00f0, Moves::Undefined),
            _ => (0xef00_0000, Moves::Call),
        },
        24 if events.ldc => (when(0xed90_0100), memory(4, LDC_WORDS, true)), // ldc p1, c0, [r0]
        _ => (when(0xe1a0_0000), Moves::Nothing),
    }
}

fn t32_op(random: &mut Random, pc: u32, events: Events) -> (u32, Moves) {
    let memory = |size, count, load| Moves::Memory { size, count, load };
    let by = |to: u32| to.wrapping_sub(pc) as i32;
    let place = T32_BASE + 0x20 * random.index(16) as u32;
    let wide = pc & 0x1f != 0x1c;
    let nop = (0x46c0, Moves::Nothing);
    if pc & 0x1f == 0x1e {
        return (t32::bx(14), Moves::Nothing);
    }
    match random.index(16) {
        0 => (0x6801, memory(4, 1, true)),  // ldr r1, [r0]
        1 => (0x6001, memory(4, 1, false)), // str
        2 => (0x7801, memory(1, 1, true)),  // ldrb
        3 => (0x8801, memory(2, 1, true)),  // ldrh
        4 => (0x5651, memory(1, 1, true)),  // ldrsb r1, [r2, r1]
        5 | 6 => {
            let list = 1 + (random.next() as u32 & 0xfe);
            let count = list.count_ones() as u8;
            match random.index(4) {
                0 => (0xb500 | list, memory(4, count + 1, false)), // push {.., lr}
                1 => (0xbd00 | list, memory(4, count + 1, true)),  // pop {.., pc}
                2 => (0xc800 | list, memory(4, count, true)),      // ldmia r0!
                _ => (0xc000 | list, memory(4, count, false)),     // stmia r0!
            }
        }
        7 => t32::b(by(place)).map_or(nop, |opcode| (opcode, Moves::Nothing)),
        8 | 9 => t32::b_cond(0, by(place)).map_or(nop, |opcode| (opcode, Moves::Nothing)),
        10 if wide => t32::bl(by(place)).map_or(nop, |opcode| (opcode, Moves::Nothing)),
        11 if wide => {
            let arm = A32_BASE + 0x40 * random.index(16) as u32;
            let blx = t32::blx(pc.into(), by(arm).wrapping_sub((pc & 2) as i32));
            let blx = blx.filter(|opcode| {
                let bytes = opcode.rotate_left(16).to_le_bytes();
                let there = classify(Isa::T32, &bytes, pc.into(), &mut ItState::default());
                there.and_then(|i| i.target) == Some(arm.into())
            });
            blx.map_or(nop, |opcode| (opcode, Moves::Nothing))
        }
        12 => (t32::bx(3), Moves::Nothing),
        13 if events.exceptions => (0xdf00, Moves::Call),
        _ => nop,
    }
}
