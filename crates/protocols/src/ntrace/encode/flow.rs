//! Blocks of instructions to messages. (N-Trace, "Field Encoding and Calculation Techniques",
//! "Examples of Synchronizing Messages")
//!
//! The message of a transfer is sent when the next address is known. What must be sent at a point
//! of linear code is sent at the next address, too.

use super::history::History;
use super::outlet::Outlet;
use super::returns::{Expected, Returns};
use super::settings::{Period, Repeats, Settings, SyncPosition};
use crate::ingress::{Block, Itype};
use crate::ntrace::config::{Config, Mode, Profile};
use crate::ntrace::names;
use crate::ntrace::packet::{Message, Packet, Process};

/// SYNC. (Table "SYNC")
pub(super) mod sync {
    pub const EXTERNAL: u8 = 0;
    pub const RESET: u8 = 1;
    pub const PERIODIC: u8 = 2;
    pub const DEBUG: u8 = 3;
    pub const COUNT_FULL: u8 = 4;
    pub const ENABLED: u8 = 5;
    pub const EVENT: u8 = 6;
    pub const OVERRUN: u8 = 7;
}

/// EVCODE. (Table "EVCODE")
pub(super) mod stop {
    pub const DEBUG: u8 = 0;
    pub const DISABLED: u8 = 4;
}

/// ECODE: messages of program trace and of ownership were lost.
const ECODE_PROGRAM: u64 = 1 << 2;
/// The most repetitions in one message: B-CNT has 18 bits.
const MOST_REPEATS: u64 = (1 << 18) - 1;

/// The privilege and the context of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// 0 U, 1 S, 3 M, 4 D, 5 VU, 6 VS.
    pub level: u8,
    pub context: Option<u32>,
}

impl Owner {
    /// PROCESS. `changed`: the context is new.
    fn process(self, changed: bool) -> Process {
        let (privilege, guest) = match self.level {
            5 => (0, true),
            6 => (1, true),
            4 => (3, false),
            level => (level, false),
        };
        match self.context.filter(|_| changed) {
            Some(context) => Process::new(2, privilege, guest, context.into()),
            None => Process::new(0, privilege, guest, 0),
        }
    }
}

/// An instruction that begins: its address, its privilege and context.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    address: u64,
    owner: Owner,
}

/// What waits for the next address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Pending {
    /// Nothing: the code is linear.
    #[default]
    Linear,
    /// A taken branch of branch trace.
    Direct,
    /// An indirect transfer or a trap.
    Indirect { btype: u8, expected: Expected },
}

/// The encoder's state.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    settings: Settings,
    has_history: bool,
    nexrv: bool,
    /// The first message has been sent.
    running: bool,
    /// SYNC of the first message.
    start: u8,
    icnt: u64,
    history: History,
    pending: Pending,
    /// SYNC of a synchronisation at the next address.
    marker: Option<u8>,
    /// The last address that a message reported.
    reference: u64,
    /// The last message, if it can be repeated, and how many repetitions wait.
    branch: Option<Message>,
    repeats: u64,
    returns: Returns,
    /// Cycles or half-words since the last synchronisation.
    count: u64,
    /// A synchronisation is at this block: a decoder may not know the instruction before it.
    fresh: bool,
    /// What the last messages reported.
    owner: Option<Owner>,
    /// The address of the last block.
    last: u64,
    pub(super) outlet: Outlet,
}

impl Flow {
    pub(super) fn new(config: &Config, settings: &Settings) -> Flow {
        let nexrv = config.profile == Profile::Nexrv;
        Flow {
            has_history: config.mode != Mode::Branch,
            nexrv,
            running: false,
            start: settings.start,
            icnt: 0,
            history: History::new(settings.full_history, settings.history_bits),
            pending: Pending::Linear,
            marker: None,
            reference: 0,
            branch: None,
            repeats: 0,
            returns: Returns::new(settings.returns, nexrv),
            count: 0,
            fresh: false,
            owner: None,
            last: 0,
            outlet: Outlet::new(settings.fifo, settings.timestamps),
            settings: settings.clone(),
        }
    }

    /// Advances the time by `cycles`.
    pub(super) fn advance(&mut self, cycles: u64) {
        self.outlet.fifo.advance(cycles);
        if let Period::Cycles(_) = self.settings.period {
            self.count = self.count.saturating_add(cycles);
        }
    }

    /// The next instruction is a point to report, with this SYNC.
    pub(super) fn mark(&mut self, reason: u8) {
        if self.running || reason == sync::RESET {
            self.marker = self.marker.or(Some(reason));
        }
    }

    /// A block of instructions, or a trap.
    pub(super) fn block(
        &mut self,
        block: &Block,
        owner: Owner,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        self.fresh = false;
        self.arrive(Arrival { address: block.iaddr, owner }, config, out);
        if block.iretire > 0 {
            self.own(owner, config, out);
        }
        self.last = block.last();
        self.icnt += u64::from(block.iretire);
        if let Period::Halfwords(_) = self.settings.period {
            self.count += u64::from(block.iretire);
        }
        match block.itype {
            Itype::None => {}
            Itype::NotTaken => self.outcome(false, config, out),
            Itype::Taken => self.outcome(true, config, out),
            Itype::Exception | Itype::Interrupt => {
                if block.iretire > 0 {
                    self.arrive(Arrival { address: block.end(), owner }, config, out);
                }
                let [exception, interrupt] = self.settings.trap_types;
                let btype = if block.itype == Itype::Interrupt { interrupt } else { exception };
                self.pending = Pending::Indirect { btype, expected: Expected::Unknown };
            }
            _ => self.jump(block, config, out),
        }
    }

    /// An unconditional transfer.
    fn jump(&mut self, block: &Block, config: &Config, out: &mut impl Extend<Packet>) {
        let mut expected = Expected::Unknown;
        // NexRv takes a swap for a call.
        let swaps = block.itype == Itype::Swap && !self.nexrv;
        if swaps || matches!(block.itype, Itype::Return | Itype::InferableReturn) {
            expected = self.returns.pop();
        }
        if let Itype::UninferableCall | Itype::InferableCall | Itype::Swap = block.itype {
            self.returns.push(block.end());
        }
        let known = match block.itype {
            Itype::InferableCall
            | Itype::InferableJump
            | Itype::InferableReturn
            | Itype::OtherInferable => true,
            _ => {
                let alone = block.iretire <= block.ilastsize.into();
                block.sijump && self.settings.sequential_jumps && !(alone && self.fresh)
            }
        };
        match known {
            true if config.all_jumps => self.outcome(true, config, out),
            true => {}
            false => self.pending = Pending::Indirect { btype: 0, expected },
        }
    }

    /// The outcome of a branch.
    fn outcome(&mut self, taken: bool, config: &Config, out: &mut impl Extend<Packet>) {
        if !self.has_history {
            if taken {
                self.pending = Pending::Direct;
            }
        } else if let Some(message) = self.history.push(taken) {
            self.send(message, config, out);
        }
    }

    /// Resolves what waits for the address of the next instruction, or of the one that traps.
    fn arrive(&mut self, at: Arrival, config: &Config, out: &mut impl Extend<Packet>) {
        if self.outlet.resumes() {
            self.resume(config, out);
        }
        if !self.running {
            let reason = self.marker.take().unwrap_or(self.start);
            self.clear();
            self.running = true;
            let faddr = field(at.address, config);
            let message = Message::ProgTraceSync { sync: reason, icnt: 0, faddr };
            return self.synchronise(message, at, config, out);
        }
        self.settle(config, out);
        let due = self.is_due();
        let marker = self.marker.take();
        let position = self.settings.sync_position;
        let at_transfer = due && position != SyncPosition::Linear;
        let linear = due && position != SyncPosition::Transfer;
        let periodic = |due: bool| due.then_some(sync::PERIODIC);
        match core::mem::take(&mut self.pending) {
            Pending::Linear => {
                if let Some(reason) = marker.or(periodic(linear)) {
                    self.point(reason, None, at, config, out);
                }
            }
            Pending::Direct => match marker.or(periodic(at_transfer)) {
                Some(sync) => {
                    let (icnt, faddr) = (self.take_count(), field(at.address, config));
                    let message = Message::DirectBranchSync { sync, icnt, faddr };
                    self.synchronise(message, at, config, out);
                }
                None => {
                    let icnt = self.take_count();
                    self.branch(Message::DirectBranch { icnt }, config, out);
                }
            },
            Pending::Indirect { btype, expected } => {
                let implied = expected.is(at.address);
                match marker.or(periodic(if implied { linear } else { at_transfer })) {
                    Some(reason) => self.point(reason, Some(btype), at, config, out),
                    None if implied => {}
                    None => self.indirect(btype, at.address, config, out),
                }
            }
        }
    }

    /// Sends what a full history and a full I-CNT have made due.
    fn settle(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        if self.history.is_full()
            && let Some(message) = self.history.full()
        {
            self.send(message, config, out);
        }
        if self.icnt >= self.settings.count_limit.into() {
            if self.settings.count_sync && !self.has_history && self.pending == Pending::Linear {
                self.mark(sync::COUNT_FULL);
                return;
            }
            self.release(config, out);
            let rdata = self.take_count();
            let message = Message::ResourceFull { rcode: names::COUNT_FULL, rdata, hrepeat: 0 };
            self.send(message, config, out);
        }
    }

    fn is_due(&self) -> bool {
        match self.settings.period {
            Period::Off => false,
            Period::Messages(most) => self.outlet.messages >= most,
            Period::Cycles(most) | Period::Halfwords(most) => self.count >= most,
        }
    }

    /// Sends the message of an indirect transfer or a trap.
    fn indirect(
        &mut self,
        btype: u8,
        address: u64,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        self.release(config, out);
        let uaddr = field(address ^ self.reference, config);
        let icnt = self.take_count();
        let hist = self.take_history();
        let message = match self.sends_history(hist) {
            true => Message::IndirectBranchHist { btype, icnt, uaddr, hist },
            false => Message::IndirectBranch { btype, icnt, uaddr },
        };
        self.reference = address;
        self.branch(message, config, out);
    }

    /// Sends a message with SYNC: of a transfer with this B-TYPE, or at a point of linear code.
    fn point(
        &mut self,
        sync: u8,
        btype: Option<u8>,
        at: Arrival,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        self.release(config, out);
        let (icnt, hist) = (self.take_count(), self.take_history());
        let faddr = field(at.address, config);
        let message = match (self.has_history && hist != History::EMPTY, btype) {
            (true, btype) => {
                let btype = btype.unwrap_or(0);
                Message::IndirectBranchHistSync { sync, btype, icnt, faddr, hist }
            }
            (false, None) if !self.has_history => Message::ProgTraceSync { sync, icnt, faddr },
            (false, btype) => {
                Message::IndirectBranchSync { sync, btype: btype.unwrap_or(0), icnt, faddr }
            }
        };
        self.synchronise(message, at, config, out);
    }

    /// Sends a message with F-ADDR, and begins anew after it.
    fn synchronise(
        &mut self,
        message: Message,
        at: Arrival,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        self.send(message, config, out);
        self.reference = at.address;
        self.fresh = true;
        self.returns.clear();
        self.branch = None;
        (self.count, self.outlet.messages) = (0, 0);
        if self.settings.context {
            self.owner = Some(at.owner);
            let process = at.owner.process(true);
            self.send(Message::Ownership { process }, config, out);
        }
    }

    /// Reports the privilege and the context of the next instruction, where they are new.
    fn own(&mut self, owner: Owner, config: &Config, out: &mut impl Extend<Packet>) {
        let Some(before) = self.owner.filter(|before| *before != owner) else { return };
        self.owner = Some(owner);
        let process = owner.process(before.context != owner.context);
        self.send(Message::Ownership { process }, config, out);
    }

    /// Sends the message of a transfer, or counts it as a repetition.
    fn branch(&mut self, message: Message, config: &Config, out: &mut impl Extend<Packet>) {
        let repeats = match (self.settings.repeats, message) {
            (Repeats::None, _) => false,
            (_, Message::DirectBranch { .. }) => true,
            // Where U-ADDR is not 0, decoders differ on the target of the repetition.
            (_, Message::IndirectBranch { uaddr: 0, .. }) => true,
            (Repeats::All, Message::IndirectBranchHist { uaddr: 0, .. }) => true,
            _ => false,
        };
        if repeats && self.branch == Some(message) && self.repeats < MOST_REPEATS {
            self.repeats += 1;
            return;
        }
        self.send(message, config, out);
        self.branch = repeats.then_some(message);
    }

    /// Sends outcomes that wait for a message of their own.
    fn release(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        if let Some(message) = self.history.release() {
            self.send(message, config, out);
        }
    }

    /// Sends a message after the repetitions of the one before.
    pub(super) fn send(
        &mut self,
        message: Message,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        if self.repeats > 0 {
            let bcnt = core::mem::take(&mut self.repeats);
            out.extend(self.outlet.send(Message::RepeatBranch { bcnt }, config));
        }
        self.branch = None;
        out.extend(self.outlet.send(message, config));
    }

    fn take_count(&mut self) -> u64 {
        core::mem::take(&mut self.icnt)
    }

    fn take_history(&mut self) -> u64 {
        let bits = self.history.bits();
        self.history.clear();
        bits
    }

    /// Whether a message with I-CNT has this history, too.
    fn sends_history(&self, hist: u64) -> bool {
        self.has_history && (hist != History::EMPTY || self.settings.history_always)
    }

    /// Drops what no message has reported.
    fn clear(&mut self) {
        self.icnt = 0;
        self.history.clear();
        self.pending = Pending::Linear;
        self.marker = None;
        (self.branch, self.repeats) = (None, 0);
        self.returns.clear();
    }

    /// Trace was lost: the next instruction starts it again.
    pub(super) fn lose(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.clear();
        if self.running {
            self.send(Message::Error { etype: 0, ecode: ECODE_PROGRAM }, config, out);
        }
        (self.running, self.start) = (false, sync::OVERRUN);
    }

    /// There is room again after messages were lost.
    fn resume(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        (self.outlet.lost, self.running) = (false, true);
        self.lose(config, out);
    }

    /// All messages leave: those that were lost are reported.
    pub(super) fn flush(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.outlet.fifo.empty();
        if self.outlet.resumes() {
            self.resume(config, out);
        }
    }

    /// Ends the trace with this EVCODE; `start` is SYNC of the message that begins it again.
    pub(super) fn stop(
        &mut self,
        evcode: u8,
        start: u8,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        if !self.running {
            return;
        }
        if !self.nexrv || !self.stop_nexrv(config, out) {
            self.settle(config, out);
            if self.pending == Pending::Direct {
                let icnt = self.take_count();
                self.branch(Message::DirectBranch { icnt }, config, out);
            }
            self.release(config, out);
            let (icnt, hist) = (self.take_count(), self.take_history());
            let has_history =
                self.sends_history(hist) || self.has_history && self.settings.end_history;
            let (cdf, hist) = if has_history { (1, hist) } else { (0, 0) };
            let message = Message::ProgTraceCorrelation { evcode, cdf, icnt, hist };
            self.send(message, config, out);
        }
        self.clear();
        (self.running, self.start) = (false, start);
    }

    /// The end of NexRv, where it differs: a pending message takes the last address for the next
    /// one, and nothing follows it.
    fn stop_nexrv(&mut self, config: &Config, out: &mut impl Extend<Packet>) -> bool {
        let full = self.history.is_full();
        let pending = core::mem::take(&mut self.pending);
        self.settle(config, out);
        match pending {
            Pending::Linear => return full,
            Pending::Direct => {
                let icnt = self.take_count();
                self.branch(Message::DirectBranch { icnt }, config, out);
            }
            Pending::Indirect { expected, .. } if expected.is(self.last) => return false,
            Pending::Indirect { btype, .. } => self.indirect(btype, self.last, config, out),
        }
        true
    }
}

/// The field of an address: without bit 0, as wide as the processor's addresses.
const fn field(address: u64, config: &Config) -> u64 {
    let bits = if config.rv64 { config.address_bits as u32 } else { 32 };
    (address & (u64::MAX >> (64 - bits))) >> 1
}
