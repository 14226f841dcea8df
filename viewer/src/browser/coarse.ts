// A coarse picture, before there is an index: tiles over the whole capture, which are decoded alone.

import type { Samples, Trace } from "../../../crates/wasm/package/index.js";

export type Sample = Samples["samples"][number];

/** What is drawn of one buffer. */
export interface Strip {
  name: string;
  bytes: number;
  sources: string[];
  /** The length of a tile in bytes. */
  tile: number;
  samples: Sample[];
}

/** Bytes of trace of which the index is there before a coarse picture would be of use. */
export const SHORT = 4 << 20;
/** Tiles that are asked for at a time. */
const AT_ONCE = 16;

/** The bits of `n` in reverse, as a fraction: 0, 1/2, 1/4, 3/4, 1/8, … */
function spread(n: number): number {
  let [sum, weight] = [0, 0.5];
  for (let rest = n; rest > 0; rest = Math.floor(rest / 2)) {
    sum += (rest % 2) * weight;
    weight /= 2;
  }
  return sum;
}

/** The numbers of `most` tiles of `count`: any first part of them is spread over the whole. */
export function order(count: number, most: number): number[] {
  const all = new Set<number>();
  for (let n = 0; all.size < Math.min(count, most); n++) all.add(Math.floor(spread(n) * count));
  return [...all];
}

/**
 * Decodes `most` tiles, those of each buffer by its length. After `milliseconds`, `least` are enough. `show`
 * gets the strips each time that there are more of them.
 */
export async function sample(
  trace: Trace,
  { least, most, milliseconds }: { least: number; most: number; milliseconds: number },
  show: (strips: Strip[]) => void,
): Promise<void> {
  const end = performance.now() + milliseconds;
  const all = trace.info.buffers.reduce((sum, { bytes }) => sum + bytes, 0);
  const strips: Strip[] = [];
  const orders: number[][] = [];
  for (const [number, { name, bytes, sources }] of trace.info.buffers.entries()) {
    const { tiles, length } = await trace.sample(number);
    strips.push({ name, bytes, sources: sources.map((own) => own.name), tile: length, samples: [] });
    orders.push(order(tiles, Math.ceil((most * bytes) / all)));
  }
  const steps = Math.max(...orders.map((own) => Math.ceil(own.length / AT_ONCE)));
  for (let step = 0; step < steps; step++) {
    for (const [number, strip] of strips.entries()) {
      const part = (own: number) => Math.floor((own * (orders[number] as number[]).length) / steps);
      const tiles = (orders[number] as number[]).slice(part(step), part(step + 1));
      if (tiles.length > 0) strip.samples.push(...(await trace.sample(number, tiles)).samples);
    }
    show(strips.map((strip) => ({ ...strip, samples: [...strip.samples] })));
    const read = strips.reduce((sum, { samples }) => sum + samples.length, 0);
    if (read >= least && performance.now() > end) return;
  }
}
