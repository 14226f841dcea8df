//! Checks of recorded register accesses against the programming procedure and the save and restore
//! procedure. (IHI 0014, 3.4.3, 3.4.4, 3.5.24 and 3.8.1)

use super::registers::{self, is_management};
use super::resources::Resources;
use super::settings::{self, number};
use super::version::Version;
use crate::finding::{Finding, Severity};
use crate::program::{BusAccess, BusKind};
use crate::register::Access;
use crate::values;

/// The key of the locks.
const KEY: u32 = 0xc5ac_ce55;

/// The rules on sequences: name and severity.
pub const RULES: &[(&str, Severity)] = &[
    ("unknown-register", Severity::Error),
    ("read-only", Severity::Error),
    ("write-only", Severity::Error),
    ("reserved-bits", Severity::Error),
    ("not-programming", Severity::Error),
    ("control-together", Severity::Error),
    ("powered-down", Severity::Warning),
    ("software-locked", Severity::Warning),
    ("os-locked", Severity::Error),
    ("core-select", Severity::Error),
    ("state-overwritten", Severity::Warning),
    ("enable-unpolled", Severity::Warning),
    ("left-programming", Severity::Warning),
    ("power-status-unread", Severity::Warning),
    ("save-unlocked", Severity::Error),
    ("save-first-read", Severity::Error),
    ("save-mixed", Severity::Error),
    ("save-count", Severity::Error),
];

/// What is wrong with `accesses` to a unit.
pub fn findings(unit: &Resources, accesses: &[BusAccess]) -> Vec<Finding> {
    let mut check = Check {
        unit: *unit,
        findings: Vec::new(),
        control: None,
        confirmed: false,
        poll_pending: false,
        unlocked: false,
        os_locked: false,
        power_status_read: false,
        state_written: Vec::new(),
        save: Save::Idle,
    };
    for access in accesses {
        check.access(access);
    }
    check.end();
    check.findings
}

/// Where a sequence of accesses to ETMOSSRR is. (3.5.24)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Save {
    /// The trace registers are not locked.
    Idle,
    /// They are locked, and ETMOSSRR was not accessed.
    Locked,
    /// The first read returned this number of accesses, where it is recorded.
    Counted(Option<u32>),
    /// A save: reads since the first, of this number.
    Reading(u32, Option<u32>),
    /// A restore: writes since the first read.
    Writing(u32),
}

struct Check {
    unit: Resources,
    findings: Vec<Finding>,
    /// The last known value of ETMCR.
    control: Option<u32>,
    /// ETMSR bit \[1] was read as 1 since the Programming bit was set.
    confirmed: bool,
    /// The Programming bit was cleared, and ETMSR bit \[1] was not read as 0 since.
    poll_pending: bool,
    unlocked: bool,
    os_locked: bool,
    power_status_read: bool,
    /// State registers that were written since the Programming bit was set.
    state_written: Vec<u16>,
    save: Save,
}

impl Check {
    fn find(
        &mut self,
        rule: &'static str,
        access: &BusAccess,
        what: impl Into<String>,
        remedy: &str,
        section: &'static str,
    ) {
        let severity =
            RULES.iter().find(|(name, _)| *name == rule).map_or(Severity::Error, |(_, s)| *s);
        let register = &access.register;
        let at = match access.line {
            0 => register.clone(),
            line => format!("line {line}, {register}"),
        };
        let (what, remedy) = (what.into(), remedy.to_owned());
        self.findings.push(Finding { rule, severity, at, what, remedy, section });
    }

    fn access(&mut self, access: &BusAccess) {
        if !matches!(access.kind, BusKind::Read | BusKind::Write) {
            return;
        }
        let number = values::register_offset(&access.register)
            .map(|offset| offset / 4)
            .or_else(|| settings::number_of(&access.register));
        let version = self.unit.version;
        let kind = number.and_then(registers::numbered).map(|(kind, _)| kind);
        let (Some(number), Some(kind)) =
            (number, kind.filter(|kind| kind.register.versions.contains(version)))
        else {
            let what = format!("{version} has no such register");
            self.find("unknown-register", access, what, "leave it out", "IHI 0014, 3.4");
            return;
        };
        let section = kind.register.section;
        let can = kind.rule.access(version, self.unit.readable, self.unit.fixed_sync);
        let value = access.value.map(|value| value as u32);
        if self.os_locked && !is_management(number) {
            self.find(
                "os-locked",
                access,
                "the OS lock is set: accesses to trace registers return an error",
                "write 0 to ETMOSLAR before",
                "IHI 0014, 3.8.2",
            );
        }
        if access.kind == BusKind::Read {
            if can == Access::WriteOnly {
                let what = "the register is write-only: the value is not that of the register";
                self.find("write-only", access, what, "remember what was written", section);
            }
            self.read(access, number, value);
            return;
        }
        let Some(value) = value else { return };
        if can == Access::ReadOnly {
            self.find("read-only", access, "the register is read-only", "leave it out", section);
            return;
        }
        let bits = kind
            .fields(version)
            .fold(value, |rest, field| rest & !((field.of(u64::MAX) << field.low) as u32));
        if bits != 0 {
            let what = format!("bits {bits:#010x} are reserved in {version}");
            self.find("reserved-bits", access, what, "write 0 to them", section);
        }
        let lock = number == 0x3ec;
        if self.unit.memory_mapped && !self.unlocked && !lock {
            self.find(
                "software-locked",
                access,
                "ETMLAR was not unlocked: the unit ignores this write if it is made by software",
                "write 0xc5acce55 to ETMLAR first",
                "IHI 0014, 3.5.28",
            );
            // Once is enough: a debugger does not need the lock.
            self.unlocked = true;
        }
        self.write(access, number, value);
    }

    fn read(&mut self, access: &BusAccess, number: u16, value: Option<u32>) {
        match number {
            number::CONTROL => self.control = value.or(self.control),
            number::STATUS => {
                let set = value.map(|value| value >> 1 & 1 != 0);
                if set == Some(true) && self.programming() {
                    self.confirmed = true;
                }
                if set == Some(false) && !self.programming() {
                    self.poll_pending = false;
                }
            }
            0x0c2 => {
                self.save = match self.save {
                    Save::Idle => {
                        self.save_unlocked(access);
                        Save::Idle
                    }
                    Save::Locked => {
                        if !self.power_status_read {
                            self.find(
                                "power-status-unread",
                                access,
                                "ETMPDSR was not read before: if power was lost, the access fails",
                                "read ETMPDSR before the OS lock is set",
                                "IHI 0014, 3.8.1",
                            );
                        }
                        Save::Counted(value)
                    }
                    Save::Counted(count) => {
                        self.save_count(access, 1, count);
                        Save::Reading(1, count)
                    }
                    Save::Reading(done, count) => {
                        self.save_count(access, done + 1, count);
                        Save::Reading(done + 1, count)
                    }
                    Save::Writing(done) => {
                        self.save_mixed(access);
                        Save::Writing(done)
                    }
                };
            }
            0x0c5 => self.power_status_read = true,
            _ => {}
        }
    }

    fn save_unlocked(&mut self, access: &BusAccess) {
        let what = "the trace registers are not locked: UNPREDICTABLE";
        let remedy = "write 0xc5acce55 to ETMOSLAR first";
        self.find("save-unlocked", access, what, remedy, "IHI 0014, 3.5.24");
    }

    fn save_mixed(&mut self, access: &BusAccess) {
        let what = "reads and writes are mixed after the first read: UNPREDICTABLE";
        let remedy = "only read to save, only write to restore";
        self.find("save-mixed", access, what, remedy, "IHI 0014, 3.5.24");
    }

    fn save_count(&mut self, access: &BusAccess, done: u32, count: Option<u32>) {
        if let Some(count) = count.filter(|count| done > *count) {
            let what = format!("read {done} of {count}: UNPREDICTABLE");
            let remedy = "read as often as the first read returned";
            self.find("save-count", access, what, remedy, "IHI 0014, 3.5.24");
        }
    }

    fn programming(&self) -> bool {
        self.control.is_some_and(|control| control >> 10 & 1 != 0)
    }

    fn write(&mut self, access: &BusAccess, number: u16, value: u32) {
        match number {
            number::CONTROL => self.write_control(access, value),
            0x3ec => self.unlocked = value == KEY,
            0x0c0 => {
                if value != KEY
                    && let Save::Reading(done, Some(count)) = self.save
                    && done < count
                {
                    let what = format!("the OS lock is cleared after {done} of {count} reads");
                    let remedy = "read as often as the first read returned";
                    self.find("save-count", access, what, remedy, "IHI 0014, 3.5.24");
                }
                self.os_locked = value == KEY;
                self.save = if value == KEY { Save::Locked } else { Save::Idle };
            }
            0x0c2 => {
                self.save = match self.save {
                    Save::Idle => {
                        self.save_unlocked(access);
                        Save::Idle
                    }
                    Save::Locked => {
                        self.find(
                            "save-first-read",
                            access,
                            "the first access after the lock is a write: UNPREDICTABLE",
                            "read ETMOSSRR once, and discard the value",
                            "IHI 0014, 3.5.24",
                        );
                        Save::Writing(1)
                    }
                    Save::Counted(_) => Save::Writing(1),
                    Save::Writing(done) => Save::Writing(done + 1),
                    Save::Reading(done, count) => {
                        self.save_mixed(access);
                        Save::Reading(done, count)
                    }
                };
            }
            number if is_management(number) => {}
            number => self.write_trace(access, number),
        }
    }

    fn write_control(&mut self, access: &BusAccess, value: u32) {
        let version = self.unit.version;
        let before = self.control;
        let was = self.programming();
        let sets = value >> 10 & 1 != 0;
        let changed = before.map_or(0, |before| before ^ value);
        // PowerDown and the core select bits have a procedure of their own.
        let other = changed & !(1 << 10 | 1 | 0b111 << 25);
        if sets && !was && before.is_some() && other != 0 {
            self.find(
                "control-together",
                access,
                format!("bits {other:#x} change together with the Programming bit"),
                "set the Programming bit alone, and change others when ETMSR bit 1 is 1",
                "IHI 0014, 3.4.3",
            );
        } else if sets && was && other != 0 && !self.confirmed && version >= Version::V1_2 {
            self.find(
                "control-together",
                access,
                format!("bits {other:#x} change before ETMSR bit 1 was read as 1"),
                "read ETMSR until bit 1 is 1",
                "IHI 0014, 3.4.3",
            );
        }
        if !sets && !was && other != 0 {
            self.find(
                "not-programming",
                access,
                format!("bits {other:#x} change while the unit is enabled"),
                "set the Programming bit and wait for ETMSR bit 1 before",
                "IHI 0014, 3.4.3",
            );
        }
        let selects = changed >> 25 & 0b111 != 0 && version >= Version::V3_2;
        if selects && before.is_some_and(|before| before & (1 << 10 | 1) != (1 << 10 | 1)) {
            self.find(
                "core-select",
                access,
                "the core changes without Programming and PowerDown set before",
                "set both, change the core, then clear PowerDown",
                "IHI 0014, 3.5.1",
            );
        }
        if sets && !was {
            self.confirmed = false;
            self.state_written.clear();
        }
        if !sets && was {
            self.poll_pending = version >= Version::V1_2;
        }
        self.control = Some(value);
    }

    fn write_trace(&mut self, access: &BusAccess, number: u16) {
        let version = self.unit.version;
        let ready = match version >= Version::V1_2 {
            true => self.confirmed && self.programming(),
            false => self.programming(),
        };
        // Integration registers have no part in the procedure.
        if !ready && number < 0x380 {
            let what = match self.programming() {
                true => "ETMSR bit 1 was not read as 1: the unit may still be enabled",
                false => "the Programming bit is not set: UNPREDICTABLE",
            };
            self.find(
                "not-programming",
                access,
                what,
                "set the Programming bit, and read ETMSR until bit 1 is 1",
                "IHI 0014, 3.4.3",
            );
        }
        if self.control.is_some_and(|control| control & 1 != 0) {
            self.find(
                "powered-down",
                access,
                "PowerDown is set: the unit may ignore the write",
                "clear ETMCR bit 0 before",
                "IHI 0014, 3.5.1",
            );
        }
        let counter = (number::COUNT..number::COUNT + 4).contains(&number);
        if counter || number == number::SEQUENCER_STATE {
            self.state_written.push(number);
        }
        // Writing what determines state resets the state.
        let reset = match number {
            n if (number::RELOAD_VALUE..number::RELOAD_VALUE + 4).contains(&n) => {
                Some(number::COUNT + (n - number::RELOAD_VALUE))
            }
            n if (number::SEQUENCER..number::SEQUENCER + 6).contains(&n) => {
                Some(number::SEQUENCER_STATE)
            }
            _ => None,
        };
        if let Some(state) = reset.filter(|state| self.state_written.contains(state)) {
            let name = settings::name(state).unwrap_or_default();
            self.find(
                "state-overwritten",
                access,
                format!("{name} was written before, and this write may reset it"),
                "write the state last",
                "IHI 0014, 3.5.12 and 3.5.13",
            );
        }
    }

    fn end(&mut self) {
        let last =
            BusAccess { kind: BusKind::Read, register: "ETMCR".into(), value: None, line: 0 };
        if self.programming() {
            let what = "the recording ends with the Programming bit set: nothing is traced";
            let remedy = "clear ETMCR bit 10";
            self.find("left-programming", &last, what, remedy, "IHI 0014, 3.4.4");
        } else if self.poll_pending {
            let what = "ETMSR bit 1 was not read as 0 after the Programming bit was cleared";
            let remedy = "read ETMSR until bit 1 is 0, then start what is to be traced";
            self.find("enable-unpolled", &last, what, remedy, "IHI 0014, 3.4.3, Figure 3-3");
        }
    }
}
