//! Prints which tests of the workspace checked nothing. Cargo runs test programs in the order of
//! their packages' names, so that this one is the last.
#![forbid(unsafe_code)]

fn main() {
    // `cargo test -- --list` lists tests and runs none.
    if !std::env::args().any(|word| word == "--list") {
        tracewright_testing::print_summary();
    }
}
