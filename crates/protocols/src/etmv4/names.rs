//! Names of exceptions.

use alloc::borrow::Cow;
use alloc::format;

use super::{Config, Exception};

/// What exception `number` is called. (IHI 0064 and Arm ARM, "Exception packet", TYPE)
pub(super) fn exception(config: &Config, number: u16) -> Option<Cow<'static, str>> {
    let name = match number {
        _ if config.microcontroller() => return microcontroller(number),
        0x00 => "PE reset",
        0x01 => "debug halt",
        0x02 => "call",
        0x03 => "trap",
        0x04 => "system error",
        0x06 => "instruction debug",
        0x07 => "data debug",
        0x0a => "alignment",
        0x0b => "instruction fault",
        0x0c => "data fault",
        0x0e => "IRQ",
        0x0f => "FIQ",
        Exception::TRANSACTION_FAILURE if config.is_ete() => "transaction failure",
        _ => return None,
    };
    Some(name.into())
}

fn microcontroller(number: u16) -> Option<Cow<'static, str>> {
    let name = match number {
        0x01 => "reset",
        0x02 => "NMI",
        0x03 => "HardFault",
        0x04 => "MemManage",
        0x05 => "BusFault",
        0x06 => "UsageFault",
        0x0b => "SVCall",
        0x0c => "DebugMonitor",
        0x0e => "PendSV",
        0x0f => "SysTick",
        0x10..=0x17 => return Some(format!("IRQ {}", number - 0x10).into()),
        0x208..=0x3ef => return Some(format!("IRQ {}", number - 0x200).into()),
        0x18 => "debug halt",
        0x19 => "lazy floating-point push",
        0x1a => "lockup",
        _ => return None,
    };
    Some(name.into())
}
