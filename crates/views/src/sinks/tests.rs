//! Sinks against simple implementations, and with chunks of any size.

use std::collections::{BTreeMap, BTreeSet};

use tracewright_base::{
    BatchBuffer, CachedBlocks, Context, Counted, Element, Exception, Gap, Instruction, Isa, Kind,
    Last, Range, Role, Turns,
};
use tracewright_decode::listener::each_element;
use tracewright_decode::{Listener, Merge};
use tracewright_testing::Random;

use super::*;

type Output = (usize, u64, Element);

fn last(role: Role, taken: bool) -> Last {
    let instruction = Instruction { kind: Kind::Branch, role, size: 4, ..Instruction::default() };
    Last::new(&instruction, taken)
}

fn range(start: u64, instructions: u32) -> Element {
    let (bytes, cycles, last) = (4 * instructions, Counted::UNKNOWN, last(Role::Jump, true));
    Element::Range(Range { start, bytes, instructions, cycles, last })
}

/// Random elements of two sources.
fn random_elements(seed: u64, len: usize) -> Vec<Output> {
    let mut random = Random::new(seed);
    let outputs = (0..len).map(|n| {
        let element = match random.below(12) {
            0 => Element::Gap(Gap::Overflow),
            1 => Element::Context(Context { el: Some(1), ..Context::default() }),
            2 => Element::Cycles(Some(random.below(100) as u32)),
            3 => Element::Exception(Exception {
                number: random.below(16) as u16,
                return_address: (random.below(2) > 0).then_some(0x40),
                also_target: false,
                tail_chain: false,
            }),
            4 => {
                let Element::Range(range) = range(random.below(64) * 4, 1) else { unreachable!() };
                Element::Range(Range { last: last(Role::ExceptionReturn, true), ..range })
            }
            _ => {
                let far = random.below(3) * 0x1f00;
                range(far + random.below(64) * 4, 1 + random.below(100) as u32)
            }
        };
        (random.below(2) as usize, n as u64, element)
    });
    outputs.collect()
}

/// The bytes of own content belong to a checksum, in batches and alone.
#[test]
fn own_content_is_in_a_checksum() {
    let of = |bytes: &[u8]| {
        let mut buffer = BatchBuffer::default();
        buffer.element(1, Element::Trigger);
        buffer.custom(2, "note", bytes);
        let (mut whole, mut alone) = (Checksum::default(), Checksum::default());
        let batch = buffer.batch(1, CachedBlocks::none());
        whole.batch(&batch);
        each_element(&mut alone, &batch);
        assert_eq!(whole, alone);
        assert_eq!(whole.elements(), 2);
        whole.value()
    };
    assert_eq!(of(b"ab"), of(b"ab"));
    for other in [&b"ac"[..], b"ba", b"a", b"ab\0", b""] {
        assert_ne!(of(b"ab"), of(other), "{other:?}");
    }
}

fn result_of<L: Listener + Default>(outputs: &[Output]) -> L {
    let mut sink = L::default();
    for &(source, at, element) in outputs {
        sink.element(source, at, element);
    }
    sink
}

fn merges_at_any_cut<L: Listener + Merge + PartialEq + std::fmt::Debug>(outputs: &[Output]) {
    let whole: L = result_of(outputs);
    let mut of_ones = L::default();
    for one in outputs.chunks(1) {
        of_ones.merge(result_of(one));
    }
    assert_eq!(of_ones, whole, "one element at a time");
    for cut in (0..=outputs.len()).step_by(7) {
        let mut first: L = result_of(&outputs[..cut]);
        first.merge(result_of(&outputs[cut..]));
        assert_eq!(first, whole, "cut at {cut}");
    }
}

#[test]
fn chunks_merge_to_the_whole() {
    for seed in 1..20 {
        let outputs = random_elements(seed, 100);
        merges_at_any_cut::<Checksum>(&outputs);
        merges_at_any_cut::<RangeChecksum>(&outputs);
        merges_at_any_cut::<Count>(&outputs);
        merges_at_any_cut::<Edges>(&outputs);
        merges_at_any_cut::<Coverage>(&outputs);
        merges_at_any_cut::<Bitmap>(&outputs);
        merges_at_any_cut::<(Count, Edges)>(&outputs);
    }
}

fn repeats<L: Listener + Merge + PartialEq + std::fmt::Debug>(before: &[Output], times: u32) {
    let Element::Range(r) = range(0x1f00, 3) else { unreachable!() };
    let (mut each, mut at_once): (L, L) = (result_of(before), result_of(before));
    (0..times).for_each(|_| each.element(1, 7, Element::Range(r)));
    turns(&mut at_once, &[r], times.into());
    assert_eq!(at_once, each, "{times} times");

    let Element::Range(other) = range(0x2f00, 5) else { unreachable!() };
    let (mut each, mut at_once): (L, L) = (result_of(before), result_of(before));
    for _ in 0..times {
        each.element(1, 7, Element::Range(r));
        each.element(1, 7, Element::Range(other));
    }
    turns(&mut at_once, &[r, other], times.into());
    assert_eq!(at_once, each, "{times} times two ranges");
}

/// Takes turns of a loop.
fn turns(listener: &mut impl Listener, ranges: &[Range], times: u64) {
    let mut buffer = BatchBuffer::default();
    buffer.turns(Turns { at: 7, ranges, times, listed: true });
    listener.batch(&buffer.batch(1, CachedBlocks::none()));
}

/// Turns are the same as each range alone.
#[test]
fn repeats_are_ranges() {
    let before = random_elements(3, 20);
    for times in (0..=40).chain([63, 64, 65, 1000]) {
        repeats::<Checksum>(&before, times);
        repeats::<RangeChecksum>(&before, times);
        repeats::<Count>(&before, times);
        repeats::<Edges>(&before, times);
        repeats::<Bitmap>(&before, times);
        repeats::<Coverage>(&before, times);
    }
}

#[test]
fn checksum_depends_on_all_fields() {
    let Element::Range(r) = range(0x8000, 3) else { unreachable!() };
    let other = |change: &dyn Fn(&mut Range)| {
        let mut changed = r;
        change(&mut changed);
        (0, 7, Element::Range(changed))
    };
    let last = |change: &dyn Fn(&mut Instruction)| {
        let mut instruction = Instruction { kind: Kind::Branch, size: 4, ..Instruction::default() };
        change(&mut instruction);
        Last::new(&instruction, true)
    };
    let all = [
        (0, 7, Element::Range(r)),
        (1, 7, Element::Range(r)),
        (0, 8, Element::Range(r)),
        other(&|r| r.start += 1),
        other(&|r| r.bytes += 1),
        other(&|r| r.instructions += 1),
        other(&|r| r.cycles = Counted::of(0)),
        other(&|r| r.last = r.last.with_taken(false)),
        other(&|r| r.last = last(&|i| i.kind = Kind::Indirect)),
        other(&|r| r.last = last(&|i| i.role = Role::Call)),
        other(&|r| r.last = last(&|i| i.isa = Isa::A32)),
        other(&|r| r.last = last(&|i| i.size = 2)),
        other(&|r| r.last = last(&|i| i.conditional = true)),
        (0, 7, Element::Context(Context::default())),
        (0, 7, Element::Context(Context { el: Some(0), ..Context::default() })),
        (0, 7, Element::Timestamp { value: 1, cycles: None }),
        (0, 7, Element::Timestamp { value: 1, cycles: Some(0) }),
        (0, 7, Element::Events(1)),
        (0, 7, Element::Trigger),
        (0, 7, Element::End),
    ];
    let sums: BTreeSet<u64> =
        all.iter().map(|&one| result_of::<Checksum>(&[one]).value()).collect();
    assert_eq!(sums.len(), all.len());
    // The order and the count matter.
    let (a, b) = (all[0], all[3]);
    let sums = [vec![a, b], vec![b, a], vec![a], vec![a, a], vec![]]
        .map(|outputs| result_of::<Checksum>(&outputs).value());
    assert_eq!(BTreeSet::from(sums).len(), 5);
}

/// `benches/reference/driver.c` computes the same numbers: both must change together.
#[test]
fn range_checksum_is_stable() {
    let sum = |outputs: &[Output]| result_of::<RangeChecksum>(outputs).value();
    let Element::Range(r) = range(0x8000, 3) else { unreachable!() };
    assert_eq!(sum(&[]), 0);
    assert_eq!(sum(&[(0, 0, Element::End)]), 0);
    let first = (0, 0, Element::Range(r));
    let then = |source| (source, 9, range(0xffff_ffc0_0008_0000, 1));
    let written = |outputs: &[Output]| result_of::<RangeChecksum>(outputs).to_string();
    assert_eq!(written(&[first]), "7aa3f47188015a7f");
    assert_eq!(written(&[first, then(0)]), "4c84e8a07b35c45b");
    // The order of sources does not matter.
    assert_eq!(written(&[first, then(1)]), "f06d97adaa47c709");
    assert_eq!(written(&[then(1), first]), "f06d97adaa47c709");
    assert_ne!(written(&[then(0), first]), "4c84e8a07b35c45b");
}

#[test]
fn edges_of_consecutive_ranges() {
    let outputs = [
        (0, 0, range(0x100, 2)),
        (1, 0, range(0x900, 1)),
        (0, 1, range(0x200, 1)),
        (0, 2, Element::Cycles(None)),
        (0, 3, range(0x100, 2)),
        (0, 4, range(0x200, 1)),
        (0, 5, Element::Gap(Gap::Overflow)),
        (0, 6, range(0x100, 2)),
    ];
    let edges: Edges = result_of(&outputs);
    let want =
        [Edge { from: 0x104, to: 0x200, count: 2 }, Edge { from: 0x200, to: 0x100, count: 1 }];
    assert_eq!(edges.sorted(), want);
    assert_eq!((edges.len(), edges.count(0x104, 0x200), edges.count(0x900, 0x200)), (2, 2, 0));
}

#[test]
fn edges_equal_those_of_a_map() {
    let outputs = random_elements(99, 20_000);
    let edges: Edges = result_of(&outputs);
    let (mut want, mut last) = (BTreeMap::new(), [None; 2]);
    for (source, _, element) in outputs {
        match element {
            Element::Range(r) => {
                if let Some(from) = last[source] {
                    *want.entry((from, r.start)).or_insert(0) += 1;
                }
                let returns = r.last.role == Role::ExceptionReturn;
                last[source] = (!returns).then_some(r.last_address());
            }
            Element::Context(_) | Element::Cycles(_) => {}
            _ => last[source] = None,
        }
    }
    let got: BTreeMap<_, _> = edges.sorted().iter().map(|e| ((e.from, e.to), e.count)).collect();
    assert_eq!(got, want);
    assert!(edges.len() > 1024, "the table grew");
}

#[test]
fn coverage_equals_a_set() {
    let outputs = random_elements(7, 300);
    let coverage: Coverage = result_of(&outputs);
    let mut want = BTreeSet::new();
    for (_, _, element) in &outputs {
        if let Element::Range(r) = element {
            want.extend((r.start..r.end()).step_by(2));
        }
    }
    assert_eq!(coverage.bytes(), 2 * want.len() as u64);
    for address in 0..0x5000 {
        assert_eq!(coverage.contains(address), want.contains(&(address & !1)), "{address:#x}");
    }
    let ranges = coverage.ranges();
    let units: BTreeSet<u64> = ranges.iter().flat_map(|r| r.clone().step_by(2)).collect();
    assert_eq!(units, want);
    assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "as long as they can be");
}

#[test]
fn coverage_at_the_end_of_the_address_space() {
    let coverage: Coverage = result_of(&[(0, 0, range(u64::MAX - 3, 1))]);
    assert!(coverage.contains(u64::MAX));
    assert!(!coverage.contains(0));
    assert_eq!(coverage.bytes(), 4);
}

#[test]
fn a_bitmap_counts_edges() {
    let outputs = random_elements(3, 200);
    let (edges, bitmap): (Edges, Bitmap) = (result_of(&outputs), result_of(&outputs));
    let all: u64 = edges.sorted().iter().map(|e| e.count).sum();
    assert_eq!(bitmap.bytes().iter().map(|&b| u64::from(b)).sum::<u64>(), all);
    assert!(bitmap.used() <= edges.len() && bitmap.used() > edges.len() / 2);
    // The reverse is another edge.
    let there: Bitmap = result_of(&[(0, 0, range(0x100, 1)), (0, 0, range(0x200, 1))]);
    let back: Bitmap = result_of(&[(0, 0, range(0x200, 1)), (0, 0, range(0x100, 1))]);
    assert_ne!(there, back);
    let mut cleared = there.clone();
    cleared.clear();
    assert_eq!(cleared, Bitmap::default());
    assert_eq!(Bitmap::new(1000).bytes().len(), 1024);
}
