//! A listing for each worker.

use std::mem;

use tracewright_base::Gap;
use tracewright_decode::{Fork, ForkState};

use super::super::etmv3::order::Order;
use super::super::frames::RawFrames;
use super::super::source::SourceText;
use super::super::unsynced::Unsynced;
use super::{Listing, Source, Told};
use crate::render_cache::RenderCache;

/// What a listing carries on.
#[derive(Clone, Debug)]
pub struct State {
    sources: Vec<Source>,
    frames: RawFrames,
    /// Lines that elements may still be put before, and where.
    line: String,
    order: Order,
}

impl ForkState for State {
    fn same(&self, source: usize, other: &Self) -> bool {
        self.sources.get(source) == other.sources.get(source)
    }

    fn same_beside(&self, other: &Self) -> bool {
        self.frames == other.frames && self.line == other.line && self.order == other.order
    }

    fn adopt(&mut self, source: usize, other: &Self) {
        if let (Some(mine), Some(its)) = (self.sources.get_mut(source), other.sources.get(source)) {
            mine.clone_from(its);
        }
    }
}

impl Listing<Vec<u8>> {
    /// Nothing more comes: what is left.
    pub fn rest(mut self) -> Vec<u8> {
        self.write(true);
        self.out
    }
}

impl Fork for Listing<Vec<u8>> {
    type State = State;
    type Output = Vec<u8>;

    fn fork(&self) -> Self {
        let sources = self.sources.iter().map(|source| {
            let text = SourceText::new(&source.config);
            Source {
                id: source.id,
                config: source.config.clone(),
                unsynced: Unsynced::new(text.unsynced_group()),
                text,
                style: source.style,
                // Without packets nothing comes of it.
                lost: if self.shown.packets { Some(Gap::Start) } else { source.lost },
                running: false,
                overflowed: false,
                // The bytes before a worker's first synchronisation are none to whoever was there before.
                told: if source.told == Told::Yes { Told::Yes } else { Told::NotHere },
                unsynced_at: None,
                seen: (0, 0),
            }
        });
        Listing {
            out: Vec::new(),
            shown: self.shown,
            framed: self.framed,
            frames: self.frames.fork(),
            sources: sources.collect(),
            line: String::new(),
            prefix: (u64::MAX, u16::MAX, String::new()),
            ranges: RenderCache::default(),
            atoms: self.atoms.clone(),
            octets: Vec::new(),
            order: Order::default(),
            late: String::new(),
            error: None,
        }
    }

    fn state(&self) -> State {
        State {
            sources: self.sources.clone(),
            frames: self.frames.clone(),
            line: self.line.clone(),
            order: self.order.clone(),
        }
    }

    fn resume(&mut self, state: State) {
        let State { sources, frames, line, order } = state;
        (self.sources, self.frames, self.line, self.order) = (sources, frames, line, order);
        self.out.clear();
    }

    fn take(&mut self) -> Vec<u8> {
        let sure = self.order.sure(self.line.len());
        self.write_sure(sure);
        let room = Vec::with_capacity(self.out.len());
        mem::replace(&mut self.out, room)
    }

    fn weight(&self) -> usize {
        self.out.len() + self.line.len()
    }
}
