//! Decoding of cycles that were written by hand from IHI 0014, chapter 5.

use super::*;

const NOP: u32 = 0xe1a0_0000;
const BX_LR: u32 = 0xe12f_ff1e;
/// `ldr r0, [r2]`
const LDR: u32 = 0xe592_0000;

/// 5.3.2, Example 5-1, preceded by a branch to its first instruction and followed by the two offset
/// cycles of its last branch.
#[test]
fn example_5_1() {
    let code = Memory::default().arm(
        0x1000,
        // mov r2, #0x20000; ldrb r0, [r2]; ldrh r0, [r2]; ldr r0, [r2]; nop; b 1000
        &[0xe3a0_2802, 0xe5d2_0000, 0xe1d2_00b0, LDR, NOP, 0xeaff_fff9],
    );
    let config = unit(0, W8 | VALUES | CYCLES | 1 << 8);
    let start = "BE*:80 A0:a0 A0:80 WT:80 WT:10";
    let example = "TD:01 x4 IE:01 TD:01 x5 ID:11 TD:01 x5 ID:11 WT:22 TD:01 x2 WT:11 WT:22 WT:33 WT:44 \
        ID:01 TD:01 x3 IE:01 BE*:00 A0:00 A0:00";
    let cycles = std::format!("{start} {example} TD:01 x2");
    assert_eq!(
        decoded(&config, &code, &cycles),
        [
            "on",
            "in A32",
            "1000E/9",
            "1004E/6",
            "1004 r1 ?=11",
            "1008E/6",
            "1008 r2 ?=2211",
            "100cE/8",
            "100c r4 ?=44332211",
            "1010E/4",
            "1014E/1",
            "4 cycles",
        ]
    );
}

/// Addresses, values, a context ID of one byte and an interrupt decode alike on each port width,
/// and with a trigger.
#[test]
fn widths() {
    // 8000 ldr; 8004 beq; 8008 bx lr; 8010 nop; 8014 beq; 8018 nop
    let code = Memory::default()
        .arm(0x8000, &[LDR, 0x0a00_0000, BX_LR])
        .arm(0x8010, &[NOP, 0x0a00_0000, NOP]);
    let want = [
        "on",
        "in A32 id 2a",
        "8000E",
        "8000 r4 20000004=44332211",
        "8004N",
        "8008E",
        "8010E",
        "8014N",
        "exception 6 from 8018",
    ];
    let control = ADDRESSES | VALUES | CONTEXT1;
    for (width, cycles) in [
        (
            W8,
            "BE*:80 A0:80 A0:82 ID:80 IN:10 BE:2a A0:84 A0:80 IE:80 IN:80 BE:02 A1:11 A0:22 WT:33 WT:44 \
             WT*:10 WT*:98 WT:80 WT:00 TD:01",
        ),
        (
            W16,
            "BE*:8080 A0:8082 A0:2a10 ID:8084 IN:8080 BE:1102 A0:3322 A0:0044 IE*:0010 IN:0000 BE*:8098 \
             A0:0000 A0:0000 TD:0001",
        ),
        (
            W4,
            "BE*:0 A0:8 A0:0 ID:8 IN:2 BE:8 A0:0 A0:8 IE:0 IN:1 BE:a A1:2 A0:4 WT:8 WT:0 WT:8 WT:0 WT:8 WT:0 \
             WT:8 WT:2 WT:0 WT:1 WT:1 WT:2 WT:2 WT:3 WT:3 WT:4 WT:4 WT*:0 WT:1 WT*:8 WT:9 WT:0 WT:8 WT:0 WT:0 \
             TD:1",
        ),
        (
            W8,
            "BE*:80 A0:80 A0:82 ID:80 TR:02 BE:10 A0:2a A0:84 IE:80 IN:80 BE:80 A1:02 A0:11 WT:22 WT:33 WT:44 \
             WT*:10 WT*:98 WT:80 WT:00 TD:01",
        ),
    ] {
        let mut got = decoded(&unit(3, control | width), &code, cycles);
        let triggers = cycles.matches("TR").count();
        got.retain(|word| word != "trigger");
        assert_eq!(got, want, "{cycles}");
        let trigger = decoded(&unit(3, control | width), &code, cycles);
        assert_eq!(trigger.len(), want.len() + triggers);
    }
}

/// 5.6.1: the offset counts the addresses from the cycle of the status on.
#[test]
fn offsets() {
    // 8000 bx lr; 8010 bx lr; 8020 bx lr; 8030 nop
    let code = Memory::default()
        .arm(0x8000, &[BX_LR])
        .arm(0x8010, &[BX_LR])
        .arm(0x8020, &[BX_LR])
        .arm(0x8030, &[NOP]);
    let config = unit(3, W8);
    // Three branches while the first address is being sent.
    let backlog = "BE*:80 A0:80 A0:82 BE:80 A0:10 A0*:10 BE*:20 A0:0 A0:0 BE*:30 A0:0 A0:0 IE:0";
    let want = ["on", "in A32", "8000E", "8010E", "8020E", "8030E"];
    assert_eq!(decoded(&config, &code, backlog), want);

    // The address before the first captured status belongs to another status.
    let late = "WT*:55 BE:0 A1:0 A0*:66 WT*:80 WT:80 WT:82 WT:80 WT:10 IE:0";
    assert_eq!(decoded(&config, &code, late), ["on", "in A32", "8000E"]);

    // An offset of 15 has no value, so the decoder cannot begin there.
    let large = "BE*:80 A3:80 A3:82 WT:80 WT:10 IE:0";
    assert!(decoded(&config, &code, large).is_empty());

    // A decoder that has counted all addresses does not need the offset.
    let counted = "BE*:80 A0:80 A0:82 WT:80 WT:10 BE*:10 A3:0 A3:0 BE*:20 A0:0 A0:0";
    assert_eq!(decoded(&config, &code, counted), want[..4]);
}

/// 5.6.1, 5.9: a branch status during the offset of another: the first branch did not happen, but
/// its address is sent.
#[test]
fn abandoned() {
    let code = Memory::default().arm(0x8000, &[BX_LR]).arm(0x8010, &[NOP]);
    let config = unit(3, W8);
    let on = "BE*:80 A0:80 A0:82 WT:80 WT:10";
    for twice in [
        // In the first cycle of the offset, and in the second.
        "BE*:7c BE*:10 A0:0 A0:0 IE:0",
        "BE*:7c A0:0 BE*:10 A0:0 A0:0 IE:0",
    ] {
        let cycles = std::format!("{on} {twice}");
        assert_eq!(decoded(&config, &code, &cycles), ["on", "in A32", "8000E", "8010E"], "{twice}");
    }
    // 5.9: a second start may replace a start after an overflow.
    let starts =
        std::format!("{on} BE*:80 A0:80 A0:82 WT:80 WT:20 BE*:90 A0:80 A0:82 WT:80 WT:20 IE:0");
    assert_eq!(decoded(&config, &code, &starts), ["on after overflow", "in A32", "8010E"]);
}

/// 5.9: the address of a branch is lost, and so are data.
#[test]
fn overflow() {
    let code = Memory::default().arm(0x8000, &[NOP, BX_LR]).arm(0x8010, &[LDR, NOP]);
    let config = unit(3, W8 | VALUES);
    let on = "BE*:80 A0:80 A0:82 WT:80 WT:10";
    let branch = std::format!(
        "{on} IE:0 BE:0 A0:0 A0:0 TD:0 BE*:90 A0:80 A0:82 WT:80 WT:20 ID:11 WT:22 WT:33 WT:44"
    );
    assert_eq!(
        decoded(&config, &code, &branch),
        [
            "on",
            "in A32",
            "8000E",
            "inconsistency: NoAddress",
            "on after overflow",
            "in A32",
            "8010E",
            "8010 r4 ?=44332211"
        ]
    );
    // Two bytes of the four are lost.
    let data = "BE*:90 A0:80 A0:82 WT:80 WT:20 ID:11 WT:22 BE*:94 A0:80 A0:82 WT:80 WT:20 IE:0";
    assert_eq!(
        decoded(&config, &code, data),
        [
            "on after overflow",
            "in A32",
            "8010E",
            "8010 r0 ?=? suppressed",
            "on after overflow",
            "in A32",
            "8014E"
        ]
    );
}

/// 4.5.3, 5.7: the instructions and data that exceptions withdraw.
#[test]
fn exceptions() {
    let svc = 0xef00_0000;
    let code = Memory::default().arm(0x8000, &[LDR, svc, NOP]);
    let start = "BE*:80 A0:80 A0:82 WT:80 WT:10";
    for (config, cycles, want) in [
        (
            unit(3, W8 | VALUES),
            "BD:11 A0:22 A0:33 WT:44 WT*:90 WT:80 WT:00",
            &["8000E", "exception 4 from 8000"][..],
        ),
        (unit(3, W8 | VALUES), "BE*:8c A0:80 A0:00", &["exception 3 from 8000"]),
        (unit(3, W8), "IE:0 BE*:88 A0:80 A0:00", &["8000E", "8004E", "exception 2 from 8008"]),
        (unit(3, W8), "IE:0 BE*:9c A0:80 A0:00", &["8000E", "exception 7 from 8004"]),
        (unit(3, W8), "IE:0 BE*:84 A0:80 A0:00", &["8000E", "8004E", "exception 1 from 8008"]),
        (unit(3, W8), "BE*:80 A0:80 A0:00", &["exception 0"]),
        (
            unit_with(3, W8, &[("HIVECS", 1)]),
            "BE*:98 A0:80 A0:fc WT:ff WT:0f",
            &["exception 6 from 8000"],
        ),
    ] {
        let cycles = std::format!("{start} {cycles}");
        assert_eq!(decoded(&config, &code, &cycles)[2..], *want, "{cycles}");
    }
}

/// 5.7.3, Table 5-2: the bytes of each kind of transfer.
#[test]
fn data() {
    let code = Memory::default().arm(
        0x8000,
        &[
            0xe1d2_00d0, // ldrsb r0, [r2]
            0xe8b2_8003, // ldmia r2!, {r0, r1, pc}
            0xe102_0091, // swp r0, r1, [r2]
            0xee11_0f10, // mrc p15, 0, r0, c1, c0, 0
            0xec51_0f10, // mrrc p15, 1, r0, r1, c0
            0xed92_0102, // ldc p1, c0, [r2, #8]
            NOP,
        ],
    );
    let on = "BE*:80 A0:80 A0:82 WT:80 WT:10";
    let load = "WT:84 WT:80 WT:80 WT:80 WT:02";
    let (words, more) = ("WT:01 WT:02 WT:03 WT:04", "WT:05 WT:06 WT:07 WT:08");
    let both = ADDRESSES | VALUES | W8;
    for (config, cycles, want) in [
        // 4.9.2: the loaded value is traced, not its sign extension.
        (unit(3, VALUES | W8), "ID:ab".into(), &["8000E", "8000 r1 ?=ab"][..]),
        (unit(3, both), std::format!("{load} WT:ab ID:0"), &["8000E", "8000 r1 20000004=ab"]),
        (unit(3, ADDRESSES | W8), std::format!("{load} ID:0"), &["8000E", "8000 r1 20000004=?"]),
        (
            unit(3, both),
            std::format!(
                "{load} ID:ab {load} {words} {more} WT:18 WT:80 WT:00 WT:00 BD*:18 A0:0 A0:0 IE:0"
            ),
            &[
                "8000E",
                "8000 r1 20000004=ab",
                "8004E",
                "8004 r4 20000004=4030201",
                "8004 r4 20000008=8070605 +",
                "8004 r4 2000000c=8018 +",
                "8018E",
            ],
        ),
    ] {
        let cycles = std::format!("{on} {cycles}");
        let got = decoded(&config, &code, &cycles);
        assert_eq!(got[2..], *want, "{cycles}");
    }
    // swp, mrc, mrrc, ldc, one after another.
    let on = "BE*:88 A0:80 A0:82 WT:80 WT:10";
    let cycles = std::format!(
        "{on} {load} {words} {more} ID:0 {words} ID:0 {words} {more} ID:0 WT:0c {words} {more} ID:0 IE:0"
    );
    let config = unit_with(3, both | CPRT, &[("LDCWORDS", 0x20)]);
    assert_eq!(
        decoded(&config, &code, &cycles)[2..],
        [
            "8008E",
            "8008 r4 20000004=4030201",
            "8008 w4 20000004=8070605 +",
            "800cE",
            "800c r4 ?=4030201 cp",
            "8010E",
            "8010 r4 ?=4030201 cp",
            "8010 r4 ?=8070605 cp +",
            "8014E",
            "8014 r4 2000000c=4030201",
            "8014 r4 20000010=8070605 +",
            "8018E",
        ]
    );
    // The length of the coprocessor load is unknown: its data are skipped up to the next address.
    let config = unit(3, both | CPRT);
    let got = decoded(&config, &code, &cycles);
    assert_eq!(got[got.len() - 3..], ["8014E", "8014 r4 2000000c=?", "8018E"]);

    let config = unit_with(3, both, &[("BIGEND", 1)]);
    let cycles = std::format!("{on} {load} {words} {more} ID:0");
    assert_eq!(decoded(&config, &code, &cycles)[3], "8008 r4 20000004=1020304 be");
}

/// 5.10: every cycle is counted once.
#[test]
fn cycles() {
    let code = Memory::default().arm(0x8000, &[NOP, 0x0a00_0000, BX_LR]).arm(0x8018, &[NOP]);
    let config = unit(3, W8 | CYCLES);
    let cycles = "BE*:80 A0:80 A0:82 WT:80 WT:10 TD:01 x3 IE:01 TR:07 IN:0 BE*:98 A0:80 TR:00 WT:0 TD:1 TD:1";
    assert_eq!(
        decoded(&config, &code, cycles),
        [
            "on",
            "in A32",
            "8000E/8",
            "trigger",
            "8004N/2",
            "1 cycles",
            "exception 6 from 8008",
            "trigger",
            "5 cycles"
        ]
    );
}

/// Before Thumb-2 a T32 BL is two instructions, and an exception may come between them.
#[test]
fn thumb() {
    // 8000 nop; 8002 bl 8010; 8006 nop ... 8010 nop; 8012 bx lr
    let code = Memory::default()
        .thumb(0x8000, &[0x46c0, 0xf000, 0xf805, 0x46c0])
        .thumb(0x8010, &[0x46c0, 0x4770])
        .arm(0x18, &[0xe25e_f004]);
    let config = unit(3, W8);
    let on = "BE*:81 A0:80 A0:82 WT:80 WT:10";
    for (cycles, want) in [
        ("IE:0 IE:0 IE:0 IE:0", &["t8000E", "t8002E", "t8010E"][..]),
        // The branch address is traced, too; then a return to 8006.
        (
            "IE:0 IE:0 BE*:11 A0:0 A0:0 IE:0 BE*:07 A0:0 A0:0 IE:0",
            &["t8000E", "t8002E", "t8010E", "t8012E", "t8006E"],
        ),
        // An interrupt between the halves, and a return to the second.
        (
            "IE:0 IE:0 BE*:98 A0:80 A0:00 BE*:85 A0:80 A0:02 IE:0 IE:0",
            &["t8000E", "t8002E", "exception 6 from 8004", "18E", "t8004E", "t8010E"],
        ),
    ] {
        let cycles = std::format!("{on} {cycles}");
        assert_eq!(decoded(&config, &code, &cycles)[2..], *want, "{cycles}");
    }
}

/// 5.5.3, 5.11: byte codes cannot be followed, but their first and next addresses are known.
#[test]
fn jazelle() {
    let code = Memory::default().arm(0x8000, &[NOP, 0xe12f_ff2e]).arm(0x9000, &[NOP]);
    let config = unit(3, W8);
    let on = "BE*:80 A0:80 A0:82 WT:80 WT:10";
    let cycles = std::format!(
        "{on} IE:0 BE*:c5 A0:c6 A0:84 WT:80 WT:80 IE:0 ID:0 IE:0 BE*:50 A0:0 A0:0 IE:0 \
         BE*:80 A0:a0 A0:82 WT:80 WT:00 IE:0"
    );
    assert_eq!(
        decoded(&config, &code, &cycles)[2..],
        [
            "8000E",
            "8004E",
            "inconsistency: UnsupportedIsa",
            "unknown 12345 to 12350",
            "unknown 12350 to 9000",
            "9000E"
        ]
    );
}

/// After missing code, decoding continues at the next address.
#[test]
fn no_code() {
    let code = Memory::default().arm(0x8000, &[BX_LR]).arm(0x8010, &[LDR]);
    let config = unit(3, W8 | ADDRESSES | VALUES);
    let on = "BE*:80 A0:80 A0:82 WT:80 WT:10";
    let cycles = std::format!(
        "{on} BE*:80 A0:a0 A0:00 IE:0 ID:84 WT:80 WT:80 WT:80 WT:02 WT:55 WT:66 BE*:90 A0:80 A0:02 \
         ID:08 WT:11 WT:22 WT:33 WT:44"
    );
    assert_eq!(
        decoded(&config, &code, &cycles)[2..],
        [
            "8000E",
            "no code at 1000",
            "? x0 20000004=?",
            "8010E", // A data address may be among the skipped bytes.
            "8010 r4 ?=44332211"
        ]
    );
}

/// Random records cause no panic, and decode alike for any cut.
#[test]
fn garbage() {
    let code = Memory::default().arm(0, &[LDR, BX_LR, NOP, NOP, NOP, NOP, NOP, NOP]);
    port_tests::random_records::<Etmv1>(|minor, control| unit(minor & 3, control), &code);
}
