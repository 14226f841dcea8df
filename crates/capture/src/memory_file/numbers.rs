//! Rows of an address and numbers that are not hexadecimal.
//!
//! | row | of |
//! |---|---|
//! | `0000000    1  104   -1` | `od -t d1`, `-t u2`, ..; `hexdump -d` |
//! | `0000000 001 150 377` | `od -b`, `od -t o4`, ..; `hexdump -b` |
//! | `0000000 001   h  \\n 377` | `od -c`, `hexdump -c` |
//! | `00000000: 00000001 01101000 ..  .h` | `xxd -b` |
//! | `0x20001000 <buffer>:` and numbers | GDB, `x` with `d`, `u`, `o`, `t`, `a` or `c` |
//!
//! The distance of the addresses of two rows is the number of bytes in the first, which shows the
//! size of the numbers. All rows must agree.

use super::rows::{Mark, Rows, address};
use super::strings::escape;
use super::text::{Order, Word, lines, number, without_prefix};

/// The radix of numbers, or another way to write bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Decimal,
    Octal,
    Binary,
    /// With `0x`, without the zeros before it; a negative number may have more digits.
    Hexadecimal,
    Characters,
}

/// A row: its address, and what follows.
struct Row<'a> {
    address: u64,
    rest: &'a [u8],
    /// Rows like it follow up to the next address.
    repeats: bool,
}

/// Reads rows of bytes in binary, whose digits look like hexadecimal words. `None`: it is none.
pub(super) fn binary(text: &[u8]) -> Option<Rows> {
    read_as(text, &[Form::Binary])
}

/// Reads rows of other numbers. `None`: it is none.
pub(super) fn read(text: &[u8]) -> Option<Rows> {
    read_as(text, &[Form::Octal, Form::Decimal, Form::Hexadecimal, Form::Characters])
}

fn read_as(text: &[u8], forms: &[Form]) -> Option<Rows> {
    let (_, first) = lines(text).find(|(_, line)| address(line).is_some())?;
    let (_, prefixed, mark, _) = address(first)?;
    let read = |forms: &[Form], like: (bool, Mark), split: Split| {
        let radixes: &[u32] = if like == (false, Mark::Blank) { &[8, 16, 10] } else { &[16] };
        radixes.iter().find_map(|radix| {
            let rows = rows(text, *radix, like, split)?;
            forms.iter().find_map(|form| Some((*form, bytes(&rows, *form)?)))
        })
    };
    let mut found = read(forms, (prefixed, mark), address);
    // The first character of a row may be a mark of other rows.
    if forms.contains(&Form::Characters) {
        let other = read(&[Form::Characters], (false, Mark::Blank), apart);
        let len = |found: &Option<(Form, (u64, Vec<u8>))>| {
            found.as_ref().map_or(0, |(_, (_, bytes))| bytes.len())
        };
        found = if len(&other) > len(&found) { other } else { found };
    }
    let (form, (start, bytes)) = found?;
    let form = match (form, mark) {
        (Form::Decimal, Mark::Blank) => "decimal rows of `od` or `hexdump`",
        (Form::Octal, Mark::Blank) => "octal rows of `od` or `hexdump`",
        (Form::Characters, _) => "characters of `od -c` or `hexdump -c`",
        (Form::Binary, _) if !prefixed => "binary rows of `xxd -b`",
        _ => "rows of GDB's `x`",
    };
    let offsets = start == 0 && !prefixed;
    (bytes.len() >= super::LEAST).then(|| Rows { form, pieces: vec![(start, bytes)], offsets })
}

/// Splits a line into the digits of its address, whether it has `0x`, its mark, and what follows.
type Split = fn(&[u8]) -> Option<(&[u8], bool, Mark, &[u8])>;

/// The address of a line that only a blank ends, as of `od -c`.
fn apart(line: &[u8]) -> Option<(&[u8], bool, Mark, &[u8])> {
    let len = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, rest) = line.split_at_checked(len).filter(|_| (4..=16).contains(&len))?;
    matches!(rest.first(), None | Some(b' ')).then_some((digits, false, Mark::Blank, rest))
}

/// The rows of a text with addresses of `radix`, in the form of the first; the last may have no
/// numbers. `None` where there are other lines, but for those of a prompt before the first row.
fn rows(text: &[u8], radix: u32, like: (bool, Mark), split: Split) -> Option<Vec<Row<'_>>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (_, line) in lines(text) {
        if line == b"*" {
            rows.last_mut()?.repeats = true;
            continue;
        }
        match split(line).filter(|(_, prefixed, mark, _)| (*prefixed, *mark) == like) {
            Some((digits, .., rest)) => {
                rows.push(Row { address: number(digits, radix)?, rest, repeats: false });
            }
            None if rows.is_empty() || line.starts_with(b"(gdb)") => {}
            None => return None,
        }
    }
    Some(rows)
}

/// The bytes of rows, and the address of the first.
fn bytes(rows: &[Row<'_>], form: Form) -> Option<(u64, Vec<u8>)> {
    let start = rows.first()?.address;
    let mut bytes: Vec<u8> = Vec::new();
    let mut size = None;
    if form == Form::Characters && !fills(rows) {
        return None;
    }
    for (n, row) in rows.iter().enumerate() {
        let next = rows.get(n + 1).map(|next| next.address);
        let is_end = next.is_none();
        if is_end && row.rest.trim_ascii().is_empty() {
            break;
        }
        let step = next.map(|next| usize::try_from(next.checked_sub(row.address)?).ok());
        let step = match step {
            Some(step) => Some(step?),
            None => None,
        };
        let tokens = tokens(row.rest, form);
        let cut = rows.get(n + 1).is_some_and(|next| next.rest.trim_ascii().is_empty());
        // The size of the first row is that of all.
        let size = match size {
            Some(size) => size,
            None => *size.insert(size_of(step, &tokens, form)?),
        };
        let most = match (step, row.repeats) {
            (Some(step), false) => step.div_ceil(size),
            _ => tokens.len(),
        };
        let most = if form == Form::Binary && is_end {
            most.min(binary_count(&tokens, size))
        } else {
            most
        };
        let mut tokens = tokens;
        // GDB's `c` shows the least significant byte of a number.
        if form == Form::Decimal && size > 1 && row.rest.contains(&b'\'') {
            return None;
        }
        if form == Form::Characters && tokens.len() < most {
            tokens.resize(most, b"    ");
        }
        let (from, before) = (bytes.len(), tokens.get(..most)?);
        for token in before {
            value(token, size, form)?.append(Order::Value, &mut bytes);
        }
        let Some(step) = step else { break };
        let own = bytes.len() - from;
        let more = step.checked_sub(own);
        match more {
            Some(0) => {}
            Some(more) if row.repeats && own > 0 => {
                if bytes.len().checked_add(more)? > super::LARGEST {
                    return None;
                }
                let again = bytes.get(from..)?.to_vec();
                bytes.extend(again.iter().cycle().take(more));
            }
            // The end of memory cuts a number.
            None if cut => bytes.truncate(from + step),
            _ => return None,
        }
    }
    Some((start, bytes))
}

/// Whether the characters of a row are as many as its addresses state. Blanks at the end of a row
/// are lost, but not of each.
fn fills(rows: &[Row<'_>]) -> bool {
    rows.windows(2).any(|pair| match pair {
        [row, next] => {
            let len = tokens(row.rest, Form::Characters).len() as u64;
            row.address.checked_add(len) == Some(next.address)
        }
        _ => false,
    })
}

/// The number of tokens that are numbers of `size` bytes in binary: the text beside them follows.
fn binary_count(tokens: &[&[u8]], size: usize) -> usize {
    let is_binary =
        |token: &&&[u8]| token.len() == 8 * size && token.iter().all(|byte| b"01".contains(byte));
    tokens.iter().take_while(is_binary).count()
}

/// The size of the numbers of a row of `step` bytes. Where no row follows, binary digits show it.
fn size_of(step: Option<usize>, tokens: &[&[u8]], form: Form) -> Option<usize> {
    let count = tokens.len();
    if form == Form::Binary {
        let digits = tokens.first()?.len();
        let size = Some(digits / 8).filter(|size| matches!(size, 1 | 2 | 4 | 8))?;
        let is_known = match step {
            // Text stands beside them.
            Some(step) => count.saturating_mul(size) >= step,
            // Words of 16 hexadecimal digits have no more.
            None => digits > 16,
        };
        return Some(size).filter(|_| digits.is_multiple_of(8) && is_known);
    }
    let step = step?;
    match form {
        // Blanks at the end of a row are lost.
        Form::Characters => Some(1).filter(|_| count > 0 && count <= step),
        _ if count == 0 || !step.is_multiple_of(count) => None,
        _ => Some(step / count).filter(|size| matches!(size, 1 | 2 | 4 | 8)),
    }
}

/// The numbers of a row.
fn tokens(rest: &[u8], form: Form) -> Vec<&[u8]> {
    /// The columns of a character.
    const CELL: usize = 4;
    // GDB has a tab before each.
    if form == Form::Characters && rest.first() == Some(&b' ') {
        return rest.chunks(CELL).collect();
    }
    let tokens = rest.split(|byte| b" \t".contains(byte)).filter(|token| !token.is_empty());
    // GDB prints a character or a symbol behind its number.
    let is_beside = |token: &[u8]| matches!(token, [b'\'', ..] | [b'<', .., b'>']);
    tokens.filter(|token| form == Form::Binary || !is_beside(token)).collect()
}

/// The number of a token of `size` bytes.
fn value(token: &[u8], size: usize, form: Form) -> Option<Word> {
    let value = match form {
        Form::Binary => number(token, 2).filter(|_| token.len() == 8 * size)?,
        Form::Hexadecimal => {
            let (digits, prefixed) = without_prefix(token);
            let value = number(digits, 16).filter(|_| prefixed)?;
            let sign = u64::MAX << (8 * size - 1);
            let is_negative = [value, value | u64::MAX << 32].into_iter().any(|v| v & sign == sign);
            if is_negative {
                return Some(Word { value, size });
            }
            value
        }
        Form::Octal => {
            // `od` and `hexdump` print all digits, GDB a zero before them.
            let digits = (8 * size).div_ceil(3);
            let zero = token.first() == Some(&b'0');
            number(token, 8).filter(|_| token.len() == digits || zero)?
        }
        Form::Decimal => match token {
            [b'-', digits @ ..] => {
                let value = number(digits, 10)?;
                let fits = value <= 1 << (8 * size - 1);
                return fits.then_some(Word { value: value.wrapping_neg(), size });
            }
            digits => number(digits, 10)?,
        },
        Form::Characters => character(token)?.into(),
    };
    (size == 8 || value >> (8 * size) == 0).then_some(Word { value, size })
}

/// The byte of a cell of `od -c`.
fn character(cell: &[u8]) -> Option<u8> {
    match cell {
        [b' ', b' ', b' ', byte] => Some(*byte),
        [b' ', b' ', b'\\', kind] => escape(*kind),
        [b' ', octal @ ..] if octal.len() == 3 => u8::try_from(number(octal, 8)?).ok(),
        // A blank at the end of a line is lost.
        cell if cell.iter().all(|byte| *byte == b' ') => Some(b' '),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `od -c` prints of `bytes`, with addresses as `address` writes them.
    fn characters(bytes: &[u8], address: impl Fn(usize) -> String) -> String {
        let cell = |byte: &u8| match byte {
            0 => "  \\0".to_owned(),
            b'\n' => "  \\n".to_owned(),
            b' '..=b'~' => format!("   {}", char::from(*byte)),
            byte => format!(" {byte:03o}"),
        };
        let rows = bytes.chunks(16).enumerate().map(|(n, row)| {
            format!("{}{}\n", address(16 * n), row.iter().map(cell).collect::<String>())
        });
        rows.collect::<String>() + &address(bytes.len()) + "\n"
    }

    #[test]
    fn a_first_character_is_no_mark() {
        for first in b"<:=|>a\0" {
            let row = |n: u8| [&[*first][..], b" a:", &[n, 0, 0x80, b'\n'], b"<=|> 123"].concat();
            let bytes: Vec<u8> = (0..9).flat_map(row).collect();
            for text in [
                characters(&bytes, |at| format!("{at:07o}")),
                characters(&bytes, |at| format!("{at:07}")),
                characters(&bytes, |at| format!("{at:07x}")),
            ] {
                let rows = read(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
                assert_eq!(rows.pieces, [(0, bytes.clone())], "{text}");
            }
        }
    }
}
