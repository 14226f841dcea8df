//! Encoded executions decode to the same executions whatever happens beside the program: random
//! programs with notifications, contexts that are reported late, tracing that is off for a while,
//! and logs that end right after a trap.

use tracewright::base::Step;
use tracewright::protocols::etrace::config::{Profile, Version, units};
use tracewright::protocols::etrace::encode::{ContextType, Settings};

use tracewright_testing::times;

use crate::encode::encode;
use crate::program::{Random, Run};
use crate::roundtrip::{Done, Trace, Trial, wanted};
use crate::run::{cache, elements};

/// The steps of `run` with random events, and the parts of them that are traced.
fn events(run: &Run, random: &mut Random) -> (Vec<Step>, Vec<Vec<Step>>) {
    let notifies = random.pick(&[0, 3, 20]);
    let stops = random.pick(&[0, 10, 60]);
    let mut steps = run.steps.clone();
    if random.one_in(2) {
        let from = random.below(steps.len() as u64) as usize;
        let trap = steps[from..].iter().position(|step| matches!(step, Step::Exception(_)));
        steps.truncate(from + trap.map_or(steps.len(), |n| n + 1));
    }
    let (mut all, mut traced) = (Vec::new(), vec![Vec::new()]);
    let mut on = true;
    for step in steps {
        // Tracing may end after a trap more often than after an instruction.
        let trapped = matches!(all.last(), Some(Step::Exception(_)));
        let turns = stops > 0 && (on && trapped && random.one_in(3) || random.one_in(stops));
        if turns {
            all.push(if on { Step::Off } else { Step::On });
            if !on {
                traced.push(Vec::new());
            }
            on = !on;
        }
        if notifies > 0 && random.one_in(notifies) {
            all.push(Step::Trigger);
        }
        all.push(step);
        if let Some(part) = traced.last_mut().filter(|_| on) {
            part.push(step);
        }
    }
    (all, traced)
}

#[test]
fn decode_to_the_same() {
    let only = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = only.map_or(0..times(30), |seed: u64| seed..seed + 1);
    let filter = std::env::var("UNIT").unwrap_or_default();
    let mut failed = Vec::new();
    for (version, profile) in units() {
        let unit = format!("{version} {profile}");
        // PULP `trdb` has no support packets: its trace does not show that tracing is off.
        if profile == Profile::PulpTrdb || !unit.contains(&filter) {
            continue;
        }
        for seed in seeds.clone() {
            let mut random = Random::new(seed ^ 0xe7e4);
            let mut trial = Trial::new(version, profile, seed).plainly();
            let run = trial.run(40, 250);
            let (steps, traced) = events(&run, &mut random);
            let mut params = trial.params;
            params.choices.resync_max = random.pick(&[1, 3, 16, 300]);
            // Notifications of 0.026 have no mark.
            params.choices.notifications = version == Version::Draft;
            let context_type = random.pick(&[
                ContextType::Precise,
                ContextType::Imprecise,
                ContextType::Discontinuity,
            ]);
            let settings = Settings { context_type, ..trial.settings.clone() };
            let ran = |done: &Done| match done {
                Done::Ran(address) => Some(*address),
                Done::Trapped(..) => None,
            };
            let part = |steps: &Vec<Step>| wanted(steps, &params);
            let want: Vec<u64> = traced.iter().flat_map(part).filter_map(|d| ran(&d)).collect();
            let (packets, bytes) = encode(&steps, &params, &settings);
            let mut trace = Trace::new(cache(&run.image, &params), run.isa);
            elements(&bytes, &params, &mut cache(&run.image, &params), &mut trace);
            let got: Vec<u64> = trace.done.iter().filter_map(ran).collect();
            if only.is_some() {
                packets.iter().for_each(|packet| println!("{packet}"));
                steps.iter().for_each(|step| println!("{step:x?}"));
            }
            if want == got && trace.odd.is_empty() {
                continue;
            }
            let same = want.iter().zip(&got).take_while(|(want, got)| want == got).count();
            let near = |list: &[u64]| {
                let from = same.saturating_sub(3).min(list.len());
                format!("{:x?}", &list[from..(same + 4).min(list.len())])
            };
            failed.push(format!(
                "seed {seed} {unit} {:?} {:?} {context_type:?} retires {} sync {:?} {} {}: {same} of {} and {}\n want {}\n got  {}\n odd {:?}",
                params.options,
                params.widths,
                settings.retires,
                settings.sync_position,
                params.choices.resync,
                params.choices.resync_max,
                want.len(),
                got.len(),
                near(&want),
                near(&got),
                trace.odd.first(),
            ));
        }
    }
    let shown = failed.len().min(6);
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed[..shown].join("\n"));
}
