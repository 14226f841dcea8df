//! Histories in which a program, or what a routine restores, has another legal value.

use std::collections::BTreeMap;

use tracewright_testing::{Random, short_or_long};

use super::machine::{Op, SIZE, base};
use super::orders::{PROCESSES, found_or_harmless};
use super::{minimal, unit};
use crate::buffers::trbe::{FillMode, Limit, TriggerMode};
use crate::ete::lint;
use crate::ete::registers::by_name;
use crate::program::Action;

/// A history with one value of a write or a poll that is another legal one, and the register.
fn mutant(ops: &[Op], random: &mut Random) -> Option<(Vec<Op>, String, String)> {
    let values: Vec<usize> = (0..ops.len())
        .filter(|n| {
            let Op::Step(step, _) = &ops[*n] else { return false };
            matches!(step.action, Action::Write { .. } | Action::Poll { .. })
        })
        .collect();
    let mut ops = ops.to_vec();
    let Op::Step(step, _) = &mut ops[values[random.index(values.len())]] else { return None };
    let before = step.action.clone();
    let name = match &mut step.action {
        Action::Write { register, value } => {
            *value = another(&register.name, *value, random)?;
            register.name.clone()
        }
        Action::Poll { mask, value, .. } => {
            // TRCSTATR.IDLE and PMSTABLE.
            (*mask, *value) = [(1, 0), (1, 1), (2, 0), (2, 2), (3, 3)][random.index(5)];
            "poll".to_owned()
        }
        _ => return None,
    };
    if step.action == before {
        return None;
    }
    // The value is no longer what was saved.
    step.slot = None;
    let what = format!("{before:?} is {:?}", step.action);
    Some((ops, name, what))
}

/// Another legal value of a register, if a random one is legal.
fn another(name: &str, value: u64, random: &mut Random) -> Option<u64> {
    let process = random.below(u64::from(PROCESSES)) as u8;
    let page = base(process) + random.below(5) * 0x1000;
    let bit = |bits: &[u32], random: &mut Random| value ^ 1 << bits[random.index(bits.len())];
    Some(match name {
        "TRBBASER_EL1" => page,
        // More trace than half of a buffer holds is in no history.
        "TRBPTR_EL1" => base(process) + random.below(SIZE / 2),
        "TRBLIMITR_EL1" => match random.below(3) {
            0 => page | value & 0xfff,
            1 => Limit(value).with_fill(FillMode::ALL[random.index(3)]).0,
            _ => Limit(value).with_trigger(TriggerMode::ALL[random.index(3)]).0,
        },
        // S, DAT, TRG, WRAP, IRQ.
        "TRBSR_EL1" => bit(&[17, 19, 20, 21, 22], random),
        "TRBTRG_EL1" => random.below(1 << 32),
        "TRBMAR_EL1" => random.below(1 << 8),
        "TRFCR_EL1" => value ^ 1 + random.below(3),
        // The address space of another process is that process: a recording has no other sign of
        // which one executes.
        "TTBR0_EL1" => return None,
        "TRCPRGCTLR" | "OSLAR_EL1" => value ^ 1,
        _ => {
            let other = value ^ 1 << random.below(32);
            let named = by_name(name)?;
            let version = unit().version;
            let legal = named.unknown_bits(other, version) == 0
                && errors(name, other) <= errors(name, value);
            legal.then_some(other)?
        }
    })
}

/// The errors of the program of the histories with this value.
fn errors(name: &str, value: u64) -> usize {
    let mut values = minimal();
    values.set(name, value);
    lint::check(&unit(), &values).iter().filter(|finding| finding.is_error()).count()
}

#[test]
fn changed_values_are_found_or_harmless() {
    let mut tried = BTreeMap::<String, u64>::new();
    let rounds = short_or_long(100, 10_000);
    let (found, harmless) = found_or_harmless(54, rounds, |ops, random| {
        let (ops, name, what) = mutant(ops, random)?;
        *tried.entry(name).or_default() += 1;
        Some((ops, what))
    });
    println!("{tried:?}");
    // Another program is harmless; another value than was saved is found.
    assert!(found > harmless, "{found} {harmless}");
    for name in ["TRBPTR_EL1", "TRBLIMITR_EL1", "TRFCR_EL1", "TRCVICTLR", "poll"] {
        assert!(tried.contains_key(name), "{name}: {tried:?}");
    }
}
