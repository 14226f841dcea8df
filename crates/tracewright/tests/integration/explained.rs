//! Registers of ETMs in real captures are explained by the table of registers.

use tracewright::units::etm::registers::numbered;
use tracewright::units::etm::settings::number_of;
use tracewright::units::etm::version::Version;
use tracewright_testing::shared;

/// Each register of the table that a capture records has no bit that no field explains. Registers
/// of later versions, and reserved numbers, read as 0.
#[test]
fn registers_of_captures_have_no_unknown_bits() {
    let mut explained = 0;
    for folder in ["conformance/arm/snapshots/TC2", "captures/ti-am243x-r5f/freertos"] {
        let Some(path) = shared(folder) else { continue };
        let capture = tracewright::capture::open(&path).unwrap();
        for source in &capture.sources {
            let id = source.register("ETMIDR").unwrap_or(0) as u32;
            let Some(version) = Version::of_id(id) else { continue };
            for register in &source.registers.0 {
                let number =
                    register.id.map_or_else(|| number_of(&register.name), |n| Some(n as u16));
                let known = number.and_then(numbered).map(|(kind, _)| kind);
                let known = known.filter(|kind| kind.register.versions.contains(version));
                let rest = match known {
                    None => register.value,
                    Some(kind) => kind.fields(version).fold(register.value, |rest, field| {
                        rest & !u128::from(field.of(u64::MAX) << field.low)
                    }),
                };
                assert_eq!(rest, 0, "{folder}, {}: {}", source.name, register.name);
                explained += usize::from(known.is_some());
            }
        }
    }
    assert!(explained > 50 || shared("conformance").is_none(), "{explained}");
}
