//! Elements that OpenCSD's ETMv4 decoder lists when it commits the element of execution after them.

use std::mem;

use tracewright_base::{Element, Transaction};

/// The most elements that wait.
const MOST: usize = 16;

/// Elements that wait for an element of execution or a packet, with their offsets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Held {
    waiting: Vec<(u64, Element)>,
    /// The [`Element::NoCode`] after which no range was decoded, with its offset.
    missing: Option<(u64, Element)>,
}

impl Held {
    /// Whether none waits, and no code is missing.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.missing.is_none()
    }

    /// Whether `what` waits, too; then it is stored. At the end of the trace, those that OpenCSD
    /// does not list are dropped. After `false`, those that are stored are listed before `what`.
    pub(super) fn waits(&mut self, at: u64, what: &Element) -> bool {
        let waits = match what {
            Element::TraceOn(_) | Element::Context(_) => true,
            Element::Timestamp { .. }
            | Element::Cycles(_)
            | Element::Events(_)
            | Element::Marker
            | Element::Transaction(_)
            | Element::Instrumentation { .. } => !self.waiting.is_empty(),
            Element::End => {
                self.end();
                false
            }
            _ => false,
        };
        let waits = waits && self.waiting.len() < MOST;
        if waits {
            self.waiting.push((at, *what));
        }
        waits
    }

    /// What OpenCSD reports once more before `what`: where code is missing, it is so again at an
    /// exception of a later packet that returns to an address behind it.
    pub(super) fn missing_before(&mut self, at: u64, what: &Element) -> Option<Element> {
        match what {
            Element::NoCode { .. } => self.missing = Some((at, *what)),
            Element::Exception(exception) => {
                let (missing_at, missing) = self.missing.take()?;
                let Element::NoCode { address, .. } = missing else { return None };
                let later = missing_at != at && !exception.also_target;
                let to = exception.return_address.filter(|_| later);
                return to.filter(|to| address < *to).map(|_| missing);
            }
            Element::Range(_) | Element::TraceOn(_) | Element::Gap(_) => self.missing = None,
            _ => {}
        }
        None
    }

    /// Nothing commits what follows the start of trace; a context, and the start of a transaction,
    /// matter only to an element of execution.
    fn end(&mut self) {
        let first = self.waiting.iter().position(|(_, what)| matches!(what, Element::TraceOn(_)));
        self.waiting.truncate(first.unwrap_or(usize::MAX));
        let started = |what: &Element| match what {
            Element::Transaction(step) => matches!(step, Transaction::Inside | Transaction::Start),
            what => matches!(what, Element::Context(_)),
        };
        self.waiting.retain(|(_, what)| !started(what));
    }

    /// Takes those that wait.
    pub(super) fn take(&mut self) -> Vec<(u64, Element)> {
        mem::take(&mut self.waiting)
    }

    /// Returns the memory of [`take`](Self::take).
    pub(super) fn put_back(&mut self, mut taken: Vec<(u64, Element)>) {
        taken.clear();
        self.waiting = taken;
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{Context, Exception, Space, Start};

    use super::*;

    /// What is listed of `elements`, each at the offset of its index, by offset, and what of them
    /// only at the end.
    fn listed(elements: &[Element]) -> (Vec<u64>, Vec<u64>) {
        let (mut held, mut before, mut at_end) = (Held::default(), Vec::new(), Vec::new());
        for (at, what) in elements.iter().enumerate() {
            if held.waits(at as u64, what) {
                continue;
            }
            let out = if *what == Element::End { &mut at_end } else { &mut before };
            let taken = held.take();
            out.extend(taken.iter().map(|(at, _)| *at));
            held.put_back(taken);
            out.push(at as u64);
        }
        (before, at_end)
    }

    #[test]
    fn what_waits_at_the_end_is_not_all_listed() {
        let (on, context) = (Element::TraceOn(Start::Normal), Element::Context(Context::default()));
        let time = Element::Timestamp { value: 5, cycles: None };
        let [inside, failure] =
            [Transaction::Inside, Transaction::Failure].map(Element::Transaction);
        for (elements, want) in [
            (&[time, context, time, Element::End][..], (vec![0], vec![2, 3])),
            (&[time, context, Element::ExceptionReturn, Element::End], (vec![0, 1, 2], vec![3])),
            (&[context, time, on, time, Element::End], (vec![], vec![1, 4])),
            (&[context, inside, failure, Element::End], (vec![], vec![2, 3])),
            (&[on, context, Element::End], (vec![], vec![2])),
        ] {
            assert_eq!(listed(elements), want, "{elements:?}");
        }
        // No more than a few wait.
        let many = [context].repeat(40);
        assert_eq!(listed(&many).0, (0..34).collect::<Vec<_>>());
    }

    #[test]
    fn missing_code_is_missing_at_an_exception_behind_it() {
        let missing = Element::NoCode { address: 0x1000, space: Space::default() };
        let exception = |return_address, also_target| {
            Element::Exception(Exception {
                number: 1,
                return_address,
                also_target,
                tail_chain: false,
            })
        };
        for (elements, want) in [
            (&[missing, exception(Some(0x1004), false)][..], Some(missing)),
            (&[missing, exception(Some(0x1000), false)], None),
            (&[missing, exception(Some(0x1004), true)], None),
            (&[missing, exception(None, false)], None),
            (&[missing, Element::TraceOn(Start::Normal), exception(Some(0x1004), false)], None),
            (&[missing, Element::Marker, exception(Some(0x1004), false)], Some(missing)),
            (&[exception(Some(0x1004), false)], None),
        ] {
            let mut held = Held::default();
            let found = (0..).zip(elements).map(|(at, what)| held.missing_before(at, what)).last();
            assert_eq!(found, Some(want), "{elements:?}");
        }
    }
}
