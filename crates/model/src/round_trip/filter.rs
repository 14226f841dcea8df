//! The steps that a trace unit must trace, computed from its registers independently of the unit.

use tracewright_base::{Cause, Context, Isa, Security, Step, Transaction};
use tracewright_protocols::registry::AnyConfig;

use super::Way;

/// The traced part of some steps.
pub(super) struct Included {
    /// For each step: whether tracing is on.
    pub(super) on: Vec<bool>,
    /// For each step: whether it is an instruction or exception that the filter includes.
    pub(super) through: Vec<bool>,
    /// For each step: whether it is a traced instruction without an element, because the following
    /// exception has no return address.
    pub(super) unseen: Vec<bool>,
    /// The context of each step.
    pub(super) contexts: Vec<Context>,
    /// Number of instructions, traced or not.
    retired: usize,
    /// Number of instructions without an element: filtered out, or after the last waypoint of a
    /// run.
    pub(super) hidden: usize,
    /// Whether the unit loses trace.
    pub(super) lossy: bool,
    /// Whether the unit loses trace because of a full FIFO.
    pub(super) full: bool,
}

impl Included {
    pub(super) fn new(way: &Way, config: &AnyConfig, steps: &[Step]) -> Self {
        let full = way.register("fifo").unwrap_or(0) > 0;
        let mut included = Included {
            on: Vec::with_capacity(steps.len()),
            through: Vec::with_capacity(steps.len()),
            unseen: vec![false; steps.len()],
            contexts: Vec::with_capacity(steps.len()),
            retired: 0,
            hidden: 0,
            lossy: full || way.register("discard-at-end").unwrap_or(0) != 0,
            full,
        };
        let (mut on, mut through, mut transaction) = (true, true, false);
        let mut context = Context::default();
        // Instructions since the last waypoint of this run.
        let mut open: Vec<usize> = Vec::new();
        let ete = matches!(config, AnyConfig::Ete(_));
        for (n, step) in steps.iter().enumerate() {
            let mut here = false;
            match *step {
                Step::Retired(r) => {
                    context.bits64 = r.instruction.isa == Isa::A64;
                    through = lets(way, r.address, &context);
                    here = on && through;
                    included.retired += 1;
                    if here {
                        open.push(n);
                        if config.waypoints().has(r.instruction.kind) {
                            open.clear();
                        }
                    } else {
                        included.hidden += 1 + open.drain(..).count();
                    }
                }
                Step::Exception(e) => {
                    here = on && through;
                    if here && ete && e.cause == Cause::Reset {
                        included.hide(&mut open);
                    } else if here {
                        open.clear();
                    }
                }
                Step::Transaction(step) => {
                    transaction = ete && step == Transaction::Start;
                    if on && ete && step == Transaction::Failure {
                        included.hide(&mut open);
                    }
                }
                Step::Context(next) => context = Context { bits64: context.bits64, ..next },
                Step::Halted => {
                    here = on && through;
                    if here {
                        open.clear();
                    }
                }
                Step::Off => {
                    // The unit abandons a transaction whose end it cannot trace.
                    included.lossy |= on && transaction;
                    included.hidden += open.drain(..).count();
                    on = false;
                }
                Step::On => on = true,
                Step::Overflow => included.lossy = true,
                _ => {}
            }
            included.on.push(on);
            included.through.push(here);
            included.contexts.push(context);
        }
        included.hidden += open.len();
        included
    }

    /// Marks the instructions since the last waypoint as hidden: no packet reports them.
    fn hide(&mut self, open: &mut Vec<usize>) {
        self.hidden += open.len();
        for n in open.drain(..) {
            self.unseen[n] = true;
        }
    }

    /// Number of retired instructions.
    pub(super) fn retired(&self) -> usize {
        self.retired
    }
}

/// TRCVIIECTLR and TRCVICTLR. (Arm ARM D5, "ViewInst")
fn lets(way: &Way, address: u64, context: &Context) -> bool {
    let register = |name: &str| way.register(name).unwrap_or(0);
    let ranges = register("TRCVIIECTLR");
    let within = |first: u32| {
        (0..8u32).filter(|n| ranges >> (first + n) & 1 != 0).fold((0, false), |(n, hit), pair| {
            let low = register(&format!("TRCACVR{}", 2 * pair));
            let high = register(&format!("TRCACVR{}", 2 * pair + 1));
            (n + 1, hit || (low..=high).contains(&address))
        })
    };
    if ranges != 0 {
        let ((included, hit), (_, out)) = (within(0), within(16));
        if out || included > 0 && !hit {
            return false;
        }
    }
    let el = u32::from(context.el.unwrap_or(0));
    let levels = register("TRCVICTLR");
    match context.security {
        Some(Security::Secure | Security::Root) => levels >> (16 + el) & 1 == 0,
        _ => el > 2 || levels >> (20 + el) & 1 == 0,
    }
}
