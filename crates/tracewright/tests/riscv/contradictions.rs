//! Packets that contradict the program: see `fuzz/src/etrace_flow.rs`.

use tracewright_testing::times;

use crate::etrace_flow::etrace_flow;

#[test]
fn nothing_follows_from_what_was_contradicted() {
    let (mut contradictions, mut implied) = (0, 0);
    for found in (0..times(400)).map(etrace_flow) {
        contradictions += found.contradictions;
        implied += found.implied;
    }
    println!("{contradictions} contradictions, {implied} implied returns");
    assert!(contradictions > 100);
    assert!(implied > 10);
}
