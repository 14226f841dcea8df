//! Packets of PTM, `ocsd_ptm_pkt`.

use std::fmt::Write;

use tracewright_base::{Fault, Isa};
use tracewright_protocols::ptm::packet::Reason;
use tracewright_protocols::ptm::{Config, History, Packet};

use super::common::{
    EXCEPTIONS, PacketAddress, PacketAtoms, PacketContext, SYNC_REASONS, write_isa,
};
use crate::client::element::isa_number;

/// A packet and what earlier packets established.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct PtmPacket {
    kind: u32,
    isa: u32,
    isa_before: u32,
    address: PacketAddress,
    context: PacketContext,
    atoms: PacketAtoms,
    reason: u32,
    cycles: u32,
    has_cycles: u8,
    timestamp: u64,
    timestamp_bits: u8,
    exception: PacketException,
    error_kind: u32,
}

/// The exception in a packet of PTM.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct PacketException {
    kind: u32,
    number: u16,
    present: u32,
}

const _: () = {
    assert!(size_of::<PtmPacket>() == 104);
    assert!(std::mem::offset_of!(PtmPacket, address) == 16);
    assert!(std::mem::offset_of!(PtmPacket, context) == 40);
    assert!(std::mem::offset_of!(PtmPacket, atoms) == 52);
    assert!(std::mem::offset_of!(PtmPacket, has_cycles) == 68);
    assert!(std::mem::offset_of!(PtmPacket, exception) == 84);
    assert!(std::mem::offset_of!(PtmPacket, error_kind) == 96);
};

/// Kinds of packets.
#[allow(missing_docs, reason = "the names are those of the packets")]
mod kind {
    pub const NOT_SYNC: u32 = 0;
    pub const INCOMPLETE: u32 = 1;
    pub const NO_ERROR: u32 = 2;
    pub const BRANCH: u32 = 3;
    pub const ALIGN_SYNC: u32 = 4;
    pub const SYNC: u32 = 5;
    pub const TRIGGER: u32 = 6;
    pub const WAYPOINT: u32 = 7;
    pub const IGNORE: u32 = 8;
    pub const CONTEXT_ID: u32 = 9;
    pub const VMID: u32 = 10;
    pub const ATOM: u32 = 11;
    pub const TIMESTAMP: u32 = 12;
    pub const EXCEPTION_RETURN: u32 = 13;
    pub const BAD_SEQUENCE: u32 = 16;
    pub const RESERVED: u32 = 17;
}

/// Names and descriptions of the kinds.
const TITLES: [(&str, &str); 18] = [
    ("NOTSYNC", "PTM Not Synchronised"),
    ("INCOMPLETE_EOT", "Incomplete packet flushed at end of trace"),
    ("NOERROR", "Error type not set"),
    ("BRANCH_ADDRESS", "Branch address packet"),
    ("ASYNC", "Alignment Synchronisation Packet"),
    ("ISYNC", "Instruction Synchronisation packet"),
    ("TRIGGER", "Trigger Event packet"),
    ("WP_UPDATE", "Waypoint update packet"),
    ("IGNORE", "Ignore packet"),
    ("CTXTID", "Context ID packet"),
    ("VMID", "VM ID packet"),
    ("ATOM", "Atom packet"),
    ("TIMESTAMP", "Timestamp packet"),
    ("ERET", "Exception return packet"),
    ("BRANCH_OR_BYPASS_EOT", "Branch packet or bypass flush ambiguity"),
    ("TPIU_PAD_EOB", "Padding at the end of a buffer"),
    ("BAD_SEQUENCE", "Invalid sequence in packet"),
    ("RESERVED", "Reserved Packet Header"),
];

fn title(kind: u32) -> (&'static str, &'static str) {
    TITLES.get(kind as usize).copied().unwrap_or(("UNKNOWN", "Unknown packet type."))
}

/// The number of an instruction set that may be unknown.
fn number(isa: Option<Isa>) -> u32 {
    isa.map_or(6, isa_number)
}

/// Makes the packets of a source.
#[derive(Clone, Debug)]
pub struct PtmMaker {
    config: Config,
    history: History,
    made: PtmPacket,
}

impl PtmMaker {
    /// Before the first packet.
    pub fn new(config: &Config) -> Self {
        let made = PtmPacket { isa: 6, isa_before: 6, ..PtmPacket::default() };
        PtmMaker { config: *config, history: History::default(), made }
    }

    fn begin(&mut self, kind: u32) {
        let made = &mut self.made;
        made.kind = kind;
        made.isa_before = number(self.history.isa());
        made.context.begin();
        made.atoms = PacketAtoms::default();
        (made.has_cycles, made.timestamp_bits, made.error_kind) = (0, 0, kind::NO_ERROR);
        made.exception.present = 0;
    }

    /// The packet as a client receives it.
    pub fn packet(&mut self, packet: &Packet) -> &PtmPacket {
        self.begin(packet_kind(packet));
        self.history.take(packet, &self.config);
        let isa = self.history.isa();
        self.made.isa = number(isa);
        let cycles = match packet {
            Packet::Sync(sync) => {
                self.made.reason = match sync.reason {
                    Reason::Periodic => 0,
                    Reason::TraceOn => 1,
                    Reason::Overflow => 2,
                    Reason::DebugExit => 3,
                };
                self.address(32);
                self.made.context.update(sync.non_secure, sync.hyp, sync.alternative);
                if let Some(id) = sync.context_id {
                    self.made.context.update_id(id);
                }
                sync.cycles
            }
            Packet::Atoms(atoms) => {
                for taken in atoms.iter() {
                    self.made.atoms.push(taken);
                }
                None
            }
            Packet::TimedAtom { taken, cycles } => {
                self.made.atoms = PacketAtoms { bits: u32::from(*taken), count: 1 };
                Some(*cycles)
            }
            Packet::Branch(branch) => {
                self.address(branch.address.value(isa.unwrap_or(Isa::T32)).1);
                if let Some(info) = &branch.info {
                    self.made.context.update(info.non_secure, info.hyp, false);
                    let (kind, _) =
                        EXCEPTIONS.get(usize::from(info.exception)).copied().unwrap_or_default();
                    let number = info.exception;
                    self.made.exception = PacketException { kind, number, present: 1 };
                }
                branch.cycles
            }
            Packet::Waypoint(waypoint) => {
                self.address(waypoint.address.value(isa.unwrap_or(Isa::T32)).1);
                None
            }
            Packet::ContextId(id) => {
                self.made.context.update_id(*id);
                None
            }
            Packet::Vmid(vmid) => {
                self.made.context.update_vmid(*vmid);
                None
            }
            Packet::Timestamp(time) => {
                self.made.timestamp = self.history.coded_time();
                self.made.timestamp_bits = time.count;
                time.cycles
            }
            _ => None,
        };
        if let Some(cycles) = cycles {
            (self.made.cycles, self.made.has_cycles) = (cycles, 1);
        }
        &self.made
    }

    /// Undecodable `bytes` as a client receives them.
    pub fn bad(&mut self, bytes: &[u8], fault: Fault) -> &PtmPacket {
        let kind = match fault {
            Fault::Unsynchronised => kind::NOT_SYNC,
            Fault::Truncated => kind::INCOMPLETE,
            Fault::Reserved(_) | Fault::ReservedForConfig(_) => kind::RESERVED,
            _ => kind::BAD_SEQUENCE,
        };
        self.history = History::default();
        self.begin(kind);
        self.made.isa = 6;
        if kind == kind::BAD_SEQUENCE {
            self.made.error_kind = match bytes.first() {
                Some(0x00) => kind::ALIGN_SYNC,
                Some(0x72) => kind::WAYPOINT,
                _ => kind::BRANCH,
            };
        }
        &self.made
    }

    fn address(&mut self, packet_bits: u8) {
        let (value, valid_bits) = self.history.low_address();
        self.made.address = PacketAddress::new(value, packet_bits, valid_bits);
    }
}

const fn packet_kind(packet: &Packet) -> u32 {
    match packet {
        Packet::Align => kind::ALIGN_SYNC,
        Packet::Sync(_) => kind::SYNC,
        Packet::Atoms(_) | Packet::TimedAtom { .. } => kind::ATOM,
        Packet::Branch(_) => kind::BRANCH,
        Packet::Waypoint(_) => kind::WAYPOINT,
        Packet::Trigger => kind::TRIGGER,
        Packet::ContextId(_) => kind::CONTEXT_ID,
        Packet::Vmid(_) => kind::VMID,
        Packet::Timestamp(_) => kind::TIMESTAMP,
        Packet::ExceptionReturn => kind::EXCEPTION_RETURN,
        Packet::Ignore => kind::IGNORE,
    }
}

impl PtmPacket {
    /// The text of the packet.
    pub fn text(&self) -> String {
        let (name, description) = title(self.kind);
        let mut out = format!("{name} : {description}; ");
        // Writing to a string does not fail.
        let _ = match self.kind {
            kind::BAD_SEQUENCE => write!(out, "[{}]; ", title(self.error_kind).0),
            kind::ATOM => {
                self.atoms.letters(&mut out);
                out.write_str("; ")
            }
            kind::CONTEXT_ID => write!(out, "CtxtID=0x{:08x}; ", self.context.id),
            kind::VMID => write!(out, "VMID=0x{:02x}; ", self.context.vmid),
            kind::WAYPOINT | kind::BRANCH => {
                out.push_str("Addr=");
                self.address.write(self.address.packet_bits, &mut out);
                out.push_str("; ");
                if self.isa != self.isa_before {
                    write_isa(self.isa, &mut out);
                }
                self.context.write_updated(&mut out);
                self.write_exception(&mut out)
            }
            kind::SYNC => {
                let reason = SYNC_REASONS.get(self.reason as usize).copied().unwrap_or_default();
                let _ = write!(out, "({reason}); Addr=0x{:08x}; ", self.address.value);
                self.context.write_sync(&mut out);
                write_isa(self.isa, &mut out);
                Ok(())
            }
            kind::TIMESTAMP => {
                let time = self.timestamp;
                out.push_str("TS=");
                super::common::value(64, 64, time, self.timestamp_bits, &mut out);
                write!(out, "({time}); ")
            }
            _ => Ok(()),
        };
        let may_count = matches!(
            self.kind,
            kind::ATOM | kind::BRANCH | kind::WAYPOINT | kind::SYNC | kind::TIMESTAMP
        );
        if may_count && self.has_cycles != 0 {
            let _ = write!(out, "Cycles={}; ", self.cycles);
        }
        out
    }

    fn write_exception(&self, out: &mut String) -> std::fmt::Result {
        if self.exception.present & 1 == 0 {
            return Ok(());
        }
        let number = self.exception.number;
        let name = EXCEPTIONS.get(usize::from(number)).map_or("Unknown", |(_, name)| name);
        write!(out, "Excep={name} [{number:02x}]; ")
    }
}
