//! Messages of protobuf. (protobuf.dev, "Encoding")

/// A message that is being written. A number that is 0 and an empty text are not written, as they
/// are the defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A number.
    pub(crate) fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.varint(field << 3);
            self.varint(value);
        }
    }

    /// Bytes, a text or a message, also where it is empty.
    pub(crate) fn bytes(&mut self, field: u64, value: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    /// A text.
    pub(crate) fn text(&mut self, field: u64, value: &str) {
        if !value.is_empty() {
            self.bytes(field, value.as_bytes());
        }
    }

    /// Several numbers in one field.
    pub(crate) fn packed(&mut self, field: u64, values: &[u64]) {
        let mut inner = Message::default();
        values.iter().for_each(|value| inner.varint(*value));
        self.bytes(field, &inner.0);
    }
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
        message.packed(6, &[3, 270, 86942]);
        assert_eq!(message.0, [0x32, 6, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]);
        let mut message = Message::default();
        message.number(1, 0);
        assert_eq!(message.0, []);
    }
}
