/** Following the theme of the page, for what is painted and does not change with the style sheet. */

/** Calls `act` whenever the colours of the page change; returns what ends that. */
export function onTheme(act: () => void): () => void {
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", act);
  const chosen = new MutationObserver(act);
  chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    scheme.removeEventListener("change", act);
    chosen.disconnect();
  };
}
