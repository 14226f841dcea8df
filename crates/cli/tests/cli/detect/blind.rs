//! The blind test: `info` names container, framing, alignment, protocol and profile of inputs
//! without a description, with no option but `--image`.

use std::ffi::OsString;
use std::fs;

use tracewright_testing::{is_long, sample};

use super::inputs::{Blind, Expected, all};
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
