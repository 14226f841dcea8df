//! Entries to steps: where each instruction went, and what came between.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tracewright_base::{
    Cause, Code, Context, Instruction, Isa, Kind, Pc, Retired, Security, Step, Taken, Waypoints,
};
use tracewright_image::{Cache, CacheOptions, Extensions, Image};
use tracewright_isa::condition::met;
use tracewright_isa::rv::{self, Upper};
use tracewright_isa::{ItState, classify};

use super::entry::{Entry, Event, Executed, Mode, Opcode, Raised};
use super::told::Told;

/// Receives steps and the number of the processor that made them.
pub trait Steps {
    /// Takes one step.
    fn step(&mut self, cpu: u16, step: &Step);
}

impl<F: FnMut(u16, &Step)> Steps for F {
    #[inline]
    fn step(&mut self, cpu: u16, step: &Step) {
        self(cpu, step);
    }
}

/// What an [`Assembler`] saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Instructions that were executed.
    pub instructions: u64,
    /// Data accesses.
    pub accesses: u64,
    /// Exceptions.
    pub exceptions: u64,
    /// Places where the program went on elsewhere and the log does not say why. Tracing is off between.
    pub jumps: u64,
    /// Instructions whose opcode neither the log nor the image has. Tracing is off there.
    pub unknown: u64,
    /// The first address of those.
    pub first_unknown: Option<u64>,
}

/// How much time an instruction takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Nothing is said of time.
    #[default]
    Untimed,
    /// As many cycles as the log's clock went on.
    Log,
    /// So many cycles for each instruction.
    Each(u32),
}

/// What lies in the program: from the log itself, and from an image.
#[derive(Debug, Default)]
pub struct Lookup {
    cache: Option<Cache>,
    /// What RISC-V opcodes mean.
    riscv: Extensions,
    /// What the log said of addresses.
    code: HashMap<u64, Opcode>,
    /// What was looked up last, by address.
    known: Vec<Known>,
    /// Instructions that were executed and that no image has.
    told: Told,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    address: u64,
    isa: Isa,
    opcode: u32,
    instruction: Option<Instruction>,
}

/// How many instructions are remembered; a power of two.
const KNOWN: usize = 1 << 14;

impl Lookup {
    /// Looks up in `image`.
    pub fn new(image: Arc<Image>) -> Self {
        Lookup::with(image, Extensions::NONE)
    }

    /// The same where RISC-V opcodes mean what `riscv` says.
    pub fn with(image: Arc<Image>, riscv: Extensions) -> Self {
        let options = CacheOptions { riscv, ..CacheOptions::default() };
        let cache = Cache::new(image, Waypoints::default(), options);
        Lookup { cache: Some(cache), riscv, ..Lookup::default() }
    }

    /// The instruction at `address`. `said` is its opcode, where the log has it.
    #[inline]
    fn instruction(
        &mut self,
        address: u64,
        isa: Isa,
        said: Option<Opcode>,
        it: &mut ItState,
    ) -> Option<Instruction> {
        let bits = said.map_or(0, |opcode| opcode.bits);
        let at = (address >> 1) as usize & (KNOWN - 1);
        if let Some(known) = self.known.get(at)
            && (known.address, known.isa, known.opcode) == (address, isa, bits)
            && known.instruction.is_some()
            && !it.in_block()
        {
            return known.instruction;
        }
        let found = self.find(address, isa, said, it);
        if self.known.is_empty() {
            self.known = vec![Known::default(); KNOWN];
        }
        // An IT instruction changes what comes after it, so it is looked at each time.
        let plain = !it.in_block();
        if let Some(place) = self.known.get_mut(at) {
            let instruction = found.filter(|_| plain);
            *place = Known { address, isa, opcode: bits, instruction };
        }
        found
    }

    #[cold]
    fn find(
        &mut self,
        address: u64,
        isa: Isa,
        said: Option<Opcode>,
        it: &mut ItState,
    ) -> Option<Instruction> {
        if said.is_none()
            && let Some(cache) = &mut self.cache
            && let Ok(found) = cache.instruction(Pc { address, isa, ..Pc::default() })
        {
            return Some(found);
        }
        let opcode = said.or_else(|| self.code.get(&address).copied())?;
        let bits = match (isa, opcode.size) {
            (Isa::T32 | Isa::ThumbEe, 4) => opcode.bits.rotate_left(16),
            _ => opcode.bits,
        };
        let bytes = bits.to_le_bytes();
        let bytes = bytes.get(..usize::from(opcode.size))?;
        let pc = Pc { address, isa, ..Pc::default() };
        if self.cache.as_mut().is_none_or(|cache| cache.opcode(pc).is_none()) {
            self.told.add(address, Opcode { bits, size: opcode.size });
        }
        if let Isa::Rv32 | Isa::Rv64 = isa {
            return Some(self.riscv(address, isa, opcode.bits));
        }
        classify(isa, bytes, address, it)
    }

    /// Memory that the log alone tells of.
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// What RISC-V opcode `bits` is at `address`.
    fn riscv(&mut self, address: u64, isa: Isa, bits: u32) -> Instruction {
        let pc = Pc { address, isa, ..Pc::default() };
        let Some(cache) = &mut self.cache else {
            return rv::classify(isa, bits.into(), address, &self.riscv);
        };
        // Opcodes longer than those of a log are in the image alone.
        if self.riscv.has_own()
            && cache.opcode(pc) == Some(bits)
            && let Ok(found) = cache.instruction(pc)
        {
            return found;
        }
        cache.classify(pc, bits, Upper::default())
    }

    /// Takes what the log says of the program.
    pub fn code(&mut self, address: u64, opcode: Opcode) {
        self.code.insert(address, opcode);
    }

    /// The opcode at `address` in the program.
    pub fn opcode(&mut self, address: u64, isa: Isa) -> Option<Opcode> {
        let pc = Pc { address, isa, ..Pc::default() };
        let found = self.cache.as_mut().and_then(|cache| {
            let bits = cache.opcode(pc)?;
            Some(Opcode { bits, size: cache.instruction(pc).ok()?.size })
        });
        found.or_else(|| self.code.get(&address).copied())
    }
}

/// Makes steps of entries. An instruction waits until it is known where the program went on.
#[derive(Debug)]
pub struct Assembler {
    lookup: Lookup,
    /// Those of processors that have one of their own.
    own: BTreeMap<u16, Lookup>,
    cpus: Vec<Cpu>,
    /// How much time passes.
    pub pace: Pace,
    /// What is known of the context where the log says nothing.
    pub mode: Mode,
    /// The instruction set where the log says nothing.
    pub isa: Isa,
    /// What was seen.
    pub summary: Summary,
}

/// One processor.
#[derive(Clone, Debug, Default)]
struct Cpu {
    last: Option<Waiting>,
    /// What came after the last instruction.
    after: Vec<Step>,
    raised: Option<(Raised, Mode)>,
    mode: Mode,
    context: Context,
    said: Option<Context>,
    isa: Option<Isa>,
    off: bool,
    it: ItState,
    /// What the RISC-V instruction before left for a jump.
    upper: Upper,
    time: Option<u64>,
    /// Where an instruction would have been the next, but was withdrawn.
    resume: Option<(u64, Isa)>,
}

/// An instruction that waits for the next.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    address: u64,
    instruction: Instruction,
    passed: Option<bool>,
    condition: Option<u8>,
    opcode: Option<Opcode>,
}

impl Waiting {
    /// The address behind it.
    fn behind(&self) -> u64 {
        let mask = self.instruction.isa.address_mask();
        self.address.wrapping_add(self.instruction.size.into()) & mask
    }

    /// Where the program goes on if nothing more is known.
    fn default_next(&self) -> u64 {
        match (self.instruction.kind, self.instruction.target) {
            (Kind::Branch, Some(target)) if !self.instruction.conditional => target,
            (Kind::Branch, Some(target)) if self.passed == Some(true) => target,
            _ => self.behind(),
        }
    }

    /// It is known where the program goes on, whatever comes next.
    fn certain(&self) -> bool {
        match (self.instruction.kind, self.instruction.conditional) {
            (Kind::Branch, true) => self.passed.is_some(),
            // A jump through a table that is not known.
            (Kind::Branch, false) if self.instruction.target.is_none() => false,
            (Kind::Indirect, true) => self.passed == Some(false),
            (Kind::Indirect, false) => false,
            _ => true,
        }
    }

    /// It took effect, where it went on at `next`.
    fn taken(&self, next: u64) -> bool {
        let Instruction { kind, conditional, target, .. } = self.instruction;
        match kind {
            Kind::Branch if conditional => target == Some(next) && self.passed != Some(false),
            Kind::Indirect if conditional => self.passed.unwrap_or(next != self.behind()),
            Kind::Branch | Kind::Indirect => true,
            _ => self.passed.unwrap_or(true),
        }
    }

    /// It can lead to `next`.
    fn leads_to(&self, next: u64) -> bool {
        let Instruction { kind, conditional, target, .. } = self.instruction;
        match kind {
            Kind::Branch if target.is_none() => true,
            Kind::Branch => target == Some(next) || conditional && next == self.behind(),
            Kind::Indirect => true,
            _ => next == self.behind(),
        }
    }

    /// It asks for an exception: SVC, HVC, SMC and their like.
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

impl Assembler {
    /// An assembler that looks instructions up in `lookup`.
    pub fn new(lookup: Lookup) -> Self {
        Assembler {
            lookup,
            own: BTreeMap::new(),
            cpus: Vec::new(),
            pace: Pace::Untimed,
            mode: Mode::default(),
            isa: Isa::A64,
            summary: Summary::default(),
        }
    }

    /// How many processors there were: one more than the highest number.
    pub fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// What lies in the program.
    pub fn lookup(&mut self) -> &mut Lookup {
        &mut self.lookup
    }

    /// Looks instructions of processor `cpu` up in `lookup`: it has another program, or opcodes of its own.
    pub fn look_up_in(&mut self, cpu: u16, lookup: Lookup) {
        self.own.insert(cpu, lookup);
    }

    /// Takes one entry.
    #[inline]
    pub fn entry<S: Steps>(&mut self, entry: &Entry, out: &mut S) {
        let number = usize::from(entry.cpu);
        if self.cpus.len() <= number {
            let cpu = Cpu { mode: self.mode, ..Cpu::default() };
            self.cpus.resize(number + 1, cpu);
        }
        let Assembler { lookup, own, cpus, summary, pace, isa, .. } = self;
        let Some(cpu) = cpus.get_mut(number) else { return };
        if let Event::Code { address, opcode } = entry.event {
            own.values_mut().chain([lookup]).for_each(|lookup| lookup.code(address, opcode));
            return;
        }
        let lookup = own.get_mut(&entry.cpu).unwrap_or(lookup);
        let mut say = |step: &Step| out.step(entry.cpu, step);
        match entry.event {
            Event::Instruction(executed) => {
                cpu.instruction(&executed, entry.time, *pace, *isa, lookup, summary, &mut say);
            }
            Event::Withdrawn { address } => {
                if let Some(last) = cpu.last.filter(|last| last.address == address) {
                    cpu.resume = Some((address, last.instruction.isa));
                    cpu.drop_last(summary);
                }
            }
            // It was taken above.
            Event::Code { .. } => {}
            Event::Raised(raised) => cpu.raise(raised, lookup, summary, &mut say),
            Event::ReturnAddress(address) => {
                if let Some((raised, _)) = &mut cpu.raised {
                    raised.return_address = Some(address);
                }
            }
            Event::Mode(mode) => cpu.set(mode),
            Event::Flags(flags) => {
                if let Some(last) = &mut cpu.last
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
            Event::ContextId(id) => cpu.context.context_id = Some(id),
            Event::Vmid(id) => cpu.context.vmid = Some(id),
            Event::Step(step) => {
                summary.accesses += u64::from(matches!(step, Step::Access(_)));
                if cpu.last.is_some() {
                    cpu.after.push(step);
                } else {
                    say(&step);
                }
            }
        }
    }

    /// The log ends.
    pub fn finish<S: Steps>(&mut self, out: &mut S) {
        for (number, cpu) in (0..).zip(&mut self.cpus) {
            let mut say = |step: &Step| out.step(number, step);
            cpu.flush(None, &mut self.summary, &mut say);
        }
    }
}

impl Cpu {
    fn set(&mut self, mode: Mode) {
        self.mode = mode.or(self.mode);
    }

    #[allow(clippy::too_many_arguments, reason = "the assembler's own parts")]
    fn instruction(
        &mut self,
        executed: &Executed,
        time: Option<u64>,
        pace: Pace,
        default: Isa,
        lookup: &mut Lookup,
        summary: &mut Summary,
        say: &mut impl FnMut(&Step),
    ) {
        let isa = executed.isa.unwrap_or_else(|| self.expected(executed.address, default));
        let address = executed.address & isa.address_mask();
        if self.last.is_some_and(|last| address != last.behind()) {
            self.it = ItState::default();
        }
        let found = lookup.instruction(address, isa, executed.opcode, &mut self.it);
        self.flush(Some((address, isa)), summary, say);
        self.set(executed.mode);
        let Some(mut instruction) = found else {
            summary.unknown += 1;
            summary.first_unknown.get_or_insert(address);
            if !self.off {
                self.off = true;
                say(&Step::Off);
            }
            return;
        };
        if std::mem::take(&mut self.off) {
            say(&Step::On);
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
        self.say_context(isa, say);
        summary.instructions += 1;
        match pace {
            Pace::Untimed => {}
            Pace::Each(cycles) => say(&Step::Cycles(cycles)),
            Pace::Log => {
                if let (Some(now), Some(before)) = (time, self.time)
                    && now > before
                {
                    say(&Step::Cycles(u32::try_from(now - before).unwrap_or(u32::MAX)));
                }
            }
        }
        self.time = time.or(self.time);
        // Only conditions and calls need the opcode later on.
        let opcode = executed.opcode.or_else(|| match isa {
            Isa::A32 if instruction.conditional => lookup.opcode(address, isa),
            _ => None,
        });
        let Executed { passed, condition, .. } = *executed;
        self.last = Some(Waiting { address, instruction, passed, condition, opcode });
    }

    /// The instruction set at `address` where the log does not say it.
    fn expected(&self, address: u64, default: Isa) -> Isa {
        match &self.last {
            Some(last) if last.instruction.target == Some(address) => last.instruction.target_isa,
            Some(last) => last.instruction.isa,
            None => self.isa.unwrap_or(default),
        }
    }

    fn say_context(&mut self, isa: Isa, say: &mut impl FnMut(&Step)) {
        let security = self
            .mode
            .non_secure
            .map(|non_secure| if non_secure { Security::NonSecure } else { Security::Secure });
        self.context.el = self.mode.el;
        self.context.security = security;
        self.context.bits64 = isa == Isa::A64;
        let news = self.said.is_none_or(|said| Context { isa: said.isa, ..self.context } != said);
        if news {
            self.context.isa = isa;
            self.said = Some(self.context);
            say(&Step::Context(self.context));
        }
    }

    fn drop_last(&mut self, summary: &mut Summary) {
        if self.last.take().is_some() {
            summary.instructions -= 1;
        }
        self.after.clear();
    }

    fn raise(
        &mut self,
        mut raised: Raised,
        lookup: &mut Lookup,
        summary: &mut Summary,
        say: &mut impl FnMut(&Step),
    ) {
        // Another exception before its first instruction.
        if self.raised.is_some() {
            let isa = self.isa.unwrap_or_default();
            let next = raised.return_address.map(|address| (address, isa));
            self.flush(next, summary, say);
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
        self.raised = Some((raised, self.mode));
    }

    /// Says what waits; `next` is where the program goes on.
    #[inline]
    fn flush(
        &mut self,
        next: Option<(u64, Isa)>,
        summary: &mut Summary,
        say: &mut impl FnMut(&Step),
    ) {
        let mut raised = self.raised.take();
        let mut jumped = false;
        // The log may not say where a branch went that an exception came behind.
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
            say(&Step::Retired(Retired {
                address: last.address,
                next: to,
                next_isa: if direct { last.instruction.target_isa } else { isa },
                taken,
                instruction: last.instruction,
            }));
            if !self.after.is_empty() {
                for step in self.after.drain(..) {
                    say(&step);
                }
            }
            if let Some((raised, _)) = &raised
                && raised.return_address.is_none()
            {
                return self.take(raised, to, isa, next, say);
            }
        }
        if jumped {
            summary.jumps += 1;
            say(&Step::Off);
            say(&Step::On);
        }
        if let Some((raised, mode)) = raised {
            let isa = self.isa.or(next.map(|(_, isa)| isa)).unwrap_or_default();
            // The exception may come before the first instruction of its context.
            let now = std::mem::replace(&mut self.mode, mode);
            self.say_context(isa, say);
            self.mode = now;
            let from = raised.return_address.unwrap_or(0);
            self.take(&raised, from, isa, next, say);
        }
    }

    /// Says that an exception was taken.
    #[cold]
    fn take(
        &mut self,
        raised: &Raised,
        return_address: u64,
        return_isa: Isa,
        next: Option<(u64, Isa)>,
        say: &mut impl FnMut(&Step),
    ) {
        let (target, target_isa) = match (raised.target, next) {
            (Some(target), Some((_, isa))) => (target, isa),
            (None, Some(next)) => next,
            (Some(target), None) => (target, return_isa),
            // The log ends with an exception: where it went is not known.
            (None, None) => return,
        };
        say(&Step::Exception(Taken {
            cause: raised.cause.unwrap_or(Cause::Trap),
            return_address,
            return_isa,
            target,
            target_isa,
            value: raised.value,
            cancels: false,
        }));
    }
}
