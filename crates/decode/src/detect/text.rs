//! Whether bytes are text: no trace is.

use std::str;

/// Fewer bytes are not called text.
const LEAST: usize = 8;

/// What the text in `bytes`, the first ones of a file, is; `None` where they are no text.
pub fn text(bytes: &[u8]) -> Option<&'static str> {
    if bytes.len() < LEAST {
        return None;
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let ascii = bytes.get(2..)?.chunks(2).filter(|pair| pair.contains(&0)).count();
        return (ascii * 4 > bytes.len()).then_some("text (UTF-16)");
    }
    // The last character may be cut.
    let is_utf8 = str::from_utf8(bytes).err().is_none_or(|error| error.error_len().is_none());
    let is_high = |byte: u8| byte >= if is_utf8 { 0x80 } else { 0xa0 };
    let is_shown = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b | b' '..=b'~');
    let (shown, high) = bytes.iter().fold((0, 0), |(shown, high), byte| {
        (shown + usize::from(is_shown(byte)), high + usize::from(is_high(*byte)))
    });
    // A tab is also the header of a write to port 1 of an ITM.
    let tabs = bytes.iter().filter(|byte| **byte == b'\t').count();
    let is_latin = is_utf8 || high * 3 < bytes.len();
    if shown + high < bytes.len() || tabs * 3 > bytes.len() || !is_latin {
        return None;
    }
    Some(kind(bytes))
}

/// What text is.
fn kind(bytes: &[u8]) -> &'static str {
    let start = bytes.trim_ascii_start();
    let quoted = || memchr::memmem::find(bytes, b"\":").is_some();
    if matches!(start.first(), Some(b'{' | b'[')) && quoted() {
        return "JSON text";
    }
    let is_hex = |word: &&[u8]| {
        let digits = word.strip_prefix(b"0x").unwrap_or(word);
        digits.len() >= 2 && digits.iter().all(u8::is_ascii_hexdigit)
    };
    let words = || {
        let words = bytes.split(|byte| byte.is_ascii_whitespace() || b",:;|".contains(byte));
        words.filter(|word| !word.is_empty())
    };
    let (all, hex) = (words().count(), words().filter(is_hex).count());
    let is_number = |word: &&[u8]| {
        let digits = word.strip_prefix(b"-").unwrap_or(word);
        let padded = digits.len() > 1 && digits.starts_with(b"0");
        !padded && digits.len() <= 20 && digits.iter().all(u8::is_ascii_digit)
    };
    let is_name = |word: &&[u8]| NAMES.contains(word);
    match () {
        () if words().filter(is_name).count() * 8 > all => {
            "names of characters as of `od -t a`, which leaves out bit 7 of each byte"
        }
        () if all > 0 && words().all(|word| is_number(&word)) => {
            "numbers without the addresses that show how many bytes each is"
        }
        () if hex * 2 > all => "hexadecimal digits as text",
        () => "text",
    }
}

/// Names of control characters in POSIX, but for those that are other words or digits.
const NAMES: [&[u8]; 19] = [
    b"nul", b"soh", b"stx", b"etx", b"eot", b"enq", b"ack", b"bel", b"dle", b"dc1", b"dc2", b"dc3",
    b"dc4", b"nak", b"syn", b"etb", b"esc", b"nl", b"del",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_named() {
        for (bytes, want) in [
            (b"{\"timestamp\": [1, 2]}\n".as_slice(), Some("JSON text")),
            (b" [ {\"a\":1}, {\"a\":2} ]", Some("JSON text")),
            (b"00000000: 0000 0000 0000 8001  ........\n", Some("hexadecimal digits as text")),
            (b"0x80000000:\t0x12345678\t0x9abcdef0\r\n", Some("hexadecimal digits as text")),
            (
                b"0000000 soh   h soh   i nul del\n",
                Some("names of characters as of `od -t a`, which leaves out bit 7 of each byte"),
            ),
            (
                b"    1  104    1  105\n  255    0\n",
                Some("numbers without the addresses that show how many bytes each is"),
            ),
            (b"fn main() {\n\tprintln!();\n}\n", Some("text")),
            ("Größe, naïve".as_bytes(), Some("text")),
            (b"Gr\xf6\xdfe, na\xefve", Some("text")),
            (b"\xff\xfet\0e\0x\0t\0 \0", Some("text (UTF-16)")),
            // Writes to ports 0 and 1 of an ITM, and bytes above ASCII.
            (b"\x01h\x01e\x01l\x01l\x01o", None),
            (b"\x09h\x09e\x09l\x09l\x09o", None),
            (b"\xf7\xf7\xf7\xf7\xf7\xf7\xf7\xf7\xf7", None),
            (b"short", None),
            (b"", None),
        ] {
            assert_eq!(text(bytes), want, "{bytes:?}");
        }
    }
}
