//! The names of traps. (Privileged ISA, `mcause`, table "Machine cause register values after trap")

use super::decode::INTERRUPT;

/// The name of a trap: its cause, and [`INTERRUPT`] for interrupts.
pub(super) const fn trap(number: u16) -> Option<&'static str> {
    Some(match (number & INTERRUPT != 0, number & !INTERRUPT) {
        (true, 1) => "supervisor software interrupt",
        (true, 2) => "virtual supervisor software interrupt",
        (true, 3) => "machine software interrupt",
        (true, 5) => "supervisor timer interrupt",
        (true, 6) => "virtual supervisor timer interrupt",
        (true, 7) => "machine timer interrupt",
        (true, 9) => "supervisor external interrupt",
        (true, 10) => "virtual supervisor external interrupt",
        (true, 11) => "machine external interrupt",
        (true, 12) => "supervisor guest external interrupt",
        (true, 13) => "counter overflow interrupt",
        (true, 35) => "low-priority RAS event interrupt",
        (true, 43) => "high-priority RAS event interrupt",
        (true, _) => "interrupt",
        (false, 0) => "instruction address misaligned",
        (false, 1) => "instruction access fault",
        (false, 2) => "illegal instruction",
        (false, 3) => "breakpoint",
        (false, 4) => "load address misaligned",
        (false, 5) => "load access fault",
        (false, 6) => "store/AMO address misaligned",
        (false, 7) => "store/AMO access fault",
        (false, 8) => "environment call from U-mode",
        (false, 9) => "environment call from S-mode",
        (false, 10) => "environment call from VS-mode",
        (false, 11) => "environment call from M-mode",
        (false, 12) => "instruction page fault",
        (false, 13) => "load page fault",
        (false, 15) => "store/AMO page fault",
        (false, 16) => "double trap",
        (false, 18) => "software check",
        (false, 19) => "hardware error",
        (false, 20) => "instruction guest-page fault",
        (false, 21) => "load guest-page fault",
        (false, 22) => "virtual instruction",
        (false, 23) => "store/AMO guest-page fault",
        (false, _) => return None,
    })
}
