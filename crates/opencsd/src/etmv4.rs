//! ETMv4 and ETE packets in the format of OpenCSD.

mod names;

use tracewright_base::{Element, Fault, Gap, Security};
use tracewright_protocols::etmv4::{
    Address, Atoms, Before, Config, ContextInfo, Ete, Etmv4, Exception, History, Packet, Q,
    TraceInfo,
};

pub use self::names::title_of;
use self::names::{begun, special, title};

use super::element::Style;
use super::packet_text::{Behaviour, OpencsdProtocol, PacketText};
use super::unsynced::Group;
use tracewright_views::digits::{decimal, hex, hex_padded, value};

/// What the text of the next packet of one source depends on: the values that complete compressed
/// fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Etmv4Text {
    history: History,
    /// The forms of the addresses of the history, the last first.
    forms: [Form; 3],
    /// The last context was AArch64 state. A Trace Info packet does not reset it, other than the
    /// history.
    bits64: bool,
    /// A timestamp marker was seen.
    marked: bool,
}

/// The form of an address in its packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Form {
    /// The address has 32 bits.
    narrow: bool,
    /// The number of bits in the packet.
    bits: u8,
}

impl OpencsdProtocol for Etmv4 {
    type Text = Etmv4Text;
    const DECODER: &'static str = "DCD_ETMV4";
    const PACKET_PROCESSOR: &'static str = "PKTP_ETMV4I";
}

impl OpencsdProtocol for Ete {
    type Text = Etmv4Text;
    const DECODER: &'static str = "DCD_ETMV4";
    const PACKET_PROCESSOR: &'static str = "PKTP_ETMV4I";
}

impl PacketText for Etmv4Text {
    type Config = Config;
    type Packet = Packet;

    const BEHAVIOUR: Behaviour = Behaviour {
        one_unsynced_line: true,
        plain_ranges: true,
        incomplete_end: true,
        drops_at_end: true,
        ..Behaviour::new(Group::EightOrZero)
    };

    /// Appends name, description and fields of `packet`.
    fn packet(&mut self, config: &Config, packet: &Packet, out: &mut String) {
        // More than half of all packets are atoms. They have no compressed fields.
        if let Packet::Atoms(atoms) = packet {
            out.push_str(atoms_title(*atoms));
            return letters(*atoms, out);
        }
        let initial = !self.history.started();
        self.history.packet(packet);
        let (name, description) = title(config, packet);
        out.push_str(name);
        out.push_str(" : ");
        out.push_str(description);
        match *packet {
            Packet::TraceInfo(info) => {
                self.forms = [Form::default(); 3];
                trace_info(config, &info, initial, out);
            }
            Packet::Timestamp { cycles, .. } => {
                out.push_str("; Updated val = 0x");
                hex(self.history.timestamp_so_far(), out);
                if let Some(cycles) = cycles {
                    out.push_str("; CC=0x");
                    hex(cycles.into(), out);
                }
            }
            Packet::Exception(exception) => {
                if exception.unknown_address {
                    self.push(Form { narrow: false, bits: 64 });
                }
                if special(config, exception).is_none() {
                    exception_fields(config, exception, out);
                }
            }
            Packet::Instrumentation { el, value } => {
                out.push_str("; EL");
                decimal(el.into(), out);
                out.push_str("; Payload=0x");
                hex(value, out);
            }
            Packet::CycleCount1 { .. }
            | Packet::CycleCount2 { .. }
            | Packet::CycleCount3 { .. } => self.cycles(config, packet, out),
            Packet::Commit(count) => numbered("; Commit(", count, out),
            Packet::Cancel1 { count, mispredict } => {
                numbered("; Cancel(", count, out);
                if mispredict {
                    out.push_str(", Mispredict");
                }
            }
            Packet::Mispredict(before) => {
                atoms_before(before, out);
                out.push_str("Mispredict");
            }
            Packet::Cancel2(before) => {
                atoms_before(before, out);
                out.push_str("Cancel(1), Mispredict");
            }
            Packet::Cancel3 { atom, count } => {
                atoms_before(if atom { Before::E } else { Before::Nothing }, out);
                numbered("Cancel(", count.into(), out);
                out.push_str(", Mispredict");
            }
            Packet::Context(None) => out.push_str("; Ctxt: Same"),
            Packet::Context(Some(info)) => {
                self.bits64 = info.bits64();
                out.push_str("; ");
                context(&info, out);
            }
            Packet::Address(address) | Packet::SourceAddress(address) => {
                self.address_packet(address, out);
            }
            Packet::AddressContext(address, info) => {
                let form = self.complete(address);
                self.address(form, 0, out);
                out.push_str("; ");
                context(&info, out);
                self.bits64 = info.bits64();
            }
            Packet::Q(Q::Uncounted) => out.push_str("; Count(Unknown)"),
            Packet::Q(Q::Counted(count)) => numbered("; Count(", count, out),
            Packet::Q(Q::To(address, count)) => {
                numbered("; Count(", count, out);
                if let Address::Match(n) = address {
                    out.push_str("; [");
                    decimal(n.into(), out);
                    out.push(']');
                }
                let form = self.complete(address);
                let bits = if form.bits < 64 { form.bits } else { 0 };
                self.address(form, bits, out);
            }
            _ => {}
        }
    }

    /// `element` as OpenCSD reports it. A timestamp has a cycle count where the configuration has
    /// cycle counting. Where the unit emits timestamp markers, timestamps before the first marker
    /// are left out.
    fn element(&mut self, config: &Config, element: &mut Element) -> Option<Option<u32>> {
        match element {
            Element::Marker => self.marked = true,
            Element::Gap(Gap::BadPacket | Gap::BadImage) => self.marked = false,
            Element::Timestamp { .. }
                if config.is_ete() && config.has_timestamp_marker() && !self.marked =>
            {
                return None;
            }
            Element::Timestamp { cycles, .. } if !config.cycle_counting() => *cycles = None,
            _ => {}
        }
        Some(None)
    }

    /// Appends the text of undecodable `bytes`. OpenCSD continues with the next byte and does not
    /// reset the state.
    fn bad(&mut self, config: &Config, bytes: &[u8], fault: Fault, out: &mut String) {
        let (text, has_name) = match fault {
            Fault::Unsynchronised => ("I_NOT_SYNC : I Stream not synchronised", false),
            Fault::Reserved(_) => ("I_RESERVED : Reserved Packet Header", false),
            Fault::ReservedForConfig(_) => {
                ("I_RESERVED_CFG : Reserved header for current configuration.", true)
            }
            Fault::Truncated => ("I_INCOMPLETE_EOT : Incomplete packet at end of trace.", true),
            _ => ("I_BAD_SEQUENCE : Invalid Sequence in packet.", true),
        };
        out.push_str(text);
        if has_name {
            out.push('[');
            out.push_str(begun(config, bytes));
            out.push(']');
        }
    }

    fn packet_error(fault: Fault) -> Option<&'static str> {
        match fault {
            Fault::Reserved(_) | Fault::ReservedForConfig(_) => {
                Some("0x0014 (OCSD_ERR_INVALID_PCKT_HDR) [Invalid packet header]")
            }
            _ => None,
        }
    }

    fn decoder_error(fault: Fault) -> &'static str {
        match fault {
            Fault::Reserved(_) => "Reserved packet header",
            Fault::ReservedForConfig(_) | Fault::Truncated | Fault::Unsynchronised => {
                "Unknown packet type."
            }
            _ => "Bad byte sequence in packet.",
        }
    }

    fn is_constant(packet: &Packet) -> bool {
        matches!(packet, Packet::Atoms(_))
    }

    fn style(config: &Config) -> Style {
        Style { timestamp_cycles: config.cycle_counting() }
    }
}

impl Etmv4Text {
    fn push(&mut self, form: Form) {
        let [a, b, _] = self.forms;
        self.forms = [form, a, b];
    }

    /// Records the form of an address.
    fn complete(&mut self, address: Address) -> Form {
        let [last, ..] = self.forms;
        let form = match address {
            Address::Match(n) => *self.forms.get(usize::from(n)).unwrap_or(&last),
            Address::Short { count, .. } => Form { bits: count, ..last },
            Address::Long32 { .. } => Form { narrow: !self.bits64, bits: 32 },
            Address::Long64 { .. } => Form { narrow: false, bits: 64 },
        };
        self.push(form);
        form
    }

    /// Appends the fields of a packet that is an address.
    fn address_packet(&mut self, address: Address, out: &mut String) {
        let form = self.complete(address);
        match address {
            Address::Match(n) => {
                out.push_str(", [");
                decimal(n.into(), out);
                out.push(']');
                self.address(form, 0, out);
                out.push_str("; ");
            }
            Address::Short { count, .. } => self.address(form, count, out),
            Address::Long32 { .. } | Address::Long64 { .. } => {
                self.address(form, 0, out);
                out.push_str("; ");
            }
        }
    }

    /// Appends the last address. This packet has `updated` bits of it.
    fn address(&self, form: Form, updated: u8, out: &mut String) {
        let last = self.history.last();
        out.push_str("; Addr=");
        value(if form.narrow { 32 } else { 64 }, last.known(), last.address, updated, out);
    }

    fn cycles(&self, config: &Config, packet: &Packet, out: &mut String) {
        let Some((commit, cycles)) = self.history.cycles(config, packet) else { return };
        out.push_str("; Count=0x");
        hex(cycles.unwrap_or(0).into(), out);
        if !config.commit_mode_1() {
            numbered("; Commit(", commit, out);
        }
    }
}

/// Appends `before`, the number and `)`.
fn numbered(before: &str, count: u32, out: &mut String) {
    out.push_str(before);
    decimal(count.into(), out);
    out.push(')');
}

fn atoms_title(atoms: Atoms) -> &'static str {
    match atoms.format() {
        1 => "I_ATOM_F1 : Atom format 1.; ",
        2 => "I_ATOM_F2 : Atom format 2.; ",
        3 => "I_ATOM_F3 : Atom format 3.; ",
        4 => "I_ATOM_F4 : Atom format 4.; ",
        5 => "I_ATOM_F5 : Atom format 5.; ",
        _ => "I_ATOM_F6 : Atom format 6.; ",
    }
}

fn letters(atoms: Atoms, out: &mut String) {
    let mut text = [b'N'; 24];
    for (letter, taken) in text.iter_mut().zip(atoms.iter()) {
        if taken {
            *letter = b'E';
        }
    }
    let letters = text.get(..atoms.len().into()).unwrap_or_default();
    out.push_str(str::from_utf8(letters).unwrap_or_default());
}

fn atoms_before(before: Before, out: &mut String) {
    out.push_str("; ");
    if before != Before::Nothing {
        out.push_str("Atom: ");
        letters(before.atoms(), out);
        out.push_str(", ");
    }
}

fn trace_info(config: &Config, info: &TraceInfo, initial: bool, out: &mut String) {
    out.push_str("; INFO=0x");
    hex((info.info().unwrap_or(0) & 0xff).into(), out);
    out.push_str(if info.cycle_counting() { " { CC.1" } else { " { CC.0" });
    if config.is_ete() {
        out.push_str(if info.in_transaction() { ", TSTATE.1" } else { ", TSTATE.0" });
    }
    out.push_str(" }");
    if info.cycle_counting() {
        out.push_str("; CC_THRESHOLD=0x");
        hex(info.threshold().unwrap_or(0).into(), out);
    }
    if initial {
        if let Some(depth) = info.speculation() {
            out.push_str("; INIT SPEC DEPTH=");
            decimal(depth.into(), out);
        }
        out.push_str("; Decoder Sync point TINFO");
    }
}

fn context(info: &ContextInfo, out: &mut String) {
    // OpenCSD prints a space before `EL` for AArch32 only.
    out.push_str(if info.bits64() { "Ctxt: AArch64,EL" } else { "Ctxt: AArch32, EL" });
    decimal(info.el().into(), out);
    out.push_str(match info.security() {
        Security::Secure => ", S; ",
        Security::NonSecure => ", NS; ",
        Security::Root => ", Root; ",
        Security::Realm => ", Realm; ",
    });
    if let Some(id) = info.context_id() {
        out.push_str("CID=0x");
        hex_padded(id.into(), 8, out);
        out.push_str("; ");
    }
    if let Some(vmid) = info.vmid() {
        out.push_str("VMID=0x");
        hex_padded(vmid.into(), 4, out);
        out.push_str("; ");
    }
}

/// Application and real-time profile. (Arm ARM, "Exception packet", TYPE)
const EXCEPTIONS: [&str; 16] = [
    "PE Reset",
    "Debug Halt",
    "Call",
    "Trap",
    "System Error",
    "Reserved",
    "Inst Debug",
    "Data Debug",
    "Reserved",
    "Reserved",
    "Alignment",
    "Inst Fault",
    "Data Fault",
    "Reserved",
    "IRQ",
    "FIQ",
];

/// M profile. (IHI 0064, "Exception packet", TYPE)
const EXCEPTIONS_M: [&str; 32] = [
    "Reserved",
    "PE Reset",
    "NMI",
    "HardFault",
    "MemManage",
    "BusFault",
    "UsageFault",
    "Reserved",
    "Reserved",
    "Reserved",
    "Reserved",
    "SVC",
    "DebugMonitor",
    "Reserved",
    "PendSV",
    "SysTick",
    "IRQ0",
    "IRQ1",
    "IRQ2",
    "IRQ3",
    "IRQ4",
    "IRQ5",
    "IRQ6",
    "IRQ7",
    "DebugHalt",
    "LazyFP Push",
    "Lockup",
    "Reserved",
    "Reserved",
    "Reserved",
    "Reserved",
    "Reserved",
];

/// Appends the name of an exception, of the M profile or another one.
pub fn exception_name(number: u16, microcontroller: bool, out: &mut String) {
    match number {
        0x208..=0x3ef if microcontroller => {
            out.push_str("IRQ");
            decimal(u64::from(number) - 0x200, out);
        }
        _ => {
            let names = if microcontroller { &EXCEPTIONS_M[..] } else { &EXCEPTIONS[..] };
            out.push_str(names.get(usize::from(number)).unwrap_or(&"Reserved"));
        }
    }
}

fn exception_fields(config: &Config, exception: Exception, out: &mut String) {
    out.push_str(";  ");
    exception_name(exception.number, config.microcontroller(), out);
    out.push(';');
    if config.microcontroller() && exception.fault_pending {
        out.push_str(" Fault Pending;");
    }
    out.push_str(match exception.also_target {
        false => " Ret Addr Follows;",
        true => " Ret Addr Follows, Match Prev;",
    });
}
