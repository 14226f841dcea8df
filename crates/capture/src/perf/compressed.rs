//! Compressed records and trace: zstd. (RFC 8878)

use ruzstd::decoding::FrameDecoder;

use super::limits::MAX_UNPACKED;

/// The first bytes of a zstd frame.
pub(super) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Bytes that are unpacked at a time.
const STEP: usize = 1 << 16;

/// A stream of compressed bytes that arrive in pieces: the COMPRESSED records of a file. A frame
/// may continue in the next piece.
#[derive(Default)]
pub(super) struct Unpacker {
    decoder: FrameDecoder,
    /// A frame has begun.
    inside: bool,
    /// Bytes that make no whole block yet.
    waiting: Vec<u8>,
    /// Bytes unpacked so far.
    unpacked: u64,
}

impl Unpacker {
    /// Unpacks `bytes` as far as they make whole blocks.
    ///
    /// # Errors
    /// Why the bytes cannot be unpacked.
    pub(super) fn unpack(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        self.waiting.extend_from_slice(bytes);
        let mut step = vec![0; STEP];
        loop {
            let mut input = self.waiting.as_slice();
            if !self.inside {
                if input.is_empty() {
                    return Ok(());
                }
                // A frame that ends has been drained.
                if self.decoder.reset(&mut input).is_err() {
                    return if self.waiting.len() < 18 && self.waiting.starts_with(&MAGIC) {
                        Ok(())
                    } else {
                        Err("the bytes are not a zstd frame".into())
                    };
                }
                self.inside = true;
                let used = self.waiting.len() - input.len();
                self.waiting.drain(..used);
                continue;
            }
            let (used, written) = match self.decoder.decode_from_to(input, &mut step) {
                Ok(done) => done,
                Err(error) => return Err(error.to_string()),
            };
            // The decoder counts the checksum at the end of a frame, also where it is missing.
            if used > self.waiting.len() {
                return Err("the checksum of a frame is missing".into());
            }
            self.waiting.drain(..used);
            self.unpacked += written as u64;
            if self.unpacked > MAX_UNPACKED {
                return Err(format!("they unpack to more than {MAX_UNPACKED} bytes"));
            }
            out.extend_from_slice(step.get(..written).unwrap_or_default());
            if self.decoder.is_finished() && self.decoder.can_collect() == 0 {
                self.inside = false;
                continue;
            }
            if used == 0 && written == 0 {
                return Ok(());
            }
        }
    }
}

/// Unpacks whole frames.
///
/// # Errors
/// Why the bytes cannot be unpacked.
pub(super) fn unpack(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let (mut unpacker, mut out) = (Unpacker::default(), Vec::new());
    unpacker.unpack(bytes, &mut out)?;
    if unpacker.inside { Err("a zstd frame is incomplete".into()) } else { Ok(out) }
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
            let (mut unpacker, mut out) = (Unpacker::default(), Vec::new());
            for piece in packed.chunks(step.max(packed.len() / 5000)) {
                unpacker.unpack(piece, &mut out).unwrap();
            }
            assert!(out == bytes, "pieces of {step} bytes");
        }
        assert_eq!(unpack(&packed), Ok(bytes));
    }

    #[test]
    fn damage_is_an_error() {
        let packed = pack(&[7; 1000]);
        assert!(unpack(b"not zstd at all, and longer than a header").is_err());
        assert!(unpack(&packed[..packed.len() - 1]).is_err());
    }
}
