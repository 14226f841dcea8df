//! A trace unit in software: processor steps to the cycles of an ETMv2's port.
//!
//! An instruction takes one core cycle, and one more for each transfer after its first. The status
//! comes in the first of these cycles. (6.1.4) Where ETMCR.Stall is set the processor waits while
//! the FIFO is full. Otherwise the FIFO overflows: it takes the packets of a cycle as a whole or
//! not at all, and tracing starts again when the FIFO is empty. (6.10)

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use tracewright_base::{Access, Direction, Encode, Isa, Kind, Retired, Start, Step, Taken};
use tracewright_frames::cycles::Width;

use super::Config;
use super::packet::{Branch, DataAddress, Item, Offset, Packet, Reason, State, Status, Tfo, Value};
use crate::port_unit::{self, Common, Interruption, Unit, UnitState, Waiting, groups, traced};
use crate::trace_unit::Setting;

/// Settings beside the registers that a decoder reads.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The settings that ETMv1 and ETMv2 share.
    pub common: Common,
    /// Cycles between synchronisations. (ETMSYNCFR)
    pub period: u32,
    /// Direct branches of 256 that run in the cycle of the next instruction, as branch phantoms.
    pub fold: u8,
    /// Loads of 256 whose data come late.
    pub miss: u8,
    /// Starts at a load or store multiple, of 256, at which it is already in progress.
    pub in_progress: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Settings::new(&|_| None)
    }
}

impl Settings {
    /// Reads settings by name; an absent one has its default.
    pub fn new(setting: &dyn Fn(&str) -> Option<u64>) -> Self {
        let rate = |name| setting(name).unwrap_or(0).min(255) as u8;
        let common = Common::new(setting, 80);
        let period = match setting("ETMSYNCFR").unwrap_or(0) & 0xfff {
            0 => 1024,
            cycles => cycles as u32,
        };
        // The period must be longer than the FIFO takes to drain.
        let period = period.max(common.fifo as u32 * 3);
        let (fold, miss, in_progress) = (rate("fold"), rate("miss"), rate("in-progress"));
        Settings { common, period, fold, miss, in_progress }
    }
}

/// Every setting and its description.
pub(super) const SETTINGS: &[Setting] = &[
    port_unit::FIFO,
    port_unit::SEED,
    port_unit::NOISE,
    port_unit::WAITS,
    port_unit::HASTY,
    Setting::new(
        "fold",
        "of 256 direct branches: those that run in the cycle of the next instruction",
    ),
    Setting::new("miss", "of 256 loads: those whose data come late, out of order"),
    Setting::new(
        "in-progress",
        "of 256 starts at a load or store multiple: those at which it is in progress",
    ),
];

/// The encoder of ETMv2.
#[derive(Clone, Debug)]
pub struct Encoder {
    settings: Settings,
    state: UnitState,
    /// A direct branch that runs in the cycle of the next instruction.
    folded: Option<Waiting>,
    /// The load or store multiple at which tracing starts, while it is in progress.
    progress: Option<Waiting>,
    /// The last address that was sent, and its instruction set.
    base: Option<(u32, Isa)>,
    /// The last data address that was sent.
    data: Option<u32>,
    /// Cycles since a whole data address was sent.
    since_data: u32,
    /// Cycles to the next periodic offset.
    left: u32,
    /// A periodic offset is due.
    due: bool,
    /// The rest of an offset: nibbles of a 4-bit port, else a byte.
    offset: VecDeque<u8>,
    /// Loads whose values come late.
    late: Vec<Late>,
    /// The tag of the last load that missed.
    tag: u8,
}

/// The late values of a load that missed.
#[derive(Clone, Debug)]
struct Late {
    tag: u8,
    /// Cycles until they come.
    left: u32,
    values: Vec<u32>,
}

/// The most loads that can wait for data: the number of tags.
const MISSING: usize = 4;

/// The target of a branch.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    to: u32,
    isa: Isa,
    cancels: bool,
}

const WAIT: Status = Status { phantom: None, passed: None, data: false };

impl Encode<Config, Packet> for Encoder {
    type Settings = Settings;

    fn new(_config: &Config, settings: &Settings) -> Self {
        Encoder {
            state: UnitState::new(settings.common),
            settings: *settings,
            folded: None,
            progress: None,
            base: None,
            data: None,
            since_data: 0,
            left: settings.period,
            due: false,
            offset: VecDeque::new(),
            late: Vec::new(),
            tag: 0,
        }
    }

    fn step(&mut self, step: &Step, config: &Config, out: &mut impl Extend<Packet>) {
        self.take_step(step, config, out);
    }

    fn finish(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.end(config, out);
        self.drain(config, out);
    }
}

impl Unit<Config> for Encoder {
    type Packet = Packet;
    type Target = Target;

    fn state(&mut self) -> &mut UnitState {
        &mut self.state
    }

    fn context_bytes(config: &Config) -> usize {
        config.context_bytes()
    }

    fn flush(&mut self, exception: Option<Target>, config: &Config, out: &mut impl Extend<Packet>) {
        let Some(waiting) = self.state.waiting.take() else { return };
        if self.state.full {
            self.folded = None;
            if !self.recover(config, out) {
                return;
            }
            self.late.clear();
        }
        if self.due && self.left == 0 {
            // A full period passed without an instruction that could take the offset. (6.5.1)
            self.unfold(config, out);
            self.settle(config, out);
            self.state.start = Some(Start::Overflow);
        }
        if let Some(multiple) = self.progress.take() {
            let beside = exception.is_none() && waiting.is_plain() && !self.state.context_changed;
            return match beside {
                true => self.beside(&multiple, &waiting, config, out),
                false => {
                    self.begin(&multiple, None, config, out);
                    self.state.waiting = Some(waiting);
                    self.flush(exception, config, out);
                }
            };
        }
        let in_progress = self.state.start.is_some()
            && exception.is_none()
            && waiting.is_multiple()
            && self.state.noise.often(self.settings.in_progress);
        if in_progress {
            self.progress = Some(waiting);
            return;
        }
        self.begin(&waiting, exception, config, out);
    }

    fn end(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.flush(None, config, out);
        self.alone(config, out);
        self.unfold(config, out);
    }

    fn jumped(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.alone(config, out);
        if self.state.start.is_none() {
            self.unfold(config, out);
            self.state.start = Some(Start::Normal);
        }
    }

    fn raise(
        &mut self,
        taken: &Taken,
        interruption: Interruption,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        let (to, isa) = (taken.target as u32, taken.target_isa);
        self.flush(
            Some(Target { to, isa, cancels: interruption != Interruption::Executed }),
            config,
            out,
        );
    }

    /// The branch packet belongs to an instruction that did not execute.
    fn cancelled(&mut self, taken: &Taken) -> Retired {
        let mut cancelled = Retired { address: taken.return_address, ..Retired::default() };
        cancelled.taken = self.state.noise.next() & 1 != 0;
        cancelled.instruction.isa = taken.return_isa;
        cancelled
    }

    fn pause(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        match self.late_comes() && !self.state.full {
            true => self.cycle(WAIT, Vec::new(), config, out),
            false => self.clock(WAIT, false, config, out),
        }
    }

    /// Waits for the loads that missed. Their data might not come in Debug state. (6.4.3)
    fn settle(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        while !self.late.is_empty() && !self.state.full {
            self.pause(config, out);
        }
    }
}

/// The processor side.
impl Encoder {
    /// Emits a folded branch that no instruction follows.
    fn unfold(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        if let Some(folded) = self.folded.take() {
            let passed = Some(folded.retired.taken);
            self.cycle(Status { passed, ..WAIT }, Vec::new(), config, out);
        }
    }

    /// Starts tracing at a load or store multiple in progress. One TFO packet has its address and
    /// that of the instruction that runs beside it; the transfers of the multiple follow. (6.5.5)
    fn beside(
        &mut self,
        multiple: &Waiting,
        waiting: &Waiting,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        let start = self.state.start.take().unwrap_or(Start::Normal);
        self.tfo(&multiple.retired, Some(&waiting.retired), start.into(), config, out);
        if self.state.full {
            return;
        }
        let mut groups = self.groups(multiple, config).into_iter();
        let first = groups.next().unwrap_or_default();
        let status = Status { passed: Some(waiting.retired.taken), ..WAIT };
        self.cycle(status, first, config, out);
        for group in groups {
            self.cycle(WAIT, group, config, out);
        }
    }

    /// Traces the load or store multiple in progress if no instruction ran beside it.
    fn alone(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        if let Some(multiple) = self.progress.take() {
            self.begin(&multiple, None, config, out);
        }
    }

    /// Traces an instruction, and starts tracing there if a start is pending.
    fn begin(
        &mut self,
        waiting: &Waiting,
        exception: Option<Target>,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        if let Some(start) = self.state.start.take() {
            self.tfo(&waiting.retired, None, start.into(), config, out);
            if self.state.full {
                return;
            }
        }
        self.wait(waiting, config, out);
        let folds = exception.is_none()
            && self.folded.is_none()
            && waiting.retired.instruction.kind == Kind::Branch
            && !waiting.is_split()
            && !config.control.branch_output()
            && !self.state.context_changed
            && self.state.noise.often(self.settings.fold);
        if folds {
            self.folded = Some(waiting.clone());
        } else {
            self.execute(waiting, exception, config, out);
        }
    }

    fn execute(
        &mut self,
        waiting: &Waiting,
        exception: Option<Target>,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        let retired = &waiting.retired;
        let phantom = self.folded.take().map(|folded| folded.retired.taken);
        let mut status = Status { phantom, passed: Some(retired.taken), data: false };
        if waiting.is_split() && exception.is_none() {
            self.instruction(
                status,
                retired.address,
                retired.instruction.isa,
                Vec::new(),
                config,
                out,
            );
            status.phantom = None;
        }
        let half = if waiting.is_split() { 2 } else { 0 };
        let target = exception.or_else(|| self.traced_target(retired, config));
        let mut groups = self.groups(waiting, config);
        if self.state.context_changed && config.context_bytes() > 0 {
            self.state.context_changed = false;
            let mask = u32::MAX >> (32 - 8 * config.context_bytes());
            let id = Item::ContextId { id: self.state.context_id & mask, more: false };
            match groups.first_mut() {
                Some(first) => first.insert(0, id),
                None => groups.push(alloc::vec![id]),
            }
        }
        // The branch packet comes with the last group, or in a separate cycle.
        let alone = match groups.is_empty() {
            true => self.state.noise.next() & 7 == 0,
            false => self.state.noise.next() & 1 == 0,
        };
        let (with, after) = if alone { (None, target) } else { (target, None) };
        if let Some(target) = with {
            let branch = Item::Branch(self.branch(target));
            match groups.last_mut() {
                Some(last) => last.push(branch),
                None => groups.push(alloc::vec![branch]),
            }
        }
        let mut groups = groups.into_iter();
        let first = groups.next().unwrap_or_default();
        self.instruction(
            status,
            retired.address + half,
            retired.instruction.isa,
            first,
            config,
            out,
        );
        for group in groups {
            self.cycle(WAIT, group, config, out);
        }
        if let Some(target) = after {
            // Compressed only now: an offset in between changes its base address.
            let branch = Item::Branch(self.branch(target));
            self.cycle(WAIT, alloc::vec![branch], config, out);
        }
    }

    /// Emits the first cycle of an instruction, or a periodic offset instead of it.
    fn instruction(
        &mut self,
        status: Status,
        address: u64,
        isa: Isa,
        group: Vec<Item>,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        let plain = status == Status { passed: Some(true), ..WAIT };
        if plain && group.is_empty() && self.due && self.offset.is_empty() && !self.late_comes() {
            let retired = Retired {
                address,
                instruction: tracewright_base::Instruction { isa, ..Default::default() },
                ..Retired::default()
            };
            return self.tfo(&retired, None, Reason::Periodic, config, out);
        }
        self.cycle(status, group, config, out);
    }

    /// The target of `retired`, where its address is traced.
    fn traced_target(&self, retired: &Retired, config: &Config) -> Option<Target> {
        let sent = match retired.instruction.kind {
            _ if !retired.taken => false,
            Kind::Branch => config.control.branch_output(),
            Kind::Indirect => true,
            _ => false,
        };
        let target = Target { to: retired.next as u32, isa: retired.next_isa, cancels: false };
        sent.then_some(target)
    }

    /// The data packets of an instruction: one group for each transfer.
    fn groups(&mut self, waiting: &Waiting, config: &Config) -> Vec<Vec<Item>> {
        let control = config.control;
        let traced = match waiting.coprocessor() {
            true => control.coprocessor() && control.values(),
            false => control.values() || control.addresses(),
        };
        if !traced {
            return Vec::new();
        }
        let load = |access: &Access| access.direction == Direction::Read;
        let may_miss = control.values()
            && !waiting.coprocessor()
            && waiting.accesses.iter().all(load)
            && waiting.accesses.len() <= 2
            && waiting.accesses.iter().all(|access| !access.has(Access::VALUE_NOT_TRACED))
            && !(config.id.loads_pc_first() && waiting.loads_pc())
            && self.late.len() < MISSING;
        if may_miss && !waiting.accesses.is_empty() && self.state.noise.often(self.settings.miss) {
            return self.misses(waiting, config);
        }
        let mut moved = waiting.accesses.clone();
        if config.id.loads_pc_first() && waiting.loads_pc() {
            moved.rotate_right(1);
        }
        let mut first = true;
        let mut groups = Vec::new();
        for access in &moved {
            let coprocessor = access.has(Access::COPROCESSOR);
            if access.has(Access::VALUE_NOT_TRACED) {
                if !first {
                    groups.push(alloc::vec![Item::NotTraced { more: false }]);
                }
                continue;
            }
            let value = control.values().then(|| Value::of(access.value().unwrap_or(0) as u32));
            let begins = first && !coprocessor;
            let address = if begins { self.data_address(access, config) } else { None };
            groups.push(alloc::vec![Item::Data { first: begins, address, value, more: false }]);
            first = false;
        }
        groups
    }

    /// A load that misses. Two words under one tag are one value. (6.4.3)
    fn misses(&mut self, waiting: &Waiting, config: &Config) -> Vec<Vec<Item>> {
        let busy = |tag: u8, late: &[Late]| late.iter().any(|late| late.tag == tag);
        while busy(self.tag, &self.late) {
            self.tag = (self.tag + 1) % MISSING as u8;
        }
        let tag = self.tag;
        self.tag = (tag + 1) % MISSING as u8;
        let mut group = Vec::new();
        let mut values = Vec::new();
        for access in &waiting.accesses {
            let first = group.is_empty();
            let address = if first { self.data_address(access, config) } else { None };
            group.push(Item::Miss { tag, first, address, more: false });
            values.push(access.value().unwrap_or(0) as u32);
        }
        self.late.push(Late { tag, left: 1 + (self.state.noise.next() & 0x1f), values });
        alloc::vec![group]
    }

    fn data_address(&mut self, access: &Access, config: &Config) -> Option<DataAddress> {
        if !config.control.addresses() {
            return None;
        }
        let address = access.address().unwrap_or(0) as u32;
        let base = self.data.filter(|_| self.since_data < self.settings.period);
        self.data = Some(address);
        let count = match base.map(|base| groups(address ^ base)) {
            Some(groups @ ..5) => 7 * groups,
            _ => {
                self.since_data = 0;
                return Some(DataAddress { bits: address, count: 32 });
            }
        };
        Some(DataAddress { bits: address & ((1 << count) - 1), count })
    }

    /// The address of the instruction beside a load or store multiple, compressed against the
    /// address of the multiple. (6.5.5)
    fn current(&mut self, multiple: &Retired, beside: &Retired) -> Branch {
        let isa = beside.instruction.isa;
        let before = self.base.replace((multiple.address as u32, multiple.instruction.isa));
        let branch = self.branch(Target { to: beside.address as u32, isa, cancels: false });
        self.base = before;
        branch
    }

    /// The shortest branch packet. (6.7.1)
    fn branch(&mut self, target: Target) -> Branch {
        let shift = if target.isa == Isa::T32 { 1 } else { 2 };
        let before = self.base.replace((target.to, target.isa));
        let bits = target.to >> shift;
        let changed = match before {
            Some((base, isa)) if isa == target.isa && !target.cancels => {
                Some(bits ^ (base >> shift))
            }
            _ => None,
        };
        let count = match changed.map(u32::leading_zeros) {
            Some(26..) => 6,
            Some(19..) => 13,
            Some(12..) => 20,
            Some(5..) => 27,
            _ => {
                let state = match target.isa {
                    Isa::T32 => State::Thumb,
                    _ => State::Arm { cancels: target.cancels },
                };
                return Branch { bits, count: 32 - shift, state: Some(state) };
            }
        };
        Branch { bits: bits & ((1 << count) - 1), count, state: None }
    }
}

/// The FIFO and the port.
impl Encoder {
    /// Whether a late value comes in the next cycle.
    fn late_comes(&self) -> bool {
        self.late.iter().any(|late| late.left == 0)
    }

    /// Emits a cycle and puts its packets into the FIFO.
    fn cycle(
        &mut self,
        status: Status,
        mut group: Vec<Item>,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        if let Some(n) = self.late.iter().position(|late| late.left == 0) {
            let late = self.late.swap_remove(n);
            let items = late.values.iter().map(|&value| {
                let value = config.control.values().then(|| Value::of(value));
                Item::Late { tag: late.tag, value, more: false }
            });
            // A branch is the last packet of its group.
            group.splice(0..0, items);
        }
        let len = group.len();
        let mut bytes = Vec::new();
        for (n, item) in group.iter().enumerate() {
            item.with_more(n + 1 < len).emit(config, &mut bytes);
        }
        if !bytes.is_empty() && !self.put(&bytes, config, out) {
            return;
        }
        self.clock(Status { data: len > 0, ..status }, false, config, out);
    }

    /// Puts all bytes or none into the FIFO. Returns `false` on an overflow.
    fn put(&mut self, bytes: &[u8], config: &Config, out: &mut impl Extend<Packet>) -> bool {
        let depth = self.state.common.fifo.max(bytes.len());
        while config.control.stall()
            && !self.state.full
            && self.state.fifo.len() + bytes.len() > depth
        {
            self.clock(WAIT, false, config, out);
        }
        if self.state.full || self.state.fifo.len() + bytes.len() > depth {
            self.state.full = true;
            return false;
        }
        bytes.iter().for_each(|&byte| self.state.fifo.push(byte, false));
        true
    }

    /// Emits a trace FIFO offset and puts its packet into the FIFO. The packet has the address of
    /// `first` and, where given, of the instruction beside it.
    fn tfo(
        &mut self,
        first: &Retired,
        beside: Option<&Retired>,
        reason: Reason,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        // One offset at a time, and no more bytes in the FIFO than an offset can encode.
        while !self.offset.is_empty() || self.state.fifo.len() > usize::from(Offset::MOST) {
            self.clock(WAIT, false, config, out);
        }
        let isa = first.instruction.isa;
        let size = config.context_bytes();
        let mask = if size == 0 { 0 } else { u32::MAX >> (32 - 8 * size) };
        let tfo = Tfo {
            reason,
            context_id: (size > 0).then_some(self.state.context_id & mask),
            address: traced(first.address, isa),
            current: beside.map(|beside| self.current(first, beside)),
        };
        let mut bytes = Vec::new();
        tfo.emit(config, &mut bytes);
        // The wait for room comes first, because the offset counts the bytes that remain.
        let depth = self.state.common.fifo.max(bytes.len());
        while config.control.stall() && self.state.fifo.len() + bytes.len() > depth {
            self.clock(WAIT, false, config, out);
        }
        if self.state.fifo.len() + bytes.len() > depth {
            self.state.full = true;
            return;
        }
        self.state.context_changed = false;
        let last = beside.unwrap_or(first);
        self.base = Some((last.address as u32, isa));
        if reason != Reason::Periodic {
            self.data = None;
        }
        (self.due, self.left) = (false, self.settings.period);
        let ahead = self.state.fifo.len() as u8;
        let pins = Offset::pins(ahead).unwrap_or(0);
        match config.width() {
            Width::W4 => {
                self.offset.extend([pins & 0xf, pins >> 4]);
                if self.state.fifo.is_half() {
                    self.offset.push_back(0x6);
                }
            }
            Width::W8 | Width::W16 => self.offset.push_back(pins),
        }
        bytes.iter().for_each(|&byte| self.state.fifo.push(byte, false));
        self.clock(WAIT, true, config, out);
    }

    /// Emits one cycle. `offset`: it is the cycle of an offset.
    fn clock(
        &mut self,
        status: Status,
        offset: bool,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        let noise = self.state.tick(config.width());
        self.since_data = self.since_data.saturating_add(1);
        self.late.iter_mut().for_each(|late| late.left = late.left.saturating_sub(1));
        if self.left > 0 {
            self.left -= 1;
            if self.left == 0 && !self.due {
                (self.due, self.left) = (true, self.settings.period);
            }
        }
        if core::mem::take(&mut self.state.trigger) {
            let status = if offset { 0b0111 } else { status.pipestat() };
            out.extend([Packet::Trigger { pins: noise & !0xf | u16::from(status) }]);
            return;
        }
        if let Some(pins) = self.offset.pop_front() {
            let pins = match config.width() {
                Width::W16 => u16::from(pins) | noise & 0xff00,
                _ => pins.into(),
            };
            out.extend([match offset {
                true => Packet::Disabled { pins },
                false => Packet::Cycle { status, pins },
            }]);
            return;
        }
        let packet = match self.shown(config.width()) {
            Some(pins) => Packet::Cycle { status, pins },
            None if status == WAIT => {
                let counts = config.control.cycle_accurate() && self.state.on && !self.state.full;
                let pins = if counts { noise & !0xf | 0b0111 } else { noise & !1 };
                Packet::Disabled { pins }
            }
            None => Packet::Cycle { status, pins: noise },
        };
        out.extend([packet]);
    }

    /// The FIFO output for TRACEPKT.
    fn shown(&mut self, width: Width) -> Option<u16> {
        match width {
            Width::W4 => self.state.fifo.pop_half().map(|(half, _)| half.into()),
            Width::W8 => self.state.fifo.pop().map(|byte| byte.value.into()),
            Width::W16 => {
                let low = self.state.fifo.pop()?.value;
                // The padding beside a single byte. (6.2)
                let high = self.state.fifo.pop().map_or(0x66, |byte| byte.value);
                Some(u16::from(low) | u16::from(high) << 8)
            }
        }
    }
}
