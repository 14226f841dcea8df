//! The layout of the Micro Trace Buffer. (Arm DDI 0486, 3.2)

use super::layout::{Kind, Layout, value};
use crate::device::Registers;

/// Bytes of a packet.
const PACKET: u64 = 8;

/// The layout, where there are POSITION and MASTER.
pub(crate) fn layout(registers: &Registers, len: u64) -> Option<Result<Layout, String>> {
    let position = value(registers, &["POSITION"])?;
    let master = value(registers, &["MASTER"])?;
    Some(of(registers, position, master, len))
}

fn of(registers: &Registers, position: u64, master: u64, len: u64) -> Result<Layout, String> {
    let mut layout = Layout::new(Kind::Mtb);
    let size = 1u64 << ((master & 0x1f) + 4);
    let (pointer, wrapped) = (position & 0xffff_fff8, position >> 2 & 1 != 0);
    // The buffer is at a multiple of its size in the SRAM, of which there may be a part only.
    let (start, next) = (pointer & !(size - 1), pointer & (size - 1));
    let start = if len > size { start } else { 0 };
    let needed = start.saturating_add(if wrapped { size } else { next });
    if len < needed {
        return Err(format!("the file has {len} bytes, and the registers describe {needed}"));
    }
    layout.ring(size, next, wrapped);
    for part in &mut layout.parts {
        (part.start, part.end) = (part.start + start, part.end + start);
    }
    if start > 0 {
        layout.state.push(format!("the buffer is at offset {start:#x} of the file"));
    }
    if wrapped {
        layout.lost.push("trace before the oldest byte was overwritten".to_owned());
    }
    let flow = value(registers, &["FLOW"]).unwrap_or(0);
    if master >> 31 & 1 == 0 && flow & 1 != 0 && flow & !7 == pointer {
        layout.state.push("stopped at the watermark".to_owned());
        layout.lost.push("trace after the watermark was not recorded".to_owned());
    } else if master >> 31 & 1 != 0 {
        layout.state.push("tracing was enabled when the registers were read".to_owned());
    }
    debug_assert!(layout.len().is_multiple_of(PACKET));
    Ok(layout)
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of parts may have one")]
mod tests {
    use super::*;

    fn parts(position: u64, master: u64, len: u64) -> Option<Vec<std::ops::Range<u64>>> {
        let registers = Registers::from_iter([("MTB_POSITION", position), ("MTB_MASTER", master)]);
        layout(&registers, len).unwrap().ok().map(|layout| layout.parts)
    }

    /// DDI 0486, 3.2.1 and 3.2.2: POINTER, WRAP and MASK, in a file of the buffer and in one of the
    /// whole SRAM.
    #[test]
    fn position_and_mask() {
        let mask = 6; // 1 KiB
        assert_eq!(parts(0x40, mask, 0x400), Some(vec![0..0x40]));
        assert_eq!(parts(0x44, mask, 0x400), Some(vec![0x40..0x400, 0..0x40]));
        assert_eq!(parts(0x840, mask, 0x400), Some(vec![0..0x40]));
        assert_eq!(parts(0x844, mask, 0x2000), Some(vec![0x840..0xc00, 0x800..0x840]));
        assert_eq!(parts(0x844, mask, 0xbff), None);
        assert_eq!(parts(0x44, mask, 0x3ff), None);
    }
}
