use crate::trial::Trial;

/// `TRACEWRIGHT_TIMES`, or enough for a look at everything.
fn times() -> u64 {
    std::env::var("TRACEWRIGHT_TIMES").ok().and_then(|n| n.parse().ok()).unwrap_or(2000)
}

/// Random programs through random trace units, and back.
#[test]
fn what_ran_comes_back() {
    let mut failures = Vec::new();
    for seed in 0..times() {
        let trial = Trial::new(seed);
        match trial.run() {
            Ok(_) => {}
            Err(why) => {
                failures.push(seed);
                if failures.len() < 12 {
                    println!("seed {seed}: {why}\n{:?}", trial.way);
                }
            }
        }
    }
    println!("{} failures {failures:?}", failures.len());
    assert!(failures.is_empty());
}

#[test]
fn debug() {
    use tracewright_base::*;
    use tracewright_protocols::registry::AnyTap;
    struct T;
    impl AnyTap for T {
        fn packet(
            &mut self,
            p: &Places<'_>,
            s: std::ops::Range<usize>,
            _: &[u8],
            x: tracewright_protocols::registry::AnyPacket<'_>,
        ) {
            println!("{} {x}", p.at(s.start));
        }
        fn bad(&mut self, _: &Places<'_>, s: std::ops::Range<usize>, _: &[u8], f: Fault) {
            println!("{s:?} bad {f:?}");
        }
    }
    let Some(seed) = std::env::var("SEED").ok().and_then(|n| n.parse().ok()) else { return };
    let trial = Trial::new(seed);
    let (program, steps) = trial.steps();
    for (n, s) in steps.iter().enumerate() {
        match s {
            Step::Retired(r) => println!(
                "{n}: {:x} {:?} {:?} {} -> {:x}",
                r.address, r.instruction.kind, r.instruction.role, r.taken, r.next
            ),
            s => println!("{n}: {s:x?}"),
        }
    }
    let (config, bytes) = trial.way.encode(&steps).unwrap();
    let pieces = [Piece { start: 0, at: 0, fragment: true }];
    let places = Places::new(&pieces);
    let mut code = tracewright_image::Cache::new(
        program.image.clone(),
        config.waypoints(),
        Default::default(),
    );
    let mut stream = config.stream();
    struct S;
    impl Sink for S {
        fn element(&mut self, at: u64, e: Element) {
            println!("       {at} {e}");
        }
    }
    let t = stream.feed(&bytes, &places, &mut code, &mut S, &mut T);
    stream.finish(&bytes[t..], &places, &mut code, &mut S, &mut T);
    println!("{:?}", trial.run());
}
