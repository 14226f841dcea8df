//! Sequences of register accesses: those that program a unit, and those that were recorded.

use std::fmt::Write as _;

use crate::routine::Routine;
use crate::values::{self, InvalidLine, Values};

/// One access of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Writes a value.
    Write {
        /// The register.
        register: Place,
        /// The value.
        value: u64,
    },
    /// Reads the register, clears and sets bits, and writes it.
    Modify {
        /// The register.
        register: Place,
        /// Bits to clear.
        clear: u64,
        /// Bits to set.
        set: u64,
    },
    /// Reads the register for an effect of the access.
    Read {
        /// The register.
        register: Place,
    },
    /// Reads the register until the bits in `mask` have the value `value`.
    Poll {
        /// The register.
        register: Place,
        /// The bits.
        mask: u64,
        /// Their value.
        value: u64,
    },
    /// Writes a register of another component.
    Outside {
        /// Name of the register.
        name: String,
        /// Its address.
        address: u64,
        /// The value.
        value: u64,
    },
    /// A barrier: the accesses before it are complete before those after it.
    Barrier(Barrier),
}

/// The place of a register in the state that a routine saves and another restores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The index.
    pub index: usize,
    /// The bits of the saved value that a write of it clears.
    pub clear: u64,
}

/// A barrier instruction of the processor that makes the accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// Data synchronisation.
    Dsb,
    /// Instruction synchronisation.
    Isb,
    /// Trace synchronisation.
    Tsb,
}

impl Barrier {
    /// The instruction.
    pub const fn instruction(self) -> &'static str {
        match self {
            Barrier::Dsb => "dsb sy",
            Barrier::Isb => "isb",
            Barrier::Tsb => "tsb csync",
        }
    }
}

/// A register by name and offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name.
    pub name: String,
    /// Offset in the memory-mapped registers, in bytes.
    pub offset: Option<u16>,
}

/// A step of a program, with its purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramStep {
    /// The access.
    pub action: Action,
    /// The purpose.
    pub why: String,
    /// Where a read saves the value, or where a write has it from. In forms other than C, a write
    /// has the value of its action.
    pub slot: Option<Slot>,
}

impl ProgramStep {
    /// A step that saves and restores nothing.
    pub fn new(action: Action, why: &str) -> ProgramStep {
        ProgramStep { action, why: why.to_owned(), slot: None }
    }
}

/// A program for a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The values of all registers that the program sets, as they are while the unit traces.
    pub values: Values,
    /// The accesses in order.
    pub steps: Vec<ProgramStep>,
    /// The routine, where it is another than the one that programs and enables the unit.
    pub routine: Option<Routine>,
}

impl Program {
    /// The program in lines for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for step in &self.steps {
            let what = match &step.action {
                Action::Write { register, value } => {
                    format!("write {} = {value:#010x}", register.shown())
                }
                Action::Modify { register, clear, set } => {
                    format!("modify {} clear {clear:#x} set {set:#x}", register.shown())
                }
                Action::Read { register } => format!("read {}", register.shown()),
                Action::Poll { register, mask, value } => {
                    format!("poll {} until bits {mask:#x} are {value:#x}", register.shown())
                }
                Action::Outside { name, address, value } => {
                    format!("write {name} at {address:#010x} = {value:#010x}")
                }
                Action::Barrier(barrier) => barrier.instruction().to_owned(),
            };
            let _ = writeln!(text, "{what:<48} # {}", step.why);
        }
        text
    }

    /// The program as Tcl for OpenOCD, for registers at `base`. A register without an offset is
    /// left out with a comment.
    pub fn openocd(&self, base: u64) -> String {
        let mut text = String::new();
        for step in &self.steps {
            let why = &step.why;
            let line = |place: &Place, make: &dyn Fn(u64) -> String| match place.offset {
                Some(offset) => {
                    format!("{} ;# {}: {why}", make(base + u64::from(offset)), place.name)
                }
                None => format!("# {} has no memory-mapped address: {why}", place.name),
            };
            let line = match &step.action {
                Action::Write { register, value } => {
                    line(register, &|at| format!("mww {at:#010x} {value:#010x}"))
                }
                Action::Modify { register, clear, set } => {
                    line(register, &|at| format!("mmw {at:#010x} {set:#x} {clear:#x}"))
                }
                Action::Read { register } => line(register, &|at| format!("mdw {at:#010x}")),
                Action::Poll { register, mask, value } => line(register, &|at| {
                    format!("while {{([mrw {at:#010x}] & {mask:#x}) != {value:#x}}} {{sleep 1}}")
                }),
                Action::Outside { name, address, value } => {
                    format!("mww {address:#010x} {value:#010x} ;# {name}: {why}")
                }
                Action::Barrier(barrier) => format!(
                    "# {}: accesses of the debug port are in order ({why})",
                    barrier.instruction()
                ),
            };
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// The program as a C function, for registers at `base`.
    pub fn c(&self, base: u64) -> String {
        let mut text = format!(
            "#include <stdint.h>\n\n#define TRACE_UNIT {base:#x}u\n#define REGISTER(offset) \
             (*(volatile uint32_t *)(uintptr_t)(TRACE_UNIT + (offset)))\n\nvoid \
             trace_unit_program(void)\n{{\n"
        );
        for step in &self.steps {
            let line = |place: &Place, make: &dyn Fn(String) -> String| match place.offset {
                Some(offset) => make(format!("REGISTER({offset:#05x})")),
                None => format!("/* {} has no memory-mapped address */", place.name),
            };
            let (line, name) = match &step.action {
                Action::Write { register, value } => {
                    (line(register, &|at| format!("{at} = {value:#x}u;")), register.name.as_str())
                }
                Action::Modify { register, clear, set } => (
                    line(register, &|at| format!("{at} = ({at} & ~{clear:#x}u) | {set:#x}u;")),
                    register.name.as_str(),
                ),
                Action::Read { register } => {
                    (line(register, &|at| format!("(void){at};")), register.name.as_str())
                }
                Action::Poll { register, mask, value } => (
                    line(register, &|at| {
                        format!("while (({at} & {mask:#x}u) != {value:#x}u) {{ }}")
                    }),
                    register.name.as_str(),
                ),
                Action::Outside { name, address, value } => {
                    (format!("*(volatile uint32_t *){address:#x}u = {value:#x}u;"), name.as_str())
                }
                Action::Barrier(barrier) => (
                    format!("__asm__ volatile(\"{}\" ::: \"memory\");", barrier.instruction()),
                    "barrier",
                ),
            };
            let _ = writeln!(text, "    {line} /* {name}: {} */", step.why);
        }
        text + "}\n"
    }

    /// The values as the registers of a device in a snapshot.
    pub fn snapshot(&self, offset: &dyn Fn(&str) -> Option<u16>) -> String {
        let mut text = String::from("[regs]\n");
        for (name, value) in self.values.iter() {
            // Snapshots number registers: offsets divided by 4.
            let _ = match offset(name) {
                Some(offset) => writeln!(text, "{name}({:#05x})={value:#010x}", offset / 4),
                None => writeln!(text, "{name}={value:#x}"),
            };
        }
        text
    }

    /// The accesses as a recording, in which each poll succeeds at once.
    pub fn accesses(&self) -> Vec<BusAccess> {
        let access = |kind, register: &str, value| BusAccess {
            kind,
            register: register.to_owned(),
            value,
            line: 0,
        };
        let mut all = Vec::new();
        let mut known = Values::default();
        for step in &self.steps {
            match &step.action {
                Action::Write { register, value } => {
                    known.set(&register.name, *value);
                    all.push(access(BusKind::Write, &register.name, Some(*value)));
                }
                Action::Modify { register, clear, set } => {
                    let value = known.get(&register.name);
                    all.push(access(BusKind::Read, &register.name, value));
                    let value = value.unwrap_or(0) & !clear | set;
                    known.set(&register.name, value);
                    all.push(access(BusKind::Write, &register.name, Some(value)));
                }
                Action::Read { register } => {
                    all.push(access(BusKind::Read, &register.name, None));
                }
                Action::Poll { register, value, .. } => {
                    all.push(access(BusKind::Read, &register.name, Some(*value)));
                }
                Action::Outside { .. } => {}
                Action::Barrier(barrier) => {
                    all.push(access(BusKind::Barrier(*barrier), "", None));
                }
            }
        }
        all
    }
}

impl Place {
    fn shown(&self) -> String {
        match self.offset {
            Some(offset) => format!("{} ({offset:#05x})", self.name),
            None => self.name.clone(),
        }
    }
}

/// The kind of a recorded access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusKind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A barrier.
    Barrier(Barrier),
    /// An exception is taken to this Exception level.
    Exception(u8),
    /// An exception return to this Exception level.
    Return(u8),
}

/// One recorded access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusAccess {
    /// The kind.
    pub kind: BusKind,
    /// The register, by name or by offset. Empty for a barrier and an exception.
    pub register: String,
    /// The value that was written, or that a read returned where it is recorded.
    pub value: Option<u64>,
    /// Number of the line in the recording, from 1; 0 for a program.
    pub line: usize,
}

/// Reads a recording: one access a line. `write REGISTER VALUE` or `w`, `mww`; `read REGISTER
/// [VALUE]` or `r`, `mdw`; `dsb`, `isb`, `tsb`; `exception [EL1]` and `eret [EL0]`, with the level
/// to which the exception is taken or returns. A register is a name, an address of which the low 12
/// bits count, or `#` and its number. Other `#` begin comments. The lines of [`Program::text`] are
/// read, too: an offset after a name is skipped, a poll succeeds at its first read, and the value
/// that `modify` reads is 0 where no line before it has one.
///
/// # Errors
/// [`InvalidLine`] for the first line that is no access.
pub fn read(text: &str) -> Result<Vec<BusAccess>, InvalidLine> {
    let mut all = Vec::new();
    for (n, full) in text.lines().enumerate() {
        // The register is the second word.
        let after = full.trim_start().trim_start_matches(|c: char| !c.is_whitespace());
        let register = full.len() - after.trim_start().len();
        let line = values::without_comment(full, register).trim();
        if line.is_empty() {
            continue;
        }
        let read = match line.split_whitespace().next() {
            Some("poll") => poll(line, n + 1),
            Some("modify") => modify(line, n + 1, &all),
            _ => access(line, n + 1).map(|access| vec![access]),
        };
        all.extend(read.ok_or_else(|| InvalidLine { line: n + 1, text: full.to_owned() })?);
    }
    Ok(all)
}

/// The words of a line of [`Program::text`], without the offset of the register.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().filter(|word| !word.starts_with('(')).collect()
}

/// `poll REGISTER until bits MASK are VALUE`
fn poll(line: &str, number: usize) -> Option<Vec<BusAccess>> {
    let words = words(line);
    let &["poll", register, "until", "bits", mask, "are", value] = words.as_slice() else {
        return None;
    };
    let value = values::number(value)? & values::number(mask)?;
    let (register, value) = (register.to_owned(), Some(value));
    Some(vec![BusAccess { kind: BusKind::Read, register, value, line: number }])
}

/// `modify REGISTER clear BITS set BITS`, after the accesses `before`.
fn modify(line: &str, number: usize, before: &[BusAccess]) -> Option<Vec<BusAccess>> {
    let words = words(line);
    let &["modify", register, "clear", clear, "set", set] = words.as_slice() else { return None };
    let of = |access: &&BusAccess| access.register.eq_ignore_ascii_case(register);
    let known = before.iter().rev().filter(of).find_map(|access| access.value);
    let value = known.unwrap_or(0) & !values::number(clear)? | values::number(set)?;
    let access =
        |kind, value| BusAccess { kind, register: register.to_owned(), value, line: number };
    Some(vec![access(BusKind::Read, known), access(BusKind::Write, Some(value))])
}

/// The Exception level `EL1` or `1`.
fn level(word: &str) -> Option<u8> {
    let digit = word.strip_prefix("EL").or_else(|| word.strip_prefix("el")).unwrap_or(word);
    digit.parse().ok().filter(|level| *level <= 3)
}

fn access(line: &str, number: usize) -> Option<BusAccess> {
    let mut words = line.split(|c: char| c.is_whitespace() || c == '=' || c == ',');
    let mut words = words.by_ref().filter(|word| !word.is_empty() && !word.starts_with('('));
    let verb = words.next()?.to_ascii_lowercase();
    if let "exception" | "eret" = verb.as_str() {
        let level = words.next().map(level);
        if words.next().is_some() {
            return None;
        }
        let kind = match (verb.as_str(), level) {
            (_, Some(None)) => return None,
            ("exception", level) => BusKind::Exception(level.flatten().unwrap_or(1)),
            (_, level) => BusKind::Return(level.flatten().unwrap_or(0)),
        };
        return Some(BusAccess { kind, register: String::new(), value: None, line: number });
    }
    let register = words.next().map(str::to_owned);
    let value = match words.next() {
        Some(word) => Some(values::number(word)?),
        None => None,
    };
    let kind = match verb.as_str() {
        "write" | "w" | "mww" | "mwd" | "msr" if value.is_some() => BusKind::Write,
        "read" | "r" | "mdw" | "mrw" | "mrs" if register.is_some() => BusKind::Read,
        "dsb" => BusKind::Barrier(Barrier::Dsb),
        "isb" => BusKind::Barrier(Barrier::Isb),
        "tsb" => BusKind::Barrier(Barrier::Tsb),
        _ => return None,
    };
    let register = match kind {
        BusKind::Barrier(_) => String::new(),
        _ => register?,
    };
    let value = value.filter(|_| !matches!(kind, BusKind::Barrier(_)));
    Some(BusAccess { kind, register, value, line: number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings() {
        let text = "# start\nwrite ETMCR 0x400\nr 0x10 = 2\ndsb sy\nread ETMSR\n  write  #7 1 #2\n\
                    read #4#5\n#7 1\nread 0x10 #1\n# read #4\n";
        let of = |kind, register: &str, value, line| BusAccess {
            kind,
            register: register.into(),
            value,
            line,
        };
        let want = vec![
            of(BusKind::Write, "ETMCR", Some(0x400), 2),
            of(BusKind::Read, "0x10", Some(2), 3),
            of(BusKind::Barrier(Barrier::Dsb), "", None, 4),
            of(BusKind::Read, "ETMSR", None, 5),
            of(BusKind::Write, "#7", Some(1), 6),
            of(BusKind::Read, "#4", None, 7),
            of(BusKind::Read, "0x10", None, 9),
        ];
        assert!(read("dsb").is_ok());
        // `sy` is an operand of the barrier.
        assert_eq!(read(text), Ok(want));
        let text = "exception\nexception EL2\neret\neret 1\nwrite TRCPRGCTLR (0x004) = 0x1 # on\n\
                    poll TRCSTATR (0x00c) until bits 0x3 are 0x1\nmodify TRCVICTLR clear 1 set 4\n\
                    write TRFCR_EL1 7\nmodify TRFCR_EL1 clear 0x3 set 0x0 # off\n";
        let want = vec![
            of(BusKind::Exception(1), "", None, 1),
            of(BusKind::Exception(2), "", None, 2),
            of(BusKind::Return(0), "", None, 3),
            of(BusKind::Return(1), "", None, 4),
            of(BusKind::Write, "TRCPRGCTLR", Some(1), 5),
            of(BusKind::Read, "TRCSTATR", Some(1), 6),
            of(BusKind::Read, "TRCVICTLR", None, 7),
            of(BusKind::Write, "TRCVICTLR", Some(4), 7),
            of(BusKind::Write, "TRFCR_EL1", Some(7), 8),
            of(BusKind::Read, "TRFCR_EL1", Some(7), 9),
            of(BusKind::Write, "TRFCR_EL1", Some(4), 9),
        ];
        assert_eq!(read(text), Ok(want));
        for text in ["exception EL4", "eret EL0 1", "poll TRCSTATR until bits", "modify X clear 1"]
        {
            assert!(read(text).is_err(), "{text}");
        }
        for text in ["write ETMCR", "poke ETMCR 1", "read", "w ETMCR green", "write #x 1"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
