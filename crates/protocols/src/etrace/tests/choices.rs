//! The choices that the specifications leave open, and their effect on packets. The cases
//! `tests/cases/etrace/choice-*` and `draft-*` have their effect on decoders.

use std::string::ToString;
use std::vec::Vec;

use tracewright_base::{Context, Encode, Isa, Parse, Step, Wire};

use super::examples::{plain, taken};
use crate::etrace::config::{
    Compression, Difference, Framing, MessageType, Padding, Profile, Sync, Version,
};
use crate::etrace::encode::{ContextType, Encoder, Itype, Settings, SyncPosition};
use crate::etrace::packet::{Branches, Map, Payload, PrivilegeContext, Report, Start, Support};
use crate::etrace::{Packet, Params};

fn draft() -> Params {
    Params::spec(Version::Draft, false)
}

fn bytes(payload: Payload, params: &Params) -> Vec<u8> {
    let mut bytes = Vec::new();
    Packet::from(payload).emit(params, &mut bytes);
    assert_eq!(
        Packet::parse(&bytes, params),
        Parse::Packet(Packet::from(payload), bytes.len()),
        "{bytes:02x?}"
    );
    bytes
}

fn encode(steps: &[Step], params: &Params, settings: &Settings) -> Vec<Payload> {
    let (mut encoder, mut packets) = (Encoder::new(params, settings), Vec::<Packet>::new());
    steps.iter().for_each(|step| encoder.step(step, params, &mut packets));
    encoder.finish(params, &mut packets);
    packets.into_iter().map(|packet| packet.payload).collect()
}

/// An address and its difference to the one before, in either direction.
#[test]
fn differences() {
    for (choice, want) in
        [(Difference::CurrentMinusPrevious, 0x800), (Difference::PreviousMinusCurrent, 0x7fff_f800)]
    {
        let mut params = draft();
        params.choices.difference = choice;
        let steps = [plain(0x1000), super::examples::jump(0x1004, 0x2000), plain(0x2000)];
        let report = encode(&steps, &params, &Settings::default())
            .into_iter()
            .find_map(|payload| payload.report().copied());
        assert_eq!(report.map(|report| report.address), Some(want), "{choice}");
    }
}

/// 0.026, formats 0 and 1: the format marks a full address, whatever the mode is.
#[test]
fn full_addresses_are_tagged() {
    for full in [false, true] {
        let map = Map { bits: 1, len: 1 };
        let report = Some(Report { address: 5, ..Report::default() });
        let packet = Payload::Branches(Branches { full, map, report });
        for mode in [false, true] {
            let mut params = draft();
            params.options.full_address = mode;
            bytes(packet, &params);
        }
    }
}

/// The bits that compression omits, and padding: reading always extends the sign.
#[test]
fn compression_and_padding() {
    let report = Report { address: 0x7fff_fff0, ..Report::default() };
    for (compression, padding, want) in [
        (Compression::Whole, Padding::Sign, &[0x41, 0xc2][..]),
        // Padding with zeros differs from the sign: nothing can be omitted.
        (Compression::Whole, Padding::Zero, &[0x45, 0xc2, 0xff, 0xff, 0xff, 0x0f]),
        (Compression::None, Padding::Sign, &[0x45, 0xc2, 0xff, 0xff, 0xff, 0xff]),
        (Compression::None, Padding::Zero, &[0x45, 0xc2, 0xff, 0xff, 0xff, 0x0f]),
        // Closed up: 9 bits of the address, and the flags.
        (Compression::Address, Padding::Zero, &[0x42, 0xc2, 0x3f]),
    ] {
        let mut params = Params::of(Profile::ReferenceFlow, false);
        params.widths.iaddress = 32;
        (params.choices.compression, params.choices.padding) = (compression, padding);
        params.choices.plain_notify = false;
        let got = bytes(Payload::Address(report), &params);
        assert_eq!(got, want, "{compression} {padding}: {got:02x?}");
    }
}

/// `msg_type` before te_inst, as te_support has it, or in the header. (0.026, Table 6.4)
#[test]
fn message_types() {
    let start = Payload::Start(Start {
        branch: false,
        privilege_context: PrivilegeContext { privilege: 3, ..PrivilegeContext::default() },
        address: 0x800,
    });
    let support = Payload::Support(Support { enabled: true, ..Support::default() });
    let mut params = draft();
    params.widths.context = 0;
    for (choice, want) in [
        (MessageType::Payload, [&[0x43, 0xce, 0x00, 0x10][..], &[0x42, 0xd0, 0x10]]),
        (MessageType::Header, [&[0x43, 0x33, 0x00, 0x04], &[0x02, 0x34, 0x04]]),
    ] {
        params.choices.message_type = choice;
        assert_eq!([bytes(start, &params), bytes(support, &params)], want, "{choice}");
    }
    // PULP's `trdb` has another header, and no te_support.
    params.link.framing = Framing::PulpTrdb;
    assert_eq!(bytes(start, &params)[0] >> 4 & 0b11, 2);
}

/// The unit of the resynchronisation period.
#[test]
fn periods() {
    // A loop with a taken branch; each iteration is a cycle.
    let steps: Vec<Step> =
        (0..180).flat_map(|_| [Step::Cycles(1), plain(0x1000), taken(0x1004, 0x1000)]).collect();
    for (unit, max, want) in [
        // Between two starts are a full map of 31 branches and a packet with the next one.
        (Sync::Packets, 1, 1 + 180 / 32),
        (Sync::Cycles, 50, 4),
        (Sync::Halfwords, 200, 4),
        (Sync::Halfwords, 100, 8),
    ] {
        let mut params = Params::default();
        (params.choices.resync, params.choices.resync_max) = (unit, max);
        let settings = Settings { sync_position: Some(SyncPosition::Next), ..Settings::default() };
        let payloads = encode(&steps, &params, &settings);
        let starts = payloads.iter().filter(|p| matches!(p, Payload::Start(_))).count();
        assert_eq!(starts, want, "{unit} {max}");
        params.options.resync_disabled = true;
        let payloads = encode(&steps, &params, &settings);
        let starts = payloads.iter().filter(|p| matches!(p, Payload::Start(_))).count();
        assert_eq!(starts, 1, "{unit}");
    }
}

fn context(id: u32) -> Step {
    Step::Context(Context {
        el: Some(3),
        context_id: Some(id),
        isa: Isa::Rv32,
        ..Context::default()
    })
}

/// 0.026: whether a context packet waits until all branches are reported.
#[test]
fn contexts_and_branches() {
    let branch = taken(0x1000, 0x1000);
    let steps =
        [plain(0x1000), branch, context(7), plain(0x1000), branch, plain(0x1000), plain(0x1004)];
    for (flushes, want) in [(true, ["start", "branches"]), (false, ["start", "context"])] {
        let mut params = draft();
        params.choices.context_flushes = flushes;
        let settings = Settings { context_type: ContextType::Imprecise, ..Settings::default() };
        let kinds: Vec<_> = encode(&steps, &params, &settings)
            .iter()
            .filter_map(|payload| match payload {
                Payload::Start(_) => Some("start"),
                Payload::Context(_) => Some("context"),
                Payload::Branches(_) => Some("branches"),
                _ => None,
            })
            .collect();
        assert_eq!(kinds[..2], want);
    }
}

/// 0.026: a notification is a packet of format 2 like others.
#[test]
fn notifications_are_not_marked() {
    let steps = [plain(0x1000), Step::Trigger, plain(0x1004), plain(0x1008), plain(0x100c)];
    let reports = |params: &Params| -> Vec<Report> {
        let payloads = encode(&steps, params, &Settings::default());
        payloads.iter().filter_map(|payload| payload.report().copied()).collect()
    };
    let unmarked = |address| Report { address, ..Report::default() };
    assert_eq!(reports(&draft()), [unmarked(2), unmarked(4)]);
    let later = Params::spec(Version::V2_0, false);
    assert_eq!(reports(&later), [Report { notify: true, ..unmarked(2) }, unmarked(4)]);
}

/// 0.026, Table 3.4 has termination type 4, which Table 3.1 reserves, for C.JALR.
#[test]
fn termination_type_4() {
    let mut params = draft();
    assert_eq!(Itype::read(4, &params), None);
    params.choices.itype4_call = true;
    assert_eq!(Itype::read(4, &params), Some(Itype::UninferableCall));
    assert_eq!(Itype::read(8, &params), Some(Itype::UninferableCall));
    let later = Params::default();
    assert_eq!(Itype::read(4, &later), Some(Itype::NotTaken));
}

/// Addresses of 128 bits are refused, and not truncated.
#[test]
fn wide_addresses() {
    let refused = Params::from_text("version = \"0.026\"\niaddress_width = 128").unwrap_err();
    let want = "line 2: `iaddress_width` cannot be `128`; it is a number from 2 to 64";
    assert_eq!(refused.to_string(), want);
}

/// Discovery: a text by the names of the specification, "+1" applied, and back.
#[test]
fn discovery() {
    let text = "version = \"0.026\"\ncontext_width = 8\niaddress_width = 32\nprivilege_width = 2\n\
        ecause_width = 5\nrv32 = 1\nntkn_width = 4\ntaken_branches = 3\ncomparators = 4\nfilters = 2\n\
        filter_ecause = 3\necause_choice = 5\nnocontext = 0\nnotval = 1\nitype_width = 4\n";
    let params = Params::from_text(text).unwrap();
    assert_eq!((params.widths.context, params.widths.iaddress, params.rv64), (8, 32, false));
    assert_eq!((params.port.ntkn_width, params.port.taken_branches), (4, 3));
    assert_eq!((params.port.comparators, params.port.filters, params.widths.tval), (4, 2, 0));
    assert_eq!(Params::from_text(&params.to_text()), Ok(params));
}

/// A checkpoint of a decoder is a small copy: tables are allocated only if their modes are on.
#[test]
fn decoders_are_small() {
    assert!(size_of::<crate::etrace::Decoder>() <= 640, "{}", size_of::<crate::etrace::Decoder>());
}
