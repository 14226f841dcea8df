//! One processor of a log: entries to steps.

use tracewright_base::{
    Cause, Context, Instruction, Isa, Kind, Retired, Role, Security, Step, Taken,
};
use tracewright_isa::ItState;
use tracewright_isa::condition::met;
use tracewright_isa::rv::Upper;

use crate::entry::{Executed, Mode, Opcode, Raised};
use crate::lookup::Lookup;
use crate::summary::Summary;

/// The source of cycle counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timing {
    /// No cycle counts.
    #[default]
    Untimed,
    /// The differences of the times in the log.
    Log,
    /// A constant number of cycles for each instruction.
    Each(u32),
}

/// The state of one processor.
#[derive(Clone, Debug, Default)]
pub(super) struct Processor {
    /// The last instruction, whose successor is not known yet.
    last: Option<Pending>,
    /// Steps after the last instruction.
    after: Vec<Step>,
    /// Steps after the pending exception.
    after_exception: Vec<Step>,
    /// A pending exception, and the mode in which it was taken.
    raised: Option<(Raised, Before)>,
    mode: Mode,
    pub(super) context: Context,
    /// The context of the last context step.
    emitted_context: Option<Context>,
    isa: Option<Isa>,
    /// Tracing is off because an opcode is unknown.
    off: bool,
    it: ItState,
    /// RISC-V: the upper immediate that the last instruction prepared for a jump.
    upper: Upper,
    /// Time of the last instruction.
    time: Option<u64>,
    /// Address and instruction set of a withdrawn instruction.
    resume: Option<(u64, Isa)>,
}

/// An instruction whose successor is not known yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) address: u64,
    pub(super) instruction: Instruction,
    passed: Option<bool>,
    condition: Option<u8>,
    opcode: Option<Opcode>,
}

/// What is valid before an exception. The log may state what is valid in the handler before the
/// first instruction of it.
#[derive(Clone, Copy, Debug)]
struct Before {
    mode: Mode,
    context_id: Option<u32>,
    vmid: Option<u32>,
}

impl Pending {
    /// The instruction at an address, of which nothing else is known.
    pub(super) const fn of(address: u64, instruction: Instruction) -> Pending {
        Pending { address, instruction, passed: None, condition: None, opcode: None }
    }

    /// The address after the instruction.
    fn fall_through(&self) -> u64 {
        let mask = self.instruction.isa.address_mask();
        self.address.wrapping_add(self.instruction.size.into()) & mask
    }

    /// Whether the opcode of the log is the expansion of a compressed instruction, as `next`
    /// follows it after 2 bytes.
    fn is_expansion_before(&self, next: u64) -> bool {
        let Instruction { isa, size, target, .. } = self.instruction;
        let mask = isa.address_mask();
        matches!(isa, Isa::Rv32 | Isa::Rv64)
            && size == 4
            && self.opcode.is_some_and(|opcode| opcode.size == 4)
            && next == self.address.wrapping_add(2) & mask
            && target != Some(next)
    }

    /// The successor if the log gives no other.
    fn default_next(&self) -> u64 {
        match (self.instruction.kind, self.instruction.target) {
            (Kind::Branch, Some(target)) if !self.instruction.conditional => target,
            (Kind::Branch, Some(target)) if self.passed == Some(true) => target,
            _ => self.fall_through(),
        }
    }

    /// Whether the successor follows from the instruction alone.
    fn certain(&self) -> bool {
        match (self.instruction.kind, self.instruction.conditional) {
            (Kind::Branch, true) => self.passed.is_some(),
            // A jump through an unknown jump table.
            (Kind::Branch, false) if self.instruction.target.is_none() => false,
            (Kind::Indirect, true) => self.passed == Some(false),
            (Kind::Indirect, false) => false,
            _ => true,
        }
    }

    /// Whether the instruction took effect, given its successor `next`.
    fn taken(&self, next: u64) -> bool {
        let Instruction { kind, conditional, target, .. } = self.instruction;
        match kind {
            Kind::Branch if conditional => target == Some(next) && self.passed != Some(false),
            Kind::Indirect if conditional => self.passed.unwrap_or(next != self.fall_through()),
            Kind::Branch | Kind::Indirect => true,
            _ => self.passed.unwrap_or(true),
        }
    }

    /// Whether `next` is a possible successor.
    pub(super) fn leads_to(&self, next: u64) -> bool {
        let Instruction { kind, conditional, target, .. } = self.instruction;
        match kind {
            Kind::Branch if target.is_none() => true,
            Kind::Branch => target == Some(next) || conditional && next == self.fall_through(),
            Kind::Indirect => true,
            _ => next == self.fall_through(),
        }
    }

    /// Whether the instruction requests an exception: SVC, HVC, SMC and similar.
    fn calls(&self) -> bool {
        let bits = self.opcode.map_or(0, |opcode| opcode.bits);
        match (self.instruction.isa, self.opcode.map_or(0, |opcode| opcode.size)) {
            (Isa::A64, _) => bits & 0xffe0_001c == 0xd400_0000 && bits & 3 != 0,
            (Isa::A32, _) => {
                bits >> 28 != 0xf && (bits >> 24 & 0xf == 0xf || bits & 0x0ff0_00d0 == 0x0160_0050)
                    || bits & 0x0ff0_00f0 == 0x0140_0070
            }
            (Isa::T32, 2) => bits >> 8 == 0xdf,
            (Isa::T32, _) => bits & 0xfff0_d000 == 0xf7f0_8000 || bits & 0xfff0_d000 == 0xf7e0_8000,
            _ => false,
        }
    }
}

impl Processor {
    /// A processor at the beginning of a log. `mode` is valid until the log states another.
    pub(super) fn new(mode: Mode) -> Self {
        Processor { mode, ..Processor::default() }
    }

    /// Takes the withdrawal of the instruction at `address`.
    pub(super) fn withdraw(&mut self, address: u64, summary: &mut Summary) {
        if let Some(last) = self.last.filter(|last| last.address == address) {
            self.resume = Some((address, last.instruction.isa));
            self.drop_last(summary);
        }
    }

    /// Takes the return address of the pending exception.
    pub(super) fn return_address(&mut self, address: u64) {
        if let Some((raised, _)) = &mut self.raised {
            raised.return_address = Some(address);
        }
    }

    /// Takes the condition flags before the last instruction.
    pub(super) fn flags(&mut self, flags: u8) {
        if let Some(last) = &mut self.last
            && last.passed.is_none()
        {
            let condition = match (last.instruction.isa, last.opcode, last.condition) {
                (Isa::A32, Some(opcode), _) => Some((opcode.bits >> 28) as u8),
                (_, _, condition) => condition,
            };
            let conditional = last.instruction.conditional;
            last.passed = condition.filter(|_| conditional).map(|c| met(c, flags));
        }
    }

    /// Takes a step, which follows the last instruction.
    pub(super) fn step(&mut self, step: Step, emit: &mut impl FnMut(&Step)) {
        if self.raised.is_some() {
            self.after_exception.push(step);
        } else if self.last.is_some() {
            self.after.push(step);
        } else {
            emit(&step);
        }
    }

    /// Takes the known fields of `mode`.
    pub(super) fn set(&mut self, mode: Mode) {
        self.mode = mode.or(self.mode);
    }

    /// Takes an executed instruction.
    #[allow(clippy::too_many_arguments, reason = "parts of the assembler")]
    pub(super) fn instruction(
        &mut self,
        executed: &Executed,
        time: Option<u64>,
        timing: Timing,
        default: Isa,
        lookup: &mut Lookup,
        summary: &mut Summary,
        emit: &mut impl FnMut(&Step),
    ) {
        let isa = executed.isa.unwrap_or_else(|| self.expected(executed.address, default));
        let address = executed.address & isa.address_mask();
        if self.last.is_some_and(|last| address != last.fall_through()) {
            self.it = ItState::default();
        }
        let mut found = lookup.instruction(address, isa, executed.opcode, &mut self.it);
        let whole = found.as_mut().filter(|found| executed.is_expansion && found.size == 4);
        if let Some(whole) = whole {
            lookup.expansion(address);
            whole.size = 2;
            summary.expanded += 1;
        }
        let expansion = self.last.as_mut().filter(|last| last.is_expansion_before(address));
        if let Some(last) = expansion.filter(|last| lookup.expansion(last.address)) {
            last.instruction.size = 2;
            summary.expanded += 1;
        }
        // Only a trap or a trap return leads to another RISC-V privilege.
        let may_change = self.raised.is_some()
            || self.last.is_none_or(|last| last.instruction.role == Role::ExceptionReturn);
        let jumps = summary.jumps;
        self.flush(Some((address, isa)), summary, emit);
        self.set(executed.mode);
        let level = self.emitted_context.and_then(|context| context.el).zip(self.mode.el);
        let entered = matches!(isa, Isa::Rv32 | Isa::Rv64) && !may_change;
        if entered && level.is_some_and(|(before, now)| before != now) && summary.jumps == jumps {
            summary.jumps += 1;
            emit(&Step::Off);
            emit(&Step::On);
        }
        let Some(mut instruction) = found else {
            summary.unknown += 1;
            summary.first_unknown.get_or_insert(address);
            if !self.off {
                self.off = true;
                emit(&Step::Off);
            }
            return;
        };
        if std::mem::take(&mut self.off) {
            emit(&Step::On);
        }
        if matches!(isa, Isa::Rv32 | Isa::Rv64) {
            let opcode = executed.opcode.or_else(|| lookup.opcode(address, isa));
            let bits = opcode.map_or(0, |opcode| opcode.bits);
            if instruction.kind == Kind::Indirect {
                instruction.target = self.upper.target(isa, bits);
            }
            self.upper = Upper::after(isa, bits, address);
        }
        self.isa = Some(isa);
        self.resume = None;
        self.emit_context(isa, emit);
        summary.instructions += 1;
        match timing {
            Timing::Untimed => {}
            Timing::Each(cycles) => emit(&Step::Cycles(cycles)),
            Timing::Log => {
                if let (Some(now), Some(before)) = (time, self.time)
                    && now > before
                {
                    emit(&Step::Cycles(u32::try_from(now - before).unwrap_or(u32::MAX)));
                }
            }
        }
        self.time = time.or(self.time);
        // The opcode is needed later for conditions and calls only.
        let opcode = executed.opcode.or_else(|| match isa {
            Isa::A32 if instruction.conditional => lookup.opcode(address, isa),
            _ => None,
        });
        let Executed { passed, condition, .. } = *executed;
        self.last = Some(Pending { address, instruction, passed, condition, opcode });
    }

    /// The instruction set at `address` if the log does not state one.
    fn expected(&self, address: u64, default: Isa) -> Isa {
        match &self.last {
            Some(last) if last.instruction.target == Some(address) => last.instruction.target_isa,
            Some(last) => last.instruction.isa,
            None => self.isa.unwrap_or(default),
        }
    }

    fn emit_context(&mut self, isa: Isa, emit: &mut impl FnMut(&Step)) {
        let security = self
            .mode
            .non_secure
            .map(|non_secure| if non_secure { Security::NonSecure } else { Security::Secure });
        self.context.el = self.mode.el;
        self.context.security = security;
        self.context.bits64 = isa == Isa::A64;
        let changed = self
            .emitted_context
            .is_none_or(|last| Context { isa: last.isa, ..self.context } != last);
        if changed {
            self.context.isa = isa;
            self.emitted_context = Some(self.context);
            emit(&Step::Context(self.context));
        }
    }

    /// Removes the last instruction: it did not retire.
    fn drop_last(&mut self, summary: &mut Summary) {
        if self.last.take().is_some() {
            summary.instructions -= 1;
        }
        self.after.clear();
    }

    /// Takes an exception.
    pub(super) fn raise(
        &mut self,
        mut raised: Raised,
        lookup: &mut Lookup,
        summary: &mut Summary,
        emit: &mut impl FnMut(&Step),
    ) {
        // A second exception before the first instruction of the handler.
        if self.raised.is_some() {
            let isa = self.isa.unwrap_or_default();
            let next = raised.return_address.map(|address| (address, isa));
            self.flush(next, summary, emit);
        }
        summary.exceptions += 1;
        self.upper = Upper::default();
        if raised.synchronous
            && let Some(last) = &mut self.last
        {
            last.opcode = last.opcode.or_else(|| lookup.opcode(last.address, last.instruction.isa));
            match raised.return_address {
                Some(address) if address == last.address && !last.calls() => {
                    self.drop_last(summary);
                }
                None if !last.calls() => {
                    raised.return_address = Some(last.address);
                    self.drop_last(summary);
                }
                None => raised.cause = raised.cause.or(Some(Cause::Call)),
                Some(_) => {}
            }
        }
        if raised.return_address.is_none()
            && let (Some(to), Some(last)) = (raised.likely, &self.last)
            && last.leads_to(to)
        {
            raised.return_address = Some(to);
        }
        if self.last.is_none()
            && let Some((address, isa)) = self.resume.take()
            && raised.return_address.is_none()
        {
            raised.return_address = Some(address);
            self.isa = Some(isa);
        }
        let Context { context_id, vmid, .. } = self.context;
        self.raised = Some((raised, Before { mode: self.mode, context_id, vmid }));
    }

    /// Emits the pending steps. `next` is the successor of the last instruction.
    #[inline]
    pub(super) fn flush(
        &mut self,
        next: Option<(u64, Isa)>,
        summary: &mut Summary,
        emit: &mut impl FnMut(&Step),
    ) {
        let mut raised = self.raised.take();
        let mut jumped = false;
        // The target of a branch is unknown if an exception without a return address follows.
        let known = raised.as_ref().is_none_or(|(raised, _)| raised.return_address.is_some());
        if !known && self.last.is_some_and(|last| !last.certain()) {
            self.drop_last(summary);
            (raised, jumped) = (None, true);
        }
        if let Some(last) = self.last.take() {
            let (to, isa) = match (&raised, next) {
                (Some((raised, _)), _) => {
                    let to = raised.return_address.unwrap_or_else(|| last.default_next());
                    (to, last.instruction.isa)
                }
                (None, Some((to, isa))) if last.leads_to(to) => (to, isa),
                (None, Some(_)) => {
                    jumped = true;
                    (last.default_next(), last.instruction.isa)
                }
                (None, None) => (last.default_next(), last.instruction.isa),
            };
            let taken = last.taken(to);
            let direct = taken && last.instruction.kind == Kind::Branch;
            emit(&Step::Retired(Retired {
                address: last.address,
                next: to,
                next_isa: if direct { last.instruction.target_isa } else { isa },
                taken,
                instruction: last.instruction,
            }));
            if !self.after.is_empty() {
                for step in self.after.drain(..) {
                    emit(&step);
                }
            }
            if let Some((raised, _)) = &raised
                && raised.return_address.is_none()
            {
                return self.take(raised, to, isa, next, summary, emit);
            }
        }
        if jumped {
            summary.jumps += 1;
            emit(&Step::Off);
            emit(&Step::On);
        }
        if let Some((raised, before)) = raised {
            let isa = self.isa.or(next.map(|(_, isa)| isa)).unwrap_or_default();
            // The exception may precede the first instruction of its context.
            let (mode, context) = (self.mode, self.context);
            self.mode = before.mode;
            (self.context.context_id, self.context.vmid) = (before.context_id, before.vmid);
            self.emit_context(isa, emit);
            self.mode = mode;
            (self.context.context_id, self.context.vmid) = (context.context_id, context.vmid);
            let from = raised.return_address.unwrap_or(0);
            self.take(&raised, from, isa, next, summary, emit);
        }
    }

    /// Emits the step of an exception.
    #[cold]
    fn take(
        &mut self,
        raised: &Raised,
        return_address: u64,
        return_isa: Isa,
        next: Option<(u64, Isa)>,
        summary: &mut Summary,
        emit: &mut impl FnMut(&Step),
    ) {
        let later = std::mem::take(&mut self.after_exception);
        let (target, target_isa) = match (raised.target, next) {
            (Some(target), Some((_, isa))) => (target, isa),
            (None, Some(next)) => next,
            (Some(target), None) => (target, return_isa),
            // The log ends with an exception: the target is unknown.
            (None, None) => return,
        };
        let is_riscv = matches!(return_isa, Isa::Rv32 | Isa::Rv64);
        summary.uncaused += u64::from(raised.cause.is_none() && is_riscv);
        emit(&Step::Exception(Taken {
            cause: raised.cause.unwrap_or(Cause::Trap),
            return_address,
            return_isa,
            target,
            target_isa,
            value: raised.value,
            cancels: false,
        }));
        // The log continues behind the handler.
        if later.is_empty() && next.is_some_and(|(next, _)| (next ^ target) & !1 != 0) {
            summary.jumps += 1;
            emit(&Step::Off);
            emit(&Step::On);
        }
        later.iter().for_each(emit);
    }
}
