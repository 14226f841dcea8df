//! The sequence of accesses that programs a unit. (IHI 0014, 3.4.3, 3.5.24, 3.5.25 and 3.5.28)

use crate::etm::settings::{DWT_EXECUTE, Settings, name, number};
use crate::etm::version::Version;
use crate::program::{Action, Barrier, Place, ProgramStep};

/// The key of the locks.
const KEY: u64 = 0xc5ac_ce55;

/// Bits of ETMCR that a program does not change: the core select field, which has a sequence of its
/// own, and those that disable writes.
const UNCHANGED: u32 = 0b111 << 25 | 0b11 << 22;

/// The steps for `settings`, in which the addresses in the registers `rounded` are below those that
/// are asked for.
pub fn steps(settings: &Settings, rounded: &[u16]) -> Vec<ProgramStep> {
    let unit = settings.unit;
    let mut steps = Vec::new();
    let mut add = |action, why: &str| steps.push(ProgramStep::new(action, why));
    if unit.memory_mapped {
        let register = place(0x3ec);
        add(Action::Write { register, value: KEY }, "unlock the registers for software");
    }
    if unit.os_lock {
        add(Action::Read { register: place(0x0c5) }, "clear the state that power was lost");
        add(Action::Write { register: place(0x0c0), value: 0 }, "clear the OS lock");
    }
    for (n, watchpoint) in settings.watchpoints.iter().enumerate() {
        let Some(address) = watchpoint else { continue };
        let base = 0xe000_1020 + 0x10 * n as u64;
        for (name, address, value, why) in [
            ("DWT_COMP", base, u64::from(*address), "the address that the DWT compares"),
            ("DWT_MASK", base + 4, 0, "all bits of the address"),
            ("DWT_FUNCTION", base + 8, DWT_EXECUTE.into(), "an input of the trace unit"),
        ] {
            add(Action::Outside { name: format!("{name}{n}"), address, value }, why);
        }
    }
    let control = place(number::CONTROL);
    add(
        Action::Modify { register: control.clone(), clear: 1, set: 0 },
        "power up the unit; other bits may be ignored before",
    );
    add(
        Action::Modify { register: control.clone(), clear: 0, set: 1 << 10 },
        "set the Programming bit alone",
    );
    let status = unit.version >= Version::V1_2;
    if status {
        if unit.memory_mapped {
            add(Action::Barrier(Barrier::Dsb), "complete the write before the status is read");
        }
        let register = place(number::STATUS);
        let why = match unit.version >= Version::V3_2 {
            true => "the bit has taken effect and the FIFO is empty",
            false => "the bit has taken effect",
        };
        add(Action::Poll { register, mask: 0b10, value: 0b10 }, why);
    }
    let value = settings.value(number::CONTROL);
    // Port size and mode are those that are set, where the unit does not report the largest size.
    let port = match unit.max_port {
        Some(_) => 0b11 << 16 | 1 << 13,
        None => 1 << 21 | 0b111 << 4 | 0b11 << 16 | 1 << 13,
    };
    let clear = !(UNCHANGED | port | 1 << 10 | 1);
    add(
        Action::Modify {
            register: control.clone(),
            clear: (clear & !value).into(),
            set: (value & clear).into(),
        },
        "what is traced",
    );
    for (number, value) in settings.known().filter(|(number, _)| *number != number::CONTROL) {
        let why = match rounded.contains(&number) {
            true => "the word that has the first byte: an access is compared by its first address",
            false => {
                crate::etm::registers::numbered(number).map_or("", |(kind, _)| kind.register.about)
            }
        };
        add(Action::Write { register: place(number), value: value.into() }, why);
    }
    add(
        Action::Modify { register: control, clear: 1 << 10, set: 0 },
        "clear the Programming bit: tracing can start",
    );
    if status {
        if unit.memory_mapped {
            add(Action::Barrier(Barrier::Dsb), "complete the write before the status is read");
        }
        let register = place(number::STATUS);
        add(Action::Poll { register, mask: 0b10, value: 0 }, "the unit is enabled");
    }
    if unit.memory_mapped {
        add(Action::Barrier(Barrier::Isb), "the code that follows is traced");
        let register = place(0x3ec);
        add(Action::Write { register, value: 0 }, "lock the registers again");
    }
    steps
}

fn place(number: u16) -> Place {
    Place { name: name(number).unwrap_or_default(), offset: Some(number * 4) }
}
