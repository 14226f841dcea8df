//! The control flow of an instruction, from its disassembled text.

use tracewright_base::{Isa, Kind, Role};

/// The fields of an `Instruction` that follow from its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parsed {
    pub(crate) size: u8,
    pub(crate) kind: Kind,
    pub(crate) role: Role,
    pub(crate) conditional: bool,
    pub(crate) target: Option<u64>,
    /// Known for direct branches only.
    pub(crate) target_isa: Option<Isa>,
}

pub(crate) fn read(isa: Isa, size: usize, mnemonic: &str, operands: &str) -> Parsed {
    let plain = Parsed {
        size: size as u8,
        kind: Kind::Plain,
        role: Role::Jump,
        conditional: false,
        target: None,
        target_isa: None,
    };
    match isa {
        Isa::A64 => a64(plain, mnemonic, operands),
        _ => aarch32(plain, isa, mnemonic, operands),
    }
}

/// The last operand, as `#0x40000000`.
fn target(operands: &str) -> Option<u64> {
    let last = operands.rsplit([' ', ',']).next()?;
    match last.strip_prefix("#0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => last.strip_prefix('#')?.parse().ok(),
    }
}

fn a64(plain: Parsed, mnemonic: &str, operands: &str) -> Parsed {
    let branch = |role, conditional| Parsed {
        kind: Kind::Branch,
        role,
        conditional,
        target: target(operands),
        target_isa: Some(Isa::A64),
        ..plain
    };
    let of = |kind| Parsed { kind, ..plain };
    let indirect = |role| Parsed { kind: Kind::Indirect, role, ..plain };
    match mnemonic {
        "b" => branch(Role::Jump, false),
        "bl" => branch(Role::Call, false),
        "cbz" | "cbnz" | "tbz" | "tbnz" => branch(Role::Jump, true),
        _ if mnemonic.starts_with("b.") || mnemonic.starts_with("bc.") => branch(Role::Jump, true),
        "br" | "braa" | "brab" | "braaz" | "brabz" => indirect(Role::Jump),
        "blr" | "blraa" | "blrab" | "blraaz" | "blrabz" => indirect(Role::Call),
        "ret" | "retaa" | "retab" => indirect(Role::Return),
        "eret" | "eretaa" | "eretab" => indirect(Role::ExceptionReturn),
        "isb" => of(Kind::Isb),
        "dsb" | "dmb" | "dfb" | "ssbb" | "pssbb" => of(Kind::Barrier),
        "wfe" | "wfi" => of(Kind::Wait),
        "wfet" | "wfit" => of(Kind::TimedWait),
        "tstart" => of(Kind::TransactionStart),
        "udf" => of(Kind::Undefined),
        _ => plain,
    }
}

const CONDITIONS: [&str; 14] =
    ["eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le"];

/// Mnemonics that compute their first operand.
const COMPUTE: [&str; 19] = [
    "and", "eor", "sub", "rsb", "add", "adc", "sbc", "rsc", "orr", "mov", "bic", "mvn", "lsl",
    "lsr", "asr", "ror", "rrx", "adr", "ldr",
];

/// Instructions that are what they are called.
const WORDS: [&str; 11] =
    ["isb", "dsb", "dmb", "dfb", "ssbb", "pssbb", "wfe", "wfi", "udf", "trap", "eret"];

/// Splits `mnemonic` in one of `bases`, an S where `s`, and a condition.
fn split<'a>(mnemonic: &str, bases: &[&'a str], s: bool) -> Option<(&'a str, bool, bool)> {
    let mnemonic = mnemonic.strip_suffix(".w").unwrap_or(mnemonic);
    bases.iter().find_map(|base| {
        let rest = mnemonic.strip_prefix(base)?;
        let (set, rest) = match rest.strip_prefix('s') {
            Some(rest) if s && (rest.is_empty() || CONDITIONS.contains(&rest)) => (true, rest),
            _ => (false, rest),
        };
        (rest.is_empty() || CONDITIONS.contains(&rest)).then_some((*base, set, !rest.is_empty()))
    })
}

fn aarch32(plain: Parsed, isa: Isa, mnemonic: &str, operands: &str) -> Parsed {
    let is = |bases: &[&'static str]| split(mnemonic, bases, false);
    let indirect = |role, conditional| Parsed { kind: Kind::Indirect, role, conditional, ..plain };
    let other = if isa == Isa::A32 { Isa::T32 } else { Isa::A32 };
    if let Some((base, _, conditional)) = is(&["blx", "bl", "bxj", "bx", "b"]) {
        if let Some(target) = target(operands) {
            let role = if base == "b" { Role::Jump } else { Role::Call };
            return Parsed {
                kind: Kind::Branch,
                role,
                conditional,
                target: Some(target),
                target_isa: Some(if base == "blx" { other } else { isa }),
                ..plain
            };
        }
        return match (base, operands) {
            ("blx", _) => indirect(Role::Call, conditional),
            ("bx", "lr") => indirect(Role::ImpliedReturn, conditional),
            _ => indirect(Role::Jump, conditional),
        };
    }
    match mnemonic {
        "blxns" => return indirect(Role::Call, false),
        "bxns" if operands == "lr" => return indirect(Role::ImpliedReturn, false),
        "bxns" => return indirect(Role::Jump, false),
        "cbz" | "cbnz" => {
            return Parsed {
                kind: Kind::Branch,
                conditional: true,
                target: target(operands),
                target_isa: Some(isa),
                ..plain
            };
        }
        "tbb" | "tbh" => return indirect(Role::Jump, false),
        _ if mnemonic.starts_with("rfe") => return indirect(Role::ExceptionReturn, false),
        _ => {}
    }
    if let Some((base, _, conditional)) = is(&WORDS) {
        let kind = match base {
            "isb" => Kind::Isb,
            "dsb" | "dmb" | "dfb" | "ssbb" | "pssbb" => Kind::Barrier,
            "udf" | "trap" => Kind::Undefined,
            "eret" => return indirect(Role::ExceptionReturn, conditional),
            _ => Kind::Wait,
        };
        return Parsed { kind, ..plain };
    }
    // Barriers of CP15.
    if is(&["mcr"]).is_some() {
        let operands: Vec<_> = operands.split(", ").collect();
        let kind = match operands[..] {
            ["p15", "#0", _, "c7", "c10", "#4" | "#5"] => Kind::Barrier,
            ["p15", "#0", _, "c7", "c5", "#4"] => Kind::Isb,
            _ => Kind::Plain,
        };
        return Parsed { kind, ..plain };
    }
    // Register lists that have the PC.
    let list = operands.split_once('{').map_or("", |(_, list)| list);
    if list.contains("pc")
        && let Some((base, _, conditional)) = is(&["pop", "ldmib", "ldmda", "ldmdb", "ldm"])
    {
        let stack = base == "ldm" && operands.starts_with("sp!,") && !list.contains("sp");
        let role = if list.ends_with('^') {
            Role::ExceptionReturn
        } else if stack || base == "pop" && !list.contains("sp") {
            Role::ImpliedReturn
        } else {
            Role::Jump
        };
        return indirect(role, conditional);
    }
    if operands.starts_with("pc,") {
        if let Some((base, _, conditional)) = is(&["ldrt", "ldr"]) {
            let pop =
                base == "ldr" && operands.starts_with("pc, [sp], #") && !operands.contains("#-");
            let role = if pop { Role::ImpliedReturn } else { Role::Jump };
            return indirect(role, conditional);
        }
        if let Some((base, set, conditional)) = split(mnemonic, &COMPUTE, true) {
            let role = match (base, set, operands) {
                (_, true, _) => Role::ExceptionReturn,
                ("mov", false, "pc, lr") => Role::ImpliedReturn,
                _ => Role::Jump,
            };
            return indirect(role, conditional);
        }
    }
    plain
}
