//! The layout of a buffer of a CoreSight TMC, or of an ETB. (Arm DDI 0461, DDI 0480)

use tracewright_units::buffers::tmc::{PAGE, entries};

use super::layout::{Kind, Layout, value};
use crate::device::Registers;
use crate::limits::MAX_PAGES;

/// Bytes of a formatter frame.
const FRAME: u64 = 16;

/// The layout, where there is a write pointer RWP and the size of the memory, RSZ or RDP.
pub(crate) fn layout(
    device_type: &str,
    registers: &Registers,
    len: u64,
    word: &dyn Fn(u64) -> Option<u32>,
) -> Option<Result<Layout, String>> {
    let pointer = value(registers, &["RWP"])?;
    let words = value(registers, &["RSZ"]);
    let (kind, words) = match (words, value(registers, &["RDP"])) {
        (None, depth) => (Kind::Etb, depth?),
        (Some(words), _) if has_address(device_type, registers) => (Kind::Etr, words),
        (Some(words), _) => (Kind::Etf, words),
    };
    Some(of(kind, registers, pointer, words, len, word))
}

/// Whether the device writes to system memory.
fn has_address(device_type: &str, registers: &Registers) -> bool {
    device_type.to_ascii_uppercase().contains("ETR") || value(registers, &["DBALO"]).is_some()
}

fn of(
    kind: Kind,
    registers: &Registers,
    pointer: u64,
    words: u64,
    len: u64,
    word: &dyn Fn(u64) -> Option<u32>,
) -> Result<Layout, String> {
    let mut layout = Layout::new(kind);
    let high = |name| value(registers, &[name]).unwrap_or(0) << 32;
    let size = words.checked_mul(4).ok_or("the size in RSZ is too large")?;
    let next = match kind {
        Kind::Etb => pointer.checked_mul(4),
        Kind::Etr => {
            let known = value(registers, &["DBALO"]).is_some();
            let start = high("DBAHI") | value(registers, &["DBALO"]).unwrap_or(0);
            let scattered = value(registers, &["AXICTL"]).unwrap_or(0) >> 7 & 1 != 0;
            let pointer = high("RWPHI") | pointer;
            if !known && (scattered || pointer > size) {
                return Err("DBALO is missing, the address of the buffer".to_owned());
            }
            match scattered {
                true => in_pages(&mut layout, start, size, pointer, word)?,
                false => pointer.checked_sub(start),
            }
        }
        _ => Some(pointer),
    };
    let next = next.filter(|next| *next < size || *next == size && size > 0);
    let next = next.ok_or_else(|| {
        format!("the write pointer {pointer:#x} is not inside of the buffer of {size} bytes")
    })?;
    let status = value(registers, &["STS"]);
    let wrapped = status.is_some_and(|status| status & 1 != 0);
    let empty = is_empty(kind, status);
    // At the end, a buffer that has wrapped or is empty goes on at its start.
    let next = if wrapped || empty { next % size.max(1) } else { next };
    let needed = if wrapped { size } else { next };
    if len < needed {
        return Err(format!("the file has {len} bytes, and the registers describe {needed}"));
    }
    layout.ring(size, next, wrapped);
    let formatted = value(registers, &["FFCR"]).is_none_or(|control| control & 1 != 0);
    if formatted && wrapped && next % FRAME != 0 {
        skip_frame(&mut layout, next);
    }
    if wrapped {
        // A buffer that software stops when it is full has the same registers as one that has
        // wrapped and is full again.
        layout.lost.push(match next {
            0 => "trace before the oldest byte may have been overwritten, or trace after the \
                  newest byte lost as capture stopped when the buffer was full; the registers do \
                  not record which"
                .to_owned(),
            _ => "trace before the oldest byte was overwritten".to_owned(),
        });
    }
    describe(&mut layout, registers, status);
    // The formatter has stopped, so that its stop sequence is written.
    let stopped = value(registers, &["FFSR"]).is_some_and(|status| status >> 1 & 1 != 0)
        || status.is_some_and(|status| status >> 2 & 1 != 0);
    layout.stop_sequence = !formatted && stopped;
    Ok(layout)
}

/// STS.Empty, bit \[4] of a TMC: no trace is in the buffer. It is 0 where capture is disabled.
fn is_empty(kind: Kind, status: Option<u64>) -> bool {
    kind != Kind::Etb && status.is_some_and(|status| status >> 4 & 1 != 0)
}

/// The state in the other registers.
fn describe(layout: &mut Layout, registers: &Registers, status: Option<u64>) {
    let Some(status) = status else {
        layout.lost.push(
            "STS is missing: bytes behind the write pointer are not read, and may be trace"
                .to_owned(),
        );
        return;
    };
    if status >> 1 & 1 != 0 {
        layout.state.push("stopped by a trigger".to_owned());
    } else if status >> 2 & 1 != 0 {
        layout.state.push("stopped".to_owned());
    } else if value(registers, &["CTL"]).is_some_and(|control| control & 1 != 0) {
        layout.state.push(
            "capture was enabled when the registers were read: the last bytes may be missing"
                .to_owned(),
        );
    }
    if is_empty(layout.kind, Some(status)) && status & 1 == 0 && !layout.is_empty() {
        layout.lost.push(
            "STS.Empty is 1, but RWP is behind the start: the bytes before it may be of an earlier \
             capture"
                .to_owned(),
        );
    }
    if layout.kind == Kind::Etr && status >> 5 & 1 != 0 {
        layout.lost.push("a write to memory failed (STS.MemErr)".to_owned());
    }
    if let Some(mode @ 1..) = value(registers, &["MODE"]).map(|mode| mode & 0b11) {
        let name = if mode == 1 { "software" } else { "hardware" };
        layout.state.push(format!("{name} FIFO mode"));
    }
}

/// The offset of the write pointer in the pages of the list at `table`.
fn in_pages(
    layout: &mut Layout,
    table: u64,
    size: u64,
    pointer: u64,
    word: &dyn Fn(u64) -> Option<u32>,
) -> Result<Option<u64>, String> {
    let most = usize::try_from(size / PAGE).unwrap_or(usize::MAX);
    let pages = entries(table, most.clamp(1, MAX_PAGES), word);
    let pages = pages.filter(|pages| pages.len() <= MAX_PAGES).ok_or_else(|| {
        format!(
            "the list of pages at {table:#x} is not in the capture, or invalid; add a dump of that \
             memory"
        )
    })?;
    layout.state.push(format!("{} pages of a scatter-gather list", pages.len()));
    let page = pages.iter().position(|page| pointer & !(PAGE - 1) == *page);
    let at_end = pages.last().and_then(|page| page.checked_add(PAGE)) == Some(pointer);
    Ok(match page {
        None if at_end => Some(pages.len() as u64 * PAGE),
        page => page.map(|page| page as u64 * PAGE + pointer % PAGE),
    })
}

/// Leaves out the rest of the frame that was partly overwritten.
fn skip_frame(layout: &mut Layout, next: u64) {
    let skipped = FRAME - next % FRAME;
    if let Some(first) = layout.parts.first_mut() {
        first.start = (first.start + skipped).min(first.end);
    }
    layout.parts.retain(|part| part.start < part.end);
    layout.lost.push(format!("{skipped} bytes of a frame that was partly overwritten"));
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of parts may have one")]
mod tests {
    use super::*;
    use tracewright_units::buffers::tmc::table;

    fn none(_: u64) -> Option<u32> {
        None
    }

    fn parts(pairs: &[(&str, u64)], len: u64) -> Vec<std::ops::Range<u64>> {
        let registers = Registers::from_iter(pairs.iter().copied());
        layout("", &registers, len, &none).unwrap().unwrap().parts
    }

    /// DDI 0480, 3.10: the pointers of an ETB are numbers of words. DDI 0461, 3.3: those of a TMC
    /// are byte addresses, and RWPHI has their upper half.
    #[test]
    fn pointers() {
        let etb = |rwp, sts| parts(&[("RDP", 0x400), ("RWP", rwp), ("STS", sts)], 0x1000);
        assert_eq!(etb(0x40, 0b1100), [0..0x100]);
        assert_eq!(etb(0x40, 0b1101), [0x100..0x1000, 0..0x100]);
        let etf = |rwp, sts| parts(&[("RSZ", 0x400), ("RWP", rwp), ("STS", sts)], 0x1000);
        assert_eq!(etf(0x40, 0b1100), [0..0x40]);
        assert_eq!(etf(0x40, 0b1101), [0x40..0x1000, 0..0x40]);
        let etr = [("RSZ", 0x400), ("RWP", 0x8000_0040), ("RWPHI", 1), ("STS", 1)];
        let base = [("DBALO", 0x8000_0000), ("DBAHI", 1)];
        assert_eq!(parts(&[&etr[..], &base[..]].concat(), 0x1000), [0x40..0x1000, 0..0x40]);
    }

    /// A write pointer at the end: STS has whether the buffer is full, has wrapped or is empty.
    #[test]
    fn pointer_at_the_end() {
        for (status, bytes) in [(0b01100, 0x1000), (0b01101, 0x1000), (0b11100, 0)] {
            for (size, at, kind) in [("RDP", 0x400, "ETB"), ("RSZ", 0x1000, "ETF")] {
                let list = [(size, 0x400), ("RWP", at), ("STS", status)];
                let layout = layout(kind, &Registers::from_iter(list), 0x1000, &none).unwrap();
                // An ETB has no STS.Empty.
                let bytes = if kind == "ETB" { 0x1000 } else { bytes };
                assert_eq!(layout.unwrap().len(), bytes, "{kind} {status:#b}");
            }
            let etr = [("RSZ", 0x400), ("RWP", 0x8000_1000), ("DBALO", 0x8000_0000)];
            let etr = Registers::from_iter([&etr[..], &[("STS", status)]].concat());
            assert_eq!(layout("ETR", &etr, 0x1000, &none).unwrap().unwrap().len(), bytes);
        }
        let without_status = [("RSZ", 0x400), ("RWP", 0x1000)];
        assert_eq!(parts(&without_status, 0x1000), [0..0x1000]);
        // A pointer behind the start contradicts STS.Empty.
        let behind = Registers::from_iter([("RSZ", 0x400), ("RWP", 0x40), ("STS", 0b11100)]);
        let behind = layout("ETF", &behind, 0x1000, &none).unwrap().unwrap();
        assert_eq!((behind.len(), behind.lost.len()), (0x40, 1));
    }

    /// Frames are aligned to the memory: the rest of one that was partly overwritten is left out.
    #[test]
    fn partial_frame() {
        let etb = |control| {
            let list = [("RDP", 0x400), ("RWP", 0x41), ("STS", 1), ("FFCR", control)];
            parts(&list, 0x1000)
        };
        assert_eq!(etb(1), [0x110..0x1000, 0..0x104]);
        assert_eq!(etb(0), [0x104..0x1000, 0..0x104]);
    }

    /// A full buffer with the write pointer at its start has wrapped, or was stopped.
    #[test]
    fn lost_trace() {
        for (pointer, overwritten) in [(0, false), (0x400, false), (0x10, true)] {
            let list = [("RDP", 0x400), ("RWP", pointer), ("STS", 0b101)];
            let layout = layout("", &Registers::from_iter(list), 0x1000, &none).unwrap().unwrap();
            let [lost] = layout.lost.as_slice() else { panic!("{:?}", layout.lost) };
            assert_eq!(lost.contains("was overwritten"), overwritten, "{lost}");
            assert_eq!(lost.contains("may have been overwritten"), !overwritten, "{lost}");
        }
    }

    /// DDI 0461, 2.5: the write pointer of a scatter-gather list is an address in one of its pages.
    #[test]
    fn pages() {
        let pages = [0x9000_0000, 0x8000_3000, 0x8000_1000];
        let tables = table(&pages, &[0x4_0000]).unwrap();
        let word = |at: u64| tables[0].1.get((at.checked_sub(0x4_0000)? / 4) as usize).copied();
        let registers = |rwp: u64| {
            Registers::from_iter([
                ("RSZ", 0xc00),
                ("RWP", rwp),
                ("STS", 1),
                ("AXICTL", 0x80),
                ("DBALO", 0x4_0000),
            ])
        };
        let found = layout("ETR", &registers(0x8000_3010), 0x3000, &word).unwrap().unwrap();
        assert_eq!(found.parts, [0x1010..0x3000, 0..0x1010]);
        assert!(layout("ETR", &registers(0x7000_0000), 0x3000, &word).unwrap().is_err());
        assert!(layout("ETR", &registers(0x8000_3010), 0x3000, &none).unwrap().is_err());
    }

    /// A list of too many pages is not followed.
    #[test]
    fn pages_beyond_the_most() {
        const FIRST: u64 = 0x1_0000_0000;
        for (count, read) in [(MAX_PAGES as u64, true), (MAX_PAGES as u64 + 1, false)] {
            let pages: Vec<u64> = (0..count).map(|n| FIRST + n * PAGE).collect();
            let addresses: Vec<u64> = (0..65).map(|n| n * PAGE).collect();
            let tables = table(&pages, &addresses).unwrap();
            let word = |at: u64| {
                tables.get((at / PAGE) as usize)?.1.get((at % PAGE / 4) as usize).copied()
            };
            let registers = Registers::from_iter([
                ("RSZ", count * PAGE / 4),
                ("RWP", 16),
                ("RWPHI", FIRST >> 32),
                ("STS", 1),
                ("AXICTL", 0x80),
                ("DBALO", 0),
            ]);
            let found = layout("ETR", &registers, count * PAGE, &word).unwrap();
            assert_eq!(found.is_ok(), read, "{count}: {found:?}");
        }
    }

    /// Without DBALO, a write pointer is an offset at most.
    #[test]
    fn address_of_a_router() {
        for (pointer, control, known) in
            [(0x10, 0, true), (0x8000_0010, 0, false), (0x10, 0x80, false)]
        {
            let list = [("RSZ", 0x400), ("RWP", pointer), ("STS", 0), ("AXICTL", control)];
            let found = layout("ETR", &Registers::from_iter(list), 0x1000, &none).unwrap();
            let missing = found.as_ref().is_err_and(|why| why.contains("DBALO is missing"));
            assert_eq!((found.is_ok(), missing), (known, !known), "{pointer:#x}");
        }
    }

    #[test]
    fn what_does_not_fit() {
        for (pairs, len) in [
            (&[("RDP", 0x400), ("RWP", 0x401), ("STS", 1)][..], 0x1000),
            (&[("RDP", 0x400), ("RWP", 0x40), ("STS", 1)][..], 0xfff),
            (&[("RSZ", u64::MAX), ("RWP", 0), ("STS", 0)][..], 0),
            (&[("RSZ", 4), ("RWP", 0x10), ("DBALO", 0x1000), ("STS", 0)][..], 16),
        ] {
            let registers = Registers::from_iter(pairs.iter().copied());
            assert!(layout("", &registers, len, &none).unwrap().is_err(), "{pairs:?}");
        }
        assert_eq!(layout("ETB", &Registers::from_iter([("RWP", 0)]), 0, &none), None);
    }
}
