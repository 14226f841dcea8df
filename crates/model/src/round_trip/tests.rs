use crate::trial::Trial;

/// How often each property is tried.
fn times() -> u64 {
    tracewright_testing::times(2000)
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
