//! Packets of ETMv4 and ETE, `ocsd_etmv4_i_pkt`.

use std::fmt::Write;

use tracewright_base::{Fault, Security};
use tracewright_protocols::etmv4::{
    Address, Before, Config, ContextInfo, Exception, History, Packet, Q, SubIsa,
};

use super::common::{PacketAddress, PacketAtoms};
use crate::etmv4::title_of;

/// A packet and what earlier packets established. The layout is that of 1.4 to 1.8. Where a packet
/// is no Instrumentation packet, the fields after `q` are also where clients of earlier releases
/// have them.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Etmv4Packet {
    /// The kind: mostly the first header byte of the kind.
    pub kind: u32,
    /// The last address.
    pub address: PacketAddress,
    address_is: u8,
    context: PacketContext,
    timestamp: PacketTimestamp,
    threshold: u32,
    atoms: PacketAtoms,
    cycles: u32,
    speculation: u32,
    key: u32,
    commit: u32,
    cancel: u32,
    /// Bits \[15:0] INFO, 16 the first one, 17 it has a speculation depth.
    trace_info: u32,
    /// Bits \[9:0] number, \[11:10] address, 12 fault pending, 13 M profile.
    exception: u32,
    match_index: u8,
    data_sync: u8,
    event: u8,
    conditional: [u32; 3],
    conditional_result: [u32; 3],
    q_count: u32,
    /// Bit 0 an address, 1 an address match, 2 a count, \[6:3] the type.
    q: u32,
    /// `valid` for clients of releases before 1.4.
    old_valid: u32,
    /// Instrumentation: exception level. Otherwise `error_kind` for clients of earlier releases.
    level_or_error: u32,
    /// Otherwise header and version for clients of earlier releases.
    old_header: [u8; 4],
    instrumentation: u64,
    valid: u32,
    error_kind: u32,
    error_header: u8,
    version: u8,
}

/// A timestamp in a packet.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct PacketTimestamp {
    value: u64,
    /// The number of bits in the packet.
    bits: u8,
}

/// The context in a packet, `etmv4_context_t`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct PacketContext {
    /// \[1:0] EL, 2 AArch64, 3 NS, 4 updated, 5 context ID updated, 6 VMID updated, 7 NSE.
    bits: u32,
    id: u32,
    vmid: u32,
}

const _: () = {
    assert!(size_of::<Etmv4Packet>() == 176);
    assert!(std::mem::offset_of!(Etmv4Packet, context) == 36);
    assert!(std::mem::offset_of!(Etmv4Packet, atoms) == 68);
    assert!(std::mem::offset_of!(Etmv4Packet, exception) == 100);
    assert!(std::mem::offset_of!(Etmv4Packet, q) == 136);
    assert!(std::mem::offset_of!(Etmv4Packet, old_valid) == 140);
    assert!(std::mem::offset_of!(Etmv4Packet, instrumentation) == 152);
    assert!(std::mem::offset_of!(Etmv4Packet, valid) == 160);
    assert!(std::mem::offset_of!(Etmv4Packet, version) == 169);
};

/// Kinds that are no header byte.
#[allow(missing_docs, reason = "the names are those of the packets")]
mod kind {
    pub const EXTENSION: u32 = 0;
    pub const ALIGN_SYNC: u32 = 0x100;
    pub const DISCARD: u32 = 0x103;
    pub const OVERFLOW: u32 = 0x105;
    pub const NOT_SYNC: u32 = 0x200;
    pub const INCOMPLETE: u32 = 0x201;
    pub const NO_ERROR: u32 = 0x202;
    pub const BAD_SEQUENCE: u32 = 0x300;
    pub const RESERVED: u32 = 0x302;
    pub const RESERVED_CONFIG: u32 = 0x303;
    pub const PE_RESET: u32 = 0x400;
    pub const TRANSACTION_FAILURE: u32 = 0x401;
}

/// Bits of `valid`.
mod valid {
    pub const CONTEXT: u32 = 1 << 0;
    pub const TIMESTAMP: u32 = 1 << 1;
    pub const SPECULATION: u32 = 1 << 2;
    pub const TRACE_INFO: u32 = 1 << 6;
    pub const THRESHOLD: u32 = 1 << 7;
    pub const CYCLES: u32 = 1 << 8;
    pub const COMMIT: u32 = 1 << 9;
    pub const CANCEL: u32 = 1 << 10;
}

/// Makes the packets of a source.
#[derive(Clone, Debug)]
pub struct Etmv4Maker {
    config: Config,
    history: History,
    /// Size and bits in the packet of the last three addresses.
    forms: [(u32, u8); 3],
    bits64: bool,
    made: Etmv4Packet,
}

impl Etmv4Maker {
    /// Before the first packet.
    pub fn new(config: &Config) -> Self {
        let version = if config.is_ete() { 0x50 } else { 0x40 };
        let made = Etmv4Packet { kind: kind::NOT_SYNC, version, ..Etmv4Packet::default() };
        let (history, config) = (History::default(), *config);
        Etmv4Maker { config, history, forms: [(0, 0); 3], bits64: false, made }
    }

    /// The packet as a client receives it.
    pub fn packet(&mut self, packet: &Packet) -> &Etmv4Packet {
        let initial = !self.history.started();
        self.history.packet(packet);
        self.begin(packet_kind(&self.config, packet));
        match *packet {
            Packet::TraceInfo(info) => {
                self.forms = [(0, 0); 3];
                let made = &mut self.made;
                made.trace_info = info.info().unwrap_or(0) & 0xff;
                made.trace_info |= u32::from(initial) << 16;
                made.trace_info |= u32::from(info.speculation().is_some()) << 17;
                made.speculation = info.speculation().unwrap_or(0);
                made.threshold = info.threshold().unwrap_or(0);
                made.key = info.key().unwrap_or(0);
                made.valid = valid::TRACE_INFO | valid::SPECULATION | valid::THRESHOLD;
                made.timestamp.value = 0;
            }
            Packet::Timestamp { count, cycles, .. } => {
                let made = &mut self.made;
                let value = self.history.timestamp_so_far();
                // The bits that the first one after a Trace Info does not have are 0.
                let is_first = made.valid & valid::TIMESTAMP == 0 && !initial;
                made.timestamp = PacketTimestamp { value, bits: if is_first { 64 } else { count } };
                made.valid |= valid::TIMESTAMP;
                self.cycles(cycles);
            }
            Packet::Exception(exception) => {
                if exception.unknown_address {
                    self.push((1, 64));
                }
                let made = &mut self.made;
                made.exception = u32::from(exception.number) & 0x3ff
                    | if exception.also_target { 2 } else { 1 } << 10
                    | u32::from(exception.fault_pending) << 12
                    | u32::from(self.config.microcontroller()) << 13;
            }
            Packet::Instrumentation { el, value } => {
                (self.made.level_or_error, self.made.instrumentation) = (el.into(), value);
                self.made.old_header = [0; 4];
            }
            Packet::CycleCount1 { .. }
            | Packet::CycleCount2 { .. }
            | Packet::CycleCount3 { .. } => {
                if let Some((commit, cycles)) = self.history.cycles(&self.config, packet) {
                    self.cycles(Some(cycles.unwrap_or(0)));
                    if !self.config.commit_mode_1() {
                        self.commit(commit);
                    }
                }
            }
            Packet::Commit(count) => self.commit(count),
            Packet::Cancel1 { count, .. } => self.cancel(count),
            Packet::Mispredict(before) => self.before(before),
            Packet::Cancel2(before) => {
                self.before(before);
                self.cancel(1);
            }
            Packet::Cancel3 { atom, count } => {
                self.before(if atom { Before::E } else { Before::Nothing });
                self.cancel(count.into());
            }
            Packet::NumberedSync(number) | Packet::UnnumberedSync(number) => {
                self.made.data_sync = number;
            }
            Packet::Event(mask) => self.made.event = mask,
            Packet::Context(Some(info)) => self.context(&info),
            Packet::Address(address) | Packet::SourceAddress(address) => self.address(address),
            Packet::AddressContext(address, info) => {
                self.address(address);
                self.context(&info);
            }
            Packet::Q(q) => self.q(q),
            Packet::Atoms(atoms) => {
                self.made.atoms = PacketAtoms { bits: atoms.bits(), count: atoms.len() };
            }
            _ => {}
        }
        self.finish()
    }

    /// Undecodable `bytes` as a client receives them.
    pub fn bad(&mut self, bytes: &[u8], fault: Fault) -> &Etmv4Packet {
        let (kind, has_kind) = match fault {
            Fault::Unsynchronised => (kind::NOT_SYNC, false),
            Fault::Reserved(_) => (kind::RESERVED, true),
            Fault::ReservedForConfig(_) => (kind::RESERVED_CONFIG, true),
            Fault::Truncated => (kind::INCOMPLETE, true),
            _ => (kind::BAD_SEQUENCE, true),
        };
        self.begin(kind);
        let header = bytes.first().copied().unwrap_or(0);
        if has_kind {
            (self.made.error_kind, self.made.error_header) = (begun(bytes), header);
        }
        self.finish()
    }

    fn begin(&mut self, kind: u32) {
        let made = &mut self.made;
        made.kind = kind;
        made.atoms = PacketAtoms::default();
        made.context.bits &= !0x70;
        made.valid &= !(valid::CYCLES | valid::COMMIT | valid::CANCEL);
        made.trace_info &= 0xffff;
        (made.error_kind, made.error_header) = (kind::NO_ERROR, 0);
        (made.level_or_error, made.instrumentation) = (0, 0);
    }

    /// Sets the fields of earlier releases.
    fn finish(&mut self) -> &Etmv4Packet {
        let made = &mut self.made;
        made.old_valid = made.valid;
        if made.kind != 0x09 {
            made.level_or_error = made.error_kind;
            made.old_header = [made.error_header, made.version, 0, 0];
        }
        &self.made
    }

    fn cycles(&mut self, cycles: Option<u32>) {
        if let Some(cycles) = cycles {
            self.made.cycles = cycles;
            self.made.valid |= valid::CYCLES;
        }
    }

    fn commit(&mut self, count: u32) {
        self.made.commit = count;
        self.made.valid |= valid::COMMIT;
    }

    fn cancel(&mut self, count: u32) {
        self.made.cancel = count;
        self.made.valid |= valid::CANCEL;
    }

    fn before(&mut self, before: Before) {
        if before != Before::Nothing {
            let atoms = before.atoms();
            self.made.atoms = PacketAtoms { bits: atoms.bits(), count: atoms.len() };
        }
    }

    fn push(&mut self, form: (u32, u8)) {
        let [a, b, _] = self.forms;
        self.forms = [form, a, b];
    }

    fn address(&mut self, address: Address) {
        let [last, ..] = self.forms;
        let form = match address {
            Address::Match(n) => {
                self.made.match_index = n;
                *self.forms.get(usize::from(n)).unwrap_or(&last)
            }
            Address::Short { count, .. } => (last.0, count),
            Address::Long32 { .. } => (u32::from(self.bits64), 32),
            Address::Long64 { .. } => (1, 64),
        };
        self.push(form);
        let last = self.history.last();
        let (value, valid_bits) = (last.address, last.known());
        self.made.address = PacketAddress { size: form.0, value, packet_bits: form.1, valid_bits };
        self.made.address_is = (last.is() == SubIsa::Is1).into();
    }

    fn context(&mut self, info: &ContextInfo) {
        self.bits64 = info.bits64();
        let (ns, nse) = match info.security() {
            Security::Secure => (0, 0),
            Security::NonSecure => (1, 0),
            Security::Root => (0, 1),
            Security::Realm => (1, 1),
        };
        let context = &mut self.made.context;
        context.bits = u32::from(info.el() & 3)
            | u32::from(info.bits64()) << 2
            | ns << 3
            | 1 << 4
            | u32::from(info.context_id().is_some()) << 5
            | u32::from(info.vmid().is_some()) << 6
            | nse << 7;
        context.id = info.context_id().unwrap_or(context.id);
        context.vmid = info.vmid().unwrap_or(context.vmid);
        self.made.valid |= valid::CONTEXT;
    }

    fn q(&mut self, q: Q) {
        let (count, bits) = match q {
            Q::Uncounted => (0, 0xf << 3),
            Q::Counted(count) => (count, 1 << 2 | 0xc << 3),
            Q::To(address, count) => {
                self.address(address);
                let matches = matches!(address, Address::Match(_));
                (count, 1 | u32::from(matches) << 1 | 1 << 2)
            }
        };
        (self.made.q_count, self.made.q) = (count, bits);
    }
}

/// The kind of a packet.
fn packet_kind(config: &Config, packet: &Packet) -> u32 {
    let is1 = |is: SubIsa| u32::from(is == SubIsa::Is1);
    let address = |address: Address| match address {
        Address::Match(_) => 0x90,
        Address::Short { is, .. } => 0x95 + is1(is),
        Address::Long32 { is, .. } => 0x9a + is1(is),
        Address::Long64 { is, .. } => 0x9d + is1(is),
    };
    match *packet {
        Packet::AlignSync => kind::ALIGN_SYNC,
        Packet::Discard => kind::DISCARD,
        Packet::Overflow => kind::OVERFLOW,
        Packet::TraceInfo(_) => 0x01,
        Packet::Timestamp { .. } => 0x02,
        Packet::TraceOn => 0x04,
        Packet::FunctionReturn => 0x05,
        Packet::Exception(exception) => match exception.number {
            Exception::PE_RESET if config.is_ete() => kind::PE_RESET,
            Exception::TRANSACTION_FAILURE if config.is_ete() => kind::TRANSACTION_FAILURE,
            _ => 0x06,
        },
        Packet::ExceptionReturn => 0x07,
        Packet::Instrumentation { .. } => 0x09,
        Packet::TransactionStart => 0x0a,
        Packet::TransactionCommit => 0x0b,
        Packet::CycleCount2 { .. } => 0x0c,
        Packet::CycleCount1 { .. } => 0x0e,
        Packet::CycleCount3 { .. } => 0x10,
        Packet::NumberedSync(_) => 0x20,
        Packet::UnnumberedSync(_) => 0x28,
        Packet::Commit(_) => 0x2d,
        Packet::Cancel1 { mispredict, .. } => 0x2e + u32::from(mispredict),
        Packet::Mispredict(_) => 0x30,
        Packet::Cancel2(_) => 0x34,
        Packet::Cancel3 { .. } => 0x38,
        Packet::Conditional(conditional) => {
            use tracewright_protocols::etmv4::Conditional as C;
            match conditional {
                C::Instruction2(_) => 0x40,
                C::Flush => 0x43,
                C::Result4 { .. } => 0x44,
                C::Result2 { .. } => 0x48,
                C::Result3 { .. } => 0x50,
                C::Result1 { .. } => 0x68,
                C::Instruction1 { .. } => 0x6c,
                C::Instruction3 { .. } => 0x6d,
            }
        }
        Packet::Ignore => 0x70,
        Packet::Event(_) => 0x71,
        Packet::Context(_) => 0x80,
        Packet::AddressContext(Address::Long64 { is, .. }, _) => 0x85 + is1(is),
        Packet::AddressContext(Address::Long32 { is, .. }, _) => 0x82 + is1(is),
        Packet::AddressContext(..) => 0x82,
        Packet::TimestampMarker => 0x88,
        Packet::Address(what) => address(what),
        Packet::Q(_) => 0xa0,
        Packet::SourceAddress(what) => match what {
            Address::Match(_) => 0xb0,
            Address::Short { is, .. } => 0xb4 + is1(is),
            Address::Long32 { is, .. } => 0xb6 + is1(is),
            Address::Long64 { is, .. } => 0xb8 + is1(is),
        },
        Packet::Atoms(atoms) => match atoms.format() {
            1 => 0xf6,
            2 => 0xd8,
            3 => 0xf8,
            4 => 0xdc,
            5 => 0xd5,
            _ => 0xc0,
        },
    }
}

/// The kind of the packet that `bytes` begin, by their header.
fn begun(bytes: &[u8]) -> u32 {
    match *bytes {
        [0, 0, ..] => kind::ALIGN_SYNC,
        [header, ..] => {
            // The first header of each kind whose headers are a range.
            let first = match header {
                0x03 => 0x02,
                0x0d => 0x0c,
                0x0f => 0x0e,
                0x10..=0x1f => 0x10,
                0x20..=0x27 => 0x20,
                0x28..=0x2c => 0x28,
                0x30..=0x33 => 0x30,
                0x34..=0x37 => 0x34,
                0x38..=0x3f => 0x38,
                0x40..=0x42 => 0x40,
                0x44..=0x46 => 0x44,
                0x48..=0x4a | 0x4c..=0x4e => 0x48,
                0x50..=0x5f => 0x50,
                0x68..=0x6b | 0x6e..=0x6f => 0x68,
                0x71..=0x7f => 0x71,
                0x81 => 0x80,
                0x90..=0x92 => 0x90,
                0xa0..=0xaf => 0xa0,
                0xb0..=0xb3 => 0xb0,
                0xc0..=0xd4 | 0xe0..=0xf4 => 0xc0,
                0xd5..=0xd7 | 0xf5 => 0xd5,
                0xd8..=0xdb => 0xd8,
                0xdc..=0xdf => 0xdc,
                0xf6..=0xf7 => 0xf6,
                0xf8..=0xff => 0xf8,
                header => header,
            };
            first.into()
        }
        [] => kind::NO_ERROR,
    }
}

/// Name and description of a kind.
fn title(kind: u32, ete: bool) -> (&'static str, &'static str) {
    match kind {
        kind::EXTENSION => ("I_EXTENSION", "Extension packet header."),
        kind::ALIGN_SYNC => ("I_ASYNC", "Alignment Synchronisation."),
        kind::DISCARD => ("I_DISCARD", "Discard."),
        kind::OVERFLOW => ("I_OVERFLOW", "Overflow."),
        kind::NOT_SYNC => ("I_NOT_SYNC", "I Stream not synchronised"),
        kind::INCOMPLETE => ("I_INCOMPLETE_EOT", "Incomplete packet at end of trace."),
        kind::NO_ERROR => ("I_NO_ERR_TYPE", "No Error Type."),
        kind::BAD_SEQUENCE => ("I_BAD_SEQUENCE", "Invalid Sequence in packet."),
        kind::RESERVED => ("I_RESERVED", "Reserved Packet Header"),
        kind::RESERVED_CONFIG => ("I_RESERVED_CFG", "Reserved header for current configuration."),
        kind::PE_RESET => ("I_PE_RESET", "PE Reset."),
        kind::TRANSACTION_FAILURE => ("I_TRANS_FAIL", "Transaction Fail."),
        header => match u8::try_from(header) {
            Ok(header) => title_of(header, ete),
            Err(_) => ("I_UNKNOWN", "Unknown Packet Header"),
        },
    }
}

impl Etmv4Packet {
    /// The text of the packet.
    pub fn text(&self) -> String {
        let ete = self.version >> 4 >= 5;
        let (name, description) = title(self.kind, ete);
        let mut out = format!("{name} : {description}");
        self.fields(ete, &mut out);
        out
    }

    fn is_valid(&self, bit: u32) -> bool {
        self.valid & bit != 0
    }

    /// Appends what follows the description.
    fn fields(&self, ete: bool, out: &mut String) {
        let (commit, cancel) = (self.commit, self.cancel);
        let long = |out: &mut String, bits: u8| {
            out.push_str("; Addr=");
            let part = self.address.packet_bits;
            self.address.write(if part < bits { part } else { 0 }, out);
            out.push_str("; ");
        };
        // Writing to a string does not fail.
        let _ = match self.kind {
            kind::BAD_SEQUENCE | kind::INCOMPLETE | kind::RESERVED_CONFIG => {
                write!(out, "[{}]", title(self.error_kind, ete).0)
            }
            0x82 | 0x83 => {
                long(out, 32);
                self.write_context(out)
            }
            0x85 | 0x86 => {
                long(out, 64);
                self.write_context(out)
            }
            0x9a | 0x9b | 0xb6 | 0xb7 => {
                long(out, 32);
                Ok(())
            }
            0x9d | 0x9e | 0xb8 | 0xb9 => {
                long(out, 64);
                Ok(())
            }
            0x80 => {
                out.push_str("; ");
                self.write_context(out)
            }
            0x95 | 0x96 | 0xb4 | 0xb5 => {
                out.push_str("; Addr=");
                self.address.write(self.address.packet_bits, out);
                Ok(())
            }
            0x90 | 0xb0 => {
                let _ = write!(out, ", [{}]; Addr=", self.match_index);
                self.address.write(0, out);
                out.write_str("; ")
            }
            0xc0 | 0xd5 | 0xd8 | 0xdc | 0xf6 | 0xf8 => {
                out.push_str("; ");
                self.atoms.letters(out);
                Ok(())
            }
            0x06 => self.write_exception(out),
            0x02 => {
                let _ = write!(out, "; Updated val = {:#x}", self.timestamp.value);
                match self.is_valid(valid::CYCLES) {
                    true => write!(out, "; CC={:#x}", self.cycles),
                    false => Ok(()),
                }
            }
            0x01 => self.write_trace_info(ete, out),
            0x0c | 0x0e | 0x10 => {
                let _ = write!(out, "; Count={:#x}", self.cycles);
                match self.is_valid(valid::COMMIT) {
                    true => write!(out, "; Commit({commit})"),
                    false => Ok(()),
                }
            }
            0x2d => write!(out, "; Commit({commit})"),
            0x2e => write!(out, "; Cancel({cancel})"),
            0x2f => write!(out, "; Cancel({cancel}), Mispredict"),
            0x30 | 0x34 | 0x38 => {
                out.push_str("; ");
                if self.atoms.count > 0 {
                    out.push_str("Atom: ");
                    self.atoms.letters(out);
                    out.push_str(", ");
                }
                match self.kind {
                    0x30 => out.write_str("Mispredict"),
                    0x34 => out.write_str("Cancel(1), Mispredict"),
                    _ => write!(out, "Cancel({cancel}), Mispredict"),
                }
            }
            0xa0 => self.write_q(out),
            0x09 if ete => {
                let (el, value) = (self.level_or_error as u8, self.instrumentation);
                write!(out, "; EL{el}; Payload={value:#x}")
            }
            _ => Ok(()),
        };
    }

    fn write_q(&self, out: &mut String) -> std::fmt::Result {
        match self.q >> 2 & 1 {
            0 => out.write_str("; Count(Unknown)")?,
            _ => write!(out, "; Count({})", self.q_count)?,
        }
        if self.q & 2 != 0 {
            write!(out, "; [{}]", self.match_index)?;
        }
        if self.q & 3 != 0 {
            out.push_str("; Addr=");
            let part = self.address.packet_bits;
            self.address.write(if part < 64 { part } else { 0 }, out);
        }
        Ok(())
    }

    fn write_trace_info(&self, ete: bool, out: &mut String) -> std::fmt::Result {
        let cycles = self.trace_info & 1;
        write!(out, "; INFO={:#x} {{ CC.{cycles}", self.trace_info & 0xff)?;
        if ete {
            write!(out, ", TSTATE.{}", self.trace_info >> 6 & 1)?;
        }
        out.push_str(" }");
        if cycles != 0 {
            write!(out, "; CC_THRESHOLD={:#x}", self.threshold)?;
        }
        if self.trace_info >> 16 & 1 != 0 {
            if self.trace_info >> 17 & 1 != 0 {
                write!(out, "; INIT SPEC DEPTH={}", self.speculation)?;
            }
            out.push_str("; Decoder Sync point TINFO");
        }
        Ok(())
    }

    fn write_context(&self, out: &mut String) -> std::fmt::Result {
        let context = &self.context;
        let set = |bit: u32| context.bits >> bit & 1 != 0;
        if !set(4) {
            return out.write_str("Ctxt: Same");
        }
        out.push_str(if set(2) { "Ctxt: AArch64,EL" } else { "Ctxt: AArch32, EL" });
        write!(out, "{}", context.bits & 3)?;
        out.push_str(match (set(7), set(3)) {
            (false, false) => ", S; ",
            (false, true) => ", NS; ",
            (true, false) => ", Root; ",
            (true, true) => ", Realm; ",
        });
        if set(5) {
            write!(out, "CID=0x{:08x}; ", context.id)?;
        }
        if set(6) {
            write!(out, "VMID=0x{:04x}; ", context.vmid)?;
        }
        Ok(())
    }

    fn write_exception(&self, out: &mut String) -> std::fmt::Result {
        let number = self.exception & 0x3ff;
        let profile_m = self.exception >> 13 & 1 != 0;
        out.push_str(";  ");
        crate::etmv4::exception_name(number as u16, profile_m, out);
        out.push(';');
        if profile_m && self.exception >> 12 & 1 != 0 {
            out.push_str(" Fault Pending;");
        }
        out.write_str(match self.exception >> 10 & 3 {
            2 => " Ret Addr Follows, Match Prev;",
            1 => " Ret Addr Follows;",
            _ => "",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_sequences_name_the_packet_that_they_begin() {
        let mut maker = Etmv4Maker::new(&Config::etmv4(None, &|_| Some(0)).unwrap());
        for (bytes, want) in [(&[0, 0x20], "[I_EXTENSION]"), (&[0, 0], "[I_ASYNC]")] {
            let text = maker.bad(bytes, Fault::Sequence).text();
            assert!(text.ends_with(want), "{bytes:x?}: {text}");
        }
    }
}
