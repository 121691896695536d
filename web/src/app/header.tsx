/** The bar on top: where to go, which run and host, what of it, how it looks. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { reportNotes, reportUrl } from "../api/client.ts";
import { bytes, moment } from "../base/format.ts";
import { baseOf, narrowed, PARTS, type Part, partText } from "../engine/address.ts";
import { copyToClipboard } from "../widgets/clipboard.ts";
import { Picker } from "../widgets/overlay/picker.tsx";
import { Popover } from "../widgets/overlay/popover.tsx";
import { CaptureButton } from "./capture_dialog.tsx";
import { helpOpen, paletteOpen } from "./state/keys.ts";
import { currentRun, navigate, pageHref, route, select, session } from "./state/shell.ts";
import { chooseTheme, type Theme, theme } from "./state/theme.ts";
import { ByTool, Tabs, Views, type ViewsProps } from "./views.tsx";

const ALL_HOSTS = "";

export interface HeaderProps extends ViewsProps {
  readonly home: string;
  /** What times of the page can be of, first what they are of by themselves. */
  readonly timesOf: readonly string[];
}

export function Header({ home, timesOf, ...places }: HeaderProps) {
  const box = useHeight();
  const run = currentRun.value;
  // A report holds the hosts together.
  const hosts = reportNotes ? [] : (run?.hosts ?? []);
  const runs = session.value?.runs ?? [];
  return (
    <header class="header" ref={box}>
      <div class="header-top">
        <a class="brand" href={pageHref(home)}>
          Stepscope
        </a>
        <Views {...places} />
        {run && (
          <Picker
            what="Run"
            name="Runs"
            placeholder="Find a run"
            current={run.id}
            choices={runs.map((each) => ({
              id: each.id,
              label: each.name,
              detail: `${moment(each.modified)}, ${bytes(each.bytes)}, ${each.path}`,
            }))}
            onChoose={(id) =>
              navigate({ ...route.value, run: id, host: "", selection: {}, params: {} })
            }
          />
        )}
        {hosts.length > 0 && (
          <Picker
            what="Host"
            name="Hosts"
            placeholder="Find a host"
            current={hosts.length === 1 ? hosts[0] : route.value.host}
            choices={[
              ...(hosts.length > 1
                ? [{ id: ALL_HOSTS, label: `All ${hosts.length} hosts`, detail: "Together" }]
                : []),
              ...hosts.map((host) => ({ id: host, label: host })),
            ]}
            onChoose={(host) => navigate({ ...route.value, host })}
          />
        )}
        <div class="header-controls">
          {session.value?.capture_allowed && <CaptureButton />}
          <CopyLink />
          <button
            type="button"
            class="button"
            onClick={() => {
              paletteOpen.value = true;
            }}
          >
            Find <kbd>Ctrl K</kbd>
          </button>
          <ByTool {...places} />
          <MoreMenu run={reportNotes ? "" : (run?.id ?? "")} />
        </div>
      </div>
      <div class="header-tabs">
        <Tabs {...places} />
        {!reportNotes && run && <SelectionBar />}
        {!reportNotes && timesOf.length > 0 && <TimesSwitch timesOf={timesOf} />}
      </div>
    </header>
  );
}

/** Tells the style sheet where the header ends: what is fixed or sticky begins there. */
function useHeight() {
  const box = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const header = box.current;
    if (!header) return;
    const observer = new ResizeObserver(() => {
      document.documentElement.style.setProperty("--head", `${header.offsetHeight}px`);
    });
    observer.observe(header);
    return () => observer.disconnect();
  }, []);
  return box;
}

const ASKED: readonly (readonly [Part, string, string])[] = [
  ["steps", "Steps", "12 or 10-20"],
  ["range", "Time range", "1.2s-1.4s"],
  ["device", "Devices or ranks", "3, 2-4 or GPU:0"],
];

/** Which part of the recording all pages are about: it is taken off part by part. */
function SelectionBar() {
  const { selection } = route.value;
  return (
    <div class="selection" role="group" aria-label="Selection">
      {PARTS.filter((part) => selection[part]).map((part) => {
        const text = partText(part, selection[part] ?? "");
        return (
          <button
            key={part}
            type="button"
            class="button selected-part"
            title={`Take ${text} off the selection`}
            onClick={() => select(part, "")}
          >
            {text} <span aria-hidden="true">✕</span>
          </button>
        );
      })}
      <Popover label="Select" name="Select a part of the recording" align="right">
        {(close) => (
          <form
            class="select-form"
            onSubmit={(event) => {
              event.preventDefault();
              const given = new FormData(event.currentTarget);
              let next = selection;
              for (const part of PARTS) {
                const value = String(given.get(part) ?? "").trim();
                if (value !== (selection[part] ?? "")) next = narrowed(next, part, value);
              }
              close();
              navigate({ ...route.value, selection: next });
            }}
          >
            {ASKED.map(([part, label, example]) => (
              <label key={part}>
                {label}
                <input
                  class="field"
                  name={part}
                  placeholder={example}
                  defaultValue={selection[part] ?? ""}
                />
              </label>
            ))}
            <button type="submit" class="button">
              Apply
            </button>
          </form>
        )}
      </Popover>
    </div>
  );
}

const BASES = [
  ["step", "Per step"],
  ["recording", "Whole recording"],
] as const;

/** What times are of, on every page that can tell; a page that cannot says so. */
function TimesSwitch({ timesOf }: { timesOf: readonly string[] }) {
  const asked = baseOf(route.value);
  const now = timesOf.includes(asked) ? asked : timesOf[0];
  return (
    <fieldset class="segments times-switch">
      <legend>Times</legend>
      {BASES.map(([base, label]) => {
        const can = timesOf.includes(base);
        return (
          <label
            key={base}
            class={base === now ? "segment chosen" : "segment"}
            title={can ? undefined : "This page has no such times."}
          >
            <input
              type="radio"
              name="times-of"
              checked={base === now}
              disabled={!can}
              onChange={() => navigate({ ...route.value, per: base === "step" ? "" : base })}
            />
            {label}
          </label>
        );
      })}
    </fieldset>
  );
}

const REDACTIONS = [
  ["", "With all names"],
  ["paths", "Without paths and hosts"],
  ["names", "Without names"],
  ["all", "Without names and shapes"],
] as const;

/** What is needed now and then; a run is saved as one file that opens without Stepscope. */
function MoreMenu({ run }: { run: string }) {
  return (
    <Popover label="More" align="right">
      {(close) => (
        <div class="menu">
          {run && <p class="quiet">Save these pages as one file</p>}
          {run &&
            REDACTIONS.map(([level, text]) => (
              <div key={level} class="menu-pair">
                <a class="menu-item" href={reportUrl(run, level)} download="" onClick={close}>
                  {text}
                </a>
                <a
                  class="menu-item quiet"
                  href={reportUrl(run, level, "1")}
                  target="_blank"
                  rel="noreferrer"
                  title={`List every text that leaves: ${text.toLowerCase()}`}
                  onClick={close}
                >
                  Preview
                </a>
              </div>
            ))}
          <fieldset>
            <legend class="quiet">Theme</legend>
            {THEMES.map(([id, label]) => (
              <label key={id} class="check">
                <input
                  type="radio"
                  name="theme"
                  checked={theme.value === id}
                  onChange={() => chooseTheme(id)}
                />
                {label}
              </label>
            ))}
          </fieldset>
          <button
            type="button"
            class="menu-item"
            onClick={() => {
              close();
              helpOpen.value = true;
            }}
          >
            Shortcuts <kbd>?</kbd>
          </button>
        </div>
      )}
    </Popover>
  );
}

/** The address holds the whole view: what is filtered, selected and in sight. */
function CopyLink() {
  const [copied, setCopied] = useState("");
  const here = route.value;
  const key = JSON.stringify(here);
  return (
    <button
      type="button"
      class="button copy-link"
      title="Copy the address of this view"
      onClick={() =>
        void copyToClipboard(window.location.href).then((done) => done && setCopied(key))
      }
    >
      {copied === key ? "Link copied" : "Copy link"}
    </button>
  );
}

const THEMES: readonly (readonly [Theme, string])[] = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];
