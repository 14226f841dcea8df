//! Words and numbers of a line.

/// The text that was expected in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected(pub &'static str);

/// The words of a line, separated by blanks and tabs.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a>(pub &'a [u8]);

impl<'a> Words<'a> {
    /// The next word; empty at the end.
    #[inline]
    pub fn word(&mut self) -> &'a [u8] {
        let rest = self.0.trim_ascii_start();
        let end = rest.iter().position(|b| matches!(b, b' ' | b'\t')).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.0 = rest;
        word
    }

    /// The next word, without taking it.
    pub fn peek(&self) -> &'a [u8] {
        Words(self.0).word()
    }

    /// Whether only blanks are left.
    pub fn is_empty(&self) -> bool {
        self.0.trim_ascii().is_empty()
    }

    /// The next word as a hexadecimal number, with or without 0x.
    pub fn hex(&mut self, what: &'static str) -> Result<u64, Expected> {
        hex(self.word()).ok_or(Expected(what))
    }
}

/// The value of a hexadecimal digit; 0xff for anything else.
const DIGITS: [u8; 256] = {
    let mut table = [0xff; 256];
    let mut k = 0;
    while k < 16 {
        table[b"0123456789abcdef"[k] as usize] = k as u8;
        table[b"0123456789ABCDEF"[k] as usize] = k as u8;
        k += 1;
    }
    table
};

/// A hexadecimal number of 1 to 16 digits, with or without 0x.
#[inline]
pub fn hex(text: &[u8]) -> Option<u64> {
    let digits = match text {
        [b'0', b'x' | b'X', rest @ ..] => rest,
        all => all,
    };
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let (mut value, mut wrong) = (0u64, 0u8);
    for &byte in digits {
        let digit = DIGITS[usize::from(byte)];
        wrong |= digit;
        value = value << 4 | u64::from(digit & 0xf);
    }
    (wrong & 0xf0 == 0).then_some(value)
}

/// A decimal number.
pub fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(digit.into()) }
    })
}

/// A decimal number, or a hexadecimal one with 0x.
pub fn number(text: &[u8]) -> Option<u64> {
    match text {
        [b'0', b'x' | b'X', ..] => hex(text),
        _ => decimal(text),
    }
}

/// A number in words of 32 bits that underscores separate, as `00000000_000ffbb8`.
pub fn grouped(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.iter().filter(|&&b| b != b'_').count() > 16 {
        return None;
    }
    text.iter().filter(|&&b| b != b'_').try_fold(0u64, |value, &byte| {
        let digit = DIGITS[usize::from(byte)];
        (digit <= 0xf).then_some(value << 4 | u64::from(digit))
    })
}

/// The exception level of an AArch32 mode. Modes of Secure state map to EL1 even where EL3 is
/// AArch32.
pub fn mode(name: &[u8]) -> Option<u8> {
    Some(match name {
        b"usr" => 0,
        b"svc" | b"irq" | b"fiq" | b"abt" | b"und" | b"sys" => 1,
        b"hyp" => 2,
        b"mon" => 3,
        _ => return None,
    })
}
