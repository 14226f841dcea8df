//! Encoded executions decode to the same executions whatever happens beside the program: random
//! programs with notifications, contexts that are reported late, tracing that is off for a while,
//! and logs that end right after a trap.

use tracewright::base::Step;
use tracewright::protocols::etrace::config::{Profile, Sync, Version, units};
use tracewright::protocols::etrace::encode::{ContextType, Settings, SyncPosition};

use tracewright_testing::times;

use crate::encode::encode;
use crate::program::{Random, Run};
use crate::roundtrip::{Done, Trace, Trial, explain, number, wanted};
use crate::run::{cache, elements};

/// The steps of `run` with random events, and the parts of them that are traced.
fn events(run: &Run, random: &mut Random) -> (Vec<Step>, Vec<Vec<Step>>) {
    let notifies = random.pick(&[0, 2, 20]);
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

/// Makes situations frequent in which a packet has several reasons, or no packet is due: short
/// periods that end at any instruction, returns that are implied or not, contexts, and trap returns
/// at the end of straight code.
fn rare(trial: &mut Trial, random: &mut Random) {
    let Trial { params, settings, mix, .. } = trial;
    params.choices.resync_max = random.pick(&[1, 3, 16, 300]);
    if random.one_in(2) {
        params.choices.resync = Sync::Packets;
        settings.sync_position = Some(SyncPosition::Next);
    }
    (mix.trap_returns, mix.contexts) = (random.one_in(2), random.pick(&[0, 4, 30]));
    // A draft has no implicit returns, ESP32 no `irreport`.
    let returns = matches!(params.profile, Profile::Spec | Profile::Siemens);
    if returns && !params.is_draft() && random.one_in(2) {
        params.options.implicit_return = true;
        (params.widths.return_stack_size, mix.astray) = (3, random.pick(&[0, 2, 5]));
    }
}

/// Seeds with rare events: notifications at returns at the end of a period, calls after which
/// tracing is off, and returns between two contexts.
const RARE: [u64; 6] = [146, 157, 231, 2093, 7476, 13427];

#[test]
fn decode_to_the_same() {
    let only = number("SEED");
    let usual = (0..times(60)).chain(RARE);
    let seeds: Vec<u64> = only.map_or_else(|| usual.collect(), |seed| vec![seed]);
    let filter = std::env::var("UNIT").unwrap_or_default();
    let mut failed = Vec::new();
    for (version, profile) in units() {
        let unit = format!("{version} {profile}");
        // PULP `trdb` has no support packets: its trace does not show that tracing is off.
        if profile == Profile::PulpTrdb || !unit.contains(&filter) {
            continue;
        }
        for &seed in &seeds {
            let mut random = Random::new(seed ^ 0xe7e4);
            let mut trial = Trial::new(version, profile, seed).plainly();
            let size = random.pick(&[5, 8, 20, 40]);
            rare(&mut trial, &mut random);
            // Notifications of 0.026 have no mark.
            trial.params.choices.notifications = version == Version::Draft;
            let run = trial.run(size, 250);
            let (steps, traced) = events(&run, &mut random);
            let params = trial.params;
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
            let (_, bytes) = encode(&steps, &params, &settings);
            let mut trace = Trace::new(cache(&run.image, &params), run.isa);
            elements(&bytes, &params, &mut cache(&run.image, &params), &mut trace);
            let got: Vec<u64> = trace.done.iter().filter_map(ran).collect();
            if only.is_some() {
                let same = want.iter().zip(&got).take_while(|(want, got)| want == got).count();
                let run = Run { steps, ..run };
                explain(&run, &params, &settings, number("AT").map_or(same, |n| n as usize));
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
    assert!(
        failed.is_empty(),
        "{} failed\n{}",
        failed.len(),
        failed[..failed.len().min(number("SHOW").unwrap_or(6) as usize)].join("\n")
    );
}
