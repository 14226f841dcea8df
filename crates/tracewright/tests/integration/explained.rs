//! Registers of trace units in real captures are explained by the tables of registers.

use std::fs;
use std::path::PathBuf;

use tracewright::units::catalogue;
use tracewright::units::values::Values;
use tracewright_testing::shared;

/// The snapshots of the Arm reference decoder, and a capture of an ETM-R5.
fn captures() -> Vec<PathBuf> {
    let mut all = Vec::new();
    if let Some(folder) = shared("conformance/arm/snapshots") {
        all.extend(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    }
    all.extend(shared("captures/ti-am243x-r5f/freertos"));
    all.sort();
    all
}

/// Each register of a unit that a capture records has no bit that no field explains. Registers that
/// the unit does not have, and reserved numbers, read as 0.
#[test]
fn registers_of_captures_have_no_unknown_bits() {
    let (mut explained, mut units) = (0, Vec::new());
    for path in captures() {
        let Ok(capture) = tracewright::capture::open(&path) else { continue };
        for source in &capture.sources {
            let recorded = source.registers.0.iter();
            let recorded: Vec<_> = recorded
                .filter_map(|r| Some((r.name.clone(), u64::try_from(r.value).ok()?, r.id)))
                .collect();
            let values: Values =
                recorded.iter().map(|(name, value, _)| (name.clone(), *value)).collect();
            let Some(unit) = catalogue::identified(&values) else { continue };
            units.push(unit.name());
            for (name, value, id) in recorded {
                let numbered = || unit.register(&format!("#{}", id?));
                let known = unit.register(&name).or_else(numbered);
                let rest = known.as_ref().map_or(value, |register| register.unknown_bits(value));
                let place = format!("{}, {}: {name}={value:#x}", path.display(), source.name);
                assert_eq!(rest, 0, "{place}");
                explained += usize::from(known.is_some());
            }
        }
    }
    if shared("conformance").is_some() {
        assert!(explained > 1000, "{explained}");
        for name in ["PTM (PFTv1.0)", "PTM (PFTv1.1)", "ETM-A5 (ETMv3.5)", "ETMv4.0", "ETE 1.0"] {
            assert!(units.iter().any(|unit| unit == name), "{name} of {units:?}");
        }
    }
}
