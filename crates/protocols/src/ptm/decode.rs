//! Packets to elements.

mod fast_path;
mod returns;

use tracewright_base::{
    Block, BlockCache, Context, Counted, Decode, Element, End, Exception, Fault, Feed, Gap,
    Inconsistency, Instruction, Isa, Kind, Last, Pc, Range, Role, Security, Sink, Spanned, Start,
};

use super::config::Config;
use super::history::History;
use super::packet::{Branch, Info, Packet, Reason, Sync, Timestamp};
use crate::look_up::may_follow;

pub use returns::Returns;

/// Packets to elements. By default nothing is known.
///
/// The decoder reports nothing before the first I-sync, nor between undecodable bytes and the next
/// I-sync.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoder {
    phase: Phase,
    history: History,
    /// The next instruction; `None`: unknown until an address comes.
    pc: Option<Place>,
    context: Reported,
    returns: Returns,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No packet yet.
    #[default]
    Fresh,
    /// Waiting for an I-sync.
    Waiting,
    /// Following the program.
    Following,
}

/// A code address and its instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    address: u32,
    isa: Isa,
}

/// The context as it was last reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reported {
    context_id: Option<u32>,
    vmid: Option<u8>,
    non_secure: Option<bool>,
    hyp: bool,
}

/// The longest straight code that one waypoint traces, in bytes. A unit sends a waypoint update
/// after 4096 bytes, so a longer run indicates a wrong image. (IHI 0035, "Large blocks of
/// instructions")
const LONGEST_RUN: u32 = 1 << 16;

/// The maximum number of atoms in one byte: [`Code::max_expansion`] instructions are divided among
/// them. (IHI 0035, "Atom packets")
///
/// [`Code::max_expansion`]: tracewright_base::Code::max_expansion
const MAX_ATOMS: u32 = 5;

/// The exception number of entry to Debug state. (IHI 0035, "Exception field")
const DEBUG_ENTRY: u16 = 1;

/// The longest distance of a waypoint update, in bytes.
const MAX_UPDATE_DISTANCE: u32 = 1 << 20;

impl Decode<Config, Packet> for Decoder {
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<&Packet>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let Spanned { at, packet, .. } = p;
        // Most packets are atoms, which neither use nor change the history.
        if let (Packet::Atoms(atoms), Phase::Following) = (packet, self.phase) {
            for taken in atoms.iter() {
                if self.pc.is_none() {
                    break;
                }
                self.atom(at, taken, Counted::UNKNOWN, config, code, sink);
            }
            return;
        }
        if self.phase == Phase::Fresh {
            self.phase = Phase::Waiting;
            sink.element(at, Element::Gap(Gap::Start));
        }
        let isa = self.history.isa();
        self.history.take(packet, config);
        if self.phase == Phase::Waiting {
            match *packet {
                Packet::Sync(sync) => self.sync(at, &sync, isa, config, code, sink),
                Packet::ContextId(id) => self.context.context_id = Some(id),
                Packet::Vmid(vmid) if config.vmid() => self.context.vmid = Some(vmid),
                _ => {}
            }
            return;
        }
        match *packet {
            Packet::Align | Packet::Ignore | Packet::Atoms(_) => {}
            Packet::Sync(sync) => self.sync(at, &sync, isa, config, code, sink),
            Packet::TimedAtom { taken, cycles } => {
                self.atom(at, taken, Counted::of(cycles), config, code, sink);
            }
            Packet::Branch(branch) => self.branch(at, &branch, config, code, sink),
            Packet::Waypoint(_) => self.waypoint(at, code, sink),
            Packet::Trigger => sink.element(at, Element::Trigger),
            Packet::ContextId(id) => {
                if self.context.context_id != Some(id) {
                    self.context.context_id = Some(id);
                    self.report_context(at, code, sink);
                }
            }
            Packet::Vmid(_) if !config.vmid() => {
                sink.element(at, Element::Inconsistency(Inconsistency::Unexpected));
            }
            Packet::Vmid(vmid) => {
                if self.context.vmid != Some(vmid) {
                    self.context.vmid = Some(vmid);
                    self.report_context(at, code, sink);
                }
            }
            Packet::Timestamp(Timestamp { cycles, .. }) => {
                report_cycles(at, cycles, sink);
                if let Some(value) = self.history.time(config) {
                    sink.element(at, Element::Timestamp { value, cycles: None });
                }
            }
            Packet::ExceptionReturn => sink.element(at, Element::ExceptionReturn),
        }
    }

    #[inline]
    fn packets<K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        self.fast_path(feed, config, code, sink);
    }

    fn bad<S: Sink>(&mut self, at: u64, fault: Fault, sink: &mut S) {
        match self.phase {
            Phase::Fresh => sink.element(at, Element::Gap(Gap::Start)),
            // No instruction follows, so nothing is lost.
            Phase::Following if fault == Fault::Truncated => return,
            Phase::Following => sink.element(at, Element::Gap(Gap::BadPacket)),
            Phase::Waiting => {}
        }
        *self = Decoder { phase: Phase::Waiting, ..Decoder::default() };
    }

    // No element waits.
    fn finish<K: BlockCache, S: Sink>(&mut self, _: u64, _: &Config, _: &mut K, _: &mut S) {}
}

impl Decoder {
    /// The state of decompression.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Processes an I-sync. `isa` is the instruction set before it.
    fn sync<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        sync: &Sync,
        isa: Option<Isa>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let place = Place { address: sync.address, isa: sync.isa() };
        let starts = self.phase == Phase::Waiting || sync.reason != Reason::Periodic;
        if starts {
            report_start(at, sync, config, sink);
        } else if self.pc.is_some_and(|pc| pc != place) {
            sink.element(at, Element::Inconsistency(Inconsistency::AddressNotReached));
        }
        self.phase = Phase::Following;
        if !self.returns.is_empty() {
            self.returns = Returns::default();
        }
        self.pc = Some(place);
        let before = self.context;
        self.context.non_secure = Some(sync.non_secure);
        self.context.hyp = sync.hyp;
        if sync.context_id.is_some() {
            self.context.context_id = sync.context_id;
        }
        let differs = sync.context_id.is_some() || isa != Some(place.isa);
        if self.context != before || starts && differs {
            self.report_context(at, code, sink);
        }
    }

    #[inline]
    fn atom<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        taken: bool,
        cycles: Counted,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let Some((last, next)) = self.run(at, taken, cycles, code, sink) else {
            return;
        };
        if last.kind != Kind::Indirect || !taken {
            self.follow(&last, next, taken, config);
            return;
        }
        self.arrive(at, &last, next, config, sink);
    }

    /// Sets the position after indirect branch `last`, before `next`, whose packet is an E atom.
    #[inline]
    fn arrive<S: Sink>(
        &mut self,
        at: u64,
        last: &Instruction,
        next: Place,
        config: &Config,
        sink: &mut S,
    ) {
        // The target is untraced only where the return stack predicts it.
        let target = if config.uses_return_stack() { self.returns.pop() } else { None };
        self.pc = target.map(|(address, isa)| Place { address, isa });
        match target {
            Some(_) => self.call(last, next, config),
            None => self.inconsistency(at, Inconsistency::ReturnStackEmpty, sink),
        }
    }

    fn branch<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        branch: &Branch,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if let Some(number) = branch.exception() {
            report_cycles(at, branch.cycles, sink);
            sink.element(
                at,
                Element::Exception(Exception {
                    number,
                    return_address: self.pc.map(|pc| pc.address.into()),
                    also_target: false,
                    tail_chain: false,
                }),
            );
        } else {
            let cycles = branch.cycles.map_or(Counted::UNKNOWN, Counted::of);
            if let Some((last, next)) = self.run(at, true, cycles, code, sink) {
                self.call(&last, next, config);
                self.check_target(at, &last, next, sink);
            }
        }
        // Entry to Debug state: the address has no meaning, and an I-sync follows.
        self.pc = if branch.exception() == Some(DEBUG_ENTRY) { None } else { self.traced() };
        if let Some(Info { non_secure, hyp, .. }) = branch.info {
            let before = self.context;
            self.context.non_secure = Some(non_secure);
            self.context.hyp = hyp;
            if self.context != before {
                self.report_context(at, code, sink);
            }
        }
    }

    /// Reports a traced address to which `last`, before `next`, does not lead: the program image is
    /// not what was executed. What it calls is not known either.
    fn check_target<S: Sink>(&mut self, at: u64, last: &Instruction, next: Place, sink: &mut S) {
        let expected = match last.kind {
            Kind::Indirect => return,
            Kind::Branch => {
                last.target.map(|target| Place { address: target as u32, isa: last.target_isa })
            }
            _ => Some(next),
        };
        if let (Some(expected), Some(traced)) = (expected, self.traced())
            && expected != traced
        {
            self.inconsistency(at, Inconsistency::AddressNotReached, sink);
        }
    }

    /// The last traced address, where all of it is known.
    #[inline]
    fn traced(&self) -> Option<Place> {
        Some(Place { address: self.history.address()?, isa: self.history.isa()? })
    }

    /// Walks up to and including the instruction at the address of a waypoint update.
    fn waypoint<K: BlockCache, S: Sink>(&mut self, at: u64, code: &mut K, sink: &mut S) {
        let (Some(mut pc), Some(target)) = (self.pc, self.history.address()) else {
            return;
        };
        let mut run = Run::at(pc);
        if target.wrapping_sub(pc.address) > MAX_UPDATE_DISTANCE {
            self.inconsistency(at, Inconsistency::AddressNotReached, sink);
            return;
        }
        if !walkable(pc.isa) {
            self.inconsistency(at, Inconsistency::UnsupportedIsa, sink);
            return;
        }
        // Whole blocks before the one that holds the target, then single instructions.
        let limit = code.max_expansion();
        while let Ok(&block) = code.block(self.space(pc)) {
            let end = (block.start as u32).wrapping_add(block.bytes);
            let first = run.instructions == 0;
            if run.instructions >= limit || !first && !may_follow(at, block.instructions, code) {
                run.report(at, true, Counted::UNKNOWN, sink);
                self.inconsistency(at, Inconsistency::ExpansionLimit, sink);
                return;
            }
            let passes = match block.end {
                End::Limit => true,
                End::Waypoint => !is_branch(block.last.kind),
                End::NoCode | End::Invalid => false,
            };
            if target.wrapping_sub(pc.address) < block.bytes || !passes {
                break;
            }
            run.add(&block);
            pc.address = end;
        }
        loop {
            let instruction = match code.instruction(self.space(pc)) {
                Ok(instruction) => instruction,
                Err(miss) => {
                    run.report(at, true, Counted::UNKNOWN, sink);
                    self.stop(at, self.space(pc).unreadable(miss.address), sink);
                    return;
                }
            };
            let here = pc.address;
            run.step(&instruction);
            pc.address = here.wrapping_add(instruction.size.into());
            if here == target {
                break;
            }
            let beyond = target.wrapping_sub(pc.address) > MAX_UPDATE_DISTANCE;
            let leaves = matches!(instruction.kind, Kind::Branch | Kind::Indirect);
            if beyond || leaves || instruction.size == 0 {
                // The program has a waypoint before the target, or no instruction there.
                run.report(at, true, Counted::UNKNOWN, sink);
                self.inconsistency(at, Inconsistency::AddressNotReached, sink);
                return;
            }
            if run.instructions >= limit {
                run.report(at, true, Counted::UNKNOWN, sink);
                self.inconsistency(at, Inconsistency::ExpansionLimit, sink);
                return;
            }
        }
        run.report(at, true, Counted::UNKNOWN, sink);
        self.pc = Some(pc);
    }

    /// Walks to the next waypoint and reports the range. Returns the waypoint and the address after
    /// it; `None` where the program cannot be followed, and then `pc` is unknown.
    #[inline]
    fn run<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        taken: bool,
        cycles: Counted,
        code: &mut K,
        sink: &mut S,
    ) -> Option<(Instruction, Place)> {
        let Some(mut pc) = self.pc else {
            report_cycles(at, cycles.get(), sink);
            return None;
        };
        if !walkable(pc.isa) {
            report_cycles(at, cycles.get(), sink);
            self.inconsistency(at, Inconsistency::UnsupportedIsa, sink);
            return None;
        }
        let mut run = Run::at(pc);
        let limit = code.max_expansion() / MAX_ATOMS;
        let stop = loop {
            let block = match code.block(self.space(pc)) {
                Ok(block) => block,
                Err(miss) => break self.space(pc).unreadable(miss.address),
            };
            run.add(block);
            pc.address = block.next() as u32;
            match block.end {
                End::Waypoint => {
                    let last = block.last;
                    run.report(at, taken, cycles, sink);
                    if !taken && !last.conditional && is_branch(last.kind) {
                        self.inconsistency(at, Inconsistency::UnconditionalNotTaken, sink);
                        return None;
                    }
                    return Some((last, pc));
                }
                End::NoCode => break self.space(pc).unreadable(pc.address.into()),
                End::Limit if run.bytes >= LONGEST_RUN => {
                    break Element::Inconsistency(Inconsistency::AddressNotReached);
                }
                End::Limit if run.instructions >= limit => {
                    break Element::Inconsistency(Inconsistency::ExpansionLimit);
                }
                End::Limit => {
                    let followed = block.instructions;
                    if !may_follow(at, followed, code) {
                        break Element::Inconsistency(Inconsistency::ExpansionLimit);
                    }
                }
                End::Invalid => break Element::Inconsistency(Inconsistency::InvalidOpcode),
            }
        };
        run.report(at, true, Counted::UNKNOWN, sink);
        self.stop(at, stop, sink);
        report_cycles(at, cycles.get(), sink);
        None
    }

    /// Moves past a waypoint whose target is in the program.
    #[inline]
    fn follow(&mut self, last: &Instruction, next: Place, taken: bool, config: &Config) {
        self.pc = Some(match last.target {
            Some(target) if taken && last.kind == Kind::Branch => {
                Place { address: target as u32, isa: last.target_isa }
            }
            _ => next,
        });
        if taken && last.kind == Kind::Branch {
            self.call(last, next, config);
        }
    }

    /// Pushes the return address of a branch with link on the return stack.
    #[inline]
    fn call(&mut self, last: &Instruction, next: Place, config: &Config) {
        if last.role == Role::Call && is_branch(last.kind) && config.uses_return_stack() {
            self.returns.push(next.address, next.isa);
        }
    }

    fn space(&self, place: Place) -> Pc {
        Pc { address: place.address.into(), isa: place.isa, space: self.context(place.isa).space() }
    }

    fn context(&self, isa: Isa) -> Context {
        Context {
            context_id: self.context.context_id,
            vmid: self.context.vmid.map(u32::from),
            el: if self.context.hyp { Some(2) } else { None },
            security: self
                .context
                .non_secure
                .map(|non_secure| if non_secure { Security::NonSecure } else { Security::Secure }),
            bits64: false,
            isa,
        }
    }

    fn report_context<K: BlockCache, S: Sink>(&self, at: u64, code: &mut K, sink: &mut S) {
        let isa = self.pc.map(|pc| pc.isa).or(self.history.isa()).unwrap_or(Isa::A32);
        let context = self.context(isa);
        code.enter_context(&context);
        sink.element(at, Element::Context(context));
    }

    fn inconsistency<S: Sink>(&mut self, at: u64, inconsistency: Inconsistency, sink: &mut S) {
        self.stop(at, Element::Inconsistency(inconsistency), sink);
    }

    /// The program cannot be followed, for the reason that `element` gives.
    #[cold]
    fn stop<S: Sink>(&mut self, at: u64, element: Element, sink: &mut S) {
        self.lose_position();
        sink.element(at, element);
    }

    /// The next instruction is not known. Calls and returns up to the next address are not known
    /// either, so the return stack of the unit may differ from the one here.
    fn lose_position(&mut self) {
        self.pc = None;
        self.returns = Returns::default();
    }
}

/// Straight code that becomes a range.
struct Run {
    start: u32,
    bytes: u32,
    instructions: u32,
    last: Instruction,
}

impl Run {
    fn at(pc: Place) -> Self {
        Run { start: pc.address, bytes: 0, instructions: 0, last: Instruction::default() }
    }

    fn add(&mut self, block: &Block) {
        self.bytes = self.bytes.saturating_add(block.bytes);
        self.instructions = self.instructions.saturating_add(block.instructions);
        self.last = block.last;
    }

    fn step(&mut self, instruction: &Instruction) {
        self.bytes = self.bytes.saturating_add(instruction.size.into());
        self.instructions = self.instructions.saturating_add(1);
        self.last = *instruction;
    }

    /// Reports the range, unless it is empty.
    fn report<S: Sink>(&self, at: u64, taken: bool, cycles: Counted, sink: &mut S) {
        if self.instructions > 0 {
            sink.element(
                at,
                Element::Range(Range {
                    start: self.start.into(),
                    bytes: self.bytes,
                    instructions: self.instructions,
                    cycles,
                    last: Last::new(&self.last, taken),
                }),
            );
        }
    }
}

const fn is_branch(kind: Kind) -> bool {
    matches!(kind, Kind::Branch | Kind::Indirect)
}

/// Whether code of this instruction set can be followed: not ThumbEE and not Jazelle.
const fn walkable(isa: Isa) -> bool {
    matches!(isa, Isa::A32 | Isa::T32)
}

/// Reports that tracing starts with `sync`, and the cycles before it.
#[inline]
fn report_start<S: Sink>(at: u64, sync: &Sync, config: &Config, sink: &mut S) {
    // From PFTv1.1 the count is not valid after lost trace or Debug state. (IHI 0035,
    // "Cycle-accurate tracing")
    let lost = matches!(sync.reason, Reason::Overflow | Reason::DebugExit)
        && config.minor_version() != Some(0);
    match sync.cycles {
        Some(_) if lost => sink.element(at, Element::Cycles(None)),
        cycles => report_cycles(at, cycles, sink),
    }
    sink.element(
        at,
        Element::TraceOn(match sync.reason {
            Reason::Periodic | Reason::TraceOn => Start::Normal,
            Reason::Overflow => Start::Overflow,
            Reason::DebugExit => Start::Debug,
        }),
    );
}

fn report_cycles<S: Sink>(at: u64, cycles: Option<u32>, sink: &mut S) {
    if cycles.is_some() {
        sink.element(at, Element::Cycles(cycles));
    }
}
