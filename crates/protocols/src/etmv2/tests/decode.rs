//! Decoding of cycles that were written by hand from IHI 0014, chapter 6.

use std::format;

use super::*;

const NOP: u32 = 0xe1a0_0000;
const BX_LR: u32 = 0xe12f_ff1e;
/// `beq` to the instruction after the next
const BEQ: u32 = 0x0a00_0000;
/// `ldr r0, [r2]`
const LDR: u32 = 0xe592_0000;
/// `ldmia r2!, {r0, pc}`
const LDM_PC: u32 = 0xe8b2_8001;

/// A TFO packet on an 8-bit port with an empty FIFO, while the processor waits.
fn on(address: u32) -> String {
    let [a, b, c, d] = address.to_le_bytes();
    format!("TD:09 WT:20 WT:{a:02x} WT:{b:02x} WT:{c:02x} WT:{d:02x}")
}

/// The same trace on each port width decodes alike.
#[test]
fn widths() {
    let code = Memory::default()
        .arm(0x8000, &[LDR, BEQ, NOP, LDR, NOP, LDM_PC])
        .arm(0x8100, &[NOP, BEQ, NOP]);
    let want = [
        "on",
        "in A32 id 2a",
        "8000E",
        "8000 r4 20000004=44332211",
        "8004N",
        "8008E",
        "800cE",
        "8010E",
        "8014E",
        "8014 r4 ?=? untraced",
        "8100E",
        "800c r4 20000008=1234 late",
        "8104N",
        "exception 6 from 8108",
    ];
    let runs = [
        (
            W8,
            "TD:09 DE:20 PNIE:2a DE:00 IE:80 DE:00 WT:00 WT:2e WT:84 TD:d9 DW:80 IN:80 DN:80 WT:02 WT:11 WT:22 \
             WT:33 WT:44 WT:74 WT:08 WT:ea WT:81 WT:01 WT:00 WT:2a WT:00 WT:81 WT:00 WT:00 WT:28 WT:34 WT:12 \
             WT:8d WT:80 WT:80 WT:80 WT:48 TD:07",
        ),
        (
            W16,
            "TD:0009 DE:2a20 PNIE:8000 DE:0000 IE:842e DE:8080 WT:0280 WT:2211 WT:4433 TD:0059 DW:0874 IN:81ea \
             DN:0001 WT:002a WT:0081 WT:2800 WT:1234 WT:808d WT:8080 WT:6648 TD:0007",
        ),
        (
            W4,
            "TD:9 DE:0 PNIE:0 DE:2 IE:a DE:2 WT:0 WT:0 WT:0 TD:b DW:2 IN:6 DN:8 WT:0 WT:0 WT:0 WT:0 WT:e WT:2 WT:4 \
             WT:8 WT:0 WT:8 WT:0 WT:8 WT:0 WT:8 WT:2 WT:0 WT:1 WT:1 WT:2 WT:2 WT:3 WT:3 WT:4 WT:4 WT:4 WT:7 WT:8 \
             WT:0 WT:a WT:e WT:1 WT:8 WT:1 WT:0 WT:0 WT:0 WT:a WT:2 WT:0 WT:0 WT:1 WT:8 WT:0 WT:0 WT:0 WT:0 WT:8 \
             WT:2 WT:4 WT:3 WT:2 WT:1 WT:d WT:8 WT:0 WT:8 WT:0 WT:8 WT:0 WT:8 WT:8 WT:4 TD:7",
        ),
    ];
    for (width, cycles) in runs {
        let config = unit(0, width | ADDRESSES | VALUES | CONTEXT1);
        assert_eq!(decoded(&config, &code, cycles), want, "{cycles}");
    }
}

/// Table 6-5: an offset between two nibbles, for a decoder that starts there and one that is
/// synchronised already.
#[test]
fn table_6_5() {
    let code = Memory::default()
        .arm(0x8000, &[LDR, NOP])
        .arm(0x8008, &[NOP, NOP, NOP, BEQ, BX_LR])
        .arm(0x8010, &[NOP, NOP, NOP, BEQ]);
    let config = unit(0, W4 | VALUES);
    let table = "IE:c WT:b TD:9 IE:1 WT:6 IN:a DN:0";
    let rest = "WT:0 WT:0 WT:1 WT:0 WT:8 WT:0 WT:0 WT:0 WT:0 WT:1 WT:1";
    // 8010 is the instruction of the offset, 8014 the one in the cycle of its second half. Then one
    // instruction fails its condition, and another one in a cycle with a branch to 8020.
    let fresh = format!("DE:d {table} {rest}");
    let want = ["on", "in A32", "8010E", "8014E", "8018N", "801cN"];
    assert_eq!(decoded(&config, &code, &fresh), want);
    // The data belong to a load at 8008. The instruction before the offset is at 800c.
    let code = code.arm(0x8000, &[NOP, NOP, LDR, NOP]);
    let synced = format!(
        "TD:9 WT:0 WT:0 WT:2 WT:8 WT:0 WT:0 WT:8 WT:0 WT:0 WT:0 WT:0 DE:6 IE:0 WT:b TD:9 IE:1 WT:6 IN:a DN:0 {rest}"
    );
    assert_eq!(
        decoded(&config, &code, &synced),
        ["on", "in A32", "8008E", "8008 r4 ?=ab", "800cE", "8010E", "8014E", "8018N", "801cN"]
    );
    // Without the padding the statuses and the FIFO output are inconsistent.
    let wrong = synced.replace("WT:6 IN:a", "WT:7 IN:a");
    let got = decoded(&config, &code, &wrong);
    assert!(got.iter().any(|word| word == "inconsistency: Unexpected"));
}

/// 6.3: the groups of packets follow each other, in the order of their cycles.
#[test]
fn groups_of_packets() {
    let code = Memory::default().arm(0x8000, &[LDR, LDR, LDR, NOP]);
    let config = unit(0, W8 | VALUES);
    let cycles = format!("{} DE:06 DE:11 DE:0a IE:22 WT:33 WT:02", on(0x8000));
    assert_eq!(
        decoded(&config, &code, &cycles)[2..],
        ["8000E", "8000 r4 ?=11", "8004E", "8004 r4 ?=3322", "8008E", "8008 r4 ?=0", "800cE",]
    );
    // The FIFO is not empty while packets are outstanding, and is empty otherwise.
    for cycles in ["DE:06 TD:00", "IE:00 WT:11"] {
        let cycles = format!("{} {cycles}", on(0x8000));
        assert_eq!(decoded(&config, &code, &cycles).last().unwrap(), "inconsistency: Unexpected");
    }
}

/// 4.5.3, 6.1.5, 6.8.1: the instructions and data that exceptions withdraw.
#[test]
fn exceptions() {
    let code = Memory::default().arm(0x8000, &[LDR, 0xef00_0000, NOP]);
    let values = unit(0, W8 | VALUES);
    let irq = "8d WT:80 WT:80 WT:80 WT:48";
    for (config, cycles, want) in [
        (values, format!("DE:86 WT:11 WT:{irq}"), &["exception 6 from 8000"][..]),
        // A branch packet in a cycle without an instruction belongs to the last instruction.
        (values, format!("IE:0 IE:0 DW:{irq}"), &["8000E", "exception 6 from 8004"]),
        (
            values,
            "IE:0 DE:85 WT:80 WT:80 WT:80 WT:08".into(),
            &["8000E", "8004E", "exception 2 from 8008"],
        ),
        // A precise data abort: the instruction executed, and the loaded data are not valid.
        (
            values,
            "DE:86 WT:11 WT:89 WT:80 WT:80 WT:80 WT:08".into(),
            &["8000E", "exception 4 from 8000"],
        ),
        // An imprecise data abort, ETMv2.1: it cancels the instruction.
        (
            unit(1, W8 | VALUES),
            "DE:86 WT:11 WT:89 WT:80 WT:80 WT:80 WT:48".into(),
            &["exception 4 from 8000"],
        ),
        (
            unit_with(0x4100_2100, W8, &[("HIVECS", 1)]),
            "DN:8d WT:80 WT:fe WT:ff WT:4f".into(),
            &["exception 6 from 8000"],
        ),
    ] {
        let cycles = format!("{} {cycles}", on(0x8000));
        assert_eq!(decoded(&config, &code, &cycles)[2..], *want, "{cycles}");
    }
}

/// 6.4.2, 6.4.4, 6.8: transfers of each kind.
#[test]
fn data() {
    let code = Memory::default()
        .arm(0x8000, &[0xe8b2_0007, 0xe102_0091, 0xee11_0f10, NOP]) // ldm 3; swp; mrc
        .arm(0x9000, &[LDM_PC]);
    let config = unit(0, W8 | VALUES | ADDRESSES | 2);
    // Of three words the first and the third are traced.
    let cycles = format!(
        "{} DE:26 WT:84 WT:80 WT:80 WT:80 WT:02 WT:11 DW:6a DW:06 WT:33 DE:a6 WT:08 WT:44 WT:06 WT:55 DE:06 WT:66",
        on(0x8000)
    );
    assert_eq!(
        decoded(&config, &code, &cycles)[2..],
        [
            "8000E",
            "8000 r4 20000004=11",
            "8000 r4 20000008=? + untraced",
            "8000 r4 2000000c=33 +",
            "8004E",
            "8004 r4 20000008=44",
            "8004 w4 20000008=55 +",
            "8008E",
            "8008 r4 ?=66 cp",
        ]
    );
    // ETMIDR[16]: the PC is read first, from the highest address.
    let first = unit_with(0x4101_2110, W8 | VALUES | ADDRESSES, &[]);
    let cycles =
        format!("{} DE:a6 WT:84 WT:80 WT:80 WT:80 WT:02 WT:11 WT:06 WT:22 DW:01", on(0x9000));
    assert_eq!(
        decoded(&first, &code, &cycles)[2..],
        ["9000E", "9000 r4 20000004=11", "9000 r4 20000000=22 +"]
    );
}

/// 6.4.3: late values in any order. Two values of one tag are one value of 64 bits.
#[test]
fn out_of_order() {
    let code = Memory::default().arm(0x8000, &[LDR, 0xe1c2_00d0, NOP, NOP, NOP]); // ldr; ldrd
    let config = unit(0, W8 | VALUES);
    let cycles = format!(
        "{} DE:70 DE:fc WT:5c IE:0 DW:e4 WT:11 WT:64 WT:22 DW:04 WT:33 DW:24 WT:44 IE:0",
        on(0x8000)
    );
    assert_eq!(
        decoded(&config, &code, &cycles)[2..],
        [
            "8000E",
            "8004E",
            "8008E",
            "8004 r4 ?=11 late",
            "8004 r4 ?=22 + late",
            "8000 r4 ?=33 late",
            // The value of tag 1 has no placeholder and is ignored.
            "800cE",
        ]
    );
    // An overflow: the late value may still come. Here it does not.
    let cycles = format!("{} DE:70 {}", on(0x8000), on(0x8008).replace(":20", ":40"));
    assert_eq!(
        decoded(&config, &code, &cycles)[2..],
        ["8000E", "on after overflow", "in A32", "8000 r4 ?=? late"]
    );
}

/// 6.5.5: tracing starts while a load multiple is in progress.
#[test]
fn in_progress() {
    let code = Memory::default().arm(0x8000, &[0xe8b2_0003, NOP, NOP]);
    let config = unit(0, W8 | VALUES);
    // Another instruction runs beside it.
    let cycles = "TD:09 WT:a0 WT:00 WT:80 WT:00 WT:00 WT:03 DE:06 WT:11 IE:0";
    assert_eq!(decoded(&config, &code, cycles)[2..], ["8000E", "8004E", "8000 r4 ?=11", "8008E"]);
    // No instruction runs beside it: its data, then a branch to the next instruction.
    let cycles = format!("{} DW:86 WT:11 WT:03 IE:0", on(0x8000));
    assert_eq!(decoded(&config, &code, &cycles)[2..], ["8000 r4 ?=11", "8004E"]);
}

/// 6.5.1: a periodic offset and its packet are checked against the program and the FIFO.
#[test]
fn periodic() {
    let code = Memory::default().arm(0x8000, &[NOP, NOP, NOP, NOP]);
    let config = unit(0, W8 | CYCLES | CONTEXT1);
    let at =
        |address: u8, id: u8| format!("TD:09 WT:00 WT:{id:02x} WT:{address:02x} WT:80 WT:00 WT:00");
    let start = "TD:09 WT:20 WT:2a WT:00 WT:80 WT:00 WT:00";
    let good = format!("{start} IE:0 {} IE:0 TD:07", at(4, 0x2a));
    assert_eq!(
        decoded(&config, &code, &good),
        ["on", "in A32 id 2a", "8000E/7", "8004E/1", "8008E/7", "1 cycles"]
    );
    let other = format!("{start} IE:0 {} IE:0", at(8, 0x2b));
    assert_eq!(
        decoded(&config, &code, &other)[3..],
        ["inconsistency: AddressNotReached", "in A32 id 2b", "8008E/1", "800cE/7"]
    );
    // A lost status has left bytes in the FIFO.
    let more = format!("{start} IE:0 TD:19 WT:ff {} IE:0", &at(4, 0x2a)[6..]);
    assert_eq!(
        decoded(&config, &code, &more)[2..],
        ["8000E/7", "inconsistency: Unexpected", "on", "in A32 id 2a", "8004E/1", "8008E/8"]
    );
}

/// 6.1.7, 6.5.1 "Trigger considerations": a trigger in the cycle of an offset defers the offset.
#[test]
fn triggers() {
    let code = Memory::default().arm(0x8000, &[NOP, NOP, NOP]);
    let w8 = "TR:07 IE:09 WT:20 WT:00 WT:80 WT:00 WT:00 IE:0";
    assert_eq!(decoded(&unit(0, W8), &code, w8), ["trigger", "on", "in A32", "8000E", "8004E"]);
    let w4 = "TR:7 IE:9 IE:0 WT:0 WT:2 WT:0 WT:0 WT:0 TR:4 WT:8 WT:0 WT:0 WT:0 WT:0 IE:0";
    let got = decoded(&unit(0, W4), &code, w4);
    assert_eq!(got.iter().filter(|word| *word == "trigger").count(), 2);
    assert_eq!(got.iter().filter(|word| word.ends_with('E')).count(), 3);
    // In the second half of an offset.
    let w4 = "TD:9 TR:0 IE:0 WT:0 WT:2 WT:0 WT:0 WT:0 WT:8 WT:0 WT:0 WT:0 WT:0 IE:0";
    let got = decoded(&unit(0, W4), &code, w4);
    assert_eq!(got, ["on", "in A32", "trigger", "8000E", "8004E", "8008E"]);
}

/// 6.6: decoding continues after missing code.
#[test]
fn no_code() {
    let code = Memory::default().arm(0x8000, &[LDR, BX_LR]).arm(0x9000, &[LDR, NOP]);
    let config = unit(0, W8 | VALUES | ADDRESSES);
    let cycles = format!(
        "{} IE:0 DE:81 WT:a0 WT:00 IE:0 DE:26 WT:84 WT:80 WT:80 WT:80 WT:02 WT:11 DE:81 WT:90 WT:01 DE:26 WT:08 WT:22 IE:0",
        on(0x8000)
    );
    assert_eq!(
        decoded(&config, &code, &cycles)[2..],
        [
            "8000E",
            "8004E",
            "no code at 2000",
            "? x0 20000004=11",
            "9000E",
            "9000 r4 20000008=22",
            "9004E",
        ]
    );
}

/// Before Thumb-2 a T32 BL is two instructions.
#[test]
fn thumb() {
    let code = Memory::default()
        .thumb(0x8000, &[0x46c0, 0xf000, 0xf805, 0x46c0])
        .thumb(0x8010, &[0x46c0, 0x4770])
        .arm(0x18, &[0xe25e_f004]);
    let config = unit(0, W8);
    // An interrupt cancels the second half, which then runs again.
    let cycles = format!(
        "{} IE:0 IE:0 DN:8d WT:80 WT:80 WT:80 WT:48 DE:85 WT:80 WT:82 WT:80 WT:10 IE:0 IE:0",
        on(0x8001)
    );
    let got = decoded(&config, &code, &cycles);
    let want = ["t8000E", "t8002E", "exception 6 from 8004", "18E", "t8004E", "t8010E"];
    assert_eq!(got[2..], want, "{got:?}");
}

/// Random records cause no panic, and decode alike for any cut.
#[test]
fn garbage() {
    let code = Memory::default().arm(0, &[LDR, BX_LR, NOP, NOP, NOP, NOP, NOP, NOP]);
    port_tests::random_records::<Etmv2>(|minor, control| unit(minor & 1, control), &code);
}
