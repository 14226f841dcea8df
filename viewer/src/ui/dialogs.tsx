// The list of functions, the list of commands, "go to", and the cheat sheet.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { COMMANDS, dialog, focusLater } from "../commands";
import * as state from "../model/state";
import { goToMatch } from "../model/moments";
import { callOrder } from "../panels/calls";
import { visible } from "../text";
import { announce } from "../timeline/navigate";
import { FunctionName } from "./parts";

interface Option {
  key: string;
  what: ComponentChildren;
  hint: string;
  run: () => void;
}

const MOST = 60;

function Modal(props: { label: string; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  const before = useRef(document.activeElement);
  // Before the next key arrives: what is typed while a picture is drawn belongs to the dialog.
  useLayoutEffect(() => {
    box.current?.showModal();
    return () => {
      const element = before.current;
      // Only where the command of the dialog did not move the keyboard focus.
      if (element instanceof HTMLElement && document.activeElement === document.body) element.focus();
    };
  }, []);
  return (
    <dialog
      class="modal"
      ref={box}
      aria-label={props.label}
      onClose={() => (dialog.value = null)}
      onClick={(event) => {
        if (event.target === box.current) dialog.value = null;
      }}
    >
      {props.children}
    </dialog>
  );
}

/** How well `text` matches what was typed: letters in order; less is better. */
function rank(text: string, typed: string): number | null {
  const lower = text.toLowerCase();
  const at = lower.indexOf(typed);
  if (at >= 0) return at * 4 + (lower.length - typed.length) / 100;
  let from = 0;
  let gaps = 0;
  for (const letter of typed) {
    const found = lower.indexOf(letter, from);
    if (found < 0) return null;
    gaps += found - from;
    from = found + 1;
  }
  return 1000 + gaps;
}

function Chooser(props: { label: string; placeholder: string; hint: string; options: (typed: string) => Option[] }) {
  const [typed, setTyped] = useState("");
  const [current, setCurrent] = useState(0);
  const options = props.options(typed.trim());
  const at = Math.min(current, options.length - 1);
  const run = (option: Option | undefined) => {
    if (option === undefined) return;
    dialog.value = null;
    option.run();
  };
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return (
    <Modal label={props.label}>
      <div class="entry">
        <input
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls="options"
          aria-activedescendant={at >= 0 ? `option-${at}` : undefined}
          aria-label={props.label}
          placeholder={props.placeholder}
          autofocus
          spellcheck={false}
          autocomplete="off"
          value={typed}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            setCurrent(0);
          }}
          onKeyDown={(event) => {
            const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (step !== undefined) {
              event.preventDefault();
              setCurrent(Math.min(options.length - 1, Math.max(0, at + step)));
            } else if (event.key === "Enter") {
              event.preventDefault();
              run(options[at]);
            }
          }}
        />
      </div>
      <ul class="options" id="options" role="listbox" aria-label={props.label} ref={list}>
        {options.map((option, index) => (
          <li
            key={option.key}
            id={`option-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => run(option)}
          >
            <span class="what">{option.what}</span>
            <span class="hint">{option.hint}</span>
          </li>
        ))}
      </ul>
      <p class="hintline">{options.length === 0 ? "Nothing matches." : props.hint}</p>
    </Modal>
  );
}

function matching<T>(all: readonly T[], text: (item: T) => string, typed: string): T[] {
  if (typed === "") return all.slice(0, MOST);
  const lower = typed.toLowerCase();
  return all
    .map((item) => ({ item, rank: rank(text(item), lower) }))
    .filter((entry): entry is { item: T; rank: number } => entry.rank !== null)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MOST)
    .map(({ item }) => item);
}

function FunctionChooser() {
  const all = [...state.functions.value.values()].sort((a, b) => a.name.localeCompare(b.name));
  return (
    <Chooser
      label="Function by name"
      placeholder="Function"
      hint="Enter: its calls, the longest first"
      options={(typed) =>
        matching(all, (f) => f.name, typed).map((f) => ({
          key: String(f.id),
          what: <FunctionName id={f.id} />,
          hint: visible(f.module ?? f.address ?? ""),
          run: () => {
            state.choose(f.id);
            callOrder.value = "longest";
            state.left.value = "calls";
            focusLater("calls");
          },
        }))
      }
    />
  );
}

function CommandChooser() {
  return (
    <Chooser
      label="Commands"
      placeholder="Command"
      hint="Enter runs it"
      options={(typed) =>
        matching(COMMANDS, (c) => `${c.group} ${c.label}`, typed).map((c) => ({
          key: `${c.group} ${c.label}`,
          what: c.label,
          hint: c.keys[0] === undefined ? c.group : keyText(c.keys[0]),
          run: c.run,
        }))
      }
    />
  );
}

/** What a place is that was typed. */
function places(typed: string): Option[] {
  const info = state.buffer.value;
  if (info === null || typed === "") return [];
  const source = state.mainSource.value;
  const digits = typed.replace(/[,_\s]/g, "");
  const option = (what: string, run: () => void): Option => ({ key: what, what, hint: "", run });
  const all: Option[] = [];
  const within = (n: number, limit: number) => Number.isSafeInteger(n) && n >= 0 && n < limit;
  // Also what `monitor when` prints in a debugger, which names the thread of the source.
  const instruction = /^(?:#|instruction)(\d+)(?=$|element)/i.exec(digits);
  const thread = /thread(\d+)/i.exec(digits);
  const byte = /^@(\d+|0x[0-9a-f]+)$/i.exec(digits);
  const search = (query: string, what: string) => () => {
    state.focus.value = null;
    goToMatch(query, "next", what, announce);
  };
  if (instruction !== null && within(Number(instruction[1]), info.instructions)) {
    const n = Number(instruction[1]);
    const stated = state.codeSources.value.find((own) => own.number === Number(thread?.[1] ?? 0) - 1);
    all.push(
      option(`Instruction ${n.toLocaleString("en")}`, () => {
        // Its offset is known when its row is read; until then it is in proportion.
        const offset = Math.floor((n / info.instructions) * info.bytes);
        state.focusOn({ source: stated?.number ?? source, offset, instruction: n }, { reveal: false });
      }),
    );
  } else if (byte !== null && within(Number(byte[1]), info.bytes)) {
    const offset = Number(byte[1]);
    all.push(option(`Byte ${offset.toLocaleString("en")}`, () => state.focusOn({ source, offset })));
  } else if (/^0x[0-9a-f]+$/i.test(digits)) {
    all.push(option(`First execution of ${digits}`, search(`address ${digits}`, "execution")));
  } else if (/^\d+(\.\d+)?(ns|us|µs|ms|s)?$/i.test(digits) && info.times !== undefined) {
    const time = ticksOf(digits);
    if (time !== null) all.push(option(`Time ${time}`, search(`time ${time}`, "element at this time")));
  }
  return all;
}

/** A time as ticks: a number of ticks, or a duration since the first time with its unit. */
function ticksOf(text: string): string | null {
  const info = state.buffer.value;
  const match = /^([\d.]+)(ns|us|µs|ms|s)?$/i.exec(text);
  if (match === null || info?.times === undefined) return null;
  const [, value, unit] = match;
  if (unit === undefined) return /^\d+$/.test(value ?? "") ? (value ?? null) : null;
  if (info.frequency === undefined) return null;
  const scale = { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1 }[unit.toLowerCase()] ?? 1;
  const ticks = Math.round(Number(value) * scale * info.frequency);
  return (BigInt(info.times.first) + BigInt(ticks)).toString();
}

function GoTo() {
  const frequency = state.buffer.value?.frequency;
  return (
    <Chooser
      label="Go to a place"
      placeholder="#1234  @0x40  0x8000  12500"
      hint={`#instruction, @byte, 0xaddress, a time in ticks${frequency === undefined ? "" : " or 1.5ms"}, or the line of \`monitor when\` of a debugger`}
      options={places}
    />
  );
}

const NAMES: Record<string, string> = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
};

function keyText(key: string): string {
  const parts = key === "+" ? ["+"] : key.split("+");
  return parts.map((part) => NAMES[part] ?? (part.length === 1 ? part.toUpperCase() : part)).join(" ");
}

function Keys() {
  const groups = ["View", "Focus", "Search", "Panels", "Marks"] as const;
  return (
    <Modal label="Keys">
      <header>
        <h2>Keys</h2>
        <button type="button" class="button" autofocus onClick={() => (dialog.value = null)}>
          Close
        </button>
      </header>
      <div class="scroll" tabIndex={0}>
        {groups.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl class="sheet">
              {COMMANDS.filter((c) => c.group === group).map((c) => (
                <div key={c.label}>
                  <dt>{c.label}</dt>
                  <dd>
                    {c.keys
                      .filter((key) => key.length > 1 || key === key.toLowerCase())
                      .map((key) => (
                        <>
                          <kbd key={key}>{keyText(key)}</kbd>{" "}
                        </>
                      ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <p>
          Wheel: zoom; with Shift: pan; over the names or with Alt: scroll rows. Drag: select; with Shift: pan. Double
          click: fit the frame.
        </p>
      </div>
    </Modal>
  );
}

export function Dialogs() {
  switch (dialog.value) {
    case "commands":
      return <CommandChooser />;
    case "functions":
      return <FunctionChooser />;
    case "goto":
      return <GoTo />;
    case "keys":
      return <Keys />;
    case null:
      return null;
  }
}
