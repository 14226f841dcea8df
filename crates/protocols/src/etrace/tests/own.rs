//! Messages that this project defines: discovery, cycle counts, fast profiling.

use alloc::vec;
use alloc::vec::Vec;

use tracewright_base::{Access, Direction, Encode, Kind, Parse, Role, Step, Wire};

use super::encode::{encode, plain, step, trap};
use crate::etrace::Etrace;
use crate::etrace::config::{Params, Version};
use crate::etrace::encode::{DataEncoder, DataSettings, Encoder, Settings};
use crate::etrace::packet::{Discovery, Own, Packet, Payload, Profile, ProfileEvent};
use crate::protocol::Protocol;

fn with(set: &[(&str, &str)]) -> Params {
    let mut params = Params::spec(Version::V2_0, true);
    set.iter().for_each(|(name, value)| params.set(name, value).unwrap());
    params
}

/// 0.026, 3.1.4: each value, in the packet, in the register view and back in the parameters.
#[test]
fn discovery() {
    let params = with(&[
        ("minor_revision", "9"),
        ("comparators", "3"),
        ("filters", "0"),
        ("context_width", "17"),
        ("ecause_choice", "2"),
        ("ecause_width", "16"),
        ("filter_context", "0"),
        ("filter_ecause", "7"),
        ("filter_privilege", "0"),
        ("iaddress_lsb", "2"),
        ("iaddress_width", "48"),
        ("notval", "1"),
        ("privilege_width", "4"),
        ("itype_width", "3"),
        ("iretire_width", "8"),
        ("ntkn_width", "4"),
        ("ilastsize_width", "2"),
        ("taken_branches", "8"),
        ("context_type_width", "1"),
        ("user_width", "255"),
        ("discovery_packet", "1"),
    ]);
    let found = Discovery::of(&params);
    assert_eq!((found.minor_revision, found.version, found.comparators), (9, 20, 2));
    assert_eq!((found.context_width, found.iaddress_width, found.no_filters), (16, 47, true));
    // minor_revision [3:0], version [11:4], comparators [15:12], filters [19:16],
    // context_width [24:20], ecause_choice [27:25], ecause_width [33:28].
    let [low, ..] = found.words();
    assert_eq!(low, 9 | 20 << 4 | 2 << 12 | 16 << 20 | 2 << 25 | 0xf << 28);
    assert_eq!(Discovery::of_words(found.words()), found);
    let mut learned = Params::spec(Version::V2_0, true);
    learned.own.discovery = true;
    found.apply(&mut learned);
    assert_eq!(learned, params);
    // As a parameter that is text.
    let mut read = Params::spec(Version::V2_0, true);
    read.own.discovery = true;
    let [a, b, c] = found.words();
    let text = alloc::format!("{a:#x} {b:#x}, {c}");
    assert_eq!(Etrace::set_text(&mut read, "discovery", &text), Some(Ok(())));
    assert_eq!(read, params);
    assert!(Etrace::set_text(&mut read, "discovery", "1 2").unwrap().is_err());
    // The packet comes first, once.
    let sent = encode(&[plain(0x1000), plain(0x1004)], &params, &Settings::default());
    assert_eq!(sent.first(), Some(&Payload::Own(Own::Discovery(found))));
    let all = sent.iter().filter(|payload| matches!(payload, Payload::Own(_)));
    assert_eq!(all.count(), 1);
}

/// The bytes of each message, in both framings, and back.
#[test]
fn messages() {
    let profile = Profile {
        event: ProfileEvent::Exception(2),
        destination: 0x8000,
        source: Some(0x4000_0001),
    };
    for own in [
        Own::Discovery(Discovery::of(&Params::default())),
        Own::Cycles { count: 0 },
        Own::Cycles { count: u32::MAX },
        Own::Profile(profile),
        Own::Profile(Profile { event: ProfileEvent::Interrupt(7), ..profile }),
        Own::Profile(Profile { event: ProfileEvent::Call, ..profile }),
        Own::Profile(Profile { event: ProfileEvent::Return, ..profile }),
    ] {
        for framing in ["encapsulated", "siemens"] {
            for version in [Version::Draft, Version::V2_0] {
                let mut params = Params::spec(version, true);
                params.set("framing", framing).unwrap();
                (params.own.profiling, params.link.type_width) = (2, 2);
                let mut bytes = Vec::new();
                Packet::from(Payload::Own(own)).emit(&params, &mut bytes);
                bytes.extend([0; 20]);
                let parsed = Packet::parse(&bytes, &params);
                let Parse::Packet(packet, _) = parsed else { panic!("{own:?}: {parsed:?}") };
                assert_eq!(packet.payload, Payload::Own(own));
                // Without the parameter the type is reserved.
                params.own.profiling = 0;
                let parsed = Packet::parse(&bytes, &params);
                let own =
                    matches!(parsed, Parse::Packet(Packet { payload: Payload::Own(_), .. }, _));
                assert!(!own, "{parsed:?}");
            }
        }
    }
    // Length 1, type 1 in the payload; kind 1; 2 cycles.
    let params = with(&[("cycle_counts", "1")]);
    let mut bytes = Vec::new();
    Packet::from(Payload::Own(Own::Cycles { count: 2 })).emit(&params, &mut bytes);
    assert_eq!(bytes, [0x01, 0b01 | 1 << 2 | 2 << 5]);
}

/// 0.026, 7.3: the cycles up to each instruction that a packet reports.
#[test]
fn cycle_counts() {
    let params = with(&[("cycle_counts", "1")]);
    let jump = |at, to| step(at, Kind::Indirect, Role::Jump, to);
    let mut steps = Vec::new();
    for next in [plain(0x1000), jump(0x1004, 0x2000), plain(0x2000), jump(0x2004, 0x1000)] {
        steps.extend([Step::Cycles(3), next]);
    }
    steps.extend([Step::Cycles(100), plain(0x1000), Step::Cycles(1), plain(0x1004)]);
    let counts: Vec<u32> = encode(&steps, &params, &Settings::default())
        .iter()
        .filter_map(|payload| match payload {
            Payload::Own(Own::Cycles { count }) => Some(*count),
            _ => None,
        })
        .collect();
    // From 1000 to 2000, to 1000, and to the last instruction.
    assert_eq!(counts, [6, 103, 1]);
    let off = encode(&steps, &Params::default(), &Settings::default());
    assert!(!off.iter().any(|payload| matches!(payload, Payload::Own(_))));
}

/// 0.026, 7.2: exceptions, calls and returns, and nothing else.
#[test]
fn profiling() {
    let steps = vec![
        plain(0x1000),
        step(0x1004, Kind::Branch, Role::Call, 0x2000),
        step(0x2000, Kind::Branch, Role::Jump, 0x2004),
        trap(2, 0x2004, 0x3000, 5),
        step(0x3000, Kind::Indirect, Role::ExceptionReturn, 0x2008),
        step(0x2008, Kind::Indirect, Role::Return, 0x1008),
        Step::Off,
        step(0x1008, Kind::Branch, Role::Call, 0x2000),
        Step::On,
    ];
    let event = |event, destination: u64, source: u64| Profile {
        event,
        destination: destination >> 1,
        source: Some(source >> 1),
    };
    let want = [
        event(ProfileEvent::Call, 0x2000, 0x1004),
        event(ProfileEvent::Exception(2), 0x3000, 0x2004),
        event(ProfileEvent::Return, 0x2008, 0x3000),
        event(ProfileEvent::Return, 0x1008, 0x2008),
    ];
    for profiling in [1, 2] {
        let mut params = Params::default();
        params.own.profiling = profiling;
        let mut encoder = Encoder::new(&params, &Settings::default());
        let mut packets: Vec<Packet> = Vec::new();
        steps.iter().for_each(|step| encoder.step(step, &params, &mut packets));
        encoder.finish(&params, &mut packets);
        let got: Vec<Payload> = packets.iter().map(|packet| packet.payload).collect();
        let sources = |profile: Profile| match profiling {
            1 => Profile { source: None, ..profile },
            _ => profile,
        };
        let want = want.map(|profile| Payload::Own(Own::Profile(sources(profile))));
        assert_eq!(got, want);
    }
}

/// 0.026, Table 3.2: tail calls, and jumps with link through a link register, are calls. Later
/// versions have types of their own for them.
#[test]
fn tail_calls_of_the_draft() {
    let steps = [
        // jalr x0, t1; jalr x1, x5; jalr t1, t2
        step(0x1000, Kind::Indirect, Role::Jump, 0x2000),
        step(0x2000, Kind::Indirect, Role::Swap, 0x3000),
        step(0x3000, Kind::Indirect, Role::Link, 0x4000),
    ];
    for (version, want) in
        [(Version::Draft, &[0x2000u64, 0x3000][..]), (Version::V1_0, &[]), (Version::V2_1, &[])]
    {
        let mut params = Params::spec(version, true);
        params.own.profiling = 1;
        let sent = encode(&steps, &params, &Settings::default());
        let want = want.iter().map(|to| {
            let event = ProfileEvent::Call;
            Payload::Own(Own::Profile(Profile { event, destination: to >> 1, source: None }))
        });
        assert_eq!(sent, want.collect::<Vec<_>>(), "{version}");
    }
}

/// 0.026, 7.1: data are sent in full or as differences to the last value of the same size, whatever
/// the direction. Later versions have the exclusive or too.
#[test]
fn data_of_the_draft() {
    let access = |direction, address, value| Access::new(direction, 4, 0).at(address).of(value);
    let list = [
        access(Direction::Write, 0x1000, 0x1234_5678),
        access(Direction::Write, 0x2000, 0x1234_5679),
        access(Direction::Read, 0x5004, 0x1234_567a),
    ];
    let codes = |version| -> Vec<u8> {
        let mut params = Params::spec(version, true);
        params.data.format_width = 2;
        let mut encoder = DataEncoder::new(DataSettings::default());
        let mut packets: Vec<Packet> = Vec::new();
        list.iter().for_each(|access| encoder.access(access, &params, &mut packets));
        encoder.finish(&params, &mut packets);
        let data = packets.iter().filter_map(|packet| match packet.payload {
            Payload::Data(data) => Some(data.diff),
            _ => None,
        });
        data.collect()
    };
    assert_eq!(codes(Version::V2_0), [0, 1, 1]);
    // Both in full, then both as differences.
    assert_eq!(codes(Version::Draft), [0, 3, 3]);
}
