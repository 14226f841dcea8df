//! The registers of filters and comparators, by name. (Trace Control Interface, "Trace Encoder
//! Filter Registers", "Trace Encoder Comparator Registers")

use alloc::vec::Vec;

use crate::trace_filter::{Comparator, Compare, Filter, Function, Input, Match};
use crate::trace_unit::Setting;

/// The number of filters and comparators that can be set by name.
const MOST: usize = 4;

/// The number of registers of one filter and one comparator.
const KINDS: usize = 14;

/// The number of registers.
pub(crate) const REGISTERS: usize = KINDS * MOST;

/// The registers as settings of a trace unit.
pub(crate) const FILTER_SETTINGS: [Setting; REGISTERS] = {
    let names: [(Names, &str); KINDS] = [
        (
            FILTER_CONTROL,
            "filter: enable [0], match privilege [1], ecause [2], interrupt [3], comparators [4] [8] [12] by number [7:5] [11:9] [15:13], impdef [16]",
        ),
        (MATCH_INST, "privilege levels that pass, bit n is level n [7:0]; interrupt [8]"),
        (MATCH_ECAUSE, "causes that pass, bit n is cause n"),
        (IMPDEF[0][0], "value of the sideband signals 63 to 0 in the mask"),
        (IMPDEF[0][1], "mask of the sideband signals 63 to 0"),
        (IMPDEF[1][0], "value of the sideband signals 127 to 64"),
        (IMPDEF[1][1], "mask of the sideband signals 127 to 64"),
        (IMPDEF[2][0], "value of the sideband signals 191 to 128"),
        (IMPDEF[2][1], "mask of the sideband signals 191 to 128"),
        (IMPDEF[3][0], "value of the sideband signals 255 to 192"),
        (IMPDEF[3][1], "mask of the sideband signals 255 to 192"),
        (
            COMPARATOR_CONTROL,
            "inputs [1:0] [3:2]: 0 address, 1 context, 2 tval, 3 change of the context (1 in the first block of a context, else 0); functions [6:4] [10:8]: eq neq lt lte gt gte - always; mode [13:12]: P, P&&S, !(P&&S), latch; notify [14] [15]",
        ),
        (PRIMARY_MATCH, "value of the primary comparison"),
        (SECONDARY_MATCH, "value of the secondary comparison"),
    ];
    let mut list = [Setting::new("", ""); REGISTERS];
    let mut n = 0;
    while n < REGISTERS {
        list[n] = Setting::new(names[n % KINDS].0[n / KINDS], names[n % KINDS].1);
        n += 1;
    }
    list
};

/// The comparators and filters of the registers that `setting` knows.
pub(crate) fn selection(setting: &dyn Fn(&str) -> Option<u64>) -> (Vec<Comparator>, Vec<Filter>) {
    let (mut comparators, mut filters) = (Vec::new(), Vec::new());
    for n in 0..MOST {
        let value = |names| setting(name(n, names)).unwrap_or(0);
        if let Some(control) = setting(name(n, COMPARATOR_CONTROL)) {
            comparators.resize(n, Comparator::default());
            comparators.push(comparator(control, value(PRIMARY_MATCH), value(SECONDARY_MATCH)));
        }
        if let Some(control) = setting(name(n, FILTER_CONTROL)).filter(|c| c & 1 != 0) {
            filters.push(filter(
                control,
                value(MATCH_INST),
                value(MATCH_ECAUSE),
                (IMPDEF.map(|[_, mask]| value(mask)), IMPDEF.map(|[names, _]| value(names))),
            ));
        }
    }
    (comparators, filters)
}

/// The same register of each filter or comparator.
type Names = [&'static str; MOST];

/// The names of a register of each filter or comparator.
macro_rules! names {
    ($unit:literal, $register:literal) => {
        [
            concat!("trTe", $unit, "0", $register),
            concat!("trTe", $unit, "1", $register),
            concat!("trTe", $unit, "2", $register),
            concat!("trTe", $unit, "3", $register),
        ]
    };
}

const FILTER_CONTROL: Names = names!("Filter", "Control");
const MATCH_INST: Names = names!("Filter", "MatchInst");
const MATCH_ECAUSE: Names = names!("Filter", "MatchEcause");
/// Value and mask of the sideband signals, 64 in each register.
const IMPDEF: [[Names; 2]; 4] = [
    [names!("Filter", "MatchValueImpdef"), names!("Filter", "MatchMaskImpdef")],
    [names!("Filter", "MatchValueImpdef1"), names!("Filter", "MatchMaskImpdef1")],
    [names!("Filter", "MatchValueImpdef2"), names!("Filter", "MatchMaskImpdef2")],
    [names!("Filter", "MatchValueImpdef3"), names!("Filter", "MatchMaskImpdef3")],
];
const COMPARATOR_CONTROL: Names = names!("Comp", "Control");
const PRIMARY_MATCH: Names = names!("Comp", "PMatch");
const SECONDARY_MATCH: Names = names!("Comp", "SMatch");

fn name(n: usize, names: Names) -> &'static str {
    names.get(n).copied().unwrap_or_default()
}

/// A comparator from its registers.
fn comparator(control: u64, primary: u64, secondary: u64) -> Comparator {
    let half = |input: u32, function: u32, notify: u32, value| Compare {
        input: match control >> input & 0b11 {
            1 => Input::Context,
            2 => Input::Tval,
            3 => Input::ContextChange,
            _ => Input::Address,
        },
        function: Function::of_number(control >> function & 0b111).unwrap_or_default(),
        value,
        notify: control >> notify & 1 != 0,
    };
    Comparator {
        primary: half(0, 4, 14, primary),
        secondary: half(2, 8, 15, secondary),
        matches: match control >> 12 & 0b11 {
            0 => Match::Primary,
            1 => Match::Both,
            2 => Match::NotBoth,
            _ => Match::Latch,
        },
    }
}

/// A filter from its registers.
fn filter(control: u64, inst: u64, ecause: u64, user: ([u64; 4], [u64; 4])) -> Filter {
    let on = |bit: u32| control >> bit & 1 != 0;
    let comparator = |bit: u32, at: u32| on(bit).then_some((control >> at & 0b111) as u8);
    Filter {
        comparators: [comparator(4, 5), comparator(8, 9), comparator(12, 13)],
        privilege: on(1).then_some(inst as u8),
        cause: on(2).then_some(ecause),
        interrupt: on(3).then_some(inst >> 8 & 1 != 0),
        user: on(16).then_some(user),
    }
}
