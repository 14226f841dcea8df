//! ETMv3 packets against listings of OpenCSD: bytes, lengths and text.

use tracewright_base::{Fault, Parse, Wire};
use tracewright_opencsd::{Etmv3Text, PacketText};
use tracewright_protocols::etmv3::{Config, Packet};
use tracewright_testing::shared;

fn unit(control: u64, id: u64, extension: u64) -> Config {
    let register = |name: &str| match name {
        "ETMCR" => Some(control),
        "ETMIDR" => Some(id),
        "ETMCCER" => Some(extension),
        _ => None,
    };
    Config::new(None, &register).unwrap()
}

/// For each packet line of `id`: the bytes parse to one packet, the packet emits the bytes, and its
/// text is that of the line. Returns the number of packets.
fn lines(listing: &str, id: &str, config: &Config) -> usize {
    let (mut count, mut text) = (0, Etmv3Text::default());
    for line in listing.lines() {
        let Some((head, words)) = line.split_once("\t") else { continue };
        let mut head = head.split("; ");
        let (Some(at), Some(of), Some(bytes)) = (head.next(), head.next(), head.next()) else {
            continue;
        };
        if of != id || words.starts_with("NOTSYNC") {
            continue;
        }
        let bytes: Vec<u8> = bytes
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter_map(|byte| u8::from_str_radix(byte.strip_prefix("0x")?, 16).ok())
            .collect();
        let parsed = Packet::parse(&bytes, config);
        // OpenCSD lists a packet that the end of the buffer cuts as a complete packet.
        if at == "Idx:65533" && bytes == [0x87, 0xf8] {
            assert_eq!(parsed, Parse::Partial);
            continue;
        }
        let Parse::Packet(packet, len) = parsed else { panic!("{line}: {parsed:?}") };
        assert_eq!(len, bytes.len(), "{line}");
        let mut out = Vec::new();
        packet.emit(config, &mut out);
        let timestamp = matches!(packet, Packet::Timestamp { .. });
        assert!(out == bytes || timestamp, "{line}: {out:02x?}");
        let mut got = String::new();
        text.packet(config, &packet, &mut got);
        assert_eq!(got, words, "{line}");
        count += 1;
    }
    count
}

#[test]
fn packets_equal_those_of_opencsd() {
    if let Some(path) = shared("conformance/arm/expected/TC2.decode.ppl.xz") {
        let listing = tracewright_testing::text(&path);
        let config = unit(0x1000_1860, 0x410c_f250, 0x3440_08f2);
        let count: usize =
            ["ID:10", "ID:11", "ID:12"].iter().map(|id| lines(&listing, id, &config)).sum();
        assert_eq!(count, 18_683 + 419 + 20 + 272 + 23 + 64 + 9);
    }
    if let Some(path) = shared("captures/ti-am243x-r5f/freertos/opencsd-1.3.3-decode.ppl.gz") {
        let listing = tracewright_testing::text(&path);
        let config = unit(0xc40, 0x4104_f230, 0x9ba);
        assert_eq!(lines(&listing, "ID:10", &config), 31_798 + 9_387 + 61 + 61 - 1);
    }
}

/// Packets that the listings do not contain, in OpenCSD's formats.
#[test]
fn other_packets() {
    // All data, context IDs, cycles.
    let config = unit(0xd00c, 0x4104_f250, 0x3000_0000);
    let mut text = Etmv3Text::default();
    for (bytes, want) in [
        (
            &[0x2e, 0xb4, 0xa4, 0x80, 0x80, 0x02, 0xef, 0xbe, 0xad, 0xde][..],
            "NORM_DATA : Data trace packet.; Addr=0x20001234 ~[0x20001234]; Val=0xdeadbeef",
        ),
        (&[0x26, 0x38, 0x55], "NORM_DATA : Data trace packet.; Addr=0x20001238 ~[0x38]; Val=0x55"),
        (&[0x54], "OOO_ADDR_PLC : Out of Order data address placeholder.; OO_Tag=0x1"),
        (&[0x24, 0x07], "OOO_DATA : Out of Order data value packet.; Val=0x7; OO_Tag=0x1"),
        (&[0x6a], "VAL_NOT_TRACED : Data trace value not traced."),
        (&[0x6e, 1, 2, 3, 4], "CONTEXT_ID : Context ID change.; CtxtID=0x4030201"),
        (&[0x3c, 0x15], "VMID : VMID change.; VMID=0x15"),
        (&[0x04, 0x07], "CYCLE_COUNT : Cycle Count.; Cycles=7"),
        (&[0x92], "P_HDR : Atom P-header.; E"),
        (&[0xe8], "P_HDR : Atom P-header.; WWWE; Cycles=3"),
        (
            &[0x70, 0x07, 1, 0, 0, 0, 0xa1, 0x00, 0x80, 0x00, 0xc0, 0x09],
            "I_SYNC_CYCLE : Instruction Packet synchronisation with cycle count.; (Trace Enable); \
             Data Instr Addr=0xc0008000; S;  CtxtID=1; ISA=ARM(32); Cycles=7; \
             Curr Instr Addr=0xC0008010 ~[0x10];",
        ),
    ] {
        let Parse::Packet(packet, len) = Packet::parse(bytes, &config) else {
            panic!("{bytes:02x?}")
        };
        assert_eq!(len, bytes.len());
        let mut got = String::new();
        text.packet(&config, &packet, &mut got);
        assert_eq!(got, want);
    }
    for (header, fault, want) in [
        (0x10, Fault::Reserved(0x10), "I_RESERVED : Reserved Packet Header"),
        (
            0x2e,
            Fault::ReservedForConfig(0x2e),
            "BAD_TRACEMODE : Invalid packet type for this trace mode.[NORM_DATA]",
        ),
        (0x00, Fault::Sequence, "BAD_SEQUENCE : Invalid sequence for packet type.[A_SYNC]"),
        (0x80, Fault::Truncated, "INCOMPLETE_EOT. : Incomplete packet at end of trace data."),
    ] {
        let mut got = String::new();
        text.bad(&config, &[header], fault, &mut got);
        assert_eq!(got, want);
    }
}
