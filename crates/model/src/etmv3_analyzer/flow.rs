//! Packets to executed instructions. (7.3, 7.5, 7.7, 7.9)

use tracewright_base::{Instruction, Isa, Kind, Start};
use tracewright_isa::{Transfer as Class, is_illegal, transfer};

use super::packet::{Atom, Branch, Isync, Packet};
use super::transfers::{Parent, Tie, Transfers};
use super::{Context, Output, Unit};
use crate::analyzer::Memory;

/// The next instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    At(u32, Isa),
    /// A Branch address packet must follow.
    Branch,
    Unknown,
}

pub(super) struct Flow<'a> {
    unit: Unit,
    memory: &'a Memory,
    outputs: Vec<(Output, Tie)>,
    transfers: Transfers,
    /// An I-sync packet was found.
    synchronized: bool,
    next: Next,
    /// The next instruction is the second half of the Thumb instruction before it.
    second_half: bool,
    /// Addresses of second halves that an exception separated from the first. (4.5.4)
    separated: Vec<u32>,
    context: Context,
    /// The address and the instruction set that were broadcast last.
    broadcast: (u32, Isa),
    /// Counts instructions, and starts of tracing.
    number: u32,
    /// The number of the last instruction, if an exception may cancel it, and whether it is a
    /// second half.
    last: Option<(u32, bool)>,
    /// The last instruction is in an unknown region.
    unseen: bool,
    /// The last instruction has a branch packet; the number of such instructions.
    branched: bool,
    branches: u32,
    /// A Return from exception packet came after the last instruction.
    returned: bool,
    /// No atom and no branch packet came after the non-periodic I-sync packet.
    restarted: bool,
    /// Tracing restarted after overflow or Debug state.
    after_loss: bool,
    /// LSM instructions that were paused for continuation without data trace. (7.5.2)
    paused: Vec<(u32, u32, Output)>,
    /// Timestamp bits, and the number of low bits that are known. (issue Q)
    timestamp: (u64, u32),
}

impl<'a> Flow<'a> {
    pub(super) fn new(unit: Unit, memory: &'a Memory) -> Flow<'a> {
        Flow {
            unit,
            memory,
            outputs: Vec::new(),
            transfers: Transfers::default(),
            synchronized: false,
            next: Next::Unknown,
            second_half: false,
            separated: Vec::new(),
            context: Context::default(),
            broadcast: (0, if unit.m_profile { Isa::T32 } else { Isa::A32 }),
            number: 0,
            last: None,
            unseen: false,
            branched: false,
            branches: 0,
            returned: false,
            restarted: false,
            after_loss: false,
            paused: Vec::new(),
            timestamp: (0, 0),
        }
    }

    /// Program flow first, then data transfers, each in order.
    pub(super) fn outputs(self) -> Vec<Output> {
        let transfers = self.transfers.items.iter().map(|item| Output::Transfer(item.transfer));
        self.outputs.iter().map(|(output, _)| *output).chain(transfers).collect()
    }

    fn push(&mut self, output: Output) {
        self.outputs.push((output, Tie::None));
    }

    pub(super) fn packet(&mut self, packet: &Packet) {
        self.transfers.packet(&self.unit, packet);
        match packet {
            Packet::Atoms(atoms) => atoms.iter().for_each(|atom| match atom {
                Atom::W => self.push(Output::Cycles(Some(1))),
                Atom::E => self.instruction(true),
                Atom::N => self.instruction(false),
            }),
            // Before the first I-sync packet it only gives an address. (7.7.3)
            Packet::Branch(branch) if !self.synchronized => {
                self.broadcast(branch);
            }
            Packet::Branch(branch) => self.branch(branch),
            Packet::CycleCount(count) => self.cycle_count(*count),
            Packet::Isync(isync) => self.isync(isync),
            Packet::Trigger => self.push(Output::Trigger),
            Packet::ContextId(id) => self.context.context_id = Some(*id),
            Packet::Vmid(id) => self.context.vmid = Some(*id),
            Packet::ExceptionExit if self.synchronized => {
                let m_profile = self.unit.m_profile;
                let tie = match (m_profile, self.last) {
                    (true, _) => Tie::Return(self.number),
                    (false, Some((last, _))) => Tie::Instruction(last),
                    (false, None) if self.unseen => Tie::Instruction(self.number),
                    (false, None) => Tie::None,
                };
                self.outputs.push((Output::Return, tie));
                if m_profile {
                    self.restarted = false;
                    self.transfers.parent = Parent { exception: true, tie, ..Parent::default() };
                }
                self.returned = true;
            }
            Packet::ExceptionEntry => {
                self.restarted = false;
                self.transfers.parent = Parent { exception: true, ..Parent::default() };
            }
            Packet::Timestamp(low) => {
                let mask = u64::MAX >> (64 - low.count);
                self.timestamp.0 = self.timestamp.0 & !mask | low.bits & mask;
                self.timestamp.1 = self.timestamp.1.max(low.count);
                let gray = |code: u64| (0..64).fold(0, |value, n| value ^ code >> n);
                let natural = self.unit.extension >> 28 & 1 == 1;
                let value = if natural { self.timestamp.0 } else { gray(self.timestamp.0) };
                let width = if self.unit.extension >> 29 & 1 == 1 { 64 } else { 48 };
                // Without a source of timestamps the value is 0.
                if self.timestamp.1 == width && value != 0 {
                    self.push(Output::Timestamp(value));
                }
            }
            _ => {}
        }
    }

    /// The instruction at `address`, and its data transfers.
    fn code(&self, address: u32, isa: Isa) -> Option<(Instruction, Option<Class>)> {
        let instruction = self.memory.instruction(address.into(), isa)?;
        let opcode = self.memory.opcode(address.into(), isa)?;
        let legal = isa != Isa::Jazelle && !is_illegal(isa, opcode);
        legal.then(|| (instruction, transfer(isa, opcode)))
    }

    /// An E or N atom. (7.3.1)
    fn instruction(&mut self, passed: bool) {
        let start = match self.next {
            Next::At(address, isa) if self.second_half => (address.wrapping_sub(2), isa),
            Next::At(address, isa) => (address, isa),
            // Reported where the address became unknown.
            Next::Unknown => return self.unknown(),
            Next::Branch => {
                self.push(Output::Unknown);
                return self.unknown();
            }
        };
        let Some((instruction, class)) = self.code(start.0, start.1) else {
            self.push(Output::Unknown);
            return self.unknown();
        };
        let halves = self.unit.thumb_halves() && instruction.size == 4 && start.1 != Isa::A32;
        let first_half = halves && !self.second_half;
        let address = if self.second_half { start.0.wrapping_add(2) } else { start.0 };
        self.number += 1;
        (self.last, self.unseen) = (Some((self.number, self.second_half)), false);
        self.outputs.push((
            Output::Instruction {
                address,
                isa: start.1,
                passed,
                first_half,
                context: self.context,
            },
            Tie::Instruction(self.number),
        ));
        (self.branched, self.returned) = (false, false);
        if std::mem::take(&mut self.restarted) {
            self.transfers.parent = Parent::default();
        }
        self.second_half = first_half;
        if first_half {
            self.next = Next::At(address.wrapping_add(2), start.1);
            return;
        }
        if passed && class.is_some() && self.unit.data() {
            let tie = Tie::Instruction(self.number);
            self.transfers.parent = Parent { by: Some(start.0), class, tie, ..Parent::default() };
        }
        self.next = match (instruction.kind, instruction.target) {
            (Kind::Branch, Some(target)) if passed => {
                Next::At(target as u32, instruction.target_isa)
            }
            (Kind::Branch | Kind::Indirect, _) if passed => Next::Branch,
            _ => Next::At(start.0.wrapping_add(instruction.size.into()), start.1),
        };
    }

    /// An instruction in an unknown region: the next data may be its. (7.9)
    fn unknown(&mut self) {
        self.number += 1;
        (self.next, self.last, self.second_half) = (Next::Unknown, None, false);
        self.unseen = true;
        (self.branched, self.returned, self.restarted) = (false, false, false);
        self.transfers.parent = Parent::default();
    }

    /// Continues at an address, which may be that of a second half. `starts`: tracing starts there,
    /// so that the first half may not be traced.
    fn go(&mut self, address: u32, isa: Isa, starts: bool) {
        self.next = Next::At(address, isa);
        self.second_half = false;
        if isa != Isa::T32 {
            return;
        }
        if let Some(k) = self.separated.iter().rposition(|half| *half == address) {
            self.separated.remove(k);
            self.second_half = true;
        } else if starts && self.unit.thumb_halves() {
            // The text leaves it open. Both halves of a BL or BLX are recognizable.
            let before = address.wrapping_sub(2);
            let opcode = self.memory.opcode(before.into(), isa).unwrap_or(0);
            let pair = opcode >> 27 == 0b11110 && matches!(opcode >> 11 & 0x1f, 0b11101 | 0b11111);
            let direct = self.code(before, isa).is_some_and(|(i, _)| i.kind == Kind::Branch);
            self.second_half = pair && direct;
        }
    }

    /// The second half does not follow: an exception separates it.
    fn separate(&mut self) {
        if let (true, Next::At(half, _)) = (std::mem::take(&mut self.second_half), self.next) {
            self.separated.retain(|other| *other != half);
            self.separated.push(half);
            let last = self.outputs.iter_mut().rev().find_map(|(output, _)| match output {
                Output::Instruction { first_half, .. } => Some(first_half),
                _ => None,
            });
            last.into_iter().for_each(|first_half| *first_half = false);
        }
    }

    /// The address of a branch packet: bits that are not output are those of the previous packet.
    /// (Table 7-13)
    fn broadcast(&mut self, branch: &Branch) -> (u32, Isa) {
        let (address, before) = self.broadcast;
        let isa = match (branch.isa, branch.information.and_then(|i| i.state)) {
            (Some(Isa::T32), Some((_, _, true))) => Isa::ThumbEe,
            (Some(Isa::T32), None) if before == Isa::ThumbEe => before,
            (Some(isa), _) => isa,
            (None, _) => before,
        };
        let shift = match isa {
            Isa::A32 => 2,
            Isa::Jazelle => 0,
            _ => 1,
        };
        let mask = ((1 << (branch.low.count + shift)) - 1u64) as u32;
        let address = address & !mask | (branch.low.bits << shift) as u32;
        self.broadcast = (address, isa);
        self.broadcast
    }

    fn security(&mut self, non_secure: bool, hyp: bool) {
        self.context.non_secure = Some(non_secure).filter(|_| !self.unit.m_profile);
        self.context.hyp = hyp;
    }

    /// A Branch address packet. (7.3.5)
    fn branch(&mut self, branch: &Branch) {
        // Of several for one instruction all but the final one must be ignored.
        let group = Tie::Branch(self.branches);
        let repeated = std::mem::replace(&mut self.branched, true);
        match repeated {
            true => self.outputs.retain(|(_, tie)| *tie != group),
            false => self.branches += 1,
        }
        let information = branch.information.unwrap_or_default();
        // Only an indirect branch leads to an address that the program does not have.
        let complete = self.last.is_some() && !self.second_half && !repeated;
        let program = matches!(self.next, Next::At(..)).then_some(self.next);
        let program = program.filter(|_| complete && !information.cancel);
        // It gives the next instruction, so the one of the I-sync packet is still executing.
        if information.exception == 0 {
            self.restarted = false;
        }
        if information.cancel {
            self.cancel(information.resume);
        }
        self.separate();
        let (address, isa) = self.broadcast(branch);
        self.go(address, isa, false);
        if let Some((non_secure, hyp, _)) = information.state {
            self.security(non_secure, hyp);
        }
        if information.exception == 0 {
            if program.is_some_and(|program| program != self.next) {
                self.outputs.push((Output::Contradiction, Tie::Branch(self.branches)));
            }
            if self.returned {
                self.resume(address);
            }
            return;
        }
        let tail_chain = self.unit.m_profile && self.returned;
        let number = information.exception;
        self.outputs.push((Output::Exception { number, tail_chain }, Tie::Branch(self.branches)));
        // The address of a Halting-debug exception is not valid; after a processor reset the
        // Context ID is unknown. (Tables 7-12 and 7-17, 4.7)
        match (self.unit.m_profile, number) {
            (false, 0b0001) => self.next = Next::Unknown,
            (false, 0b1000) | (true, 0x11) => self.context.context_id = None,
            _ => {}
        }
    }

    /// The most recently traced instruction is cancelled. (Tables 7-10 and 7-18)
    fn cancel(&mut self, resume: u8) {
        if self.unit.m_profile && self.returned && resume == 0 {
            // The return was cancelled, but not its instruction. (7.5.4)
            let tie = Tie::Return(self.number);
            self.outputs.retain(|(_, other)| *other != tie);
            self.last = None;
            return self.transfers.discard(tie);
        }
        let Some((number, second_half)) = self.last.take() else {
            if self.unseen && resume == 0 {
                self.unseen = false;
                self.outputs.retain(|(_, other)| *other != Tie::Instruction(self.number));
            }
            return;
        };
        let tie = Tie::Instruction(number);
        let executed = |output: &Output| matches!(output, Output::Instruction { .. });
        let found = self.outputs.iter().position(|(output, t)| *t == tie && executed(output));
        let Some(found) = found else {
            // An earlier branch packet, which is ignored, paused it.
            if resume == 0 {
                self.outputs.retain(|(_, other)| *other != tie);
                self.transfers.discard(tie);
            }
            return;
        };
        let cancelled = self.outputs.remove(found).0;
        let Output::Instruction { address, isa, first_half, .. } = cancelled else { return };
        if first_half {
            self.second_half = false;
        }
        if second_half {
            (self.next, self.second_half) = (Next::At(address, isa), true);
        }
        if resume > 0 {
            self.last = Some((number, second_half));
            return;
        }
        self.outputs.retain(|(_, other)| *other != tie);
        self.transfers.discard(tie);
        // Without data trace it may have been paused for continuation. (7.5.2)
        if let Some((instruction, Some(class))) = self.code(address, isa)
            && self.unit.m_profile
            && !self.unit.data()
            && class.multiple()
        {
            let end = address.wrapping_add(instruction.size.into());
            self.paused.push((address, end, cancelled));
        }
    }

    /// A return to the instruction after one that was paused: it was completed without trace.
    /// (7.5.2)
    fn resume(&mut self, to: u32) {
        let Some(&(start, end, paused)) = self.paused.last() else { return };
        if to == end {
            self.number += 1;
            self.last = Some((self.number, false));
            self.outputs.push((self.now(paused), Tie::Instruction(self.number)));
        }
        if to == start || to == end {
            self.paused.pop();
        }
    }

    /// The same instruction in the current context.
    fn now(&self, mut executed: Output) -> Output {
        if let Output::Instruction { context, .. } = &mut executed {
            *context = self.context;
        }
        executed
    }

    /// A count of W atoms; 0 if the counter overflowed. (7.3.4)
    fn cycle_count(&mut self, count: u64) {
        let ignored = count == 0 || self.unit.minor() == 0 && self.after_loss;
        self.push(Output::Cycles(Some(count).filter(|_| !ignored)));
    }

    /// 7.7.3
    fn isync(&mut self, isync: &Isync) {
        let starts = isync.reason != 0 || !self.synchronized;
        self.synchronized = true;
        if starts {
            self.separate();
            self.after_loss = isync.reason >= 2;
            self.number += 1;
            (self.last, self.branched, self.returned) = (None, false, false);
            self.transfers.parent = Parent::default();
            self.paused.clear();
        }
        if isync.reason != 0 {
            self.transfers.needs_sync();
        }
        if let Some(cycles) = isync.cycles {
            self.cycle_count(cycles);
        }
        if starts {
            self.push(Output::On(match isync.reason {
                0 | 1 => Start::Normal,
                2 => Start::Overflow,
                _ => Start::Debug,
            }));
        }
        self.context.context_id = isync.context_id.or(self.context.context_id);
        self.security(isync.non_secure, isync.hyp);
        let Some((address, isa)) = isync.start else { return };
        self.broadcast = (address, isa);
        if !starts {
            let start = Next::At(address, isa);
            match self.next {
                Next::At(..) if self.next == start => return,
                Next::At(..) => {
                    self.separate();
                    self.push(Output::Contradiction);
                    (self.returned, self.transfers.parent) = (false, Parent::default());
                    self.paused.clear();
                }
                Next::Branch | Next::Unknown => {}
            }
            return self.go(address, isa, true);
        }
        self.go(address, isa, true);
        if let Some(current) = &isync.current {
            // Execution of the data instruction is implied.
            self.instruction(true);
            if self.second_half {
                self.instruction(true);
            }
            self.separate();
            let (address, isa) = self.broadcast(current);
            self.go(address, isa, false);
            if let Some((non_secure, hyp, _)) = current.information.and_then(|i| i.state) {
                self.security(non_secure, hyp);
            }
        } else if let Some((_, Some(class))) = self.code(address, isa).filter(|_| !self.second_half)
            && self.unit.data()
        {
            // It may be a data instruction that is still executing.
            self.restarted = true;
            self.transfers.parent =
                Parent { by: Some(address), class: Some(class), ..Parent::default() };
        }
    }
}
