//! Frames that are damaged from a byte on: what comes before is detected, and is not certain.

use std::fs;
use std::path::Path;

use tracewright_testing::{Random, shared};

use crate::common::{Folder, args, tracewright};

const TI: &str = "captures/ti-am243x-r5f/freertos/files/freertos.data";
const TI_ELF: &str = "captures/ti-am243x-r5f/freertos/freertos.out";

/// Where the damage begins.
const FROM: usize = 28672;

/// The bytes from [`FROM`] on as noise, shifted, with a byte lost in 198, and with words turned.
fn damaged(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (good, rest) = bytes.split_at(FROM);
    let rests: [Vec<u8>; 4] = [
        Random::new(7).bytes(rest.len()),
        rest[5..].to_vec(),
        rest.chunks(198).flat_map(|part| &part[..part.len() - 1]).copied().collect(),
        rest.chunks(4).flat_map(|word| word.iter().rev()).copied().collect(),
    ];
    rests.into_iter().map(|rest| [good, &rest].concat()).collect()
}

#[test]
fn what_comes_before_damage_is_detected() {
    let (Some(path), Some(elf)) = (shared(TI), shared(TI_ELF)) else { return };
    let folder = Folder::new("detect-damage-from");
    let input = folder.path("etb.bin");
    let image = format!("--image {}", elf.display());
    for (n, bytes) in damaged(&fs::read(path).unwrap()).into_iter().enumerate() {
        fs::write(&input, bytes).unwrap();
        for options in [image.as_str(), "", "--core Cortex-R5"] {
            let output = tracewright(&args(&format!("info {options}"), &[&input]));
            let want = "CoreSight formatter frames: ID 0x10 ETM3, possibly";
            assert!(output.out.contains(want), "{n} {options}: {}", output.out);
            let want = format!("1. the buffer is damaged from byte {FROM} on");
            assert!(output.out.contains(&want), "{n} {options}: {}", output.out);
        }
        // What is given is decoded, and the rest is found.
        for given in [
            "--framing coresight --protocol ETM3@0x10 --config ETMCR=0xc40",
            "--framing coresight",
            "--protocol ETM3",
        ] {
            let words = format!("decode --format none {given} {image}");
            let output = tracewright(&args(&words, &[&input]));
            assert_eq!(output.code, Some(1), "{n} {given}: {}", output.err);
            let want = format!("the buffer is damaged from byte {FROM} on");
            assert!(output.err.contains(&want), "{n} {given}: {}", output.err);
        }
    }
}

/// Short buffers that lost bytes at the beginning or in the middle, with or without the only
/// synchronisation of the ETM, are called frames, or not known; never unframed data.
#[test]
fn frames_of_short_buffers_are_named() {
    let folder = Folder::new("detect-damage-short");
    let input = folder.path("etb.bin");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bytes = fs::read(root.join("src/demo/trace.bin")).unwrap();
    let (mut cases, mut frames) = (0, 0);
    for len in [192, 256, 320, 384, 448, 480, 496, 512, 768, 1024, bytes.len()] {
        for at in [0, len / 4, len / 2, len / 4 * 3] {
            for missing in [1, 2, 3] {
                let (before, rest) = bytes[..len].split_at(at);
                fs::write(&input, [before, &rest[missing..]].concat()).unwrap();
                let output = tracewright(&args("info", &[&input]));
                let found = output.out.lines().find(|line| line.starts_with("detected"));
                let found = found.unwrap_or_default();
                let case = format!("{missing} of {len} at {at}: {found} {}", output.err);
                assert!(!found.contains("unframed"), "{case}");
                assert!(!found.contains("ID 0x10 ITM"), "{case}");
                cases += 1;
                let is_framed = found.contains("CoreSight formatter frames");
                frames += usize::from(is_framed);
                let skip = format!("from byte {} on", 16 - missing);
                assert!(at > 0 || !is_framed || found.contains(&skip), "{case}");
            }
        }
    }
    assert!(frames * 100 >= cases * 85, "{frames} of {cases}");
}

/// A parameter that only one of several units has is given by its word, for all or for that unit.
#[test]
fn words_are_parameters_of_any_unit() {
    let folder = Folder::new("detect-words");
    let input = folder.path("etb.bin");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::copy(root.join("src/demo/trace.bin"), &input).unwrap();
    for name in ["profile", "profile@0x21"] {
        let words = format!(
            "packets --framing coresight --protocol ITM@0x20 --protocol NTRACE@0x21 --config \
             {name}=sifive"
        );
        let output = tracewright(&args(&words, &[&input]));
        assert!(!output.err.contains("is not NAME=VALUE"), "{name}: {}", output.err);
        assert!(output.out.contains("ITM"), "{name}: {}", output.err);
    }
}
