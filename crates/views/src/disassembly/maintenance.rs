//! A64 system instructions: hints, PSTATE fields, and maintenance. (Arm ARM, C4.1.92)

use super::system::register;
use crate::digits::hex;

/// op1, CRn, CRm, op2 of SYS, its name, and whether it has a register. (C5.3 to C5.5)
type Operation = ((u8, u8, u8, u8), &'static str, bool);

/// In the order of the encodings.
const OPERATIONS: &[Operation] = &[
    ((0, 7, 1, 0), "ic ialluis", false),
    ((0, 7, 5, 0), "ic iallu", false),
    ((0, 7, 6, 1), "dc ivac", true),
    ((0, 7, 6, 2), "dc isw", true),
    ((0, 7, 6, 3), "dc igvac", true),
    ((0, 7, 6, 4), "dc igsw", true),
    ((0, 7, 6, 5), "dc igdvac", true),
    ((0, 7, 6, 6), "dc igdsw", true),
    ((0, 7, 8, 0), "at s1e1r", true),
    ((0, 7, 8, 1), "at s1e1w", true),
    ((0, 7, 8, 2), "at s1e0r", true),
    ((0, 7, 8, 3), "at s1e0w", true),
    ((0, 7, 9, 0), "at s1e1rp", true),
    ((0, 7, 9, 1), "at s1e1wp", true),
    ((0, 7, 10, 2), "dc csw", true),
    ((0, 7, 10, 4), "dc cgsw", true),
    ((0, 7, 10, 6), "dc cgdsw", true),
    ((0, 7, 14, 2), "dc cisw", true),
    ((0, 7, 14, 4), "dc cigsw", true),
    ((0, 7, 14, 6), "dc cigdsw", true),
    ((0, 8, 1, 0), "tlbi vmalle1os", false),
    ((0, 8, 1, 1), "tlbi vae1os", true),
    ((0, 8, 1, 2), "tlbi aside1os", true),
    ((0, 8, 1, 3), "tlbi vaae1os", true),
    ((0, 8, 1, 5), "tlbi vale1os", true),
    ((0, 8, 1, 7), "tlbi vaale1os", true),
    ((0, 8, 2, 1), "tlbi rvae1is", true),
    ((0, 8, 2, 3), "tlbi rvaae1is", true),
    ((0, 8, 2, 5), "tlbi rvale1is", true),
    ((0, 8, 2, 7), "tlbi rvaale1is", true),
    ((0, 8, 3, 0), "tlbi vmalle1is", false),
    ((0, 8, 3, 1), "tlbi vae1is", true),
    ((0, 8, 3, 2), "tlbi aside1is", true),
    ((0, 8, 3, 3), "tlbi vaae1is", true),
    ((0, 8, 3, 5), "tlbi vale1is", true),
    ((0, 8, 3, 7), "tlbi vaale1is", true),
    ((0, 8, 5, 1), "tlbi rvae1os", true),
    ((0, 8, 5, 3), "tlbi rvaae1os", true),
    ((0, 8, 5, 5), "tlbi rvale1os", true),
    ((0, 8, 5, 7), "tlbi rvaale1os", true),
    ((0, 8, 6, 1), "tlbi rvae1", true),
    ((0, 8, 6, 3), "tlbi rvaae1", true),
    ((0, 8, 6, 5), "tlbi rvale1", true),
    ((0, 8, 6, 7), "tlbi rvaale1", true),
    ((0, 8, 7, 0), "tlbi vmalle1", false),
    ((0, 8, 7, 1), "tlbi vae1", true),
    ((0, 8, 7, 2), "tlbi aside1", true),
    ((0, 8, 7, 3), "tlbi vaae1", true),
    ((0, 8, 7, 5), "tlbi vale1", true),
    ((0, 8, 7, 7), "tlbi vaale1", true),
    ((3, 7, 4, 1), "dc zva", true),
    ((3, 7, 4, 3), "dc gva", true),
    ((3, 7, 4, 4), "dc gzva", true),
    ((3, 7, 5, 1), "ic ivau", true),
    ((3, 7, 10, 1), "dc cvac", true),
    ((3, 7, 10, 3), "dc cgvac", true),
    ((3, 7, 10, 5), "dc cgdvac", true),
    ((3, 7, 11, 1), "dc cvau", true),
    ((3, 7, 12, 1), "dc cvap", true),
    ((3, 7, 12, 3), "dc cgvap", true),
    ((3, 7, 12, 5), "dc cgdvap", true),
    ((3, 7, 13, 1), "dc cvadp", true),
    ((3, 7, 13, 3), "dc cgvadp", true),
    ((3, 7, 13, 5), "dc cgdvadp", true),
    ((3, 7, 14, 1), "dc civac", true),
    ((3, 7, 14, 3), "dc cigvac", true),
    ((3, 7, 14, 5), "dc cigdvac", true),
    ((4, 7, 8, 0), "at s1e2r", true),
    ((4, 7, 8, 1), "at s1e2w", true),
    ((4, 7, 8, 4), "at s12e1r", true),
    ((4, 7, 8, 5), "at s12e1w", true),
    ((4, 7, 8, 6), "at s12e0r", true),
    ((4, 7, 8, 7), "at s12e0w", true),
    ((4, 8, 0, 1), "tlbi ipas2e1is", true),
    ((4, 8, 0, 2), "tlbi ripas2e1is", true),
    ((4, 8, 0, 5), "tlbi ipas2le1is", true),
    ((4, 8, 0, 6), "tlbi ripas2le1is", true),
    ((4, 8, 1, 0), "tlbi alle2os", false),
    ((4, 8, 1, 1), "tlbi vae2os", true),
    ((4, 8, 1, 4), "tlbi alle1os", false),
    ((4, 8, 1, 5), "tlbi vale2os", true),
    ((4, 8, 1, 6), "tlbi vmalls12e1os", false),
    ((4, 8, 2, 1), "tlbi rvae2is", true),
    ((4, 8, 2, 5), "tlbi rvale2is", true),
    ((4, 8, 3, 0), "tlbi alle2is", false),
    ((4, 8, 3, 1), "tlbi vae2is", true),
    ((4, 8, 3, 4), "tlbi alle1is", false),
    ((4, 8, 3, 5), "tlbi vale2is", true),
    ((4, 8, 3, 6), "tlbi vmalls12e1is", false),
    ((4, 8, 4, 0), "tlbi ipas2e1os", true),
    ((4, 8, 4, 1), "tlbi ipas2e1", true),
    ((4, 8, 4, 2), "tlbi ripas2e1", true),
    ((4, 8, 4, 3), "tlbi ripas2e1os", true),
    ((4, 8, 4, 4), "tlbi ipas2le1os", true),
    ((4, 8, 4, 5), "tlbi ipas2le1", true),
    ((4, 8, 4, 6), "tlbi ripas2le1", true),
    ((4, 8, 4, 7), "tlbi ripas2le1os", true),
    ((4, 8, 5, 1), "tlbi rvae2os", true),
    ((4, 8, 5, 5), "tlbi rvale2os", true),
    ((4, 8, 6, 1), "tlbi rvae2", true),
    ((4, 8, 6, 5), "tlbi rvale2", true),
    ((4, 8, 7, 0), "tlbi alle2", false),
    ((4, 8, 7, 1), "tlbi vae2", true),
    ((4, 8, 7, 4), "tlbi alle1", false),
    ((4, 8, 7, 5), "tlbi vale2", true),
    ((4, 8, 7, 6), "tlbi vmalls12e1", false),
    ((6, 7, 8, 0), "at s1e3r", true),
    ((6, 7, 8, 1), "at s1e3w", true),
    ((6, 8, 1, 0), "tlbi alle3os", false),
    ((6, 8, 1, 1), "tlbi vae3os", true),
    ((6, 8, 1, 5), "tlbi vale3os", true),
    ((6, 8, 2, 1), "tlbi rvae3is", true),
    ((6, 8, 2, 5), "tlbi rvale3is", true),
    ((6, 8, 3, 0), "tlbi alle3is", false),
    ((6, 8, 3, 1), "tlbi vae3is", true),
    ((6, 8, 3, 5), "tlbi vale3is", true),
    ((6, 8, 5, 1), "tlbi rvae3os", true),
    ((6, 8, 5, 5), "tlbi rvale3os", true),
    ((6, 8, 6, 1), "tlbi rvae3", true),
    ((6, 8, 6, 5), "tlbi rvale3", true),
    ((6, 8, 7, 0), "tlbi alle3", false),
    ((6, 8, 7, 1), "tlbi vae3", true),
    ((6, 8, 7, 5), "tlbi vale3", true),
];

/// Hints by CRm:op2. (C4.1.92.5)
const HINTS: &[(u8, &str)] = &[
    (0, "nop"),
    (1, "yield"),
    (2, "wfe"),
    (3, "wfi"),
    (4, "sev"),
    (5, "sevl"),
    (6, "dgh"),
    (7, "xpaclri"),
    (8, "pacia1716"),
    (10, "pacib1716"),
    (12, "autia1716"),
    (14, "autib1716"),
    (16, "esb"),
    (17, "psb csync"),
    (18, "tsb csync"),
    (19, "gcsb dsync"),
    (20, "csdb"),
    (22, "clrbhb"),
    (24, "paciaz"),
    (25, "paciasp"),
    (26, "pacibz"),
    (27, "pacibsp"),
    (28, "autiaz"),
    (29, "autiasp"),
    (30, "autibz"),
    (31, "autibsp"),
    (32, "bti"),
    (34, "bti c"),
    (36, "bti j"),
    (38, "bti jc"),
    (39, "pacm"),
    (40, "chkfeat x16"),
];

/// The fields of PSTATE that MSR writes: op1 and op2. (C5.2, C6.2.228)
const FIELDS: &[((u8, u8), &str)] = &[
    ((0, 3), "uao"),
    ((0, 4), "pan"),
    ((0, 5), "spsel"),
    ((1, 0), "allint"),
    ((3, 1), "ssbs"),
    ((3, 2), "dit"),
    ((3, 4), "tco"),
    ((3, 6), "daifset"),
    ((3, 7), "daifclr"),
];

/// Whether an opcode is a hint, changes PSTATE, moves a system register, or is an operation with a
/// name. Others of this space are barriers, SYS and SYSL.
pub(super) fn is_here(opcode: u32) -> bool {
    let (is_read, op0, crn) = (opcode >> 21 & 1 == 1, opcode >> 19 & 0b11, opcode >> 12 & 0xf);
    opcode >> 22 == 0b11_0101_0100
        && match op0 {
            0 => is_read || matches!(crn, 2 | 4),
            1 => text(opcode).is_some(),
            _ => true,
        }
}

/// The text of an opcode of this space.
pub(super) fn text(opcode: u32) -> Option<String> {
    let field = |low: u32, mask: u32| (opcode >> low & mask) as u8;
    let (op0, op1, crn) = (field(19, 0b11), field(16, 0b111), field(12, 0xf));
    let (crm, op2, rt) = (field(8, 0xf), field(5, 0b111), field(0, 0x1f));
    let is_read = opcode >> 21 & 1 == 1;
    let x = if rt == 31 { "xzr".to_owned() } else { format!("x{rt}") };
    match (op0, crn) {
        (0, 2) if !is_read && op1 == 3 && rt == 31 => Some(hint(crm << 3 | op2)),
        (0, 4) if !is_read && rt == 31 => pstate(op1, crm, op2),
        (1, _) if !is_read => {
            let found = OPERATIONS.binary_search_by_key(&(op1, crn, crm, op2), |(own, ..)| *own);
            let (_, name, takes) = OPERATIONS.get(found.ok()?)?;
            match (takes, rt) {
                (true, _) => Some(format!("{name}, {x}")),
                (false, 31) => Some((*name).to_owned()),
                (false, _) => None,
            }
        }
        (2 | 3, _) => {
            let name = register((op0, op1, crn, crm, op2));
            let name = match name {
                Some(name) => name.to_owned(),
                None => format!("s{op0}_{op1}_c{crn}_c{crm}_{op2}"),
            };
            Some(if is_read { format!("mrs {x}, {name}") } else { format!("msr {name}, {x}") })
        }
        _ => None,
    }
}

fn hint(number: u8) -> String {
    match HINTS.binary_search_by_key(&number, |(own, _)| *own) {
        Ok(found) => HINTS.get(found).map_or("", |(_, name)| name).to_owned(),
        Err(_) => immediate("hint ", number),
    }
}

/// MSR of a field of PSTATE, and the changes of flags and of modes with this encoding.
fn pstate(op1: u8, crm: u8, op2: u8) -> Option<String> {
    let changed = match (op1, op2, crm) {
        (0, 0, _) => "cfinv",
        (0, 1, _) => "xaflag",
        (0, 2, _) => "axflag",
        (3, 3, 2) => "smstop sm",
        (3, 3, 3) => "smstart sm",
        (3, 3, 4) => "smstop za",
        (3, 3, 5) => "smstart za",
        (3, 3, 6) => "smstop",
        (3, 3, 7) => "smstart",
        _ => {
            let (_, name) = FIELDS.iter().find(|(own, _)| *own == (op1, op2))?;
            let fits = crm < 2 || *name != "allint";
            return fits.then(|| immediate(&format!("msr {name}, "), crm));
        }
    };
    Some(changed.to_owned())
}

fn immediate(before: &str, value: u8) -> String {
    let mut text = format!("{before}#0x");
    hex(value.into(), &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_in_order() {
        assert!(OPERATIONS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(HINTS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
