//! Which instructions are traced: address ranges and exception levels. (TRCVIIECTLR, TRCACVR,
//! TRCVICTLR)

use alloc::vec::Vec;

use tracewright_base::{Context, Security};

/// Address ranges, first and last address of each.
pub(super) type Ranges = Vec<(u64, u64)>;

/// Whether one of `ranges` contains `address`.
pub(super) fn within(ranges: &[(u64, u64)], address: u64) -> bool {
    ranges.iter().any(|&(first, last)| first <= address && address <= last)
}

/// The ranges of the bits of `selected`: bit n is the pair TRCACVR2n, TRCACVR2n+1.
pub(super) fn ranges(selected: u64, register: &dyn Fn(&str) -> Option<u64>) -> Ranges {
    const PAIRS: [(&str, &str); 8] = [
        ("TRCACVR0", "TRCACVR1"),
        ("TRCACVR2", "TRCACVR3"),
        ("TRCACVR4", "TRCACVR5"),
        ("TRCACVR6", "TRCACVR7"),
        ("TRCACVR8", "TRCACVR9"),
        ("TRCACVR10", "TRCACVR11"),
        ("TRCACVR12", "TRCACVR13"),
        ("TRCACVR14", "TRCACVR15"),
    ];
    let chosen = PAIRS.iter().enumerate().filter(|(n, _)| selected >> n & 1 != 0);
    chosen
        .map(|(_, (first, last))| (register(first).unwrap_or(0), register(last).unwrap_or(0)))
        .collect()
}

/// The instructions that ViewInst includes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    /// The included ranges; all addresses if empty. (TRCVIIECTLR.INCLUDE, bits \[7:0])
    include: Ranges,
    /// The excluded ranges. (TRCVIIECTLR.EXCLUDE, bits \[23:16])
    exclude: Ranges,
    /// TRCVICTLR: EXLEVEL_S, bits \[19:16], EXLEVEL_NS, bits \[22:20], and EXLEVEL_RL, bits
    /// \[26:24]: a level whose bit is 1 is not traced; those of EXLEVEL_RL are relative to those of
    /// EXLEVEL_NS.
    levels: u64,
}

impl Filter {
    pub(super) fn new(register: &dyn Fn(&str) -> Option<u64>) -> Self {
        let control = register("TRCVIIECTLR").unwrap_or(0);
        Filter {
            include: ranges(control & 0xff, register),
            exclude: ranges(control >> 16 & 0xff, register),
            levels: register("TRCVICTLR").unwrap_or(0) & 0x077f_0000,
        }
    }

    /// Whether every instruction is included.
    pub(super) fn is_open(&self) -> bool {
        *self == Filter::default()
    }

    /// Whether the instruction at `address` is traced.
    pub(super) fn includes(&self, address: u64, context: &Context) -> bool {
        let el = context.el.unwrap_or(0).min(3);
        let bit = |low: u8| self.levels >> (low + el) & 1 != 0;
        let shut = match context.security.unwrap_or(Security::NonSecure) {
            Security::Secure | Security::Root => bit(16),
            Security::NonSecure => el < 3 && bit(20),
            Security::Realm => el < 3 && bit(20) != bit(24),
        };
        !shut
            && (self.include.is_empty() || within(&self.include, address))
            && !within(&self.exclude, address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ETE K10.5.7, Table K10-3 and the exclude and include examples: Non-secure EL0 only, with or
    /// without one range.
    #[test]
    fn the_programming_examples() {
        let registers = |control: u64| {
            move |name: &str| match name {
                "TRCVICTLR" => Some(0x006f_0201),
                "TRCVIIECTLR" => Some(control),
                "TRCACVR0" => Some(0x2000),
                "TRCACVR1" => Some(0x200f),
                _ => None,
            }
        };
        let user =
            |el, security| Context { el: Some(el), security: Some(security), ..Context::default() };
        use Security::{NonSecure, Realm, Secure};
        for (control, address, context, want) in [
            (0, 0x1000, user(0, NonSecure), true),
            (0, 0x1000, user(0, Realm), true),
            (0, 0x1000, user(1, NonSecure), false),
            (0, 0x1000, user(2, NonSecure), false),
            (0, 0x1000, user(0, Secure), false),
            (0, 0x1000, user(3, Secure), false),
            (0x1_0000, 0x1ffc, user(0, NonSecure), true),
            (0x1_0000, 0x2000, user(0, NonSecure), false),
            (0x1_0000, 0x200c, user(0, NonSecure), false),
            (0x1_0000, 0x2010, user(0, NonSecure), true),
            (1, 0x1ffc, user(0, NonSecure), false),
            (1, 0x200c, user(0, NonSecure), true),
            (1, 0x2010, user(0, NonSecure), false),
        ] {
            let filter = Filter::new(&registers(control));
            assert_eq!(filter.includes(address, &context), want, "{control:#x} {address:#x}");
        }
        assert!(Filter::new(&|_| None).is_open());
    }
}
