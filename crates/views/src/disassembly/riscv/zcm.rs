//! Zcmp and Zcmt as text. (RISC-V Unprivileged ISA, "Zc*")

use tracewright_base::Isa;
use tracewright_isa::rv;

/// Registers of CM.MVA01S and CM.MVSA01, by their number of three bits.
const SAVED: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];

/// The text of an opcode in the encoding space of C.FSDSP.
pub(super) fn text(isa: Isa, opcode: u32) -> Option<String> {
    if let Some(index) = rv::table_index(opcode) {
        return Some(format!("{} {index}", if index < 32 { "cm.jt" } else { "cm.jalt" }));
    }
    let saved = |at: u32| SAVED.get((opcode >> at & 7) as usize).copied().unwrap_or_default();
    match opcode & 0xfc63 {
        0xac22 if saved(7) != saved(2) => {
            return Some(format!("cm.mvsa01 {}, {}", saved(7), saved(2)));
        }
        0xac62 => return Some(format!("cm.mva01s {}, {}", saved(7), saved(2))),
        _ => {}
    }
    let (name, sign) = match opcode & 0xff03 {
        0xb802 => ("cm.push", "-"),
        0xba02 => ("cm.pop", ""),
        0xbc02 => ("cm.popretz", ""),
        0xbe02 => ("cm.popret", ""),
        _ => return None,
    };
    // rlist, bits [7:4]; spimm, bits [3:2].
    let (list, more) = (opcode >> 4 & 0xf, (opcode >> 2 & 3) * 16);
    let registers = match list {
        4 => "{ra}".to_owned(),
        5 => "{ra, s0}".to_owned(),
        6..=14 => format!("{{ra, s0-s{}}}", list - 5),
        15 => "{ra, s0-s11}".to_owned(),
        _ => return None,
    };
    let saved = if list == 15 { 13 } else { list - 3 };
    let bytes = saved * if isa == Isa::Rv32 { 4 } else { 8 };
    Some(format!("{name} {registers}, {sign}{}", bytes.next_multiple_of(16) + more))
}
