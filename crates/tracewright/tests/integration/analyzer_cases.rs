//! The trace analyzers, which transcribe the specifications, against the cases of `tests/cases`:
//! what a case expects is what the analyzer finds in its bytes.
//!
//! An analyzer ends at the first point that is malformed. It then begins again at the next
//! alignment synchronisation, with a decoder in its initial state.

use tracewright::base::{CoreType, MAX_EXPANSION, Profile};
use tracewright::protocols::registry::AnyProtocol;
use tracewright_model::analyzer::{Memory, Output};
use tracewright_model::differential::Differential as _;
use tracewright_model::etmv3_analyzer::Unit;
use tracewright_model::{differential, etmv3_differential};

use crate::case::Case;

/// An Alignment Synchronization packet of ETMv4 and ETE.
const ALIGNMENT: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80];

/// The end of an A-sync of ETMv3.
const A_SYNC: [u8; 6] = [0, 0, 0, 0, 0, 0x80];

/// How a case compares.
enum Compared {
    /// The analyzer, and the decoder as the comparison runs it, agree with the case.
    Same,
    /// Why it is not compared.
    Not(&'static str),
}

/// The cases of `protocols`, with their names.
fn cases(protocols: &[AnyProtocol]) -> Vec<(String, Case)> {
    let all = Case::all().into_iter();
    let all =
        all.map(|(name, case)| (name.clone(), case.unwrap_or_else(|e| panic!("{name}: {e}"))));
    all.filter(|(_, case)| case.protocol.is_some_and(|p| protocols.contains(&p))).collect()
}

fn memory(case: &Case) -> Memory {
    let regions = case.image.regions().iter();
    Memory { blocks: regions.map(|r| (r.start(), r.run(r.start()).to_vec())).collect() }
}

/// Whether the elements of the comparison, each as its offset and its text, are those of the case.
fn expected(case: &Case, texts: &[String]) -> Result<(), String> {
    let got = texts.iter().map(|text| text.trim_start());
    match got.clone().eq(case.elements.iter().map(String::as_str)) {
        true => Ok(()),
        false => Err(format!("the case expects other elements: {:#?}", got.collect::<Vec<_>>())),
    }
}

/// Compares all cases and prints how many are. Panics where one differs that is not in `known`.
fn all(
    protocols: &[AnyProtocol],
    at_least: usize,
    known: &[(&str, &str)],
    compare: impl Fn(&Case) -> Result<Compared, String>,
) {
    let (mut same, mut differing, mut other) = (0, Vec::<(String, String)>::new(), Vec::new());
    for (name, case) in cases(protocols) {
        match compare(&case) {
            Ok(Compared::Same) => same += 1,
            Ok(Compared::Not(why)) => other.push(format!("{name}: {why}")),
            Err(why) => differing.push((name, why)),
        }
    }
    println!("{same} cases agree; not compared:\n{}", other.join("\n"));
    for (name, why) in known {
        println!("{name} differs: {why}");
        assert!(differing.iter().any(|(own, _)| own.starts_with(name)), "{name} does not differ");
    }
    differing.retain(|(name, _)| !known.iter().any(|(own, _)| name.starts_with(own)));
    let text: Vec<_> = differing.iter().map(|(name, why)| format!("== {name}: {why}")).collect();
    assert!(text.is_empty(), "{}\n{}", text.len(), text.join("\n"));
    assert!(same >= at_least, "only {same} cases");
}

/// The cases in which an analyzer of ETMv4 and ETE finds something else, and why.
const KNOWN: [(&str, &str); 2] = [
    ("etmv4/illegal-opcode", ILLEGAL),
    (
        "ete/return-address-before",
        "the pseudocode of K10.5.5.6 does not walk past the last address; the decoder does",
    ),
];

/// The specifications do not consider a program image that is wrong.
const ILLEGAL: &str = "an opcode that no program has ends a path";

#[test]
fn cases_of_etmv4_and_ete() {
    all(&[AnyProtocol::Etmv4, AnyProtocol::Ete], 140, &KNOWN, |case| {
        let profile = case.core.map(|core: CoreType| core.profile);
        if profile == Some(Profile::Microcontroller) {
            return Ok(Compared::Not("the M profile"));
        }
        if case.max_expansion != MAX_EXPANSION {
            return Ok(Compared::Not("the limit of expansion"));
        }
        let registers = case.registers.iter();
        let mut trial = differential::Trial {
            ete: case.protocol == Some(AnyProtocol::Ete),
            registers: registers.map(|(n, v)| (n.clone().leak() as &str, *v as u32)).collect(),
            code: differential::Code { memory: memory(case), ..Default::default() },
            packets: vec![case.bytes.clone()],
        };
        expected(case, &trial.decoded(false)?.texts)?;
        let mut from = 0;
        while let Some(next) = find(&case.bytes, from, &ALIGNMENT) {
            trial.packets = vec![case.bytes[next..].to_vec()];
            let analyzed = trial.compare().map_err(|why| format!("{why}\n{}", trial.report()))?;
            if !matches!(analyzed.last(), Some(Output::Malformed(_))) {
                break;
            }
            from = next + ALIGNMENT.len();
        }
        Ok(Compared::Same)
    });
}

/// The offset of `what` in `bytes`, at `from` or after it.
fn find(bytes: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    let found = bytes.get(from..)?.windows(what.len()).position(|window| window == what)?;
    Some(from + found)
}

/// The cases in which the analyzer of ETMv3 finds something else, and why.
const KNOWN_ETMV3: [(&str, &str); 1] = [("etmv3/illegal-opcode", ILLEGAL)];

#[test]
fn cases_of_etmv3() {
    all(&[AnyProtocol::Etmv3], 36, &KNOWN_ETMV3, |case| {
        let register = |name: &str| {
            let found = case.registers.iter().find(|(own, _)| own == name);
            found.map_or(0, |(_, value)| *value as u32)
        };
        let unit = Unit {
            control: register("ETMCR"),
            id: register("ETMIDR"),
            extension: register("ETMCCER"),
            m_profile: match case.core {
                Some(core) => core.profile == Profile::Microcontroller,
                // Table 3-47: an ETM-M3.
                None => register("ETMIDR") & !0xf == 0x4114_f240,
            },
        };
        let program = etmv3_differential::Program { memory: memory(case), ..Default::default() };
        let (mut from, mut compared) = (0, false);
        while let Some((at, shift, bytes)) = aligned(&case.bytes[from..]) {
            let (sync, rest) = bytes.split_at(A_SYNC.len());
            let packets = vec![sync.to_vec(), rest.to_vec()];
            let program = program.clone();
            let trial = etmv3_differential::Trial { unit, program, packets, shift };
            trial.outputs().map_err(|why| format!("{why}\n{}", trial.report()))?;
            compared = true;
            let analysis = trial.analyzed();
            let end = at + A_SYNC.len() + analysis.len;
            if (from, at, shift, end) == (0, 0, 0, case.bytes.len()) {
                expected(case, &trial.decoded(&analysis, false)?.texts)?;
            }
            if !analysis.malformed {
                break;
            }
            from += end;
        }
        Ok(if compared { Compared::Same } else { Compared::Not("no A-sync") })
    });
}

/// The first A-sync of `bytes`, at any bit: its byte, its bit, and the bytes from there on.
fn aligned(bytes: &[u8]) -> Option<(usize, u8, Vec<u8>)> {
    let found = (0..8).filter_map(|shift| {
        let next = bytes.iter().skip(1).chain([&0]);
        let whole = |(&low, &high): (&u8, &u8)| (u16::from_le_bytes([low, high]) >> shift) as u8;
        let mut aligned: Vec<u8> = bytes.iter().zip(next).map(whole).collect();
        if shift > 0 {
            aligned.pop();
        }
        let at = find(&aligned, 0, &A_SYNC)?;
        Some((at, shift, aligned.split_off(at)))
    });
    found.min_by_key(|(at, shift, _)| (*at, *shift))
}
