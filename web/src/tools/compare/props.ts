/** What this page is given. */

import type { Comparison } from "../../api/types.gen.ts";
import type { ToolPageProps } from "../sections/tool_page.tsx";

export type CompareProps = ToolPageProps<Comparison>;
