//! The time from one packet of an ITM or STM to another.

use tracewright_base::{Element, Gap, TimeDelay};
use tracewright_decode::Listener;

use super::clock::Moment;
use super::distances::{EventAt, Pairs};
use super::statistics::{Place, Statistics};
use crate::local_time::{LocalClock, Packet, Stamp, Step, Window};

/// The packets of software, and those of the DWT. The ones of software have priority: a packet may
/// precede one of the DWT that is older, so that only those of a kind are in order.
const KINDS: usize = 2;
const SOFTWARE: usize = 0;
const DWT: usize = 1;

/// When packets of one kind happened.
#[derive(Clone, Debug, Default)]
struct Packets {
    window: Window<usize>,
    times: Times,
}

/// The points of time between packets.
#[derive(Clone, Debug, Default)]
struct Times {
    /// The last point of time.
    now: Option<u64>,
    /// The moments behind it.
    open: Vec<usize>,
    /// Where packets were lost: the last point before.
    before_loss: Option<u64>,
}

impl Packets {
    fn take(&mut self, at: u64, packet: Packet<usize>, moments: &mut [Moment]) {
        let Packets { window, times } = self;
        window.take(at, packet, &mut |step| times.step(step, moments));
    }

    /// The trace ends.
    fn finish(&mut self, moments: &mut [Moment]) {
        let Packets { window, times } = self;
        window.finish(&mut |step| times.step(step, moments));
    }
}

impl Times {
    fn step(&mut self, step: Step<usize>, moments: &mut [Moment]) {
        let Times { now, open, before_loss } = self;
        match step {
            Step::Event(_, number) => {
                if let Some(own) = moments.get_mut(number) {
                    own.least = *now;
                }
                open.push(number);
            }
            Step::Point(_, time) => {
                for number in open.drain(..) {
                    if let Some(own) = moments.get_mut(number) {
                        own.most = Some(time);
                    }
                }
                *now = Some(time);
            }
            Step::Lost(_) => *before_loss = *now,
            Step::Unknown(_) => {
                open.clear();
                *now = None;
            }
        }
    }
}

/// A source.
#[derive(Clone, Debug, Default)]
struct Source {
    clock: LocalClock,
    kinds: [Packets; KINDS],
    epoch: u32,
}

/// A distance whose end may be lost.
#[derive(Clone, Copy, Debug)]
struct Lost {
    from: usize,
    /// The last point of time before the loss, by the packets of each kind.
    now: [Option<u64>; KINDS],
}

/// The distances between packets of ITMs and STMs, as [`Distances`](super::Distances) are those
/// between elements of a trace unit: by local timestamps, or those of the writes of an STM.
#[derive(Clone, Debug)]
pub struct LocalDistances {
    sources: Vec<Source>,
    moments: Vec<Moment>,
    pairs: Pairs<usize>,
    lost: Vec<Lost>,
    /// The kinds of the packets that are events, and whether one of them ends a distance.
    kinds: [bool; KINDS],
    ends: bool,
    epochs: u32,
}

impl LocalDistances {
    /// Of these events of a trace that is received from the begin on.
    pub fn new(events: Vec<EventAt>) -> LocalDistances {
        LocalDistances {
            sources: Vec::new(),
            moments: Vec::new(),
            pairs: Pairs::new(events),
            lost: Vec::new(),
            kinds: [false; KINDS],
            ends: false,
            epochs: 0,
        }
    }

    /// The statistics of all distances, and the numbers of begins without an end, and of ends
    /// without a begin.
    pub fn finish(&self) -> (Statistics, (u64, u64)) {
        let mut statistics = Statistics::default();
        for &(from, to, place) in self.pairs.all() {
            if let (Some(from), Some(to)) = (self.moments.get(from), self.moments.get(to)) {
                statistics.add(to.since(*from), place);
            }
        }
        // A lost packet of another kind may be older than the last point of time.
        let kind = match self.kinds {
            [true, false] if self.ends => Some(SOFTWARE),
            [false, true] if self.ends => Some(DWT),
            _ => None,
        };
        for Lost { from, now } in &self.lost {
            let most = self.moments.get(*from).and_then(|from| from.most);
            let now = kind.and_then(|kind| now.get(kind).copied().flatten());
            let least = now.zip(most).map_or(0, |(now, from)| now.saturating_sub(from));
            statistics.add_lost(least);
        }
        statistics.finish();
        (statistics, self.pairs.unpaired())
    }

    fn source(&mut self, source: usize) -> &mut Source {
        while source >= self.sources.len() {
            self.epochs += 1;
            self.sources.push(Source { epoch: self.epochs, ..Source::default() });
        }
        &mut self.sources[source]
    }

    /// Passes a packet on: to the others than `kind`, it is one that is no event.
    fn pass(&mut self, source: usize, at: u64, kind: usize, packet: Packet<usize>) {
        self.source(source);
        let LocalDistances { sources, moments, .. } = self;
        let Some(own) = sources.get_mut(source) else { return };
        for (n, packets) in own.kinds.iter_mut().enumerate() {
            packets.take(at, if n == kind { packet } else { Packet::Other }, moments);
        }
    }

    /// Passes on what concerns packets of all kinds.
    fn pass_all(&mut self, source: usize, at: u64, packet: Packet<usize>) {
        self.source(source);
        let LocalDistances { sources, moments, .. } = self;
        let Some(own) = sources.get_mut(source) else { return };
        own.kinds.iter_mut().for_each(|packets| packets.take(at, packet, moments));
    }

    fn lose(&mut self, source: usize, at: u64) {
        self.source(source).clock.lost();
        self.pass_all(source, at, Packet::Lost);
        self.epochs += 1;
        let epoch = self.epochs;
        let own = self.source(source);
        own.epoch = epoch;
        let now = [SOFTWARE, DWT].map(|kind| own.kinds[kind].times.before_loss);
        if let Some(from) = self.pairs.lost(source) {
            self.lost.push(Lost { from, now });
        }
    }

    /// The events that an element is.
    fn events(&mut self, source: usize, at: u64, element: &Element) {
        let kind = match element {
            Element::SoftwareWrite(_) => Some(SOFTWARE),
            Element::DwtEvent(_) => Some(DWT),
            _ => None,
        };
        let own = kind.unwrap_or(DWT);
        let mut point = None;
        while let Some(event) = self.pairs.event() {
            let number = *point.get_or_insert(self.moments.len());
            if number == self.moments.len() {
                let moment = Moment { epoch: self.source(source).epoch, least: None, most: None };
                self.moments.push(moment);
                self.pass(source, at, own, Packet::Event(number));
            }
            self.kinds[own] = true;
            self.ends |= !event.begins;
            self.pairs.add(event.begins, number, Place { source, at, ..Place::default() });
        }
        // The time of the next timestamp is that of a packet, and of no other element.
        if point.is_none() && kind.is_some() || point.is_some() && kind.is_none() {
            self.pass_all(source, at, Packet::Other);
        }
    }
}

impl Listener for LocalDistances {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if element.is_after_overflow() {
            self.lose(source, at);
        }
        match element {
            // A trace unit that starts has lost nothing. Undecodable bytes follow a bad packet.
            Element::Gap(Gap::Start | Gap::BadPacket) => {}
            Element::Gap(_) | Element::Undecodable { .. } => self.lose(source, at),
            _ => {}
        }
        self.events(source, at, &element);
        self.pairs.advance();
        let stamp = match element {
            Element::SoftwareWrite(write) => write.time().map(|time| Stamp::own(at, time)),
            Element::LocalTimestamp(time) => {
                let late = (
                    matches!(time.delay, TimeDelay::Packet | TimeDelay::Both),
                    matches!(time.delay, TimeDelay::Timestamp | TimeDelay::Both),
                );
                Some(self.source(source).clock.stamp(at, (time.total, time.delta), late))
            }
            _ => None,
        };
        if let Some(stamp) = stamp {
            self.pass_all(source, at, Packet::Stamp(stamp));
        }
        if element == Element::End {
            self.source(source);
            let LocalDistances { sources, moments, .. } = self;
            for packets in sources.iter_mut().flat_map(|own| own.kinds.iter_mut()) {
                packets.finish(moments);
            }
        }
    }
}

#[cfg(test)]
mod tests;
