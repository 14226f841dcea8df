//! Several sources in one stream, a wrapped buffer, idle bytes and damage.

use std::fs;

use tracewright::base::{Element, Fault};
use tracewright::frames::{Event, Split};
use tracewright::image::Image;
use tracewright::protocols::Demux;
use tracewright::protocols::demux::numbers;
use tracewright::protocols::ntrace::Config;
use tracewright::protocols::registry::AnyConfig;
use tracewright_testing::unpacked;

use crate::captures;
use crate::run::Run;

fn config(source: u16) -> Config {
    let mut config = Config::default();
    (config.link.source_bits, config.link.source) = (4, source);
    config
}

/// The messages of one source.
pub struct Messages(pub u16, pub Vec<u8>);

impl Split for Messages {
    fn piece(&mut self, id: u16, _: u64, _: bool, bytes: &[u8]) {
        if id == self.0 {
            self.1.extend_from_slice(bytes);
        }
    }

    fn event(&mut self, at: u64, event: Event) {
        panic!("{event:?} at {at}");
    }
}

fn list(path: &std::path::Path) -> Vec<u64> {
    let text = String::from_utf8(unpacked(path)).unwrap();
    text.lines().map(|line| u64::from_str_radix(line.trim(), 16).unwrap()).collect()
}

fn image(folder: &std::path::Path) -> std::sync::Arc<Image> {
    let words: [u32; 5] = [0x0000_0297, 0x0202_8593, 0xf140_2573, 0x0182_b283, 0x0002_8067];
    let boot = words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let elf = unpacked(&folder.join("program.elf.xz"));
    let image = Image::from_elf(&elf.into(), "program", 0).unwrap();
    std::sync::Arc::new(image.with([tracewright::image::Region::new("boot", 0x1000, boot)]))
}

#[test]
fn two_harts() {
    let Some(root) = captures::shared() else { return };
    let folder = root.join("robustness/own_calls_rv64");
    let bytes = fs::read(folder.join("two-harts.bin")).unwrap();
    let harts = [3, 12].map(|source| AnyConfig::Ntrace(config(source)));
    let found = numbers(&bytes, &harts[0]);
    assert_eq!(found.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [3, 12]);
    for (source, name) in [(3, "pcs.full.xz"), (12, "pcs.src12.xz")] {
        for chunk in [1, 7, bytes.len()] {
            let mut demux = Demux::new(&harts).unwrap();
            let mut messages = Messages(source, Vec::new());
            for (n, piece) in bytes.chunks(chunk).enumerate() {
                demux.split((n * chunk) as u64, piece, &mut messages);
            }
            demux.finish(bytes.len() as u64, &mut messages);
            let run = Run::of(&messages.1, &config(source), &image(&folder), false);
            assert_eq!(run.odd(), Vec::<String>::new());
            assert!(run.addresses == list(&folder.join(name)), "source {source}");
        }
    }
}

#[test]
fn idle_bytes() {
    let Some(root) = captures::shared() else { return };
    let folder = root.join("robustness/own_calls_rv64");
    let bytes = fs::read(folder.join("idle.bin")).unwrap();
    let run = Run::of(&bytes, &config(0), &image(&folder), false);
    assert_eq!(run.odd(), Vec::<String>::new());
    assert!(run.addresses == list(&folder.join("pcs.full.xz")));
}

/// The first message of a wrapped buffer is cut off.
#[test]
fn wrapped_buffer() {
    let Some(root) = captures::shared() else { return };
    let folder = root.join("robustness/own_calls_rv64");
    let mut bytes = fs::read(folder.join("ring.bin")).unwrap();
    bytes.rotate_left(1353);
    let run = Run::of(&bytes, &config(0), &image(&folder), false);
    let odd = run.odd();
    assert!(odd.iter().all(|text| text.contains("undecodable")), "{odd:?}");
    assert!(run.addresses == list(&folder.join("pcs.ring.xz")), "{}", run.addresses.len());
}

/// Damage is reported, what comes before it is right, and decoding goes on.
#[test]
fn damaged_bytes() {
    let Some(root) = captures::shared() else { return };
    let folder = root.join("robustness/own_calls_rv64");
    let bytes = fs::read(folder.join("corrupt.bin")).unwrap();
    let run = Run::of(&bytes, &config(0), &image(&folder), false);
    let full = list(&folder.join("pcs.full.xz"));
    let same = run.addresses.iter().zip(&full).take_while(|(got, want)| got == want).count();
    let first = run.others.iter().find(|(_, at, element)| {
        *at >= 2160
            && matches!(
                element,
                Element::Undecodable { fault: Fault::Sequence | Fault::Overlong, .. }
                    | Element::Inconsistency(_)
                    | Element::Undecodable { .. }
            )
    });
    let (count, at, _) = *first.unwrap();
    assert!(at < 2300 && same >= count, "{at}: {count} instructions, {same} right");
    // The last instructions of the program are decoded again.
    assert!(run.addresses.ends_with(&full[full.len() - 1000..]));
}
