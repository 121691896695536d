/** All keys and gestures, in a dialog. */

import { Dialog } from "../../widgets/overlay/dialog.tsx";
import { HAND_HELP, KEY_HELP } from "./keys.ts";

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Timeline shortcuts" class="help" onClose={onClose}>
      <div class="help-columns">
        {[KEY_HELP, HAND_HELP].map((list, place) => (
          <dl class="keys" key={place}>
            {list.map(([key, meaning]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
        ))}
      </div>
    </Dialog>
  );
}
