//! The layout of a buffer of the Trace Buffer Extension. (Arm ARM, D6.1.1, D6.2.2 and D24.4)

use tracewright_units::buffers::trbe::{Cause, FillMode, Limit, Pointers, Status};

use super::layout::{Kind, Layout, value};
use crate::device::Registers;

/// The layout, where there is a write pointer TRBPTR_EL1.
pub(crate) fn layout(registers: &Registers, len: u64) -> Option<Result<Layout, String>> {
    let pointer = value(registers, &["TRBPTR_EL1", "TRBPTR"])?;
    Some(of(registers, pointer, len))
}

fn of(registers: &Registers, current: u64, len: u64) -> Result<Layout, String> {
    let mut layout = Layout::new(Kind::Trbe);
    let base = value(registers, &["TRBBASER_EL1", "TRBBASER"])
        .ok_or("TRBBASER_EL1 is missing, the address of the first byte")?
        & !0xfff;
    let limit = value(registers, &["TRBLIMITR_EL1", "TRBLIMITR"]).map(Limit);
    let end = match limit {
        Some(limit) => limit.pointer(),
        None => {
            base.checked_add(len).ok_or("TRBBASER_EL1 and the size of the file are too large")?
        }
    };
    let pointers = Pointers { base, limit: end, current };
    // With FEAT_TRBE_EXC, the events of EL2 and EL3 have registers of their own.
    let names: [&[&str]; 3] = [&["TRBSR_EL1", "TRBSR"], &["TRBSR_EL2"], &["TRBSR_EL3"]];
    let statuses: Vec<Status> =
        names.iter().filter_map(|names| value(registers, names)).map(Status).collect();
    let wrapped = statuses.iter().any(|status| status.wrapped());
    // Without a Limit pointer, the stored bytes may end at the write pointer.
    let is_end = limit.is_none() && !wrapped && current == end;
    if pointers.is_out_of_range() && !is_end {
        return Err(format!(
            "the write pointer {current:#x} is not inside of the buffer, {base:#x} to {end:#x}"
        ));
    }
    let (size, next) = (end - base, current - base);
    let mode = limit.and_then(Limit::fill_mode);
    if let Some(mode) = mode {
        layout.state.push(
            match mode {
                FillMode::Fill => "Fill mode",
                FillMode::Wrap => "Wrap mode",
                FillMode::Circular => "Circular Buffer mode",
            }
            .to_owned(),
        );
    }
    let needed = if wrapped { size } else { next };
    if len < needed {
        return Err(format!("the file has {len} bytes, and the registers describe {needed}"));
    }
    layout.ring(size, next, wrapped);
    if statuses.is_empty() {
        layout.lost.push(
            "TRBSR_EL1 is missing: bytes behind the write pointer are not read, and may be trace"
                .to_owned(),
        );
        return Ok(layout);
    }
    statuses.iter().for_each(|status| stopped(&mut layout, *status));
    let filled =
        statuses.iter().any(|status| status.stopped() && status.cause() == Some(Cause::Filled));
    if wrapped && !(filled && next == 0) {
        layout.lost.push("trace before the oldest byte was overwritten".to_owned());
    }
    if statuses.iter().any(|status| status.data_pending()) {
        layout
            .lost
            .push("accepted trace was not in memory when the registers were read".to_owned());
    }
    let stopped = statuses.iter().any(|status| status.stopped());
    if limit.is_some_and(|limit| limit.self_hosted()) && !stopped {
        layout.state.push(
            "the unit was enabled when the registers were read: the last bytes may be missing"
                .to_owned(),
        );
    }
    Ok(layout)
}

/// What stopped collection.
fn stopped(layout: &mut Layout, status: Status) {
    if status.triggered() {
        layout.state.push("a Detected Trigger was observed".to_owned());
    }
    if !status.stopped() {
        return;
    }
    let cause =
        status.cause().map_or("for a reserved reason".to_owned(), |cause| cause.to_string());
    layout.state.push(format!("collection stopped: {cause}"));
    match status.cause() {
        Some(Cause::Triggered | Cause::ManualStop) => {}
        _ => layout.lost.push(format!("trace after collection stopped was discarded ({cause})")),
    }
    if status.external_abort() {
        layout.lost.push("a write ended with an External abort".to_owned());
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of parts may have one")]
mod tests {
    use super::*;

    fn registers(pointer: u64, limit: u64, status: u64) -> Registers {
        Registers::from_iter([
            ("TRBBASER_EL1", 0xffff_0000_0010_0000),
            ("TRBPTR_EL1", pointer),
            ("TRBLIMITR_EL1", limit),
            ("TRBSR_EL1", status),
        ])
    }

    const BASE: u64 = 0xffff_0000_0010_0000;

    /// Arm ARM, RVHNTF: not wrapped, wrapped, and full with the pointer at the Base pointer.
    #[test]
    fn parts() {
        let (size, wrap) = (0x2000u64, Status::WRAP);
        let full = Status(wrap | Status::IRQ | Status::S).with_cause(Cause::Filled).0;
        for (offset, mode, status, parts, lost) in [
            (0, 0b00, 0, vec![], 0),
            (0x123, 0b00, 0, vec![0..0x123], 0),
            (0, 0b00, full, vec![0..size], 1),
            (0x123, 0b01, wrap | Status::IRQ, vec![0x123..size, 0..0x123], 1),
            (0, 0b11, wrap, vec![0..size], 1),
            (0x1fff, 0b11, wrap, vec![0x1fff..size, 0..0x1fff], 1),
        ] {
            let registers = registers(BASE + offset, (BASE + size) | mode << 1, status);
            let layout = layout(&registers, size).unwrap().unwrap();
            assert_eq!((layout.parts, layout.lost.len()), (parts, lost), "{offset:#x} {status:#x}");
        }
    }

    /// With FEAT_TRBE_EXC, the wrap and the reason of a stop may be in the register of EL2.
    #[test]
    fn events_of_el2() {
        let full = Status(Status::WRAP | Status::S).with_cause(Cause::Filled).0;
        for (el2, parts, stopped) in
            [(0, vec![0..0x10], false), (full, vec![0x10..0x1000, 0..0x10], true)]
        {
            let mut registers = registers(BASE + 0x10, BASE + 0x1000, 0);
            let status = Registers::from_iter([("TRBSR_EL2", el2)]);
            registers.0.extend(status.0);
            let layout = layout(&registers, 0x1000).unwrap().unwrap();
            assert_eq!(layout.parts, parts);
            let state = layout.state.join("; ");
            assert_eq!(state.contains("collection stopped: the buffer is full"), stopped);
        }
    }

    /// Arm ARM, RMSPSD, and files of the wrong size.
    #[test]
    fn what_does_not_fit() {
        for (pointer, limit, status, len) in [
            (BASE - 1, BASE + 0x1000, 0, 0x1000),
            (BASE + 0x1000, BASE + 0x1000, 0, 0x1000),
            (BASE + 0x10, BASE, 0, 0x1000),
            (BASE + 0x10, BASE + 0x1000, 0, 0xf),
            (BASE + 0x10, BASE + 0x1000, Status::WRAP, 0xfff),
        ] {
            assert!(layout(&registers(pointer, limit, status), len).unwrap().is_err());
        }
        assert_eq!(layout(&Registers::default(), 0), None);
        let without_limit = |pointer, status| {
            let pairs = [("TRBBASER_EL1", BASE), ("TRBPTR_EL1", pointer), ("TRBSR_EL1", status)];
            layout(&Registers::from_iter(pairs), 0x10).unwrap().map(|layout| layout.parts)
        };
        assert_eq!(without_limit(BASE + 0x10, 0), Ok(vec![0..0x10]));
        assert_eq!(without_limit(BASE + 8, 0), Ok(vec![0..8]));
        assert!(without_limit(BASE + 0x11, 0).is_err());
        assert!(without_limit(BASE + 0x10, Status::WRAP).is_err());
        // A file that ends at the write pointer is enough.
        assert!(layout(&registers(BASE + 0x10, BASE + 0x1000, 0), 0x10).unwrap().is_ok());
    }
}
