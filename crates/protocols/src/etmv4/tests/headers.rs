//! All 256 headers. (IHI 0064, "Instruction trace packet headers"; Arm ARM K10.5.2.2)

use std::string::ToString;
use std::{format, vec};

use tracewright_base::{Fault, Parse, Wire};

use super::super::Packet;
use super::{ete_1_0, ete_1_3, etmv4_0, etmv4_6};

/// Headers, the start of the displayed packet, and whether the header is a packet (`P`), reserved
/// (`R`) or reserved in this configuration (`C`) in: an ETMv4.0 without optional features, an
/// ETMv4.6 with all features, an ETE 1.0, an ETE 1.3 with Q elements. If there are several texts,
/// each is that of one header.
const HEADERS: &[(u8, u8, &str, &str)] = &[
    (0x00, 0x00, "discard", "PPPP"),
    (0x01, 0x01, "trace info", "PPPP"),
    (0x02, 0x02, "timestamp", "PPPP"),
    (0x03, 0x03, "timestamp", "PPPP"),
    (0x04, 0x04, "trace on", "PPPP"),
    (0x05, 0x05, "function return", "RPRR"),
    (0x06, 0x06, "exception 1", "PPPP"),
    (0x07, 0x07, "exception return", "PPCC"),
    (0x08, 0x08, "", "RRRR"),
    (0x09, 0x09, "instrumentation", "RRRP"),
    (0x0a, 0x0a, "transaction start", "RRPP"),
    (0x0b, 0x0b, "transaction commit", "RRPP"),
    (0x0c, 0x0d, "cycles, threshold + 3, commit", "PPPP"),
    (0x0e, 0x0e, "cycles, threshold + 1, commit 3", "PPPP"),
    (0x0f, 0x0f, "cycles unknown, commit 3", "PPPP"),
    (0x10, 0x1f, "cycles, threshold + ", "PPPP"),
    (0x20, 0x2c, "data synchronisation marker", "CPCC"),
    (0x2d, 0x2d, "commit 3", "PPPP"),
    (0x2e, 0x2e, "cancel 3 (format 1)", "PPPP"),
    (0x2f, 0x2f, "cancel 3, mispredict (format 1)", "PPPP"),
    (0x30, 0x30, "mispredict", "PPPP"),
    (0x31, 0x31, "atoms E, mispredict", "PPPP"),
    (0x32, 0x32, "atoms EE, mispredict", "PPPP"),
    (0x33, 0x33, "atoms N, mispredict", "PPPP"),
    (0x34, 0x34, "cancel 1, mispredict (format 2)", "PPPP"),
    (0x35, 0x35, "atoms E, cancel 1, mispredict (format 2)", "PPPP"),
    (0x36, 0x36, "atoms EE, cancel 1, mispredict (format 2)", "PPPP"),
    (0x37, 0x37, "atoms N, cancel 1, mispredict (format 2)", "PPPP"),
    (0x38, 0x38, "cancel 2, mispredict (format 3)", "PPPP"),
    (0x39, 0x39, "atoms E, cancel 2, mispredict (format 3)", "PPPP"),
    (0x3a, 0x3a, "cancel 3, mispredict (format 3)", "PPPP"),
    (0x3b, 0x3b, "atoms E, cancel 3, mispredict (format 3)", "PPPP"),
    (0x3c, 0x3c, "cancel 4, mispredict (format 3)", "PPPP"),
    (0x3d, 0x3d, "atoms E, cancel 4, mispredict (format 3)", "PPPP"),
    (0x3e, 0x3e, "cancel 5, mispredict (format 3)", "PPPP"),
    (0x3f, 0x3f, "atoms E, cancel 5, mispredict (format 3)", "PPPP"),
    (0x40, 0x42, "conditional instruction, kind", "CPCC"),
    (0x43, 0x43, "conditional flush", "CPCC"),
    (0x44, 0x46, "conditional result", "CPCC"),
    (0x47, 0x47, "", "RRRR"),
    (0x48, 0x4a, "conditional result", "CPCC"),
    (0x4b, 0x4b, "", "RRRR"),
    (0x4c, 0x4e, "conditional result", "CPCC"),
    (0x4f, 0x4f, "", "RRRR"),
    (0x50, 0x5f, "conditional results", "CPCC"),
    (0x60, 0x67, "", "RRRR"),
    (0x68, 0x6b, "conditional result 3 of key 0, 1 of key 0", "CPCC"),
    (0x6c, 0x6c, "conditional instruction, key 3", "CPCC"),
    (0x6d, 0x6d, "conditional instructions, 1 and a last", "CPCC"),
    (0x6e, 0x6f, "conditional result 3 of key 0 (", "CPCC"),
    (0x70, 0x70, "ignore", "RPPP"),
    (0x71, 0x7f, "event", "PPPP"),
    (0x80, 0x80, "context, same", "PPPP"),
    (0x81, 0x81, "context EL3 secure AArch32", "PPPP"),
    (0x82, 0x82, "address 0x..0101020c IS0 (32 bits), context EL1 secure AArch32", "PPPP"),
    (0x83, 0x83, "address 0x..01010106 IS1 (32 bits), context EL1", "PPPP"),
    (0x84, 0x84, "", "RRRR"),
    (0x85, 0x85, "address 0x010101010101020c IS0 (64 bits), context EL1", "PPPP"),
    (0x86, 0x86, "address 0x0101010101010106 IS1 (64 bits), context EL1", "PPPP"),
    (0x87, 0x87, "", "RRRR"),
    (0x88, 0x88, "timestamp marker", "RPRP"),
    (0x89, 0x8f, "", "RRRR"),
    (0x90, 0x90, "address, same as 0", "PPPP"),
    (0x91, 0x91, "address, same as 1", "PPPP"),
    (0x92, 0x92, "address, same as 2", "PPPP"),
    (0x93, 0x94, "", "RRRR"),
    (0x95, 0x95, "address 0x..00c IS0 (short, 9 bits)", "PPPP"),
    (0x96, 0x96, "address 0x..06 IS1 (short, 8 bits)", "PPPP"),
    (0x97, 0x99, "", "RRRR"),
    (0x9a, 0x9a, "address 0x..0101020c IS0 (32 bits)", "PPPP"),
    (0x9b, 0x9b, "address 0x..01010106 IS1 (32 bits)", "PPPP"),
    (0x9c, 0x9c, "", "RRRR"),
    (0x9d, 0x9d, "address 0x010101010101020c IS0 (64 bits)", "PPPP"),
    (0x9e, 0x9e, "address 0x0101010101010106 IS1 (64 bits)", "PPPP"),
    (0x9f, 0x9f, "", "RRRR"),
    (0xa0, 0xa0, "Q, 3 instructions, then address, same as 0", "RPRP"),
    (0xa1, 0xa1, "Q, 3 instructions, then address, same as 1", "RPRP"),
    (0xa2, 0xa2, "Q, 3 instructions, then address, same as 2", "RPRP"),
    (0xa3, 0xa4, "", "RRRR"),
    (0xa5, 0xa5, "Q, 1 instructions, then address 0x..00c IS0 (short", "RPRP"),
    (0xa6, 0xa6, "Q, 1 instructions, then address 0x..06 IS1 (short", "RPRP"),
    (0xa7, 0xa9, "", "RRRR"),
    (0xaa, 0xaa, "Q, 1 instructions, then address 0x..0101020c IS0 (32", "RPRP"),
    (0xab, 0xab, "Q, 1 instructions, then address 0x..01010106 IS1 (32", "RPRP"),
    (0xac, 0xac, "Q, 3 instructions", "RPRP"),
    (0xad, 0xae, "", "RRRR"),
    (0xaf, 0xaf, "Q, instructions not counted", "RPRP"),
    (0xb0, 0xb0, "taken from address, same as 0", "RRPP"),
    (0xb1, 0xb1, "taken from address, same as 1", "RRPP"),
    (0xb2, 0xb2, "taken from address, same as 2", "RRPP"),
    (0xb3, 0xb3, "", "RRRR"),
    (0xb4, 0xb4, "taken from address 0x..00c IS0 (short", "RRPP"),
    (0xb5, 0xb5, "taken from address 0x..06 IS1 (short", "RRPP"),
    (0xb6, 0xb6, "taken from address 0x..0101020c IS0 (32", "RRPP"),
    (0xb7, 0xb7, "taken from address 0x..01010106 IS1 (32", "RRPP"),
    (0xb8, 0xb8, "taken from address 0x010101010101020c IS0 (64", "RRPP"),
    (0xb9, 0xb9, "taken from address 0x0101010101010106 IS1 (64", "RRPP"),
    (0xba, 0xbf, "", "RRRR"),
    (0xc0, 0xc0, "atoms EEEE", "PPPP"),
    (0xc1, 0xd3, "atoms EEEEE", "PPPP"),
    (0xd4, 0xd4, "atoms EEEEEEEEEEEEEEEEEEEEEEEE", "PPPP"),
    (0xd5, 0xd5, "atoms NNNNN", "PPPP"),
    (0xd6, 0xd6, "atoms NENEN", "PPPP"),
    (0xd7, 0xd7, "atoms ENENE", "PPPP"),
    (0xd8, 0xd8, "atoms NN", "PPPP"),
    (0xd9, 0xd9, "atoms EN", "PPPP"),
    (0xda, 0xda, "atoms NE", "PPPP"),
    (0xdb, 0xdb, "atoms EE", "PPPP"),
    (0xdc, 0xdc, "atoms NEEE", "PPPP"),
    (0xdd, 0xdd, "atoms NNNN", "PPPP"),
    (0xde, 0xde, "atoms NENE", "PPPP"),
    (0xdf, 0xdf, "atoms ENEN", "PPPP"),
    (0xe0, 0xe0, "atoms EEEN", "PPPP"),
    (0xe1, 0xf3, "atoms EEEE", "PPPP"),
    (0xf4, 0xf4, "atoms EEEEEEEEEEEEEEEEEEEEEEEN", "PPPP"),
    (0xf5, 0xf5, "atoms NEEEE", "PPPP"),
    (0xf6, 0xf6, "atoms N", "PPPP"),
    (0xf7, 0xf7, "atoms E", "PPPP"),
    (0xf8, 0xf8, "atoms NNN", "PPPP"),
    (0xf9, 0xf9, "atoms ENN", "PPPP"),
    (0xfa, 0xfa, "atoms NEN", "PPPP"),
    (0xfb, 0xfb, "atoms EEN", "PPPP"),
    (0xfc, 0xfc, "atoms NNE", "PPPP"),
    (0xfd, 0xfd, "atoms ENE", "PPPP"),
    (0xfe, 0xfe, "atoms NEE", "PPPP"),
    (0xff, 0xff, "atoms EEE", "PPPP"),
];

#[test]
fn all() {
    let configs = [etmv4_0(), etmv4_6(), ete_1_0(), ete_1_3()];
    let mut next = 0u16;
    for &(first, last, words, legal) in HEADERS {
        assert_eq!(u16::from(first), next, "a header is left out");
        next = u16::from(last) + 1;
        for header in first..=last {
            let mut bytes = vec![0x01; 16];
            (bytes[0], bytes[1]) = (header, 0x03);
            for (config, legal) in configs.iter().zip(legal.chars()) {
                match (legal, Packet::parse(&bytes, config)) {
                    ('P', Parse::Packet(packet, _)) => {
                        let text = packet.to_string();
                        assert!(text.starts_with(words), "{header:02x}: {text}");
                    }
                    ('R', Parse::Bad(1, Fault::Reserved(h))) if h == header => {}
                    ('C', Parse::Bad(1, Fault::ReservedForConfig(h))) if h == header => {}
                    (_, parsed) => panic!("{header:02x} {legal} {config:?}: {parsed:?}"),
                }
            }
        }
    }
    assert_eq!(next, 0x100);
}

/// Format 6: 3 to 23 E atoms, then E or N.
#[test]
fn atoms_format_6() {
    for header in (0xc0..=0xd4).chain(0xe0..=0xf4) {
        let count = usize::from(header & 0x1f) + 3;
        let last = if header & 0x20 == 0 { "E" } else { "N" };
        let Parse::Packet(packet, 1) = Packet::parse(&[header], &ete_1_0()) else { panic!() };
        assert_eq!(packet.to_string(), format!("atoms {}{last}", "E".repeat(count)));
    }
}

/// The second byte of an extension packet.
#[test]
fn extensions() {
    for second in 0x01..=0xff {
        let want = match second {
            0x03 => Parse::Packet(Packet::Discard, 2),
            0x05 => Parse::Packet(Packet::Overflow, 2),
            _ => Parse::Bad(2, Fault::Sequence),
        };
        assert_eq!(Packet::parse(&[0x00, second, 0x80], &ete_1_0()), want);
    }
}
