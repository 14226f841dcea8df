// Executed instructions with their disassembly, around the focus.

import { useEffect, useRef } from "preact/hooks";
import * as state from "../model/state";
import * as listing from "../model/listing";
import { goToMatch } from "../model/moments";
import type { Row } from "../data/types";
import { count, hex } from "../format";
import { sentence, visible } from "../text";
import { announce } from "../timeline/navigate";
import { Empty, Problem, Working } from "../ui/parts";

const HEIGHT = 20;

/** A file has neither single elements nor an index for queries. */
function isFile(): boolean {
  return state.capture.value?.exported !== undefined;
}

function classOf(row: Row, before: Row | undefined): string {
  if (row.type === "instruction") {
    const entered = before !== undefined && before.function !== row.function;
    return entered ? "entry" : "";
  }
  if (row.kind === "exception") return "exception";
  if (row.reason === "start") return "event";
  if (row.kind === "gap" || row.kind === "undecodable" || row.kind === "no-code") return "lost";
  return "event";
}

function description(row: Row): string {
  const name = row.function === undefined ? "" : `, ${visible(state.functionName(row.function))}`;
  return `${row.address ?? ""} ${visible(row.text ?? row.kind ?? row.type)}${name}`;
}

export function Instructions() {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => {
      listing.roomFor.value = Math.max(4, Math.floor(element.clientHeight / HEIGHT));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 1 : 1 / HEIGHT;
      listing.scrollBy(event.deltaY * unit);
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      observer.disconnect();
      element.removeEventListener("wheel", wheel);
    };
  }, [listing.rows.value.length === 0]);

  const info = state.buffer.value;
  if (info === null) return null;
  if (state.codeSources.value.length === 0 && !listing.withElements.value) {
    return (
      <Empty what="No instructions are traced here.">
        {isFile() ? (
          "This file does not have the other elements: `tracewright view` lists them."
        ) : (
          <button type="button" class="button" onClick={() => (listing.withElements.value = true)}>
            List elements
          </button>
        )}
      </Empty>
    );
  }
  if (listing.failure.value !== null) return <Problem text={listing.failure.value} />;
  const rows = listing.rows.value;
  if (rows.length === 0) {
    return listing.isReading.value ? (
      <Working />
    ) : (
      <Empty what="No instruction was executed here.">The trace is missing, or has no program memory.</Empty>
    );
  }
  const first = Math.floor(listing.topRow.value);
  const shown = rows.slice(first, first + listing.roomFor.value + 1);
  const at = listing.current.value;
  const keys = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const page = Math.max(1, listing.roomFor.value - 2);
    const move = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page }[event.key];
    if (move !== undefined) {
      const row = listing.step(move);
      if (row !== null) announce(description(row));
    } else if (event.key === "Home" || event.key === "End") {
      goToEnd(event.key === "Home" ? -1 : 1);
    } else if (event.key === "Enter") {
      state.right.value = "source";
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <Head />
      <div class="listing">
        <div
          class="rows"
          id="instructions"
          role="listbox"
          aria-label="Executed instructions"
          aria-activedescendant={at >= first && at < first + shown.length ? `instruction-${at}` : undefined}
          tabIndex={0}
          ref={box}
          onKeyDown={keys}
        >
          {shown.map((row, k) => {
            const index = first + k;
            return (
              <div
                key={`${row.element}/${row.n}/${row.type}`}
                id={`instruction-${index}`}
                role="option"
                aria-selected={index === at}
                class={`row ${index === at ? "current" : ""} ${classOf(row, rows[index - 1])}`}
                style={{ gridTemplateColumns: columns() }}
                onClick={() => {
                  state.focusOn(listing.focusOfRow(row), { reveal: true });
                }}
                onDblClick={() => (state.right.value = "source")}
              >
                {cells(row, rows[index + 1])}
              </div>
            );
          })}
        </div>
        <Slider />
      </div>
    </>
  );
}

function columns(): string {
  return "minmax(64px, 11ch) minmax(80px, 11ch) minmax(180px, 2fr) minmax(100px, 1fr)";
}

const ADDRESS = /^0x[0-9a-f]{1,16}$/;

/** Whether the next instruction is not one that follows in memory: 2 or 4 bytes away. */
function isJump(row: Row, next: Row | undefined): boolean {
  if (row.taken !== true || next?.type !== "instruction") return false;
  const [from, to] = [row.address ?? "", next.address ?? ""];
  if (!ADDRESS.test(from) || !ADDRESS.test(to)) return false;
  const distance = BigInt(to) - BigInt(from);
  return distance !== 2n && distance !== 4n;
}

function elementText(row: Row): string {
  if (row.kind !== "exception" || row.number === undefined) return sentence(row.text ?? row.kind ?? row.type);
  const known = state.buffer.value?.exceptions.find((e) => e.number === row.number);
  const name = row.name ?? known?.name;
  return sentence(row.text ?? "").replace(/^exception \d+/, `exception ${row.number}${name === undefined ? "" : ` ${visible(name)}`}`);
}

function cells(row: Row, next: Row | undefined) {
  if (row.type !== "instruction") {
    return (
      <>
        <span class="number faint">@{count(row.offset)}</span>
        <span class="faint">{visible(state.sourceName(row.source))}</span>
        <span class="wide" title={elementText(row)}>
          {elementText(row)}
        </span>
      </>
    );
  }
  const name = row.symbol ?? (row.function === undefined ? "" : state.functionName(row.function));
  return (
    <>
      <span class="number faint">{count(row.n)}</span>
      <span>{row.address === undefined ? "" : hex(row.address)}</span>
      <span class={row.passed === false ? "faint" : ""}>
        {visible(row.text ?? "")}
        {isJump(row, next) && <span class="faint"> → taken</span>}
        {row.passed === false && " (not executed: its condition failed)"}
      </span>
      <span class="faint">{visible(name)}</span>
    </>
  );
}

function goToEnd(direction: 1 | -1): void {
  const info = state.buffer.peek();
  if (info === null) return;
  const source = state.mainSource.peek();
  if (direction < 0) state.focusOn({ source, offset: 0, instruction: 0 });
  else state.focusOn({ source, offset: Math.max(0, info.bytes - 1), instruction: Math.max(0, info.instructions - 1) });
}

/** The first or the last instruction of the trace. */
export const goToTraceEnd = goToEnd;

/** The next or previous execution of the instruction in focus. */
export function sameAddress(direction: "next" | "previous"): void {
  const row = listing.hereCode.peek();
  if (row?.address === undefined) return announce("No instruction is in focus.");
  goToMatch(`address ${row.address}`, direction, `execution of ${row.address}`, announce);
}

function Head() {
  const row = listing.hereCode.value;
  if (isFile()) return null;
  return (
    <div class="panelhead">
      <span class="buttons">
        <button type="button" class="button" disabled={row?.address === undefined} onClick={() => sameAddress("previous")}>
          ‹ previous
        </button>
        <button type="button" class="button" disabled={row?.address === undefined} onClick={() => sameAddress("next")}>
          next ›
        </button>
      </span>
      <p>{row?.address === undefined ? "" : `execution of ${row.address}`}</p>
      <span class="space" />
      <label class="switch">
        <input
          type="checkbox"
          checked={listing.withElements.value}
          onChange={(event) => (listing.withElements.value = event.currentTarget.checked)}
        />
        elements
      </label>
    </div>
  );
}

/** Where the window is in the whole trace. */
function Slider() {
  const info = state.buffer.value;
  const rows = listing.rows.value;
  const row = rows[Math.min(rows.length - 1, Math.floor(listing.topRow.value + listing.roomFor.value / 2))];
  const position = info === null || row === undefined ? 0 : Math.min(1, row.offset / Math.max(1, info.bytes));
  const go = (event: PointerEvent) => {
    if (info === null || event.buttons === 0) return;
    const rect = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const part = Math.min(1, Math.max(0, (event.clientY - rect.top) / rect.height));
    state.focusOn({ source: state.mainSource.peek(), offset: Math.floor(part * Math.max(0, info.bytes - 1)) });
  };
  return (
    <div
      class="slider"
      aria-hidden="true"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        go(event);
      }}
      onPointerMove={go}
    >
      <i style={{ top: `calc(${(100 * position).toFixed(2)}% - ${(14 * position).toFixed(1)}px)` }} />
    </div>
  );
}
