//! Whether a branch tests one stored value, and nothing else, by its instructions.

use tracewright_base::Isa;

use super::walk::Walk;

/// What an instruction does with the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Loads it from the frame of the function.
    Load { to: u32 },
    /// Takes its lowest bit, or inverts it.
    Bit { from: u32, to: u32 },
    /// Takes its lowest bit, and compares it with 0.
    Shift { from: u32, to: u32 },
    /// Compares it with 0.
    Compare { from: u32 },
    /// Makes 0 or 1 of what was compared.
    Set { to: u32 },
    /// Continues elsewhere.
    Jump,
    /// Branches by whether it is 0.
    Branch { from: u32 },
    /// Branches by what was compared.
    BranchCompared,
}

/// Whether the instructions `path` and the conditional branch `end` behind them do nothing but load
/// a value and branch by its lowest bit, or by whether it is 0. Whatever else is computed with it
/// has another operand.
pub(super) fn tests_one_value(path: &[u64], end: u64, walk: &mut Walk<'_>) -> bool {
    let (mut register, mut compared) = (None, false);
    for address in path.iter().chain([&end]) {
        let step = walk.opcode(*address).and_then(|opcode| {
            let isa = walk.states.at(*address)?;
            step(isa, opcode)
        });
        let is_last = *address == end;
        match step {
            Some(Step::Jump) if !is_last => {}
            Some(Step::Load { to }) if register.is_none() => register = Some(to),
            Some(Step::Bit { from, to }) if register == Some(from) => register = Some(to),
            Some(Step::Shift { from, to }) if register == Some(from) => {
                (register, compared) = (Some(to), true);
            }
            Some(Step::Compare { from }) if register == Some(from) => compared = true,
            Some(Step::Set { to }) if compared => (register, compared) = (Some(to), false),
            Some(Step::Branch { from }) if is_last => return register == Some(from),
            Some(Step::BranchCompared) if is_last => return compared,
            _ => return false,
        }
    }
    false
}

fn step(isa: Isa, opcode: u32) -> Option<Step> {
    match isa {
        Isa::A64 => a64(opcode),
        Isa::T32 if opcode >> 16 == 0 => t16(opcode),
        Isa::T32 => t32(opcode & 0xffff, opcode >> 16),
        _ => None,
    }
}

/// (Arm ARM DDI 0487, C6.2)
fn a64(opcode: u32) -> Option<Step> {
    let (d, n) = (opcode & 31, opcode >> 5 & 31);
    let is = |mask: u32, value: u32| opcode & mask == value;
    Some(
        // LDR, LDRH, LDRB, LDUR, LDURH and LDURB, from SP or X29.
        if (is(0xbfc0_0000, 0xb940_0000)
            || is(0xbfc0_0000, 0x3940_0000)
            || is(0xbfe0_0c00, 0xb840_0000)
            || is(0xbfe0_0c00, 0x3840_0000))
            && matches!(n, 29 | 31)
        {
            Step::Load { to: d }
        } else if is(0xffff_fc00, 0x1200_0000) || is(0xffff_fc00, 0x5200_0000) {
            // AND and EOR with 1.
            Step::Bit { from: n, to: d }
        } else if is(0xffff_fc00, 0x7100_0000) {
            // SUBS with 0.
            Step::Compare { from: n }
        } else if is(0xffff_efe0, 0x1a9f_07e0) {
            // CSET with EQ or NE.
            Step::Set { to: d }
        } else if is(0xfc00_0000, 0x1400_0000) {
            Step::Jump
        } else if is(0xfef8_0000, 0x3600_0000) || is(0x7e00_0000, 0x3400_0000) {
            // TBZ and TBNZ of bit 0, CBZ and CBNZ.
            Step::Branch { from: d }
        } else if is(0xff00_001e, 0x5400_0000) {
            Step::BranchCompared
        } else {
            return None;
        },
    )
}

/// Instructions of 16 bits. (Arm ARM DDI 0406, A6.2)
fn t16(opcode: u32) -> Option<Step> {
    let (low, middle, high) = (opcode & 7, opcode >> 3 & 7, opcode >> 8 & 7);
    let is = |mask: u32, value: u32| opcode & mask == value;
    Some(if is(0xf800, 0x9800) {
        // LDR from SP.
        Step::Load { to: high }
    } else if (is(0xf800, 0x6800) || is(0xf800, 0x7800)) && middle == 7 {
        // LDR and LDRB from R7, which clang has for the frame.
        Step::Load { to: low }
    } else if is(0xffc0, 0x07c0) {
        // LSLS by 31.
        Step::Shift { from: middle, to: low }
    } else if is(0xf8ff, 0x2800) {
        // CMP with 0.
        Step::Compare { from: high }
    } else if is(0xf800, 0xe000) {
        Step::Jump
    } else if is(0xf500, 0xb100) {
        // CBZ and CBNZ.
        Step::Branch { from: low }
    } else if is(0xfe00, 0xd000) {
        // BEQ and BNE.
        Step::BranchCompared
    } else {
        return None;
    })
}

/// Instructions of 32 bits, by halfwords. (Arm ARM DDI 0406, A6.3)
fn t32(first: u32, second: u32) -> Option<Step> {
    let (n, d, t) = (first & 15, second >> 8 & 15, second >> 12);
    let bit = second & 0xf0ff == 1;
    Some(match first & 0xfff0 {
        // LDR and LDRB from SP or R7.
        0xf8d0 | 0xf890 if matches!(n, 7 | 13) => Step::Load { to: t },
        0xf850 | 0xf810 if matches!(n, 7 | 13) && second & 0x0f00 == 0x0c00 => Step::Load { to: t },
        // AND and EOR with 1.
        0xf000 | 0xf080 if bit => Step::Bit { from: n, to: d },
        // BEQ.W and BNE.W.
        _ if first & 0xfb80 == 0xf000 && second & 0xd000 == 0x8000 => Step::BranchCompared,
        // B.W
        _ if first & 0xf800 == 0xf000 && second & 0xd000 == 0x9000 => Step::Jump,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodings of clang 19 at `-O0`, and some beside them.
    #[test]
    fn instructions_are_recognised() {
        for (isa, opcode, want) in [
            (Isa::A64, 0xb940_0fe8, Some(Step::Load { to: 8 })), // ldr w8, [sp, #12]
            (Isa::A64, 0x385e_f3a8, Some(Step::Load { to: 8 })), // ldurb w8, [x29, #-17]
            (Isa::A64, 0xb940_0108, None),                       // ldr w8, [x8]
            (Isa::A64, 0x1200_0109, Some(Step::Bit { from: 8, to: 9 })), // and w9, w8, #1
            (Isa::A64, 0x5200_0108, Some(Step::Bit { from: 8, to: 8 })), // eor w8, w8, #1
            (Isa::A64, 0x0a09_0108, None),                       // and w8, w8, w9
            (Isa::A64, 0x7100_0108, Some(Step::Compare { from: 8 })), // subs w8, w8, #0
            (Isa::A64, 0x7100_0508, None),                       // subs w8, w8, #1
            (Isa::A64, 0x1a9f_07e8, Some(Step::Set { to: 8 })),  // cset w8, ne
            (Isa::A64, 0x1a9f_d7e8, None),                       // cset w8, gt
            (Isa::A64, 0x1400_0001, Some(Step::Jump)),           // b
            (Isa::A64, 0x3600_0128, Some(Step::Branch { from: 8 })), // tbz w8, #0
            (Isa::A64, 0x370f_fd88, None),                       // tbnz w8, #1
            (Isa::A64, 0x3500_0108, Some(Step::Branch { from: 8 })), // cbnz w8
            (Isa::A64, 0x5400_0061, Some(Step::BranchCompared)), // b.ne
            (Isa::A64, 0x5400_008c, None),                       // b.gt
            (Isa::T32, 0x9801, Some(Step::Load { to: 0 })),      // ldr r0, [sp, #4]
            (Isa::T32, 0x7838, Some(Step::Load { to: 0 })),      // ldrb r0, [r7]
            (Isa::T32, 0x6808, None),                            // ldr r0, [r1]
            (Isa::T32, 0x07c0, Some(Step::Shift { from: 0, to: 0 })), // lsls r0, r0, #31
            (Isa::T32, 0x0780, None),                            // lsls r0, r0, #30
            (Isa::T32, 0x2800, Some(Step::Compare { from: 0 })), // cmp r0, #0
            (Isa::T32, 0x2801, None),                            // cmp r0, #1
            (Isa::T32, 0xb138, Some(Step::Branch { from: 0 })),  // cbz r0
            (Isa::T32, 0xd1e6, Some(Step::BranchCompared)),      // bne
            (Isa::T32, 0xdce6, None),                            // bgt
            (Isa::T32, 0x0001_f000, Some(Step::Bit { from: 0, to: 0 })), // and r0, r0, #1
            (Isa::T32, 0x8010_f000, Some(Step::BranchCompared)), // beq.w
            (Isa::T32, 0x8010_f300, None),                       // bgt.w
            (Isa::T32, 0x0004_f8dd, Some(Step::Load { to: 0 })), // ldr.w r0, [sp, #4]
        ] {
            assert_eq!(step(isa, opcode), want, "{isa:?} {opcode:08x}");
        }
    }
}
