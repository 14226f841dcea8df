//! Compares the decoder with an analyzer on random streams:
//! `differential FIRST COUNT SHOW [legal | damaged | cut] [etmv3]`.
//!
//! ETMv4 and ETE, or ETMv3, streams with the seeds from FIRST on; at most SHOW that differ are
//! printed.

use std::collections::BTreeMap;
use std::time::Instant;

use tracewright_model::harness::Differential;
use tracewright_model::{differential, etmv3_differential};

fn main() {
    let argument = |n: usize| std::env::args().nth(n);
    let kind = argument(4);
    if argument(5).as_deref() == Some("etmv3") {
        use etmv3_differential::Trial;
        compare(match kind.as_deref() {
            Some("damaged") => Trial::damaged,
            Some("cut") => Trial::cut,
            _ => Trial::legal,
        });
    } else {
        use differential::Trial;
        compare(match kind.as_deref() {
            Some("damaged") => Trial::damaged,
            Some("cut") => Trial::cut,
            _ => Trial::legal,
        });
    }
}

fn compare<T: Differential>(trial: fn(u64) -> T) {
    let number = |n: usize| std::env::args().nth(n).and_then(|text| text.parse::<u64>().ok());
    let (first, count) = (number(1).unwrap_or(0), number(2).unwrap_or(1000));
    let show = number(3).unwrap_or(1);
    let begin = Instant::now();
    let (mut differ, mut shown, mut outputs) = (0, 0, 0);
    let mut classes: BTreeMap<String, usize> = BTreeMap::new();
    for seed in first..first + count {
        let trial = trial(seed);
        match trial.outputs() {
            Ok(found) => outputs += found,
            Err(whole) => {
                differ += 1;
                let least = trial.minimised();
                let error = least.outputs().err().unwrap_or_default();
                let mut words = error.split(['(', ' ', ',']).collect::<Vec<_>>();
                words.retain(|word| !word.contains(|c: char| c.is_ascii_digit()));
                let class = classes.entry(words.join(" ")).or_default();
                *class += 1;
                if *class <= 3 && shown < show {
                    shown += 1;
                    println!("seed {seed}: {error}\nwhole: {whole}\n{}", least.report());
                }
            }
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("{count} streams, {outputs} outputs, {differ} differ, {seconds:.1} s");
    for (class, times) in classes {
        println!("{times:6} {class}");
    }
}
