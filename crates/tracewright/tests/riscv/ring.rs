//! A ring that wrapped has lost the start of its oldest packet: packets are found from any offset, and from
//! the next one of format 3 on all is as in the whole trace.

use tracewright::base::Element;
use tracewright::protocols::etrace::sync::LOOKED_AHEAD;

use crate::damage::starts;
use crate::decode::elf;
use crate::program::Random;
use crate::run::{cache, elements, program};
use crate::streams;

#[test]
fn any_offset() {
    let Some(root) = streams::shared("any_offset") else { return };
    let mut random = Random(7);
    let mut all = streams::reference(&root);
    all.extend(streams::draft(&root));
    all.retain(|stream| (4_000..25_000).contains(&stream.bytes.len()));
    let mut compared = 0;
    for stream in &all {
        let image = program(elf(&root, stream), stream.params.rv64);
        let mut code = cache(&image, &stream.params);
        let mut whole: Vec<(u64, Element)> = Vec::new();
        elements(&stream.bytes, &stream.params, &mut code, &mut whole);
        let starts = starts(stream);
        let mut params = stream.params;
        params.link.aligned = false;
        for _ in 0..20 {
            let lost = random.below(stream.bytes.len() as u64 / 2) as usize;
            let Some(&start) = starts.iter().find(|start| **start >= lost + LOOKED_AHEAD) else {
                continue;
            };
            let mut got: Vec<(u64, Element)> = Vec::new();
            elements(&stream.bytes[lost..], &params, &mut code, &mut got);
            let from = |list: &[(u64, Element)], lost: usize| {
                let first = list.partition_point(|(at, _)| *at as usize + lost <= start);
                let moved = list[first..].iter().map(|(at, e)| (*at + lost as u64, *e));
                moved.collect::<Vec<_>>()
            };
            let (want, got) = (from(&whole, 0), from(&got, lost));
            let same = want.iter().zip(&got).take_while(|(a, b)| a == b).count();
            assert!(
                want == got,
                "{} from {lost}, after {start}: {same} of {} the same, then {:?}, not {:?}",
                stream.path.display(),
                want.len(),
                got.get(same),
                want.get(same),
            );
            compared += 1;
        }
    }
    println!("{compared} offsets of {} streams", all.len());
    assert!(compared > 200);
}
