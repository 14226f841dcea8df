//! Stage 2: speculation and transactions. (K10.5.3, K10.5.4)
//!
//! Transaction elements wait in the resolution queue with the other elements, and act when they are
//! resolved. The pseudocode of K10.5.4 acts when they are parsed, so that a failure would also
//! discard older elements that are not committed yet; Table K10-2, which removes Transaction Start
//! and Transaction Failure elements from the queue, presumes that they are in it.

use std::collections::VecDeque;

use super::follow::Follower;
use super::{Element, Lost, Malformed, Unit};

/// The resolution queue and the transaction queue.
pub(super) struct Resolver {
    ete: bool,
    transaction_start_is_p0: bool,
    /// Uncommitted elements, the oldest first.
    queue: VecDeque<Element>,
    /// The number of uncommitted P0 elements from before the start of the analysis; `None` before
    /// the first Trace Info element, and from a loss of trace to the next one.
    unseen: Option<u128>,
    /// There was a Trace Info element.
    started: bool,
    /// The elements of the open transaction.
    transaction: Option<Vec<Element>>,
    /// The trace began inside the open transaction.
    inside: bool,
    /// A Transaction Start or Transaction Failure element was cancelled: whether a transaction is
    /// open after that.
    pub(super) cancelled_step: Option<bool>,
}

impl Resolver {
    pub(super) fn new(unit: &Unit) -> Resolver {
        Resolver {
            ete: unit.ete,
            transaction_start_is_p0: unit.transaction_start_is_p0,
            queue: VecDeque::new(),
            unseen: None,
            started: false,
            transaction: None,
            inside: false,
            cancelled_step: None,
        }
    }

    fn is_p0(&self, element: &Element) -> bool {
        match element {
            Element::Atom { .. }
            | Element::Exception { .. }
            | Element::Q { .. }
            | Element::SourceAddress(..) => true,
            Element::TransactionStart => self.transaction_start_is_p0,
            _ => false,
        }
    }

    /// `Emit`. (K10.5.3.1.1)
    pub(super) fn emit(
        &mut self,
        element: Element,
        follower: &mut Follower<'_>,
    ) -> Result<(), Malformed> {
        match element {
            Element::TraceInfo { current_spec_depth, in_transaction } => {
                let pending = self.queue.iter().filter(|e| self.is_p0(e)).count() as u128;
                match self.unseen {
                    None => {
                        self.started = true;
                        self.unseen = Some(current_spec_depth);
                        if current_spec_depth > 0 {
                            follower.unseen();
                        }
                        if in_transaction {
                            self.transaction = Some(Vec::new());
                            self.inside = true;
                            follower.in_transaction();
                        }
                    }
                    Some(unseen) if unseen + pending != current_spec_depth => {
                        return Err(Malformed::TraceInfo);
                    }
                    _ => {}
                }
                self.queue.push_back(element);
            }
            Element::Event(_) if self.ete => self.queue.push_back(element),
            Element::Overflow => follower.lost(Lost::Overflow),
            // The loss of trace, of which it is part (K10.5.2.4), has ended the transaction.
            Element::TransactionFailure if self.started && self.unseen.is_none() => {}
            // The Trace Info element of K10.5.2.7 comes first.
            Element::TransactionFailure | Element::Discard if self.started => {
                if element == Element::Discard {
                    self.discard(follower)?;
                    follower.lost(Lost::Discard);
                } else {
                    self.queue.push_back(element);
                }
            }
            _ if self.unseen.is_none() => return Err(Malformed::NoTraceInfo),
            Element::Commit(count) => self.commit(count, follower)?,
            Element::Cancel(count) => self.cancel(count)?,
            _ => self.queue.push_back(element),
        }
        Ok(())
    }

    /// `ProcessCommit`. (K10.5.3.3.1)
    fn commit(&mut self, count: u128, follower: &mut Follower<'_>) -> Result<(), Malformed> {
        if count == 0 {
            return Err(Malformed::Commit);
        }
        let mut committed = 0;
        while committed < count {
            if let Some(unseen) = self.unseen.as_mut().filter(|unseen| **unseen > 0) {
                *unseen -= 1;
                committed += 1;
                continue;
            }
            let element = self.queue.pop_front().ok_or(Malformed::Commit)?;
            committed += u128::from(self.is_p0(&element));
            self.resolved(element, follower)?;
        }
        Ok(())
    }

    /// `ProcessCancel`. (K10.5.3.4.1)
    ///
    /// The pseudocode cancels the unseen elements first, which are the oldest, and hands on what a
    /// Cancel element retains at once, before older elements. Here the youngest elements are
    /// cancelled, and what is retained stays at its place.
    fn cancel(&mut self, count: u128) -> Result<(), Malformed> {
        if count == 0 {
            return Err(Malformed::Cancel);
        }
        let mut retained = Vec::new();
        let mut cancelled = 0;
        while cancelled < count {
            let Some(element) = self.queue.pop_back() else {
                let unseen = self.unseen.unwrap_or(0);
                let left = count - cancelled;
                self.unseen = Some(unseen.checked_sub(left).ok_or(Malformed::Cancel)?);
                break;
            };
            match element {
                Element::CycleCount(_)
                | Element::Event(_)
                | Element::TraceInfo { .. }
                | Element::Timestamp { .. } => retained.push(element),
                Element::TransactionCommit => return Err(Malformed::CancelIllegal),
                Element::TransactionFailure => self.cancelled_step = Some(false),
                _ => {
                    if element == Element::TransactionStart {
                        self.cancelled_step = Some(false);
                    }
                    cancelled += u128::from(self.is_p0(&element));
                }
            }
        }
        if let Some(open) = &mut self.cancelled_step {
            let step = self.queue.iter().rev().find_map(|element| match element {
                Element::TransactionStart => Some(true),
                Element::TransactionCommit | Element::TransactionFailure => Some(false),
                _ => None,
            });
            *open = step.unwrap_or(self.transaction.is_some());
        }
        self.queue.extend(retained.into_iter().rev());
        Ok(())
    }

    /// `ProcessDiscard`. (K10.5.3.5.1) Cycle Count elements are retained as in Table K10-2.
    fn discard(&mut self, follower: &mut Follower<'_>) -> Result<(), Malformed> {
        self.certain(follower)?;
        self.ends_transaction()?;
        self.unseen = None;
        let pending = std::mem::take(&mut self.queue);
        match self.transaction.take() {
            Some(open) => self.fail(open.into_iter().chain(pending).collect(), follower),
            None => {
                let outliving = pending.into_iter().filter(outlives);
                outliving.into_iter().try_for_each(|element| follower.element(element))
            }
        }
    }

    /// `ProcessTransaction`, and the transaction elements. (K10.5.4)
    fn resolved(&mut self, element: Element, follower: &mut Follower<'_>) -> Result<(), Malformed> {
        match (element, &mut self.transaction) {
            (Element::TransactionStart, None) => {
                self.transaction = Some(Vec::new());
                self.inside = false;
            }
            (Element::TransactionStart, Some(_)) => return Err(Malformed::Transaction),
            (Element::TransactionCommit, None) => return Err(Malformed::Transaction),
            (Element::TransactionCommit, Some(_)) => {
                if !self.inside {
                    follower.transaction(Element::TransactionStart);
                }
                for element in self.transaction.take().unwrap_or_default() {
                    follower.element(element)?;
                }
                follower.transaction(Element::TransactionCommit);
            }
            // Tolerated: "It is optional if a Transaction Failure element is traced". (K10.5.8.4)
            (Element::TransactionFailure, None) => {}
            (Element::TransactionFailure, Some(_)) => {
                let failed = self.transaction.take().unwrap_or_default();
                self.fail(failed, follower)?;
            }
            (element, Some(open)) => open.push(element),
            (element, None) => follower.element(element)?,
        }
        Ok(())
    }

    /// `ProcessTransactionFailure`. (K10.5.4.4) Events and cycle counts outlive the transaction. So
    /// does the context: an exception, which alone changes it, ends the transaction. A Trace On
    /// element, after which the context is unknown, does not come between the two.
    fn fail(&self, failed: Vec<Element>, follower: &mut Follower<'_>) -> Result<(), Malformed> {
        let mut branch = follower.has_branch();
        for element in failed {
            match element {
                Element::Atom { .. } | Element::SourceAddress(..) => branch = true,
                Element::Exception { .. } | Element::Q { .. } | Element::TraceOn => branch = false,
                // It applies to no branch, whether the transaction fails or not.
                Element::Mispredict if !branch => return Err(Malformed::Mispredict),
                _ => {}
            }
            if outlives(&element) || matches!(element, Element::Context(_) | Element::TraceOn) {
                follower.element(element)?;
            }
        }
        follower.transaction(Element::TransactionFailure);
        Ok(())
    }

    /// Elements before the oldest uncommitted P0 element are certain.
    pub(super) fn certain(&mut self, follower: &mut Follower<'_>) -> Result<(), Malformed> {
        if self.unseen.is_some_and(|unseen| unseen > 0) {
            return Ok(());
        }
        while let Some(element) = self.queue.front().copied()
            && !self.is_p0(&element)
        {
            self.queue.pop_front();
            self.resolved(element, follower)?;
        }
        Ok(())
    }

    /// What is not committed must not end a transaction that is committed.
    fn ends_transaction(&self) -> Result<(), Malformed> {
        match self.queue.contains(&Element::TransactionCommit) {
            true => Err(Malformed::Unresolved),
            false => Ok(()),
        }
    }

    /// The end of the stream: what is not committed is unknown.
    pub(super) fn end(&mut self, follower: &mut Follower<'_>) -> Result<(), Malformed> {
        self.certain(follower)?;
        self.ends_transaction()?;
        let open = self.transaction.take().unwrap_or_default();
        for element in open.into_iter().chain(std::mem::take(&mut self.queue)) {
            if outlives(&element) {
                follower.element(element)?;
            }
        }
        Ok(())
    }
}

/// Whether the element does not depend on the P0 elements around it.
fn outlives(element: &Element) -> bool {
    matches!(
        element,
        Element::CycleCount(_)
            | Element::Event(_)
            | Element::TraceInfo { .. }
            | Element::Timestamp { .. }
    )
}
