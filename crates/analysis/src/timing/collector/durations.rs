//! From activations whose begin or end is known to the durations of their rows.

use tracewright_base::Interval;

use super::Timing;
use crate::timing::Measure;
use crate::timing::activation::{Activation, interrupts, lesser, longer};
use crate::timing::clock::{Moment, Sum};
use crate::timing::rows::{Before, Rows, Subject};
use crate::timing::statistics::Statistics;
use crate::timing::worst::{Activated, MAX_RECORDS, Recorded};

impl Timing {
    /// The window of the begin of an activation ended.
    pub(super) fn begun(&mut self, number: usize, serial: u64, now: Option<u64>) {
        let Some(own) = self.activations.get_mut(number).filter(|own| own.serial == serial) else {
            return;
        };
        own.begin.most = own.begin.most.or(now);
        own.behind = self.levels.get(own.level).map_or(0, |level| level.sum.least);
        self.follow(number);
    }

    /// The distance to the activation before.
    pub(in super::super) fn follow(&mut self, number: usize) {
        let Some(own) = self.activations.get(number).filter(|own| own.begins) else { return };
        let begin = self.before(own, own.begin);
        let (Rows { all, recent, other, .. }, log) = (&mut self.rows, &mut self.log);
        log.begin(own.place);
        for number in [Some(own.row), own.exception].into_iter().flatten() {
            let Some(recent) = recent.get_mut(number).filter(|_| number != *other) else {
                continue;
            };
            let distances = [Measure::Gap, Measure::Period].into_iter().zip(recent.begins(begin));
            for (measure, before) in distances {
                if let Some(before) = before {
                    log.add(all, number, measure, own.begin.since(before));
                    self.stored += 1;
                }
            }
        }
        if log.is_full() {
            self.log.settle(&mut self.rows.all);
        }
    }

    /// A moment of the thread of an activation.
    fn before(&self, own: &Activation, moment: Moment) -> Before {
        let losses = self.threads.get(own.thread).map_or(0, |thread| thread.losses);
        Before::new(moment, own.thread, losses)
    }

    /// The window of the end of an activation ended: its durations are known.
    pub(in super::super) fn ended(&mut self, number: usize, now: Option<u64>) {
        let Some(own) = self.activations.get_mut(number) else { return };
        own.end.most = own.end.most.or(now);
        let own = *own;
        let level = self.levels.get(own.level).map_or(Sum::default(), |level| level.sum);
        self.release(number, &own);
        let gross = own.end.since(own.begin);
        let whole = level.since(&own.before, 0);
        let net = Interval { least: own.least.saturating_sub(own.behind), most: whole.most };
        let net = Interval { most: lesser(net.most, gross.most), ..net };
        let itself = own.own.interval();
        let itself = Interval { most: lesser(itself.most, net.most), ..itself };
        let interrupted = Interval {
            least: net.most.map_or(0, |most| gross.least.saturating_sub(most)),
            most: gross.most.map(|most| most.saturating_sub(net.least)),
        };
        interrupts(&mut self.activations, &own, gross);
        let complete = own.begins && own.ends;
        let whole = complete || matches!(self.recorded, Recorded::Within(_));
        if whole && own.lost.is_none() && !matches!(self.recorded, Recorded::Nothing) {
            self.record(&own, gross, net, itself);
        }
        let end = self.before(&own, own.end);
        let (Rows { all, recent, other, .. }, log) = (&mut self.rows, &mut self.log);
        log.begin(own.place);
        for number in [Some(own.row), own.exception].into_iter().flatten() {
            let Some(recent) = recent.get_mut(number).filter(|_| number != *other) else {
                continue;
            };
            if let Some((duration, by)) = own.longest
                && let Some(row) = all.get_mut(number)
                && row.longest_interruption.is_none_or(|(before, _)| longer(duration, before))
            {
                row.longest_interruption = Some((duration, by));
            }
            if complete {
                recent.ends(Some(end).filter(|_| own.lost.is_none()));
            }
            if (!complete || own.lost.is_some())
                && let Some(row) = all.get_mut(number)
            {
                row.not_measured(own.lost.filter(|_| complete));
                continue;
            }
            log.add(all, number, Measure::Gross, gross);
            log.add(all, number, Measure::Net, net);
            if !own.is_task {
                log.add(all, number, Measure::Own, itself);
            }
            log.add(all, number, Measure::Interrupted, interrupted);
            self.stored += 4;
        }
        if log.is_full() || self.stored > self.most_exact {
            self.log.settle(&mut self.rows.all);
        }
        if self.stored > self.most_exact {
            let all = self.rows.all.iter_mut().flat_map(|row| row.measures.iter_mut());
            all.filter(|own| own.is_larger_than_bins()).for_each(Statistics::compact);
            self.stored = 0;
        }
    }

    fn record(&mut self, own: &Activation, gross: Interval, net: Interval, itself: Interval) {
        let subject = |row: usize| self.rows.all.get(row).map(|row| row.subject);
        let Some(function) = subject(own.row).and_then(Subject::function) else { return };
        let record = Activated {
            function,
            exception: own.exception.and_then(subject),
            thread: own.thread,
            place: own.place,
            end: own.end_at,
            gross,
            net,
            own: itself,
            serial: own.serial,
        };
        if self.recorded.has(&record) {
            match self.records.len() < MAX_RECORDS {
                true => self.records.push(record),
                false => self.unrecorded += 1,
            }
        }
    }

    fn release(&mut self, number: usize, own: &Activation) {
        if own.exception.is_some() {
            self.free_levels.push(own.level);
        }
        if let Some(slot) = self.activations.get_mut(number) {
            slot.serial = 0;
        }
        self.free.push(number);
    }
}
