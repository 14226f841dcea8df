//! Runs to exceptions and lost trace.

use serde_json::{Value, json};
use tracewright::base::Element;
use tracewright::index::FindError;
use tracewright::index::query::Condition;
use tracewright_replay::{Direction, Position};

use crate::filters::{Event, FILTERS, Filter, is_fault, is_interrupt};
use crate::message::{Arguments, Refused, refused};
use crate::session::Session;

/// The numbers of exceptions whose names are looked at. Those of RISC-V with the flag of interrupts
/// are none of faults.
const NUMBERS: u16 = 1 << 10;

impl Session<'_> {
    /// The name of an exception.
    fn exception_name(&self, source: usize, number: u16) -> Option<String> {
        let planned = self.plan.sources.get(source)?;
        planned.config.exception_name(number).map(|name| name.into_owned())
    }

    /// Whether a run ends at an element.
    fn stops_at(&self, event: &Event) -> bool {
        let has = |filter: Filter| self.breakpoints.filters.contains(&filter);
        match event.element {
            Element::Exception(own) => {
                let name = self.exception_name(event.source, own.number);
                let is = |known: fn(&str) -> bool| name.as_deref().is_some_and(known);
                has(Filter::Exceptions)
                    || has(Filter::Interrupts) && is(is_interrupt)
                    || has(Filter::Faults) && is(is_fault)
            }
            Element::Undecodable { .. } => has(Filter::Undecodable),
            Element::Range(_) | Element::ExceptionReturn => has(Filter::Returns),
            _ => has(Filter::Losses),
        }
    }

    /// What is searched for. Faults are rare: their numbers are searched for, and not all
    /// exceptions.
    fn event_conditions(&self) -> Vec<Condition> {
        let has = |filter: Filter| self.breakpoints.filters.contains(&filter);
        let mut all = Vec::new();
        if has(Filter::Losses) || has(Filter::Undecodable) {
            all.push(Condition::Gap);
        }
        if has(Filter::Returns) {
            all.push(Condition::ExceptionReturn);
        }
        if has(Filter::Exceptions) || has(Filter::Interrupts) {
            all.push(Condition::Exception(None));
        } else if has(Filter::Faults) {
            let sources = || 0..self.plan.sources.len();
            let is = |source: usize, number: u16| {
                self.exception_name(source, number).is_some_and(|name| is_fault(&name))
            };
            let numbers = (0..NUMBERS).filter(|n| sources().any(|source| is(source, *n)));
            all.extend(numbers.map(|number| Condition::Exception(Some(number.into()))));
        }
        all
    }

    /// The nearest event in a direction that ends a run, and the instruction that follows it.
    pub(crate) fn event_ahead(
        &mut self,
        direction: Direction,
    ) -> Result<Option<(Position, Event)>, FindError> {
        let here = self.machine.here().position;
        let mut nearest: Option<(Position, Event)> = None;
        for condition in self.event_conditions() {
            let condition = [condition];
            let mut number = here.element;
            loop {
                let finder = self.machine.finder();
                let found = match direction {
                    Direction::Forward => finder.next(number, &condition)?,
                    Direction::Backward => finder.previous(number, &condition)?,
                };
                let Some(found) = found else { break };
                number = found.number;
                let event = Event { element: found.element, source: found.source };
                if !self.stops_at(&event) {
                    continue;
                }
                // A range is behind its instructions.
                let behind = u64::from(matches!(found.element, Element::Range(_)));
                let Some(after) = self.machine.after(found.number.saturating_add(behind))? else {
                    break;
                };
                let own = after.position;
                let (is_ahead, is_nearer) = match direction {
                    Direction::Forward => (own > here, nearest.is_none_or(|(at, _)| own < at)),
                    Direction::Backward => (own < here, nearest.is_none_or(|(at, _)| own > at)),
                };
                if is_ahead {
                    if is_nearer {
                        nearest = Some((own, event));
                    }
                    break;
                }
            }
        }
        Ok(nearest)
    }

    pub(crate) fn set_exception_breakpoints(
        &mut self,
        arguments: &Arguments,
    ) -> Result<Value, Refused> {
        let mut names = arguments.texts("filters")?;
        for option in arguments.objects("filterOptions")? {
            names.extend(option.text("filterId")?.map(str::to_owned));
        }
        let known = |name: &String| FILTERS.iter().find(|(_, own, ..)| own == name);
        let one = |name: &String| match known(name) {
            Some(_) => json!({ "verified": true }),
            None => json!({ "verified": false, "message": format!("there is no filter `{name}`") }),
        };
        let body = json!({ "breakpoints": names.iter().map(one).collect::<Vec<_>>() });
        self.breakpoints.filters = names.iter().filter_map(known).map(|own| own.0).collect();
        Ok(body)
    }

    /// The exception, or the loss, at which the trace stands since the last run.
    pub(crate) fn exception_info(&self) -> Result<Value, Refused> {
        let Some(event) = self.event else {
            return refused("the last run or step has not ended at an exception or a loss");
        };
        let (id, name) = match event.element {
            Element::Exception(own) => {
                let name = self.exception_name(event.source, own.number);
                (format!("exception {}", own.number), name)
            }
            Element::Range(_) => (Element::ExceptionReturn.kind().to_owned(), None),
            element => (element.kind().to_owned(), None),
        };
        let name = name.unwrap_or_else(|| id.clone());
        Ok(json!({
            "exceptionId": id,
            "description": event.text(),
            "breakMode": "always",
            "details": { "typeName": name, "message": event.text() },
        }))
    }
}
