//! Branches that were taken and exceptions, in order: from which address to which.

use std::fmt::Write;
use tracewright_decode::listener::{each_part, each_turn};

use tracewright_base::{Batch, Context, Element, Exception, Kind, Range, Role};
use tracewright_capture::plain;
use tracewright_decode::{Fork, Listener, Size};

use crate::json::Object;
use crate::lines::Lines;
use crate::sources::Source;

/// What led from one address to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// A branch, by its purpose, and whether its target is not in its opcode.
    Branch(Role, bool),
    /// The exception with this number.
    Exception(u16),
}

/// The address that control leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Left {
    at: u64,
    /// `None`: not known.
    from: Option<u64>,
    cause: Cause,
    /// The name of `from`, once the memory is another one.
    name: Option<String>,
}

/// What later lines of a source depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    left: Option<Left>,
    context: Option<Context>,
}

/// Lists branches.
#[derive(Debug)]
pub struct Branches {
    lines: Lines<Vec<u8>>,
    sources: Vec<Source>,
    states: Vec<State>,
    json: bool,
    /// The columns of an offset, and of the name of a source.
    widths: (usize, usize),
}

impl Branches {
    /// Lists the branches of `sources` in a buffer of `len` bytes, as text or JSON.
    pub fn new(sources: Vec<Source>, len: Option<u64>, json: bool) -> Branches {
        let width = sources.iter().map(|source| source.name.chars().count()).max().unwrap_or(0);
        let digits = len.map_or(10, |len| len.max(1).ilog10() as usize + 1);
        Branches {
            lines: Lines::new(Vec::new()),
            states: vec![State::default(); sources.len()],
            sources,
            json,
            widths: (digits, width),
        }
    }

    /// Control is at `to`, or it is not known where.
    fn arrive(&mut self, n: usize, to: Option<u64>) {
        let left = self.states.get_mut(n).and_then(|state| state.left.take());
        let (Some(left), Some(source)) = (left, self.sources.get(n)) else { return };
        let name = left.name.clone();
        let from = name.or_else(|| left.from.and_then(|from| source.symbol_name(from)));
        let to_name = to.and_then(|to| source.symbol_name(to));
        let kind = match left.cause {
            Cause::Branch(role, indirect) => kind(role, indirect).to_owned(),
            Cause::Exception(number) => {
                let name = source.exception_name(number);
                name.map_or("exception".into(), |name| format!("exception {name}"))
            }
        };
        let out = &mut self.lines.text;
        if self.json {
            let mut object = Object::new(out)
                .text("type", "branch")
                .text("source", &source.name)
                .number("offset", left.at)
                .text("kind", &kind);
            for (key, address) in [("from", left.from), ("to", to)] {
                if let Some(address) = address {
                    object = object.text(key, &format!("{address:#x}"));
                }
            }
            for (key, name) in [("from_symbol", from), ("to_symbol", to_name)] {
                if let Some(name) = name {
                    object = object.text(key, &name);
                }
            }
            object.end();
        } else {
            let (digits, width) = self.widths;
            let name = plain::line(&source.name);
            let _ = write!(out, "{:>digits$}  {name:<width$}  ", left.at);
            for (address, name, end) in [(left.from, from, " -> "), (to, to_name, "  ")] {
                match address {
                    Some(address) => _ = write!(out, "{address:#x}"),
                    None => out.push_str("unknown"),
                }
                if let Some(name) = name {
                    let _ = write!(out, " <{}>", plain::line(&name));
                }
                out.push_str(end);
            }
            out.push_str(&kind);
        }
        self.lines.end();
    }

    fn range(&mut self, n: usize, at: u64, range: &Range) {
        self.arrive(n, Some(range.start));
        let branch = matches!(range.last.kind, Kind::Branch | Kind::Indirect) && range.taken();
        if let Some(state) = self.states.get_mut(n).filter(|_| branch) {
            let cause = Cause::Branch(range.last.role, range.last.kind == Kind::Indirect);
            let from = Some(range.last_address());
            state.left = Some(Left { at, from, cause, name: None });
        }
    }

    fn exception(&mut self, n: usize, at: u64, exception: &Exception) {
        let before = self.states.get(n).and_then(|state| state.left.as_ref());
        let direct = before.is_some_and(|left| matches!(left.cause, Cause::Branch(_, false)));
        // The instruction at the target was not executed, but control was there.
        let target = exception.return_address.filter(|_| direct || exception.also_target);
        self.arrive(n, target);
        if let Some(state) = self.states.get_mut(n) {
            let (from, cause) = (exception.return_address, Cause::Exception(exception.number));
            state.left = Some(Left { at, from, cause, name: None });
        }
    }

    /// The memory may be another one: a name is that in the memory before. No branch of user code
    /// leads into another thread, as what is between the two is not traced.
    fn follow(&mut self, n: usize, element: &Element) {
        let before = self.states.get(n).and_then(|state| state.context);
        if let (Element::Context(next), Some(before)) = (element, before)
            && before.el.is_none_or(|level| level == 0)
            && (before.context_id, before.vmid) != (next.context_id, next.vmid)
        {
            self.arrive(n, None);
        }
        let (Some(source), Some(state)) = (self.sources.get_mut(n), self.states.get_mut(n)) else {
            return;
        };
        if let Some(left) = state.left.as_mut().filter(|left| left.name.is_none()) {
            left.name = left.from.and_then(|from| source.symbol_name(from));
        }
        if let Element::Context(context) = element {
            state.context = Some(*context);
        }
        source.follow(element);
    }
}

/// The kind of a branch.
fn kind(role: Role, indirect: bool) -> &'static str {
    match (role, indirect) {
        (Role::Call | Role::Link | Role::Swap, false) => "call",
        (Role::Call | Role::Link | Role::Swap, true) => "indirect call",
        (Role::Return | Role::ImpliedReturn, _) => "return",
        (Role::ExceptionReturn, _) => "exception return",
        (Role::Jump | Role::Loop | Role::Compare, false) => "branch",
        (Role::Jump | Role::Loop | Role::Compare, true) => "indirect branch",
    }
}

impl Listener for Branches {
    fn element(&mut self, n: usize, at: u64, element: Element) {
        match element {
            Element::Range(range) => self.range(n, at, &range),
            Element::Exception(exception) => self.exception(n, at, &exception),
            Element::Context(_) | Element::Timestamp { .. } | Element::DataAccess(_) => {
                self.follow(n, &element);
            }
            Element::Corrected { taken: false } => {
                // The last range is not left by its branch.
                if let Some(state) = self.states.get_mut(n) {
                    state.left = None;
                }
            }
            Element::NoCode { address, .. } => self.arrive(n, Some(address)),
            Element::Gap(_)
            | Element::TraceOn(_)
            | Element::Unknown { .. }
            | Element::Undecodable { .. }
            | Element::End => self.arrive(n, None),
            Element::Inconsistency(reason) if !reason.is_ambiguity() => self.arrive(n, None),
            _ => {}
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        // Turns beyond the expansion that the options allow have no lines.
        each_part(self, batch, |branches, turns| {
            if turns.listed {
                each_turn(branches, batch.source, turns);
            }
        });
    }
}

impl Fork for Branches {
    type State = Vec<State>;
    type Output = Vec<u8>;

    fn fork(&self) -> Self {
        Branches {
            lines: Lines::new(Vec::new()),
            sources: self.sources.clone(),
            states: vec![State::default(); self.sources.len()],
            json: self.json,
            widths: self.widths,
        }
    }

    fn state(&self) -> Vec<State> {
        self.states.clone()
    }

    fn resume(&mut self, states: Vec<State>) {
        self.states = states;
        for (source, state) in self.sources.iter_mut().zip(&self.states) {
            match &state.context {
                Some(context) => _ = source.follow(&Element::Context(*context)),
                None => source.restart(),
            }
        }
        self.lines.clear();
    }

    fn take(&mut self) -> Vec<u8> {
        self.lines.take()
    }

    #[inline]
    fn size(&self) -> Size {
        Size::of(self.lines.waiting())
    }
}
