//! `tracewright bench`: what it counts is what is there.

use crate::common::{Folder, args, tracewright};
use serde_json::Value;

#[test]
fn a_header_and_a_row() {
    let folder = Folder::with_demo("bench-row");
    let said = tracewright(&args("bench --repeat 2", &[&folder.demo()]));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let lines: Vec<Vec<&str>> =
        said.out.lines().map(|line| line.split_whitespace().collect()).collect();
    let head = "bytes packets elements ranges instructions seconds MB/s ns/range";
    assert_eq!(lines[0].join(" "), head);
    assert_eq!(lines[1].len(), 8);
    // 19 packets of the ETM and 14 of the ITM; a range for each of the 11 atoms, and the one before the
    // exception. See src/demo/trace.rs, and golden/demo.txt for the elements.
    assert_eq!(&lines[1][..5], ["144", "33", "34", "12", "21"]);
    assert!(lines[1][5..].iter().all(|number| number.parse::<f64>().unwrap() > 0.0));
}

#[test]
fn counts_are_those_of_decode() {
    let folder = Folder::with_demo("bench-counts");
    let json = |words: &str| -> Vec<Value> {
        let said = tracewright(&args(words, &[&folder.demo()]));
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{words}");
        said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let decoded = json("decode --format json");
    let summary = decoded.last().unwrap();
    let sum = |key: &str| {
        let sources = summary["sources"].as_array().unwrap();
        sources.iter().map(|source| source[key].as_u64().unwrap()).sum::<u64>()
    };
    let mut checksums = Vec::new();
    let sinks = ["checksum", "count", "edges", "coverage", "bitmap", "text", "json", "opencsd"];
    for sink in sinks {
        let timed = json(&format!("bench --format json --repeat 3 --sink {sink}"));
        let row = &timed[1];
        for key in ["packets", "elements", "ranges", "instructions"] {
            assert_eq!(row[key].as_u64().unwrap(), sum(key), "{sink}: {key}");
        }
        assert_eq!(row["seconds"].as_array().unwrap().len(), 3);
        assert_eq!(row["sink"], *sink);
        checksums.push((row["checksum"].clone(), row["range_checksum"].clone()));
        let answer = row["answer_value"].as_str().unwrap().parse::<u64>().unwrap();
        match sink {
            "count" => assert_eq!(answer, sum("elements")),
            // main's seven instructions but the first NOP, square's two, the vector's two.
            "coverage" => assert_eq!(answer, 4 * 11),
            _ => assert!(answer > 0, "{sink}"),
        }
    }
    assert!(checksums.iter().all(|pair| *pair == checksums[0]));
    assert_ne!(checksums[0].0, checksums[0].1);
}
