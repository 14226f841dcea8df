//! IHI 0014, Tables 2-2, 2-14, 2-15, 3-7, 3-8, 3-9, 3-86 and 3-87.

use crate::etm::bus::Device;
use crate::etm::event::Resource;
use crate::etm::model::Instrumentation;
use crate::etm::permission::Interface::Debugger;
use crate::etm::probe::{self, Connection, Features, data_tracing};
use crate::etm::registers::is_management;
use crate::etm::resources::{DataTracing, Resources};
use crate::etm::settings::number;
use crate::etm::version::Version;

/// Table 2-14: type and index of the instrumentation resources.
#[test]
fn table_2_14() {
    for (kind, index, n) in [(0b001, 8, 1), (0b001, 9, 2), (0b001, 10, 3), (0b001, 11, 4)] {
        let resource = Resource::Instrumentation(n);
        assert_eq!(resource.bits(), kind << 4 | index);
        assert_eq!(Resource::of(kind << 4 | index), resource);
        for version in Version::ALL {
            let unit = Resources::largest(version);
            assert_eq!(resource.exists(&unit), version >= Version::V3_3, "{version}");
        }
        let unit = Resources { instrumentation: n - 1, ..Resources::largest(Version::V3_3) };
        assert!(!resource.exists(&unit), "{n}");
    }
}

/// Table 2-15: hints of A32 and T32.
#[test]
fn table_2_15() {
    let rows = [
        "Set 1", "Set 2", "Set 3", "Set 4", "Clear 1", "Clear 2", "Clear 3", "Clear 4", "Pulse 1",
        "Pulse 2", "Pulse 3", "Pulse 4",
    ];
    for option in 0..16u8 {
        let found = Instrumentation::of(option).map(|(what, n)| format!("{what:?} {n}"));
        assert_eq!(found.as_deref(), rows.get(usize::from(option)).copied());
        let hint = u32::from(option);
        // Encoding A1 with every condition, and encoding T1.
        for condition in 0..15 {
            let opcode = condition << 28 | 0x0320_f0f0 | hint;
            assert_eq!(Instrumentation::option(opcode, false), Some(option));
        }
        assert_eq!(Instrumentation::option(0xf3af_80f0 | hint, true), Some(option));
        assert_eq!(Instrumentation::option(0xf3af_8000 | hint, true), None);
    }
}

/// Table 3-9: bits \[20:18] and \[3:1] of ETMCR after all were written with 1.
#[test]
fn table_3_9() {
    let rows = [
        ("11x", 0b111, DataTracing::Full),
        ("00x", 0b100, DataTracing::Addresses),
        ("01x", 0b011, DataTracing::Values),
        ("000", 0b000, DataTracing::None),
    ];
    for code in 0..64u32 {
        let (high, low) = (code >> 3, code & 0b111);
        let fits = |pattern: &str| {
            let text = format!("{high:03b}");
            pattern.bytes().zip(text.bytes()).all(|(want, got)| want == b'x' || want == got)
        };
        let want = rows.iter().find(|(pattern, bits, _)| fits(pattern) && *bits == low);
        let got = data_tracing(high << 18 | low << 1);
        assert_eq!(got, want.map(|(_, _, data)| *data), "{code:06b}");
    }
}

/// Tables 2-2, 3-7 and 3-8: the procedures find what a simulated unit has, and leave its registers
/// as they were.
#[test]
fn features() {
    assert_eq!((probe::SUPPRESS, probe::CYCLES), (1 << 18, 1 << 12));
    assert_eq!(probe::DATA, 0b111 << 18 | 0b111 << 1);
    let flag = |bits: u32, at: u32| bits >> at & 1 != 0;
    for bits in 0..1u32 << 9 {
        for data in
            [DataTracing::Full, DataTracing::Addresses, DataTracing::Values, DataTracing::None]
        {
            let unit = Resources {
                data,
                suppression: flag(bits, 0),
                cycles: flag(bits, 1),
                branch_output: flag(bits, 2),
                context_ids: flag(bits, 3),
                fifofull: flag(bits, 4),
                fixed_sync: flag(bits, 5),
                os_lock: flag(bits, 6),
                fifo: Some(24),
                max_port: Some(if flag(bits, 8) { 0b0010 } else { 0b1001 }),
                ..Resources::largest(Version::V3_4)
            };
            let mut device = Device::new(unit, 0x4100_f240, 0);
            device.level_ignored = flag(bits, 7);
            device.write(0, 0x400, Debugger).unwrap();
            device.write(0, 0x410, Debugger).unwrap();
            device.write(number::FIFOFULL_LEVEL, 7, Debugger).unwrap();
            let before: Vec<u32> = (0..0x400).map(|number| device.value(number)).collect();
            let found =
                probe::features(&mut Connection { device: &mut device, interface: Debugger });
            // A unit that traces no data suppresses none.
            let suppression = unit.suppression && data != DataTracing::None;
            let has_level = unit.fifofull || unit.suppression;
            let level_ignored = device.level_ignored && has_level;
            let ports = if flag(bits, 8) { &[1, 2, 4, 8, 16][..] } else { &[1, 2] };
            let want = Features {
                suppression,
                cycles: unit.cycles,
                data: Some(data),
                branch_output: unit.branch_output,
                context_ids: unit.context_ids,
                fifo: if has_level { 24 } else { 0 },
                level_ignored,
                fixed_sync: unit.fixed_sync,
                os_lock: unit.os_lock,
                port_sizes: ports.to_vec(),
            };
            assert_eq!(found, Ok(want), "{bits:09b} {data:?}");
            let after: Vec<u32> = (0..0x400).map(|number| device.value(number)).collect();
            assert_eq!(before, after);
        }
    }
}

/// Table 3-86 has registers 0x0c3 to 0x0c5 among the trace registers, where Table 3-4 has them
/// among the management registers. ETMPDSR can be read without power, as Table 3-4 has it.
#[test]
fn table_3_86() {
    for number in 0..0x400u16 {
        let trace = matches!(number, 0x000..=0x0bf | 0x0c3..=0x3bf);
        assert_ne!(trace, matches!(number, 0x0c0..=0x0c2 | 0x3c0..=0x3ff));
        if !matches!(number, 0x0c3..=0x0c5) {
            assert_eq!(is_management(number), !trace, "{number:#x}");
        }
    }
}

/// Table 3-87: the registers whose values come back after their state was lost.
#[test]
fn table_3_87() {
    let rows: [(u16, u16); 21] = [
        (0x000, 0x000),
        (0x002, 0x002),
        (0x003, 0x003),
        (0x004, 0x004),
        (0x006, 0x006),
        (0x007, 0x007),
        (0x008, 0x008),
        (0x009, 0x009),
        (0x00a, 0x00f),
        (0x010, 0x01f),
        (0x020, 0x02f),
        (0x030, 0x03f),
        (0x040, 0x04f),
        (0x050, 0x05f),
        (0x060, 0x065),
        (0x067, 0x067),
        (0x068, 0x06b),
        (0x06c, 0x06f),
        (0x078, 0x078),
        (0x07b, 0x07b),
        (0x080, 0x080),
    ];
    let listed = |number: u16| rows.iter().any(|(first, last)| (*first..=*last).contains(&number));
    let mut device = Device::new(Resources::largest(Version::V3_4), 0x4100_f240, 0);
    device.write(0, 0x400, Debugger).unwrap();
    device.write(0, 0x40c, Debugger).unwrap();
    for number in 1..0x300 {
        if !matches!(number, 0x0c0..=0x0c5) {
            device.write(number, 0x5a5a_5a5a, Debugger).unwrap();
        }
    }
    let before: Vec<u32> = (0..0x300).map(|number| device.value(number)).collect();
    device.write(0xc0, 0xc5ac_ce55, Debugger).unwrap();
    let count = device.read(0xc2, Debugger).unwrap();
    let saved: Vec<u32> = (0..count).map(|_| device.read(0xc2, Debugger).unwrap()).collect();
    device.power_down();
    device.power_up(true);
    let _ = device.read(0xc5, Debugger).unwrap();
    device.write(0xc0, 0xc5ac_ce55, Debugger).unwrap();
    let _ = device.read(0xc2, Debugger).unwrap();
    saved.iter().for_each(|value| device.write(0xc2, *value, Debugger).unwrap());
    device.write(0xc0, 0, Debugger).unwrap();
    for number in 0..0x300u16 {
        let (old, new) = (before[usize::from(number)], device.value(number));
        // Registers of ETMv3.4 that the table does not have: the inputs of the start/stop block.
        let also = matches!(number, 0x07c | 0x07d | 0x070..=0x077);
        if listed(number) {
            assert_eq!(new, old, "{number:#x}");
        } else if old != 0 && !also {
            assert_eq!(new, 0, "{number:#x}");
        }
    }
}
