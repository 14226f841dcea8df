//! Cycle counts: the first byte has four bits, the others seven.

/// The most bytes of a count.
const MOST: usize = 5;

/// Reads a count: `xCCC_CCxx`, where bit 6 states that another byte follows and \[5:2] are bits
/// \[3:0], then `Cxxx_xxxx`. `None` where bytes are missing. (IHI 0035, "Cycle-accurate tracing")
#[inline]
pub(in crate::ptm) fn parse(bytes: &[u8]) -> Option<(u32, usize)> {
    let first = *bytes.first()?;
    let mut count = u32::from(first >> 2 & 0xf);
    if first & 0x40 == 0 {
        return Some((count, 1));
    }
    for k in 1..MOST {
        let byte = *bytes.get(k)?;
        count |= u32::from(byte & 0x7f) << (7 * k - 3);
        if byte & 0x80 == 0 {
            return Some((count, k + 1));
        }
    }
    // The fifth byte is the last regardless of its top bit.
    Some((count, MOST))
}

/// Writes a count; `first` has the other bits of the first byte.
pub(super) fn emit(count: u32, first: u8, out: &mut impl Extend<u8>) {
    let mut rest = count >> 4;
    let more = if rest != 0 { 0x40 } else { 0 };
    out.extend([first | more | (count as u8 & 0xf) << 2]);
    while rest != 0 {
        let byte = rest as u8 & 0x7f;
        rest >>= 7;
        out.extend([byte | if rest != 0 { 0x80 } else { 0 }]);
    }
}
