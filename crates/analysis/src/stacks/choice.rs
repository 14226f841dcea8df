//! Which of several tasks continues.
//!
//! Tasks that wait in the same function of the operating system continue at the same address. Which
//! of them does follows from where it returns to. Until then the transfers of the source wait.

use super::frame::{Thread, is_near};
use super::{Stacks, Visitor};
use crate::transfer::{Kind, Transfer};

/// The most transfers that wait for one choice.
const MAX_TRANSFERS: usize = 1 << 12;

/// A frame that began since the task continued.
#[derive(Clone, Copy, Debug)]
struct Above {
    ret: Option<u64>,
    exception: bool,
}

/// Execution continues in one of several tasks.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// The threads that it may be; the one that waits longest is the first.
    candidates: Vec<usize>,
    /// Where the current thread waits, if it is a candidate and another one continues.
    resume: Option<u64>,
    /// How many of their frames have returned since.
    returned: usize,
    above: Vec<Above>,
    transfers: Vec<Transfer>,
}

/// The frame on top when `returned` frames have returned.
fn return_address<N: Copy>(thread: Option<&Thread<N>>, returned: usize) -> Option<u64> {
    let frames = &thread?.frames;
    frames.get(frames.len().checked_sub(returned + 1)?)?.ret
}

impl Choice {
    pub(super) fn new(candidates: Vec<usize>, resume: Option<u64>) -> Choice {
        Choice { candidates, resume, ..Choice::default() }
    }

    /// A frame of one of the candidates returns to `target`. Returns whether there may be more to
    /// find.
    fn leave<N: Copy>(&mut self, threads: &[Thread<N>], target: u64) -> bool {
        let returned = self.returned;
        let returns =
            |number: &usize| return_address(threads.get(*number), returned) == Some(target);
        if !self.candidates.iter().any(returns) {
            return false;
        }
        self.candidates.retain(returns);
        self.returned += 1;
        self.is_open(threads)
    }

    /// Whether the candidates differ in what they return to.
    pub(super) fn is_open<N: Copy>(&self, threads: &[Thread<N>]) -> bool {
        let rest = |number: &usize| {
            let frames = threads.get(*number).map_or(&[][..], |thread| thread.frames.as_slice());
            let left = frames.len().saturating_sub(self.returned);
            frames.get(..left).unwrap_or_default().iter().rev().map(|frame| frame.ret)
        };
        let Some((first, others)) = self.candidates.split_first() else { return false };
        others.iter().any(|other| !rest(first).eq(rest(other)))
    }

    /// The next transfer. Returns whether later ones may show more.
    fn take<N: Copy>(&mut self, transfer: &Transfer, threads: &[Thread<N>]) -> bool {
        self.transfers.push(*transfer);
        if self.transfers.len() >= MAX_TRANSFERS {
            return false;
        }
        let Transfer { target, ret, .. } = *transfer;
        let top = self.above.last().copied();
        match transfer.kind {
            Kind::Run | Kind::Timestamp | Kind::Cycles | Kind::CyclesLost => true,
            Kind::Task | Kind::Jump | Kind::Fall => true,
            Kind::Call => {
                self.above.push(Above { ret, exception: false });
                true
            }
            Kind::Exception => {
                self.above.push(Above { ret, exception: true });
                true
            }
            Kind::ExceptionReturn => self.resumes(target),
            Kind::Return | Kind::Indirect | Kind::Swap => match top {
                Some(Above { exception: true, .. }) => self.resumes(target),
                Some(above) if above.ret == Some(target) => {
                    self.above.pop();
                    self.swap(transfer);
                    true
                }
                // It stays in the function, or is a tail call.
                _ if transfer.kind == Kind::Indirect && !self.returns(threads, target) => true,
                Some(_) => false,
                None => {
                    let open = self.leave(threads, target);
                    self.swap(transfer);
                    open
                }
            },
            Kind::Dwt | Kind::Write | Kind::LocalTime => true,
            Kind::TailChain | Kind::Enter | Kind::Untraced | Kind::Lost | Kind::Context => false,
        }
    }

    fn swap(&mut self, transfer: &Transfer) {
        if transfer.kind == Kind::Swap {
            self.above.push(Above { ret: transfer.ret, exception: false });
        }
    }

    /// Whether a candidate returns to `target`.
    fn returns<N: Copy>(&self, threads: &[Thread<N>], target: u64) -> bool {
        self.above.is_empty()
            && self
                .candidates
                .iter()
                .any(|number| return_address(threads.get(*number), self.returned) == Some(target))
    }

    /// A handler returns to `target`. Returns whether it is where it was taken.
    fn resumes(&mut self, target: u64) -> bool {
        let Some(handler) = self.above.iter().rposition(|above| above.exception) else {
            return false;
        };
        let own = self.above.get(handler).is_some_and(|above| is_near(above.ret, target));
        self.above.truncate(handler);
        own
    }
}

impl<V: Visitor> Stacks<V> {
    /// The transfer of a source that continues in one of several tasks waits. Returns whether it
    /// is one.
    pub(super) fn chooses(&mut self, source: usize, transfer: &Transfer) -> bool {
        let own = self.sources.get_mut(source);
        let Some(choice) = own.and_then(|own| own.choice.as_mut()) else { return false };
        if !choice.take(transfer, &self.threads) {
            self.choose(source);
        }
        true
    }

    /// A handler returns to `target`, where it interrupted the current thread. A task that waits
    /// there may continue instead.
    pub(super) fn may_switch(&mut self, source: usize, target: u64) {
        let Some(own) = self.sources.get(source) else { return };
        if own.has_ids || own.named.value.is_some() {
            return;
        }
        let Some(thread) = self.threads.get(own.current) else { return };
        if thread.frames.iter().any(|frame| frame.exception) {
            return;
        }
        let mut candidates = vec![own.current];
        candidates.extend(self.waiting_at(source, target));
        let choice = Choice::new(candidates, Some(target));
        if choice.is_open(&self.threads)
            && let Some(own) = self.sources.get_mut(source)
        {
            own.choice = Some(Box::new(choice));
        }
    }

    /// Whether a task of the source waits at one of these addresses.
    pub(super) fn may_resume(&self, source: usize, addresses: &[u64]) -> bool {
        let own = self.sources.get(source);
        own.is_some_and(|own| !own.has_ids && own.threads.len() > 1)
            && addresses.iter().any(|address| !self.waiting_at(source, *address).is_empty())
    }

    /// Continues with the task that it may be; among several, with the one that waits longest.
    pub(super) fn choose(&mut self, source: usize) {
        let Some(own) = self.sources.get_mut(source) else { return };
        let Some(choice) = own.choice.take() else { return };
        if let Some(&chosen) = choice.candidates.first() {
            let old = std::mem::replace(&mut own.current, chosen);
            if old != chosen && choice.resume.is_some() {
                own.switched += 1;
                self.counts.switches += 1;
                let since = own.switched;
                if let Some(thread) = self.threads.get_mut(old) {
                    (thread.parked, thread.since) = (choice.resume, since);
                }
            }
            if let Some(thread) = self.threads.get_mut(chosen) {
                thread.parked = None;
            }
        }
        for transfer in &choice.transfers {
            self.numbered(transfer);
        }
    }
}
