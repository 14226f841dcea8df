//! Words without addresses: hexadecimal digits in lines, and base64.

use std::borrow::Cow;

use super::LEAST;
use super::text::{Order, lines, pairs, without_prefix, word, word_digits};

/// Words that follow one another.
pub(super) struct List {
    /// What the text is.
    pub(super) form: Cow<'static, str>,
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
    (bytes.len() >= LEAST).then_some(List { form: form.into(), bytes })
}

/// Whether the digits of a text are those of decimal numbers: of this many digits of memory, one is
/// a letter, but where most are 0.
fn is_decimal(text: &[u8]) -> bool {
    const DIGITS: usize = 64;
    let zeros = text.iter().filter(|byte| **byte == b'0').count();
    let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
    digits >= DIGITS && 2 * zeros < digits && !text.iter().any(u8::is_ascii_alphabetic)
}

/// Decodes base64 in lines, with either alphabet. A line with padding ends a part of the bytes, as
/// ESP-IDF writes them; the lines of PEM around them are left out. (RFC 4648, sections 4 and 5)
pub(super) fn base64(text: &[u8]) -> Option<List> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for (_, line) in lines(text) {
        // YAML names the bytes in a line of its own.
        if line.starts_with(b"-----") || bytes.is_empty() && line.ends_with(b"!!binary |") {
            continue;
        }
        let line = line.trim_ascii_start();
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
    (is_whole && is_mixed(text)).then_some(List { form: "base64".into(), bytes })
}

/// Whether the characters of `text` are those of base64, not of hexadecimal digits or base32: there
/// are letters in both cases, and few of them are hexadecimal digits by chance.
fn is_mixed(text: &[u8]) -> bool {
    let is_name = |line: &&[u8]| line.starts_with(b"-----") || line.ends_with(b"|");
    let lines = lines(text).map(|(_, line)| line).filter(|line| !is_name(line));
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
