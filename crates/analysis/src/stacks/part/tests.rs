//! Call paths of random transfers, cut into parts, compared with those of all transfers.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracewright_symbols::UnwindTargets;
use tracewright_testing::{Random, times};

use super::{Part, PartBuilder};
use crate::code::FunctionId;
use crate::paths::Paths;
use crate::stacks::{Ending, StackCounts, Stacks};
use crate::transfer::{Kind, NO_FUNCTION, Transfer};

/// A path: its depth, its function, and its sums.
type Row = (usize, FunctionId, [u64; 5]);

/// A thread, and its paths in order.
type Thread = (usize, Option<u64>, Vec<Row>);

/// What is known of call paths. Paths and threads of different sources have no order.
type Known = (Vec<Thread>, BTreeMap<(FunctionId, Ending), u64>, [u64; 2], StackCounts);

fn known(mut stacks: Stacks<Paths>) -> Known {
    stacks.finish();
    let paths = &stacks.visitor;
    let mut rows: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
    let mut root = 0;
    for (number, depth) in paths.in_order() {
        let path = &paths.paths()[number as usize];
        root = if depth == 0 { number } else { root };
        let sums = [path.calls, path.instructions, path.cycles, path.ticks, path.uncertain];
        rows.entry(root).or_default().push((depth, path.function, sums));
    }
    let threads = paths.threads().iter();
    let mut threads: Vec<Thread> =
        threads.map(|t| (t.source, t.id, rows.remove(&t.root).unwrap_or_default())).collect();
    threads.sort_by_key(|thread| thread.0);
    let endings = paths.endings.iter().map(|(key, count)| (*key, *count)).collect();
    (threads, endings, paths.lost, stacks.counts)
}

fn stacks(targets: &Arc<UnwindTargets>) -> Stacks<Paths> {
    Stacks::new(2, Paths::new()).with_switches([5]).with_unwind_targets(Arc::clone(targets))
}

/// Functions 0 to 7 have the code from 0x100 * (n + 1) on; 6 is a stub, 7 has no symbol.
fn transfer(random: &mut Random, kind: Kind, target: u64) -> Transfer {
    let n = (target / 0x100).wrapping_sub(1) as u32;
    let some = random.one_in(8);
    Transfer {
        at: 0,
        target,
        ret: None,
        function: if n >= 7 { NO_FUNCTION } else { n },
        instructions: random.below(4) as u32,
        cycles: if some { random.below(3) as u32 } else { 0 },
        exception: 3,
        source: u16::from(random.one_in(5)),
        kind,
        entry: target.is_multiple_of(0x100) && n < 7,
        stub: n == 6,
    }
}

/// Calls and returns that mostly belong together, and everything else now and then.
fn transfers(random: &mut Random) -> Vec<Transfer> {
    let mut stacks: [Vec<u64>; 2] = [vec![], vec![]];
    let mut all = Vec::new();
    for at in 0..200 {
        let source = usize::from(random.one_in(5));
        let inside = 0x100 * (1 + random.below(8)) + 4 * (1 + random.below(3));
        let start = 0x100 * (1 + random.below(8));
        let any = if random.one_in(2) { start } else { inside };
        let returns = stacks[source].last().copied().filter(|_| !random.one_in(12));
        let kind = match random.below(40) {
            0..12 => Kind::Call,
            12..25 => Kind::Return,
            25..28 => Kind::Indirect,
            28..30 => Kind::Jump,
            30 => Kind::Fall,
            31 => Kind::Exception,
            32 => Kind::ExceptionReturn,
            33 => Kind::Swap,
            34 => Kind::Timestamp,
            35 => Kind::Cycles,
            36 => Kind::Run,
            37 => random.pick(&[Kind::CyclesLost, Kind::Context, Kind::TailChain, Kind::Task]),
            38 => random.pick(&[Kind::Lost, Kind::Untraced]),
            _ => Kind::Enter,
        };
        let target = match kind {
            Kind::Call => start,
            Kind::Return | Kind::ExceptionReturn | Kind::Swap => returns.unwrap_or(any),
            Kind::Indirect if random.one_in(3) => returns.unwrap_or(any),
            Kind::Timestamp | Kind::Cycles | Kind::Context => 10 * at + random.below(3),
            _ => any,
        };
        let mut one = transfer(random, kind, target);
        (one.source, one.at) = (source as u16, at);
        match kind {
            Kind::Call | Kind::Exception | Kind::Swap | Kind::Untraced => {
                one.ret = Some(inside).filter(|_| !random.one_in(20));
                stacks[source].extend(one.ret);
            }
            Kind::Return | Kind::ExceptionReturn => {
                stacks[source].pop();
            }
            Kind::Task => {
                one.ret = (!random.one_in(4)).then(|| random.below(3));
                one.entry = random.one_in(3);
            }
            _ => {}
        }
        all.push(one);
    }
    all
}

/// Recursion makes a node for each call: a part must not grow without the memory being known.
#[test]
fn nodes_have_weight() {
    let mut builder = PartBuilder::new(Arc::default());
    let random = &mut Random::new(1);
    let mut weights = Vec::new();
    for n in 0..2_000 {
        let ret = Some(0x100 * n as u64);
        let call = Transfer { source: 0, ret, ..transfer(random, Kind::Call, 0x100) };
        builder.take(n, &call);
        weights.push(builder.weight());
    }
    assert!(weights[1_999] >= 1_900 * 64 && weights[999] < weights[1_999], "{weights:?}");
    builder.clear();
    assert_eq!(builder.weight(), 0);
}

#[test]
fn parts_are_the_same_as_all_transfers() {
    let targets = UnwindTargets::of_calls([(0x308, 0x100, 0x2ff), (0x50c, 0x300, 0x3ff)]);
    let targets = Arc::new(targets);
    let (mut frames, mut left) = (0, 0);
    for seed in 0..times(300) {
        let random = &mut Random::new(seed);
        let all = transfers(random);
        let mut whole = stacks(&targets);
        whole.transfers(&all);
        let whole = known(whole);
        for count in [1, 2, 3, 7, 50] {
            let mut cuts: Vec<usize> = (1..count).map(|_| random.index(all.len())).collect();
            cuts.extend([0, all.len()]);
            cuts.sort_unstable();
            let mut joined = stacks(&targets);
            for cut in cuts.windows(2) {
                let part = Part::new(&all[cut[0]..cut[1]], &targets);
                if count == 1 {
                    frames += part.frames();
                    left += part.left();
                }
                joined.part(&part);
            }
            assert_eq!(known(joined), whole, "seed {seed}, {count} parts");
        }
    }
    // Some frames begin and end in a part, and some transfers depend on others.
    assert!(frames > 1_000 && left > 1_000, "{frames} {left}");
}
