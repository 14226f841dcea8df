use tracewright_base::{Isa, Step};

use crate::generate::{Recipe, Sets, program};
use crate::machine::{Machine, Stimulus};

/// The machine always finds code in generated programs, and each step leads to the next.
#[test]
fn random_programs_run() {
    for isa in [Sets::A64, Sets::A32, Sets::T32, Sets::Both] {
        for seed in 0..40 {
            let recipe =
                Recipe { seed, isa, far: seed % 3 == 0, transactions: true, ..Recipe::default() };
            let program = program(&recipe);
            let stimulus = Stimulus {
                seed,
                interrupts: 200,
                faults: 300,
                failures: 20,
                ..Stimulus::default()
            };
            let steps = Machine::new(&program, stimulus).collect(4000);
            let retired = steps.iter().filter(|step| matches!(step, Step::Retired(_))).count();
            let last = &steps[steps.len().saturating_sub(4)..];
            assert!(retired > 3000, "{isa:?} {seed}: only {retired} instructions {last:x?}");
            let mut next: Option<(u64, Isa)> = None;
            for step in &steps {
                match *step {
                    Step::Retired(r) => {
                        let here = (r.address, r.instruction.isa);
                        assert!(next.is_none_or(|n| n == here), "{isa:?} {seed}: {r:x?} {next:x?}");
                        next = Some((r.next, r.next_isa));
                    }
                    Step::Exception(e) => next = Some((e.target, e.target_isa)),
                    Step::Transaction(_) => next = None,
                    _ => {}
                }
            }
        }
    }
}
