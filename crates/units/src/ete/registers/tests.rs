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
    for row in rows() {
        let mut free = row.register.bits;
        for f in row.register.fields {
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
                let registers = text.lines().skip_while(|l| !l.trim().starts_with("[regs]"));
                for line in registers.skip(1).take_while(|l| !l.trim().starts_with('[')) {
                    let line = line.split([';', '#']).next().unwrap().trim();
                    let Some((name, value)) = line.split_once('=') else { continue };
                    let (name, note) = name.split_once('(').unwrap_or((name, ""));
                    let value = value.trim().trim_start_matches("0x");
                    let value = u64::from_str_radix(value, 16).unwrap();
                    let named = by_name(name)
                        .unwrap_or_else(|| panic!("{}: {name} is unknown", path.display()));
                    let rest = named.unknown_bits(value);
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
