//! The settings of the encoder by name.

use alloc::format;

use super::{ContextType, DataSettings, Encoder, FifoSettings, Settings, SyncPosition};
use crate::etrace::{Etrace, Params};
use crate::filter_registers::{FILTER_SETTINGS, REGISTERS, selection};
use crate::protocol::InvalidRegister;
use crate::trace_unit::{Encodes, Setting};

impl Encodes for Etrace {
    type Encoder = Encoder;

    /// Every parameter has a default, but CoreSight frames need a trace ID.
    const USUAL: &'static [(&'static str, u64)] = &[("trace_id", 0x10)];

    const CORE: &'static str = "";

    const SETTINGS: &'static [Setting] = &SETTINGS;

    fn check(
        params: &Params,
        setting: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<(), InvalidRegister> {
        let code = setting("context-type");
        let known = |code: u64| {
            u8::try_from(code).ok().and_then(|code| ContextType::of_code(params.version, code))
        };
        if let Some(code) = code.filter(|&code| known(code).is_none()) {
            let why = format!("context-type = {code}: a type of a context is 0 to 3");
            return Err(InvalidRegister { name: "context-type", why });
        }
        let checked = Etrace::settings(params, setting).check(params);
        checked.map_err(|refused| InvalidRegister { name: refused.parameter, why: refused.why })
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
        (settings.comparators, settings.filters) = selection(setting);
        settings
    }
}

/// The number of settings that exist once.
const ONCE: usize = 11;

const SETTINGS: [Setting; ONCE + REGISTERS] = {
    let mut list = [Setting::new("retires", "instructions in a block of the ingress port, at most");
        ONCE + REGISTERS];
    list[1] = Setting::new(
        "sync-place",
        "0: synchronise at the next instruction; 1: after the next special one",
    );
    list[2] = Setting::new(
        "context-type",
        "type of a new context: 0 unreported, 1 imprecise, 2 precise, 3 discontinuity; 0.026: 0 discontinuity, 1 precise, 2 imprecise, 3 notification",
    );
    list[3] = Setting::new("data", "1: data accesses are traced");
    list[4] = Setting::new("data-full-address", "1: data addresses are never differences");
    list[5] = Setting::new("data-full-data", "1: data are never differences");
    list[6] = Setting::new("data-latency", "accesses between a split load's request and its data");
    list[7] = Setting::new("fifo", "size of the unit's FIFO in bytes; 0: no limit");
    list[8] = Setting::new("fifo-drain", "cycles in which one byte leaves the FIFO");
    list[9] =
        Setting::new("stall", "1: the processor waits while the FIFO is full; 0: packets are lost");
    list[10] = Setting::new(
        "implicit-return-calls",
        "implicit returns without irets: 1: a call after an implied return is reported; 0: it is not, as in the specification",
    );
    let mut n = 0;
    while n < REGISTERS {
        list[ONCE + n] = FILTER_SETTINGS[n];
        n += 1;
    }
    list
};
