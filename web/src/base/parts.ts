/** The parts a step's time is divided into: their order, names and colours, everywhere the same. */

export interface Part {
  /** Key in `breakdown_ms`; with `_ms` appended, the column of the step table. */
  readonly id: string;
  readonly label: string;
  /** Name of the colour token: `var(--part-<colour>)`, text on it `var(--on-<colour>)`. */
  readonly colour: string;
  /** Texture over the colour, for parts that share a hue. */
  readonly pattern: "solid" | "hatch";
}

/** In stacking order, bottom or left first: what the machine is bought for, then what delays it. */
export const PARTS: readonly Part[] = [
  {
    id: "device_compute_16",
    label: "Device compute, 16-bit",
    colour: "device-16",
    pattern: "solid",
  },
  { id: "device_compute_32", label: "Device compute, 32-bit", colour: "device", pattern: "solid" },
  { id: "device_compute", label: "Device compute", colour: "device", pattern: "solid" },
  { id: "collectives", label: "Collectives", colour: "collectives", pattern: "solid" },
  {
    id: "collective_transfer",
    label: "Collective transfer",
    colour: "collectives",
    pattern: "solid",
  },
  {
    id: "collective_wait",
    label: "Waiting for other workers",
    colour: "collectives",
    pattern: "hatch",
  },
  { id: "device_to_device", label: "Device to device", colour: "collectives", pattern: "hatch" },
  { id: "input", label: "Input wait", colour: "input", pattern: "solid" },
  { id: "host_to_device", label: "Copy to device", colour: "input", pattern: "hatch" },
  { id: "output", label: "Output", colour: "output", pattern: "solid" },
  { id: "kernel_launch", label: "Kernel launch", colour: "launch", pattern: "solid" },
  { id: "host_compute", label: "Host compute", colour: "host", pattern: "solid" },
  { id: "compilation", label: "Compilation", colour: "compile", pattern: "solid" },
  { id: "other", label: "Other", colour: "other", pattern: "hatch" },
];

/** The part with this id; one that the server adds later is drawn like "other", under its name. */
export function partOf(id: string): Part {
  const known = PARTS.find((part) => part.id === id);
  if (known) return known;
  const label = id.replaceAll("_", " ");
  return {
    id,
    label: label.charAt(0).toUpperCase() + label.slice(1),
    colour: "other",
    pattern: "hatch",
  };
}

/** Whether this is the id of a known part. */
export function isPart(id: string): boolean {
  return PARTS.some((part) => part.id === id);
}

/** All known parts in order, then those of `ids` that are not known. */
export function partsFor(ids: Iterable<string>): Part[] {
  const given = new Set(ids);
  const known = PARTS.filter((part) => given.has(part.id));
  const names = new Set(known.map((part) => part.id));
  return [...known, ...[...given].filter((id) => !names.has(id)).map(partOf)];
}

/** How the steps were found. */
export const STEP_SOURCES: Readonly<Record<string, string>> = {
  markers: "from step markers",
  device_steps: "from the device's own steps",
  framework: "from the framework's calls",
  inferred: "inferred from repetition",
  window: "the whole recording",
  none: "none found",
};

/** What a step can be bound by: its short name, and the colour of the part it is about. */
export const BOUNDS: Readonly<Record<string, { label: string; colour: string }>> = {
  input: { label: "Input", colour: "input" },
  output: { label: "Output", colour: "output" },
  kernel_launch: { label: "Kernel launch", colour: "launch" },
  host: { label: "Host", colour: "host" },
  device: { label: "Device", colour: "device" },
  collectives: { label: "Collectives", colour: "collectives" },
  compilation: { label: "Compilation", colour: "compile" },
  balanced: { label: "No single part", colour: "other" },
  unknown: { label: "Unknown", colour: "other" },
};
