//! Programs in sentences.

use crate::catalogue;
use crate::etm::Etm;
use crate::etm::version::Version;
use crate::request::{Condition, Occurrence, Request};
use crate::unit::Unit;
use crate::values::{self, Values};

fn explained(values: &[(&str, u64)]) -> String {
    let base = [("ETMCR", 0xc), ("ETMTEEVR", 0x6f), ("ETMTECR1", 1 << 24), ("ETMTECR2", 0)];
    let values: Values = base.into_iter().chain(values.iter().copied()).collect();
    Etm::named("ETMv3.4").unwrap().explain(&values).join("\n")
}

/// Table 3-19: the regions in which FIFOFULL can be asserted.
#[test]
fn regions_of_fifofull() {
    let range = [
        ("ETMCR", 0x8c),
        ("ETMFFLR", 20),
        ("ETMACVR1", 0x8000),
        ("ETMACTR1", 0x19),
        ("ETMACVR2", 0x9000),
        ("ETMACTR2", 0x19),
    ];
    let waits = "The processor waits while less than 20 bytes of the FIFO are free";
    for (region, want) in [
        (Some(1 << 24), format!("{waits}.")),
        (Some(1 << 24 | 1), format!("{waits}, other than at execution of 0x8000..0x9000.")),
        (Some(1), format!("{waits}, at execution of 0x8000..0x9000.")),
        (Some(0), "The processor does not wait for the FIFO: ETMFFRR selects no".to_owned()),
        (None, format!("{waits}, where ETMFFRR selects, which is not known.")),
    ] {
        let mut values = range.to_vec();
        values.extend(region.map(|region| ("ETMFFRR", region)));
        let text = explained(&values);
        assert!(text.contains(&want), "{region:?}: {text}");
    }
}

/// Registers that are not known select what is not known.
#[test]
fn unknown_selections() {
    let text = explained(&[("ETMVDEVR", 0x6f), ("ETMVDCR2", 0), ("ETMVDCR3", 0)]);
    assert!(text.contains("traced instructions: where ETMVDCR1 selects, which is"), "{text}");
    let text = explained(&[]);
    let want = "where ETMVDCR1 and ETMVDCR2 and ETMVDCR3 select, which are not known, while \
                the event of ETMVDEVR, which is not known.";
    assert!(text.contains(want), "{text}");
    let unit = Etm::named("ETMv3.4").unwrap();
    let values = [("ETMTECR1", 0), ("ETMTEEVR", 0x6f)].into_iter().collect();
    let text = unit.explain(&values).join("\n");
    assert!(text.contains("Traces instructions where ETMTECR2 selects, which is"), "{text}");
}

/// The sentence of the trigger of a unit.
fn trigger(unit: &Etm, values: &Values) -> String {
    let sentences = unit.explain(values);
    let found = sentences.iter().find_map(|line| line.strip_prefix("The trigger occurs at the "));
    found.unwrap_or_else(|| panic!("{sentences:?}")).trim_end_matches('.').to_owned()
}

/// The value of a request is that of the sentence, at each address of a word, of each version.
#[test]
fn values_of_programs() {
    for version in Version::ALL {
        let unit = Etm::named(&version.to_string()).unwrap();
        for (offset, size, values) in [
            (0, "word", [0, 0xab, 0xabab_abab, 0xffff_ffff]),
            (1, "byte", [0, 0xab, 0x80, 0xff]),
            (2, "halfword", [0, 0xab, 0xabcd, 0xffff]),
            (3, "byte", [0, 0xab, 0x80, 0xff]),
        ] {
            for value in values {
                let address = 0x2000 + offset;
                for (on, kind) in [
                    (Occurrence::Write(address), "store to"),
                    (Occurrence::Read(address), "load from"),
                    (Occurrence::Access(address), "access to"),
                ] {
                    let condition = Condition { on, value: Some(value), times: 1 };
                    let request = Request { trigger: Some(condition), ..Request::default() };
                    let program = unit.program(&request).unwrap();
                    let want = format!("first {size} {kind} {address:#x} of value {value:#x}");
                    assert_eq!(trigger(&unit, &program.values), want, "{version}");
                }
            }
        }
    }
}

/// Registers of a comparison: the versions, address, ETMACTR, ETMDCVR, ETMDCMR, the sentence.
type Compared = (&'static [Version], u64, u64, u64, u64, &'static str);

/// Tables 2-11 to 2-13: ETMDCVR and ETMDCMR as values, with masks of their own, and where they do
/// not have the form of the tables.
#[test]
fn values_with_masks() {
    const V1: &[Version] = &[Version::V1_0, Version::V1_1, Version::V1_2, Version::V1_3];
    const V2: &[Version] =
        &[Version::V2_0, Version::V2_1, Version::V3_0, Version::V3_1, Version::V3_2];
    const V3: &[Version] = &[Version::V3_3, Version::V3_4, Version::V3_5];
    const ALL: [&[Version]; 3] = [V1, V2, V3];
    // Bits [6:5] of ETMACTR are 0b01: equal.
    const BYTE: u64 = 0x26;
    const HALFWORD: u64 = 0x2e;
    const WORD: u64 = 0x3e;
    const RESERVED: u64 = 0x36;
    let rows: &[Compared] = &[
        // The data bus of a little-endian processor.
        (V1, 0x2000, BYTE, 0xab, 0xffff_ff00, "byte store to 0x2000 of value 0xab"),
        (V1, 0x2001, BYTE, 0xab00, 0xffff_00ff, "byte store to 0x2001 of value 0xab"),
        (V1, 0x2002, BYTE, 0xab_0000, 0xff00_ffff, "byte store to 0x2002 of value 0xab"),
        (V1, 0x2003, BYTE, 0xab00_0000, 0x00ff_ffff, "byte store to 0x2003 of value 0xab"),
        (V1, 0x2000, HALFWORD, 0xabcd, 0xffff_0000, "halfword store to 0x2000 of value 0xabcd"),
        (V1, 0x2002, HALFWORD, 0xabcd_0000, 0xffff, "halfword store to 0x2002 of value 0xabcd"),
        (V1, 0x2001, BYTE, 0xa000, 0xffff_0fff, "byte store to 0x2001 of value 0xa0 but bits 0xf"),
        (V1, 0x2003, BYTE, 0xab00_0000, 0x0fff_ffff, "0x2003 of value 0xa0 but bits 0xf"),
        (V1, 0x2002, HALFWORD, 0x00cd_0000, 0xff00_ffff, "of value 0xcd but bits 0xff00"),
        // The bits of a big-endian processor, and those of two bytes.
        (V1, 0x2002, BYTE, 0xab00, 0xffff_00ff, "of value 0xab00 but bits 0xffff00ff"),
        (V1, 0x2001, BYTE, 0xab00, 0xffff_0000, "of value 0xab00 but bits 0xffff0000"),
        // The other bits are masked.
        (V2, 0x2000, BYTE, 0xab, 0xffff_ff00, "byte store to 0x2000 of value 0xab"),
        (V2, 0x2001, BYTE, 0xab, 0xffff_ff00, "byte store to 0x2001 of value 0xab"),
        (V2, 0x2002, BYTE, 0x1234_56ab, 0xffff_ff00, "byte store to 0x2002 of value 0xab"),
        (V2, 0x2003, BYTE, 0xab, 0xffff_ff0f, "byte store to 0x2003 of value 0xa0 but bits 0xf"),
        (V2, 0x2000, HALFWORD, 0xabcd, 0xffff_0000, "halfword store to 0x2000 of value 0xabcd"),
        (V2, 0x2002, HALFWORD, 0xcd, 0xffff_ff00, "of value 0xcd but bits 0xff00"),
        (V2, 0x2001, BYTE, 0xabab_abab, 0, "byte store to 0x2001 of value 0xabababab"),
        (V2, 0x2002, HALFWORD, 0xabcd, 0x00ff_0000, "of value 0xabcd but bits 0xff0000"),
        // Value and mask are repeated.
        (V3, 0x2000, BYTE, 0xabab_abab, 0, "byte store to 0x2000 of value 0xab"),
        (V3, 0x2003, BYTE, 0xabab_abab, 0, "byte store to 0x2003 of value 0xab"),
        (V3, 0x2001, BYTE, 0xa1a2_a3a4, 0x0f0f_0f0f, "0x2001 of value 0xa0 but bits 0xf"),
        (V3, 0x2000, HALFWORD, 0xabcd_abcd, 0, "halfword store to 0x2000 of value 0xabcd"),
        (V3, 0x2002, HALFWORD, 0x01cd_02cd, 0xff00_ff00, "of value 0xcd but bits 0xff00"),
        (V3, 0x2001, BYTE, 0xab, 0, "byte store to 0x2001 of value 0xab"),
        (V3, 0x2001, BYTE, 0xab, 0xffff_ff00, "of value 0xab but bits 0xffffff00"),
        (V3, 0x2001, BYTE, 0xabab_abab, 0xf, "of value 0xabababab but bits 0xf"),
        (V3, 0x2002, HALFWORD, 0xabcd_abce, 0, "halfword store to 0x2002 of value 0xabcdabce"),
    ];
    let all = |address, kind, value, mask, want| ALL.map(|v| (v, address, kind, value, mask, want));
    let same = [
        all(0x2000, WORD, 0xabcd_ef01, 0, "word store to 0x2000 of value 0xabcdef01"),
        all(0x2000, WORD, 0xabcd_ef00, 0xff, "of value 0xabcdef00 but bits 0xff"),
        // Not aligned, and the reserved size.
        all(0x2001, HALFWORD, 0xabcd_abcd, 0xff, "of value 0xabcdabcd but bits 0xff"),
        all(0x2000, RESERVED, 0xabcd_abcd, 0xff, "of value 0xabcdabcd but bits 0xff"),
    ];
    for (versions, address, kind, value, mask, want) in rows.iter().chain(same.as_flattened()) {
        for version in *versions {
            let unit = Etm::named(&version.to_string()).unwrap();
            let values = |kind| {
                let all = [("ETMTRIGGER", 0), ("ETMACVR1", *address), ("ETMACTR1", kind)];
                let data = [("ETMDCVR1", *value), ("ETMDCMR1", *mask)];
                all.into_iter().chain(data).collect()
            };
            let text = trigger(&unit, &values(*kind));
            assert!(text.ends_with(want), "{version}: {text}, not {want}");
            // Bits [6:5] 0b11: not equal.
            let text = trigger(&unit, &values(kind | 0x40));
            let want = want.replace("of value", "of a value other than");
            assert!(text.ends_with(&want), "{version}: {text}, not {want}");
        }
    }
}

/// A range has addresses of all bytes of the data bus, and no size: the registers are printed.
#[test]
fn values_of_ranges() {
    let text = explained(&[
        ("ETMVDEVR", 0x6f),
        ("ETMVDCR1", 0),
        ("ETMVDCR2", 0),
        ("ETMVDCR3", 1),
        ("ETMCCR", 0x8000_0011),
        ("ETMACVR1", 0x2000),
        ("ETMACTR1", 0x26),
        ("ETMACVR2", 0x3000),
        ("ETMACTR2", 0x26),
        ("ETMDCVR1", 0xabab_abab),
        ("ETMDCMR1", 0),
    ]);
    assert!(text.contains("store to 0x2000..0x3000 of value 0xabababab."), "{text}");
}

/// Tables 2-18 and 3-6: modes and widths of the trace port, by ETMCR.
#[test]
fn trace_ports() {
    for (control, want) in [
        (0x0_0000, "4 pins, in the dynamic mode, with the clock of the unit and without TRACECLK."),
        (0x1_0000, "4 pins, in the mode 2:1, 2 samples for 1 clock of the unit."),
        (0x2_0000, "4 pins, in a reserved mode."),
        (0x3_0000, "4 pins, in a mode that the implementation defines."),
        (0x0_2000, "4 pins, in the mode 1:1, 1 sample for 1 clock of the unit."),
        (0x1_2000, "4 pins, in the mode 1:3, 1 sample for 3 clocks of the unit."),
        (0x2_2000, "4 pins, in the mode 1:2, 1 sample for 2 clocks of the unit."),
        (0x3_2000, "4 pins, in the mode 1:4, 1 sample for 4 clocks of the unit."),
        (0x20_2000, "1 pin, in the mode 1:1, 1 sample for 1 clock of the unit."),
        (0x20_2010, "2 pins, in the mode 1:1, 1 sample for 1 clock of the unit."),
        (0x0_2020, "16 pins, in the mode 1:1, 1 sample for 1 clock of the unit."),
    ] {
        let text = explained(&[("ETMCR", control)]);
        assert!(text.contains(&format!("The trace port has {want}")), "{control:#x}: {text}");
    }
    // The fields of an ETMv1 and an ETMv2 are others.
    for version in ["ETMv1.3", "ETMv2.1"] {
        let values = [("ETMCR", 0x3_0000)].into_iter().collect();
        let text = Etm::named(version).unwrap().explain(&values).join("\n");
        assert!(text.contains("The trace port has 4 pins."), "{version}: {text}");
    }
}

/// 3.3: a register is selected by its number, or has it in parentheses or as an offset. Each
/// selects the unit, as the name of the identification register does.
#[test]
fn units_by_the_number_of_a_register() {
    for text in [
        "ETMIDR=0x4100f240",
        "ETMIDR(0x079)=0x4100f240",
        "#121=0x4100f240",
        "#121: 4100f240",
        "0x1e4=0x4100f240",
        "0x1e4: 4100f240",
    ] {
        for text in [text.to_owned(), format!("; a file\n[regs]\n  {text}\n")] {
            let keys: Values = values::read(&text).unwrap().into_iter().collect();
            let unit = catalogue::identified(&keys);
            assert_eq!(unit.map(|unit| unit.name()).as_deref(), Some("ETMv3.4"), "{text}");
        }
    }
    for text in ["#120=0x4100f240", "0x1e0=0x4100f240", "#121=0"] {
        let keys: Values = values::read(text).unwrap().into_iter().collect();
        assert!(catalogue::identified(&keys).is_none(), "{text}");
    }
}
