// Bookmarks with notes.

import { useEffect, useRef } from "preact/hooks";
import { bookmarkFocus, bookmarkSelection, edit, goTo, notes, notSaved, remove } from "../model/notes";
import { capture } from "../model/state";
import { bytes, count } from "../format";
import { visible } from "../text";
import { announce } from "../timeline/navigate";
import { Empty } from "../ui/parts";

export function Bookmarks() {
  const list = useRef<HTMLUListElement>(null);
  const number = useRef(notes.value.length);
  useEffect(() => {
    // A bookmark that was just made is named at once.
    if (notes.value.length > number.current) {
      const fields = list.current?.querySelectorAll("input");
      [...(fields ?? [])].find((field) => field.value === "")?.focus();
    }
    number.current = notes.value.length;
  }, [notes.value.length]);
  const saved = capture.value?.save_notes === true;
  return (
    <>
      <div class="panelhead">
        <button
          type="button"
          class="button"
          onClick={() => bookmarkFocus() || announce("Nothing is in focus.")}
        >
          Add focus <kbd>B</kbd>
        </button>
        <button
          type="button"
          class="button"
          onClick={() => bookmarkSelection() || announce("Nothing is selected.")}
        >
          Add selection <kbd>M</kbd>
        </button>
        <span class="space" />
        <p>{saved ? (notSaved.value === null ? "Saved beside the capture." : "") : "Not saved: start with --save-notes."}</p>
      </div>
      {notSaved.value !== null && <p class="error">Not saved: {visible(notSaved.value)}</p>}
      {notes.value.length === 0 ? (
        <Empty what="There are no bookmarks.">
          <kbd>B</kbd> adds one at the focus, <kbd>M</kbd> one for the selection.
        </Empty>
      ) : (
        <ul class="notes" ref={list}>
          {notes.value.map((note, index) => {
            const place =
              note.to === undefined
                ? `byte ${count(note.offset)}`
                : `bytes ${count(note.offset)} to ${count(note.to)} (${bytes(note.to - note.offset)})`;
            return (
              <li key={`${note.offset}/${note.element}/${note.to}/${index}`}>
                <button type="button" class="link" onClick={() => goTo(note)}>
                  {place}
                </button>
                <button type="button" class="button plain" aria-label={`Remove the bookmark at ${place}`} onClick={() => remove(note)}>
                  Remove
                </button>
                <input
                  type="text"
                  aria-label={`Note at ${place}`}
                  placeholder="Note"
                  maxLength={1000}
                  defaultValue={visible(note.text, 1000)}
                  onChange={(event) => edit(note, event.currentTarget.value)}
                  onKeyDown={(event) => {
                    if (event.key === "Enter") event.currentTarget.blur();
                  }}
                />
              </li>
            );
          })}
        </ul>
      )}
    </>
  );
}
