//! The layout of a RISC-V RAM sink: SRAM or system memory. (Trace Control Interface 1.0, "Trace RAM
//! Sink")

use super::layout::{Kind, Layout, value};
use crate::device::Registers;

/// The layout, where there are `trRamWPLow` and `trRamLimitLow`, or the same registers of the
/// interface before 1.0.
pub(crate) fn layout(registers: &Registers, len: u64) -> Option<Result<Layout, String>> {
    let wide = |low: &[&str], high: &[&str]| {
        Some(value(registers, high).unwrap_or(0) << 32 | value(registers, low)?)
    };
    let pointer = wide(&["trRamWPLow", "teSinkWP"], &["trRamWPHigh"])?;
    let limit = wide(&["trRamLimitLow", "teSinkLimit"], &["trRamLimitHigh"])?;
    let start = wide(&["trRamStartLow", "teSinkBase"], &["trRamStartHigh", "teSinkBaseHigh"]);
    Some(of(registers, start.unwrap_or(0), limit, pointer, len))
}

fn of(
    registers: &Registers,
    start: u64,
    limit: u64,
    pointer: u64,
    len: u64,
) -> Result<Layout, String> {
    // Bit 0 is trRamWrap; addresses are those of 4-byte words, and the limit is the last one.
    let (wrapped, pointer) = (pointer & 1 != 0, pointer & !0b11);
    let (start, limit) = (start & !0b11, limit & !0b11);
    if !(start..=limit).contains(&pointer) {
        return Err(format!(
            "the write pointer {pointer:#x} is outside of the buffer, {start:#x} to {limit:#x}"
        ));
    }
    let (size, next) = ((limit - start).saturating_add(4), pointer - start);
    let needed = if wrapped { size } else { next };
    if len < needed {
        return Err(format!("the file has {len} bytes, and the registers describe {needed}"));
    }
    let mut layout = Layout::new(Kind::RiscvRam);
    layout.ring(size, next, wrapped);
    let control = value(registers, &["trRamControl"]).unwrap_or(0b1000);
    let (enabled, empty, stops) = (control >> 1 & 1, control >> 3 & 1, control >> 8 & 1);
    if wrapped && stops != 0 {
        layout.lost.push(
            "storing ended when the buffer was full; the last message may be incomplete".to_owned(),
        );
    } else if wrapped {
        layout.lost.push("trace before the oldest byte was overwritten".to_owned());
    }
    if enabled != 0 {
        layout.state.push("the sink was enabled when the registers were read".to_owned());
    } else if empty == 0 {
        layout.lost.push("trace that the sink had not stored when it was read".to_owned());
    }
    Ok(layout)
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of parts may have one")]
mod tests {
    use super::*;

    fn parts(list: &[(&str, u64)], len: u64) -> Option<Vec<std::ops::Range<u64>>> {
        let registers = list.iter().copied().collect::<Registers>();
        layout(&registers, len).unwrap().ok().map(|layout| layout.parts)
    }

    /// SRAM from 0, and system memory above 4 GiB: trRamLimit is the address of the last word.
    #[test]
    fn pointers() {
        let limit = ("trRamLimitLow", 0x3fc);
        assert_eq!(parts(&[limit, ("trRamWPLow", 0x40)], 0x400), Some(vec![0..0x40]));
        assert_eq!(parts(&[limit, ("trRamWPLow", 0x41)], 0x400), Some(vec![0x40..0x400, 0..0x40]));
        assert_eq!(parts(&[limit, ("trRamWPLow", 0x1)], 0x400), Some(vec![0..0x400]));
        assert_eq!(parts(&[limit, ("trRamWPLow", 0x41)], 0x3ff), None);
        assert_eq!(parts(&[limit, ("trRamWPLow", 0x400)], 0x400), None);
        let memory = [
            ("trRamStartLow", 0x8000_0000),
            ("trRamStartHigh", 1),
            ("trRamLimitLow", 0x8000_0ffc),
            ("trRamLimitHigh", 1),
            ("trRamWPLow", 0x8000_0101),
            ("trRamWPHigh", 1),
        ];
        assert_eq!(parts(&memory, 0x1000), Some(vec![0x100..0x1000, 0..0x100]));
        let early = [("teSinkBase", 0x1000), ("teSinkLimit", 0x13fc), ("teSinkWP", 0x1010)];
        assert_eq!(parts(&early, 0x400), Some(vec![0..0x10]));
    }

    #[test]
    fn states() {
        for (control, wrapped, text) in [
            (0b1000, 1, "overwritten"),
            (0x108, 1, "may be incomplete"),
            (0b0001, 0, "had not stored"),
        ] {
            let list =
                [("trRamControl", control), ("trRamLimitLow", 0xfc), ("trRamWPLow", wrapped)];
            let registers = list.into_iter().collect::<Registers>();
            let layout = layout(&registers, 0x100).unwrap().unwrap();
            assert!(
                layout.lost.iter().any(|lost| lost.contains(text)),
                "{text}: {:?}",
                layout.lost
            );
        }
    }
}
