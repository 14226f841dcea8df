//! Each case, pushed in pieces for a consumer that waits: the elements of one that never waits.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use tracewright::base::{Batch, Element, Part};
use tracewright::decode::{
    Consumer, Listener, Memory, Options, Plan, Push, Queue, Response, Session,
};
use tracewright::frames::{Framing, Joiner};
use tracewright::protocols::registry::AnyProtocol;
use tracewright::{Capture, base};
use tracewright_testing::{Random, short_or_long};

use crate::case::{self, Case};
use crate::chunks::{FRAMED_ID, planned};

/// Waits after elements at random.
struct Waits {
    /// Of 256.
    chance: u16,
    random: Random,
    got: Vec<(u64, Element)>,
}

impl Consumer for Waits {
    fn element(&mut self, _: usize, at: u64, element: Element, _: &[u8]) -> Response {
        self.got.push((at, element));
        match self.random.below(256) < self.chance.into() {
            true => Response::Wait,
            false => Response::Continue,
        }
    }
}

/// Counts turns of loops.
#[derive(Default)]
struct Loops(u64);

impl Listener for Loops {
    fn element(&mut self, _: usize, _: u64, _: Element) {}

    fn batch(&mut self, batch: &Batch<'_>) {
        let turns = batch.parts().map(|part| match part {
            Part::Turns(base::Turns { times, .. }) => times,
            _ => 0,
        });
        self.0 += turns.sum::<u64>();
    }
}

/// Elements beyond this number are not compared: one packet may count billions of turns.
const MOST: usize = 1 << 14;

fn whole(session: &Session, bytes: &[u8]) -> Vec<(u64, Element)> {
    let (mut session, mut queue) = (session.clone(), Queue::default());
    session.feed(bytes, &mut queue);
    session.finish(&mut queue);
    std::iter::from_fn(|| queue.take()).map(|(_, at, element)| (at, element)).take(MOST).collect()
}

/// The elements of `bytes`, pushed in pieces of at most `longest`, for a consumer that waits.
fn pushed(session: &Session, bytes: &[u8], (chance, seed): (u16, u64), longest: usize) -> Waits {
    let mut push = Push::new(session.clone(), None);
    let mut to = Waits { chance, random: Random::new(seed), got: Vec::new() };
    let mut at = 0;
    while at < bytes.len() {
        let len = to.random.between(1, longest).min(bytes.len() - at);
        let (taken, mut response) =
            push.data(at as u64, &bytes[at..at + len], &mut to, &mut ()).unwrap();
        at += taken;
        while response == Response::Wait && to.got.len() < MOST {
            response = push.flush(&mut to, &mut ());
        }
        if to.got.len() >= MOST {
            return to;
        }
    }
    let mut response = push.end(&mut to, &mut ()).unwrap();
    while response == Response::Wait && to.got.len() < MOST {
        response = push.flush(&mut to, &mut ());
    }
    to
}

fn session(capture: &Capture, plan: &Plan, options: &Options) -> Session {
    Session::new(capture, plan, &Memory::new(capture), options).unwrap()
}

/// Every case of every protocol, unframed and in frames; and `short_or_long(40, 1000)` damaged
/// copies for each protocol.
#[test]
fn consumers_that_wait_receive_each_element_once() {
    let root = case::root();
    let mut of = BTreeMap::<String, Vec<Case>>::new();
    for path in case::files(&root) {
        let case = Case::parse(&fs::read_to_string(&path).unwrap()).unwrap();
        of.entry(format!("{:?}", case.config.protocol())).or_default().push(case);
    }
    let known: BTreeSet<String> = AnyProtocol::ALL.iter().map(|p| format!("{p:?}")).collect();
    assert_eq!(of.keys().cloned().collect::<BTreeSet<_>>(), known);
    let (mut loops, mut inputs) = (0, 0);
    for (protocol, cases) in &of {
        let damaged = short_or_long(40, 1000).max(cases.len());
        for n in 0..cases.len() + damaged {
            let case = &cases[n % cases.len()];
            let mut random = Random::new(n as u64);
            let mut bytes = case.bytes.clone();
            if n >= cases.len() && !bytes.is_empty() {
                for _ in 0..1 + random.below(4) {
                    let at = random.index(bytes.len());
                    bytes[at] = random.next() as u8;
                }
            }
            let has_own_port = case.config.protocol().has_own_port();
            for framing in [Framing::Raw, Framing::Coresight] {
                if framing == Framing::Coresight {
                    if has_own_port {
                        continue;
                    }
                    let mut joiner = Joiner::new(framing);
                    let mut frames = Vec::new();
                    joiner.push(FRAMED_ID, &bytes, &mut frames).unwrap();
                    joiner.finish(&mut frames);
                    bytes = frames;
                }
                let (capture, plan, options) = planned(case, &bytes, framing);
                let session = session(&capture, &plan, &options);
                let want = whole(&session, &bytes);
                let ways = [(256, 7), (128, 16), (30, 1 << 20), (0, 1)];
                let all = if n < cases.len() { &ways[..] } else { &ways[n % 4..][..1] };
                for &(chance, longest) in all {
                    let got = pushed(&session, &bytes, (chance, n as u64), longest).got;
                    let len = got.len().min(want.len()).min(MOST);
                    let place = format!("{protocol} {n} {framing:?}: {chance}, {longest}");
                    assert_eq!(got[..len], want[..len], "{place}");
                    assert!(got.len() == want.len() || len >= MOST, "{place}");
                }
                let mut counted = Loops::default();
                session.clone().feed(&bytes, &mut counted);
                loops += counted.0;
                inputs += 1;
            }
        }
    }
    // Consumers waited within counted loops, too.
    assert!(loops > 100, "{loops}");
    println!("{inputs} inputs of {} protocols, {loops} turns of loops", of.len());
}
