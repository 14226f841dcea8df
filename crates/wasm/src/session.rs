//! The files, the capture and its index.

use std::path::PathBuf;

use tracewright::Bytes;
use tracewright::index::{Half, Index, Making, join};
use tracewright::views::json::Object;

use crate::host;
use crate::listing;
use crate::opening::{Opened, open};
use crate::reply::{Problem, Reply};
use crate::request::Request;
use crate::sampling::{self, Samplers};
use crate::shown::Shown;
use crate::tables;

/// What an instance of the module has.
#[derive(Default)]
pub struct Session {
    files: Vec<(PathBuf, Bytes)>,
    opened: Option<&'static Opened>,
    index: Option<&'static Index>,
    /// The bytes of the index.
    index_bytes: Bytes,
    shown: Option<Shown>,
    samplers: Samplers,
    reply: Reply,
}

impl Session {
    /// Adds a file. Its name is a path with slashes.
    pub(crate) fn add(&mut self, name: &[u8], bytes: Bytes) {
        self.files.push((String::from_utf8_lossy(name).into_owned().into(), bytes));
    }

    /// Answers a request, and returns the status.
    pub(crate) fn ask(&mut self, request: &[u8], body: &[u8]) -> u16 {
        let reply = Request::parse(request).and_then(|request| self.answer(&request, body));
        self.reply = reply.unwrap_or_else(Reply::from);
        self.reply.status
    }

    /// The answer to the last request.
    pub(crate) fn reply(&self) -> &[u8] {
        &self.reply.body
    }

    fn opened(&self) -> Result<&'static Opened, Problem> {
        self.opened.ok_or_else(|| Problem::bad("no capture is open"))
    }

    fn answer(&mut self, request: &Request<'_>, body: &[u8]) -> Result<Reply, Problem> {
        match request.route {
            "open" => self.open(request),
            "list" => listing::run(self.opened()?, request),
            "tables" => Ok(tables::all()),
            "table" => tables::run(self.opened()?, request),
            "sample" => {
                let opened = self.opened()?;
                sampling::run(&mut self.samplers, opened, request)
            }
            "index" => self.make_index(request, body),
            "half" => self.make_half(request),
            "index-file" => {
                let lacks = || Problem::bad("there is no index");
                self.index.ok_or_else(lacks)?;
                Ok(Reply { status: 200, body: self.index_bytes.to_vec() })
            }
            "view" => self.view(request, body),
            _ => Err(Problem::bad(format!("there is no route `{}`", request.route))),
        }
    }

    /// Opens the capture of the files that were added.
    fn open(&mut self, request: &Request<'_>) -> Result<Reply, Problem> {
        if self.opened.is_some() {
            return Err(Problem::bad("an instance opens one capture"));
        }
        // The answers of the viewer refer to it as long as the instance exists.
        let opened: &'static Opened = Box::leak(Box::new(open(&self.files, request)?));
        self.opened = Some(opened);
        Ok(Reply::json(opened.json()))
    }

    /// Makes the index with a view, or reads it from `body`. With `segments`, `body` has its
    /// halves: this number of bytes of the segments, and then the view.
    fn make_index(&mut self, request: &Request<'_>, body: &[u8]) -> Result<Reply, Problem> {
        request.only(&["segments"])?;
        let opened = self.opened()?;
        if self.index.is_some() {
            return Err(Problem::bad("the index exists"));
        }
        let halves = request.number("segments")?.map(|len: usize| body.split_at_checked(len));
        let bytes = match halves {
            Some(None) => return Err(Problem::bad("`segments` exceeds the bytes of the halves")),
            Some(Some((segments, view))) => {
                join(segments, view).map_err(|error| Problem::of(&error))?
            }
            None if body.is_empty() => make(opened, Half::Both)?,
            None => body.to_vec(),
        };
        let bytes = Bytes::from(bytes);
        let index = Index::read(bytes.clone()).map_err(|error| Problem::of(&error))?;
        let checked = opened.trace.subject().check(&index, opened.trace.plans());
        checked.map_err(|error| Problem::of(&error))?;
        self.index = Some(Box::leak(Box::new(index)));
        let mut out = String::new();
        Object::new(&mut out).number("bytes", bytes.size()).end();
        self.index_bytes = bytes;
        Ok(Reply::json(out))
    }

    /// Makes a half of the index, for another instance that has the other one.
    fn make_half(&mut self, request: &Request<'_>) -> Result<Reply, Problem> {
        request.only(&["of"])?;
        let half = match request.needed("of")? {
            "segments" => Half::Segments,
            "view" => Half::View,
            _ => return Err(Problem::bad("`of` has to be segments or view")),
        };
        Ok(Reply { status: 200, body: make(self.opened()?, half)? })
    }

    /// An answer of the viewer.
    fn view(&mut self, request: &Request<'_>, body: &[u8]) -> Result<Reply, Problem> {
        request.only(&["route", "query", "put"])?;
        let (route, query) = (request.needed("route")?, request.get("query").unwrap_or(""));
        let body = request.is("put")?.then_some(body);
        if self.shown.is_none() {
            let lacks = || Problem::bad("there is no index; ask for `index` first");
            self.shown = Some(Shown::new(self.opened()?, self.index.ok_or_else(lacks)?)?);
        }
        let Some(shown) = &mut self.shown else { return Err(Problem::bad("no answer")) };
        Ok(shown.answer(route, query, body))
    }
}

/// The bytes of an index with a view, or of a half of it.
fn make(opened: &Opened, half: Half) -> Result<Vec<u8>, Problem> {
    let (trace, mut bytes, mut wanted) = (&opened.trace, Vec::new(), true);
    let plans = trace.plans();
    let sizes = plans.iter().filter_map(|plan| trace.capture().buffers.get(plan.buffer));
    let of = sizes.map(|buffer| buffer.len()).sum();
    let write = |part: &[u8], at: u64| {
        bytes.extend_from_slice(part);
        wanted = host::progress(at, of);
        Ok(wanted)
    };
    let making = Making { view: true, jobs: 1, half, ..Making::default() };
    trace.subject().make(plans, &making, write).map_err(|error| Problem::of(&error))?;
    match wanted {
        true => Ok(bytes),
        false => Err(Problem::bad("the index was not wanted any more")),
    }
}
