//! The completion of compressed packets. (Arm ARM K10.5.2.1, K10.5.2.4, K10.5.2.14)

use tracewright_base::{Isa, Parse, Security, Wire};

use super::super::{Config, History, Packet, SubIsa};
use super::{commit_mode_1, ete_1_0, ete_1_3, etmv4_0};

/// Parses all of `bytes` and updates a history with them.
fn fed(config: &Config, bytes: &[u8]) -> History {
    let mut history = History::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        let Parse::Packet(packet, len) = Packet::parse(rest, config) else {
            panic!("{rest:02x?}");
        };
        history.packet(&packet);
        rest = &rest[len..];
    }
    history
}

const INFO: &[u8] = &[0x01, 0x00];

#[test]
fn addresses() {
    for (bytes, address, is) in [
        // After Trace Info the last address is 0: a short address is complete.
        (&[0x95, 0xaf, 0x17][..], 0x2ebc, SubIsa::Is0),
        (&[0x95, 0xaf, 0x17, 0x95, 0x3d], 0x2ef4, SubIsa::Is0),
        (&[0x9a, 0x01, 0x02, 0x03, 0x04], 0x0403_0404, SubIsa::Is0),
        // 32 bits do not change the others.
        (
            &[0x9d, 0, 0, 0, 0, 1, 2, 3, 4, 0x9b, 0x01, 0x02, 0x03, 0x04],
            0x0403_0201_0403_0202,
            SubIsa::Is1,
        ),
        // IS1 then IS0: bit 1 is zero.
        (&[0x96, 0x01, 0x95, 0x01], 0x004, SubIsa::Is0),
        (&[0x9a, 1, 0, 0, 0, 0x9b, 1, 0, 0, 0, 0x91], 0x004, SubIsa::Is0),
        // A matched address becomes the last: 4, 2, 4, then the third of 4 2 4 is 4, of 4 4 2 is 2.
        (&[0x9a, 1, 0, 0, 0, 0x9b, 1, 0, 0, 0, 0x91, 0x92], 0x004, SubIsa::Is0),
        (&[0x9a, 1, 0, 0, 0, 0x9b, 1, 0, 0, 0, 0x91, 0x92, 0x92], 0x002, SubIsa::Is1),
        // Source addresses and Q elements are addresses too.
        (&[0xb6, 1, 0, 0, 0, 0x9b, 1, 0, 0, 0, 0x91], 0x004, SubIsa::Is0),
        (&[0xaa, 1, 0, 0, 0, 9, 0x9b, 1, 0, 0, 0, 0xb1], 0x004, SubIsa::Is0),
        (&[0xaa, 1, 0, 0, 0, 9, 0xac, 9, 0xaf, 0xa0, 3], 0x004, SubIsa::Is0),
        // An unknown address is a zero.
        (&[0x9a, 1, 0, 0, 0, 0x06, 0x31, 0x70], 0, SubIsa::Is0),
        (&[0x9a, 1, 0, 0, 0, 0x06, 0x31, 0x70, 0x91], 0x004, SubIsa::Is0),
    ] {
        let history = fed(&ete_1_3(), &[INFO, bytes].concat());
        assert_eq!(history.address(), Some((address, is)), "{bytes:02x?}");
    }
}

/// Before Trace Info only complete fields of packets are known.
#[test]
fn unknown_before_trace_info() {
    for (bytes, address, known) in [
        (&[0x90][..], None, 0),
        (&[0x95, 0x59], None, 9),
        (&[0x9a, 1, 2, 3, 4], None, 32),
        (&[0x9d, 1, 0, 0, 0, 0, 0, 0, 0], Some((4, SubIsa::Is0)), 64),
        (&[0x9d, 1, 0, 0, 0, 0, 0, 0, 0, 0x95, 0x02], Some((8, SubIsa::Is0)), 64),
    ] {
        let history = fed(&ete_1_3(), bytes);
        assert_eq!(history.address(), address, "{bytes:02x?}");
        assert_eq!(history.last().known(), known);
        assert!(!history.started());
    }
    let history = fed(&ete_1_3(), &[0x02, 0x11]);
    assert_eq!((history.timestamp(), history.timestamp_so_far()), (None, 0x11));
    assert_eq!(history.context().el, None);
    assert_eq!(history.context().security, None);
}

#[test]
fn timestamps() {
    for (bytes, time) in [
        (&[][..], 0),
        (&[0x02, 0x11], 0x11),
        (&[0x02, 0xff, 0xff, 0x7f, 0x02, 0x00], 0x1f_ff80),
        (&[0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], u64::MAX),
        (
            &[0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03, 0x80, 0x00, 9],
            u64::MAX << 14,
        ),
    ] {
        for config in [etmv4_0(), ete_1_3()] {
            let history = fed(&config, &[INFO, bytes].concat());
            assert_eq!(history.timestamp(), Some(time), "{bytes:02x?}");
        }
    }
}

#[test]
fn contexts() {
    let history = fed(&ete_1_0(), INFO);
    let context = history.context();
    assert_eq!((context.el, context.security), (Some(0), Some(Security::Secure)));
    assert_eq!((context.vmid, context.context_id, context.bits64), (Some(0), Some(0), false));

    // Identifiers that a packet omits do not change.
    let bytes = [0x81, 0xf1, 7, 0, 0, 0, 9, 0, 0, 0, 0x81, 0x12];
    let context = fed(&ete_1_0(), &[INFO, &bytes].concat()).context();
    assert_eq!((context.el, context.security), (Some(2), Some(Security::Secure)));
    assert_eq!((context.vmid, context.context_id), (Some(7), Some(9)));
    assert_eq!((context.bits64, context.isa), (true, Isa::A64));

    // Trace Info resets them to zero.
    let context = fed(&ete_1_0(), &[INFO, &bytes, INFO].concat()).context();
    assert_eq!((context.vmid, context.context_id), (Some(0), Some(0)));

    let bytes = [INFO, &[0x83, 0x01, 0x9a, 0x4f, 0x00, 0x00]].concat();
    assert_eq!(fed(&ete_1_0(), &bytes).context().isa, Isa::T32);
    let bytes = [INFO, &[0x82, 0x01, 0x1a, 0x4f, 0x00, 0x00]].concat();
    assert_eq!(fed(&ete_1_0(), &bytes).context().isa, Isa::A32);
}

/// Committed elements and cycles. MAXSPEC is 20.
#[test]
fn cycle_counts() {
    let info = [0x01, 0x09, 0x01, 0x16];
    for (bytes, commit, cycles) in [
        (&[0x0e, 0x04, 0x05][..], 4, Some(0x1b)),
        (&[0x0f, 0x04], 4, None),
        (&[0x0c, 0x25], 3, Some(0x1b)),
        // MAXSPEC + 2 - 15 and MAXSPEC + 15 - 15.
        (&[0x0d, 0x25], 7, Some(0x1b)),
        (&[0x0d, 0xf5], 20, Some(0x1b)),
        (&[0x1d], 4, Some(0x17)),
    ] {
        let config = ete_1_3();
        let history = fed(&config, &info);
        let Parse::Packet(packet, _) = Packet::parse(bytes, &config) else { panic!() };
        assert_eq!(history.cycles(&config, &packet), Some((commit, cycles)), "{bytes:02x?}");
    }
    // Commit mode 1: the same packets commit nothing.
    for (bytes, cycles) in [
        (&[0x0e, 0x05][..], Some(0x1b)),
        (&[0x0f], None),
        (&[0x0d, 0xf5], Some(0x1b)),
        (&[0x1d], Some(0x17)),
    ] {
        let config = commit_mode_1();
        let history = fed(&config, &info);
        let Parse::Packet(packet, _) = Packet::parse(bytes, &config) else { panic!() };
        assert_eq!(history.cycles(&config, &packet), Some((0, cycles)), "{bytes:02x?}");
    }
    // The threshold counts only with cycle counting.
    assert_eq!(fed(&ete_1_3(), &[0x01, 0x09, 0x00, 0x16]).threshold(), 0);
    assert_eq!(History::default().cycles(&ete_1_3(), &Packet::TraceOn), None);
}
