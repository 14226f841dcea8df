//! Totals of instructions: the same from every verb.

use std::path::Path;

use crate::common::{args, tracewright};
use tracewright_testing::shared;

/// The instructions of Q elements, whose addresses are unknown, are counted apart.
#[test]
fn instructions_on_unknown_paths_are_in_no_total() {
    let Some(capture) = shared("conformance/arm/snapshots/q_elem") else { return };
    let of = |words: &str| {
        let output = tracewright(&args(words, &[&capture]));
        assert_eq!(output.code, Some(0), "{words}: {}", output.err);
        output.out + &output.err
    };
    let listed = of("instructions --format pc --source ETB_2");
    let listed = listed.lines().filter(|line| u64::from_str_radix(line, 16).is_ok()).count();
    assert_eq!(listed, 1177);
    for words in ["decode --format none", "instructions --format none", "packets --format none"] {
        let want = " 376 ranges, 1177 instructions, 32 further instructions on unknown paths, ";
        let text = of(&format!("{words} --source ETB_2"));
        assert!(text.contains(want), "{words}: {text}");
    }
    for words in ["decode --format json", "instructions --format json", "bench --format json"] {
        let want = r#""ranges":376,"instructions":1177,"unknown_instructions":32,"#;
        let text = of(&format!("{words} --source ETB_2"));
        assert!(text.contains(want), "{words}: {text}");
    }
    let text = of("bench --source ETB_2");
    assert!(text.contains("\n32 further instructions on unknown paths\n"), "{text}");
    let query = ["last", "any"].map(Path::new);
    let find = args("find --format json --source ETB_2", &[&capture, query[0], query[1]]);
    let text = tracewright(&find).out;
    assert!(text.contains(r#""instruction":1177,"#), "{text}");
    let text = of("profile --format json --all-buffers");
    assert!(text.contains(r#""type":"profile","instructions":2277,"#), "{text}");
}
