//! Lines of packets that depend on a byte alone.

use tracewright_scan::AsciiTexts;

/// Texts, each of a source and a byte.
#[derive(Clone, Debug, Default)]
pub(super) struct ByteTexts {
    /// The first chunk of each and its length, which is 0 where there is none, 256 of each source.
    slots: Vec<(u32, u32)>,
    texts: AsciiTexts,
}

impl ByteTexts {
    /// Appends a text. `false` where there is none.
    #[inline]
    pub(super) fn put(&self, source: usize, byte: u8, line: &mut String) -> bool {
        match self.slots.get(source << 8 | usize::from(byte)) {
            Some(&(first, len)) if len > 0 => {
                self.texts.append(first as usize, len as usize, line);
                true
            }
            _ => false,
        }
    }

    /// Stores a text that is not stored.
    pub(super) fn store(&mut self, source: usize, byte: u8, text: &str) {
        let least = source + 1 << 8;
        if self.slots.len() < least {
            self.slots.resize(least, (0, 0));
        }
        if let Some(slot) = self.slots.get_mut(source << 8 | usize::from(byte))
            && let Some(first) = self.texts.add(text)
        {
            *slot = (first as u32, text.len() as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_source_and_byte() {
        let (mut texts, mut line) = (ByteTexts::default(), String::new());
        for (source, byte) in [(0, 0), (2, 255), (1, 0), (2, 3)] {
            assert!(!texts.put(source, byte, &mut line));
            texts.store(source, byte, &format!("{source} {byte}"));
        }
        assert!(texts.put(2, 255, &mut line) && texts.put(1, 0, &mut line));
        assert!(!texts.put(1, 255, &mut line) && !texts.put(3, 0, &mut line));
        assert_eq!(line, "2 2551 0");
    }
}
