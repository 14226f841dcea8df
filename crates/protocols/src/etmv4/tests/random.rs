//! Any bytes: no panic, and what parses is written and parsed again as the same.

use tracewright_base::{Parse, Wire};

use super::super::Packet;
use super::{commit_mode_1, emit, ete_1_0, ete_1_3, etmv4_0, etmv4_6};
use crate::ways::Random;

#[test]
fn there_and_back() {
    let configs = [etmv4_0(), etmv4_6(), ete_1_0(), ete_1_3(), commit_mode_1()];
    let mut random = Random::new(0x1dea);
    for round in 0..200_000u32 {
        let mut bytes = random.bytes(24);
        // Every header as often as any other, and continuations that end.
        bytes[0] = round as u8;
        if round & 0x100 != 0 {
            bytes[1..].iter_mut().step_by(2).for_each(|byte| *byte &= 0x7f);
        }
        for config in &configs {
            let parsed = Packet::parse(&bytes, config);
            match parsed {
                Parse::Packet(packet, len) => {
                    let mut again = emit(config, &packet);
                    assert!(again.len() <= len, "{packet:?} is not the shortest form");
                    // What is after it decides whether an unknown address is.
                    again.extend_from_slice(&bytes[len..]);
                    let want = Parse::Packet(packet, again.len() + len - bytes.len());
                    assert_eq!(Packet::parse(&again, config), want, "{bytes:02x?}");
                    for cut in 0..len {
                        let part = Packet::parse(&bytes[..cut], config);
                        assert_eq!(part, Parse::Partial, "{cut} of {bytes:02x?}");
                    }
                }
                Parse::Bad(len, _) => {
                    assert!((1..=bytes.len()).contains(&len));
                    assert_eq!(Packet::parse(&bytes[..len], config), parsed);
                }
                Parse::Partial => assert_eq!(bytes[0], 0, "24 bytes are enough for any other"),
            }
        }
    }
}
