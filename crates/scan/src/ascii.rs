//! ASCII text that is appended in copies of fixed sizes, which need no call.

use alloc::string::String;
use alloc::vec::Vec;

/// The bytes of one copy of an [`AsciiTexts`].
const CHUNK: usize = 64;

/// Longer texts are appended in one copy.
const AT_ONCE: usize = 4 * CHUNK;

/// A part of a text, and zeros after its end. All bytes are ASCII.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk([u8; CHUNK]);

/// Texts of ASCII characters that are appended to others many times. Each begins at a chunk of 64
/// bytes.
#[derive(Clone, Debug, Default)]
pub struct AsciiTexts {
    chunks: Vec<Chunk>,
}

impl AsciiTexts {
    /// No texts.
    pub const fn new() -> Self {
        AsciiTexts { chunks: Vec::new() }
    }

    /// The chunks of a text of `len` bytes, at least one.
    pub const fn chunks_of(len: usize) -> usize {
        if len == 0 { 1 } else { len.div_ceil(CHUNK) }
    }

    /// The number of chunks of all texts.
    pub const fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Drops all texts.
    pub fn clear(&mut self) {
        self.chunks.clear();
    }

    /// Room for this number of chunks in all, in large pages where the system has them: texts that
    /// are added later do not move those before.
    pub fn reserve(&mut self, chunks: usize) {
        if chunks > self.chunks.capacity() {
            self.chunks.reserve_exact(chunks - self.chunks.len());
            #[cfg(feature = "large-pages")]
            crate::prefetch::huge(&self.chunks);
        }
    }

    /// Adds empty texts, up to this number of chunks.
    pub fn resize(&mut self, chunks: usize) {
        self.chunks.resize(chunks, Chunk([0; CHUNK]));
    }

    /// Stores `text` and returns its first chunk. `None`, and nothing is stored, where it is not
    /// ASCII.
    pub fn add(&mut self, text: &str) -> Option<usize> {
        let first = self.chunks.len();
        self.resize(first + AsciiTexts::chunks_of(text.len()));
        let stored = self.replace(first, text);
        if !stored {
            self.chunks.truncate(first);
        }
        stored.then_some(first)
    }

    /// Stores `text` in the chunks from `first` on. `false`, and nothing is stored, where it is
    /// not ASCII, or where there are too few chunks.
    pub fn replace(&mut self, first: usize, text: &str) -> bool {
        let end = first.saturating_add(AsciiTexts::chunks_of(text.len()));
        let Some(chunks) = self.chunks.get_mut(first..end).filter(|_| text.is_ascii()) else {
            return false;
        };
        for (chunk, part) in chunks.iter_mut().zip(text.as_bytes().chunks(CHUNK)) {
            if let Some(to) = chunk.0.get_mut(..part.len()) {
                to.copy_from_slice(part);
            }
        }
        true
    }

    /// Appends the first `len` bytes of the text that begins at chunk `first`. Bytes that no text
    /// has are omitted, or are those of another text.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub fn append(&self, first: usize, len: usize, out: &mut String) {
        let Some(chunk) = self.chunks.get(first) else { return };
        // SAFETY: all bytes of all chunks are ASCII, so that `out` remains UTF-8 after each step,
        // and it is cut between ASCII characters.
        let bytes = unsafe { out.as_mut_vec() };
        if len > AT_ONCE
            && let Some(chunks) = self.chunks.get(first..first + len.div_ceil(CHUNK))
        {
            // SAFETY: a chunk has 64 bytes and no others, and `len` is not more than those of all.
            let text = unsafe { core::slice::from_raw_parts(chunks.as_ptr().cast(), len) };
            bytes.extend_from_slice(text);
            return;
        }
        let end = bytes.len() + len;
        bytes.extend_from_slice(&chunk.0);
        if len > CHUNK {
            let more = first + 1..first + AsciiTexts::chunks_of(len);
            for chunk in self.chunks.get(more).unwrap_or_default() {
                bytes.extend_from_slice(&chunk.0);
            }
        }
        bytes.truncate(end);
    }
}

/// Appends the first `len` of 16 ASCII characters, of which the first is on top of `characters`.
/// Appends nothing where one of the 16 bytes is not ASCII.
#[inline(always)]
#[allow(unsafe_code)]
pub fn append_ascii(characters: u128, len: usize, out: &mut String) {
    const NOT_ASCII: u128 = u128::from_ne_bytes([0x80; 16]);
    if characters & NOT_ASCII != 0 {
        return;
    }
    // SAFETY: all bytes are ASCII, so that `out` remains UTF-8 after each step, and it is cut
    // between ASCII characters.
    let bytes = unsafe { out.as_mut_vec() };
    let end = bytes.len() + len;
    bytes.extend_from_slice(&characters.to_be_bytes());
    bytes.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive;
    use alloc::string::ToString;

    #[test]
    fn texts_are_appended_as_without_chunks() {
        let long: String = (0..300u32).map(|n| char::from(b'!' + (n % 90) as u8)).collect();
        let lens = [0, 1, 15, 63, 64, 65, 127, 128, 129, 300];
        let (mut texts, mut known) = (AsciiTexts::new(), Vec::new());
        for len in lens {
            known.push((texts.add(&long[..len]).expect("ASCII"), &long[300 - len..]));
            // Room for fewer texts than there are, and for more, changes no text.
            texts.reserve(known.len() * 3);
        }
        for (first, text) in &known {
            assert!(texts.replace(*first, text));
        }
        for (first, text) in &known {
            let (mut out, mut want) = ("ä".to_string(), "ä".to_string());
            texts.append(*first, text.len(), &mut out);
            naive::append(text, text.len(), &mut want);
            assert_eq!(out, want);
        }
    }

    #[test]
    fn only_ascii_is_stored() {
        let mut texts = AsciiTexts::new();
        assert_eq!(texts.add("é"), None);
        assert_eq!(texts.chunks(), 0);
        let first = texts.add("e").expect("ASCII");
        assert!(!texts.replace(first, "é") && !texts.replace(first + 1, "e"));
        assert!(!texts.replace(first, &"e".repeat(65)));
        // Any number of bytes from any chunk.
        for (first, len) in [(first, 300), (first + 1, 1), (usize::MAX, 1), (first, 1)] {
            let mut out = String::new();
            texts.append(first, len, &mut out);
            assert!(out.is_ascii() && out.len() <= len);
        }
        texts.clear();
        let mut out = String::new();
        texts.append(first, 1, &mut out);
        assert_eq!(out, "");
    }

    #[test]
    fn characters_are_appended_as_text() {
        let text = "0123456789abcdef";
        let word = u128::from_be_bytes(*text.as_bytes().first_chunk().expect("16 characters"));
        for len in 0..20 {
            let (mut out, mut want) = (String::new(), String::new());
            append_ascii(word, len, &mut out);
            naive::append(text, len, &mut want);
            assert_eq!(out, want);
        }
        let mut out = String::new();
        append_ascii(word | 0x80 << 32, 3, &mut out);
        assert_eq!(out, "");
    }
}
