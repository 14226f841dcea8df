//! Captures with changed files: no crash, no panic, and the same elements every way.

use tracewright_testing::{short_or_long, times};

use crate::client::{capture, compile, folder, output, run, run_checked};

/// The captures of this repository whose files are in one folder.
const CAPTURES: [&str; 13] = [
    "ete",
    "etmv1",
    "etmv2",
    "etmv3",
    "etmv4",
    "etrace-1.0",
    "etrace-2.0",
    "etrace-draft",
    "itm",
    "ntrace-btm",
    "ntrace-htm",
    "ptm",
    "stm",
];

/// 22 changed copies; in a long run at least 2000, and one of each capture under valgrind.
#[test]
fn damaged_captures_decode_the_same_every_way() {
    let Some(program) = compile("tests/integration/damaged.c", &[]) else { return };
    let copies = short_or_long(2, times(2000).div_ceil(CAPTURES.len() as u64));
    let (mut opened, mut elements) = (0, 0);
    for name in CAPTURES {
        let (from, to) = (capture(name), folder().join(format!("damaged-{name}/capture")));
        std::fs::create_dir_all(&to).unwrap();
        let [from, to] = [&from, &to].map(|path| path.to_str().unwrap());
        let done = output(&run(&program, &[from, to, "1", &copies.to_string()]));
        assert!(done.ends_with(" elements, 0 failures\n"), "{name}: {done}");
        let numbers = done.split(' ').filter_map(|word| word.parse::<u64>().ok());
        let [_, new, more, _] = numbers.collect::<Vec<_>>()[..] else { panic!("{done}") };
        (opened, elements) = (opened + new, elements + more);
        if let Some(done) = run_checked(&program, &[from, to, "2", "1"]) {
            assert!(output(&done).ends_with(" elements, 0 failures\n"), "{name}");
        }
        std::fs::remove_dir_all(folder().join(format!("damaged-{name}"))).unwrap();
    }
    println!("{} copies, {opened} opened, {elements} elements", copies * CAPTURES.len() as u64);
    // Most changes leave a capture that has some elements.
    assert!(opened > copies && elements > 20 * copies, "{opened} {elements}");
}
