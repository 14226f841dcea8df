//! Values that are wider than their register.

use crate::buffers::buffer_unit::BufferUnit;
use crate::finding::Finding;
use crate::program::{Action, BusAccess, BusKind, Program};
use crate::request::Refusal;
use crate::unit::{Unit, View};

/// The register `name` of `unit`, or of a trace buffer beside it.
fn register(unit: &dyn Unit, name: &str) -> Option<View> {
    let sink = || {
        let sinks = [BufferUnit::Trbe, BufferUnit::Etr];
        // The names of other units are no names of these.
        let own = ["TRB", "TMC_", "ETR_", "ETF_", "ETB_"];
        let upper = name.to_ascii_uppercase();
        let is_sink = own.iter().any(|prefix| upper.starts_with(prefix));
        sinks.iter().filter(|_| is_sink).find_map(|sink| sink.register(name))
    };
    unit.register(name).or_else(sink)
}

/// The values above `above` that a recording writes, and that are wider than their registers.
pub(crate) fn recorded(unit: &dyn Unit, accesses: &[BusAccess], above: u64) -> Vec<Finding> {
    let writes = accesses.iter().enumerate().filter(|(_, access)| access.kind == BusKind::Write);
    let findings = writes.filter_map(|(n, access)| {
        let register = register(unit, &access.register)?;
        let place = match access.line {
            0 => format!("access {}", n + 1),
            line => format!("line {line}"),
        };
        let value = access.value.filter(|value| *value > above)?;
        register.wide(value, format!("{place}, write of {}", register.name))
    });
    findings.collect()
}

/// `program`, or why `unit` cannot have its values: those that are wider than their registers.
///
/// # Errors
/// A refusal for each of them.
pub(crate) fn checked(unit: &dyn Unit, program: Program) -> Result<Program, Vec<Refusal>> {
    let steps = program.steps.iter().filter_map(|step| match &step.action {
        Action::Write { register, value } => Some((register.name.as_str(), *value)),
        _ => None,
    });
    let mut refusals: Vec<Refusal> = Vec::new();
    for (name, value) in program.values.iter().chain(steps) {
        let found = register(unit, name).and_then(|r| r.wide(value, name.to_owned()));
        if let Some(Finding { at: part, what: lacks, remedy: needs, .. }) = found
            && !refusals.iter().any(|refusal| refusal.part == part)
        {
            refusals.push(Refusal { part, lacks, needs });
        }
    }
    if refusals.is_empty() { Ok(program) } else { Err(refusals) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::values;
    use crate::{catalogue, program};

    /// A recording of `unit`, and the registers whose values are too wide.
    #[test]
    fn recordings() {
        for (unit, recording, wide) in [
            ("ETE", "write TRBTRG_EL1 0x100000000", &["TRBTRG_EL1"][..]),
            ("ETE", "write TRBTRG_EL1 0xffffffff", &[]),
            ("ETE", "write TRBPTR_EL1 0xffff000012345678", &[]),
            ("ETE", "write TRBMAR_EL1 0x1000", &["TRBMAR_EL1"]),
            ("ETE", "write TMC_RSZ 0x100000000", &["RSZ"]),
            ("ETE", "write TRCCONFIGR 0x1000018c1", &["TRCCONFIGR"]),
            ("ETE", "write TRCACVR0 0xffff000012345678", &[]),
            ("ETE", "write MDCR_EL2 0xffff000012345678\nread TRBTRG_EL1 0x100000000", &[]),
            ("ETMv3.5", "write ETMCR 0x100000400", &["ETMCR"]),
            ("PTM", "write ETMCR 0x100000400", &["ETMCR"]),
        ] {
            let unit = catalogue::named(unit).unwrap();
            let findings = unit.sequence(&program::read(recording).unwrap());
            let found = findings.iter().filter(|finding| finding.rule == "value-wide");
            let found: Vec<_> = found.map(|finding| finding.at.as_str()).collect();
            let want: Vec<_> = wide.iter().map(|name| format!("line 1, write of {name}")).collect();
            assert_eq!(found, want, "{recording}");
        }
    }

    #[test]
    fn programs() {
        for (unit, register, value, made) in [
            ("ETE", "TRCCNTRLDVR0", 0xffff, true),
            ("ETE", "TRCCNTRLDVR0", 0x1_0000, false),
            ("ETMv3.5", "ETMCR", 0x1_0000_0000, false),
        ] {
            let values = [(register, value)].into_iter().collect();
            let program = Program { values, ..Program::default() };
            let checked = checked(&*catalogue::named(unit).unwrap(), program);
            assert_eq!(checked.is_ok(), made, "{register} {value:#x}");
        }
    }

    #[test]
    fn values_of_buffers() {
        for (unit, register, value, wide) in [
            ("TRBE", "TRBTRG_EL1", 0x1_0000_0000, true),
            ("TRBE", "TRBTRG_EL1", 0xffff_ffff, false),
            ("TRBE", "TRBSR_EL2", 1 << 60, true),
            ("TRBE", "MDCR_EL3", 1 << 60, false),
            ("ETR", "DBALO", 0x1_0000_0000, true),
            ("ETB", "RDP", 0x1_0000_0000, true),
            ("MTB", "MASTER", 0x1_0000_0000, true),
        ] {
            let unit = catalogue::named(unit).unwrap();
            let values = values(&*unit, &[(register.to_owned(), value)]).unwrap();
            let found = unit.lint(&values).iter().any(|finding| finding.rule == "value-wide");
            assert_eq!(found, wide, "{register} {value:#x}");
        }
    }
}
