//! Messages of protobuf, read and written. (protobuf.dev, "Encoding")

use tracewright_base::{put_uleb128, take_uleb128};

/// A message that is being written. A number that is 0 and an empty text are not written, as they
/// are the defaults.
#[derive(Clone, Debug, Default)]
pub struct Message(
    /// The bytes.
    pub Vec<u8>,
);

impl Message {
    fn varint(&mut self, value: u64) {
        put_uleb128(&mut self.0, value);
    }

    /// A number, which is left out where it is 0.
    pub fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.present(field, value);
        }
    }

    /// A number, also where it is 0: for readers of proto2, 0 is not the same as none.
    pub fn present(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    /// A floating-point number of 64 bits, also where it is 0.
    pub fn double(&mut self, field: u64, value: f64) {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
    }

    /// Bytes, a text or a message, also where it is empty.
    pub fn bytes(&mut self, field: u64, value: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    /// A text.
    pub fn text(&mut self, field: u64, value: &str) {
        if !value.is_empty() {
            self.bytes(field, value.as_bytes());
        }
    }

    /// Several numbers in one field.
    pub fn packed(&mut self, field: u64, values: &[u64]) {
        let mut inner = Message::default();
        values.iter().for_each(|value| inner.varint(*value));
        self.bytes(field, &inner.0);
    }
}

/// A value of a message of protobuf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// An integer, of any width.
    Number(u64),
    /// Bytes, a text or a message.
    Bytes(&'a [u8]),
}

/// The fields of a message and their values, up to damage.
pub fn fields(mut bytes: &[u8]) -> impl Iterator<Item = (u64, Value<'_>)> {
    std::iter::from_fn(move || {
        let key = take_uleb128(&mut bytes)?;
        let value = match key & 7 {
            0 => Value::Number(take_uleb128(&mut bytes)?),
            1 => {
                let (word, rest) = bytes.split_first_chunk()?;
                bytes = rest;
                Value::Number(u64::from_le_bytes(*word))
            }
            2 => {
                let len = usize::try_from(take_uleb128(&mut bytes)?).ok()?;
                let (value, rest) = bytes.split_at_checked(len)?;
                bytes = rest;
                Value::Bytes(value)
            }
            5 => {
                let (word, rest) = bytes.split_first_chunk()?;
                bytes = rest;
                Value::Number(u32::from_le_bytes(*word).into())
            }
            _ => return None,
        };
        Some((key >> 3, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows from the page "Encoding" of protobuf.
    #[test]
    fn fields() {
        let mut message = Message::default();
        message.number(1, 150);
        assert_eq!(message.0, [0x08, 0x96, 0x01]);
        let mut message = Message::default();
        message.text(2, "testing");
        assert_eq!(message.0, [0x12, 7, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        let mut message = Message::default();
        message.double(1, 1.0);
        assert_eq!(message.0, [0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        let mut message = Message::default();
        message.packed(6, &[3, 270, 86942]);
        assert_eq!(message.0, [0x32, 6, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]);
        let mut message = Message::default();
        message.number(1, 0);
        assert_eq!(message.0, []);
    }

    #[test]
    fn fields_are_read_as_they_were_written() {
        let mut message = Message::default();
        message.number(1, 150);
        message.text(2, "testing");
        message.number(3, u64::MAX);
        let all =
            [(1, Value::Number(150)), (2, Value::Bytes(b"testing")), (3, Value::Number(u64::MAX))];
        assert!(super::fields(&message.0).eq(all));
        // Wire types 5 and 1: 4 and 8 bytes.
        let bytes = [0x25, 1, 0, 0, 0, 0x29, 2, 0, 0, 0, 0, 0, 0, 0];
        assert!(super::fields(&bytes).eq([(4, Value::Number(1)), (5, Value::Number(2))]));
        for len in 0..message.0.len() {
            assert!(super::fields(&message.0[..len]).count() < 3, "{len}");
        }
    }
}
