//! The simulated unit: programs of requests, probing of features, locks, save and restore.

use crate::etm::Etm;
use crate::etm::bus::{BusError, Device};
use crate::etm::permission::Interface::{self, Debugger, Software};
use crate::etm::resources::Resources;
use crate::etm::settings::{number, number_of};
use crate::etm::version::Version;
use crate::program::Action;
use crate::request::{Condition, Occurrence, Request, Span};
use crate::unit::Unit;

const KEY: u32 = 0xc5ac_ce55;

/// Runs the accesses of a program.
fn run(device: &mut Device, steps: &[crate::program::ProgramStep], by: Interface) {
    for step in steps {
        match &step.action {
            Action::Write { register, value } => {
                let number = register.offset.unwrap() / 4;
                device.write(number, *value as u32, by).unwrap();
            }
            Action::Modify { register, clear, set } => {
                let number = register.offset.unwrap() / 4;
                let value = device.read(number, by).unwrap() & !(*clear as u32) | *set as u32;
                device.write(number, value, by).unwrap();
            }
            Action::Read { register } => {
                let _ = device.read(register.offset.unwrap() / 4, by).unwrap();
            }
            Action::Poll { register, mask, value } => {
                let got = device.read(register.offset.unwrap() / 4, by).unwrap();
                assert_eq!(u64::from(got) & mask, *value, "{}", register.name);
            }
            Action::Barrier(_) | Action::Outside { .. } => {}
        }
    }
}

/// The sequence of a program leaves the registers with the values of the program.
#[test]
fn programs() {
    let request = Request {
        trace: vec![Span { start: 0x8000, end: 0x9000 }],
        all_data: true,
        context: Some(42),
        trigger: Some(Condition { on: Occurrence::Execute(0x8010), value: None, times: 3 }),
        ..Request::default()
    };
    for name in ["Cortex-A8", "Cortex-R5", "ETMv3.5", "ETMv3.3", "ETMv2.0"] {
        let unit = Etm::named(name).unwrap();
        let program = unit.program(&request).unwrap();
        let mut device = Device::new(unit.resources, 0x4100_f230, 0xd0c);
        run(&mut device, &program.steps, Software);
        for (name, value) in program.values.iter() {
            let number = number_of(name).unwrap();
            let port = if number == 0 { 1 << 21 | 0x70 } else { 0 };
            let got = device.value(number);
            assert_eq!(got & !port, value as u32 & !port, "{name} of {}", unit.name());
        }
        assert_eq!(device.value(number::COUNT), 3, "the counter starts at its reload value");
    }
}

fn largest() -> Resources {
    Resources { fifo: Some(24), ..Resources::largest(Version::V3_4) }
}

/// IHI 0014, 3.5.27, 3.5.28, 3.5.31 and 3.5.33.
#[test]
fn locks_claim_tags_and_identification() {
    let mut device = Device::new(largest(), 0x4100_f240, 0);
    assert_eq!(device.read(0x3ed, Software), Ok(3));
    assert_eq!(device.read(0x3ed, Debugger), Ok(0));
    device.write(0x3e8, 5, Software).unwrap();
    assert_eq!(device.read(0x3e9, Software), Ok(0), "locked");
    device.write(0x3ec, KEY, Software).unwrap();
    assert_eq!(device.read(0x3ed, Software), Ok(1));
    device.write(0x3e8, 5, Software).unwrap();
    device.write(0x3e8, 2, Software).unwrap();
    assert_eq!((device.read(0x3e8, Software), device.read(0x3e9, Software)), (Ok(0xff), Ok(7)));
    device.write(0x3e9, 4, Software).unwrap();
    assert_eq!(device.read(0x3e9, Software), Ok(3));
    device.write(0x3ec, 0, Software).unwrap();
    assert_eq!(device.read(0x3ed, Software), Ok(3));
    assert_eq!(device.read(0x3f3, Software), Ok(0x13));
    // 3.5.29: ETMAUTHSTATUS reports the signals. The registers do not depend on them. (2.14)
    assert_eq!(device.read(0x3ee, Software), Ok(0b1100_1100));
    device.signals.spniden = false;
    device.signals.spiden = false;
    assert_eq!(device.read(0x3ee, Software), Ok(0b1000_1100));
    (device.signals.niden, device.signals.dbgen) = (false, false);
    assert_eq!(device.read(0x3ee, Software), Ok(0b1000_1000));
    let id = [0x3fc, 0x3fd, 0x3fe, 0x3ff].map(|number| device.read(number, Software).unwrap());
    assert_eq!(id, [0x0d, 0x90, 0x05, 0xb1]);
}

/// IHI 0014, 3.8.1: save, power down, restore; and what is UNPREDICTABLE.
#[test]
fn save_and_restore() {
    let by = Debugger;
    let mut device = Device::new(largest(), 0x4100_f240, 0);
    device.write(0, 0x400, by).unwrap();
    device.write(0, 0x400, by).unwrap();
    device.write(0x08, 0x6f, by).unwrap();
    device.write(0x10, 0x8000, by).unwrap();
    device.write(0x50, 7, by).unwrap();
    device.write(0x80, 0x10, by).unwrap();
    assert_eq!(device.read(0xc2, by), Err(BusError::Unpredictable), "not locked");
    device.write(0xc0, KEY, by).unwrap();
    assert_eq!(device.read(0x08, by), Err(BusError::Error));
    assert_eq!(device.write(0xc2, 0, by), Err(BusError::Unpredictable), "the first is a write");
    let count = device.read(0xc2, by).unwrap();
    let saved: Vec<u32> = (0..count).map(|_| device.read(0xc2, by).unwrap()).collect();
    assert_eq!(device.read(0xc2, by), Err(BusError::Unpredictable), "too many");
    device.power_down();
    assert_eq!(device.read(0x08, by), Err(BusError::Error));
    assert_eq!(device.read(0xc5, by), Ok(0b10));
    device.power_up(true);
    assert_eq!(device.read(0xc5, by), Ok(0b11));
    assert_eq!(device.read(0xc5, by), Ok(0b01));
    assert_eq!(device.read(0xc1, by), Ok(0b11));
    device.write(0xc0, KEY, by).unwrap();
    let _ = device.read(0xc2, by).unwrap();
    for value in saved {
        device.write(0xc2, value, by).unwrap();
    }
    assert_eq!(device.read(0xc2, by), Err(BusError::Unpredictable), "mixed");
    device.write(0xc0, 0, by).unwrap();
    let read = [0x08, 0x10, 0x50, 0x5c, 0x80].map(|number| device.read(number, by).unwrap());
    assert_eq!(read, [0x6f, 0x8000, 7, 7, 0x10]);
}

/// IHI 0014, 3.4.4: what the Programming bit does to counters, sequencer and status.
#[test]
fn programming_bit() {
    let by = Debugger;
    for version in [Version::V2_0, Version::V3_0, Version::V3_1, Version::V3_4] {
        let mut device = Device::new(Resources::largest(version), 0, 0);
        device.write(0, 0x400, by).unwrap();
        device.write(0, 0x400, by).unwrap();
        device.write(0x50, 7, by).unwrap();
        let later = version >= Version::V3_1;
        device.write(0x5c, 3, by).unwrap();
        device.write(0x67, 2, by).unwrap();
        // Read-only before ETMv3.1.
        assert_eq!(device.value(0x5c), if later { 3 } else { 7 }, "{version}");
        assert_eq!(device.value(0x67), if later { 2 } else { 0 }, "{version}");
        // What was written since the bit was set stays when it is cleared.
        device.write(0, 0, by).unwrap();
        assert_eq!(device.value(0x5c), if later { 3 } else { 7 }, "{version}");
        device.write(0, 0x400, by).unwrap();
        device.write(0, 0, by).unwrap();
        assert_eq!((device.value(0x5c), device.value(0x67)), (7, 0), "{version}");
    }
}
