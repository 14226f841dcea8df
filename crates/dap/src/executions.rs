//! Executions of addresses: how many there are, and the place of the one with a number.

use tracewright::index::query::{Bound, Condition, Query, Which};
use tracewright::index::{Answer, FindError, Finder};
use tracewright_replay::Position;

use crate::session::Session;

/// How often one of `addresses` was executed, in the whole trace or before an element.
pub(crate) fn count(
    finder: &mut Finder<'_>,
    addresses: &[u64],
    before: Option<u64>,
) -> Result<u64, FindError> {
    let mut sum = 0u64;
    // A range may have several of them, and is one result.
    for &address in addresses {
        let conditions = vec![Condition::Address(address..address.saturating_add(1))];
        let element = |number: u64| Query {
            which: Which::First,
            conditions: vec![Condition::Element(number..number.saturating_add(1))],
            bound: None,
        };
        let bound = before.map(|number| (Bound::Before, Box::new(element(number))));
        let own = match finder.find(&Query { which: Which::Count, conditions, bound })? {
            Answer::Count(count) => count,
            Answer::Elements(found) => found.len() as u64,
        };
        sum = sum.saturating_add(own);
    }
    Ok(sum)
}

impl Session<'_> {
    /// The number, from 1, of the execution at a position among those of `addresses`.
    pub(crate) fn number_at(
        &mut self,
        position: Position,
        addresses: &[u64],
    ) -> Result<u64, FindError> {
        let before = count(self.machine.finder(), addresses, Some(position.element))?;
        let places = self.places_in(position.element, addresses)?;
        let here = places.iter().take_while(|place| **place < position).count() as u64;
        Ok(before + here + 1)
    }

    /// The place of the execution with a number, from 1, among those of `addresses`. `None` where
    /// there are fewer.
    pub(crate) fn place_of_number(
        &mut self,
        number: u64,
        addresses: &[u64],
    ) -> Result<Option<Position>, FindError> {
        if number > count(self.machine.finder(), addresses, None)? {
            return Ok(None);
        }
        // The range with a number of those that have at least one execution has the execution with
        // that number, or a later one.
        let (mut first, mut last) = (1, number);
        let mut nth = last;
        while first <= last {
            let Some(element) = self.nth_range(nth, addresses)? else {
                last = nth - 1;
                nth = first + (last.saturating_sub(first)) / 2;
                continue;
            };
            let before = count(self.machine.finder(), addresses, Some(element))?;
            let places = self.places_in(element, addresses)?;
            match number.checked_sub(before + 1) {
                None => last = nth - 1,
                Some(n) => match places.get(n as usize) {
                    Some(place) => return Ok(Some(*place)),
                    None => first = nth + 1,
                },
            }
            nth = first + (last.saturating_sub(first)) / 2;
        }
        Ok(None)
    }

    /// The number of the element that is the range with a number of those that have one of
    /// `addresses`.
    fn nth_range(&mut self, nth: u64, addresses: &[u64]) -> Result<Option<u64>, FindError> {
        let one = |address: &u64| *address..address.saturating_add(1);
        let conditions = vec![Condition::Addresses(addresses.iter().map(one).collect())];
        let query = Query { which: Which::Nth(nth), conditions, bound: None };
        Ok(match self.machine.finder().find(&query)? {
            Answer::Elements(found) => found.first().map(|found| found.number),
            Answer::Count(_) => None,
        })
    }

    /// The places of executions of `addresses` in an element, in order.
    fn places_in(&mut self, element: u64, addresses: &[u64]) -> Result<Vec<Position>, FindError> {
        let mut all = Vec::new();
        for &address in addresses {
            all.extend(self.machine.position_in(element, address)?);
        }
        all.sort_unstable();
        Ok(all)
    }
}
