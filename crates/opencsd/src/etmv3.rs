//! ETMv3 packets in the format of OpenCSD.

use tracewright_base::{Element, Fault, Isa, Kind, Last};
use tracewright_protocols::etmv3::packet::{
    Atoms, Branch, DataAddress, Info, InfoBytes, Isync, Reason, Value,
};
use tracewright_protocols::etmv3::{Config, Etmv3, History, Packet};
use tracewright_views::digits::{decimal, hex, hex_padded, value};

use super::element::without_it_block;
use super::order::Order;
use super::packet_text::{Behaviour, OpencsdProtocol, PacketText};
use super::unsynced::Group;

/// What the text of the next packet of one source depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Etmv3Text {
    history: History,
}

impl OpencsdProtocol for Etmv3 {
    type Text = Etmv3Text;
    const DECODER: &'static str = "DCD_ETMV3";
    const PACKET_PROCESSOR: &'static str = "PKTP_ETMV3";
}

impl PacketText for Etmv3Text {
    type Config = Config;
    type Packet = Packet;

    const BEHAVIOUR: Behaviour = Behaviour {
        late_elements: true,
        end_at_last_line: true,
        ..Behaviour::new(Group::FragmentOrZeros)
    };

    fn packet(&mut self, config: &Config, packet: &Packet, out: &mut String) {
        let (name, description) = match packet {
            Packet::Async { .. } => ("A_SYNC", "Alignment Synchronisation."),
            Packet::CycleCount(_) => ("CYCLE_COUNT", "Cycle Count."),
            Packet::Isync(Isync { cycles: None, .. }) => {
                ("I_SYNC", "Instruction Packet synchronisation.")
            }
            Packet::Isync(_) => {
                ("I_SYNC_CYCLE", "Instruction Packet synchronisation with cycle count.")
            }
            Packet::Trigger => ("TRIGGER", "Trace Trigger Event."),
            Packet::Branch(_) => ("BRANCH_ADDRESS", "Branch address."),
            Packet::Atoms(_) => ("P_HDR", "Atom P-header."),
            Packet::Data { .. } => ("NORM_DATA", "Data trace packet."),
            Packet::Placeholder { .. } => {
                ("OOO_ADDR_PLC", "Out of Order data address placeholder.")
            }
            Packet::Late { .. } => ("OOO_DATA", "Out of Order data value packet."),
            Packet::ValueNotTraced { .. } => ("VAL_NOT_TRACED", "Data trace value not traced."),
            Packet::StoreFailed => ("STORE_FAIL", "Data Store Failed."),
            Packet::Suppressed => ("DATA_SUPPRESSED", "Data trace suppressed."),
            Packet::Ignore => ("IGNORE", "Packet ignored."),
            Packet::ContextId(_) => ("CONTEXT_ID", "Context ID change."),
            Packet::ExceptionReturn => ("EXCEPTION_EXIT", "Exception return."),
            Packet::ExceptionEntry => ("EXCEPTION_ENTRY", "Exception entry data marker."),
            Packet::Vmid(_) => ("VMID", "VMID change."),
            Packet::Timestamp { .. } => ("TIMESTAMP", "Timestamp Value."),
        };
        titled(name, description, out);
        self.extras(config, packet, out);
    }

    /// OpenCSD has no return addresses of exceptions.
    fn element(&mut self, _: &Config, element: &mut Element) -> Option<Option<u32>> {
        match element {
            Element::Range(range) => range.last = Self::last(range.last),
            Element::Exception(exception) => exception.return_address = None,
            _ => {}
        }
        Some(None)
    }

    /// OpenCSD reports barriers and waits only where they are waypoints of the trace unit, and does
    /// not decode IT blocks.
    fn last(mut last: Last) -> Last {
        if matches!(last.kind, Kind::Barrier | Kind::Wait | Kind::TimedWait) {
            last.kind = Kind::Plain;
        }
        without_it_block(last)
    }

    fn bad(&mut self, _: &Config, bytes: &[u8], fault: Fault, out: &mut String) {
        let header = bytes.first().copied().unwrap_or(0);
        self.history = History::default();
        match fault {
            Fault::Unsynchronised => titled("NOTSYNC", "Trace Stream not synchronised", out),
            Fault::Truncated => {
                titled("INCOMPLETE_EOT.", "Incomplete packet at end of trace data.", out);
            }
            Fault::Reserved(_) => titled("I_RESERVED", "Reserved Packet Header", out),
            fault => {
                match fault {
                    Fault::ReservedForConfig(_) => {
                        titled("BAD_TRACEMODE", "Invalid packet type for this trace mode.", out);
                    }
                    _ => titled("BAD_SEQUENCE", "Invalid sequence for packet type.", out),
                }
                out.push('[');
                out.push_str(kind(header));
                out.push(']');
            }
        }
    }

    fn is_constant(packet: &Packet) -> bool {
        matches!(packet, Packet::Atoms(_))
    }

    fn order(packet: &Packet, order: &mut Order, source: usize, at: u64, end: usize) {
        order.packet(source, at, packet, end);
    }
}

impl Etmv3Text {
    /// Appends the fields of a packet, after its name and description.
    fn extras(&mut self, config: &Config, packet: &Packet, out: &mut String) {
        match packet {
            Packet::CycleCount(cycles) => {
                out.push_str("; Cycles=");
                decimal((*cycles).into(), out);
            }
            Packet::Isync(isync) => self.isync(config, isync, out),
            Packet::Branch(branch) => self.branch(config, branch, out),
            Packet::Atoms(header) => atoms(*header, out),
            Packet::Data { address, value, .. } => {
                self.address(address, out);
                data_value(value, out);
            }
            Packet::Placeholder { tag, address, .. } => {
                self.address(address, out);
                tagged(*tag, out);
            }
            Packet::Late { tag, value } => {
                data_value(value, out);
                tagged(*tag, out);
            }
            Packet::ValueNotTraced { address, .. } => self.address(address, out),
            Packet::ContextId(id) => {
                out.push_str("; CtxtID=0x");
                hex((*id).into(), out);
            }
            Packet::Vmid(id) => {
                out.push_str("; VMID=0x");
                hex((*id).into(), out);
            }
            Packet::Timestamp { bits, count, .. } => {
                let (time, _) = self.history.timestamp(*bits, *count, config);
                out.push_str("; TS=0x");
                hex(time, out);
                out.push_str(" (");
                decimal(time, out);
                out.push_str(") ");
            }
            Packet::Async { .. }
            | Packet::Trigger
            | Packet::StoreFailed
            | Packet::Suppressed
            | Packet::Ignore
            | Packet::ExceptionReturn
            | Packet::ExceptionEntry => {}
        }
    }

    fn isync(&mut self, config: &Config, isync: &Isync, out: &mut String) {
        out.push_str(match isync.reason {
            Reason::Periodic => "; (Periodic); ",
            Reason::Enabled => "; (Trace Enable); ",
            Reason::Overflow => "; (Restart Overflow); ",
            Reason::Debug => "; (Debug Exit); ",
        });
        self.history.isync(isync);
        let start = isync.start_address();
        if let Some((address, _)) = start {
            out.push_str(if isync.current.is_some() { "Data Instr Addr=0x" } else { "Addr=0x" });
            hex_padded(address.into(), 8, out);
            out.push_str("; ");
        }
        out.push_str(if isync.non_secure { "NS; " } else { "S; " });
        out.push_str(if isync.hyp { "Hyp; " } else { " " });
        if let Some(id) = isync.context_id {
            out.push_str("CtxtID=");
            hex(id.into(), out);
            out.push_str("; ");
        }
        let Some((_, isa)) = start else { return };
        instruction_set(isa, out);
        if let Some(cycles) = isync.cycles {
            out.push_str("Cycles=");
            decimal(cycles.into(), out);
            out.push_str("; ");
        }
        if let Some(current) = &isync.current {
            let target = self.history.branch(current, config);
            out.push_str("Curr Instr Addr=");
            value(32, target.known, target.address.into(), target.updated, out);
            out.push(';');
        }
    }

    fn branch(&mut self, config: &Config, branch: &Branch, out: &mut String) {
        let target = self.history.branch(branch, config);
        out.push_str("; Addr=");
        value(32, target.known, target.address.into(), target.updated, out);
        out.push_str("; ");
        if target.isa_changed {
            instruction_set(target.isa, out);
        }
        let Some(info) = branch.info else { return };
        if let Info::Bytes(InfoBytes { non_secure, hyp, .. }) = info {
            out.push_str(if non_secure { "NS; " } else { "S; " });
            out.push_str(if hyp { "Hyp; " } else { "" });
        }
        out.push_str("Exception=");
        let number = info.exception(target.address).unwrap_or(RESERVED);
        match info {
            Info::Bytes(info) if config.m_profile() => {
                m_exception(number, out);
                if info.resume != 0 {
                    out.push_str("; Resume=");
                    decimal(info.resume.into(), out);
                }
            }
            _ => {
                out.push_str(EXCEPTIONS[usize::from(number & 0xf)]);
                out.push_str("; ");
            }
        }
        if info.cancel() {
            out.push_str("; Cancel prev instr");
        }
    }

    fn address(&mut self, address: &Option<DataAddress>, out: &mut String) {
        let Some(address) = address else { return };
        let (full, known) = self.history.data(address);
        out.push_str("; Addr=");
        value(32, known, full.into(), address.count, out);
    }
}

fn titled(name: &str, description: &str, out: &mut String) {
    out.push_str(name);
    out.push_str(" : ");
    out.push_str(description);
}

fn atoms(header: Atoms, out: &mut String) {
    out.push_str("; ");
    let letter = |passed| if passed { 'E' } else { 'N' };
    let waits = |count: u8, out: &mut String| (0..count).for_each(|_| out.push('W'));
    for k in 0..header.len() {
        let Some(atom) = header.get(k) else { break };
        waits(atom.cycles, out);
        out.push(letter(atom.passed));
    }
    if header.is_empty() {
        waits(header.cycles(), out);
    }
    if header.cycles() > 0 {
        out.push_str("; Cycles=");
        decimal(header.cycles().into(), out);
    }
}

fn data_value(value: &Option<Value>, out: &mut String) {
    if let Some(value) = value {
        out.push_str("; Val=0x");
        hex(value.bits.into(), out);
    }
}

fn tagged(tag: u8, out: &mut String) {
    out.push_str("; OO_Tag=0x");
    hex(tag.into(), out);
}

fn instruction_set(isa: Isa, out: &mut String) {
    out.push_str(match isa {
        Isa::A32 => "ISA=ARM(32); ",
        Isa::T32 => "ISA=Thumb2; ",
        Isa::ThumbEe => "ISA=ThumbEE; ",
        Isa::Jazelle => "ISA=Jazelle; ",
        _ => "ISA=Unknown; ",
    });
}

/// The name of the packet that a header begins, for the lines of bad packets.
const fn kind(header: u8) -> &'static str {
    match header {
        0x00 => "A_SYNC",
        0x04 => "CYCLE_COUNT",
        0x08 => "I_SYNC",
        0x0c => "TRIGGER",
        0x3c => "VMID",
        0x42 | 0x46 => "TIMESTAMP",
        0x50 => "STORE_FAIL",
        0x62 => "DATA_SUPPRESSED",
        0x66 => "IGNORE",
        0x6a | 0x7a => "VAL_NOT_TRACED",
        0x6e => "CONTEXT_ID",
        0x70 => "I_SYNC_CYCLE",
        0x76 => "EXCEPTION_EXIT",
        0x7e => "EXCEPTION_ENTRY",
        h if h & 1 != 0 => "BRANCH_ADDRESS",
        h if h & 0x80 != 0 => "P_HDR",
        h if h & 0xd3 == 0x50 => "OOO_ADDR_PLC",
        h if h & 0x93 == 0 => "OOO_DATA",
        _ => "NORM_DATA",
    }
}

/// Exception 6 of the A and R profiles is reserved.
const RESERVED: u16 = 6;

/// OpenCSD's names of exceptions of the A and R profiles.
const EXCEPTIONS: [&str; 16] = [
    "No Exception",
    "Debug Halt",
    "SMC",
    "Hyp",
    "Async Data Abort",
    "Jazelle",
    "Reserved",
    "Reserved",
    "PE Reset",
    "Undefined Instr",
    "SVC",
    "Prefetch Abort",
    "Data Fault",
    "Generic",
    "IRQ",
    "FIQ",
];

/// OpenCSD's names of exceptions of the M profile, below 0x18.
const M_EXCEPTIONS: [&str; 24] = [
    "No Exception",
    "IRQ1",
    "IRQ2",
    "IRQ3",
    "IRQ4",
    "IRQ5",
    "IRQ6",
    "IRQ7",
    "IRQ0",
    "usage Fault",
    "NMI",
    "SVC",
    "DebugMonitor",
    "Mem Manage",
    "PendSV",
    "SysTick",
    "Reserved",
    "PE Reset",
    "Reserved",
    "HardFault",
    "Reserved",
    "BusFault",
    "Reserved",
    "Reserved",
];

/// Appends the name of an exception of the M profile.
pub fn m_exception(number: u16, out: &mut String) {
    match M_EXCEPTIONS.get(usize::from(number)) {
        Some(name) => out.push_str(name),
        None => {
            out.push_str("IRQ");
            decimal(number.saturating_sub(16).into(), out);
        }
    }
}
