//! Lines of memory: one access in a line, or the 16 bytes around it in columns.

use tracewright_base::{Access, Direction};

use super::{Last, address};
use crate::text::{Expected, Words, decimal, grouped, hex};

/// `MR8 ADDRESS DATA`, `MNW4___D ADDRESS DATA`, `R08 ADDRESS DATA`, `W04 X ADDRESS DATA`. `None` for an
/// instruction that was fetched, and for an access that was aborted.
pub(super) fn access(
    kind: &[u8],
    mut words: Words<'_>,
    last: Option<Last>,
) -> Result<Option<Access>, Expected> {
    // Buses run beside the instructions that use them.
    let bus = kind.starts_with(b"MN") || kind.contains(&b'_');
    let way = kind.iter().position(|b| matches!(b, b'R' | b'W')).unwrap_or(0);
    let direction = match kind.get(way) {
        Some(b'R') => Direction::Read,
        _ => Direction::Write,
    };
    let digits: Vec<u8> =
        kind.iter().skip(way + 1).copied().take_while(u8::is_ascii_digit).collect();
    let size = decimal(&digits).filter(|&n| n > 0 && n <= 64).ok_or(Expected("a size in bytes"))?;
    if bus && kind.ends_with(b"I") {
        return Ok(None);
    }
    // Exclusive.
    if words.peek() == b"X" {
        words.word();
    }
    let address = address(words.word()).ok_or(Expected("a data address in hexadecimal"))?;
    if words.peek() == b"(ABORTED)" {
        return Ok(None);
    }
    let mut access = Access::new(direction, size as u8, 0).at(address);
    // Vectors are wider than what an access can hold: the value stays unknown.
    if size <= 8 {
        let value = grouped(words.word());
        access = access.of(value.ok_or(Expected("the data in hexadecimal"))?);
    }
    Ok(Some(match last.filter(|_| !bus) {
        Some(by) => access.made_by(by.address),
        None => access,
    }))
}

/// Columns of 32 bits in a line.
const COLUMNS: usize = 4;

/// A line that goes on with `ADDRESS` and columns, though it does not say `LD` or `ST` again.
pub(super) fn is_row(mut words: Words<'_>) -> bool {
    hex(words.word()).is_some()
        && (0..COLUMNS).all(|_| {
            let word = words.word();
            word.len() == 8 && word.iter().all(|&b| b.is_ascii_hexdigit() || b"#.".contains(&b))
        })
}

/// `ADDRESS  ........ ........ 00000800 ........`: bytes in columns, the one at ADDRESS on the right. A `.`
/// was not accessed; a `#` was, and is not known.
pub(super) fn row(
    direction: Direction,
    mut words: Words<'_>,
    last: Option<Last>,
    say: &mut impl FnMut(Access),
) -> Result<(), Expected> {
    let base = hex(words.word()).ok_or(Expected("a data address in hexadecimal"))?;
    let mut bytes = [None; 4 * COLUMNS];
    for column in (0..COLUMNS).rev() {
        let word = words.word();
        let form = Expected("four columns of eight digits, `.` or `#`");
        if word.len() != 8 {
            return Err(form);
        }
        for (byte, digits) in word.chunks(2).rev().enumerate() {
            let place = bytes.get_mut(4 * column + byte).ok_or(form)?;
            *place = match digits {
                b".." => None,
                b"##" => Some(None),
                _ => Some(Some(hex(digits).ok_or(form)?)),
            };
        }
    }
    // A run of bytes is one access, or several of as many bytes as their address is a multiple of.
    let mut at = 0;
    while at < bytes.len() {
        if bytes.get(at).is_none_or(Option::is_none) {
            at += 1;
            continue;
        }
        let run = bytes.get(at..).unwrap_or_default().iter().take_while(|b| b.is_some()).count();
        let place = base.wrapping_add(at as u64);
        let aligned = 1usize << place.trailing_zeros().min(3);
        let size = aligned.min(1 << run.ilog2());
        let part = bytes.get(at..at + size).unwrap_or_default();
        let value = part.iter().rev().try_fold(0u64, |v, byte| Some(v << 8 | (*byte)??));
        let mut access = Access::new(direction, size as u8, 0).at(place);
        if let Some(value) = value {
            access = access.of(value);
        }
        say(match last {
            Some(last) => access.made_by(last.address),
            None => access,
        });
        at += size;
    }
    Ok(())
}
