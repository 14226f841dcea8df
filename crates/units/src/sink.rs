//! Sinks of the trace, as a request has them.

use std::fmt;

/// What happens at the end of the buffer. (TRBLIMITR_EL1.FM)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Collection stops.
    #[default]
    Fill,
    /// Collection continues at the base, with an interrupt.
    Wrap,
    /// Collection continues at the base.
    Circular,
}

/// How an interrupt at a watermark is made. (Arm ARM K10.5.11)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watermark {
    /// Wrap mode: the write pointer begins this number of bytes below the limit. The oldest trace
    /// is lost if the interrupt is late.
    Wrap(u64),
    /// The trigger counter: it counts this number of bytes. The newest trace is lost in Fill mode.
    Trigger(u64),
}

/// A buffer in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The first address.
    pub base: u64,
    /// The address after the last.
    pub limit: u64,
    /// What happens at the end.
    pub mode: Mode,
    /// The interrupt before the end.
    pub watermark: Option<Watermark>,
}

/// A sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    /// The trace buffer of the processor.
    Trbe(Buffer),
    /// An Embedded Trace Router.
    Etr(Buffer),
}

impl Sink {
    /// The buffer.
    pub fn buffer(&self) -> &Buffer {
        match self {
            Sink::Trbe(buffer) | Sink::Etr(buffer) => buffer,
        }
    }

    /// Why the sink cannot be programmed as it is.
    pub fn invalid(&self) -> Option<&'static str> {
        let Buffer { base, limit, mode, watermark } = *self.buffer();
        match (self, watermark) {
            (Sink::Trbe(_), _) if base & 0xfff != 0 || limit & 0xfff != 0 => {
                Some("base and limit of a trace buffer are multiples of 4096")
            }
            // Every write pointer would be out of range. (Arm ARM, RMSPSD)
            (Sink::Trbe(_), _) if base >> 56 != limit >> 56 => {
                Some("bits [63:56] of the base and the limit of a trace buffer are equal")
            }
            (Sink::Etr(_), _) if base & 0xf != 0 || limit & 0xf != 0 => {
                Some("base and size of an ETR's buffer are multiples of 16")
            }
            (Sink::Etr(_), Some(_)) => Some("a watermark is made by a trace buffer"),
            (Sink::Etr(_), None) if mode != Mode::Circular => {
                Some("an ETR with a buffer in memory is circular")
            }
            (_, Some(Watermark::Wrap(bytes) | Watermark::Trigger(bytes)))
                if bytes == 0 || bytes > limit - base =>
            {
                Some("the watermark is in the buffer")
            }
            // TRBTRG_EL1.TRG, bits [31:0].
            (_, Some(Watermark::Trigger(bytes))) if bytes > u32::MAX.into() => Some(
                "the trigger counter has 32 bits: a watermark of 4 GiB or more needs the mode wrap",
            ),
            // RSZ, bits [30:0]. (Arm DDI 0461, 3.3)
            (Sink::Etr(_), _) if (limit - base) / 4 >= 1 << 31 => {
                Some("the buffer of an ETR has less than 8 GiB")
            }
            (_, Some(Watermark::Wrap(_))) if mode != Mode::Wrap => {
                Some("a watermark by wrapping needs the mode wrap")
            }
            (_, Some(Watermark::Trigger(_))) if mode == Mode::Wrap => {
                Some("a watermark by a trigger needs the mode fill or circular")
            }
            _ => None,
        }
    }
}

impl fmt::Display for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Buffer { base, limit, .. } = self.buffer();
        let name = match self {
            Sink::Trbe(_) => "trbe",
            Sink::Etr(_) => "etr",
        };
        write!(f, "{name} {base:#x}..{limit:#x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TRBTRG_EL1.TRG has 32 bits, and RSZ of an ETR 31.
    #[test]
    fn widths_of_registers() {
        let base = 0x8000_0000;
        let of = |size, mode, watermark| Buffer { base, limit: base + size, mode, watermark };
        const GIB: u64 = 1 << 30;
        for (sink, valid) in [
            (Sink::Trbe(of(8 * GIB, Mode::Fill, Some(Watermark::Trigger(4 * GIB - 64)))), true),
            (Sink::Trbe(of(8 * GIB, Mode::Fill, Some(Watermark::Trigger(4 * GIB)))), false),
            (Sink::Trbe(of(8 * GIB, Mode::Wrap, Some(Watermark::Wrap(4 * GIB)))), true),
            (Sink::Etr(of(8 * GIB - 16, Mode::Circular, None)), true),
            (Sink::Etr(of(8 * GIB, Mode::Circular, None)), false),
        ] {
            assert_eq!(sink.invalid().is_none(), valid, "{sink:?}");
        }
    }

    /// Arm ARM, RMSPSD: the limit is an address, too.
    #[test]
    fn bits_63_to_56_of_a_trace_buffer() {
        for (base, limit, valid) in [
            (0x00ff_ffff_ffff_e000, 0x00ff_ffff_ffff_f000, true),
            (0x00ff_ffff_ffff_f000, 0x0100_0000_0000_0000, false),
            (0x00ff_ffff_ffff_f000, 0x0100_0000_0000_1000, false),
            (0xffff_ffff_0000_0000, 0xffff_ffff_0001_0000, true),
        ] {
            let buffer = Buffer { base, limit, mode: Mode::Fill, watermark: None };
            assert_eq!(Sink::Trbe(buffer).invalid().is_none(), valid, "{base:#x} {limit:#x}");
        }
    }
}
