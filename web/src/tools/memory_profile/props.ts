/** What this page is given. */

import type { MemoryProfile } from "../../api/types.gen.ts";
import type { ToolPageProps } from "../sections/tool_page.tsx";

export type MemoryProps = ToolPageProps<MemoryProfile>;
