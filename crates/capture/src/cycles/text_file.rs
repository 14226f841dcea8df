//! The cycles of a text file as records, which are made from the text as they are needed: a few
//! characters of text can stand for many cycles.

use std::io::{self, BufRead, BufReader, ErrorKind};
use std::sync::OnceLock;

use tracewright_frames::cycles::text::{self, NotCycle};
use tracewright_frames::cycles::{Cycle, Version, Width};
use tracewright_image::{BytesReader, OnDemand};

use crate::Bytes;

/// Bytes of text between two marks: what is read again for one access.
const BETWEEN_MARKS: u64 = 1 << 12;

/// Bytes of text that are read at a time.
const BLOCK: usize = 1 << 13;

/// The greatest length of a word that is a cycle or a repeat. Of a longer word this is shown.
const MAX_WORD: usize = 32;

/// The cycles of a text file.
#[derive(Debug)]
pub(super) struct TextFile {
    /// The words after the line `cycles`.
    words: Bytes,
    version: Version,
    width: Width,
    /// The number of cycles.
    count: u64,
    /// Where some of the cycles are in the text, in ascending order.
    marks: Vec<Mark>,
    all: OnceLock<Vec<u8>>,
}

/// A cycle and the offset of its word.
#[derive(Clone, Copy, Debug)]
struct Mark {
    cycle: u64,
    at: u64,
}

/// Why words are not the cycles of a file.
#[derive(Debug)]
pub(super) enum Wrong {
    /// The text cannot be read.
    Read(io::Error),
    /// A word is not a cycle.
    Word(String),
    /// The repeats expand to more cycles than allowed.
    Many,
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Wrong {
        Wrong::Read(error)
    }
}

impl TextFile {
    /// Reads `words` once: counts the cycles, and checks that there are at most `most`.
    pub(super) fn new(
        words: Bytes,
        version: Version,
        width: Width,
        most: u64,
    ) -> Result<TextFile, Wrong> {
        let (mut count, mut marks) = (0u64, Vec::<Mark>::new());
        let mut runs = Runs::new(&words, 0, version);
        while let Some(run) = runs.next()? {
            if marks.last().is_none_or(|mark| run.at >= mark.at + BETWEEN_MARKS) {
                marks.push(Mark { cycle: count, at: run.at });
            }
            count = count.saturating_add(run.times);
            if count > most {
                return Err(Wrong::Many);
            }
        }
        Ok(TextFile { words, version, width, count, marks, all: OnceLock::new() })
    }

    /// The number of bytes of a record.
    fn record(&self) -> u64 {
        self.width.record() as u64
    }
}

impl OnDemand for TextFile {
    fn size(&self) -> u64 {
        self.count.saturating_mul(self.record())
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let left = self.size().saturating_sub(offset);
        let room = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
        if room == 0 {
            return Ok(0);
        }
        let first = offset / self.record();
        // The bytes of the first record before `offset`.
        let mut skipped = (offset % self.record()) as usize;
        let before = self.marks.partition_point(|mark| mark.cycle <= first).saturating_sub(1);
        let Mark { mut cycle, at } =
            self.marks.get(before).copied().ok_or(ErrorKind::UnexpectedEof)?;
        let mut runs = Runs::new(&self.words, at, self.version);
        let mut done = 0;
        while done < room {
            let run = match runs.next() {
                Ok(Some(run)) => run,
                Err(Wrong::Read(error)) => return Err(error),
                // The text was read before: it is not the same.
                Ok(None) | Err(_) => return Err(ErrorKind::InvalidData.into()),
            };
            let end = cycle.saturating_add(run.times);
            let record = run.cycle.record(self.width);
            let mut left = end.saturating_sub(first.max(cycle));
            while left > 0 && done < room {
                let bytes = record.as_ref().get(skipped..).unwrap_or_default();
                for (to, from) in into.iter_mut().take(room).skip(done).zip(bytes) {
                    *to = *from;
                    done += 1;
                }
                (skipped, left) = (0, left - 1);
            }
            cycle = end;
        }
        Ok(done)
    }

    fn all(&self) -> &[u8] {
        self.all.get_or_init(|| {
            let mut bytes = Vec::new();
            let size = usize::try_from(self.size()).unwrap_or(usize::MAX);
            if bytes.try_reserve_exact(size).is_ok() {
                bytes.resize(size, 0);
                let read = self.read_at(0, &mut bytes).unwrap_or(0);
                bytes.truncate(read);
            }
            bytes
        })
    }
}

/// Consecutive equal cycles: a cycle, and the repeat after it.
struct Run {
    cycle: Cycle,
    times: u64,
    /// The offset of the cycle in the text.
    at: u64,
}

/// The runs of a text from an offset on.
struct Runs {
    words: Words,
    version: Version,
    /// The word after the last run.
    ahead: Option<Word>,
}

impl Runs {
    fn new(text: &Bytes, at: u64, version: Version) -> Runs {
        Runs { words: Words::new(text, at), version, ahead: None }
    }

    fn next(&mut self) -> Result<Option<Run>, Wrong> {
        let word = match self.ahead.take() {
            Some(word) => word,
            None => match self.words.next()? {
                Some(word) => word,
                None => return Ok(None),
            },
        };
        let Some(cycle) = word.text().and_then(|text| text::cycle(text, self.version)) else {
            let shown = String::from_utf8_lossy(word.bytes()).into_owned();
            return Err(Wrong::Word(NotCycle { line: word.line, word: &shown }.to_string()));
        };
        self.ahead = self.words.next()?;
        let times = self.ahead.as_ref().and_then(|word| text::repeat(word.text()?));
        if times.is_some() {
            self.ahead = None;
        }
        Ok(Some(Run { cycle, times: times.map_or(1, |times| times.max(1) as u64), at: word.at }))
    }
}

/// A word of a text.
struct Word {
    /// The offset of its first byte.
    at: u64,
    /// The line, from 1, where the text is read from its beginning.
    line: usize,
    first: [u8; MAX_WORD],
    len: usize,
}

impl Word {
    /// The first bytes.
    fn bytes(&self) -> &[u8] {
        self.first.get(..self.len.min(MAX_WORD)).unwrap_or_default()
    }

    /// The text; `None` for a longer word, and for one that is not text.
    fn text(&self) -> Option<&str> {
        str::from_utf8(self.bytes()).ok().filter(|_| self.len <= MAX_WORD)
    }
}

/// The words of a text without comments.
struct Words {
    reader: BufReader<BytesReader>,
    /// The offset of the next byte.
    at: u64,
    line: usize,
    in_comment: bool,
}

impl Words {
    fn new(text: &Bytes, at: u64) -> Words {
        let reader = BufReader::with_capacity(BLOCK, text.part(at, u64::MAX).reader());
        Words { reader, at, line: 1, in_comment: false }
    }

    fn next(&mut self) -> io::Result<Option<Word>> {
        let mut word = Word { at: 0, line: 0, first: [0; MAX_WORD], len: 0 };
        loop {
            let block = match self.reader.fill_buf() {
                Ok(block) => block,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let (mut used, mut ended) = (0, block.is_empty());
            for &byte in block {
                let between = self.in_comment || byte == b'#' || byte.is_ascii_whitespace();
                if between && word.len > 0 {
                    ended = true;
                    break;
                }
                used += 1;
                match byte {
                    b'\n' => (self.line, self.in_comment) = (self.line + 1, false),
                    b'#' => self.in_comment = true,
                    _ if between => {}
                    _ => {
                        if word.len == 0 {
                            (word.at, word.line) = (self.at + used as u64 - 1, self.line);
                        }
                        if let Some(slot) = word.first.get_mut(word.len) {
                            *slot = byte;
                        }
                        word.len += 1;
                    }
                }
            }
            self.reader.consume(used);
            self.at += used as u64;
            if ended {
                return Ok(Some(word).filter(|word| word.len > 0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tracewright_frames::cycles::records;
    use tracewright_testing::Random;

    use super::*;

    /// Words, repeats, comments and white space.
    fn text(random: &mut Random, words: usize) -> String {
        let mut text = String::new();
        for _ in 0..words {
            let status = random.pick(&text::V1);
            text += &format!("{status}{}:{:x}", random.pick(&["", "*"]), random.next() as u16);
            if random.one_in(5) {
                text +=
                    &format!("{}x{}", random.pick(&[" ", "\n", " # more\n\t"]), random.index(50));
            }
            text += random.pick(&[" ", "\n", "\r\n", "  # x9 IE:0\n", "\n#\n\n", "#\n"]);
        }
        text
    }

    fn whole(text: &str, width: Width) -> Vec<u8> {
        let cycles = text::cycles(text, Version::V1).map(|cycle| cycle.expect("a cycle"));
        records(cycles.collect::<Vec<_>>(), width).collect()
    }

    /// The records are those that the text has when it is read as a whole, however they are read.
    #[test]
    fn records_are_read_in_blocks() {
        let mut random = Random::new(7);
        for width in Width::ALL {
            for words in [0, 1, 2, 5_000] {
                let text = text(&mut random, words);
                let want = whole(&text, width);
                let bytes = Bytes::from(text.clone().into_bytes());
                let file = TextFile::new(bytes, Version::V1, width, 1 << 24).expect("cycles");
                assert_eq!(file.size(), want.len() as u64);
                assert!(words < 100 || file.marks.len() > 10);
                for _ in 0..200 {
                    let at = random.index(want.len() + 2);
                    let mut into = vec![0; 1 + random.index(300)];
                    let read = file.read_at(at as u64, &mut into).expect("records");
                    let rest = want.get(at..).unwrap_or_default();
                    assert_eq!(into[..read], rest[..into.len().min(rest.len())], "{at}");
                }
                let file = Bytes::on_demand(Arc::new(file));
                assert!(*file == *want);
            }
        }
    }

    #[test]
    fn words_that_are_no_cycles() {
        let new = |text: &str| {
            let bytes = Bytes::from(text.as_bytes().to_vec());
            TextFile::new(bytes, Version::V1, Width::W4, 1 << 24)
        };
        for (text, line, word) in [
            ("IE:0\nIE:0 IE", 2, "IE"),
            ("# IE\n\n\nx5", 4, "x5"),
            ("IE:0 x5 x5", 1, "x5"),
            ("IE:0 x99999999999999999999999999", 1, "x99999999999999999999999999"),
            (&"IE:00000".repeat(10), 1, &"IE:00000".repeat(4)),
        ] {
            let want = NotCycle { line, word }.to_string();
            match new(text) {
                Err(Wrong::Word(why)) => assert_eq!(why, want),
                other => panic!("{text}: {other:?}"),
            }
            let whole: Result<Vec<_>, _> = text::cycles(text, Version::V1).collect();
            assert!(whole.is_err(), "{text}");
        }
        // The number of cycles is limited, and takes no memory.
        assert!(matches!(new("IE:0 x16777217"), Err(Wrong::Many)));
        assert!(matches!(new("IE:0 x18446744073709551615 IE:0 x2"), Err(Wrong::Many)));
        let file = new("IE:0 x16777216").expect("cycles");
        assert_eq!((file.count, file.marks.len()), (1 << 24, 1));
    }
}
