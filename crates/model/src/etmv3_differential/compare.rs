//! The decoder's elements in the terms of the analyzer, and their comparison.

use tracewright_base::{Access, Element, Fault, Gap, Inconsistency, Isa, Range, Security, Sink};
use tracewright_protocols::Observer;

use crate::etmv3_analyzer::{Context, Output, Transfer, Unit};

/// What a decoder's elements state about execution.
#[derive(Debug)]
pub struct Stated {
    unit: Unit,
    flow: Vec<Output>,
    transfers: Vec<Output>,
    context: Context,
    /// Undecodable bytes, and gaps for that reason.
    undecodable: Option<String>,
    /// All elements, as text.
    pub texts: Vec<String>,
}

impl Stated {
    /// Nothing yet.
    pub fn new(unit: Unit) -> Stated {
        Stated {
            unit,
            flow: Vec::new(),
            transfers: Vec::new(),
            context: Context::default(),
            undecodable: None,
            texts: Vec::new(),
        }
    }

    /// Program flow first, then data transfers, each in order.
    pub fn outputs(&self) -> Vec<Output> {
        [self.flow.clone(), self.transfers.clone()].concat()
    }

    /// One instruction. A 32-bit Thumb instruction may be traced as two.
    fn range(&mut self, range: &Range) {
        let isa = range.last.isa;
        if let Some(cycles @ 1..) = range.cycles.get() {
            self.flow.push(Output::Cycles(Some(cycles.into())));
        }
        let halves = self.unit.thumb_halves() && isa != Isa::A32 && range.bytes == 4;
        for half in if halves { &[0, 2][..] } else { &[0] } {
            self.flow.push(Output::Instruction {
                address: (range.start as u32).wrapping_add(*half),
                isa,
                passed: range.taken(),
                first_half: false,
                context: self.context,
            });
        }
    }
}

impl Observer for Stated {}

impl Sink for Stated {
    fn element(&mut self, at: u64, element: Element) {
        self.texts.push(format!("{at:4} {element}"));
        match element {
            Element::Range(range) => return self.range(&range),
            Element::DataAccess(access) => {
                return self.transfers.push(Output::Transfer(transfer(&access)));
            }
            Element::Context(context) => {
                self.context = Context {
                    context_id: context.context_id,
                    vmid: context.vmid,
                    non_secure: context.security.map(|state| state == Security::NonSecure),
                    hyp: context.el == Some(2),
                };
            }
            Element::Undecodable { fault: Fault::Truncated | Fault::Unsynchronised, .. } => {}
            Element::Undecodable { .. } | Element::Gap(Gap::BadPacket) => {
                self.undecodable.get_or_insert(element.to_string());
            }
            _ => {}
        }
        self.flow.extend(match element {
            Element::Exception(exception) => Some(Output::Exception {
                number: exception.number,
                tail_chain: exception.tail_chain,
            }),
            Element::ExceptionReturn => Some(Output::Return),
            Element::TraceOn(start) => Some(Output::On(start)),
            Element::Cycles(cycles) => Some(Output::Cycles(cycles.map(u64::from))),
            Element::Trigger => Some(Output::Trigger),
            Element::Timestamp { value, .. } => Some(Output::Timestamp(value)),
            Element::NoCode { .. }
            | Element::Inconsistency(
                Inconsistency::InvalidOpcode
                | Inconsistency::Misaligned { .. }
                | Inconsistency::UnsupportedIsa
                | Inconsistency::NoAddress,
            ) => Some(Output::Unknown),
            Element::Inconsistency(Inconsistency::AddressNotReached) => Some(Output::Contradiction),
            _ => None,
        });
    }
}

fn transfer(access: &Access) -> Transfer {
    let low = |value: Option<u64>| value.map(|value| value as u32);
    Transfer {
        by: low(access.by()),
        address: low(access.address()),
        value: low(access.value()),
        big_endian: access.has(Access::BIG_ENDIAN),
        late: access.has(Access::LATE),
        not_traced: access.has(Access::VALUE_NOT_TRACED),
        suppressed: access.has(Access::SUPPRESSED),
        failed: access.has(Access::STORE_FAILED),
        exception: access.has(Access::EXCEPTION),
    }
}

/// The outputs without the differences that are no difference in meaning:
/// - Two halves of a Thumb instruction are executed together, at the second of their atoms.
/// - Cycles are those before the next instruction, exception, or start of tracing.
/// - Only the order of the transfers of one instruction has a meaning, apart from those that come
///   late. One that waits for its value, which does not come, is none.
pub(super) fn normal(outputs: &[Output]) -> Vec<Output> {
    let mut normal = Vec::new();
    let mut transfers = Vec::new();
    // The first half, the cycles before it, and its index if it is alone.
    let mut half: Option<(Output, Cycles, usize)> = None;
    let mut cycles = Cycles::default();
    for &output in outputs {
        match output {
            Output::Transfer(Transfer { late: true, value: None, .. }) => {}
            Output::Transfer(transfer) => transfers.push(transfer),
            Output::Cycles(Some(more)) => cycles.known += more,
            Output::Cycles(None) => cycles.unknown += 1,
            Output::Trigger | Output::Timestamp(_) | Output::Return => normal.push(output),
            _ => {
                if let Some((first, before, index)) = half.take() {
                    match together(first, output) {
                        Some(first) => {
                            cycles.known += before.known;
                            cycles.unknown += before.unknown;
                            normal.extend(cycles.take());
                            normal.push(first);
                        }
                        None => alone(first, before, index, &mut normal),
                    }
                }
                if let Output::Instruction { address, isa, passed, first_half: true, context } =
                    output
                {
                    let first_half = false;
                    let first = Output::Instruction { address, isa, passed, first_half, context };
                    half = Some((first, std::mem::take(&mut cycles), normal.len()));
                    continue;
                }
                if let Output::Instruction { .. } | Output::Exception { .. } | Output::On(_) =
                    output
                {
                    normal.extend(cycles.take());
                }
                normal.push(output);
            }
        }
    }
    if let Some((first, before, index)) = half {
        alone(first, before, index, &mut normal);
    }
    normal.extend(cycles.take());
    transfers.sort_by_key(|t| (t.by, t.late, t.late.then_some((t.address, t.value))));
    normal.extend(transfers.into_iter().map(Output::Transfer));
    normal
}

/// A first half whose second half does not follow.
fn alone(first: Output, mut before: Cycles, index: usize, normal: &mut Vec<Output>) {
    let mut outputs = before.take();
    outputs.push(first);
    normal.splice(index..index, outputs);
}

/// Cycles since the last instruction, exception, or start of tracing.
#[derive(Clone, Copy, Debug, Default)]
struct Cycles {
    known: u64,
    /// How many counts are unknown.
    unknown: u32,
}

impl Cycles {
    fn take(&mut self) -> Vec<Output> {
        let Cycles { known, unknown } = std::mem::take(self);
        let known = (known > 0).then_some(Output::Cycles(Some(known)));
        known.into_iter().chain((0..unknown).map(|_| Output::Cycles(None))).collect()
    }
}

/// The first half `first` as `next` has it, if that is its second half.
fn together(first: Output, next: Output) -> Option<Output> {
    match (first, next) {
        (
            Output::Instruction { address, isa: one, .. },
            Output::Instruction { address: second, isa, passed, first_half, context },
        ) if second == address.wrapping_add(2) && one == isa => {
            Some(Output::Instruction { address, isa, passed, first_half, context })
        }
        _ => None,
    }
}

/// Whether both have the same output `n`. A doubleword that was not stored may have both of its
/// transfers marked, or the last one.
fn same(want: &[Output], got: &[Output], n: usize) -> bool {
    let (wanted, given) = match (want.get(n), got.get(n)) {
        (Some(Output::Transfer(wanted)), Some(Output::Transfer(given))) => (wanted, given),
        (wanted, given) => return wanted == given,
    };
    let other = |both: (&Output, &Output)| match both {
        (Output::Transfer(w), Output::Transfer(g)) => w.failed && g.failed && g.by == given.by,
        _ => false,
    };
    wanted == given
        || given.failed
            && Transfer { failed: false, ..*given } == *wanted
            && want.iter().zip(got).any(other)
}

/// The first difference.
///
/// # Errors
/// Its index and both outputs.
pub fn compare(want: &[Output], stated: &Stated) -> Result<(), String> {
    if let Some(bytes) = &stated.undecodable {
        return Err(bytes.clone());
    }
    let (want, got) = (normal(want), normal(&stated.outputs()));
    let text = |output: Option<&Output>| output.map_or("nothing".to_string(), Output::to_string);
    match (0..want.len().max(got.len())).find(|n| !same(&want, &got, *n)) {
        Some(n) => Err(format!(
            "output {n}: the analyzer has {}, and the decoder has {}",
            text(want.get(n)),
            text(got.get(n))
        )),
        None => Ok(()),
    }
}
