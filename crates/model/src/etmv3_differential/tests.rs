//! The generator and the shift.

use super::*;

/// The streams without damage are accepted to their end.
#[test]
fn legal_streams_are_well_formed() {
    for seed in 0..300 {
        let trial = Trial::legal(seed);
        let analyzed = trial.analyzed();
        assert!(!analyzed.malformed, "seed {seed} at {}\n{}", analyzed.len, trial.report());
    }
}

/// A-sync and an E atom in the bytes of 7.7.2.
#[test]
fn shift() {
    let mut trial = Trial::legal(0);
    trial.shift = 7;
    assert_eq!(trial.shifted(&[0, 0, 0, 0, 0, 0x80, 0x84])[1..], [0, 0, 0, 0, 0, 0x40, 0x42]);
}
