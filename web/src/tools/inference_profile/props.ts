/** What this page is given. */

import type { InferenceProfile } from "../../api/types.gen.ts";
import { duration, MISSING } from "../../base/format.ts";
import type { ToolPageProps } from "../sections/tool_page.tsx";

export type InferenceProps = ToolPageProps<InferenceProfile>;

export function timeOf(us: number | null | undefined): string {
  return us == null ? MISSING : duration(us, "µs");
}
