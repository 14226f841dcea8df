//! Templates of instructions: a text with fields of the opcode in braces.
//!
//! | field | value | bits of A32 |
//! |---|---|---|
//! | `c` | condition | \[31:28] |
//! | `f`, `fd` `fn` `fm` | floating-point type, and registers of this type | \[9:8] |
//! | `s?`, `d?`, `q?` with `d`, `n`, `m` | S, D or Q register | D:Vd, N:Vn, M:Vm |
//! | `vd` `vn` `vm` | Q or D register | Q, \[6] |
//! | `xd` `xn` | Q or D register of instructions with a scalar | Q, \[24] |
//! | `rt` `rn` `rm` | core registers | \[15:12], \[19:16], \[3:0] |
//! | `u` | `s` or `u` | \[24] |
//! | `s`, `s64`, `h` | element size: 8 to 32, 8 to 64, 16 or 32 | \[21:20] |
//! | `2s` | twice the element size | \[21:20] |
//! | `t`, `2t`, `tb`, `th` | element size: 8 to 32, twice, 8, 8 or 16 | \[19:18] |
//! | `g`, `tg` | floating-point element type | \[20], \[19:18] |
//! | `z`, `2z` | element size of shifts, and twice | L:imm6 |
//! | `shr`, `shl` | shift amount | L:imm6 |
//!
//! A field without a value makes the opcode unallocated.

use crate::digits::hex;

/// The names of the core registers.
pub(super) const CORE: [&str; 16] = [
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "sb", "r10", "fp", "ip", "sp", "lr", "pc",
];

/// The conditions; none for AL and for unconditional instructions.
const CONDITIONS: [&str; 16] =
    ["eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "", ""];

/// The registers that VMSR and VMRS name.
const SYSTEM: [(u32, &str); 13] = [
    (0, "fpsid"),
    (1, "fpscr"),
    (2, "fpscr_nzcvqc"),
    (5, "mvfr2"),
    (6, "mvfr1"),
    (7, "mvfr0"),
    (8, "fpexc"),
    (9, "fpinst"),
    (10, "fpinst2"),
    (12, "vpr"),
    (13, "p0"),
    (14, "fpcxt_ns"),
    (15, "fpcxt_s"),
];

/// The special registers of the M profile. (Armv8-M ARM, D1.2, SYSm)
const SPECIAL: [(u32, &str); 30] = [
    (1, "iapsr"),
    (2, "eapsr"),
    (3, "xpsr"),
    (5, "ipsr"),
    (6, "epsr"),
    (7, "iepsr"),
    (8, "msp"),
    (9, "psp"),
    (10, "msplim"),
    (11, "psplim"),
    (16, "primask"),
    (17, "basepri"),
    (18, "basepri_max"),
    (19, "faultmask"),
    (20, "control"),
    (0x20, "pac_key_p_0"),
    (0x21, "pac_key_p_1"),
    (0x22, "pac_key_p_2"),
    (0x23, "pac_key_p_3"),
    (0x24, "pac_key_u_0"),
    (0x25, "pac_key_u_1"),
    (0x88, "msp_ns"),
    (0x89, "psp_ns"),
    (0x8a, "msplim_ns"),
    (0x8b, "psplim_ns"),
    (0x90, "primask_ns"),
    (0x91, "basepri_ns"),
    (0x93, "faultmask_ns"),
    (0x94, "control_ns"),
    (0x98, "sp_ns"),
];

/// The suffix of a condition.
pub(crate) fn condition(opcode: u32) -> &'static str {
    CONDITIONS.get(opcode as usize >> 28).copied().unwrap_or_default()
}

/// The name of a core register.
pub(crate) fn core(number: u32) -> &'static str {
    CORE.get(number as usize & 15).copied().unwrap_or_default()
}

/// An immediate.
pub(super) fn immediate(value: u64) -> String {
    let mut text = String::from("#0x");
    hex(value, &mut text);
    text
}

/// `text` with the fields of `opcode`. `None` where a field has no value.
pub(super) fn expand(text: &str, opcode: u32) -> Option<String> {
    let mut out = String::with_capacity(32);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        out.push_str(before);
        out.push_str(&field(name, opcode)?);
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

/// The number of a D or Q register: a bit and a field of 4 bits, the bit being the upper one.
fn double(opcode: u32, name: &str) -> Option<u32> {
    Some(match name {
        "d" => opcode >> 12 & 0xf | opcode >> 18 & 0x10,
        "n" => opcode >> 16 & 0xf | opcode >> 3 & 0x10,
        "m" => opcode & 0xf | opcode >> 1 & 0x10,
        _ => return None,
    })
}

/// The number of an S register: the bit is the lower one.
fn single(opcode: u32, name: &str) -> Option<u32> {
    let number = double(opcode, name)?;
    Some((number & 0xf) << 1 | number >> 4)
}

fn quad(opcode: u32, name: &str) -> Option<String> {
    let number = double(opcode, name)?;
    (number & 1 == 0).then(|| format!("q{}", number / 2))
}

/// A Q register if the bit `q` is set, otherwise a D register.
fn vector(opcode: u32, name: &str, q: u32) -> Option<String> {
    match opcode >> q & 1 {
        0 => Some(format!("d{}", double(opcode, name)?)),
        _ => quad(opcode, name),
    }
}

/// `8 << size` in text, where `allowed` has it.
fn size(size: u32, allowed: &[u32]) -> Option<String> {
    let bits = 8 << size;
    allowed.contains(&bits).then(|| bits.to_string())
}

/// The element size of a shift in bits, and its imm6. (F4.1.22)
fn shift(opcode: u32) -> Option<(u32, u32)> {
    let imm6 = opcode >> 16 & 0x3f;
    let element = match (opcode >> 7 & 1, imm6) {
        (1, _) => 64,
        (_, 32..) => 32,
        (_, 16..) => 16,
        (_, 8..) => 8,
        _ => return None,
    };
    Some((element, imm6))
}

/// The size and the index of the element of a move between a scalar and a core register. (F4.1.16)
fn element(opcode: u32) -> Option<(u32, u32)> {
    let (opc1, opc2) = (opcode >> 21 & 0b11, opcode >> 5 & 0b11);
    match (opc1 >> 1, opc2) {
        (1, _) => Some((8, (opc1 & 1) << 2 | opc2)),
        (_, 0b01 | 0b11) => Some((16, (opc1 & 1) << 1 | opc2 >> 1)),
        (_, 0b00) => Some((32, opc1 & 1)),
        _ => None,
    }
}

/// The value of an 8-bit floating-point immediate. (F2.1, VFPExpandImm)
pub(super) fn float(imm8: u32) -> String {
    let exponent = ((imm8 >> 4 & 7) ^ 4) as i32 - 3;
    let value = f64::from(16 + (imm8 & 0xf)) / 16.0 * f64::from(exponent).exp2();
    format!("#{:?}", if imm8 & 0x80 == 0 { value } else { -value })
}

fn hexadecimal(value: u32) -> String {
    format!("0x{value:x}")
}

/// The option of a barrier. (F5.1, DMB)
fn barrier(option: u32) -> String {
    let domain = ["osh", "nsh", "ish", ""][option as usize >> 2 & 3];
    match (option & 0b11, domain) {
        (0, _) => immediate(option.into()),
        (1, "") => "ld".to_owned(),
        (2, "") => "st".to_owned(),
        (_, "") => "sy".to_owned(),
        (1, _) => format!("{domain}ld"),
        (2, _) => format!("{domain}st"),
        _ => domain.to_owned(),
    }
}

/// CPS: imod 2 enables and 3 disables the interrupts A, I and F; M changes the mode.
fn change(imod: u32, m: u32, interrupts: u32, mode: u32) -> Option<String> {
    let letters = [(4, 'a'), (2, 'i'), (1, 'f')].into_iter();
    let letters: String =
        letters.filter(|(bit, _)| interrupts & bit != 0).map(|(_, c)| c).collect();
    let mode = if m == 1 { immediate(mode.into()) } else { String::new() };
    let name = match imod {
        0 if m == 1 => return Some(format!("cps {mode}")),
        2 => "cpsie",
        3 => "cpsid",
        _ => return None,
    };
    let comma = if m == 1 { ", " } else { "" };
    let letters = if letters.is_empty() { "none" } else { &letters };
    Some(format!("{name} {letters}{comma}{mode}"))
}

/// The registers of a table: as many as bits \[9:8] and one.
fn table(opcode: u32) -> Option<String> {
    let first = double(opcode, "n")?;
    let last = first + (opcode >> 8 & 0b11);
    let names: Vec<_> = (first..=last).map(|n| format!("d{n}")).collect();
    (last < 32).then(|| format!("{{{}}}", names.join(", ")))
}

/// The text of a field of a template, where the opcode has it.
fn field(name: &str, opcode: u32) -> Option<String> {
    let kinds = [register, sizes, shifts, elements, immediates, system];
    kinds.into_iter().find_map(|of_kind| of_kind(name, opcode))
}

/// Registers.
fn register(name: &str, opcode: u32) -> Option<String> {
    let of = |text: &str| Some(text.to_owned());
    match name {
        "c" => of(condition(opcode)),
        "f" => of(["f16", "f32", "f64"].get((opcode >> 8 & 0b11).checked_sub(1)? as usize)?),
        "fd" | "fn" | "fm" => {
            let name = name.get(1..)?;
            match opcode >> 8 & 0b11 {
                3 => Some(format!("d{}", double(opcode, name)?)),
                _ => Some(format!("s{}", single(opcode, name)?)),
            }
        }
        "sd" | "sn" | "sm" => Some(format!("s{}", single(opcode, name.get(1..)?)?)),
        "sm+1" => {
            let next = single(opcode, "m")? + 1;
            (next < 32).then(|| format!("s{next}"))
        }
        "dd" | "dn" | "dm" => Some(format!("d{}", double(opcode, name.get(1..)?)?)),
        "qd" | "qn" | "qm" => quad(opcode, name.get(1..)?),
        "vd" | "vn" | "vm" => vector(opcode, name.get(1..)?, 6),
        "xd" | "xn" => vector(opcode, name.get(1..)?, 24),
        // The Q register of a core register transfer: VDUP.
        "dup" => match opcode >> 21 & 1 {
            0 => Some(format!("d{}", double(opcode, "n")?)),
            _ => quad(opcode, "n"),
        },
        "dups" => of(match opcode >> 22 & 1 | opcode >> 4 & 0b10 {
            0b00 => "32",
            0b10 => "16",
            0b01 => "8",
            _ => return None,
        }),
        "rt" => of(core(opcode >> 12)),
        "rs" => of(core(opcode >> 8)),
        "rn" => of(core(opcode >> 16)),
        "rm" => of(core(opcode)),
        "flags" if opcode & 0x000f_f000 == 0x0001_f000 => of("apsr_nzcv"),
        "flags" => of(core(opcode >> 12)),
        "sys" => {
            let number = opcode >> 16 & 0xf;
            of(SYSTEM.iter().find(|(own, _)| *own == number)?.1)
        }
        _ => None,
    }
}

/// Sizes and types of elements.
fn sizes(name: &str, opcode: u32) -> Option<String> {
    let misc = opcode >> 18 & 0b11;
    let elements = opcode >> 20 & 0b11;
    let of = |text: &str| Some(text.to_owned());
    match name {
        "u" => of(if opcode >> 24 & 1 == 0 { "s" } else { "u" }),
        "s" => size(elements, &[8, 16, 32]),
        "s64" => size(elements, &[8, 16, 32, 64]),
        "h" => size(elements, &[16, 32]),
        "2s" => size(elements + 1, &[16, 32, 64]),
        "t" => size(misc, &[8, 16, 32]),
        "th" => size(misc, &[8, 16]),
        "tb" => size(misc, &[8]),
        "2t" => size(misc + 1, &[16, 32, 64]),
        "zip" => size(misc, if opcode >> 6 & 1 == 0 { &[8, 16] } else { &[8, 16, 32] }),
        "g" => of(if opcode >> 20 & 1 == 0 { "f32" } else { "f16" }),
        "tg" => of(match misc {
            1 => "f16",
            2 => "f32",
            _ => return None,
        }),
        // The integer type of a conversion between vectors.
        "ti" => size(misc, &[16, 32]),
        "w" => Some(immediate(u64::from(8u32 << misc))),
        "z" => Some(shift(opcode)?.0.to_string()),
        "2z" => match shift(opcode)?.0 {
            64 => None,
            element => Some((2 * element).to_string()),
        },
        _ => None,
    }
}

/// Shifts, fraction bits, and the expanded immediate.
fn shifts(name: &str, opcode: u32) -> Option<String> {
    let of = |text: &str| Some(text.to_owned());
    match name {
        "shr" => {
            let (element, imm6) = shift(opcode)?;
            let right = if element == 64 { 64 - imm6 } else { 2 * element - imm6 };
            Some(immediate(right.into()))
        }
        "shl" => {
            let (element, imm6) = shift(opcode)?;
            Some(immediate(u64::from(imm6 & (element - 1))))
        }
        // A long shift by 0 is a move.
        "long" => {
            let (element, imm6) = shift(opcode)?;
            (imm6 != element).then(String::new)
        }
        "move" => {
            let (element, imm6) = shift(opcode)?;
            (imm6 == element).then(String::new)
        }
        "fbits" => Some(immediate(u64::from(64 - (opcode >> 16 & 0x3f)))),
        // The fraction bits of a fixed-point conversion: imm4:i of 16 or 32 bits.
        "fix" => {
            let bits = if opcode >> 7 & 1 == 0 { 16u32 } else { 32 };
            let used = (opcode & 0xf) << 1 | opcode >> 5 & 1;
            Some(immediate(bits.checked_sub(used)?.into()))
        }
        "sx" => of(if opcode >> 7 & 1 == 0 { "16" } else { "32" }),
        "imm" => Some(float(opcode >> 12 & 0xf0 | opcode & 0xf)),
        _ => None,
    }
}

/// Elements of vectors, and halves of registers.
fn elements(name: &str, opcode: u32) -> Option<String> {
    let elements = opcode >> 20 & 0b11;
    let of = |text: &str| Some(text.to_owned());
    match name {
        "ls" => Some(element(opcode)?.0.to_string()),
        "li" => Some(element(opcode)?.1.to_string()),
        "lu" => match (element(opcode)?.0, opcode >> 23 & 1) {
            (32, 0) => of("32"),
            (32, _) => None,
            (bits, 0) => Some(format!("s{bits}")),
            (bits, _) => Some(format!("u{bits}")),
        },
        // The scalar of a multiplication: F4.1.20.
        "scalar" => match elements {
            1 => field("dmx", opcode),
            2 => Some(format!("d{}[{}]", opcode & 0xf, opcode >> 5 & 1)),
            _ => None,
        },
        "sg" => of(match elements {
            1 => "f16",
            2 => "f32",
            _ => return None,
        }),
        // The scalar of VDUP, with its size.
        "vdup" => Some((8 << (opcode >> 16 & 0xf).trailing_zeros().min(3)).to_string())
            .filter(|_| opcode >> 16 & 7 != 0),
        "vdupi" => {
            let imm4 = opcode >> 16 & 0xf;
            Some((imm4 >> (imm4.trailing_zeros() + 1)).to_string())
        }
        "ext" => {
            let imm4 = opcode >> 8 & 0xf;
            let fits = opcode >> 6 & 1 == 1 || imm4 < 8;
            fits.then(|| immediate(imm4.into()))
        }
        "table" => table(opcode),
        // Half of a register: the index is M:Vm<3>, or Vm<3> of an S register.
        "dmx" => Some(format!("d{}[{}]", opcode & 7, opcode >> 4 & 0b10 | opcode >> 3 & 1)),
        "smx" => {
            let number = (opcode & 7) << 1 | opcode >> 5 & 1;
            Some(format!("s{number}[{}]", opcode >> 3 & 1))
        }
        "m0" => Some(format!("d{}[{}]", opcode & 0xf, opcode >> 5 & 1)),
        _ => None,
    }
}

/// Immediates, bit fields, barriers, and offsets.
fn immediates(name: &str, opcode: u32) -> Option<String> {
    let of = |text: &str| Some(text.to_owned());
    match name {
        "left" => Some((opcode >> 7 & 0x1f).to_string()),
        "right" => Some(match opcode >> 7 & 0x1f {
            0 => "32".to_owned(),
            amount => amount.to_string(),
        }),
        "rot8" => Some((8 * (opcode >> 10 & 0b11)).to_string()),
        "sat" => Some(immediate(u64::from(opcode >> 16 & 0x1f))),
        "sat+1" => Some(immediate(u64::from(opcode >> 16 & 0x1f) + 1)),
        "sat4" => Some(immediate(u64::from(opcode >> 16 & 0xf))),
        "sat4+1" => Some(immediate(u64::from(opcode >> 16 & 0xf) + 1)),
        // A bit field: lsb 11:7, and its width less one, or its last bit, in 20:16.
        "lsb" => Some(hexadecimal(opcode >> 7 & 0x1f)),
        "width" => {
            let (lsb, less) = (opcode >> 7 & 0x1f, opcode >> 16 & 0x1f);
            (lsb + less < 32).then(|| hexadecimal(less + 1))
        }
        "field" => {
            let (lsb, msb) = (opcode >> 7 & 0x1f, opcode >> 16 & 0x1f);
            Some(hexadecimal(msb.checked_sub(lsb)? + 1))
        }
        "imm4" => Some(immediate(u64::from(opcode & 0xf))),
        "imm16" => Some(immediate(u64::from(opcode >> 4 & 0xfff0 | opcode & 0xf))),
        "imm8" => Some(immediate(u64::from(opcode & 0xff))),
        "barrier" => Some(barrier(opcode & 0xf)),
        "isb" if opcode & 0xf == 0xf => of("sy"),
        "isb" => Some(immediate(u64::from(opcode & 0xf))),
        "endian" => of(if opcode >> 9 & 1 == 0 { "le" } else { "be" }),
        "off12" => Some(match (opcode & 0xfff, opcode >> 23 & 1) {
            (0, 1) => String::new(),
            (offset, up) => {
                format!(", #{}0x{offset:x}", if up == 1 { "" } else { "-" })
            }
        }),
        _ => None,
    }
}

/// Changes of state, hints, special registers, and rotations.
fn system(name: &str, opcode: u32) -> Option<String> {
    let of = |text: &str| Some(text.to_owned());
    match name {
        // imod, M, the interrupts, and the mode.
        "cps" => change(opcode >> 18 & 0b11, opcode >> 17 & 1, opcode >> 6 & 7, opcode & 0x1f),
        "cpsw" if opcode & 0x700 == 0 => of(match opcode & 0xff {
            0 => "nop.w",
            1 => "yield.w",
            2 => "wfe.w",
            3 => "wfi.w",
            4 => "sev.w",
            5 => "sevl.w",
            13 => "pacbti r12, lr, sp",
            15 => "bti",
            0x10 => "esb.w",
            0x12 => "tsb csync",
            0x14 => "csdb",
            29 => "pac r12, lr, sp",
            45 => "aut r12, lr, sp",
            0xf0.. => return Some(format!("dbg {}", immediate(u64::from(opcode & 0xf)))),
            hint => return Some(format!("hint.w {}", immediate(hint.into()))),
        }),
        "cpsw" if opcode >> 8 & 1 == 0 => change(opcode >> 9 & 0b11, 0, opcode >> 5 & 7, 0)
            .map(|text| text.replacen(' ', ".w ", 1)),
        "cpsw" => change(opcode >> 9 & 0b11, opcode >> 8 & 1, opcode >> 5 & 7, opcode & 0x1f),
        "sysm" => {
            let number = opcode & 0xff;
            of(SPECIAL.iter().find(|(own, _)| *own == number)?.1)
        }
        "rot" => Some(immediate(u64::from(90 * (opcode >> 23 & 0b11)))),
        "rotx" => Some(immediate(u64::from(90 * (opcode >> 20 & 0b11)))),
        _ => None,
    }
}
