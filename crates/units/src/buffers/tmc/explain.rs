//! The state of a TMC or of an ETB in sentences.

use super::unit::Kind;
use crate::buffers::ring::ring;
use crate::values::Values;

/// The state of a buffer of this kind in sentences.
pub fn explain(values: &Values, kind: Kind) -> Vec<String> {
    let status = values.get("STS");
    let control = values.get("CTL").map(|control| control & 1 != 0);
    let stopped = status.map(|status| status >> 2 & 1 != 0);
    let mut lines = vec![
        match (control, stopped) {
            (Some(false), _) => "Capture is disabled.",
            (Some(true), Some(false)) => "Capture is enabled and running.",
            (Some(true), Some(true)) => "Capture is enabled, and has stopped.",
            (Some(true), None) => "Capture is enabled; STS, which is unknown, has whether it runs.",
            (None, Some(true)) => "Capture has stopped.",
            (None, Some(false)) => "Capture has not stopped.",
            (None, None) => "CTL and STS are unknown: they have whether capture is running.",
        }
        .to_owned(),
    ];
    if let Some(mode) = values.get("MODE") {
        lines.push(match mode & 0b11 {
            0 => "Circular buffer mode: the oldest trace is overwritten.".to_owned(),
            1 => "Software FIFO mode: trace waits until it is read through RRD.".to_owned(),
            2 => "Hardware FIFO mode: trace is passed on, and the buffer has a part.".to_owned(),
            _ => "The mode has a reserved value.".to_owned(),
        });
    }
    lines.push(memory(values, kind));
    if let Some(status) = status {
        if status >> 1 & 1 != 0 {
            lines.push("The trigger and its delay have passed.".to_owned());
        }
        if status >> 5 & 1 != 0 {
            lines.push("A write to memory failed (ETR): trace is lost.".to_owned());
        }
    }
    if let Some(control) = values.get("FFCR") {
        lines.push(match control & 1 {
            0 => "The formatter is off: the trace has no frames.".to_owned(),
            _ => "The formatter is on: the trace is in frames.".to_owned(),
        });
    }
    lines
}

/// Which bytes of the buffer are trace.
fn memory(values: &Values, kind: Kind) -> String {
    let unit = if kind == Kind::Etb { 4 } else { 1 };
    let wide = |low, high| {
        values.get(low).map(|value| value & 0xffff_ffff | values.get(high).unwrap_or(0) << 32)
    };
    let Some(size) = values.get("RSZ").and_then(|words| words.checked_mul(4)) else {
        return "RSZ (ETB: RDP) is unknown: it has the size of the buffer.".to_owned();
    };
    let Some(pointer) = wide("RWP", "RWPHI").and_then(|pointer| pointer.checked_mul(unit)) else {
        return format!("The buffer has {size} bytes; RWP, the write pointer, is unknown.");
    };
    if values.get("AXICTL").is_some_and(|control| control >> 7 & 1 != 0) {
        return format!(
            "The buffer has {size} bytes in a list of pages; the next byte is written to \
             {pointer:#x}."
        );
    }
    let start = wide("DBALO", "DBAHI").unwrap_or(0);
    match pointer.checked_sub(start).filter(|next| *next < size || *next == size && size > 0) {
        Some(next) => {
            let status = values.get("STS");
            let wrapped = status.map(|status| status & 1 != 0);
            // STS.Empty, bit [4], which an ETB does not have.
            let empty = kind != Kind::Etb && status.is_some_and(|status| status >> 4 & 1 != 0);
            let at_start = wrapped == Some(true) || empty;
            let next = if at_start { next % size.max(1) } else { next };
            ring(size, next, wrapped, "STS")
        }
        None if kind == Kind::Etr && values.get("DBALO").is_none() => format!(
            "The buffer has {size} bytes; the next byte is written to {pointer:#x}; DBALO, the \
             address of the buffer, is unknown."
        ),
        None => format!("The write pointer {pointer:#x} is outside of the buffer of {size} bytes."),
    }
}
