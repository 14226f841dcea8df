// Numbers as people read them. The same everywhere: groups of three digits, separated by commas.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** 12345 as `12,345`. Unknown is `–`. */
export function count(value: number | null | undefined): string {
  return value == null ? "–" : whole.format(value);
}

/** 12345 as `12.3 k`: at most four characters and a unit. */
export function short(value: number): string {
  const units = ["", " k", " M", " G", " T", " P"];
  let unit = 0;
  let rest = Math.abs(value);
  while (rest >= 999.5 && unit + 1 < units.length) {
    rest /= 1000;
    unit += 1;
  }
  const digits = unit === 0 ? 0 : rest < 9.95 ? 2 : rest < 99.5 ? 1 : 0;
  return `${value < 0 ? "-" : ""}${rest.toFixed(digits)}${units[unit]}`;
}

/** Bytes with a binary unit: `24 KiB`. */
export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let rest = Math.abs(value);
  while (rest >= 1024 && unit + 1 < units.length) {
    rest /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || rest >= 99.5 || Number.isInteger(rest) ? 0 : 1;
  return `${value < 0 ? "-" : ""}${rest.toFixed(digits)} ${units[unit]}`;
}

/** A share as a percentage with one decimal. */
export function percent(part: number, total: number): string {
  return total > 0 ? `${((100 * part) / total).toFixed(1)} %` : "–";
}

/** Seconds with the unit that suits them: `1.25 ms`. */
export function seconds(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 1e-6) return `${trim(value * 1e9)} ns`;
  if (size < 1e-3) return `${trim(value * 1e6)} µs`;
  if (size < 1) return `${trim(value * 1e3)} ms`;
  return `${trim(value)} s`;
}

function trim(value: number): string {
  const size = Math.abs(value);
  const digits = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return Number(value.toFixed(digits)).toLocaleString("en");
}

/** An address with at least eight digits, so that addresses are below each other. */
export function hex(address: string): string {
  return /^0x[0-9a-f]{1,7}$/.test(address) ? `0x${address.slice(2).padStart(8, "0")}` : address;
}

/** `n` things, with the plural of regular words. */
export function things(n: number, thing: string): string {
  return `${count(n)} ${thing}${n === 1 ? "" : "s"}`;
}
