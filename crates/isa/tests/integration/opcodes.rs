//! Custom opcodes: descriptions, round trips of their text, and errors.

use tracewright_base::{Instruction, Isa, Kind, Role};
use tracewright_isa::rv::opcodes::{Key, MAX_OPCODES, WrongOpcode};
use tracewright_isa::rv::{self, Custom, Extensions, Opcode, Opcodes};

use Isa::{Rv32, Rv64};

const AT: u64 = 0x8000_0000;

fn table(texts: &[&str]) -> Extensions {
    let mut opcodes = Opcodes::NONE;
    for text in texts {
        opcodes.push(text.parse().expect(text)).expect("room");
    }
    Extensions { opcodes, ..Extensions::NONE }
}

/// The named offsets have the encodings of the standard branches and jumps: the table and the
/// classifier agree on every opcode.
#[test]
fn named_offsets() {
    let standard = table(&[
        "mask=0x7f match=0x63 kind=branch offset=B",
        "mask=0xfff match=0x06f kind=jump offset=J",
        "mask=0xfff match=0x0ef kind=call offset=J",
        "mask=0x7f match=0x6f kind=link offset=J",
        "mask=0xc003 match=0xc001 kind=branch offset=CB",
        "mask=0xe003 match=0xa001 kind=jump offset=CJ",
    ]);
    let mut seed = 1u64;
    let mut hits = 0;
    for n in 0..200_000u64 {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(n);
        let low = [0x63, 0x6f, 0xef, 0x2ef, 0xc001, 0xe001, 0xa001][(n % 7) as usize];
        let bits = match low {
            0x63 => (seed >> 32) as u32 & !0x7f | low,
            0x6f | 0xef | 0x2ef => (seed >> 32) as u32 & !0xfff | low,
            _ => (seed >> 32) as u32 & 0x1ffc | low,
        };
        let want = rv::standard(Rv64, bits, AT, false);
        // Reserved conditions; X5 is a link register, too.
        if want.kind == Kind::Undefined || low == 0x2ef {
            continue;
        }
        hits += 1;
        assert_eq!(standard.custom(Rv64, bits.into(), AT), Some(want), "{bits:08x}");
    }
    assert!(hits > 100_000);
}

/// Opcodes of real processors, each with bits as their tools print them.
#[test]
fn opcodes_of_vendors() {
    let extensions = table(&[
        // CORE-V XCVbi
        "name=cv.beqimm mask=0x707f match=0x600b kind=branch offset=B",
        // Andes XAndesPerf: nds.bbc, nds.bbs; nds.beqc, nds.bnec
        "name=nds.bb mask=0x707f match=0x705b kind=branch offset=31,29:25,11:8",
        // Qualcomm Xqcilb, 48 bits
        "name=qc.e.j mask=0x1f1f07f match=0x401f kind=jump offset=47:32,19:17,31,7,30:25,11:8",
        "name=qc.e.jal mask=0x1f1f07f match=0xc01f kind=call offset=47:32,19:17,31,7,30:25,11:8",
        // A CSR access that jumps
        "name=jalmnxti mask=0xfff0707f match=0x7ed01073 kind=call",
        "mask=0xffff match=0x8102 kind=return",
        "mask=0xffff match=0x8202 kind=swap",
        "mask=0xffff match=0x8302 kind=trap-return",
        "mask=0xffff match=0x8402 kind=plain",
        "mask=0x7f match=0x7b length=8 kind=plain",
    ]);
    let (branch, indirect) = (Kind::Branch, Kind::Indirect);
    for (bits, kind, role, size, conditional, by) in [
        (0x0055_660b, branch, Role::Jump, 4, true, Some(12)),
        (0xfe25_7a5b, branch, Role::Jump, 4, true, Some(-1024 + 2 * (0x1f << 4 | 10))),
        (0x0000_0000_8000_0000_401f, branch, Role::Jump, 6, false, Some(-0x8000_0000)),
        (0x7fff_fe0e_cc9f, branch, Role::Call, 6, false, Some(0x7fff_fff8)),
        (0xffff_f80e_c69f, branch, Role::Call, 6, false, Some(-116)),
        (0x7ed0_90f3, indirect, Role::Call, 4, false, None),
        (0x8102, indirect, Role::Return, 2, false, None),
        (0x1234_8202, indirect, Role::Swap, 2, false, None),
        (0x8302, indirect, Role::ExceptionReturn, 2, false, None),
        (0x8402, Kind::Plain, Role::Jump, 2, false, None),
        (0x7b, Kind::Plain, Role::Jump, 8, false, None),
        (0x0000_0013, Kind::Plain, Role::Jump, 4, false, None),
    ] {
        let bits: i128 = bits;
        let (bits, isa) = (bits as u64, Rv32);
        let target = by.map(|by: i64| AT.wrapping_add_signed(by) & isa.address_mask());
        let want = Instruction { kind, role, size, conditional, isa, target_isa: isa, target };
        assert_eq!(rv::classify(isa, bits, AT, &extensions), want, "{bits:x}");
    }
}

/// Formatted and parsed, an opcode is unchanged.
#[test]
fn text_round_trip() {
    for text in [
        "name=cv.beqimm mask=0x707f match=0x600b kind=branch offset=B",
        "mask=0x7f match=0x5b kind=jump offset=31:12",
        "mask=0x7f match=0x5b kind=jump offset=31:12 scale=4",
        "mask=0x707f match=0x205b kind=branch offset=J scale=1",
        "mask=0xffff match=0xa002 length=4 kind=return",
        "mask=0xffffffffffff match=0x1f length=8 kind=plain",
        "mask=0xfff0707f match=0x7ed01073 kind=call",
    ] {
        let opcode: Opcode = text.parse().expect(text);
        assert_eq!(opcode.to_string(), text);
        assert_eq!(opcode.to_string().parse(), Ok(opcode));
    }
    let loose = "kind=branch   match=0b110_0000_0000_1011 offset=31,7,30:25,11:8 mask=28_799";
    let tight = "mask=0x707f match=0x600b kind=branch offset=B";
    assert_eq!(loose.parse::<Opcode>(), tight.parse());
}

#[test]
fn invalid_descriptions_are_reported() {
    use WrongOpcode::{Missing, NoOffset, NoPair, TooMany, Twice, Unknown, Unmasked, Wrong};
    for (text, want, message) in [
        ("", Missing(Key::Mask), "`mask` is missing"),
        ("mask=1 kind=plain", Missing(Key::Match), "`match` is missing"),
        ("mask=0x7f match=0x5b", Missing(Key::Kind), "`kind` is missing"),
        ("mask=0x7f match=0x5b kind=branch", Missing(Key::Offset), "`offset` is missing"),
        ("mask=0x7f match=0x5b kind=jump scale=4", Missing(Key::Offset), "`offset` is missing"),
        ("mask=0x7f match=0x5b kind=brnch", Wrong(Key::Kind), "one of plain branch jump call"),
        ("mask=0x7f match=0x5g kind=plain", Wrong(Key::Match), "`match` must be a number"),
        ("mask=0 match=0 kind=plain", Wrong(Key::Mask), "not 0"),
        ("mask=0x1ffff match=0x2 kind=plain", Wrong(Key::Mask), "beyond the opcode's length"),
        ("mask=0x7f match=0x5b length=3 kind=plain", Wrong(Key::Length), "2, 4, 6 or 8"),
        ("mask=0x7f match=0x5b kind=jump offset=7:11", Wrong(Key::Offset), "31,7,30:25,11:8"),
        ("mask=0x7f match=0x5b kind=jump offset=32:20", Wrong(Key::Offset), "`offset`"),
        (
            "mask=0x7f match=0x5b kind=jump offset=1,2,3,4,5,6,7,8,9",
            Wrong(Key::Offset),
            "at most 8",
        ),
        ("mask=0x7f match=0x5b kind=jump offset=J scale=3", Wrong(Key::Scale), "1, 2, 4 or 8"),
        (
            "mask=0x7f match=0x5b kind=return offset=J",
            NoOffset,
            "other kinds have no direct target",
        ),
        ("mask=0x7f match=0xdb kind=plain", Unmasked, "`match` has bits that `mask` has not"),
        ("mask=0x7f mask=0x7f match=0x5b kind=plain", Twice, "twice"),
        ("mask=0x7f match=0x5b kind=plain size=4", Unknown, "the keys are name mask match length"),
        ("mask=0x7f match=0x5b plain", NoPair, "NAME=VALUE"),
        ("name=averyveryverylongname mask=1 match=1 kind=plain", Wrong(Key::Name), "1 to 15"),
    ] {
        let got = text.parse::<Opcode>().expect_err(text);
        assert_eq!(got, want, "{text}");
        assert!(got.to_string().contains(message), "{got}");
    }
    let mut full = Opcodes::NONE;
    let opcode: Opcode = "mask=0x7f match=0x5b kind=plain".parse().expect("an opcode");
    for n in 0..MAX_OPCODES {
        assert_eq!(full.as_slice().len(), n);
        assert_eq!(full.push(opcode), Ok(()));
    }
    assert_eq!(full.push(opcode), Err(TooMany));
}

/// Any offset of any bits: nothing panics.
#[test]
fn offsets_of_all_widths() {
    for width in 1..=60 {
        let text = format!("mask=3 match=3 length=8 kind=jump offset={}:0 scale=8", width - 1);
        let opcode: Opcode = text.parse().expect(&text);
        let back = opcode.instruction(Rv64, !0, AT).target;
        assert_eq!(back, Some(AT - 8), "all ones are -1: {text}");
    }
    let wide = "mask=3 match=3 length=8 kind=jump offset=63:0";
    assert_eq!(wide.parse::<Opcode>(), Err(WrongOpcode::Wrong(Key::Offset)));
}

/// A function has precedence over the table.
#[test]
fn a_function_has_precedence() {
    let mut extensions = table(&["mask=0x7f match=0x0b kind=return"]);
    assert!(extensions.has_custom());
    extensions.custom = Some(Custom(|isa, opcode, address| {
        let plain = rv::standard(isa, 0x13, address, false);
        (opcode & 0xfff == 0x00b).then_some(plain)
    }));
    let kind = |opcode| rv::classify(Rv32, opcode, AT, &extensions).kind;
    assert_eq!((kind(0x00b), kind(0x10b)), (Kind::Plain, Kind::Indirect));
    assert!(!Extensions::NONE.has_custom());
}
