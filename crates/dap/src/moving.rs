//! Runs and steps, and the events that state where they end.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tracewright::index::FindError;
use tracewright::index::query::Condition;
use tracewright_replay::{Accessed, Direction, Position, Stopped};

use crate::breakpoint::Breakpoint;
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
            value: None,
            instruction: here.number,
            thread: self.thread_id(here.source)? as u64,
        })
    }

    /// The breakpoints that are hit at the position. `numbers`: of executions of breakpoints on the
    /// way of the run in `direction`, by their identifiers.
    fn hit_here(
        &mut self,
        direction: Direction,
        numbers: &mut BTreeMap<u64, u64>,
    ) -> Result<Vec<u64>, FindError> {
        let here = self.machine.here();
        let at = |own: &&Breakpoint| own.log.is_none() && own.addresses.contains(&here.address);
        let candidates: Vec<Breakpoint> = self.breakpoints.all.iter().filter(at).cloned().collect();
        let (mut hit, mut known) = (Vec::new(), None);
        for own in candidates {
            if let Some(hits) = own.hits {
                // A run passes each execution of such addresses.
                let number = match (numbers.get(&own.id), direction) {
                    (Some(last), Direction::Forward) => last + 1,
                    (Some(last), Direction::Backward) => last.saturating_sub(1),
                    (None, _) => self.number_at(here.position, &own.addresses)?,
                };
                numbers.insert(own.id, number);
                if !hits.has(number) {
                    continue;
                }
            }
            if own.condition.is_some() {
                if known.is_none() {
                    known = Some(self.known()?);
                }
                if !known.as_ref().is_some_and(|known| own.holds(known)) {
                    continue;
                }
            }
            hit.push(own.id);
        }
        Ok(hit)
    }

    /// The place of the execution with a number of the breakpoint at index `n`.
    fn place_of_hit(&mut self, n: usize) -> Result<Option<Position>, FindError> {
        let Some(own) = self.breakpoints.all.get(n) else { return Ok(None) };
        let Some(HitCondition::Equal(number)) = own.hits else { return Ok(None) };
        if let Some(known) = own.place {
            return Ok(known);
        }
        let addresses = own.addresses.clone();
        let place = self.place_of_number(number, &addresses)?;
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
                    self.machine.go(hit.position)?;
                    let hits = self.watching(&hit)?;
                    // Behind the instruction that makes it, or going back, at that instruction.
                    let mut is_end = false;
                    if direction == Direction::Forward {
                        let source = self.machine.here().source;
                        is_end = self.machine.step(source, direction)?.why == Stopped::End;
                    }
                    let here = self.machine.here().position;
                    let reached = ahead.filter(|ahead| ahead.position == here);
                    match hits {
                        Some((ids, hit)) => Why::Access(ids, hit),
                        None if is_end => Why::End,
                        None => {
                            let reached = reached.map(|ahead| ahead.what);
                            match self.arrived(direction, reached, &mut numbers)? {
                                Some(why) => why,
                                None => continue,
                            }
                        }
                    }
                }
                (why, what) => {
                    let reached = what.filter(|_| why == Stopped::Step);
                    match self.arrived(direction, reached, &mut numbers)? {
                        Some(why) => why,
                        None => continue,
                    }
                }
            };
            return ended(why, lost);
        }
    }

    /// Why a run ends at the position, if it does. `reached`: what is there, apart from breakpoints
    /// at addresses.
    fn arrived(
        &mut self,
        direction: Direction,
        reached: Option<What>,
        numbers: &mut BTreeMap<u64, u64>,
    ) -> Result<Option<Why>, FindError> {
        let mut hit = self.hit_here(direction, numbers)?;
        match reached {
            Some(What::Hit(id)) if !hit.contains(&id) => hit.push(id),
            _ => {}
        }
        Ok(match (hit.is_empty(), reached) {
            (false, _) => Some(Why::Breakpoints(hit)),
            (true, Some(What::Event(event))) => Some(Why::Event(event)),
            (true, Some(_)) => Some(Why::Step),
            (true, None) => None,
        })
    }

    /// The data breakpoints that the instruction of an access touches, and the first access of it
    /// for which a condition holds.
    fn watching(&mut self, hit: &Accessed) -> Result<Option<(Vec<u64>, Accessed)>, FindError> {
        // One instruction may make several accesses.
        let mut all = match hit.is_stated {
            true => self.machine.accesses(self.machine.here().source)?,
            false => Vec::new(),
        };
        if !all.contains(&hit.access) {
            all = vec![hit.access];
        }
        let (mut ids, mut first, mut known) = (Vec::new(), None, None);
        for access in all {
            for n in 0..self.breakpoints.all.len() {
                let Some(own) = self.breakpoints.all.get(n) else { break };
                let Some(address) = own.watch.as_ref().and_then(|watch| watch.touched(&access))
                else {
                    continue;
                };
                let id = own.id;
                if own.condition.is_some() {
                    if known.is_none() {
                        known = Some(self.known()?);
                    }
                    let with = known.map(|known| Known { value: access.value(), ..known });
                    let own = self.breakpoints.all.get(n);
                    if !own.zip(with).is_some_and(|(own, known)| own.holds(&known)) {
                        continue;
                    }
                }
                first.get_or_insert(Accessed { access, address, ..*hit });
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
        }
        Ok(first.map(|first| (ids, first)))
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
                texts.push(event.text());
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
