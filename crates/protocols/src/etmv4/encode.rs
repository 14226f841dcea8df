//! A trace unit in software: the steps of a processor to packets of an ETMv4 or an ETE.
//!
//! 1. Steps become P0 elements here: filters, addresses, exceptions.
//! 2. `speculation` resolves them, and adds the elements of simulated speculative execution.
//! 3. `Compressor` and `Waiting` choose the shortest packets.

mod atoms;
mod compress;
mod filter;
mod packets;
mod resolve;
mod returns;
mod settings;
mod speculation;
mod usual;

use tracewright_base::{
    Cause, Context, Encode, Isa, Kind, Retired, Role, Step, Taken, Transaction,
};

use self::atoms::Waiting;
use self::compress::{Compressor, selector};
use self::resolve::Counter;
use self::returns::Returns;
pub use self::settings::Settings;
use self::speculation::Random;
use super::packet::{Exception, Packet, Q, SubIsa};
use super::{Config, QSupport};

/// What has to be traced before the next instruction.
mod needs {
    /// Alignment Sync and Trace Info.
    pub(super) const SYNC: u8 = 1;
    /// Trace On.
    pub(super) const TRACE_ON: u8 = 2;
    /// The address of the next instruction.
    pub(super) const ADDRESS: u8 = 4;
    /// The context.
    pub(super) const CONTEXT: u8 = 8;
    /// The address is the target of an indirect branch or the vector of an exception.
    pub(super) const TARGET: u8 = 16;
    /// Address and context for decoders that start at the last Trace Info.
    pub(super) const START_POINT: u8 = 32;
    /// Exception Return. (ETMv4)
    pub(super) const RETURN: u8 = 64;
    /// What the first instruction needs after tracing was off.
    pub(super) const START: u8 = TRACE_ON | ADDRESS | CONTEXT;
}

/// Encodes for an ETMv4 or an ETE.
#[derive(Clone, Debug)]
pub struct Encoder {
    settings: Settings,
    compressor: Compressor,
    waiting: Waiting,
    /// N atoms that a source address may make superfluous.
    deferred: u32,
    returns: Returns,
    counter: Counter,
    random: Random,
    /// Kinds of instruction that are P0, by number.
    p0: u16,
    /// The filter excludes some instructions.
    filtered: bool,
    /// Neither the filter nor the FIFO nor Q elements depend on every instruction.
    plain: bool,
    /// Each branch is traced by an atom with its final value.
    certain: bool,
    /// The maximum number of bytes between two synchronisations.
    period: u64,
    /// Address of the next instruction, if no other step is before it.
    next: u64,
    next_isa: Isa,
    /// The next instruction needs more than a comparison of its address.
    busy: bool,
    /// `last` is a P0 instruction that is not traced yet; an exception may cancel it.
    pending: bool,
    last: Retired,
    /// Tracing was not switched off.
    on: bool,
    /// The filter includes the last instruction.
    through: bool,
    /// The next instruction may have any address: its address is traced.
    jumped: bool,
    needs: u8,
    /// P0 elements before the address of [`needs::START_POINT`].
    late: u8,
    /// The current context.
    context: Context,
    /// The context that was traced last.
    traced: Option<Context>,
    /// `context` may differ from `traced`.
    moved: bool,
    in_transaction: bool,
    /// Instructions and P0 instructions left of a Q element.
    q: Option<Region>,
    /// The last timestamp.
    time: Option<u64>,
    /// Bytes since the last Alignment Sync.
    bytes: u64,
    /// The FIFO, if it has a limit: bytes in it, and instructions since it output one.
    level: u32,
    drained: u32,
    /// The FIFO is full: packets are lost.
    lost: bool,
}

/// The instructions of a Q element.
#[derive(Clone, Copy, Debug, Default)]
struct Region {
    instructions: u32,
    p0_left: u8,
    counted: bool,
}

impl Encode<Config, Packet> for Encoder {
    type Settings = Settings;

    fn new(config: &Config, settings: &Settings) -> Self {
        let waypoints = config.waypoints();
        let kinds = [
            Kind::Branch,
            Kind::Indirect,
            Kind::Isb,
            Kind::Barrier,
            Kind::Wait,
            Kind::TimedWait,
            Kind::TransactionStart,
        ];
        let p0 = kinds.iter().filter(|kind| waypoints.has(**kind)).map(|k| 1 << *k as u16).sum();
        let filtered = !settings.filter.is_open();
        let depth = if config.return_stack() { settings.return_stack_depth } else { 0 };
        Encoder {
            compressor: Compressor::default(),
            waiting: Waiting::default(),
            deferred: 0,
            returns: Returns::new(depth),
            counter: Counter::new(config, settings),
            random: Random::new(settings.seed),
            p0,
            filtered,
            plain: !filtered && settings.fifo == 0 && settings.q == 0,
            certain: settings.speculation == 0 && settings.sources == 0,
            period: if settings.period == 0 { u64::MAX } else { settings.period },
            next: 0,
            next_isa: Isa::default(),
            busy: true,
            pending: false,
            last: Retired::default(),
            on: true,
            through: true,
            jumped: true,
            needs: needs::SYNC | needs::START,
            late: 0,
            context: Context::default(),
            traced: None,
            moved: true,
            in_transaction: false,
            q: None,
            time: None,
            bytes: 0,
            level: 0,
            drained: 0,
            lost: false,
            settings: settings.clone(),
        }
    }

    #[inline]
    fn step(&mut self, step: &Step, config: &Config, out: &mut impl Extend<Packet>) {
        if let Step::Retired(retired) = step {
            return self.retired(retired, config, out);
        }
        self.other(step, config, out);
    }

    fn finish(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.settle(config, out);
        self.stop(config, out);
        if self.lost {
            self.lost = false;
            self.put(Packet::Overflow, config, out);
        } else if self.counter.has_uncommitted() && self.settings.discard_at_end {
            self.put(Packet::Discard, config, out);
        } else {
            self.commit_all(config, out);
        }
    }
}

impl Encoder {
    #[inline]
    fn retired(&mut self, r: &Retired, config: &Config, out: &mut impl Extend<Packet>) {
        let isa = r.instruction.isa;
        if (self.busy || r.address != self.next || isa != self.next_isa)
            && !self.before(r, config, out)
        {
            return;
        }
        let after = r.address.wrapping_add(r.instruction.size.into()) & isa.address_mask();
        if self.p0 >> r.instruction.kind as u16 & 1 == 0 {
            self.next = after;
            self.next_isa = isa;
            return;
        }
        self.last = *r;
        self.pending = true;
        self.busy = true;
        self.next = r.next;
        self.next_isa = r.next_isa;
    }

    /// Traces what is before an instruction: the branch to it, and what an analyzer needs if
    /// execution is not sequential. Returns whether the instruction is traced.
    #[inline]
    fn before(&mut self, r: &Retired, config: &Config, out: &mut impl Extend<Packet>) -> bool {
        let boundary = self.settle(config, out);
        let isa = r.instruction.isa;
        let straight = r.address == self.next && isa == self.next_isa;
        if straight
            && self.plain
            && self.on
            && self.needs == 0
            && !self.moved
            && !self.jumped
            && self.bytes < self.period
        {
            self.busy = false;
            return true;
        }
        self.arrival(r, boundary, config, out)
    }

    /// The slow path of [`before`](Self::before).
    fn arrival(
        &mut self,
        r: &Retired,
        boundary: bool,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) -> bool {
        let isa = r.instruction.isa;
        self.arrive(r.address, isa, config, out);
        if self.filtered {
            let through = self.settings.filter.includes(r.address, &self.context);
            if self.on && self.through && !through {
                self.stop(config, out);
                self.needs |= needs::START;
            }
            self.through = through;
        }
        if !self.on || !self.through {
            (self.next, self.next_isa) = (r.next, r.next_isa);
            return false;
        }
        self.drain(config, out);
        if boundary && self.q.is_none() && self.bytes >= self.period {
            self.needs |= needs::SYNC;
        }
        self.announce(config, out);
        self.q_elements(boundary, config);
        self.busy = self.filtered || self.q.is_some() || self.settings.fifo > 0;
        true
    }

    /// Execution continues at `address`. If no traced element leads there, an analyzer needs a new
    /// start.
    fn arrive(&mut self, address: u64, isa: Isa, config: &Config, out: &mut impl Extend<Packet>) {
        if (address, isa) != (self.next, self.next_isa) || self.jumped {
            if self.jumped {
                self.needs |= needs::ADDRESS;
            } else if self.on && self.through {
                self.stop(config, out);
                self.needs |= needs::START;
            }
            self.jumped = false;
            (self.next, self.next_isa) = (address, isa);
        }
        let bits64 = isa == Isa::A64;
        if self.context.bits64 != bits64 {
            self.end_q(config, out);
            self.context.bits64 = bits64;
            self.moved = true;
        }
    }

    /// Traces the pending P0 instruction. Returns whether there was one.
    #[inline]
    fn settle(&mut self, config: &Config, out: &mut impl Extend<Packet>) -> bool {
        if !core::mem::take(&mut self.pending) {
            return false;
        }
        if self.q.is_some() {
            self.settle_q(config, out);
        } else {
            self.trace(config, out);
        }
        true
    }

    /// Traces `last`.
    #[inline]
    fn trace(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        let Retired { address, next, next_isa, taken, instruction: i } = self.last;
        let after = address.wrapping_add(i.size.into()) & i.isa.address_mask();
        let first = if self.certain {
            self.atom(taken, config, out);
            taken
        } else {
            self.uncertain(config, out)
        };
        self.late = self.late.saturating_sub(1);
        // An analyzer that starts at the last Trace Info does not have an address yet.
        let has_address = self.needs & needs::START_POINT == 0;
        if first && i.role == Role::Call && has_address {
            self.returns.push(after, selector(i.isa) == SubIsa::Is1);
        }
        let broadcast = taken && config.branch_broadcast() && self.settings.broadcasts(address);
        match (taken, i.kind, i.target) {
            (true, Kind::Branch, Some(target)) => {
                if broadcast || (target, i.target_isa) != (next, next_isa) {
                    self.needs |= needs::ADDRESS;
                }
            }
            (true, Kind::Branch | Kind::Indirect, _) => {
                let is1 = selector(next_isa) == SubIsa::Is1;
                if broadcast || !has_address || !self.returns.matches(next, is1) {
                    self.needs |= needs::ADDRESS | needs::TARGET;
                }
                // In the M profile only the processor knows which branch returns from an exception.
                let is_sent = !config.is_ete() && !config.microcontroller();
                if i.role == Role::ExceptionReturn && is_sent {
                    self.needs |= needs::RETURN;
                }
            }
            _ => {
                if (after, i.isa) != (next, next_isa) {
                    self.needs |= needs::ADDRESS;
                }
            }
        }
        self.resolve(config, out);
    }

    /// Traces address and context as `needs` requires.
    fn announce(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        if self.needs & needs::SYNC != 0 {
            self.synchronise(config, out);
        }
        let changed = core::mem::take(&mut self.moved) && !self.is_context_traced();
        if self.needs == 0 && !changed {
            return;
        }
        if self.needs & needs::TRACE_ON != 0 {
            self.put(Packet::TraceOn, config, out);
            self.returns.clear();
        }
        let start_point = self.needs & needs::START_POINT != 0
            && (self.late == 0 || self.needs & (needs::ADDRESS | needs::CONTEXT) != 0 || changed);
        let context = start_point || changed || self.needs & needs::CONTEXT != 0;
        let address = start_point || self.needs & needs::ADDRESS != 0;
        self.address(address, context, config, out);
        if self.needs & needs::RETURN != 0 {
            self.put(Packet::ExceptionReturn, config, out);
        }
        self.needs &= if start_point { 0 } else { needs::START_POINT };
    }

    /// Whether the visible part of the context has been traced.
    fn is_context_traced(&self) -> bool {
        let (vmid, id) = self.counter.identifiers;
        let shown = |context: &Context| {
            let vmid = context.vmid.filter(|_| vmid).unwrap_or(0);
            let id = context.context_id.filter(|_| id).unwrap_or(0);
            (compress::plain(context), vmid, id)
        };
        self.traced.is_some_and(|traced| shown(&traced) == shown(&self.context))
    }

    fn other(&mut self, step: &Step, config: &Config, out: &mut impl Extend<Packet>) {
        match *step {
            Step::Retired(_)
            | Step::Access(_)
            | Step::Signals(_)
            | Step::SoftwareWrite(_)
            | Step::DwtEvent(_)
            | Step::Trigger => {}
            Step::Exception(taken) => self.exception(&taken, config, out),
            Step::Context(context) => {
                // The context changes after the executed instructions.
                self.end_q(config, out);
                self.context = Context { bits64: self.context.bits64, ..context };
                self.moved = true;
                self.busy = true;
            }
            Step::Cycles(cycles) => self.counter.count(cycles),
            Step::Timestamp(value) => {
                if self.on && config.timestamps() && config.timestamp_bits() > 0 {
                    self.settle(config, out);
                    self.start(config, out);
                    self.timestamp(value, config, out);
                    self.time = Some(value);
                }
            }
            Step::Events(events) => {
                let events = events & self.settings.events & ((1 << config.events()) - 1);
                if self.on && events != 0 {
                    self.settle(config, out);
                    self.start(config, out);
                    self.put(Packet::Event(events), config, out);
                }
            }
            Step::Transaction(transaction) => self.transaction(transaction, config, out),
            Step::Instrumentation { el, value } => {
                let enabled =
                    config.is_ete() && config.version() >= 0x53 && config.trcconfigr >> 18 & 1 != 0;
                if self.on && enabled {
                    self.settle(config, out);
                    self.start(config, out);
                    self.put(Packet::Instrumentation { el, value }, config, out);
                }
            }
            Step::Off => {
                self.settle(config, out);
                self.stop(config, out);
                self.commit_all(config, out);
                if self.on {
                    // The end of a transaction is not traced.
                    self.discard_transaction(config, out);
                }
                self.on = false;
                self.busy = true;
            }
            Step::On => {
                if !self.on {
                    self.needs |= needs::START;
                    // The start of a transaction was not traced.
                    self.discard_transaction(config, out);
                }
                self.on = true;
                self.busy = true;
            }
            Step::Halted => {
                let halt = Taken {
                    cause: Cause::Halt,
                    return_address: self.next,
                    return_isa: self.next_isa,
                    target: self.next,
                    target_isa: self.next_isa,
                    value: None,
                    cancels: false,
                };
                // Before the first traced element the address is not known.
                if !self.jumped && self.needs & needs::TRACE_ON == 0 {
                    self.exception(&halt, config, out);
                    self.commit_all(config, out);
                }
                self.needs = self.needs & needs::SYNC | needs::START;
                self.jumped = true;
            }
            Step::Overflow => {
                self.pending = false;
                self.overflow(config, out);
            }
        }
    }

    /// Before the first packet that does not concern the program flow.
    fn start(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        if self.needs & needs::SYNC != 0 {
            self.synchronise(config, out);
        }
    }

    fn exception(&mut self, e: &Taken, config: &Config, out: &mut impl Extend<Packet>) {
        if e.cancels {
            // The last retired instruction is executed again.
            self.pending = false;
            if let Some(q) = &mut self.q {
                q.instructions = q.instructions.saturating_sub(1);
            }
            self.q = self.q.filter(|q| q.instructions > 0);
            (self.next, self.next_isa) = (e.return_address, e.return_isa);
        }
        self.settle(config, out);
        self.end_q(config, out);
        self.busy = true;
        if self.on && self.through {
            self.arrive(e.return_address, e.return_isa, config, out);
            let number = number(e.cause, config);
            let unknown = config.is_ete() && number == Exception::PE_RESET;
            let target = needs::ADDRESS | needs::TARGET;
            let shared = self.settings.shared_address
                && !unknown
                && self.needs == target
                && (!self.moved || self.is_context_traced());
            if !shared {
                self.announce(config, out);
            }
            let exception = Exception {
                number,
                also_target: shared,
                unknown_address: unknown,
                fault_pending: false,
            };
            self.put(Packet::Exception(exception), config, out);
            if !unknown {
                self.address(true, false, config, out);
            }
            self.needs = self.needs & needs::START_POINT | target;
            self.added(1);
            self.resolve(config, out);
        }
        (self.next, self.next_isa) = (e.target, e.target_isa);
    }

    /// Inside a transaction that is traced in part: the next Trace Info packet reports it.
    fn discard_transaction(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        // Before the first synchronisation nothing is traced that could be discarded.
        if self.in_transaction && self.needs & needs::SYNC == 0 {
            self.put(Packet::Discard, config, out);
            self.needs |= needs::SYNC;
        }
    }

    fn transaction(
        &mut self,
        transaction: Transaction,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        if !config.is_ete() || !self.on {
            self.in_transaction = transaction == Transaction::Start;
            self.jumped |= transaction == Transaction::Failure;
            return;
        }
        self.settle(config, out);
        self.end_q(config, out);
        self.start(config, out);
        self.busy = true;
        match transaction {
            Transaction::Inside => self.in_transaction = true,
            // A unit traces no element for it.
            Transaction::Cancelled => self.in_transaction = false,
            Transaction::Start => {
                self.in_transaction = true;
                self.put(Packet::TransactionStart, config, out);
                self.added(config.transaction_start_is_p0().into());
            }
            Transaction::Commit => {
                self.in_transaction = false;
                self.put(Packet::TransactionCommit, config, out);
            }
            Transaction::Failure => {
                self.in_transaction = false;
                let failure = Exception {
                    number: Exception::TRANSACTION_FAILURE,
                    also_target: false,
                    unknown_address: true,
                    fault_pending: false,
                };
                self.put(Packet::Exception(failure), config, out);
                // Whether an analyzer pops a return that failed with the transaction is not
                // specified.
                self.returns.clear();
                // Execution continues after TSTART, or at the address that it specifies.
                self.jumped = true;
            }
        }
    }

    /// Tracing stops: the traced elements are completed.
    fn stop(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.end_q(config, out);
        let target = needs::ADDRESS | needs::TARGET;
        if self.on && self.through && self.needs & (needs::START | target) == target {
            self.announce(config, out);
        }
        self.flush(config, out);
        self.returns.clear();
    }

    /// The unit lost its elements; the next instruction starts again.
    fn overflow(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.lost = false;
        self.waiting = Waiting::default();
        self.deferred = 0;
        self.q = None;
        self.returns.clear();
        self.counter.overflow();
        if self.traced.is_some() || self.needs & needs::SYNC == 0 {
            self.put(Packet::Overflow, config, out);
        }
        self.traced = None;
        self.needs = needs::SYNC | needs::START;
        self.late = 0;
        self.busy = true;
    }

    /// Outputs bytes of the FIFO, and starts again if trace was lost and the FIFO has space.
    fn drain(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        if self.settings.fifo == 0 {
            return;
        }
        self.drained += 1;
        if self.drained >= self.settings.fifo_drain {
            self.drained = 0;
            self.level = self.level.saturating_sub(1);
        }
        if self.lost && self.level <= self.settings.fifo / 2 {
            self.overflow(config, out);
        }
    }

    /// Begins a Q element if one is due, at the start of a block; counts instructions.
    fn q_elements(&mut self, boundary: bool, config: &Config) {
        if let Some(q) = &mut self.q {
            q.instructions += 1;
            return;
        }
        let possible = config.q_elements() & 1 != 0 && config.q_support() != QSupport::None;
        if self.settings.q == 0 || !boundary || !possible || !self.random.often(self.settings.q) {
            return;
        }
        let counted = match (config.q_support(), config.q_elements()) {
            (QSupport::Uncounted, _) => false,
            (QSupport::Both, 3) => self.random.below(2) == 0,
            _ => true,
        };
        // Without a count only a single block is unambiguous, unless a transaction fails in it.
        if !counted && self.in_transaction {
            return;
        }
        let p0_left = if counted { 1 + self.random.below(5) as u8 } else { 1 };
        self.q = Some(Region { instructions: 1, p0_left, counted });
    }

    /// The pending P0 instruction belongs to a Q element.
    fn settle_q(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        if let Some(q) = &mut self.q {
            q.p0_left -= 1;
            if q.p0_left == 0 {
                self.end_q(config, out);
            }
        }
    }

    /// Traces the Q element, if there is one: execution continues at `next`.
    fn end_q(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        if self.pending {
            self.settle(config, out);
        }
        let Some(q) = self.q.take() else { return };
        let address = self.compressor.address(self.next, self.next_isa, config);
        if q.counted {
            self.put(Packet::Q(Q::To(address, q.instructions)), config, out);
        } else {
            self.put(Packet::Q(Q::Uncounted), config, out);
            self.put(Packet::Address(address), config, out);
        }
        self.added(1);
        self.needs &= !(needs::ADDRESS | needs::TARGET);
        self.resolve(config, out);
    }
}

/// The number of an exception in packets. (IHI 0064 and Arm ARM, "Exception packet", TYPE)
fn number(cause: Cause, config: &Config) -> u16 {
    if config.microcontroller() {
        return match cause {
            Cause::Vector(vector @ 0..=23) => vector,
            // IRQ 8 on.
            Cause::Vector(vector) => 0x200 + (vector - 16),
            Cause::Reset => 0x01,
            Cause::Halt => 0x18,
            Cause::Call => 0x0b,
            Cause::InstructionDebug | Cause::DataDebug => 0x0c,
            Cause::SystemError | Cause::DataFault => 0x05,
            Cause::Trap | Cause::Undefined | Cause::Alignment => 0x06,
            Cause::InstructionFault => 0x04,
            Cause::Irq | Cause::Fiq => 0x10,
            Cause::Riscv { code, .. } | Cause::Number(code) => code & 0x3ff,
        };
    }
    match cause {
        Cause::Reset => 0x00,
        Cause::Halt => 0x01,
        Cause::Call => 0x02,
        Cause::Trap | Cause::Undefined => 0x03,
        Cause::SystemError => 0x04,
        Cause::InstructionDebug => 0x06,
        Cause::DataDebug => 0x07,
        Cause::Alignment => 0x0a,
        Cause::InstructionFault => 0x0b,
        Cause::DataFault => 0x0c,
        Cause::Irq => 0x0e,
        Cause::Fiq => 0x0f,
        Cause::Vector(n) | Cause::Number(n) | Cause::Riscv { code: n, .. } => n & 0x1f,
    }
}
