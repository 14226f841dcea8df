//! NexRv, the code that the task group of N-Trace published, against the encoder: it decodes what
//! the encoder wrote, and writes the same bytes. `TRACEWRIGHT_NEXRV` is the path of its program.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use tracewright::base::{Retired, Step};
use tracewright::protocols::ingress::Itype;
use tracewright_testing::{Random, short_or_long};

use crate::ntrace_encode::{Names, encode, unit};
use crate::program::{Mix, Run, run};

/// The modes of its makefile: options of NexRv, and those of the encoder.
const MODES: [(&[&str], Names<'static>); 5] = [
    (&["-nobhm"], &[("mode", "btm")]),
    (&[], &[]),
    (&["-rpt", "2"], &[("trTeInstEnRepeatedHistory", "1")]),
    (&["-cs", "8"], &[("implicit-return-depth", "8")]),
    (
        &["-rpt", "2", "-cs", "8"],
        &[("trTeInstEnRepeatedHistory", "1"), ("implicit-return-depth", "8")],
    ),
];

/// The type of an instruction as NexRv writes it: linear, branch, jump, call or return; indirect;
/// and the number of bytes.
fn kind(retired: &Retired) -> String {
    let kind = match Itype::of(retired).0 {
        Itype::Taken | Itype::NotTaken => "B",
        Itype::InferableCall => "C",
        Itype::UninferableCall | Itype::Swap => "CI",
        Itype::InferableJump | Itype::OtherInferable => "J",
        Itype::UninferableJump | Itype::OtherUninferable | Itype::TrapReturn => "JI",
        Itype::Return | Itype::InferableReturn => "R",
        Itype::None | Itype::Exception | Itype::Interrupt => "L",
    };
    format!("{kind}{}", retired.instruction.size)
}

/// The program that was executed: each instruction once, in the order of addresses.
fn program(run: &Run) -> String {
    let mut rows = BTreeMap::new();
    for step in &run.steps {
        let Step::Retired(retired) = step else { continue };
        let kind = kind(retired);
        let direct = kind.starts_with(['B', 'C', 'J']) && !kind.contains('I');
        let target = retired.instruction.target.filter(|_| direct);
        let target = target.map_or(String::new(), |target| format!(",0x{target:x}"));
        rows.insert(retired.address, format!("0x{:x},{kind}{target}\n", retired.address));
    }
    rows.into_values().collect()
}

/// The instructions in the order of execution.
fn executed(run: &Run) -> String {
    let mut text = String::new();
    for step in &run.steps {
        let Step::Retired(retired) = step else { continue };
        let kind = match Itype::of(retired).0 {
            Itype::NotTaken => kind(retired).replace('B', "BN"),
            _ => kind(retired),
        };
        let _ = writeln!(text, "0x{:x},{kind}", retired.address);
    }
    text
}

/// Whether more than 8 calls are open before instruction `end`. From then on the call stack of
/// NexRv is wrong: it has one entry more when it wraps upwards than when it wraps downwards, and
/// its decoder writes beyond 32 entries.
fn wraps(steps: &[Step], end: usize) -> bool {
    let mut open = 0;
    let retired = steps.iter().filter_map(|step| match step {
        Step::Retired(retired) => Some(kind(retired)),
        _ => None,
    });
    retired.take(end).any(|kind| {
        open += i32::from(kind.starts_with('C'));
        open -= i32::from(kind.starts_with('R') && open > 0);
        open > 8
    })
}

/// NexRv and a folder for its files.
struct Nexrv {
    program: PathBuf,
    folder: PathBuf,
}

impl Drop for Nexrv {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Nexrv {
    /// `None` where there is none.
    fn new(variable: &str) -> Option<Nexrv> {
        let Some(program) = std::env::var_os(variable) else {
            tracewright_testing::skip(&format!("{variable} is not set"));
            return None;
        };
        let name = variable.to_lowercase();
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Some(Nexrv { program: program.into(), folder })
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).expect("a file");
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_default()
    }

    fn run(&self, args: &[&str]) -> String {
        let output = Command::new(&self.program).args(args).output().expect("NexRv");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The addresses that it decodes from the file `nex`.
    fn decode(&self, nex: &[u8]) -> (Vec<u64>, String) {
        self.write("nex", nex);
        let printed = self.run(&[
            "-deco",
            &self.path("nex"),
            "-pcinfo",
            &self.path("info"),
            "-pcout",
            &self.path("out"),
            "-stat",
        ]);
        let out = String::from_utf8_lossy(&self.read("out")).into_owned();
        let address = |line: &str| {
            let digits = line.strip_prefix("0x")?.split(',').next()?;
            u64::from_str_radix(digits, 16).ok()
        };
        (out.lines().filter_map(address).collect(), printed)
    }
}

/// A random program, whether it has traps, and XLEN.
fn random_run(seed: u64) -> (Run, bool, &'static str) {
    let mut random = Random::new(seed);
    let traps = random.one_in(2);
    let mix = Mix {
        rv64: random.one_in(2),
        traps: if traps { 30 } else { 0 },
        nested: true,
        astray: 5,
        ..Mix::default()
    };
    let xlen = if mix.rv64 { "64" } else { "32" };
    let mut run = run(seed, 20 + random.below(200) as usize, 4000, mix);
    repeat_loops(&mut run, &mut random);
    (run, traps, xlen)
}

/// Adds turns to some loops, so that histories repeat: the instructions from the target of a
/// branch to the branch are executed again.
fn repeat_loops(run: &mut Run, random: &mut Random) {
    let mut steps = Vec::new();
    for (n, step) in run.steps.iter().enumerate() {
        steps.push(*step);
        let Step::Retired(branch) = step else { continue };
        let is_taken = Itype::of(branch).0 == Itype::Taken;
        if !is_taken || !random.one_in(8) || steps.len() > MAX_STEPS {
            continue;
        }
        let before = run.steps[..=n].iter().rev().take(MAX_BODY);
        let turn: Vec<&Step> = before.take_while(|step| matches!(step, Step::Retired(_))).collect();
        let starts = |step: &&Step| matches!(step, Step::Retired(r) if r.address == branch.next);
        if let Some(first) = turn.iter().position(starts) {
            let body: Vec<Step> = turn[..=first].iter().rev().map(|step| **step).collect();
            (0..random.below(400)).for_each(|_| steps.extend(&body));
        }
    }
    let pcs = steps.iter().filter_map(|step| match step {
        Step::Retired(retired) => Some(retired.address),
        _ => None,
    });
    (run.pcs, run.steps) = (pcs.collect(), steps);
}

/// The most instructions of a loop that gets more turns.
const MAX_BODY: usize = 8;

/// No turns are added to more steps.
const MAX_STEPS: usize = 30_000;

/// NexRv decodes the streams of random programs in its five modes, and encodes the same bytes where
/// the programs have no traps, which it does not know.
#[test]
fn random_programs() {
    let Some(nexrv) = Nexrv::new("TRACEWRIGHT_NEXRV") else { return };
    let mut differences = BTreeMap::<&str, u32>::new();
    let (mut streams, mut instructions, mut bytes) = (0, [0u64; 5], [0u64; 5]);
    for seed in 0..short_or_long(20, 200) {
        let (run, traps, xlen) = random_run(seed);
        nexrv.write("info", program(&run));
        nexrv.write("seq", executed(&run));
        for (mode, (options, names)) in MODES.iter().enumerate() {
            let common = [("profile", "nexrv"), ("mode", "htm"), ("xlen", xlen)];
            let (config, settings) = unit(&[&common[..], *names].concat());
            let (_, ours) = encode(&run.steps, &config, &settings);
            streams += 1;
            instructions[mode] += run.pcs.len() as u64;
            bytes[mode] += ours.len() as u64;
            let (pcs, printed) = nexrv.decode(&ours);
            if pcs != run.pcs {
                let at = pcs.iter().zip(&run.pcs).position(|(a, b)| a != b);
                let at = at.unwrap_or(pcs.len().min(run.pcs.len()));
                let why = match mode >= 3 && wraps(&run.steps, at) {
                    true => "call stack",
                    false => "decoded",
                };
                println!("seed {seed} mode {mode}: {why}: {at} of {}: {printed}", run.pcs.len());
                *differences.entry(why).or_default() += 1;
            }
            if !traps {
                let (seq, theirs) = (nexrv.path("seq"), nexrv.path("theirs"));
                let args = [&["-enco", &seq, "-nex", &theirs], *options, &["-none"]].concat();
                let printed = nexrv.run(&args);
                if nexrv.read("theirs") != ours {
                    println!("seed {seed} mode {mode}: other bytes: {printed}");
                    *differences.entry("encoded").or_default() += 1;
                }
            }
        }
    }
    for mode in 0..5 {
        let bits = bytes[mode] as f64 * 8.0 / instructions[mode] as f64;
        println!("mode {mode}: {} bytes, {bits:.3} bits an instruction", bytes[mode]);
    }
    println!("{streams} streams, differences: {differences:?}");
    differences.remove("call stack");
    assert_eq!(differences, BTreeMap::new());
}

/// With a call stack that does not wrap (`CALLSTACK_MAX` 8192, and an array with one more entry)
/// the decoder of NexRv has the same addresses in modes 3 and 4, too, from an encoder whose call
/// stack wraps rightly. `TRACEWRIGHT_NEXRV_DEEP` is the path of that program.
#[test]
fn implicit_returns() {
    let Some(nexrv) = Nexrv::new("TRACEWRIGHT_NEXRV_DEEP") else { return };
    for seed in 0..short_or_long(20, 200) {
        let (run, _, xlen) = random_run(seed);
        // NexRv takes a swap for a call.
        let swaps = |step: &Step| match step {
            Step::Retired(retired) => Itype::of(retired).0 == Itype::Swap,
            _ => false,
        };
        let end = run.steps.iter().position(swaps).unwrap_or(run.steps.len());
        let steps = &run.steps[..end];
        let count = steps.iter().filter(|step| matches!(step, Step::Retired(_))).count();
        nexrv.write("info", program(&run));
        for (_, names) in &MODES[3..] {
            let (config, settings) = unit(&[&[("mode", "htm"), ("xlen", xlen)], *names].concat());
            let (pcs, printed) = nexrv.decode(&encode(steps, &config, &settings).1);
            assert!(pcs == run.pcs[..count], "seed {seed}: {printed}");
        }
    }
}

/// The decoder of libnexus-rv has the same addresses, with traps, repeated messages and full
/// counters, too. `TRACEWRIGHT_LIBNEXUS_RV` is the path of `benches/reference/libnexus_rv.c`.
#[test]
fn libnexus_rv() {
    const MORE: [Names<'static>; 3] = [
        &[("mode", "btm"), ("repeat-branch", "1"), ("count-limit", "16")],
        &[("repeat-branch", "2"), ("count-limit", "64"), ("history-bits", "8")],
        &[("trTsEnable", "1"), ("trTeInstSyncMode", "1"), ("implicit-return-depth", "32")],
    ];
    let Some(peer) = Nexrv::new("TRACEWRIGHT_LIBNEXUS_RV") else { return };
    let mut streams = 0;
    for seed in 0..short_or_long(20, 200) {
        let (run, _, xlen) = random_run(seed);
        // The list of its instructions has no swaps.
        let swaps = |step: &Step| match step {
            Step::Retired(retired) => Itype::of(retired).0 == Itype::Swap,
            _ => false,
        };
        let end = run.steps.iter().position(swaps).unwrap_or(run.steps.len());
        let steps = &run.steps[..end];
        let count = steps.iter().filter(|step| matches!(step, Step::Retired(_))).count();
        peer.write("info", program(&run));
        for names in MODES.iter().map(|(_, names)| *names).chain(MORE) {
            let (config, settings) = unit(&[&[("mode", "htm"), ("xlen", xlen)], names].concat());
            peer.write("nex", encode(steps, &config, &settings).1);
            let time =
                if names.iter().any(|(name, _)| *name == "trTsEnable") { ",ts=64" } else { "" };
            let link = format!("addr={xlen},maxstack=8192{time}");
            let printed = peer.run(&[&link, &peer.path("info"), &peer.path("nex")]);
            let pcs: Vec<u64> =
                printed.lines().filter_map(|line| u64::from_str_radix(line, 16).ok()).collect();
            let same = pcs.iter().zip(&run.pcs).take_while(|(a, b)| a == b).count();
            assert!(pcs == run.pcs[..count], "seed {seed} {names:?}: {same} of {count}");
            streams += 1;
        }
    }
    println!("{streams} streams");
}
