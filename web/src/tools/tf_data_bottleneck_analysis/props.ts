/** What this page is given. */

import type { TfDataBottleneckAnalysis } from "../../api/types.gen.ts";
import type { ToolPageProps } from "../sections/tool_page.tsx";

export type TfDataProps = ToolPageProps<TfDataBottleneckAnalysis>;
