//! The decoders of ETMv4, ETE and ETMv3 against transcriptions of their specifications, for a short
//! while: see `tracewright_model::differential` and `tracewright_model::etmv3_differential`.

use tracewright_model::differential::{self, Trial};
use tracewright_model::etmv3_differential;
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
    let seeds = [
        // Code is missing for two Q elements in a row.
        0x00aa_aaaa_aa3a_aa09,
        // The same after a source address that the program does not reach.
        0x58f3_c9e5_5711,
        // A source address that the program does not reach, after missing code.
        55_450_316_992_158_989,
        // A count of cycles of more than 32 bits.
        0x0065_7372_0000_0027,
        // A return without an address before a transaction that fails.
        72_015_812_646_404_099,
        // A failure that gives the target of a branch, and the target is unknown.
        1_690_099_729_760_541,
        // Two source addresses that the program does not reach, before a Q element without code.
        27_865_029_776_859_789,
        // The same between two source addresses without code.
        23_347_306_931_016_197,
    ];
    for seed in (0..times(2000)).chain(seeds) {
        if let Err(difference) = differential::check(&Trial::damaged(seed)) {
            panic!("seed {seed}: {difference}");
        }
    }
}

/// Legal streams that begin at any synchronisation and end anywhere.
#[test]
fn cut_streams() {
    for seed in 0..times(2000) {
        if let Err(difference) = differential::check(&Trial::cut(seed)) {
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

/// Random legal streams of ETMv3 packets over random programs.
#[test]
fn etmv3_legal_streams() {
    for seed in 0..times(300) {
        if let Err(difference) = etmv3_differential::check(&etmv3_differential::Trial::legal(seed))
        {
            panic!("seed {seed}: {difference}");
        }
    }
}

/// Legal ETMv3 streams that end anywhere.
#[test]
fn etmv3_cut_streams() {
    for seed in 0..times(300) {
        if let Err(difference) = etmv3_differential::check(&etmv3_differential::Trial::cut(seed)) {
            panic!("seed {seed}: {difference}");
        }
    }
}

/// ETMv3 streams with changed, lost and repeated packets, up to the first that is malformed.
#[test]
fn etmv3_damaged_streams() {
    let seeds = [
        // A return from an exception follows an address that is not one of the program.
        0x0028_7f00_0791_e8ff,
        // A return from an exception is cancelled with the first half of an instruction.
        72_057_590_447_602_611,
        // A branch from another instruction to the second half of one that was interrupted.
        1821,
        // A load of several registers, of which late values are open, is executed again.
        70_087_286_515_712_443,
    ];
    for seed in (0..times(300)).chain(seeds) {
        let trial = etmv3_differential::Trial::damaged(seed);
        if let Err(difference) = etmv3_differential::check(&trial) {
            panic!("seed {seed}: {difference}");
        }
    }
}

/// The comparison finds a decoder that differs: of a stream that lacks a packet.
#[test]
fn another_etmv3_stream_differs() {
    let differing = (0..100).filter(|seed| {
        let trial = etmv3_differential::Trial::legal(*seed);
        let mut other = trial.clone();
        other.packets.remove(trial.packets.len() / 2);
        let analyzed = other.analyzed();
        let Ok(stated) = other.decoded(&analyzed, false) else { return true };
        etmv3_differential::compare(&trial.analyzed().outputs, &stated).is_err()
    });
    assert!(differing.count() > 50);
}
