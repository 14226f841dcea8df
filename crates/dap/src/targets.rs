//! The functions that the current line calls, as targets of a step.

use std::rc::Rc;

use serde_json::{Value, json};
use tracewright::index::FindError;
use tracewright_replay::{Direction, Position};

use crate::message::{Arguments, Refused, refused};
use crate::session::Session;
use crate::stepping::{Next, Walk};

/// The most functions.
const MOST: usize = 64;

/// The most instructions of the line that are looked at.
const MOST_INSTRUCTIONS: usize = 1 << 12;

impl Session<'_> {
    /// The functions that the current line calls from the position on, in order.
    pub(crate) fn step_in_targets(&mut self, arguments: &Arguments) -> Result<Value, Refused> {
        let shown = self.frames.get(arguments.needed("frameId")?)?;
        let (source, frame) = (shown.source, shown.frame.filter(|_| !shown.waits));
        // Those of callers are executed already.
        let called = match frame {
            Some(0) => {
                let from = self.machine.here().position;
                let called = self.called(source);
                self.machine.go(from)?;
                called?
            }
            _ => Vec::new(),
        };
        let mut targets = Vec::new();
        for (name, position) in called {
            let id = self.target(position);
            targets.push(json!({ "id": id, "label": name }));
        }
        Ok(json!({ "targets": targets }))
    }

    /// The names and the first instructions of the functions that the current line calls.
    fn called(&mut self, source: usize) -> Result<Vec<(String, Position)>, FindError> {
        let mut all = Vec::new();
        let Some(start) = self.machine.at(source)? else { return Ok(all) };
        let place = self.program.at(start.address);
        let Some(line) = place.row.map(|row| row.line) else { return Ok(all) };
        let level = self.level(source)?;
        let walk = Walk { level, place: Rc::clone(&place), line, into: true };
        for _ in 0..MOST_INSTRUCTIONS {
            let (here, top) = match self.next_of(source, &walk)? {
                Next::Here(here, top) => (here, top),
                Next::Goal(goal) => {
                    let entered = goal.position.filter(|_| goal.lost.is_none() && !goal.switched);
                    let Some(position) = entered.filter(|_| all.len() < MOST) else { break };
                    let function = self.machine.stack(source)?.first().map(|top| top.function);
                    let Some(function) = function else { break };
                    all.push((self.machine.code().name(function).into_owned(), position));
                    match self.passed(source, Direction::Forward, level)? {
                        Some(Next::Here(here, top)) => (here, top),
                        _ => break,
                    }
                }
            };
            let own = self.program.at(here.address).row;
            let is_other = own.is_some_and(|row| row.begins && row.line != line);
            if top != level || is_other {
                break;
            }
        }
        Ok(all)
    }

    /// The position of the target of a step.
    pub(crate) fn step_target(&self, arguments: &Arguments) -> Result<Option<Position>, Refused> {
        let Some(id) = arguments.count("targetId")? else { return Ok(None) };
        let position = id.checked_sub(1).and_then(|n| self.targets.get(n)).copied();
        match position.filter(|position| *position > self.machine.here().position) {
            Some(position) => Ok(Some(position)),
            None => refused("there is no such target from here on"),
        }
    }
}
