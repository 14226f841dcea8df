//! The N-Trace decoder follows what the encoder writes, with all options and random programs.

use tracewright::base::{Element, Step};
use tracewright_testing::{Random, short_or_long};

use crate::ntrace_encode::{encode, unit};
use crate::ntrace_run::Run;
use crate::program::{self, Mix};

/// Options of an encoder by name.
pub type Options = Vec<(&'static str, String)>;

pub fn named(options: &Options) -> Vec<(&str, &str)> {
    options.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

/// Random options. `xlen`: 32 or 64.
pub fn options(random: &mut Random, xlen: u64) -> Options {
    let history = random.below(3) > 0;
    let profile = random.pick(&["spec", "spec", "sifive"]);
    let mut options: Options = vec![
        ("profile", profile.to_owned()),
        ("xlen", xlen.to_string()),
        ("mode", if history { "htm" } else { "btm" }.to_owned()),
    ];
    let mut add = |name: &'static str, random: &mut Random, least: u64, most: u64| {
        if random.one_in(3) {
            options.push((name, (least + random.below(most - least + 1)).to_string()));
        }
    };
    add("extend_msb", random, 1, 1);
    add("all_jumps", random, 1, 1);
    add("src_bits", random, 1, 12);
    add("src", random, 1, 1);
    add("trTsEnable", random, 1, 1);
    add("trTeContext", random, 1, 1);
    add("trTeInstSyncMode", random, 1, 3);
    add("trTeInstSyncMax", random, 0, 4);
    add("sync-place", random, 0, 2);
    add("trTeInstEnSequentialJump", random, 1, 1);
    add("implicit-return-depth", random, 1, 20);
    add("trTeInstEnRepeatedHistory", random, 1, 1);
    add("repeat-branch", random, 1, 2);
    add("history-bits", random, 1, 31);
    add("history-always", random, 1, 1);
    add("count-limit", random, 1, 200);
    add("count-sync", random, 1, 1);
    add("trap-type", random, 1, 2);
    add("retires", random, 1, 8);
    options
}

/// The steps with a time before each, and triggers between them.
pub fn marked(random: &mut Random, steps: &[Step]) -> Vec<Step> {
    let mut all = Vec::new();
    let mut time = 0;
    for step in steps {
        time += random.below(100);
        all.push(Step::Timestamp(time));
        match random.below(60) {
            0 => all.push(Step::Trigger),
            1 => all.push(Step::Events(1)),
            _ => {}
        }
        all.push(*step);
    }
    all
}

pub fn random_mix(random: &mut Random) -> Mix {
    Mix {
        rv64: random.one_in(2),
        traps: random.pick(&[0, 30, 100]),
        nested: true,
        astray: 5,
        levels: true,
        two_levels: true,
        calls: random.one_in(2),
        trap_first: random.one_in(4),
        ..Mix::default()
    }
}

/// The addresses, traps and privilege levels of random programs with random options.
#[test]
fn random_programs() {
    for seed in 0..short_or_long(120, 2000) {
        let mut random = Random::new(seed);
        let mix = random_mix(&mut random);
        let run = program::run(seed, 20 + random.below(200) as usize, 2000, mix);
        let options = options(&mut random, if mix.rv64 { 64 } else { 32 });
        let (config, settings) = unit(&named(&options));
        let steps = marked(&mut random, &run.steps);
        let (packets, bytes) = encode(&steps, &config, &settings);
        let got = Run::of(&bytes, &config, &run.image, random.one_in(2));
        let at = got.addresses.iter().zip(&run.pcs).position(|(a, b)| a != b);
        let shown = || {
            let near = packets.iter().take(6).map(ToString::to_string).collect::<Vec<_>>();
            format!("seed {seed} {options:?} at {at:?}: {:?}\n{near:#?}", got.odd())
        };
        assert!(got.odd().is_empty(), "{}", shown());
        assert!(
            got.addresses == run.pcs,
            "{}: {} of {}",
            shown(),
            got.addresses.len(),
            run.pcs.len()
        );
        let traps = got.others.iter().filter_map(|(_, _, element)| match element {
            Element::Exception(exception) => exception.return_address,
            _ => None,
        });
        let wanted = run.steps.iter().filter_map(|step| match step {
            Step::Exception(taken) => Some(taken.return_address),
            _ => None,
        });
        // The target of a trap at the end is not known.
        let (traps, wanted): (Vec<u64>, Vec<u64>) = (traps.collect(), wanted.collect());
        assert!(wanted.starts_with(&traps), "{}", shown());
        assert!(wanted.len() - traps.len() <= 6, "{}: {} traps", shown(), traps.len());
    }
}

/// Whether `got` are parts of `all` in their order, each of which begins where trace resumes.
fn parts(got: &Run, all: &[u64]) -> bool {
    let starts = got.others.iter().filter_map(|(count, _, element)| match element {
        Element::TraceOn(_) => Some(*count),
        _ => None,
    });
    let mut cuts: Vec<usize> = starts.chain([0, got.addresses.len()]).collect();
    cuts.sort_unstable();
    let mut from = 0;
    cuts.windows(2).all(|cut| {
        let part = &got.addresses[cut[0]..cut[1]];
        let rest = &all[from..];
        let found = part
            .is_empty()
            .then_some(0)
            .or_else(|| rest.windows(part.len()).position(|window| window == part));
        from += found.unwrap_or(0) + part.len();
        found.is_some()
    })
}

/// A FIFO that overflows: what is decoded was executed, and losses are reported. One that stalls
/// the processor loses nothing.
#[test]
fn overflow() {
    let mut lost = 0;
    for seed in 0..short_or_long(40, 400) {
        let mut random = Random::new(seed);
        let mix = random_mix(&mut random);
        let run = program::run(seed, 20 + random.below(200) as usize, 2000, mix);
        let mut options = options(&mut random, if mix.rv64 { 64 } else { 32 });
        options.push(("fifo", "160".to_owned()));
        options.push(("fifo-drain", (1 + random.below(8)).to_string()));
        let (config, settings) = unit(&named(&options));
        let steps = marked(&mut random, &run.steps);
        let (_, bytes) = encode(&steps, &config, &settings);
        let got = Run::of(&bytes, &config, &run.image, false);
        assert!(got.odd().is_empty(), "seed {seed} {options:?}: {:?}", got.odd());
        assert!(parts(&got, &run.pcs), "seed {seed} {options:?}");
        let gap = |(_, _, element): &&(usize, u64, Element)| matches!(element, Element::Gap(_));
        let gaps = got.others.iter().filter(gap).count();
        // A message that was lost may have had no instructions.
        let is_whole = got.addresses == run.pcs;
        assert!(is_whole || gaps > 0, "seed {seed} {options:?}");
        lost += u64::from(!is_whole);
        options.push(("trTeInstStallEna", "1".to_owned()));
        let (config, settings) = unit(&named(&options));
        let got = Run::of(&encode(&steps, &config, &settings).1, &config, &run.image, false);
        assert!(got.addresses == run.pcs, "seed {seed} {options:?}");
    }
    assert!(lost > 10, "{lost}");
}

/// Filters by address and by privilege: what they select is traced, and nothing else.
#[test]
fn filters() {
    for seed in 0..short_or_long(40, 400) {
        let mut random = Random::new(seed);
        let mix = Mix { astray: 0, ..random_mix(&mut random) };
        let run = program::run(seed, 40 + random.below(200) as usize, 2000, mix);
        let mut options = options(&mut random, if mix.rv64 { 64 } else { 32 });
        options.retain(|(name, _)| *name != "retires");
        let (low, high) = (0x8000_0020, 0x8000_0020 + random.below(0x100));
        let by_level = random.one_in(2);
        if by_level {
            // trTeFilter1: privilege 0.
            options.push(("trTeFilter1Control", "3".to_owned()));
            options.push(("trTeFilter1MatchInst", "1".to_owned()));
        } else {
            // trTeFilter1: comparator 0, address >= P and address <= S.
            options.push(("trTeFilter1Control", "17".to_owned()));
            options.push(("trTeComp0Control", (1 << 12 | 3 << 8 | 5 << 4).to_string()));
            options.push(("trTeComp0PMatch", low.to_string()));
            options.push(("trTeComp0SMatch", high.to_string()));
        }
        // Filter 0 would select all, and is not selected.
        options.push(("trTeFilter0Control", "1".to_owned()));
        options.push(("trTeInstFilters", "2".to_owned()));
        let mut level = 1;
        let mut wanted = Vec::new();
        for step in &run.steps {
            match step {
                Step::Context(context) => level = context.el.unwrap_or(level),
                Step::Retired(retired) => {
                    let address = retired.address;
                    let passes =
                        if by_level { level == 0 } else { (low..=high).contains(&address) };
                    wanted.extend(passes.then_some(address));
                }
                _ => {}
            }
        }
        let (config, settings) = unit(&named(&options));
        let (_, bytes) = encode(&run.steps, &config, &settings);
        let got = Run::of(&bytes, &config, &run.image, false);
        assert!(got.odd().is_empty(), "seed {seed} {options:?}: {:?}", got.odd());
        assert!(got.addresses == wanted, "seed {seed} {options:?}");
    }
}

/// External triggers switch tracing off (input 0) and on (input 1).
#[test]
fn external_triggers() {
    let mut left_out = 0;
    for seed in 0..short_or_long(40, 400) {
        let mut random = Random::new(seed);
        let mix = Mix { astray: 0, ..random_mix(&mut random) };
        let run = program::run(seed, 40 + random.below(200) as usize, 2000, mix);
        let mut options = options(&mut random, if mix.rv64 { 64 } else { 32 });
        options.push(("trTeTrigExtInControl", 0x23.to_string()));
        let (mut steps, mut wanted, mut on) = (Vec::new(), Vec::new(), true);
        for step in &run.steps {
            if let Step::Retired(retired) = step {
                if random.one_in(30) {
                    on = random.one_in(2);
                    steps.push(Step::Events(if on { 0b10 } else { 0b1 }));
                }
                wanted.extend(on.then_some(retired.address));
            }
            steps.push(*step);
        }
        let (config, settings) = unit(&named(&options));
        let got = Run::of(&encode(&steps, &config, &settings).1, &config, &run.image, false);
        assert!(got.odd().is_empty(), "seed {seed} {options:?}: {:?}", got.odd());
        assert!(got.addresses == wanted, "seed {seed} {options:?}");
        left_out += run.pcs.len() - wanted.len();
    }
    assert!(left_out > 1000, "{left_out}");
}
