//! The bytes of a trace buffer on their way to a session.

use tracewright_capture::Buffer;

use crate::error::DecodeError;

/// Bytes that a session is fed at a time: enough that the calls cost nothing, few enough that the
/// elements of a chunk take little memory and a full listener ends the decoding soon.
const CHUNK: usize = 1 << 12;

/// The bytes of a buffer, a chunk at a time.
pub(crate) struct Chunks<'a> {
    name: &'a str,
    reader: Box<dyn std::io::Read + Send>,
    space: Vec<u8>,
}

impl<'a> Chunks<'a> {
    pub(crate) fn of(buffer: &'a Buffer) -> Chunks<'a> {
        Chunks { name: &buffer.name, reader: buffer.reader(), space: Vec::new() }
    }

    /// Hands the next chunk to `take`. `false` at the end.
    pub(crate) fn next(&mut self, take: impl FnOnce(&[u8])) -> Result<bool, DecodeError> {
        self.space.resize(CHUNK, 0);
        loop {
            match self.reader.read(&mut self.space) {
                Ok(0) => return Ok(false),
                Ok(len) => {
                    take(self.space.get(..len).unwrap_or_default());
                    return Ok(true);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(DecodeError::Read { buffer: self.name.to_owned(), error });
                }
            }
        }
    }
}

impl std::fmt::Debug for Chunks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chunks").field("buffer", &self.name).finish_non_exhaustive()
    }
}
