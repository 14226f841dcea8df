//! The blind test: `info` names container, framing, alignment, protocol and profile of inputs
//! without a description, with no option but `--image`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;

use serde_json::Value;
use tracewright_testing::{is_long, sample};

use super::inputs::{Blind, Described, Expected, Origin, all};
use crate::common::{Folder, tracewright};

/// The inputs of which what `info` names must be right.
const LEAST: usize = 55;

/// What was named.
struct Answer {
    right: bool,
    /// A wrong answer was called certain.
    wrong_and_certain: bool,
    text: String,
}

#[test]
fn inputs_without_a_description() {
    let Some(inputs) = all() else { return };
    assert!(inputs.len() >= 60, "{}", inputs.len());
    let folder = Folder::new("detect-blind");
    let (mut right, mut count) = (0, 0);
    let mut table = String::new();
    for input in sample(16, inputs) {
        let answer = ask(&folder, &input);
        right += usize::from(answer.right);
        count += 1;
        let mark = if answer.right { "right" } else { "WRONG" };
        table += &format!("{mark} | {} | {}\n", input.name, answer.text);
        assert!(!answer.wrong_and_certain, "{}: {}", input.name, answer.text);
    }
    println!("{table}{right} of {count}");
    let least = if is_long() { LEAST } else { count };
    assert!(right >= least, "{right} of {count}\n{table}");
}

/// Runs `info` and compares.
fn ask(folder: &Folder, input: &Blind) -> Answer {
    let path = folder.path("input");
    fs::write(&path, &input.bytes).unwrap();
    let mut args: Vec<OsString> = ["info", "--format", "json"].map(Into::into).into();
    args.push(path.into());
    args.extend(images(folder, input));
    let output = tracewright(&args);
    match &input.expected {
        Expected::Container(name) => Answer {
            right: output.code == Some(2) && output.err.contains(name),
            wrong_and_certain: output.code != Some(2),
            text: output.err,
        },
        Expected::Described(name) => Answer {
            right: output.out.contains(&format!(r#""kind":"{name}""#)),
            wrong_and_certain: output.out.contains(r#""type":"detection""#),
            text: (*name).to_owned(),
        },
        Expected::Trace { framing, align, sources } => {
            let detection = output.out.lines().find(|line| line.contains(r#""type":"detection""#));
            let Some(line) = detection else {
                return Answer { right: false, wrong_and_certain: false, text: output.err };
            };
            let link = line.contains(&format!(r#""framing":"{framing}""#))
                && line.contains(&format!(r#""align":{align},"#));
            let each = sources.iter().map(|&(id, protocol)| {
                let source =
                    line.split(r#"{"id":"#).find(|part| part.starts_with(&format!("{id},")));
                let source = source.unwrap_or_default();
                let certain = source.contains(r#""certainty":"certain""#);
                (names(source, protocol, certain), certain)
            });
            let each: Vec<_> = each.collect();
            Answer {
                right: link && each.iter().all(|(right, _)| *right),
                wrong_and_certain: each.iter().any(|(right, certain)| !right && *certain),
                text: line.chars().take(400).collect(),
            }
        }
    }
}

/// The options for the program memory of an input.
fn images(folder: &Folder, input: &Blind) -> Vec<OsString> {
    let mut args = Vec::new();
    if let Some(image) = &input.image {
        args.extend(["--image".into(), image.clone().into_os_string()]);
    }
    if let Some(boot) = &input.boot {
        let path = folder.path("boot");
        fs::write(&path, boot).unwrap();
        let mut image = path.into_os_string();
        image.push("@0x1000");
        args.extend(["--image".into(), image]);
    }
    args
}

/// Whether the answer for a source names the protocol, or the profile. ETMv4 and ETE have the same
/// packets but for a few: either is right where it is not called certain.
fn names(source: &str, protocol: &str, certain: bool) -> bool {
    let name = source.split(r#""protocol":""#).nth(1).and_then(|text| text.split('"').next());
    let name = name.unwrap_or_default();
    if matches!(protocol, "ETM4" | "ETE") && !certain {
        return matches!(name, "ETM4" | "ETE");
    }
    name == protocol || name.contains(&format!("(profile {protocol},"))
}

/// `decode` of an input without a description executes the same instructions as with one.
#[test]
fn the_elements_are_those_of_the_described_capture() {
    let Some(inputs) = all() else { return };
    let folder = Folder::new("detect-elements");
    let with_image = inputs.into_iter().filter(|input| input.image.is_some());
    for input in sample(9, with_image) {
        let Some(described) = described(&input) else { continue };
        let path = folder.path("input");
        fs::write(&path, &input.bytes).unwrap();
        let run = |options: &str| {
            let words = format!("instructions --format pc {options}");
            let mut args: Vec<OsString> = words.split_whitespace().map(Into::into).collect();
            args.extend(images(&folder, &input));
            args.push(path.clone().into_os_string());
            tracewright(&args)
        };
        let (found, want) = (run(""), run(&described));
        assert!(want.out.lines().count() > 20, "{}: {}", input.name, want.err);
        assert!(found.out == want.out, "{}: {} {}", input.name, found.err, want.err);
    }
}

/// Nothing is detected in these inputs: the cut takes the only synchronisation away, so that the
/// snapshot has no packet, either.
const UNDECODABLE: &str = "stuck_trace.bin";

/// `decode` of an input without a description has the elements that it has with the snapshot from
/// which it was made, without its program memory, or with all options.
#[test]
fn the_elements_are_those_of_the_description() {
    let Some(inputs) = all() else { return };
    let folder = Folder::new("detect-snapshots");
    let described = inputs.into_iter().filter_map(|input| Some((input.origin.clone()?, input)));
    let mut count = 0;
    for (origin, input) in sample(7, described) {
        let Expected::Trace { sources, .. } = &input.expected else { continue };
        let path = folder.path("input");
        fs::write(&path, &input.bytes).unwrap();
        let found = elements(&[path.clone().into_os_string()]);
        let (want, id) = match &origin {
            Origin::Snapshot(described) => {
                let mut words = vec![snapshot(&folder, described).into(), "--all-buffers".into()];
                words.extend(
                    described.framing.iter().flat_map(|name| ["--framing", *name]).map(Into::into),
                );
                (elements(&words), described.id)
            }
            Origin::Options(options) => {
                let mut words: Vec<OsString> = options.split_whitespace().map(Into::into).collect();
                words.push(path.into_os_string());
                (elements(&words), None)
            }
        };
        if input.name.contains(UNDECODABLE) {
            let decoded = |line: &String| {
                !["gap", "undecodable", "end"]
                    .iter()
                    .any(|k| line.contains(&format!(r#""kind":"{k}""#)))
            };
            assert!(found.is_empty() && !want.values().flatten().any(decoded), "{want:?}");
            continue;
        }
        for (source, _) in sources {
            // A source without frames is the only one.
            let want = match id {
                Some(id) if id > 0 => want.get(&id),
                Some(_) => want.values().max_by_key(|elements| elements.len()),
                None => want.get(source),
            };
            let (found, want) = (found.get(source).unwrap(), want.unwrap());
            let differs = found.iter().zip(want).position(|(a, b)| a != b);
            let len = (found.len(), want.len());
            assert!(differs.is_none() && len.0 == len.1, "{}: {differs:?} {len:?}", input.name);
            count += 1;
        }
    }
    assert!(count >= if is_long() { 40 } else { 4 }, "{count}");
}

/// The snapshot without program memory, with the bytes in its buffer.
fn snapshot(folder: &Folder, origin: &Described) -> std::path::PathBuf {
    let to = folder.path("snapshot");
    let _ = fs::remove_dir_all(&to);
    fs::create_dir(&to).unwrap();
    for entry in fs::read_dir(origin.file.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ini") {
            continue;
        }
        let mut dump = false;
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        let lines = text.lines().filter(|line| {
            if line.trim_start().starts_with('[') {
                dump = line.to_ascii_lowercase().trim_start().starts_with("[dump");
            }
            !dump
        });
        let lines: Vec<_> = lines.collect();
        fs::write(to.join(path.file_name().unwrap()), lines.join("\n")).unwrap();
    }
    fs::write(to.join(origin.file.file_name().unwrap()), &origin.bytes).unwrap();
    to
}

/// The elements of each trace ID, without their offsets.
fn elements(args: &[OsString]) -> BTreeMap<u64, Vec<String>> {
    let mut words: Vec<OsString> = ["decode", "--format", "json"].map(Into::into).into();
    words.extend_from_slice(args);
    let output = tracewright(&words);
    let (mut ids, mut all) = (BTreeMap::new(), BTreeMap::<u64, Vec<String>>::new());
    // The other buffers of a snapshot are not copied.
    let mut is_empty = false;
    for line in output.out.lines() {
        let Ok(Value::Object(mut line)) = serde_json::from_str(line) else { panic!("{line}") };
        let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(String::from));
        match line.get("type").and_then(Value::as_str) {
            Some("buffer") => {
                is_empty = line["bytes"] == 0;
                for source in line["sources"].as_array().unwrap() {
                    let id = source.get("id").and_then(Value::as_u64).unwrap_or(0);
                    ids.insert(text(source.get("name").cloned()).unwrap(), id);
                }
            }
            Some("element") if !is_empty => {
                line.remove("offset");
                let source = text(line.remove("source")).unwrap();
                all.entry(ids[&source]).or_default().push(Value::from(line).to_string());
            }
            _ => {}
        }
    }
    all
}

/// The options that describe an input in full.
fn described(input: &Blind) -> Option<String> {
    let Expected::Trace { framing, align, sources } = &input.expected else { return None };
    let (id, protocol) = *sources.last()?;
    let link = match *framing {
        "raw" => String::new(),
        framing => format!("--framing {framing} --align {align}"),
    };
    let unit = match protocol {
        "ETM3" if id == 2 => {
            "--protocol ETM3@2 --core Cortex-M3 --config ETMCR=0x0 --config ETMIDR=0x4114f250"
        }
        "ETM3" if input.name.contains("sigrok") => {
            "--protocol ETM3 --core Cortex-M3 --config ETMCR=0x0 --config ETMIDR=0x4114f250"
        }
        "ETM3" if id == 0x10 => {
            "--protocol ETM3@0x10 --core Cortex-R5 --config ETMCR=0xc40 --config ETMIDR=0x4104f230"
        }
        "ETM3" => {
            "--protocol ETM3 --core Cortex-R5 --config ETMCR=0xc40 --config ETMIDR=0x4104f230"
        }
        "reference-flow" => return Some(reference_flow(&input.name)),
        "siemens" => "--protocol etrace --config profile=siemens",
        "pulp-trdb" if input.name.contains("rv32.full") => {
            "--protocol etrace --config profile=pulp-trdb --config xlen=32 --config full_address=1"
        }
        "pulp-trdb" => "--protocol etrace --config profile=pulp-trdb --config xlen=64",
        "pulp-rv_tracer" => "--protocol etrace --config profile=pulp-rv_tracer",
        _ => return None,
    };
    Some(format!("{link} {unit}"))
}

/// The parameters of a suite of the reference flow.
fn reference_flow(name: &str) -> String {
    let xlen = if name.contains("rv32") { 32 } else { 64 };
    let more = match name {
        _ if name.contains("itype3_debug") => "--config iaddress_lsb=0",
        _ if name.contains("itype4_debug") => {
            "--config iaddress_lsb=0 --config call_counter_size=9"
        }
        _ if name.contains("fake_scf") => {
            "--config return_stack_size=7 --config notime=0 --config time_width=1 --config sijump=1"
        }
        _ => "",
    };
    format!("--protocol etrace --config profile=reference-flow --config xlen={xlen} {more}")
}
