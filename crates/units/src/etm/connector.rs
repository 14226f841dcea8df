//! Pins of the 38-pin Mictor connector of a target with a trace port. (IHI 0014, 8.2)

/// The signals on a connector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pinout {
    /// One trace port. (IHI 0014, Table 8-3)
    Single,
    /// TRACEDATA\[31:16] of an ETMv3, on a second connector. (IHI 0014, Table 8-5)
    Second,
    /// Two trace ports. (IHI 0014, Table 8-6)
    Dual,
    /// The same, of which the second port is meant. (IHI 0014, Table 8-6)
    DualB,
    /// A multiplexed port of an ETMv1 or ETMv2. (IHI 0014, Table 8-7)
    Multiplexed,
    /// A demultiplexed port of an ETMv1 or ETMv2 with four TRACEPKT signals. (IHI 0014, Table 8-9)
    Demultiplexed,
}

/// What a pin is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pin {
    /// Trace signal 1 to 20, with the names of [`signal`].
    Trace(u8),
    /// Trace signal 1 to 20 of the first port, or of the newer cycle of a demultiplexed port.
    A(u8),
    /// Trace signal 1 to 20 of the second port, or of the older cycle of a demultiplexed port.
    B(u8),
    /// The trace signals at the rising and at the falling edge of TRACECLK.
    Pair(u8, u8),
    /// TRACEDATA of this number.
    Data(u8),
    /// A constant level.
    Logic(bool),
    /// A clock, a supply or a signal of run control, by its name.
    Named(&'static str),
    /// Not connected.
    None,
}

/// The signals on the odd pins 9 to 21.
const RUN: [&str; 7] = ["nSRST", "TDO", "RTCK", "TCK", "TMS", "TDI", "nTRST"];
/// Trace signals of a multiplexed port on the pins 38, 36 down to 20. (IHI 0014, Table 8-8)
const PAIRS: [(u8, u8); 10] =
    [(1, 4), (2, 6), (3, 7), (5, 8), (9, 10), (11, 12), (13, 14), (15, 16), (17, 18), (19, 20)];

impl Pinout {
    /// What pin `number`, 1 to 38, is connected to. `None` for another number.
    pub fn pin(self, number: u8) -> Option<Pin> {
        if !(1..=38).contains(&number) {
            return None;
        }
        // Positions from pin 38 down, and from pin 37 down.
        let (even, at) = (number.is_multiple_of(2), (38 - number) / 2);
        Some(match (self, number) {
            (_, 1..=4) => Pin::None,
            (Pinout::Dual | Pinout::DualB, 5) => Pin::Named("TRACECLK_B"),
            (Pinout::Dual | Pinout::DualB, 6) => Pin::Named("TRACECLK_A"),
            (_, 5) => Pin::Named("GND"),
            (_, 6) => Pin::Named("TRACECLK"),
            (_, 12) => Pin::Named("VTRef"),
            (Pinout::Second, _) => second(number),
            (_, 7) => Pin::Named("DBGREQ"),
            (_, 8) => Pin::Named("DBGACK"),
            (_, 10) => Pin::Named("EXTTRIG"),
            (_, 14) => Pin::Named("VSupply"),
            (_, 9..=21) if !even => {
                RUN.get(usize::from((number - 9) / 2)).map_or(Pin::None, |name| Pin::Named(name))
            }
            (Pinout::Single, _) if even => Pin::Trace(at + 1),
            (Pinout::Single, _) => Pin::Trace(at + 13),
            (Pinout::Dual | Pinout::DualB, _) if even => Pin::A(at + 1),
            (Pinout::Dual | Pinout::DualB, _) => Pin::B(at + 1),
            (Pinout::Demultiplexed, _) if at >= 8 => Pin::None,
            (Pinout::Demultiplexed, _) if even => Pin::A(at + 1),
            (Pinout::Demultiplexed, _) => Pin::B(at + 1),
            (Pinout::Multiplexed, _) if even => PAIRS
                .get(usize::from(at))
                .map_or(Pin::None, |&(rising, falling)| Pin::Pair(rising, falling)),
            (Pinout::Multiplexed, _) => Pin::None,
        })
    }
}

/// Pins of the second connector that have data or a constant level.
fn second(number: u8) -> Pin {
    match number {
        38 => Pin::Data(16),
        36 | 32 | 30 => Pin::Logic(false),
        34 => Pin::Logic(true),
        16..=28 if number.is_multiple_of(2) => Pin::Data(17 + (28 - number) / 2),
        23..=37 if !number.is_multiple_of(2) => Pin::Data(24 + (37 - number) / 2),
        _ => Pin::None,
    }
}

/// The name of trace signal `number`, 1 to 20, of a port of an ETM of version `major`. `None` for
/// other numbers. (IHI 0014, Table 8-2)
pub fn signal(number: u8, major: u8) -> Option<String> {
    Some(match (number, major) {
        (1, 3) => "TRACEDATA[0]".to_owned(),
        (2, 3) => "TRACECTL".to_owned(),
        (3, 3) => "Logic 1".to_owned(),
        (4 | 5, 3) => "Logic 0".to_owned(),
        (6..=20, 3) => format!("TRACEDATA[{}]", number - 5),
        (1..=3, 1 | 2) => format!("PIPESTAT[{}]", number - 1),
        (4, 1) => "TRACESYNC".to_owned(),
        (4, 2) => "PIPESTAT[3]".to_owned(),
        (5..=20, 1 | 2) => format!("TRACEPKT[{}]", number - 5),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pins 38 to 1 as words. (IHI 0014, Tables 8-3, 8-5, 8-6, 8-7 and 8-9)
    #[test]
    fn pinouts() {
        let single = "1 13 2 14 3 15 4 16 5 17 6 18 7 19 8 20 9 nTRST 10 TDI 11 TMS 12 TCK VSupply \
                      RTCK VTRef TDO EXTTRIG nSRST DBGACK DBGREQ TRACECLK GND - - - -";
        let second = "D16 D24 L0 D25 L1 D26 L0 D27 L0 D28 D17 D29 D18 D30 D19 D31 D20 - D21 - D22 - \
                      D23 - - - VTRef - - - - - TRACECLK GND - - - -";
        let dual = "1A 1B 2A 2B 3A 3B 4A 4B 5A 5B 6A 6B 7A 7B 8A 8B 9A nTRST 10A TDI 11A TMS 12A \
                    TCK VSupply RTCK VTRef TDO EXTTRIG nSRST DBGACK DBGREQ TRACECLK_A TRACECLK_B - \
                    - - -";
        let multiplexed = "1/4 - 2/6 - 3/7 - 5/8 - 9/10 - 11/12 - 13/14 - 15/16 - 17/18 nTRST 19/20 \
                           TDI - TMS - TCK VSupply RTCK VTRef TDO EXTTRIG nSRST DBGACK DBGREQ \
                           TRACECLK GND - - - -";
        let demultiplexed = "1A 1B 2A 2B 3A 3B 4A 4B 5A 5B 6A 6B 7A 7B 8A 8B - nTRST - TDI - TMS - \
                             TCK VSupply RTCK VTRef TDO EXTTRIG nSRST DBGACK DBGREQ TRACECLK GND - \
                             - - -";
        for (pinout, want) in [
            (Pinout::Single, single),
            (Pinout::Second, second),
            (Pinout::Dual, dual),
            (Pinout::DualB, dual),
            (Pinout::Multiplexed, multiplexed),
            (Pinout::Demultiplexed, demultiplexed),
        ] {
            let found = (1..=38).rev().map(|n| match pinout.pin(n).unwrap() {
                Pin::Trace(n) => n.to_string(),
                Pin::A(n) => format!("{n}A"),
                Pin::B(n) => format!("{n}B"),
                Pin::Pair(rising, falling) => format!("{rising}/{falling}"),
                Pin::Data(n) => format!("D{n}"),
                Pin::Logic(level) => format!("L{}", u8::from(level)),
                Pin::Named(name) => name.to_owned(),
                Pin::None => "-".to_owned(),
            });
            assert_eq!(found.collect::<Vec<_>>().join(" "), want, "{pinout:?}");
        }
        assert_eq!((Pinout::Single.pin(0), Pinout::Dual.pin(39)), (None, None));
    }

    /// IHI 0014, Table 8-2.
    #[test]
    fn names() {
        let rows = [
            (1, ["PIPESTAT[0]", "PIPESTAT[0]", "TRACEDATA[0]"]),
            (2, ["PIPESTAT[1]", "PIPESTAT[1]", "TRACECTL"]),
            (3, ["PIPESTAT[2]", "PIPESTAT[2]", "Logic 1"]),
            (4, ["TRACESYNC", "PIPESTAT[3]", "Logic 0"]),
            (5, ["TRACEPKT[0]", "TRACEPKT[0]", "Logic 0"]),
            (6, ["TRACEPKT[1]", "TRACEPKT[1]", "TRACEDATA[1]"]),
            (13, ["TRACEPKT[8]", "TRACEPKT[8]", "TRACEDATA[8]"]),
            (20, ["TRACEPKT[15]", "TRACEPKT[15]", "TRACEDATA[15]"]),
        ];
        for (number, row) in rows {
            let found = [1, 2, 3].map(|major| signal(number, major).unwrap());
            assert_eq!(found, row, "{number}");
        }
        assert_eq!((signal(0, 1), signal(21, 3), signal(1, 4)), (None, None, None));
    }
}
