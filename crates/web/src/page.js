let network = null;
let flows = [];
let requests = 0;
let alarms = [];
let history = [];
let seen = -1;
let shown = "";
const MOST_ROWS = 300;
const MOST_HISTORY = 300;

// --- what there is ---------------------------------------------------------------------------

let loading = false;
let again = false;
async function load() {
  if (loading) {
    again = true;
    return;
  }
  loading = true;
  try {
    const answers = await Promise.all(["network", "flows", "alarms", "history?after=" + (history.length ? history[history.length - 1].number : 0)].map((path) => ask("/api/v1/" + path)));
    const [one, two, three, four] = await Promise.all(answers.map((answer) => answer.json()));
    network = one;
    [flows, requests] = [two.flows, two.requests];
    alarms = three.alarms;
    add(four.entries);
    byId("main").hidden = false;
    byId("login").hidden = true;
    show();
  } finally {
    loading = false;
    if (again) {
      again = false;
      setTimeout(() => load().catch(() => {}), 500);
    }
  }
}

function add(entries) {
  const last = history.length ? history[history.length - 1].number : 0;
  history.push(...entries.filter((entry) => entry.number > last));
  history = history.slice(-1000);
}

function standing(text, kind) {
  put(byId("standing"), text);
  byId("standing").className = "soft " + kind;
}

function show() {
  showVerdict();
  const chosen = flows.find((flow) => flow.id === shown);
  const drawn = JSON.stringify([network.links, network.switches, chosen && chosen.hops]);
  const box = byId("picture");
  if (box.dataset.drawn !== drawn) {
    box.dataset.drawn = drawn;
    box.replaceChildren(network.nodes.length ? picture(network, chosen && chosen.hops.map((hop) => hop.port)) : el("p", { class: "empty" }, "The network has too many nodes for a picture."));
  }
  const way = chosen ? " The blue line is the way of " + chosen.topic + " to " + chosen.to + "." : " Press a flow below to see its way.";
  put(byId("legend"), "Squares are switches, circles are hosts. The line beside a link is as long as the part of the link's time that admitted flows may take, red from 75 % on; at a host ↑ is what it sends, ↓ what it gets." + way);
  showFlows();
  showSwitches();
  showDrops();
  showHistory();
  showHosts();
}

function showVerdict() {
  const refused = flows.filter((flow) => flow.state === "refused" || flow.state === "revoked").length;
  const sentence =
    network.admitted + " of " + network.requests + (network.requests === 1 ? " flow is" : " flows are") + " admitted" + (refused ? ", " + refused + " refused or revoked" : "") + "; " + (alarms.length === 0 ? "no alarms." : alarms.length === 1 ? "1 alarm:" : alarms.length + " alarms:");
  put(byId("summary"), sentence);
  byId("verdict").className = "verdict " + (alarms.length ? "bad" : refused ? "odd" : "good");
  const texts = JSON.stringify(alarms);
  const list = byId("alarms");
  if (list.dataset.texts !== texts) {
    list.dataset.texts = texts;
    list.replaceChildren(...alarms.map((alarm) => el("li", {}, alarm.text, el("span", { class: "soft" }, " (since " + clock(alarm.since) + ")"))));
  }
}

// --- flows -----------------------------------------------------------------------------------

const rows = new Map();
const sort = { key: "state", down: false };
const ORDER = { pending: 0, revoked: 1, refused: 2, admitted: 3 };
const NUMBERS = {
  promised: (flow) => flow.promised || undefined,
  present: (flow) => flow.present || undefined,
  room: (flow) => (flow.promised ? (flow.promised - flow.present) / flow.promised : undefined),
  median: (flow) => flow.measured && flow.measured.median,
  worst: (flow) => flow.measured && flow.measured.worst,
  late: (flow) => flow.measured && flow.measured.late + flow.measured.lost,
  state: (flow) => ORDER[flow.state],
};

function sorted() {
  const number = NUMBERS[sort.key];
  const compare = (a, b) => {
    if (!number) return a[sort.key].localeCompare(b[sort.key], undefined, { numeric: true }) * (sort.down ? -1 : 1);
    const [x, y] = [number(a), number(b)];
    // What has no number comes last, whatever the direction.
    if (x == null || y == null) return (x == null) - (y == null);
    return (x - y) * (sort.down ? -1 : 1);
  };
  return [...flows].sort((a, b) => compare(a, b) || a.topic.localeCompare(b.topic) || a.id.localeCompare(b.id));
}

function matches(flow, words) {
  const text = [flow.topic, flow.from, flow.to, flow.state, flow.reason, flow.id, ...flow.hops.map((hop) => hop.port)].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

const wordsOf = (id) => byId(id).value.toLowerCase().split(/\s+/).filter(Boolean);

function makeRow(flow) {
  const cell = (name, label) => el("td", { class: name, "data-label": label });
  const cells = {
    topic: cell("topic"), from: cell("", "from"), to: cell("", "to"), state: cell("st"), promised: cell("n", "promised"), present: cell("n", "worst case"),
    median: cell("n", "median"), worst: cell("n", "worst"), plot: cell("plotted"), late: cell("n", "late, lost"),
  };
  const button = el("button", { type: "button", "aria-expanded": "false" });
  const state = el("span", { class: "state" });
  cells.topic.append(button);
  cells.state.append(state);
  const line = el("tr", { class: "row" }, ...Object.values(cells));
  const body = el("tbody", {}, line);
  const row = { body, cells, button, state, more: null, drawn: "" };
  line.addEventListener("click", () => {
    shown = shown === flow.id ? "" : flow.id;
    show();
  });
  rows.set(flow.id, row);
  return row;
}

const CLASS = { admitted: "good", refused: "bad", revoked: "bad", pending: "odd" };

function showFlows() {
  const words = wordsOf("search");
  const wanted = sorted().filter((flow) => matches(flow, words));
  const few = wanted.slice(0, MOST_ROWS);
  const table = byId("flows");
  const ids = new Set(few.map((flow) => flow.id));
  for (const [id, row] of rows) {
    if (!ids.has(id)) {
      row.body.remove();
      rows.delete(id);
    }
  }
  few.forEach((flow, index) => {
    const row = rows.get(flow.id) || makeRow(flow);
    fill(row, flow);
    if (table.tBodies[index] !== row.body) table.insertBefore(row.body, table.tBodies[index] || null);
  });
  const left = requests - flows.length;
  const parts = [];
  if (words.length) parts.push(wanted.length + " of " + flows.length);
  if (wanted.length > few.length) parts.push("the first " + few.length + " are shown: search for others");
  if (left > 0) parts.push(left + " more, less important or not admitted");
  if (!flows.length) parts.push("No reader has asked for a latency yet.");
  put(byId("count"), parts.join("; "));
  for (const head of table.tHead.rows[0].cells) {
    if (head.dataset.sort === sort.key) head.setAttribute("aria-sort", sort.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  byId("sort").value = sort.key;
}

function fill(row, flow) {
  const { cells, measured } = { cells: row.cells, measured: flow.measured };
  put(row.button, flow.topic);
  put(cells.from, flow.from);
  put(cells.to, flow.to);
  put(row.state, flow.state);
  row.state.className = "state " + CLASS[flow.state];
  put(cells.promised, flow.promised ? latency(flow.promised) : "");
  put(cells.present, flow.present ? latency(flow.present) : "");
  put(cells.median, measured ? latency(measured.median) : "");
  put(cells.worst, measured ? latency(measured.worst) : "");
  cells.worst.classList.toggle("bad", Boolean(measured && flow.promised && measured.worst > flow.promised));
  put(cells.late, measured ? measured.late + ", " + measured.lost : "");
  cells.late.classList.toggle("bad", Boolean(measured && measured.late + measured.lost > 0));
  const drawn = flow.readings.length + " " + (flow.readings.length ? flow.readings[flow.readings.length - 1].time : 0) + " " + flow.promised;
  if (row.drawn !== drawn) {
    row.drawn = drawn;
    cells.plot.replaceChildren(...(flow.readings.length ? [plot(flow, false)] : []));
  }
  const open = flow.id === shown;
  row.body.classList.toggle("open", open);
  row.button.setAttribute("aria-expanded", String(open));
  if (!open) {
    if (row.more) row.more.remove();
    row.more = null;
    return;
  }
  const content = details(flow);
  if (!row.more) {
    row.more = el("tr", { class: "more" }, el("td", { colspan: "10" }, content, actions(flow)));
    row.body.append(row.more);
  } else {
    row.more.firstChild.firstChild.replaceWith(content);
  }
}

function details(flow) {
  const list = el("dl");
  const fact = (name, ...values) => list.append(el("dt", {}, name), el("dd", {}, ...values));
  if (flow.reason) fact("reason", el("span", { class: flow.state === "admitted" ? "" : "bad" }, flow.reason));
  if (flow.offered_latency) fact("would be admitted", "within " + latency(flow.offered_latency));
  if (flow.offered_separation) fact("would be admitted", "with one message each " + latency(flow.offered_separation));
  fact("asked for", latency(flow.maximum_latency) + ", importance " + flow.importance);
  if (flow.losses) fact("losses", flow.losses.frames + " frames lost within " + latency(flow.losses.within) + "; without losses " + latency(flow.losses.without));
  fact("goes", flow.source + " to " + flow.destination + (flow.reader_at !== flow.destination ? ", received at " + flow.reader_at : "") + (flow.readers > 1 ? "; " + flow.readers + " readers share it" : ""));
  flow.hops.forEach((hop, index) => fact(index ? "" : "way", hop.port + ": level " + hop.level + " (DSCP " + hop.dscp + "), at most " + latency(hop.share)));
  const measured = flow.measured;
  if (measured) {
    const clocks = measured.clock_error === null ? "how far clocks differ is not known" : "clocks may differ by " + latency(measured.clock_error);
    fact("measured", measured.samples + " samples, " + measured.late + " late, " + measured.lost + " lost; " + clocks);
  } else {
    fact("measured", "nothing yet: its reader has said nothing");
  }
  fact("id", el("small", {}, flow.id));
  const box = el("div", {}, list);
  if (flow.readings.length) {
    const words = el("p", { class: "soft" });
    const swatch = (colour, text) => {
      const mark = el("span", { class: "swatch" });
      mark.style.cssText = "display:inline-block;width:.8rem;height:.8rem;border-radius:3px;margin:0 .3rem 0 .8rem;background:var(" + colour + ")";
      words.append(mark, text);
    };
    swatch("--bad", "promised");
    swatch("--odd", "worst case now");
    swatch("--c5", "worst sample so far");
    swatch("--own", "median of a second");
    box.append(plot(flow, true), words);
  }
  return box;
}

function actions(flow) {
  const box = el("p", { class: "tools" });
  if (flow.state !== "admitted") return box;
  for (const how of ["release", "revoke"]) {
    const button = el("button", { type: "button" }, how === "release" ? "Release…" : "Revoke…");
    button.addEventListener("click", () => begin(flow, how));
    box.append(button);
  }
  return box;
}

// --- by hand ---------------------------------------------------------------------------------

let ending = null;
function begin(flow, how) {
  ending = { flow, how };
  put(byId("ending-title"), (how === "release" ? "Release " : "Revoke ") + flow.topic + " from " + flow.from + " to " + flow.to + "?");
  put(byId("ending-what"), how === "release" ? "It gives back its place, and its request is decided anew at once." : "It gives back its place, and stays revoked until its reader asks for something else.");
  put(byId("ending-do"), how === "release" ? "Release" : "Revoke");
  put(byId("ending-said"), "");
  byId("operator").value = store.getItem("operator") || "";
  byId("reason").value = "";
  byId("ending").showModal();
}

byId("ending-not").addEventListener("click", () => byId("ending").close());
byId("ending-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const name = byId("operator").value.trim();
  store.setItem("operator", name);
  const query = new URLSearchParams({ how: ending.how, reason: byId("reason").value.trim() });
  // Headers hold Latin-1 as fetch makes them: other letters go as UTF-8.
  const header = String.fromCharCode(...new TextEncoder().encode(name));
  try {
    await ask("/api/v1/flows/" + encodeURIComponent(ending.flow.id) + "?" + query, { method: "DELETE", headers: { "Punctual-Operator": header } });
    byId("ending").close();
    load().catch(() => {});
  } catch (error) {
    put(byId("ending-said"), error.message);
  }
});

// --- what-if: a request that is tried -------------------------------------------------------------

function showHosts() {
  for (const name of ["from", "to"]) {
    const select = byId("try").elements[name];
    const hosts = network.hosts.map((host) => host.name);
    if (select.options.length === hosts.length) continue;
    select.replaceChildren(...hosts.map((host) => el("option", {}, host)));
    if (name === "to" && hosts.length > 1) select.selectedIndex = 1;
  }
}

byId("try").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target.elements;
  const nanoseconds = (name) => Math.round(Number(form[name].value) * 1e6);
  const question = {
    from: form.from.value, to: form.to.value, largest_message: Number(form.largest_message.value), minimum_separation: nanoseconds("minimum_separation"),
    maximum_latency: nanoseconds("maximum_latency"), importance: Number(form.importance.value),
    topic: form.topic.value, user: form.user.value.trim(),
  };
  const box = byId("answer");
  try {
    const response = await ask("/api/v1/requests", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question) });
    box.replaceChildren(answer(await response.json()));
  } catch (error) {
    box.replaceChildren(el("p", { class: "bad" }, error.message));
  }
});

function answer(said) {
  const sentence = {
    admitted: "It would be admitted: promised " + latency(said.promised) + ", worst case now " + latency(said.present) + ".",
    displaces: "It would be admitted once less important flows are gone: " + said.yielding.join(", ") + ".",
    waits: "It would wait: " + said.reason + ".",
    refused: "It would be refused: " + said.reason + ".",
  }[said.outcome];
  const box = el("div", { class: "verdict " + { admitted: "good", displaces: "odd", waits: "odd", refused: "bad" }[said.outcome] }, el("p", {}, sentence));
  const lines = said.hops.map((hop) => hop.port + ": level " + hop.level + ", at most " + latency(hop.share));
  if (said.changes) lines.push(said.changes + " other flows would share their latency out anew or change their level; none is promised less");
  if (said.offered_latency) lines.push("within " + latency(said.offered_latency) + " it would be admitted");
  if (said.offered_separation) lines.push("with one message each " + latency(said.offered_separation) + " it would be admitted");
  if (lines.length) box.append(el("ul", {}, ...lines.map((text) => el("li", {}, text))));
  return box;
}

// --- the rest --------------------------------------------------------------------------------

function showSwitches() {
  const gates = (gates) => (gates === null ? "none" : gates ? "reached" : "not reached");
  const body = el("tbody");
  for (const status of network.switches) {
    const cell = (text, kind) => el("td", { class: kind }, String(text));
    body.append(el("tr", {}, cell(status.name), cell(status.state, status.state === "ready" ? "good" : "bad"), cell(gates(status.gates), status.gates === false ? "bad" : ""), cell(status.flows, "n"), cell(status.entries, "n"), cell(status.contracts, "n"), cell(status.meters, "n"), cell(status.groups, "n")));
  }
  for (const refused of network.refused_switches) {
    body.append(el("tr", {}, el("td", {}, "0x" + refused.datapath.toString(16)), el("td", { class: "bad", colspan: "7" }, "refused: " + refused.reason)));
  }
  const table = byId("switches");
  if (table.tBodies[0]) table.tBodies[0].replaceWith(body);
  else table.append(body);
  put(byId("reserved"), network.reserved.text + ". " + network.access + ".");
  byId("managers").replaceChildren(...network.managers.map((other) => el("li", {}, "another manager: participant " + other.participant + " \"" + other.name + "\" at " + other.address + ": " + other.role)));
}

function showDrops() {
  const box = byId("drops");
  if (!network.drops.length) {
    box.replaceChildren(el("p", { class: "empty" }, "None."));
    return;
  }
  const cell = (text, kind) => el("td", { class: kind }, String(text));
  const head = el("thead", {}, el("tr", {}, el("th", {}, "place"), el("th", {}, "topic"), el("th", {}, "how"), el("th", { class: "n" }, "frames")));
  box.replaceChildren(el("table", {}, head, el("tbody", {}, ...network.drops.map((drop) => el("tr", {}, cell(drop.place), cell(drop.topic), cell(drop.how), cell(drop.frames, "n bad"))))));
}

let historyShown = "";
function showHistory() {
  const words = wordsOf("history-search");
  const only = byId("warnings").checked;
  const key = [history.length ? history[history.length - 1].number : 0, only, ...words].join(" ");
  if (historyShown === key) return;
  historyShown = key;
  const wanted = history.filter((entry) => (!only || entry.warning) && words.every((word) => (entry.text + " " + entry.who + " " + entry.what).toLowerCase().includes(word)));
  const items = wanted.slice(-MOST_HISTORY).reverse().map((entry) =>
    el("li", {}, el("time", {}, new Date(entry.time).toLocaleString()), " ", el("span", { class: "what " + (entry.warning ? "bad" : "") }, entry.what), entry.text.startsWith(entry.what) ? entry.text.slice(entry.what.length) : " " + entry.text, el("small", { class: "by" }, "by " + entry.who)));
  byId("history").replaceChildren(...(items.length ? items : [el("li", { class: "empty" }, "Nothing.")]));
}

// --- what is pressed -------------------------------------------------------------------------

function sortBy(key, down) {
  [sort.key, sort.down] = [key, down];
  if (network) showFlows();
}
for (const head of byId("flows").tHead.rows[0].cells) {
  const key = head.dataset.sort;
  if (!key) continue;
  const button = el("button", { type: "button" }, ...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => sortBy(key, sort.key === key ? !sort.down : key in NUMBERS && key !== "state"));
}
byId("sort").addEventListener("change", (event) => sortBy(event.target.value, event.target.value in NUMBERS && !["state", "room"].includes(event.target.value)));
byId("search").addEventListener("input", () => network && showFlows());
byId("history-search").addEventListener("input", () => showHistory());
byId("warnings").addEventListener("change", () => showHistory());
onToken(() => listen());

// --- live ------------------------------------------------------------------------------------

function heard(kind, data) {
  if (kind === "state") {
    if (data.standing === "manages") {
      const since = new Date(data.time).toLocaleTimeString();
      standing("live, " + since, "live");
      if (data.number !== seen) {
        seen = data.number;
        load().catch((error) => standing(error.message, "gone"));
      }
    } else {
      byId("main").hidden = true;
      standing(data.standing === "stands by" ? "This manager stands by for another one, which manages the network." : "This manager begins.", "");
    }
  } else if (kind === "history") {
    add([data]);
    if (network) showHistory();
  }
}

const listen = () => follow("/api/v1/events", { heard, begins: () => (seen = -1), standing });
listen();
