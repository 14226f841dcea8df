// From moments to pixels: what the axis of the timeline shows.

import type { AxisKind, Range } from "../model/state";
import type { Part } from "../data/store";
import { blockRange, loaded, tilesFor } from "../data/store";
import type { BufferInfo, SourceInfo } from "../data/types";
import { Relation } from "./relation";
import type { Column } from "./relation";

/** How the offsets, instructions and times of a source correspond, from all that is loaded. */
export class Correspondence {
  constructor(
    private readonly coarse: Relation,
    private readonly fine: readonly Relation[],
  ) {}

  convert(from: Column, to: Column, value: number, after = false): number {
    for (const relation of this.fine) {
      const known = relation[from];
      const [first, last] = [known[0] as number, known[known.length - 1] as number];
      if (value >= first && value <= last && last > first) {
        return relation.convert(from, to, value, after);
      }
    }
    return this.coarse.convert(from, to, value, after);
  }

  /** The relations that have the points from `from` to `to` of `u`. */
  relations(from: number, to: number): Relation[] {
    const fine = this.fine.filter(({ u }) => (u[0] as number) < to && (u[u.length - 1] as number) > from);
    return fine.length > 0 ? fine : [this.coarse];
  }
}

/** Ticks from the first to the last time of the buffer. */
export function duration(info: BufferInfo): number {
  if (info.times === undefined) return 0;
  return Number(BigInt(info.times.last) - BigInt(info.times.first));
}

const cache = new Map<number, { key: string; relation: Relation }>();

export function correspondence(
  info: BufferInfo,
  source: SourceInfo,
  view: Range,
  level: number,
  wholeLevel: number,
  parts: readonly Part[],
): Correspondence {
  const blocks = blockRange(info, level, view);
  const key = [info.number, loaded.value, info.bytes, level, wholeLevel, blocks.from].join("/");
  let known = cache.get(source.number);
  if (known === undefined || known.key !== key) {
    known = { key, relation: coarseRelation(info, source, blocks, level, wholeLevel) };
    cache.set(source.number, known);
  }
  const fine = parts.map((part) => part.relation).filter((relation) => relation.size >= 2);
  return new Correspondence(known.relation, fine);
}

/** The points of the borders of tiles. */
function coarseRelation(
  info: BufferInfo,
  source: SourceInfo,
  blocks: Range,
  level: number,
  wholeLevel: number,
): Relation {
  const coarse = new Relation();
  const points: [number, number, number][] = [[0, 0, info.times === undefined ? NaN : 0]];
  const add = (at: number, range: Range) => {
    for (const { tiles, from, to } of tilesFor(info, source.number, at, range)) {
      for (let t = 0; t < tiles.tile.length; t++) {
        const begin = (tiles.tile[t] as number) * tiles.size;
        const end = Math.min(info.bytes, begin + tiles.size);
        if (end <= from || begin >= to) continue;
        const before = tiles.before[t] as number;
        points.push([begin, before, tiles.timeFirst[t] as number]);
        points.push([end, before + (tiles.instructions[t] as number), NaN]);
      }
    }
  };
  if (info.view) {
    add(wholeLevel, { from: 0, to: info.bytes });
    if (level < wholeLevel) add(level, blocks);
  }
  points.push([info.bytes, source.instructions, info.times === undefined ? NaN : duration(info)]);
  points.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  for (const [u, i, t] of points) coarse.add(u, i, t);
  return coarse;
}

/** A time in which nothing was executed, drawn narrower than it was. */
export interface Break {
  from: number;
  to: number;
}

/** Pixels of a compressed time. */
const BREAK_PX = 44;

/** One source's values to pixels. Linear, but for the breaks. */
export class Projection {
  private readonly breaks: readonly Break[];
  /** Pixels of one unit outside of breaks. */
  readonly scale: number;

  constructor(
    readonly kind: AxisKind,
    readonly from: number,
    readonly to: number,
    readonly left: number,
    readonly width: number,
    breaks: readonly Break[] = [],
  ) {
    const idle = breaks.reduce((sum, b) => sum + (b.to - b.from), 0);
    const shown = Math.max(0, width - breaks.length * BREAK_PX);
    const span = to - from - idle;
    this.breaks = breaks;
    this.scale = span > 0 ? shown / span : 0;
  }

  x(value: number): number {
    let x = this.left + (value - this.from) * this.scale;
    for (const b of this.breaks) {
      if (value <= b.from) break;
      const idle = Math.min(value, b.to) - b.from;
      x += (idle / (b.to - b.from)) * BREAK_PX - idle * this.scale;
    }
    return x;
  }

  value(x: number): number {
    if (this.scale === 0) return this.from;
    let rest = x - this.left;
    let value = this.from;
    for (const b of this.breaks) {
      const before = (b.from - value) * this.scale;
      if (rest <= before) break;
      rest -= before;
      if (rest < BREAK_PX) return b.from + (rest / BREAK_PX) * (b.to - b.from);
      rest -= BREAK_PX;
      value = b.to;
    }
    return value + rest / this.scale;
  }

  get isBroken(): boolean {
    return this.breaks.length > 0;
  }

  get broken(): readonly Break[] {
    return this.breaks;
  }
}

/** Times without instructions that are long for this view, and much longer than usual. */
export function idleTimes(of: readonly Correspondence[], view: Range): Break[] {
  const [main, ...others] = of;
  if (main === undefined) return [];
  const from = main.convert("u", "t", view.from, true);
  const to = main.convert("u", "t", view.to);
  const steps: { from: number; to: number; ticks: number; instructions: number }[] = [];
  for (const relation of main.relations(view.from, view.to)) {
    for (const [a, b] of relation.steps(view.from, view.to)) {
      const [t0, t1] = [relation.t[a] as number, relation.t[b] as number];
      const ticks = t1 - t0;
      if (!(ticks > 0)) continue;
      const instructions = (relation.i[b] as number) - (relation.i[a] as number);
      steps.push({ from: t0, to: t1, ticks, instructions });
    }
  }
  // Ticks of an instruction, as most instructions have it.
  const rates = steps
    .filter((step) => step.instructions > 0)
    .map((step) => ({ rate: step.ticks / step.instructions, weight: step.instructions }))
    .sort((a, b) => a.rate - b.rate);
  let half = rates.reduce((sum, { weight }) => sum + weight, 0) / 2;
  let usual = Infinity;
  for (const { rate, weight } of rates) {
    usual = rate;
    half -= weight;
    if (half <= 0) break;
  }
  const breaks: Break[] = [];
  for (const step of steps) {
    if (step.ticks < 0.025 * (to - from) || step.ticks < 8 * usual * Math.max(1, step.instructions)) continue;
    const busy = others.some((other) => {
      const ran = other.convert("t", "i", step.to) - other.convert("t", "i", step.from, true);
      return ran * usual * 8 > step.ticks;
    });
    if (busy) continue;
    breaks.push({ from: Math.max(from, step.from), to: Math.min(to, step.to) });
  }
  return breaks.sort((a, b) => a.from - b.from);
}

/** Steps of 1, 2 or 5 times a power of ten, at least `least` apart. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((f) => f * power >= least) ?? 10;
  return factor * power;
}
