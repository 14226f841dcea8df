//! The architecture of a core by its name.

use tracewright_base::{CoreType, Profile};

use Profile::{Application as A, Microcontroller as M, RealTime as R};

/// The cores of Arm by name, with profile and architecture version. A row is a prefix and the names
/// that follow it, which are compared as a whole.
const CORES: &[(&str, &[&str], Profile, u8)] = &[
    ("cortex-a", &["5", "7", "8", "9", "12", "15", "17"], A, 7),
    (
        "cortex-a",
        &[
            "32", "34", "35", "53", "55", "57", "65", "65ae", "72", "73", "75", "76", "76ae", "77",
            "78", "78ae", "78c",
        ],
        A,
        8,
    ),
    ("cortex-a", &["320", "510", "520", "520ae", "710", "715", "720", "720ae", "725"], A, 9),
    ("cortex-x", &["1", "1c"], A, 8),
    ("cortex-x", &["2", "3", "4", "925"], A, 9),
    ("c1-", &["nano", "pro", "premium", "ultra"], A, 9),
    ("neoverse-", &["e1", "n1", "v1", "512tvb"], A, 8),
    ("neoverse-", &["n2", "n3", "v2", "v3", "v3ae"], A, 9),
    ("cortex-r", &["4", "4f", "5", "5f", "7", "7f", "8", "8f"], R, 7),
    ("cortex-r", &["52", "52+", "52f", "82", "82ae"], R, 8),
    ("cortex-m", &["0", "0+", "0plus", "1"], M, 6),
    ("sc", &["000"], M, 6),
    ("cortex-m", &["3", "4", "4f", "7", "7f"], M, 7),
    ("sc", &["300"], M, 7),
    ("cortex-m", &["23", "33", "33f", "35p", "35pf", "52", "55", "55f", "85", "85f"], M, 8),
    ("star-", &["mc1", "mc3"], M, 8),
    (
        "arm",
        &[
            "7tdmi", "710", "710t", "720", "720t", "740t", "9tdmi", "920", "920t", "922t", "925t",
            "940t",
        ],
        A,
        4,
    ),
    (
        "arm",
        &[
            "7ej", "926", "926ej", "946", "946e", "966", "966e", "968", "968e", "996hs", "1020",
            "1020e", "1022", "1022e", "1026", "1026ej",
        ],
        A,
        5,
    ),
    (
        "arm",
        &["1136", "1136j", "1136jf", "1156t2", "1156t2f", "1176", "1176jz", "1176jzf", "11mpcore"],
        A,
        6,
    ),
];

/// The profile and architecture version of the core type `name`, compared without case.
///
/// The name is that of a core or of an architecture: `ARMv7-A`, `ARMv8.1-M`, `ARM-AA64`,
/// `ARM-aa64-R`. `None` for an unknown name.
pub fn core_type(name: &str) -> Option<CoreType> {
    let name = name.trim().to_ascii_lowercase().replace([' ', '_'], "-");
    let name = name.strip_prefix("arm-").filter(|rest| !rest.starts_with("aa")).unwrap_or(&name);
    // `CortexA9` occurs as well.
    let name = match name.strip_prefix("cortex") {
        Some(rest) => format!("cortex-{}", rest.trim_start_matches('-')),
        None => name.to_owned(),
    };
    architecture(&name).or_else(|| product(&name))
}

/// The architectures `armvN[.m]-a`, `-r` and `-m`, with optional letters, and `arm-aa64[-r|-m]`.
fn architecture(name: &str) -> Option<CoreType> {
    let letter = |text: &str| match text {
        "a" => Some(A),
        "r" => Some(R),
        "m" => Some(M),
        _ => None,
    };
    if let Some(rest) = name.strip_prefix("arm-aa64").or_else(|| name.strip_prefix("aarch64")) {
        let profile = match rest.strip_prefix('-') {
            Some(text) => letter(text)?,
            None if rest.is_empty() => A,
            None => return None,
        };
        return Some(CoreType { profile, version: 8 });
    }
    let rest = name.strip_prefix("armv")?;
    let (version, letters) = match rest.split_once('-') {
        Some((version, text)) => (version, Some(text)),
        None => (rest, None),
    };
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    // `armv7a`, `armv5te`, `armv6m`, without a dash.
    let digits = major.bytes().take_while(u8::is_ascii_digit).count();
    let (major, tail) = major.split_at_checked(digits)?;
    let version = major.parse().ok().filter(|n| (4..=9).contains(n))?;
    minor.bytes().all(|b| b.is_ascii_digit()).then_some(())?;
    let profile = match (letters, tail) {
        (Some(text), "") => match letter(text) {
            Some(profile) => profile,
            // The variants of Armv8-M: `armv8-m.main`, `armv8-m.base`.
            None if text.starts_with("m.") => M,
            None => return None,
        },
        (None, "e" | "t" | "te" | "tej" | "" | "j" | "k" | "z") if version <= 6 => A,
        (Some("m"), "e") | (None, "m" | "em" | "sm") => M,
        (None, tail) => letter(tail)?,
        (Some(_), _) => return None,
    };
    Some(CoreType { profile, version })
}

fn product(name: &str) -> Option<CoreType> {
    // The suffix `-S` denotes a synthesisable core: `ARM1136JF-S`, `ARM7TDMI-S`.
    let bare = name.strip_suffix("-s").unwrap_or(name);
    CORES.iter().find_map(|(prefix, names, profile, version)| {
        let rest = bare.strip_prefix(prefix)?;
        names.contains(&rest).then_some(CoreType { profile: *profile, version: *version })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let core = |profile, version| Some(CoreType { profile, version });
        for (name, want) in [
            ("Cortex-A9", core(A, 7)),
            ("cortex-a53", core(A, 8)),
            ("CORTEX-A78AE", core(A, 8)),
            ("Cortex-A520", core(A, 9)),
            ("Cortex-X4", core(A, 9)),
            ("Cortex-X1C", core(A, 8)),
            ("C1-Ultra", core(A, 9)),
            ("Neoverse-N1", core(A, 8)),
            ("Neoverse V2", core(A, 9)),
            ("ARM Cortex-A9", core(A, 7)),
            ("CortexM4", core(M, 7)),
            ("Cortex-R5F", core(R, 7)),
            ("Cortex-R52+", core(R, 8)),
            ("Cortex-R82", core(R, 8)),
            ("Cortex-M0+", core(M, 6)),
            ("Cortex-M7", core(M, 7)),
            ("Cortex-M85", core(M, 8)),
            ("SC300", core(M, 7)),
            ("STAR-MC1", core(M, 8)),
            ("ARM7TDMI-S", core(A, 4)),
            ("ARM926EJ-S", core(A, 5)),
            ("ARM1136JF-S", core(A, 6)),
            ("ARM11MPCore", core(A, 6)),
            ("ARMv7-A", core(A, 7)),
            ("armv7-r", core(R, 7)),
            ("ARMv8.1-M", core(M, 8)),
            ("ARMv8-M.main", core(M, 8)),
            ("ARMv9.2-A", core(A, 9)),
            ("ARMv7E-M", core(M, 7)),
            ("ARMv7em", core(M, 7)),
            ("ARMv6-M", core(M, 6)),
            ("ARMv5TE", core(A, 5)),
            ("ARM-AA64", core(A, 8)),
            ("ARM-aa64", core(A, 8)),
            ("ARM-AA64-R", core(R, 8)),
            ("ARM-aa64-M", core(M, 8)),
            ("AArch64", core(A, 8)),
            // Unknown names: nothing is inferred from a part of a name.
            ("", None),
            ("Cortex-A", None),
            ("Cortex-A999", None),
            ("Cortex-A5x", None),
            ("ARMv", None),
            ("ARMv3-A", None),
            ("ARMv10-A", None),
            ("ARMv8-X", None),
            ("ARMv7", None),
            ("ARMv8.x-A", None),
            ("RV64GC", None),
        ] {
            assert_eq!(core_type(name), want, "{name}");
        }
    }

    /// Every name of the table is found in its own row, in any case.
    #[test]
    fn the_table_is_reachable() {
        for (prefix, names, profile, version) in CORES {
            for name in *names {
                let name = format!("{prefix}{name}");
                let want = Some(CoreType { profile: *profile, version: *version });
                assert_eq!(core_type(&name), want, "{name}");
                assert_eq!(core_type(&name.to_ascii_uppercase()), want, "{name}");
            }
        }
    }
}
