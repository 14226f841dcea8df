//! A program as writes to the files of the Linux driver `coresight-etm3x`. (Linux,
//! Documentation/ABI/testing/sysfs-bus-coresight-devices-etm3x)

use std::fmt::Write as _;

use crate::etm::event::Event;
use crate::etm::settings::{AccessKind, Selection, Settings, number};

/// Bits of the file `mode`.
const EXCLUDE: u32 = 1 << 0;
const CYCLES: u32 = 1 << 1;
const STALL: u32 = 1 << 2;
const TIMESTAMPS: u32 = 1 << 3;
const CONTEXT: u32 = 1 << 4;
const BRANCH: u32 = 1 << 5;

/// The writes, as shell commands in the folder of the device. `None` where the driver has no file
/// for a part of the program: data tracing, and units before ETMv3.3.
pub fn sysfs(settings: &Settings) -> Option<String> {
    let control = settings.control();
    let watched = settings.watchpoints.iter().any(Option::is_some);
    if settings.unit.version < crate::etm::version::Version::V3_3 || control.data() || watched {
        return None;
    }
    let mut text = String::from("echo 1 > reset\n");
    let mode = [
        (settings.trace_excludes(), EXCLUDE),
        (control.cycles(), CYCLES),
        (control.stall(), STALL),
        (control.timestamps(), TIMESTAMPS),
        (control.context_bytes() > 0, CONTEXT),
        (control.branch_output(), BRANCH),
    ];
    let mode = mode.iter().filter(|row| row.0).fold(0, |all, row| all | row.1);
    let _ = writeln!(text, "echo {mode:#x} > mode");
    if settings.get(number::CONTEXT).is_some() {
        let context = settings.value(number::CONTEXT);
        let _ = writeln!(text, "echo 0 > ctxid_idx\necho {context:#x} > ctxid_pid");
        let mask = settings.value(number::CONTEXT_MASK);
        let _ = writeln!(text, "echo {mask:#x} > ctxid_mask");
    }
    let event = settings.event(number::TRACE_ENABLE_EVENT)?;
    let in_event =
        |n: u8| event.resources().any(|resource| resource == crate::etm::event::Resource::Range(n));
    let ranges = settings.trace_enable().ranges;
    for n in 1..=settings.unit.pairs {
        let (low, high) = (settings.comparator(2 * n - 1), settings.comparator(2 * n));
        if ranges >> (n - 1) & 1 == 0 {
            if in_event(n) {
                // A range of the driver is part of TraceEnable, which this one must not be.
                return None;
            }
            continue;
        }
        let _ = writeln!(
            text,
            "echo {:#x} > addr_idx\necho {:#x} {:#x} > addr_range\necho {:#x} > addr_acctype",
            2 * (n - 1),
            low.address,
            high.address,
            low.kind.0
        );
    }
    let start_stop = settings.value(number::START_STOP);
    for (bits, file) in [(start_stop & 0xffff, "addr_start"), (start_stop >> 16, "addr_stop")] {
        for n in Selection::numbers(bits) {
            let comparator = settings.comparator(n);
            let _ = writeln!(
                text,
                "echo {:#x} > addr_idx\necho {:#x} > {file}\necho {:#x} > addr_acctype",
                n - 1,
                comparator.address,
                comparator.kind.0
            );
        }
    }
    let trigger = settings.event(number::TRIGGER).unwrap_or(Event::FALSE);
    trigger_files(settings, trigger, &mut text)?;
    let _ = writeln!(text, "echo {:#x} > trigger_event", trigger.bits());
    let _ = writeln!(text, "echo {:#x} > enable_event", event.bits());
    for (number, file) in [
        (number::FIFOFULL_LEVEL, "fifofull_level"),
        (number::SYNC_FREQUENCY, "sync_freq"),
        (number::TIMESTAMP_EVENT, "timestamp_event"),
        (number::TRACE_ID, "traceid"),
    ] {
        if let Some(value) = settings.get(number) {
            let _ = writeln!(text, "echo {value:#x} > {file}");
        }
    }
    text.push_str("echo 1 > enable_source\n");
    Some(text)
}

/// The comparator and the counter of the trigger.
fn trigger_files(settings: &Settings, trigger: Event, text: &mut String) -> Option<()> {
    use crate::etm::event::Resource;
    let mut resource = trigger.a;
    if let Resource::Counter(n @ 1..=4) = resource {
        let at = u16::from(n - 1);
        let enable = settings.event(number::COUNT_ENABLE + at)?;
        let _ = writeln!(
            text,
            "echo {at} > cntr_idx\necho {:#x} > cntr_rld_val\necho {:#x} > cntr_event\necho {:#x} > \
             cntr_rld_event",
            settings.value(number::RELOAD_VALUE + at),
            enable.bits(),
            settings.value(number::RELOAD_EVENT + at)
        );
        resource = enable.a;
    }
    if let Resource::Address(n) = resource {
        let comparator = settings.comparator(n);
        // The driver has no files for data value comparators.
        if comparator.kind.kind() != AccessKind::Execute && comparator.kind.0 >> 5 & 0b11 != 0 {
            return None;
        }
        let _ = writeln!(
            text,
            "echo {:#x} > addr_idx\necho {:#x} > addr_single\necho {:#x} > addr_acctype",
            n - 1,
            comparator.address,
            comparator.kind.0
        );
    }
    Some(())
}
