//! Random streams of packets that are legal for a program.

use tracewright_base::{Instruction, Isa, Kind, Role};

use super::code::Code;
use super::packets::Packets;
use crate::Random;
use crate::analyzer::{AnalyzerContext, Unit};

/// What is known of the processor after the last packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The address of the next instruction, and whether it is T32.
    At(u64, bool),
    /// An indirect branch was taken.
    Indirect,
    /// An address must follow before anything is executed.
    NeedsTarget,
    /// The program has no code where it is.
    Lost,
    /// An address and a context must follow.
    NeedsAll,
}

/// A P0 instruction whose outcome a Mispredict element may change.
#[derive(Clone, Copy, Debug)]
struct Branch {
    instruction: Instruction,
    address: u64,
    taken: bool,
}

/// The state that a Cancel element restores.
#[derive(Clone, Debug)]
struct State {
    place: Place,
    context: AnalyzerContext,
    /// Addresses on the return stack that the trace unit can rely on.
    stack: Vec<(u64, bool)>,
    branch: Option<Branch>,
    in_transaction: bool,
    /// The last P0 instruction is TSTART, and it was traced last.
    started: bool,
}

/// A generator of streams.
pub struct Streams<'a> {
    random: &'a mut Random,
    unit: Unit,
    code: &'a Code,
    packets: Packets,
    /// Cycle counting is enabled.
    counting: bool,
    /// Q elements may be used.
    q: bool,
    state: State,
    /// The state before each uncommitted P0 element, the oldest first; `None` from before the
    /// start.
    uncommitted: Vec<Option<State>>,
    /// How many of them may be cancelled.
    cancellable: usize,
}

fn taken_only(instruction: &Instruction) -> bool {
    !instruction.conditional && matches!(instruction.kind, Kind::Branch | Kind::Indirect)
}

impl<'a> Streams<'a> {
    /// The packets of a random stream with about `len` of them.
    pub fn generate(
        random: &'a mut Random,
        unit: Unit,
        code: &'a Code,
        counting: bool,
        q: bool,
        len: usize,
    ) -> Vec<Vec<u8>> {
        let mut streams = Streams {
            packets: Packets::new(unit),
            state: State {
                place: Place::NeedsAll,
                context: AnalyzerContext::default(),
                stack: Vec::new(),
                branch: None,
                in_transaction: false,
                started: false,
            },
            random,
            unit,
            code,
            counting,
            q,
            uncommitted: Vec::new(),
            cancellable: 0,
        };
        if streams.random.one_in(4) {
            let unseen = streams.random.index(unit.max_spec_depth as usize + 1);
            streams.uncommitted = vec![None; unseen];
            streams.cancellable = unseen;
        }
        streams.state.in_transaction = unit.ete && streams.random.one_in(16);
        streams.synchronise();
        if streams.uncommitted.is_empty() {
            streams.packets.raw(&[0x04]);
        }
        while streams.packets.len() < len {
            streams.step();
        }
        if streams.random.chance(128) {
            let depth = streams.uncommitted.len();
            streams.commit(depth);
        }
        streams.packets.finish(streams.random)
    }

    /// Alignment Synchronization and Trace Info.
    fn synchronise(&mut self) {
        let depth = self.uncommitted.len();
        let threshold = self.counting.then(|| self.random.below(300));
        self.packets.trace_info(self.random, depth, self.state.in_transaction, threshold);
        if self.state.place == Place::Indirect {
            self.pop();
        }
        self.state.stack.clear();
        // A Cancel element does not cancel the Trace Info element.
        for state in self.uncommitted.iter_mut().flatten() {
            state.stack.clear();
        }
    }

    /// The target of the last indirect branch is on the return stack.
    fn pop(&mut self) -> bool {
        if !self.unit.return_stack {
            return false;
        }
        let Some((address, thumb)) = self.state.stack.pop() else { return false };
        self.state.place = Place::At(address, thumb);
        true
    }

    fn isa(&self, thumb: bool) -> Isa {
        match (self.state.context.sixty_four_bit, thumb) {
            (true, _) => Isa::A64,
            (false, false) => Isa::A32,
            (false, true) => Isa::T32,
        }
    }

    fn is_p0(&self, instruction: &Instruction) -> bool {
        match instruction.kind {
            Kind::Branch | Kind::Indirect | Kind::Isb => true,
            Kind::Wait | Kind::TimedWait => self.unit.wfx,
            Kind::TransactionStart => self.unit.ete,
            _ => false,
        }
    }

    /// The instructions from `at` up to and including the next P0 instruction, or the last one in
    /// memory.
    fn block(&self, mut at: u64, thumb: bool) -> Vec<(u64, Instruction)> {
        let isa = self.isa(thumb);
        let mut block = Vec::new();
        while let Some(instruction) = self.code.memory.instruction(at, isa) {
            block.push((at, instruction));
            if self.is_p0(&instruction) || block.len() > 100 {
                break;
            }
            at = at.wrapping_add(instruction.size.into()) & isa.address_mask();
        }
        block
    }

    /// A P0 element follows.
    fn p0(&mut self) {
        self.uncommitted.push(Some(self.state.clone()));
        self.cancellable += 1;
        let excess = self.uncommitted.len().saturating_sub(self.unit.max_spec_depth as usize);
        self.uncommitted.drain(..excess);
        self.cancellable = self.cancellable.min(self.uncommitted.len());
        self.state.started = false;
    }

    /// The state after a P0 instruction.
    fn executed(&mut self, address: u64, instruction: Instruction, taken: bool, initially: bool) {
        let thumb = instruction.isa == Isa::T32;
        let after = address.wrapping_add(instruction.size.into()) & instruction.isa.address_mask();
        self.state.branch = Some(Branch { instruction, address, taken });
        self.state.place = match (instruction.kind, instruction.target) {
            (Kind::Indirect, _) if taken => Place::Indirect,
            (Kind::Branch, Some(target)) if taken => {
                Place::At(target, instruction.target_isa == Isa::T32)
            }
            _ => Place::At(after, thumb),
        };
        if initially && taken && instruction.role == Role::Call {
            self.state.stack.push((after, thumb));
            if self.state.stack.len() > 15 {
                self.state.stack.remove(0);
            }
        }
    }

    fn step(&mut self) {
        match self.random.index(48) {
            0..=17 => self.atom(),
            18..=21 => self.address(),
            22 => self.context(),
            23..=25 => self.exception(),
            26..=28 => {
                let n = self.random.between(1, self.uncommitted.len().max(1));
                self.commit(n);
            }
            29 | 30 => self.cancel(),
            31..=33 => self.mispredict(),
            34 | 35 => self.packets.timestamp(self.random),
            36 | 37 => self.cycle_count(),
            38 => self.packets.raw(&[0x71 + self.random.below(15) as u8]),
            39 => self.packets.raw(&[0x70]),
            40 if self.random.one_in(3) => self.trace_on(),
            41 if self.random.one_in(2) => self.synchronise(),
            42 if self.random.one_in(4) => self.lost(),
            43 | 44 => self.q(),
            45 | 46 => self.source_address(),
            47 => self.end_transaction(),
            _ => self.atom(),
        }
    }

    fn atom(&mut self) {
        if self.state.place == Place::Indirect && self.random.chance(200) {
            self.pop();
        }
        let (address, thumb) = match self.state.place {
            Place::At(address, thumb) => (address, thumb),
            // Atoms that nobody can follow.
            Place::Lost | Place::NeedsAll if self.random.one_in(4) => {
                self.p0();
                self.packets.atom(self.random.chance(128));
                self.state.branch = None;
                return;
            }
            _ => return self.address(),
        };
        let block = self.block(address, thumb);
        let p0 = block.last().copied().filter(|(_, i)| self.is_p0(i));
        let Some((address, instruction)) = p0 else {
            self.p0();
            self.packets.atom(self.random.chance(128));
            self.state.branch = None;
            self.state.place = Place::Lost;
            return;
        };
        let taken = match instruction.conditional {
            true => self.random.chance(128),
            false => !taken_only(&instruction) || !self.random.one_in(16),
        };
        self.p0();
        self.packets.atom(taken);
        self.executed(address, instruction, taken, true);
        if !taken && taken_only(&instruction) {
            self.mispredict();
        }
        if instruction.kind == Kind::TransactionStart && self.random.chance(160) {
            self.start_transaction();
        }
        if !self.unit.ete && instruction.role == Role::ExceptionReturn && taken {
            self.packets.raw(&[0x07]);
        }
    }

    /// A random instruction that the context allows.
    fn target(&mut self) -> (u64, bool) {
        let thumb = !self.state.context.sixty_four_bit && self.random.chance(128);
        (self.random.pick(self.code.addresses(self.isa(thumb))), thumb)
    }

    fn new_context(&mut self, state: bool) -> AnalyzerContext {
        let random = &mut *self.random;
        AnalyzerContext {
            context_id: random.below(3) as u32 * 0x101,
            vmid: random.below(3) as u32,
            exception_level: random.below(4) as u8,
            non_secure: random.chance(128),
            sixty_four_bit: match state {
                true => random.chance(128),
                false => self.state.context.sixty_four_bit,
            },
        }
        .sized(&self.unit)
    }

    /// A Target Address element where one is needed, or the address that is known.
    fn address(&mut self) {
        let place = self.state.place;
        if let Place::At(address, thumb) = place {
            if self.random.one_in(3) {
                self.packets.address(self.random, address, thumb, None);
            }
            return;
        }
        if place == Place::Lost && self.random.chance(160) {
            return;
        }
        let all = place == Place::NeedsAll;
        let context = (all || self.random.one_in(4)).then(|| self.new_context(true));
        if let Some(context) = context {
            self.state.context = context;
        }
        let (address, thumb) = self.target();
        self.packets.address(self.random, address, thumb, context);
        self.state.place = Place::At(address, thumb);
    }

    fn context(&mut self) {
        if self.state.place == Place::NeedsAll {
            return self.address();
        }
        self.state.context = self.new_context(false);
        let context = self.state.context;
        self.packets.context(self.random, context);
    }

    fn exception(&mut self) {
        if self.state.place == Place::Indirect && self.random.chance(128) {
            self.pop();
        }
        let kind = self.random.pick(&[1, 2, 3, 4, 6, 7, 10, 11, 12, 14, 15]);
        let unknown = match self.unit.ete {
            true if self.random.one_in(8) => self.random.pick(&[Some(0), Some(25)]),
            _ => None,
        };
        match self.state.place {
            Place::At(address, thumb) => {
                let block = self.block(address, thumb);
                if block.is_empty() {
                    return;
                }
                let (to, _) = block[self.random.index(block.len())];
                self.exception_packet(unknown.unwrap_or(kind), false, to, thumb, unknown.is_some());
            }
            Place::Indirect | Place::NeedsTarget => {
                let (to, thumb) = self.target();
                self.exception_packet(kind, true, to, thumb, false);
            }
            Place::Lost => {
                let (to, thumb) = self.target();
                self.exception_packet(kind, false, to, thumb, false);
            }
            Place::NeedsAll => {}
        }
    }

    fn exception_packet(&mut self, kind: u8, target: bool, to: u64, thumb: bool, unknown: bool) {
        let context = (target && self.random.one_in(3)).then(|| self.new_context(false));
        let unknown = unknown && self.random.chance(128);
        let failed = kind == 0 && self.packets.in_transaction;
        if let Some(context) = context {
            self.state.context = context;
        }
        if target {
            self.state.place = Place::At(to, thumb);
        }
        if failed {
            self.fail_transaction();
        }
        self.p0();
        self.packets.exception(self.random, kind, target, to, thumb, context, unknown);
        self.state.branch = None;
        self.state.place = Place::NeedsTarget;
    }

    fn commit(&mut self, n: usize) {
        let n = n.min(self.uncommitted.len());
        if n == 0 {
            return;
        }
        self.packets.commit(n);
        self.committed(n);
    }

    fn committed(&mut self, n: usize) {
        self.uncommitted.drain(..n);
        self.cancellable = self.cancellable.min(self.uncommitted.len());
    }

    fn cycle_count(&mut self) {
        if self.counting {
            let n = self.packets.cycle_count(self.random, self.uncommitted.len());
            self.committed(n);
        }
    }

    fn cancel(&mut self) {
        if self.cancellable == 0 {
            return;
        }
        let n = self.random.between(1, self.cancellable);
        self.cancellable -= n;
        let left = self.uncommitted.len() - n;
        let restored = self.uncommitted.split_off(left).into_iter().next().flatten();
        let unseen = restored.is_none();
        self.state = restored.unwrap_or_else(|| State {
            place: Place::NeedsAll,
            stack: Vec::new(),
            branch: None,
            started: false,
            ..self.state.clone()
        });
        let corrects = !unseen
            && self.state.branch.is_some_and(|b| b.instruction.conditional)
            && self.random.chance(128);
        self.packets.cancel(self.random, n, corrects);
        if corrects {
            self.flip();
        }
    }

    fn mispredict(&mut self) {
        let Some(branch) = self.state.branch else { return };
        let possible = !taken_only(&branch.instruction) || !branch.taken;
        if possible {
            self.packets.mispredict(self.random);
            self.flip();
        }
    }

    fn flip(&mut self) {
        if let Some(branch) = self.state.branch {
            self.executed(branch.address, branch.instruction, !branch.taken, false);
        }
    }

    fn trace_on(&mut self) {
        if self.state.branch.is_some_and(|b| !b.taken && taken_only(&b.instruction)) {
            return;
        }
        self.packets.raw(&[0x04]);
        self.state.place = Place::NeedsAll;
        self.state.branch = None;
        self.state.stack.clear();
    }

    fn lost(&mut self) {
        self.packets.raw(&[0x00, self.random.pick(&[3, 5])]);
        self.packets.in_transaction = false;
        self.uncommitted.clear();
        self.cancellable = 0;
        self.state.place = Place::NeedsAll;
        self.state.branch = None;
        self.state.in_transaction = false;
        if self.unit.ete && self.random.one_in(4) {
            self.packets.raw(&[0x72]);
        }
        self.synchronise();
        self.packets.raw(&[0x04]);
    }

    fn q(&mut self) {
        let Place::At(start, thumb) = self.state.place else { return };
        if !self.q {
            return;
        }
        let (mut at, mut isa, mut count) = (start, self.isa(thumb), 0);
        let mut most = self.random.between(1, 6);
        let mut next = (start, thumb);
        while count < most {
            let Some(instruction) = self.code.memory.instruction(at, isa) else { break };
            count += 1;
            let after = at.wrapping_add(instruction.size.into()) & isa.address_mask();
            next = (after, isa == Isa::T32);
            let taken = !instruction.conditional || self.random.chance(128);
            match (instruction.kind, instruction.target) {
                (Kind::Indirect, _) if taken => {
                    next = self.target();
                    most = count;
                }
                (Kind::Branch, Some(target)) if taken => {
                    next = (target, instruction.target_isa == Isa::T32);
                }
                _ => {}
            }
            (at, isa) = (next.0, self.isa(next.1));
        }
        if count == 0 {
            return;
        }
        self.p0();
        let count = (!self.random.one_in(8)).then_some(count as u32);
        self.packets.q(self.random, count, next.0, next.1);
        self.state.branch = None;
        self.state.stack.clear();
        self.state.place = Place::At(next.0, next.1);
    }

    fn source_address(&mut self) {
        if !self.unit.ete {
            return;
        }
        if self.state.place == Place::Indirect && self.random.chance(128) {
            self.pop();
        }
        let (mut at, thumb) = match self.state.place {
            Place::At(at, thumb) => (at, thumb),
            // Execution continues at the source address.
            Place::Indirect if !self.unit.return_stack => self.target(),
            Place::Lost => self.target(),
            _ => return,
        };
        let (address, instruction) = loop {
            let block = self.block(at, thumb);
            let Some((address, instruction)) = block.last().copied() else { return };
            if !self.is_p0(&instruction) {
                return;
            }
            let skip = instruction.conditional && self.random.chance(100);
            if !skip {
                break (address, instruction);
            }
            at = address.wrapping_add(instruction.size.into());
        };
        self.p0();
        self.packets.source_address(self.random, address, thumb);
        self.executed(address, instruction, true, true);
        if instruction.kind == Kind::TransactionStart && self.random.chance(160) {
            self.start_transaction();
        }
    }

    fn start_transaction(&mut self) {
        if self.state.in_transaction {
            return;
        }
        self.packets.raw(&[0x0a]);
        if self.unit.transaction_start_is_p0 {
            self.p0();
        }
        self.packets.in_transaction = true;
        self.state.in_transaction = true;
    }

    fn end_transaction(&mut self) {
        if !self.state.in_transaction {
            return;
        }
        if self.random.chance(150) {
            self.packets.raw(&[0x0b]);
            self.packets.in_transaction = false;
            self.cancellable = 0;
            self.state.in_transaction = false;
            return;
        }
        self.packets.failure();
        self.fail_transaction();
        self.state.place = Place::NeedsTarget;
        self.state.context = self.new_context(true);
        let context = self.state.context;
        let (address, thumb) = self.target();
        self.packets.address(self.random, address, thumb, Some(context));
        self.state.place = Place::At(address, thumb);
    }

    fn fail_transaction(&mut self) {
        self.packets.in_transaction = false;
        self.state.in_transaction = false;
        self.state.branch = None;
        self.state.stack.clear();
        self.cancellable = 0;
    }
}
