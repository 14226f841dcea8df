//! Elements in the format of OpenCSD (`OCSD_GEN_TRC_ELEM_...`).

use std::fmt::Write;

use tracewright_base::{
    Channel, Context, Counted, DwtEvent, Element, Gap, Inconsistency, Instruction, Isa, Kind, Last,
    LocalTimestamp, Range, Role, Security, Software, Space, Start, TimeDelay, Transaction,
};
use tracewright_views::digits::{ShortText, decimal, hex};
use tracewright_views::range_tails::RangeTails;

/// The part of a source's configuration that the text of its elements depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Timestamps always have a cycle count: 0 where the packet has none.
    pub timestamp_cycles: bool,
}

/// Appends the text of `element`. Returns `false`, and appends nothing, where OpenCSD has no such
/// element.
pub fn element(style: Style, element: &Element, out: &mut String) -> bool {
    match element {
        Element::Range(r) => range(r, out),
        Element::Gap(gap) => bracketed("NO_SYNC", reason(*gap), out),
        Element::TraceOn(start) => bracketed(
            "TRACE_ON",
            match start {
                Start::Normal => "begin or filter",
                Start::Overflow => "overflow",
                Start::Debug => "debug restart",
            },
            out,
        ),
        Element::End => bracketed("EO_TRACE", "end-of-trace", out),
        Element::Context(c) => context(c, out),
        Element::Unknown { start, next, instructions } => {
            out.push_str("OCSD_GEN_TRC_ELEM_I_RANGE_NOPATH(first 0x");
            hex(*start, out);
            out.push_str(":[next 0x");
            hex(*next, out);
            out.push_str("] num_i(");
            decimal(instructions.get().unwrap_or(0).into(), out);
            out.push_str(") )");
        }
        Element::NoCode { address, space }
        | Element::Inconsistency(Inconsistency::Misaligned { address, space }) => {
            let (number, name) = memory_space(*space);
            let _ = write!(
                out,
                "OCSD_GEN_TRC_ELEM_ADDR_NACC( {address:#x}; Memspace [{number:#x}:{name}] )"
            );
        }
        Element::Exception(e) => {
            out.push_str("OCSD_GEN_TRC_ELEM_EXCEPTION(");
            if let Some(address) = e.return_address {
                let also = if e.also_target { " [addr also prev br tgt]" } else { "" };
                let _ = write!(out, "pref ret addr:{address:#x}{also}; ");
            }
            let _ = write!(out, "excep num (0x{:02x}) )", e.number);
        }
        Element::ExceptionReturn => out.push_str("OCSD_GEN_TRC_ELEM_EXCEPTION_RET()"),
        Element::Timestamp { value, cycles } => {
            let _ = write!(out, "OCSD_GEN_TRC_ELEM_TIMESTAMP( [ TS=0x{value:012x}]; ");
            let cycles = cycles.or(style.timestamp_cycles.then_some(0));
            if let Some(cycles) = cycles {
                cycle_count(cycles, out);
            }
            out.push(')');
        }
        Element::Cycles(count) => {
            out.push_str("OCSD_GEN_TRC_ELEM_CYCLE_COUNT(");
            cycle_count(count.unwrap_or(0), out);
            out.push(')');
        }
        Element::Events(mask) => {
            let _ = write!(out, "OCSD_GEN_TRC_ELEM_EVENT( Numbered:{mask}; )");
        }
        Element::Trigger => out.push_str("OCSD_GEN_TRC_ELEM_EVENT( Trigger; )"),
        Element::Marker => {
            out.push_str("OCSD_GEN_TRC_ELEM_SYNC_MARKER( [Timestamp marker(0x00000000)])");
        }
        Element::Transaction(step) => {
            out.push_str("OCSD_GEN_TRC_ELEM_MEMTRANS(");
            out.push_str(match step {
                Transaction::Inside => "Init",
                Transaction::Start => "Start",
                // OpenCSD has no such element. Here, too, what was delayed has an effect.
                Transaction::Commit | Transaction::Cancelled => "Commit",
                Transaction::Failure => "Fail",
            });
            out.push(')');
        }
        Element::Instrumentation { el, value } => {
            let _ = write!(out, "OCSD_GEN_TRC_ELEM_INSTRUMENTATION(EL{el}; 0x{value:016x})");
        }
        Element::SoftwareWrite(s) => software_write(s, out),
        Element::DwtEvent(event) => dwt_event(event, out),
        Element::LocalTimestamp(t) => local_time(t, out),
        Element::GlobalTimestamp { value, after_overflow, .. } => {
            itm(*after_overflow, out);
            let _ = write!(out, "ITM_TS_GLOBAL ( TS: 0x{value:016x}) )");
        }
        // Trap values, data accesses, undecodable bytes, inconsistencies, corrected branches.
        _ => return false,
    }
    true
}

fn bracketed(name: &str, text: &str, out: &mut String) {
    out.push_str("OCSD_GEN_TRC_ELEM_");
    out.push_str(name);
    out.push_str("( [");
    out.push_str(text);
    out.push_str("])");
}

/// OpenCSD resets its decoder where the program image contradicts the trace, and reports a bad
/// packet.
const fn reason(gap: Gap) -> &'static str {
    match gap {
        Gap::Start => "init-decoder",
        Gap::Reset => "reset-decoder",
        Gap::Overflow | Gap::Data => "overflow",
        Gap::Discard => "discard",
        // Gap::BadPacket, Gap::BadImage.
        _ => "bad-packet",
    }
}

/// OpenCSD's short name of an instruction set.
pub const fn isa_name(isa: Isa) -> &'static str {
    match isa {
        Isa::A64 => "A64",
        Isa::A32 => "A32",
        Isa::T32 => "T32",
        Isa::ThumbEe => "TEE",
        Isa::Jazelle => "Jaz",
        Isa::Rv32 | Isa::Rv64 => "Cst",
    }
}

/// Appends the cycle count that ends an element, before the `)`.
pub(super) fn cycle_count(count: u32, out: &mut String) {
    const BEFORE: ShortText = ShortText::new(b" [CC=");
    const AFTER: ShortText = ShortText::new(b"]; ");
    match ShortText::decimal(count.into()) {
        Some(count) => BEFORE.then(count).then(AFTER).put(out),
        None => {
            BEFORE.put(out);
            decimal(count.into(), out);
            AFTER.put(out);
        }
    }
}

fn range(r: &Range, out: &mut String) {
    range_addresses(r, out);
    range_tail(r, out);
    range_cycles(r.cycles, out);
    out.push(')');
}

/// Appends the line of a range, which ends with `cycles` after its own.
#[inline]
pub(super) fn range_line(r: &Range, cycles: Option<u32>, tails: &mut RangeTails, out: &mut String) {
    range_addresses(r, out);
    tails.put(r, out, range_tail);
    range_cycles(r.cycles, out);
    if let Some(count) = cycles {
        cycle_count(count, out);
    }
    out.push_str(")\n");
}

#[inline]
fn range_addresses(r: &Range, out: &mut String) {
    out.push_str("OCSD_GEN_TRC_ELEM_INSTR_RANGE(exec range=0x");
    hex(r.start, out);
    out.push_str(":[0x");
    hex(r.end(), out);
}

/// The part that depends on the number of instructions and on the last one.
fn range_tail(r: &Range, out: &mut String) {
    out.push_str("] num_i(");
    decimal(r.instructions.into(), out);
    out.push_str(") last_sz(");
    decimal(r.last.size().into(), out);
    out.push_str(") (ISA=");
    out.push_str(isa_name(r.last.isa));
    out.push_str(if r.taken() { ") E " } else { ") N " });
    out.push_str(match r.last.kind {
        Kind::Plain | Kind::Undefined => "--- ",
        Kind::Branch => "BR  ",
        Kind::Indirect => "iBR ",
        Kind::Isb => "ISB ",
        Kind::Barrier => "DSB.DMB",
        Kind::Wait | Kind::TimedWait => "WFI.WFE",
        Kind::TransactionStart => "TSTART",
    });
    out.push_str(match r.last.role {
        Role::Jump | Role::Loop | Role::Compare | Role::Swap | Role::Link => "",
        Role::Call => "b+link ",
        Role::Return if r.last.isa == Isa::A64 => "A64:ret ",
        Role::Return => "",
        Role::ExceptionReturn if r.last.isa == Isa::A64 => "A64:eret ",
        Role::ExceptionReturn => "",
        Role::ImpliedReturn => "V7:impl ret",
    });
    // OpenCSD does not treat loop and compare instructions as conditional.
    if r.last.conditional() && !matches!(r.last.role, Role::Loop | Role::Compare) {
        out.push_str(" <cond>");
    }
}

#[inline]
fn range_cycles(cycles: Counted, out: &mut String) {
    if let Some(count) = Counted::get(cycles) {
        cycle_count(count, out);
    }
}

/// The last instruction of a range as OpenCSD's ETMv3 and PTM decoders report it. They do not
/// decode IT blocks, so no T32 instruction other than a branch is conditional.
pub(super) fn without_it_block(last: Last) -> Last {
    if !last.conditional() || last.isa != Isa::T32 || last.kind == Kind::Branch {
        return last;
    }
    let Last { kind, role, isa, .. } = last;
    let size = last.size();
    let instruction = Instruction { kind, role, size, isa, ..Instruction::default() };
    Last::new(&instruction, last.taken())
}

fn context(c: &Context, out: &mut String) {
    out.push_str("OCSD_GEN_TRC_ELEM_PE_CONTEXT((ISA=");
    out.push_str(isa_name(c.isa));
    out.push_str(") ");
    if let Some(el) = c.el {
        let _ = write!(out, "EL{el}");
    }
    out.push_str(match c.security {
        Some(Security::Secure) | None => "S; ",
        Some(Security::NonSecure) => "N; ",
        Some(Security::Root) => "Root; ",
        Some(Security::Realm) => "Realm; ",
    });
    out.push_str(if c.bits64 { "64-bit; " } else { "32-bit; " });
    if let Some(vmid) = c.vmid {
        let _ = write!(out, "VMID={vmid:#x}; ");
    }
    if let Some(id) = c.context_id {
        let _ = write!(out, "CTXTID={id:#x}; ");
    }
    out.push(')');
}

/// OpenCSD's number and name of a memory space.
const fn memory_space(space: Space) -> (u32, &'static str) {
    match (space.security(), space.el()) {
        (Some(Security::Secure), Some(0 | 1)) => (0x01, "EL1S"),
        (Some(Security::NonSecure), Some(0 | 1)) => (0x02, "EL1N"),
        (Some(Security::Realm), Some(0 | 1)) => (0x20, "EL1R"),
        (Some(Security::Secure), Some(2)) => (0x10, "EL2S"),
        (Some(Security::NonSecure), Some(2)) => (0x04, "EL2N"),
        (Some(Security::Realm), Some(2)) => (0x40, "EL2R"),
        (Some(Security::Root), _) => (0x80, "Root"),
        (_, Some(3)) => (0x08, "EL3"),
        (Some(Security::Secure), _) => (0x19, "Any S"),
        (Some(Security::NonSecure), _) => (0x06, "Any NS"),
        (Some(Security::Realm), _) => (0x60, "Any R"),
        // OpenCSD takes a core without security states to be secure.
        (None, _) => (0x19, "Any S"),
    }
}

fn software_write(s: &Software, out: &mut String) {
    let (bits, value) = (s.bits, s.value());
    match s.channel {
        Channel::Port { page, port } => {
            itm(s.has(Software::AFTER_OVERFLOW), out);
            let port = u32::from(page.unwrap_or(0)) * 32 + u32::from(port);
            let width = usize::from(bits) / 4;
            let _ = write!(out, "ITM_SWIT (ch: {port:#x}; Data: 0x{value:0width$x}) )");
        }
        Channel::Master { master, channel } => {
            out.push_str("OCSD_GEN_TRC_ELEM_SWTRACE(");
            if s.has(Software::GLOBAL_ERROR) {
                out.push_str("{Global Error.})");
                return;
            }
            match (master, channel) {
                (Some(master), Some(channel)) => {
                    let _ = write!(out, " (Ma:0x{master:02x}; Ch:0x{channel:02x}) ");
                }
                _ => out.push_str("(Ma:0x??; Ch:0x??) "),
            }
            if bits > 0 {
                let width = usize::from(bits).div_ceil(4);
                let _ = write!(out, "0x{value:0width$x}; ");
            }
            if s.has(Software::MARKER) || s.has(Software::FLAG) {
                out.push_str("+Mrk ");
            }
            if s.has(Software::TRIGGER) {
                out.push_str("Trig ");
            }
            if let Some(time) = s.time() {
                let _ = write!(out, " [ TS=0x{time:012x}]; ");
            }
            if s.has(Software::FREQUENCY) {
                out.push_str("Freq");
            }
            if s.has(Software::MASTER_ERROR) {
                out.push_str("{Master Error.}");
            }
            out.push(')');
        }
    }
}

fn itm(after_overflow: bool, out: &mut String) {
    out.push_str("OCSD_GEN_TRC_ELEM_ITMTRACE(");
    out.push_str(if after_overflow { "ITM_OVERFLOW; " } else { "" });
}

fn dwt_event(event: &DwtEvent, out: &mut String) {
    itm(event.after_overflow, out);
    let (id, value) = (event.discriminator, event.value);
    let width = usize::from(event.size) * 2;
    let _ = write!(out, "ITM_DWT (desc: {id:#x}; Data: 0x{value:0width$x}) )");
}

fn local_time(t: &LocalTimestamp, out: &mut String) {
    let kind = match t.delay {
        TimeDelay::None => "TS Sync",
        TimeDelay::Timestamp => "TS Delay",
        TimeDelay::Packet => "Packet Delay",
        TimeDelay::Both => "TS and Packet Delay",
    };
    let (delta, total) = (t.delta, t.total);
    itm(t.after_overflow, out);
    let _ = write!(
        out,
        "ITM_TS_LOCAL ( TS delta: 0x{delta:08x}, {{ {kind}}}; TS cumulative: 0x{total:016x}) )"
    );
}
