//! The first byte of a packet.

/// The kind of packet that a header begins. (IHI 0064, "Data trace packet headers")
///
/// | header | packet | | header | packet |
/// |---|---|---|---|---|
/// | `0000_0000` | extension | | `0001_01xx` | P1, format 3 |
/// | `0000_0001` | unnumbered marker | | `0110_xxxx` | P1, format 4 |
/// | `0000_0010` | timestamp | | `0111_xxxx` | P1, format 1 |
/// | `0000_0011` | suppression | | `10xx_xxxx` | P1, format 2 |
/// | `0000_0100` | event | | `1111_0101` | P1, format 7 |
/// | `0001_00xx` | P2, format 4 | | `1111_011x` | P1, format 6 |
/// | `0001_1xxx` | P2, format 5 | | `1111_1xxx` | P1, format 5 |
/// | `0010_xxxx` | P2, format 1 | | | |
/// | `0011_0xxx` | P2, format 2 | | | |
/// | `0011_1xxx` | P2, format 6 | | | |
/// | `010x_xxxx` | P2, format 3 | | | |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// An extension: the next byte selects the packet.
    Extension,
    /// An unnumbered data synchronisation marker.
    Marker,
    /// A timestamp.
    Timestamp,
    /// Data transfers were not traced.
    Suppression,
    /// A trace unit event.
    Event,
    /// A P1 packet: the address of a data transfer.
    Address {
        /// 1 to 7.
        format: u8,
        /// The payload in the header: the bits that are x in the table.
        bits: u8,
    },
    /// A P2 packet: the value of a data transfer.
    Value {
        /// 1 to 6.
        format: u8,
        /// The payload in the header: the bits that are x in the table.
        bits: u8,
    },
}

impl Header {
    /// `None` if the header is reserved.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0x00 => Header::Extension,
            0x01 => Header::Marker,
            0x02 => Header::Timestamp,
            0x03 => Header::Suppression,
            0x04 => Header::Event,
            0b0001_0000..=0b0001_0011 => Header::Value { format: 4, bits: byte & 0b11 },
            0b0001_0100..=0b0001_0111 => Header::Address { format: 3, bits: byte & 0b11 },
            0b0001_1000..=0b0001_1111 => Header::Value { format: 5, bits: byte & 0b111 },
            0b0010_0000..=0b0010_1111 => Header::Value { format: 1, bits: byte & 0b1111 },
            0b0011_0000..=0b0011_0111 => Header::Value { format: 2, bits: byte & 0b111 },
            0b0011_1000..=0b0011_1111 => Header::Value { format: 6, bits: byte & 0b111 },
            0b0100_0000..=0b0101_1111 => Header::Value { format: 3, bits: byte & 0b1_1111 },
            0b0110_0000..=0b0110_1111 => Header::Address { format: 4, bits: byte & 0b1111 },
            0b0111_0000..=0b0111_1111 => Header::Address { format: 1, bits: byte & 0b1111 },
            0b1000_0000..=0b1011_1111 => Header::Address { format: 2, bits: byte & 0b11_1111 },
            0b1111_0101 => Header::Address { format: 7, bits: 0 },
            0b1111_0110..=0b1111_0111 => Header::Address { format: 6, bits: byte & 0b1 },
            0b1111_1000..=0b1111_1111 => Header::Address { format: 5, bits: byte & 0b111 },
            0x05..=0x0f | 0b1100_0000..=0b1111_0100 => return None,
        })
    }

    /// The byte of the header. An invalid format becomes the last valid one; excess bits are
    /// dropped.
    pub const fn byte(self) -> u8 {
        match self {
            Header::Extension => 0x00,
            Header::Marker => 0x01,
            Header::Timestamp => 0x02,
            Header::Suppression => 0x03,
            Header::Event => 0x04,
            Header::Address { format, bits } => match format {
                1 => 0b0111_0000 | bits & 0b1111,
                2 => 0b1000_0000 | bits & 0b11_1111,
                3 => 0b0001_0100 | bits & 0b11,
                4 => 0b0110_0000 | bits & 0b1111,
                5 => 0b1111_1000 | bits & 0b111,
                6 => 0b1111_0110 | bits & 0b1,
                _ => 0b1111_0101,
            },
            Header::Value { format, bits } => match format {
                1 => 0b0010_0000 | bits & 0b1111,
                2 => 0b0011_0000 | bits & 0b111,
                3 => 0b0100_0000 | bits & 0b1_1111,
                4 => 0b0001_0000 | bits & 0b11,
                5 => 0b0001_1000 | bits & 0b111,
                _ => 0b0011_1000 | bits & 0b111,
            },
        }
    }
}
