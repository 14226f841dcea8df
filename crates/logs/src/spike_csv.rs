//! The comma-separated log of Spike in the reference flow of the RISC-V trace group.
//!
//! ```text
//! VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT
//! 1,80000000,4081,3,0,0,0,0
//! 1,8000022a,9002,3,1,3,8000022a,0
//! ```
//!
//! Numbers are hexadecimal. A row with EXCEPTION 1 is an instruction that trapped and did not
//! retire.

use tracewright_base::{Cause, Isa};

use crate::entry::{Entry, Event, Executed, Mode, Raised};
use crate::line::Line;
use crate::spike::riscv;
use crate::text::{Expected, hex};

/// The header line.
pub(super) const HEADER: &str = "VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT";

/// Reads one line.
pub(super) fn line(line: &[u8], isa: Isa, out: &mut dyn FnMut(Entry)) -> Result<(), Expected> {
    if line.trim_ascii() == HEADER.as_bytes() || line.trim_ascii().is_empty() {
        return Ok(());
    }
    let mut numbers = [0; 8];
    let mut cells = line.trim_ascii().split(|&b| b == b',');
    for number in &mut numbers {
        let cell = cells.next().ok_or(Expected("eight numbers and commas between them"))?;
        *number = hex(cell).ok_or(Expected("a hexadecimal number"))?;
    }
    let [valid, address, opcode, privilege, exception, cause, value, interrupt] = numbers;
    if valid == 0 {
        return Ok(());
    }
    let el = u8::try_from(privilege).ok().filter(|el| *el <= 3);
    let mode =
        Mode { el: Some(el.ok_or(Expected("a privilege level, 0 to 3"))?), non_secure: None };
    if exception == 0 {
        let opcode = Some(riscv(opcode as u32));
        let executed = Executed { address, opcode, isa: Some(isa), mode, ..Executed::default() };
        out(Entry::new(0, Event::Instruction(executed)));
        return Ok(());
    }
    // The most significant bit of the cause marks an interrupt, for each XLEN.
    let raised = Raised {
        cause: Some(Cause::Riscv { code: (cause & 0xfff) as u16, interrupt: interrupt != 0 }),
        return_address: Some(address),
        likely: None,
        target: None,
        value: Some(value),
        synchronous: false,
    };
    out(Entry::new(0, Event::Mode(mode)));
    out(Entry::new(0, Event::Raised(raised)));
    Ok(())
}

/// Writes an entry. An entry that the format cannot express is left out. `level` is the last
/// written privilege level.
pub(super) fn emit(entry: &Entry, level: &mut u8, rv64: bool, line: &mut Line) {
    match entry.event {
        Event::Instruction(executed) => {
            *level = executed.mode.el.unwrap_or(*level);
            let bits = executed.opcode.unwrap_or_default().bits;
            line.whole(format_args!("1,{:x},{bits:x},{level:x},0,0,0,0", executed.address));
        }
        Event::Mode(mode) => *level = mode.el.unwrap_or(*level),
        Event::Raised(raised) => {
            let Some(Cause::Riscv { code, interrupt }) = raised.cause else { return };
            let top = if rv64 { 1 << 63 } else { 1 << 31 };
            let cause = u64::from(code) | if interrupt { top } else { 0 };
            let (address, value) = (raised.return_address.unwrap_or(0), raised.value.unwrap_or(0));
            let interrupt = u8::from(interrupt);
            line.whole(format_args!("1,{address:x},0,{level:x},1,{cause:x},{value:x},{interrupt}"));
        }
        _ => {}
    }
}
