//! `tracewright bench`: its counts.

use crate::common::{Folder, args, tracewright};
use serde_json::Value;

#[test]
fn a_header_and_a_row() {
    let folder = Folder::with_demo("bench-row");
    let output = tracewright(&args("bench --repeat 2", &[&folder.demo()]));
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    let lines: Vec<Vec<&str>> =
        output.out.lines().map(|line| line.split_whitespace().collect()).collect();
    let head = "bytes packets elements ranges instructions seconds MB/s ns/range bits/instruction";
    assert_eq!(lines[0].join(" "), head);
    assert_eq!(lines[1].len(), 9);
    // 19 packets of the ETM and 14 of the ITM; a range for each of the 11 atoms, and one before the
    // exception.
    assert_eq!(&lines[1][..5], ["144", "33", "34", "12", "21"]);
    // 144 * 8 / 21.
    assert_eq!(lines[1][8], "54.857");
    assert!(lines[1][5..].iter().all(|number| number.parse::<f64>().unwrap() > 0.0));
}

#[test]
fn counts_are_those_of_decode() {
    let folder = Folder::with_demo("bench-counts");
    let json = |words: &str| -> Vec<Value> {
        let output = tracewright(&args(words, &[&folder.demo()]));
        assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{words}");
        output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
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
        assert_eq!(row["bits_per_instruction"], 54.857);
        checksums.push((row["checksum"].clone(), row["range_checksum"].clone()));
        let result = row["answer_value"].as_str().unwrap().parse::<u64>().unwrap();
        match sink {
            "count" => assert_eq!(result, sum("elements")),
            // Seven instructions of main, without the NOP, two of square, and two of the vector.
            "coverage" => assert_eq!(result, 4 * 11),
            _ => assert!(result > 0, "{sink}"),
        }
    }
    assert!(checksums.iter().all(|pair| *pair == checksums[0]));
    assert_ne!(checksums[0].0, checksums[0].1);
}
