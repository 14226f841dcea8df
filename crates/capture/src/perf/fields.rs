//! The integers and texts of `perf.data`, read and written by the same lines.

/// The fields of a record in their order: read from bytes, or appended to them.
pub(super) trait Fields {
    /// The next `bytes.len()` bytes.
    fn raw(&mut self, bytes: &mut [u8]) -> Option<()>;

    /// Integers are big-endian.
    fn big(&self) -> bool;

    /// All bytes that are left, or `bytes`.
    fn rest(&mut self, bytes: &mut Vec<u8>) -> Option<()>;

    /// The number of bytes that are left; 0 for a writer.
    fn left(&self) -> usize;

    /// An integer of two bytes.
    fn u16(&mut self, value: &mut u16) -> Option<()> {
        let mut bytes = if self.big() { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&mut bytes)?;
        *value = if self.big() { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
        Some(())
    }

    /// An integer of four bytes.
    fn u32(&mut self, value: &mut u32) -> Option<()> {
        let mut bytes = if self.big() { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&mut bytes)?;
        *value = if self.big() { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        Some(())
    }

    /// An integer of eight bytes.
    fn u64(&mut self, value: &mut u64) -> Option<()> {
        let mut bytes = if self.big() { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&mut bytes)?;
        *value = if self.big() { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) };
        Some(())
    }

    /// Several integers of eight bytes.
    fn words(&mut self, words: &mut Vec<u64>, count: usize) -> Option<()> {
        for n in 0..count {
            let mut word = words.get(n).copied().unwrap_or_default();
            self.u64(&mut word)?;
            match words.get_mut(n) {
                Some(old) => *old = word,
                None => words.push(word),
            }
        }
        Some(())
    }

    /// A text that ends with a zero byte and is padded with zeros to a multiple of eight bytes. It
    /// takes all bytes that are left.
    fn text(&mut self, text: &mut String) -> Option<()> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        self.rest(&mut bytes)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        *text = String::from_utf8_lossy(bytes.get(..end)?).into_owned();
        Some(())
    }
}

/// Reads fields.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], big: bool) -> Self {
        Reader { bytes, big }
    }
}

impl Fields for Reader<'_> {
    fn raw(&mut self, into: &mut [u8]) -> Option<()> {
        let (head, rest) = self.bytes.split_at_checked(into.len())?;
        into.copy_from_slice(head);
        self.bytes = rest;
        Some(())
    }

    fn big(&self) -> bool {
        self.big
    }

    fn rest(&mut self, into: &mut Vec<u8>) -> Option<()> {
        *into = self.bytes.to_vec();
        self.bytes = &[];
        Some(())
    }

    fn left(&self) -> usize {
        self.bytes.len()
    }
}

/// Appends fields.
pub(super) struct Writer {
    pub(super) out: Vec<u8>,
    big: bool,
}

impl Writer {
    pub(super) fn new(big: bool) -> Self {
        Writer { out: Vec::new(), big }
    }
}

impl Fields for Writer {
    fn raw(&mut self, bytes: &mut [u8]) -> Option<()> {
        self.out.extend_from_slice(bytes);
        Some(())
    }

    fn big(&self) -> bool {
        self.big
    }

    fn rest(&mut self, bytes: &mut Vec<u8>) -> Option<()> {
        self.out.extend_from_slice(bytes);
        Some(())
    }

    fn left(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for big in [false, true] {
            let mut writer = Writer::new(big);
            let (mut a, mut b, mut c, mut text) = (1u16, 0x1234_5678u32, u64::MAX - 1, "ls".into());
            writer.u16(&mut a).unwrap();
            writer.u32(&mut b).unwrap();
            writer.u64(&mut c).unwrap();
            writer.text(&mut text).unwrap();
            assert_eq!(writer.out.len(), 2 + 4 + 8 + 8);
            assert_eq!(writer.out[2], if big { 0x12 } else { 0x78 });
            let mut reader = Reader::new(&writer.out, big);
            let (mut a2, mut b2, mut c2, mut text2) = (0, 0, 0, String::new());
            reader.u16(&mut a2).unwrap();
            reader.u32(&mut b2).unwrap();
            reader.u64(&mut c2).unwrap();
            reader.text(&mut text2).unwrap();
            assert_eq!((a2, b2, c2, text2), (a, b, c, text));
            assert_eq!(reader.u16(&mut a2), None);
        }
    }

    #[test]
    fn a_text_without_an_end_is_refused() {
        assert_eq!(Reader::new(b"abc", false).text(&mut String::new()), None);
    }
}
