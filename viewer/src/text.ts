// What a trace, a program and its source contain is hostile text. The page puts it into text nodes
// and `fillText` only, and each piece passes through `visible` first.

/** Names and texts are cut at this number of UTF-16 units, lines of source at `LINE_LIMIT`. */
export const TEXT_LIMIT = 256;
export const LINE_LIMIT = 4096;

/**
 * Characters that cannot be seen or that change the order of others: C0 and C1 controls, bidi
 * controls (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), zero-width characters,
 * line separators, variation selectors, tags, half of a surrogate pair.
 */
const HIDDEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0" };

function escaped(character: string): string {
  const short = SHORT[character];
  if (short !== undefined) return short;
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** `text` with each hidden character as an escape, and an ellipsis where it was cut. */
export function visible(text: string, limit = TEXT_LIMIT): string {
  const cut = text.length > limit ? text.slice(0, limit) : text;
  const shown = cut.replace(HIDDEN, escaped);
  return text.length > limit ? `${shown}…` : shown;
}

/** A line that was laid out in columns, as a sentence. */
export function sentence(text: string): string {
  return visible(text.replace(/ {2,}/g, " "));
}

/** A line of source: tabs become spaces, to columns of 4; the rest is that of `visible`. */
export function visibleLine(text: string): string {
  let column = 0;
  const spaced = text.slice(0, LINE_LIMIT).replace(/[^\t]+|\t/g, (part) => {
    if (part !== "\t") {
      column += part.length;
      return part;
    }
    const width = 4 - (column % 4);
    column += width;
    return " ".repeat(width);
  });
  return visible(spaced, LINE_LIMIT) + (text.length > LINE_LIMIT ? "…" : "");
}
