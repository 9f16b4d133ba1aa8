// What the manager says is read each two seconds while the page is seen, and when something has happened.
const MOST_ROWS = 300;
let status = null;
let history = [];

function standing(text, kind) {
  put(byId("standing"), text);
  byId("standing").className = "soft " + kind;
}

// A number in the largest of the units, a thousand apart, that it has one of; exactly.
function exact(number, units) {
  let [scale, at] = [1, 0];
  while (at + 1 < units.length && number / scale >= 1000) {
    scale *= 1000;
    at += 1;
  }
  return number / scale + " " + units[at];
}
const bits = (number) => exact(number, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]);
const time = (number) => exact(number, ["ns", "µs", "ms", "s"]);
const amount = (number, unit) => (number === null || number === undefined ? "" : unit === "bit/s" ? bits(number) : unit === "ns" ? time(number) : number + " " + (unit || ""));
const date = (nanoseconds) => (nanoseconds ? new Date(nanoseconds / 1e6).toLocaleString() : "");
const cell = (content, kind) => el("td", { class: kind }, ...(typeof content === "object" ? [content] : [String(content)]));
const number = (content) => cell(content, "n");
const row = (...cells) => el("tr", {}, ...cells);
const as = (asn) => "AS\u00a0" + asn;
const plural = (count, one, many) => count + " " + (count === 1 ? one : many);

function fill(id, rows, columns) {
  byId(id).replaceChildren(...(rows.length ? rows : [row(el("td", { class: "empty", colspan: columns }, "None."))]));
}

function meter(part, whole) {
  const node = el("meter", { min: 0, max: Math.max(whole, 1), high: 0.9 * whole, value: part, title: part + " of " + whole });
  return node;
}

// --- what there is ---------------------------------------------------------------------------

const ways = (session, of) => session.bounds.filter((bound) => bound.flow === of.flow && bound.to === of.to);
// Of two copies each one is a way that samples may have come.
const isLate = (session, measured) => ways(session, measured).length > 0 && ways(session, measured).every((bound) => measured.worst > bound.delay);

function showVerdict() {
  const troubles = status.managers.filter((manager) => !manager["is-connected"]).map((manager) => "the manager of AS " + manager.asn + " is away");
  for (const session of status.sessions) {
    for (const measured of session.measured) {
      if (isLate(session, measured)) troubles.push("session " + session.session + ", flow " + measured.flow + ": a program has measured " + time(measured.worst) + ", which is longer than the bound");
    }
  }
  if (status["false-messages"]) troubles.push(plural(status["false-messages"], "false message was", "false messages were") + " left out");
  put(byId("title"), "Domain AS " + status.asn);
  document.title = "AS " + status.asn;
  const sessions = plural(status.sessions.length, "session", "sessions") + " of callers here, " + status.hosted.length + " with callees here, " + plural(status.aggregates.length, "aggregate", "aggregates");
  put(byId("summary"), sessions + (status.caveat ? ". Note: " + status.caveat : ""));
  byId("verdict").className = "verdict " + (troubles.length ? "bad" : status.caveat ? "odd" : "good");
  byId("troubles").replaceChildren(...troubles.map((text) => el("li", {}, text)));
}

function showNeighbours() {
  fill("managers", status.managers.map((manager) => {
    const state = manager["is-connected"] ? "connected" : "away";
    return row(cell(as(manager.asn)), cell(manager.address), cell(state, "state " + state), number(manager.dropped));
  }), 4);
  fill("links", status.links.map((link) =>
    row(cell(link.link), cell(as(link.to)), cell(link.class), number(bits(link.reserved)), number(bits(link.rate)), cell(meter(link.reserved, link.rate)),
      number(link["reserved-burst"] + " of " + link.burst), cell(meter(link["reserved-burst"], link.burst)), number(time(link.delay)), number(link.loss ? link.loss + " ppm" : "0"), cell(link.excess), number(link.price), cell(date(link.ends) || "always"))), 13);
}

function flowsOf(session) {
  const delivered = (flow, to) => status.delivered.find((of) => of.session === session.session && of.flow === flow && of.to === to);
  return session.bounds.map((bound) => {
    const flow = session.flows[bound.flow] || {};
    const measured = session.measured.find((of) => of.flow === bound.flow && of.to === bound.to);
    const entered = delivered(bound.flow, bound.to);
    const told = measured ? time(measured.median) + ", " + time(measured.worst) + " (" + measured.samples + ")" : "";
    const copy = ways(session, bound).length > 1 ? ", copy " + bound.copy : "";
    const path = el("span", { class: "soft" }, bound.path.map(as).join(", "));
    return [cell(el("span", {}, bound.flow + " " + (flow.kind || "") + " " + (flow.class || "") + " to " + as(bound.to) + copy, el("br", {}), path)), number(bits(bound.rate)), number(time(bound.delay) + (bound.kind === "what-arrives" ? " of what arrives" : "")),
      number(bound.loss ? bound.loss + " ppm" : "0"), number(bound.price === null ? "not told" : bound.price),
      cell(told, measured && isLate(session, measured) ? "n bad" : "n"), number(entered ? entered.bytes + " bytes" : "")];
  });
}

function showSessions() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (session) => [session.session, session.user, session.caller, ...session.callees].join(" ").toLowerCase();
  const own = status.sessions.filter((session) => words.every((word) => text(session).includes(word)));
  const hosted = status.hosted.filter((session) => words.every((word) => session.includes(word)));
  const bodies = own.slice(0, MOST_ROWS).map((session) => {
    const flows = flowsOf(session);
    const span = { rowspan: Math.max(flows.length, 1) };
    const wide = (content) => el("td", span, content);
    const first = [wide(session.session), wide(session.user), wide(session.caller), wide(session.callees.join(", "))];
    const last = [wide(date(session.since)), wide(date(session.ends))];
    const lines = (flows.length ? flows : [["none leaves here", "", "", "", "", "", ""].map((content) => cell(content))]).map((cells, at) => row(...(at ? [] : first), ...cells, ...(at ? [] : last)));
    return el("tbody", {}, ...lines);
  });
  bodies.push(...hosted.slice(0, MOST_ROWS).map((session) => {
    const entered = status.delivered.filter((of) => of.session === session).reduce((sum, of) => sum + of.bytes, 0);
    return el("tbody", {}, row(cell(session), el("td", { colspan: 9, class: "soft" }, "with callees here"), number(entered ? entered + " bytes" : ""), cell(""), cell("")));
  }));
  const table = byId("sessions");
  for (const body of [...table.tBodies]) body.remove();
  table.append(...(bodies.length ? bodies : [el("tbody", {}, row(el("td", { class: "empty", colspan: 13 }, "None.")))]));
  const shown = Math.min(own.length, MOST_ROWS) + Math.min(hosted.length, MOST_ROWS);
  put(byId("count"), shown + " of " + (status.sessions.length + status.hosted.length));
  put(byId("counted"), status.counted ? "Edges have said at " + date(status.counted) + " what they have let in." : "No edge has said yet what it lets in, or none counts.");
}

function showHistory() {
  const lines = history.slice(-MOST_ROWS).reverse().map((entry) => {
    const [[kind, of]] = Object.entries(entry.event);
    const when = cell(date(entry.time));
    if (kind === "missed") return row(when, el("td", { colspan: 5, class: "soft" }, of.count + " events were too many to be shown"));
    if (kind === "admitted") return row(when, cell("session " + of.session + " is admitted"), el("td", { colspan: 4 }, ""));
    if (kind === "link") return row(when, cell("link " + of.link + (of.is_up ? " works again" : " is cut")), cell(""), el("td", { colspan: 3 }, of.what));
    const rerouted = () => "flow " + of.flow + " of session " + of.session + " to " + as(of.to) + " goes another way, in " + time(of.delay) + " at most" + (of.loss ? ", what arrives" : "");
    const what = kind === "rerouted" ? rerouted() : kind === "refused" ? "refused: a session of " + of.user + " from " + of.caller + " to " + of.callees.join(", ") : "session " + of.session + " has ended";
    const why = of.why;
    const place = as(why.asn) + (why.link === null ? "" : ", link " + why.link);
    return row(when, cell(what), cell(place), cell(why.text), number(amount(why.missing, why.unit)), number(amount(why.offer, why.unit)));
  });
  fill("history", lines, 6);
}

function showAggregates() {
  const or = (value) => (value === null ? "" : value);
  fill("aggregates", status.aggregates.slice(0, MOST_ROWS).map((of) =>
    row(cell(of.tunnel), cell(of.class), cell(of.path.map(as).join(", ")), number(bits(of.rate)), number(of.bucket), number(or(of["label-in"])), number(or(of["label-out"])), number(or(of["link-out"])))), 8);
}

let loading = false;
async function load() {
  if (loading) return;
  loading = true;
  try {
    status = (await (await ask("/api/v1/domain")).json()).status;
    byId("main").hidden = false;
    showVerdict();
    showNeighbours();
    showSessions();
    showAggregates();
    standing("live, " + new Date().toLocaleTimeString(), "live");
  } catch (error) {
    standing(error instanceof Wrong ? error.message : "The manager cannot be reached.", "gone");
  } finally {
    loading = false;
  }
}

// --- live ------------------------------------------------------------------------------------

let isHeard = false;
let epoch = null;
async function heard(kind, data) {
  if (kind === "state") {
    // A manager that has begun anew counts from 1 again.
    if (data.epoch !== epoch) history = [];
    epoch = data.epoch;
    await catchUp();
  } else if (kind === "history") {
    add([data]);
  }
  load();
}

// What happens while the history is read is told before it.
function add(entries) {
  const all = new Map([...history, ...entries].map((entry) => [entry.number, entry]));
  history = [...all.values()].sort((one, other) => one.number - other.number).slice(-1000);
  showHistory();
}

async function catchUp() {
  const of = epoch;
  const entries = (await (await ask("/api/v1/history")).json()).entries;
  if (of === epoch) add(entries);
}

const live = () => follow("/api/v1/events", { heard, begins: () => (isHeard = true), standing });
onToken(live);
byId("search").addEventListener("input", () => status && showSessions());
setInterval(() => isHeard && !document.hidden && load(), 2000);
live();
