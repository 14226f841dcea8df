//! Where steps lead: over calls, into them and out, in both directions.
//!
//! A step is first followed without breakpoints, instruction by instruction in its frame; what it
//! calls is passed at once. The way to the place that is found is then run with breakpoints.
//!
//! A *line* of a frame is a sequence of its instructions that are of one source line; what they
//! call lies between them. A step forward leads to the first instruction with which a statement of
//! another line begins. A step backward leads to that instruction of the current line, or where the
//! program stands there, of the line before. So as many steps back as forward lead to the same
//! place, as long as the function does not return.

use std::rc::Rc;

use tracewright::analysis::stacks::Entry as FrameEntry;
use tracewright::base::Element;
use tracewright::index::FindError;
use tracewright_replay::{Direction, Frame, Instruction, Position, Stopped};

use crate::motion::Step;
use crate::program::{Line, Place};
use crate::session::Session;

/// The line of code of no line.
const NO_LINE: Line = Line { file: usize::MAX, line: 0 };

/// Where a step leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Goal {
    /// The place; `None` where the trace begins or ends before.
    pub(crate) position: Option<Position>,
    /// Trace was lost on the way.
    pub(crate) lost: Option<Element>,
    /// The step ends because another task is executed.
    pub(crate) switched: bool,
}

/// The frame in which a step goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Level {
    thread: u32,
    depth: i32,
    began: u64,
}

/// The result of one instruction of a frame.
pub(crate) enum Next {
    Here(Instruction, Level),
    Goal(Goal),
}

impl Goal {
    fn at(position: Position) -> Goal {
        Goal { position: Some(position), lost: None, switched: false }
    }

    const NONE: Goal = Goal { position: None, lost: None, switched: false };
}

impl Session<'_> {
    /// Where a step of `source` leads. The machine stands where it stood.
    pub(crate) fn goal(
        &mut self,
        source: usize,
        step: Step,
        direction: Direction,
    ) -> Result<Goal, FindError> {
        let from = self.machine.here().position;
        let goal = self.followed(source, step, direction);
        // Where the step is not wanted any more, nothing can be read.
        if goal.is_ok() {
            self.machine.go(from)?;
        }
        goal
    }

    fn followed(
        &mut self,
        source: usize,
        step: Step,
        direction: Direction,
    ) -> Result<Goal, FindError> {
        let Some(start) = self.machine.at(source)? else {
            // It has executed nothing yet.
            let first = self.machine.first(source)?;
            let first = first.filter(|_| direction == Direction::Forward);
            return Ok(first.map_or(Goal::NONE, |first| Goal::at(first.position)));
        };
        let level = self.level(source)?;
        let place = self.program.at(start.address);
        let line = match place.row {
            Some(row) => Some(row.line),
            None => place.is_unnamed.then_some(NO_LINE),
        };
        match (step, line) {
            (Step::To(position), _) => Ok(Goal::at(position)),
            (Step::Instruction, _) | (Step::Into, None) => self.instruction(source, direction),
            (Step::Out, _) if place.inlined() > 0 => self.out_of_inlined(source, level, &place),
            (Step::Out, _) => self.out(source, level),
            (Step::InstructionOver, _) | (_, None) => {
                Ok(match self.next_in_frame(source, direction, level)? {
                    Next::Here(own, _) => Goal::at(own.position),
                    Next::Goal(goal) => goal,
                })
            }
            (Step::Into | Step::Over, Some(line)) => match direction {
                Direction::Forward => {
                    let into = step == Step::Into;
                    let walk = Walk { level, place: Rc::clone(&place), line, into };
                    self.next_line(source, walk)
                }
                Direction::Backward => self.line_before(source, level, place, line),
            },
        }
    }

    /// The frame of a source.
    pub(crate) fn level(&mut self, source: usize) -> Result<Level, FindError> {
        let stack = self.machine.stack(source)?;
        Ok(stack.first().map(level).unwrap_or_default())
    }

    /// The next instruction of `source`.
    fn instruction(&mut self, source: usize, direction: Direction) -> Result<Goal, FindError> {
        self.machine.check_stop()?;
        let stop = self.machine.step(source, direction)?;
        let position = self.machine.here().position;
        let position = (stop.why == Stopped::Step).then_some(position);
        Ok(Goal { position, lost: stop.lost, switched: false })
    }

    /// The next instruction of a frame, or of one that it returns to: what it calls is passed.
    fn next_in_frame(
        &mut self,
        source: usize,
        direction: Direction,
        level: Level,
    ) -> Result<Next, FindError> {
        loop {
            let before = self.machine.at(source)?.map(|own| own.position);
            let goal = self.instruction(source, direction)?;
            let here = self.machine.here();
            if goal.position.is_none() || goal.lost.is_some() {
                return Ok(Next::Goal(goal));
            }
            if before.is_some_and(|before| before.element == here.position.element) {
                return Ok(Next::Here(here, level));
            }
            match self.passed(source, direction, level)? {
                Some(Next::Here(own, top)) => return Ok(Next::Here(own, top)),
                Some(goal) => return Ok(goal),
                // At the first instruction of what was called: the one before is the call.
                None => {}
            }
        }
    }

    /// Passes what a frame calls, if the machine stands in it. `None`: at the beginning of what was
    /// called, going back.
    pub(crate) fn passed(
        &mut self,
        source: usize,
        direction: Direction,
        level: Level,
    ) -> Result<Option<Next>, FindError> {
        loop {
            let here = self.machine.here();
            let stack = self.machine.stack(source)?;
            let top = stack.first().map(self::level).unwrap_or_default();
            if top.thread != level.thread {
                let goal = Goal { switched: true, ..Goal::at(here.position) };
                return Ok(Some(Next::Goal(goal)));
            }
            let Some(n) = called(&stack, level, direction) else {
                return Ok(Some(Next::Here(here, top)));
            };
            match direction {
                Direction::Forward => match self.machine.frame_end(source, n)? {
                    Some(end) if end > here.position => self.machine.go(end)?,
                    _ => return Ok(Some(Next::Goal(Goal::NONE))),
                },
                Direction::Backward => match self.machine.frame_begin(source, n)? {
                    Some(begin) if begin <= here.position => {
                        self.machine.go(begin)?;
                        return Ok(None);
                    }
                    _ => return Ok(Some(Next::Goal(Goal::NONE))),
                },
            };
        }
    }

    /// The next instruction on the way of a step forward.
    pub(crate) fn next_of(&mut self, source: usize, walk: &Walk) -> Result<Next, FindError> {
        if !walk.into {
            return self.next_in_frame(source, Direction::Forward, walk.level);
        }
        let goal = self.instruction(source, Direction::Forward)?;
        if goal.position.is_none() || goal.lost.is_some() {
            return Ok(Next::Goal(goal));
        }
        let here = self.machine.here();
        let stack = self.machine.stack(source)?;
        let interrupts = |frame: &&Frame| frame.interrupts && frame.depth > walk.level.depth;
        if stack.first().is_some_and(|top| top.thread == walk.level.thread)
            && called(&stack, walk.level, Direction::Forward).is_some()
            && self.program.at(here.address).row.is_some()
            && !stack.iter().any(|frame| interrupts(&frame))
        {
            return Ok(Next::Goal(Goal::at(here.position)));
        }
        let passed = self.passed(source, Direction::Forward, walk.level)?;
        Ok(passed.unwrap_or(Next::Goal(Goal::NONE)))
    }

    /// The first instruction with which a statement of another line begins.
    fn next_line(&mut self, source: usize, mut walk: Walk) -> Result<Goal, FindError> {
        let mut is_left = false;
        loop {
            let (here, top) = match self.next_of(source, &walk)? {
                Next::Here(here, top) => (here, top),
                Next::Goal(goal) => return Ok(goal),
            };
            let place = self.program.at(here.address);
            if top != walk.level {
                // The function has returned, into the middle of a line.
                is_left = true;
                walk = Walk { level: top, place: Rc::clone(&place), ..walk };
            }
            let is_inlined = place.is_inside(&walk.place) && place.inlined() > walk.place.inlined();
            // Code of no line belongs to the line that it is in.
            if place.is_unnamed {
                continue;
            }
            let Some(row) = place.row else {
                if is_left && !is_inlined {
                    return Ok(Goal::at(here.position));
                }
                continue;
            };
            if is_inlined && !walk.into {
                continue;
            }
            let same = row.line == walk.line && walk.place.is_inside(&place) && !is_inlined;
            is_left |= !same;
            if is_left && row.begins {
                return Ok(Goal::at(here.position));
            }
        }
    }

    /// The first instruction of the current line, or where the program stands there, of the line
    /// before.
    fn line_before(
        &mut self,
        source: usize,
        mut level: Level,
        mut around: Rc<Place>,
        line: Line,
    ) -> Result<Goal, FindError> {
        let mut line = Some(line);
        let mut begin: Option<Position> = None;
        loop {
            let next = self.next_in_frame(source, Direction::Backward, level)?;
            let (here, top) = match (next, begin) {
                (Next::Here(here, top), _) => (here, top),
                (Next::Goal(_), Some(begin)) => return Ok(Goal::at(begin)),
                (Next::Goal(goal), None) => return Ok(goal),
            };
            let place = self.program.at(here.address);
            let returned = top != level;
            let is_inlined = place.is_inside(&around) && place.inlined() > around.inlined();
            if (is_inlined || place.is_unnamed) && !returned {
                continue;
            }
            let own = place.row.map(|row| row.line);
            if returned || own != line || !around.is_inside(&place) {
                if let Some(begin) = begin {
                    return Ok(Goal::at(begin));
                }
                (level, around, line) = (top, Rc::clone(&place), own);
            }
            match place.row {
                Some(row) if row.begins => begin = Some(here.position),
                // Code without lines is passed instruction by instruction.
                None if begin.is_none() && !place.is_unnamed => return Ok(Goal::at(here.position)),
                _ => {}
            }
        }
    }

    /// The first instruction after a frame, and after those that have replaced it by tail calls.
    fn out(&mut self, source: usize, level: Level) -> Result<Goal, FindError> {
        let Some(end) = self.machine.frame_end(source, 0)? else { return Ok(Goal::NONE) };
        self.machine.go(end)?;
        Ok(match self.passed(source, Direction::Forward, level)? {
            Some(Next::Here(own, _)) => Goal::at(own.position),
            Some(Next::Goal(goal)) => goal,
            None => Goal::NONE,
        })
    }

    /// The first instruction outside of the inlined function.
    fn out_of_inlined(
        &mut self,
        source: usize,
        level: Level,
        place: &Place,
    ) -> Result<Goal, FindError> {
        loop {
            match self.next_in_frame(source, Direction::Forward, level)? {
                Next::Goal(goal) => return Ok(goal),
                Next::Here(here, top) => {
                    let is_inside = self.program.at(here.address).is_inside(place);
                    if top != level || !is_inside {
                        return Ok(Goal::at(here.position));
                    }
                }
            }
        }
    }
}

/// What a step forward knows of its way.
pub(crate) struct Walk {
    pub(crate) level: Level,
    /// Where it begins, or what it has returned to.
    pub(crate) place: Rc<Place>,
    /// The line that it leaves.
    pub(crate) line: Line,
    /// Functions are entered.
    pub(crate) into: bool,
}

fn level(frame: &Frame) -> Level {
    Level { thread: frame.thread, depth: frame.depth, began: frame.began }
}

/// The number of the frame that a frame has called, counted from the innermost one. Forward, one
/// that has replaced it by a tail call, too.
fn called(stack: &[Frame], level: Level, direction: Direction) -> Option<usize> {
    let top = stack.first()?;
    let own = usize::try_from(top.depth.checked_sub(level.depth)?).ok()?;
    let replaced = stack
        .get(own)
        .is_some_and(|frame| frame.began != level.began && frame.entry == FrameEntry::TailCall);
    match direction == Direction::Forward && replaced {
        true => Some(own),
        false => own.checked_sub(1),
    }
}
