//! Offsets and bytes compared with OpenCSD's packet listings.
//!
//! The listing of a snapshot has each packet's offset and bytes. All bytes of one trace ID, in
//! order, are the output of the splitter for the buffer, and each packet's offset is that of its
//! first byte.

use std::collections::BTreeMap;

use tracewright_frames::{Framing, Link, Sources, Splitter};
use tracewright_testing::{is_long, shared, text};

/// One packet line: `Idx:66; ID:20; [0xc2 0xf6 ];<tab>NAME : text`.
fn packet(line: &str) -> Option<(u64, u8, Vec<u8>, &str)> {
    // An error message before the packet line has no line end.
    let (_, rest) = line.rsplit_once("Idx:")?;
    let (index, rest) = rest.split_once("; ID:")?;
    let (id, rest) = rest.split_once("; [")?;
    let (bytes, text) = rest.split_once(" ];\t")?;
    let bytes = bytes
        .split(' ')
        .map(|byte| u8::from_str_radix(byte.strip_prefix("0x")?, 16).ok())
        .collect::<Option<_>>()?;
    Some((index.parse().ok()?, u8::from_str_radix(id, 16).ok()?, bytes, text))
}

/// How much of a listing can be compared.
#[derive(Clone, Copy, PartialEq)]
enum Lists {
    /// Every byte of every source.
    All,
    /// Some bytes before synchronisation are dropped, or wrong.
    FromSync,
    /// Packets begin at nibbles: only the offsets are compared. A packet that begins with the
    /// high half has the offset after the byte.
    Offsets,
}

fn check(snapshot: &str, buffer: &str, lists: Lists) {
    let Some(folder) = shared("conformance/arm") else { return };
    let listing = text(&folder.join(format!("expected/{snapshot}.decode.ppl.xz")));
    let buffer = std::fs::read(folder.join("snapshots").join(snapshot).join(buffer)).unwrap();

    let (mut splitter, mut sources) =
        (Splitter::new(Link::new(Framing::Coresight).opencsd()), Sources::default());
    splitter.split(0, &buffer, &mut sources);

    let mut packets = 0;
    let mut taken = BTreeMap::<u8, usize>::new();
    for (index, id, want, text) in listing.lines().filter_map(packet) {
        let source =
            sources.get(id.into()).unwrap_or_else(|| panic!("{snapshot}: no source {id:x}"));
        let (bytes, offsets) = (source.bytes(), source.offsets());
        let taken = taken.entry(id).or_default();
        // A run of bytes before synchronisation has the offset after the previous run.
        let synced = !text.contains("ynchronised");
        if lists != Lists::All {
            if !synced {
                continue;
            }
            *taken = (*taken..bytes.len())
                .find(|&offset| {
                    let at = offsets.at(offset);
                    at == index || lists == Lists::Offsets && at + 1 == index
                })
                .unwrap_or_else(|| panic!("{snapshot}: no byte at {index}, id {id:x}: {text}"));
        }
        packets += 1;
        if lists == Lists::Offsets {
            continue;
        }
        let got = &bytes[*taken..][..want.len()];
        assert_eq!(got, want, "{snapshot}: bytes of {text} at {index}, id {id:x}");
        if synced {
            assert_eq!(offsets.at(*taken), index, "{snapshot}: offset of {text}, id {id:x}");
        }
        *taken += want.len();
    }
    assert!(packets > 100, "{snapshot}: {packets} packets");
    if lists == Lists::All {
        for source in sources.iter() {
            let listed = taken.get(&(source.id() as u8)).copied();
            assert_eq!(listed, Some(source.bytes().len()), "{snapshot}: id {:x}", source.id());
        }
    }
}

#[test]
fn offsets_and_bytes_as_listed() {
    check("juno_r1_1", "cstrace.bin", Lists::All);
    check("infrastructure", "cstrace.bin", Lists::All);
    // The longest by far, with the framing of the first.
    if is_long() {
        check("bugfix-exact-match", "cstrace.bin", Lists::All);
    }
    check("TC2", "cstrace.bin", Lists::FromSync);
    check("Snowball", "cstrace.bin", Lists::FromSync);
    check("stm_only", "cstraceitm.bin", Lists::Offsets);
}
