//! IHI 0014, Tables 3-3, 3-4, 3-5, 3-10, 3-13, 3-14, 3-27, 3-46 and 3-48, and what 3.4 and 3.5
//! state about resets.

use crate::etm::registers::{AfterReset, KINDS, Kind, Reset, State, is_management, numbered};
use crate::etm::settings;
use crate::etm::version::Version;
use crate::register::Access;

fn kind(number: u16) -> &'static Kind {
    numbered(number).unwrap().0
}

/// Table 3-3: first and last number, step, first version, and the access types: `wo` is write-only
/// and read/write where ETMCCER bit 11 is set.
const TABLE_3_3: &[(u16, u16, u16, &str, &str)] = &[
    (0x000, 0x000, 1, "1.0", "rw"),
    (0x001, 0x001, 1, "1.0", "ro"),
    (0x002, 0x002, 1, "1.0", "wo"),
    (0x003, 0x003, 1, "1.0", "wo"),
    (0x004, 0x004, 1, "1.1", "ro, rw from 3.1"),
    (0x005, 0x005, 1, "1.2", "ro"),
    (0x006, 0x006, 1, "1.2", "wo"),
    (0x007, 0x007, 1, "1.2", "wo"),
    (0x008, 0x008, 1, "1.0", "wo"),
    (0x009, 0x009, 1, "1.0", "wo"),
    (0x00a, 0x00a, 1, "1.0", "wo"),
    (0x00b, 0x00b, 1, "1.0", "only wo, rw from 2.0"),
    (0x00c, 0x00c, 1, "1.0", "wo"),
    (0x00d, 0x00d, 1, "1.0", "wo"),
    (0x00e, 0x00e, 1, "1.0", "wo"),
    (0x00f, 0x00f, 1, "1.0", "wo"),
    (0x010, 0x01f, 1, "1.0", "wo"),
    (0x020, 0x02f, 1, "1.0", "wo"),
    (0x030, 0x03e, 2, "1.0", "wo"),
    (0x040, 0x04e, 2, "1.0", "wo"),
    (0x050, 0x053, 1, "1.0", "wo"),
    (0x054, 0x057, 1, "1.0", "wo"),
    (0x058, 0x05b, 1, "1.0", "wo"),
    (0x05c, 0x05f, 1, "1.0", "ro, rw from 3.1"),
    (0x060, 0x065, 1, "1.0", "wo"),
    (0x067, 0x067, 1, "1.0", "ro, rw from 3.1"),
    (0x068, 0x06b, 1, "1.0", "wo"),
    (0x06c, 0x06e, 1, "2.0", "wo"),
    (0x06f, 0x06f, 1, "2.0", "wo"),
    (0x070, 0x077, 1, "2.0", "wo"),
    (0x078, 0x078, 1, "2.0", "wo or ro"),
    (0x079, 0x079, 1, "2.0", "ro"),
    (0x07a, 0x07a, 1, "3.1", "ro"),
    (0x07b, 0x07b, 1, "3.1", "wo"),
    (0x07c, 0x07c, 1, "3.4", "wo"),
    (0x07d, 0x07d, 1, "3.4", "wo"),
    (0x080, 0x080, 1, "3.2", "rw"),
    (0x0c0, 0x0c0, 1, "3.3", "only wo"),
    (0x0c1, 0x0c1, 1, "3.3", "ro"),
    (0x0c2, 0x0c2, 1, "3.3", "rw"),
    // Table 3-3 has R/W, 3.5.25 a read-only register.
    (0x0c5, 0x0c5, 1, "3.3", "ro"),
    (0x380, 0x3bf, 1, "3.2", "rw"),
    (0x3c0, 0x3c0, 1, "3.2", "rw"),
    (0x3e8, 0x3e8, 1, "3.2", "rw"),
    (0x3e9, 0x3e9, 1, "3.2", "rw"),
    (0x3ec, 0x3ec, 1, "3.2", "only wo"),
    (0x3ed, 0x3ed, 1, "3.2", "ro"),
    (0x3ee, 0x3ee, 1, "3.2", "ro"),
    (0x3f2, 0x3f2, 1, "3.2", "ro"),
    (0x3f3, 0x3f3, 1, "3.2", "ro"),
    (0x3f4, 0x3f7, 1, "3.2", "ro"),
    (0x3f8, 0x3fb, 1, "3.2", "ro"),
    (0x3fc, 0x3ff, 1, "3.2", "ro"),
];

#[test]
fn table_3_3() {
    let mut listed = Vec::new();
    for &(first, last, step, from, access) in TABLE_3_3 {
        let from = Version::named(&format!("ETMv{from}")).unwrap();
        for number in (first..=last).step_by(step.into()) {
            listed.push(number);
            let (kind, _) = numbered(number).unwrap();
            assert_eq!(kind.register.versions.first, from, "{number:#x}");
            assert!(!kind.later_issue, "{number:#x}");
            for version in Version::ALL {
                for readable in [false, true] {
                    let readable = readable && version >= Version::V3_1;
                    let unless = |limit, one, other| if version >= limit { one } else { other };
                    use Access::{ReadOnly, ReadWrite, WriteOnly};
                    let want = match access {
                        "rw" => ReadWrite,
                        "ro" => ReadOnly,
                        "only wo" => WriteOnly,
                        "wo" | "wo or ro" if readable => ReadWrite,
                        "wo" | "wo or ro" => WriteOnly,
                        "ro, rw from 3.1" => unless(Version::V3_1, ReadWrite, ReadOnly),
                        "only wo, rw from 2.0" => unless(Version::V2_0, ReadWrite, WriteOnly),
                        other => panic!("{other}"),
                    };
                    let got = kind.rule.access(version, readable, false);
                    assert_eq!(got, want, "{number:#x} {version} {readable}");
                }
            }
        }
    }
    // Footnote e: ETMSYNCFR may be read-only from ETMv3.4.
    let sync = kind(0x078).rule;
    assert_eq!(sync.access(Version::V3_4, true, true), Access::ReadOnly);
    assert_eq!(sync.access(Version::V3_3, true, true), Access::ReadWrite);
    // All other numbers are reserved, but for what later issues define.
    for number in 0..0x400 {
        let Some((kind, _)) = numbered(number) else {
            assert!(!listed.contains(&number), "{number:#x}");
            continue;
        };
        assert_ne!(kind.later_issue, listed.contains(&number), "{number:#x}");
    }
    let later: Vec<_> = KINDS.iter().filter(|k| k.later_issue).map(|k| k.number()).collect();
    assert_eq!(later, [0x07e, 0x07f, 0x082, 0x090, 0x0c4]);
}

#[test]
fn no_two_kinds_share_a_number_or_a_name() {
    for number in 0..0x400 {
        let kinds = KINDS.iter().filter(|kind| kind.index(number).is_some());
        assert!(kinds.count() <= 1, "{number:#x}");
    }
    let all = (0..0x400).filter_map(settings::name);
    let mut names: Vec<_> = all.collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// Table 3-4.
#[test]
fn table_3_4() {
    for number in 0..0x400u16 {
        let address = number * 4;
        let trace = matches!(address, 0x000..=0x2ff | 0x318..=0xeff);
        let management = matches!(address, 0x300..=0x317 | 0xf00..=0xfff);
        assert!(trace != management);
        assert_eq!(is_management(number), management, "{number:#x}");
    }
}

/// Bits of a register and the versions that have them, as `high:low versions`.
fn check_fields(number: u16, rows: &[(u8, u8, &str)]) {
    let kind = kind(number);
    for version in Version::ALL.into_iter().filter(|v| kind.register.versions.contains(*v)) {
        let name = version.to_string();
        let name = name.trim_start_matches("ETMv");
        let has = |range: &str| match range.split_once('-') {
            Some((first, last)) => (last.is_empty() || name <= last) && name >= first,
            None => panic!("{range}"),
        };
        let mut want: Vec<_> =
            rows.iter().filter(|row| has(row.2)).map(|row| (row.0, row.1)).collect();
        want.sort();
        let mut got: Vec<_> = kind.fields(version).map(|f| (f.high, f.low)).collect();
        got.sort();
        assert_eq!(got, want, "{} {version}", kind.register.name);
    }
}

/// Table 3-5; bits 28 and 30 from issue Q.
#[test]
fn table_3_5() {
    check_fields(
        0x000,
        &[
            (30, 30, "3.5-"),
            (28, 28, "3.5-"),
            (27, 25, "3.2-"),
            (24, 24, "3.3-"),
            (23, 23, "3.2-"),
            (22, 22, "3.1-"),
            (21, 21, "3.0-"),
            (20, 20, "3.1-"),
            (19, 19, "3.0-"),
            (18, 18, "3.0-"),
            (17, 16, "1.2-"),
            (15, 14, "1.2-"),
            (13, 13, "1.2-"),
            (12, 12, "1.0-"),
            (11, 11, "1.0-"),
            (10, 10, "1.0-"),
            (9, 9, "1.0-"),
            (8, 8, "1.0-"),
            (7, 7, "1.0-"),
            (6, 4, "1.0-"),
            (3, 2, "1.0-"),
            (1, 1, "1.0-"),
            (0, 0, "1.0-"),
        ],
    );
}

/// Table 3-10.
#[test]
fn table_3_10() {
    check_fields(
        0x001,
        &[
            (31, 31, "1.0-"),
            (30, 28, "1.0-1.3"),
            (27, 27, "3.1-"),
            (26, 26, "2.0-"),
            (25, 24, "2.0-"),
            (23, 23, "1.0-"),
            (22, 20, "1.0-"),
            (19, 17, "1.0-"),
            (16, 16, "1.0-"),
            (15, 13, "1.0-"),
            (12, 8, "1.0-"),
            (7, 4, "1.0-"),
            (3, 0, "1.0-"),
        ],
    );
}

/// Tables 3-13, 3-14, 3-27, 3-34, 3-46 and 3-48.
#[test]
fn fields_by_version() {
    check_fields(0x004, &[(3, 3, "3.1-"), (2, 2, "1.2-"), (1, 1, "1.2-"), (0, 0, "1.1-")]);
    check_fields(
        0x005,
        &[
            (17, 17, "2.1-"),
            (14, 12, "3.2-"),
            (11, 11, "3.0-"),
            (10, 10, "3.0-"),
            (9, 9, "3.0-"),
            (8, 8, "1.3-"),
            (7, 7, "1.2-2.1"),
            (6, 6, "1.2-2.1"),
            (5, 5, "1.2-2.1"),
            (4, 4, "1.2-2.1"),
            (3, 3, "1.2-"),
            (2, 0, "1.2-"),
        ],
    );
    check_fields(
        0x020,
        &[
            (15, 15, "3.5-"),
            (14, 14, "3.5-"),
            (13, 13, "3.5-"),
            (12, 12, "3.5-"),
            (11, 10, "3.2-"),
            (9, 8, "2.0-"),
            (7, 7, "2.0-"),
            (6, 5, "1.0-"),
            (4, 3, "1.0-"),
            (2, 0, "1.0-"),
        ],
    );
    check_fields(0x054, &[(17, 17, "1.0-"), (16, 0, "1.0-")]);
    check_fields(
        0x079,
        &[
            (31, 24, "2.0-"),
            (20, 20, "3.4-"),
            (19, 19, "3.2-"),
            (18, 18, "3.2-"),
            (16, 16, "2.1-"),
            (15, 12, "2.0-"),
            (11, 8, "2.0-"),
            (7, 4, "2.0-"),
            (3, 0, "2.0-"),
        ],
    );
    check_fields(
        0x07a,
        &[
            (29, 29, "3.5-"),
            (28, 28, "3.5-"),
            (27, 27, "3.5-"),
            (26, 26, "3.5-"),
            (22, 22, "3.5-"),
            (21, 21, "3.4-"),
            (20, 20, "3.4-"),
            (19, 16, "3.4-"),
            (15, 13, "3.3-"),
            (12, 12, "3.3-"),
            (11, 11, "3.1-"),
            (10, 3, "3.1-"),
            (2, 0, "3.1-"),
        ],
    );
}

/// Tables 3-11, 3-12, 3-15 to 3-26, 3-29 to 3-45, 3-49 to 3-66 and 3-68 to 3-79: the bits that are
/// not reserved, in the latest version.
#[test]
fn bits_of_other_registers() {
    for (numbers, bits) in [
        (0x002..=0x002, 0x0001_ffff),
        (0x003..=0x003, 0xffff_ffff),
        (0x006..=0x006, 0xffff_ffff),
        (0x007..=0x007, 0x0000_ffff),
        (0x008..=0x008, 0x0001_ffff),
        (0x009..=0x009, 0x03ff_ffff),
        (0x00a..=0x00a, 0x01ff_ffff),
        (0x00b..=0x00b, 0x0000_00ff),
        (0x00c..=0x00c, 0x0001_ffff),
        (0x00d..=0x00e, 0xffff_ffff),
        (0x00f..=0x00f, 0x0001_ffff),
        (0x010..=0x01f, 0xffff_ffff),
        (0x050..=0x053, 0x0000_ffff),
        // Bit 17 of the enabling event is always 1 from ETMv2.0.
        (0x054..=0x057, 0x0003_ffff),
        (0x058..=0x05b, 0x0001_ffff),
        (0x05c..=0x05f, 0x0000_ffff),
        (0x060..=0x065, 0x0001_ffff),
        (0x067..=0x067, 0x0000_0003),
        (0x068..=0x06b, 0x0001_ffff),
        (0x06c..=0x06f, 0xffff_ffff),
        (0x070..=0x070, 0x0000_00ff),
        (0x078..=0x078, 0x0000_0fff),
        (0x07b..=0x07b, 0xffff_ffff),
        (0x07c..=0x07c, 0x00ff_00ff),
        (0x07d..=0x07d, 0x0000_00ff),
        (0x080..=0x080, 0x0000_007f),
        (0x0c0..=0x0c0, 0xffff_ffff),
        (0x0c2..=0x0c2, 0xffff_ffff),
        (0x3c0..=0x3c0, 0x0000_0001),
        (0x3e8..=0x3e9, 0x0000_00ff),
        (0x3ec..=0x3ec, 0xffff_ffff),
        (0x3ed..=0x3ed, 0x0000_0007),
        (0x3ee..=0x3ee, 0x0000_00ff),
        (0x3f3..=0x3ff, 0x0000_00ff),
    ] {
        for number in numbers {
            let fields = kind(number).fields(Version::V3_5);
            let got = fields.fold(0, |all, f| all | f.of(u64::MAX) << f.low);
            assert_eq!(got, bits, "{number:#x}");
        }
    }
    let at = |number: u16, version| {
        kind(number).fields(version).fold(0, |all, f| all | f.of(u64::MAX) << f.low)
    };
    // Tables 3-54 and 3-56; the bits of ETMv3.5 are of later issues.
    assert_eq!((at(0x0c1, Version::V3_4), at(0x0c5, Version::V3_4)), (0x7, 0x3));
}

/// 3.4.2, 3.4.4 and the reset values of 3.5.
#[test]
fn resets() {
    let bits = |mask, value| AfterReset::Bits(mask, value);
    for (number, after) in [
        // Table 3-5: the port size is that of the unit.
        (0x000, bits(0xffff_ff8f, 0x401)),
        (0x070, bits(0xf0, 0)),
        (0x078, bits(0xfff, 0x400)),
        (0x080, bits(0x7f, 0)),
        (0x3c0, bits(1, 0)),
        (0x3e9, bits(0xff, 0)),
        (0x3ed, bits(2, 2)),
        (0x3f3, bits(0xff, 0x13)),
        (0x3f4, bits(0xff, 0x04)),
        (0x3fc, bits(0xff, 0x0d)),
        (0x3fd, bits(0xff, 0x90)),
        (0x3fe, bits(0xff, 0x05)),
        (0x3ff, bits(0xff, 0xb1)),
        // All others are unknown.
        (0x002, bits(0, 0)),
        (0x00b, bits(0, 0)),
        (0x067, bits(0, 0)),
    ] {
        let kind = kind(number);
        for version in Version::ALL {
            assert_eq!(kind.after(Reset::Processor, version), AfterReset::Unchanged);
            assert_eq!(kind.after(Reset::Etm, version), after, "{number:#x}");
            assert_eq!(kind.after(Reset::PowerOn, version), after, "{number:#x}");
        }
        let AfterReset::Bits(mask, value) = after else { panic!() };
        assert_eq!(kind.after(Reset::Tap, Version::V3_0), AfterReset::Either(mask, value));
    }
    for (numbers, state) in [
        (0x05c..=0x05f, State::Counter),
        (0x067..=0x067, State::Sequencer),
        (0x004..=0x004, State::Status),
    ] {
        for kind in numbers.map(kind) {
            for version in Version::ALL {
                let (set, cleared) = match version >= Version::V3_1 {
                    true => (AfterReset::Unchanged, AfterReset::StateUnlessWritten(state)),
                    false => (AfterReset::State(state), AfterReset::Unchanged),
                };
                assert_eq!(kind.after(Reset::ProgrammingSet, version), set);
                assert_eq!(kind.after(Reset::ProgrammingCleared, version), cleared);
            }
        }
    }
    assert_eq!(kind(0x008).after(Reset::ProgrammingSet, Version::V1_0), AfterReset::Unchanged);
}

/// Registers by name, memory-mapped offset and count, as the Linux driver of ETMv3 and PTM defines
/// them (`coresight-etm.h`). It numbers instances from 0.
const LINUX: &[(&str, u16, u16)] = &[
    ("ETMCR", 0x000, 1),
    ("ETMCCR", 0x004, 1),
    ("ETMTRIGGER", 0x008, 1),
    ("ETMSR", 0x010, 1),
    ("ETMSCR", 0x014, 1),
    ("ETMTSSCR", 0x018, 1),
    ("ETMTECR2", 0x01c, 1),
    ("ETMTEEVR", 0x020, 1),
    ("ETMTECR1", 0x024, 1),
    ("ETMFFLR", 0x02c, 1),
    ("ETMACVR", 0x040, 16),
    ("ETMACTR", 0x080, 16),
    ("ETMCNTRLDVR", 0x140, 4),
    ("ETMCNTENR", 0x150, 4),
    ("ETMCNTRLDEVR", 0x160, 4),
    ("ETMCNTVR", 0x170, 4),
    ("ETMSQ12EVR", 0x180, 1),
    ("ETMSQ21EVR", 0x184, 1),
    ("ETMSQ23EVR", 0x188, 1),
    ("ETMSQ31EVR", 0x18c, 1),
    ("ETMSQ32EVR", 0x190, 1),
    ("ETMSQ13EVR", 0x194, 1),
    ("ETMSQR", 0x19c, 1),
    ("ETMEXTOUTEVR", 0x1a0, 4),
    ("ETMCIDCVR", 0x1b0, 3),
    ("ETMCIDCMR", 0x1bc, 1),
    ("ETMIMPSPEC", 0x1c0, 8),
    ("ETMSYNCFR", 0x1e0, 1),
    ("ETMIDR", 0x1e4, 1),
    ("ETMCCER", 0x1e8, 1),
    ("ETMEXTINSELR", 0x1ec, 1),
    ("ETMTESSEICR", 0x1f0, 1),
    ("ETMEIBCR", 0x1f4, 1),
    ("ETMTSEVR", 0x1f8, 1),
    ("ETMAUXCR", 0x1fc, 1),
    ("ETMTRACEIDR", 0x200, 1),
    ("ETMVMIDCVR", 0x240, 1),
    ("ETMOSLAR", 0x300, 1),
    ("ETMOSLSR", 0x304, 1),
    ("ETMOSSRR", 0x308, 1),
    ("ETMPDCR", 0x310, 1),
    ("ETMPDSR", 0x314, 1),
];

/// Registers by number, count and step, and the kind that they are in this table, as OpenOCD
/// defines them (`etm.h`): its names are others.
const OPENOCD: &[(u16, u16, u16, &str)] = &[
    (0x00, 1, 1, "ETMCR"),
    (0x01, 1, 1, "ETMCCR"),
    (0x02, 1, 1, "ETMTRIGGER"),
    (0x03, 1, 1, "ETMASICCR"),
    (0x04, 1, 1, "ETMSR"),
    (0x05, 1, 1, "ETMSCR"),
    (0x06, 1, 1, "ETMTSSCR"),
    (0x07, 1, 1, "ETMTECR2"),
    (0x08, 1, 1, "ETMTEEVR"),
    (0x09, 1, 1, "ETMTECR1"),
    (0x0a, 1, 1, "ETMFFRR"),
    (0x0b, 1, 1, "ETMFFLR"),
    (0x0c, 1, 1, "ETMVDEVR"),
    (0x0d, 1, 1, "ETMVDCR1"),
    (0x0e, 1, 1, "ETMVDCR2"),
    (0x0f, 1, 1, "ETMVDCR3"),
    (0x10, 16, 1, "ETMACVR"),
    (0x20, 16, 1, "ETMACTR"),
    (0x30, 8, 2, "ETMDCVR"),
    (0x40, 8, 2, "ETMDCMR"),
    (0x50, 4, 1, "ETMCNTRLDVR"),
    (0x54, 4, 1, "ETMCNTENR"),
    (0x58, 4, 1, "ETMCNTRLDEVR"),
    (0x5c, 4, 1, "ETMCNTVR"),
    (0x67, 1, 1, "ETMSQR"),
    (0x68, 4, 1, "ETMEXTOUTEVR"),
    (0x6c, 3, 1, "ETMCIDCVR"),
    (0x6f, 1, 1, "ETMCIDCMR"),
];

/// Every register of two public drivers is in the table, and has fields.
#[test]
fn registers_of_drivers() {
    for (name, offset, count) in LINUX {
        for n in 0..*count {
            let (kind, index) = numbered(offset / 4 + n).unwrap();
            let instance = settings::instance(kind, index);
            let numbered = instance.trim_end_matches(|c: char| c.is_ascii_digit()) == *name;
            assert!(instance == *name || numbered && *count > 1, "{offset:#x} {instance}");
            assert!(kind.fields(Version::V3_5).next().is_some(), "{name}");
        }
    }
    for (number, count, step, name) in OPENOCD {
        for n in 0..*count {
            let (kind, index) = numbered(number + n * step).unwrap();
            assert_eq!((kind.register.name, u16::from(index)), (*name, n + 1), "{number:#x}");
        }
    }
    // The six transitions of the sequencer are one group there.
    for number in 0x60..0x66 {
        assert!(kind(number).register.name.starts_with("ETMSQ"), "{number:#x}");
    }
}
