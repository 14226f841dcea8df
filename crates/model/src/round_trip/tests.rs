use tracewright_base::{Step, Transaction};
use tracewright_protocols::registry::AnyProtocol;

use super::Way;
use crate::trial::Trial;

/// How often each property is tried.
fn times() -> u64 {
    tracewright_testing::times(400)
}

/// Random programs through random trace units, and back.
#[test]
fn what_ran_comes_back() {
    let mut failed = Vec::new();
    for seed in 0..times() {
        let trial = Trial::new(seed);
        if let Err(why) = trial.run() {
            failed.push(format!("trial {seed}: {why}\n{:?}", trial.way));
        }
    }
    let first: Vec<&String> = failed.iter().take(5).collect();
    assert!(failed.is_empty(), "{} trials failed: {first:#?}", failed.len());
}

/// A unit that has traced nothing yet discards nothing at the end of a filtered region: a packet
/// before the first Alignment Synchronization cannot be decoded.
#[test]
fn nothing_is_traced_before_the_first_synchronisation() {
    let way = Way { protocol: AnyProtocol::Ete, core: None, registers: Vec::new() };
    let start = Step::Transaction(Transaction::Start);
    let (_, bytes) = way.encode(&[Step::Off, start, Step::On, Step::Off]).unwrap();
    assert_eq!(bytes, [] as [u8; 0]);
}

/// A transaction begins where nothing is traced, and the trace continues inside it, up to the next
/// Trace Info packet.
#[test]
fn a_transaction_that_begins_untraced() {
    Trial::new(0xa25c_6f29_65f1_eda2).run().unwrap();
}
