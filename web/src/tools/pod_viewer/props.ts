/** What this page is given. */

import type { PodViewer } from "../../api/types.gen.ts";
import type { ToolPageProps } from "../sections/tool_page.tsx";

export type PodProps = ToolPageProps<PodViewer>;
