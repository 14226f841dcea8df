//! Records with addresses that are neither Intel HEX nor S-records.
//!
//! | format | specification |
//! |---|---|
//! | extended Tektronix hex | srec_tektronix_extended(5) of SRecord; BFD's `tekhex.c` |
//! | Verilog `$readmemh` | IEEE 1800, 21.4 |
//! | TI-TXT | Texas Instruments SLAU131, "TI-TXT Hex Format" |

use super::text::{Order, lines, number, word, word_digits};

/// Memory in records.
pub(super) struct Records {
    pub(super) form: &'static str,
    pub(super) pieces: Vec<(u64, Vec<u8>)>,
}

/// Adds `bytes` at `address`: to the last piece where they continue it.
fn add(pieces: &mut Vec<(u64, Vec<u8>)>, address: u64, bytes: &[u8]) {
    match pieces.last_mut() {
        Some((start, piece)) if *start + piece.len() as u64 == address => {
            piece.extend_from_slice(bytes);
        }
        _ => pieces.push((address, bytes.to_vec())),
    }
}

/// Reads extended Tektronix hex. `None`: the text is none.
///
/// # Errors
/// The line of a record that is damaged.
pub(super) fn tektronix(text: &[u8]) -> Option<Result<Records, String>> {
    let (_, first) = lines(text).next()?;
    if first.first() != Some(&b'%') || !first.get(1..6)?.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut pieces = Vec::new();
    for (n, line) in lines(text) {
        if let Err(why) = tektronix_record(line, &mut pieces) {
            return Some(Err(format!("line {n}: {why}")));
        }
    }
    Some(Ok(Records { form: "extended Tektronix hex", pieces }))
}

/// Reads one record: `%`, its length in characters, its type, its checksum, its address and data.
fn tektronix_record(line: &[u8], pieces: &mut Vec<(u64, Vec<u8>)>) -> Result<(), &'static str> {
    let short = "the record is too short";
    let body = line.strip_prefix(b"%").ok_or("the record does not begin with %")?;
    let (head, rest) = body.split_at_checked(5).ok_or(short)?;
    if number(&head[..2], 16) != Some(body.len() as u64) {
        return Err("the length is not that of the record");
    }
    let sum = body.iter().enumerate().filter(|(at, _)| !(3..5).contains(at));
    let sum: u64 = sum.map(|(_, byte)| tektronix_value(*byte)).sum();
    if Some(sum & 0xff) != number(&head[3..], 16) {
        return Err("the checksum is wrong");
    }
    if head[2] != b'6' {
        // Symbols, and the end.
        return Ok(());
    }
    let (len, rest) = rest.split_first().ok_or(short)?;
    let len = char::from(*len).to_digit(16).ok_or("the address has no length")? as usize;
    let (address, data) = rest.split_at_checked(if len == 0 { 16 } else { len }).ok_or(short)?;
    let address = number(address, 16).ok_or("the address is no number")?;
    let mut bytes = Vec::new();
    super::text::pairs(data, &mut bytes).ok_or("the data are no pairs of digits")?;
    add(pieces, address, &bytes);
    Ok(())
}

/// The value of a character in a checksum. BFD counts others, such as those of `*ABS*`, as 0.
fn tektronix_value(byte: u8) -> u64 {
    u64::from(match byte {
        b'0'..=b'9' => byte - b'0',
        b'A'..=b'Z' => byte - b'A' + 10,
        b'$' => 36,
        b'%' => 37,
        b'.' => 38,
        b'_' => 39,
        b'a'..=b'z' => byte - b'a' + 40,
        _ => 0,
    })
}

/// Reads words behind addresses with `@`: Verilog's `$readmemh`, whose addresses count words, as
/// `objcopy -O verilog` writes it, whose addresses count bytes, and TI-TXT. `None`: the text is
/// none.
pub(super) fn verilog(text: &[u8]) -> Option<Records> {
    let mut sections: Vec<(u64, Vec<u8>)> = Vec::new();
    let (mut size, mut form) = (None, "a memory image of Verilog");
    for (_, line) in lines(text) {
        let line = line.split(|byte| *byte == b'/').next().unwrap_or_default();
        for token in line.split(u8::is_ascii_whitespace).filter(|token| !token.is_empty()) {
            match token {
                [b'@', address @ ..] => sections.push((number(address, 16)?, Vec::new())),
                b"q" | b"Q" => form = "TI-TXT",
                token => {
                    let (digits, prefixed) = word_digits(token)?;
                    let same = *size.get_or_insert(digits.len()) == digits.len();
                    let (_, bytes) = sections.last_mut().filter(|_| same && !prefixed)?;
                    word(digits)?.append(Order::Value, bytes);
                }
            }
        }
    }
    let size = size? as u64 / 2;
    // Addresses of words, where each section begins where the one before it ends.
    let counts_words = size > 1
        && sections.windows(2).all(|pair| {
            let [(a, bytes), (b, _)] = pair else { return false };
            b.saturating_sub(*a).saturating_mul(size) == bytes.len() as u64
        })
        && sections.len() > 1;
    let scale = if counts_words { size } else { 1 };
    let mut pieces = Vec::new();
    for (address, bytes) in sections {
        add(&mut pieces, address.saturating_mul(scale), &bytes);
    }
    pieces.retain(|(_, bytes)| !bytes.is_empty());
    (!pieces.is_empty()).then_some(Records { form, pieces })
}
