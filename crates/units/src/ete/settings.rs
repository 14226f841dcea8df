//! The register values of a program, by number instead of by name.

use super::implementation::Implementation;
use super::registers::{Version, all, by_name};
use crate::values::Values;

/// The values of the registers that select what is traced. A register that is not in the program is
/// 0, but for TRCVICTLR and TRCCONFIGR: without them nothing is known to be traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The bits of EXLEVEL_S, EXLEVEL_NS and EXLEVEL_RL that the unit has: an ETMv4 knows no Realm
    /// state.
    pub levels: u64,
    /// TRCPRGCTLR.EN; a program without the register is one of an enabled unit.
    pub enabled: bool,
    /// TRCCONFIGR.
    pub config: u64,
    /// TRCEVENTCTL0R and TRCEVENTCTL1R.
    pub events: [u64; 2],
    /// TRCRSR.TA.
    pub active: bool,
    /// TRCTSCTLR.
    pub timestamp: u64,
    /// TRCVICTLR, or `None` if the program does not have it.
    pub view: Option<u64>,
    /// TRCVIIECTLR.
    pub ranges: u64,
    /// TRCVISSCTLR.
    pub start_stop: u64,
    /// TRCVIPCSSCTLR.
    pub pe_start_stop: u64,
    /// TRCVDCTLR.
    pub view_data: u64,
    /// TRCVDSACCTLR.
    pub view_singles: u64,
    /// TRCVDARCCTLR.
    pub view_ranges: u64,
    /// TRCDVCVR and TRCDVCMR of each data value comparator.
    pub data_values: [[u64; 2]; 8],
    /// TRCSEQEVR0 to 2, TRCSEQRSTEVR, TRCSEQSTR.
    pub sequencer: [u64; 5],
    /// The event of each external input selector.
    pub inputs: [u16; 4],
    /// TRCCNTRLDVR, TRCCNTCTLR, TRCCNTVR of each counter.
    pub counters: [[u64; 3]; 4],
    /// TRCRSCTLR; 0 and 1 are fixed.
    pub selectors: [u64; 32],
    /// TRCSSCCR, TRCSSCSR, TRCSSPCICR of each single-shot comparator.
    pub single_shots: [[u64; 3]; 8],
    /// TRCACVR and TRCACATR of each address comparator.
    pub addresses: [[u64; 2]; 16],
    /// Address comparators of which a register is not known: bit n is comparator n.
    pub unknown_addresses: u16,
    /// TRCCIDCVR, and the bytes that are not compared.
    pub contexts: [[u64; 2]; 8],
    /// TRCVMIDCVR, and the bytes that are not compared.
    pub vmids: [[u64; 2]; 8],
}

impl Settings {
    /// The settings of a program for `unit`.
    pub fn new(unit: &Implementation, values: &Values) -> Settings {
        let get = |name: &str| values.get(name);
        let of = |name: &str| get(name).unwrap_or(0);
        let n = |stem: &str, n: usize| of(&format!("{stem}{n}"));
        let masks = |low: &str, high: &str, n: usize| {
            let register = if n < 4 { of(low) } else { of(high) };
            register >> (8 * (n % 4)) & 0xff
        };
        let three = |n_: usize, a: &str, b: &str, c: &str| [n(a, n_), n(b, n_), n(c, n_)];
        Settings {
            levels: if unit.version.is_ete() { 0x77f } else { 0x7f },
            enabled: get("TRCPRGCTLR").is_none_or(|value| value & 1 != 0),
            config: of("TRCCONFIGR"),
            events: [of("TRCEVENTCTL0R"), of("TRCEVENTCTL1R")],
            active: of("TRCRSR") >> 12 & 1 != 0,
            timestamp: of("TRCTSCTLR"),
            view: get("TRCVICTLR"),
            ranges: of("TRCVIIECTLR"),
            start_stop: of("TRCVISSCTLR"),
            pe_start_stop: of("TRCVIPCSSCTLR"),
            view_data: of("TRCVDCTLR"),
            view_singles: of("TRCVDSACCTLR"),
            view_ranges: of("TRCVDARCCTLR"),
            data_values: core::array::from_fn(|i| [n("TRCDVCVR", i), n("TRCDVCMR", i)]),
            sequencer: [
                of("TRCSEQEVR0"),
                of("TRCSEQEVR1"),
                of("TRCSEQEVR2"),
                of("TRCSEQRSTEVR"),
                of("TRCSEQSTR"),
            ],
            inputs: core::array::from_fn(|i| match unit.version {
                Version::Ete(_) => n("TRCEXTINSELR", i) as u16,
                Version::Etmv4(_) => (of("TRCEXTINSELR") >> (8 * i) & 0xff) as u16,
            }),
            counters: core::array::from_fn(|i| three(i, "TRCCNTRLDVR", "TRCCNTCTLR", "TRCCNTVR")),
            selectors: core::array::from_fn(|i| n("TRCRSCTLR", i)),
            single_shots: core::array::from_fn(|i| three(i, "TRCSSCCR", "TRCSSCSR", "TRCSSPCICR")),
            addresses: core::array::from_fn(|i| [n("TRCACVR", i), n("TRCACATR", i)]),
            unknown_addresses: (0..16)
                .filter(|i| {
                    ["TRCACVR", "TRCACATR"].iter().any(|s| get(&format!("{s}{i}")).is_none())
                })
                .fold(0, |all, i| all | 1 << i),
            contexts: core::array::from_fn(|i| {
                [n("TRCCIDCVR", i), masks("TRCCIDCCTLR0", "TRCCIDCCTLR1", i)]
            }),
            vmids: core::array::from_fn(|i| {
                [n("TRCVMIDCVR", i), masks("TRCVMIDCCTLR0", "TRCVMIDCCTLR1", i)]
            }),
        }
    }
}

/// A resource event: a selector, or a pair of selectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Resource selector n.
    Selector(u8),
    /// Resource selectors 2n and 2n+1.
    Pair(u8),
}

impl Event {
    /// From TYPE, bit \[7], and SEL, bits \[4:0], or \[3:0] of a pair.
    pub const fn new(bits: u64) -> Event {
        match bits >> 7 & 1 {
            0 => Event::Selector((bits & 0x1f) as u8),
            _ => Event::Pair((bits & 0xf) as u8),
        }
    }

    /// The bits of the event.
    pub const fn bits(self) -> u64 {
        match self {
            Event::Selector(n) => n as u64,
            Event::Pair(n) => 1 << 7 | n as u64,
        }
    }

    /// The event never is active, or always: selectors 0 and 1, and their pair. (IHI 0064, resource
    /// selectors)
    pub const fn constant(self) -> Option<bool> {
        match self {
            Event::Selector(0) | Event::Pair(0) => Some(false),
            Event::Selector(1) => Some(true),
            _ => None,
        }
    }

    /// The selectors of the event.
    pub fn selectors(self) -> impl Iterator<Item = u8> {
        match self {
            Event::Selector(n) => n..n + 1,
            Event::Pair(n) => 2 * n..2 * n + 2,
        }
    }
}

/// Whether the selectors of a pair, of which `a` is TRCRSCTLR<2n> and `b` TRCRSCTLR<2n+1>, have a
/// reserved function. (DDI 0601, TRCRSCTLRn.PAIRINV and INV) With PAIRINV and both INV, 0b001 and
/// 0b110 are reserved; the others are A and B, each inverted by its INV, and their combination
/// inverted by PAIRINV.
pub const fn is_reserved_pair(a: u64, b: u64) -> bool {
    let (combined, a, b) = (a >> 21 & 1, a >> 20 & 1, b >> 20 & 1);
    matches!((combined, a, b), (0, 0, 1) | (1, 1, 0))
}

/// The events in a program: the name of the register and of the field, and the event.
pub fn events(unit: &Implementation, values: &Values) -> Vec<(String, &'static str, Event)> {
    const FIELDS: [(&str, &str, u32); 12] = [
        ("TRCEVENTCTL0R", "SEL0", 0),
        ("TRCEVENTCTL0R", "SEL1", 8),
        ("TRCEVENTCTL0R", "SEL2", 16),
        ("TRCEVENTCTL0R", "SEL3", 24),
        ("TRCTSCTLR", "SEL", 0),
        ("TRCVICTLR", "EVENT_SEL", 0),
        ("TRCVDCTLR", "EVENT_SEL", 0),
        ("TRCSEQEVR<n>", "F_SEL", 0),
        ("TRCSEQEVR<n>", "B_SEL", 8),
        ("TRCSEQRSTEVR", "RST_SEL", 0),
        ("TRCCNTCTLR<n>", "CNTEVENT_SEL", 0),
        ("TRCCNTCTLR<n>", "RLDEVENT_SEL", 8),
    ];
    let registers = all().filter(|named| unit.has(*named));
    let mut found = Vec::new();
    for named in registers {
        let row = named.row.register.name;
        for (_, field, low) in FIELDS.iter().filter(|(name, ..)| *name == row) {
            if let Some(value) = values.get(&named.to_string()) {
                found.push((named.to_string(), *field, Event::new(value >> low & 0xff)));
            }
        }
    }
    found
}

/// Whether `name` is a register of `unit`.
pub fn has(unit: &Implementation, name: &str) -> bool {
    by_name(name).is_some_and(|named| unit.has(named))
}
