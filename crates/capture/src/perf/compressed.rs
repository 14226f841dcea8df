//! Compressed records and trace: zstd. (RFC 8878)

use std::io::Read;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::limits::Budget;

/// The first bytes of a zstd frame.
pub(super) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Bytes that are unpacked at a time.
const STEP: usize = 1 << 16;
/// The greatest size of the header of a frame.
const FRAME_HEADER: usize = 18;
/// The size of the header of a block.
const BLOCK_HEADER: usize = 3;
/// The most bytes that pad compressed bytes to a multiple of 8.
const PADDING: usize = 7;

/// A stream of compressed bytes that arrive in pieces: the COMPRESSED records of a file. A frame
/// may continue in the next piece.
#[derive(Default)]
pub(super) struct Unpacker {
    decoder: FrameDecoder,
    /// A frame has begun.
    inside: bool,
    /// The frame ends with a checksum.
    checksum: bool,
    /// Bytes that are not unpacked, and before them, those that are.
    bytes: Vec<u8>,
    /// The number of bytes that are unpacked.
    done: usize,
    step: Vec<u8>,
}

impl Unpacker {
    /// Unpacks `bytes` as far as they make whole blocks, and passes the result to `out` in parts.
    /// `budget` has the bytes that they may unpack to, in this call and in others.
    ///
    /// # Errors
    /// Why the bytes cannot be unpacked.
    pub(super) fn unpack(
        &mut self,
        bytes: &[u8],
        budget: &mut Budget,
        mut out: impl FnMut(&[u8]),
    ) -> Result<(), String> {
        self.bytes.extend_from_slice(bytes);
        self.step.resize(STEP, 0);
        while self.next_block()? {
            while self.decoder.can_collect() > 0 {
                let len = self.decoder.read(&mut self.step).map_err(|error| error.to_string())?;
                if !budget.take(len as u64) {
                    let limit = budget.limit();
                    return Err(format!(
                        "compressed parts unpack to more than {limit} bytes in all"
                    ));
                }
                out(self.step.get(..len).unwrap_or_default());
            }
        }
        // Each byte is moved at most twice: the bytes that are left are fewer than a block has.
        if self.done == self.bytes.len() || self.done >= STEP {
            self.bytes.drain(..self.done);
            self.done = 0;
        }
        Ok(())
    }

    /// Forgets the frame that has begun, and its bytes.
    pub(super) fn restart(&mut self) {
        self.inside = false;
        self.bytes.clear();
        self.done = 0;
    }

    /// Unpacks one block into the decoder. Returns `false` where it is incomplete.
    fn next_block(&mut self) -> Result<bool, String> {
        let mut input = self.bytes.get(self.done..).unwrap_or_default();
        if self.inside && self.decoder.is_finished() {
            self.inside = false;
        }
        if !self.inside {
            if input.len() <= PADDING && input.iter().all(|byte| *byte == 0) {
                return Ok(false);
            }
            let checksum = input.get(MAGIC.len()).is_some_and(|descriptor| descriptor & 4 != 0);
            if self.decoder.reset(&mut input).is_err() {
                let begins = may_begin(self.bytes.get(self.done..).unwrap_or_default());
                return if begins {
                    Ok(false)
                } else {
                    Err("the bytes are not a zstd frame".into())
                };
            }
            (self.inside, self.checksum) = (true, checksum);
        }
        let len =
            block_len(input).map(|(len, last)| if last && self.checksum { len + 4 } else { len });
        let whole = len.is_some_and(|len| len <= input.len());
        if whole {
            let one = BlockDecodingStrategy::UptoBlocks(1);
            self.decoder.decode_blocks(&mut input, one).map_err(|error| error.to_string())?;
        }
        self.done = self.bytes.len() - input.len();
        Ok(whole)
    }

    /// Whether a frame is incomplete.
    fn is_inside(&self) -> bool {
        self.inside && !self.decoder.is_finished()
            || self.bytes.iter().skip(self.done).any(|byte| *byte != 0)
    }
}

/// Whether `bytes` may be the beginning of the header of a frame.
fn may_begin(bytes: &[u8]) -> bool {
    let magic = MAGIC.get(..bytes.len()).unwrap_or(&MAGIC);
    bytes.len() < FRAME_HEADER && bytes.starts_with(magic)
}

/// The number of bytes of the block that begins with `bytes`, and whether it is the last one of its
/// frame. (RFC 8878, section 3.1.1.2)
fn block_len(bytes: &[u8]) -> Option<(usize, bool)> {
    /// Block_Type RLE_Block: one byte, which is repeated.
    const REPEATED: u32 = 1;
    let &[a, b, c] = bytes.first_chunk()?;
    let header = u32::from_le_bytes([a, b, c, 0]);
    let size = if header >> 1 & 3 == REPEATED { 1 } else { header >> 3 };
    Some((BLOCK_HEADER + size as usize, header & 1 != 0))
}

/// Unpacks whole frames, after which zeros may pad them. `budget` has the bytes that they may
/// unpack to, in this call and in others.
///
/// # Errors
/// Why the bytes cannot be unpacked.
pub(super) fn unpack(bytes: &[u8], budget: &mut Budget) -> Result<Vec<u8>, String> {
    let (mut unpacker, mut all) = (Unpacker::default(), Vec::new());
    for piece in bytes.chunks(STEP) {
        unpacker.unpack(piece, budget, |part| all.extend_from_slice(part))?;
    }
    if unpacker.is_inside() { Err("a zstd frame is incomplete".into()) } else { Ok(all) }
}

/// Packs `bytes` in one frame.
pub(super) fn pack(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_length_unpack_to_the_same() {
        let bytes: Vec<u8> = (0..300_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        let mut packed = pack(&bytes[..200_000]);
        packed.extend(pack(&bytes[200_000..]));
        for step in [1, 7, 1000, packed.len()] {
            let (mut unpacker, mut out) = (Unpacker::default(), Vec::<u8>::new());
            for piece in packed.chunks(step.max(packed.len() / 5000)) {
                unpacker.unpack(piece, &mut Budget::new(1 << 20), |part| out.extend(part)).unwrap();
            }
            assert!(out == bytes, "pieces of {step} bytes");
        }
        assert_eq!(unpack(&packed, &mut Budget::new(1 << 20)), Ok(bytes.clone()));
        // Zeros pad the bytes to a multiple of 8.
        packed.extend([0; 7]);
        assert_eq!(unpack(&packed, &mut Budget::new(1 << 20)), Ok(bytes));
        packed.push(0);
        assert!(unpack(&packed, &mut Budget::new(1 << 20)).is_err());
    }

    /// 16,384 blocks of 4 bytes, each of which repeats a byte 131,072 times.
    #[test]
    fn bytes_beyond_the_budget_are_not_unpacked() {
        // Magic number; descriptor: no size, no checksum; window of 1 KiB << 7.
        let mut packed = [&MAGIC[..], &[0, 7 << 3]].concat();
        (0..1 << 14).for_each(|_| packed.extend([2, 0, 0x10, b'x']));
        let (mut unpacker, mut budget, mut len) = (Unpacker::default(), Budget::new(1 << 20), 0);
        let error = unpacker.unpack(&packed, &mut budget, |part| len += part.len()).unwrap_err();
        assert!(error.contains("1048576"), "{error}");
        assert_eq!(len, 1 << 20);
        assert!(unpack(&packed, &mut budget).is_err(), "the budget is that of all pieces");
    }

    #[test]
    fn damage_is_an_error() {
        let packed = pack(&[7; 1000]);
        assert!(unpack(b"not zstd at all, and longer than a header", &mut Budget::new(9)).is_err());
        for len in 1..packed.len() {
            assert!(unpack(&packed[..len], &mut Budget::new(1000)).is_err(), "{len}");
        }
    }
}
