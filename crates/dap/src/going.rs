//! Jumps to other places: executions of a line, and beginnings of calls.

use serde_json::{Value, json};
use tracewright::index::FindError;
use tracewright_replay::{Direction, Position};

use crate::executions::count;
use crate::message::{Arguments, Refused, refused};
use crate::motion::{Ended, Why};
use crate::program::Line;
use crate::session::Session;

/// The most places that can be gone to.
const MOST: usize = 1 << 12;

/// An execution of a line.
const EXECUTIONS: [(&str, Direction, bool); 4] = [
    ("previous execution", Direction::Backward, false),
    ("next execution", Direction::Forward, false),
    ("first execution", Direction::Forward, true),
    ("last execution", Direction::Backward, true),
];

impl Session<'_> {
    pub(crate) fn goto_targets(&mut self, arguments: &Arguments) -> Result<Value, Refused> {
        let source = arguments.object("source")?;
        let files = self.sources.meant(&self.program, &source)?;
        let line = self.client.line_in(arguments.needed("line")?);
        let mut addresses = Vec::new();
        for file in files {
            addresses.extend(self.program.addresses(Line { file, line }));
        }
        let from = self.machine.here().position;
        let mut targets = Vec::new();
        for (label, direction, from_end) in EXECUTIONS {
            if addresses.is_empty() {
                break;
            }
            let found = self.execution(&addresses, direction, from_end);
            self.machine.go(from)?;
            let Some(position) = found? else { continue };
            let id = self.target(position);
            let number = self.number_at(position, &addresses)?;
            let count = self.counted(&addresses)?;
            targets.push(json!({
                "id": id,
                "label": format!("{label} (#{number} of {count})"),
                "line": self.client.line_out(line),
            }));
        }
        Ok(json!({ "targets": targets }))
    }

    /// The number of a place that the client may go to.
    pub(crate) fn target(&mut self, position: Position) -> usize {
        if self.targets.len() >= MOST {
            self.targets.clear();
        }
        self.targets.push(position);
        self.targets.len()
    }

    /// The nearest execution of one of `addresses` in a direction, from the position or from the
    /// end of the trace.
    fn execution(
        &mut self,
        addresses: &[u64],
        direction: Direction,
        from_end: bool,
    ) -> Result<Option<Position>, FindError> {
        if from_end {
            self.machine.go_to_end(match direction {
                Direction::Forward => Direction::Backward,
                Direction::Backward => Direction::Forward,
            })?;
            if addresses.contains(&self.machine.here().address) {
                return Ok(Some(self.machine.here().position));
            }
        }
        let stop = self.machine.run(direction, addresses)?;
        let hit = stop.why == tracewright_replay::Stopped::Breakpoint;
        Ok(hit.then(|| self.machine.here().position))
    }

    /// How often some addresses are executed together.
    fn counted(&mut self, addresses: &[u64]) -> Result<u64, FindError> {
        let mut sum = 0u64;
        for &address in addresses {
            let own = match self.counts.get(&address) {
                Some(own) => *own,
                None => count(self.machine.finder(), &[address], None)?,
            };
            self.count_is(address, own);
            sum = sum.saturating_add(own);
        }
        Ok(sum)
    }

    pub(crate) fn goto(&mut self, arguments: &Arguments) -> Result<Position, Refused> {
        let id = arguments.needed("targetId")?;
        let position = id.checked_sub(1).and_then(|n| self.targets.get(n));
        position.copied().map_or_else(|| refused("there is no such target"), Ok)
    }

    /// Where the call of a frame begins.
    pub(crate) fn restarted(&mut self, arguments: &Arguments) -> Result<Position, Refused> {
        let shown = self.frames.get(arguments.needed("frameId")?)?;
        let (source, frame) = (shown.source, shown.frame.filter(|_| !shown.waits));
        let begin = match frame {
            Some(frame) => self.machine.frame_begin(source, frame)?,
            None => None,
        };
        begin.map_or_else(|| refused("the call begins before the trace"), Ok)
    }

    /// Goes to a position, and states that.
    pub(crate) fn jump(&mut self, position: Position) -> Result<(), FindError> {
        self.machine.go(position)?;
        self.jumped()
    }

    /// States that the position is another one.
    pub(crate) fn jumped(&mut self) -> Result<(), FindError> {
        let ended = Ended { why: Why::Step, lost: None, switched: false };
        self.stopped(&ended, "goto", None)
    }
}
