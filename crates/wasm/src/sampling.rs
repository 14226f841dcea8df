//! Tiles here and there, before there is an index.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use tracewright::index::Shape;
use tracewright::index::sample::{Sample, Sampled, Sampler};
use tracewright::views::json::Object;

use crate::opening::Opened;
use crate::reply::{Problem, Reply};
use crate::request::Request;

/// The samplers of the buffers, by the number of the buffer among those that are decoded.
pub(crate) type Samplers = BTreeMap<usize, Sampler<'static>>;

/// The most functions of a tile that are passed on: those with most instructions.
const MOST_FUNCTIONS: usize = 8;

/// Decodes the tiles with the numbers of `request`.
pub(crate) fn run(
    samplers: &mut Samplers,
    opened: &'static Opened,
    request: &Request<'_>,
) -> Result<Reply, Problem> {
    request.only(&["buffer", "tile"])?;
    let number = request.number("buffer")?.unwrap_or(0);
    let sampler = match samplers.entry(number) {
        Entry::Occupied(own) => own.into_mut(),
        Entry::Vacant(own) => {
            let lacks = || Problem::bad(format!("there is no buffer {number}"));
            let plan = opened.trace.plans().get(number).ok_or_else(lacks)?;
            let made = Sampler::new(&opened.trace.subject(), plan, Shape::default());
            let made = made.map_err(|error| Problem::of(&error))?;
            own.insert(made.ok_or_else(lacks)?)
        }
    };
    let mut samples = Vec::new();
    for tile in request.all("tile") {
        let bad = |_| Problem::bad("`tile` has to be a number");
        let tile: u64 = tile.parse().map_err(bad)?;
        samples.push(sampler.tile(tile).map_err(|error| Problem::of(&error))?);
    }
    let mut out = String::new();
    Object::new(&mut out)
        .number("tiles", sampler.tiles())
        .number("length", sampler.tile_len())
        .list("samples", &samples, |sample, out| put(sampler, sample, out))
        .end();
    Ok(Reply::json(out))
}

fn put(sampler: &Sampler<'_>, sample: &Sample, out: &mut String) {
    Object::new(out)
        .number("from", sample.offsets.0)
        .number("to", sample.offsets.1)
        .list("sources", &sample.sources, |own, out| match own {
            Some(own) => put_source(sampler, own, out),
            None => out.push_str("null"),
        })
        .end();
}

fn put_source(sampler: &Sampler<'_>, own: &Sampled, out: &mut String) {
    let mut functions: Vec<_> = own.functions.iter().collect();
    functions.sort_by_key(|(code, instructions)| (u64::MAX - **instructions, **code));
    functions.truncate(MOST_FUNCTIONS);
    let [exceptions, gaps, writes, accesses, events, dwt, _] = own.counts;
    Object::new(out)
        .number("instructions", own.functions.values().sum())
        .number("exceptions", exceptions)
        .number("gaps", gaps)
        .number("writes", writes)
        .number("others", accesses + events + dwt)
        .list("functions", functions, |(code, instructions), out| {
            Object::new(out)
                .text("name", &sampler.name(*code))
                .number("instructions", *instructions)
                .end();
        })
        .end();
}
