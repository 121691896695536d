/** Record programs that run elsewhere: what, from whom, how it goes, how it ended. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { CaptureCheckInfo, CaptureInfo, CaptureWorkerInfo } from "../api/types.gen.ts";
import { bytes, count, MISSING } from "../base/format.ts";
import { recall, remember } from "../base/storage.ts";
import {
  type CaptureForm,
  type CaptureOrder,
  EMPTY_FORM,
  HOST_LEVELS,
  LENGTHS,
  orderOf,
  PRESETS,
  presetOf,
  SWITCH,
} from "../engine/capture_request.ts";
import { Dialog } from "../widgets/overlay/dialog.tsx";
import { PlainTable } from "../widgets/plain_table.tsx";
import { Segments } from "../widgets/segments.tsx";
import {
  capture,
  captureOpen,
  checked,
  checkWorkers,
  giveUp,
  lookAtCapture,
  openRun,
  order,
  recorded,
  refused,
} from "./state/capture.ts";

const REMEMBERED = "capture.addresses";

export function CaptureButton() {
  const running = capture.value?.state === "running";
  const run = recorded.value;
  return (
    <>
      {/* Who closed the dialog reads another page: that is left when they choose to. */}
      <span role="status">
        {run && (
          <button type="button" class="button primary" onClick={() => openRun(run)}>
            Open the new recording
          </button>
        )}
      </span>
      <button
        type="button"
        class="button"
        onClick={() => {
          captureOpen.value = true;
        }}
      >
        {running ? "Capturing…" : "Capture"}
      </button>
    </>
  );
}

export function CaptureDialog() {
  const [form, setForm] = useState<CaptureForm>(() => ({
    ...EMPTY_FORM,
    addresses: recall(REMEMBERED) ?? EMPTY_FORM.addresses,
  }));
  const [wrong, setWrong] = useState("");
  useEffect(() => void lookAtCapture(), []);
  const info = capture.value;
  const running = info?.state === "running";
  const send = (how: (asked: CaptureOrder) => Promise<void>) => {
    const asked = orderOf(form);
    if (typeof asked === "string") return setWrong(asked);
    setWrong("");
    remember(REMEMBERED, form.addresses);
    void how(asked);
  };
  const change = (part: Partial<CaptureForm>) => {
    if (part.addresses !== undefined) checked.value = null;
    setForm({ ...form, ...part });
  };
  return (
    <Dialog
      title="Capture"
      class="capture"
      onClose={() => {
        captureOpen.value = false;
      }}
    >
      <form
        class="capture-form"
        onSubmit={(event) => {
          event.preventDefault();
          send(order);
        }}
      >
        <fieldset disabled={running}>
          <legend class="off-screen">What to record</legend>
          <Presets form={form} onChange={change} />
          <Fields form={form} onChange={change} />
        </fieldset>
        <p class="actions">
          {running ? (
            <button type="button" class="button" onClick={() => void giveUp()}>
              Stop waiting for the rest
            </button>
          ) : (
            <>
              <button type="submit" class="button primary">
                Record
              </button>
              <button type="button" class="button" onClick={() => send(checkWorkers)}>
                Check addresses
              </button>
            </>
          )}
        </p>
      </form>
      <div role="status">
        {wrong && <p class="capture-error">{wrong}</p>}
        {refused.value && (
          <p class="capture-error">
            {refused.value.what} {refused.value.why} {refused.value.hint}
          </p>
        )}
        {checked.value ? (
          <Checks found={checked.value} />
        ) : (
          info && info.state !== "idle" && <Course info={info} />
        )}
      </div>
    </Dialog>
  );
}

function Presets({ form, onChange }: FieldsProps) {
  const chosen = presetOf(form);
  return (
    <Row hint={chosen?.about ?? "your own choice of the fields below"}>
      <fieldset class="segments">
        <legend>Preset</legend>
        {PRESETS.map((preset) => (
          <label key={preset.name} class={preset === chosen ? "segment chosen" : "segment"}>
            <input
              type="radio"
              name="capture-preset"
              checked={preset === chosen}
              onChange={() => onChange(preset.form)}
            />
            {preset.name}
          </label>
        ))}
      </fieldset>
    </Row>
  );
}

/** What was found at each address, before anything is recorded. */
function Checks({ found }: { found: readonly CaptureCheckInfo[] | "looking" }) {
  if (found === "looking") return <p class="quiet">Looking at the addresses …</p>;
  return (
    <ul class="capture-checks">
      {found.map(({ address, server, problem, hint }) => (
        <li key={address}>
          <code>{address}</code>: {problem || `ready (${server})`}
          {problem && hint && <p class="quiet">{hint}</p>}
        </li>
      ))}
    </ul>
  );
}

interface FieldsProps {
  readonly form: CaptureForm;
  readonly onChange: (part: Partial<CaptureForm>) => void;
}

function Fields({ form, onChange }: FieldsProps) {
  const bySteps = form.by === "steps";
  return (
    <>
      <TextField
        label="Addresses"
        hint="HOST:PORT of each profiler server, separated by commas"
        value={form.addresses}
        wide
        onValue={(addresses) => onChange({ addresses })}
      />
      <Row hint={bySteps ? "if the program marks its steps" : "of a running program"}>
        <Segments
          label="Length by"
          choices={LENGTHS}
          value={form.by}
          onValue={(by) => onChange({ by })}
        />
        {bySteps ? (
          <TextField label="Steps" value={form.steps} onValue={(steps) => onChange({ steps })} />
        ) : (
          <TextField
            label="Duration (ms)"
            value={form.duration}
            onValue={(duration) => onChange({ duration })}
          />
        )}
      </Row>
      <Row hint="cost for steps of small ops: ops about 10%, all 20 to 25%">
        <Segments
          label="Host events"
          choices={HOST_LEVELS}
          value={form.host}
          onValue={(host) => onChange({ host })}
        />
      </Row>
      <Row hint="on: adds about 0.3 µs to each Python call">
        <Segments
          label="Python calls"
          choices={SWITCH}
          value={form.python}
          onValue={(python) => onChange({ python })}
        />
      </Row>
      <Row hint="kernels and copies on GPUs and TPUs">
        <Segments
          label="Device events"
          choices={SWITCH}
          value={form.device}
          onValue={(device) => onChange({ device })}
        />
      </Row>
      <Row hint="retries if a worker is busy or silent">
        <TextField label="Delay (ms)" value={form.delay} onValue={(delay) => onChange({ delay })} />
        <TextField
          label="Attempts"
          value={form.attempts}
          onValue={(attempts) => onChange({ attempts })}
        />
      </Row>
    </>
  );
}

function Row({ hint, children }: { hint: string; children: ComponentChildren }) {
  return (
    <div class="capture-row">
      {children}
      <span class="quiet">{hint}</span>
    </div>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly hint?: string;
  readonly wide?: boolean;
  readonly onValue: (value: string) => void;
}

function TextField({ label, value, hint, wide = false, onValue }: TextFieldProps) {
  return (
    <label class={wide ? "capture-wide" : "option-text"}>
      <span>
        {label}
        {hint && <span class="quiet"> {hint}</span>}
      </span>
      <input
        class="field"
        inputMode={wide ? "text" : "numeric"}
        size={wide ? 40 : 8}
        spellcheck={false}
        value={value}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
    </label>
  );
}

const PHASES: Readonly<Record<CaptureWorkerInfo["phase"], string>> = {
  connecting: "connecting",
  busy: "busy, retrying",
  ready: "ready",
  waiting: "about to start",
  recording: "recording",
  writing: "writing",
  done: "recorded",
  failed: "failed",
};

function phaseOf(worker: CaptureWorkerInfo): string {
  if (worker.phase !== "recording" || worker.left_s === null) return PHASES[worker.phase];
  return worker.left_s > 0
    ? `recording, ${worker.left_s.toFixed(1)} s to go`
    : "waiting for the answer";
}

/** How the recording goes or went, worker by worker. */
function Course({ info }: { info: CaptureInfo }) {
  return (
    <section class="capture-course">
      <PlainTable
        named={false}
        heads={["Worker", "State", "Events", "Size"]}
        isNumeric={(column) => column > 1}
        rows={info.workers.map((worker) => [
          <code>{worker.address}</code>,
          <>
            {phaseOf(worker)}
            {[worker.error, worker.hint, ...worker.notes].map(
              (text) =>
                text && (
                  <p key={text} class="quiet">
                    {text}
                  </p>
                ),
            )}
          </>,
          worker.events === null ? MISSING : count(worker.events),
          worker.bytes === null ? MISSING : bytes(worker.bytes),
        ])}
      />
      {info.notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
      {info.error && <p class="capture-error">{info.error.what}</p>}
      {info.state === "done" && info.run && (
        <p class="actions">
          <button type="button" class="button" onClick={() => openRun(info.run)}>
            Open the recording
          </button>
        </p>
      )}
    </section>
  );
}
