//! Procedures that find out what a unit implements by writing registers and reading them back. (IHI
//! 0014, 2.6.6, 3.5.1, 3.5.6, 3.5.8, 3.5.17 and 3.5.24)

use super::bus::{BusError, Device};
use super::permission::Interface;
use super::resources::DataTracing;
use super::settings::{number, port_width};
use super::version::Version;

/// Access to the registers of a unit by number.
pub trait RegisterBus {
    /// Reads a register.
    ///
    /// # Errors
    /// [`BusError`] where the access is not possible.
    fn read(&mut self, number: u16) -> Result<u32, BusError>;

    /// Writes a register.
    ///
    /// # Errors
    /// [`BusError`] where the access is not possible.
    fn write(&mut self, number: u16, value: u32) -> Result<(), BusError>;
}

/// A simulated unit, accessed through one interface.
#[derive(Debug)]
pub struct Connection<'a> {
    /// The unit.
    pub device: &'a mut Device,
    /// The interface.
    pub interface: Interface,
}

impl RegisterBus for Connection<'_> {
    fn read(&mut self, number: u16) -> Result<u32, BusError> {
        self.device.read(number, self.interface)
    }

    fn write(&mut self, number: u16, value: u32) -> Result<(), BusError> {
        self.device.write(number, value, self.interface)
    }
}

/// What the procedures found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features {
    /// Data suppression. (Table 2-2)
    pub suppression: bool,
    /// Cycle-accurate tracing. (Table 3-8)
    pub cycles: bool,
    /// Data tracing. `None`: the bits have values that Table 3-9 does not have.
    pub data: Option<DataTracing>,
    /// Branch output.
    pub branch_output: bool,
    /// Tracing of context IDs.
    pub context_ids: bool,
    /// The size of the FIFO in bytes; 0 where the unit does not have ETMFFLR. (3.5.8)
    pub fifo: u8,
    /// The unit does not follow the level in ETMFFLR. (3.5.8)
    pub level_ignored: bool,
    /// ETMSYNCFR is read-only. (3.5.17)
    pub fixed_sync: bool,
    /// ETMOSLAR, ETMOSLSR and ETMOSSRR. (3.5.24)
    pub os_lock: bool,
    /// Sizes of the port that the unit accepts, in pins. (3.5.1, 3.5.6)
    pub port_sizes: Vec<u8>,
}

/// The bits of ETMCR that are written for each feature. (Table 3-7)
pub const SUPPRESS: u32 = 1 << 18;
/// See [`SUPPRESS`].
pub const CYCLES: u32 = 1 << 12;
/// See [`SUPPRESS`]: bits \[20:18, 3:1].
pub const DATA: u32 = 0b111 << 18 | 0b111 << 1;

/// Finds out what an ETMv3.3 or later implements. The Programming bit must be set, and PowerDown
/// clear; the registers have their old values afterwards.
///
/// # Errors
/// [`BusError`] of the first access that was not possible.
pub fn features(bus: &mut impl RegisterBus) -> Result<Features, BusError> {
    let suppression = reads_back(bus, SUPPRESS)? == SUPPRESS;
    let cycles = reads_back(bus, CYCLES)? == CYCLES;
    let data = data_tracing(reads_back(bus, DATA)?);
    let branch_output = reads_back(bus, 1 << 8)? != 0;
    let context_ids = reads_back(bus, 0b11 << 14)? != 0;
    let (fifo, level_ignored) = fifo(bus)?;
    Ok(Features {
        suppression,
        cycles,
        data,
        branch_output,
        context_ids,
        fifo,
        level_ignored,
        fixed_sync: fixed_sync(bus)?,
        os_lock: bus.read(number::OS_LOCK_STATUS)? & 1 != 0,
        port_sizes: port_sizes(bus)?,
    })
}

/// Those of the bits `set` of ETMCR that stay set when they are written.
fn reads_back(bus: &mut impl RegisterBus, set: u32) -> Result<u32, BusError> {
    let before = bus.read(number::CONTROL)?;
    bus.write(number::CONTROL, before | set)?;
    let after = bus.read(number::CONTROL)?;
    bus.write(number::CONTROL, before)?;
    Ok(after & set)
}

/// The data tracing options for ETMCR bits \[20:18, 3:1], which were all written with 1. (Table
/// 3-9)
pub const fn data_tracing(control: u32) -> Option<DataTracing> {
    // Bit [18] is that of data suppression, which can be set in every row but the last.
    Some(match (control >> 19 & 0b11, control >> 18 & 1, control >> 1 & 0b111) {
        (0b11, _, 0b111) => DataTracing::Full,
        (0b00, _, 0b100) => DataTracing::Addresses,
        (0b01, _, 0b011) => DataTracing::Values,
        (0b00, 0, 0b000) => DataTracing::None,
        _ => return None,
    })
}

/// The size of the FIFO, and whether its level is ignored. (3.5.8)
fn fifo(bus: &mut impl RegisterBus) -> Result<(u8, bool), BusError> {
    let before = bus.read(number::FIFOFULL_LEVEL)?;
    bus.write(number::FIFOFULL_LEVEL, u32::MAX)?;
    let size = bus.read(number::FIFOFULL_LEVEL)? as u8;
    bus.write(number::FIFOFULL_LEVEL, 1)?;
    let ignored = size != 0 && bus.read(number::FIFOFULL_LEVEL)? != 1;
    bus.write(number::FIFOFULL_LEVEL, before)?;
    Ok((size, ignored))
}

/// Whether ETMSYNCFR has the fixed value 1024. (3.5.17)
fn fixed_sync(bus: &mut impl RegisterBus) -> Result<bool, BusError> {
    let before = bus.read(number::SYNC_FREQUENCY)?;
    bus.write(number::SYNC_FREQUENCY, u32::MAX)?;
    let fixed = bus.read(number::SYNC_FREQUENCY)? == 0x400;
    bus.write(number::SYNC_FREQUENCY, before)?;
    Ok(fixed)
}

/// The sizes for which ETMSCR bit \[10] reports that they are supported.
fn port_sizes(bus: &mut impl RegisterBus) -> Result<Vec<u8>, BusError> {
    let before = bus.read(number::CONTROL)?;
    let mut sizes = Vec::new();
    for code in 0..16u8 {
        let Some(width) = port_width(code, Version::V3_4) else { continue };
        let bits = u32::from(code >> 3) << 21 | u32::from(code & 0b111) << 4;
        bus.write(number::CONTROL, before & !(1 << 21 | 0b111 << 4) | bits)?;
        if bus.read(number::SYSTEM)? >> 10 & 1 != 0 {
            sizes.push(width);
        }
    }
    bus.write(number::CONTROL, before)?;
    sizes.sort_unstable();
    Ok(sizes)
}
