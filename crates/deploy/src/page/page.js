// What runs is shown as it is told, each second. Plots keep the readings that this page has seen.
const MOST_READINGS = 120;
const readings = new Map();
let open = new Set();

function standing(text, kind) {
  put(byId("standing"), text);
  byId("standing").className = "soft " + kind;
}

const rate = (millihertz) => (millihertz / 1000).toFixed(1) + "/s";
const called = (deployment) => deployment.deployment + (deployment.host ? " on host " + deployment.host : "");
const plural = (count, one, many) => count + " " + (count === 1 ? one : many);

// --- what is wrong -----------------------------------------------------------------------------

function troubles(deployment) {
  const found = [];
  for (const process of deployment.processes) {
    if (process.state !== "running") found.push("process " + process.name + " is " + process.state + (process.last ? ": " + process.last : ""));
    for (const component of process.components) {
      if (component.state === "error") found.push("component " + component.name + " has failed");
      if (component.failed > 0) found.push("component " + component.name + ": handlers failed " + plural(component.failed, "time", "times"));
    }
  }
  for (const chain of deployment.chains) {
    for (const [what, spread] of Object.entries(spreads(chain))) {
      if (spread.exceeded > 0) found.push("chain " + chain.name + ": " + what + " exceeded its limit " + plural(spread.exceeded, "time", "times"));
      else if (spread.possibly > 0) found.push("chain " + chain.name + ": " + what + " possibly exceeded its limit " + plural(spread.possibly, "time", "times"));
    }
    if (chain.measured && chain.measured.overdue) found.push("chain " + chain.name + ": nothing was answered for " + latency(chain.measured.overdue));
  }
  for (const connection of deployment.connections) {
    const spread = spreads(connection).latency;
    const often = (count) => plural(count, "time", "times");
    if (spread && spread.exceeded > 0) found.push(connectionCalled(connection) + ": latency exceeded its limit " + often(spread.exceeded));
    else if (spread && spread.possibly > 0) found.push(connectionCalled(connection) + ": latency possibly exceeded its limit " + often(spread.possibly));
  }
  return found.map((text) => called(deployment) + ": " + text);
}

const connectionCalled = (connection) => "connection " + connection.name + " to " + connection.to;

// What is measured of a chain or a connection.
const MEASURED = ["reaction", "age", "latency"];

// The times of a chain or a connection that have a limit and were measured.
function spreads(chain) {
  const all = {};
  for (const what of MEASURED) {
    if (chain[what] != null && chain.measured && chain.measured[what].count > 0) all[what] = chain.measured[what];
  }
  return all;
}

function showVerdict(seen) {
  const all = seen.deployments.flatMap(troubles).concat(seen.silent);
  const count = seen.deployments.length;
  const processes = seen.deployments.flatMap((deployment) => deployment.processes);
  const running = processes.filter((process) => process.state === "running").length;
  const sentence = count === 0 ? "No deployment runs: punctual deploy launch PLAN starts one." : plural(count, "deployment", "deployments") + ", " + running + " of " + plural(processes.length, "process runs", "processes run") + (all.length ? ":" : "; nothing is wrong.");
  put(byId("summary"), sentence);
  byId("verdict").className = "verdict " + (all.length ? "bad" : count ? "good" : "odd");
  byId("troubles").replaceChildren(...all.map((text) => el("li", {}, text)));
}

// --- chains --------------------------------------------------------------------------------------

const PROOF = { proved: ["good", "proved"], conditional: ["odd", "proved, as far as the measured times hold"], none: ["bad", "not proved"] };

// Keeps what is drawn of a chain; what began again has no past.
function remember(key, time, chain, what, spread) {
  const past = readings.get(key) || [];
  const last = past[past.length - 1];
  if (last && spread.count < last.count) past.length = 0;
  if (!last || time > last.time) past.push({ time, count: spread.count, median: spread.median, worst: spread.worst, present: chain[what + "-bound"] });
  readings.set(key, past.slice(-MOST_READINGS));
  return readings.get(key);
}

// A chain, or a connection, which is called otherwise.
function chainShown(deployment, chain, time, name = chain.name) {
  const [kind, words] = PROOF[chain.proof];
  const box = el("div", { class: "chain" }, el("h4", {}, name, " ", el("span", { class: "state " + kind }, words)));
  const list = el("dl");
  const fact = (name, ...values) => list.append(el("dt", {}, name), el("dd", {}, ...values));
  for (const what of MEASURED) {
    if (chain[what] == null) continue;
    const bound = chain[what + "-bound"];
    fact(what, "limit " + latency(chain[what]) + ", bound " + (bound == null ? "none" : latency(bound)));
    const spread = spreads(chain)[what];
    if (!spread) continue;
    fact("measured", plural(spread.count, "time", "times") + ": median " + latency(spread.median) + ", 99 % " + latency(spread["most-of-hundred"]) + ", ", el("span", { class: bound != null && spread.worst - spread.error > bound ? "bad" : "" }, "worst " + latency(spread.worst)), spread.error ? ", each ± " + latency(spread.error) : "", ", ", el("span", { class: spread.exceeded ? "bad" : "" }, spread.exceeded + " exceeded"), spread.possibly ? ", " + spread.possibly + " possibly exceeded" : "");
  }
  if (chain.unmeasured) fact("measured", "no: " + chain.unmeasured);
  box.append(list);
  for (const [what, spread] of Object.entries(spreads(chain))) {
    const past = remember([called(deployment), name, what].join("\n"), time, chain, what, spread);
    box.append(plot({ promised: chain[what], readings: past }, true));
  }
  if (chain.measured && chain.measured.completions > 0) box.append(hops(deployment, chain, name));
  return box;
}

// Where the time of a chain went: means over all that ended.
function hops(deployment, chain, name) {
  const key = called(deployment) + "\n" + name;
  const mean = (sum) => latency(sum / chain.measured.completions);
  const all = chain.measured.hops || [{ port: chain.to, ...chain.measured }];
  const rows = all.map((hop) => el("tr", {}, el("td", {}, hop.port), ...[hop.transfer, hop.wait, hop.run].map((sum) => el("td", { class: "n" }, mean(sum)))));
  const head = el("tr", {}, ...["port", "on the way", "waiting", "in it"].map((name, index) => el("th", { class: index ? "n" : "" }, name)));
  const more = el("details", { open: open.has(key) }, el("summary", {}, "where its time went"), el("div", { class: "scroll" }, el("table", { class: "hops" }, el("thead", {}, head), el("tbody", {}, ...rows))));
  more.addEventListener("toggle", () => (more.open ? open.add(key) : open.delete(key)));
  return more;
}

// --- processes and components --------------------------------------------------------------------

function processRows(process) {
  const restarts = process.restarts ? "started again " + plural(process.restarts, "time", "times") : "";
  const last = process.last ? "ended last: " + process.last : "";
  const state = el("span", { class: "state " + process.state }, process.state);
  const about = [process.pid ? "pid " + process.pid : "", restarts, last].filter(Boolean).join("; ");
  const head = el("tr", {}, el("th", { colspan: "9" }, "process " + process.name + ": ", state, about ? " (" + about + ")" : ""));
  const components = [...process.components].sort((a, b) => a.container.localeCompare(b.container) || a.name.localeCompare(b.name, undefined, { numeric: true }));
  const rows = components.map((component) => {
    const number = (count, isBad) => el("td", { class: "n " + (isBad && count > 0 ? "bad" : "") }, String(count));
    return el("tr", {}, el("td", {}, component.name), el("td", {}, component["component-type"]), el("td", {}, component.container), el("td", { class: component.state === "error" ? "bad" : "" }, component.state), el("td", { class: "n" }, rate(component.millihertz)), number(component.taken, false), number(component.dropped + component.missed, true), number(component.failed, true), number(component.restarts, true));
  });
  return el("tbody", {}, head, ...rows);
}

function deploymentShown(deployment, time) {
  const changed = deployment.changes > 1 ? ", changed " + plural(deployment.changes - 1, "time", "times") : "";
  const suspended = deployment.suspended || [];
  const mode = (deployment.mode ? ", mode " + deployment.mode : "") + (suspended.length ? ", suspended: " + suspended.join(", ") : "");
  const box = el("section", {}, el("h2", {}, called(deployment), " ", el("small", { class: "soft" }, deployment.plan + changed + mode)));
  if (deployment["under-way"]) box.append(el("p", { class: "odd" }, "under way: " + deployment["under-way"]));
  if (deployment.chains.length) box.append(el("h3", {}, "Chains"), el("div", { class: "two" }, ...deployment.chains.map((chain) => chainShown(deployment, chain, time))));
  if (deployment.connections.length) box.append(el("h3", {}, "Connections"), el("div", { class: "two" }, ...deployment.connections.map((connection) => chainShown(deployment, connection, time, connectionCalled(connection)))));
  const names = ["component", "type", "container", "state", "rate", "taken", "dropped, missed", "failed", "made anew"];
  const head = el("thead", {}, el("tr", {}, ...names.map((name, index) => el("th", { class: index > 3 ? "n" : "" }, name))));
  box.append(el("h3", {}, "Processes"), el("div", { class: "scroll" }, el("table", {}, head, ...deployment.processes.map(processRows))));
  return box;
}

// --- live --------------------------------------------------------------------------------------

function heard(kind, seen) {
  if (kind !== "state") return;
  standing("live, " + clock(seen.time), "live");
  showVerdict(seen);
  const known = new Set(seen.deployments.map(called));
  for (const key of readings.keys()) if (!known.has(key.split("\n")[0])) readings.delete(key);
  byId("main").replaceChildren(...seen.deployments.map((deployment) => deploymentShown(deployment, seen.time)));
}

async function listen() {
  let pause = 1000;
  for (;;) {
    try {
      const response = await fetch("/api/v1/events", { cache: "no-store", credentials: "omit" });
      if (!response.ok) throw new Error((await response.json()).error);
      pause = 1000;
      await events(response, heard);
      standing("The connection has ended; connecting again.", "gone");
    } catch (error) {
      standing("Nothing is heard (" + error.message + "); connecting again.", "gone");
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, 10000);
  }
}
listen();
