//! The resolution of elements: committed, discarded, or pending where the trace ends. (ETE K10.5.3)

use tracewright_base::{BlockCache, Element, Exception, Gap, Inconsistency, Sink, Transaction};

use super::Decoder;
use super::flow::Rules;
use super::returns::Returns;
use super::window::{Item, What};
use crate::cursor::Cursor;

/// The return address of a tail-chained exception, with the T32 bit. (M profile)
const TAIL_CHAIN: u64 = 0xffff_ffff;

/// The target address of a Q element.
enum Continuation {
    /// Execution continues at this address.
    At(u64),
    /// No packet has given it, and a later one can.
    Waits,
    /// The trace continues without it.
    Missing,
    /// The trace states that it is not known.
    Unknown,
}

impl Decoder {
    /// A Discard or Overflow packet: the unresolved elements will not be resolved. (ETE K10.5.3.5)
    #[cold]
    pub(super) fn discard<S: Sink>(&mut self, at: u64, gap: Gap, sink: &mut S) {
        self.drain_session(at, sink);
        self.lose();
        self.stage = super::Stage::Discarded;
        sink.element(at, Element::Gap(gap));
    }

    /// Removes all items as [`drain`](Self::drain). An open transaction has failed.
    pub(super) fn drain_session<S: Sink>(&mut self, at: u64, sink: &mut S) {
        self.drain(sink);
        if self.transaction && !self.start_unknown {
            self.step(at, Transaction::Failure, sink);
        }
    }

    /// Removes all items, and emits those that are never cancelled (ETE Table K10-2) and
    /// transaction steps before the first P0 element, which are certain.
    pub(super) fn drain<S: Sink>(&mut self, sink: &mut S) {
        let (mut removed_start, mut certain) = (false, true);
        while let Some(Item { at, what }) = self.window.pop_front() {
            certain &= what.p0() == 0;
            match what {
                What::Transaction { step: Transaction::Start, .. } if !certain => {
                    removed_start = true;
                }
                // The end of a transaction whose start was not emitted is not emitted, either.
                What::Transaction { step: Transaction::Commit | Transaction::Failure, .. }
                    if core::mem::take(&mut removed_start) => {}
                What::Transaction { step, .. } => self.step(at, step, sink),
                What::Mispredict if certain && !self.flow.correct(at, sink) => {
                    emit(at, What::StrayMispredict, sink);
                }
                what if what.survives() || what == What::StrayMispredict => emit(at, what, sink),
                _ => {}
            }
        }
    }

    fn step<S: Sink>(&mut self, at: u64, step: Transaction, sink: &mut S) {
        // The instructions of a failed transaction have no effect. (ETE K10.5.4.4)
        if self.transaction && step == Transaction::Failure {
            self.flow.fail_transaction(self.returns_before, self.waits_before);
        }
        self.transaction = step.opens();
        self.start_unknown &= step == Transaction::Inside;
        if self.transaction {
            self.returns_before = self.flow.returns;
            self.waits_before = self.flow.waits_for_target();
        }
        sink.element(at, Element::Transaction(step));
    }

    /// Resolves the items before the first P0 element. Returns `false` if the program image is
    /// wrong.
    pub(super) fn flush<K: BlockCache, S: Sink>(
        &mut self,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        while let Some(&item) = self.window.front()
            && item.what.p0() == 0
        {
            self.window.pop_front();
            let left = self.window.len();
            if !self.resolve(item, &mut 0, rules, code, sink) {
                return false;
            }
            debug_assert!(self.window.len() <= left, "{item:?} stays in the window");
        }
        true
    }

    /// Commits the `n` oldest P0 elements and all items before them, from `cursor` on. Returns
    /// `false` if the program image is wrong.
    pub(super) fn commit<K: BlockCache, S: Sink>(
        &mut self,
        cursor: &mut Cursor,
        at: u64,
        mut n: u32,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        while n > 0 {
            let Some(item) = self.window.front_mut() else {
                self.depth = 0;
                self.flow.settle(cursor.take(), rules, code);
                self.flow.lose();
                sink.element(at, Element::Inconsistency(Inconsistency::CommitOfNothing));
                return true;
            };
            // Most items are of these two kinds. Their fields are read where they are: a copy of
            // the whole item waits for the stores of the fields.
            let before = n;
            let good = match &mut item.what {
                What::Atoms { first, last, len } => {
                    let (at, traced, taken) = (item.at, *first, *last);
                    let now = u32::from(*len).min(n);
                    n -= now;
                    if u32::from(*len) > now {
                        (*first, *last, *len) = (traced >> now, taken >> now, *len - now as u8);
                    } else {
                        self.window.pop_front();
                    }
                    let from = cursor.take();
                    match self.flow.atoms(from, at, taken, traced, now, rules, code, sink) {
                        Some(after) => {
                            *cursor = after;
                            true
                        }
                        None => false,
                    }
                }
                &mut What::Address { address, is1 } => {
                    let at = item.at;
                    self.window.pop_front();
                    self.flow.settle(cursor.take(), rules, code);
                    self.address_resolved(at, address, is1, rules, sink);
                    true
                }
                _ => {
                    let item = *item;
                    self.window.pop_front();
                    let left = self.window.len();
                    self.flow.settle(cursor.take(), rules, code);
                    let good = self.resolve(item, &mut n, rules, code, sink);
                    debug_assert!(
                        n < before || self.window.len() <= left,
                        "{item:?} stays in the window, and none of its P0 elements is resolved"
                    );
                    good
                }
            };
            self.depth = self.depth.saturating_sub(before - n);
            if !good {
                return false;
            }
        }
        true
    }

    /// Resolves one item that is not atoms, or at most `n` of its P0 elements. Subtracts their
    /// number from `n`. Each call removes the item or reduces its number of P0 elements.
    fn resolve<K: BlockCache, S: Sink>(
        &mut self,
        item: Item,
        n: &mut u32,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let at = item.at;
        match item.what {
            What::Unseen(unseen) => {
                let now = unseen.min(*n);
                *n -= now;
                if unseen > now {
                    self.window.push_front(Item { at, what: What::Unseen(unseen - now) });
                }
            }
            // `commit` resolves atoms.
            What::Atoms { .. } => {}
            What::Source { address, is1, taken } => {
                *n = n.saturating_sub(1);
                return self.flow.source(at, address, is1, taken, rules, code, sink);
            }
            What::Exception { number, return_address, also_target } => {
                *n = n.saturating_sub(1);
                // An exception immediately after the return from another.
                let tail_chain =
                    rules.thumb_only && return_address.is_some_and(|to| to | 1 == TAIL_CHAIN);
                let return_address = return_address.filter(|_| !tail_chain);
                let taken = Exception { number, return_address, also_target, tail_chain };
                return self.flow.exception(at, taken, rules, code, sink);
            }
            What::ExceptionReturn { p0 } => {
                *n = n.saturating_sub(p0.into());
                sink.element(at, Element::ExceptionReturn);
            }
            What::FunctionReturn => *n = n.saturating_sub(1),
            What::Q { count, committed } => {
                *n = n.saturating_sub((!committed).into());
                let next = match self.continuation(*n > 0) {
                    Continuation::At(next) => Some(next),
                    Continuation::Waits if !committed => {
                        let what = What::Q { count, committed: true };
                        self.window.push_front(Item { at, what });
                        return true;
                    }
                    Continuation::Waits | Continuation::Missing => None,
                    Continuation::Unknown => {
                        self.flow.loses_with_cause();
                        None
                    }
                };
                return self.flow.q(at, count, next, rules, code, sink);
            }
            What::Transaction { step, p0 } => {
                *n = n.saturating_sub(p0.into());
                self.step(at, step, sink);
            }
            What::UnknownTarget => self.flow.unknown_target(),
            What::Address { address, is1 } => {
                self.address_resolved(at, address, is1, rules, sink);
            }
            What::Context(context) => {
                code.enter_context(&context);
                self.flow.set_context(at, context, rules, sink);
            }
            What::TraceOn => {
                self.flow.trace_on(at, sink);
                self.returns_before = Returns::default();
                self.waits_before = false;
            }
            What::TraceInfo => {
                self.flow.trace_info(rules);
                self.returns_before = Returns::default();
                self.waits_before = false;
            }
            What::Mispredict if self.flow.mispredict(at, rules, code, sink) => {}
            What::Mispredict => {
                self.flow.lose();
                emit(at, What::StrayMispredict, sink);
            }
            What::StrayMispredict => {
                self.flow.lose();
                emit(at, What::StrayMispredict, sink);
            }
            what => emit(at, what, sink),
        }
        true
    }

    /// Continues at a traced address, which was removed from the front of the window. If a context
    /// is part of its packet, it may be that of another thread, and the last instruction does not
    /// lead to it.
    #[inline]
    fn address_resolved<S: Sink>(
        &mut self,
        at: u64,
        address: u64,
        is1: bool,
        rules: Rules,
        sink: &mut S,
    ) {
        let begins_context = |next: &Item| next.at == at && matches!(next.what, What::Context(_));
        if self.flow.leads_elsewhere(address) && self.window.front().is_some_and(begins_context) {
            self.flow.move_to(address, is1, rules);
        } else {
            self.flow.set_address(at, address, is1, rules, sink);
        }
    }

    /// Resolves a committed Q element in front of the window whose address is traced: no later
    /// packet can cancel it. Returns `false` if the program image is wrong.
    pub(super) fn resolve_q<K: BlockCache, S: Sink>(
        &mut self,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        if !self.has_committed_q() {
            return true;
        }
        let Some(item) = self.window.pop_front() else { return true };
        if matches!(self.continuation(false), Continuation::At(_) | Continuation::Unknown) {
            return self.resolve(item, &mut 0, rules, code, sink);
        }
        self.window.push_front(item);
        true
    }

    /// Whether the address of a committed Q element can still follow.
    pub(super) fn waits_for_q_address(&self) -> bool {
        self.has_committed_q() && matches!(self.continuation(false), Continuation::Waits)
    }

    /// Whether a committed Q element is in front of the window.
    #[inline]
    pub(super) fn has_committed_q(&self) -> bool {
        let front = self.window.front();
        front.is_some_and(|item| matches!(item.what, What::Q { committed: true, .. }))
    }

    /// The address after the Q element that was in front of the window: the first one before the
    /// next P0 element and the next Trace On. `commits`: the next P0 element is committed, too. If
    /// it is not, it can be cancelled, and the address can follow.
    fn continuation(&self, commits: bool) -> Continuation {
        for item in &self.window {
            match item.what {
                What::Address { address, .. } => return Continuation::At(address),
                What::UnknownTarget => return Continuation::Unknown,
                What::TraceOn => return Continuation::Missing,
                what if what.p0() > 0 && commits => return Continuation::Missing,
                what if what.p0() > 0 => break,
                _ => {}
            }
        }
        Continuation::Waits
    }
}

/// Emits an item that does not concern the program flow.
#[inline(never)]
pub(super) fn emit<S: Sink>(at: u64, what: What, sink: &mut S) {
    let element = match what {
        What::Events(mask) => Element::Events(mask),
        What::Timestamp { value, cycles } => Element::Timestamp { value, cycles },
        What::Cycles(count) => Element::Cycles(count),
        What::Marker => Element::Marker,
        What::Instrumentation { el, value } => Element::Instrumentation { el, value },
        What::StrayMispredict => Element::Inconsistency(Inconsistency::MispredictOfNothing),
        _ => return,
    };
    sink.element(at, element);
}
