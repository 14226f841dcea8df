//! The visible parts of overlapping intervals.

use std::collections::BinaryHeap;

/// An interval of addresses, `last` included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) start: u64,
    pub(crate) last: u64,
    /// The number of the item. Where two intervals overlap, the one with the higher number is
    /// visible.
    pub(crate) item: u32,
}

/// The visible item at each address: sorted intervals that do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flat(Vec<Interval>);

impl Flat {
    pub(crate) fn new(mut intervals: Vec<Interval>) -> Flat {
        intervals.sort_unstable_by_key(|i| (i.start, i.item));
        let mut flat = Vec::with_capacity(intervals.len());
        // The intervals that contain the current address: the visible one first.
        let mut open: BinaryHeap<(u32, u64)> = BinaryHeap::new();
        let mut waiting = intervals.into_iter().peekable();
        let mut at = 0;
        loop {
            while let Some(begins) = waiting.next_if(|i| i.start <= at) {
                open.push((begins.item, begins.last));
            }
            while open.peek().is_some_and(|&(_, last)| last < at) {
                open.pop();
            }
            let next = waiting.peek().map(|i| i.start);
            let Some(&(item, last)) = open.peek() else {
                let Some(next) = next else { break };
                at = next;
                continue;
            };
            let end = next.map_or(last, |next| last.min(next - 1));
            push(&mut flat, Interval { start: at, last: end, item });
            let Some(after) = end.checked_add(1) else { break };
            at = after;
        }
        Flat(flat)
    }

    /// The interval that contains `address`.
    pub(crate) fn find(&self, address: u64) -> Option<&Interval> {
        let after = self.0.partition_point(|i| i.start <= address);
        self.0.get(after.checked_sub(1)?).filter(|i| address <= i.last)
    }
}

/// Appends `next`, or lengthens the last interval if it is the same item.
fn push(flat: &mut Vec<Interval>, next: Interval) {
    match flat.last_mut() {
        Some(i) if i.item == next.item && i.last.wrapping_add(1) == next.start => {
            i.last = next.last;
        }
        _ => flat.push(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(intervals: &[(u64, u64)]) -> Vec<(u64, u64, u32)> {
        let intervals = intervals.iter().zip(0..);
        let flat = Flat::new(
            intervals.map(|(&(start, last), item)| Interval { start, last, item }).collect(),
        );
        flat.0.iter().map(|i| (i.start, i.last, i.item)).collect()
    }

    #[test]
    fn the_later_interval_is_visible() {
        const TOP: u64 = u64::MAX;
        for (intervals, want) in [
            (&[][..], &[][..]),
            (&[(4, 7)], &[(4, 7, 0)]),
            // side by side, and with a hole
            (&[(4, 7), (8, 9)], &[(4, 7, 0), (8, 9, 1)]),
            (&[(8, 9), (4, 6)], &[(4, 6, 1), (8, 9, 0)]),
            // in the middle, at either end, over the whole
            (&[(0, 9), (3, 5)], &[(0, 2, 0), (3, 5, 1), (6, 9, 0)]),
            (&[(0, 9), (0, 5)], &[(0, 5, 1), (6, 9, 0)]),
            (&[(0, 9), (5, 9)], &[(0, 4, 0), (5, 9, 1)]),
            (&[(3, 5), (0, 9)], &[(0, 9, 1)]),
            // three overlap, and the lowest is visible again
            (&[(0, 9), (2, 7), (4, 5)], &[(0, 1, 0), (2, 3, 1), (4, 5, 2), (6, 7, 1), (8, 9, 0)]),
            (&[(0, 9), (4, 12), (2, 5)], &[(0, 1, 0), (2, 5, 2), (6, 12, 1)]),
            // the ends of the address space
            (&[(0, TOP), (TOP, TOP)], &[(0, TOP - 1, 0), (TOP, TOP, 1)]),
            (&[(0, 0), (0, TOP), (1, 1)], &[(0, 0, 1), (1, 1, 2), (2, TOP, 1)]),
        ] {
            assert_eq!(flat(intervals), want, "{intervals:?}");
        }
    }

    #[test]
    fn the_visible_interval_of_every_address_is_found() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let intervals: Vec<_> = (0..random(8) as u32)
                .map(|item| {
                    let start = random(60);
                    Interval { start, last: start + random(12), item }
                })
                .collect();
            let flat = Flat::new(intervals.clone());
            for address in 0..80 {
                let visible = intervals
                    .iter()
                    .filter(|i| (i.start..=i.last).contains(&address))
                    .map(|i| i.item)
                    .max();
                assert_eq!(flat.find(address).map(|i| i.item), visible, "{address}: {intervals:?}");
            }
        }
    }
}
