//! The captures of a job, of which one at a time is open, and their units.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tracewright::analysis::coverage_runs::Digest;
use tracewright::capture::read_if;
use tracewright_fleet::{Job, Part, Payload, Piece, Plan, PlanFile, States, Unit};

use super::MAX_PART;
use super::copies::Copies;
use super::reading::{Opened, Reading};
use super::same_programs::SamePrograms;
use crate::args::ShareArgs;
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
}

impl<'a> Work<'a> {
    /// The units of `job` for the captures at `paths`, each of about `size` bytes. Captures of
    /// different programs are an error, unless it is `forced`.
    pub fn survey(
        paths: &[PathBuf],
        reading: Reading<'a>,
        (job, size): (Job, u64),
        forced: bool,
    ) -> Result<Work<'a>, Fail> {
        if let Some(path) = reading.index.index.as_ref().filter(|_| paths.len() > 1) {
            let why = "it is of one capture; others are found beside each of several captures";
            return Err(Fail::option("--index", &path.to_string_lossy(), why));
        }
        let (mut planned, mut known) = (Vec::new(), BTreeMap::new());
        let (mut copies, mut programs) = (Copies::default(), SamePrograms::default());
        let (mut undivided, mut open) = (None, None);
        for path in paths {
            let opened = reading.open(path)?;
            if paths.len() > 1 {
                copies.add(&opened);
                programs.add(&opened.input);
            }
            if opened.index.is_none() {
                undivided = undivided.or_else(|| Some(path.clone()));
            }
            planned.push(opened.planned(size));
            known.insert(opened.identity.data, path.clone());
            opened.unchanged()?;
            open = Some(opened);
        }
        copies.refuse(reading)?;
        programs.refuse(paths, reading, forced)?;
        let plan = Plan::new(job, planned, size).map_err(|error| Fail::text(&error.to_string()))?;
        Ok(Work { reading, plan, paths: known, open, undivided, contradicted: false })
    }

    /// The units of the plan at `path`, which must be of `job`.
    pub fn planned(path: &Path, reading: Reading<'a>, job: &Job) -> Result<Work<'a>, Fail> {
        let failed = |why: String| Fail::input(path, &why);
        let file = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
        let bytes =
            read_if(file, MAX_PART, &PlanFile::is_at).map_err(|why| failed(why.to_string()))?;
        let bytes =
            bytes.ok_or_else(|| failed("it is no plan of `tracewright units -o`".into()))?;
        let PlanFile { plan, paths } =
            PlanFile::read(&bytes).map_err(|error| failed(error.to_string()))?;
        if plan.job != *job {
            return Err(failed(format!(
                "the plan is that of the job `{}`, and this command computes the job `{}`: give it \
                 the options with which the plan was made",
                plan.job.name, job.name
            )));
        }
        if let Some(index) = reading.index.index.as_ref().filter(|_| plan.total() > 1) {
            let why = "it is of one capture; others are found beside each of several captures";
            return Err(Fail::option("--index", &index.to_string_lossy(), why));
        }
        let output = reading.output.filter(|path| !is_standard(path));
        Inputs::of_files(vec![path.to_owned()]).refuse(output)?;
        let paths = paths.into_iter().map(|(data, path)| (data, path.into())).collect();
        Ok(Work { reading, plan, paths, open: None, undivided: None, contradicted: false })
    }

    /// The plan as a file.
    pub fn file(&self) -> Result<PlanFile, Fail> {
        let text = |(data, path): (&Digest, &PathBuf)| match path.to_str() {
            Some(text) => Ok((*data, text.to_owned())),
            None => Err(Fail::input(path, "a plan has paths in UTF-8, and this one is not")),
        };
        let paths = self.paths.iter().map(text).collect::<Result<_, _>>()?;
        Ok(PlanFile { plan: self.plan.clone(), paths })
    }

    /// The units that `args` choose.
    pub fn chosen(&self, args: &ShareArgs) -> Result<Vec<Unit>, Fail> {
        match (&args.unit, args.units) {
            (Some(id), _) => {
                let unit = self.plan.unit(id);
                Ok(vec![unit.map_err(|error| Fail::text(&error.to_string()))?.clone()])
            }
            (None, Some((number, of))) => {
                let units = self.plan.share(number, of).to_vec();
                if units.is_empty() && !self.reading.quiet {
                    let count = self.plan.units.len();
                    message::line(&format!(
                        "note: there are {count} units: share {number} of {of} has none"
                    ));
                }
                Ok(units)
            }
            (None, None) => Ok(Vec::new()),
        }
    }

    /// The path of the capture of a piece.
    pub fn path(&self, piece: &Piece) -> Result<&Path, Fail> {
        let found = self.paths.get(&piece.capture);
        found.map(PathBuf::as_path).ok_or_else(|| Fail::internal("a unit of no capture"))
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
        units: &[Unit],
        (empty, allowed): (Payload, usize),
        piece: &mut dyn FnMut(&Opened, &Piece, &mut Payload) -> Result<States, Fail>,
    ) -> Result<Part, Fail> {
        let mut part = Part::new(&self.plan, empty.clone());
        for unit in units {
            let added = match self.unit(unit, empty.clone(), piece) {
                Ok((payload, states)) => {
                    part.payload.add(payload).and_then(|()| part.add_unit(&self.plan, unit, states))
                }
                Err((path, fail)) => {
                    let why = format!("unit {}: {}", unit.id, fail.about(&path));
                    if fail.is_read() || part.failed.len() >= allowed {
                        return Err(Fail::input(&path, &why));
                    }
                    message::line(&format!("tracewright: left out: {}: {why}", path.display()));
                    part.add_failed(&self.plan, unit, fail.about(&path))
                }
            };
            added.map_err(|error| Fail::text(&error.to_string()))?;
        }
        if let Some(last) = self.open.take() {
            self.close(&last)?;
        }
        Ok(part)
    }

    /// Computes `unit`. An error has the path of its capture.
    fn unit(
        &mut self,
        unit: &Unit,
        mut payload: Payload,
        piece: &mut dyn FnMut(&Opened, &Piece, &mut Payload) -> Result<States, Fail>,
    ) -> Result<(Payload, Vec<States>), (PathBuf, Fail)> {
        let mut states = Vec::new();
        for own in &unit.pieces {
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
