//! Advanced SIMD instructions with an immediate. (F4.1.22, F4.1.23)

use super::Row;
use super::template::{expand, float, immediate};

/// Shifts: U 24, imm6 21:16, opc 11:8, L 7, Q 6.
pub(super) const SHIFTS: &[Row] = &[
    (0xfe80_0f10, 0xf280_0010, "vshr.{u}{z} {vd}, {vm}, {shr}"),
    (0xfe80_0f10, 0xf280_0110, "vsra.{u}{z} {vd}, {vm}, {shr}"),
    (0xfe80_0f10, 0xf280_0210, "vrshr.{u}{z} {vd}, {vm}, {shr}"),
    (0xfe80_0f10, 0xf280_0310, "vrsra.{u}{z} {vd}, {vm}, {shr}"),
    (0xff80_0f10, 0xf380_0410, "vsri.{z} {vd}, {vm}, {shr}"),
    (0xff80_0f10, 0xf280_0510, "vshl.i{z} {vd}, {vm}, {shl}"),
    (0xff80_0f10, 0xf380_0510, "vsli.{z} {vd}, {vm}, {shl}"),
    (0xff80_0f10, 0xf380_0610, "vqshlu.s{z} {vd}, {vm}, {shl}"),
    (0xfe80_0f10, 0xf280_0710, "vqshl.{u}{z} {vd}, {vm}, {shl}"),
    (0xff80_0fd0, 0xf280_0810, "vshrn.i{2z} {dd}, {qm}, {shr}"),
    (0xff80_0fd0, 0xf280_0850, "vrshrn.i{2z} {dd}, {qm}, {shr}"),
    (0xff80_0fd0, 0xf380_0810, "vqshrun.s{2z} {dd}, {qm}, {shr}"),
    (0xff80_0fd0, 0xf380_0850, "vqrshrun.s{2z} {dd}, {qm}, {shr}"),
    (0xfe80_0fd0, 0xf280_0910, "vqshrn.{u}{2z} {dd}, {qm}, {shr}"),
    (0xfe80_0fd0, 0xf280_0950, "vqrshrn.{u}{2z} {dd}, {qm}, {shr}"),
    (0xfe80_0fd0, 0xf280_0a10, "{move}vmovl.{u}{z} {qd}, {dm}"),
    (0xfe80_0fd0, 0xf280_0a10, "{long}vshll.{u}{z} {qd}, {dm}, {shl}"),
    (0xffa0_0f90, 0xf2a0_0c10, "vcvt.f16.s16 {vd}, {vm}, {fbits}"),
    (0xffa0_0f90, 0xf3a0_0c10, "vcvt.f16.u16 {vd}, {vm}, {fbits}"),
    (0xffa0_0f90, 0xf2a0_0d10, "vcvt.s16.f16 {vd}, {vm}, {fbits}"),
    (0xffa0_0f90, 0xf3a0_0d10, "vcvt.u16.f16 {vd}, {vm}, {fbits}"),
    (0xffa0_0f90, 0xf2a0_0e10, "vcvt.f32.s32 {vd}, {vm}, {fbits}"),
    (0xffa0_0f90, 0xf3a0_0e10, "vcvt.f32.u32 {vd}, {vm}, {fbits}"),
    (0xffa0_0f90, 0xf2a0_0f10, "vcvt.s32.f32 {vd}, {vm}, {fbits}"),
    (0xffa0_0f90, 0xf3a0_0f10, "vcvt.u32.f32 {vd}, {vm}, {fbits}"),
];

/// One register and a modified immediate: cmode 11:8, op 5, imm8 in 24, 18:16 and 3:0.
pub(super) fn modified(opcode: u32) -> Option<String> {
    let imm8 = opcode >> 17 & 0x80 | opcode >> 12 & 0x70 | opcode & 0xf;
    let (cmode, op) = (opcode >> 8 & 0xf, opcode >> 5 & 1);
    let byte = u64::from(imm8);
    let (size, value) = match cmode {
        0..=7 => ("i32", byte << (8 * (cmode >> 1))),
        8..=11 => ("i16", byte << (8 * (cmode >> 1 & 1))),
        12 => ("i32", byte << 8 | 0xff),
        13 => ("i32", byte << 16 | 0xffff),
        14 if op == 0 => ("i8", byte),
        // Each bit becomes a byte.
        14 => {
            ("i64", (0..8).filter(|n| byte >> n & 1 == 1).fold(0, |all, n| all | 0xff << (8 * n)))
        }
        _ => ("f32", byte),
    };
    let name = match (cmode, op) {
        (0..=11, 0) if cmode & 1 == 1 => "vorr",
        (0..=11, _) if cmode & 1 == 1 => "vbic",
        (0..=13, 1) => "vmvn",
        (15, 1) => return None,
        _ => "vmov",
    };
    let value = if size == "f32" { float(imm8) } else { immediate(value) };
    expand(&format!("{name}.{size} {{vd}}, {value}"), opcode)
}
