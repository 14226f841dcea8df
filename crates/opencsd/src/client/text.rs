//! The text of an element, from the structure that a client has.

use std::fmt::Write;

use crate::client::element::{TraceElement, flag, kind, software};

/// The text of `element`. `payload` reads the payload of an STM packet, where there is one.
pub fn text(element: &TraceElement, payload: impl FnOnce(u32) -> u64) -> String {
    let mut out = String::new();
    write(element, payload, &mut out);
    out
}

const ISAS: [&str; 7] = ["A32", "T32", "A64", "TEE", "Jaz", "Cst", "Unk"];

fn name(table: &[&'static str], index: u32) -> &'static str {
    table.get(index as usize).copied().unwrap_or_default()
}

fn write(e: &TraceElement, payload: impl FnOnce(u32) -> u64, out: &mut String) {
    const NAMES: [&str; 20] = [
        "UNKNOWN",
        "NO_SYNC",
        "TRACE_ON",
        "EO_TRACE",
        "PE_CONTEXT",
        "INSTR_RANGE",
        "I_RANGE_NOPATH",
        "ADDR_NACC",
        "ADDR_UNKNOWN",
        "EXCEPTION",
        "EXCEPTION_RET",
        "TIMESTAMP",
        "CYCLE_COUNT",
        "EVENT",
        "SWTRACE",
        "SYNC_MARKER",
        "MEMTRANS",
        "INSTRUMENTATION",
        "ITMTRACE",
        "CUSTOM",
    ];
    let Some(title) = NAMES.get(e.kind as usize) else {
        return out.push_str("OCSD_GEN_TRC_ELEM??: index out of range.");
    };
    let set = |bit: u32| e.flags & bit != 0;
    let number = e.payload.number();
    let _ = write!(out, "OCSD_GEN_TRC_ELEM_{title}(");
    // Writing to a string does not fail.
    let _ = match e.kind {
        kind::RANGE => range(e, out),
        kind::NO_CODE => {
            let address = e.start;
            write!(out, " {address:#x}; Memspace [{number:#x}:{}] ", space_name(number))
        }
        kind::NO_PATH => {
            write!(out, "first {:#x}:[next {:#x}] num_i({number}) ", e.start, e.end)
        }
        kind::EXCEPTION => {
            if set(flag::RETURN_ADDRESS) {
                let also = if set(flag::ALSO_TARGET) { " [addr also prev br tgt]" } else { "" };
                let _ = write!(out, "pref ret addr:{:#x}{also}; ", e.end);
            }
            write!(out, "excep num (0x{number:02x}) ")
        }
        kind::CONTEXT => context(e, out),
        kind::TRACE_ON => {
            let reasons = ["begin or filter", "overflow", "debug restart"];
            write!(out, " [{}]", name(&reasons, number))
        }
        kind::TIMESTAMP => write!(out, " [ TS=0x{:012x}]; ", e.timestamp),
        kind::SOFTWARE => software_write(e, payload, out),
        kind::ITM => itm(e, out),
        kind::EVENT => match number & 0xffff {
            1 => out.write_str(" Trigger; "),
            2 => write!(out, " Numbered:{}; ", number >> 16),
            _ => Ok(()),
        },
        kind::END | kind::NO_SYNC => {
            let reasons = [
                "undefined",
                "init-decoder",
                "reset-decoder",
                "overflow",
                "discard",
                "bad-packet",
                "bad-program-image",
                "end-of-trace",
            ];
            match reasons.get(number as usize) {
                Some(reason) => write!(out, " [{reason}]"),
                None => Ok(()),
            }
        }
        kind::MARKER => {
            let value = (e.payload.words[0] >> 32) as u32;
            write!(out, " [Timestamp marker(0x{value:08x})]")
        }
        kind::TRANSACTION => out.write_str(name(&["Init", "Start", "Commit", "Fail"], number)),
        kind::INSTRUMENTATION => {
            let [el, value] = e.payload.words;
            write!(out, "EL{}; 0x{value:016x}", el as u8)
        }
        _ => Ok(()),
    };
    if set(flag::CYCLES) {
        let _ = write!(out, " [CC={}]; ", e.cycles);
    }
    out.push(')');
}

fn range(e: &TraceElement, out: &mut String) -> std::fmt::Result {
    const TYPES: [&str; 7] = ["--- ", "BR  ", "iBR ", "ISB ", "DSB.DMB", "WFI.WFE", "TSTART"];
    const SUBTYPES: [&str; 5] = ["", "b+link ", "A64:ret ", "A64:eret ", "V7:impl ret"];
    let size = e.flags >> flag::SIZE_SHIFT & 7;
    write!(
        out,
        "exec range={:#x}:[{:#x}] num_i({}) last_sz({size}) (ISA={}) {}{}{}{}",
        e.start,
        e.end,
        e.payload.number(),
        name(&ISAS, e.isa),
        if e.flags & flag::EXECUTED != 0 { "E " } else { "N " },
        name(&TYPES, e.last_type),
        name(&SUBTYPES, e.last_subtype),
        if e.flags & flag::CONDITIONAL != 0 { " <cond>" } else { "" },
    )
}

fn context(e: &TraceElement, out: &mut String) -> std::fmt::Result {
    let c = &e.context;
    write!(out, "(ISA={}) ", name(&ISAS, e.isa))?;
    if c.el >= 0 && c.bits & 8 != 0 {
        write!(out, "EL{}", c.el)?;
    }
    out.write_str(name(&["S; ", "N; ", "Root; ", "Realm; "], c.security))?;
    out.write_str(if c.bits & 1 != 0 { "64-bit; " } else { "32-bit; " })?;
    if c.bits & 4 != 0 {
        write!(out, "VMID={:#x}; ", c.vmid)?;
    }
    if c.bits & 2 != 0 {
        write!(out, "CTXTID={:#x}; ", c.context_id)?;
    }
    Ok(())
}

fn software_write(
    e: &TraceElement,
    payload: impl FnOnce(u32) -> u64,
    out: &mut String,
) -> std::fmt::Result {
    let write = e.software();
    let set = |bit: u32| write.bits & bit != 0;
    if set(software::GLOBAL_ERROR) {
        return out.write_str("{Global Error.}");
    }
    if set(software::ID_VALID) {
        write!(out, " (Ma:0x{:02x}; Ch:0x{:02x}) ", write.master, write.channel)?;
    } else {
        out.write_str("(Ma:0x??; Ch:0x??) ")?;
    }
    match write.bits & 0xff {
        0 => {}
        bits @ (4 | 8 | 16 | 32 | 64) => {
            let width = bits as usize / 4;
            write!(out, "0x{:0width$x}; ", payload(bits))?;
        }
        _ => out.write_str("0x{Data Error : unsupported bit width.}; ")?,
    }
    if set(software::MARKER) {
        out.write_str("+Mrk ")?;
    }
    if set(software::TRIGGER) {
        out.write_str("Trig ")?;
    }
    if set(software::TIMESTAMP) {
        write!(out, " [ TS=0x{:012x}]; ", e.timestamp)?;
    }
    if set(software::FREQUENCY) {
        out.write_str("Freq")?;
    }
    if set(software::MASTER_ERROR) {
        out.write_str("{Master Error.}")?;
    }
    Ok(())
}

fn itm(e: &TraceElement, out: &mut String) -> std::fmt::Result {
    let itm = e.itm();
    let (source, value, width) = (itm.source, itm.value, usize::from(itm.size) * 2);
    if itm.overflow != 0 {
        out.write_str("ITM_OVERFLOW; ")?;
    }
    match itm.kind {
        0 => write!(out, "ITM_SWIT (ch: {source:#x}; Data: 0x{value:0width$x}) "),
        1 => write!(out, "ITM_DWT (desc: {source:#x}; Data: 0x{value:0width$x}) "),
        kind @ 2..=5 => {
            let delays = ["TS Sync", "TS Delay", "Packet Delay", "TS and Packet Delay"];
            let (delay, total) = (name(&delays, kind - 2), e.timestamp);
            write!(
                out,
                "ITM_TS_LOCAL ( TS delta: 0x{value:08x}, {{ {delay}}}; TS cumulative: 0x{total:016x}) "
            )
        }
        6 => write!(out, "ITM_TS_GLOBAL ( TS: 0x{:016x}) ", e.timestamp),
        _ => Ok(()),
    }
}

/// The name of a memory space.
pub const fn space_name(space: u32) -> &'static str {
    match space {
        0x01 => "EL1S",
        0x02 => "EL1N",
        0x04 => "EL2N",
        0x08 => "EL3",
        0x10 => "EL2S",
        0x20 => "EL1R",
        0x40 => "EL2R",
        0x80 => "Root",
        0x19 => "Any S",
        0x06 => "Any NS",
        0x60 => "Any R",
        0xff => "Any",
        _ => "None",
    }
}
