/** Where the page starts. */

import "../base/tokens.css";
import "../widgets/widgets.css";
import "../widgets/charts/charts.css";
import "../widgets/charts/plots.css";
import "../widgets/grid/grid.css";
import "../tools/sections/tools.css";
import "../tools/runs/runs.css";
import "../tools/sql/sql.css";
import "./shell.css";

import { render } from "preact";
import { Shell } from "./shell.tsx";
import { followAddress, loadSession } from "./state/shell.ts";
import { applyTheme } from "./state/theme.ts";

applyTheme();
followAddress();
void loadSession();
const root = document.getElementById("app");
if (root) render(<Shell />, root);
