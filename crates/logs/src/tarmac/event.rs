//! Exceptions, and other events.

use tracewright_base::{Cause, Isa, Step};

use super::{Last, address, read_mode};
use crate::entry::{Event, Raised};
use crate::text::{Expected, Words, decimal, hex};

/// Names of `E` lines, and what they are for. `true` where the instruction at the event's value caused it.
pub(super) const EVENTS: [(&str, u32, Cause, bool); 18] = [
    ("CoreEvent_Reset", 1, Cause::Reset, false),
    ("CoreEvent_RESET", 1, Cause::Reset, false),
    ("CoreEvent_UndefinedInstr", 2, Cause::Undefined, true),
    ("CoreEvent_SWI", 3, Cause::Call, false),
    ("CoreEvent_PrefetchAbort", 4, Cause::InstructionFault, false),
    ("CoreEvent_DataAbort", 5, Cause::DataFault, true),
    ("CoreEvent_IRQ", 7, Cause::Irq, false),
    ("CoreEvent_FIQ", 8, Cause::Fiq, false),
    ("CoreEvent_ImpDataAbort", 14, Cause::SystemError, false),
    // The M profile's names.
    ("CoreEvent_NMI", 2, Cause::Vector(2), false),
    ("CoreEvent_HARDFAULT", 3, Cause::Vector(3), true),
    ("CoreEvent_MEMMANAGE", 4, Cause::Vector(4), true),
    ("CoreEvent_BUSFAULT", 5, Cause::Vector(5), true),
    ("CoreEvent_USAGEFAULT", 6, Cause::Vector(6), true),
    ("CoreEvent_SVCALL", 11, Cause::Vector(11), false),
    ("CoreEvent_PENDSV", 14, Cause::Vector(14), false),
    ("CoreEvent_SYSTICK", 15, Cause::Vector(15), false),
    ("DebugEvent_HaltingDebugState", 0, Cause::Halt, false),
];

/// `E VALUE NUMBER NAME`. An event that is no exception is left alone.
pub(super) fn event(
    mut words: Words<'_>,
    last: Option<Last>,
    say: &mut impl FnMut(Event),
) -> Result<(), Expected> {
    let mut word = words.word();
    let value = address(word);
    let (mut number, mut mode) = (None, b"".as_slice());
    let name = loop {
        if word.starts_with(b"CoreEvent_") || word.starts_with(b"DebugEvent_") {
            break word;
        }
        if word.is_empty() {
            return match (value, number) {
                (Some(_), Some(_)) => Err(Expected("the name of an event, as `CoreEvent_IRQ`")),
                _ => Ok(()),
            };
        }
        let named = words.word();
        number = hex(named).or(number);
        if named.starts_with(b"EL") || named.len() == 3 {
            mode = named;
        }
        word = named;
    };
    if name == b"CoreEvent_ModeChange" {
        let mode = read_mode(mode);
        if mode.el.is_some() {
            say(Event::Mode(mode));
        }
        return Ok(());
    }
    let known = EVENTS.iter().find(|(word, ..)| word.as_bytes() == name);
    let outside = last.is_some_and(|last| last.microcontroller);
    let (cause, synchronous) = match known {
        Some(&(_, _, cause, synchronous)) => (Some(cause), synchronous),
        // An interrupt of the M profile.
        None if outside && let Some(n @ 16..=511) = number => {
            (Some(Cause::Vector(n as u16)), false)
        }
        None if name.ends_with(b"_IRQ") => (Some(Cause::Irq), false),
        None if name.ends_with(b"_FIQ") => (Some(Cause::Fiq), false),
        None if name.ends_with(b"_ABORT") => (Some(Cause::SystemError), false),
        None if name.ends_with(b"_SYNC") => (None, true),
        None => return Ok(()),
    };
    if cause == Some(Cause::Halt) {
        say(Event::Step(Step::Halted));
        return Ok(());
    }
    // A64 has the return address in an `R ELR_ELn` line behind it. That of a reset says where it starts.
    let address = value.filter(|_| !matches!(cause, None | Some(Cause::Reset)));
    let (return_address, likely) = if synchronous { (address, None) } else { (None, address) };
    say(Event::Raised(Raised { cause, return_address, likely, synchronous, ..Raised::default() }));
    Ok(())
}

/// `[0x200] Synchronous Current EL with SP_ELx`, `[1] Reset`, `Reset`: a vector's offset, or the number of an
/// exception of the M profile, and a name.
pub(super) fn exception(
    mut words: Words<'_>,
    last: Option<Last>,
    say: &mut impl FnMut(Event),
) -> Result<(), Expected> {
    let form = Expected("`[VECTOR] NAME` or a name after `EXC`");
    let bracket = words.peek().strip_prefix(b"[").and_then(|word| word.strip_suffix(b"]"));
    if bracket.is_some() {
        words.word();
    }
    let name = words.0.trim_ascii().to_ascii_lowercase();
    let has = |word: &[u8]| name.windows(word.len()).any(|part| part == word);
    let offset = bracket.filter(|text| text.starts_with(b"0x")).and_then(hex);
    let number = bracket.filter(|text| !text.starts_with(b"0x")).and_then(decimal);
    if bracket.is_some() && offset.is_none() && number.is_none() {
        return Err(form);
    }
    let a64 = last.is_none_or(|last| last.isa == Isa::A64);
    let (cause, synchronous) = match (number, offset) {
        _ if has(b"reset") => (Some(Cause::Reset), false),
        (Some(n @ 2..=511), _) => (Some(Cause::Vector(n as u16)), matches!(n, 3..=7)),
        // A64: the offset from VBAR. (Arm ARM, "Vector tables")
        (_, Some(offset)) if a64 || offset >= 0x80 => match offset >> 7 & 0b11 {
            0 => (None, true),
            1 => (Some(Cause::Irq), false),
            2 => (Some(Cause::Fiq), false),
            _ => (Some(Cause::SystemError), false),
        },
        (_, Some(0x04)) => (Some(Cause::Undefined), true),
        (_, Some(0x08)) => (Some(Cause::Call), false),
        (_, Some(0x0c)) => (Some(Cause::InstructionFault), false),
        (_, Some(0x10)) => (Some(Cause::DataFault), true),
        (_, Some(0x14)) => (Some(Cause::Trap), true),
        (_, Some(0x18)) => (Some(Cause::Irq), false),
        (_, Some(0x1c)) => (Some(Cause::Fiq), false),
        _ if has(b"irq") => (Some(Cause::Irq), false),
        _ if has(b"fiq") => (Some(Cause::Fiq), false),
        _ if has(b"serror") => (Some(Cause::SystemError), false),
        _ if has(b"synchronous") => (None, true),
        _ => return Err(form),
    };
    let mut raised = Raised { cause, synchronous, ..Raised::default() };
    if synchronous && let Some(address) = last.and_then(|last| last.unfetched) {
        // What came before it is not the reason.
        raised.cause = Some(Cause::InstructionFault);
        (raised.return_address, raised.synchronous) = (Some(address), false);
    }
    say(Event::Raised(raised));
    Ok(())
}
