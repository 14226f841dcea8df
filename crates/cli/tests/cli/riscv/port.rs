//! What is received from a trace port (PIB) with 1, 2 or 4 signals: N-Trace messages that begin at
//! any bit.

use std::fs;
use std::path::Path;

use tracewright_testing::Random;

use crate::common::{Folder, args, tracewright};

/// The messages of `stream` as a port with `width` signals sends them, with ones between them,
/// after `head` bits of another message.
fn sent(stream: &[u8], width: usize, head: usize, random: &mut Random) -> Vec<u8> {
    let mut bits: Vec<bool> = (0..head).map(|n| n % 5 == 0).collect();
    for message in stream.split_inclusive(|byte| byte & 0b11 == 0b11) {
        let edges = if random.one_in(3) { random.below(12) as usize } else { 0 };
        bits.extend((0..edges * width).map(|_| true));
        bits.extend(message.iter().flat_map(|byte| (0..8).map(move |n| byte >> n & 1 != 0)));
    }
    bits.resize(bits.len().next_multiple_of(8), true);
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
    bits.chunks(8).map(byte).collect()
}

/// Detected and stated, the instructions are those of the messages at bytes.
#[test]
fn messages_at_bits() {
    let folder = Folder::new("port-bits");
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let captured = captures.join("ntrace-btm/capture");
    let stream = fs::read(captured.join("ETB_0.bin")).unwrap().repeat(8);
    let image = captured.join("log.elf");
    let instructions = |options: &str, bytes: &[u8]| {
        let path = folder.path("port.bin");
        fs::write(&path, bytes).unwrap();
        let words = format!("instructions --format pc --image {} {options}", image.display());
        tracewright(&args(&words, &[&path]))
    };
    let want = instructions("--protocol ntrace --config mode=btm", &stream).out;
    assert!(want.lines().count() > 100, "{want}");
    let mut random = Random::new(4);
    for width in [1, 2, 4] {
        for head in [0, width, 3 * width, 7 * width] {
            let bytes = sent(&stream, width, head, &mut random);
            let stated = "--protocol ntrace --messages-at bit --config mode=btm";
            for options in ["", stated] {
                let got = instructions(options, &bytes);
                let at = format!("{width} signals, {head}, {options}: {}", got.err);
                // Bits of another message may hide the first ones, up to the next synchronisation.
                let is_whole = got.out == want || head > 0 && got.out.len() * 8 >= want.len() * 7;
                assert!(is_whole && want.ends_with(&got.out), "{at}");
                let states = got.err.contains("messages begin inside a byte");
                assert!(states, "{at}");
                assert_eq!(got.err.contains("(--messages-at bit)"), options.is_empty(), "{at}");
            }
            // It is not overruled.
            let got = instructions("--messages-at byte", &bytes);
            assert!(got.out != want, "{width}, {head}");
        }
    }
    // Messages at bytes are read as they are.
    assert!(!instructions("", &stream).err.contains("messages-at"));
    let wrong = instructions("--messages-at nibble", &stream).err;
    assert!(wrong.contains("not at `nibble`"), "{wrong}");
}

/// Registers of SiFive's encoder of version 0 configure the decoder.
#[test]
fn registers_of_version_0() {
    let folder = Folder::new("encoder-v0");
    let path = folder.path("trace.bin");
    // ProgTraceSync and Ownership with SRC 1 of 2 bits.
    let sync = [0x24, 0x54, 0x01, 0x40, 0x3c, 0xe8, 0xa0, 0xdc, 0xa8, 0xa8, 0x2b];
    fs::write(&path, [&sync[..], &[0x08, 0x24, 0xf0, 0x63]].concat()).unwrap();
    let words = "packets --protocol ntrace --config teControl=0x41030077 --config teImpl=0x2100010";
    let output = tracewright(&args(words, &[&path]));
    let want = "ProgTraceSync SRC 1, SYNC 5 (trace enabled), I-CNT 0, F-ADDR 0x2aaab7a3a3d0";
    assert!(output.out.contains(want), "{}{}", output.out, output.err);
    let lint = tracewright(&args("unit lint te teControl=0x41030077 teImpl=0x2100020", &[]));
    assert!(lint.out.contains("sink-missing"), "{}{}", lint.out, lint.err);
    let explain = tracewright(&args("unit explain teControl=0x41030077", &[]));
    assert!(explain.out.contains("implicit returns (HTM)"), "{}{}", explain.out, explain.err);
}
