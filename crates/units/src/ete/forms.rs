//! A program as Tcl for OpenOCD and as C.
//!
//! A register of 64 bits is written as two of 32 bits where it is memory-mapped. (Arm ARM
//! K10.5.7.6) The registers of a sink (`TMC_`) are those of another component: the text has their
//! address as the variable or macro `SINK`.

use std::fmt::Write as _;

use super::registers::by_name;
use crate::program::{Action, Barrier, Place, Program};

/// Offsets of the registers of an ETR. (Arm CoreSight Trace Memory Controller)
const SINK: [(&str, u16); 14] = [
    ("TMC_RSZ", 0x004),
    ("TMC_STS", 0x00c),
    ("TMC_RRP", 0x014),
    ("TMC_RWP", 0x018),
    ("TMC_TRG", 0x01c),
    ("TMC_CTL", 0x020),
    ("TMC_MODE", 0x028),
    ("TMC_RRPHI", 0x038),
    ("TMC_RWPHI", 0x03c),
    ("TMC_AXICTL", 0x110),
    ("TMC_DBALO", 0x118),
    ("TMC_DBAHI", 0x11c),
    ("TMC_FFCR", 0x304),
    ("TMC_LAR", 0xfb0),
];

/// Where a register is.
enum At {
    /// In the unit, at an offset; of 64 bits or 32.
    Unit(u16, bool),
    /// In the sink, at an offset.
    Sink(u16),
    /// A System register.
    System,
}

fn at(place: &Place) -> At {
    let wide = by_name(&place.name).is_some_and(|named| named.row.register.bits == 64);
    match (place.offset, SINK.iter().find(|(name, _)| *name == place.name)) {
        (_, Some((_, offset))) => At::Sink(*offset),
        (Some(offset), None) => At::Unit(offset, wide),
        (None, None) => At::System,
    }
}

/// Tcl for OpenOCD, for registers at `base`.
pub(super) fn openocd(program: &Program, base: u64) -> String {
    let mut out = String::new();
    let sink = uses_sink(program);
    if sink {
        out += "# Set SINK to the address of the registers of the sink.\n";
    }
    for step in &program.steps {
        let why = &step.why;
        let address = |place: &Place| match at(place) {
            At::Unit(offset, _) => Some(format!("{:#010x}", base + u64::from(offset))),
            At::Sink(offset) => Some(format!("[expr {{$SINK + {offset:#05x}}}]")),
            At::System => None,
        };
        let system = |name: &str| format!("# {name} is a System register of the processor: {why}");
        let lines = match &step.action {
            Action::Write { register, value } => match (at(register), address(register)) {
                (At::Unit(offset, true), _) => {
                    let (low, high) = (value & 0xffff_ffff, value >> 32);
                    let [low_at, high_at] = [0, 4].map(|n| base + u64::from(offset) + n);
                    format!(
                        "mww {low_at:#010x} {low:#010x} ;# {name}[31:0]: {why}\nmww {high_at:#010x} \
                         {high:#010x} ;# {name}[63:32]",
                        name = register.name
                    )
                }
                (_, Some(address)) => {
                    format!("mww {address} {value:#010x} ;# {}: {why}", register.name)
                }
                (_, None) => system(&register.name),
            },
            Action::Modify { register, clear, set } => match address(register) {
                Some(address) => {
                    format!("mmw {address} {set:#x} {clear:#x} ;# {}: {why}", register.name)
                }
                None => system(&register.name),
            },
            Action::Read { register } => match address(register) {
                Some(address) => format!("mdw {address} ;# {}: {why}", register.name),
                None => system(&register.name),
            },
            Action::Poll { register, mask, value } => match address(register) {
                Some(address) => format!(
                    "while {{([mrw {address}] & {mask:#x}) != {value:#x}}} {{sleep 1}} ;# {}: {why}",
                    register.name
                ),
                None => system(&register.name),
            },
            Action::Outside { name, address, value } => {
                format!("mww {address:#010x} {value:#010x} ;# {name}: {why}")
            }
            Action::Barrier(barrier) => format!(
                "# {}: accesses of the debug port are in order ({why})",
                barrier.instruction()
            ),
        };
        let _ = writeln!(out, "{lines}");
    }
    out
}

fn uses_sink(program: &Program) -> bool {
    program.steps.iter().any(|step| match &step.action {
        Action::Write { register, .. } => matches!(at(register), At::Sink(_)),
        _ => false,
    })
}

/// The name of a System register in assembly: that of the encoding for the trace unit, since
/// assemblers do not know every name.
fn system_name(place: &Place) -> String {
    match by_name(&place.name).and_then(|named| named.system()) {
        Some([op0, op1, n, m, op2]) => format!("S{op0}_{op1}_C{n}_C{m}_{op2}"),
        None => place.name.clone(),
    }
}

/// A C function: for memory-mapped registers at `base`, otherwise for System registers.
pub(super) fn c(program: &Program, base: Option<u64>) -> String {
    let mut out = String::from("#include <stdint.h>\n\n");
    if uses_sink(program) {
        out += "#ifndef SINK\n#error define SINK as the address of the registers of the sink\n\
                #endif\n#define SINK_REGISTER(offset) (*(volatile uint32_t *)(uintptr_t)(SINK + \
                (offset)))\n";
    }
    if let Some(base) = base {
        let _ = writeln!(
            out,
            "#define REGISTER(offset) (*(volatile uint32_t *)(uintptr_t)({base:#x}u + (offset)))"
        );
    }
    out += "#define WRITE(name, value) __asm__ volatile(\"msr \" name \", %0\" :: \"r\"((uint64_t)(value)))\n\
            \n";
    out += "void trace_unit_program(void)\n{\n    uint64_t value;\n    (void)value;\n";
    for step in &program.steps {
        let mut line = |text: String, name: &str| {
            let _ = writeln!(out, "    {text} /* {name}: {} */", step.why);
        };
        let load = |place: &Place, base: Option<u64>| match (at(place), base) {
            (At::Sink(offset), _) => format!("value = SINK_REGISTER({offset:#05x});"),
            (At::Unit(offset, _), Some(_)) => format!("value = REGISTER({offset:#05x});"),
            _ => format!("__asm__ volatile(\"mrs %0, {}\" : \"=r\"(value));", system_name(place)),
        };
        match &step.action {
            Action::Write { register, value } => match (at(register), base) {
                (At::Sink(offset), _) => {
                    line(format!("SINK_REGISTER({offset:#05x}) = {value:#x}u;"), &register.name);
                }
                (At::Unit(offset, wide), Some(_)) => {
                    let low = value & 0xffff_ffff;
                    line(format!("REGISTER({offset:#05x}) = {low:#x}u;"), &register.name);
                    if wide {
                        let (offset, high) = (offset + 4, value >> 32);
                        let name = format!("{}[63:32]", register.name);
                        line(format!("REGISTER({offset:#05x}) = {high:#x}u;"), &name);
                    }
                }
                _ => line(
                    format!("WRITE(\"{}\", {value:#x}u);", system_name(register)),
                    &register.name,
                ),
            },
            Action::Modify { register, clear, set } => {
                line(load(register, base), &register.name);
                line(
                    format!(
                        "WRITE(\"{}\", (value & ~{clear:#x}ull) | {set:#x}u);",
                        system_name(register)
                    ),
                    &register.name,
                );
            }
            Action::Read { register } => line(load(register, base), &register.name),
            Action::Poll { register, mask, value } => {
                // Each read of a System register follows a context synchronization event.
                let order = if base.is_none() && matches!(at(register), At::Unit(..)) {
                    "__asm__ volatile(\"isb\" ::: \"memory\"); "
                } else {
                    ""
                };
                line(
                    format!(
                        "do {{ {order}{} }} while ((value & {mask:#x}u) != {value:#x}u);",
                        load(register, base)
                    ),
                    &register.name,
                );
            }
            Action::Outside { name, address, value } => {
                line(format!("*(volatile uint32_t *){address:#x}u = {value:#x}u;"), name);
            }
            Action::Barrier(barrier) => {
                // TSB CSYNC is a hint, which older assemblers know by its number.
                let text = match barrier {
                    Barrier::Tsb => "hint #18",
                    other => other.instruction(),
                };
                line(format!("__asm__ volatile(\"{text}\" ::: \"memory\");"), "barrier");
            }
        }
    }
    out + "}\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ete::implementation::Implementation;
    use crate::ete::request;
    use crate::request::{Request, Span};
    use crate::sink::{Buffer, Mode, Sink};

    fn made(sink: Option<Sink>) -> Program {
        let trace = vec![Span { start: 0xffff_8000_0001_0000, end: 0xffff_8000_0001_0100 }];
        let request = Request { trace, sink, ..Request::default() };
        request::program(&Implementation::named("ETE").unwrap(), &request).unwrap()
    }

    /// A 64-bit register has two writes where it is memory-mapped, and one as a System register.
    #[test]
    fn wide_registers() {
        let program = made(None);
        let tcl = openocd(&program, 0x2004_0000);
        assert!(tcl.contains("mww 0x20040400 0x00010000 ;# TRCACVR0[31:0]"), "{tcl}");
        assert!(tcl.contains("mww 0x20040404 0xffff8000 ;# TRCACVR0[63:32]"), "{tcl}");
        let mapped = c(&program, Some(0x2004_0000));
        assert!(mapped.contains("REGISTER(0x404) = 0xffff8000u;"), "{mapped}");
        let system = c(&program, None);
        // TRCACVR0 is S2_1_C2_C0_0, TRCPRGCTLR is S2_1_C0_C1_0.
        assert!(system.contains("WRITE(\"S2_1_C2_C0_0\", 0xffff800000010000u);"), "{system}");
        assert!(system.contains("WRITE(\"S2_1_C0_C1_0\", 0x1u);"), "{system}");
    }

    /// Each read in a poll of TRCSTATR follows an ISB. (Arm ARM K10.5.7.1.3)
    #[test]
    fn polls_of_system_registers() {
        let text = c(&made(None), None);
        let poll = text.lines().find(|line| line.contains("while")).unwrap();
        let (isb, read) = (poll.find("isb").unwrap(), poll.find("mrs %0, S2_1_C0_C3_0").unwrap());
        assert!(isb < read, "{poll}");
    }

    /// The sink is first, whatever the form. (Arm ARM K10.5.7.1)
    #[test]
    fn sinks_are_first() {
        let buffer =
            Buffer { base: 0x9000_0000, limit: 0x9001_0000, mode: Mode::Fill, watermark: None };
        let trbe = c(&made(Some(Sink::Trbe(buffer))), None);
        let at = |text: &str, what: &str| text.find(what).unwrap_or_else(|| panic!("{what}"));
        assert!(at(&trbe, "WRITE(\"TRBLIMITR_EL1\", 0x90010019u)") < at(&trbe, "S2_1_C0_C4_0"));
        let etr = Sink::Etr(Buffer { mode: Mode::Circular, ..buffer });
        let tcl = openocd(&made(Some(etr)), 0x2004_0000);
        assert!(at(&tcl, "mww [expr {$SINK + 0x020}] 0x00000001") < at(&tcl, "mww 0x20040010"));
        let text = c(&made(Some(etr)), Some(0x2004_0000));
        assert!(at(&text, "SINK_REGISTER(0x020) = 0x1u;") < at(&text, "REGISTER(0x010)"));
    }
}
