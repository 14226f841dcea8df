//! What the user states completely is decoded: damaged trace, and units of several protocols.

use std::fs;
use std::path::Path;

use tracewright_testing::shared;

use super::certainty::{log, trace_of_m33};
use crate::common::{Folder, args, tracewright};

const TI: &str = "captures/ti-am243x-r5f/freertos/files/freertos.data";

/// The elements that `decode` lists with `options`, and its messages.
fn decode(path: &Path, options: &str) -> (usize, String) {
    let output = tracewright(&args(&format!("decode {options}"), &[path]));
    (output.out.lines().count(), output.err)
}

/// Bytes inserted or removed within frames: registers are assumed, and the alignment is that of the
/// longer part.
#[test]
fn damaged_frames_are_decoded() {
    let folder = Folder::new("stated-damaged");
    let path = folder.path("dump.bin");
    let bytes = trace_of_m33(&folder, 1500, 1);
    for place in [bytes.len() / 8, bytes.len() / 2, bytes.len() * 7 / 8] {
        let place = place / 16 * 16 + 5;
        let (before, behind) = bytes.split_at(place);
        let damaged = [
            [before, [0xa5; 13].as_slice(), behind].concat(),
            [before, &behind[5..]].concat(),
            [before, &behind[21..]].concat(),
        ];
        for (n, bytes) in damaged.iter().enumerate() {
            fs::write(&path, bytes).unwrap();
            for core in ["", "--core Cortex-M33", "--core Cortex-A53"] {
                let words = format!("--framing coresight --protocol ETM4@1 {core}");
                let (elements, messages) = decode(&path, &words);
                let case = format!("{place} {n} {core}: {messages}");
                assert!(elements > 0 && !messages.contains("cannot be decoded"), "{case}");
            }
        }
    }
    // The frames behind the damage are more.
    let Some(ti) = shared(TI) else { return };
    let bytes = fs::read(ti).unwrap();
    let (before, behind) = bytes.split_at(14336);
    fs::write(&path, [before, &[0x55], behind].concat()).unwrap();
    let words = "--framing coresight --protocol ETM3@0x10";
    let (elements, messages) = decode(&path, words);
    assert!(messages.contains("frames begin at byte 1:"), "{messages}");
    assert_eq!(elements, decode(&path, &format!("{words} --align 1")).0, "{messages}");
    assert!(elements > decode(&path, &format!("{words} --align 0")).0, "{messages}");
}

/// An ETMv4 and an ETE, which many traces do not distinguish, in the same frames.
#[test]
fn units_of_several_protocols_are_decoded() {
    let folder = Folder::new("stated-units");
    let (four, ete) = (trace_of_m33(&folder, 100, 1), encoded(&folder, 100));
    let path = folder.path("dump.bin");
    fs::write(&path, [four, ete].concat()).unwrap();
    let words = "--framing coresight --protocol ETM4@1 --protocol ETE@0x10";
    let (elements, messages) = decode(&path, words);
    assert!(elements > 0 && messages.contains("assumed, as they"), "{messages}");
    for unit in ["ETM4 (ETM4, ID 0x01)", "ETE (ETE, ID 0x10)"] {
        assert!(messages.contains(unit), "{unit}: {messages}");
    }
    assert!(!messages.contains("cannot be decoded"), "{messages}");
}

/// The frames of an ETE with trace ID 0x10.
fn encoded(folder: &Folder, turns: usize) -> Vec<u8> {
    let (file, to) = (folder.path("log.csv"), folder.path("ete"));
    fs::write(&file, log(turns)).unwrap();
    let words = "encode --protocol ETE --config TRCCONFIGR=0x8 --config TRCTRACEIDR=0x10 --log";
    let mut words = args(words, &[&file]);
    words.extend(args("-o", &[&to]));
    let output = tracewright(&words);
    assert_eq!(output.code, Some(0), "{}", output.err);
    fs::read(to.join("ETB_0.bin")).unwrap()
}
