// Colours of functions: near each other in one source file, so that a module can be recognised, and
// far apart in different ones; without files by name.

import { signal } from "@preact/signals";

export interface Theme {
  dark: boolean;
  forced: boolean;
  ground: string;
  surface: string;
  sunken: string;
  line: string;
  lineStrong: string;
  text: string;
  soft: string;
  accent: string;
  accentGround: string;
  focus: string;
  selection: string;
  bad: string;
  gap: string;
  idle: string;
  density: string;
  densitySoft: string;
  output: string;
  /** Labels on the colours of functions. */
  label: string;
  sans: string;
  mono: string;
}

export const theme = signal<Theme>(read());

function read(): Theme {
  const style = getComputedStyle(document.documentElement);
  const variable = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const forced = matchMedia("(forced-colors: active)").matches;
  return {
    dark,
    forced,
    ground: variable("ground"),
    surface: variable("surface"),
    sunken: variable("sunken"),
    line: variable("line"),
    lineStrong: variable("line-strong"),
    text: variable("text"),
    soft: variable("soft"),
    accent: variable("accent"),
    accentGround: variable("accent-ground"),
    focus: variable("focus-line"),
    selection: variable("selection"),
    bad: variable("bad"),
    gap: variable("gap"),
    idle: variable("idle"),
    density: variable("density"),
    densitySoft: variable("density-soft"),
    output: variable("output"),
    label: forced ? variable("text") : dark ? "#f4f6fa" : "#14181f",
    sans: variable("sans"),
    mono: variable("mono"),
  };
}

for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
  matchMedia(query).addEventListener("change", () => (theme.value = read()));
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  }
  return (value ^ (value >>> 15)) >>> 0;
}

const STEPS = 32;
const SHADES = 3;
export const COLORS = STEPS * SHADES;

/** Hues from green to magenta and back: red is for exceptions and faults. */
function hueOf(step: number): number {
  return 50 + (300 * step) / STEPS;
}

/**
 * The number of a colour. `group` is the file or the module: groups are far apart, and the functions
 * of one are near each other, in hue and lightness. Without a group the name decides alone.
 */
export function colorOf(name: string, group: number | string | null): number {
  const number = hash(name);
  if (typeof group === "string") group = hash(group) % 64;
  const spread = group === null ? number : Math.round(group * 0.381966 * STEPS) + 17 + ((number % 7) - 3);
  const step = ((spread % STEPS) + STEPS) % STEPS;
  return step * SHADES + ((number >>> 8) % SHADES);
}

const tables = new Map<string, string[]>();

/** The CSS colour of each number. */
export function fills(theme: Theme): string[] {
  const key = theme.forced ? `forced ${theme.surface}` : theme.dark ? "dark" : "light";
  let table = tables.get(key);
  if (table === undefined) {
    table = Array.from({ length: COLORS }, (_, number) => {
      if (theme.forced) return theme.surface;
      const hue = Math.round(hueOf(Math.floor(number / SHADES)));
      const shade = number % SHADES;
      const lightness = theme.dark ? 0.41 + 0.055 * shade : 0.89 - 0.05 * shade;
      return `oklch(${lightness.toFixed(3)} ${theme.dark ? 0.083 : 0.092} ${hue})`;
    });
    tables.set(key, table);
  }
  return table;
}
