//! Which conditions evaluations show to be independent: by the command, and by the operators.

use std::fmt::Write;

use tracewright::analysis::decisions::{
    ConditionCoverage, Criterion, DecisionCoverage, Tree, Vector,
};

use super::found::Found;

fn condition(n: usize) -> Box<Tree> {
    Box::new(Tree::Condition(n))
}

fn and(a: Box<Tree>, b: Box<Tree>) -> Box<Tree> {
    Box::new(Tree::And(a, b))
}

fn or(a: Box<Tree>, b: Box<Tree>) -> Box<Tree> {
    Box::new(Tree::Or(a, b))
}

fn not(a: Box<Tree>) -> Box<Tree> {
    Box::new(Tree::Not(a))
}

/// Expressions with their numbers of conditions.
fn expressions() -> [(&'static str, usize, Box<Tree>); 6] {
    let c = condition;
    [
        ("a", 1, c(0)),
        ("a && b", 2, and(c(0), c(1))),
        ("a || b && c", 3, or(c(0), and(c(1), c(2)))),
        ("(a || b) && c", 3, and(or(c(0), c(1)), c(2))),
        ("!(a && b) || !c", 3, or(not(and(c(0), c(1))), not(c(2)))),
        ("a && (b || c) && d", 4, and(and(c(0), or(c(1), c(2))), c(3))),
    ]
}

/// The outcome of an evaluation in which bit `n` of `inputs` is the value of condition `n`. Those
/// that are evaluated get their values; those that an operand behind them masks are not in the bits
/// that are returned.
fn evaluate(tree: &Tree, inputs: u32, values: &mut [Option<bool>]) -> (bool, u32) {
    let (absorbing, left, right) = match tree {
        Tree::Condition(n) => {
            let value = inputs >> n & 1 != 0;
            values.iter_mut().skip(*n).take(1).for_each(|own| *own = Some(value));
            return (value, 1 << n);
        }
        Tree::Not(own) => {
            let (value, decides) = evaluate(own, inputs, values);
            return (!value, decides);
        }
        Tree::And(left, right) => (false, left, right),
        Tree::Or(left, right) => (true, left, right),
    };
    let (value, decides) = evaluate(left, inputs, values);
    if value == absorbing {
        return (value, decides);
    }
    let (value, own) = evaluate(right, inputs, values);
    (value, if value == absorbing { own } else { own | decides })
}

/// Whether no other condition differs that both evaluated.
fn only(n: usize, a: &Vector, b: &Vector) -> bool {
    let mut pairs = a.values.iter().zip(&b.values).enumerate();
    pairs.all(|(at, pair)| match pair {
        (Some(a), Some(b)) => (a != b) == (at == n),
        _ => at != n,
    })
}

/// Each set of evaluations of each expression, by both criteria. By masking, a condition must have
/// been false and true where nothing masked it; by unique cause, two evaluations must differ in it
/// alone, and in the outcome.
pub(super) fn conditions() -> Found {
    let mut out = String::new();
    for (text, count, tree) in expressions() {
        let mut all: Vec<(Vector, u32)> = Vec::new();
        for inputs in 0..1u32 << count {
            let mut values = vec![None; count];
            let (outcome, decides) = evaluate(&tree, inputs, &mut values);
            let vector = Vector { values, outcome };
            if all.iter().all(|(own, _)| *own != vector) {
                all.push((vector, decides));
            }
        }
        let (mut masking, mut unique) = (vec![0u32; count], vec![0u32; count]);
        for set in 0..1u32 << all.len() {
            let has = |n: &usize| set >> n & 1 != 0;
            let set: Vec<&(Vector, u32)> =
                (0..all.len()).filter(has).filter_map(|n| all.get(n)).collect();
            let shown = |criterion| {
                let mut own = DecisionCoverage {
                    conditions: vec![
                        ConditionCoverage {
                            values: [Some(0); 2],
                            independent: Some(false)
                        };
                        count
                    ],
                    vectors: set.iter().map(|(vector, _)| (vector.clone(), 1)).collect(),
                    ..DecisionCoverage::default()
                };
                own.finish(criterion, false);
                own.conditions.into_iter().map(|own| own.independent == Some(true))
            };
            let found = shown(Criterion::Masking).zip(shown(Criterion::UniqueCause)).enumerate();
            for (n, found) in found {
                let decided = |value: bool| {
                    let is = |(vector, decides): &&(Vector, u32)| {
                        vector.values.get(n) == Some(&Some(value)) && decides >> n & 1 != 0
                    };
                    set.iter().copied().any(|own| is(&own))
                };
                let differ = |(a, _): &(Vector, u32), (b, _): &(Vector, u32)| {
                    a.outcome != b.outcome && only(n, a, b)
                };
                let pair = set.iter().any(|a| set.iter().any(|b| differ(a, b)));
                let want = (decided(false) && decided(true), pair);
                if found != want {
                    return Err(format!(
                        "`{text}`, condition {}: {found:?}, expected {want:?}",
                        n + 1
                    ));
                }
                let add = |sums: &mut Vec<u32>, is: bool| {
                    sums.iter_mut().skip(n).take(1).for_each(|sum| *sum += u32::from(is));
                };
                add(&mut masking, found.0);
                add(&mut unique, found.1);
            }
        }
        let _ = writeln!(out, "{text}: {} evaluations, {masking:?}, {unique:?}", all.len());
    }
    Ok(out)
}
