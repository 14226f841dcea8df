//! Steps and runs.

use std::io;

use tracewright::index::FindError;
use tracewright_replay::{Direction, Stop, Stopped};

use crate::request::Resume;
use crate::server::Server;
use crate::thread::Thread;

impl Server<'_> {
    /// Steps or runs, and returns the packet that states why the program stands still again.
    pub(crate) fn resume(
        &mut self,
        resume: Resume,
        out: &mut Vec<u8>,
    ) -> Result<Vec<u8>, FindError> {
        match self.moved(resume, out) {
            Ok(Some(stop)) => self.after(&stop, out),
            Ok(None) => Ok(b"E01".to_vec()),
            Err(FindError::Read(error)) if error.kind() == io::ErrorKind::Interrupted => {
                self.interrupted()
            }
            Err(error) => Err(error),
        }
    }

    /// The thread of a step: `None` where there is no such thread.
    fn stepped(
        &mut self,
        thread: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, FindError> {
        let thread = match thread {
            None => Some(self.stepping.unwrap_or(self.selected)),
            Some(id) => self.thread(id)?,
        };
        if thread.is_some_and(|thread| thread.task.is_some()) {
            self.print(
                b"[the task waits here, and its processor executes another one: select that \
                  thread, or go to a place where the task executes]\n",
                out,
            );
        }
        Ok(thread.filter(|thread| thread.task.is_none()).map(|thread| thread.source))
    }

    /// One step of a thread. One that has executed nothing stands at its first instruction, which
    /// the step executes.
    fn step(&mut self, source: usize, direction: Direction) -> Result<Stop, FindError> {
        let watches = self.watches();
        if direction == Direction::Forward && self.machine.at(source)?.is_none() {
            let stop = self.machine.step(source, direction)?;
            let Stopped::Step = stop.why else { return Ok(stop) };
        }
        self.machine.step_watching(source, direction, &watches)
    }

    fn moved(&mut self, resume: Resume, out: &mut Vec<u8>) -> Result<Option<Stop>, FindError> {
        match resume {
            Resume::Step(thread, direction) => {
                let Some(source) = self.stepped(thread, out)? else { return Ok(None) };
                self.selected = Thread::of(source);
                self.step(source, direction).map(Some)
            }
            Resume::Range(thread, start, end) => {
                let Some(source) = self.stepped(thread, out)? else { return Ok(None) };
                self.selected = Thread::of(source);
                self.steps(source, start, end).map(Some)
            }
            Resume::Continue(direction) => {
                let breakpoints: Vec<u64> = self.breakpoints.iter().copied().collect();
                let watches = self.watches();
                let stop = self.machine.run_watching(direction, &breakpoints, &watches)?;
                self.selected = Thread::of(self.machine.here().source);
                Ok(Some(stop))
            }
        }
    }

    /// Steps while the instructions are in a range of addresses, or to a breakpoint.
    fn steps(&mut self, source: usize, start: u64, end: u64) -> Result<Stop, FindError> {
        let mut lost = None;
        loop {
            let stop = self.step(source, Direction::Forward)?;
            lost = lost.or(stop.lost);
            let address = self.machine.here().address;
            let inside = (start..end).contains(&address) && stop.lost.is_none();
            if stop.why != Stopped::Step || !inside || self.breakpoints.contains(&address) {
                return Ok(Stop { lost, ..stop });
            }
        }
    }
}
