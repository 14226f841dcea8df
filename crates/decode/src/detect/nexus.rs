//! Whether bytes are messages of Nexus, as RISC-V N-Trace sends them.
//!
//! Bits \[1:0] of each byte, MSEO, delimit fields and messages, and the first byte of a message has
//! its code (TCODE) in bits \[7:2]. (RISC-V N-Trace, "Nexus Messages Transmission Protocol")

/// MSEO: the message goes on, the message ends, and the value that is reserved.
const NORMAL: u8 = 0b00;
const LAST: u8 = 0b11;
const RESERVED: u8 = 0b10;

/// A byte between messages.
const IDLE: u8 = 0xff;

/// Fewer messages are a coincidence.
const FEW: usize = 8;

/// The longest message in bytes.
const LONGEST: usize = 64;

/// TCODE of the messages of N-Trace, of data trace and of vendors (IEEE-ISTO 5001).
const CODES: &[u8] = &[
    2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 23, 27, 28, 29, 30, 31, 33, 34, 35, 56, 57, 58,
];

/// The number of messages that `bytes`, the first ones of a trace, are; `None` where they are none.
pub fn messages(bytes: &[u8]) -> Option<usize> {
    let (mut messages, mut good, mut all) = (0, 0, 0);
    // The trace may begin inside a message, and end inside one.
    let begin = bytes.iter().position(|byte| byte & 0b11 == LAST)? + 1;
    for message in bytes.get(begin..)?.split_inclusive(|byte| byte & 0b11 == LAST) {
        let is_whole = message.last().is_some_and(|byte| byte & 0b11 == LAST);
        if message == [IDLE] || !is_whole {
            continue;
        }
        all += message.len();
        let code = message.first().filter(|byte| *byte & 0b11 == NORMAL).map(|byte| byte >> 2);
        let known = code.is_some_and(|code| CODES.contains(&code));
        let reserved = message.iter().any(|byte| byte & 0b11 == RESERVED);
        if known && !reserved && (2..=LONGEST).contains(&message.len()) {
            messages += 1;
            good += message.len();
        }
    }
    let tail = bytes.len() - begin <= LONGEST + all + bytes.iter().filter(|b| **b == IDLE).count();
    (messages >= FEW && good * 20 >= all * 19 && tail && begin <= LONGEST).then_some(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Direct branches with I-CNT, and synchronisations with an address, from any byte on.
    #[test]
    fn messages_are_recognised() {
        let mut bytes = Vec::new();
        for n in 0u8..20 {
            bytes.extend([9 << 2, 1, 0x05, n << 2, 0x40, 0x13]);
            bytes.extend([3 << 2, 0x0b | n << 4, IDLE]);
        }
        for cut in 0..9 {
            assert!(messages(&bytes[cut..]).is_some_and(|found| found >= 37), "cut at {cut}");
        }
        let mut random = tracewright_testing::Random::new(5);
        assert_eq!(messages(&random.bytes(5000)), None);
        for other in [b"\x01h\x01i\x01\n".repeat(40), vec![0; 400], vec![0xff; 400], Vec::new()] {
            assert_eq!(messages(&other), None);
        }
    }
}
