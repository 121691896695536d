/** The bar on top: which run and host, where to go, how it looks. */

import { useState } from "preact/hooks";
import { reportNotes, reportUrl } from "../api/client.ts";
import { bytes, moment } from "../base/format.ts";
import { baseOf } from "../engine/address.ts";
import { copyToClipboard } from "../widgets/clipboard.ts";
import { Picker } from "../widgets/overlay/picker.tsx";
import { Popover } from "../widgets/overlay/popover.tsx";
import { CaptureButton } from "./capture_dialog.tsx";
import { helpOpen, paletteOpen } from "./state/keys.ts";
import { navShown, toggleNav } from "./state/navigation.ts";
import { currentRun, navigate, pageHref, route, session } from "./state/shell.ts";
import { chooseTheme, type Theme, theme } from "./state/theme.ts";

const ALL_HOSTS = "";

export interface HeaderProps {
  readonly home: string;
  /** What times of the page can be of, first what they are of by themselves. */
  readonly timesOf: readonly string[];
}

export function Header({ home, timesOf }: HeaderProps) {
  const run = currentRun.value;
  // A report holds the hosts together.
  const hosts = reportNotes ? [] : (run?.hosts ?? []);
  const runs = session.value?.runs ?? [];
  return (
    <header class="header">
      <button
        type="button"
        class="button nav-toggle"
        aria-label="Pages"
        aria-expanded={navShown.value}
        aria-controls="nav"
        title={navShown.value ? "Hide the list of pages" : "Show the list of pages"}
        onClick={toggleNav}
      >
        <span aria-hidden="true">☰</span>
      </button>
      <a class="brand" href={pageHref(home)}>
        Stepscope
      </a>
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
          onChoose={(id) => navigate({ ...route.value, run: id, host: "", params: {} })}
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
      {!reportNotes && timesOf.length > 0 && <TimesSwitch timesOf={timesOf} />}
      <div class="header-controls">
        {session.value?.capture_allowed && <CaptureButton />}
        {run && !reportNotes && <ReportMenu run={run.id} />}
        <CopyLink />
        <button
          type="button"
          class="button"
          onClick={() => {
            paletteOpen.value = true;
          }}
        >
          Go to <kbd>Ctrl K</kbd>
        </button>
        <ThemeMenu />
        <button
          type="button"
          class="button"
          onClick={() => {
            helpOpen.value = true;
          }}
        >
          Shortcuts <kbd>?</kbd>
        </button>
      </div>
    </header>
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

/** The pages of this run as one file to send, which opens without Stepscope. */
function ReportMenu({ run }: { run: string }) {
  return (
    <Popover label="Report" align="right">
      {(close) => (
        <div class="menu">
          <p class="quiet">Save these pages as one file</p>
          {REDACTIONS.map(([level, text]) => (
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

function ThemeMenu() {
  return (
    <Popover label="Theme" align="right">
      {() => (
        <fieldset class="menu">
          <legend class="off-screen">Theme</legend>
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
      )}
    </Popover>
  );
}
