//! Encoded executions decode to the same executions: random programs with many traps, for every
//! unit with random options. The decoder marks ambiguous packets, and the unit emits the same bytes
//! for the decoded execution.

use std::collections::BTreeSet;

use tracewright::base::{Cause, Element, Encode, Inconsistency, Sink, Step, Wire};
use tracewright::protocols::etrace::config::{
    LoopLabel, MessageType, Params, Profile, Sync, TrapPacket, Version, units,
};
use tracewright::protocols::etrace::decode::INTERRUPT;
use tracewright::protocols::etrace::encode::{Encoder, Quirks, Settings, SyncPosition};

use tracewright_testing::times;

use crate::encode::options;
use crate::program::{Mix, Random, Run, run};
use crate::proof::{Execution, Proof};
use crate::run::{Addresses, cache, elements};

/// An event of an execution: the address of an instruction, or the number, return address and value
/// of a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    Ran(u64),
    Trapped(u16, Option<u64>, Option<u64>),
}

/// The events of the steps, as far as a unit reports them.
pub fn wanted(steps: &[Step], params: &Params) -> Vec<Done> {
    let quirks = Quirks::of(params);
    // 0.026 and 1.0 have no packet for a trap if another trap follows before an instruction is
    // retired: the last trap is reported, at the address of the first. With trapped instructions in
    // the stream each trap is reported.
    let unreported = params.is_draft() || params.choices.trap == TrapPacket::TvalEpc;
    let unreported = unreported && !params.choices.trapped_in_stream;
    let (mut done, mut stopped): (Vec<Done>, _) = (Vec::new(), None);
    for step in steps {
        match step {
            Step::Retired(retired) => done.push(Done::Ran(retired.address)),
            Step::Exception(taken) => {
                let Cause::Riscv { code, interrupt } = taken.cause else { continue };
                match done.last() {
                    Some(&Done::Trapped(first, ..)) if unreported => {
                        let call = params.choices.ecall_retires && matches!(first, 3 | 8..=11);
                        stopped = stopped.filter(|_| !call);
                        done.pop();
                    }
                    _ => stopped = Some(taken.return_address),
                }
                let mut epc = stopped;
                let illegal = params.choices.trap == TrapPacket::TvalEpc && code == 2;
                let is_epc = illegal && !interrupt && !params.is_draft();
                if is_epc && params.widths.tval > 0 {
                    epc = Some(taken.return_address);
                }
                let call = !interrupt && matches!(code, 3 | 8..=11);
                if call && params.choices.ecall_retires {
                    done.push(Done::Ran(taken.return_address));
                }
                let code = code & quirks.cause_mask as u16;
                let traced = params.widths.tval > 0 && !interrupt && !is_epc;
                let mask = u64::MAX >> (64 - u32::from(params.widths.tval.max(1)));
                let value = taken.value.unwrap_or(0) & quirks.tval_mask & mask;
                let number = code | if interrupt { INTERRUPT } else { 0 };
                done.push(Done::Trapped(number, epc, traced.then_some(value)));
            }
            _ => {}
        }
    }
    done
}

/// Instructions and exceptions of a trace.
pub struct Trace {
    pub done: Vec<Done>,
    pub odd: Vec<String>,
    /// The number of events before each ambiguity.
    ambiguous: Vec<(usize, Inconsistency)>,
    code: tracewright::image::Cache,
    isa: tracewright::base::Isa,
}

impl tracewright::protocols::Observer for Trace {}

impl Sink for Trace {
    fn element(&mut self, at: u64, element: Element) {
        match element {
            Element::Exception(e) => {
                self.done.push(Done::Trapped(e.number, e.return_address, None));
            }
            Element::TrapValue(of) => {
                if let Some(Done::Trapped(_, _, value)) = self.done.last_mut() {
                    *value = Some(of);
                }
            }
            Element::Inconsistency(
                inconsistency @ (Inconsistency::Ambiguous | Inconsistency::TrappedOrRetired),
            ) => {
                return self.ambiguous.push((self.done.len(), inconsistency));
            }
            // The exception that is reported is compared.
            Element::Inconsistency(Inconsistency::ContextOrException) => return,
            _ => {}
        }
        let Trace { done, odd, code, isa, .. } = self;
        let each = |address| done.push(Done::Ran(address));
        let mut addresses = Addresses { code: code.clone(), isa: *isa, each, odd };
        if matches!(
            element,
            Element::Range(_)
                | Element::NoCode { .. }
                | Element::Inconsistency(_)
                | Element::Undecodable { .. }
        ) {
            addresses.element(at, element);
        }
    }
}

impl Trace {
    pub fn new(code: tracewright::image::Cache, isa: tracewright::base::Isa) -> Trace {
        Trace { done: Vec::new(), odd: Vec::new(), ambiguous: Vec::new(), code, isa }
    }

    /// Whether there is an ambiguity up to the event number `same`.
    pub fn is_ambiguous(&self, same: usize) -> bool {
        same < self.done.len() && self.ambiguous.iter().any(|&(place, _)| place <= same)
    }
}

fn decoded(bytes: &[u8], params: &Params, run: &Run) -> Trace {
    let code = cache(&run.image, params);
    let mut trace = Trace::new(code, run.isa);
    elements(bytes, params, &mut cache(&run.image, params), &mut trace);
    trace
}

fn encoded(run: &Run, params: &Params, settings: &Settings) -> Vec<u8> {
    let mut encoder = Encoder::new(params, settings);
    let mut packets = Vec::new();
    for step in &run.steps {
        encoder.step(step, params, &mut packets);
    }
    encoder.finish(params, &mut packets);
    let mut bytes = Vec::new();
    packets.iter().for_each(|packet| packet.emit(params, &mut bytes));
    bytes
}

/// The results of the executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tried {
    executions: usize,
    instructions: usize,
    traps: usize,
    /// Executions with an ambiguity: all, of a path, of retirement.
    open: [usize; 3],
    /// Executions with an ambiguous return before a start, in versions without other ambiguities.
    astray: usize,
    /// Executions that differ from the decoded one.
    other: usize,
    /// Of these, executions without an inconsistency.
    unnamed: usize,
    /// Of these, executions whose decoded one was not shown to give the same bytes.
    unproven: usize,
    /// Instructions of a start packet that trapped. (2.0, `reference-flow`)
    started: usize,
    /// Proofs with idle cycles, notifications, other blocks, steps beyond the last, another period.
    took: [usize; 5],
}

/// A unit, and the parameters of its program.
pub struct Trial {
    pub params: Params,
    pub settings: Settings,
    pub mix: Mix,
    seed: u64,
}

impl Trial {
    pub fn new(version: Version, profile: Profile, seed: u64) -> Trial {
        let number = version.number() << 3 | profile.number();
        let mut random = Random::new(seed << 16 ^ number ^ 0x5eed);
        let rv64 = profile != Profile::Esp32 && random.one_in(2);
        let mut params = Params::new(version, profile, rv64).expect("a unit that exists");
        options(&mut params, &mut random);
        let (w, o, c) = (&mut params.widths, &mut params.options, &mut params.choices);
        w.ecause = random.pick(&[1, 2, 4, 5, 8, 16]);
        if w.tval > 0 && c.trap == TrapPacket::ThAddr {
            w.tval = random.pick(&[1, 7, w.iaddress]);
        }
        match profile {
            // ESP32 has no `irreport`, and its header no message type.
            Profile::Esp32 => {
                o.implicit_return = false;
                c.message_type = MessageType::Payload;
            }
            Profile::ReferenceFlow => {
                c.drop_unretired = c.start_unretired && random.one_in(2);
                // The model of the reference flow then omits all returns, and its decoder cannot
                // follow.
                o.implicit_return = false;
            }
            // The lengths of PULP `trdb` have 4 bits.
            Profile::PulpTrdb => {
                (w.context, w.tval, w.time) = (0, 0, 0);
                c.message_type = MessageType::Header;
            }
            _ => {}
        }
        c.resync = random.pick(&[Sync::Packets, Sync::Packets, Sync::Halfwords, Sync::Cycles]);
        c.resync_max = random.pick(&[3, 16, 300, 1 << 20]);
        // A counter does not detect returns to other addresses.
        let counted = o.implicit_return && w.return_stack_size == 0;
        let mix = Mix {
            rv64,
            traps: random.pick(&[0, 1, 1, 2, 3, 7, 40]),
            // The reference flow reports an instruction that trapped before another trap, which the
            // decoder omits. It also reports some traps twice, so that two equal traps decode to
            // one.
            nested: random.one_in(2) && (c.drop_unretired || !c.start_unretired),
            alternate: c.start_unretired,
            astray: if counted { 0 } else { random.pick(&[0, 5]) },
            levels: random.one_in(2),
            contexts: random.pick(&[0, 30]),
            vectored: o.implicit_exception || random.one_in(2),
            calls: w.ecause >= 4 && random.one_in(2),
            trap_first: random.one_in(4),
            cause_bits: w.ecause,
            two_levels: w.privilege == 1,
            ..Mix::default()
        };
        let one = c.trapped_in_stream || c.start_unretired;
        let settings = Settings {
            quirks: Some(quirks(&params)),
            sync_position: random
                .pick(&[None, Some(SyncPosition::Next), Some(SyncPosition::AfterSpecial)])
                .filter(|_| !params.choices.drop_unretired),
            // These models retire one instruction at a time.
            retires: if one { 1 } else { random.pick(&[1, 1, 4]) },
            ..Settings::default()
        };
        Trial { params, settings, mix, seed }
    }

    /// Runs a program, and gives the unit its trap vectors.
    pub fn run(&mut self, size: usize, count: usize) -> Run {
        let run = run(self.seed, size, count, self.mix);
        if self.mix.vectored {
            self.params.vectors = run.vectors;
        }
        run
    }

    /// Checks that the decoded execution is the encoded one, or that an ambiguity is marked and the
    /// unit emits the same bytes for the decoded execution.
    fn check(&self, run: &Run, tried: &mut Tried) -> Result<(), String> {
        let Trial { params, settings, .. } = self;
        let mut want = wanted(&run.steps, params);
        let bytes = encoded(run, params, settings);
        let Trace { done: got, odd, ambiguous, .. } = decoded(&bytes, params, run);
        // Without `drop_unretired` a trapped instruction of a start packet is emitted, and the trap
        // returns behind it.
        let emitted = params.choices.start_unretired && !params.choices.drop_unretired;
        for n in (0..got.len()).filter(|_| emitted) {
            if let Some(&Done::Trapped(number, Some(epc), value)) = want.get(n)
                && got[n] == Done::Ran(epc)
                && matches!(got.get(n + 1), Some(Done::Trapped(same, ..)) if *same == number)
            {
                want[n] = Done::Trapped(number, None, value);
                want.insert(n, got[n]);
                tried.started += 1;
            }
        }
        tried.executions += 1;
        tried.instructions += want.len();
        tried.traps += want.iter().filter(|done| matches!(done, Done::Trapped(..))).count();
        for (n, inconsistency) in
            [Inconsistency::Ambiguous, Inconsistency::TrappedOrRetired].into_iter().enumerate()
        {
            let named = ambiguous.iter().any(|(_, known)| *known == inconsistency);
            tried.open[1 + n] += usize::from(named);
        }
        // If starts do not clear the return stack, a return may go to a start of another context.
        let options = &params.options;
        let starts = !params.is_draft() && options.implicit_return && options.resync_disabled;
        let open = usize::from(!ambiguous.is_empty());
        *if starts { &mut tried.astray } else { &mut tried.open[0] } += open;
        let same = want.iter().zip(&got).take_while(|(want, got)| agree(want, got)).count();
        // A unit without an end packet omits the steps after its last packet: at most the branches
        // of a full map.
        let branches: BTreeSet<u64> = run.steps.iter().filter_map(branch).collect();
        let is_branch = |done: &&Done| matches!(done, Done::Ran(at) if branches.contains(at));
        let unreported = want[same..].iter().filter(is_branch).count();
        let ends = same == want.len() || Quirks::of(params).never_ends && unreported <= MAP;
        let whole = same == got.len() && ends;
        let known = ambiguous.first().is_some_and(|&(place, _)| place <= same);
        if odd.is_empty() && whole {
            return Ok(());
        }
        let near = |list: &[Done]| {
            let from = same.saturating_sub(3).min(list.len());
            format!("{:x?}", &list[from..(same + 4).min(list.len())])
        };
        let differ = format!(
            "{same} of {} and {}\n want {}\n got  {}\n odd {:?} {:?}",
            want.len(),
            got.len(),
            near(&want),
            near(&got),
            odd.first(),
            ambiguous.first()
        );
        if !odd.is_empty() {
            return Err(differ);
        }
        tried.other += 1;
        // A difference without an inconsistency requires one of these parameters.
        let named = known || params.choices.start_unretired || starts;
        if !named {
            return Err(differ);
        }
        tried.unnamed += usize::from(!known);
        let place = |step: &Step| match step {
            Step::Retired(retired) => Some(retired.address),
            Step::Exception(taken) => Some(taken.return_address),
            _ => None,
        };
        let offsets: BTreeSet<u64> = run.steps.iter().filter_map(place).collect();
        let offsets = offsets.into_iter().collect();
        let mut execution = Execution::new(cache(&run.image, params), params, offsets);
        // A trapped instruction of a start packet is not an execution.
        let mut drops = *params;
        drops.choices.drop_unretired = params.choices.start_unretired;
        elements(&bytes, &drops, &mut cache(&run.image, params), &mut execution);
        match execution.gives(&bytes, settings) {
            Ok(Proof { idle, notified, apart, beyond, period }) => {
                let took = [idle, notified, apart, beyond, period];
                for (total, new) in tried.took.iter_mut().zip(took) {
                    *total += usize::from(new > 0);
                }
                Ok(())
            }
            Err(why) => {
                tried.unproven += 1;
                Err(format!("{differ}\n and its packets are others: {why}"))
            }
        }
    }

    /// The same trial with parameters that remove all ambiguities.
    pub fn plainly(&self) -> Trial {
        let mut params = self.params;
        let choices = &mut params.choices;
        if params.version == Version::Draft {
            choices.loop_label = LoopLabel::First;
        }
        (choices.trapped_in_stream, choices.start_unretired) = (false, false);
        choices.drop_unretired = false;
        let settings = Settings { quirks: Some(quirks(&params)), ..self.settings.clone() };
        Trial { params, settings, ..*self }
    }
}

/// The quirks of a unit, without the report of the last address a second time, which only golden
/// streams need.
fn quirks(params: &Params) -> Quirks {
    Quirks { ends_twice: false, ..Quirks::of(params) }
}

pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|s| s.parse().ok())
}

/// The branches of a full map.
const MAP: usize = 31;

/// The address of a conditional branch.
fn branch(step: &Step) -> Option<u64> {
    match step {
        Step::Retired(retired) if retired.instruction.conditional => Some(retired.address),
        _ => None,
    }
}

/// Seeds with rare events: returns to the address of a start instead of the top of the return
/// stack, and traces whose end does not determine whether the last reported instruction was
/// retired.
const RARE: [u64; 13] =
    [1283, 1372, 1967, 2411, 2645, 2850, 3316, 4277, 4508, 4579, 4771, 5326, 6899];

#[test]
fn programs() {
    let only = number("SEED");
    let usual = (0..times(20)).chain(RARE);
    let seeds: Vec<u64> = only.map_or_else(|| usual.collect(), |seed| vec![seed]);
    let filter = std::env::var("UNIT").unwrap_or_default();
    let mut failed = Vec::new();
    for (version, profile) in units() {
        let unit = format!("{version} {profile}");
        if !unit.contains(&filter) {
            continue;
        }
        let (mut tried, mut plain, before) = (Tried::default(), Tried::default(), failed.len());
        for &seed in &seeds {
            let mut trial = Trial::new(version, profile, seed);
            let run = trial.run(60, 250);
            let checked = trial.check(&run, &mut tried);
            let about = |trial: &Trial, why: String| {
                let Trial { params, settings, mix, .. } = trial;
                let c = &params.choices;
                format!(
                    "seed {seed} {unit} {:?} {:?} retires {} sync {:?} {} {} {} {mix:?}: {why}",
                    params.options,
                    params.widths,
                    settings.retires,
                    settings.sync_position,
                    c.resync,
                    c.resync_max,
                    if c.drop_unretired { "drops" } else { "" }
                )
            };
            if only.is_some() {
                let at = number("AT").unwrap_or(0) as usize;
                explain(&run, &trial.params, &trial.settings, at);
            }
            let plainly = trial.plainly();
            let checked = checked.map_err(|why| about(&trial, why));
            failed.extend(checked.err());
            let checked = plainly.check(&run, &mut plain).map_err(|why| about(&plainly, why));
            failed.extend(checked.err().map(|why| format!("plainly {why}")));
        }
        let Tried { executions, instructions, traps, open: [open, path, fate], .. } = tried;
        println!(
            "{unit}: {executions} executions, {instructions} instructions, {traps} traps; {open} ambiguous \
             ({path} a path, {fate} whether one was retired), {} a return; {} differ ({} without an inconsistency), of which {} were not shown to give the same bytes, {:?} by idle cycles, \
             notifications, other blocks, steps beyond, another period; {} starts of trapped instructions; {} and {} of {} plainly; {} failed",
            tried.astray,
            tried.other,
            tried.unnamed,
            tried.unproven,
            tried.took,
            tried.started,
            plain.open[0],
            plain.other,
            plain.executions,
            failed.len() - before,
        );
        // Parameters remove all ambiguities.
        assert_eq!(plain.open[0], 0, "{unit}");
        // Only 0.026 has ambiguities without such parameters.
        assert!(only.is_some() || (version == Version::Draft) == (open > 0), "{unit}");
    }
    assert!(
        failed.is_empty(),
        "{} failed\n{}",
        failed.len(),
        failed[..failed.len().min(number("SHOW").unwrap_or(6) as usize)].join("\n")
    );
}

/// Two events agree; a return address that is not traced agrees with any.
pub fn agree(want: &Done, got: &Done) -> bool {
    match (want, got) {
        (Done::Trapped(a, x, v), Done::Trapped(b, y, w)) => {
            (a, v) == (b, w) && (x.is_none() || y.is_none() || x == y)
        }
        (want, got) => want == got,
    }
}

/// Prints the steps and their packets around the first difference, and the decoded elements.
pub fn explain(run: &Run, params: &Params, settings: &Settings, ran: usize) {
    let mut encoder = Encoder::new(params, settings);
    let (mut n, mut bytes, mut window) = (0, Vec::new(), [u64::MAX, 0]);
    for step in &run.steps {
        let mut packets = Vec::new();
        encoder.step(step, params, &mut packets);
        if let Step::Retired(_) = step {
            n += 1;
        }
        let shown = n + 30 > ran && n < ran + 12;
        if shown {
            match step {
                Step::Retired(r) => println!(
                    "{n} {:x} {:?} {:?} {}",
                    r.address,
                    r.instruction.kind,
                    r.instruction.role,
                    if r.instruction.conditional { r.taken } else { false }
                ),
                Step::Exception(t) => {
                    println!("  trap {:?} at {:x} to {:x}", t.cause, t.return_address, t.target)
                }
                Step::Context(c) => println!("  context {:?} {:x?}", c.el, c.context_id),
                other => println!("  {other:?}"),
            }
        }
        for packet in packets {
            let at = bytes.len() as u64;
            packet.emit(params, &mut bytes);
            if shown {
                println!("        {at} {packet}");
                window = [window[0].min(at), bytes.len() as u64];
            }
        }
    }
    struct Print([u64; 2]);
    impl tracewright::protocols::Observer for Print {}

    impl Sink for Print {
        fn element(&mut self, at: u64, element: Element) {
            if self.0[0] <= at && at < self.0[1] {
                println!("    {at} {element}");
            }
        }
    }
    let bytes = encoded(run, params, settings);
    elements(&bytes, params, &mut cache(&run.image, params), &mut Print(window));
}
