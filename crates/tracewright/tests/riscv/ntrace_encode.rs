//! The N-Trace encoder emits the same bytes as other encoders: NexRv, and the encoder of
//! `shared/captures/riscv/ntrace/own-encoder`.

use std::path::{Path, PathBuf};

use tracewright::base::{Context, Encode, Parse, Step, Wire};
use tracewright::protocols::Protocol;
use tracewright::protocols::ntrace::encode::{Encoder, Settings};
use tracewright::protocols::ntrace::{Config, Ntrace, Packet};
use tracewright::protocols::trace_unit::Encodes;

use crate::encode::log;
use crate::program::{Mix, run};
use crate::streams::shared;

/// A list of parameters and settings by name: numbers and words.
pub type Names<'a> = &'a [(&'a str, &'a str)];

/// The configuration and the settings of a unit.
pub fn unit(names: Names<'_>) -> (Config, Settings) {
    let value = |name: &str| {
        let (_, text) = names.iter().rev().find(|(known, _)| *known == name)?;
        match Ntrace::parse_value(name, text) {
            Some(value) => Some(value.expect("a value")),
            None => Some(text.parse().expect("a number")),
        }
    };
    let config = Ntrace::configure(None, &value).expect("a configuration");
    assert_eq!(<Ntrace as Encodes>::check(&config, &value), Ok(()));
    let settings = <Ntrace as Encodes>::settings(&config, &value);
    (config, settings)
}

/// Messages and bytes of steps.
pub fn encode(steps: &[Step], config: &Config, settings: &Settings) -> (Vec<Packet>, Vec<u8>) {
    let mut encoder = Encoder::new(config, settings);
    let mut packets = Vec::new();
    for step in steps {
        encoder.step(step, config, &mut packets);
    }
    encoder.finish(config, &mut packets);
    let mut bytes = Vec::new();
    for packet in &packets {
        packet.emit(config, &mut bytes);
    }
    (packets, bytes)
}

#[track_caller]
fn same(name: &str, packets: &[Packet], got: &[u8], want: &[u8], config: &Config) {
    if got == want {
        return;
    }
    let mut at = 0;
    for (n, packet) in packets.iter().enumerate() {
        let mut bytes = Vec::new();
        packet.emit(config, &mut bytes);
        if want.get(at..at + bytes.len()) != Some(&bytes[..]) {
            let rest = want.get(at..).unwrap_or_default();
            let theirs = match Packet::parse(rest, config) {
                Parse::Packet(packet, _) => packet.to_string(),
                other => format!("{other:?}"),
            };
            panic!("{name}: message {n} of {} at {at}: {packet}; theirs {theirs}", packets.len());
        }
        at += bytes.len();
    }
    panic!("{name}: {} messages, {} bytes of {}", packets.len(), got.len(), want.len());
}

fn ntrace() -> Option<PathBuf> {
    Some(shared()?.join("ntrace"))
}

/// The streams that NexRv wrote, in its five modes.
#[test]
fn nexrv() {
    let Some(root) = ntrace() else { return };
    let mut total = 0;
    for program in ["dhrystone", "median", "multiply", "qsort"] {
        let Some(steps) = log(root.parent().unwrap(), program) else { return };
        // The list of NexRv begins after the boot code.
        let boot = steps.iter().enumerate().filter(|(_, s)| matches!(s, Step::Retired(_)));
        let start = boot.map(|(n, _)| n).nth(5).expect("a program");
        for mode in 0..5 {
            let modes: [Names<'_>; 5] = [
                &[("mode", "btm")],
                &[("mode", "htm")],
                &[("mode", "htm"), ("trTeInstEnRepeatedHistory", "1")],
                &[("mode", "htm"), ("implicit-return-depth", "8")],
                &[
                    ("mode", "htm"),
                    ("trTeInstEnRepeatedHistory", "1"),
                    ("implicit-return-depth", "8"),
                ],
            ];
            let names = [&[("profile", "nexrv")][..], modes[mode]].concat();
            let (config, settings) = unit(&names);
            let (packets, bytes) = encode(&steps[start..], &config, &settings);
            let name = format!("{program}.mode{mode}.nex.bin");
            let want = std::fs::read(root.join("nexrv-ref").join(&name)).unwrap();
            same(&name, &packets, &bytes, &want, &config);
            total += 1;
        }
    }
    assert_eq!(total, 20);
}

/// Interruptions of a trace, by the number of the instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Gaps {
    /// Trace is lost after this instruction: this one, which no message has reported, and 60 more.
    overflow: Option<u64>,
    /// 200 instructions from this one on are not traced.
    off: Option<u64>,
    /// The processor executes this instruction in debug mode.
    debug: Option<u64>,
}

/// The steps of a log with interruptions. The time is the number of instructions that have been
/// traced; the context is 0x1d.
fn timed(steps: &[Step], gaps: Gaps) -> Vec<Step> {
    let mut all = vec![Step::Context(Context { context_id: Some(0x1d), ..Context::default() })];
    let (mut n, mut count, mut skip) = (0, 0, 0);
    for step in steps {
        let retired = matches!(step, Step::Retired(_));
        if retired && gaps.off == Some(n) {
            all.extend([Step::Timestamp(count), Step::Off]);
            skip = 200;
        }
        if retired && gaps.debug == Some(n) {
            all.extend([Step::Timestamp(count), Step::Halted]);
            skip = 1;
        }
        if skip > 0 && matches!(step, Step::Retired(_) | Step::Exception(_)) {
            n += u64::from(retired);
            skip -= u64::from(retired);
            if skip == 0 {
                all.push(Step::On);
            }
            continue;
        }
        all.extend([Step::Timestamp(count), *step]);
        count += u64::from(retired);
        if retired && gaps.overflow == Some(n) {
            all.extend([Step::Timestamp(count), Step::Overflow]);
            skip = 60;
        }
        n += u64::from(retired);
    }
    all.push(Step::Timestamp(count));
    all
}

/// The settings that README.md of the folder states, over those of every variant.
fn variant(name: &str) -> Names<'static> {
    match name {
        "btm" => &[("mode", "btm")],
        "btm_rb" => &[("mode", "btm"), ("repeat-branch", "1")],
        "btm_icnt" => &[("mode", "btm"), ("count-limit", "64"), ("trTsEnable", "1")],
        "btm_full" => &[
            ("mode", "btm"),
            ("trTeInstFeatures", "805634048"), // SRC 5 of 3 bits
            ("trTsEnable", "1"),
            ("trTeInstSyncMode", "1"),
            ("trTeInstSyncMax", "2"),
            ("sync-place", "1"),
            ("trTeContext", "1"),
            ("count-limit", "256"),
            ("count-sync", "1"),
            ("repeat-branch", "1"),
            ("trap-type", "1"),
        ],
        "htm" => &[],
        "htm_cs" => &[("implicit-return-depth", "8")],
        "htm_rpt" => &[("trTeInstEnRepeatedHistory", "1")],
        "htm_all" => &[
            // SRC 9 of 4 bits, MSB extension, repeated history, implicit return by a stack.
            ("trTeInstFeatures", "1074333128"),
            ("implicit-return-depth", "16"),
            // HTM, context, synchronisation every 128 messages.
            ("trTeControl", "19989095"),
            ("trTsControl", "32768"),
            ("sync-place", "1"),
            ("count-limit", "4096"),
            ("repeat-branch", "2"),
        ],
        "htm_exact" => &[
            ("trTsEnable", "1"),
            ("trTeInstSyncMode", "1"),
            ("trTeInstSyncMax", "1"),
            ("sync-place", "2"),
            ("history-always", "1"),
            ("count-limit", "1024"),
        ],
        "htm_hist8" => {
            &[("history-bits", "8"), ("count-limit", "128"), ("src_bits", "12"), ("src", "2748")]
        }
        _ => unreachable!("{name}"),
    }
}

/// The interruptions of a variant: events.tsv of each.
fn gaps(program: &str, name: &str) -> Gaps {
    let overflow = match (program, name) {
        ("own_traps_rv64", "btm_full") => 7340,
        ("own_traps_rv64", "htm_all") => 10530,
        ("own_traps_rv64", "htm_exact") => 7523,
        ("own_calls_rv64", "btm_full" | "htm_all" | "htm_exact") => 17294,
        ("xrle_rv32", "htm_exact") => 35524,
        _ => return Gaps::default(),
    };
    let (off, debug) = match program {
        "own_traps_rv64" => (12_232, 18_353),
        "own_calls_rv64" => (28_810, 43_215),
        _ => (54_986, 82_479),
    };
    Gaps { overflow: Some(overflow), off: Some(off), debug: Some(debug) }
}

fn own(root: &Path, program: &str, name: &str) {
    let path = root.join(format!("own-encoder/{program}/{name}.nex.bin"));
    let want = std::fs::read(&path).unwrap();
    let rv32 = program.ends_with("rv32");
    let logged = if rv32 { "xrle" } else { program };
    let steps = log(root.parent().unwrap(), logged).expect("a log");
    let steps = timed(&steps, gaps(program, name));
    let xlen = if rv32 { "32" } else { "64" };
    let common = [("mode", "htm"), ("xlen", xlen), ("start-sync", "3"), ("end-event", "0")];
    let (config, settings) = unit(&[&common[..], variant(name)].concat());
    let (packets, bytes) = encode(&steps, &config, &settings);
    same(&format!("{program}/{name}"), &packets, &bytes, &want, &config);
}

#[test]
fn own_encoder() {
    let Some(root) = ntrace() else { return };
    let all = ["htm", "htm_cs", "htm_hist8", "btm", "btm_icnt"];
    for program in ["own_traps_rv64", "own_calls_rv64"] {
        all.iter().for_each(|name| own(&root, program, name));
    }
    for program in ["own_traps_rv64", "own_calls_rv64", "xrle_rv32"] {
        ["btm_rb", "htm_rpt", "htm_exact"].iter().for_each(|name| own(&root, program, name));
    }
    for program in ["own_traps_rv64", "own_calls_rv64"] {
        ["htm_all", "btm_full"].iter().for_each(|name| own(&root, program, name));
    }
}

/// Each setting, what else is set, and a value with which the bytes are others than without it.
const EFFECTS: &[(&str, &str, Names<'static>)] = &[
    ("trTsControl", "32768", &[]),
    ("trTeInstFilters", "0", &[("trTeFilter0Control", "3"), ("trTeFilter0MatchInst", "1")]),
    ("trTeContext", "1", &[]),
    ("trTeInstTrigEnable", "0", &[]),
    ("trTeTrigExtInControl", "35", &[]),
    ("trTeInstStallEna", "1", &[("fifo", "128"), ("fifo-drain", "16")]),
    ("trTeInstSyncMode", "1", &[("trTeInstSyncMax", "1")]),
    ("trTeInstSyncMode", "2", &[("trTeInstSyncMax", "1")]),
    ("trTeInstSyncMode", "3", &[("trTeInstSyncMax", "1")]),
    ("trTeInstSyncMax", "1", &[("trTeInstSyncMode", "3")]),
    ("trTeInstEnSequentialJump", "1", &[]),
    ("trTeInstEnImplicitReturn", "1", &[]),
    ("trTeInstImplicitReturnMode", "1", &[("trTeInstEnImplicitReturn", "1")]),
    ("trTeInstEnRepeatedHistory", "1", &[("history-bits", "1")]),
    ("trTsEnable", "1", &[]),
    ("implicit-return-depth", "1", &[("trTeInstEnImplicitReturn", "1")]),
    ("repeat-branch", "1", &[("mode", "btm")]),
    ("repeat-branch", "2", &[]),
    ("history-bits", "3", &[]),
    ("history-always", "1", &[]),
    ("count-limit", "8", &[]),
    ("count-sync", "1", &[("mode", "btm"), ("count-limit", "8")]),
    ("sync-place", "1", &[("trTeInstSyncMode", "1")]),
    ("sync-place", "2", &[("trTeInstSyncMode", "1")]),
    ("trap-type", "1", &[]),
    ("start-sync", "1", &[]),
    ("end-event", "0", &[]),
    ("retires", "2", &[("trTeInstSyncMode", "2")]),
    ("fifo", "128", &[("fifo-drain", "16")]),
    ("fifo-drain", "16", &[("fifo", "128")]),
];

/// No setting is without effect.
#[test]
fn settings_have_effects() {
    let names = <Ntrace as Encodes>::SETTINGS.iter().map(|setting| setting.name);
    for name in
        names.filter(|name| !name.starts_with("trTeFilter") && !name.starts_with("trTeComp"))
    {
        assert!(EFFECTS.iter().any(|(known, ..)| *known == name), "{name} has no row");
    }
    let mut changes = [false; EFFECTS.len()];
    for seed in 0..8 {
        let mix = Mix { rv64: true, traps: 30, astray: 5, levels: true, ..Mix::default() };
        let run = run(seed, 60, 3000, mix);
        // A timestamp ends a block of the ingress port.
        let time = |n: u64| n.is_multiple_of(50).then_some(Step::Timestamp(1000 + 3 * n));
        let event = |n: u64| n.is_multiple_of(700).then_some(Step::Events(1 << (n / 700 % 2)));
        let timed = |(n, step): (u64, &Step)| time(n).into_iter().chain(event(n)).chain([*step]);
        let steps: Vec<Step> = (0..).zip(&run.steps).flat_map(timed).collect();
        let bytes = |names: Names<'_>| {
            let (config, settings) = unit(&[&[("mode", "htm"), ("xlen", "64")], names].concat());
            encode(&steps, &config, &settings).1
        };
        for (changes, (name, value, others)) in changes.iter_mut().zip(EFFECTS) {
            let with = [*others, &[(*name, *value)]].concat();
            *changes |= bytes(others) != bytes(&with);
        }
    }
    for (changes, (name, value, _)) in changes.iter().zip(EFFECTS) {
        assert!(changes, "{name}={value} changes nothing");
    }
}
