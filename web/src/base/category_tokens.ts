/** Which colour the category of an event has, wherever it is drawn. */

/** Token of each category; those that mean a part of the step have that part's colour. */
const CATEGORY_TOKENS: Readonly<Record<string, string>> = {
  step: "--tone-5",
  module: "--tone-3",
  kernel: "--part-device",
  copy: "--part-output",
  collective: "--part-collectives",
  op: "--part-device-16",
  launch: "--part-launch",
  runtime: "--part-host",
  input: "--part-input",
  compile: "--part-compile",
  python: "--slice-3",
  annotation: "--tone-6",
  memory: "--slice-7",
  scope: "--tone-7",
  source: "--tone-8",
};

/** Token of a category's colour. */
export function categoryToken(name: string): string {
  return CATEGORY_TOKENS[name] ?? "--tone-other";
}
