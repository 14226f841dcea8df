//! An ETMv4 trace unit that emits the shortest packets.

use tracewright::base::{Security, Wire};
use tracewright::protocols::etmv4::{
    Address, Atoms, Config, ContextInfo, Packet, SubIsa, TraceInfo,
};

/// The trace ID.
pub const ID: u8 = 0x10;

/// The registers: the return stack is enabled; context IDs, cycles and timestamps are disabled.
pub const REGISTERS: [(&str, u64); 6] = [
    ("TRCCONFIGR", 0x1001),
    ("TRCTRACEIDR", ID as u64),
    ("TRCIDR0", 0x2800_0ea1),
    ("TRCIDR1", 0x4100_f403),
    ("TRCIDR2", 0x0000_0488),
    ("TRCIDR8", 0),
];

/// Synchronization period in bytes. (TRCSYNCPR.PERIOD 12)
const PERIOD: usize = 4096;
/// The same unit with timestamps. (TRCCONFIGR.TS, bit \[11])
pub const TIMED_REGISTERS: [(&str, u64); 6] = {
    let mut registers = REGISTERS;
    registers[0].1 |= 1 << 11;
    registers
};

/// Bytes between two timestamps.
const STAMPS: usize = 512;
/// The timestamp of the first byte.
const FIRST_TIME: u64 = 1 << 40;
/// Depth of the return stack.
const DEPTH: usize = 8;
/// Maximum number of atoms in a packet.
const MAX_LEN: u8 = 24;

/// A trace unit while tracing.
#[derive(Clone, Debug)]
pub struct Unit {
    config: Config,
    /// The trace.
    pub bytes: Vec<u8>,
    /// The last three traced addresses, the latest first.
    sent: [u64; 3],
    /// Pending atoms, the oldest in bit \[0], and their number.
    atoms: (u32, u8),
    returns: Vec<u64>,
    /// Offset at which the next synchronization is due.
    due: usize,
    /// With timestamps: the last one, and the offset at which the next one is due.
    times: Option<(u64, usize)>,
}

impl Unit {
    /// A unit that starts tracing at `address`. `None` if its registers are no valid configuration.
    pub fn new(address: u64, capacity: usize) -> Option<Self> {
        let register = |name: &str| REGISTERS.iter().find(|r| r.0 == name).map(|r| r.1);
        let mut unit = Unit {
            config: Config::etmv4(None, &register).ok()?,
            bytes: Vec::with_capacity(capacity + PERIOD),
            sent: [0; 3],
            atoms: (0, 0),
            returns: Vec::new(),
            due: 0,
            times: None,
        };
        unit.sync(Some(Packet::TraceOn), address);
        Some(unit)
    }

    /// The same unit with timestamps, before it traces anything else. Its registers are
    /// [`TIMED_REGISTERS`].
    #[must_use]
    pub fn timed(mut self) -> Self {
        self.times = Some((0, 0));
        self
    }

    /// Emits a timestamp, if one is due. A tick is the time of one byte.
    fn stamp(&mut self) {
        let at = self.bytes.len();
        let Some((last, _)) = self.times.filter(|(_, due)| at >= *due) else { return };
        self.flush();
        let now = FIRST_TIME + at as u64;
        let differing = u64::BITS - (last ^ now).leading_zeros();
        let count = match differing.div_ceil(7).max(1) * 7 {
            count @ ..=56 => count as u8,
            _ => 64,
        };
        self.emit(Packet::Timestamp { bits: now, count, cycles: None });
        self.times = Some((now, at + STAMPS));
    }

    fn emit(&mut self, packet: Packet) {
        packet.emit(&self.config, &mut self.bytes);
    }

    /// Emits a synchronization point at `address`.
    fn sync(&mut self, then: Option<Packet>, address: u64) {
        self.flush();
        self.due = self.bytes.len() + PERIOD;
        self.emit(Packet::AlignSync);
        self.emit(Packet::TraceInfo(TraceInfo::default().with_info(0)));
        if let Some(packet) = then {
            self.emit(packet);
        }
        self.returns.clear();
        self.sent = [address, 0, 0];
        let context = ContextInfo::new(1, Security::NonSecure, true);
        let address = Address::Long64 { is: SubIsa::Is0, bits: address };
        self.emit(Packet::AddressContext(address, context));
        // Trace Info resets the timestamp.
        self.times = self.times.map(|_| (0, 0));
        self.stamp();
    }

    fn atom(&mut self, taken: bool) {
        let (bits, len) = self.atoms;
        self.atoms = (bits | u32::from(taken) << len, len + 1);
        if len + 1 == MAX_LEN {
            self.longest();
        }
    }

    /// Traces a direct branch with the successor `next`.
    pub fn branch(&mut self, taken: bool, next: u64) {
        self.atom(taken);
        if self.bytes.len() >= self.due {
            self.sync(None, next);
        }
        self.stamp();
    }

    /// Traces a direct call.
    pub fn call(&mut self, back: u64, next: u64) {
        self.link(back);
        self.branch(true, next);
    }

    /// Traces an indirect branch to `to`.
    pub fn indirect(&mut self, to: u64) {
        self.atom(true);
        self.address(to);
    }

    /// Traces an indirect call.
    pub fn call_indirect(&mut self, back: u64, to: u64) {
        self.link(back);
        self.indirect(to);
    }

    /// Traces a return to `to`.
    pub fn ret(&mut self, to: u64) {
        if self.returns.last() == Some(&to) {
            self.returns.pop();
            self.atom(true);
        } else {
            self.indirect(to);
        }
    }

    fn link(&mut self, back: u64) {
        if self.returns.len() == DEPTH {
            self.returns.remove(0);
        }
        self.returns.push(back);
    }

    /// Emits the address `to` in the shortest form.
    fn address(&mut self, to: u64) {
        self.flush();
        let [last, before, _] = self.sent;
        let (is, differs) = (SubIsa::Is0, last ^ to);
        let short = |count: u8| Address::Short { is, bits: to as u32 & (1 << count) - 1, count };
        let address = match self.sent.iter().position(|&sent| sent == to) {
            Some(n) => Address::Match(n as u8),
            None if differs >> 9 == 0 => short(9),
            None if differs >> 17 == 0 => short(17),
            None if differs >> 32 == 0 => Address::Long32 { is, bits: to as u32 },
            None => Address::Long64 { is, bits: to },
        };
        self.sent = [to, last, before];
        self.emit(Packet::Address(address));
    }

    /// Emits one packet with as many pending atoms as possible.
    fn longest(&mut self) {
        let (bits, len) = self.atoms;
        let packet = (1..=len).rev().find_map(|k| Some((k, Atoms::new(bits & (1 << k) - 1, k)?)));
        let Some((k, atoms)) = packet else { return };
        self.emit(Packet::Atoms(atoms));
        self.atoms = (bits >> k, len - k);
    }

    /// Emits all pending atoms.
    pub fn flush(&mut self) {
        while self.atoms.1 > 0 {
            self.longest();
        }
    }
}
