//! ETMv4 and ETE packets against the reference's packet listings: bytes, spans, and words.
//!
//! Each packet line of a listing has the packet's bytes and its text. The bytes must parse to one
//! packet of that length, the packet must give the same bytes back, and its text must be the line's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use tracewright_base::{CoreType, Fault, Parse, Profile, Wire};
use tracewright_protocols::etmv4::{Config, Packet};
use tracewright_views::opencsd::Etmv4Text;

fn shared() -> Option<PathBuf> {
    let folder = std::env::var_os("TRACEWRIGHT_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    // A worktree is one level deeper than the main checkout.
    let deeper = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared");
    [folder, deeper].into_iter().map(|f| f.join("conformance/arm")).find(|f| f.is_dir())
}

fn unxz(path: &Path) -> Option<String> {
    let out = Command::new("xz").arg("-dc").arg(path).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

/// The ETMv4 and ETE units of a snapshot by trace id, and one for listings without ids.
fn units(folder: &Path) -> BTreeMap<u8, Config> {
    let mut units = BTreeMap::new();
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let texts: Vec<_> = files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "ini"))
        .map(|f| String::from_utf8_lossy(&std::fs::read(f).unwrap()).into_owned())
        .collect();
    let microcontroller = texts.iter().any(|text| text.contains("Cortex-M"));
    let core =
        microcontroller.then_some(CoreType { profile: Profile::Microcontroller, version: 8 });
    for text in texts {
        let value = |name: &str| {
            let mut values = text.lines().filter_map(|line| {
                let (key, value) = line.split_once('=')?;
                let key = key.split('(').next()?.trim();
                key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            });
            values.next()
        };
        let register = |name: &str| {
            // One snapshot has a section name at the end of a line.
            let value = value(name)?;
            let digits = value.split('[').next()?.trim().strip_prefix("0x")?;
            u64::from_str_radix(digits, 16).ok()
        };
        let Some(kind) = value("type") else { continue };
        let config = match kind.split('.').next() {
            Some("ETM4") => Config::etmv4(core, &register).unwrap(),
            Some("ETE") => Config::ete(core, &register).unwrap(),
            _ => continue,
        };
        units.entry(config.trace_id()).or_insert(config);
        units.entry(0).or_insert(config);
    }
    units
}

/// One packet line: `Idx:66; ID:20; [0xc2 0xf6 ];<tab>NAME : text`.
fn line(line: &str) -> Option<(u8, Vec<u8>, &str)> {
    // An error message before it has no line end.
    let (_, rest) = line.rsplit_once("Idx:")?;
    let (_, rest) = rest.split_once("; ID:")?;
    let (id, rest) = rest.split_once("; [")?;
    let (bytes, text) = rest.split_once(" ];\t")?;
    let bytes = bytes
        .split(' ')
        .map(|byte| u8::from_str_radix(byte.strip_prefix("0x")?, 16).ok())
        .collect::<Option<_>>()?;
    Some((u8::from_str_radix(id, 16).ok()?, bytes, text))
}

/// Compares all of a listing and returns how many packets there were.
fn check(listing: &str, units: &BTreeMap<u8, Config>) -> usize {
    let mut texts: BTreeMap<u8, Etmv4Text> = BTreeMap::new();
    let mut packets = 0;
    let (mut got, mut emitted) = (String::new(), Vec::new());
    for whole in listing.lines() {
        if whole.starts_with("Trace Packet Lister : Trace buffer done") {
            texts.clear();
        }
        let Some((id, mut bytes, want)) = line(whole) else { continue };
        let Some(config) = units.get(&id) else { continue };
        let text = texts.entry(id).or_default();
        let len = bytes.len();
        got.clear();
        if want.starts_with("I_NOT_SYNC") {
            text.bad(config, &bytes, Fault::Unsynchronised, &mut got);
            assert_eq!(got, want, "{whole}");
            continue;
        }
        // One more byte: where a packet ends must not depend on the end of the bytes.
        bytes.push(0x04);
        match Packet::parse(&bytes, config) {
            Parse::Packet(packet, span) => {
                assert_eq!(span, len, "{whole}: {packet}");
                emitted.clear();
                packet.emit(config, &mut emitted);
                assert_eq!(emitted, bytes[..len], "{whole}: {packet}");
                text.packet(config, &packet, &mut got);
            }
            Parse::Bad(span, fault) => {
                assert_eq!(span, len, "{whole}: {fault}");
                text.bad(config, &bytes, fault, &mut got);
            }
            Parse::Partial => panic!("{whole}: more bytes wanted"),
        }
        assert_eq!(got, want, "{whole}");
        packets += 1;
    }
    packets
}

#[test]
fn listings() {
    let Some(folder) = shared() else { return println!("skipped: no conformance captures") };
    let mut files: Vec<_> =
        std::fs::read_dir(folder.join("expected")).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let mut total = 0;
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let snapshot = name.split('.').next().unwrap();
        let units = units(&folder.join("snapshots").join(snapshot));
        if units.is_empty() {
            continue;
        }
        let Some(listing) = unxz(&file) else {
            println!("skipped: {name}: cannot be read (is `xz` there?)");
            continue;
        };
        let packets = check(&listing, &units);
        println!("{name}: {packets} packets");
        // One listing has no bytes.
        assert!(packets > 0 || snapshot == "a55-test-tpiu", "{name}");
        total += packets;
    }
    println!("{total} packets");
}
