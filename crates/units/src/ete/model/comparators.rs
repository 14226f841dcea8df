//! Comparators of addresses and of identifiers.

use tracewright_base::{Context, Security};

use super::logic::all;
use crate::ete::settings::Settings;

/// The instruction that is compared.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'a> {
    /// Its address.
    pub address: u64,
    /// The context in which it executes.
    pub context: &'a Context,
}

/// The results of all comparators for one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Comparators {
    /// Single address comparators.
    pub single: [Option<bool>; 16],
    /// Address range comparators.
    pub range: [Option<bool>; 8],
    /// Context identifier comparators.
    pub context: [Option<bool>; 8],
    /// Virtual machine identifier comparators.
    pub vmid: [Option<bool>; 8],
}

/// Whether an exception level is excluded. `levels` has EXLEVEL_S in bits \[3:0], EXLEVEL_NS in
/// \[6:4] and EXLEVEL_RL in \[10:8]: 1 excludes, but a bit of EXLEVEL_RL is relative to that of
/// EXLEVEL_NS. `None` where the context is not known and it matters. (DDI 0601, TRCVICTLR)
pub(super) fn level_excluded(levels: u64, context: &Context) -> Option<bool> {
    let bit = |low: u8, el: u8| levels >> (low + el) & 1 != 0;
    let of = |security: Security, el: u8| match security {
        Security::Secure | Security::Root => bit(0, el.min(3)),
        Security::NonSecure => el < 3 && bit(4, el),
        Security::Realm => el < 3 && bit(4, el) != bit(8, el),
    };
    match (context.security, context.el) {
        (Some(security), Some(el)) => Some(of(security, el)),
        (security, el) => {
            // Every context that the known fields leave open.
            const ALL: [Security; 4] =
                [Security::Secure, Security::NonSecure, Security::Root, Security::Realm];
            let states = ALL.into_iter().filter(|s| security.is_none_or(|known| known == *s));
            let mut results = states.flat_map(|state| {
                (0..4u8)
                    .filter(move |level| el.is_none_or(|el| el == *level))
                    // EL3 is in Root or Secure state only.
                    .filter(move |level| {
                        *level < 3 || matches!(state, Security::Secure | Security::Root)
                    })
                    .map(move |level| of(state, level))
            });
            let first = results.next()?;
            results.all(|other| other == first).then_some(first)
        }
    }
}

/// An identifier against a comparator; `mask` selects bytes that are not compared.
fn identifier(known: Option<u32>, [value, mask]: [u64; 2]) -> Option<bool> {
    let bytes = (0..4).filter(|n| mask >> n & 1 == 0);
    let compared: u64 = bytes.map(|n| 0xff << (8 * n)).sum();
    if compared == 0 {
        return Some(true);
    }
    known.map(|known| (u64::from(known) ^ value) & compared == 0)
}

impl Comparators {
    /// Compares one instruction.
    pub fn new(settings: &Settings, instruction: &Instruction<'_>) -> Comparators {
        let Instruction { address, context } = *instruction;
        let id = |n: usize| settings.contexts.get(n).map(|c| identifier(context.context_id, *c));
        let vm = |n: usize| settings.vmids.get(n).map(|c| identifier(context.vmid, *c));
        // TRCACATR: EXLEVEL_S [11:8], EXLEVEL_NS [14:12], EXLEVEL_RL [18:16], CONTEXT [6:4],
        // CONTEXTTYPE [3:2], TYPE [1:0].
        let access = |attributes: u64| {
            if attributes & 3 != 0 {
                return Some(false);
            }
            let level = level_excluded(attributes >> 8 & settings.levels, context)
                .map(|excluded| !excluded);
            let n = (attributes >> 4 & 7) as usize;
            let used = |bit: u32, result: Option<Option<bool>>| match attributes >> bit & 1 {
                0 => Some(true),
                _ => result.flatten(),
            };
            all([level, used(2, id(n)), used(3, vm(n))])
        };
        let unknown = |n: usize| settings.unknown_addresses >> n & 1 != 0;
        let single = core::array::from_fn(|n| {
            let [value, attributes] = *settings.addresses.get(n)?;
            if unknown(n) {
                return None;
            }
            all([Some(address == value), access(attributes)])
        });
        let range = core::array::from_fn(|n| {
            let pair = settings.addresses.get(2 * n..2 * n + 2)?;
            let [[first, attributes], [last, other]] = *<&[[u64; 2]; 2]>::try_from(pair).ok()?;
            // Comparators of a range are programmed alike. (DDI 0601, TRCACATR<n>)
            if attributes != other || first > last || unknown(2 * n) || unknown(2 * n + 1) {
                return None;
            }
            all([Some((first..=last).contains(&address)), access(attributes)])
        });
        Comparators {
            single,
            range,
            context: core::array::from_fn(|n| id(n).flatten()),
            vmid: core::array::from_fn(|n| vm(n).flatten()),
        }
    }
}
