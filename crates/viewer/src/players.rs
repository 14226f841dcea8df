//! The players that threads share. The code that they cache is most of the memory of a server.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracewright::index::view::Player;

use crate::answer::Problem;
use crate::served::Served;

/// The most players that nobody uses, of all buffers.
const IDLE: usize = 8;

/// Players of the buffers of a trace.
pub(crate) struct Players<'a> {
    served: &'a Served<'a>,
    /// The most players of a buffer, if not more are needed at the same time.
    most: usize,
    own: Mutex<Own<'a>>,
}

#[derive(Default)]
struct Own<'a> {
    /// The positions of buffers, and players that nobody uses; those used last are at the end.
    idle: Vec<(usize, Player<'a>)>,
    /// The number of players by position of the buffer, used or not.
    counts: BTreeMap<usize, usize>,
}

impl<'a> Own<'a> {
    fn count(&mut self, n: usize) -> &mut usize {
        self.counts.entry(n).or_default()
    }

    fn take(&mut self, n: usize) -> Option<Player<'a>> {
        let at = self.idle.iter().rposition(|(own, _)| *own == n)?;
        Some(self.idle.remove(at).1)
    }
}

impl<'a> Players<'a> {
    /// No player yet.
    pub(crate) fn new(served: &'a Served<'a>, most: usize) -> Players<'a> {
        Players { served, most, own: Mutex::default() }
    }

    fn own(&self) -> MutexGuard<'_, Own<'a>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make(&self, n: usize) -> Result<Player<'a>, Problem> {
        let absent = || Problem::absent("buffer");
        let buffer = self.served.buffers.get(n).ok_or_else(absent)?;
        let subject = self.served.trace.subject();
        let player = Player::with_tasks(subject, buffer.plan, &buffer.view, self.served.tasks);
        player.ok_or_else(absent)
    }

    /// A player of the buffer at position `n`.
    pub(crate) fn take(&self, n: usize) -> Result<Player<'a>, Problem> {
        let mut own = self.own();
        if let Some(player) = own.take(n) {
            return Ok(player);
        }
        *own.count(n) += 1;
        drop(own);
        self.make(n).inspect_err(|_| *self.own().count(n) -= 1)
    }

    /// One more, unless all that there may be are used.
    pub(crate) fn take_more(&self, n: usize) -> Option<Player<'a>> {
        let mut own = self.own();
        if own.idle.iter().all(|idle| idle.0 != n) && *own.count(n) >= self.most {
            return None;
        }
        drop(own);
        self.take(n).ok()
    }

    /// Gives a player back.
    pub(crate) fn put(&self, n: usize, player: Player<'a>) {
        let mut own = self.own();
        own.idle.push((n, player));
        let gone = match *own.count(n) > self.most {
            true => own.take(n).map(|player| (n, player)),
            false if own.idle.len() > IDLE => Some(own.idle.remove(0)),
            false => None,
        };
        if let Some((n, _)) = &gone {
            *own.count(*n) -= 1;
        }
        // Their memory is freed without the lock.
        drop(own);
        drop(gone);
    }
}
