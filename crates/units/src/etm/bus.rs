//! A simulated unit behind a register bus: what a driver or a debugger reads and writes. (IHI 0014,
//! 3.4, 3.5, 3.8 and 3.9)

use super::authentication::{SecureField, Signals};
use super::permission::{Conditions, Interface, Outcome, RegisterGroup, outcome};
use super::port_mode::PortMode;
use super::registers::{self, State};
use super::resources::{DataTracing, Resources};
use super::settings::{Control, number, port_width};
use super::version::Version;
use crate::register::Access;

/// The key of the locks.
const KEY: u32 = 0xc5ac_ce55;

/// Registers that ETMOSSRR saves, in this order. (Table 3-87)
const SAVED: &[(u16, u16)] = &[
    (0x000, 0x000),
    (0x002, 0x004),
    (0x006, 0x00f),
    (0x010, 0x05f),
    (0x060, 0x065),
    (0x067, 0x06f),
    (0x078, 0x078),
    (0x07b, 0x07b),
    (0x080, 0x080),
];

/// Why an access has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusError {
    /// The unit responds with an error, or coprocessor instructions are UNDEFINED.
    Error,
    /// The behaviour is UNPREDICTABLE.
    Unpredictable,
    /// The unit has no power.
    NoPower,
}

/// What the next access to ETMOSSRR is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Save {
    /// The first, which must be a read.
    First,
    /// The register with this index. `None`: it is not known yet whether this saves or restores.
    Next(usize, Option<bool>),
}

/// A unit with its registers, locks and power.
#[derive(Clone, Debug)]
pub struct Device {
    /// The authentication signals of the processor.
    pub signals: Signals,
    /// What ETMAUTHSTATUS bits \[7:6] report.
    pub secure_field: SecureField,
    /// The unit ignores ETMFFLR, and takes its level as the size of the FIFO. (3.5.8)
    pub level_ignored: bool,
    unit: Resources,
    values: Vec<u32>,
    /// Values of ETMCCR, ETMIDR, ETMCCER and ETMSCR.
    identification: [u32; 4],
    software_lock: bool,
    os_lock: bool,
    /// ETMPDSR bit \[1].
    state_lost: bool,
    core_power: bool,
    claim: u8,
    /// State registers that were written since the Programming bit was set.
    written: Vec<u16>,
    save: Save,
}

impl Device {
    /// A unit after an ETM reset. `id` is ETMIDR; registers without a reset value are 0.
    pub fn new(unit: Resources, id: u32, system: u32) -> Device {
        let mut device = Device {
            signals: Signals::ALL,
            secure_field: match unit.security {
                true => SecureField::ByUnit,
                false => SecureField::NoExtensions,
            },
            level_ignored: false,
            unit,
            values: vec![0; 0x400],
            identification: [unit.configuration(), id, unit.extension().unwrap_or(0), system],
            software_lock: unit.memory_mapped,
            os_lock: false,
            state_lost: false,
            core_power: true,
            claim: 0,
            written: Vec::new(),
            save: Save::First,
        };
        for kind in registers::KINDS {
            let (mask, value) = kind.reset;
            kind.numbers().for_each(|number| device.store(number, value & mask));
        }
        device
    }

    /// Removes the power of the core domain; the trace registers lose their values.
    pub fn power_down(&mut self) {
        self.core_power = false;
        self.state_lost = true;
        self.values = vec![0; 0x400];
    }

    /// Restores the power. `locked` is the pin DBGOSLOCKINIT.
    pub fn power_up(&mut self, locked: bool) {
        self.core_power = true;
        self.os_lock = locked && self.unit.os_lock;
        self.store(number::CONTROL, 0x401);
    }

    /// The value of a register as the unit uses it.
    pub fn value(&self, number: u16) -> u32 {
        self.values.get(usize::from(number)).copied().unwrap_or(0)
    }

    fn store(&mut self, number: u16, value: u32) {
        if let Some(register) = self.values.get_mut(usize::from(number)) {
            *register = value;
        }
    }

    fn permission(&self, number: u16, interface: Interface) -> Outcome {
        outcome(
            RegisterGroup::of(number),
            Conditions {
                interface,
                debug_power: true,
                core_power: self.core_power,
                state_lost: self.state_lost,
                power_down: self.value(number::CONTROL) & 1 != 0,
                os_lock: self.os_lock,
                software_lock: self.software_lock,
            },
        )
    }

    /// The bits of a register that this unit implements.
    fn implemented(&self, number: u16) -> u32 {
        let unit = &self.unit;
        let Some((kind, index)) = registers::numbered(number) else { return 0 };
        if !kind.register.versions.contains(unit.version) {
            return 0;
        }
        let mask = kind
            .fields(unit.version)
            .fold(0u64, |all, field| all | field.of(u64::MAX) << field.low)
            as u32;
        let exists = match kind.register.name {
            "ETMACVR" | "ETMACTR" => index <= unit.comparators(),
            "ETMDCVR" | "ETMDCMR" => index <= unit.data_comparators,
            "ETMCNTRLDVR" | "ETMCNTENR" | "ETMCNTRLDEVR" | "ETMCNTVR" => index <= unit.counters,
            "ETMEXTOUTEVR" => index <= unit.outputs,
            "ETMCIDCVR" => index <= unit.context_comparators,
            "ETMCIDCMR" => unit.context_comparators > 0,
            "ETMVDEVR" | "ETMVDCR1" | "ETMVDCR3" => unit.data != DataTracing::None,
            "ETMVDCR2" => unit.data != DataTracing::None && unit.memory_map > 0,
            "ETMFFRR" => unit.fifofull,
            "ETMFFLR" => unit.fifofull || unit.suppression,
            "ETMTSSCR" => unit.start_stop && unit.pairs > 0,
            "ETMTECR2" => unit.pairs > 0,
            "ETMEXTINSELR" => unit.selectors > 0,
            "ETMTESSEICR" => unit.ice_start_stop,
            "ETMEIBCR" => unit.ice_behaviour,
            "ETMOSLAR" | "ETMOSLSR" | "ETMOSSRR" => unit.os_lock,
            name => !name.starts_with("ETMSQ") || unit.sequencer || name == "ETMSYNCFR",
        };
        let missing = match number {
            number::CONTROL => self.missing_control(),
            _ => 0,
        };
        if exists { mask & !missing } else { 0 }
    }

    /// The bits of ETMCR that read as 0 as the unit does not have what they enable. (3.5.1)
    fn missing_control(&self) -> u32 {
        let unit = &self.unit;
        let data = match unit.data {
            DataTracing::Full => 0,
            // Table 3-9.
            DataTracing::Addresses => 1 << 20 | 1 << 19 | 0b011 << 1,
            DataTracing::Values => 1 << 20 | 1 << 3,
            DataTracing::None => 1 << 20 | 1 << 19 | 0b111 << 1,
        };
        let bit = |has: bool, bits: u32| if has { 0 } else { bits };
        // A unit that traces no data suppresses none, from ETMv3.3. (2.6.6)
        let suppression =
            unit.suppression && (unit.data != DataTracing::None || unit.version < Version::V3_3);
        data | bit(suppression, 1 << 18)
            | bit(unit.cycles, 1 << 12)
            | bit(unit.branch_output, 1 << 8)
            | bit(unit.context_ids, 0b11 << 14)
            | bit(unit.fifofull, 1 << 7)
            | bit(unit.instrumentation > 0, 1 << 24)
            | bit(unit.timestamps, 1 << 28)
            | bit(unit.virtualization, 1 << 30)
    }

    /// The bits of ETMSCR that report whether the selected size and mode of the port are
    /// supported, as a mask and a value. Before ETMv3.0, and where the largest size is not known,
    /// the mask is empty. (3.5.6)
    fn reported_port(&self) -> (u32, u32) {
        let version = self.unit.version;
        let control = self.value(number::CONTROL);
        let selected = port_width(Control(control, version).port_size(), version);
        let largest = self.unit.max_port.and_then(|code| port_width(code, version));
        match largest {
            Some(largest) if version >= Version::V3_0 => {
                let size = selected.is_some_and(|width| width <= largest);
                let mode = PortMode::of_control(control).is_some();
                (0b11 << 10, u32::from(size) << 10 | u32::from(mode) << 11)
            }
            _ => (0, 0),
        }
    }

    /// Reads the register `number`.
    ///
    /// # Errors
    /// [`BusError`] where the access is not possible.
    pub fn read(&mut self, number: u16, interface: Interface) -> Result<u32, BusError> {
        let permission = self.permission(number, interface);
        match permission {
            Outcome::NotPossible => return Err(BusError::NoPower),
            Outcome::Error => return Err(BusError::Error),
            Outcome::Unpredictable => return Err(BusError::Unpredictable),
            _ => {}
        }
        let [configuration, id, extension, system] = self.identification;
        let version = self.unit.version;
        let Some((kind, _)) = registers::numbered(number) else { return Ok(0) };
        if !kind.register.versions.contains(version) {
            return Ok(0);
        }
        let can = kind.rule.access(version, self.unit.readable, self.unit.fixed_sync);
        let applies = interface == Interface::Software;
        Ok(match number {
            0x001 => configuration,
            number::SYSTEM => system & !self.reported_port().0 | self.reported_port().1,
            0x079 => id,
            0x07a => extension,
            number::STATUS => {
                let programming = self.value(number::CONTROL) >> 10 & 1;
                // The FIFO is empty: the Programming bit takes effect at once.
                self.value(number) & 0b1100 | programming << 1
            }
            0x0c1 if !self.unit.os_lock => 0,
            0x0c1 => u32::from(self.os_lock) << 1 | 1,
            0x0c2 => self.save_read()?,
            0x0c5 => {
                let value = u32::from(self.state_lost) << 1 | u32::from(self.core_power);
                if self.core_power && permission != Outcome::OkNotCleared {
                    self.state_lost = false;
                }
                value
            }
            number::AUTHENTICATION => self.signals.status(self.unit.security, self.secure_field),
            number::FIFOFULL_LEVEL if self.level_ignored && self.implemented(number) != 0 => {
                self.unit.fifo.unwrap_or(u8::MAX).into()
            }
            0x3e8 => 0xff,
            0x3e9 => self.claim.into(),
            0x3ed if applies => u32::from(self.software_lock) << 1 | 1,
            0x3ed => 0,
            _ if can == Access::WriteOnly => 0,
            _ => self.value(number) & self.implemented(number),
        })
    }

    /// Writes the register `number`.
    ///
    /// # Errors
    /// [`BusError`] where the access is not possible, or UNPREDICTABLE.
    pub fn write(&mut self, number: u16, value: u32, interface: Interface) -> Result<(), BusError> {
        let permission = self.permission(number, interface);
        match permission {
            Outcome::NotPossible => return Err(BusError::NoPower),
            Outcome::Error => return Err(BusError::Error),
            Outcome::Unpredictable => return Err(BusError::Unpredictable),
            Outcome::WriteIgnored => return Ok(()),
            // All but PowerDown and the core select bits are ignored.
            Outcome::OkPoweredDown if number == number::CONTROL => {
                let writable = 0b111 << 25 | 1;
                let other = self.value(number) & !writable;
                self.store(number, other | value & writable & (self.implemented(number) | 1));
                return Ok(());
            }
            Outcome::OkPoweredDown => return Ok(()),
            Outcome::Ok | Outcome::OkNotCleared => {}
        }
        let version = self.unit.version;
        let Some((kind, _)) = registers::numbered(number) else { return Ok(()) };
        let can = kind.rule.access(version, self.unit.readable, self.unit.fixed_sync);
        if can == Access::ReadOnly || !kind.register.versions.contains(version) {
            return Ok(());
        }
        match number {
            number::CONTROL => self.write_control(value),
            0x0c0 if self.unit.os_lock => {
                self.os_lock = value == KEY;
                self.save = Save::First;
            }
            0x0c2 => return self.save_write(value),
            0x3e8 => self.claim |= value as u8,
            0x3e9 => self.claim &= !(value as u8),
            0x3ec if interface == Interface::Software => self.software_lock = value != KEY,
            0x0c0 | 0x3ec => {}
            number::FIFOFULL_LEVEL if self.level_ignored => {}
            number::FIFOFULL_LEVEL => {
                // A level above the size of the FIFO is the size. (3.5.8)
                let size = u32::from(self.unit.fifo.unwrap_or(u8::MAX));
                self.store(number, (value & self.implemented(number)).min(size));
            }
            _ => {
                let value = value & self.implemented(number);
                self.store(number, value);
                self.side_effects(number, value);
            }
        }
        Ok(())
    }

    fn write_control(&mut self, value: u32) {
        let before = self.value(number::CONTROL) >> 10 & 1 != 0;
        let value = value & self.implemented(number::CONTROL);
        let after = value >> 10 & 1 != 0;
        self.store(number::CONTROL, value);
        let later = self.unit.version >= Version::V3_1;
        if !before && after {
            self.written.clear();
        }
        // Setting the bit resets the state to ETMv3.0, clearing it from ETMv3.1. (3.4.4)
        if before != after && after != later {
            for kind in registers::KINDS.iter().filter(|kind| kind.state.is_some()) {
                for number in kind.numbers().collect::<Vec<_>>() {
                    if !(later && self.written.contains(&number)) {
                        self.reset_state(number, kind.state);
                    }
                }
            }
        }
    }

    fn reset_state(&mut self, number: u16, state: Option<State>) {
        let value = match state {
            Some(State::Counter) => {
                self.value(number::RELOAD_VALUE + (number - number::COUNT)) & 0xffff
            }
            _ => 0,
        };
        self.store(number, value);
    }

    /// Writing what determines state resets it while Programming is set. (3.5.12, 3.5.13)
    fn side_effects(&mut self, number: u16, value: u32) {
        let programming = self.value(number::CONTROL) >> 10 & 1 != 0;
        let counter = (number::COUNT..number::COUNT + 4).contains(&number);
        if counter || matches!(number, number::SEQUENCER_STATE | number::STATUS) {
            self.written.push(number);
        }
        if !programming {
            return;
        }
        let reload = number.checked_sub(number::RELOAD_VALUE).filter(|n| *n < 4);
        if let Some(n) = reload.filter(|n| !self.written.contains(&(number::COUNT + n))) {
            self.store(number::COUNT + n, value & 0xffff);
        }
        let transition = (number::SEQUENCER..number::SEQUENCER + 6).contains(&number);
        if transition && !self.written.contains(&number::SEQUENCER_STATE) {
            self.store(number::SEQUENCER_STATE, 0);
        }
    }

    /// The registers that ETMOSSRR saves.
    fn saved(&self) -> Vec<u16> {
        let all = SAVED.iter().flat_map(|(first, last)| *first..=*last);
        all.filter(|number| self.implemented(*number) != 0).collect()
    }

    fn save_read(&mut self) -> Result<u32, BusError> {
        let saved = self.saved();
        match self.save {
            Save::First => {
                self.save = Save::Next(0, None);
                Ok(saved.len() as u32)
            }
            Save::Next(at, None | Some(false)) => {
                let number = saved.get(at).ok_or(BusError::Unpredictable)?;
                self.save = Save::Next(at + 1, Some(false));
                Ok(self.value(*number))
            }
            Save::Next(_, Some(true)) => Err(BusError::Unpredictable),
        }
    }

    fn save_write(&mut self, value: u32) -> Result<(), BusError> {
        let saved = self.saved();
        match self.save {
            Save::Next(at, None | Some(true)) => {
                let number = *saved.get(at).ok_or(BusError::Unpredictable)?;
                self.store(number, value & self.implemented(number));
                self.save = Save::Next(at + 1, Some(true));
                Ok(())
            }
            Save::First | Save::Next(_, Some(false)) => Err(BusError::Unpredictable),
        }
    }
}
