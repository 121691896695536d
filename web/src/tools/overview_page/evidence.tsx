/** Where to see that a finding is true. */

import type { Finding } from "../../api/types.gen.ts";
import { visible } from "../../base/text.ts";
import { evidenceLink } from "./advice.ts";
import type { OverviewProps } from "./props.ts";

export function Evidence(props: OverviewProps & Pick<Finding, "evidence">) {
  const { evidence, tool } = props;
  return (
    <p class="quiet evidence">
      Evidence:{" "}
      {evidence.map((ref, index) => {
        const link = evidenceLink(ref, props);
        const isHere = ref.tool === tool.id;
        const name = isHere ? "this page" : (link?.title ?? ref.tool);
        const what = visible(ref.words);
        return (
          <span key={ref.tool + ref.what}>
            {index > 0 && "; "}
            {link && !isHere ? <a href={link.href}>{name}</a> : name}
            {what && `, ${what}`}
          </span>
        );
      })}
    </p>
  );
}
