//! Branch packets: a compressed address and an exception. (IHI 0014, 7.3.5)

use core::fmt;

use tracewright_base::{Fault, Isa, Parse};

use crate::etmv3::Config;

/// A branch packet, in its encoded form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The address bits that were sent, without those that are zero in the instruction set: bit 0
    /// is A\[2] in A32, A\[1] in T32 and A\[0] in Jazelle.
    pub bits: u32,
    /// Number of address bits.
    pub count: u8,
    /// The instruction set after the branch, in an address of five bytes. T32 includes ThumbEE.
    pub state: Option<State>,
    /// The exception or change of state, if the branch is one.
    pub info: Option<Info>,
}

/// The instruction set in the fifth byte of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// `0x00_1aaa`: 30 bits of address.
    A32,
    /// `0x01_aaaa`: 31 bits.
    T32,
    /// `0x1a_aaaa`: 32 bits.
    Jazelle,
}

impl State {
    /// The instruction set without AltISA, so T32 for ThumbEE.
    pub const fn isa(self) -> Isa {
        match self {
            State::A32 => Isa::A32,
            State::T32 => Isa::T32,
            State::Jazelle => Isa::Jazelle,
        }
    }
}

/// The exception information of a branch packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Info {
    /// The deprecated form in the fifth address byte, `1cee_eaaa`: an exception to A32 state.
    /// (Table 7-9)
    Old {
        /// C: the last instruction is cancelled.
        cancel: bool,
        /// EEE.
        code: u8,
    },
    /// Exception information bytes. (Tables 7-10, 7-18)
    Bytes(InfoBytes),
}

/// Exception information bytes 0 to 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InfoBytes {
    /// NS: the core is in Non-secure state after the branch.
    pub non_secure: bool,
    /// Exception, 4 bits, or 9 bits from ETMv3.4. 0 is none.
    pub exception: u16,
    /// Can: the last instruction is cancelled or interrupted.
    pub cancel: bool,
    /// AltISA, from ETMv3.3: the core is in ThumbEE state after the branch.
    pub alternative: bool,
    /// Hyp, ETMv3.5: the core is in Hyp mode after the branch.
    pub hyp: bool,
    /// Resume, from ETMv3.4: completed transfers of a load or store multiple.
    pub resume: u8,
}

/// The bit positions of the first four address bytes.
const BYTES_BEFORE_STATE: usize = 4;

impl Branch {
    /// Reads the packet at the start of `bytes`.
    pub(super) fn parse(bytes: &[u8], config: &Config) -> Parse<Branch> {
        let Some(&first) = bytes.first() else { return Parse::Partial };
        let alternative = config.id.alternative_branches();
        let mut branch =
            Branch { bits: u32::from(first >> 1 & 0x3f), count: 6, state: None, info: None };
        if first & 0x80 == 0 {
            return Parse::Packet(branch, 1);
        }
        for k in 1..BYTES_BEFORE_STATE {
            let Some(&byte) = bytes.get(k) else { return Parse::Partial };
            let last = byte & 0x80 == 0;
            let width = if last && alternative { 6 } else { 7 };
            branch.bits |= (u32::from(byte) & ((1 << width) - 1)) << branch.count;
            branch.count += width;
            if last && alternative && byte & 0x40 != 0 {
                return branch.with_info(bytes, k + 1, config);
            }
            if last {
                return Parse::Packet(branch, k + 1);
            }
        }
        let Some(&byte) = bytes.get(BYTES_BEFORE_STATE) else { return Parse::Partial };
        let len = BYTES_BEFORE_STATE + 1;
        if byte & 0x80 != 0 {
            branch.top(State::A32, byte);
            branch.info = Some(Info::Old { cancel: byte & 0x40 != 0, code: byte >> 3 & 7 });
            return Parse::Packet(branch, len);
        }
        match byte & 0x3f {
            0b10_0000.. => branch.top(State::Jazelle, byte),
            0b01_0000.. => branch.top(State::T32, byte),
            0b00_1000.. => branch.top(State::A32, byte),
            _ => return Parse::Bad(len, Fault::Sequence),
        }
        if byte & 0x40 != 0 {
            return branch.with_info(bytes, len, config);
        }
        Parse::Packet(branch, len)
    }

    /// Takes the address bits of the fifth byte.
    fn top(&mut self, state: State, byte: u8) {
        let width = match state {
            State::A32 => 3,
            State::T32 => 4,
            State::Jazelle => 5,
        };
        self.bits |= (u32::from(byte) & ((1 << width) - 1)) << self.count;
        self.count += width;
        self.state = Some(state);
    }

    /// Takes the exception information bytes from `at` on.
    fn with_info(mut self, bytes: &[u8], at: usize, config: &Config) -> Parse<Branch> {
        let minor = config.id.minor();
        let Some(&byte) = bytes.get(at) else { return Parse::Partial };
        let mut info = InfoBytes {
            non_secure: byte & 1 != 0,
            exception: u16::from(byte >> 1 & 0xf),
            cancel: byte & 0x20 != 0,
            alternative: minor >= 3 && byte & 0x40 != 0,
            ..InfoBytes::default()
        };
        let mut len = at + 1;
        let mut more = minor >= 4 && byte & 0x80 != 0;
        let mut has_byte1 = false;
        while more {
            let Some(&byte) = bytes.get(len) else { return Parse::Partial };
            len += 1;
            if byte & 0x40 != 0 {
                info.resume = byte & 0xf;
                break;
            }
            if has_byte1 {
                return Parse::Bad(len, Fault::Sequence);
            }
            has_byte1 = true;
            info.exception |= u16::from(byte & 0x1f) << 4;
            info.hyp = minor >= 5 && byte & 0x20 != 0;
            more = byte & 0x80 != 0;
        }
        self.info = Some(Info::Bytes(info));
        Parse::Packet(self, len)
    }

    /// Writes the packet in the encoding that `config` selects.
    pub(super) fn emit(&self, config: &Config, out: &mut impl Extend<u8>) {
        let alternative = config.id.alternative_branches();
        let with_info = matches!(self.info, Some(Info::Bytes(_)));
        let mut done = 6;
        out.extend([(self.bits as u8 & 0x3f) << 1 | 1 | more(self.count > done)]);
        for _ in 1..BYTES_BEFORE_STATE {
            if done >= self.count {
                break;
            }
            let group = (self.bits >> done) as u8;
            let last = self.state.is_none()
                && (alternative && self.count == done + 6
                    || self.count == done + 7 && !alternative);
            out.extend([if last && alternative {
                group & 0x3f | if with_info { 0x40 } else { 0 }
            } else {
                group & 0x7f | more(!last)
            }]);
            done += 7;
        }
        if let Some(state) = self.state {
            let group = (self.bits >> 27) as u8;
            let byte = match state {
                State::A32 => 0b00_1000 | group & 0b111,
                State::T32 => 0b01_0000 | group & 0b1111,
                State::Jazelle => 0b10_0000 | group & 0b1_1111,
            };
            out.extend([match self.info {
                None => byte,
                Some(Info::Bytes(_)) => byte | 0x40,
                Some(Info::Old { cancel, code }) => {
                    0x80 | (cancel as u8) << 6 | (code & 7) << 3 | group & 0b111
                }
            }]);
        }
        if let Some(Info::Bytes(info)) = self.info {
            info.emit(config.id.minor(), out);
        }
    }
}

const fn more(yes: bool) -> u8 {
    if yes { 0x80 } else { 0 }
}

impl InfoBytes {
    fn emit(&self, minor: u8, out: &mut impl Extend<u8>) {
        let byte1 = minor >= 4 && (self.exception >> 4 != 0 || self.hyp);
        let byte2 = minor >= 4 && self.resume != 0;
        out.extend([more(byte1 || byte2)
            | (self.alternative as u8) << 6
            | (self.cancel as u8) << 5
            | (self.exception as u8 & 0xf) << 1
            | self.non_secure as u8]);
        if byte1 {
            out.extend([more(byte2) | (self.hyp as u8) << 5 | (self.exception >> 4) as u8 & 0x1f]);
        }
        if byte2 {
            out.extend([0x40 | self.resume & 0xf]);
        }
    }
}

impl Info {
    /// Can: whether the last instruction did not complete.
    pub const fn cancel(self) -> bool {
        match self {
            Info::Old { cancel, .. } => cancel,
            Info::Bytes(info) => info.cancel,
        }
    }

    /// The number of the exception in the table of exception information bytes, for a branch to
    /// `address`. 0: no exception; `None`: reserved.
    ///
    /// The deprecated form has one code for all exceptions that the vector address distinguishes.
    pub const fn exception(self, address: u32) -> Option<u16> {
        match self {
            Info::Bytes(info) => Some(info.exception),
            Info::Old { code, .. } => Some(match (code, address & 0x1f) {
                (0, 0x00) => 0x8,
                (0, 0x04) => 0x9,
                (0, 0x08) => 0xa,
                (0, 0x0c) => 0xb,
                (0, 0x10) => 0xc,
                (1, _) => 0xe,
                (4, _) => 0x5,
                (5, _) => 0xf,
                (6, _) => 0x4,
                (7, _) => 0x1,
                _ => return None,
            }),
        }
    }
}

/// Exceptions of the A and R profiles. (Table 7-12; 3 from ETMv3.5)
const NAMES: [&str; 16] = [
    "none",
    "debug halt",
    "SMC",
    "Hyp mode entry",
    "asynchronous data abort",
    "Jazelle or ThumbEE",
    "reserved",
    "reserved",
    "reset",
    "undefined instruction",
    "SVC",
    "prefetch abort or breakpoint",
    "data abort or watchpoint",
    "generic",
    "IRQ",
    "FIQ",
];

/// The name of exception `number` on a core of the A or R profile.
pub const fn exception_name(number: u16) -> &'static str {
    if (number as usize) < NAMES.len() { NAMES[number as usize] } else { "reserved" }
}

/// Exceptions of the M profile below 0x18. (Table 7-17)
const M_NAMES: [&str; 24] = [
    "none",
    "IRQ1",
    "IRQ2",
    "IRQ3",
    "IRQ4",
    "IRQ5",
    "IRQ6",
    "IRQ7",
    "IRQ0",
    "UsageFault",
    "NMI",
    "SVC",
    "DebugMonitor",
    "MemManage",
    "PendSV",
    "SysTick",
    "reserved",
    "reset",
    "reserved",
    "HardFault",
    "reserved",
    "BusFault",
    "reserved",
    "reserved",
];

/// An exception of a core of the M profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MException(pub u16);

impl MException {
    /// The exception number of the architecture: 1 is reset, 16 + k is external interrupt k.
    /// `None` for the reserved codes and for 0.
    pub const fn architectural(self) -> Option<u16> {
        Some(match self.0 {
            n @ 1..=7 => 16 + n,
            0x8 => 16,
            0x9 => 6,
            0xa => 2,
            0xb => 11,
            0xc => 12,
            0xd => 4,
            0xe => 14,
            0xf => 15,
            0x11 => 1,
            0x13 => 3,
            0x15 => 5,
            n @ 0x18..=0x1ff => n,
            _ => return None,
        })
    }
}

impl fmt::Display for MException {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match M_NAMES.get(usize::from(self.0)) {
            Some(name) => f.write_str(name),
            None => write!(f, "IRQ{}", self.0.saturating_sub(16)),
        }
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state {
            Some(State::A32) => write!(f, "0x{:08x} A32", self.bits << 2)?,
            Some(State::T32) => write!(f, "0x{:08x} T32", self.bits << 1)?,
            Some(State::Jazelle) => write!(f, "0x{:08x} Jazelle", self.bits)?,
            None => write!(f, "{} bits 0x{:x}", self.count, self.bits)?,
        }
        match self.info {
            None => Ok(()),
            Some(Info::Old { cancel, code }) => {
                write!(f, ", exception code {code}{}", if cancel { ", cancels" } else { "" })
            }
            Some(Info::Bytes(info)) => {
                if info.exception != 0 {
                    write!(f, ", exception 0x{:x}", info.exception)?;
                }
                f.write_str(if info.non_secure { ", non-secure" } else { ", secure" })?;
                f.write_str(if info.hyp { ", Hyp" } else { "" })?;
                f.write_str(if info.alternative { ", ThumbEE" } else { "" })?;
                f.write_str(if info.cancel { ", cancels" } else { "" })?;
                if info.resume != 0 {
                    write!(f, ", {} transfers done", info.resume)?;
                }
                Ok(())
            }
        }
    }
}
