//! The settings of the encoder by name.

use super::{COUNT_LIMIT, Encoder, FullHistory, Period, Repeats, Settings, SyncPosition};
use crate::filter_registers::{FILTER_SETTINGS, REGISTERS, selection};
use crate::ntrace::{Config, Ntrace};
use crate::protocol::InvalidRegister;
use crate::trace_fifo::FifoSettings;
use crate::trace_unit::{Encodes, Setting};

/// The settings without those of filters.
const OWN: [Setting; 26] = [
    Setting::new("trTsControl", "timestamp control; bit 15: messages have timestamps"),
    Setting::new("trTeInstFilters", "bit n: filter n selects; absent: all enabled filters"),
    Setting::new("trTeContext", "1: context and privilege are traced"),
    Setting::new(
        "trTeInstTrigEnable",
        "0: triggers have no effect, but for `on` and `off` in a log; also bit 11 of trTeControl",
    ),
    Setting::new(
        "trTeTrigExtInControl",
        "actions of the external trigger inputs, 4 bits of each: 2 trace on, 3 trace off, 4 notification (default)",
    ),
    Setting::new("trTeInstStallEna", "1: the processor waits while the FIFO is full"),
    Setting::new(
        "trTeInstSyncMode",
        "synchronisation by 1 messages, 2 cycles, 3 half-words; 0 off",
    ),
    Setting::new("trTeInstSyncMax", "the period of synchronisation is 2^(n + 4)"),
    Setting::new("trTeInstEnSequentialJump", "1: sequential jumps need no message"),
    Setting::new("trTeInstEnImplicitReturn", "1: returns to the caller need no message"),
    Setting::new("trTeInstImplicitReturnMode", "1: a counter without comparison; 3: a stack"),
    Setting::new("trTeInstEnRepeatedHistory", "1: repeated history is counted"),
    Setting::new("trTsEnable", "1: messages have timestamps"),
    Setting::new("implicit-return-depth", "entries of the return stack, 1 to 4096"),
    Setting::new("repeat-branch", "messages that are repeated: 0 none, 1 of branch trace, 2 all"),
    Setting::new("history-bits", "outcomes that fill the history, 1 to 31"),
    Setting::new("history-always", "1: indirect transfers have HIST without outcomes, too"),
    Setting::new("count-limit", "half-words that fill I-CNT"),
    Setting::new("count-sync", "1: branch trace reports a full I-CNT by a synchronisation"),
    Setting::new(
        "sync-place",
        "periodic synchronisation: 0 at the next instruction, 1 at the next transfer, 2 at the \
         next instruction that is no target",
    ),
    Setting::new("trap-type", "B-TYPE of traps: 1 for all; 2: exceptions 2, interrupts 3"),
    Setting::new("start-sync", "SYNC of the first message"),
    Setting::new("end-event", "EVCODE of the last message"),
    Setting::new("retires", "instructions in a block of the ingress port, at most"),
    Setting::new("fifo", "size of the unit's FIFO in bytes; 0: no limit"),
    Setting::new("fifo-drain", "cycles in which one byte leaves the FIFO"),
];

const SETTINGS: [Setting; OWN.len() + REGISTERS] = {
    let mut all = [OWN[0]; OWN.len() + REGISTERS];
    let mut n = 0;
    while n < all.len() {
        all[n] = if n < OWN.len() { OWN[n] } else { FILTER_SETTINGS[n - OWN.len()] };
        n += 1;
    }
    all
};

/// The most entries of a return stack.
const DEEPEST: u64 = 4096;

impl Encodes for Ntrace {
    type Encoder = Encoder;

    /// Every parameter has a default, but CoreSight frames need a trace ID.
    const USUAL: &'static [(&'static str, u64)] = &[("trace_id", 0x10)];

    const CORE: &'static str = "";

    const SETTINGS: &'static [Setting] = &SETTINGS;

    fn check(_: &Config, setting: &dyn Fn(&str) -> Option<u64>) -> Result<(), InvalidRegister> {
        for (name, least, most, why) in [
            ("history-bits", 1, 31, "a history has 1 to 31 outcomes"),
            ("implicit-return-depth", 1, DEEPEST, "a return stack has 1 to 4096 entries"),
            ("count-limit", 1, COUNT_LIMIT.into(), "I-CNT is full with 1 to 4128768 half-words"),
            ("repeat-branch", 0, 2, "messages that are repeated are 0, 1 or 2"),
            ("sync-place", 0, 2, "the place of a synchronisation is 0, 1 or 2"),
            ("trap-type", 1, 2, "the type of traps is 1 or 2"),
            ("start-sync", 0, 15, "SYNC is 0 to 15"),
            ("end-event", 0, 15, "EVCODE is 0 to 15"),
        ] {
            if setting(name).is_some_and(|value| !(least..=most).contains(&value)) {
                return Err(InvalidRegister { name, why: why.into() });
            }
        }
        Ok(())
    }

    fn settings(config: &Config, setting: &dyn Fn(&str) -> Option<u64>) -> Settings {
        let mut settings = Settings::of(config);
        let control = setting("trTeControl");
        let features = setting("trTeInstFeatures");
        // A field by its own name, or in its register.
        let field = |name: &str, register: Option<u64>, low: u32, bits: u32| {
            setting(name).or_else(|| Some(register? >> low & ((1 << bits) - 1)))
        };
        let on = |value: Option<u64>, usual: bool| value.map_or(usual, |value| value != 0);
        settings.triggers = on(field("trTeInstTrigEnable", control, 11, 1), settings.triggers);
        settings.inputs =
            setting("trTeTrigExtInControl").map_or(settings.inputs, |actions| actions as u32);
        settings.context = on(field("trTeContext", control, 9, 1), settings.context);
        settings.timestamps = on(field("trTsEnable", setting("trTsControl"), 15, 1), false);
        let mode = field("trTeInstSyncMode", control, 16, 2).unwrap_or(0);
        let max = field("trTeInstSyncMax", control, 20, 4).unwrap_or(0);
        settings.period = Period::of(mode, max);
        settings.sequential_jumps = on(field("trTeInstEnSequentialJump", features, 2, 1), false);
        returns(&mut settings, &field, features, setting("implicit-return-depth"));
        if on(field("trTeInstEnRepeatedHistory", features, 8, 1), false) {
            let nexrv = config.profile == crate::ntrace::config::Profile::Nexrv;
            settings.full_history =
                if nexrv { FullHistory::RepeatedParts } else { FullHistory::Repeated };
        }
        own(&mut settings, setting);
        let number =
            |name, usual: u32| setting(name).unwrap_or(usual.into()).min(u32::MAX.into()) as u32;
        let usual = FifoSettings::default();
        settings.fifo = FifoSettings {
            bytes: number("fifo", usual.bytes),
            drain: number("fifo-drain", usual.drain),
            stall: on(field("trTeInstStallEna", control, 13, 1), false),
        };
        settings
    }
}

/// The value of a field of a register: its name, the register, the first bit and the width.
type Field<'a> = dyn Fn(&str, Option<u64>, u32, u32) -> Option<u64> + 'a;

/// Implicit returns: a depth, or their enable, switches them on.
fn returns(settings: &mut Settings, field: &Field<'_>, features: Option<u64>, depth: Option<u64>) {
    let enable = field("trTeInstEnImplicitReturn", features, 3, 1);
    let usual = if settings.returns.depth > 0 { settings.returns.depth } else { 32 };
    settings.returns.depth = match (enable, depth) {
        (Some(0), _) => 0,
        (_, Some(depth)) => depth.min(DEEPEST) as u16,
        (Some(_), None) => usual,
        (None, None) => settings.returns.depth,
    };
    settings.returns.counter = field("trTeInstImplicitReturnMode", features, 6, 2) == Some(1);
}

/// The settings that are in no register.
fn own(settings: &mut Settings, setting: &dyn Fn(&str) -> Option<u64>) {
    let byte = |name: &str, usual: u8| setting(name).map_or(usual, |value| value.min(255) as u8);
    let on = |name: &str, usual: bool| setting(name).map_or(usual, |value| value != 0);
    settings.repeats = match setting("repeat-branch") {
        Some(0) | None => Repeats::None,
        Some(1) => Repeats::Branch,
        Some(_) => Repeats::All,
    };
    settings.sync_position = match setting("sync-place") {
        Some(0) | None => SyncPosition::Next,
        Some(1) => SyncPosition::Transfer,
        Some(_) => SyncPosition::Linear,
    };
    settings.history_bits = byte("history-bits", settings.history_bits);
    settings.history_always = on("history-always", settings.history_always);
    settings.count_sync = on("count-sync", settings.count_sync);
    if let Some(limit) = setting("count-limit") {
        settings.count_limit = limit.clamp(1, COUNT_LIMIT.into()) as u32;
    }
    match setting("trap-type") {
        Some(1) => settings.trap_types = [1, 1],
        Some(_) => settings.trap_types = [2, 3],
        None => {}
    }
    settings.start = byte("start-sync", settings.start);
    settings.end = byte("end-event", settings.end);
    settings.retires = byte("retires", settings.retires).max(1);
    let mask = setting("trTeInstFilters");
    (settings.comparators, settings.filters) =
        selection(&|name| setting(name).filter(|_| mask.is_none_or(|mask| selects(mask, name))));
}

/// Whether `trTeInstFilters` selects the filter that the register `name` belongs to.
fn selects(mask: u64, name: &str) -> bool {
    let number = name.strip_prefix("trTeFilter").and_then(|rest| rest.chars().next());
    let number = number.and_then(|digit| digit.to_digit(10));
    number.is_none_or(|number| mask >> number & 1 != 0)
}
