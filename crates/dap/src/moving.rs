//! Runs and steps, and the events that state where they end.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tracewright::index::query::{Bound, Condition, Query, Which};
use tracewright::index::{Answer, FindError, Finder};
use tracewright_replay::{Accessed, Direction, Position, Stopped};

use crate::conditions::{HitCondition, Known};
use crate::filters::Event;
use crate::message::{Arguments, Refused, refused};
use crate::motion::{Ended, Step, Why};
use crate::session::Session;

/// Something on the way that ends a run.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    position: Position,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Goal,
    Hit(u64),
    Event(Event),
}

/// How often `address` was executed, in the whole trace or before an element.
pub(crate) fn count(
    finder: &mut Finder<'_>,
    address: u64,
    before: Option<u64>,
) -> Result<u64, FindError> {
    let conditions = vec![Condition::Address(address..address.saturating_add(1))];
    let element = |number: u64| Query {
        which: Which::First,
        conditions: vec![Condition::Element(number..number.saturating_add(1))],
        bound: None,
    };
    let bound = before.map(|number| (Bound::Before, Box::new(element(number))));
    match finder.find(&Query { which: Which::Count, conditions, bound })? {
        Answer::Count(count) => Ok(count),
        Answer::Elements(found) => Ok(found.len() as u64),
    }
}

impl Session<'_> {
    /// What is known at the position.
    pub(crate) fn known(&mut self) -> Result<Known, FindError> {
        let here = self.machine.here();
        let element = here.position.element;
        let at = [Condition::Element(element..element.saturating_add(1))];
        let found = self.machine.finder().seek(&at)?;
        let context = found.and_then(|found| found.context);
        Ok(Known {
            depth: self.machine.stack(here.source)?.len() as u64,
            context: context.and_then(|context| context.context_id.map(u64::from)),
            time: here.time,
            instruction: here.number,
            thread: self.thread_id(here.source)? as u64,
        })
    }

    /// The breakpoints that are hit at the position. `numbers`: of executions of addresses on the
    /// way of the run in `direction`.
    fn hit_here(
        &mut self,
        direction: Direction,
        numbers: &mut BTreeMap<u64, u64>,
    ) -> Result<Vec<u64>, FindError> {
        let here = self.machine.here();
        let at = |n: &usize| {
            let own = self.breakpoints.all.get(*n);
            own.is_some_and(|own| own.log.is_none() && own.addresses.contains(&here.address))
        };
        let candidates: Vec<usize> = (0..self.breakpoints.all.len()).filter(at).collect();
        let (mut hit, mut known, mut number) = (Vec::new(), None, None);
        let wants = |n: &usize| self.breakpoints.all.get(*n).is_some_and(|own| own.hits.is_some());
        if candidates.iter().any(wants) {
            // A run passes each execution of such an address.
            let own = match (numbers.get(&here.address), direction) {
                (Some(last), Direction::Forward) => last + 1,
                (Some(last), Direction::Backward) => last.saturating_sub(1),
                (None, _) => {
                    let before = Some(here.position.element);
                    count(self.machine.finder(), here.address, before)? + 1
                }
            };
            numbers.insert(here.address, own);
            number = Some(own);
        }
        for n in candidates {
            let Some(own) = self.breakpoints.all.get(n).cloned() else { continue };
            if own.has_condition() {
                if known.is_none() {
                    known = Some(self.known()?);
                }
                if !known.as_ref().is_some_and(|known| own.holds(known)) {
                    continue;
                }
            }
            if own.hits.is_some_and(|hits| !number.is_some_and(|number| hits.has(number))) {
                continue;
            }
            hit.push(own.id);
        }
        Ok(hit)
    }

    /// The place of the execution with a number of the breakpoint at index `n`.
    fn place_of_hit(&mut self, n: usize) -> Result<Option<Position>, FindError> {
        let Some(own) = self.breakpoints.all.get(n) else { return Ok(None) };
        let (Some(HitCondition::Equal(number)), [address]) = (own.hits, own.addresses.as_slice())
        else {
            return Ok(None);
        };
        if let Some(known) = own.place {
            return Ok(known);
        }
        let address = *address;
        let conditions = vec![Condition::Address(address..address.saturating_add(1))];
        let query = Query { which: Which::Nth(number), conditions, bound: None };
        let found = match self.machine.finder().find(&query)? {
            Answer::Elements(found) => found.first().map(|found| found.number),
            Answer::Count(_) => None,
        };
        let place = match found {
            Some(element) => self.machine.position_in(element, address)?,
            None => None,
        };
        if let Some(own) = self.breakpoints.all.get_mut(n) {
            own.place = Some(place);
        }
        Ok(place)
    }

    /// What ends a run at the latest, apart from breakpoints at addresses.
    fn ahead(
        &mut self,
        direction: Direction,
        goal: Option<Position>,
    ) -> Result<Option<Ahead>, FindError> {
        let here = self.machine.here().position;
        let is_ahead = |position: Position| match direction {
            Direction::Forward => position > here,
            Direction::Backward => position < here,
        };
        let goal = goal.filter(|goal| is_ahead(*goal));
        let mut nearest = goal.map(|position| Ahead { position, what: What::Goal });
        for n in 0..self.breakpoints.all.len() {
            let Some(id) = self.breakpoints.all.get(n).map(|own| own.id) else { continue };
            if let Some(position) = self.place_of_hit(n)?.filter(|at| is_ahead(*at)) {
                let own = Ahead { position, what: What::Hit(id) };
                nearest = nearer(direction, nearest, own);
            }
        }
        if let Some((position, event)) = self.event_ahead(direction)? {
            nearest = nearer(direction, nearest, Ahead { position, what: What::Event(event) });
        }
        Ok(nearest)
    }

    /// Runs in a direction, at most to `goal`.
    pub(crate) fn run(
        &mut self,
        direction: Direction,
        goal: Option<Position>,
    ) -> Result<Ended, FindError> {
        let (mut lost, mut numbers) = (None, BTreeMap::new());
        let addresses = self.stopping_addresses();
        let watches: Vec<_> =
            self.breakpoints.all.iter().filter_map(|own| own.watch.clone()).collect();
        let ended = |why: Why, lost| Ok(Ended { why, lost, switched: false });
        loop {
            // What is near is not searched for.
            self.machine.check_stop()?;
            let ahead = self.ahead(direction, goal)?;
            let bound = ahead.map(|ahead| ahead.position);
            let stop = self.machine.run_until(direction, &addresses, &watches, bound)?;
            lost = lost.or(stop.lost);
            let why = match (stop.why, ahead.map(|ahead| ahead.what)) {
                (Stopped::Begin, _) => Why::Begin,
                (Stopped::End, _) => Why::End,
                (Stopped::Access(hit), _) => {
                    // Behind the instruction that makes it, or going back, at that instruction.
                    match direction {
                        Direction::Forward => {
                            let source = self.machine.here().source;
                            self.machine.step(source, direction)?;
                        }
                        Direction::Backward => {
                            self.machine.go(hit.position)?;
                        }
                    }
                    Why::Access(self.watching(&hit), hit)
                }
                (Stopped::Step, Some(what)) => {
                    let mut hit = self.hit_here(direction, &mut numbers)?;
                    match what {
                        What::Hit(id) if !hit.contains(&id) => hit.push(id),
                        _ => {}
                    }
                    match (hit.is_empty(), what) {
                        (false, _) => Why::Breakpoints(hit),
                        (true, What::Event(event)) => Why::Event(event),
                        (true, _) => Why::Step,
                    }
                }
                (Stopped::Breakpoint | Stopped::Step, _) => {
                    let hit = self.hit_here(direction, &mut numbers)?;
                    if hit.is_empty() {
                        continue;
                    }
                    Why::Breakpoints(hit)
                }
            };
            return ended(why, lost);
        }
    }

    /// The data breakpoints that an access touches.
    fn watching(&self, hit: &Accessed) -> Vec<u64> {
        let all = self.breakpoints.all.iter();
        let own = all.filter(|own| {
            own.watch.as_ref().is_some_and(|watch| watch.addresses.contains(&hit.address))
        });
        own.map(|own| own.id).collect()
    }

    /// Steps a source.
    fn step(
        &mut self,
        source: usize,
        step: Step,
        direction: Direction,
    ) -> Result<Ended, FindError> {
        let goal = self.goal(source, step, direction)?;
        let from = self.machine.here().position;
        let (end, why) = match direction {
            Direction::Forward => (self.machine.last(source)?, Why::End),
            Direction::Backward => (self.machine.first(source)?, Why::Begin),
        };
        let position = goal.position.or(end.map(|end| end.position)).unwrap_or(from);
        let is_ahead = match direction {
            Direction::Forward => position > from,
            Direction::Backward => position < from,
        };
        if !is_ahead {
            return Ok(Ended { why, lost: goal.lost, switched: false });
        }
        let mut ended = self.run(direction, Some(position))?;
        let reached = self.machine.here().position == position;
        if reached && goal.position.is_none() && ended.why == Why::Step {
            ended.why = why;
        }
        let lost = ended.lost.or(goal.lost.filter(|_| reached));
        Ok(Ended { lost, switched: goal.switched && reached, ..ended })
    }

    /// The step that a request asks for.
    pub(crate) fn stepped(
        &mut self,
        command: &str,
        arguments: &Arguments,
    ) -> Result<Option<(usize, Step, Direction)>, Refused> {
        let by_instruction = match arguments.text("granularity")? {
            Some("instruction") => true,
            None | Some("line" | "statement") => false,
            Some(other) => return refused(format!("`{other}` is not a granularity")),
        };
        let (step, direction) = match (command, by_instruction) {
            ("next", false) => (Step::Over, Direction::Forward),
            ("next", true) => (Step::InstructionOver, Direction::Forward),
            ("stepIn", false) => (Step::Into, Direction::Forward),
            ("stepIn", true) => (Step::Instruction, Direction::Forward),
            ("stepOut", _) => (Step::Out, Direction::Forward),
            ("stepBack", false) => (Step::Over, Direction::Backward),
            ("stepBack", true) => (Step::Instruction, Direction::Backward),
            _ => return Ok(None),
        };
        let source = self.source_of(arguments)?;
        if command == "stepIn"
            && let Some(position) = self.step_target(arguments)?
        {
            return Ok(Some((source, Step::To(position), direction)));
        }
        Ok(Some((source, step, direction)))
    }

    /// Executes a step, and states where it ends.
    pub(crate) fn perform_step(
        &mut self,
        (source, step, direction): (usize, Step, Direction),
    ) -> Result<(), FindError> {
        let from = self.machine.here().position.element;
        let ended = self.step(source, step, direction)?;
        if direction == Direction::Forward {
            self.print_writes(from)?;
        }
        self.stopped(&ended, "step", None)
    }

    /// Executes a run, and states where it ends.
    pub(crate) fn perform_run(&mut self, direction: Direction) -> Result<(), FindError> {
        let from = self.machine.here().position.element;
        let ended = self.run(direction, None)?;
        if direction == Direction::Forward {
            self.print_writes(from)?;
        }
        self.stopped(&ended, "step", None)
    }

    /// States that the position is another one.
    pub(crate) fn stopped(
        &mut self,
        ended: &Ended,
        otherwise: &str,
        description: Option<String>,
    ) -> Result<(), FindError> {
        self.frames.clear();
        self.event = match ended.why {
            Why::Event(event) => Some(event),
            _ => None,
        };
        let here = self.machine.here();
        let mut body = Map::new();
        let mut texts: Vec<String> = description.into_iter().collect();
        let mut ids: &[u64] = &[];
        let reason = match &ended.why {
            Why::Step => otherwise,
            Why::Breakpoints(hit) => {
                ids = hit;
                self.reason_of(hit)
            }
            Why::Access(hit, accessed) => {
                ids = hit;
                texts.push(accessed.access.to_string());
                if !accessed.is_stated {
                    texts.push("the trace does not state which instruction made it".into());
                }
                "data breakpoint"
            }
            Why::Event(event) => {
                texts.push(event.element.to_string());
                "exception"
            }
            Why::Begin => {
                texts.push("the trace begins here".into());
                "entry"
            }
            Why::End => {
                texts.push("the trace ends here".into());
                "entry"
            }
        };
        if let Some(lost) = ended.lost {
            texts.push(format!("trace was lost on the way: {lost}"));
        }
        if ended.switched {
            texts.push("another task executes".into());
        }
        body.insert("reason".into(), reason.into());
        body.insert("threadId".into(), self.thread_id(here.source)?.into());
        body.insert("allThreadsStopped".into(), true.into());
        if !texts.is_empty() {
            let text = texts.join("; ");
            body.insert("description".into(), text.as_str().into());
            body.insert("text".into(), text.into());
        }
        if !ids.is_empty() {
            body.insert("hitBreakpointIds".into(), json!(ids));
        }
        self.out.event("stopped", Some(Value::Object(body)));
        Ok(())
    }

    /// The reason for a stop at breakpoints.
    fn reason_of(&self, hit: &[u64]) -> &'static str {
        use crate::breakpoint::Kind;
        let first = self.breakpoints.all.iter().find(|own| hit.contains(&own.id));
        match first.map(|own| &own.kind) {
            Some(Kind::Function) => "function breakpoint",
            Some(Kind::Instruction) => "instruction breakpoint",
            _ => "breakpoint",
        }
    }
}

/// The nearer one of two places in a direction.
fn nearer(direction: Direction, known: Option<Ahead>, other: Ahead) -> Option<Ahead> {
    let is_nearer = known.is_none_or(|known| match direction {
        Direction::Forward => other.position < known.position,
        Direction::Backward => other.position > known.position,
    });
    if is_nearer { Some(other) } else { known }
}
