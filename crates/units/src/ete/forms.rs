//! A program as Tcl for OpenOCD and as C.
//!
//! A register of 64 bits is written as two of 32 bits where it is memory-mapped. (Arm ARM
//! K10.5.7.6) The registers of a sink (`TMC_`) are those of another component: the text has their
//! address as the variable or macro `SINK`.

use std::fmt::Write as _;

use super::registers::by_name;
use crate::program::{Action, Barrier, Place, Program, ProgramStep, Slot};

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
    out += "#define WRITE(name, value) __asm__ volatile(\"msr \" name \", %0\" :: \"r\"((uint64_t)(value)))\n";
    out += &head(program);
    for step in &program.steps {
        for (text, name) in c_lines(step, base) {
            let _ = writeln!(out, "    {text} /* {name}: {} */", step.why);
        }
    }
    out + "}\n"
}

/// The name and the parameters of the function, and what it needs before it.
fn head(program: &Program) -> String {
    let slots = program.steps.iter().filter_map(|step| step.slot);
    let count = slots.map(|slot| slot.index + 1).max();
    let writes = |name: &str| {
        program.steps.iter().any(|step| match &step.action {
            Action::Write { register, .. } => register.name == name,
            _ => false,
        })
    };
    let copies = program.steps.iter().any(|step| is_contents(&step.action));
    let mut out = String::new();
    if copies {
        out += "/* What takes the trace out of the buffer. */\n#ifndef COPY_TRACE_BUFFER\n\
                #define COPY_TRACE_BUFFER() ((void)0)\n#endif\n";
    }
    let mut parameters = Vec::new();
    if let Some(count) = count {
        let _ = writeln!(out, "/* saved: the state, {count} elements at least. */");
        parameters.push("uint64_t *saved");
    }
    if writes("TTBR0_EL1") {
        parameters.push("uint64_t ttbr0");
    }
    let name =
        program.routine.map_or("program".to_owned(), |routine| routine.name().replace('-', "_"));
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let _ = write!(
        out,
        "\nvoid trace_unit_{name}({parameters})\n{{\n    uint64_t value;\n    (void)value;\n"
    );
    out
}

/// Whether the action reads the trace in memory.
fn is_contents(action: &Action) -> bool {
    matches!(action, Action::Read { register } if register.name == "BUFFER")
}

/// The statement that reads a register into `value`.
fn c_load(place: &Place, base: Option<u64>) -> String {
    match (at(place), base) {
        (At::Sink(offset), _) => format!("value = SINK_REGISTER({offset:#05x});"),
        (At::Unit(offset, true), Some(_)) => format!(
            "value = REGISTER({offset:#05x}) | (uint64_t)REGISTER({:#05x}) << 32;",
            offset + 4
        ),
        (At::Unit(offset, false), Some(_)) => format!("value = REGISTER({offset:#05x});"),
        _ => format!("__asm__ volatile(\"mrs %0, {}\" : \"=r\"(value));", system_name(place)),
    }
}

/// The value that a step writes.
fn c_value(step: &ProgramStep, register: &str, value: u64) -> String {
    match step.slot {
        Some(Slot { index, clear: 0 }) => format!("saved[{index}]"),
        Some(Slot { index, clear }) => format!("(saved[{index}] & ~{clear:#x}ull)"),
        None if register == "TTBR0_EL1" => "ttbr0".to_owned(),
        None => format!("{value:#x}u"),
    }
}

/// The statements of a step, each with the register that it is about.
fn c_lines(step: &ProgramStep, base: Option<u64>) -> Vec<(String, String)> {
    let own = |text: String, name: &str| vec![(text, name.to_owned())];
    match &step.action {
        Action::Write { register, value } => {
            let name = register.name.as_str();
            let (whole, saved) = (c_value(step, name, *value), step.slot.is_some());
            let part = |constant: u64, shift: u8| match saved {
                true => format!("(uint32_t)({whole} >> {shift})"),
                false => format!("{constant:#x}u"),
            };
            match (at(register), base) {
                (At::Sink(offset), _) => {
                    own(format!("SINK_REGISTER({offset:#05x}) = {whole};"), name)
                }
                (At::Unit(offset, wide), Some(_)) => {
                    let low = part(value & 0xffff_ffff, 0);
                    let mut lines = own(format!("REGISTER({offset:#05x}) = {low};"), name);
                    if wide {
                        let (offset, high) = (offset + 4, part(value >> 32, 32));
                        let line = format!("REGISTER({offset:#05x}) = {high};");
                        lines.push((line, format!("{name}[63:32]")));
                    }
                    lines
                }
                _ => own(format!("WRITE(\"{}\", {whole});", system_name(register)), name),
            }
        }
        Action::Modify { register, clear, set } => {
            let name = system_name(register);
            let text = format!("WRITE(\"{name}\", (value & ~{clear:#x}ull) | {set:#x}u);");
            let mut lines = own(c_load(register, base), &register.name);
            lines.push((text, register.name.clone()));
            lines
        }
        action if is_contents(action) => own("COPY_TRACE_BUFFER();".to_owned(), "memory"),
        Action::Read { register } => {
            let save = step.slot.map(|slot| format!(" saved[{}] = value;", slot.index));
            own(c_load(register, base) + &save.unwrap_or_default(), &register.name)
        }
        Action::Poll { register, mask, value } => {
            // Each read of a System register follows a context synchronization event.
            let order = if base.is_none() && matches!(at(register), At::Unit(..)) {
                "__asm__ volatile(\"isb\" ::: \"memory\"); "
            } else {
                ""
            };
            let load = c_load(register, base);
            let text =
                format!("do {{ {order}{load} }} while ((value & {mask:#x}u) != {value:#x}u);");
            own(text, &register.name)
        }
        Action::Outside { name, address, value } => {
            own(format!("*(volatile uint32_t *){address:#x}u = {value:#x}u;"), name)
        }
        Action::Barrier(barrier) => {
            // TSB CSYNC is a hint, which older assemblers know by its number.
            let text = match barrier {
                Barrier::Tsb => "hint #18",
                other => other.instruction(),
            };
            own(format!("__asm__ volatile(\"{text}\" ::: \"memory\");"), "barrier")
        }
    }
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
