//! Events of the Data Watchpoint and Trace unit (DWT) of a Cortex-M, and timestamps of its ITM.

use core::fmt;

/// The content of a hardware source packet. (Armv7-M ARM, appendix D4, "Hardware source packet")
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DwtEvent {
    /// Discriminator, header bits \[7:3].
    pub discriminator: u8,
    /// Payload size: 1, 2 or 4 bytes.
    pub size: u8,
    /// Payload, little-endian.
    pub value: u32,
    /// Packets were lost before this one.
    pub after_overflow: bool,
}

/// Counters that wrapped, in an event counter packet. (Armv7-M ARM, C1.8, "Profiling counters")
pub const COUNTERS: [&str; 6] = ["CPI", "EXC", "SLEEP", "LSU", "FOLD", "CYC"];

/// A step of an exception. (Armv7-M ARM, D4, "Exception trace packet", FN)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExceptionStep {
    /// The handler was entered.
    Entered,
    /// The handler was left.
    Exited,
    /// The processor returned to the exception; number 0 is Thread mode.
    Returned,
}

/// The decoded content of a [`DwtEvent`]. (Armv7-M ARM and Armv8-M ARM, appendix "Hardware source
/// packet")
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dwt {
    /// Counters that wrapped: bit 0 CPI, 1 exception overhead, 2 sleep, 3 LSU, 4 folded, 5 cycles.
    Counters(u8),
    /// Event counters of the Performance Monitoring Unit that overflowed: bit N is counter N
    /// (Armv8.1-M).
    PmuCounters(u8),
    /// A step of an exception.
    Exception {
        /// Exception number (IPSR).
        number: u16,
        /// The step.
        step: ExceptionStep,
    },
    /// A sample of the program counter.
    PcSample(u32),
    /// A sample taken while the processor slept.
    Sleep,
    /// A sample that the security configuration prohibits.
    Prohibited,
    /// Comparator matched: address of the instruction that accessed data.
    DataPc {
        /// Number of the comparator, 0 to 3.
        comparator: u8,
        /// Bytes of the address that were traced: 4, or in Armv8-M 1 or 2. The upper ones are those
        /// of the address in the comparator.
        size: u8,
        /// Program counter, or its low bytes.
        pc: u32,
    },
    /// Comparator matched, without an address (Armv8-M).
    DataMatch {
        /// Number of the comparator, 0 to 3.
        comparator: u8,
    },
    /// Comparator matched: the data address.
    DataAddress {
        /// Number of the comparator, 0 to 3.
        comparator: u8,
        /// Bytes of the address that were traced: 2, or in Armv8-M 1, 2 or 4. The upper ones are
        /// those of the address in the comparator.
        size: u8,
        /// The address, or its low bytes.
        address: u32,
    },
    /// Comparator matched: the value.
    DataValue {
        /// Number of the comparator, 0 to 3.
        comparator: u8,
        /// Whether the access is a write.
        write: bool,
        /// Size in bytes: 1, 2 or 4.
        size: u8,
        /// The value.
        value: u32,
    },
    /// A discriminator, a size or a value that the architecture reserves.
    Reserved {
        /// Discriminator, header bits \[7:3].
        discriminator: u8,
        /// Payload size in bytes: 1, 2 or 4.
        size: u8,
        /// Payload, little-endian.
        value: u32,
    },
}

impl Dwt {
    /// The program counter, where all of it was traced.
    pub const fn pc(&self) -> Option<u32> {
        match *self {
            Dwt::PcSample(pc) | Dwt::DataPc { size: 4, pc, .. } => Some(pc),
            _ => None,
        }
    }
}

impl DwtEvent {
    /// Decodes the packet.
    pub const fn meaning(&self) -> Dwt {
        let DwtEvent { discriminator, size, value, .. } = *self;
        let comparator = discriminator >> 1 & 0b11;
        let reserved = Dwt::Reserved { discriminator, size, value };
        match (discriminator, size) {
            (0, 1) => Dwt::Counters(value as u8),
            (1, 2) => {
                // Exception number, bits [8:0]; FN, bits [13:12].
                let step = match value >> 12 & 0b11 {
                    1 => ExceptionStep::Entered,
                    2 => ExceptionStep::Exited,
                    3 => ExceptionStep::Returned,
                    _ => return reserved,
                };
                Dwt::Exception { number: (value & 0x1ff) as u16, step }
            }
            (2, 4) => Dwt::PcSample(value),
            (2, 1) => match value {
                0x00 => Dwt::Sleep,
                0xff => Dwt::Prohibited,
                _ => reserved,
            },
            (3, 1) => Dwt::PmuCounters(value as u8),
            // 01_cc_0: address of the instruction; 01_cc_1: data address; 10_cc_w: data value.
            (8 | 10 | 12 | 14, 1) if value == 1 => Dwt::DataMatch { comparator },
            // Bit 0 of a program counter is 0.
            (8 | 10 | 12 | 14, 1) if value & 1 != 0 => reserved,
            (8 | 10 | 12 | 14, _) => Dwt::DataPc { comparator, size, pc: value },
            (9 | 11 | 13 | 15, _) => Dwt::DataAddress { comparator, size, address: value },
            (16..=23, _) => {
                Dwt::DataValue { comparator, write: discriminator & 1 != 0, size, value }
            }
            _ => reserved,
        }
    }
}

impl fmt::Display for Dwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Dwt::Counters(bits) => {
                f.write_str("counters wrapped:")?;
                for (bit, name) in COUNTERS.iter().enumerate().filter(|(n, _)| bits >> n & 1 != 0) {
                    write!(f, "{}{name}", if bits & ((1 << bit) - 1) == 0 { " " } else { ", " })?;
                }
                Ok(())
            }
            Dwt::PmuCounters(bits) => {
                f.write_str("PMU counters overflowed:")?;
                for bit in (0..u8::BITS).filter(|n| bits >> n & 1 != 0) {
                    write!(f, "{}{bit}", if bits & ((1 << bit) - 1) == 0 { " " } else { ", " })?;
                }
                Ok(())
            }
            Dwt::Exception { number, step } => {
                f.write_str(match step {
                    ExceptionStep::Entered => "entered ",
                    ExceptionStep::Exited => "exited ",
                    ExceptionStep::Returned => "returned to ",
                })?;
                exception_name(number, f)
            }
            Dwt::PcSample(pc) => write!(f, "pc 0x{pc:08x}"),
            Dwt::Sleep => f.write_str("asleep"),
            Dwt::Prohibited => f.write_str("pc not allowed to be sampled"),
            Dwt::DataPc { comparator, size, pc } => {
                write!(f, "comparator {comparator}: by ")?;
                low_bytes(pc, size, f)
            }
            Dwt::DataMatch { comparator } => write!(f, "comparator {comparator}: match"),
            Dwt::DataAddress { comparator, size, address } => {
                write!(f, "comparator {comparator}: at ")?;
                low_bytes(address, size, f)
            }
            Dwt::DataValue { comparator, write, size, value } => {
                let (verb, width) = (if write { "wrote" } else { "read" }, usize::from(size) * 2);
                write!(f, "comparator {comparator}: {verb} 0x{value:0width$x}")
            }
            Dwt::Reserved { .. } => f.write_str("reserved"),
        }
    }
}

/// An address of which the low `size` bytes are known.
fn low_bytes(address: u32, size: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let digits = usize::from(size.min(4)) * 2;
    write!(f, "0x{:?<unknown$}{address:0digits$x}", "", unknown = 8 - digits)
}

/// The name of exception `number` of an M-profile processor. (Armv8-M ARM, "Exception numbers")
fn exception_name(number: u16, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(match number {
        0 => "Thread",
        1 => "Reset",
        2 => "NMI",
        3 => "HardFault",
        4 => "MemManage",
        5 => "BusFault",
        6 => "UsageFault",
        7 => "SecureFault",
        11 => "SVCall",
        12 => "DebugMonitor",
        14 => "PendSV",
        15 => "SysTick",
        16.. => return write!(f, "IRQ {}", number - 16),
        _ => return write!(f, "exception {number}"),
    })
}

/// The delay of a local timestamp. (Armv7-M ARM, D4, "Local timestamp packet format 1", TC)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeDelay {
    /// The timestamp is synchronous to the preceding packet.
    None,
    /// The timestamp was delayed.
    Timestamp,
    /// The preceding packet was delayed.
    Packet,
    /// Both were delayed.
    Both,
}

impl fmt::Display for TimeDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TimeDelay::None => "in time",
            TimeDelay::Timestamp => "timestamp late",
            TimeDelay::Packet => "packet late",
            TimeDelay::Both => "packet and timestamp late",
        })
    }
}

/// A local timestamp: ticks since the preceding local timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocalTimestamp {
    /// Ticks of the timestamp counter since the preceding local timestamp, as encoded in the
    /// packet.
    pub delta: u32,
    /// Cycles of the timestamp clock (ticks multiplied by the prescaler) since the decoder started
    /// or packets were lost.
    pub total: u64,
    /// The delay.
    pub delay: TimeDelay,
    /// Packets were lost before this one.
    pub after_overflow: bool,
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

    /// Rows laid out from the hardware source packet tables: discriminator, size, payload.
    #[test]
    fn decoded_content() {
        let reserved = |discriminator, size, value| Dwt::Reserved { discriminator, size, value };
        for (discriminator, size, value, want, text) in [
            (0, 1, 0x15, Dwt::Counters(0x15), "counters wrapped: CPI, SLEEP, FOLD"),
            (3, 1, 0x85, Dwt::PmuCounters(0x85), "PMU counters overflowed: 0, 2, 7"),
            (0, 2, 0x15, reserved(0, 2, 0x15), "reserved"),
            (
                1,
                2,
                0x101c + 16,
                Dwt::Exception { number: 44, step: ExceptionStep::Entered },
                "entered IRQ 28",
            ),
            (
                1,
                2,
                0x200f,
                Dwt::Exception { number: 15, step: ExceptionStep::Exited },
                "exited SysTick",
            ),
            (
                1,
                2,
                0x3000,
                Dwt::Exception { number: 0, step: ExceptionStep::Returned },
                "returned to Thread",
            ),
            (1, 2, 0x0003, reserved(1, 2, 3), "reserved"),
            (2, 4, 0x0800_0218, Dwt::PcSample(0x0800_0218), "pc 0x08000218"),
            (2, 1, 0x00, Dwt::Sleep, "asleep"),
            (2, 1, 0xff, Dwt::Prohibited, "pc not allowed to be sampled"),
            (2, 1, 0x7f, reserved(2, 1, 0x7f), "reserved"),
            (2, 2, 0x1010, reserved(2, 2, 0x1010), "reserved"),
            (3, 2, 0, reserved(3, 2, 0), "reserved"),
            (
                0b01_01_0,
                4,
                0x0800_028c,
                Dwt::DataPc { comparator: 1, size: 4, pc: 0x0800_028c },
                "comparator 1: by 0x0800028c",
            ),
            (0b01_11_0, 1, 1, Dwt::DataMatch { comparator: 3 }, "comparator 3: match"),
            (
                0b01_00_1,
                2,
                0x1010,
                Dwt::DataAddress { comparator: 0, size: 2, address: 0x1010 },
                "comparator 0: at 0x????1010",
            ),
            // Armv8-M: any number of bytes of an address.
            (
                0b01_00_0,
                1,
                0x34,
                Dwt::DataPc { comparator: 0, size: 1, pc: 0x34 },
                "comparator 0: by 0x??????34",
            ),
            (0b01_00_0, 1, 3, reserved(0b01_00_0, 1, 3), "reserved"),
            (
                0b01_10_0,
                2,
                0x0234,
                Dwt::DataPc { comparator: 2, size: 2, pc: 0x0234 },
                "comparator 2: by 0x????0234",
            ),
            (
                0b01_11_1,
                1,
                0x40,
                Dwt::DataAddress { comparator: 3, size: 1, address: 0x40 },
                "comparator 3: at 0x??????40",
            ),
            (
                0b01_01_1,
                4,
                0x2000_3040,
                Dwt::DataAddress { comparator: 1, size: 4, address: 0x2000_3040 },
                "comparator 1: at 0x20003040",
            ),
            (
                0b10_10_1,
                2,
                0x7f,
                Dwt::DataValue { comparator: 2, write: true, size: 2, value: 0x7f },
                "comparator 2: wrote 0x007f",
            ),
            (
                0b10_01_0,
                1,
                0x44,
                Dwt::DataValue { comparator: 1, write: false, size: 1, value: 0x44 },
                "comparator 1: read 0x44",
            ),
            (0b11_000, 1, 0, reserved(0b11_000, 1, 0), "reserved"),
        ] {
            let packet = DwtEvent { discriminator, size, value, after_overflow: false };
            assert_eq!(packet.meaning(), want, "{packet:?}");
            assert_eq!(want.to_string(), text);
        }
    }
}
