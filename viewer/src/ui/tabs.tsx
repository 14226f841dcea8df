// A row of tabs and the panel of the active one, with the keys of the pattern for tabs of ARIA.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";

export interface Tab<Id extends string> {
  id: Id;
  label: string;
  /** A number beside the label. */
  badge?: string;
}

export function Tabs<Id extends string>(props: {
  name: string;
  label: string;
  tabs: readonly Tab<Id>[];
  active: Id;
  select: (id: Id) => void;
  extra?: ComponentChildren;
  children: ComponentChildren;
}) {
  const { name, tabs, active, select } = props;
  const row = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const at = tabs.findIndex((tab) => tab.id === active);
    const last = tabs.length - 1;
    const next = {
      ArrowRight: at === last ? 0 : at + 1,
      ArrowLeft: at === 0 ? last : at - 1,
      Home: 0,
      End: last,
    }[event.key];
    const tab = next === undefined ? undefined : tabs[next];
    if (tab === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    select(tab.id);
    row.current?.querySelector<HTMLElement>(`#tab-${name}-${tab.id}`)?.focus();
  };
  return (
    <section class="pane" aria-label={props.label}>
      <div class="tabrow">
        <div class="tabs" role="tablist" aria-label={props.label} ref={row} onKeyDown={move}>
          {tabs.map((tab) => (
            <button
              key={tab.id}
              type="button"
              role="tab"
              id={`tab-${name}-${tab.id}`}
              aria-controls={`panel-${name}`}
              aria-selected={tab.id === active}
              tabIndex={tab.id === active ? 0 : -1}
              onClick={() => select(tab.id)}
            >
              {tab.label}
              {tab.badge !== undefined && <span class="badge">{tab.badge}</span>}
            </button>
          ))}
        </div>
        {props.extra}
      </div>
      <div
        class="panel"
        role="tabpanel"
        id={`panel-${name}`}
        aria-labelledby={`tab-${name}-${active}`}
      >
        {props.children}
      </div>
    </section>
  );
}
