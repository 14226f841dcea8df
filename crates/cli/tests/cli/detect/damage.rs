//! Frames that are damaged from a byte on: what comes before is detected, and is not certain.

use std::fs;

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
