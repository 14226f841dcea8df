use crate::trial::Trial;

/// `TRACEWRIGHT_TIMES`, or enough for a look at everything.
fn times() -> u64 {
    std::env::var("TRACEWRIGHT_TIMES").ok().and_then(|n| n.parse().ok()).unwrap_or(2000)
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
