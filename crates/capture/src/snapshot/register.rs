//! The `[regs]` section: `NAME=VALUE`, with a number and a size in parentheses after the name.
//! (RCTDL design, 4.2.2.2)

use crate::number::number;
use crate::{Register, Wrong};

/// Reads one line.
///
/// Beside the register there may be something wrong with it that does not matter much.
pub(super) fn register(key: &str, value: &str) -> Result<(Register, Option<Wrong>), Wrong> {
    let (name, details) = match key.split_once('(') {
        Some((name, details)) => (name.trim(), details.trim().trim_end_matches(')')),
        None => (key, ""),
    };
    let Some(value) = number(value) else { return Err(Wrong::NotNumber(value.to_owned())) };
    let mut register = Register { name: name.to_owned(), id: None, size: None, value };
    let mut wrong = None;
    for detail in crate::ini::list(details) {
        let (word, text) = detail.split_once(':').unwrap_or(("id", detail));
        let number = number(text).and_then(|n| u32::try_from(n).ok());
        match word.trim().to_ascii_lowercase().as_str() {
            "id" if number.is_some() => register.id = number,
            "size" if number.is_some() => register.size = number,
            _ => wrong = Some(Wrong::RegisterDetail(detail.to_owned())),
        }
    }
    if let Some(size) = register.size
        && value.checked_shr(size).is_some_and(|above| above != 0)
    {
        wrong = Some(Wrong::RegisterWide { value, size });
    }
    Ok((register, wrong))
}
