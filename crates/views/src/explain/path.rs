//! Why a trace buffer is empty: what the registers of the trace units, of the links and of the
//! buffer state.

use tracewright_capture::{Buffer, Capture, Kind, Other, Registers, Source};
use tracewright_units::values::Values;
use tracewright_units::{Unit, catalogue};

use super::{Remark, remark};

/// The rules for the registers of a trace unit: where one is broken, nothing is traced, or nothing
/// reaches the buffer.
const SILENT: [&str; 9] = [
    "unit-disabled",
    "view-event-false",
    "stopped",
    "powered-down",
    "programming",
    "os-locked",
    "view-includes-nothing",
    "includes-nothing",
    "trace-id",
];

/// The registers of an ETMv4 or ETE, and of an ETMv3 or PTM, that state whether it traces.
const STATES: [&[&str]; 2] = [&["TRCPRGCTLR", "TRCSTATR", "TRCVICTLR"], &["ETMCR", "ETMSR"]];

/// The names that captures have for the control register of a funnel.
const FUNNEL_CONTROL: [&str; 5] = ["FUNCTL", "CTRL", "CTL", "CONTROL", "FUNNELCONTROL"];

/// What may be the reason that `buffer`, with the index `index`, is empty.
pub(super) fn remarks(capture: &Capture, index: usize, buffer: &Buffer) -> Vec<Remark> {
    if matches!(capture.kind, Kind::Perf | Kind::Raw) {
        return Vec::new();
    }
    let (mut causes, mut missing) = (Vec::new(), Vec::new());
    let sources = capture.linked(index);
    for (_, source) in &sources {
        of_unit(source, &mut causes);
        let states = STATES.iter().find(|names| source.register(prefix(names)).is_some());
        let states = states.into_iter().flat_map(|names| names.iter());
        let absent = states.filter(|name| source.register(name).is_none());
        missing.extend(absent.map(|name| format!("{name} of {}", source.name)));
    }
    let links =
        capture.others.iter().filter(|other| is(other, "FUNNEL") || is(other, "REPLICATOR"));
    let links: Vec<&Other> = links.collect();
    links.iter().for_each(|link| of_link(link, &sources, &mut causes));
    if let Some(sink) = &buffer.sink {
        causes.extend(of_buffer(&buffer.name, &sink.registers));
    }
    let mut remarks = Vec::new();
    if !causes.is_empty() {
        remarks.push(remark(
            format!("by the registers, nothing reaches {}: {}", buffer.name, causes.join("; ")),
            "registers that were read after the trace was stopped show this, too: read them while \
             it should run",
        ));
    }
    if links.is_empty() {
        missing.push("the control registers of the funnels".to_owned());
    }
    if causes.is_empty() {
        remarks.push(remark(
            format!("the capture does not have {}", missing.join(", ")),
            "read them while the trace should run: they state whether the trace unit is enabled and \
             traces, and whether its port of each funnel is enabled",
        ));
    }
    remarks
}

/// The register whose presence indicates to which group the unit belongs.
fn prefix(names: &[&str]) -> &'static str {
    if names.contains(&"ETMCR") { "ETMCR" } else { "TRCCONFIGR" }
}

fn is(other: &Other, kind: &str) -> bool {
    other.device_type.to_ascii_uppercase().contains(kind)
}

/// What the registers of a trace unit state.
fn of_unit(source: &Source, causes: &mut Vec<String>) {
    let name = &source.name;
    let recorded = source.registers.0.iter();
    let recorded: Values = recorded
        .filter_map(|register| Some((register.name.clone(), u64::try_from(register.value).ok()?)))
        .collect();
    let unit = catalogue::identified(&recorded).or_else(|| catalogue::named(source.protocol()));
    if let Some(unit) = unit {
        let values = known(unit.as_ref(), &recorded);
        let unit = unit.with(&values).unwrap_or(unit);
        let findings = unit.lint(&values).into_iter();
        let silent = findings.filter(|finding| SILENT.contains(&finding.rule));
        causes.extend(silent.map(|finding| format!("{name}: {}: {}", finding.at, finding.what)));
    }
    let register = |name| source.register(name);
    // TRCSTATR.IDLE, bit [0]. (IHI 0064, TRCSTATR)
    if register("TRCPRGCTLR").is_some_and(|v| v & 1 != 0)
        && register("TRCSTATR").is_some_and(|v| v & 1 != 0)
    {
        causes.push(format!("{name}: TRCSTATR: the unit is enabled, but idle"));
    }
    // Non-invasive debug in Secure state, bits [7:6], and Non-secure state, bits [3:2]: 3 is
    // enabled, 0 not implemented. (IHI 0064, TRCAUTHSTATUS)
    let allowed = |value: u64| [6, 2].iter().any(|shift| value >> shift & 3 == 3);
    if register("TRCAUTHSTATUS").is_some_and(|value| value & 0xcc != 0 && !allowed(value)) {
        causes.push(format!(
            "{name}: TRCAUTHSTATUS: non-invasive debug is disabled in every state, and nothing may \
             be traced"
        ));
    }
}

/// The values of the registers that `unit` has.
fn known(unit: &dyn Unit, recorded: &Values) -> Values {
    let mut values = Values::default();
    for (name, value) in recorded.iter() {
        if let Some(register) = unit.register(name) {
            values.set(&register.name, value);
        }
    }
    values
}

/// What the registers of a funnel or a replicator state.
fn of_link(link: &Other, sources: &[(usize, &Source)], causes: &mut Vec<String>) {
    let register = |name: &str| link.registers.get(name);
    let name = &link.name;
    if is(link, "FUNNEL") {
        // The enables of the ports, bits [7:0]. (DDI 0480, 3.7.1, Funnel Control Register)
        let control = FUNNEL_CONTROL.iter().find_map(|name| register(name));
        if control.is_some_and(|control| control & 0xff == 0) {
            causes.push(format!("{name}: no port of the funnel is enabled"));
        }
        return;
    }
    // Bit n of IDFILTER0 and IDFILTER1 drops the trace IDs 16n to 16n + 15 at one output. (DDI
    // 0480, 3.8.1 and 3.8.2)
    let filters = register("IDFILTER0").zip(register("IDFILTER1"));
    let id = |source: &Source| source.register("TRCTRACEIDR").or(source.register("ETMTRACEIDR"));
    for id in sources.iter().filter_map(|(_, source)| id(source)) {
        if filters.is_some_and(|(first, second)| (first & second) >> (id >> 4 & 7) & 1 != 0) {
            causes.push(format!("{name}: the trace ID {id:#04x} is dropped at both outputs"));
        }
    }
}

/// What the registers of a buffer state.
fn of_buffer(name: &str, registers: &Registers) -> Option<String> {
    let register = |name: &str| registers.get(name);
    // TRBLIMITR_EL1.E, bit [0]; TraceCaptEn, bit [0] of the CTL of an ETB or TMC. (DDI 0487, D24.2;
    // DDI 0461, 3.3.8)
    let (enable, what) = match register("TRBLIMITR_EL1") {
        Some(limit) => (limit, "TRBLIMITR_EL1: the trace buffer unit is disabled"),
        None => (register("CTL")?, "CTL: capture is disabled"),
    };
    (enable & 1 == 0).then(|| format!("{name}: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(registers: &[(&str, u64)]) -> Source {
        Source {
            name: "ETM_0".into(),
            device_type: "ETM4".into(),
            registers: Registers::from_iter(registers.iter().copied()),
            ..Source::default()
        }
    }

    /// Rows: the registers of an ETMv4, and the register that a cause names.
    #[test]
    fn trace_units_that_trace_nothing() {
        let with = [("TRCIDR1", 0x4100_f424), ("TRCCONFIGR", 1), ("TRCTRACEIDR", 0x10)];
        for (registers, want) in [
            (vec![("TRCPRGCTLR", 0), ("TRCVICTLR", 0x201)], Some("TRCPRGCTLR")),
            (vec![("TRCPRGCTLR", 1), ("TRCVICTLR", 0x200)], Some("TRCVICTLR")),
            (vec![("TRCPRGCTLR", 1), ("TRCVICTLR", 0x201), ("TRCSTATR", 1)], Some("TRCSTATR")),
            (vec![("TRCPRGCTLR", 1), ("TRCVICTLR", 0x201), ("TRCSTATR", 0)], None),
            (vec![("TRCAUTHSTATUS", 0x88)], Some("TRCAUTHSTATUS")),
            (vec![("TRCAUTHSTATUS", 0x8c)], None),
        ] {
            let mut causes = Vec::new();
            of_unit(&source(&[&with[..], &registers].concat()), &mut causes);
            let named: Vec<_> =
                causes.iter().map(|cause| cause.split(": ").nth(1).unwrap_or("")).collect();
            assert_eq!(named, want.into_iter().collect::<Vec<_>>(), "{registers:x?}: {causes:?}");
        }
    }

    /// Rows: type of a link, its registers, and whether the trace ID 0x23 cannot pass.
    #[test]
    fn links_that_pass_nothing() {
        let unit = source(&[("TRCTRACEIDR", 0x23)]);
        for (device_type, registers, want) in [
            ("Funnel", vec![("FUNCTL", 0x300)], true),
            ("CSTFunnel", vec![("CTL", 0x302)], false),
            ("Funnel", vec![], false),
            ("Replicator", vec![("IDFILTER0", 4), ("IDFILTER1", 4)], true),
            ("Replicator", vec![("IDFILTER0", 4), ("IDFILTER1", 2)], false),
        ] {
            let link = Other {
                name: "link".into(),
                class: "link".into(),
                device_type: device_type.into(),
                location: None,
                registers: Registers::from_iter(registers.iter().copied()),
                path: Default::default(),
            };
            let mut causes = Vec::new();
            of_link(&link, &[(0, &unit)], &mut causes);
            assert_eq!(!causes.is_empty(), want, "{device_type} {registers:x?}");
        }
    }

    #[test]
    fn buffers_that_capture_nothing() {
        for (name, value, want) in [
            ("CTL", 0, true),
            ("CTL", 1, false),
            ("TRBLIMITR_EL1", 0x1000, true),
            ("STS", 0, false),
        ] {
            let registers = Registers::from_iter([(name, value)]);
            assert_eq!(of_buffer("etr", &registers).is_some(), want, "{name} {value:#x}");
        }
    }
}
