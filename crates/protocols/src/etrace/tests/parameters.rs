//! Parameters: their ranges, their texts, and the profiles. (0.026, Table 3.7;
//! "Discovery of encoder parameters")

use core::iter;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use crate::etrace::config::{PARAMETERS, Profile, Version, Wrong, units};
use crate::etrace::{Etrace, Params};
use crate::protocol::{InvalidRegister, Protocol};

fn all() -> impl Iterator<Item = Params> {
    units().flat_map(|(version, profile)| {
        [false, true].map(|rv64| Params::new(version, profile, rv64).unwrap())
    })
}

/// The page has a row for each parameter.
#[test]
fn parameters_have_a_page() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/riscv.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut rows = String::new();
    for own in PARAMETERS {
        let names = iter::once(own.name()).chain(own.register.aliases.iter().copied());
        let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
        let words: Vec<_> = own.words().iter().map(|(_, word)| format!("`{word}`")).collect();
        let values = match words.as_slice() {
            [] if own.most == u64::MAX => "an address".to_string(),
            [] => format!("{} to {}", own.least, own.most),
            words => words.join(", "),
        };
        rows += &format!("| {} | {values} | {} |\n", names.join(", "), own.register.about);
    }
    assert!(page.contains(&rows), "the table of parameters is:\n{rows}");
}

/// Nine units exist. Every other pair of a version and a profile is refused with the versions that
/// the profile has.
#[test]
fn other_pairs_are_refused() {
    let mut accepted = Vec::new();
    for &(version, version_word) in Version::WORDS {
        for &(profile, profile_word) in Profile::WORDS {
            let text = format!("profile = \"{profile_word}\"\n\nversion = {version_word}");
            let register = |name: &str| match name {
                "version" => Some(version),
                "profile" => Some(profile),
                _ => None,
            };
            let configured = Etrace::configure(None, &register);
            match Params::from_text(&text) {
                Ok(params) => {
                    assert_eq!(configured, Ok(params), "{text}");
                    assert_eq!(Etrace::check(&register), Ok(()));
                    accepted.push((version_word, profile_word));
                }
                Err(refused) => {
                    let only = match profile_word {
                        "siemens" | "esp32" => "1.0",
                        "pulp-trdb" => "0.026",
                        _ => "2.0",
                    };
                    let why = format!(
                        "version `{version_word}` has no profile `{profile_word}`, which exists in \
                         version `{only}`"
                    );
                    assert_eq!(refused.to_string(), format!("line 3: {why}"));
                    assert_eq!(
                        Etrace::check(&register),
                        Err(InvalidRegister { name: "version", why })
                    );
                    assert!(configured.is_err_and(|missing| missing.name == "version"));
                }
            }
        }
    }
    let want = [
        ("0.026", "spec"),
        ("0.026", "pulp-trdb"),
        ("1.0", "spec"),
        ("1.0", "siemens"),
        ("1.0", "esp32"),
        ("2.0", "spec"),
        ("2.0", "reference-flow"),
        ("2.0", "pulp-rv_tracer"),
        ("2.1", "spec"),
    ];
    assert_eq!(accepted, want);
    assert_eq!(units().count(), want.len());
    for (_, profile) in units() {
        let params = Params::of(profile, true);
        assert_eq!(Params::new(profile.version(), profile, true), Ok(params));
    }
}

#[test]
fn parameters_round_trip_through_text() {
    for params in all() {
        assert_eq!(Params::from_text(&params.to_text()), Ok(params), "{}", params.to_text());
        let number = |name: &str| {
            let parameter = PARAMETERS.iter().find(|p| p.name() == name)?;
            (parameter.get)(&params)
        };
        assert_eq!(Etrace::configure(None, &number), Ok(params));
    }
}

/// Each parameter takes its least and its greatest value, and no greater one.
#[test]
fn ranges() {
    for (name, least, most) in [
        ("context_width", "0", "32"),
        ("ecause_width", "1", "64"),
        ("iaddress_lsb", "0", "3"),
        ("iaddress_width", "2", "64"),
        ("nocontext", "0", "1"),
        ("notval", "0", "1"),
        ("privilege_width", "1", "4"),
        ("ecause_choice", "0", "6"),
        ("filter_context", "0", "1"),
        ("filter_ecause", "0", "15"),
        ("filter_interrupt", "0", "1"),
        ("filter_privilege", "0", "1"),
        ("filter_tval", "0", "1"),
        ("user_width", "0", "256"),
        ("taken_branches", "1", "8"),
        ("itype_width", "3", "4"),
        ("iretire_width", "1", "8"),
        ("ntkn_width", "1", "5"),
        ("context_type_width", "1", "2"),
    ] {
        let mut params = Params::default();
        assert_eq!(params.set(name, least), Ok(()), "{name}");
        assert_eq!(params.set(name, most), Ok(()), "{name}");
        let above = (most.parse::<u64>().unwrap() + 1).to_string();
        assert!(matches!(params.set(name, &above), Err(Wrong::Value(..))), "{name} = {above}");
    }
}

#[test]
fn invalid_input_is_reported() {
    for (text, want) in [
        ("version = \"2.0\"\nnonsense", "line 2: not `name = value`"),
        (
            "# comment\nprivilege_width = 9",
            "line 2: `privilege_width` cannot be `9`; it is a number from 1 to 4",
        ),
        ("[x]\nversion = 3.0", "line 2: `version` cannot be `3.0`; it is one of 0.026 1.0 2.0 2.1"),
    ] {
        assert_eq!(Params::from_text(text).unwrap_err().to_string(), want);
    }
    let unknown = Params::from_text("speed = 1").unwrap_err().to_string();
    assert!(unknown.starts_with("line 1: no parameter is called `speed`; there are version"));
}

/// The order of lines does not matter: the defaults of profile and version are applied first.
#[test]
fn defaults_are_applied_first() {
    let text =
        "iaddress_lsb = 0\nsijump_p=1\nnotime_p=1\ntime_width_p=1\nprofile = siemens\nxlen = 32";
    let params = Params::from_text(text).unwrap();
    let mut want = Params::of(Profile::Siemens, false);
    want.widths.iaddress_lsb = 0;
    want.options.sijump = true;
    assert_eq!(params, want);
}

/// Registers with the names of `.scf` files.
#[test]
fn names_of_the_specification() {
    let given = [("iaddress_lsb_p", 0), ("call_counter_size_p", 9), ("impdef_width_p", 1)];
    let register = |name: &str| given.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
    let params = Etrace::configure(None, &register).unwrap();
    let Params { widths, port, .. } = params;
    assert_eq!((widths.iaddress_lsb, widths.call_counter_size, port.user_width), (0, 9, 1));

    // The lists of the reference flow's suites.
    let text = "SCF[iaddress_lsb_p]=0\nUCF[resync-max]=1\nUCF[implicit-return]=true\nretires_p = 1\n\
                SCF[data_width_p]=32\nUCF[full-daddress]=true\nUCF[full-address]=true";
    let params = Params::from_text(text).unwrap();
    assert_eq!((params.widths.iaddress_lsb, params.choices.resync_max), (0, 32));
    assert_eq!((params.options.implicit_return, params.options.full_address), (true, true));
    assert_eq!(params.data.width, 32);
    assert!(Params::from_text("UCF[resync-max]=28").is_err());
}

/// The trap vectors of the CSRs. (Privileged ISA, `mtvec`)
#[test]
fn vectors() {
    let mut params = Params::default();
    assert_eq!(params.vector(3, false, 2), None);
    params.set("mtvec", "0x8000_0101").unwrap();
    params.set("stvec", "0x200").unwrap();
    assert_eq!(params.vector(3, false, 2), Some(0x8000_0100));
    assert_eq!(params.vector(3, true, 7), Some(0x8000_011c));
    assert_eq!(params.vector(1, true, 9), Some(0x200));
    params.set("vstvec", "0x300").unwrap();
    // VS, in the encoding of the table "priv". No handler runs in Debug mode, in VU or in a
    // reserved level.
    assert_eq!(params.vector(6, false, 2), Some(0x300));
    for privilege in [2, 4, 5, 7] {
        assert_eq!(params.vector(privilege, false, 2), None, "{privilege}");
    }
}
