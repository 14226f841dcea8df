// The rows of frames: exact calls where they are loaded, and tiles where they are too short.

import { NONE } from "../data/layout";
import type { Part, TilePiece } from "../data/store";
import { EXCEPTION, NOT_ENDED, UNCERTAIN } from "../data/types";
import type { Range } from "../model/state";
import { functionName } from "../model/state";
import { visible } from "../text";
import { COLORS, fills } from "./palette";
import type { Theme } from "./palette";
import type { Correspondence, Projection } from "./projection";
import { fitted, Rectangles } from "./surface";
import { ROW_HEIGHT } from "./tracks";
import type { Track } from "./tracks";

/** The number of the colour of a function. */
export type ColorOf = (id: number) => number;

export interface Drawing {
  context: CanvasRenderingContext2D;
  theme: Theme;
  track: Track;
  view: Range;
  left: number;
  right: number;
  projection: Projection;
  correspondence: Correspondence;
  colorOf: ColorOf;
  highlighted: number | null;
}

/** A frame on the screen. */
interface Box {
  x0: number;
  x1: number;
  y: number;
  function: number;
  flags: number;
  open: boolean;
}

/** Where the frames of `part` begin and end, on the axis of `projection`. */
export function values(part: Part, kind: Projection["kind"]): { begin: Float64Array; end: Float64Array } {
  if (kind === "instructions") {
    return { begin: part.frames.beginInstruction, end: part.frames.endInstruction };
  }
  if (kind === "time") return { begin: part.begin.t, end: part.end.t };
  return { begin: part.begin.u, end: part.end.u };
}

export const INSET = 1;

function boxes(drawing: Drawing, parts: readonly Part[]): Box[] {
  const { track, projection, left, right } = drawing;
  const result: Box[] = [];
  const rows = Math.floor(track.height / ROW_HEIGHT);
  // The last pixel that is painted in each row, so that frames narrower than a pixel are drawn once.
  const painted = new Float64Array(rows).fill(-1);
  // Frames that are in two parts.
  const crossing = new Map<string, Box>();
  for (const part of parts) {
    const { frames } = part;
    const { begin, end } = values(part, projection.kind);
    for (const f of part.threads.get(track.thread ?? -1)?.frames ?? []) {
      const row = (frames.depth[f] as number) - track.least;
      if (row < 0 || row >= rows) continue;
      let [a, b] = [begin[f] as number, end[f] as number];
      if (Number.isNaN(a)) a = projection.from;
      if (Number.isNaN(b)) b = projection.to;
      let x0 = projection.x(a);
      let x1 = projection.x(b);
      if (x1 < left || x0 > right) continue;
      x0 = Math.max(left - 4, x0);
      x1 = Math.min(right + 4, x1);
      const inside = (frames.begin[f] as number) >= part.from && (frames.end[f] as number) < part.to;
      if (inside && x1 - x0 < 1) {
        const pixel = Math.floor(x0);
        if ((painted[row] as number) >= pixel) continue;
        painted[row] = pixel;
        x0 = pixel;
        x1 = pixel + 1;
      } else if (x1 - x0 < 1) {
        x1 = x0 + 1;
      }
      const box = {
        x0,
        x1,
        y: track.y + row * ROW_HEIGHT,
        function: frames.function[f] as number,
        flags: frames.flags[f] as number,
        open: frames.ending[f] === NOT_ENDED,
      };
      if (!inside) {
        const key = `${row}/${frames.begin[f]}/${frames.beginInstruction[f]}`;
        const other = crossing.get(key);
        if (other !== undefined) {
          other.x0 = Math.min(other.x0, x0);
          other.x1 = Math.max(other.x1, x1);
          other.open &&= box.open;
          continue;
        }
        crossing.set(key, box);
      }
      result.push(box);
    }
  }
  return result;
}

/** Draws tiles: of each column and depth the function that has most of it, lighter the less it has. */
export function drawTiles(drawing: Drawing, pieces: readonly TilePiece[], bytes: number): void {
  const { context, theme, track, projection, correspondence, left, right } = drawing;
  const table = fills(theme);
  const shades = 4;
  const layers = Array.from({ length: shades }, () => new Rectangles());
  const rowsShown = Math.floor(track.height / ROW_HEIGHT);
  const column = projection.kind === "bytes" ? "u" : projection.kind === "time" ? "t" : "i";
  for (const { tiles, from, to } of pieces) {
    for (let t = 0; t < tiles.tile.length; t++) {
      const begin = (tiles.tile[t] as number) * tiles.size;
      const end = Math.min(bytes, begin + tiles.size);
      if (end <= from || begin >= to) continue;
      const x0 = Math.max(left, projection.x(correspondence.convert("u", column, Math.max(from, begin), true)));
      const x1 = Math.min(right, projection.x(correspondence.convert("u", column, Math.min(to, end))));
      if (x1 <= left || x0 >= right || x1 <= x0) continue;
      const last = tiles.firstPart[t + 1] ?? tiles.thread.length;
      const instructions = tiles.instructions[t] as number;
      for (let p = tiles.firstPart[t] as number; p < last; p++) {
        if (tiles.thread[p] !== track.thread) continue;
        const share = instructions > 0 ? (tiles.partInstructions[p] as number) / instructions : 1;
        const first = tiles.firstRow[p] as number;
        const end = tiles.firstRow[p + 1] ?? tiles.function.length;
        for (let r = first; r < end; r++) {
          const row = (tiles.leastDepth[p] as number) + (r - first) - track.least;
          if (row < 0 || row >= rowsShown || tiles.function[r] === NONE) continue;
          const weight = (tiles.weight[r] as number) * Math.min(1, share);
          const layer = Math.min(shades - 1, Math.floor(weight * shades));
          const fill = table[drawing.colorOf(tiles.function[r] as number) % COLORS] as string;
          const y = track.y + row * ROW_HEIGHT;
          layers[layer]?.add(fill, x0, y + INSET, x1 - x0 + 0.3, ROW_HEIGHT - INSET);
        }
      }
    }
  }
  layers.forEach((layer, shade) => {
    context.globalAlpha = 0.28 + (0.72 * (shade + 1)) / shades;
    layer.paint(context);
  });
  context.globalAlpha = 1;
}

/** Draws the calls in `parts`. */
export function drawFrames(drawing: Drawing, parts: readonly Part[]): void {
  const { context, theme, track, left, right } = drawing;
  const table = fills(theme);
  const all = boxes(drawing, parts);
  const rectangles = new Rectangles();
  const dimmed = new Rectangles();
  for (const box of all) {
    const fill = box.function === NONE ? theme.idle : (table[drawing.colorOf(box.function) % COLORS] as string);
    const other = drawing.highlighted !== null && box.function !== drawing.highlighted;
    const gap = box.x1 - box.x0 > 3 ? 0.6 : 0;
    (other ? dimmed : rectangles).add(fill, box.x0, box.y + INSET, box.x1 - box.x0 - gap, ROW_HEIGHT - INSET);
  }
  context.save();
  context.beginPath();
  context.rect(left, track.y, right - left, track.height);
  context.clip();
  // Under what is drawn lighter there may be tiles.
  if (drawing.highlighted !== null) {
    context.globalAlpha = 0.45;
    dimmed.paint(context);
    context.globalAlpha = 1;
  } else dimmed.paint(context);
  rectangles.paint(context);
  if (theme.forced) {
    context.strokeStyle = theme.text;
    context.lineWidth = 1;
    for (const box of all) {
      if (box.x1 - box.x0 >= 3) {
        context.strokeRect(box.x0 + 0.5, box.y + 1.5, box.x1 - box.x0 - 1.5, ROW_HEIGHT - 3);
      }
    }
  }
  context.font = `11.5px ${theme.sans}`;
  context.textBaseline = "middle";
  for (const box of all) {
    const x0 = Math.max(left, box.x0);
    const x1 = Math.min(right, box.x1);
    if (box.flags & UNCERTAIN && x1 - x0 > 4) {
      context.setLineDash([4, 3]);
      context.strokeStyle = theme.text;
      context.lineWidth = 1;
      context.strokeRect(box.x0 + 1, box.y + 2, box.x1 - box.x0 - 2.5, ROW_HEIGHT - 4);
      context.setLineDash([]);
    }
    if (box.flags & EXCEPTION && x1 - x0 > 3) {
      context.fillStyle = theme.bad;
      context.fillRect(x0, box.y + INSET, 3, ROW_HEIGHT - INSET);
    }
    if (x1 - x0 < 22) continue;
    const mark = box.flags & EXCEPTION ? 4 : 0;
    const name = fitted(context, visible(functionName(box.function === NONE ? undefined : box.function)), x1 - x0 - 8 - mark);
    if (name === "") continue;
    context.fillStyle = theme.label;
    context.fillText(name, x0 + 4 + mark, box.y + ROW_HEIGHT / 2 + 1);
  }
  context.restore();
}

/** The frame of `track` at a depth that is at `value` of the axis, in the finest part that has one. */
export function frameAt(
  parts: readonly Part[],
  thread: number,
  depth: number,
  kind: Projection["kind"],
  value: number,
  slack: number,
): { part: Part; index: number } | null {
  let best: { part: Part; index: number } | null = null;
  let distance = Infinity;
  for (const part of parts) {
    const { begin, end } = values(part, kind);
    const { frames } = part;
    for (const f of part.threads.get(thread)?.frames ?? []) {
      if (frames.depth[f] !== depth) continue;
      const [a, b] = [begin[f] as number, end[f] as number];
      const away = value < a ? a - value : value > b ? value - b : 0;
      if (away < distance && away <= slack) {
        best = { part, index: f };
        distance = away;
        if (away === 0 && value < b) return best;
      }
    }
  }
  return best;
}

/** Frames beside a frame, in its row: the next that begins after it, or the one before. */
export function neighbour(
  parts: readonly Part[],
  thread: number,
  depth: number,
  at: number,
  direction: 1 | -1,
): { part: Part; index: number } | null {
  let best: { part: Part; index: number } | null = null;
  let nearest = direction * Infinity;
  for (const part of parts) {
    const { frames } = part;
    for (const f of part.threads.get(thread)?.frames ?? []) {
      if (frames.depth[f] !== depth) continue;
      const begin = frames.beginInstruction[f] as number;
      if (direction > 0 ? begin > at && begin < nearest : begin < at && begin > nearest) {
        nearest = begin;
        best = { part, index: f };
      }
    }
  }
  return best;
}
