use std::fs;

use super::*;

#[test]
fn offsets_and_fields_do_not_overlap() {
    let mut offsets: Vec<(u16, u16, Version)> = Vec::new();
    for version in [Version::Etmv4(6), Version::Ete(3)] {
        for named in all().filter(|n| n.row.register.versions.contains(version)) {
            let low = named.offset().unwrap();
            let bytes = if named.row.register.bits == 64 { 8 } else { 4 };
            let name = named.row.register.name;
            // TRCDEVAFF1 is the upper half of TRCDEVAFF.
            if name == "TRCDEVAFF1" {
                continue;
            }
            let mut clash =
                offsets.iter().filter(|(a, b, v)| *v == version && low < *b && *a < low + bytes);
            assert!(clash.next().is_none(), "{named} overlaps another register");
            offsets.push((low, low + bytes, version));
        }
    }
    let tables = |row: &'static Row| {
        [Some(row.register.fields), row.etmv4_fields].into_iter().flatten().map(move |f| (row, f))
    };
    for (row, fields) in rows().flat_map(tables) {
        let mut free = row.register.bits;
        for f in fields {
            assert!(f.high >= f.low && f.high < free, "{}.{}", row.register.name, f.name);
            free = f.low;
            for (value, _) in f.values {
                let most = u64::MAX >> (63 - (f.high - f.low));
                assert!(*value <= most, "{}.{}: {value}", row.register.name, f.name);
            }
        }
    }
}

/// Arm ARM K10.5.7.6: the registers that software saves and restores, as it lists them.
#[test]
fn registers_that_are_saved() {
    let listed = "TRCPRGCTLR TRCCONFIGR TRCAUXCTLR TRCEVENTCTL0R TRCEVENTCTL1R TRCRSR TRCSTALLCTLR \
        TRCTSCTLR TRCSYNCPR TRCCCCTLR TRCBBCTLR TRCTRACEIDR TRCQCTLR TRCVICTLR TRCVIIECTLR \
        TRCVISSCTLR TRCVIPCSSCTLR TRCSEQEVR<n> TRCSEQRSTEVR TRCSEQSTR TRCEXTINSELR<n> \
        TRCCNTRLDVR<n> TRCCNTCTLR<n> TRCCNTVR<n> TRCIMSPEC<n> TRCRSCTLR<n> TRCSSCCR<n> \
        TRCSSCSR<n> TRCSSPCICR<n> TRCACVR<n> TRCACATR<n> TRCCIDCVR<n> TRCVMIDCVR<n> TRCCIDCCTLR0 \
        TRCCIDCCTLR1 TRCVMIDCCTLR0 TRCVMIDCCTLR1";
    let mut listed: Vec<&str> = listed.split_whitespace().collect();
    let in_ete = |row: &&Row| row.register.versions.contains(Version::Ete(3));
    let mut saved: Vec<&str> =
        rows().filter(|row| row.saved).filter(in_ete).map(|row| row.register.name).collect();
    listed.sort_unstable();
    saved.sort_unstable();
    assert_eq!(saved, listed);
}

/// DDI 0601: the encodings of System registers.
#[test]
fn system_registers() {
    for (name, want) in [
        ("TRCPRGCTLR", [2, 1, 0, 1, 0]),
        ("TRCSTATR", [2, 1, 0, 3, 0]),
        ("TRCVICTLR", [2, 1, 0, 0, 2]),
        ("TRCRSCTLR2", [2, 1, 1, 2, 0]),
        ("TRCACVR0", [2, 1, 2, 0, 0]),
        ("TRCACATR15", [2, 1, 2, 14, 3]),
        ("TRCCIDCCTLR0", [2, 1, 3, 0, 2]),
        ("TRCAUTHSTATUS", [2, 1, 7, 14, 6]),
        ("TRCDEVARCH", [2, 1, 7, 15, 6]),
    ] {
        assert_eq!(by_name(name).unwrap().system(), Some(want), "{name}");
    }
}

#[test]
fn names_and_numbers() {
    let name = |text: &str| by_name(text).map(|n| (n.to_string(), n.offset().unwrap()));
    assert_eq!(name("trcacvr3"), Some(("TRCACVR3".into(), 0x418)));
    assert_eq!(name("TRCRSCTLR2"), Some(("TRCRSCTLR2".into(), 0x208)));
    assert_eq!(name("TRCRSCTLR1"), None);
    assert_eq!(name("TRCRSCTLR32"), None);
    assert_eq!(name("TRCIDR13"), Some(("TRCIDR13".into(), 0x194)));
    assert_eq!(name("TRCCIDCCTLR1"), Some(("TRCCIDCCTLR1".into(), 0x684)));
    assert_eq!(name("TRCACVR99999999999"), None);
    assert_eq!(name(""), None);
    assert_eq!(by_offset(0x418).unwrap().to_string(), "TRCACVR3");
}

/// Every register of the ETMv4 and ETE units in real captures is in the table, and no bit of it is
/// unknown. A capture from a debugger records the number of each register: a quarter of its offset.
#[test]
fn registers_of_real_captures() {
    let Some(root) = tracewright_testing::shared("conformance") else { return };
    let (mut folders, mut units, mut values) = (vec![root], 0, 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "ini") {
                let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
                let lower = text.to_lowercase();
                if !["type=etm4", "type=ete", "type=etm-v4"].iter().any(|t| lower.contains(t)) {
                    continue;
                }
                units += 1;
                let ete = lower.contains("type=ete");
                let version = if ete { Version::Ete(3) } else { Version::Etmv4(6) };
                let registers = text.lines().skip_while(|l| !l.trim().starts_with("[regs]"));
                for line in registers.skip(1).take_while(|l| !l.trim().starts_with('[')) {
                    let line = line.split([';', '#']).next().unwrap().trim();
                    let Some((name, value)) = line.split_once('=') else { continue };
                    let (name, note) = name.split_once('(').unwrap_or((name, ""));
                    let value = value.trim().trim_start_matches("0x");
                    let value = u64::from_str_radix(value, 16).unwrap();
                    let named = by_name(name)
                        .unwrap_or_else(|| panic!("{}: {name} is unknown", path.display()));
                    let rest = named.unknown_bits(value, version);
                    assert_eq!(rest, 0, "{}: {name}={value:#x}", path.display());
                    values += 1;
                    let id = note.trim_end_matches(')').split(',').next().unwrap();
                    let id = id.trim_start_matches("id:").trim_start_matches("0x");
                    if let Ok(id) = u16::from_str_radix(id, 16) {
                        // That debugger numbers the data value comparators in steps of 8 bytes.
                        if !name.starts_with("TRCDVC") {
                            assert_eq!(named.offset(), Some(id * 4), "{name}");
                        }
                    }
                }
            }
        }
    }
    assert!(units >= 40 && values >= 500, "{units} units, {values} registers");
}

/// Registers by name, offset, first number, count and step, as the Linux and FreeBSD drivers of
/// ETMv4 define them (`coresight-etm4x.h`, `coresight.h`).
const DRIVERS: &[(&str, u16, u16, u16, u16)] = &[
    ("TRCPRGCTLR", 0x004, 0, 1, 4),
    ("TRCPROCSELR", 0x008, 0, 1, 4),
    ("TRCSTATR", 0x00c, 0, 1, 4),
    ("TRCCONFIGR", 0x010, 0, 1, 4),
    ("TRCAUXCTLR", 0x018, 0, 1, 4),
    ("TRCEVENTCTL0R", 0x020, 0, 1, 4),
    ("TRCEVENTCTL1R", 0x024, 0, 1, 4),
    ("TRCSTALLCTLR", 0x02c, 0, 1, 4),
    ("TRCTSCTLR", 0x030, 0, 1, 4),
    ("TRCSYNCPR", 0x034, 0, 1, 4),
    ("TRCCCCTLR", 0x038, 0, 1, 4),
    ("TRCBBCTLR", 0x03c, 0, 1, 4),
    ("TRCTRACEIDR", 0x040, 0, 1, 4),
    ("TRCQCTLR", 0x044, 0, 1, 4),
    ("TRCVICTLR", 0x080, 0, 1, 4),
    ("TRCVIIECTLR", 0x084, 0, 1, 4),
    ("TRCVISSCTLR", 0x088, 0, 1, 4),
    ("TRCVIPCSSCTLR", 0x08c, 0, 1, 4),
    ("TRCVDCTLR", 0x0a0, 0, 1, 4),
    ("TRCVDSACCTLR", 0x0a4, 0, 1, 4),
    ("TRCVDARCCTLR", 0x0a8, 0, 1, 4),
    ("TRCSEQEVR#", 0x100, 0, 3, 4),
    ("TRCSEQRSTEVR", 0x118, 0, 1, 4),
    ("TRCSEQSTR", 0x11c, 0, 1, 4),
    ("TRCEXTINSELR", 0x120, 0, 1, 4),
    ("TRCCNTRLDVR#", 0x140, 0, 4, 4),
    ("TRCCNTCTLR#", 0x150, 0, 4, 4),
    ("TRCCNTVR#", 0x160, 0, 4, 4),
    ("TRCIDR#", 0x180, 8, 6, 4),
    ("TRCIMSPEC#", 0x1c0, 0, 8, 4),
    ("TRCIDR#", 0x1e0, 0, 8, 4),
    ("TRCRSCTLR#", 0x208, 2, 30, 4),
    ("TRCSSCCR#", 0x280, 0, 8, 4),
    ("TRCSSCSR#", 0x2a0, 0, 8, 4),
    ("TRCSSPCICR#", 0x2c0, 0, 8, 4),
    ("TRCOSLAR", 0x300, 0, 1, 4),
    ("TRCOSLSR", 0x304, 0, 1, 4),
    ("TRCPDCR", 0x310, 0, 1, 4),
    ("TRCPDSR", 0x314, 0, 1, 4),
    ("TRCACVR#", 0x400, 0, 16, 8),
    ("TRCACATR#", 0x480, 0, 16, 8),
    ("TRCDVCVR#", 0x500, 0, 8, 16),
    ("TRCDVCMR#", 0x580, 0, 8, 16),
    ("TRCCIDCVR#", 0x600, 0, 8, 8),
    ("TRCVMIDCVR#", 0x640, 0, 8, 8),
    ("TRCCIDCCTLR0", 0x680, 0, 1, 4),
    ("TRCCIDCCTLR1", 0x684, 0, 1, 4),
    ("TRCVMIDCCTLR0", 0x688, 0, 1, 4),
    ("TRCVMIDCCTLR1", 0x68c, 0, 1, 4),
    ("TRCITCTRL", 0xf00, 0, 1, 4),
    ("TRCCLAIMSET", 0xfa0, 0, 1, 4),
    ("TRCCLAIMCLR", 0xfa4, 0, 1, 4),
    ("TRCDEVAFF0", 0xfa8, 0, 1, 4),
    ("TRCDEVAFF1", 0xfac, 0, 1, 4),
    ("TRCLAR", 0xfb0, 0, 1, 4),
    ("TRCLSR", 0xfb4, 0, 1, 4),
    ("TRCAUTHSTATUS", 0xfb8, 0, 1, 4),
    ("TRCDEVARCH", 0xfbc, 0, 1, 4),
    ("TRCDEVID", 0xfc8, 0, 1, 4),
    ("TRCDEVTYPE", 0xfcc, 0, 1, 4),
    ("TRCPIDR4", 0xfd0, 0, 1, 4),
    ("TRCPIDR#", 0xfd4, 5, 3, 4),
    ("TRCPIDR#", 0xfe0, 0, 4, 4),
    ("TRCCIDR#", 0xff0, 0, 4, 4),
];

/// Every register of public drivers is in the table at its offset, and has fields. The numbers of
/// data value comparators differ: the drivers have them 8 bytes apart.
#[test]
fn registers_of_drivers() {
    for (name, offset, first, count, step) in DRIVERS {
        for n in 0..*count {
            let name = name.replace('#', &(first + n).to_string());
            let named = by_name(&name).unwrap_or_else(|| panic!("{name} is unknown"));
            assert_eq!(named.offset(), Some(offset + n * step), "{name}");
            // They are reserved, and read as zero.
            let reserved = ["TRCIDR6", "TRCIDR7", "TRCPIDR5", "TRCPIDR6", "TRCPIDR7"];
            let explained = !named.row.register.fields.is_empty() || named.row.ones != 0;
            assert!(explained || reserved.contains(&name.as_str()), "{name} has no field");
        }
    }
}
