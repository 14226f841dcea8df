//! The decoder of ETMv4 and ETE against the trace analyzer of the Arm ARM, K10.5, for a short
//! while: see `tracewright_model::differential`.

use tracewright_model::differential::{self, Trial};
use tracewright_testing::times;

/// Random legal streams of packets over random programs.
#[test]
fn legal_streams() {
    for seed in 0..times(2000) {
        if let Err(difference) = differential::check(&Trial::legal(seed)) {
            panic!("seed {seed}: {difference}");
        }
    }
}

/// Streams with changed, lost and repeated packets, up to the first point that is malformed.
#[test]
fn damaged_streams() {
    for seed in 0..times(2000) {
        if let Err(difference) = differential::check(&Trial::damaged(seed)) {
            panic!("seed {seed}: {difference}");
        }
    }
}

/// The comparison finds a decoder that differs: a stream that is not the decoder's.
#[test]
fn another_stream_differs() {
    let differing = (0..100).filter(|seed| {
        let trial = Trial::of_seed(*seed);
        let other = Trial { packets: Trial::of_seed(seed + 1).packets, ..trial.clone() };
        let Ok(stated) = other.decoded(false) else { return true };
        differential::compare(&trial, &trial.analyzed(), &stated.out).is_err()
    });
    assert!(differing.count() > 50);
}
