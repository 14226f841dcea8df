//! Compares the decoder with the analyzer on random streams:
//! `differential FIRST COUNT SHOW [legal | damaged]`.

use std::collections::BTreeMap;
use std::time::Instant;

use tracewright_model::differential::{Differential as _, Trial, is_legal};

fn main() {
    let number = |n: usize| std::env::args().nth(n).and_then(|text| text.parse::<u64>().ok());
    let (first, count) = (number(1).unwrap_or(0), number(2).unwrap_or(1000));
    let show = number(3).unwrap_or(1);
    let trial = match std::env::args().nth(4).as_deref() {
        Some("legal") => Trial::legal,
        Some("damaged") => Trial::damaged,
        _ => Trial::of_seed,
    };
    let begin = Instant::now();
    let (mut differ, mut shown, mut outputs) = (0, 0, 0);
    let mut classes: BTreeMap<String, usize> = BTreeMap::new();
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for seed in first..first + count {
        let trial = trial(seed);
        match trial.compare() {
            Ok(analyzed) => {
                outputs += analyzed.len();
                *ends.entry(format!("{:?}", is_legal(&analyzed))).or_default() += 1;
            }
            Err(whole) => {
                differ += 1;
                let least = trial.minimised();
                let error = least.compare().err().unwrap_or_default();
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
    println!("{ends:?}");
    for (class, times) in classes {
        println!("{times:6} {class}");
    }
}
