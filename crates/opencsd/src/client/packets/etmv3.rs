//! Packets of ETMv3, `ocsd_etmv3_pkt`.

use std::fmt::Write;

use tracewright_base::Fault;
use tracewright_protocols::etmv3::packet::{
    Atoms, Branch, DataAddress, Info, InfoBytes, Isync, Reason, Value,
};
use tracewright_protocols::etmv3::{Config, History, Packet};

use super::common::{
    EXCEPTIONS, PacketAddress, PacketAtoms, PacketContext, SYNC_REASONS, write_isa,
};
use crate::client::element::isa_number;
use crate::etmv3::m_exception;

/// A packet and what earlier packets established.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Etmv3Packet {
    kind: u32,
    isa: u32,
    isa_before: u32,
    context: PacketContext,
    address: PacketAddress,
    reason: u32,
    /// 0 cycle count, 1 load or store in progress, 2 without an address.
    sync_bits: u32,
    exception: PacketException,
    atoms: PacketAtoms,
    /// Format of a P-header, 1 to 4.
    format: u8,
    cycles: u32,
    timestamp: u64,
    timestamp_bits: u8,
    data: PacketData,
    error_kind: u32,
}

/// The exception in a packet of ETMv3.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct PacketException {
    kind: u32,
    number: u16,
    /// 0 present, 1 cancel, 2 M profile, \[6:3] resume, \[15:7] interrupt.
    bits: u32,
}

/// The data access in a packet of ETMv3.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct PacketData {
    value: u32,
    address: PacketAddress,
    /// \[1:0] tag, 2 big-endian, 3 big-endian is in the packet, 4 address is, 5 value is.
    bits: u32,
}

const _: () = {
    assert!(size_of::<Etmv3Packet>() == 152);
    assert!(std::mem::offset_of!(Etmv3Packet, address) == 24);
    assert!(std::mem::offset_of!(Etmv3Packet, exception) == 56);
    assert!(std::mem::offset_of!(Etmv3Packet, atoms) == 68);
    assert!(std::mem::offset_of!(Etmv3Packet, cycles) == 80);
    assert!(std::mem::offset_of!(Etmv3Packet, timestamp_bits) == 96);
    assert!(std::mem::offset_of!(Etmv3Packet, data) == 104);
    assert!(std::mem::offset_of!(Etmv3Packet, error_kind) == 144);
};

/// Kinds of packets.
#[allow(missing_docs, reason = "the names are those of the packets")]
mod kind {
    pub const NO_ERROR: u32 = 0;
    pub const NOT_SYNC: u32 = 1;
    pub const INCOMPLETE: u32 = 2;
    pub const BRANCH: u32 = 3;
    pub const ALIGN_SYNC: u32 = 4;
    pub const CYCLE_COUNT: u32 = 5;
    pub const SYNC: u32 = 6;
    pub const SYNC_CYCLES: u32 = 7;
    pub const TRIGGER: u32 = 8;
    pub const ATOMS: u32 = 9;
    pub const STORE_FAILED: u32 = 10;
    pub const LATE: u32 = 11;
    pub const PLACEHOLDER: u32 = 12;
    pub const DATA: u32 = 13;
    pub const SUPPRESSED: u32 = 14;
    pub const NOT_TRACED: u32 = 15;
    pub const IGNORE: u32 = 16;
    pub const CONTEXT_ID: u32 = 17;
    pub const VMID: u32 = 18;
    pub const EXCEPTION_ENTRY: u32 = 19;
    pub const EXCEPTION_RETURN: u32 = 20;
    pub const TIMESTAMP: u32 = 21;
    pub const BAD_SEQUENCE: u32 = 23;
    pub const BAD_MODE: u32 = 24;
    pub const RESERVED: u32 = 25;
}

/// Names and descriptions of the kinds.
const TITLES: [(&str, &str); 26] = [
    RESERVED,
    ("NOTSYNC", "Trace Stream not synchronised"),
    ("INCOMPLETE_EOT.", "Incomplete packet at end of trace data."),
    ("BRANCH_ADDRESS", "Branch address."),
    ("A_SYNC", "Alignment Synchronisation."),
    ("CYCLE_COUNT", "Cycle Count."),
    ("I_SYNC", "Instruction Packet synchronisation."),
    ("I_SYNC_CYCLE", "Instruction Packet synchronisation with cycle count."),
    ("TRIGGER", "Trace Trigger Event."),
    ("P_HDR", "Atom P-header."),
    ("STORE_FAIL", "Data Store Failed."),
    ("OOO_DATA", "Out of Order data value packet."),
    ("OOO_ADDR_PLC", "Out of Order data address placeholder."),
    ("NORM_DATA", "Data trace packet."),
    ("DATA_SUPPRESSED", "Data trace suppressed."),
    ("VAL_NOT_TRACED", "Data trace value not traced."),
    ("IGNORE", "Packet ignored."),
    ("CONTEXT_ID", "Context ID change."),
    ("VMID", "VMID change."),
    ("EXCEPTION_ENTRY", "Exception entry data marker."),
    ("EXCEPTION_EXIT", "Exception return."),
    ("TIMESTAMP", "Timestamp Value."),
    RESERVED,
    ("BAD_SEQUENCE", "Invalid sequence for packet type."),
    ("BAD_TRACEMODE", "Invalid packet type for this trace mode."),
    RESERVED,
];

const RESERVED: (&str, &str) = ("I_RESERVED", "Reserved Packet Header");

/// The kinds of the exceptions of the M profile with numbers below 0x18; 23 is an interrupt.
const M_KINDS: [u32; 24] =
    [1, 23, 23, 23, 23, 23, 23, 23, 23, 15, 16, 8, 17, 18, 19, 20, 0, 2, 0, 22, 0, 21, 0, 0];

/// The kinds of the exceptions in the deprecated form.
const OLD_KINDS: [u32; 8] = [2, 3, 0, 0, 7, 4, 5, 6];

/// Makes the packets of a source.
#[derive(Clone, Debug)]
pub struct Etmv3Maker {
    config: Config,
    history: History,
    made: Etmv3Packet,
}

impl Etmv3Maker {
    /// Before the first packet.
    pub fn new(config: &Config) -> Self {
        let made = Etmv3Packet { isa: 6, isa_before: 6, ..Etmv3Packet::default() };
        Etmv3Maker { config: *config, history: History::default(), made }
    }

    fn begin(&mut self, kind: u32) {
        let made = &mut self.made;
        made.kind = kind;
        made.isa_before = made.isa;
        made.context.begin();
        made.address.packet_bits = 0;
        (made.atoms.count, made.cycles, made.timestamp_bits) = (0, 0, 0);
        (made.sync_bits, made.error_kind) = (0, kind::NO_ERROR);
        made.exception.bits &= !1;
        (made.data.value, made.data.bits) = (0, made.data.bits & 1 << 2);
    }

    /// The packet as a client receives it.
    pub fn packet(&mut self, packet: &Packet) -> &Etmv3Packet {
        self.begin(packet_kind(packet));
        match packet {
            Packet::CycleCount(cycles) => self.made.cycles = *cycles,
            Packet::Isync(isync) => self.isync(isync),
            Packet::Branch(branch) => self.branch(branch),
            Packet::Atoms(header) => self.atoms(*header),
            Packet::Data { address, value, .. } => {
                self.data_address(address);
                self.value(value);
            }
            Packet::Placeholder { tag, address, .. } => {
                self.made.data.bits |= u32::from(*tag & 3);
                self.data_address(address);
            }
            Packet::Late { tag, value } => {
                self.made.data.bits |= u32::from(*tag & 3);
                self.value(value);
            }
            Packet::ValueNotTraced { address, .. } => self.data_address(address),
            Packet::ContextId(id) => self.made.context.update_id(*id),
            Packet::Vmid(vmid) => self.made.context.update_vmid(*vmid),
            Packet::Timestamp { bits, count, .. } => {
                let (time, _) = self.history.timestamp(*bits, *count, &self.config);
                (self.made.timestamp, self.made.timestamp_bits) = (time, *count);
            }
            Packet::Async { .. }
            | Packet::Trigger
            | Packet::StoreFailed
            | Packet::Suppressed
            | Packet::Ignore
            | Packet::ExceptionReturn
            | Packet::ExceptionEntry => {}
        }
        &self.made
    }

    /// Undecodable `bytes` as a client receives them.
    pub fn bad(&mut self, bytes: &[u8], fault: Fault) -> &Etmv3Packet {
        let kind = match fault {
            Fault::Unsynchronised => kind::NOT_SYNC,
            Fault::Truncated => kind::INCOMPLETE,
            Fault::Reserved(_) => kind::RESERVED,
            Fault::ReservedForConfig(_) => kind::BAD_MODE,
            _ => kind::BAD_SEQUENCE,
        };
        *self = Etmv3Maker::new(&self.config);
        self.begin(kind);
        self.made.error_kind = header_kind(bytes.first().copied().unwrap_or(0));
        &self.made
    }

    fn isync(&mut self, isync: &Isync) {
        self.history.isync(isync);
        self.made.reason = match isync.reason {
            Reason::Periodic => 0,
            Reason::Enabled => 1,
            Reason::Overflow => 2,
            Reason::Debug => 3,
        };
        self.made.context.update(isync.non_secure, isync.hyp, isync.alternative);
        if let Some(id) = isync.context_id {
            self.made.context.update_id(id);
        }
        match isync.start_address() {
            None => self.made.sync_bits |= 1 << 2,
            Some((address, isa)) => {
                self.made.isa = isa_number(isa);
                self.made.address = PacketAddress::new(address, 32, 32);
            }
        }
        if let Some(cycles) = isync.cycles {
            self.made.cycles = cycles;
            self.made.sync_bits |= 1;
        }
        if let Some(current) = &isync.current {
            let target = self.history.branch(current, &self.config);
            self.made.sync_bits |= 1 << 1;
            self.made.data.address =
                PacketAddress::new(target.address, target.updated, target.known);
        }
    }

    fn branch(&mut self, branch: &Branch) {
        let target = self.history.branch(branch, &self.config);
        self.made.address = PacketAddress::new(target.address, target.updated, target.known);
        self.made.isa = isa_number(target.isa);
        let m_profile = self.config.m_profile();
        let Some(info) = branch.info else { return };
        let number = info.exception(target.address).unwrap_or(6);
        let (kind, resume) = match info {
            Info::Old { code, .. } => (OLD_KINDS.get(usize::from(code)).copied(), 0),
            Info::Bytes(InfoBytes { non_secure, hyp, alternative, resume, .. }) => {
                self.made.context.update(non_secure, hyp, alternative);
                let kind = match m_profile {
                    true => Some(M_KINDS.get(usize::from(number)).copied().unwrap_or(23)),
                    false => EXCEPTIONS.get(usize::from(number)).map(|(kind, _)| *kind),
                };
                (kind, resume)
            }
        };
        let kind = kind.unwrap_or(0);
        let interrupt = match (kind, number) {
            (23, 8) => 0,
            (23, 0..=0x17) => number,
            (23, _) => number - 16,
            _ => 0,
        };
        let bits = 1
            | u32::from(info.cancel()) << 1
            | u32::from(m_profile) << 2
            | u32::from(resume & 0xf) << 3
            | u32::from(interrupt & 0x1ff) << 7;
        self.made.exception = PacketException { kind, number, bits };
    }

    fn atoms(&mut self, header: Atoms) {
        let byte = header.header();
        let format = match (self.config.control.cycle_accurate(), byte & 0xa3) {
            (false, _) => 1 + u8::from(byte & 3 == 2),
            (true, 0x82) => 2 + u8::from(byte & 0x10 != 0) * 2,
            (true, 0xa0) => 3,
            (true, _) => 1,
        };
        let mut atoms = PacketAtoms::default();
        for atom in (0..header.len()).filter_map(|k| header.get(k)) {
            atoms.push(atom.passed);
        }
        self.made.atoms = atoms;
        (self.made.format, self.made.cycles) = (format, header.cycles().into());
    }

    fn data_address(&mut self, address: &Option<DataAddress>) {
        let Some(address) = address else { return };
        let (full, known) = self.history.data(address);
        let data = &mut self.made.data;
        data.address = PacketAddress::new(full, address.count, known);
        data.bits |= 1 << 4;
        if let Some(big_endian) = address.big_endian {
            data.bits = data.bits & !(1 << 2) | u32::from(big_endian) << 2 | 1 << 3;
        }
    }

    fn value(&mut self, value: &Option<Value>) {
        if let Some(value) = value {
            self.made.data.value = value.bits;
            self.made.data.bits |= 1 << 5;
        }
    }
}

const fn packet_kind(packet: &Packet) -> u32 {
    match packet {
        Packet::Async { .. } => kind::ALIGN_SYNC,
        Packet::CycleCount(_) => kind::CYCLE_COUNT,
        Packet::Isync(Isync { cycles: None, .. }) => kind::SYNC,
        Packet::Isync(_) => kind::SYNC_CYCLES,
        Packet::Trigger => kind::TRIGGER,
        Packet::Branch(_) => kind::BRANCH,
        Packet::Atoms(_) => kind::ATOMS,
        Packet::Data { .. } => kind::DATA,
        Packet::Placeholder { .. } => kind::PLACEHOLDER,
        Packet::Late { .. } => kind::LATE,
        Packet::ValueNotTraced { .. } => kind::NOT_TRACED,
        Packet::StoreFailed => kind::STORE_FAILED,
        Packet::Suppressed => kind::SUPPRESSED,
        Packet::Ignore => kind::IGNORE,
        Packet::ContextId(_) => kind::CONTEXT_ID,
        Packet::ExceptionReturn => kind::EXCEPTION_RETURN,
        Packet::ExceptionEntry => kind::EXCEPTION_ENTRY,
        Packet::Vmid(_) => kind::VMID,
        Packet::Timestamp { .. } => kind::TIMESTAMP,
    }
}

/// The kind of packet that a header begins.
const fn header_kind(header: u8) -> u32 {
    match header {
        0x00 => kind::ALIGN_SYNC,
        0x04 => kind::CYCLE_COUNT,
        0x08 => kind::SYNC,
        0x0c => kind::TRIGGER,
        0x3c => kind::VMID,
        0x42 | 0x46 => kind::TIMESTAMP,
        0x50 => kind::STORE_FAILED,
        0x62 => kind::SUPPRESSED,
        0x66 => kind::IGNORE,
        0x6a | 0x7a => kind::NOT_TRACED,
        0x6e => kind::CONTEXT_ID,
        0x70 => kind::SYNC_CYCLES,
        0x76 => kind::EXCEPTION_RETURN,
        0x7e => kind::EXCEPTION_ENTRY,
        h if h & 1 != 0 => kind::BRANCH,
        h if h & 0x80 != 0 => kind::ATOMS,
        h if h & 0xd3 == 0x50 => kind::PLACEHOLDER,
        h if h & 0x93 == 0 => kind::LATE,
        _ => kind::DATA,
    }
}

impl Etmv3Packet {
    /// The text of the packet.
    pub fn text(&self) -> String {
        let title = |kind: u32| TITLES.get(kind as usize).copied().unwrap_or(RESERVED);
        let (name, description) = title(self.kind);
        let mut out = format!("{name} : {description}");
        // Writing to a string does not fail.
        let _ = match self.kind {
            kind::BAD_SEQUENCE | kind::BAD_MODE => write!(out, "[{}]", title(self.error_kind).0),
            kind::BRANCH => self.write_branch(&mut out),
            kind::SYNC | kind::SYNC_CYCLES => self.write_sync(&mut out),
            kind::ATOMS => self.write_atoms(&mut out),
            kind::CYCLE_COUNT => write!(out, "; Cycles={}", self.cycles),
            kind::CONTEXT_ID => write!(out, "; CtxtID=0x{:x}", self.context.id),
            kind::VMID => write!(out, "; VMID=0x{:x}", self.context.vmid),
            kind::TIMESTAMP => write!(out, "; TS=0x{0:x} ({0}) ", self.timestamp),
            kind::DATA | kind::LATE | kind::PLACEHOLDER | kind::NOT_TRACED => {
                self.write_data(&mut out)
            }
            _ => Ok(()),
        };
        out
    }

    fn write_branch(&self, out: &mut String) -> std::fmt::Result {
        out.push_str("; Addr=");
        self.address.write(self.address.packet_bits, out);
        out.push_str("; ");
        if self.isa != self.isa_before {
            write_isa(self.isa, out);
        }
        self.context.write_updated(out);
        let PacketException { number, bits, .. } = self.exception;
        if bits & 1 == 0 {
            return Ok(());
        }
        out.push_str("Exception=");
        if bits >> 2 & 1 != 0 {
            m_exception(number, out);
            let resume = bits >> 3 & 0xf;
            if resume != 0 {
                write!(out, "; Resume={resume}")?;
            }
        } else {
            let name = EXCEPTIONS.get(usize::from(number & 0xf)).map_or("Unknown", |(_, n)| n);
            write!(out, "{name}; ")?;
        }
        out.push_str(if bits >> 1 & 1 != 0 { "; Cancel prev instr" } else { "" });
        Ok(())
    }

    fn write_sync(&self, out: &mut String) -> std::fmt::Result {
        let reason = SYNC_REASONS.get(self.reason as usize).copied().unwrap_or_default();
        let (in_progress, no_address) = (self.sync_bits & 2 != 0, self.sync_bits & 4 != 0);
        write!(out, "; ({reason}); ")?;
        if !no_address {
            out.push_str(if in_progress { "Data Instr Addr=0x" } else { "Addr=0x" });
            write!(out, "{:08x}; ", self.address.value)?;
        }
        self.context.write_sync(out);
        if no_address {
            return Ok(());
        }
        write_isa(self.isa, out);
        if self.sync_bits & 1 != 0 {
            write!(out, "Cycles={}; ", self.cycles)?;
        }
        if in_progress {
            out.push_str("Curr Instr Addr=");
            self.data.address.write(self.data.address.packet_bits, out);
            out.push(';');
        }
        Ok(())
    }

    fn write_atoms(&self, out: &mut String) -> std::fmt::Result {
        out.push_str("; ");
        let mut letters = String::new();
        self.atoms.letters(&mut letters);
        // W is a cycle: before each atom, before the first, or a count of them.
        match (self.cycles, self.format) {
            (0, _) => out.push_str(&letters),
            (_, 1) => letters.chars().for_each(|letter| out.extend(['W', letter])),
            (_, 2) => out.extend(["W", &letters]),
            (cycles, _) => {
                out.extend(std::iter::repeat_n('W', cycles.min(8) as usize));
                out.push_str(&letters);
            }
        }
        if self.cycles > 0 {
            write!(out, "; Cycles={}", self.cycles)?;
        }
        Ok(())
    }

    fn write_data(&self, out: &mut String) -> std::fmt::Result {
        let PacketData { value, address, bits } = self.data;
        if bits >> 4 & 1 != 0 {
            out.push_str("; Addr=");
            address.write(address.packet_bits, out);
        }
        if bits >> 5 & 1 != 0 {
            write!(out, "; Val=0x{value:x}")?;
        }
        if matches!(self.kind, kind::LATE | kind::PLACEHOLDER) {
            write!(out, "; OO_Tag=0x{:x}", bits & 3)?;
        }
        Ok(())
    }
}
