//! Names of exceptions.

/// The name of exception `number`. (IHI 0035, "Exception information bytes")
pub(super) const fn exception(number: u16) -> Option<&'static str> {
    Some(match number {
        0x1 => "debug halt",
        0x2 => "SMC",
        0x3 => "Hyp mode entry",
        0x4 => "asynchronous data abort",
        0x5 => "Jazelle or ThumbEE check",
        0x8 => "PE reset",
        0x9 => "undefined instruction",
        0xa => "SVC",
        0xb => "prefetch abort",
        0xc => "data fault",
        0xd => "generic",
        0xe => "IRQ",
        0xf => "FIQ",
        _ => return None,
    })
}
