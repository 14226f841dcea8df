//! Stage 3: resolved elements to executed instructions. (K10.5.5)

use tracewright_base::{Instruction, Isa, Kind, Role};

use super::{AnalyzerContext, Element, Lost, Malformed, Memory, Output, SubIsa, Unit};

/// Entries of the return stack. (RXSVZC, K10.5.5.3)
const RETURN_STACK: usize = 15;

/// `SynchronisationState`. (K10.5.6.2.2)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sync {
    None,
    Context,
    Address,
    Full,
}

/// The last branch, to which a Mispredict element applies.
#[derive(Clone, Copy, Debug)]
enum Branch {
    /// There is none.
    None,
    /// It was not analyzed.
    Unknown,
    Known {
        instruction: Instruction,
        /// The address of the instruction.
        address: u64,
        sub_isa: SubIsa,
        taken: bool,
        /// Index of its output, and of the first output of its element.
        output: usize,
        first: usize,
    },
}

/// `ReconstructState`, and what the text holds beside it. (K10.5.5.2.1)
pub(super) struct Follower<'a> {
    unit: Unit,
    memory: &'a Memory,
    out: Vec<Output>,
    sync: Sync,
    address: u64,
    sub_isa: SubIsa,
    context: AnalyzerContext,
    branch: Branch,
    /// The last P0 instruction was an indirect branch that was taken, and no Target Address element
    /// followed. (RMGHSB) The pseudocode pops the return stack in every state without an address.
    indirect: bool,
    /// A Target Address element must follow before the next P0 element.
    needs_target: bool,
    /// Index of a Q output whose `next` is not known.
    q: Option<usize>,
    return_stack: Vec<(u64, SubIsa)>,
    /// A transaction failed, and no P0 element followed.
    failed: bool,
    /// The choices of a decoder where the text has no useful meaning.
    choices: Choices,
}

/// Where the analysis differs from the pseudocode.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Choices {
    /// It continues at a source address where the address is unknown.
    pub(super) continues_at_source: bool,
    /// It does not continue at address 0 where the target of a branch is unknown.
    pub(super) without_unknown_targets: bool,
}

impl<'a> Follower<'a> {
    pub(super) fn new(unit: &Unit, memory: &'a Memory) -> Follower<'a> {
        Follower {
            unit: *unit,
            memory,
            out: Vec::new(),
            sync: Sync::None,
            address: 0,
            sub_isa: SubIsa::Is0,
            context: AnalyzerContext::default(),
            branch: Branch::None,
            indirect: false,
            needs_target: false,
            q: None,
            return_stack: Vec::new(),
            failed: false,
            choices: Choices::default(),
        }
    }

    /// The same with `choices`.
    pub(super) fn with(self, choices: Choices) -> Follower<'a> {
        Follower { choices, ..self }
    }

    /// All outputs; `ended` is the reason why the analysis ended early.
    pub(super) fn end(mut self, ended: Result<(), Malformed>) -> Vec<Output> {
        if let Err(malformed) = ended.and_then(|()| self.settle()) {
            self.out.push(Output::Malformed(malformed));
        }
        self.out
    }

    /// `AnalyzeElement`. (K10.5.5.1.1)
    pub(super) fn element(&mut self, element: Element) -> Result<(), Malformed> {
        match element {
            Element::Atom { e } => self.atom(e)?,
            Element::Exception { kind, address } => self.exception(kind, address)?,
            Element::Q { count } => self.q(count)?,
            Element::SourceAddress(address, sub_isa) => self.source_address(address, sub_isa)?,
            Element::TargetAddress(address, sub_isa) => self.target_address(address, sub_isa),
            Element::UnknownTarget if self.choices.without_unknown_targets => self.unknown_target(),
            Element::UnknownTarget => self.target_address(0, SubIsa::Is0),
            Element::Context(context) => self.context(context),
            Element::Mispredict => self.mispredict()?,
            // The pseudocode clears the return stack after the next P0 element, with the entry of
            // that element, whose instruction the unit has on its own stack. (K10.5.5.9.1)
            Element::TraceInfo { .. } => {
                self.match_return_stack();
                self.return_stack.clear();
            }
            Element::TraceOn => {
                self.settle()?;
                self.forget();
                self.return_stack.clear();
                self.out.push(Output::TraceOn);
            }
            Element::Event(event) => self.out.push(Output::Event(event)),
            Element::Timestamp { value, cycles } => {
                self.out.push(Output::Timestamp { value, cycles });
            }
            Element::CycleCount(count) => self.out.push(Output::Cycles(count)),
            Element::ExceptionReturn => self.out.push(Output::ExceptionReturn),
            _ => {}
        }
        Ok(())
    }

    /// P0 elements from before the start of the analysis are not committed yet.
    pub(super) fn unseen(&mut self) {
        self.branch = Branch::Unknown;
    }

    /// Whether a Mispredict element can apply to the last P0 element.
    pub(super) fn has_branch(&self) -> bool {
        !matches!(self.branch, Branch::None)
    }

    pub(super) fn in_transaction(&mut self) {
        self.out.push(Output::InTransaction);
    }

    /// A transaction begins or ends. After one that failed, a Target Address element gives the
    /// address at which execution resumes (Table K10-17), unless a PE Reset ended it
    /// (K10.5.2.13.2). The last branch may be one of the transaction, which is not analyzed. That
    /// address is not the target of a Q element before the transaction, nor is one inside it: an
    /// instruction that starts it comes between.
    pub(super) fn transaction(&mut self, element: Element) {
        self.q = None;
        if element == Element::TransactionFailure {
            self.branch = Branch::Unknown;
            self.needs_target = matches!(self.sync, Sync::Context | Sync::Full);
            self.failed = true;
        }
        self.out.push(match element {
            Element::TransactionStart => Output::TransactionStart,
            Element::TransactionCommit => Output::TransactionCommit,
            _ => Output::TransactionFailure,
        });
    }

    /// `AnalyzeDiscard`, `AnalyzeOverflow`. (K10.5.5.13, K10.5.5.14) The outcome of the last branch
    /// may be wrong, which is not an error.
    pub(super) fn lost(&mut self, lost: Lost) {
        match self.out.last_mut() {
            Some(last) if lost == Lost::Overflow && *last == Output::Lost(Lost::Discard) => {
                *last = Output::Lost(lost);
            }
            _ => self.out.push(Output::Lost(lost)),
        }
        self.forget();
    }

    fn forget(&mut self) {
        self.sync = Sync::None;
        self.branch = Branch::None;
        self.indirect = false;
        self.needs_target = false;
        self.failed = false;
        self.q = None;
    }

    fn isa(&self, sub_isa: SubIsa) -> Isa {
        match (self.context.sixty_four_bit, sub_isa) {
            (true, _) => Isa::A64,
            (false, SubIsa::Is0) => Isa::A32,
            (false, SubIsa::Is1) => Isa::T32,
        }
    }

    /// An address without the bits that AArch32 does not have.
    fn mask(&self, address: u64) -> u64 {
        let known = matches!(self.sync, Sync::Context | Sync::Full);
        if self.context.sixty_four_bit || !known { address } else { address & 0xffff_ffff }
    }

    /// The last branch has its final outcome.
    fn settle(&mut self) -> Result<(), Malformed> {
        if let Branch::Known { instruction, taken: false, first, .. } = self.branch
            && matches!(instruction.kind, Kind::Branch | Kind::Indirect)
            && !instruction.conditional
        {
            self.out.truncate(first);
            return Err(Malformed::NotTaken);
        }
        Ok(())
    }

    /// What precedes the analysis of each P0 element. Returns whether address and context are
    /// known.
    fn begin(&mut self) -> Result<bool, Malformed> {
        self.settle()?;
        if self.needs_target {
            return Err(Malformed::NoTarget);
        }
        self.match_return_stack();
        self.indirect = false;
        self.failed = false;
        if self.sync == Sync::Address {
            self.sync = Sync::None;
        }
        self.branch = Branch::Unknown;
        if self.sync != Sync::Full {
            return Ok(false);
        }
        if self.context.sixty_four_bit && self.sub_isa == SubIsa::Is1 {
            return Err(Malformed::InstructionSet);
        }
        self.address = self.mask(self.address);
        Ok(true)
    }

    /// `CheckForReturnStackMatch`. (K10.5.5.18.2)
    fn match_return_stack(&mut self) {
        if self.unit.return_stack
            && self.indirect
            && self.sync == Sync::Context
            && let Some((address, sub_isa)) = self.return_stack.pop()
        {
            self.address = address;
            self.sub_isa = sub_isa;
            self.sync = Sync::Full;
            self.indirect = false;
        }
    }

    /// The instruction at the current address. If there is none, the address is unknown after it.
    fn decode(&mut self) -> Option<Instruction> {
        let decoded = self.memory.instruction(self.address, self.isa(self.sub_isa));
        if decoded.is_none() {
            self.out.push(Output::NoCode(self.address));
            self.sync = Sync::Context;
        }
        decoded
    }

    fn is_p0(&self, instruction: &Instruction) -> bool {
        match instruction.kind {
            Kind::Branch | Kind::Indirect | Kind::Isb => true,
            Kind::Wait | Kind::TimedWait => self.unit.wfx,
            Kind::TransactionStart => self.unit.ete,
            _ => false,
        }
    }

    /// `OutputInstruction`, and the address after an instruction that does not branch.
    fn step(&mut self, instruction: &Instruction, taken: bool) {
        let branch = matches!(instruction.kind, Kind::Branch | Kind::Indirect);
        self.out.push(Output::Instruction {
            address: self.address,
            isa: instruction.isa,
            taken: taken && branch,
            context: self.context,
        });
        self.address = self.mask(self.address.wrapping_add(instruction.size.into()));
    }

    /// `ProcessBranchInstruction` and `UpdateReturnStack`. (K10.5.5.18.4, K10.5.5.3.1)
    ///
    /// The pseudocode pushes for each branch with link; RHYMQH and Table K10-15 push only for one
    /// that is traced with an E atom.
    fn p0(&mut self, instruction: Instruction, taken: bool, first: usize) {
        let address = self.address;
        self.branch = Branch::Known {
            instruction,
            address,
            sub_isa: self.sub_isa,
            taken,
            output: self.out.len(),
            first,
        };
        self.step(&instruction, taken);
        if taken && instruction.role == Role::Call {
            self.return_stack.push((self.address, self.sub_isa));
            if self.return_stack.len() > RETURN_STACK {
                self.return_stack.remove(0);
            }
        }
        self.update_branch_state(&instruction, address, self.sub_isa, taken);
    }

    /// `UpdateBranchState`. (K10.5.5.18.3)
    fn update_branch_state(
        &mut self,
        instruction: &Instruction,
        address: u64,
        sub_isa: SubIsa,
        taken: bool,
    ) {
        self.sub_isa = sub_isa;
        self.address = address.wrapping_add(instruction.size.into());
        if instruction.isa != Isa::A64 {
            self.address &= 0xffff_ffff;
        }
        self.sync = Sync::Full;
        self.indirect = false;
        match (instruction.kind, instruction.target) {
            (Kind::Indirect, _) if taken => {
                self.sync = Sync::Context;
                self.indirect = true;
            }
            (Kind::Branch, Some(target)) if taken => {
                self.address = target;
                let thumb = instruction.target_isa == Isa::T32;
                self.sub_isa = if thumb { SubIsa::Is1 } else { SubIsa::Is0 };
            }
            _ => {}
        }
    }

    /// `AnalyzeAtom`. (K10.5.5.4.1)
    fn atom(&mut self, e: bool) -> Result<(), Malformed> {
        if !self.begin()? {
            return Ok(());
        }
        let first = self.out.len();
        while let Some(instruction) = self.decode() {
            if self.is_p0(&instruction) {
                self.p0(instruction, e, first);
                break;
            }
            self.step(&instruction, false);
        }
        Ok(())
    }

    /// `AnalyzeException`. (K10.5.5.6.1)
    ///
    /// The pseudocode gives up the context without an address; the table of K10.5.6.2.2 gives up
    /// the address without a context.
    fn exception(&mut self, kind: u16, address: Option<u64>) -> Result<(), Malformed> {
        if kind == 0 && self.failed {
            self.needs_target = false;
        }
        let known = self.begin()?;
        let first = self.out.len();
        // `ExceptionWithUnknownAddress`. (K10.5.6.3.12) Which types have none in an ETMv4 is not in
        // the text.
        let unknown = self.unit.ete && matches!(kind, 0 | 0b11001);
        let address = address.filter(|_| !unknown).map(|address| self.mask(address));
        if known && let Some(address) = address {
            while self.address < address
                && let Some(instruction) = self.decode()
            {
                let branch = matches!(instruction.kind, Kind::Branch | Kind::Indirect);
                if branch && !instruction.conditional {
                    self.out.truncate(first);
                    return Err(Malformed::NotReached);
                }
                self.step(&instruction, false);
                if self.address == 0 {
                    break;
                }
                // The instructions before the address were executed: the pseudocode would also
                // have the one in which it is.
                if self.address > address {
                    return Err(Malformed::NotReached);
                }
            }
        }
        let context = matches!(self.sync, Sync::Context | Sync::Full).then_some(self.context);
        self.out.push(Output::Exception { kind, address, context });
        if self.sync == Sync::Full {
            self.sync = Sync::Context;
        }
        // An Exception element is always followed by a Target Address element. (K10.5.8.2)
        self.needs_target = self.sync == Sync::Context;
        self.branch = Branch::None;
        Ok(())
    }

    /// `AnalyzeSourceAddress`. (K10.5.5.7.1)
    ///
    /// The loop of the pseudocode does not end after a taken backward branch: the analysis ends
    /// with the instruction at the address.
    ///
    /// It returns where the address is unknown. With [`Choices::continues_at_source`] the
    /// instruction at the source address is analyzed if the context is known.
    fn source_address(&mut self, source: u64, sub_isa: SubIsa) -> Result<(), Malformed> {
        let known = self.begin()?;
        let source = self.mask(source);
        if !known {
            if !self.choices.continues_at_source || self.sync != Sync::Context {
                return Ok(());
            }
            if self.context.sixty_four_bit && sub_isa == SubIsa::Is1 {
                return Err(Malformed::InstructionSet);
            }
            (self.address, self.sub_isa, self.sync) = (source, sub_isa, Sync::Full);
        }
        let first = self.out.len();
        while self.address <= source {
            let Some(instruction) = self.decode() else { return Ok(()) };
            if self.address == source && self.is_p0(&instruction) {
                self.p0(instruction, true, first);
                return Ok(());
            }
            let branch = matches!(instruction.kind, Kind::Branch | Kind::Indirect);
            if branch && !instruction.conditional {
                break;
            }
            self.step(&instruction, false);
        }
        self.out.truncate(first);
        Err(Malformed::NotReached)
    }

    /// `AnalyzeQ`. (K10.5.5.15.1) Which instructions a Q element covers is left open: the path
    /// depends on conditions that the trace does not give.
    fn q(&mut self, count: Option<u32>) -> Result<(), Malformed> {
        let count = count.filter(|&count| count > 0);
        if self.begin()? {
            self.q = Some(self.out.len());
            self.out.push(Output::Q { start: self.address, count, next: None });
            self.sync = Sync::Context;
        }
        self.needs_target = self.sync == Sync::Context;
        self.branch = Branch::None;
        Ok(())
    }

    /// `AnalyzeTargetAddress`. (K10.5.5.8.1)
    fn target_address(&mut self, address: u64, sub_isa: SubIsa) {
        self.address = address;
        self.sub_isa = sub_isa;
        self.indirect = false;
        self.needs_target = false;
        if let Some(Output::Q { next, .. }) = self.q.take().and_then(|q| self.out.get_mut(q)) {
            *next = Some(address);
        }
        self.sync = match self.sync {
            Sync::None => Sync::Address,
            Sync::Context => Sync::Full,
            other => other,
        };
    }

    /// The target of the last branch is unknown, until a Target Address element gives the address.
    fn unknown_target(&mut self) {
        self.indirect = false;
        self.needs_target = false;
        self.q = None;
        self.sync = match self.sync {
            Sync::Full => Sync::Context,
            Sync::Address => Sync::None,
            other => other,
        };
    }

    /// `AnalyzeContext`. (K10.5.5.5.1)
    fn context(&mut self, context: AnalyzerContext) {
        self.context = context;
        self.sync = match self.sync {
            Sync::None => Sync::Context,
            Sync::Address => Sync::Full,
            other => other,
        };
    }

    /// `AnalyzeMispredict`. (K10.5.5.11.1)
    ///
    /// The pseudocode leaves the address unknown where a taken indirect branch turns out not to be
    /// taken.
    fn mispredict(&mut self) -> Result<(), Malformed> {
        match self.branch {
            Branch::None => Err(Malformed::Mispredict),
            // An address since then is one that the processor did not reach.
            Branch::Unknown => {
                self.sync = match self.sync {
                    Sync::Full => Sync::Context,
                    Sync::Address => Sync::None,
                    other => other,
                };
                Ok(())
            }
            Branch::Known { instruction, address, sub_isa, ref mut taken, output, .. } => {
                *taken = !*taken;
                let now = *taken;
                let branch = matches!(instruction.kind, Kind::Branch | Kind::Indirect);
                if let Some(Output::Instruction { taken, .. }) = self.out.get_mut(output) {
                    *taken = now && branch;
                }
                self.update_branch_state(&instruction, address, sub_isa, now);
                Ok(())
            }
        }
    }
}
