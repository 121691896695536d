/** Where the page starts. */

import "../base/tokens.css";
import "../widgets/widgets.css";
import "../widgets/charts.css";
import "../widgets/plots.css";
import "../widgets/grid.css";
import "../tools/tools.css";
import "./shell.css";

import { render } from "preact";
import { askEarly } from "./early.ts";
import { Shell } from "./shell.tsx";
import { followAddress, loadSession } from "./state.ts";
import { applyTheme } from "./theme.ts";

applyTheme();
followAddress();
askEarly();
void loadSession();
const root = document.getElementById("app");
if (root) render(<Shell />, root);
