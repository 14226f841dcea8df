//! Branches, loops, waits and conditional selections that the general disassembler does not have,
//! or confuses. (Arm ARM, C6.2; Armv8-M ARM, C2.4)
//!
//! The offset of a branch is always `$+0x0`: its target comes from the classification.

use super::simd::{Row, core, first};

/// The text of an opcode of A64. `None` where it is another instruction, or unallocated.
pub(super) fn a64(opcode: u32) -> Option<String> {
    if opcode & 0x7e00_0000 == 0x7400_0000 {
        return compare_and_branch(opcode);
    }
    let x = || x(opcode);
    let nb = if opcode >> 17 & 1 == 1 { ", nb" } else { "" };
    // Bit 18: B for both, otherwise F for the first.
    let tchange = if opcode >> 18 & 1 == 1 { "tchangeb" } else { "tchangef" };
    let number = |most: u32| opcode >> 5 & most;
    Some(match opcode {
        0xd503_1000..=0xd503_101f => format!("wfet {}", x()),
        0xd503_1020..=0xd503_103f => format!("wfit {}", x()),
        0xd523_3060..=0xd523_307f => format!("tstart {}", x()),
        0xd523_3160..=0xd523_317f => format!("ttest {}", x()),
        0xd503_307f => "tcommit".into(),
        0xd6ff_03e0 => "texit".into(),
        0xd6ff_07e0 => "texit nb".into(),
        _ if opcode & 0xffe0_001f == 0xd460_0000 => format!("tcancel #{:#x}", number(0xffff)),
        _ if opcode & 0xfff9_fc00 == 0xd580_0000 => {
            format!("{tchange} {}, {}{nb}", x(), self::x(opcode >> 5))
        }
        _ if opcode & 0xfff9_f000 == 0xd590_0000 => {
            format!("{tchange} {}, #{:#x}{nb}", x(), number(0x7f))
        }
        _ => return None,
    })
}

/// FEAT_CMPBR: the condition in bits \[23:21]; bit 24: an immediate, bits \[20:15], instead of Rm
/// and a size, bits \[15:14].
fn compare_and_branch(opcode: u32) -> Option<String> {
    const OF_REGISTERS: [&str; 8] = ["gt", "ge", "hi", "hs", "", "", "eq", "ne"];
    const OF_IMMEDIATES: [&str; 8] = ["gt", "lt", "hi", "lo", "", "", "eq", "ne"];
    let immediate = opcode >> 24 & 1 == 1;
    let conditions = if immediate { OF_IMMEDIATES } else { OF_REGISTERS };
    let condition = conditions.get(opcode as usize >> 21 & 7).filter(|name| !name.is_empty())?;
    let wide = opcode >> 31 == 1;
    let register = |number| if wide { x(number) } else { x(number).replace('x', "w") };
    let (first, second) = (register(opcode), register(opcode >> 16));
    let size = match (immediate, opcode >> 14 & 3) {
        (true, 0b00 | 0b10) => {
            return Some(format!("cb{condition} {first}, #{:#x}, $+0x0", opcode >> 15 & 0x3f));
        }
        (false, 0b00) => "",
        (false, 0b10) if !wide => "b",
        (false, 0b11) if !wide => "h",
        _ => return None,
    };
    Some(format!("cb{size}{condition} {first}, {second}, $+0x0"))
}

/// The name of the X register in bits \[4:0].
fn x(number: u32) -> String {
    match number & 0x1f {
        31 => "xzr".into(),
        number => format!("x{number}"),
    }
}

/// The text of a 4-byte opcode of T32, with its first halfword in bits \[31:16]: instructions of
/// Armv8.1-M, in encodings that the A profile does not have.
pub(super) fn t32(opcode: u32) -> Option<String> {
    match opcode >> 20 {
        0xea5 if opcode >> 14 & 0b11 == 0b10 => select(opcode),
        0xe89 if opcode & 0x000f_2000 == 0x000f_0000 => clear(opcode),
        _ => first(T32, opcode),
    }
}

/// CSEL, CSINC, CSINV and CSNEG, bits \[13:12]: Rn, bits \[19:16]; Rd, bits \[11:8]; the
/// condition, bits \[7:4]; Rm. R15 is zero. With SP, or R15 as destination, these are long shifts.
fn select(opcode: u32) -> Option<String> {
    const CONDITIONS: [&str; 14] =
        ["eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le"];
    let condition = |number: u32| CONDITIONS.get(number as usize & 0xf).copied();
    let register = |number: u32| if number & 0xf == 0xf { "zr" } else { core(number) };
    let (n, d, m) = (opcode >> 16 & 0xf, opcode >> 8 & 0xf, opcode & 0xf);
    if n == 13 || m == 13 || matches!(d, 13 | 15) {
        return None;
    }
    let (d, n_name, m_name) = (core(d), register(n), register(m));
    let (holds, inverted) = (condition(opcode >> 4)?, condition(opcode >> 4 ^ 1)?);
    let operation = opcode >> 12 & 0b11;
    let (set, change) = match operation {
        0b01 => ("cset", "cinc"),
        0b10 => ("csetm", "cinv"),
        _ => ("", "cneg"),
    };
    Some(match operation {
        1 | 2 if n == m && n == 0xf => format!("{set} {d}, {inverted}"),
        3 if n == m => format!("{change} {d}, {n_name}, {inverted}"),
        1 | 2 if n == m => format!("{change} {d}, {n_name}, {inverted}"),
        _ => {
            let name = ["csel", "csinc", "csinv", "csneg"].get(operation as usize)?;
            format!("{name} {d}, {n_name}, {m_name}, {holds}")
        }
    })
}

/// CLRM: a list of registers, bits \[14:0], and APSR, bit 15.
fn clear(opcode: u32) -> Option<String> {
    let name = |n: u32| if n == 15 { "apsr" } else { core(n) };
    let names: Vec<_> = (0..16).filter(|n| opcode >> n & 1 == 1).map(name).collect();
    (!names.is_empty()).then(|| format!("clrm {{{}}}", names.join(", ")))
}

/// Low-overhead loops, and pointer authentication.
const T32: &[Row] = &[
    (0xffff_f001, 0xf00f_c001, "le lr, $+0x0"),
    (0xffff_f001, 0xf01f_c001, "letp lr, $+0x0"),
    (0xffff_f001, 0xf02f_c001, "le $+0x0"),
    (0xfff0_f001, 0xf000_c001, "wlstp.8 lr, {rn}, $+0x0"),
    (0xfff0_f001, 0xf010_c001, "wlstp.16 lr, {rn}, $+0x0"),
    (0xfff0_f001, 0xf020_c001, "wlstp.32 lr, {rn}, $+0x0"),
    (0xfff0_f001, 0xf030_c001, "wlstp.64 lr, {rn}, $+0x0"),
    (0xfff0_f001, 0xf040_c001, "wls lr, {rn}, $+0x0"),
    (0xffff_ffff, 0xf00f_e001, "lctp"),
    (0xfff0_ffff, 0xf000_e001, "dlstp.8 lr, {rn}"),
    (0xfff0_ffff, 0xf010_e001, "dlstp.16 lr, {rn}"),
    (0xfff0_ffff, 0xf020_e001, "dlstp.32 lr, {rn}"),
    (0xfff0_ffff, 0xf030_e001, "dlstp.64 lr, {rn}"),
    (0xfff0_ffff, 0xf040_e001, "dls lr, {rn}"),
    (0xffff_ffff, 0xf3af_800d, "pacbti r12, lr, sp"),
    (0xffff_ffff, 0xf3af_800f, "bti"),
    (0xffff_ffff, 0xf3af_801d, "pac r12, lr, sp"),
    (0xffff_ffff, 0xf3af_802d, "aut r12, lr, sp"),
    (0xfff0_0ff0, 0xfb50_0f00, "autg {rt}, {rn}, {rm}"),
    (0xfff0_0ff0, 0xfb50_0f10, "bxaut {rt}, {rn}, {rm}"),
    (0xfff0_f0f0, 0xfb60_f000, "pacg {rs}, {rn}, {rm}"),
];
