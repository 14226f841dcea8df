//! Floating-point instructions, and moves between registers of both kinds. (F4.1.11 to F4.1.16)

use super::Row;
use super::template::{condition, core};
use crate::digits::hex;

/// Instructions with a condition.
pub(super) const CONDITIONAL: &[Row] = &[
    // Data-processing, three registers: opc 23, 21:20 and bit 6.
    (0x0fb0_0c50, 0x0e00_0800, "vmla{c}.{f} {fd}, {fn}, {fm}"),
    (0x0fb0_0c50, 0x0e00_0840, "vmls{c}.{f} {fd}, {fn}, {fm}"),
    (0x0fb0_0c50, 0x0e10_0800, "vnmls{c}.{f} {fd}, {fn}, {fm}"),
    (0x0fb0_0c50, 0x0e10_0840, "vnmla{c}.{f} {fd}, {fn}, {fm}"),
    (0x0fb0_0c50, 0x0e20_0800, "vmul{c}.{f} {fd}, {fn}, {fm}"),
    (0x0fb0_0c50, 0x0e20_0840, "vnmul{c}.{f} {fd}, {fn}, {fm}"),
    (0x0fb0_0c50, 0x0e30_0800, "vadd{c}.{f} {fd}, {fn}, {fm}"),
    (0x0fb0_0c50, 0x0e30_0840, "vsub{c}.{f} {fd}, {fn}, {fm}"),
    (0x0fb0_0c50, 0x0e80_0800, "vdiv{c}.{f} {fd}, {fn}, {fm}"),
    (0x0fb0_0c50, 0x0e90_0800, "vfnms{c}.{f} {fd}, {fn}, {fm}"),
    (0x0fb0_0c50, 0x0e90_0840, "vfnma{c}.{f} {fd}, {fn}, {fm}"),
    (0x0fb0_0c50, 0x0ea0_0800, "vfma{c}.{f} {fd}, {fn}, {fm}"),
    (0x0fb0_0c50, 0x0ea0_0840, "vfms{c}.{f} {fd}, {fn}, {fm}"),
    (0x0fb0_0cf0, 0x0eb0_0800, "vmov{c}.{f} {fd}, {imm}"),
    // Data-processing, two registers: opc 19:16 and bit 7.
    (0x0fbf_0ed0, 0x0eb0_0a40, "vmov{c}.{f} {fd}, {fm}"),
    (0x0fbf_0cd0, 0x0eb0_08c0, "vabs{c}.{f} {fd}, {fm}"),
    (0x0fbf_0cd0, 0x0eb1_0840, "vneg{c}.{f} {fd}, {fm}"),
    (0x0fbf_0cd0, 0x0eb1_08c0, "vsqrt{c}.{f} {fd}, {fm}"),
    (0x0fbf_0fd0, 0x0eb2_0a40, "vcvtb{c}.f32.f16 {sd}, {sm}"),
    (0x0fbf_0fd0, 0x0eb2_0ac0, "vcvtt{c}.f32.f16 {sd}, {sm}"),
    (0x0fbf_0fd0, 0x0eb2_0b40, "vcvtb{c}.f64.f16 {dd}, {sm}"),
    (0x0fbf_0fd0, 0x0eb2_0bc0, "vcvtt{c}.f64.f16 {dd}, {sm}"),
    (0x0fbf_0fd0, 0x0eb3_0a40, "vcvtb{c}.f16.f32 {sd}, {sm}"),
    (0x0fbf_0fd0, 0x0eb3_0ac0, "vcvtt{c}.f16.f32 {sd}, {sm}"),
    (0x0fbf_0fd0, 0x0eb3_0b40, "vcvtb{c}.f16.f64 {sd}, {dm}"),
    (0x0fbf_0fd0, 0x0eb3_0bc0, "vcvtt{c}.f16.f64 {sd}, {dm}"),
    (0x0fbf_0cd0, 0x0eb4_0840, "vcmp{c}.{f} {fd}, {fm}"),
    (0x0fbf_0cd0, 0x0eb4_08c0, "vcmpe{c}.{f} {fd}, {fm}"),
    (0x0fbf_0cff, 0x0eb5_0840, "vcmp{c}.{f} {fd}, #0.0"),
    (0x0fbf_0cff, 0x0eb5_08c0, "vcmpe{c}.{f} {fd}, #0.0"),
    (0x0fbf_0cd0, 0x0eb6_0840, "vrintr{c}.{f} {fd}, {fm}"),
    (0x0fbf_0cd0, 0x0eb6_08c0, "vrintz{c}.{f} {fd}, {fm}"),
    (0x0fbf_0cd0, 0x0eb7_0840, "vrintx{c}.{f} {fd}, {fm}"),
    (0x0fbf_0fd0, 0x0eb7_0ac0, "vcvt{c}.f64.f32 {dd}, {sm}"),
    (0x0fbf_0fd0, 0x0eb7_0bc0, "vcvt{c}.f32.f64 {sd}, {dm}"),
    (0x0fbf_0cd0, 0x0eb8_0840, "vcvt{c}.{f}.u32 {fd}, {sm}"),
    (0x0fbf_0cd0, 0x0eb8_08c0, "vcvt{c}.{f}.s32 {fd}, {sm}"),
    (0x0fbf_0fd0, 0x0eb9_0bc0, "vjcvt{c}.s32.f64 {sd}, {dm}"),
    (0x0fbf_0c50, 0x0eba_0840, "vcvt{c}.{f}.s{sx} {fd}, {fd}, {fix}"),
    (0x0fbf_0c50, 0x0ebb_0840, "vcvt{c}.{f}.u{sx} {fd}, {fd}, {fix}"),
    (0x0fbf_0cd0, 0x0ebc_0840, "vcvtr{c}.u32.{f} {sd}, {fm}"),
    (0x0fbf_0cd0, 0x0ebc_08c0, "vcvt{c}.u32.{f} {sd}, {fm}"),
    (0x0fbf_0cd0, 0x0ebd_0840, "vcvtr{c}.s32.{f} {sd}, {fm}"),
    (0x0fbf_0cd0, 0x0ebd_08c0, "vcvt{c}.s32.{f} {sd}, {fm}"),
    (0x0fbf_0c50, 0x0ebe_0840, "vcvt{c}.s{sx}.{f} {fd}, {fd}, {fix}"),
    (0x0fbf_0c50, 0x0ebf_0840, "vcvt{c}.u{sx}.{f} {fd}, {fd}, {fix}"),
    // Moves between core and other registers.
    (0x0ff0_0f7f, 0x0e00_0910, "vmov{c}.f16 {sn}, {rt}"),
    (0x0ff0_0f7f, 0x0e10_0910, "vmov{c}.f16 {rt}, {sn}"),
    (0x0ff0_0f7f, 0x0e00_0a10, "vmov{c} {sn}, {rt}"),
    (0x0ff0_0f7f, 0x0e10_0a10, "vmov{c} {rt}, {sn}"),
    (0x0ff0_0fff, 0x0ee0_0a10, "vmsr{c} {sys}, {rt}"),
    (0x0ff0_0fff, 0x0ef0_0a10, "vmrs{c} {flags}, {sys}"),
    (0x0f90_0f1f, 0x0e00_0b10, "vmov{c}.{ls} {dn}[{li}], {rt}"),
    (0x0f10_0f1f, 0x0e10_0b10, "vmov{c}.{lu} {rt}, {dn}[{li}]"),
    (0x0f90_0f5f, 0x0e80_0b10, "vdup{c}.{dups} {dup}, {rt}"),
    (0x0ff0_0fd0, 0x0c40_0a10, "vmov{c} {sm}, {sm+1}, {rt}, {rn}"),
    (0x0ff0_0fd0, 0x0c50_0a10, "vmov{c} {rt}, {rn}, {sm}, {sm+1}"),
    (0x0ff0_0fd0, 0x0c40_0b10, "vmov{c} {dm}, {rt}, {rn}"),
    (0x0ff0_0fd0, 0x0c50_0b10, "vmov{c} {rt}, {rn}, {dm}"),
];

/// Instructions without a condition: of floating point, and the extensions of Advanced SIMD.
pub(super) const UNCONDITIONAL: &[Row] = &[
    (0xffb0_0c50, 0xfe00_0800, "vseleq.{f} {fd}, {fn}, {fm}"),
    (0xffb0_0c50, 0xfe10_0800, "vselvs.{f} {fd}, {fn}, {fm}"),
    (0xffb0_0c50, 0xfe20_0800, "vselge.{f} {fd}, {fn}, {fm}"),
    (0xffb0_0c50, 0xfe30_0800, "vselgt.{f} {fd}, {fn}, {fm}"),
    (0xffb0_0c50, 0xfe80_0800, "vmaxnm.{f} {fd}, {fn}, {fm}"),
    (0xffb0_0c50, 0xfe80_0840, "vminnm.{f} {fd}, {fn}, {fm}"),
    (0xffbf_0fd0, 0xfeb0_0a40, "vmovx.f16 {sd}, {sm}"),
    (0xffbf_0fd0, 0xfeb0_0ac0, "vins.f16 {sd}, {sm}"),
    (0xffbf_0cd0, 0xfeb8_0840, "vrinta.{f} {fd}, {fm}"),
    (0xffbf_0cd0, 0xfeb9_0840, "vrintn.{f} {fd}, {fm}"),
    (0xffbf_0cd0, 0xfeba_0840, "vrintp.{f} {fd}, {fm}"),
    (0xffbf_0cd0, 0xfebb_0840, "vrintm.{f} {fd}, {fm}"),
    (0xffbf_0cd0, 0xfebc_0840, "vcvta.u32.{f} {sd}, {fm}"),
    (0xffbf_0cd0, 0xfebc_08c0, "vcvta.s32.{f} {sd}, {fm}"),
    (0xffbf_0cd0, 0xfebd_0840, "vcvtn.u32.{f} {sd}, {fm}"),
    (0xffbf_0cd0, 0xfebd_08c0, "vcvtn.s32.{f} {sd}, {fm}"),
    (0xffbf_0cd0, 0xfebe_0840, "vcvtp.u32.{f} {sd}, {fm}"),
    (0xffbf_0cd0, 0xfebe_08c0, "vcvtp.s32.{f} {sd}, {fm}"),
    (0xffbf_0cd0, 0xfebf_0840, "vcvtm.u32.{f} {sd}, {fm}"),
    (0xffbf_0cd0, 0xfebf_08c0, "vcvtm.s32.{f} {sd}, {fm}"),
    // Complex numbers, and dot products.
    (0xfe30_0f10, 0xfc20_0800, "vcmla.f16 {vd}, {vn}, {vm}, {rot}"),
    (0xfe30_0f10, 0xfc30_0800, "vcmla.f32 {vd}, {vn}, {vm}, {rot}"),
    (0xffb0_0f10, 0xfc80_0800, "vcadd.f16 {vd}, {vn}, {vm}, #0x5a"),
    (0xffb0_0f10, 0xfc90_0800, "vcadd.f32 {vd}, {vn}, {vm}, #0x5a"),
    (0xffb0_0f10, 0xfd80_0800, "vcadd.f16 {vd}, {vn}, {vm}, #0x10e"),
    (0xffb0_0f10, 0xfd90_0800, "vcadd.f32 {vd}, {vn}, {vm}, #0x10e"),
    (0xff80_0f10, 0xfe00_0800, "vcmla.f16 {vd}, {vn}, {m0}, {rotx}"),
    (0xff80_0f10, 0xfe80_0800, "vcmla.f32 {vd}, {vn}, {dm}[0], {rotx}"),
    (0xffb0_0f50, 0xfc20_0810, "vfmal.f16 {dd}, {sn}, {sm}"),
    (0xffb0_0f50, 0xfc20_0850, "vfmal.f16 {qd}, {dn}, {dm}"),
    (0xffb0_0f50, 0xfca0_0810, "vfmsl.f16 {dd}, {sn}, {sm}"),
    (0xffb0_0f50, 0xfca0_0850, "vfmsl.f16 {qd}, {dn}, {dm}"),
    (0xffb0_0f50, 0xfe00_0810, "vfmal.f16 {dd}, {sn}, {smx}"),
    (0xffb0_0f50, 0xfe00_0850, "vfmal.f16 {qd}, {dn}, {dmx}"),
    (0xffb0_0f50, 0xfe10_0810, "vfmsl.f16 {dd}, {sn}, {smx}"),
    (0xffb0_0f50, 0xfe10_0850, "vfmsl.f16 {qd}, {dn}, {dmx}"),
    (0xffb0_0f10, 0xfc20_0d00, "vsdot.s8 {vd}, {vn}, {vm}"),
    (0xffb0_0f10, 0xfc20_0d10, "vudot.u8 {vd}, {vn}, {vm}"),
    (0xffb0_0f10, 0xfe20_0d00, "vsdot.s8 {vd}, {vn}, {m0}"),
    (0xffb0_0f10, 0xfe20_0d10, "vudot.u8 {vd}, {vn}, {m0}"),
];

/// VLDR, VSTR, VLDM, VSTM, VPUSH and VPOP. (F4.1.13)
pub(super) fn moves_of_many(opcode: u32) -> Option<String> {
    let bit = |n: u32| opcode >> n & 1;
    let kind = opcode >> 8 & 0b11;
    if opcode & 0x0e00_0c00 != 0x0c00_0800 || kind == 0 {
        return None;
    }
    let (load, up, rn) = (bit(20) == 1, bit(23) == 1, opcode >> 16 & 0xf);
    let (field, high) = (opcode >> 12 & 0xf, bit(22));
    let (first, letter) = match kind {
        3 => (field | high << 4, 'd'),
        _ => (field << 1 | high, 's'),
    };
    let (c, imm8) = (condition(opcode), opcode & 0xff);
    if bit(24) == 1 && bit(21) == 0 {
        let scale = if kind == 1 { 2 } else { 4 };
        let (name, size) = (if load { "vldr" } else { "vstr" }, if kind == 1 { ".16" } else { "" });
        let mut out = format!("{name}{c}{size} {letter}{first}, [{}", core(rn));
        if imm8 != 0 || !up {
            out.push_str(if up { ", #0x" } else { ", #-0x" });
            hex((imm8 * scale).into(), &mut out);
        }
        out.push(']');
        return Some(out);
    }
    let (mode, back) = match (bit(24), bit(23), bit(21)) {
        (0, 1, 0) => ("ia", ""),
        (0, 1, 1) => ("ia", "!"),
        (1, 0, 1) => ("db", "!"),
        _ => return None,
    };
    let odd = kind == 3 && imm8 & 1 == 1;
    let count = if kind == 3 { imm8 / 2 } else { imm8 };
    let most = if kind == 3 { 16 } else { 32 };
    let end = if odd { 16 } else { 32 };
    if kind == 1 || count == 0 || count > most || first + count > end {
        return None;
    }
    let names: Vec<_> = (first..first + count).map(|n| format!("{letter}{n}")).collect();
    let list = format!("{{{}}}", names.join(", "));
    let rn_name = core(rn);
    Some(match (load, mode) {
        (true, "ia") if rn == 13 && back == "!" && !odd => format!("vpop{c} {list}"),
        (false, "db") if rn == 13 && !odd => format!("vpush{c} {list}"),
        _ => {
            let name = match (load, odd) {
                (true, false) => "vldm",
                (false, false) => "vstm",
                (true, true) => "fldm",
                (false, true) => "fstm",
            };
            let x = if odd { "x" } else { "" };
            format!("{name}{mode}{x}{c} {rn_name}{back}, {list}")
        }
    })
}
