//! A trace unit in software: the steps of a processor to packets.
//!
//! 1. [`Port`] gathers steps into cycles of the ingress port. The cycles of a hardware simulation
//!    can be given to [`Encoder::cycle`] instead.
//! 2. Triggers and filters select the blocks that are traced: [`Filter`].
//! 3. The algorithm in `flow` chooses the packet of each instruction that needs one.

mod codes;
mod data;
mod executed;
mod flow;
mod inst;
mod length;
mod outlet;
mod profiler;
mod refused;
mod returns;
mod settings;
mod usual;
mod wrong_cycle;

use tracewright_base::{Cause, Encode, Retired, Step, Taken};

pub use self::data::{DataEncoder, DataSettings};
use self::flow::Flow;
use self::inst::{Inst, is};
use self::outlet::Gate;
use self::profiler::Profiler;
pub use self::refused::Refused;
pub use self::settings::{Quirks, Settings, SyncPosition};
pub use self::wrong_cycle::WrongCycle;
use self::wrong_cycle::most_not_taken;
use super::config::Params;
use super::packet::Packet;
pub use crate::ingress::{BLOCKS, Block, ContextType, Cycle, Itype, Sideband};
use crate::ingress::{is_ecall, riscv_cause};
pub use crate::ingress_port::{Port, PortLimits};
pub use crate::trace_fifo::FifoSettings;
pub use crate::trace_filter::{Comparator, Compare, Filter, Function, Input, Match};
use crate::trace_filter::{Nesting, Qualifier};

/// Encodes for an E-Trace unit.
#[derive(Clone, Debug)]
pub struct Encoder {
    flow: Flow,
    context_type: ContextType,
    quirks: Quirks,
    /// The port that steps pass through if the unit has filters, several instructions in a block,
    /// or a FIFO, which depends on cycles.
    port: Option<Port>,
    qualifier: Qualifier,
    /// Flags of instructions that an `itype` of 3 bits does not have.
    hidden: u32,
    /// The privilege and context of the next instruction.
    privilege: u8,
    context: u32,
    time: u64,
    /// Flags for the next instruction.
    report: u32,
    /// Whether triggers have left tracing on.
    on: bool,
    /// The flag of instructions that are not traced, while the steps have tracing off.
    off: u32,
    /// Data trace, where it is enabled.
    data: Option<DataEncoder>,
    /// The fast profiling mode, in place of instruction trace.
    profiler: Option<Profiler>,
}

impl Encode<Params, Packet> for Encoder {
    type Settings = Settings;

    fn new(params: &Params, settings: &Settings) -> Self {
        let quirks = settings.quirks.unwrap_or(Quirks::of(params));
        let context_type = settings.context_type;
        let nesting = Nesting {
            deepest: 1 << params.port.filter_ecause.min(15),
            choices: 1 << params.port.ecause_choice.min(6),
            user_width: params.port.user_width,
        };
        let qualifier = Qualifier::new(nesting, &settings.filters, &settings.comparators);
        let profiles = params.own.profiling > 0;
        // Profiling takes the place of instruction trace.
        let blocks =
            profiles || settings.retires > 1 || !qualifier.is_open() || settings.fifo.bytes > 0;
        let port = || Port::new(params.port_limits(settings.retires), context_type);
        Encoder {
            flow: Flow::new(params, settings),
            context_type,
            quirks,
            port: blocks.then(port),
            qualifier,
            hidden: match params.port.itype_width {
                3 if !params.is_draft() => is::CALL | is::RETURN | is::SWAP,
                _ => 0,
            },
            privilege: 3,
            context: 0,
            time: 0,
            report: 0,
            on: true,
            off: 0,
            data: settings.data.enabled.then(|| DataEncoder::new(settings.data)),
            profiler: profiles.then(Profiler::default),
        }
    }

    #[inline]
    fn step(&mut self, step: &Step, params: &Params, out: &mut impl Extend<Packet>) {
        match step {
            Step::Retired(retired) if self.port.is_none() => self.retired(retired, params, out),
            other => self.other(other, params, out),
        }
    }

    fn finish(&mut self, params: &Params, out: &mut impl Extend<Packet>) {
        if let Some(mut port) = self.port.take() {
            port.flush(&mut |cycle| self.take(cycle, params, out));
            self.port = Some(port);
        }
        if self.profiler.is_none() {
            self.flow.finish(params, out);
        }
        if let Some(data) = &mut self.data {
            let outlet = &mut self.flow.outlet;
            data.finish(params, &mut Gate { outlet, params, out });
        }
    }

    fn waited(&self) -> u64 {
        self.stalled()
    }
}

impl Encoder {
    /// Whether the unit stalls the processor: the packets of the next cycle may not fit in the
    /// FIFO. (Sideband, `stall`)
    pub fn stall(&self, params: &Params) -> bool {
        self.flow.outlet.stalls(params) > 0
    }

    /// The number of cycles for which the processor was stalled.
    pub fn stalled(&self) -> u64 {
        self.flow.outlet.waited()
    }

    /// Takes one cycle of the ingress port. While the unit stalls the processor, the cycle is
    /// delayed.
    ///
    /// # Errors
    /// [`WrongCycle`] for a cycle that the port does not have. It is not traced.
    pub fn cycle(
        &mut self,
        cycle: &Cycle,
        params: &Params,
        out: &mut impl Extend<Packet>,
    ) -> Result<(), WrongCycle> {
        cycle.check(params)?;
        self.take(cycle, params, out);
        Ok(())
    }

    fn take(&mut self, cycle: &Cycle, params: &Params, out: &mut impl Extend<Packet>) {
        self.flow.advance(1, params);
        let waits = self.flow.outlet.stalls(params);
        if waits > 0 {
            self.flow.outlet.wait(waits);
            self.flow.advance(waits, params);
        }
        self.on |= cycle.side.trace_on;
        if cycle.side.halted || cycle.side.reset {
            self.stop(params, out);
        }
        if cycle.blocks.first().is_some_and(|block| !block.is_empty()) {
            self.time = cycle.time;
            self.set_who(cycle.privilege, cycle.context, cycle.ctype, params);
        }
        for block in cycle.blocks.iter().filter(|block| !block.is_empty()) {
            let (passes, notify) = self.qualifier.block(block, cycle);
            let unqualified = if passes && self.on { 0 } else { is::UNQUALIFIED };
            let notify = if notify || block.notify { is::NOTIFY } else { 0 };
            self.block(block, cycle, unqualified, notify, params, out);
            self.qualifier.after(block, cycle);
        }
        if cycle.side.trace_off && self.on {
            self.on = false;
            self.stop(params, out);
        }
    }

    fn block(
        &mut self,
        block: &Block,
        cycle: &Cycle,
        unqualified: u32,
        notify: u32,
        params: &Params,
        out: &mut impl Extend<Packet>,
    ) {
        let mut inst = Inst {
            address: block.iaddr,
            after: block.end(),
            halfwords: 0,
            flags: core::mem::take(&mut self.report) | unqualified,
            not_taken: 0,
            privilege: self.privilege,
            context: self.context,
            time: self.time,
            cause: 0,
            tval: 0,
        };
        let single = block.iretire <= block.ilastsize.into();
        if !single {
            self.flow.push_any(&inst, params, out);
            inst.flags = unqualified;
        }
        inst.address = block.last();
        inst.halfwords = block.iretire;
        inst.flags |= Inst::flags(block.itype, block.sijump) & !self.hidden | notify;
        if block.itype.is_trap() {
            (inst.cause, inst.tval) = (cycle.cause & self.quirks.cause_mask, cycle.tval);
        }
        if block.iretire == 0 {
            inst.flags |= is::ONLY;
            inst.after = block.iaddr;
        }
        if single && block.ntkn == 1 {
            inst.flags |= is::BRANCH;
        } else {
            inst.not_taken = block.ntkn;
        }
        self.flow.push_any(&inst, params, out);
    }

    /// Sets the privilege and the context from the next instruction on.
    fn set_who(&mut self, privilege: u8, context: u32, kind: ContextType, params: &Params) {
        if privilege != self.privilege {
            self.report |= is::CHANGED;
        }
        if context != self.context && params.widths.context > 0 {
            self.report |= match kind {
                ContextType::Precise => is::CHANGED | is::CONTEXT,
                ContextType::Discontinuity => is::DISCONTINUITY,
                ContextType::Imprecise => is::IMPRECISE,
                ContextType::Notification => is::NOTIFY,
                ContextType::Unreported => 0,
            };
        }
        (self.privilege, self.context) = (privilege, context);
    }

    #[inline]
    fn retired(&mut self, retired: &Retired, params: &Params, out: &mut impl Extend<Packet>) {
        let (itype, sijump) = Itype::of(retired);
        let mut flags = Inst::flags(itype, sijump) & !self.hidden;
        if params.is_draft() && itype == Itype::NotTaken {
            // A branch that is not taken does not end a block in 0.026.
            flags = is::BRANCH;
        }
        flags |= core::mem::take(&mut self.report) | self.off;
        let after = retired.address.wrapping_add(retired.instruction.size.into());
        if flags == 0 && self.flow.skip(retired.address, after) {
            return;
        }
        let inst = Inst {
            address: retired.address,
            after,
            halfwords: u16::from(retired.instruction.size / 2),
            flags,
            not_taken: 0,
            privilege: self.privilege,
            context: self.context,
            time: self.time,
            cause: 0,
            tval: 0,
        };
        self.flow.push(&inst, params, out);
    }

    fn other(&mut self, step: &Step, params: &Params, out: &mut impl Extend<Packet>) {
        if let (Step::Access(access), Some(data)) = (step, &mut self.data) {
            if self.flow.outlet.data_resumes() {
                self.flow.data_resumes(params, out);
                data.lose();
            }
            if self.flow.synchronised_since() {
                data.synchronise();
            }
            let outlet = &mut self.flow.outlet;
            if !outlet.is_data_lost() {
                data.access(access, params, &mut Gate { outlet, params, out });
            }
            if self.flow.outlet.is_data_lost() {
                data.lose();
            }
            return;
        }
        if let Some(profiler) = &mut self.profiler {
            self.flow.discover(params, out);
            return profiler.step(step, &mut self.flow.outlet, params, out);
        }
        if let Some(mut port) = self.port.take() {
            port.step(step, &mut |cycle| self.take(cycle, params, out));
            self.port = Some(port);
            if !matches!(step, Step::Overflow | Step::Cycles(_)) {
                return;
            }
        }
        match *step {
            Step::Retired(_) => {}
            Step::Exception(taken) => self.exception(&taken, params, out),
            Step::Context(context) => {
                let privilege = context.el.unwrap_or(self.privilege);
                let id = context.context_id.unwrap_or(self.context);
                self.set_who(privilege, id, self.context_type, params);
            }
            Step::Timestamp(time) => self.time = time,
            Step::Cycles(cycles) => self.flow.advance(cycles.into(), params),
            Step::Trigger => self.report |= is::NOTIFY,
            Step::Off => {
                self.off = is::UNQUALIFIED;
                self.stop(params, out);
            }
            Step::On => self.off = 0,
            Step::Halted => self.stop(params, out),
            Step::Overflow => self.report |= is::AFTER_LOSS,
            Step::Access(_)
            | Step::SoftwareWrite(_)
            | Step::DwtEvent(_)
            | Step::Events(_)
            | Step::Transaction(_)
            | Step::Instrumentation { .. }
            | Step::Signals(_) => {}
        }
    }

    fn stop(&mut self, params: &Params, out: &mut impl Extend<Packet>) {
        let off = Inst { flags: is::UNQUALIFIED, ..Inst::default() };
        self.flow.push_any(&off, params, out);
    }

    fn exception(&mut self, taken: &Taken, params: &Params, out: &mut impl Extend<Packet>) {
        if let Cause::Reset | Cause::Halt = taken.cause {
            return self.stop(params, out);
        }
        let Some((code, interrupt)) = riscv_cause(taken.cause) else { return };
        let only = !(params.choices.ecall_retires && !interrupt && is_ecall(code));
        let mut flags = is::TRAP | is::SPECIAL | core::mem::take(&mut self.report) | self.off;
        if interrupt {
            flags |= is::INTERRUPT;
        }
        if only {
            flags |= is::ONLY;
        }
        let inst = Inst {
            address: taken.return_address,
            after: taken.return_address,
            halfwords: 0,
            flags,
            not_taken: 0,
            privilege: self.privilege,
            context: self.context,
            time: self.time,
            cause: code & self.quirks.cause_mask,
            tval: taken.value.unwrap_or(0),
        };
        self.flow.push_any(&inst, params, out);
    }
}

impl Params {
    /// The port of a unit with these parameters, and of a processor that retires up to `retires`
    /// instructions in a block.
    pub fn port_limits(&self, retires: u8) -> PortLimits {
        PortLimits {
            retires,
            blocks: self.port.taken_branches,
            halfwords: (1u16 << self.port.iretire_width.min(15)) - 1,
            not_taken: self.is_draft().then(|| most_not_taken(self)),
            ilastsize_width: self.port.ilastsize_width,
            ecall_retires: self.choices.ecall_retires,
        }
    }
}
