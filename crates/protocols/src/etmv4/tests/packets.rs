//! Every packet, emitted and parsed. (Arm ARM K10.5.2.3 on, and IHI 0064 for packets that an ETE
//! does not have)

use tracewright_base::{Fault, Parse, Security, Wire};

use super::super::{
    Address, Atoms, Before, Conditional, ContextInfo, Exception, Outcome, Packet, Q, SubIsa,
    TraceInfo,
};
use super::{both_ways, commit_mode_1, config, emit, ete_1_0, ete_1_3, etmv4_0, etmv4_6};
use SubIsa::{Is0, Is1};

#[test]
fn trace_info() {
    let none = TraceInfo::default();
    for (bytes, info) in [
        // PLCTL, then INFO, KEY, SPEC, CYCT, WNDW for its bits 0 to 4.
        (&[0x01, 0x00][..], none),
        (&[0x01, 0x01, 0x00], none.with_info(0)),
        (&[0x01, 0x01, 0x41], none.with_info(0x41)),
        (&[0x01, 0x02, 0x05], none.with_key(5)),
        (&[0x01, 0x04, 0x02], none.with_speculation(2)),
        (&[0x01, 0x09, 0x01, 0x16], none.with_info(1).with_threshold(0x16)),
        (&[0x01, 0x08, 0x80, 0x02], none.with_threshold(0x100)),
        (&[0x01, 0x10, 0x7f], none.with_window(0x7f)),
        (
            &[0x01, 0x1f, 0x41, 0x01, 0x02, 0x03, 0xff, 0xff, 0xff, 0xff, 0x0f],
            none.with_info(0x41)
                .with_key(1)
                .with_speculation(2)
                .with_threshold(3)
                .with_window(u32::MAX),
        ),
    ] {
        both_ways(&etmv4_0(), bytes, Packet::TraceInfo(info));
        // An ETE has neither KEY nor WNDW.
        if info.key().is_none() && info.window().is_none() {
            both_ways(&ete_1_3(), bytes, Packet::TraceInfo(info));
        }
    }
    for (bytes, info) in [
        (&[0x01, 0x13, 0x81][..], none.with_info(0x81)),
        (&[0x01, 0x04, 0x81, 0x80, 0x80, 0x80, 0x80, 0x00], none.with_speculation(1)),
        (&[0x01, 0x08, 0x80, 0x80, 0x80, 0x80, 0x10], none.with_threshold(u32::MAX)),
    ] {
        let parsed = Packet::parse(bytes, &ete_1_3());
        assert_eq!(parsed, Parse::Packet(Packet::TraceInfo(info), bytes.len()));
    }
    // Of the 14th byte of a field five bits are used.
    let mut long = std::vec![0x80; 16];
    long[..3].copy_from_slice(&[0x01, 0x04, 0x83]);
    for (last, want) in [(0x1f, u32::MAX), (0x00, 3)] {
        long[15] = last;
        let packet = Packet::TraceInfo(none.with_speculation(want));
        assert_eq!(Packet::parse(&long, &ete_1_3()), Parse::Packet(packet, 16));
    }
    long[15] = 0x20;
    assert_eq!(Packet::parse(&long, &ete_1_3()), Parse::Bad(16, Fault::Overlong));
    let info = none.with_info(0x41).with_threshold(0x16);
    assert!(info.cycle_counting() && info.in_transaction());
    assert_eq!((info.key(), info.threshold()), (None, Some(0x16)));
    // Bytes that continue PLCTL are skipped.
    let longer = Packet::parse(&[0x01, 0x81, 0x80, 0x00, 0x41], &etmv4_0());
    assert_eq!(longer, Parse::Packet(Packet::TraceInfo(none.with_info(0x41)), 5));
}

#[test]
fn time_and_cycles() {
    let time = |bits, count, cycles| Packet::Timestamp { bits, count, cycles };
    let one = |commit, cycles| Packet::CycleCount1 { commit, cycles };
    let two = |from_max, commit, cycles| Packet::CycleCount2 { from_max, commit, cycles };
    for (bytes, packet) in [
        (&[0x02, 0x11][..], time(0x11, 7, None)),
        (&[0x02, 0x80, 0x00], time(0, 14, None)),
        (&[0x02, 0xd7, 0xdf, 0x01], time(0x6fd7, 21, None)),
        (&[0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], time((1 << 56) - 1, 56, None)),
        (&[0x02, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0xff], time(0xff << 56, 64, None)),
        (&[0x03, 0x11, 0x05], time(0x11, 7, Some(5))),
        (&[0x03, 0x11, 0xff, 0xff, 0x3f], time(0x11, 7, Some(0xf_ffff))),
        (&[0x0e, 0x00, 0x1e], one(Some(0), Some(0x1e))),
        (&[0x0e, 0x81, 0x01, 0x80, 0x01], one(Some(0x81), Some(0x80))),
        (&[0x0f, 0x04], one(Some(4), None)),
        (&[0x0c, 0x25], two(false, 2, 5)),
        (&[0x0d, 0xf5], two(true, 15, 5)),
        (&[0x16], Packet::CycleCount3 { commit: 1, cycles: 2 }),
        (&[0x88], Packet::TimestampMarker),
        (&[0x7a], Packet::Event(0b1010)),
    ] {
        both_ways(&ete_1_3(), bytes, packet);
    }
    // In commit mode 1 there is no commit count.
    both_ways(&commit_mode_1(), &[0x0e, 0x1e], one(None, Some(0x1e)));
    both_ways(&commit_mode_1(), &[0x0f], one(None, None));
}

#[test]
fn speculation() {
    let cancel = |count, mispredict| Packet::Cancel1 { count, mispredict };
    for (bytes, packet) in [
        (&[0x2d, 0x74][..], Packet::Commit(116)),
        (&[0x2d, 0xff, 0xff, 0xff, 0xff, 0x0f], Packet::Commit(u32::MAX)),
        (&[0x2e, 0x04], cancel(4, false)),
        (&[0x2f, 0x80, 0x01], cancel(128, true)),
        (&[0x33], Packet::Mispredict(Before::N)),
        (&[0x36], Packet::Cancel2(Before::EE)),
        (&[0x3b], Packet::Cancel3 { atom: true, count: 3 }),
        (&[0x00, 0x03], Packet::Discard),
        (&[0x00, 0x05], Packet::Overflow),
        (&[0x04], Packet::TraceOn),
    ] {
        for config in [etmv4_0(), ete_1_3()] {
            both_ways(&config, bytes, packet);
        }
    }
}

#[test]
fn addresses() {
    let forms = [
        (&[][..], Address::Match(0), 0),
        (&[0x59][..], Address::Short { is: Is0, bits: 0x164, count: 9 }, 1),
        (&[0xaf, 0x17], Address::Short { is: Is0, bits: 0x2ebc, count: 17 }, 1),
        (&[0x80, 0x00], Address::Short { is: Is0, bits: 0, count: 17 }, 1),
        (&[0x7f], Address::Short { is: Is1, bits: 0xfe, count: 8 }, 2),
        (&[0xff, 0xff], Address::Short { is: Is1, bits: 0xfffe, count: 16 }, 2),
        (&[0x42, 0x3d, 0x0a, 0x00], Address::Long32 { is: Is0, bits: 0xa_7b08 }, 3),
        (&[0x01, 0x9a, 0x4f, 0x00], Address::Long32 { is: Is1, bits: 0x4f_9a02 }, 4),
        (
            &[0x7f, 0x7f, 1, 2, 3, 4, 5, 0xff],
            Address::Long64 { is: Is0, bits: 0xff05_0403_0201_fffc },
            5,
        ),
        (
            &[0x7f, 0xff, 1, 2, 3, 4, 5, 0xff],
            Address::Long64 { is: Is1, bits: 0xff05_0403_0201_fffe },
            6,
        ),
    ];
    // Headers by form: target address, source address, Q element; 0 if there is none.
    let headers = [
        (0x90, 0xb0, 0xa0),
        (0x95, 0xb4, 0xa5),
        (0x96, 0xb5, 0xa6),
        (0x9a, 0xb6, 0xaa),
        (0x9b, 0xb7, 0xab),
        (0x9d, 0xb8, 0),
        (0x9e, 0xb9, 0),
    ];
    for (payload, address, form) in forms {
        let (target, source, q) = headers[form];
        both_ways(&etmv4_0(), &[&[target], payload].concat(), Packet::Address(address));
        both_ways(&ete_1_3(), &[&[source], payload].concat(), Packet::SourceAddress(address));
        if q != 0 {
            let bytes = [&[q], payload, &[0x83, 0x01]].concat();
            both_ways(&ete_1_3(), &bytes, Packet::Q(Q::To(address, 0x83)));
        }
    }
    for n in 0..3 {
        both_ways(&ete_1_3(), &[0x90 | n], Packet::Address(Address::Match(n)));
        both_ways(&ete_1_3(), &[0xb0 | n], Packet::SourceAddress(Address::Match(n)));
        both_ways(&ete_1_3(), &[0xa0 | n, 7], Packet::Q(Q::To(Address::Match(n), 7)));
    }
    both_ways(&ete_1_3(), &[0xac, 0x02], Packet::Q(Q::Counted(2)));
    both_ways(&ete_1_3(), &[0xaf], Packet::Q(Q::Uncounted));
    // Bit 7 of a byte with 7 address bits is ignored.
    let address = Packet::Address(Address::Long32 { is: Is0, bits: 0xa_7b08 });
    assert_eq!(
        Packet::parse(&[0x9a, 0xc2, 0xbd, 0x0a, 0x00], &etmv4_0()),
        Parse::Packet(address, 5)
    );
}

#[test]
fn contexts() {
    let context = ContextInfo::new(1, Security::Secure, true);
    for (payload, context) in [
        (&[0x11][..], context),
        (&[0x30], ContextInfo::new(0, Security::NonSecure, true)),
        (&[0x1b], ContextInfo::new(3, Security::Root, true)),
        (&[0x3a], ContextInfo::new(2, Security::Realm, true)),
        (&[0x00], ContextInfo::new(0, Security::Secure, false)),
        (&[0x91, 0xaa, 0, 0, 0], context.with_context_id(0xaa)),
        (&[0x51, 1, 2, 3, 4], context.with_vmid(0x0403_0201)),
        (
            &[0xd1, 1, 2, 3, 4, 5, 6, 7, 8],
            context.with_vmid(0x0403_0201).with_context_id(0x0807_0605),
        ),
    ] {
        both_ways(&ete_1_0(), &[&[0x81], payload].concat(), Packet::Context(Some(context)));
        let address = Address::Long32 { is: Is0, bits: 0x1000 };
        let bytes = [&[0x82, 0x00, 0x08, 0x00, 0x00], payload].concat();
        both_ways(&ete_1_0(), &bytes, Packet::AddressContext(address, context));
        let address = Address::Long64 { is: Is1, bits: 0x1000 };
        let bytes = [&[0x86, 0x00, 0x10, 0, 0, 0, 0, 0, 0], payload].concat();
        both_ways(&ete_1_0(), &bytes, Packet::AddressContext(address, context));
    }
    both_ways(&ete_1_0(), &[0x80], Packet::Context(None));

    // TRCIDR2.VMIDSIZE and CIDSIZE determine the number of bytes. Where they are 0 an ETE has 4.
    for (idr2, payload, want) in [
        (0x0488, &[0x51, 0x07][..], context.with_vmid(7)),
        (0x0888, &[0x51, 0x07, 0x01], context.with_vmid(0x107)),
        (0x0088, &[0x51, 0x07, 0, 0, 0x01], context.with_vmid(0x100_0007)),
        (0x0408, &[0xd1, 0x07, 0x09, 0, 0, 0], context.with_vmid(7).with_context_id(9)),
    ] {
        let config = config(true, None, &[("TRCIDR2", idr2)]);
        let bytes = [&[0x81], payload].concat();
        let packet = Packet::Context(Some(want));
        assert_eq!(Packet::parse(&bytes, &config), Parse::Packet(packet, bytes.len()));
    }
    // An ETMv4.0 has 8 bits or none.
    let old = config(false, None, &[("TRCIDR1", 0x4100_f400)]);
    assert_eq!(
        Packet::parse(&[0x81, 0x51], &old),
        Parse::Packet(Packet::Context(Some(context)), 2)
    );
}

#[test]
fn exceptions() {
    let e =
        Exception { number: 14, also_target: false, unknown_address: false, fault_pending: false };
    let unknown = |number| Exception { number, unknown_address: true, ..e };
    for (bytes, exception) in [
        (&[0x06, 0x1d][..], e),
        (&[0x06, 0x5c], Exception { also_target: true, ..e }),
        (&[0x06, 0x3f], Exception { number: 31, ..e }),
    ] {
        for config in [etmv4_0(), ete_1_0()] {
            both_ways(&config, bytes, Packet::Exception(exception));
        }
    }
    // TYPE [9:5] and P. (M profile)
    for (bytes, exception) in [
        (&[0x06, 0x91, 0x10][..], Exception { number: 0x208, ..e }),
        (&[0x06, 0x89, 0x20], Exception { number: 4, fault_pending: true, ..e }),
        (
            &[0x06, 0xfe, 0x3f],
            Exception { number: 0x3ff, also_target: true, fault_pending: true, ..e },
        ),
    ] {
        both_ways(&etmv4_6(), bytes, Packet::Exception(exception));
    }
    // An unknown address, of any type.
    for (bytes, exception) in [
        (&[0x06, 0x01, 0x70][..], unknown(0)),
        (&[0x06, 0x31, 0x70], unknown(Exception::TRANSACTION_FAILURE)),
        (&[0x06, 0x33, 0x70], unknown(25)),
        (&[0x06, 0x1d, 0x70], unknown(14)),
        (&[0x06, 0x70, 0x70], Exception { also_target: true, ..unknown(24) }),
    ] {
        both_ways(&ete_1_0(), bytes, Packet::Exception(exception));
    }
    // A reset with a known address, and an Ignore packet after an exception.
    for (config, bytes, number) in
        [(ete_1_0(), [0x06, 0x01, 0x9a], 0), (etmv4_6(), [0x06, 0x01, 0x70], 0)]
    {
        let packet = Packet::Exception(Exception { number, ..e });
        assert_eq!(Packet::parse(&bytes, &config), Parse::Packet(packet, 2));
    }
    // Bit 7 has no meaning in an ETE.
    let packet = Packet::Exception(Exception { number: 14, ..e });
    assert_eq!(Packet::parse(&[0x06, 0x9d, 0x9a], &ete_1_0()), Parse::Packet(packet, 2));
    // E must be 01 or 10.
    for (config, payload, len) in [
        (etmv4_0(), 0x1c, 2),
        (etmv4_0(), 0x5d, 2),
        (ete_1_0(), 0x5d, 2),
        (ete_1_0(), 0x9c, 2),
        (etmv4_6(), 0x9c, 3),
    ] {
        let parsed = Packet::parse(&[0x06, payload, 0x00], &config);
        assert_eq!(parsed, Parse::Bad(len, Fault::Reserved(0x06)), "{payload:02x}");
    }
}

#[test]
fn only_in_an_etmv4() {
    let key = |result, key, interleaved| Outcome { result, key, interleaved };
    for (bytes, conditional) in [
        (&[0x6c, 0x05][..], Conditional::Instruction1 { key: 5 }),
        (&[0x42], Conditional::Instruction2(2)),
        (&[0x6d, 0x07], Conditional::Instruction3 { count: 3, last: true }),
        (&[0x43], Conditional::Flush),
        (&[0x6e, 0x53], Conditional::Result1 { first: key(3, 5, false), second: None }),
        (&[0x6f, 0xd3, 0x01], Conditional::Result1 { first: key(3, 13, true), second: None }),
        (
            &[0x69, 0xd3, 0x81, 0x01, 0x02],
            Conditional::Result1 { first: key(3, 13 + 1024, true), second: Some(key(2, 0, false)) },
        ),
        (
            &[0x6a, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            Conditional::Result1 { first: key(0, 0, false), second: Some(key(15, u32::MAX, true)) },
        ),
        (&[0x4d], Conditional::Result2 { skip: true, token: 1 }),
        (&[0x48], Conditional::Result2 { skip: false, token: 0 }),
        (&[0x5a, 0x12], Conditional::Result3 { tokens: 0xa12 }),
        (&[0x46], Conditional::Result4 { token: 2 }),
    ] {
        both_ways(&etmv4_6(), bytes, Packet::Conditional(conditional));
    }
    for (bytes, packet) in [
        (&[0x05][..], Packet::FunctionReturn),
        (&[0x07], Packet::ExceptionReturn),
        (&[0x23], Packet::NumberedSync(3)),
        (&[0x2c], Packet::UnnumberedSync(4)),
        (&[0x70], Packet::Ignore),
    ] {
        both_ways(&etmv4_6(), bytes, packet);
    }
}

#[test]
fn only_in_an_ete() {
    for (bytes, packet) in [
        (&[0x0a][..], Packet::TransactionStart),
        (&[0x0b], Packet::TransactionCommit),
        (
            &[0x09, 0x01, 8, 7, 6, 5, 4, 3, 2, 1],
            Packet::Instrumentation { el: 1, value: 0x0102_0304_0506_0708 },
        ),
    ] {
        both_ways(&ete_1_3(), bytes, packet);
    }
}

/// Packets without an encoding are emitted as equivalent packets.
#[test]
fn without_a_form_of_their_own() {
    let far = Address::Long64 { is: Is0, bits: 0x1_0000_1000 };
    let q = emit(&ete_1_3(), &Packet::Q(Q::To(far, 2)));
    assert_eq!(q, [0xac, 0x02, 0x9d, 0x00, 0x08, 0, 0, 1, 0, 0, 0]);
    let context = ContextInfo::new(1, Security::Secure, true);
    let near = Address::Short { is: Is0, bits: 0x164, count: 9 };
    let both = emit(&ete_1_3(), &Packet::AddressContext(near, context));
    assert_eq!(both, [0x95, 0x59, 0x81, 0x11]);
}

/// Only the atoms of a header are possible.
#[test]
fn atoms() {
    for header in 0xc0..=0xff {
        let atoms = Atoms::from_header(header).unwrap();
        assert_eq!(Atoms::new(atoms.bits(), atoms.len()), Some(atoms));
        both_ways(&ete_1_0(), &[header], Packet::Atoms(atoms));
    }
    for header in 0x00..0xc0 {
        assert_eq!(Atoms::from_header(header), None);
    }
    for (bits, len) in
        [(0, 0), (0b10, 1), (0b0110, 4), (0b00110, 5), (0, 6), (1 << 24, 24), (0, 40)]
    {
        assert_eq!(Atoms::new(bits, len), None, "{bits:b} {len}");
    }
}
