// From what the server lists to the focus, and searches that end in a focus.

import { backend, buffer, codeSources, focus, focusOn, mainSource, sourceName } from "./state";
import type { Focus } from "./state";
import type { Found, Located } from "../data/types";

/** Kinds of elements that are instructions. */
const EXECUTED = new Set(["range", "instruction", "unknown", "loop-turns"]);

/** The moment of a row. One of a source without instructions is shown in the code that ran then. */
export function momentOf(
  row: Partial<Located> & { offset: number; source: number; kind?: string },
): Focus {
  const hasCode = codeSources.value.some((source) => source.number === row.source);
  const moment: Focus = { source: hasCode ? row.source : mainSource.value, offset: row.offset };
  if (!hasCode) return moment;
  if (row.element !== undefined) moment.element = row.element;
  const executed = row.kind !== undefined && EXECUTED.has(row.kind);
  if (executed && row.instruction !== undefined) moment.instruction = row.instruction;
  const single = codeSources.value.length === 1 ? row.instruction : undefined;
  const at = row.at_instruction ?? single;
  if (at !== undefined) moment.atInstruction = at;
  return moment;
}

let stopSearch: (() => void) | null = null;

/** The next or previous match of a query, seen from the focus. */
export function searchFrom(
  query: string,
  direction: "next" | "previous",
  done: (found: Found | null, problem: string | null) => void,
): void {
  stopSearch?.();
  const info = buffer.peek();
  if (info === null) return;
  const here = focus.peek();
  // Without a focus a search backwards begins at the end.
  const from = here?.element ?? (direction === "next" ? 0 : info.elements);
  const start = () => {
    let ended = false;
    stopSearch = backend.find(
      { buffer: info.number, q: query, from, direction, limit: 1 },
      {
        progress: () => {},
        count: () => {},
        found: (found) => {
          if (ended) return;
          ended = true;
          done(found, null);
        },
        end: () => {
          if (!ended) done(null, null);
        },
        error: (message) => done(null, message),
      },
    );
  };
  start();
}

/** Goes to the next or previous match, and reports what it was. */
export function goToMatch(
  query: string,
  direction: "next" | "previous",
  what: string,
  announce: (text: string) => void,
): void {
  announce(`Searching ${what}…`);
  searchFrom(query, direction, (found, problem) => {
    if (problem !== null) announce(problem);
    else if (found === null) announce(`There is no ${direction} ${what}.`);
    else {
      focusOn(momentOf(found));
      announce(`${found.text}, ${sourceName(found.source)}`);
    }
  });
}

/** The name of an exception; one of an external interrupt may have none. */
export function exceptionName(exception: { number: number; name?: string }): string {
  return exception.name ?? `exception ${exception.number}`;
}

const FAULT = /fault|abort|undef|illegal|misaligned|\bnmi\b|serror|lockup|watchdog|panic/i;

/** Whether the name of an exception is that of an error of the program or the system. */
export function isFault(name: string): boolean {
  return FAULT.test(name);
}
