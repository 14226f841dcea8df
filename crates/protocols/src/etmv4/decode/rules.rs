//! What the program flow depends on.

use tracewright_base::{CachedBlock, Isa};

use super::super::Config;

/// The part of the configuration that the flow depends on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    /// Return stack: TRCCONFIGR.RS.
    pub(super) return_stack: bool,
    /// M profile: every instruction is T32.
    pub(super) thumb_only: bool,
    /// A range ends at each waypoint before a source address.
    pub(super) split_source: bool,
    /// A return from an exception has no packet; its instruction shows it. (ETE)
    pub(super) implicit_exception_returns: bool,
    /// Missing code is reported again for an exception behind it, as OpenCSD does. In an ETE the
    /// address is unknown behind it. (ETE K10.5.5.4.1)
    pub(super) repeats_missing: bool,
}

impl Rules {
    #[inline]
    pub(super) fn of(config: &Config) -> Rules {
        Rules {
            return_stack: config.return_stack(),
            thumb_only: config.microcontroller(),
            split_source: config.split_source_ranges,
            implicit_exception_returns: config.is_ete(),
            repeats_missing: !config.is_ete(),
        }
    }
}

/// The instruction set at an address.
#[inline]
pub(super) const fn isa(bits64: bool, is1: bool, rules: Rules) -> Isa {
    match (rules.thumb_only, bits64, is1) {
        (true, _, _) | (false, false, true) => Isa::T32,
        (false, true, _) => Isa::A64,
        (false, false, false) => Isa::A32,
    }
}

/// The kinds of waypoints that need more work than an emitted range where they take effect.
pub(super) const fn special_kinds(rules: Rules) -> u16 {
    let calls = if rules.return_stack { CachedBlock::CALL } else { 0 };
    let returns = if rules.implicit_exception_returns { CachedBlock::EXCEPTION_RETURN } else { 0 };
    calls | returns
}
