//! The names that the specification and its reference flow give to parameters.
//!
//! The specification's names end in `_p`, and so do those of the static configuration file (`.scf`)
//! of the reference flow. The run-time options of its `.ucf` file have hyphens. A list of both has
//! `SCF[name]` and `UCF[name]`.

use alloc::string::String;

use super::text::Wrong;
use super::{Params, table};

/// A name of the reference flow that is the name of a setting of the encoder.
const SETTINGS: [(&str, &str); 3] = [
    ("retires", "retires"),
    ("full-daddress", "data-full-address"),
    ("full-data", "data-full-data"),
];

/// Names in the reference flow's `.scf` files on which no packet depends.
const UNUSED: [&str; 2] = ["arch", "filter_time"];

/// The prefixes of the registers of filters and comparators. (Trace Control Interface)
const FILTERS: [&str; 2] = ["trTeFilter", "trTeComp"];

/// The synchronisation period of the reference flow, whose value is a power: 2^(n+4) packets.
const RESYNC_POWER: &str = "resync-max";

/// The greatest such power for which the period has 32 bits.
const MAX_RESYNC_POWER: u64 = 27;

/// The name without `SCF[` or `UCF[` and `]`, and without `_p`; and whether it is a run-time
/// option.
fn bare(name: &str) -> (&str, bool) {
    let inside = |prefix: &str| {
        let (head, rest) = name.split_at_checked(prefix.len())?;
        if head.eq_ignore_ascii_case(prefix) { rest.strip_suffix(']') } else { None }
    };
    match (inside("SCF["), inside("UCF[")) {
        (Some(name), _) => (name.strip_suffix("_p").unwrap_or(name), false),
        (_, Some(name)) => (name, true),
        _ => (name.strip_suffix("_p").unwrap_or(name), false),
    }
}

fn setting(name: &str) -> Option<&'static str> {
    SETTINGS.iter().find(|(theirs, _)| theirs.eq_ignore_ascii_case(name)).map(|(_, ours)| *ours)
}

impl Params {
    /// The name of the parameter, or of the setting of the encoder, that `name` means: with or
    /// without `_p`, in any case, or as `SCF[name]` or `UCF[name]`. `None` if there is none.
    pub fn canonical(name: &str) -> Option<&'static str> {
        let (name, _) = bare(name);
        table::find(name).map(table::Parameter::name).or_else(|| setting(name))
    }

    /// Whether neither decoding nor encoding depends on `name`, a name of `.scf` files.
    pub fn is_unused(name: &str) -> bool {
        let (name, _) = bare(name);
        UNUSED.iter().any(|unused| unused.eq_ignore_ascii_case(name))
    }

    /// Whether decoding does not depend on `name`: a name of `.scf` files, a setting of the
    /// encoder, or a register of a filter or a comparator.
    pub fn ignores(name: &str) -> bool {
        let begins = |prefix: &&str| {
            name.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
        };
        let (inside, _) = bare(name);
        Params::is_unused(name)
            || table::find(inside).is_none() && setting(inside).is_some()
            || SETTINGS.iter().any(|(_, ours)| ours.eq_ignore_ascii_case(name))
            || FILTERS.iter().any(begins)
    }

    /// The parameter that `name` means, and the number of its value `value`: one of its words,
    /// `true` or `false`, or a decimal or hexadecimal number. The value of `UCF[resync-max]` is the
    /// power n of a period of 2^(n+4).
    ///
    /// # Errors
    /// [`Wrong`] if there is no such parameter, or it does not have that value.
    pub fn number(name: &str, value: &str) -> Result<(&'static table::Parameter, u64), Wrong> {
        let (inside, option) = bare(name);
        let known = table::find(inside).ok_or_else(|| Wrong::Unknown(String::from(name)))?;
        let number = known.number(value);
        let number = match option && inside.eq_ignore_ascii_case(RESYNC_POWER) {
            true => number.filter(|&n| n <= MAX_RESYNC_POWER).map(|n| 1 << (n + 4)),
            false => number,
        };
        let number = number.filter(|number| known.takes(*number));
        number.map(|number| (known, number)).ok_or_else(|| Wrong::Value(known, value.into()))
    }
}
