//! Which bytes of a buffer are trace, and where the oldest is, as a sentence.

/// The sentence for a buffer of `size` bytes whose next byte is written at offset `next`.
pub(crate) fn ring(size: u64, next: u64, wrapped: Option<bool>, status: &str) -> String {
    match (wrapped, next) {
        (Some(true), 0) => format!(
            "The buffer has wrapped at its end: all {size} bytes are trace, and the first byte is \
             the oldest."
        ),
        (Some(true), _) => format!(
            "The buffer has wrapped: all {size} bytes are trace, and the oldest byte is at offset \
             {next:#x}."
        ),
        (Some(false), 0) => format!("The buffer of {size} bytes is empty."),
        (Some(false), _) => format!(
            "The buffer has not wrapped: {next} of {size} bytes are trace, and the first byte is \
             the oldest."
        ),
        (None, _) => format!(
            "The next byte is written at offset {next:#x} of {size}; whether the buffer has \
             wrapped, and where its oldest byte is, is in {status}, which is unknown."
        ),
    }
}
