/** What this page is given. */

import type { OverviewPage } from "../../api/types.gen.ts";
import type { ToolPageProps } from "../sections/tool_page.tsx";

export type OverviewProps = ToolPageProps<OverviewPage>;
