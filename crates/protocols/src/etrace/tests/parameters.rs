//! Parameters: their ranges, their texts, and what each profile makes of them. (0.026, Table 3.7;
//! "Discovery of encoder parameters")

use std::string::ToString;

use crate::etrace::config::{PARAMETERS, Profile, Version, Wrong};
use crate::etrace::{Etrace, Params};
use crate::protocol::Protocol;

fn all() -> impl Iterator<Item = Params> {
    Version::WORDS.iter().flat_map(|&(version, _)| {
        Profile::WORDS.iter().flat_map(move |&(profile, _)| {
            [false, true].map(|wide| {
                let version = Version::of_number(version).unwrap();
                Params::new(version, Profile::of_number(profile).unwrap(), wide)
            })
        })
    })
}

#[test]
fn every_set_is_written_and_read_the_same() {
    for params in all() {
        assert_eq!(Params::from_text(&params.to_text()), Ok(params), "{}", params.to_text());
        let number = |name: &str| {
            let parameter = PARAMETERS.iter().find(|p| p.name() == name)?;
            (parameter.get)(&params)
        };
        assert_eq!(Etrace::configure(None, &number), Ok(params));
    }
}

/// Each parameter takes its least and its greatest value and no other beyond.
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
fn what_is_wrong_is_said() {
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

/// The order of lines does not matter: profile and version come first whatever the text says.
#[test]
fn defaults_come_before_what_is_given() {
    let text =
        "iaddress_lsb = 0\nsijump_p=1\nnotime_p=1\ntime_width_p=1\nprofile = siemens\nxlen = 32";
    let params = Params::from_text(text).unwrap();
    let mut want = Params::new(Version::V1_0, Profile::Siemens, false);
    want.widths.iaddress_lsb = 0;
    want.options.sijump = true;
    assert_eq!(params, want);
}

/// Registers by the names of `.scf` files.
#[test]
fn names_of_the_specification() {
    let given = [("iaddress_lsb_p", 0), ("call_counter_size_p", 9), ("impdef_width_p", 1)];
    let register = |name: &str| given.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
    let params = Etrace::configure(None, &register).unwrap();
    let Params { widths, port, .. } = params;
    assert_eq!((widths.iaddress_lsb, widths.call_counter_size, port.user_width), (0, 9, 1));
}

/// Where CSRs say that traps go. (Privileged ISA, `mtvec`)
#[test]
fn vectors() {
    let mut params = Params::default();
    assert_eq!(params.vector(3, false, 2), None);
    params.set("mtvec", "0x8000_0101").unwrap();
    params.set("stvec", "0x200").unwrap();
    assert_eq!(params.vector(3, false, 2), Some(0x8000_0100));
    assert_eq!(params.vector(3, true, 7), Some(0x8000_011c));
    assert_eq!(params.vector(1, true, 9), Some(0x200));
}
