//! Clients that are compiled with the headers of two releases of OpenCSD, and the library of the
//! other one.
//!
//! The installed release is 1.3.3 in Debian 12; `TRACEWRIGHT_OPENCSD` names the sources of another
//! one, 1.8.0. Without them the tests are recorded as skipped.

use std::path::{Path, PathBuf};

use tracewright_testing::is_long;

use crate::client::{
    compile, compile_with_other_headers, library, other_library, other_library_or_none, output, run,
};
use crate::snapshots::scripts;

/// What a client prints.
fn printed(client: &Path, library: Option<&Path>, args: &[&str]) -> String {
    output(run(client, library, args))
}

/// The snapshots; `bugfix-exact-match`, which takes longer than all others, in a long run only.
fn compared() -> impl Iterator<Item = (String, PathBuf, PathBuf)> {
    scripts().into_iter().filter(|(name, ..)| is_long() || name != "bugfix-exact-match")
}

/// `text` without the fields of elements that the headers of 1.3.3 do not have, or number
/// otherwise.
fn of_both_headers(text: &str) -> String {
    let kinds = ["_EO_TRACE(", "_INSTRUMENTATION(", "_ITMTRACE("];
    let without_fields = |line: &str| match line.split_once(" | ") {
        Some((element, _)) if kinds.iter().any(|kind| line.contains(kind)) => {
            format!("{element} | \n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(without_fields).collect()
}

/// Elements and packets, field by field, in each way that the client receives them.
#[test]
fn clients_of_two_releases_receive_the_same() {
    let Some(client) = compile("client.c") else { return };
    let Some(other) = compile_with_other_headers("client.c") else { return };
    let release = |client| printed(client, Some(library()), &["release"]);
    // The headers are different ones, and the structures have another size.
    assert_eq!((release(&client).as_str(), release(&other).as_str()), ("1.3.3 88\n", "1.8.0 96\n"));
    for (name, script, _) in compared() {
        let has_frames = std::fs::read_to_string(&script).unwrap().starts_with("tree 0");
        let script = script.to_str().unwrap();
        for (mode, block, waits) in [
            ("elements", "4096", "0"),
            ("callback", "64", "5"),
            ("monitor", "4096", "0"),
            ("callbacks", "4096", "0"),
            ("sink", "4096", "-1"),
            ("frames", "4096", "0"),
        ] {
            let args = [script, mode, block, waits];
            let of_client = |client| of_both_headers(&printed(client, Some(library()), &args));
            // The headers of 1.3.3 have no packets of ITM.
            let has_no_fields = mode == "sink" && (name == "itm_only_raw" || name == "TC2");
            if !has_no_fields && (mode != "frames" || has_frames) {
                assert!(of_client(&client) == of_client(&other), "{name}: {mode}");
            }
        }
    }
}

/// Snapshots of which the elements of 1.8.0 are others: the lines that only it has, and why.
const DIFFERENT_IN_1_8_0: [(&str, &str, &str); 3] = [
    ("ete_ip", "range=0x1aa948:[0x1b37f4]", "it goes on behind a return without an address"),
    ("ete_spec_2", "range=0x2709c:[0x270a0]", "it goes on at the return address of an exception"),
    ("q_elem", "first 0x6960c:[next 0x695c8]", "it goes on behind a return without an address"),
];

/// The elements of 1.8.0, field by field: those of ITM, of Armv8.1-M and of the captures of Juno
/// are among them. docs/differences-from-opencsd.md has the bytes and the sections of the
/// specification for the three lines that only 1.8.0 has.
#[test]
fn elements_are_those_of_the_other_release() {
    let Some(client) = compile_with_other_headers("client.c") else { return };
    let Some(folder) = other_library() else { return };
    for (name, script, _) in compared() {
        // Without program memory 1.8.0 has no response but a fatal one.
        if ["event_test", "init-short-addr"].contains(&name.as_str()) {
            continue;
        }
        let args = [script.to_str().unwrap(), "elements", "4096", "0"];
        let lines = |folder| -> Vec<String> {
            printed(&client, Some(folder), &args).lines().map(str::to_owned).collect()
        };
        let (mut own, mut theirs) = (lines(library()), lines(&folder));
        if let Some((_, line, _)) = DIFFERENT_IN_1_8_0.iter().find(|(other, ..)| *other == name) {
            let only = theirs.iter().position(|theirs| theirs.contains(line)).unwrap();
            theirs.remove(only);
        }
        if name == "TC2" {
            // Elements of an ETMv3 are certain later than those of the sources beside it.
            let id = |line: &String| line.split(';').nth(1).map(str::to_owned);
            own.sort_by_key(id);
            theirs.sort_by_key(id);
        }
        assert!(!own.is_empty(), "{name}");
        let differs = own.iter().zip(&theirs).find(|(own, theirs)| own != theirs);
        assert_eq!(differs, None, "{name}");
        assert_eq!(own.len(), theirs.len(), "{name}");
    }
}

/// The packets of 1.8.0, field by field, as a function of the client receives them.
#[test]
fn packets_are_those_of_the_other_release() {
    let Some(client) = compile_with_other_headers("client.c") else { return };
    let Some(folder) = other_library() else { return };
    let mut wrong = Vec::new();
    for (name, script, _) in compared() {
        let args = [script.to_str().unwrap(), "sink", "4096", "-1"];
        let packets = |folder| -> Vec<String> {
            // Lines of bytes of an STM before a synchronisation have bytes that OpenCSD read
            // elsewhere; of a PTM OpenCSD has other offsets.
            let is_compared = |line: &&str| !line.contains("NOTSYNC");
            let text = printed(&client, Some(folder), &args);
            text.lines().filter(is_compared).map(str::to_owned).collect()
        };
        let (mut own, mut theirs) = (packets(library()), packets(&folder));
        if name == "TC2" {
            // Elements of an ETMv3 are certain later than those of the sources beside it.
            own.sort();
            theirs.sort();
        }
        let differs = own.iter().zip(&theirs).find(|(own, theirs)| own != theirs);
        if let Some((own, theirs)) = differs {
            wrong.push(format!("{name}:\n{own}\n{theirs}"));
        }
        assert_eq!(own.len(), theirs.len(), "{name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A client that registers a decoder: what it prints with both libraries, and with both headers.
#[test]
fn a_decoder_of_the_client_works_as_with_the_other_release() {
    let Some(client) = compile_with_other_headers("custom.c") else { return };
    let own = printed(&client, Some(library()), &[]);
    assert!(own.contains("OCSD_GEN_TRC_ELEM_EVENT( Numbered:10; )"), "{own}");
    if let Some(folder) = other_library_or_none() {
        assert_eq!(own, printed(&client, Some(&folder), &[]));
    }
}
