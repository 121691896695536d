/** What the Capture dialog asks for, as the server takes it. */

export const HOST_LEVELS = ["none", "annotations", "ops", "all"] as const;
export const SWITCH = ["off", "on"] as const;
export const LENGTHS = ["time", "steps"] as const;

export interface CaptureForm {
  readonly addresses: string;
  /** One of LENGTHS: which of the next two counts. */
  readonly by: string;
  readonly duration: string;
  readonly steps: string;
  readonly host: string;
  readonly python: string;
  readonly device: string;
  readonly delay: string;
  readonly attempts: string;
}

export const EMPTY_FORM: CaptureForm = {
  addresses: "localhost:6009",
  by: "time",
  duration: "2000",
  steps: "10",
  host: "ops",
  python: "off",
  device: "on",
  delay: "0",
  attempts: "3",
};

export interface Preset {
  readonly name: string;
  /** What it is for. */
  readonly about: string;
  readonly form: Partial<CaptureForm>;
}

const PLAIN = { host: "ops", python: "off", device: "on", delay: "0" } as const;

/** What people record, by the question they have. */
export const PRESETS: readonly Preset[] = [
  {
    name: "Overview",
    about: "what limits the program: 2 s of ops and kernels",
    form: { ...PLAIN, by: "time", duration: "2000" },
  },
  {
    name: "10 steps",
    about: "to compare runs: the same number of steps each time",
    form: { ...PLAIN, by: "steps", steps: "10" },
  },
  {
    name: "Python",
    about: "where Python spends the step: every call, for 500 ms",
    form: { ...PLAIN, by: "time", duration: "500", python: "on" },
  },
  {
    name: "Least cost",
    about: "kernels and marks only, for programs that must not slow down",
    form: { ...PLAIN, by: "time", duration: "2000", host: "annotations" },
  },
];

/** The preset that a form is, if it is one. */
export function presetOf(form: CaptureForm): Preset | undefined {
  return PRESETS.find((preset) =>
    Object.entries(preset.form).every(([name, value]) => form[name as keyof CaptureForm] === value),
  );
}

export interface CaptureOrder {
  readonly addresses: string;
  readonly duration_ms?: number;
  readonly steps?: number;
  readonly host_tracer_level: number;
  readonly python_tracer_level: number;
  readonly device_tracer_level: number;
  readonly delay_ms: number;
  readonly attempts: number;
}

/** The order of a form, or what is wrong with it in words. */
export function orderOf(form: CaptureForm): CaptureOrder | string {
  const addresses = form.addresses
    .split(/[\s,;]+/)
    .filter((each) => each !== "")
    .join(",");
  if (addresses === "") return "Name at least one address, such as localhost:6009.";
  const bySteps = form.by === "steps";
  const length = whole(bySteps ? form.steps : form.duration, 1);
  const delay = whole(form.delay, 0);
  const attempts = whole(form.attempts, 1);
  if (length === null)
    return bySteps ? "Give a number of steps." : "Give a duration in milliseconds.";
  if (delay === null) return "Give the delay in milliseconds, or 0.";
  if (attempts === null) return "Give 1 attempt or more.";
  return {
    addresses,
    ...(bySteps ? { steps: length } : { duration_ms: length }),
    host_tracer_level: HOST_LEVELS.indexOf(form.host as (typeof HOST_LEVELS)[number]),
    python_tracer_level: SWITCH.indexOf(form.python as (typeof SWITCH)[number]),
    device_tracer_level: SWITCH.indexOf(form.device as (typeof SWITCH)[number]),
    delay_ms: delay,
    attempts,
  };
}

function whole(text: string, least: number): number | null {
  if (!/^\d{1,9}$/.test(text.trim())) return null;
  const value = Number(text);
  return value >= least ? value : null;
}
