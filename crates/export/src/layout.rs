//! The order of basic blocks with few jumps and short ones. (Newell and Pupyrev, "Improved Basic
//! Block Reordering", IEEE Transactions on Computers 69, 2020)

/// The greatest distances in bytes of a jump that is near, and what it is worth beside the
/// continuation with the next block, which is worth 1.
const FORWARD: f64 = 1024.0;
const BACKWARD: f64 = 640.0;
const JUMP: f64 = 0.1;

/// A chain of more blocks is not divided where another is put into it.
const MAX_DIVIDED: usize = 128;
/// The most blocks that are ordered. The rest of a larger function stays in its order.
const MAX_BLOCKS: usize = 2048;

/// A jump, or the continuation with another block: from, to, and the count.
pub(crate) type Edge = (usize, usize, u64);

/// The order of the blocks with these sizes. Block 0 is the first.
pub(crate) fn order(sizes: &[u64], edges: &[Edge]) -> Vec<usize> {
    let count = sizes.len().min(MAX_BLOCKS);
    let mut layout = Layout { sizes, places: vec![None; sizes.len()] };
    let mut chains: Vec<Vec<usize>> = (0..count).map(|n| vec![n]).collect();
    loop {
        let mut best: Option<(f64, usize, usize, Vec<usize>)> = None;
        for (a, b) in neighbours(&chains, edges) {
            let Some((gain, merged)) = layout.merge(&chains, a, b, edges) else { continue };
            if gain > 1e-9 && best.as_ref().is_none_or(|(most, ..)| gain > *most) {
                best = Some((gain, a, b, merged));
            }
        }
        let Some((_, a, b, merged)) = best else { break };
        if let Some(chain) = chains.get_mut(a) {
            *chain = merged;
        }
        if let Some(chain) = chains.get_mut(b) {
            chain.clear();
        }
    }
    // The entry first, then the chains in order of their counts for each byte.
    let weight = |chain: &Vec<usize>| {
        let bytes: u64 = chain.iter().filter_map(|n| sizes.get(*n)).sum();
        let count: u64 = edges
            .iter()
            .filter(|(_, to, _)| chain.contains(to))
            .fold(0, |sum: u64, edge| sum.saturating_add(edge.2));
        count as f64 / bytes.max(1) as f64
    };
    chains.retain(|chain| !chain.is_empty());
    let mut order: Vec<(bool, f64, Vec<usize>)> =
        chains.into_iter().map(|chain| (!chain.contains(&0), weight(&chain), chain)).collect();
    order.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    order.into_iter().flat_map(|(.., chain)| chain).chain(count..sizes.len()).collect()
}

/// The pairs of chains with an edge between them.
fn neighbours(chains: &[Vec<usize>], edges: &[Edge]) -> Vec<(usize, usize)> {
    let chain_of = |block: usize| chains.iter().position(|chain| chain.contains(&block));
    let mut pairs: Vec<(usize, usize)> = edges
        .iter()
        .filter_map(|(from, to, _)| Some((chain_of(*from)?, chain_of(*to)?)))
        .filter(|(a, b)| a != b)
        .map(|(a, b)| (a.min(b), a.max(b)))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

struct Layout<'a> {
    sizes: &'a [u64],
    /// The offset of each block of the chain whose value is computed.
    places: Vec<Option<u64>>,
}

impl Layout<'_> {
    /// What the edges within `chain` are worth.
    fn value(&mut self, chain: &[usize], edges: &[Edge]) -> f64 {
        let mut at = 0u64;
        for &block in chain {
            if let Some(place) = self.places.get_mut(block) {
                *place = Some(at);
            }
            at = at.saturating_add(self.sizes.get(block).copied().unwrap_or(0));
        }
        let mut value = 0.0;
        for &(from, to, count) in edges {
            let place = |block: usize| self.places.get(block).copied().flatten();
            let (Some(source), Some(target)) = (place(from), place(to)) else { continue };
            let end = source.saturating_add(self.sizes.get(from).copied().unwrap_or(0));
            let worth = if target == end {
                1.0
            } else if target > end {
                JUMP * (1.0 - (target - end) as f64 / FORWARD).max(0.0)
            } else {
                JUMP * (1.0 - (end - target) as f64 / BACKWARD).max(0.0)
            };
            value += worth * count as f64;
        }
        for &block in chain {
            if let Some(place) = self.places.get_mut(block) {
                *place = None;
            }
        }
        value
    }

    /// The best chain of the blocks of two chains, and what it is worth more than both.
    fn merge(
        &mut self,
        chains: &[Vec<usize>],
        a: usize,
        b: usize,
        edges: &[Edge],
    ) -> Option<(f64, Vec<usize>)> {
        let (a, b) = (chains.get(a)?, chains.get(b)?);
        let own: Vec<Edge> = edges
            .iter()
            .filter(|(from, to, _)| {
                let has = |block: &usize| a.contains(block) || b.contains(block);
                has(from) && has(to)
            })
            .copied()
            .collect();
        let before = self.value(a, &own) + self.value(b, &own);
        let mut best: Option<(f64, Vec<usize>)> = None;
        for (outer, inner) in [(a, b), (b, a)] {
            let cuts =
                if outer.len() > MAX_DIVIDED { outer.len()..=outer.len() } else { 0..=outer.len() };
            for cut in cuts {
                let (head, tail) = outer.split_at_checked(cut)?;
                for parts in [[head, inner, tail], [tail, head, inner], [inner, tail, head]] {
                    let merged = parts.concat();
                    // The entry of the function is its first block.
                    if merged.iter().skip(1).any(|block| *block == 0) {
                        continue;
                    }
                    let gain = self.value(&merged, &own) - before;
                    if best.as_ref().is_none_or(|(most, _)| gain > *most) {
                        best = Some((gain, merged));
                    }
                }
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All orders of a few blocks that begin with block 0.
    fn all(count: usize) -> Vec<Vec<usize>> {
        let mut orders = vec![vec![0]];
        for n in 1..count {
            orders = orders
                .iter()
                .flat_map(|order| {
                    (1..=order.len()).map(move |at| {
                        let mut order = order.clone();
                        order.insert(at, n);
                        order
                    })
                })
                .collect();
        }
        orders
    }

    /// Continuations are worth 1, near jumps up to a tenth, and far ones and those to other blocks
    /// nothing.
    #[test]
    fn edges_are_worth_more_where_they_are_shorter() {
        let sizes = [16, 512, 1024, 16];
        let mut layout = Layout { sizes: &sizes, places: vec![None; sizes.len()] };
        for (chain, edge, worth) in [
            (&[0, 1][..], (0, 1), 1.0),
            (&[0, 1, 3], (0, 3), JUMP / 2.0),
            (&[0, 2, 3], (0, 3), 0.0),
            (&[1], (1, 1), JUMP * 0.2),
            (&[1, 0], (0, 1), JUMP * (1.0 - 528.0 / BACKWARD)),
            (&[2], (2, 2), 0.0),
            (&[0, 1], (0, 2), 0.0),
        ] {
            let value = layout.value(chain, &[(edge.0, edge.1, 100)]);
            assert!((value - 100.0 * worth).abs() < 1e-9, "{chain:?} {edge:?}: {value}");
            assert!(layout.places.iter().all(Option::is_none), "{chain:?}");
        }
    }

    /// The value of the order is within 1 % of that of the best of all orders, for loops and
    /// branches of a few blocks.
    #[test]
    fn the_order_is_close_to_the_best_of_all() {
        for (sizes, edges) in [
            // A loop whose condition is in the middle, with a part that is hardly executed.
            (
                vec![16, 8, 12, 40, 8, 4],
                vec![
                    (0, 1, 1),
                    (1, 2, 99),
                    (1, 3, 1),
                    (2, 4, 99),
                    (3, 4, 1),
                    (4, 1, 99),
                    (4, 5, 1),
                ],
            ),
            // The branch that was taken is the frequent one.
            (vec![8, 20, 20, 8], vec![(0, 2, 90), (0, 1, 10), (1, 3, 10), (2, 3, 90)]),
            (vec![4; 5], vec![(0, 4, 7), (4, 2, 7), (2, 3, 6), (2, 1, 1), (1, 3, 1)]),
        ] {
            let found = order(&sizes, &edges);
            let mut layout = Layout { sizes: &sizes, places: vec![None; sizes.len()] };
            let value = layout.value(&found, &edges);
            let most = all(sizes.len())
                .iter()
                .map(|order| layout.value(order, &edges))
                .fold(0.0, f64::max);
            assert_eq!(found.first(), Some(&0));
            assert_eq!(found.len(), sizes.len());
            assert!(value >= 0.99 * most, "{found:?}: {value} of {most}");
        }
    }
}
