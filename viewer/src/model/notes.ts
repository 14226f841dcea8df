// Bookmarks: moments and ranges with a note.

import { signal } from "@preact/signals";
import type { Note } from "../data/types";
import { backend, capture, focus, focusOn, mainSource, selection, show } from "./state";

export const notes = signal<readonly Note[]>([]);
/** Why the notes could not be saved. */
export const notSaved = signal<string | null>(null);

export async function readNotes(): Promise<void> {
  notes.value = await backend.notes();
}

let timer: ReturnType<typeof setTimeout> | undefined;

function changed(next: Note[]): void {
  notes.value = next.sort((a, b) => a.offset - b.offset);
  if (capture.peek()?.save_notes !== true) return;
  clearTimeout(timer);
  timer = setTimeout(() => {
    backend.saveNotes([...notes.peek()]).then(
      () => (notSaved.value = null),
      (error: unknown) => (notSaved.value = error instanceof Error ? error.message : String(error)),
    );
  }, 400);
}

/** A bookmark at the focus. False where nothing is in focus. */
export function bookmarkFocus(): boolean {
  const here = focus.peek();
  if (here === null) return false;
  const note: Note = { offset: Math.floor(here.offset), text: "" };
  if (here.element !== undefined) note.element = here.element;
  changed([...notes.peek(), note]);
  return true;
}

/** A bookmark of the selection. False where there is none. */
export function bookmarkSelection(): boolean {
  const range = selection.peek();
  if (range === null) return false;
  changed([...notes.peek(), { offset: Math.floor(range.from), to: Math.ceil(range.to), text: "" }]);
  return true;
}

export function edit(note: Note, text: string): void {
  changed(notes.peek().map((other) => (other === note ? { ...note, text } : other)));
}

export function remove(note: Note): void {
  changed(notes.peek().filter((other) => other !== note));
}

export function goTo(note: Note): void {
  if (note.to !== undefined) {
    selection.value = { from: note.offset, to: note.to };
    const margin = (note.to - note.offset) / 10 + 1 / 64;
    show({ from: note.offset - margin, to: note.to + margin });
    return;
  }
  const here = { source: mainSource.peek(), offset: note.offset };
  focusOn(note.element === undefined ? here : { ...here, element: note.element });
}
