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

/// Reads lines of hexadecimal digits only: words that blanks or commas separate, or longer runs of
/// digits.
pub(super) fn digits(text: &[u8]) -> Option<List> {
    if is_decimal(text) {
        return None;
    }
    let mut size = None;
    let (mut bytes, mut words, mut runs, mut rows) = (Vec::new(), 0, 0, 0);
    for (_, line) in lines(text) {
        rows += 1;
        let tokens = line.split(|byte| b" \t,;".contains(byte)).filter(|token| !token.is_empty());
        for token in tokens {
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

/// A number of an array: its value, and its number of hexadecimal digits.
struct Number {
    value: u64,
    digits: Option<usize>,
}

fn array_at(text: &[u8], start: usize) -> Option<List> {
    let close = if text.get(start) == Some(&b'{') { b'}' } else { b']' };
    let inside = text.get(start + 1..)?;
    let inside = inside.get(..inside.iter().position(|byte| *byte == close)?)?;
    let inside = without_comments(inside);
    let mut numbers: Vec<Number> = Vec::new();
    for cell in inside.split(|byte| *byte == b',') {
        let cell = cell.trim_ascii();
        if cell.is_empty() {
            continue;
        }
        let (cell, times) = repeated(cell)?;
        let number = array_number(cell)?;
        if numbers.len().checked_add(times)? > MAX_NUMBERS {
            return None;
        }
        let Number { value, digits } = number;
        numbers.extend((0..times).map(|_| Number { value, digits }));
    }
    let size = size_of(text.get(..start)?, &numbers)?;
    let mut bytes = Vec::new();
    for number in &numbers {
        let fits = size == 8 || number.value >> (8 * size) == 0;
        fits.then(|| Word { value: number.value, size }.append(Order::Value, &mut bytes))?;
    }
    let form = match size {
        1 => "an array of bytes",
        2 => "an array of 16-bit words",
        4 => "an array of 32-bit words",
        _ => "an array of 64-bit words",
    };
    (bytes.len() >= LEAST).then_some(List { form, bytes })
}

/// The size of the words of an array: by its type in `before`, by their digits, or by the greatest.
fn size_of(before: &[u8], numbers: &[Number]) -> Option<usize> {
    let declared = before.rsplit(|byte| b";}\n".contains(byte)).next().unwrap_or_default();
    let declared = String::from_utf8_lossy(declared);
    if let Some((_, size)) = TYPES.iter().find(|(name, _)| declared.contains(name)) {
        return Some(*size);
    }
    let first = numbers.first()?.digits;
    if let Some(digits @ (2 | 4 | 8 | 16)) =
        first.filter(|_| numbers.iter().all(|n| n.digits == first))
    {
        return Some(digits / 2);
    }
    let most = numbers.iter().map(|number| number.value).max()?;
    [1, 2, 4, 8].into_iter().find(|size| *size == 8 || most >> (8 * size) == 0)
}

/// `cell` without GDB's `<repeats N times>`, and N.
fn repeated(cell: &[u8]) -> Option<(&[u8], usize)> {
    let Some(at) = cell.iter().position(|byte| *byte == b'<') else { return Some((cell, 1)) };
    let (number_text, rest) = cell.split_at(at);
    let count = rest.strip_prefix(b"<repeats ")?.strip_suffix(b" times>")?;
    Some((number_text.trim_ascii(), usize::try_from(number(count, 10)?).ok()?))
}

/// A number of a program: decimal, or hexadecimal with `0x`, with the suffixes of C.
fn array_number(cell: &[u8]) -> Option<Number> {
    let (digits, prefixed) = without_prefix(cell);
    let end = digits.iter().rposition(|byte| !b"uUlL".contains(byte))? + 1;
    let digits = digits.get(..end)?;
    let value = number(digits, if prefixed { 16 } else { 10 })?;
    Some(Number { value, digits: prefixed.then_some(digits.len()) })
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

/// Decodes base64 in lines. (RFC 4648, section 4)
pub(super) fn base64(text: &[u8]) -> Option<List> {
    let (mut bytes, mut bits, mut count, mut padding) = (Vec::new(), 0u32, 0, 0);
    for (_, line) in lines(text) {
        for byte in line {
            let value = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                b'=' => {
                    padding += 1;
                    continue;
                }
                _ => return None,
            };
            if padding > 0 {
                return None;
            }
            bits = bits << 6 | u32::from(value);
            count += 1;
            if count % 4 == 0 {
                bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
                bits = 0;
            }
        }
    }
    match count % 4 {
        2 if padding == 2 => bytes.push((bits >> 4) as u8),
        3 if padding == 1 => bytes.extend_from_slice(&(bits >> 2).to_be_bytes()[2..]),
        0 if padding == 0 => {}
        _ => return None,
    }
    // Numbers alone are no base64.
    let letters = text.iter().any(u8::is_ascii_alphabetic);
    (letters && bytes.len() >= 2 * LEAST).then_some(List { form: "base64", bytes })
}
