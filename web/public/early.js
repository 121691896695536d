// Asks for what the first page needs while the browser compiles the application, which then takes
// the answers by their address (client.ts). The page's policy allows no script inside the HTML.
{
  const early = {};
  const headers = { accept: "application/json", "x-stepscope-errors": "soft" };
  const ask = (path, query = {}) => {
    const words = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
    const url = `api/v1/${path}${words.size ? `?${words}` : ""}`;
    // Read to the end even if nobody takes it: a connection would stay open.
    early[url] = fetch(url, { headers }).then(
      async (answer) => new Response(await answer.arrayBuffer(), answer),
    );
    early[url].catch(() => {}); // whoever takes the answer reports it
    return early[url];
  };
  const [page, search] = location.hash.replace(/^#\/?/, "").split("?");
  const { run, host, ...rest } = Object.fromEntries(new URLSearchParams(search));
  const askOf = (of) => {
    // Which tools have something to show draws nothing of the timeline: they are asked for later.
    if (page === "trace_viewer" || page === "timeline") ask("timeline/meta", { run: of, host });
    else ask("tools", { run: of, host });
    if ((page === "" || page === "overview_page") && Object.keys(rest).length === 0)
      ask("tool/overview_page", { run: of, host, layout: "coded" });
  };
  const session = ask("session");
  if (run) askOf(run);
  else
    session
      .then((answer) => answer.clone().json())
      .then((info) => info.default_run && askOf(info.default_run))
      .catch(() => {});
  window.early = early;
}
