//! Each scan and its naive twin return equal results.

use tracewright_scan::{find, naive, prefetch, zero_run};

/// All strings over a small alphabet, up to 9 bytes.
fn strings(alphabet: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![vec![]];
    let mut last = all.clone();
    for _ in 0..9 {
        last = last
            .iter()
            .flat_map(|s: &Vec<u8>| alphabet.iter().map(|&b| [s.as_slice(), &[b]].concat()))
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}

#[test]
fn zero_runs() {
    for bytes in strings(&[0, 1, 0x80]) {
        for len in 0..6 {
            assert_eq!(zero_run(&bytes, len), naive::zero_run(&bytes, len), "{bytes:?}, {len}");
        }
    }
    let mut long = vec![1; 4000];
    long[3000..3011].fill(0);
    long[100..110].fill(0);
    assert_eq!(zero_run(&long, 11), Some(3000..3011));
    assert_eq!(zero_run(&long, 12), None);
}

#[test]
fn patterns() {
    for bytes in strings(&[0xff, 0x7f]) {
        for pattern in [&[][..], &[0x7f], &[0xff, 0x7f], &[0xff, 0xff, 0xff, 0x7f]] {
            assert_eq!(find(&bytes, pattern), naive::find(&bytes, pattern), "{bytes:?}");
        }
    }
}

/// Hints about memory have no visible effect, for any argument.
#[test]
fn requests() {
    let items = [1u64, 2, 3];
    for index in [0, 2, 3, usize::MAX] {
        prefetch(&items, index);
    }
    prefetch::<u8>(&[], 0);
    assert_eq!(items, [1, 2, 3]);
}
