//! The sink of the trace: a trace buffer (TRBE) or an ETR.

use super::step::{barrier, poll, read, write};
use crate::program::{Barrier, ProgramStep};
use crate::sink::{Buffer, Mode, Sink, Watermark};

/// TRBLIMITR_EL1.E.
const ENABLE: u64 = 1;

/// The values of the registers of a trace buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers<'a>(pub(super) &'a Buffer);

impl Registers<'_> {
    /// TRBLIMITR_EL1: LIMIT \[63:12], TM \[4:3], FM \[2:1], E \[0].
    pub(super) fn limit(self) -> u64 {
        let (mode, trigger) = match (self.0.mode, self.0.watermark) {
            (_, Some(Watermark::Wrap(_))) => (1, 3),
            (mode, watermark) => {
                let mode = match mode {
                    Mode::Fill => 0,
                    Mode::Wrap => 1,
                    Mode::Circular => 3,
                };
                (mode, if watermark.is_some() { 1 } else { 3 })
            }
        };
        self.0.limit & !0xfff | trigger << 3 | mode << 1 | ENABLE
    }

    /// TRBPTR_EL1: where the first byte is written.
    pub(super) fn pointer(self) -> u64 {
        match self.0.watermark {
            Some(Watermark::Wrap(bytes)) => self.0.limit.wrapping_sub(bytes),
            _ => self.0.base,
        }
    }

    /// TRBTRG_EL1 and TRBSR_EL1: bytes to the trigger, and TRG \[21].
    pub(super) fn trigger(self) -> (u64, u64) {
        match self.0.watermark {
            Some(Watermark::Trigger(bytes)) => (bytes, 1 << 21),
            _ => (0, 0),
        }
    }
}

/// The accesses that make a sink collect trace.
pub fn start(sink: &Sink) -> Vec<ProgramStep> {
    match sink {
        Sink::Trbe(buffer) => trace_buffer(buffer),
        Sink::Etr(buffer) => router(buffer),
    }
}

fn trace_buffer(buffer: &Buffer) -> Vec<ProgramStep> {
    let registers = Registers(buffer);
    let (count, status) = registers.trigger();
    vec![
        write("TRBLIMITR_EL1", 0, "the trace buffer is disabled while it is programmed"),
        barrier(Barrier::Isb, "the trace buffer is disabled before its registers change"),
        write("TRBBASER_EL1", buffer.base, "first address of the buffer"),
        write("TRBPTR_EL1", registers.pointer(), "address of the first byte"),
        write("TRBTRG_EL1", count, "bytes from the trigger to the trigger event"),
        write("TRBSR_EL1", status, status_purpose(status)),
        barrier(Barrier::Isb, "the registers are valid before the buffer is enabled"),
        write("TRBLIMITR_EL1", registers.limit(), "limit, modes, enable"),
        barrier(Barrier::Isb, "the sink is ready before the trace unit is enabled"),
    ]
}

/// The purpose of the value of TRBSR_EL1 that starts a buffer.
const fn status_purpose(status: u64) -> &'static str {
    match status {
        0 => "no stop, no wrap, no event",
        _ => "TRG: the trigger counter counts from the start; no stop, no wrap, no event",
    }
}

/// The registers of an ETR. (Arm CoreSight SoC-400, Trace Memory Controller)
fn router(buffer: &Buffer) -> Vec<ProgramStep> {
    let words = buffer.limit.wrapping_sub(buffer.base) / 4;
    let mode = match buffer.mode {
        Mode::Circular | Mode::Wrap => 0,
        Mode::Fill => 2,
    };
    vec![
        write("TMC_LAR", 0xc5ac_ce55, "the registers of the sink are unlocked"),
        write("TMC_CTL", 0, "the sink is disabled while it is programmed"),
        poll("TMC_STS", 4, 4, "the sink is ready"),
        write("TMC_RSZ", words, "size of the buffer in 32-bit words"),
        write("TMC_MODE", mode, "0 circular buffer, 2 hardware FIFO"),
        write("TMC_AXICTL", 0xf02, "bursts of 16, no scatter list, non-secure"),
        write("TMC_DBALO", buffer.base & 0xffff_ffff, "first address of the buffer, [31:0]"),
        write("TMC_DBAHI", buffer.base >> 32, "first address of the buffer, [39:32]"),
        write("TMC_RRP", buffer.base & 0xffff_ffff, "read pointer, [31:0]"),
        write("TMC_RRPHI", buffer.base >> 32, "read pointer, [39:32]"),
        write("TMC_RWP", buffer.base & 0xffff_ffff, "write pointer, [31:0]"),
        write("TMC_RWPHI", buffer.base >> 32, "write pointer, [39:32]"),
        write("TMC_FFCR", 0x133, "formatter: frames, triggers, stop at a flush"),
        write("TMC_TRG", 0, "words after a trigger"),
        write("TMC_CTL", 1, "the sink collects trace"),
    ]
}

/// The accesses that stop a sink, after the trace unit is disabled and its trace is flushed.
pub fn stop(sink: &Sink) -> Vec<ProgramStep> {
    match sink {
        Sink::Trbe(buffer) => vec![
            write(
                "TRBLIMITR_EL1",
                Registers(buffer).limit() & !ENABLE,
                "the trace buffer accepts no more trace",
            ),
            barrier(Barrier::Dsb, "the trace is in memory before it is read"),
            barrier(Barrier::Isb, "the registers of the buffer are up to date"),
            read("TRBPTR_EL1", "the end of the trace"),
            read("TRBSR_EL1", "whether the buffer wrapped, stopped or had an error"),
        ],
        Sink::Etr(_) => vec![
            write("TMC_FFCR", 0x1133 | 1 << 6, "trace in the links is flushed; the sink stops"),
            poll("TMC_FFCR", 1 << 6, 0, "the flush is complete"),
            poll("TMC_STS", 4, 4, "the sink has stopped"),
            read("TMC_RWP", "the end of the trace, [31:0]"),
            read("TMC_RWPHI", "the end of the trace, [39:32]"),
            read("TMC_STS", "whether the buffer is full"),
            write("TMC_CTL", 0, "the sink is disabled"),
        ],
    }
}

/// The values of the registers of a trace buffer when it is started.
pub(super) fn restored(sink: &Sink) -> Vec<(&'static str, u64)> {
    let Sink::Trbe(buffer) = sink else { return Vec::new() };
    let registers = Registers(buffer);
    let (count, status) = registers.trigger();
    vec![
        ("TRBBASER_EL1", buffer.base),
        ("TRBPTR_EL1", registers.pointer()),
        ("TRBTRG_EL1", count),
        ("TRBSR_EL1", status),
        ("TRBLIMITR_EL1", registers.limit()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Buffer =
        Buffer { base: 0x8000_0000, limit: 0x8001_0000, mode: Mode::Fill, watermark: None };

    /// DDI 0461, 3.3: the pointers and the address of an ETR's buffer have two registers each.
    #[test]
    fn addresses_of_a_router() {
        use crate::program::Action;
        let (base, limit) = (0x90_8000_0000, 0x90_8001_0000);
        let buffer = Buffer { base, limit, mode: Mode::Circular, ..BASE };
        let steps = start(&Sink::Etr(buffer));
        for (low, high) in
            [("TMC_DBALO", "TMC_DBAHI"), ("TMC_RRP", "TMC_RRPHI"), ("TMC_RWP", "TMC_RWPHI")]
        {
            let value = |name: &str| {
                steps.iter().find_map(|step| match &step.action {
                    Action::Write { register, value } if register.name == name => Some(*value),
                    _ => None,
                })
            };
            assert_eq!((value(low), value(high)), (Some(0x8000_0000), Some(0x90)), "{low}");
        }
    }

    /// Arm ARM K10.5.11: the two ways to an interrupt at a level below the limit.
    #[test]
    fn watermarks() {
        let wrap = Buffer { watermark: Some(Watermark::Wrap(0x4000)), ..BASE };
        assert_eq!(Registers(&wrap).pointer(), 0x8000_c000);
        assert_eq!(Registers(&wrap).limit() >> 1 & 3, 1, "Wrap mode");
        assert_eq!(Registers(&wrap).trigger(), (0, 0));
        let trigger = Buffer { watermark: Some(Watermark::Trigger(0x4000)), ..BASE };
        assert_eq!(Registers(&trigger).pointer(), BASE.base);
        assert_eq!(Registers(&trigger).limit() >> 1 & 3, 0, "Fill mode");
        assert_eq!(Registers(&trigger).limit() >> 3 & 3, 1, "IRQ on trigger");
        assert_eq!(Registers(&trigger).trigger(), (0x4000, 1 << 21));
        let circular = Buffer { mode: Mode::Circular, ..trigger };
        assert_eq!(Registers(&circular).limit() >> 1 & 3, 3);
        assert_eq!(Registers(&BASE).limit(), 0x8001_0000 | 3 << 3 | 1);
    }

    /// Arm ARM K10.5.11: TRBSR_EL1.TRG is set where TRBTRG_EL1 counts from the start. The comment
    /// of the write agrees with the value.
    #[test]
    fn purpose_of_the_status() {
        use crate::program::Action;
        for (watermark, status, purpose) in [
            (None, 0, "no stop, no wrap, no event"),
            (Some(Watermark::Wrap(0x1000)), 0, "no stop, no wrap, no event"),
            (
                Some(Watermark::Trigger(0x1000)),
                0x0020_0000,
                "TRG: the trigger counter counts from the start; no stop, no wrap, no event",
            ),
        ] {
            let steps = start(&Sink::Trbe(Buffer { watermark, ..BASE }));
            let written = steps.iter().find_map(|step| match &step.action {
                Action::Write { register, value } if register.name == "TRBSR_EL1" => {
                    Some((*value, step.why.as_str()))
                }
                _ => None,
            });
            assert_eq!(written, Some((status, purpose)));
        }
    }
}
