// The rows of the timeline, from top to bottom.

import type { Tiles } from "../data/layout";
import type { Part, TilePiece } from "../data/store";
import { hasTrace, threadName } from "../model/state";
import type { BufferInfo, SeriesInfo, SourceInfo } from "../data/types";

export type TrackKind = "head" | "events" | "frames" | "output" | "values";

export interface Track {
  kind: TrackKind;
  source: SourceInfo;
  thread?: number;
  label: string;
  y: number;
  height: number;
  /** Of frames: the depth of the first row. */
  least: number;
  /** Of values. */
  series?: SeriesInfo;
}

export const ROW_HEIGHT = 19;
export const RULER_HEIGHT = 24;
const HEAD_HEIGHT = 22;
const EVENTS_HEIGHT = 16;
const OUTPUT_HEIGHT = 18;
const VALUES_HEIGHT = 30;
const SPACE = 6;
/** Deeper rows are in the tree and in the stack of the focus. */
const MOST_ROWS = 120;

interface Depths {
  least: number;
  most: number;
}

/** The depths of each thread in what is loaded. */
export function depthsOf(parts: readonly Part[], tiles: readonly TilePiece[]): Map<number, Depths> {
  const depths = new Map<number, Depths>();
  const seen = (thread: number, least: number, most: number) => {
    const known = depths.get(thread);
    if (known === undefined) depths.set(thread, { least, most });
    else {
      known.least = Math.min(known.least, least);
      known.most = Math.max(known.most, most);
    }
  };
  for (const { threads } of parts) {
    for (const [thread, { least, most }] of threads) seen(thread, least, most);
  }
  for (const { tiles: block } of tiles) {
    for (const [thread, { least, most }] of tileDepths(block)) seen(thread, least, most);
  }
  return depths;
}

const ofBlocks = new WeakMap<Tiles, Map<number, Depths>>();

function tileDepths(t: Tiles): Map<number, Depths> {
  let depths = ofBlocks.get(t);
  if (depths === undefined) {
    depths = new Map();
    for (let p = 0; p < t.thread.length; p++) {
      const rows = (t.firstRow[p + 1] ?? t.function.length) - (t.firstRow[p] as number);
      if (rows === 0) continue;
      const least = t.leastDepth[p] as number;
      const thread = t.thread[p] as number;
      const known = depths.get(thread) ?? { least, most: least };
      known.least = Math.min(known.least, least);
      known.most = Math.max(known.most, least + rows - 1);
      depths.set(thread, known);
    }
    ofBlocks.set(t, depths);
  }
  return depths;
}

/** The series of a source that have a row: text is in the output. */
export function seriesOf(source: SourceInfo): SeriesInfo[] {
  return (source.series ?? []).filter((series) => !series.text);
}

/** The tracks of a buffer. `depths` are those of each source with instructions. */
export function layOut(
  info: BufferInfo,
  depths: ReadonlyMap<number, ReadonlyMap<number, Depths>>,
): { tracks: Track[]; height: number } {
  const tracks: Track[] = [];
  let y = RULER_HEIGHT;
  const add = (kind: TrackKind, source: SourceInfo, label: string, height: number, more = {}) => {
    tracks.push({ kind, source, label, y, height, least: 0, ...more });
    y += height;
  };
  // Of some sources nothing is decoded but that there are bytes.
  const rank = (source: SourceInfo) => (source.instructions > 0 ? 0 : hasTrace(source) ? 1 : 2);
  const order = [...info.sources].sort((a, b) => rank(a) - rank(b));
  for (const source of order) {
    const hasOutput = info.channels.length > 0 && source.instructions === 0;
    add("head", source, source.name, HEAD_HEIGHT);
    if (!hasTrace(source)) continue;
    if (source.instructions > 0) {
      add("events", source, "exceptions, losses", EVENTS_HEIGHT);
      const threads = info.threads.filter((thread) => thread.source === source.number);
      for (const [number, { least, most }] of [...(depths.get(source.number) ?? [])].sort((a, b) => a[0] - b[0])) {
        const thread = threads.find((t) => t.number === number);
        const rows = Math.min(MOST_ROWS, most - least + 1);
        const name = threads.length > 1 ? threadName(thread) : "";
        const hidden = most - least + 1 - rows;
        const label = hidden > 0 ? `${name} (${hidden} more rows)`.trim() : name;
        add("frames", source, label, rows * ROW_HEIGHT + SPACE, { thread: number, least });
      }
    } else if (hasOutput) {
      add("output", source, "output", OUTPUT_HEIGHT + SPACE);
    } else {
      add("events", source, "events", EVENTS_HEIGHT);
    }
    for (const series of seriesOf(source)) add("values", source, series.name, VALUES_HEIGHT, { series });
  }
  return { tracks, height: y };
}

/** The depth that is drawn at `y`. */
export function depthAt(track: Track, y: number): number {
  return track.least + Math.floor((y - track.y) / ROW_HEIGHT);
}
