//! Words without addresses: hexadecimal digits in lines, arrays of a program, base64.

use super::LEAST;
use super::text::{Order, Word, lines, number, pairs, without_prefix, word, word_digits};

/// The most numbers of an array.
const MAX_NUMBERS: usize = 1 << 24;

/// Words that follow one another.
pub(super) struct List {
    /// What the text is.
    pub(super) form: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// Reads lines of hexadecimal digits only: words that blanks, commas, colons or hyphens separate,
/// or longer runs of digits.
pub(super) fn digits(text: &[u8]) -> Option<List> {
    if is_decimal(text) {
        return None;
    }
    let mut size = None;
    let (mut bytes, mut words, mut runs, mut rows) = (Vec::new(), 0, 0, 0);
    for (_, line) in lines(text) {
        rows += 1;
        // Of an address, a colon is a part.
        let pairs_only = line.iter().any(|byte| b":-".contains(byte));
        let tokens = line.split(|byte| b" \t,;:-".contains(byte)).filter(|token| !token.is_empty());
        for token in tokens {
            if pairs_only && token.len() != 2 {
                return None;
            }
            let Some((digits, _)) = word_digits(token).filter(|_| runs == 0) else {
                let (run, _) = without_prefix(token);
                pairs(run, &mut bytes)?;
                runs += 1;
                // The last line of a run may have as many digits as a word.
                if words > 0 {
                    return None;
                }
                continue;
            };
            if *size.get_or_insert(digits.len()) != digits.len() {
                return None;
            }
            word(digits)?.append(Order::Value, &mut bytes);
            words += 1;
        }
    }
    let form = match (runs, size) {
        (1.., _) => "hexadecimal digits",
        (_, Some(2)) => "bytes as hexadecimal digits",
        _ if words == rows => "a hexadecimal word a line",
        _ => "hexadecimal words",
    };
    (bytes.len() >= LEAST).then_some(List { form, bytes })
}

/// Whether the digits of a text are those of decimal numbers: of this many digits of memory, one is
/// a letter, but where most are 0.
fn is_decimal(text: &[u8]) -> bool {
    const DIGITS: usize = 64;
    let zeros = text.iter().filter(|byte| **byte == b'0').count();
    let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
    digits >= DIGITS && 2 * zeros < digits && !text.iter().any(u8::is_ascii_alphabetic)
}

/// The size of a word by the type of an array, as C, C++ and Rust write it.
const TYPES: [(&str, usize); 14] = [
    ("uint64_t", 8),
    ("int64_t", 8),
    ("u64", 8),
    ("long long", 8),
    ("uint32_t", 4),
    ("int32_t", 4),
    ("u32", 4),
    ("unsigned int", 4),
    ("uint16_t", 2),
    ("int16_t", 2),
    ("u16", 2),
    ("uint8_t", 1),
    ("u8", 1),
    ("char", 1),
];

/// Reads the first array of numbers in braces or brackets, of C, Python, JSON, or GDB's `print`.
pub(super) fn array(text: &[u8]) -> Option<List> {
    let starts = text.iter().enumerate().filter(|(_, byte)| b"{[".contains(byte));
    starts.take(64).find_map(|(start, _)| array_at(text, start))
}

/// A number of an array: its value, in two's complement where it is negative, and its number of
/// hexadecimal digits.
#[derive(Clone, Copy)]
struct Number {
    value: u64,
    negative: bool,
    digits: Option<usize>,
    /// The size in bytes of its type, where a cast or a suffix names it.
    size: Option<usize>,
}

impl Number {
    /// Whether the number fits in `size` bytes.
    const fn fits(self, size: usize) -> bool {
        match self.negative {
            _ if size >= 8 => true,
            true => self.value as i64 >> (8 * size - 1) == -1,
            false => self.value >> (8 * size) == 0,
        }
    }
}

fn array_at(text: &[u8], start: usize) -> Option<List> {
    let close = if text.get(start) == Some(&b'{') { b'}' } else { b']' };
    let inside = text.get(start + 1..)?;
    let inside = inside.get(..inside.iter().position(|byte| *byte == close)?)?;
    let inside = without_comments(inside);
    // Go prints arrays without commas.
    let separators: &[u8] = if inside.contains(&b',') { b"," } else { b" \t\r\n" };
    let cells = || {
        let cells = inside.split(|byte| separators.contains(byte));
        cells.map(<[u8]>::trim_ascii).filter(|cell| !cell.is_empty())
    };
    // Rust prints hexadecimal numbers without 0x.
    let is_hex = |cell: &[u8]| cell.iter().all(u8::is_ascii_hexdigit);
    let has_letters = |cell: &[u8]| cell.iter().any(u8::is_ascii_alphabetic);
    let bare = cells().all(is_hex) && cells().any(has_letters);
    let radix = radix_of(&cells)?;
    let mut numbers: Vec<Number> = Vec::new();
    for cell in cells() {
        let (index, cell) = indexed(cell)?;
        if let Some(index) = index {
            let index = array_number(index, radix)?.value;
            (index == numbers.len() as u64).then_some(())?;
        }
        let (cell, times) = repeated(cell)?;
        let number = if bare { hex_number(cell)? } else { array_number(cell, radix)? };
        if numbers.len().checked_add(times)? > MAX_NUMBERS {
            return None;
        }
        numbers.extend((0..times).map(|_| number));
    }
    of_numbers(text.get(..start)?, &numbers)
}

/// The bytes of `numbers`, behind the text `before`.
fn of_numbers(before: &[u8], numbers: &[Number]) -> Option<List> {
    let size = size_of(before, numbers)?;
    let mut bytes = Vec::new();
    for number in numbers {
        number.fits(size).then_some(())?;
        Word { value: number.value, size }.append(Order::Value, &mut bytes);
    }
    let form = match size {
        1 => "an array of bytes",
        2 => "an array of 16-bit words",
        4 => "an array of 32-bit words",
        _ => "an array of 64-bit words",
    };
    (bytes.len() >= LEAST).then_some(List { form, bytes })
}

/// Reads hexadecimal numbers with `0x` that blanks separate, such as OpenOCD's `read_memory`
/// prints: the greatest shows their size.
pub(super) fn numbers(text: &[u8]) -> Option<List> {
    let tokens = text.split(u8::is_ascii_whitespace).filter(|token| !token.is_empty());
    let number = |token: &[u8]| {
        let (digits, prefixed) = without_prefix(token);
        if prefixed { hex_number(digits) } else { None }
    };
    let numbers: Vec<Number> = tokens.take(MAX_NUMBERS).map(number).collect::<Option<_>>()?;
    let form = "hexadecimal numbers";
    of_numbers(b"", &numbers).map(|list| List { form, ..list })
}

/// The radix of the numbers of an array without `0x`. GDB prints octal numbers with a zero before
/// them, and binary ones without. `None`: it is not known.
fn radix_of<'a, I: Iterator<Item = &'a [u8]>>(cells: &impl Fn() -> I) -> Option<u32> {
    /// The fewest digits of a number that has no digits but 0 and 1 by chance.
    const BINARY: usize = 4;
    let digits = || {
        let value = |cell| repeated(indexed(cell)?.1).map(|(value, _)| value);
        cells().filter_map(value).filter(|value| *value != b"0")
    };
    let is_padded = |cell: &[u8]| cell.len() > 1 && cell.first() == Some(&b'0');
    let longest = digits().map(<[u8]>::len).max().unwrap_or(0);
    let shortest = digits().map(<[u8]>::len).min().unwrap_or(0);
    let padded = digits().filter(|cell| is_padded(cell)).count();
    let only = |known: &[u8]| digits().all(|cell| cell.iter().all(|byte| known.contains(byte)));
    let is_whole = shortest == longest && matches!(longest, 8 | 16 | 32 | 64);
    if only(b"01") && longest > 1 && (padded == 0 || is_whole) {
        return Some(2).filter(|_| longest >= BINARY);
    }
    if padded == 0 || !only(b"0123456789") {
        return Some(10);
    }
    match padded == digits().count() && only(b"01234567") {
        true => Some(8),
        // Decimal numbers of one width.
        false => Some(10).filter(|_| shortest == longest),
    }
}

/// `cell` without the index before it, `[0] = `, and the index.
fn indexed(cell: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let Some(rest) = cell.strip_prefix(b"[") else { return Some((None, cell)) };
    let end = rest.iter().position(|byte| *byte == b']')?;
    let value = rest.get(end + 1..)?.trim_ascii_start().strip_prefix(b"=")?;
    Some((rest.get(..end), value.trim_ascii()))
}

/// The size of the words of an array: by its type in `before`, by their digits, or by the greatest.
fn size_of(before: &[u8], numbers: &[Number]) -> Option<usize> {
    let declared = before.rsplit(|byte| b";}\n".contains(byte)).next().unwrap_or_default();
    let declared = String::from_utf8_lossy(declared);
    if let Some((_, size)) = TYPES.iter().find(|(name, _)| declared.contains(name)) {
        return Some(*size);
    }
    if let Some(size) = numbers.iter().find_map(|number| number.size) {
        return Some(size);
    }
    let first = numbers.first()?.digits;
    if let Some(digits @ (2 | 4 | 8 | 16)) =
        first.filter(|_| numbers.iter().all(|n| n.digits == first))
    {
        return Some(digits / 2);
    }
    [1, 2, 4, 8].into_iter().find(|size| numbers.iter().all(|number| number.fits(*size)))
}

/// `cell` without GDB's `<repeats N times>`, and N.
fn repeated(cell: &[u8]) -> Option<(&[u8], usize)> {
    let Some(at) = cell.iter().position(|byte| *byte == b'<') else { return Some((cell, 1)) };
    let (number_text, rest) = cell.split_at(at);
    let count = rest.strip_prefix(b"<repeats ")?.strip_suffix(b" times>")?;
    Some((number_text.trim_ascii(), usize::try_from(number(count, 10)?).ok()?))
}

/// The size of a type in bytes in a cast of Java or C, and in a suffix of Rust.
const CASTS: [(&[u8], usize); 4] = [(b"(byte)", 1), (b"(short)", 2), (b"(int)", 4), (b"(long)", 8)];
const SUFFIXES: [(&[u8], usize); 8] = [
    (b"u8", 1),
    (b"i8", 1),
    (b"u16", 2),
    (b"i16", 2),
    (b"u32", 4),
    (b"i32", 4),
    (b"u64", 8),
    (b"i64", 8),
];

/// A number of a program: of `radix`, or hexadecimal with `0x`, with the casts of Java, the
/// suffixes of C and Rust, and a sign.
fn array_number(cell: &[u8], radix: u32) -> Option<Number> {
    let cast = CASTS.iter().find_map(|(cast, size)| Some((cell.strip_prefix(*cast)?, *size)));
    let (cell, size) = cast.map_or((cell, None), |(cell, size)| (cell.trim_ascii(), Some(size)));
    let suffix = SUFFIXES.iter().find_map(|(end, size)| Some((cell.strip_suffix(*end)?, *size)));
    let (cell, size) = suffix.map_or((cell, size), |(cell, size)| (cell, Some(size)));
    let cell: Vec<u8> = cell.iter().copied().filter(|byte| *byte != b'_').collect();
    let (cell, negative) = match cell.as_slice() {
        [b'-', cell @ ..] => (cell, true),
        cell => (cell, false),
    };
    let (digits, prefixed) = without_prefix(cell);
    let end = digits.iter().rposition(|byte| !b"uUlL".contains(byte))? + 1;
    let digits = digits.get(..end)?;
    let value = number(digits, if prefixed { 16 } else { radix })?;
    let value = if negative { value.wrapping_neg() } else { value };
    Some(Number { value, negative, digits: prefixed.then_some(digits.len()), size })
}

/// A hexadecimal number without `0x`.
fn hex_number(cell: &[u8]) -> Option<Number> {
    Some(Number { value: number(cell, 16)?, negative: false, digits: None, size: None })
}

/// `text` without the comments of C.
fn without_comments(text: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), text);
    while let Some((&byte, after)) = rest.split_first() {
        let end: Option<&[u8]> = match (byte, after.first()) {
            (b'/', Some(b'*')) => Some(b"*/"),
            (b'/', Some(b'/')) => Some(b"\n"),
            _ => None,
        };
        let Some(end) = end else {
            out.push(byte);
            rest = after;
            continue;
        };
        let close = after.windows(end.len()).position(|window| window == end);
        rest = close.and_then(|at| after.get(at + end.len()..)).unwrap_or_default();
    }
    out
}

/// Decodes base64 in lines, with either alphabet. A line with padding ends a part of the bytes, as
/// ESP-IDF writes them; the lines of PEM around them are left out. (RFC 4648, sections 4 and 5)
pub(super) fn base64(text: &[u8]) -> Option<List> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for (_, line) in lines(text) {
        if line.starts_with(b"-----") {
            continue;
        }
        let end = line.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
        let (digits, padding) = line.split_at_checked(end)?;
        for byte in digits {
            bits = bits << 6 | u32::from(base64_digit(*byte)?);
            count += 1;
            if count % 4 == 0 {
                bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
                bits = 0;
            }
        }
        match (count % 4, padding.len()) {
            (_, 0) => continue,
            (2, 2) => bytes.push((bits >> 4) as u8),
            (3, 1) => bytes.extend_from_slice(&(bits >> 2).to_be_bytes()[2..]),
            _ => return None,
        }
        (bits, count) = (0, 0);
    }
    let is_whole = count % 4 == 0 && bytes.len() >= 2 * LEAST;
    (is_whole && is_mixed(text)).then_some(List { form: "base64", bytes })
}

/// Whether the characters of `text` are those of base64, not of hexadecimal digits or base32: there
/// are letters in both cases, and few of them are hexadecimal digits by chance.
fn is_mixed(text: &[u8]) -> bool {
    let lines = lines(text).map(|(_, line)| line).filter(|line| !line.starts_with(b"-----"));
    // Bytes of zeros are the digit A.
    let digits = lines.flatten().filter(|byte| base64_digit(**byte).is_some_and(|digit| digit > 0));
    let (mut upper, mut lower, mut others, mut all) = (false, false, 0, 0);
    for byte in digits {
        upper |= byte.is_ascii_uppercase();
        lower |= byte.is_ascii_lowercase();
        others += usize::from(!byte.is_ascii_hexdigit());
        all += 1;
    }
    upper && lower && 4 * others > all
}

/// Why a text of digits cannot be read: a few of its characters are no hexadecimal digits, or it is
/// base32. `None`: it is another text.
pub(super) fn damaged_digits(text: &[u8]) -> Option<String> {
    const SHORTEST: usize = 4 * LEAST;
    let digits = || lines(text).flat_map(|(_, line)| line).filter(|byte| **byte != b'=');
    let count = digits().count();
    if count < SHORTEST || !digits().all(u8::is_ascii_alphanumeric) {
        return None;
    }
    if digits().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7')) {
        let others = digits().filter(|byte| !byte.is_ascii_hexdigit()).count();
        return (4 * others > count)
            .then(|| "it is base32, which is not read; give the bytes that it encodes".to_owned());
    }
    let others = digits().filter(|byte| !byte.is_ascii_hexdigit()).count();
    let mut places = lines(text).filter_map(|(n, line)| {
        let column = line.iter().position(|byte| !byte.is_ascii_hexdigit())?;
        Some((n, column + 1, char::from(*line.get(column)?)))
    });
    let (line, column, found) = places.next().filter(|_| 16 * others < count)?;
    Some(format!(
        "it is hexadecimal digits, and damaged: line {line} has `{found}` in column {column}"
    ))
}

fn base64_digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}
