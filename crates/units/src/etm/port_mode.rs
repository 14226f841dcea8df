//! Clocks of the trace port of an ETMv3. (IHI 0014, 2.10.2)

/// The port mode, as coded in ETMCR bits \[13, 17:16]. (IHI 0014, Table 2-18)
///
/// In every mode, one pin has one signal. The mode of an ETMv1 or ETMv2 has other values (Table
/// 2-17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PortMode {
    /// For capture on the chip with the clock of the ETM. TRACECLK is not used.
    Dynamic,
    /// The port has this ratio to the clock of the ETM: data of the port to clocks of the ETM.
    Ratio(u8, u8),
    /// A ratio of the implementation, such as 2:3.
    Implementation,
}

impl PortMode {
    /// The mode that the value of ETMCR selects. `None` for the reserved code.
    pub const fn of_control(etmcr: u32) -> Option<PortMode> {
        PortMode::of_code((etmcr >> 11 & 0b100 | etmcr >> 16 & 0b11) as u8)
    }

    /// The mode with the code `code` of 3 bits. `None` for the reserved code.
    pub const fn of_code(code: u8) -> Option<PortMode> {
        Some(match code {
            0b000 => PortMode::Dynamic,
            0b001 => PortMode::Ratio(2, 1),
            0b011 => PortMode::Implementation,
            0b100 => PortMode::Ratio(1, 1),
            0b101 => PortMode::Ratio(1, 3),
            0b110 => PortMode::Ratio(1, 2),
            0b111 => PortMode::Ratio(1, 4),
            _ => return None,
        })
    }

    /// Whether the trace is sampled at both edges of TRACECLK. Otherwise TRACECLK is not used.
    pub const fn both_edges(self) -> bool {
        !matches!(self, PortMode::Dynamic)
    }

    /// Frequency of TRACECLK to that of the ETM clock, in lowest terms. `None` where TRACECLK is
    /// not used or the ratio is not known.
    pub const fn clock(self) -> Option<(u8, u8)> {
        match self {
            PortMode::Ratio(2, 1) => Some((1, 1)),
            PortMode::Ratio(data, clocks) => Some((data, 2 * clocks)),
            _ => None,
        }
    }

    /// Samples of the port to clocks of the ETM. `None` where the implementation defines it.
    pub const fn data(self) -> Option<(u8, u8)> {
        match self {
            PortMode::Dynamic => Some((1, 1)),
            PortMode::Ratio(data, clocks) => Some((data, clocks)),
            PortMode::Implementation => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IHI 0014, Table 2-18: code, both edges, clock, data.
    #[test]
    fn modes() {
        let rows = [
            (0b000, Some((false, None, Some((1, 1))))),
            (0b001, Some((true, Some((1, 1)), Some((2, 1))))),
            (0b010, None),
            (0b011, Some((true, None, None))),
            (0b100, Some((true, Some((1, 2)), Some((1, 1))))),
            (0b101, Some((true, Some((1, 6)), Some((1, 3))))),
            (0b110, Some((true, Some((1, 4)), Some((1, 2))))),
            (0b111, Some((true, Some((1, 8)), Some((1, 4))))),
        ];
        for (code, row) in rows {
            let mode = PortMode::of_code(code);
            let found = mode.map(|m| (m.both_edges(), m.clock(), m.data()));
            assert_eq!(found, row, "{code:03b}");
            // Bit 13 is the most significant one.
            let code = u32::from(code);
            assert_eq!(PortMode::of_control((code >> 2) << 13 | (code & 3) << 16), mode);
        }
        assert_eq!(PortMode::of_code(8), None);
    }
}
