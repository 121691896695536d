/** The parts a step's time is divided into: their order and colours, everywhere the same. */

import { fieldLabel, type Labels } from "./fields.ts";

interface Look {
  /** Key in `breakdown_ms`; with `_ms` appended, the column of the step table. */
  readonly id: string;
  /** Name of the colour token: `var(--part-<colour>)`, text on it `var(--on-<colour>)`. */
  readonly colour: string;
  /** Texture over the colour, for parts that share a hue. */
  readonly pattern: "solid" | "hatch";
}

export interface Part extends Look {
  readonly label: string;
}

/** In stacking order, bottom or left first: what the machine is bought for, then what delays it. */
const LOOKS: readonly Look[] = [
  { id: "device_compute_16", colour: "device-16", pattern: "solid" },
  { id: "device_compute_32", colour: "device", pattern: "solid" },
  { id: "device_compute", colour: "device", pattern: "solid" },
  { id: "collectives", colour: "collectives", pattern: "solid" },
  { id: "collective_transfer", colour: "collectives", pattern: "solid" },
  { id: "collective_wait", colour: "collectives", pattern: "hatch" },
  { id: "device_to_device", colour: "collectives", pattern: "hatch" },
  { id: "input", colour: "input", pattern: "solid" },
  { id: "host_to_device", colour: "input", pattern: "hatch" },
  { id: "output", colour: "output", pattern: "solid" },
  { id: "kernel_launch", colour: "launch", pattern: "solid" },
  { id: "host_compute", colour: "host", pattern: "solid" },
  { id: "compilation", colour: "compile", pattern: "solid" },
  { id: "host_wait", colour: "host", pattern: "hatch" },
  { id: "other", colour: "other", pattern: "hatch" },
];

/** The part with this id; one that the server adds later is drawn like "other", under its name. */
export function partOf(id: string, labels: Labels): Part {
  const look = LOOKS.find((known) => known.id === id);
  return { id, colour: "other", pattern: "hatch", ...look, label: fieldLabel(labels, id) };
}

/** Whether this is the id of a known part. */
export function isPart(id: string): boolean {
  return LOOKS.some((look) => look.id === id);
}

/**
 * All known parts in order, then those of `ids` that are not known.
 *
 * @param labels what the parts are called, as the server gives it with the tool
 */
export function partsFor(ids: Iterable<string>, labels: Labels): Part[] {
  const given = new Set(ids);
  const known = LOOKS.map(({ id }) => id).filter((id) => given.has(id));
  const rest = [...given].filter((id) => !isPart(id));
  return [...known, ...rest].map((id) => partOf(id, labels));
}

/** Colour of the part that a limit of the step is about. */
export const LIMIT_COLOURS: Readonly<Record<string, string>> = {
  input: "input",
  output: "output",
  kernel_launch: "launch",
  host: "host",
  device: "device",
  collectives: "collectives",
  compilation: "compile",
};
