//! The `[regs]` section: `NAME=VALUE`, with an optional number and size in parentheses after the
//! name. (Arm *Reference CoreSight Trace Decoder: API Specifications and Component Design*,
//! 4.2.2.2)

use crate::device::Register;
use crate::number::number;
use crate::problem::Problem;

/// Parses one line.
///
/// Returns the register and a minor problem, if any.
pub(super) fn register(key: &str, value: &str) -> Result<(Register, Option<Problem>), Problem> {
    let (name, details) = match key.split_once('(') {
        Some((name, details)) => (name.trim(), details.trim()),
        None => (key, ")"),
    };
    let closed = details.strip_suffix(')');
    let Some(value) = number(value) else { return Err(Problem::NotNumber(value.to_owned())) };
    let mut register = Register { name: name.to_owned(), id: None, size: None, value };
    let mut problem = closed.is_none().then(|| Problem::RegisterDetail(details.to_owned()));
    for detail in crate::ini::list(closed.unwrap_or_default().trim_end_matches(')')) {
        let (word, text) = detail.split_once(':').unwrap_or(("id", detail));
        let number = number(text).and_then(|n| u32::try_from(n).ok());
        match word.trim().to_ascii_lowercase().as_str() {
            "id" if number.is_some() => register.id = number,
            "size" if number.is_some() => register.size = number,
            _ => problem = Some(Problem::RegisterDetail(detail.to_owned())),
        }
    }
    // No register is wider.
    let size = register.size.unwrap_or(u64::BITS);
    if value.checked_shr(size).is_some_and(|above| above != 0) {
        problem = Some(Problem::RegisterWide { value, size });
    } else if register.size.is_none() && value > u32::MAX.into() {
        problem = Some(Problem::RegisterUnsized(value));
    }
    Ok((register, problem))
}
