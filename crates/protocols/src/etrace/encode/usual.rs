//! The settings of the encoder by name.

use alloc::format;
use alloc::string::String;

use super::{
    Comparator, Compare, ContextType, DataSettings, Encoder, FifoSettings, Filter, Function, Input,
    Match, Settings, SyncPosition,
};
use crate::etrace::{Etrace, Params};
use crate::trace_unit::{Encodes, Setting};

const fn setting(name: &'static str, about: &'static str) -> Setting {
    Setting { name, about }
}

/// The number of filters and comparators that can be set by name.
const MOST: usize = 4;

impl Encodes for Etrace {
    type Encoder = Encoder;

    /// Every parameter has a default, but CoreSight frames need a trace ID.
    const USUAL: &'static [(&'static str, u64)] = &[("trace_id", 0x10)];

    const CORE: &'static str = "";

    const SETTINGS: &'static [Setting] = &SETTINGS;

    fn check(
        params: &Params,
        setting: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<(), (&'static str, String)> {
        let code = setting("context-type");
        let known = |code: u64| {
            u8::try_from(code).ok().and_then(|code| ContextType::of_code(params.version, code))
        };
        if let Some(code) = code.filter(|&code| known(code).is_none()) {
            let why = format!("context-type = {code}: a type of a context is 0 to 3");
            return Err(("context-type", why));
        }
        let checked = Etrace::settings(params, setting).check(params);
        checked.map_err(|refused| (refused.parameter, refused.why))
    }

    fn settings(params: &Params, setting: &dyn Fn(&str) -> Option<u64>) -> Settings {
        let mut settings = Settings::default();
        if let Some(retires) = setting("retires") {
            settings.retires = retires.clamp(1, 255) as u8;
        }
        settings.sync_position = match setting("sync-place") {
            Some(0) => Some(SyncPosition::Next),
            Some(_) => Some(SyncPosition::AfterSpecial),
            None => None,
        };
        settings.reports_calls = setting("implicit-return-calls").is_none_or(|value| value != 0);
        let on = |name| setting(name).is_some_and(|value| value != 0);
        settings.data = DataSettings {
            enabled: on("data"),
            full_address: on("data-full-address"),
            full_data: on("data-full-data"),
            latency: setting("data-latency").unwrap_or(0).min(255) as u8,
        };
        let number = |name, or: u32| setting(name).unwrap_or(or.into()).min(u32::MAX.into()) as u32;
        let usual = FifoSettings::default();
        settings.fifo = FifoSettings {
            bytes: number("fifo", usual.bytes),
            drain: number("fifo-drain", usual.drain),
            stall: on("stall"),
        };
        let context_type = setting("context-type").and_then(|code| u8::try_from(code).ok());
        settings.context_type = context_type
            .and_then(|code| ContextType::of_code(params.version, code))
            .unwrap_or_default();
        for n in 0..MOST {
            if let Some(control) = setting(name(n, COMPARATOR_CONTROL)) {
                let value = |names| setting(name(n, names)).unwrap_or(0);
                let comparator = comparator(control, value(PRIMARY_MATCH), value(SECONDARY_MATCH));
                settings.comparators.resize(n, Comparator::default());
                settings.comparators.push(comparator);
            }
            if let Some(control) = setting(name(n, FILTER_CONTROL)).filter(|c| c & 1 != 0) {
                let value = |names| setting(name(n, names)).unwrap_or(0);
                settings.filters.push(filter(
                    control,
                    value(MATCH_INST),
                    value(MATCH_ECAUSE),
                    (IMPDEF.map(|[_, mask]| value(mask)), IMPDEF.map(|[names, _]| value(names))),
                ));
            }
        }
        settings
    }
}

/// The number of settings that exist once.
const ONCE: usize = 11;

/// The number of registers of a filter and a comparator.
const REGISTERS: usize = 14;

const SETTINGS: [Setting; ONCE + REGISTERS * MOST] = {
    let mut list = [setting("retires", "instructions in a block of the ingress port, at most");
        ONCE + REGISTERS * MOST];
    list[1] = setting(
        "sync-place",
        "0: synchronise at the next instruction; 1: after the next special one",
    );
    list[2] = setting(
        "context-type",
        "type of a new context: 0 unreported, 1 imprecise, 2 precise, 3 discontinuity; 0.026: 0 discontinuity, 1 precise, 2 imprecise, 3 notification",
    );
    list[3] = setting("data", "1: data accesses are traced");
    list[4] = setting("data-full-address", "1: data addresses are never differences");
    list[5] = setting("data-full-data", "1: data are never differences");
    list[6] = setting("data-latency", "accesses between a split load's request and its data");
    list[7] = setting("fifo", "size of the unit's FIFO in bytes; 0: no limit");
    list[8] = setting("fifo-drain", "cycles in which one byte leaves the FIFO");
    list[9] =
        setting("stall", "1: the processor waits while the FIFO is full; 0: packets are lost");
    list[10] = setting(
        "implicit-return-calls",
        "implicit returns without irets: 1: a call after an implied return is reported; 0: it is not, as in the specification",
    );
    let names = [
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
    let mut n = 0;
    while n < REGISTERS * MOST {
        list[ONCE + n] = setting(names[n % REGISTERS].0[n / REGISTERS], names[n % REGISTERS].1);
        n += 1;
    }
    list
};

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
