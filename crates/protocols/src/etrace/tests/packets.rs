//! Packets, a row each: bytes and text.

use std::string::ToString;
use std::vec::Vec;

use tracewright_base::{Fault, Parse, Wire};

use crate::etrace::config::{
    Compression, Framing, MessageType, OptionBits, Padding, Profile, TrapPacket, Version, units,
};
use crate::etrace::packet::{
    Amount, BranchCount, Branches, ContextChange, DataAccess, Envelope, JumpTarget, Map, Payload,
    PrivilegeContext, Qualification, Report, Standard, Start, Support, Transfer, Trap,
};
use crate::etrace::{Packet, Params};
use crate::ways::Random;

/// Parses `bytes` as `payload`, and emits `payload` as `bytes`.
#[track_caller]
fn check(params: &Params, bytes: &[u8], payload: Payload, text: &str) {
    let want = Parse::Packet(Packet::from(payload), bytes.len());
    assert_eq!(Packet::parse(bytes, params), want, "{bytes:02x?}");
    // The bytes after the packet do not matter.
    let more: Vec<u8> = bytes.iter().copied().chain([0x5a; 40]).collect();
    assert_eq!(Packet::parse(&more, params), want, "{bytes:02x?} and more");
    for len in 0..bytes.len() {
        assert_eq!(Packet::parse(&bytes[..len], params), Parse::Partial, "{len} of {bytes:02x?}");
    }
    let mut again = Vec::new();
    Packet::from(payload).emit(params, &mut again);
    assert_eq!(again, bytes, "{payload:?}");
    assert_eq!(Packet::from(payload).to_string(), text);
}

fn reference() -> Params {
    Params::of(Profile::ReferenceFlow, true)
}

const M: PrivilegeContext = PrivilegeContext { privilege: 3, time: 0, context: 0 };

/// A unit without compression whose packets are longer than the length field of the header allows:
/// copies of the sign are omitted all the same.
#[test]
fn payloads_too_long_for_the_header() {
    for (framing, time, context, most) in
        [(Framing::PulpTrdb, 0, 0, 16), (Framing::Esp32, 64, 32, 31)]
    {
        for (padding, tval) in [Padding::Sign, Padding::Zero].map(|p| [(p, 5), (p, !5)]).concat() {
            let mut params = Params::spec(Version::V2_1, true);
            params.link.framing = framing;
            (params.widths.time, params.widths.context) = (time, context);
            (params.choices.compression, params.choices.padding) = (Compression::None, padding);
            let packet = Packet::from(Payload::Trap(Trap {
                privilege_context: PrivilegeContext { privilege: 3, ..PrivilegeContext::default() },
                ecause: 8,
                thaddr: true,
                address: Some(0x800),
                tval: Some(tval),
                ..Trap::default()
            }));
            let mut bytes = Vec::new();
            packet.emit(&params, &mut bytes);
            assert!(bytes.len() <= most, "{framing} {padding} {tval:x}: {bytes:02x?}");
            let want = Parse::Packet(packet, bytes.len());
            assert_eq!(Packet::parse(&bytes, &params), want, "{framing} {padding} {tval:x}");
        }
    }
}

/// PULP `rv_tracer` writes every field but a part of the address. A packet that ends before its
/// last field is none, and one that is longer than its header can state is not written.
#[test]
fn only_addresses_are_compressed() {
    let mut params = Params::of(Profile::PulpRvTracer, true);
    let trap = |address| {
        Packet::from(Payload::Trap(Trap {
            branch: true,
            ecause: 2,
            address: Some(address),
            tval: Some(1 << 63),
            ..Trap::default()
        }))
    };
    for (address, len) in [(0, 19), (0xff, 19), (0x100, 20), (1 << 63, 26)] {
        let mut bytes = Vec::new();
        trap(address).emit(&params, &mut bytes);
        assert_eq!(bytes.len(), 1 + len, "{address:x}");
        assert_eq!(Packet::parse(&bytes, &params), Parse::Packet(trap(address), 1 + len));
    }
    let short = [&[18][..], &[0x17; 40]].concat();
    assert_eq!(Packet::parse(&short, &params), Parse::Bad(19, Fault::FieldsAfterBytes));
    params.link.framing = Framing::PulpTrdb;
    for address in [0, 1 << 63] {
        let mut bytes = Vec::new();
        trap(address).emit(&params, &mut bytes);
        assert_eq!(bytes, [], "{address:x}");
    }
}

/// The fragments that "Example code and packets" prints: full addresses, `iaddress_lsb` 0, 64 bits.
#[test]
fn printed_fragments() {
    let mut params = reference();
    params.widths.iaddress_lsb = 0;
    let address = |address| Some(Report { address, ..Report::default() });
    for (bytes, payload, text) in [
        (
            &[0x45, 0x32, 0x04, 0x00, 0x00, 0x02][..],
            Payload::Address(Report { address: 0x8000_010c, ..Report::default() }),
            "address 0x8000010c",
        ),
        (
            &[0x46, 0x05, 0x04, 0x01, 0x00, 0x80, 0x00],
            Payload::Branches(Branches {
                full: false,
                map: Map { bits: 0, len: 1 },
                report: address(0x8000_0104),
            }),
            "branches T, address 0x80000104",
        ),
        // An exception at the target of a jump: its address is the exception's own.
        (
            &[0x4a, 0x77, 0x00, 0x00, 0x00, 0x00, 0x81, 0x88, 0x00, 0x00, 0x20],
            Payload::Trap(Trap {
                branch: true,
                privilege_context: M,
                ecause: 2,
                interrupt: false,
                thaddr: false,
                address: Some(0x8000_0222),
                tval: Some(0),
            }),
            "exception 2, nothing retired, address 0x80000222, privilege M",
        ),
        (
            &[0x4a, 0x77, 0x00, 0x00, 0x00, 0x80, 0x33, 0x6c, 0x00, 0x00, 0x20],
            Payload::Trap(Trap {
                branch: true,
                privilege_context: M,
                ecause: 7,
                interrupt: true,
                thaddr: true,
                address: Some(0x8000_01b0),
                tval: None,
            }),
            "interrupt 7, handler 0x800001b0, privilege M",
        ),
    ] {
        check(&params, bytes, payload, text);
    }
}

/// Payloads of every kind, at the limits of their fields.
fn payloads(params: &Params, random: &mut Random) -> Vec<Payload> {
    let w = &params.widths;
    let low =
        |value: u64, width: u8| if width >= 64 { value } else { value & !(u64::MAX << width) };
    let mut some = |width: u8| match random.next() % 4 {
        0 => 0,
        1 => low(u64::MAX, width),
        2 => low(random.next() >> (random.next() % 64), width),
        _ => low(random.next(), width),
    };
    let draft = params.is_draft();
    let depth_width = params.irdepth_width() as u8;
    let privilege_context = PrivilegeContext {
        privilege: some(w.privilege) as u8,
        time: if matches!(params.version, Version::V2_0 | Version::V2_1) {
            some(w.time)
        } else {
            0
        },
        context: some(w.context) as u32,
    };
    let report = Report {
        address: some(params.widths.address() as u8),
        notify: !draft && some(1) != 0,
        updiscon: !draft && some(1) != 0,
        irreport: (!draft && !params.choices.no_irreport && some(1) != 0)
            .then(|| some(depth_width) as u16),
    };
    let len = 1 + (some(8) % 31) as u8;
    let map = Map { bits: some(len) as u32, len };
    let address = some(params.widths.address() as u8);
    let interrupt = some(1) != 0;
    let thaddr = draft || params.choices.trap == TrapPacket::TvalEpc || some(1) != 0;
    let has_tval = w.tval > 0 && (params.choices.tval_always || !interrupt);
    let implicit = params.options.implicit_exception && thaddr && !draft;
    let trap = Trap {
        branch: some(1) != 0,
        privilege_context,
        ecause: some(w.ecause),
        interrupt,
        thaddr,
        address: (!implicit).then_some(address),
        tval: has_tval.then(|| some(w.tval)),
    };
    let full = Map { bits: some(31) as u32, len: 31 };
    let mut all = std::vec![
        Payload::Branches(Branches { full: draft && some(1) != 0, map, report: Some(report) }),
        Payload::Branches(Branches { full: draft && some(1) != 0, map: full, report: None }),
        Payload::Address(report),
        Payload::Start(Start { branch: some(1) != 0, privilege_context, address }),
        Payload::Trap(trap),
        Payload::Context(ContextChange { privilege_context }),
    ];
    if !draft {
        let (count, failed) = (some(32) as u32, some(1) != 0);
        if w.bpred_size > 0 && w.f0s > 0 {
            all.push(Payload::BranchCount(BranchCount { count, report: Some(report), failed }));
            all.push(Payload::BranchCount(BranchCount { count, report: None, failed: true }));
        }
        if w.cache_size > 0 {
            let (index, irreport) = (some(w.cache_size) as u16, report.irreport);
            all.push(Payload::JumpTarget(JumpTarget { index, map: Some(map), irreport }));
            all.push(Payload::JumpTarget(JumpTarget { index, map: None, irreport }));
        }
    }
    if !draft || params.choices.message_type == MessageType::Payload {
        let layout = &params.support;
        let standard = layout.ioptions == OptionBits::Standard;
        let data = layout.data || standard;
        all.push(Payload::Support(Support {
            enabled: some(1) != 0,
            mode: some(layout.mode_width) as u8,
            // 0.026 reserves the status of a loss.
            qualification: if draft {
                Qualification::EndedUnreported
            } else {
                Qualification::TraceLost
            },
            ioptions: some(layout.ioptions.width() as u8) as u8,
            data_enabled: data && some(1) != 0,
            data_lost: data && some(1) != 0,
            doptions: if data {
                some(if standard { 4 } else { layout.doptions_width }) as u8
            } else {
                0
            },
            standard: standard.then(|| Standard {
                resync_disabled: some(1) != 0,
                iret_ext: some(1) != 0,
                time_width: some(3) as u8,
                f0s_width: some(2) as u8,
                return_stack_size: some(3) as u8,
                call_counter_size: some(4) as u8,
                bpred_size: some(3) as u8,
                cache_size: some(3) as u8,
                mmacas_ext: some(1) != 0,
            }),
        }));
    }
    all
}

/// Every unit with any options: a written packet is read as the same, whatever bytes follow.
#[test]
fn written_packets_are_read() {
    let mut random = Random::new(7);
    let mut count = 0;
    for round in 0..160 {
        for (version, profile) in units() {
            let rv64 = random.next().is_multiple_of(2);
            let mut params = Params::new(version, profile, rv64).unwrap();
            // The framing of PULP's older unit has no room for more.
            if profile != Profile::PulpTrdb && profile != Profile::Esp32 {
                params.widths.bpred_size = (random.next() % 8) as u8;
                params.widths.cache_size = (random.next() % 8) as u8;
                params.widths.f0s = if params.widths.bpred_size > 0 { 1 } else { 0 };
                params.widths.time = [0, 16, 40][random.next() as usize % 3];
                params.widths.return_stack_size = [0, 3][random.next() as usize % 2];
                params.options.implicit_exception = random.next().is_multiple_of(2);
                params.widths.ecause = params.widths.ecause.min(16);
            }
            let numbered = matches!(params.link.framing, Framing::Encapsulated | Framing::Siemens);
            if numbered && random.next().is_multiple_of(2) {
                params.link.source_width = (random.next() % 17) as u8;
            }
            let width = params.link.source_width;
            for payload in payloads(&params, &mut random) {
                let source = match params.link.framing {
                    Framing::Esp32 => 0x1234,
                    _ => (random.next() & !(u64::MAX << width)) as u16,
                };
                let flow =
                    if params.link.framing == Framing::Encapsulated { round as u8 & 3 } else { 0 };
                let time = params.link.timestamp_bytes;
                let timestamp = (time > 0 && random.next().is_multiple_of(2))
                    .then(|| random.next() >> (64 - u32::from(time) * 8));
                let packet = Packet { envelope: Envelope { source, flow, timestamp }, payload };
                let mut bytes = Vec::new();
                packet.emit(&params, &mut bytes);
                let len = bytes.len();
                if params.link.framing != Framing::Esp32
                    && len > 31 + 1 + usize::from(time + width / 8)
                {
                    continue;
                }
                let want = Parse::Packet(packet, len);
                let got = Packet::parse(&bytes, &params);
                assert_eq!(got, want, "{bytes:02x?} {}", params.to_text());
                bytes.extend([0xa5; 9]);
                assert_eq!(Packet::parse(&bytes, &params), want);
                count += 1;
            }
        }
    }
    assert!(count > 12_000, "{count}");
}

/// Sources of any width, timestamps and types of the encapsulation. ("Packet Length")
#[test]
fn envelopes() {
    let mut random = Random::new(3);
    for source_width in 0..=16u8 {
        for timestamp_bytes in [0, 1, 2, 5, 8] {
            for type_width in 0..=2 {
                let mut params = Params::default();
                params.link.source_width = source_width;
                params.link.timestamp_bytes = timestamp_bytes;
                params.link.type_width = type_width;
                let time = random.next() >> (64 - u32::from(timestamp_bytes.max(1)) * 8);
                let packet = Packet {
                    envelope: Envelope {
                        source: (random.next() & !(u64::MAX << source_width)) as u16,
                        flow: 2,
                        timestamp: (timestamp_bytes > 0).then_some(time),
                    },
                    payload: Payload::Start(Start {
                        branch: true,
                        privilege_context: M,
                        address: 0x4000_0000,
                    }),
                };
                let mut bytes = Vec::new();
                packet.emit(&params, &mut bytes);
                // 1 + S + T + length.
                let head = 1 + usize::from(source_width / 8) + usize::from(timestamp_bytes);
                assert_eq!(bytes.len(), head + usize::from(bytes[0] & 0x1f));
                assert_eq!(Packet::parse(&bytes, &params), Parse::Packet(packet, bytes.len()));
            }
        }
    }
}

/// Records of PULP `rv_tracer` are those of its decoder: header last, and bytes beyond the length
/// are ignored.
#[test]
fn pulp_records() {
    let mut params = Params::of(Profile::PulpRvTracer, true);
    for (payload, timestamp, want) in [
        ("0f40", Some(0), "support: disabled"),
        ("733707004000", Some(0x0102_0304_0506_0708), "start 0x80000e6e, privilege M"),
        ("01aaaaaa2a", None, "branches"),
        ("0d1030", Some(u64::MAX), "branches"),
    ] {
        let payload: Vec<u8> = (0..payload.len() / 2)
            .map(|n| u8::from_str_radix(&payload[2 * n..2 * n + 2], 16).unwrap())
            .collect();
        params.link.framing = Framing::Encapsulated;
        let header = payload.len() as u8 | u8::from(timestamp.is_some()) << 7;
        let time = timestamp.unwrap_or(0).to_le_bytes();
        let plain =
            [&[header][..], if timestamp.is_some() { &time } else { &[] }, &payload].concat();
        let Parse::Packet(packet, _) = Packet::parse(&plain, &params) else {
            panic!("{payload:x?}")
        };
        assert!(packet.to_string().contains(want), "{packet}");
        // payload, timestamp, header, the highest byte first
        let room = [0; 31];
        let room = &room[payload.len()..];
        let high = |bytes: &[u8]| bytes.iter().rev().copied().collect::<Vec<u8>>();
        let record = [room, &high(&payload), &high(&time), &[header]].concat();
        let line = [&[header][..], &high(&time), room, &high(&payload)].concat();
        for (framing, bytes) in [(Framing::PulpRecords, record), (Framing::PulpLines, line)] {
            params.link.framing = framing;
            assert_eq!(Packet::parse(&bytes, &params), Parse::Packet(packet, 40), "{framing}");
            let mut again = Vec::new();
            packet.emit(&params, &mut again);
            // The unit sends bytes of an address that it could omit.
            assert_eq!(Packet::parse(&again, &params), Parse::Packet(packet, 40), "{framing}");
            for len in 0..40 {
                assert_eq!(Packet::parse(&bytes[..len], &params), Parse::Partial);
            }
            let blank = [0; 40];
            assert!(matches!(Packet::parse(&blank, &params), Parse::Bad(40, _)));
        }
    }
}

/// 0.026 does not define the flow bits of a header: they are preserved.
#[test]
fn flow_of_the_draft() {
    let mut params = Params::spec(Version::Draft, true);
    params.link.framing = Framing::Siemens;
    let start = Packet::from(Payload::Start(Start {
        branch: true,
        privilege_context: M,
        address: 0x4000_0000,
    }));
    let mut usual = Vec::new();
    start.emit(&params, &mut usual);
    assert_eq!(usual[0] >> 5, 2);
    let bytes: Vec<u8> = [usual[0] ^ 3 << 5].into_iter().chain(usual[1..].to_vec()).collect();
    let packet = Packet { envelope: Envelope { flow: 1, ..Envelope::default() }, ..start };
    assert_eq!(Packet::parse(&bytes, &params), Parse::Packet(packet, bytes.len()));
    let mut again = Vec::new();
    packet.emit(&params, &mut again);
    assert_eq!(again, bytes);
}

/// The length of a compressed address depends on the fields after it: there are fewer without
/// `irreport`.
#[test]
fn compressed_addresses_without_irreport() {
    let mut params = Params::of(Profile::Esp32, false);
    params.choices.compression = Compression::Address;
    params.widths.call_counter_size = 9;
    for (no_irreport, irreport) in [(true, None), (false, Some(5))] {
        params.choices.no_irreport = no_irreport;
        let report = Some(Report { irreport, ..Report::default() });
        let payload = Payload::BranchCount(BranchCount { count: 9, report, failed: true });
        let mut bytes = Vec::new();
        Packet::from(payload).emit(&params, &mut bytes);
        assert_eq!(Packet::parse(&bytes, &params), Parse::Packet(payload.into(), bytes.len()));
    }
}

/// PULP `trdb` examines the low 32 bits for compression; bits that are only above are preserved all
/// the same.
#[test]
fn addresses_in_the_upper_bits() {
    let mut params = Params::of(Profile::PulpTrdb, true);
    for framing in [Framing::PulpTrdb, Framing::Siemens] {
        params.link.framing = framing;
        for address in [0, 1, 1 << 32, 1 << 62, 0x4000_0000, 0x7fff_ffff_c000_0000] {
            let payload = Payload::Address(Report { address, ..Report::default() });
            let mut bytes = Vec::new();
            Packet::from(payload).emit(&params, &mut bytes);
            let read = Packet::parse(&bytes, &params);
            assert_eq!(
                read,
                Parse::Packet(payload.into(), bytes.len()),
                "{address:#x} {framing:?}"
            );
        }
    }
}

/// Headers and codes that no packet has.
#[test]
fn reserved_packets() {
    let draft = Params::of(Profile::PulpTrdb, false);
    let mut narrow = Params::default();
    narrow.link.type_width = 0;
    for (params, bytes, len, fault) in [
        // Siemens framing: message types 0 and 1.
        (reference(), &[0x02, 0, 0][..], 3, Fault::Reserved(0x02)),
        (reference(), &[0x21, 0, 0], 2, Fault::Reserved(0x21)),
        // A payload longer than its packet: an address of 63 bits and three flags in 12 bytes.
        (reference(), &[0x4c, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 13, Fault::BytesAfterFields),
        // 0.026 has no sub-format 3.
        (draft, &[0xe1, 0x03], 2, Fault::Reserved(0xe1)),
        // A timestamp where there is none.
        (narrow, &[0x82, 0, 0], 1, Fault::ReservedForConfig(0x82)),
        // The types of the encapsulation are 2 and 3.
        (Params::default(), &[0x01, 0x00], 2, Fault::Reserved(0x01)),
    ] {
        assert_eq!(Packet::parse(bytes, &params), Parse::Bad(len, fault), "{bytes:02x?}");
    }
}

/// Data trace: the reference flow's first packets, then each kind. (dtype_basic)
#[test]
fn data_packets() {
    let params = reference();
    let bytes = [0x6b, 0xb8, 0x03, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x0c, 0x08];
    let load = DataAccess {
        size: 3,
        diff: 1,
        data: Some(Amount { value: 0x8000_0000, bytes: 8 }),
        address: Some(0x203),
        ..DataAccess::default()
    };
    let text = "load 8, coding 1, address 0x203, data 0x80000000";
    check(&params, &bytes, Payload::Data(load), text);

    let amount = Some(Amount { value: 0xff80, bytes: 2 });
    let whole = Some(Amount { value: 0xffff_ffff_ffff_ff80, bytes: 8 });
    let each = |transfer, size| DataAccess { transfer, size, ..DataAccess::default() };
    let (data, address) = (amount, Some(0x1_2345));
    for (split, no_address, no_data, mmacas, access) in [
        (false, false, false, false, DataAccess { data, address, ..each(Transfer::Store, 1) }),
        (false, false, true, false, DataAccess { diff: 1, address, ..each(Transfer::Load, 2) }),
        (false, true, false, false, DataAccess { diff: 3, data: whole, ..each(Transfer::Load, 2) }),
        (true, false, false, false, DataAccess { lrid: 5, address, ..each(Transfer::Load, 0) }),
        (
            true,
            false,
            false,
            false,
            DataAccess { lrid: 5, resp: 2, data: whole, ..each(Transfer::LoadData, 3) },
        ),
        (true, false, false, false, DataAccess { lrid: 5, ..each(Transfer::LoadData, 3) }),
        (
            false,
            false,
            false,
            false,
            DataAccess { data, operand: amount, address: Some(0x305), ..each(Transfer::Csr(1), 0) },
        ),
        // A CSR that can only be read has no operand.
        (
            false,
            false,
            false,
            false,
            DataAccess { data, address: Some(0xf14), ..each(Transfer::Csr(1), 0) },
        ),
        (
            false,
            false,
            true,
            false,
            DataAccess { address: Some(0x305), ..each(Transfer::Csr(0), 0) },
        ),
        (
            false,
            false,
            false,
            false,
            DataAccess { data, operand: amount, address, ..each(Transfer::Atomic(1), 2) },
        ),
        (
            false,
            true,
            false,
            false,
            DataAccess { data: whole, operand: amount, ..each(Transfer::Atomic(6), 3) },
        ),
        (
            true,
            false,
            false,
            false,
            DataAccess { lrid: 1, operand: amount, address, ..each(Transfer::Atomic(4), 3) },
        ),
        (
            true,
            false,
            false,
            false,
            DataAccess { lrid: 1, resp: 3, data, ..each(Transfer::AtomicData, 0) },
        ),
        (
            false,
            false,
            false,
            true,
            DataAccess { multiple: true, data, address, ..each(Transfer::Store, 3) },
        ),
        (
            false,
            false,
            false,
            true,
            DataAccess { operand: amount, address, ..each(Transfer::CasFailure, 3) },
        ),
        (
            false,
            false,
            false,
            true,
            DataAccess { data, operand: amount, address, ..each(Transfer::Atomic(0), 3) },
        ),
        (
            false,
            false,
            false,
            true,
            DataAccess { data, operand: amount, address: Some(0x305), ..each(Transfer::Csr(2), 0) },
        ),
    ] {
        let mut params = Params::default();
        params.data.split = split;
        params.data.lrid_width = 3;
        params.data.no_address = no_address;
        params.data.no_data = no_data;
        params.data.mmacas = mmacas;
        let packet = Packet::from(Payload::Data(access));
        let mut bytes = Vec::new();
        packet.emit(&params, &mut bytes);
        assert_eq!(
            Packet::parse(&bytes, &params),
            Parse::Packet(packet, bytes.len()),
            "{access:?}"
        );
    }
}

/// `explain` lists each field that `parse` reads.
#[test]
fn fields_are_listed() {
    let params = reference();
    let mut names = Vec::new();
    let bytes = [0x42, 0xfe, 0xfa];
    let packet =
        Packet::explain(&bytes, &params, &mut |seen| names.push((seen.name, seen.at, seen.sent)));
    assert_eq!(packet.map(|p| Parse::Packet(p, 3)), Some(Packet::parse(&bytes, &params)));
    let want = [
        ("format", 0, 2),
        ("address", 2, 14),
        ("notify", 65, 0),
        ("updiscon", 66, 0),
        ("irreport", 67, 0),
    ];
    assert_eq!(names, want);
}

/// Addresses whose bits are all below `iaddress_lsb` have no bits in packets.
#[test]
fn addresses_without_bits() {
    let mut random = Random::new(7);
    for (iaddress, iaddress_lsb) in [(2, 1), (2, 2), (2, 3), (3, 3)] {
        for version in [Version::Draft, Version::V1_0, Version::V2_0, Version::V2_1] {
            let mut params = Params::spec(version, false);
            params.link = Params::of(Profile::ReferenceFlow, false).link;
            (params.widths.iaddress, params.widths.iaddress_lsb) = (iaddress, iaddress_lsb);
            for _ in 0..300 {
                let mut bytes = random.bytes(24);
                bytes[0] = 0x40 | bytes[0] & 0x1f;
                let Parse::Packet(packet, _) = Packet::parse(&bytes, &params) else { continue };
                let mut again = Vec::new();
                packet.emit(&params, &mut again);
                let read = Packet::parse(&again, &params);
                assert_eq!(read, Parse::Packet(packet, again.len()), "{version} {bytes:02x?}");
            }
        }
    }
}
