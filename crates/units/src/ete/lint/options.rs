//! The form of the trace: TRCCONFIGR and what belongs to it.

use super::Check;
use crate::ete::settings::Event;

pub(super) fn check(check: &mut Check<'_>) {
    if check.known("TRCCONFIGR") {
        features(check);
        cycles(check);
        broadcast(check);
    }
    let config = check.settings.config;
    if check.known("TRCSYNCPR") && matches!(check.value("TRCSYNCPR") & 0x1f, 1..=7 | 21..) {
        let what = "the period is reserved";
        check.broken(
            "period-reserved",
            "TRCSYNCPR",
            what,
            "write 0, or 8 to 20: 256 to 1048576 bytes",
        );
    }
    let id = check.value("TRCTRACEIDR") & 0x7f;
    let size = check.unit.trace_id_bits();
    if check.known("TRCTRACEIDR") && size != Some(0) && !(1..0x70).contains(&id) {
        let what = format!("the trace ID {id:#x} is reserved");
        check.broken("trace-id-reserved", "TRCTRACEIDR", &what, "write 0x01 to 0x6f");
    }
    let stall = check.value("TRCSTALLCTLR");
    if stall >> 8 & 1 != 0 && stall & 0xf == 0 {
        let what = "ISTALL is on and LEVEL is 0, so the processor is never stalled";
        check.broken("stall-without-level", "TRCSTALLCTLR", what, "write a LEVEL above 0");
    }
    if stall >> 13 & 1 != 0 && check.unit.no_overflow() == Some(false) {
        let what = "the unit cannot prevent overflows";
        check.broken("overflow-prevention-missing", "TRCSTALLCTLR", what, "write 0 to NOOVERFLOW");
    }
    let event = Event::new(check.value("TRCTSCTLR") & 0xff);
    if event.constant() != Some(false) && check.known("TRCCONFIGR") && config >> 11 & 1 == 0 {
        let what = "an event requests timestamps, and timestamps are off";
        check.broken("timestamps-off", "TRCTSCTLR", what, "set TRCCONFIGR.TS");
    }
}

fn features(check: &mut Check<'_>) {
    let unit = check.unit;
    let config = check.settings.config;
    let bits = |low: u32, mask: u64| config >> low & mask;
    let q = unit.q_elements();
    for (name, used, has) in [
        ("INSTP0", bits(1, 3) != 0, unit.load_store_p0()),
        ("BB", bits(3, 1) != 0, unit.branch_broadcast()),
        ("CCI", bits(4, 1) != 0, unit.cycle_counts()),
        ("CID", bits(6, 1) != 0, unit.context_ids()),
        ("VMID", bits(7, 1) != 0, unit.vmids()),
        ("COND", bits(8, 7) != 0, unit.conditional()),
        ("TS", bits(11, 1) != 0, unit.timestamps()),
        ("RS", bits(12, 1) != 0, unit.return_stack()),
        ("QE", bits(13, 3) != 0, q.map(|q| q != 0)),
        ("DA and DV", bits(16, 3) != 0, unit.data()),
        ("ITO", bits(18, 1) != 0, unit.instrumentation()),
    ] {
        if used && has == Some(false) {
            let what = format!("{name} is on, and the unit does not implement it");
            check.broken("option-missing", "TRCCONFIGR", &what, "write 0 to the field");
        }
    }
    if bits(13, 3) == 2 {
        check.broken("option-reserved", "TRCCONFIGR", "QE is 2, a reserved value", "write 1 or 3");
    }
    if matches!(bits(8, 7), 4..=6) {
        let what = "COND has a reserved value";
        check.broken("option-reserved", "TRCCONFIGR", what, "write 0 to 3, or 7");
    }
    if bits(13, 3) != 0 && unit.q_filter() == Some(true) && !check.known("TRCQCTLR") {
        let what = "Q elements are on, and the register that permits them is not programmed";
        check.broken("q-filter-missing", "TRCQCTLR", what, "write 0 for Q elements everywhere");
    }
}

fn cycles(check: &mut Check<'_>) {
    if check.settings.config >> 4 & 1 == 0 {
        return;
    }
    if !check.known("TRCCCCTLR") {
        let what = "cycle counts are on, and their threshold is not programmed";
        check.broken("threshold-missing", "TRCCCCTLR", what, "write a threshold");
        return;
    }
    let threshold = check.value("TRCCCCTLR") & 0xfff;
    if let Some(least) = check.unit.least_threshold()
        && threshold < u64::from(least)
    {
        let what = format!("the threshold is {threshold}, and the lowest is {least}");
        check.broken("threshold-low", "TRCCCCTLR", &what, &format!("write {least} or more"));
    }
}

fn broadcast(check: &mut Check<'_>) {
    let config = check.settings.config;
    if config >> 3 & 1 == 0 {
        return;
    }
    let ranges = check.unit.address_pairs();
    if !check.known("TRCBBCTLR") && ranges != Some(0) {
        let what = "branches are broadcast, and it is not programmed where";
        check.broken("broadcast-missing", "TRCBBCTLR", what, "write 0 for everywhere");
    }
    let control = check.value("TRCBBCTLR");
    if control >> 8 & 1 != 0 && control & 0xff == 0 {
        let what = "branches are broadcast in ranges, and no range is selected";
        check.broken("broadcast-nowhere", "TRCBBCTLR", what, "select a range, or clear MODE");
    }
    if config >> 12 & 1 != 0 && control & 0x1ff == 0 {
        let what = "the return stack is on, and every branch has its address";
        check.broken("return-stack-unused", "TRCCONFIGR", what, "clear RS, or broadcast in ranges");
    }
}
