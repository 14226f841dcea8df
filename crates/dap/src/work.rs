//! What is done while the client waits for nothing: executions of breakpoints are counted, and log
//! points listed.

use std::io;

use serde_json::json;
use tracewright::index::query::{Condition, Query, Which};
use tracewright::index::{Answer, FindError};

use crate::breakpoint::Breakpoint;
use crate::conditions::{Known, message};
use crate::executions::count;
use crate::pending::Piece;
use crate::session::Session;

/// The most lines of a log point.
const MOST: usize = 10_000;

/// The most addresses whose counts are remembered.
const MOST_COUNTED: usize = 1 << 16;

/// The most log points that are remembered as listed.
const MOST_LISTED: usize = 1 << 10;

impl Session<'_> {
    /// Forgets what is to be done for breakpoints that are not set any more.
    pub(crate) fn forget_work(&mut self) {
        let all = &self.breakpoints.all;
        self.work.pieces.retain(|piece| match piece {
            Piece::Count(id) | Piece::List(id) => all.iter().any(|own| own.id == *id),
        });
    }

    /// Remembers what is to be done for a breakpoint.
    pub(crate) fn plan_work(&mut self, own: &Breakpoint) {
        if own.addresses.is_empty() {
            return;
        }
        self.work.pieces.push_back(Piece::Count(own.id));
        if own.log.is_some() {
            self.work.pieces.push_back(Piece::List(own.id));
        }
    }

    /// Remembers how often an address is executed.
    pub(crate) fn count_is(&mut self, address: u64, count: u64) {
        if self.counts.len() >= MOST_COUNTED {
            self.counts.clear();
        }
        self.counts.insert(address, count);
    }

    /// Whether there is something to do.
    pub fn has_work(&self) -> bool {
        !self.work.pieces.is_empty()
    }

    /// Does a piece of work. A message that arrives interrupts it; it is begun again then.
    pub fn work(&mut self) {
        let Some(piece) = self.work.pieces.pop_front() else { return };
        let done = match &piece {
            Piece::Count(id) => self.count_breakpoint(*id),
            Piece::List(id) => self.list(*id),
        };
        match done {
            Err(FindError::Read(error)) if error.kind() == io::ErrorKind::Interrupted => {
                self.work.pieces.push_front(piece);
            }
            Err(error) => self.out.console(&format!("executions are not counted: {error}")),
            Ok(()) => {}
        }
    }

    fn count_breakpoint(&mut self, id: u64) -> Result<(), FindError> {
        let own = self.breakpoints.all.iter().find(|own| own.id == id);
        let Some(addresses) = own.map(|own| own.addresses.clone()) else { return Ok(()) };
        let mut sum = 0u64;
        for address in addresses {
            let known = self.counts.get(&address).copied();
            let own = match (known, self.counter.as_mut()) {
                (Some(known), _) => known,
                (None, Some(counter)) => count(counter, &[address], None)?,
                (None, None) => return Ok(()),
            };
            self.count_is(address, own);
            sum = sum.saturating_add(own);
        }
        if let Some(own) = self.breakpoints.all.iter_mut().find(|own| own.id == id) {
            own.count = Some(sum);
        }
        let own = self.breakpoints.all.iter().find(|own| own.id == id).cloned();
        if let Some(own) = own {
            let body = json!({ "reason": "changed", "breakpoint": self.describe(&own) });
            self.out.event("breakpoint", Some(body));
        }
        Ok(())
    }

    /// Lists the executions of a log point.
    fn list(&mut self, id: u64) -> Result<(), FindError> {
        let own = self.breakpoints.all.iter().find(|own| own.id == id).cloned();
        let Some((own, template)) = own.and_then(|own| Some((own.clone(), own.log?))) else {
            return Ok(());
        };
        for &address in &own.addresses {
            let key = (address, template.clone());
            if self.work.listed.contains(&key) {
                continue;
            }
            let Some(counter) = self.counter.as_mut() else { return Ok(()) };
            counter.limit = MOST + 1;
            let conditions = vec![Condition::Address(address..address.saturating_add(1))];
            let all = Query { which: Which::All, conditions, bound: None };
            let Answer::Elements(found) = counter.find(&all)? else { return Ok(()) };
            let has_more = found.len() > MOST;
            for (n, found) in (1..).zip(found.iter().take(MOST)) {
                let known = self.known_at(found.number, address)?;
                let Some(known) = known.filter(|known| own.holds(known)) else { continue };
                if own.hits.is_some_and(|hits| !hits.has(n)) {
                    continue;
                }
                let time = known.time.map_or(String::new(), |time| format!("time {time}, "));
                let text = message(&template, &known, n);
                self.print_log(
                    &format!("{text}  [{time}instruction {}]", known.instruction),
                    address,
                );
            }
            if has_more {
                self.out.console(&format!("[the first {MOST} executions are listed]"));
            }
            if self.work.listed.len() >= MOST_LISTED {
                self.work.listed.clear();
            }
            self.work.listed.push(key);
        }
        Ok(())
    }

    /// What is known at an execution. The position stays.
    fn known_at(&mut self, element: u64, address: u64) -> Result<Option<Known>, FindError> {
        let from = self.machine.here().position;
        let Some(position) = self.machine.position_in(element, address)? else { return Ok(None) };
        let there = self.machine.go(position)?;
        let known = if there { self.known().map(Some) } else { Ok(None) };
        self.machine.go(from)?;
        known
    }
}
