//! Detection finds the profile and the widths of fields of each capture with its program.

use tracewright::capture::Capture as Described;
use tracewright::decode::detect::{Certainty, Detection, Given, Inference, SourceCandidate};
use tracewright::protocols::ntrace::config::Profile;
use tracewright::protocols::registry::AnyProtocol;

use crate::captures::{Capture, nexrv, own, shared, sifive};

/// What `bytes` may be, with the program of `capture`.
fn detected(capture: &Capture, bytes: &[u8]) -> Option<SourceCandidate> {
    let memory = capture.dump().into_iter().collect();
    let described = Described { memory, ..Described::default() };
    let found = Detection::of(bytes, &described, &Given::default());
    found.best().map(|best| best.sources[0].clone())
}

/// Whether the inference is the configuration of `capture`. Low addresses mean the same with and
/// without `extend_msb`.
fn is_right(inference: &Inference, capture: &Capture) -> bool {
    let config = &capture.config;
    let value = |name| inference.setting.get(name);
    let profile = value("profile").and_then(Profile::of_number);
    inference.protocol == AnyProtocol::Ntrace
        && profile.map(Profile::is_sifive) == Some(config.profile.is_sifive())
        && value("xlen") == Some(if config.rv64 { 64 } else { 32 })
        && value("source_width").unwrap_or(0) == u64::from(config.link.source_bits)
        && (!config.extend_msb || value("extend_msb") == Some(1) || !is_high(capture))
}

/// Whether the program is in the upper half of the address space: only there bits are omitted.
fn is_high(capture: &Capture) -> bool {
    capture.dump().is_some_and(|dump| dump.address >> 63 != 0)
}

#[test]
fn every_capture() {
    let Some(root) = shared() else { return };
    let mut wrong = Vec::new();
    for capture in [nexrv(&root), own(&root), sifive(&root)].concat() {
        // Two messages are too few.
        if capture.bytes.len() < 64 {
            continue;
        }
        let found = detected(&capture, &capture.bytes);
        let best = found.as_ref().and_then(SourceCandidate::best);
        if !best.is_some_and(|best| is_right(best, &capture)) {
            wrong.push((capture.path, best.map(|best| best.setting.clone())));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Damage to the first bytes, and with it the loss of the first synchronisation: what is detected
/// is right, or an assumption.
#[test]
fn damaged_first_bytes() {
    let Some(root) = shared() else { return };
    let mut wrong = Vec::new();
    for mut capture in [nexrv(&root), own(&root), sifive(&root)].concat() {
        for damage in [[0x5a, 0xc7, 0x99], [0, 0xff, 0x02], [0x24, 0x03, 0x70]] {
            capture.bytes[..3].copy_from_slice(&damage);
            let Some(found) = detected(&capture, &capture.bytes) else { continue };
            let right = found.best().is_some_and(|best| is_right(best, &capture));
            if !right && found.certainty() > Certainty::Possible {
                wrong.push((capture.path.clone(), damage, found.best().map(|b| b.setting.clone())));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
