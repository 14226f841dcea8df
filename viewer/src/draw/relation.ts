// How offsets, instructions and times of one source correspond: a line through known points.

export type Column = "u" | "i" | "t";

/**
 * Points with offsets (`u`), instructions of the source before them (`i`) and times (`t`), each
 * not falling. A time is ticks since the first one of the buffer. Between two points all three are
 * in proportion, so that an offset has a fraction: several calls that one byte of trace reports are
 * apart.
 */
export class Relation {
  readonly u: number[] = [];
  readonly i: number[] = [];
  readonly t: number[] = [];
  /** The points whose times are known. */
  readonly stamps: number[] = [];
  private unfilled = false;

  /** Adds a point after the others. One that falls is left out; an unknown time is NaN. */
  add(u: number, i: number, t: number): void {
    const last = this.u.length - 1;
    if (last >= 0) {
      const [lastU, lastI] = [this.u[last] as number, this.i[last] as number];
      if (Number.isNaN(i)) i = lastI;
      if (u < lastU || i < lastI || (u === lastU && i === lastI && Number.isNaN(t))) return;
    } else if (Number.isNaN(i)) i = 0;
    if (!Number.isNaN(t)) this.stamps.push(this.u.length);
    this.u.push(u);
    this.i.push(i);
    this.t.push(t);
    this.unfilled = true;
  }

  get size(): number {
    return this.u.length;
  }

  /** Times that are not known are put in proportion to the instructions, or else the offsets. */
  private fill(): void {
    if (!this.unfilled) return;
    this.unfilled = false;
    const { t, i, u } = this;
    let before = -1;
    for (let at = 0; at <= t.length; at++) {
      if (at < t.length && Number.isNaN(t[at])) continue;
      const low = before < 0 ? (at < t.length ? (t[at] as number) : 0) : (t[before] as number);
      const high = at < t.length ? Math.max(low, t[at] as number) : low;
      if (at < t.length) t[at] = high;
      if (before + 1 < at) {
        const first = Math.max(0, before);
        const end = Math.min(t.length - 1, at);
        const by = (i[end] as number) > (i[first] as number) ? i : u;
        const span = (by[end] as number) - (by[first] as number);
        for (let k = before + 1; k < at; k++) {
          const part = span > 0 ? ((by[k] as number) - (by[first] as number)) / span : 0;
          t[k] = low + part * (high - low);
        }
      }
      before = at;
    }
  }

  /** The value of `to` at `value` of `from`. At a step the value before it, or with `after` that after it. */
  convert(from: Column, to: Column, value: number, after = false): number {
    if (from === to) return value;
    this.fill();
    const a = this[from];
    const b = this[to];
    const n = a.length;
    if (n === 0) return value;
    let low = 0;
    let high = n;
    while (low < high) {
      const middle = (low + high) >> 1;
      const here = a[middle] as number;
      if (after ? here <= value : here < value) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return b[0] as number;
    if (low === n) return b[n - 1] as number;
    const [a0, a1] = [a[low - 1] as number, a[low] as number];
    const [b0, b1] = [b[low - 1] as number, b[low] as number];
    return a1 > a0 ? b0 + ((value - a0) / (a1 - a0)) * (b1 - b0) : after ? b1 : b0;
  }

  /** The pairs of neighbouring points with known times that overlap `from` to `to` of `u`. */
  *steps(from: number, to: number): Generator<[number, number]> {
    for (let k = 1; k < this.stamps.length; k++) {
      const [a, b] = [this.stamps[k - 1] as number, this.stamps[k] as number];
      if ((this.u[a] as number) > to) return;
      if ((this.u[b] as number) >= from) yield [a, b];
    }
  }
}
