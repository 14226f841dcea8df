//! Searches a trace, with or without an index.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tracewright_base::{Batch, BlockStep, Element, Part, Turns};
use tracewright_capture::Buffer;
use tracewright_decode::ordered;
use tracewright_decode::{Listener, Plan, Session};

use crate::error::{FindError, IndexError};
use crate::found::Found;
use crate::index::{Index, IndexedBuffer};
use crate::links::{LinkQuery, placed};
use crate::matcher::{Matcher, Matches};
use crate::position::Position;
use crate::probe::Nothing;
use crate::query::{Bound, Condition, Query, Which};
use crate::resolve::Addresses;
use crate::running::{Follower, Running};
use crate::scan::Scan;
use crate::writer::Subject;

/// The result of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The number of matches.
    Count(u64),
    /// The elements: at most one, except for [`Which::All`].
    Elements(Vec<Found>),
}

/// Searches one buffer.
pub struct Finder<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) plan: &'a Plan,
    pub(crate) index: Option<(&'a Index, &'a IndexedBuffer)>,
    session: Session,
    /// The most elements of [`Which::All`].
    pub limit: usize,
    /// The number of threads for [`Which::All`] and [`Which::Count`]: batches of the index are
    /// searched at the same time. The answer does not depend on it.
    pub jobs: usize,
    /// Ends a search where it is set, between two batches of the index: the answer is not wanted
    /// any more. The error is [`Interrupted`](std::io::ErrorKind::Interrupted).
    pub stop: Option<Arc<AtomicBool>>,
    running: Option<Running>,
    search: Search<'a>,
    damage: Option<IndexError>,
}

/// A search of segments, on one thread.
struct Search<'a> {
    index: Option<(&'a Index, &'a IndexedBuffer)>,
    scan: Scan<'a>,
    damage: Option<IndexError>,
}

impl<'a> Finder<'a> {
    /// A finder for the buffer of `plan`. `None` where the plan was made for another capture.
    pub fn new(subject: Subject<'a>, plan: &'a Plan, index: Option<&'a Index>) -> Option<Self> {
        let buffer: &Buffer = subject.capture.buffers.get(plan.buffer)?;
        let index = index.and_then(|index| Some((index, index.buffer(plan.buffer)?)));
        let session = subject.session(plan).ok()?;
        let search = Search::new(session.clone(), buffer, index);
        let (limit, jobs, stop, running, damage) = (usize::MAX, 1, None, None, None);
        Some(Finder { subject, plan, index, session, limit, jobs, stop, running, search, damage })
    }

    /// Finds only what is executed while some tasks run, without the index. Events of the link are
    /// those of no task.
    #[must_use]
    pub fn while_running(mut self, running: Running) -> Self {
        (self.index, self.search.index) = (None, None);
        self.search.scan.without_index();
        Finder { running: Some(running), ..self }
    }

    /// Why a part of the index was not used.
    pub fn damage(&self) -> Option<&IndexError> {
        self.damage.as_ref()
    }

    /// Answers `query`.
    ///
    /// # Errors
    /// [`FindError`].
    pub fn find(&mut self, query: &Query) -> Result<Answer, FindError> {
        let (mut domain, mut offsets) = (0..u64::MAX, 0..u64::MAX);
        if let Some((bound, other)) = &query.bound {
            let Answer::Elements(found) = self.find(other)? else {
                return Ok(none(query.which));
            };
            match (found.first(), bound) {
                (None, _) => return Ok(none(query.which)),
                (Some(found), Bound::Before) => {
                    (domain.end, offsets.end) = (found.number, found.at);
                }
                (Some(found), Bound::After) => {
                    // The element with the number of an event of the link is after it.
                    let next = u64::from(found.link.is_none());
                    domain.start = found.number.saturating_add(next);
                    offsets.start = found.at.saturating_add(1);
                }
            }
        }
        if let Some(link) = LinkQuery::of(&query.conditions) {
            if self.running.is_some() && link.is_only_of_link() {
                return Ok(none(query.which));
            }
            return self.with_link(query, &link, domain, &offsets);
        }
        self.within(query.which, &query.conditions, domain, self.most(query.which))
    }

    /// Answers a query for which events of the link at `offsets` are results, too.
    fn with_link(
        &mut self,
        query: &Query,
        link: &LinkQuery,
        domain: Range<u64>,
        offsets: &Range<u64>,
    ) -> Result<Answer, FindError> {
        let mut all = match link.is_only_of_link() {
            true => Vec::new(),
            false => self.page(Which::All, &query.conditions, domain, usize::MAX)?,
        };
        let mut events = match self.subject.capture.buffers.get(self.plan.buffer) {
            Some(buffer) if self.running.is_none() => link.events(buffer, self.plan)?,
            _ => Vec::new(),
        };
        events.retain(|(at, _)| offsets.contains(at));
        if query.which == Which::Count {
            return Ok(Answer::Count((all.len() + events.len()) as u64));
        }
        all.extend(placed(events, &mut self.search.scan)?);
        all.sort_by_key(|found| (found.at, found.number));
        let one = match query.which {
            Which::First => all.first(),
            Which::Last => all.last(),
            Which::Nth(n) => usize::try_from(n).ok().and_then(|n| all.get(n.wrapping_sub(1))),
            Which::Count | Which::All => {
                all.truncate(self.limit);
                return Ok(Answer::Elements(all));
            }
        };
        Ok(Answer::Elements(one.copied().into_iter().collect()))
    }

    /// The first element after element `number` that matches `conditions`.
    ///
    /// # Errors
    /// [`FindError`].
    pub fn next(
        &mut self,
        number: u64,
        conditions: &[Condition],
    ) -> Result<Option<Found>, FindError> {
        let domain = number.saturating_add(1)..u64::MAX;
        self.within(Which::First, conditions, domain, 1).map(Answer::first)
    }

    /// The last element before element `number` that matches `conditions`.
    ///
    /// # Errors
    /// [`FindError`].
    pub fn previous(
        &mut self,
        number: u64,
        conditions: &[Condition],
    ) -> Result<Option<Found>, FindError> {
        self.within(Which::Last, conditions, 0..number, 1).map(Answer::first)
    }

    /// The first element that matches `conditions`: with [`Condition::Offset`],
    /// [`Condition::Time`] or [`Condition::Instruction`], the one there.
    ///
    /// # Errors
    /// [`FindError`].
    pub fn seek(&mut self, conditions: &[Condition]) -> Result<Option<Found>, FindError> {
        self.within(Which::First, conditions, 0..u64::MAX, 1).map(Answer::first)
    }

    /// The first or, with [`Which::Last`], the last element that matches `conditions` of those with
    /// numbers in `domain`.
    ///
    /// # Errors
    /// [`FindError`].
    pub fn between(
        &mut self,
        which: Which,
        conditions: &[Condition],
        domain: Range<u64>,
    ) -> Result<Option<Found>, FindError> {
        if domain.is_empty() {
            return Ok(None);
        }
        let which = if which == Which::Last { Which::Last } else { Which::First };
        self.within(which, conditions, domain, 1).map(Answer::first)
    }

    /// The matches of `conditions` with numbers in `domain`: the first `most`, or with
    /// [`Which::Last`] at least one of the last `most`, without gaps.
    pub(crate) fn page(
        &mut self,
        which: Which,
        conditions: &[Condition],
        domain: Range<u64>,
        most: usize,
    ) -> Result<Vec<Found>, FindError> {
        Ok(match self.within(which, conditions, domain, most)? {
            Answer::Elements(found) => found,
            Answer::Count(_) => Vec::new(),
        })
    }

    /// The most elements of an answer.
    fn most(&self, which: Which) -> usize {
        if which == Which::All { self.limit } else { 1 }
    }

    /// Answers a query about the elements with numbers in `domain`.
    fn within(
        &mut self,
        which: Which,
        conditions: &[Condition],
        domain: Range<u64>,
        most: usize,
    ) -> Result<Answer, FindError> {
        let named = conditions.iter().map(|one| Addresses::of(one, &self.subject, self.plan));
        let named = named.collect::<Result<Vec<_>, _>>()?;
        let answer = self.answer(which, Matcher::new(conditions, named.clone()), &domain, most);
        match self.index.and_then(|(_, buffer)| buffer.damage()) {
            None => answer,
            // What the index has of the segments is not complete.
            Some(damage) => {
                self.damage = Some(damage);
                self.index = None;
                self.search.index = None;
                self.search.scan.without_index();
                self.answer(which, Matcher::new(conditions, named), &domain, most)
            }
        }
    }

    /// Answers a query. With damaged summaries the answer may be wrong.
    fn answer(
        &mut self,
        which: Which,
        matcher: Matcher<'_>,
        domain: &Range<u64>,
        most: usize,
    ) -> Result<Answer, FindError> {
        let text = matcher.remembers();
        let mut hits = Hits::new(which, matcher, domain, most);
        hits.running = self.running.as_ref().map(Follower::new);
        let backward = which == Which::Last && !text;
        // The batches of the index, and what it does not cover.
        let batches = self.index.map_or(0, |(_, buffer)| buffer.batches().len());
        let rest = self.index.is_none_or(|(_, buffer)| !buffer.is_complete());
        let mut groups: Vec<usize> = (0..batches + usize::from(rest)).collect();
        if matches!(which, Which::All | Which::Count) && !text && self.jobs.min(groups.len()) > 1 {
            self.on_threads(&groups, domain, &mut hits)?;
        } else {
            if backward {
                groups.reverse();
            }
            for group in groups {
                if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                    self.search.scan.leave();
                    return Err(FindError::Read(std::io::ErrorKind::Interrupted.into()));
                }
                self.search.group(group, domain, &mut hits)?;
                if hits.full() || backward && !hits.found.is_empty() {
                    break;
                }
            }
            // The scan stops inside a segment.
            self.search.scan.leave();
        }
        if let Some(damage) = self.search.damage.take() {
            self.damage = Some(damage);
        }
        Ok(match which {
            Which::Count => Answer::Count(hits.count),
            _ => Answer::Elements(hits.found.into()),
        })
    }

    /// Searches groups of segments on several threads.
    fn on_threads(
        &mut self,
        groups: &[usize],
        domain: &Range<u64>,
        hits: &mut Hits<'_>,
    ) -> Result<(), FindError> {
        let Some(buffer) = self.subject.capture.buffers.get(self.plan.buffer) else {
            return Ok(());
        };
        // Each thread takes a search with its cached blocks, and returns it.
        let pool: Mutex<Vec<Search<'_>>> = Mutex::default();
        let locked = || pool.lock().unwrap_or_else(PoisonError::into_inner);
        let (index, session) = (self.index, Mutex::new(self.session.clone()));
        let blank = hits.clone();
        let work = |_: usize, &group: &usize, _: &mut dyn FnMut(Vec<u8>) -> bool| {
            let known = locked().pop();
            let mut search = known.unwrap_or_else(|| {
                let session = session.lock().unwrap_or_else(PoisonError::into_inner).clone();
                Search::new(session, buffer, index)
            });
            let mut own = blank.clone();
            let done = search.group(group, domain, &mut own);
            search.scan.leave();
            let damage = search.damage.take();
            locked().push(search);
            done.map(|()| (own.count, own.found, damage))
        };
        let mut outcome = Ok(());
        let damage = &mut self.search.damage;
        ordered::each(self.jobs, groups, work, |_, part| {
            let ordered::Part::Done(done) = part else { return true };
            match done {
                Ok((count, found, damaged)) => {
                    hits.count = hits.count.saturating_add(count);
                    let room = hits.most - hits.found.len().min(hits.most);
                    hits.found.extend(found.into_iter().take(room));
                    *damage = damaged.or(damage.take());
                    !hits.full()
                }
                Err(error) => {
                    outcome = Err(error);
                    false
                }
            }
        });
        outcome
    }
}

impl<'a> Search<'a> {
    fn new(
        session: Session,
        buffer: &'a Buffer,
        index: Option<(&'a Index, &'a IndexedBuffer)>,
    ) -> Self {
        let scan = Scan::new(session, buffer, index.map(|(_, buffer)| buffer));
        Search { index, scan, damage: None }
    }

    /// Searches a batch of the index, or what follows the last one.
    fn group(
        &mut self,
        group: usize,
        domain: &Range<u64>,
        hits: &mut Hits<'_>,
    ) -> Result<(), FindError> {
        let text = hits.matcher.remembers();
        match self.matches(group, hits, text) {
            Some((first, matches)) => self.collect(first, &matches, domain, hits),
            None => Ok(()),
        }
    }

    /// How many matches the segments of a batch have, or what follows the last batch: the first
    /// segment, and the matches in each. `None` where nothing has to be decoded.
    fn matches(
        &mut self,
        group: usize,
        hits: &mut Hits<'_>,
        text: bool,
    ) -> Option<(usize, Vec<Matches>)> {
        let Some((index, buffer)) = self.index else { return Some((0, vec![Matches::Unknown])) };
        let Some(batch) = buffer.batches().get(group) else {
            return Some((buffer.len(), vec![Matches::Unknown]));
        };
        let (from, to) = (batch.before.elements, batch.after.elements);
        let Range { start, end } = hits.whole;
        match hits.matcher.total(batch) {
            Some(0) => return None,
            Some(count) if start <= from && to <= end && hits.skip(count) => return None,
            _ if !text && (from >= end || to <= start) => return None,
            _ => {}
        }
        let matches = hits.matcher.count(index, buffer, batch).unwrap_or_else(|error| {
            self.damage = Some(error);
            vec![Matches::Unknown; batch.count]
        });
        Some((batch.first, matches))
    }

    /// Collects the matches of the segments from `first` on, of which each has `matches`.
    fn collect(
        &mut self,
        first: usize,
        matches: &[Matches],
        domain: &Range<u64>,
        hits: &mut Hits<'_>,
    ) -> Result<(), FindError> {
        let text = hits.matcher.remembers();
        let backward = hits.which == Which::Last && !text;
        let segments = (first..).zip(matches.iter().copied());
        let order: Box<dyn Iterator<Item = (usize, Matches)>> = if backward {
            Box::new(segments.take(matches.len()).collect::<Vec<_>>().into_iter().rev())
        } else {
            Box::new(segments)
        };
        let mut skipped = 0;
        for (n, matches) in order {
            if n < skipped || matches == Matches::Exactly(0) {
                continue;
            }
            let (from, to) = (self.number(n), self.number(n + 1));
            if !text && (from >= domain.end || to <= domain.start) {
                continue;
            }
            let whole = domain.start <= from && to <= domain.end;
            match matches {
                Matches::Exactly(count) if whole && hits.skip(count) => continue,
                Matches::Together { count, end } => {
                    let to = self.number(end);
                    if domain.start <= from && to <= domain.end && hits.skip(count) {
                        skipped = end;
                        continue;
                    }
                }
                _ => {}
            }
            // The scan may begin before the segment, whose elements are the ones of interest.
            hits.domain = domain.start.max(from)..domain.end.min(to);
            hits.position = self.scan.go(n, &mut Nothing)?;
            while self.scan.segment() <= n && self.scan.next(hits)? && !hits.full() {}
            if hits.full() || backward && !hits.found.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// The number of the first element of segment `n`. No element follows the last segment.
    fn number(&self, n: usize) -> u64 {
        match self.index {
            _ if n >= self.scan.len() => u64::MAX,
            Some((_, buffer)) => buffer.elements_before(n),
            None => 0,
        }
    }
}

impl Answer {
    fn first(self) -> Option<Found> {
        match self {
            Answer::Count(_) => None,
            Answer::Elements(found) => found.first().copied(),
        }
    }
}

/// The answer without a match.
fn none(which: Which) -> Answer {
    match which {
        Which::Count => Answer::Count(0),
        _ => Answer::Elements(Vec::new()),
    }
}

/// Collects matches.
#[derive(Clone)]
struct Hits<'a> {
    matcher: Matcher<'a>,
    /// Whether the tasks run in which is searched.
    running: Option<Follower>,
    /// That of the matcher, where it does not remember elements.
    least: (u64, u64),
    position: Position,
    /// The numbers of the elements that are searched, and those of them in the current segment.
    whole: Range<u64>,
    domain: Range<u64>,
    which: Which,
    /// [`Which::Nth`]: how many more matches are needed.
    wanted: u64,
    found: VecDeque<Found>,
    count: u64,
    /// The most elements of [`Which::Last`] and [`Which::All`].
    most: usize,
}

impl<'a> Hits<'a> {
    fn new(which: Which, matcher: Matcher<'a>, domain: &Range<u64>, most: usize) -> Self {
        Hits {
            least: if matcher.remembers() { (0, 0) } else { matcher.least() },
            matcher,
            running: None,
            position: Position::default(),
            whole: domain.clone(),
            domain: domain.clone(),
            which,
            wanted: if let Which::Nth(n) = which { n } else { 0 },
            found: VecDeque::new(),
            count: 0,
            most,
        }
    }

    /// Counts `count` matches without their elements. `false` where the elements are needed.
    fn skip(&mut self, count: u64) -> bool {
        match self.which {
            Which::Count => {
                self.count = self.count.saturating_add(count);
                true
            }
            Which::Nth(_) if self.wanted > count => {
                self.wanted -= count;
                true
            }
            _ => false,
        }
    }

    /// Takes an element that occurs `times` times in a row, with `step` elements and
    /// `instructions` instructions from one to the next.
    fn take(&mut self, source: usize, at: u64, element: Element, times: u64) {
        let instructions = match element {
            Element::Range(range) => u64::from(range.instructions),
            _ => 0,
        };
        let Position { elements, instructions: before, .. } = self.position;
        let executed = times.saturating_mul(instructions);
        let after = before.saturating_add(executed);
        if !self.runs(source, at, executed) || at < self.least.0 || after < self.least.1 {
            self.position.elements = elements.saturating_add(times);
            self.position.instructions = after;
            return;
        }
        // Only ranges repeat. Conditions on numbers are checked for each.
        let numbered = times > 1 && self.matcher.is_numbered();
        let mut n = 0;
        while n < times && !self.full() {
            self.position.elements = elements.saturating_add(n);
            self.position.instructions = before.saturating_add(n * instructions);
            let run = if numbered { 1 } else { times - n };
            if self.matcher.matches(source, at, &element, &self.position) {
                self.hits(source, at, element, instructions, run);
            }
            n += run;
        }
        self.position.elements = elements.saturating_add(times);
        self.position.instructions = after;
    }

    /// Whether the tasks run at the next element of a source, which is taken or omitted.
    fn runs(&mut self, source: usize, at: u64, instructions: u64) -> bool {
        let Some(running) = &mut self.running else { return true };
        let runs = running.has(source, at, instructions);
        running.executed(source, instructions);
        runs
    }

    /// Takes `steps` of `batch`.
    fn steps(&mut self, batch: &Batch<'_>, steps: &[BlockStep]) {
        if self.least != (0, 0) && self.running.is_none() {
            let Position { elements, instructions, .. } = &mut self.position;
            let after = instructions.saturating_add(batch.instructions(steps));
            let last = steps.iter().map(|step| batch.at(*step)).max().unwrap_or(0);
            if last < self.least.0 || after < self.least.1 {
                *elements = elements.saturating_add(steps.len() as u64);
                *instructions = after;
                return;
            }
        }
        for step in steps {
            if let Some(range) = batch.range(*step) {
                self.take(batch.source, batch.at(*step), Element::Range(range), 1);
            }
        }
    }

    fn turns(&mut self, source: usize, turns: &Turns<'_>) {
        let Turns { at, ranges, times, .. } = *turns;
        if let [range] = ranges {
            return self.take(source, at, Element::Range(*range), times);
        }
        for _ in 0..times {
            for range in ranges {
                self.take(source, at, Element::Range(*range), 1);
            }
            if self.full() {
                return;
            }
        }
    }

    /// `times` matches in a row.
    fn hits(&mut self, source: usize, at: u64, element: Element, instructions: u64, times: u64) {
        let Position { elements, instructions: before, .. } = self.position;
        let first = self.domain.start.saturating_sub(elements).min(times);
        let end = self.domain.end.saturating_sub(elements).min(times);
        if first >= end {
            return;
        }
        let position = &self.position;
        let found = |n: u64| Found {
            source,
            at,
            number: elements.saturating_add(n),
            instruction: before.saturating_add(n * instructions),
            time: position.times.get(source).copied().flatten(),
            context: position.contexts.get(source).copied().flatten().map(|(_, context)| context),
            element,
            link: None,
        };
        match self.which {
            Which::Count => self.count = self.count.saturating_add(end - first),
            Which::First => self.found = [found(first)].into(),
            Which::Last => {
                let most = u64::try_from(self.most).unwrap_or(u64::MAX);
                self.found.extend((first.max(end.saturating_sub(most))..end).map(found));
                while self.found.len() > self.most {
                    self.found.pop_front();
                }
            }
            Which::Nth(_) => {
                if self.wanted > end - first {
                    self.wanted -= end - first;
                } else {
                    self.found = [found(first + self.wanted - 1)].into();
                    self.wanted = 0;
                }
            }
            Which::All => {
                let room = self.most - self.found.len().min(self.most);
                self.found.extend((first..end).take(room).map(found));
            }
        }
    }
}

impl Listener for Hits<'_> {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let (Some(time), Some(last)) = (element.ticks(), self.position.times.get_mut(source)) {
            *last = Some(time);
        }
        if let (Element::Context(context), Some(last)) =
            (element, self.position.contexts.get_mut(source))
        {
            *last = Some((at, context));
        }
        self.take(source, at, element, 1);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        for part in batch.parts() {
            match part {
                Part::Steps(steps) => self.steps(batch, steps),
                Part::Element(at, element) => self.element(batch.source, at, element),
                Part::Turns(turns) => self.turns(batch.source, &turns),
            }
            if self.full() {
                return;
            }
        }
    }

    fn full(&self) -> bool {
        match self.which {
            Which::First | Which::Nth(_) => !self.found.is_empty(),
            Which::All => self.found.len() >= self.most,
            Which::Last | Which::Count => false,
        }
    }
}
