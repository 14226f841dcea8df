//! The captures of a job, of which one at a time is open, and their units.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tracewright::analysis::coverage_runs::Digest;
use tracewright::capture::open_if;
use tracewright_fleet::{
    Codes, FleetError, Job, Part, Payload, Piece, Plan, PlanFile, States, Unit,
};

use super::FORCED;
use super::copies::Copies;
use super::list_share::ListShare;
use super::reading::{Opened, Reading};
use super::same_programs::SamePrograms;
use crate::args::{ShareArgs, UseIndexArgs};
use crate::fail::Fail;
use crate::inputs::{Inputs, is_standard};
use crate::message;

/// The units of a job, and their captures.
pub struct Work<'a> {
    reading: Reading<'a>,
    pub plan: Plan,
    paths: BTreeMap<Digest, PathBuf>,
    /// The capture that was opened last.
    open: Option<Opened>,
    /// A capture without an index.
    pub undivided: Option<PathBuf>,
    /// The description of a capture contradicts its trace.
    pub contradicted: bool,
    /// The captures that could not be opened.
    pub failed: Vec<Fail>,
    /// The programs of the captures that were opened.
    programs: Codes,
    /// The captures of a share of a list, none of which was opened.
    listed: &'a [PathBuf],
    /// Captures of different programs are no error.
    forced: bool,
}

/// How the captures of a job are surveyed.
#[derive(Clone, Copy, Default)]
pub struct Survey {
    /// Captures of different programs are no error.
    pub forced: bool,
    /// Captures that cannot be opened are left out.
    pub keep_going: bool,
    /// The number of threads.
    pub threads: usize,
}

impl<'a> Work<'a> {
    /// The units of `job` for the captures at `paths`, each of about `size` bytes.
    pub fn survey(
        paths: &[PathBuf],
        reading: Reading<'a>,
        (job, size): (Job, u64),
        how: Survey,
    ) -> Result<Work<'a>, Fail> {
        one_index(&reading, paths.len())?;
        let (mut planned, mut known) = (Vec::new(), BTreeMap::new());
        let (mut copies, mut programs) = (Copies::default(), SamePrograms::default());
        let (mut undivided, mut open, mut failed) = (None, None, Vec::new());
        let mut good: Vec<PathBuf> = Vec::new();
        reading.open_all(paths, how.threads, &mut |path, opened| {
            let opened = match opened {
                Err(fail) if how.keep_going => {
                    failed.push(fail);
                    return Ok(());
                }
                opened => opened?,
            };
            opened.unchanged()?;
            if paths.len() > 1 {
                copies.add(&opened);
                programs.add(&opened.input);
            }
            if opened.index.is_none() {
                undivided.get_or_insert_with(|| path.to_owned());
            }
            planned.push(opened.planned(size));
            known.insert(opened.identity.data, path.to_owned());
            good.push(path.to_owned());
            open = Some(opened);
            Ok(())
        })?;
        if good.is_empty()
            && let Some(fail) = failed.pop()
        {
            return Err(fail);
        }
        copies.refuse(reading)?;
        let opened: Vec<&Path> = good.iter().map(PathBuf::as_path).collect();
        programs.refuse(&opened, reading, how.forced)?;
        let plan = Plan::new(job, planned, size).map_err(|error| Fail::text(&error.to_string()))?;
        Ok(Work { paths: known, open, undivided, failed, ..Work::of(reading, plan) })
    }

    /// A share of the captures at `paths`, which are opened when their units are computed; `None`
    /// where there are too few of them. A unit is a capture: its index is not used.
    pub fn listed(
        paths: &'a [PathBuf],
        reading: Reading<'a>,
        mut job: Job,
        (share, forced): ((usize, usize), bool),
    ) -> Result<Option<Work<'a>>, Fail> {
        const WITHOUT: &UseIndexArgs = &UseIndexArgs { no_index: true, index: None };
        one_index(&reading, paths.len())?;
        let Some(ListShare { list, positions }) = ListShare::of(paths, share) else {
            return Ok(None);
        };
        let listed = paths.get(positions.clone()).unwrap_or_default();
        // Programs of other shares are compared by `merge`.
        job.name.push_str(if forced { FORCED } else { "" });
        let plan = Plan::of_list(job, &list, paths.len(), positions);
        let reading = Reading { index: WITHOUT, ..reading };
        Ok(Some(Work { listed, forced, ..Work::of(reading, plan) }))
    }

    fn of(reading: Reading<'a>, plan: Plan) -> Work<'a> {
        Work {
            reading,
            plan,
            paths: BTreeMap::new(),
            open: None,
            undivided: None,
            contradicted: false,
            failed: Vec::new(),
            programs: Codes::new(),
            listed: &[],
            forced: false,
        }
    }

    /// The units of the plan at `path`, which must be of `job`.
    pub fn planned(path: &Path, reading: Reading<'a>, job: &Job) -> Result<Work<'a>, Fail> {
        let failed = |why: String| Fail::input(path, &why);
        let PlanFile(plan) = read_plan(path)?;
        if plan.job != *job {
            return Err(failed(format!(
                "the plan is that of the job `{}`, and this command computes the job `{}`: give it \
                 the options with which the plan was made",
                plan.job.name, job.name
            )));
        }
        one_index(&reading, plan.total())?;
        let output = reading.output.filter(|path| !is_standard(path));
        Inputs::of_files(vec![path.to_owned()]).refuse(output)?;
        Ok(Work::of(reading, plan))
    }

    /// Fails where the plan cannot be written, as a path is no text.
    pub fn check_paths(&self) -> Result<(), Fail> {
        match self.paths.values().find(|path| path.to_str().is_none()) {
            Some(path) => Err(Fail::input(path, "a plan has paths in UTF-8, and this one is not")),
            None => Ok(()),
        }
    }

    /// Writes the plan as a file.
    pub fn write_plan(&self, to: &mut dyn Write) -> io::Result<()> {
        let path = |data: &Digest| self.paths.get(data).and_then(|path| path.to_str());
        PlanFile::write_to(&self.plan, &path, to)
    }

    /// The units that `args` choose; what the plan has of others is dropped.
    pub fn chosen(&mut self, args: &ShareArgs) -> Result<Vec<Unit>, Fail> {
        let count = self.plan.units.len();
        let units = match (&args.unit, args.units) {
            (Some(id), _) => {
                let unit = self.plan.unit(id);
                vec![unit.map_err(|error| Fail::text(&error.to_string()))?.clone()]
            }
            (None, Some((number, of))) => {
                let share = self.plan.share(number, of);
                let mut units = std::mem::take(&mut self.plan.units);
                units.drain(share.end..);
                units.drain(..share.start);
                if units.is_empty() && self.listed.is_empty() && !self.reading.quiet {
                    message::line(&format!(
                        "note: there are {count} units: share {number} of {of} has none"
                    ));
                }
                units
            }
            (None, None) => Vec::new(),
        };
        self.plan.units.clear();
        if units.len() < count {
            let pieces = units.iter().flat_map(|unit| self.plan.pieces(unit));
            let captures: BTreeSet<Digest> = pieces.map(|piece| piece.capture).collect();
            self.plan.captures.retain(&|data| captures.contains(data));
            self.paths.retain(|data, _| captures.contains(data));
        }
        Ok(units)
    }

    /// The path of the capture of a piece.
    pub fn path(&self, piece: &Piece) -> Result<&Path, Fail> {
        let found = self.paths.get(&piece.capture).map(PathBuf::as_path);
        let planned = || self.plan.captures.path(&piece.capture).map(Path::new);
        found.or_else(planned).ok_or_else(|| Fail::internal("a unit of no capture"))
    }

    /// The capture of a piece, which is opened where it is not open. It must be that of the plan.
    fn opened(&mut self, piece: &Piece) -> Result<&Opened, Fail> {
        let is_open = |own: &Opened| own.identity.data == piece.capture;
        let opened = match self.open.take() {
            Some(own) if is_open(&own) => own,
            other => {
                other.iter().try_for_each(|own| self.close(own))?;
                let path = self.path(piece)?;
                let own = self.reading.open(path)?;
                let plan = self.plan.check(&piece.capture, &own.identity);
                plan.map_err(|error| Fail::of_unit(path, &error))?;
                own
            }
        };
        let programs = self.reading.programs.put(opened.input.capture(), &mut self.programs);
        programs.map_err(|error| Fail::of_unit(&opened.input.path, &error))?;
        Ok(self.open.insert(opened))
    }

    /// Notes what was found of a capture that is used no more.
    fn close(&mut self, opened: &Opened) -> Result<(), Fail> {
        self.contradicted |= opened.input.is_contradicted();
        opened.unchanged()
    }

    /// Computes `units`, each by `piece`, which returns the states at its ends. At most `allowed`
    /// of them may be such that they cannot be decoded: these are noted in the part.
    pub fn part(
        &mut self,
        units: Vec<Unit>,
        (empty, allowed): (Payload, usize),
        piece: &mut dyn FnMut(&Opened, &Piece, &mut Payload) -> Result<States, Fail>,
    ) -> Result<Part, Fail> {
        let mut part = Part::new(&self.plan, empty.clone());
        for unit in units {
            self.add(&unit, &mut part, (&empty, allowed), piece)?;
            // The part has these captures now.
            self.plan.forget(&unit);
        }
        let (listed, mut programs) = (std::mem::take(&mut self.listed), SamePrograms::default());
        let first = part.listed.first().map_or(0, |positions| positions.0);
        for (path, position) in listed.iter().zip(first..) {
            let opened = match self.reading.open(path) {
                Ok(opened) => opened,
                Err(fail) if !fail.is_read() && part.failures().len() < allowed => {
                    message::line(&format!("tracewright: left out: {fail}"));
                    part.unopened.insert(position, fail.about(path));
                    continue;
                }
                Err(fail) => return Err(fail),
            };
            programs.add(&opened.input);
            let Some(unit) = self.plan.admit(opened.identity.clone()) else { continue };
            if let Some(last) = self.open.replace(opened) {
                self.close(&last)?;
            }
            self.paths = self.plan.captures.keys().map(|data| (data, path.clone())).collect();
            self.add(&unit, &mut part, (&empty, allowed), piece)?;
        }
        if let Some(last) = self.open.take() {
            self.close(&last)?;
        }
        let is_opened = |position: &usize| !part.unopened.contains_key(position);
        let opened = listed.iter().zip(first..).filter(|(_, position)| is_opened(position));
        let opened: Vec<&Path> = opened.map(|(path, _)| path.as_path()).collect();
        programs.refuse(&opened, self.reading, self.forced)?;
        part.programs = std::mem::take(&mut self.programs);
        Ok(part)
    }

    /// Computes `unit` and adds it to `part`.
    fn add(
        &mut self,
        unit: &Unit,
        part: &mut Part,
        (empty, allowed): (&Payload, usize),
        piece: &mut dyn FnMut(&Opened, &Piece, &mut Payload) -> Result<States, Fail>,
    ) -> Result<(), Fail> {
        let added = match self.unit(unit, empty.clone(), piece) {
            Ok((payload, states)) => {
                part.payload.add(payload).and_then(|()| part.add_unit(&self.plan, unit, states))
            }
            Err((path, fail)) => {
                let why = format!("unit {}: {}", unit.id, fail.about(&path));
                if fail.is_read() || part.failures().len() >= allowed {
                    return Err(Fail::input(&path, &why));
                }
                message::line(&format!("tracewright: left out: {}: {why}", path.display()));
                part.add_failed(&self.plan, unit, fail.about(&path))
            }
        };
        let pieces = self.plan.pieces(unit);
        added.map_err(|error| match pieces.first().and_then(|own| self.path(own).ok()) {
            Some(path) if matches!(error, FleetError::Shared { .. }) => Fail::input(
                path,
                &format!("a capture before it has the same trace, whose sum would count it twice: {error}"),
            ),
            _ => Fail::text(&error.to_string()),
        })
    }

    /// Computes `unit`. An error has the path of its capture.
    fn unit(
        &mut self,
        unit: &Unit,
        mut payload: Payload,
        piece: &mut dyn FnMut(&Opened, &Piece, &mut Payload) -> Result<States, Fail>,
    ) -> Result<(Payload, Vec<States>), (PathBuf, Fail)> {
        let mut states = Vec::new();
        for own in &self.plan.pieces(unit) {
            let done = self.opened(own).and_then(|opened| piece(opened, own, &mut payload));
            states.push(
                done.map_err(|fail| {
                    (self.path(own).map(Path::to_owned).unwrap_or_default(), fail)
                })?,
            );
        }
        Ok((payload, states))
    }
}

/// Fails where one index is given for several captures.
fn one_index(reading: &Reading<'_>, captures: usize) -> Result<(), Fail> {
    match reading.index.index.as_ref().filter(|_| captures > 1) {
        Some(path) => {
            let why = "it is of one capture; others are found beside each of several captures";
            Err(Fail::option("--index", &path.to_string_lossy(), why))
        }
        None => Ok(()),
    }
}

/// Reads the plan at `path`, or of standard input for `-`.
pub fn read_plan(path: &Path) -> Result<PlanFile, Fail> {
    let failed = |why: String| Fail::input(path, &why);
    let file = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    let from = open_if(file, &PlanFile::is_at).map_err(|why| failed(why.to_string()))?;
    let mut from = from.ok_or_else(|| failed("it is no plan of `tracewright units -o`".into()))?;
    PlanFile::read_from(&mut from).map_err(|error| failed(error.to_string()))
}
