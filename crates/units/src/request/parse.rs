//! Parts of requests as users write them.

use tracewright_base::Invalid;
use tracewright_base::remedy::IMAGE;

use super::{Condition, Occurrence, Span};
use crate::values::number;

/// Where a name of the program is: its first address, and the address after its last byte where
/// that is known.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<(u64, Option<u64>)>;

/// An address: a number, or a name.
///
/// # Errors
/// A message where it is neither.
pub fn address(text: &str, lookup: Lookup<'_>) -> Result<u64, Invalid> {
    let found = number(text).or_else(|| lookup(text).map(|(start, _)| start));
    found.ok_or_else(|| {
        Invalid::new(format!(
            "`{text}` is neither an address nor a symbol of an {IMAGE}; write 0x8000, or a name"
        ))
    })
}

/// Addresses: `START..END`, `START..+SIZE`, or the name of a function or an object.
///
/// # Errors
/// A message where it is none of these, or has no addresses.
pub fn span(text: &str, lookup: Lookup<'_>) -> Result<Span, Invalid> {
    let span = match text.split_once("..") {
        None => {
            let (start, end) = lookup(text).ok_or_else(|| {
                format!("`{text}` is not a symbol of an {IMAGE}; write START..END or START..+SIZE")
            })?;
            let end = end.ok_or_else(|| {
                format!("the image records no size of `{text}`; write {text}..END")
            })?;
            Span { start, end }
        }
        Some((start, end)) => {
            let start = address(start, lookup)?;
            let end = match end.strip_prefix('+') {
                Some(size) => {
                    let size = number(size)
                        .ok_or_else(|| format!("`{end}` is not a size; write +0x1000"))?;
                    start.checked_add(size).ok_or_else(|| {
                        format!(
                            "`{text}` ends above {last:#x}, which is the last end of a range; \
                             write {start:#x}..{last:#x}",
                            last = u64::MAX
                        )
                    })?
                }
                None => address(end, lookup)?,
            };
            Span { start, end }
        }
    };
    if span.start >= span.end {
        let why = format!("{span} has no addresses; the end is the address after the last");
        return Err(why.into());
    }
    Ok(span)
}

/// Two addresses: `START..END`.
///
/// # Errors
/// A message where it is not.
pub fn pair(text: &str, lookup: Lookup<'_>) -> Result<(u64, u64), Invalid> {
    let (start, end) = text.split_once("..").ok_or_else(|| {
        format!(
            "`{text}` has no `..`; write the address that starts tracing and that which stops it"
        )
    })?;
    Ok((address(start, lookup)?, address(end, lookup)?))
}

/// A condition: `exec:ADDRESS`, `read:`, `write:` or `access:` with an address and optionally
/// `=VALUE`, `input:N` or `watchpoint:N`; and optionally `*TIMES`.
///
/// # Errors
/// A message where it is none of these.
pub fn condition(text: &str, lookup: Lookup<'_>) -> Result<Condition, Invalid> {
    let expected = || {
        format!(
            "`{text}` is not a condition; write exec:ADDRESS, read:ADDRESS, write:ADDRESS=VALUE, \
             access:ADDRESS, input:N or watchpoint:N, with *TIMES to count"
        )
    };
    let (kind, rest) = text.split_once(':').ok_or_else(expected)?;
    let (rest, times) = match rest.rsplit_once('*') {
        Some((rest, times)) => {
            let times = number(times).and_then(|n| u16::try_from(n).ok()).filter(|n| *n > 0);
            (rest, times.ok_or_else(expected)?)
        }
        None => (rest, 1),
    };
    let (rest, value) = match rest.split_once('=') {
        Some((rest, value)) => {
            let value = number(value).and_then(|n| u32::try_from(n).ok());
            (rest, Some(value.ok_or_else(expected)?))
        }
        None => (rest, None),
    };
    let index = || number(rest).and_then(|n| u8::try_from(n).ok()).ok_or_else(expected);
    let on = match kind {
        "exec" => Occurrence::Execute(address(rest, lookup)?),
        "read" => Occurrence::Read(address(rest, lookup)?),
        "write" => Occurrence::Write(address(rest, lookup)?),
        "access" => Occurrence::Access(address(rest, lookup)?),
        "input" => Occurrence::Input(index()?),
        "watchpoint" => Occurrence::Watchpoint(index()?),
        _ => return Err(expected().into()),
    };
    let data = matches!(on, Occurrence::Read(_) | Occurrence::Write(_) | Occurrence::Access(_));
    if value.is_some() && !data {
        let why = format!("`{text}` compares a value, but only data accesses have one");
        return Err(why.into());
    }
    Ok(Condition { on, value, times })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(name: &str) -> Option<(u64, Option<u64>)> {
        match name {
            "main" => Some((0x8000, Some(0x8040))),
            "done" => Some((0x9000, None)),
            _ => None,
        }
    }

    #[test]
    fn spans() {
        let of = |start, end| Ok(Span { start, end });
        for (text, want) in [
            ("main", of(0x8000, 0x8040)),
            ("main..done", of(0x8000, 0x9000)),
            ("0x20000000..+0x1000", of(0x2000_0000, 0x2000_1000)),
            ("main..0x8010", of(0x8000, 0x8010)),
        ] {
            assert_eq!(span(text, &names), want, "{text}");
        }
        for text in ["done", "other", "done..main", "0..0", "main..+x", "0x10..+0xffffffffffffffff"]
        {
            assert!(span(text, &names).is_err(), "{text}");
        }
        let why = span("0xffffffffffff0000..+0x10000", &names).unwrap_err().to_string();
        assert!(why.contains("write 0xffffffffffff0000..0xffffffffffffffff"), "{why}");
    }

    #[test]
    fn conditions_are_printed_as_they_are_written() {
        for text in [
            "exec:0x8000",
            "read:0x20000000",
            "write:0x20000000=0xab*3",
            "input:2",
            "watchpoint:1*9",
        ] {
            assert_eq!(condition(text, &names).map(|c| c.to_string()), Ok(text.to_owned()));
        }
        for text in ["exec", "exec:x", "exec:main=1", "exec:main*0", "input:x", "jump:0x10"] {
            assert!(condition(text, &names).is_err(), "{text}");
        }
    }
}
