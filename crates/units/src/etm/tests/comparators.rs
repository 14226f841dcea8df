//! IHI 0014, 2.7 and 2.8: Tables 2-4 to 2-9 and 2-11 to 2-13, and the figures of 2.7.2 and 2.7.3.

use crate::etm::model::{
    DataOutcome, DataResult, Inputs, Instruction, Item, Model, Transfer, Tri, data_result,
    value_equal,
};
use crate::etm::resources::Resources;
use crate::etm::settings::{AccessType, Comparator, DataMatch, Settings, number};
use crate::etm::version::Version;

/// ETMACTR of accesses.
const EXECUTE: u32 = 0x19;
const BYTE: u32 = 0x04;
const HALFWORD: u32 = 0x0c;
const WORD: u32 = 0x1c;
const EXACT: u32 = 1 << 7;

fn model(version: Version, comparators: &[(u32, u32)]) -> Model {
    let mut settings = Settings::new(Resources::largest(version));
    let others = [(0, 0); 16];
    for (n, (address, kind)) in (0..16).zip(comparators.iter().chain(&others)) {
        settings.set(number::ADDRESS + n, *address);
        settings.set(number::ACCESS_TYPE + n, *kind);
    }
    settings.set(number::CONTROL, 0);
    Model::new(settings)
}

fn observe(model: &mut Model, item: Item) -> (u16, u8) {
    model.begin_cycle(&Inputs::default());
    let _ = model.item(&item);
    let matches = model.matches();
    assert_eq!((matches.maybe_single, matches.maybe_ranges), (0, 0));
    (matches.single, matches.ranges)
}

fn load(address: u32, size: u8) -> Transfer {
    Transfer { address, size, value: Some(0), store: Some(false), ..Transfer::default() }
}

/// Table 2-4. In Jazelle state and for fetches the bit has another meaning, or none.
#[test]
fn table_2_4() {
    for (exact, cancelled, matches) in
        [(false, true, true), (false, false, true), (true, true, false), (true, false, true)]
    {
        let kind = EXECUTE | if exact { EXACT } else { 0 };
        for version in Version::ALL.into_iter().filter(|v| *v >= Version::V2_0) {
            let mut model = model(version, &[(0x8000, kind)]);
            let instruction =
                Instruction { address: 0x8000, cancelled, passed: true, ..Instruction::default() };
            let (single, _) = observe(&mut model, Item::Instruction(instruction));
            assert_eq!(single & 1 != 0, matches, "{version} {exact} {cancelled}");
        }
    }
    // Fetches ignore the bit.
    let mut model = model(Version::V3_3, &[(0x8000, 0x18 | EXACT)]);
    let instruction = Instruction { address: 0x8000, cancelled: true, ..Instruction::default() };
    assert_eq!(observe(&mut model, Item::Instruction(instruction)).0, 1);
}

/// Tables 2-5 and 2-6: mode, exact match, and the results for a failed transfer, for an equal and
/// for a different value.
#[test]
fn tables_2_5_and_2_6() {
    use DataMatch::{Equal, NotEqual, Off};
    let outcomes = [DataOutcome::Failed, DataOutcome::Equal, DataOutcome::NotEqual];
    let normal = [
        (Off, false, [1, 1, 1]),
        (Off, true, [0, 1, 1]),
        (Equal, false, [1, 1, 0]),
        (Equal, true, [0, 1, 0]),
        (NotEqual, false, [1, 0, 1]),
        (NotEqual, true, [0, 0, 1]),
    ];
    for (mode, exact, row) in normal {
        for (outcome, want) in outcomes.into_iter().zip(row) {
            let got = data_result(mode, exact, outcome, false, Version::V3_4);
            assert_eq!(got, DataResult::Now(want == 1), "{mode:?} {exact} {outcome:?}");
        }
    }
    let out_of_order = [
        (Off, false, [1, 1, 1]),
        (Off, true, [0, 1, 1]),
        (Equal, false, [1, 1, 1]),
        (Equal, true, [0, 1, 0]),
        (NotEqual, false, [1, 1, 1]),
        (NotEqual, true, [0, 0, 1]),
    ];
    for (mode, exact, row) in out_of_order {
        for (outcome, want) in outcomes.into_iter().zip(row) {
            for version in [Version::V3_0, Version::V3_1] {
                // Footnote d: to ETMv3.0 the result without a comparison is immediate, and 1.
                let want = match (exact, mode, version) {
                    (false, ..) => DataResult::Now(want == 1),
                    (true, Off, Version::V3_0) => DataResult::Now(true),
                    _ => DataResult::Waits(want == 1),
                };
                let got = data_result(mode, exact, outcome, true, version);
                assert_eq!(got, want, "{mode:?} {exact} {outcome:?} {version}");
            }
        }
    }
}

/// Table 2-7: single address comparators fire. Tables 2-8 and 2-9: ranges hold their state, but
/// with exact match from ETMv3.3.
#[test]
fn tables_2_7_to_2_9() {
    for version in Version::ALL.into_iter().filter(|v| *v >= Version::V2_0) {
        for exact in [false, true] {
            for data in [false, true] {
                let kind = if data { WORD } else { EXECUTE } | if exact { EXACT } else { 0 };
                let mut model = model(version, &[(0x8000, kind), (0x8010, kind)]);
                let item = match data {
                    true => Item::Data(load(0x8000, 4)),
                    false => Item::Instruction(Instruction {
                        address: 0x8000,
                        passed: true,
                        ..Instruction::default()
                    }),
                };
                assert_eq!(observe(&mut model, item), (1, 1));
                let _ = model.end_cycle();
                let held = !exact || version < Version::V3_3;
                let matches = model.matches();
                let got = (matches.single, matches.ranges);
                assert_eq!(got, (0, u8::from(held)), "{version} exact {exact} data {data}");
            }
        }
    }
}

/// Figures 2-15 to 2-19: the size masks the low bits of the address, to ETMv3.0.
#[test]
fn sizes_to_etmv3_0() {
    for version in Version::ALL.into_iter().filter(|v| *v <= Version::V3_0) {
        for (comparator, access, matches) in [
            ((0x1000, WORD), (0x1003, 1), true),
            ((0x1000, WORD), (0x1000, 4), true),
            ((0x1003, BYTE), (0x1003, 1), true),
            ((0x1000, WORD), (0x1002, 1), true),
            ((0x1003, BYTE), (0x1000, 4), false),
            ((0x1002, HALFWORD), (0x1003, 1), true),
            ((0x1002, HALFWORD), (0x1001, 1), false),
        ] {
            let mut model = model(version, &[comparator]);
            let (single, _) = observe(&mut model, Item::Data(load(access.0, access.1)));
            assert_eq!(single == 1, matches, "{version} {comparator:x?} {access:x?}");
        }
        // Figures 2-20 and 2-21: a range compares the address of the access only.
        for (low, access, matches) in
            [(0x1000, 0x1000, true), (0x1002, 0x1000, false), (0x1002, 0x1004, true)]
        {
            let mut model = model(version, &[(low, HALFWORD), (0x1006, HALFWORD)]);
            let (_, ranges) = observe(&mut model, Item::Data(load(access, 4)));
            assert_eq!(ranges == 1, matches, "{version} {low:x} {access:x}");
        }
    }
}

/// Figures 2-13 and 2-14: any byte of the access, from ETMv3.1.
#[test]
fn sizes_from_etmv3_1() {
    for version in Version::ALL.into_iter().filter(|v| *v >= Version::V3_1) {
        for (comparator, access, matches) in [
            ((0x1000, WORD), (0x1003, 1), true),
            ((0x1000, WORD), (0x0ffe, 4), true),
            ((0x1000, WORD), (0x1004, 4), false),
            ((0x1003, BYTE), (0x1000, 4), true),
            ((0x1003, BYTE), (0x1002, 1), false),
            ((0x1002, HALFWORD), (0x1003, 2), true),
            ((0x1002, HALFWORD), (0x1004, 2), false),
        ] {
            let mut model = model(version, &[comparator]);
            let (single, _) = observe(&mut model, Item::Data(load(access.0, access.1)));
            assert_eq!(single == 1, matches, "{version} {comparator:x?} {access:x?}");
        }
        for (access, matches) in [
            ((0x1000, 4), true),
            ((0x1002, 2), true),
            ((0x1002, 1), false),
            ((0x1007, 2), true),
            ((0x1008, 1), false),
            ((0x1008, 4), false),
        ] {
            let mut model = model(version, &[(0x1003, BYTE), (0x1008, BYTE)]);
            let (_, ranges) = observe(&mut model, Item::Data(load(access.0, access.1)));
            assert_eq!(ranges == 1, matches, "{version} {access:x?}");
        }
    }
}

/// 3.5.10: a range that includes the last address.
#[test]
fn last_address() {
    for (kind, matches) in [(BYTE, false), (WORD, true)] {
        let mut model = model(Version::V3_3, &[(0xffff_fff0, BYTE), (0xffff_ffff, kind)]);
        let (_, ranges) = observe(&mut model, Item::Data(load(0xffff_ffff, 1)));
        assert_eq!(ranges == 1, matches);
        let (_, ranges) = observe(&mut model, Item::Data(load(0xffff_fffe, 1)));
        assert_eq!(ranges, 1);
    }
}

fn compare(
    version: Version,
    at: u32,
    kind: u32,
    data: (u32, u32),
    t: &Transfer,
    range: bool,
) -> Tri {
    let comparator =
        Comparator { address: at, kind: AccessType(kind), data: Some((data.1, data.0)) };
    value_equal(comparator, t, range, version)
}

/// Tables 2-11, 2-12 and 2-13: address, endianness, mask and value for a byte 0xab.
#[test]
fn tables_2_11_to_2_13() {
    type Row = (u32, bool, u32, u32);
    let rows: [(&[Version], [Row; 3]); 3] = [
        (
            &[Version::V1_0, Version::V1_3],
            [
                (0x1000, false, 0xffff_ff00, 0x0000_00ab),
                (0x1002, false, 0xff00_ffff, 0x00ab_0000),
                (0x1002, true, 0xffff_00ff, 0x0000_ab00),
            ],
        ),
        (
            &[Version::V2_0, Version::V3_2],
            [
                (0x1000, false, 0xffff_ff00, 0x0000_00ab),
                (0x1002, false, 0xffff_ff00, 0x0000_00ab),
                (0x1002, true, 0xffff_ff00, 0x0000_00ab),
            ],
        ),
        (
            &[Version::V3_3, Version::V3_5],
            [
                (0x1000, false, 0, 0xabab_abab),
                (0x1002, false, 0, 0xabab_abab),
                (0x1002, true, 0, 0xabab_abab),
            ],
        ),
    ];
    for (versions, rows) in rows {
        for version in versions {
            for (address, big_endian, mask, value) in rows {
                for (byte, want) in [(0xab, Tri::Yes), (0xac, Tri::No)] {
                    let transfer = Transfer { value: Some(byte), big_endian, ..load(address, 1) };
                    let got = compare(*version, address, BYTE, (mask, value), &transfer, false);
                    assert_eq!(got, want, "{version} {address:x} {big_endian}");
                    if *version >= Version::V2_0 {
                        let got = compare(*version, 0x1000, BYTE, (mask, value), &transfer, true);
                        assert_eq!(got, want, "{version} {address:x} in a range");
                    }
                }
            }
        }
    }
}

/// 2.8.3: which accesses match, by comparison size. The bytes in memory from 0x1000 on are
/// 0x10, 0x11, 0x12, 0x13 ...
#[test]
fn value_sizes_from_etmv3_3() {
    let at = |address: u32, size: u8, big_endian: bool| {
        let bytes = (0..u32::from(size)).map(|n| (address + n) & 0xff | 0x10);
        let value = match big_endian {
            false => bytes.enumerate().fold(0, |all, (n, byte)| all | byte << (8 * n)),
            true => bytes.fold(0, |all, byte| all << 8 | byte),
        };
        Transfer { value: Some(value), big_endian, ..load(address, size) }
    };
    for big_endian in [false, true] {
        let half = if big_endian { 0x1213_1213 } else { 0x1312_1312 };
        let word = if big_endian { 0x1011_1213 } else { 0x1312_1110 };
        for (kind, address, value, access, matches) in [
            // Byte: each access that overlaps it.
            (BYTE, 0x1002, 0x1212_1212, (0x1002, 1), true),
            (BYTE, 0x1002, 0x1212_1212, (0x1002, 2), true),
            (BYTE, 0x1002, 0x1212_1212, (0x1001, 2), true),
            (BYTE, 0x1002, 0x1212_1212, (0x1000, 4), true),
            (BYTE, 0x1002, 0x1212_1212, (0x1003, 1), false),
            // Halfword: aligned accesses of at least a halfword.
            (HALFWORD, 0x1002, half, (0x1002, 2), true),
            (HALFWORD, 0x1002, half, (0x1000, 4), true),
            (HALFWORD, 0x1002, half, (0x1001, 4), false),
            (HALFWORD, 0x1002, half, (0x1002, 1), false),
            // Word: the same word only.
            (WORD, 0x1000, word, (0x1000, 4), true),
            (WORD, 0x1000, word, (0x1000, 2), false),
            (WORD, 0x1000, word, (0x1001, 4), false),
        ] {
            let transfer = at(access.0, access.1, big_endian);
            let got = compare(Version::V3_3, address, kind, (0, value), &transfer, false);
            assert_eq!(got == Tri::Yes, matches, "{kind:x} {access:x?} big {big_endian}");
        }
        // A range: the size must be that of the comparison.
        for (kind, value, access, matches) in [
            (BYTE, 0x1212_1212, (0x1002, 1), true),
            (BYTE, 0x1212_1212, (0x1002, 2), false),
            (BYTE, 0x1212_1212, (0x1000, 4), false),
            (HALFWORD, half, (0x1002, 2), true),
            (HALFWORD, half, (0x1000, 4), false),
            (WORD, word, (0x1000, 4), true),
        ] {
            let transfer = at(access.0, access.1, big_endian);
            let got = compare(Version::V3_3, 0x1000, kind, (0, value), &transfer, true);
            assert_eq!(got == Tri::Yes, matches, "{kind:x} {access:x?} big {big_endian}");
        }
    }
}

/// 2.8.2: to ETMv3.2 bits that a small access does not have are compared with anything.
#[test]
fn small_accesses_to_etmv3_2() {
    let transfer = Transfer { value: Some(0xab), ..load(0x2000, 1) };
    for (mask, value, want) in
        [(0, 0xab, Tri::Maybe), (0, 0xac, Tri::No), (0xffff_ff00, 0xab, Tri::Yes)]
    {
        for version in [Version::V2_0, Version::V3_2] {
            assert_eq!(compare(version, 0x2000, WORD, (mask, value), &transfer, false), want);
        }
    }
}
