//! Conditions of A64, A32 and T32.

/// Whether the flags pass `condition`, 0 for EQ to 15. `flags`: bit \[3] N, \[2] Z, \[1] C, \[0] V.
/// (Arm ARM, "Condition codes")
pub const fn met(condition: u8, flags: u8) -> bool {
    let (n, z) = (flags >> 3 & 1 != 0, flags >> 2 & 1 != 0);
    let (c, v) = (flags >> 1 & 1 != 0, flags & 1 != 0);
    let met = match condition >> 1 {
        0 => z,
        1 => c,
        2 => n,
        3 => v,
        4 => c && !z,
        5 => n == v,
        6 => n == v && !z,
        _ => return true,
    };
    met != (condition & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::met;

    /// Flags after a comparison of two numbers, and the conditions for their order.
    #[test]
    fn comparisons() {
        let compare = |a: i8, b: i8| {
            let (result, overflow) = a.overflowing_sub(b);
            u8::from(result < 0) << 3
                | u8::from(result == 0) << 2
                | u8::from(a as u8 >= b as u8) << 1
                | u8::from(overflow)
        };
        for a in i8::MIN..=i8::MAX {
            for b in [-128, -127, -2, -1, 0, 1, 2, 126, 127] {
                let flags = compare(a, b);
                let (x, y) = (a as u8, b as u8);
                let wanted = [a == b, x >= y, x > y, a >= b, a > b];
                for (condition, want) in [0, 2, 8, 10, 12].into_iter().zip(wanted) {
                    assert_eq!(met(condition, flags), want, "{a} {b} {condition}");
                    assert_eq!(met(condition + 1, flags), !want, "{a} {b} {condition}");
                }
                assert!(met(14, flags) && met(15, flags));
            }
        }
    }
}
