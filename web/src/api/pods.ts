/** Colours of a pod's map, a byte for each cell. */

import { apiUrl, getBytes } from "./client.ts";

export async function getCells(
  query: Readonly<Record<string, string>>,
  measure: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const { run = "", host = "" } = query;
  return new Uint8Array(await getBytes(apiUrl("pod/cells", { run, host, measure }), signal));
}
