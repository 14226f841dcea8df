//! The line of text with which a terminal port of a J-Link server begins.
//!
//! The SWO ports of OpenOCD, pyOCD and J-Link send the bytes of SWO and nothing else. The ports for
//! text of a J-Link server begin with a line that names it.

/// How the line begins.
const BEGIN: &[u8] = b"SEGGER J-Link";

/// A longer line is no greeting.
const LONGEST: usize = 256;

/// Removes the line from the start of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Greeting {
    /// The first bytes, while they may be the line.
    held: Vec<u8>,
    /// The stream is past its first line.
    done: bool,
    /// The number of bytes that were removed.
    removed: usize,
}

impl Greeting {
    /// Removes the line from `block`, the next bytes of the stream. Bytes that may be a part of the
    /// line come out with a later block.
    pub fn pass(&mut self, block: &mut Vec<u8>) {
        if self.done {
            return;
        }
        self.held.append(block);
        let known = self.held.len().min(BEGIN.len());
        let fits = self.held.get(..known) == BEGIN.get(..known);
        let end = self.held.iter().position(|byte| *byte == b'\n');
        match end {
            Some(end) if fits && end >= BEGIN.len() => {
                self.removed = end + 1;
                block.extend(self.held.drain(..).skip(end + 1));
            }
            None if fits && self.held.len() <= LONGEST => return,
            _ => block.append(&mut self.held),
        }
        self.done = true;
    }

    /// The bytes that are still held: the stream has ended.
    pub fn rest(&mut self) -> Vec<u8> {
        self.done = true;
        std::mem::take(&mut self.held)
    }

    /// The number of bytes of the line, if there was one.
    pub const fn removed(&self) -> usize {
        self.removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_removed() {
        let line = b"SEGGER J-Link V7.92o - Real time terminal output\r\n";
        let long = [b"SEGGER J-Link".as_slice(), &[b'-'; 300]].concat();
        for (bytes, removed) in [
            ([line.as_slice(), b"\x01a\x01\n"].concat(), line.len()),
            (line.to_vec(), line.len()),
            (b"\x01a\x01\n".to_vec(), 0),
            (b"SEGG\n".to_vec(), 0),
            (b"SEGGER J-Li".to_vec(), 0),
            (long, 0),
            (Vec::new(), 0),
        ] {
            for size in [1, 7, 1000] {
                let (mut greeting, mut out) = (Greeting::default(), Vec::new());
                for piece in bytes.chunks(size) {
                    let mut block = piece.to_vec();
                    greeting.pass(&mut block);
                    out.append(&mut block);
                }
                out.append(&mut greeting.rest());
                assert_eq!((out.as_slice(), greeting.removed()), (&bytes[removed..], removed));
            }
        }
    }
}
