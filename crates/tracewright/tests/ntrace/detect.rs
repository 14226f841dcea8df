//! Detection finds the profile and the widths of fields of each capture with its program.

use std::fs;
use std::time::{Duration, Instant};

use tracewright::capture::{Capture as Described, Dump, Form};
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

/// Without a program the codes of the messages show the width of SRC of nearly all captures, and of
/// all where the detection is sure.
#[test]
fn without_a_program() {
    let Some(root) = shared() else { return };
    let (mut right, mut wrong) = (0, Vec::new());
    for capture in [nexrv(&root), own(&root), sifive(&root)].concat() {
        let found = Detection::of(&capture.bytes, &Described::default(), &Given::default());
        let Some(found) = found.best().map(|best| best.sources[0].clone()) else { continue };
        let best = found.best().filter(|best| best.protocol == AnyProtocol::Ntrace);
        let width = best.map(|best| best.setting.get("source_width").unwrap_or(0));
        if width == Some(u64::from(capture.config.link.source_bits)) {
            right += 1;
        } else {
            assert!(found.certainty() <= Certainty::Possible, "{:?}", capture.path);
            wrong.push((capture.path, width));
        }
    }
    println!("{right} right, wrong: {wrong:?}");
    assert!(wrong.len() * 8 < right, "{right} right, {wrong:?}");
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

/// The longest that detection of a stream may last, also on a busy machine.
const LONGEST: Duration = Duration::from_secs(40);

/// A program that is not the traced one decides nothing but the width of the processor, whether it
/// is RV64, RV32 or A64: protocol and parameters are those of the stream alone.
#[test]
fn another_program() {
    let Some(root) = shared() else { return };
    let Some(a64) = tracewright_testing::shared("captures/simpleperf-etm/etm_test_loop") else {
        return;
    };
    let all = [nexrv(&root), own(&root), sifive(&root)].concat();
    let program = |name: &str| {
        let is_named = |capture: &&Capture| capture.path.display().to_string().contains(name);
        all.iter().find(is_named).and_then(Capture::dump).unwrap()
    };
    let a64 = Dump { form: Form::Elf, ..Dump::new("a64", 0, fs::read(a64).unwrap()) };
    let others = [
        ("median", program("median"), Some(64)),
        ("xrle_rv32", program("xrle_rv32"), Some(32)),
        ("a64", a64, None),
    ];
    let given = Given { any_processor: true, ..Given::default() };
    let of = |capture: &Capture, memory: Vec<Dump>| {
        let described = Described { memory, ..Described::default() };
        let found = Detection::of(&capture.bytes, &described, &given);
        found.best().map(|best| best.sources[0].clone())
    };
    let parameters = |source: &SourceCandidate| {
        let best = source.best()?;
        let names = ["profile", "source_width", "extend_msb", "all_jumps"];
        Some((best.protocol, names.map(|name| best.setting.get(name))))
    };
    let mut wrong = Vec::new();
    for capture in all.iter().filter(|capture| capture.bytes.len() >= 64) {
        let Some(alone) = of(capture, Vec::new()) else { continue };
        // A damaged stream depends on the width, which the other program states.
        if alone.best().is_none_or(|best| best.score < 950) {
            continue;
        }
        for (name, dump, xlen) in &others {
            if capture.path.display().to_string().contains(name) {
                continue;
            }
            let begin = Instant::now();
            let found = of(capture, vec![dump.clone()]);
            assert!(begin.elapsed() < LONGEST, "{} with {name}", capture.path.display());
            let is_right = found.as_ref().is_some_and(|found| {
                let width = found.best().and_then(|best| best.setting.get("xlen"));
                parameters(found) == parameters(&alone)
                    && found.certainty() <= alone.certainty()
                    && xlen.is_none_or(|xlen| width == Some(xlen))
            });
            if !is_right {
                let found = found.as_ref().map(|found| (parameters(found), found.certainty()));
                wrong.push((capture.path.clone(), *name, found, parameters(&alone)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The text names the first address outside of the program: this one is not shifted to where it
/// ran.
#[test]
fn a_program_at_another_address() {
    let Some(root) = shared() else { return };
    let own = own(&root);
    let of = |part: &str| {
        let is_it = |capture: &&Capture| capture.path.ends_with(part);
        own.iter().find(is_it).unwrap()
    };
    let capture = of("own_calls_rv64_kva/htm_cs.nex.bin");
    let memory = of("own_calls_rv64/htm_cs.nex.bin").dump().into_iter().collect();
    let described = Described { memory, ..Described::default() };
    let found = Detection::of(&capture.bytes, &described, &Given::default());
    let best = found.best().unwrap();
    assert!(best.sources[0].best().is_some_and(|best| is_right(best, capture)), "{best:#?}");
    let text = best.assumptions().join("\n");
    let want = "the image is not the program that was traced: program memory is missing at \
                0xffffffff00001000";
    assert!(text.contains(want), "{text}");
}
