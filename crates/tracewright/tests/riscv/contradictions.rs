//! Packets that contradict the program: see `fuzz/src/etrace_flow.rs`.

use tracewright_testing::times;

use crate::etrace_flow::etrace_flow;

#[test]
fn nothing_follows_from_what_was_contradicted() {
    let contradictions: usize = (0..times(400)).map(etrace_flow).sum();
    println!("{contradictions} contradictions");
    assert!(contradictions > 100);
}
