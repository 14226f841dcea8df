//! Changes of flow as TRACE32 exports them, for tools that read BranchFlow.

use tracewright_base::{Batch, Element, Kind, Range};
use tracewright_decode::listener::{each_part, each_turn};
use tracewright_decode::{Fork, Listener, Size};

/// The lines before the first change of flow. (GNATcoverage, `trace32-branchflow.adb`)
pub const HEADER: &str = "\
#######################################################################
# Branch Flow trace file
# target; caller; trace record
#######################################################################
";

/// A line with a change of flow: its target, and the last instruction before. The letters are the
/// access class of TRACE32.
fn written(from: u64, to: u64) -> String {
    format!("C:{to:#010x}; C:{from:#010x}\n")
}

/// The end of what was executed without a change of flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Executed {
    /// The last instruction, and the address behind it.
    last: u64,
    end: u64,
    /// It is a branch that was taken.
    taken: bool,
    /// It is a branch, with a condition, that was not taken.
    not_taken: bool,
    /// The last instruction since the last change of flow that is no branch.
    plain: Option<u64>,
}

/// What later lines of a source depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    executed: Option<Executed>,
    /// A change of flow that is not written yet: where it came from, and led to.
    waiting: Option<(u64, u64)>,
    /// What was executed before the first change of flow has a line of its own.
    begun: bool,
}

/// Writes the changes of flow of each source.
///
/// After a loss the line has the last instruction that is known to be executed, and the next one.
/// The format would have a branch taken whose line leads elsewhere: if the branch was not taken,
/// the line has the instruction before it, and what is between the two is left out.
#[derive(Debug, Default)]
pub struct BranchFlow {
    sources: Vec<Own>,
}

/// Those of one source.
#[derive(Clone, Debug, Default)]
struct Own {
    state: State,
    found: Flows,
}

/// Lines, and how many ranges have a part that was left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    /// The lines.
    pub text: String,
    /// The ranges.
    pub omitted: u64,
}

impl BranchFlow {
    /// Those of this number of sources.
    pub fn new(sources: usize) -> BranchFlow {
        BranchFlow { sources: vec![Own::default(); sources] }
    }
}

impl Own {
    fn flow(&mut self, from: u64, to: u64) {
        if let Some((from, to)) = self.state.waiting.replace((from, to)) {
            self.found.text += &written(from, to);
        }
    }

    fn range(&mut self, range: &Range) {
        let start = range.start;
        let end = start.wrapping_add(range.bytes.into());
        let before = self.state.executed;
        let continues = before.is_some_and(|before| !before.taken && before.end == start);
        match before {
            Some(before) if !continues => match (before.not_taken, before.plain) {
                (false, _) => self.flow(before.last, start),
                (true, Some(plain)) => {
                    self.found.omitted += 1;
                    self.flow(plain, start);
                }
                // Nothing but branches that were not taken, since the last change.
                (true, None) => {
                    self.found.omitted += 1;
                    if let Some((_, to)) = &mut self.state.waiting {
                        *to = start;
                    }
                }
            },
            Some(_) => {}
            None if self.state.begun => {}
            // The first line is read for its target only.
            None => self.flow(start, start),
        }
        self.state.begun = true;
        let is_branch = matches!(range.last.kind, Kind::Branch | Kind::Indirect);
        let taken = is_branch && range.last.taken();
        let last = range.last_address();
        let own = if !is_branch { Some(last) } else { (last != start).then_some(start) };
        let plain = own.or(before.filter(|_| continues).and_then(|before| before.plain));
        let not_taken = is_branch && !taken;
        self.state.executed = Some(Executed { last, end, taken, not_taken, plain });
    }
}

impl Own {
    fn element(&mut self, element: Element) {
        match element {
            Element::Range(range) => self.range(&range),
            Element::Corrected { taken } => {
                if let Some(executed) = &mut self.state.executed {
                    (executed.taken, executed.not_taken) = (taken, !taken);
                }
            }
            Element::End => {
                if let Some((from, to)) = self.state.waiting.take() {
                    self.found.text += &written(from, to);
                }
                // The end of what was executed last: as a change of flow to itself.
                if let Some(executed) = self.state.executed.take()
                    && let Some(last) =
                        if executed.not_taken { executed.plain } else { Some(executed.last) }
                {
                    self.found.text += &written(last, last);
                }
            }
            _ => {}
        }
    }
}

impl Listener for BranchFlow {
    fn element(&mut self, source: usize, _: u64, element: Element) {
        if let Some(own) = self.sources.get_mut(source) {
            own.element(element);
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        each_part(self, batch, |flow, turns| each_turn(flow, batch.source, turns));
    }
}

impl Fork for BranchFlow {
    type State = Vec<State>;
    /// Those of each source.
    type Output = Vec<Flows>;

    fn fork(&self) -> Self {
        BranchFlow::new(self.sources.len())
    }

    fn state(&self) -> Self::State {
        self.sources.iter().map(|own| own.state.clone()).collect()
    }

    fn resume(&mut self, states: Self::State) {
        let of = |state| Own { state, found: Flows::default() };
        self.sources = states.into_iter().map(of).collect();
    }

    fn take(&mut self) -> Vec<Flows> {
        self.sources.iter_mut().map(|own| std::mem::take(&mut own.found)).collect()
    }

    fn size(&self) -> Size {
        Size::of(self.sources.iter().map(|own| own.found.text.len()).sum())
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{Counted, Gap, Instruction, Isa, Last};

    use super::*;

    /// Four-byte instructions from `start` to `last`, the last of which is a branch with a
    /// condition, or none for `taken` of `None`.
    fn range(start: u64, last: u64, taken: Option<bool>) -> Element {
        let kind = if taken.is_some() { Kind::Branch } else { Kind::Plain };
        let instruction = Instruction {
            size: 4,
            isa: Isa::A64,
            kind,
            conditional: taken.is_some(),
            ..Instruction::default()
        };
        let bytes = (last - start) as u32 + 4;
        Element::Range(Range {
            start,
            bytes,
            instructions: bytes / 4,
            cycles: Counted::UNKNOWN,
            last: Last::new(&instruction, taken.unwrap_or(true)),
        })
    }

    #[test]
    fn lines_are_changes_of_flow() {
        let (taken, not) = (Some(true), Some(false));
        for (elements, want, omitted) in [
            // A branch that was not taken has no line.
            (
                vec![range(0x10, 0x18, not), range(0x1c, 0x20, taken), range(0x80, 0x80, None)],
                "10<10 80<20 80<80",
                0,
            ),
            // The outcome was wrong.
            (
                vec![
                    range(0x10, 0x18, taken),
                    Element::Corrected { taken: false },
                    range(0x1c, 0x1c, None),
                ],
                "10<10 1c<1c",
                0,
            ),
            // A loss after a plain instruction, after a branch that was taken, and in nothing.
            (
                vec![
                    range(0x10, 0x18, None),
                    Element::Gap(Gap::Overflow),
                    range(0x40, 0x40, taken),
                ],
                "10<10 40<18 40<40",
                0,
            ),
            (
                vec![
                    range(0x10, 0x18, taken),
                    Element::Gap(Gap::Overflow),
                    range(0x40, 0x44, None),
                ],
                "10<10 40<18 44<44",
                0,
            ),
            (
                vec![range(0x10, 0x18, None), Element::Gap(Gap::Overflow), range(0x1c, 0x1c, None)],
                "10<10 1c<1c",
                0,
            ),
            // A loss after a branch that was not taken: the line is that of the instruction before.
            (
                vec![range(0x10, 0x18, not), Element::Gap(Gap::Overflow), range(0x40, 0x40, None)],
                "10<10 40<10 40<40",
                1,
            ),
            // There is none before it.
            (
                vec![
                    range(0x10, 0x18, taken),
                    range(0x30, 0x30, not),
                    Element::Gap(Gap::Overflow),
                    range(0x40, 0x40, None),
                ],
                "10<10 40<18 40<40",
                1,
            ),
        ] {
            let mut flow = BranchFlow::new(1);
            for element in elements.iter().copied().chain([Element::End]) {
                flow.element(0, 0, element);
            }
            let found = flow.take().remove(0);
            let line = |line: &str| {
                let (to, from) = line.split_once("; ").unwrap();
                let short =
                    |text: &str| text.trim_start_matches("C:0x").trim_start_matches('0').to_owned();
                format!("{}<{}", short(to), short(from))
            };
            let lines: Vec<String> = found.text.lines().map(line).collect();
            assert_eq!((lines.join(" ").as_str(), found.omitted), (want, omitted), "{elements:x?}");
        }
    }
}
