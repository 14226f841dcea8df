//! An ETMv4 trace unit: what ran, as packets, as short as they can be.

use tracewright::base::{Security, Wire};
use tracewright::protocols::etmv4::{
    Address, Atoms, Config, ContextInfo, Packet, SubIsa, TraceInfo,
};

/// The trace id.
pub const ID: u8 = 0x10;

/// The registers: the return stack is on; contexts, cycles and time are off.
pub const REGISTERS: [(&str, u64); 6] = [
    ("TRCCONFIGR", 0x1001),
    ("TRCTRACEIDR", ID as u64),
    ("TRCIDR0", 0x2800_0ea1),
    ("TRCIDR1", 0x4100_f403),
    ("TRCIDR2", 0x0000_0488),
    ("TRCIDR8", 0),
];

/// Bytes from one synchronisation to the next. (TRCSYNCPR.PERIOD 12)
const PERIOD: usize = 4096;
/// Return addresses that the unit keeps.
const DEPTH: usize = 8;
/// Atoms in the longest packet.
const LONGEST: u8 = 24;

/// A trace unit in the course of tracing.
#[derive(Clone, Debug)]
pub struct Unit {
    config: Config,
    /// What it wrote.
    pub bytes: Vec<u8>,
    /// The last three addresses that it sent, the last first.
    sent: [u64; 3],
    /// Atoms that wait, the oldest in bit 0; and how many.
    atoms: (u32, u8),
    returns: Vec<u64>,
    /// Where the next synchronisation is due.
    due: usize,
}

impl Unit {
    /// A unit that starts tracing at `address`. `None` where its registers make no configuration.
    pub fn new(address: u64, capacity: usize) -> Option<Self> {
        let register = |name: &str| REGISTERS.iter().find(|r| r.0 == name).map(|r| r.1);
        let mut unit = Unit {
            config: Config::etmv4(None, &register).ok()?,
            bytes: Vec::with_capacity(capacity + PERIOD),
            sent: [0; 3],
            atoms: (0, 0),
            returns: Vec::new(),
            due: 0,
        };
        unit.sync(Some(Packet::TraceOn), address);
        Some(unit)
    }

    fn emit(&mut self, packet: Packet) {
        packet.emit(&self.config, &mut self.bytes);
    }

    /// Everything that a decoder needs to start at `address`.
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
    }

    fn atom(&mut self, taken: bool) {
        let (bits, len) = self.atoms;
        self.atoms = (bits | u32::from(taken) << len, len + 1);
        if len + 1 == LONGEST {
            self.longest();
        }
    }

    /// A branch in an opcode: `next` is what runs after it.
    pub fn branch(&mut self, taken: bool, next: u64) {
        self.atom(taken);
        if self.bytes.len() >= self.due {
            self.sync(None, next);
        }
    }

    /// A direct call.
    pub fn call(&mut self, back: u64, next: u64) {
        self.link(back);
        self.branch(true, next);
    }

    /// A branch to `to`, which the program does not tell.
    pub fn indirect(&mut self, to: u64) {
        self.atom(true);
        self.address(to);
    }

    /// An indirect call.
    pub fn call_indirect(&mut self, back: u64, to: u64) {
        self.link(back);
        self.indirect(to);
    }

    /// A return to `to`.
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

    /// Sends `to` in the shortest form.
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

    /// Sends as many of the atoms that wait as one packet can hold.
    fn longest(&mut self) {
        let (bits, len) = self.atoms;
        let packet = (1..=len).rev().find_map(|k| Some((k, Atoms::new(bits & (1 << k) - 1, k)?)));
        let Some((k, atoms)) = packet else { return };
        self.emit(Packet::Atoms(atoms));
        self.atoms = (bits >> k, len - k);
    }

    /// Sends all atoms that wait.
    pub fn flush(&mut self) {
        while self.atoms.1 > 0 {
            self.longest();
        }
    }
}
