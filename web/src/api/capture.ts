/** Recording programs that run elsewhere, through the server. */

import { apiUrl, getJson, postJson } from "./client.ts";
import type { CaptureChecksInfo, CaptureInfo } from "./types.gen.ts";

/** How the recording under way goes, or how the last one went. */
export function getCapture(): Promise<CaptureInfo> {
  return getJson(apiUrl("capture"));
}

/** Orders a recording; answers when it has begun. */
export function beginCapture(order: object): Promise<CaptureInfo> {
  return postJson(apiUrl("capture"), order);
}

/** Looks at the workers of an order without recording them. */
export function checkCapture(order: object): Promise<CaptureChecksInfo> {
  return postJson(apiUrl("capture/check"), order);
}

/** Gives up what has not arrived. */
export function stopCapture(): Promise<CaptureInfo> {
  return postJson(apiUrl("capture/stop"), {});
}
