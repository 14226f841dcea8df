//! Snapshots of Arm, decoded by the client in C. Its elements are those of the listings of OpenCSD
//! 1.8.0, and those that the installed OpenCSD reports.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracewright::capture::Capture;
use tracewright::decode::{Options, Plan};
use tracewright::frames::Framing;
use tracewright_opencsd::registers::DecoderRegisters;
use tracewright_testing::{is_long, shared, text};

use crate::client::{compile, folder, installed, library, output, run};

/// Snapshots that a short run decodes.
const SMALL: [&str; 12] = [
    "Snowball",
    "armv8_1m_branches",
    "ete-bc-instr",
    "ete_spec_1",
    "event_test",
    "init-short-addr",
    "itm_only_raw",
    "pauth_lr",
    "q_elem",
    "rme_test",
    "stm-issue-27",
    "tme_simple",
];

/// Snapshots whose elements differ from the listings in more than one line each:
/// docs/differences-from-opencsd.md has the reasons.
const LINES_THAT_DIFFER: usize = 2;

/// The description of a capture that the client reads. `None` where the client cannot decode it.
fn script(capture: &Capture, name: &str, split: bool) -> Option<PathBuf> {
    let framing = (name == "a55-test-tpiu").then_some(Framing::Dstream);
    let plan = Plan::new(capture, 0, &Options { framing, ..Options::default() })?;
    let (source, flags) = match plan.framing {
        Framing::Coresight => (0, 0x4),
        Framing::Raw => (1, 0),
        _ => return None,
    };
    let mut out = format!("tree {source} {flags:x}\n");
    for planned in &plan.sources {
        let source = &capture.sources[planned.source];
        let decoder = DecoderRegisters::of(planned.config.protocol())?;
        let default = |name: &&str| match *name {
            "TRCDEVARCH" => 0x4770_5a13,
            "TRCIDR1" => 0x4100_f403,
            _ => 0,
        };
        let mut words: Vec<u64> = decoder
            .registers
            .iter()
            .map(|name| source.register(name).unwrap_or_else(|| default(name)))
            .collect();
        if decoder.has_core {
            let core = capture.core_type(source);
            let version = core.map_or(8, |core| core.version);
            // Version 8 and above have 64-bit opcodes of later versions, too.
            words.push(if version >= 8 { 0x864 } else { u64::from(version) << 8 });
            words.push(core.map_or(3, |core| 3 - u64::from(core.profile as u8)));
        }
        let flags = if split { 0x1_0000 } else { 0 };
        let _ = write!(out, "decoder {} {flags:x} {}", decoder.name, words.len());
        words.iter().for_each(|word| write!(out, " {word:x}").unwrap());
        out.push('\n');
    }
    let mut seen = HashSet::new();
    for dump in &capture.memory {
        let Some(bytes) = dump.bytes.as_ref().filter(|bytes| bytes.len() >= 4) else { continue };
        // OpenCSD refuses memory that other memory overlaps, and memory of an odd length.
        if !seen.insert((dump.address, dump.space().bits())) {
            continue;
        }
        let (address, space) = (dump.address, dump.space().bits());
        let (offset, len, path) = (dump.offset, bytes.len() & !1, dump.path.display());
        let _ = writeln!(out, "memory {address:x} {space:x} {offset} {len} {path}");
    }
    let data = folder().join(format!("{name}.data"));
    let mut bytes = Vec::new();
    for part in capture.buffers[0].parts() {
        bytes.extend_from_slice(part);
    }
    std::fs::write(&data, bytes).unwrap();
    let _ = writeln!(out, "data {}", data.display());
    let path = folder().join(format!("{name}.script"));
    std::fs::write(&path, out).unwrap();
    Some(path)
}

/// The snapshots of a run and their scripts: name, script, listing.
pub fn scripts() -> Vec<(String, PathBuf, PathBuf)> {
    // Tests run at the same time: one of them writes the scripts.
    static WRITTEN: Mutex<Option<Vec<(String, PathBuf, PathBuf)>>> = Mutex::new(None);
    let Some(folder) = shared("conformance/arm") else { return Vec::new() };
    WRITTEN.lock().unwrap().get_or_insert_with(|| write_scripts(&folder)).clone()
}

fn write_scripts(folder: &Path) -> Vec<(String, PathBuf, PathBuf)> {
    let mut names: Vec<String> = std::fs::read_dir(folder.join("snapshots"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| is_long() || SMALL.contains(&name.as_str()))
        .collect();
    names.sort();
    let open = |name: String| {
        let capture = tracewright::read_capture(&folder.join("snapshots").join(&name)).unwrap();
        let script = script(&capture, &name, false)?;
        let listing = folder.join(format!("expected/{name}.decode.ppl.xz"));
        Some((name, script, listing))
    };
    names.into_iter().filter_map(open).collect()
}

/// The elements in a listing: its lines with an element.
fn listed(listing: &Path) -> Vec<String> {
    let is_element =
        |line: &&str| line.contains("; OCSD_GEN_TRC_ELEM_") && line.starts_with("Idx:");
    text(listing).lines().filter(is_element).map(str::to_owned).collect()
}

/// The elements that the client received, without their fields.
pub fn without_fields(text: &str) -> Vec<String> {
    let elements = text.lines().filter(|line| line.starts_with("Idx:"));
    elements.map(|line| line.split(" | ").next().unwrap().trim_end().to_owned()).collect()
}

/// The trace ID in a line.
fn id(line: &str) -> String {
    line.split(';').nth(1).unwrap_or_default().to_owned()
}

/// A description of the lines that differ, if there are more than `most`.
fn compare(name: &str, own: &[String], theirs: &[String], most: usize) -> Option<String> {
    let (mut differ, mut other) = (Vec::new(), theirs.iter().peekable());
    for line in own {
        // Lines that only the other has.
        let ahead = other.clone().take(50).position(|theirs| theirs == line);
        match ahead {
            Some(skipped) => {
                differ.extend(other.by_ref().take(skipped).map(|line| format!("- {line}")));
                other.next();
            }
            None => differ.push(format!("+ {line}")),
        }
    }
    differ.extend(other.map(|line| format!("- {line}")));
    let count = differ.len();
    differ.truncate(12);
    (count > most).then(|| format!("{name}: {count} lines differ\n{}", differ.join("\n")))
}

#[test]
fn elements_are_those_of_the_listings() {
    let Some(client) = compile("client.c") else { return };
    let (mut checked, mut wrong) = (0, Vec::new());
    for (name, script, listing) in scripts() {
        if !listing.exists() {
            continue;
        }
        let script = script.to_str().unwrap();
        let own = output(run(&client, Some(library()), &[script, "elements", "4096", "0"]));
        // The listing has the last line of an element's text without a blank at its end.
        let mut theirs: Vec<_> =
            listed(&listing).iter().map(|line| line.trim_end().to_owned()).collect();
        let mut own = without_fields(&own);
        if name == "TC2" {
            // Elements of an ETMv3 are certain later than those of the sources beside it.
            own.sort_by_key(|line| id(line));
            theirs.sort_by_key(|line| id(line));
        }
        wrong.extend(compare(&name, &own, &theirs, LINES_THAT_DIFFER));
        checked += theirs.len();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked == 0 || checked > 1000, "{checked}");
}

/// Whatever the blocks of data are, whoever reads memory, and wherever the client waits.
#[test]
fn elements_do_not_depend_on_the_calls() {
    let Some(client) = compile("client.c") else { return };
    for (name, script, _) in scripts() {
        if name == "bugfix-exact-match" {
            continue;
        }
        let script = script.to_str().unwrap();
        let decode = |mode, block, waits| {
            output(run(&client, Some(library()), &[script, mode, block, waits]))
        };
        let whole = decode("elements", "4096", "0");
        for (mode, block, waits) in [
            ("elements", "16", "0"),
            ("elements", "4096", "3"),
            ("callback", "64", "1"),
            ("callback", "4096", "5"),
            ("buffer", "4096", "0"),
            ("plain", "4096", "0"),
        ] {
            assert!(decode(mode, block, waits) == whole, "{name}: {mode} {block} {waits}");
        }
    }
}

/// The packets in the lines of a listing, without the trace ID: the listing has 0 for a source
/// without frames.
fn packets(text: &str) -> Vec<String> {
    // A line may follow an error without a line break.
    let line = |line| Some(&line[str::find(line, "Idx:")?..]).filter(|line| line.contains(";\t"));
    let without_id = |line: &str| match (line.split_once("; ID:"), line.split_once("; [")) {
        (Some((index, _)), Some((_, rest))) => format!("{index}; [{rest}"),
        _ => line.to_owned(),
    };
    text.lines().filter_map(line).map(without_id).collect()
}

/// Packets that the library prints, and those that a function of the client receives and prints.
#[test]
fn packets_are_those_of_the_listings() {
    let Some(client) = compile("client.c") else { return };
    let mut wrong = Vec::new();
    for (name, script, listing) in scripts() {
        if !listing.exists() || name == "bugfix-exact-match" {
            continue;
        }
        let most = match name.as_str() {
            // OpenCSD's lines of bytes before a synchronisation have bytes that it read elsewhere.
            "Snowball" => 2,
            "stm_only" => 108,
            _ => 0,
        };
        let script_name = script.to_str().unwrap();
        let decode =
            |mode| output(run(&client, Some(library()), &[script_name, mode, "4096", "0"]));
        let printed = packets(&decode("monitor"));
        let mut theirs = packets(&text(&listing));
        let mut own = printed.clone();
        if name == "TC2" {
            own.sort();
            theirs.sort();
        }
        wrong.extend(compare(&name, &own, &theirs, most));
        let text = std::fs::read_to_string(&script).unwrap();
        let has_structures = |line: &str| {
            ["ETMV4I", "ETE", "ETMV3", "PTM", "STM", "ITM"]
                .iter()
                .any(|name| line.split(' ').nth(1) == Some(name))
        };
        if text.lines().filter(|line| line.starts_with("decoder")).all(has_structures) {
            wrong.extend(compare(&name, &packets(&decode("callbacks")), &printed, 0));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The fields of the packets of ETMv4, ETMv3, PTM and STM that the installed library makes.
#[test]
fn packets_have_the_fields_of_the_installed_library() {
    let Some(client) = compile("client.c") else { return };
    if installed().is_none() {
        return;
    }
    for (name, script, _) in scripts() {
        let text = std::fs::read_to_string(&script).unwrap();
        let decoders: Vec<_> = text.lines().filter(|line| line.starts_with("decoder")).collect();
        let all = |name: &str| decoders.iter().all(|line| line.split(' ').nth(1) == Some(name));
        // 1.3.3 has no packet callback for ETE.
        let known = ["ETMV4I", "ETMV3", "PTM", "STM"].iter().any(|name| all(name));
        if !known || name == "bugfix-exact-match" {
            continue;
        }
        let args = [script.to_str().unwrap(), "sink", "4096", "-1"];
        let fields = |folder| {
            let text = output(run(&client, folder, &args));
            // OpenCSD groups bytes before a synchronisation of an STM otherwise.
            let is_compared = |line: &&str| line.starts_with('{') && !line.starts_with("{0 0 0 ");
            let lines = text.lines().filter(is_compared).map(str::to_owned);
            lines.collect::<Vec<_>>()
        };
        let own = fields(Some(library()));
        assert!(!own.is_empty(), "{name}");
        assert_eq!(own, fields(None), "{name}");
    }
}

/// The fields and the text of the packets of ETMv3 that the installed library makes: of a capture
/// of this repository, and of the ETMv3 in TC2.
#[test]
fn packets_of_etmv3_are_those_of_the_installed_library() {
    let Some(client) = compile("client.c") else { return };
    if installed().is_none() {
        return;
    }
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/etmv3/capture");
    let shared = shared("conformance/arm").map(|folder| folder.join("snapshots/TC2"));
    for (name, path) in [("etmv3", Some(own)), ("TC2-etmv3", shared)] {
        let Some(path) = path else { continue };
        let capture = tracewright::read_capture(&path).unwrap();
        let script = script(&capture, name, false).unwrap();
        let text = std::fs::read_to_string(&script).unwrap();
        let others = |line: &&str| !line.starts_with("decoder") || line.contains(" ETMV3 ");
        let only: Vec<&str> = text.lines().filter(others).collect();
        std::fs::write(&script, only.join("\n") + "\n").unwrap();
        let args = [script.to_str().unwrap(), "sink", "4096", "-1"];
        let own = output(run(&client, Some(library()), &args));
        assert!(own.lines().filter(|line| line.starts_with('{')).count() > 20, "{name}: {own}");
        assert_eq!(own, output(run(&client, None, &args)), "{name}");
    }
}
