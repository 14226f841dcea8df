//! Threads that answer requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::{mpsc, oneshot};

use crate::answer::Answered;
use crate::players::Players;
use crate::request::Request;
use crate::routes;
use crate::served::Served;
use crate::work::Worker;

/// What a thread does.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) request: Request,
    pub(crate) body: Option<Bytes>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) reply: Reply,
}

#[derive(Debug)]
pub(crate) enum Reply {
    Once(oneshot::Sender<Answered>),
    Events(mpsc::Sender<Bytes>),
}

/// The requests of a server.
#[derive(Debug)]
pub struct Answering {
    jobs: Mutex<Receiver<Job>>,
    searches: Mutex<Receiver<Job>>,
    workers: usize,
    is_over: Mutex<bool>,
    over: Condvar,
}

/// How long a thread waits for a request before it looks whether it is to end.
const TURN: Duration = Duration::from_millis(20);

impl Answering {
    pub(crate) fn new(jobs: Receiver<Job>, searches: Receiver<Job>, workers: usize) -> Answering {
        let (jobs, searches) = (Mutex::new(jobs), Mutex::new(searches));
        let (workers, is_over, over) = (workers.max(1), Mutex::new(false), Condvar::new());
        Answering { jobs, searches, workers, is_over, over }
    }

    /// The server has ended.
    pub(crate) fn end(&self) {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.notify_all();
    }

    /// Answers requests with `served` while `during` runs.
    pub fn with(&self, served: &Served<'_>, during: impl FnOnce()) {
        let turn = Turn::default();
        let players = Arc::new(Players::new(served, self.workers));
        let worker = || Worker::with_players(served, Arc::clone(&players));
        thread::scope(|scope| {
            for _ in 0..self.workers {
                scope.spawn(|| work(worker(), &self.jobs, &turn));
            }
            scope.spawn(|| work(worker(), &self.searches, &turn));
            // The page asks for this first. It has the lines of the program.
            scope.spawn(|| {
                routes::prepare(served);
            });
            during();
            turn.end();
        });
    }

    /// Waits for a time, or until the server ends. Whether it has ended.
    pub fn wait(&self, time: Duration) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.over.wait_timeout_while(is_over, time, |is_over| !*is_over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// The time in which one trace is served.
#[derive(Default)]
struct Turn {
    is_over: AtomicBool,
    /// Of the searches that run.
    stops: Mutex<Vec<Arc<AtomicBool>>>,
}

impl Turn {
    /// No answer begins after this, and searches end.
    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        let stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        stops.iter().for_each(|stop| stop.store(true, Ordering::Relaxed));
    }

    /// A search begins. Whether it may.
    fn begin(&self, stop: &Arc<AtomicBool>) -> bool {
        let mut stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that nothing else refers to have ended.
        stops.retain(|own| Arc::strong_count(own) > 1);
        stops.push(Arc::clone(stop));
        !self.is_over.load(Ordering::Relaxed)
    }
}

/// A thread that answers one request after another.
fn work(mut worker: Worker<'_>, jobs: &Mutex<Receiver<Job>>, turn: &Turn) {
    while !turn.is_over.load(Ordering::Relaxed) {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(TURN);
        let Job { request, body, stop, reply } = match job {
            Ok(job) => job,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if stop.load(Ordering::Relaxed) {
            continue;
        }
        worker.begin(Arc::clone(&stop));
        match reply {
            Reply::Once(reply) => {
                let answer = routes::answer(&mut worker, &request, body.as_deref());
                worker.end();
                // The receiver may be gone.
                let _ = reply.send(answer);
            }
            Reply::Events(events) => {
                if !turn.begin(&stop) {
                    stop.store(true, Ordering::Relaxed);
                }
                routes::find::run(&mut worker, &request, &mut |event| {
                    events.blocking_send(Bytes::from(event)).is_ok()
                });
                worker.end();
            }
        }
    }
}
