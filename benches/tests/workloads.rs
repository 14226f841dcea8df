//! What is timed is what ran: the decoder finds every branch of every program.

use benches::{Workload, capture, trace};
use tracewright::Listener;
use tracewright::base::Element;
use tracewright::decode::{Memory, Options, Plan, Session, Tally};

/// The sum of the addresses of branches.
#[derive(Default)]
struct Branches(u64);

impl Listener for Branches {
    fn element(&mut self, _: usize, _: u64, element: Element) {
        if let Element::Range(range) = element {
            self.0 = self.0.wrapping_add(range.last_address());
        }
    }
}

#[test]
fn programs_decode_to_what_ran() {
    const BYTES: usize = 1 << 16;
    for workload in Workload::ALL {
        let capture = capture::made(workload, BYTES).unwrap();
        let traced = trace(&workload.program(), capture::SEED, BYTES / 16 * 15).unwrap();
        let options = Options::default();
        let plan = Plan::new(&capture, 0, &options).unwrap();
        let memory = Memory::new(&capture);
        let mut seen = (Tally::default(), Branches::default());
        Session::new(&capture, &plan, &memory, &options)
            .unwrap()
            .run(plan.parts(&capture), &mut seen);
        let (name, counts) = (workload.name(), seen.0.of(0));
        assert!(!seen.0.flawed(), "{name}: {counts:?}");
        assert_eq!(counts.ranges, traced.branches, "{name}");
        assert_eq!(counts.instructions, traced.instructions, "{name}");
        assert_eq!(seen.1.0, traced.addresses, "{name}");
        assert!(counts.syncs >= 10, "{name}: {} places to start at", counts.syncs);
    }
}

#[test]
fn footprints_are_what_they_are_said_to_be() {
    let size = |workload: Workload| workload.program().code().unwrap().len();
    assert!(size(Workload::Loop) < 100);
    assert!((20_000..40_000).contains(&size(Workload::Branchy)));
    assert!((40_000..80_000).contains(&size(Workload::Calls)));
    assert!((8_000_000..10_000_000).contains(&size(Workload::Large)));
}
