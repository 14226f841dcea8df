//! Durations of random executions, whose time is known, beside what the intervals are.

use super::*;
use crate::code::FunctionId;
use crate::stacks::{Begin, Ending, Entry, Position, Time, Visitor};

/// What happens, and when.
struct Execution {
    seed: u64,
    now: u64,
    instructions: u64,
    timing: Timing,
    /// The functions of each thread, with their node, begin, net and own time.
    threads: Vec<Vec<(Open, usize)>>,
    current: usize,
    source: usize,
    /// The durations of each subject.
    durations: std::collections::HashMap<Subject, Vec<[u64; 4]>>,
    /// Cycles since the last count, and when the clock was seen last.
    since: u64,
    seen: Option<u64>,
}

#[derive(Clone, Copy)]
struct Open {
    subject: Subject,
    handler: Option<Subject>,
    begin: u64,
    net: u64,
    own: u64,
}

/// How the clock reaches the trace.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Timestamps,
    Counts,
    ByRange,
    Instructions,
}

impl Form {
    fn clock(self) -> Clock {
        match self {
            Form::Timestamps => Clock::Timestamps,
            Form::Counts | Form::ByRange => Clock::Cycles,
            Form::Instructions => Clock::Instructions,
        }
    }
}

impl Execution {
    fn new(seed: u64, form: Form) -> Execution {
        let mut own = Execution {
            seed,
            now: 1000,
            instructions: 0,
            timing: Timing::new(form.clock()),
            threads: vec![Vec::new(), Vec::new()],
            current: 0,
            source: 0,
            durations: Default::default(),
            since: 0,
            seen: None,
        };
        own.timing.thread(0, 0, None);
        own.timing.thread(0, 1, None);
        own
    }

    fn random(&mut self, below: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) % below
    }

    fn position(&self) -> Position {
        Position {
            at: self.instructions,
            source: self.source,
            thread: self.current,
            instructions: self.instructions,
            depth: self.threads[self.current].len(),
        }
    }

    /// Executes instructions, each of which takes a few cycles, or none.
    fn run(&mut self, form: Form) {
        let instructions = 1 + self.random(9);
        let cycles = match form {
            Form::Instructions => instructions,
            _ => self.random(30),
        };
        self.instructions += instructions;
        self.now += cycles;
        self.since += cycles;
        let mut handlers = false;
        for (n, (own, _)) in self.threads[self.current].iter_mut().rev().enumerate() {
            if n == 0 {
                own.own += cycles;
            }
            if !handlers {
                own.net += cycles;
            }
            handlers |= own.handler.is_some();
        }
        let counted = if form == Form::ByRange { cycles } else { 0 };
        let node = self.threads[self.current].last().map_or(0, |own| own.1);
        self.timing.run(&self.position(), node, instructions, counted);
    }

    fn begin(&mut self, entry: Entry) {
        let function = FunctionId::Known(self.random(4) as u32);
        let handler = match entry {
            Entry::Exception(number) => Some(Subject::Exception(0, number)),
            _ => None,
        };
        let begin = Begin { function, entry, address: None };
        let node = self.timing.begin(&self.position(), 0, &begin);
        let subject = Subject::Function(function);
        let open = Open { subject, handler, begin: self.now, net: 0, own: 0 };
        self.threads[self.current].push((open, node));
    }

    fn end(&mut self, ending: Ending, counts: bool) {
        let (own, node) = self.threads[self.current].pop().unwrap();
        self.timing.end(&self.position(), node, ending, false);
        let gross = self.now - own.begin;
        if counts {
            for subject in [Some(own.subject), own.handler].into_iter().flatten() {
                let all = self.durations.entry(subject).or_default();
                all.push([gross, own.net, own.own, gross - own.net]);
            }
        }
    }

    fn clock(&mut self, form: Form) {
        let time = match form {
            Form::Timestamps => Time::Timestamp(self.now),
            Form::Counts => Time::Cycles(std::mem::take(&mut self.since)),
            Form::ByRange | Form::Instructions => return,
        };
        self.timing.time(&self.position(), time);
        self.seen = Some(self.now);
    }
}

fn execute(seed: u64, form: Form, often: u64) -> Execution {
    let mut own = Execution::new(seed * 2 + 1, form);
    for thread in [0, 1] {
        own.current = thread;
        own.begin(Entry::Before);
    }
    own.run(form);
    own.clock(form);
    for _ in 0..400 {
        match own.random(7) {
            0 | 1 if own.threads[own.current].len() < 12 => own.begin(Entry::Call),
            2 if own.threads[own.current].len() < 12 => {
                let number = own.random(3) as u16 + 14;
                own.begin(Entry::Exception(number));
            }
            // A handler ends before the thread is switched.
            3 if own.threads[own.current].iter().all(|own| own.0.handler.is_none()) => {
                own.current ^= 1;
            }
            4 | 5 if own.threads[own.current].len() > 1 => own.end(Ending::Return, true),
            _ => {}
        }
        // Without instructions, what follows is at the same time.
        if own.random(4) > 0 {
            own.run(form);
        }
        if own.random(often) == 0 {
            own.clock(form);
        }
    }
    own.clock(form);
    own
}

/// The value at a rank of sorted values.
fn rank(sorted: &[u64], per_mille: u64) -> u64 {
    sorted[((sorted.len() as u64 * per_mille).div_ceil(1000).max(1) - 1) as usize]
}

/// Each statistic of the true durations is in its interval.
#[test]
fn intervals_have_the_true_durations() {
    let (mut compared, mut points) = (0, 0);
    for seed in 0..400 {
        for form in [Form::Timestamps, Form::Counts, Form::ByRange, Form::Instructions] {
            let mut own = execute(seed, form, 1 + seed % 20);
            for thread in [0, 1] {
                own.current = thread;
                while !own.threads[thread].is_empty() {
                    own.end(Ending::TraceEnd, false);
                }
            }
            let durations = std::mem::take(&mut own.durations);
            let rows = own.timing.finish();
            for row in rows {
                let Some(all) = durations.get(&row.subject) else {
                    assert_eq!(row.of(Measure::Gross).count(), 0);
                    continue;
                };
                let measures = [Measure::Gross, Measure::Net, Measure::Own, Measure::Interrupted];
                for (n, measure) in measures.into_iter().enumerate() {
                    let mut values: Vec<u64> = all.iter().map(|all| all[n]).collect();
                    values.sort_unstable();
                    let statistics = row.of(measure);
                    assert_eq!(statistics.count() as usize, values.len());
                    let case = format!("seed {seed} {form:?} {:?} {measure:?}", row.subject);
                    for per_mille in [1, 500, 950, 990, 1000] {
                        let found = statistics.percentile(per_mille).unwrap();
                        let value = rank(&values, per_mille);
                        assert!(found.contains(value), "{case}: {per_mille}: {value} in {found}");
                        if matches!(form, Form::ByRange | Form::Instructions) {
                            points += usize::from(found.is_point());
                        }
                        compared += 1;
                    }
                    let sum: u64 = values.iter().sum();
                    assert!(statistics.sum().contains(sum), "{case}");
                    assert!(statistics.max().unwrap().contains(values[values.len() - 1]));
                    assert!(statistics.min().unwrap().contains(values[0]));
                }
            }
        }
    }
    assert!(compared > 100_000 && points > 50_000, "{compared} {points}");
}

/// Where the trace counts the instructions, or the cycles of each range, durations are exact.
#[test]
fn exact_clocks_give_points() {
    for seed in 0..50 {
        let mut own = execute(seed, Form::Instructions, 5);
        for row in own.timing.finish() {
            for measure in [Measure::Gross, Measure::Net, Measure::Own, Measure::Period] {
                let max = row.of(measure).max();
                assert!(
                    max.is_none_or(tracewright_base::Interval::is_point),
                    "{measure:?} {max:?}"
                );
            }
        }
    }
}

fn at(instructions: u64) -> Position {
    Position { at: instructions, source: 0, thread: 0, instructions, depth: 0 }
}

fn known(number: u32, entry: Entry) -> Begin {
    Begin { function: FunctionId::Known(number), entry, address: None }
}

fn found(timing: &Timing, subject: Subject, measure: Measure) -> String {
    let row = timing.rows().iter().find(|row| row.subject == subject).unwrap();
    let text = |value: Option<tracewright_base::Interval>| {
        value.map_or("-".to_owned(), |value| value.to_string())
    };
    let of = row.of(measure);
    format!("{} {} {}", of.count(), text(of.min()), text(of.max()))
}

/// A function with an exception inside, between timestamps.
#[test]
fn windows_count_once() {
    let mut timing = Timing::new(Clock::Timestamps);
    timing.thread(0, 0, None);
    timing.begin(&at(0), 0, &known(0, Entry::Before));
    timing.run(&at(10), 0, 10, 0);
    timing.time(&at(10), Time::Timestamp(100));
    timing.run(&at(20), 0, 10, 0);
    let f = timing.begin(&at(20), 0, &known(1, Entry::Call));
    timing.run(&at(30), 0, 10, 0);
    timing.time(&at(30), Time::Timestamp(150));
    // The whole window is in the function; then one with two exceptions.
    timing.run(&at(40), 0, 10, 0);
    timing.time(&at(40), Time::Timestamp(250));
    for at_begin in [50, 70] {
        timing.run(&at(at_begin), 0, 10, 0);
        let handler = timing.begin(&at(at_begin), 0, &known(2, Entry::Exception(15)));
        timing.run(&at(at_begin + 10), 0, 10, 0);
        timing.end(&at(at_begin + 10), handler, Ending::Return, false);
    }
    timing.time(&at(80), Time::Timestamp(280));
    timing.run(&at(90), 0, 10, 0);
    timing.end(&at(90), f, Ending::Return, false);
    timing.run(&at(95), 0, 5, 0);
    timing.time(&at(95), Time::Timestamp(300));
    timing.finish();
    let function = Subject::Function(FunctionId::Known(1));
    assert_eq!(found(&timing, function, Measure::Gross), "1 130..200 130..200");
    // The window with the exceptions counts in part, and once.
    assert_eq!(found(&timing, function, Measure::Net), "1 100..200 100..200");
    assert_eq!(found(&timing, function, Measure::Own), "1 100..200 100..200");
    assert_eq!(found(&timing, function, Measure::Interrupted), "1 0..100 0..100");
    let exception = Subject::Exception(0, 15);
    assert_eq!(found(&timing, exception, Measure::Gross), "2 0..30 0..30");
    assert_eq!(found(&timing, exception, Measure::Period), "1 0..30 0..30");
    assert_eq!(found(&timing, exception, Measure::Gap), "1 0..30 0..30");
    let row = timing.rows().iter().find(|row| row.subject == function).unwrap();
    let (longest, by) = row.longest_interruption.unwrap();
    assert_eq!((longest.to_string(), timing.rows()[by].subject), ("0..30".to_owned(), exception));
    assert_eq!(timing.total(), 200);
}

/// A loss of trace inside of an activation leaves it without an upper bound.
#[test]
fn losses_leave_lower_bounds() {
    let mut timing = Timing::new(Clock::Timestamps);
    timing.thread(0, 0, None);
    timing.begin(&at(0), 0, &known(0, Entry::Before));
    timing.time(&at(0), Time::Timestamp(100));
    for (begin, lost) in [(110, false), (200, true)] {
        timing.run(&at(begin), 0, 10, 0);
        timing.time(&at(begin), Time::Timestamp(begin));
        let f = timing.begin(&at(begin), 0, &known(1, Entry::Call));
        timing.time(&at(begin), Time::Timestamp(begin + 2));
        timing.run(&at(begin + 5), 0, 5, 0);
        timing.time(&at(begin + 5), Time::Timestamp(begin + 20));
        if lost {
            timing.lost(&at(begin + 5));
        }
        timing.run(&at(begin + 9), 0, 4, 0);
        timing.end(&at(begin + 9), f, Ending::Return, lost);
        timing.time(&at(begin + 9), Time::Timestamp(begin + 25));
    }
    timing.finish();
    let function = Subject::Function(FunctionId::Known(1));
    assert_eq!(found(&timing, function, Measure::Gross), "1 18..25 18..");
    // Nothing is known across the loss.
    assert_eq!(found(&timing, function, Measure::Period), "1 88..92 88..92");
    assert_eq!(timing.losses(), 1);
}

/// What is cut off by the ends of the trace is not measured.
#[test]
fn incomplete_activations() {
    let mut timing = Timing::new(Clock::Instructions);
    timing.thread(0, 0, None);
    let main = timing.begin(&at(0), 0, &known(0, Entry::Before));
    timing.run(&at(7), main, 7, 0);
    let f = timing.begin(&at(7), main, &known(1, Entry::Call));
    timing.run(&at(9), f, 2, 0);
    timing.end(&at(9), f, Ending::TraceEnd, false);
    timing.end(&at(9), main, Ending::TraceEnd, false);
    timing.finish();
    for row in timing.rows() {
        assert_eq!((row.incomplete, row.of(Measure::Gross).count()), (1, 0), "{:?}", row.subject);
    }
    assert_eq!((timing.total(), timing.ticks()), (9, true));
}

/// What waits for a point of the clock, and what is stored, are bounded.
#[test]
fn what_waits_is_bounded() {
    let mut timing = Timing::new(Clock::Timestamps).with_bounds(3000, 8);
    timing.thread(0, 0, None);
    timing.begin(&at(0), 0, &known(0, Entry::Before));
    timing.time(&at(0), Time::Timestamp(100));
    let call = |n: u64, function: u32, timing: &mut Timing| {
        timing.run(&at(n), 0, 1, 0);
        let f = timing.begin(&at(n), 0, &known(function, Entry::Call));
        timing.run(&at(n + 1), 0, 1, 0);
        timing.end(&at(n + 1), f, Ending::Return, false);
    };
    // Ten events: the first eight have no end of their time.
    (0..5).for_each(|n| call(n, 1, &mut timing));
    timing.time(&at(20), Time::Timestamp(200));
    (0..2).for_each(|n| call(20 + n, 2, &mut timing));
    timing.time(&at(30), Time::Timestamp(250));
    let (first, second) = (FunctionId::Known(1), FunctionId::Known(2));
    // Beyond the bound there are bins, whose bounds contain what they have.
    for n in 0..4000 {
        call(100 + n, 3, &mut timing);
        timing.time(&at(100 + n), Time::Timestamp(1000 + n));
    }
    timing.finish();
    assert_eq!(found(&timing, Subject::Function(first), Measure::Gross), "5 0.. 0..");
    assert_eq!(found(&timing, Subject::Function(second), Measure::Gross), "2 0..50 0..50");
    let row =
        timing.rows().iter().find(|row| row.subject == Subject::Function(FunctionId::Known(3)));
    let gross = row.unwrap().of(Measure::Gross);
    assert_eq!((gross.count(), gross.percentile(500).unwrap().contains(1)), (4000, true));
    assert_eq!(gross.percentile(1000).unwrap(), tracewright_base::Interval::new(0, 750));
}

/// Threads that execute on two processors, one of which is idle.
#[test]
fn threads_move_between_sources() {
    let mut compared = 0;
    for seed in 0..400 {
        let mut own = Execution::new(seed * 2 + 1, Form::Timestamps);
        let mut places = [0, 1];
        // The idle threads of the processors.
        for source in [0, 1] {
            own.timing.thread(source, 2 + source, None);
            own.threads.push(Vec::new());
        }
        let often = 1 + seed % 9;
        for thread in [2, 3, 0, 1] {
            (own.current, own.source) = (thread, thread % 2);
            own.begin(Entry::Before);
            own.run(Form::Timestamps);
            own.clock(Form::Timestamps);
        }
        for _ in 0..400 {
            match own.random(8) {
                0 | 1 if own.threads[own.current].len() < 8 => own.begin(Entry::Call),
                2 | 3 if own.threads[own.current].len() > 1 => own.end(Ending::Return, true),
                4 => {
                    // The processor is idle from here on, and the thread, or the other one,
                    // continues on any.
                    let (thread, source) = (own.current, own.source);
                    own.current = 2 + source;
                    own.instructions += 1;
                    own.timing.run(&own.position(), 0, 1, 0);
                    let next = if own.random(2) == 0 { thread } else { thread ^ 1 };
                    places[next] = own.random(2) as usize;
                    (own.current, own.source) = (next, places[next]);
                }
                _ => {}
            }
            own.run(Form::Timestamps);
            // The clocks of both, whichever executes.
            if own.random(often) == 0 {
                let source = own.source;
                own.source = own.random(2) as usize;
                let thread = own.current;
                if own.source != source {
                    own.current = 2 + own.source;
                }
                own.clock(Form::Timestamps);
                (own.current, own.source) = (thread, source);
            }
        }
        for source in [0, 1] {
            (own.source, own.current) = (source, 2 + source);
            own.clock(Form::Timestamps);
        }
        own.timing.finish();
        for (subject, all) in &own.durations {
            let row = own.timing.rows().iter().find(|row| row.subject == *subject).unwrap();
            for (n, measure) in [Measure::Gross, Measure::Net, Measure::Own].into_iter().enumerate()
            {
                let mut values: Vec<u64> = all.iter().map(|all| all[n]).collect();
                values.sort_unstable();
                let statistics = row.of(measure);
                let case = format!("seed {seed} {subject:?} {measure:?} {values:?}");
                assert_eq!(statistics.count() as usize, values.len(), "{case}");
                for per_mille in [1, 500, 1000] {
                    let found = statistics.percentile(per_mille).unwrap();
                    assert!(found.contains(rank(&values, per_mille)), "{case} {found}");
                }
                assert!(statistics.sum().contains(values.iter().sum()), "{case}");
                compared += 1;
            }
        }
    }
    assert!(compared > 2000, "{compared}");
}

/// A processor that a thread left without a word executes nothing of it.
#[test]
fn a_thread_executes_on_one_source() {
    let mut timing = Timing::new(Clock::Timestamps);
    let on = |source: usize, thread: usize| Position { source, thread, ..at(0) };
    for thread in [0, 1] {
        timing.thread(thread, thread, None);
        timing.begin(&on(thread, thread), 0, &known(0, Entry::Before));
        timing.time(&on(thread, thread), Time::Timestamp(100));
    }
    timing.run(&on(0, 0), 0, 1, 0);
    let f = timing.begin(&on(0, 0), 0, &known(1, Entry::Call));
    timing.run(&on(0, 0), 0, 1, 0);
    timing.time(&on(0, 0), Time::Timestamp(110));
    timing.time(&on(1, 1), Time::Timestamp(115));
    timing.run(&on(1, 0), 0, 1, 0);
    for (source, now) in [(0, 500), (0, 900), (1, 120)] {
        timing.time(&on(source, 0), Time::Timestamp(now));
    }
    timing.run(&on(1, 0), 0, 1, 0);
    timing.end(&on(1, 0), f, Ending::Return, false);
    timing.time(&on(1, 0), Time::Timestamp(125));
    timing.finish();
    let function = Subject::Function(FunctionId::Known(1));
    assert_eq!(found(&timing, function, Measure::Gross), "1 10..25 10..25");
    assert_eq!(found(&timing, function, Measure::Own), "1 0..25 0..25");
}

/// Calls of a function with callees, of which one is longer, one is interrupted, and one calls
/// something else: each cause comes first.
#[test]
fn planted_causes_come_first() {
    use super::worst::{Part, differences};
    let f = FunctionId::Known(1);
    let [callee, other] = [2, 3].map(FunctionId::Known);
    let exception = Subject::Exception(0, 15);
    let causes = [
        (Part::Function(callee), 40, 1),
        (Part::Function(f), 70, 2),
        (Part::Exception(exception), 30, 3),
        (Part::Function(other), 25, 4),
    ];
    for (cause, extra, kind) in causes {
        for form in [Form::Instructions, Form::Timestamps] {
            let play = |recorded: Recorded| {
                let mut timing = Timing::new(form.clock()).recording(recorded);
                let now = std::cell::Cell::new(0);
                timing.thread(0, 0, None);
                let run = |timing: &mut Timing, n: u64| {
                    now.set(now.get() + n);
                    timing.run(&at(now.get()), 0, n, 0);
                    timing.time(&at(now.get()), Time::Timestamp(now.get() + 1));
                };
                let call = |timing: &mut Timing, number: u32, entry: Entry, n: u64| {
                    let own = timing.begin(&at(now.get()), 0, &known(number, entry));
                    run(timing, n);
                    timing.end(&at(now.get()), own, Ending::Return, false);
                };
                timing.begin(&at(0), 0, &known(0, Entry::Before));
                run(&mut timing, 5);
                for n in 0..9 {
                    let kind = if n == 5 { kind } else { 0 };
                    let own = timing.begin(&at(now.get()), 0, &known(1, Entry::Call));
                    run(&mut timing, if kind == 2 { 10 + extra } else { 10 });
                    for _ in 0..3 {
                        call(&mut timing, 2, Entry::Call, if kind == 1 { 4 + extra } else { 4 });
                    }
                    if kind == 3 {
                        call(&mut timing, 4, Entry::Exception(15), extra);
                    }
                    if kind == 4 {
                        call(&mut timing, 3, Entry::TailCall, extra);
                    }
                    run(&mut timing, 1 + n % 2);
                    timing.end(&at(now.get()), own, Ending::Return, false);
                    run(&mut timing, 20);
                }
                timing.finish();
                timing.records().0.to_vec()
            };
            let calls = play(Recorded::Functions([f].into()));
            assert_eq!(calls.len(), 9, "{cause:?}");
            let (longest, median) = longest_and_median(&calls, 1).unwrap();
            let inside = play(Recorded::Within(vec![longest, median]));
            let found = differences(&longest, &median, &inside);
            assert_eq!(found[0].part, cause, "{form:?} {found:?}");
            if form == Form::Instructions {
                let times = if kind == 1 { 3 } else { 1 };
                let more = found[0].longest.time.since(found[0].median.time);
                assert!(more.contains(extra * times) || more.contains(extra * times + 1), "{more}");
                let sum = |own: fn(&Difference) -> Taken| {
                    let all = found.iter().map(own);
                    all.fold(tracewright_base::Interval::point(0), |sum, own| sum + own.time)
                };
                assert_eq!(sum(|own| own.longest), longest.gross, "{found:?}");
                assert_eq!(sum(|own| own.median), median.gross, "{found:?}");
            }
            // The next longest one is another.
            let second = longest_and_median(&calls, 2).unwrap().0;
            assert_ne!(second.place, longest.place);
        }
    }
}
