/** A searchable list of choices behind a button, or by itself. */

import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { count } from "../../base/format.ts";
import { Popover } from "./popover.tsx";

export interface Choice {
  readonly id: string;
  readonly label: string;
  /** Second, quieter line. */
  readonly detail?: string;
  /** Further text the search finds it by. */
  readonly keywords?: string;
}

export interface ChoiceListProps {
  readonly choices: readonly Choice[];
  readonly current?: string | undefined;
  /** Names the list for assistive technology, e.g. "Runs". */
  readonly name: string;
  readonly placeholder: string;
  readonly onChoose: (id: string) => void;
  /** Further choices for the typed text, listed below those whose names match it. */
  readonly more?: readonly Choice[];
  /** Whether further choices are on their way. */
  readonly waiting?: boolean;
  readonly onType?: (typed: string) => void;
}

/** Longer lists are for searching, not for scrolling. */
const MOST_SHOWN = 200;

/** Choices that contain every word typed: in their names, and in no more than their details. */
function matching(choices: readonly Choice[], typed: string) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const named = choices.filter(({ label, keywords = "" }) => has(`${label} ${keywords}`));
  const described = choices.filter(
    (choice) =>
      !named.includes(choice) &&
      has(`${choice.label} ${choice.detail ?? ""} ${choice.keywords ?? ""}`),
  );
  return { named, described };
}

/** A text field over a list box: type to narrow, arrows to move, Enter to choose. */
export function ChoiceList(props: ChoiceListProps) {
  const { choices, current, name, placeholder, onChoose, more, waiting = false, onType } = props;
  const [typed, setTyped] = useState("");
  const start = Math.max(
    0,
    choices.findIndex((choice) => choice.id === current),
  );
  const [active, setActive] = useState(start);
  /** Enter was pressed before all choices were there. */
  const [hurried, setHurried] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const { named, described } = useMemo(() => matching(choices, typed), [choices, typed]);
  const all = [...named, ...(more ?? []), ...described];
  const found = all.slice(0, MOST_SHOWN);
  const marked = Math.min(active, found.length - 1);

  const choose = () => {
    const choice = found[marked];
    if (choice) onChoose(choice.id);
  };
  useLayoutEffect(() => field.current?.focus(), []);
  useEffect(() => {
    if (!hurried || waiting) return;
    setHurried(false);
    choose();
  }, [hurried, waiting]);
  useEffect(() => {
    list.current?.querySelector(`[data-index="${marked}"]`)?.scrollIntoView({ block: "nearest" });
  }, [marked]);

  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setActive(Math.min(found.length - 1, Math.max(0, marked + step)));
    } else if (event.key === "Enter") {
      event.preventDefault();
      // What is on its way comes before what only mentions the words.
      if (waiting && named.length === 0) setHurried(true);
      else choose();
    }
  };

  return (
    <div class="choices">
      <input
        ref={field}
        class="field"
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={found.length > 0 ? `${id}-${marked}` : undefined}
        aria-label={placeholder}
        placeholder={placeholder}
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setActive(0);
          setHurried(false);
          onType?.(event.currentTarget.value);
        }}
        onKeyDown={onKeyDown}
      />
      <div class="choice-list" role="listbox" id={id} aria-label={name} ref={list} tabIndex={-1}>
        {found.map((choice, index) => (
          <div
            key={choice.id}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            data-index={index}
            class={index === marked ? "choice marked" : "choice"}
            aria-selected={choice.id === current}
            onClick={() => onChoose(choice.id)}
            onPointerMove={() => setActive(index)}
          >
            <span class="choice-label">{choice.label}</span>
            {choice.detail && <span class="choice-detail">{choice.detail}</span>}
          </div>
        ))}
      </div>
      {all.length > found.length && (
        <p class="quiet choice-none">and {count(all.length - found.length)} more: type to narrow</p>
      )}
      {waiting && <p class="quiet choice-none">Searching the recording …</p>}
      {found.length === 0 && !waiting && (
        <p class="quiet choice-none">Nothing matches “{typed}”.</p>
      )}
    </div>
  );
}

export interface PickerProps extends ChoiceListProps {
  /** What is picked, e.g. "Run". */
  readonly what: string;
}

/** The list behind a button that shows the current choice; a single choice is plain text. */
export function Picker(props: PickerProps) {
  const current = props.choices.find((choice) => choice.id === props.current);
  const shown = current?.label ?? "–";
  if (props.choices.length === 0 || (props.choices.length === 1 && current)) {
    return (
      <span class="picked">
        <span class="quiet">{props.what}</span>{" "}
        <span class="picked-name" title={shown}>
          {shown}
        </span>
      </span>
    );
  }
  return (
    <Popover
      name={`${props.what}: ${shown}. Choose another`}
      class="picker"
      label={
        <>
          <span class="quiet">{props.what}</span> <span class="picked-name">{shown}</span>
        </>
      }
    >
      {(close) => (
        <ChoiceList
          {...props}
          onChoose={(id) => {
            close();
            props.onChoose(id);
          }}
        />
      )}
    </Popover>
  );
}
