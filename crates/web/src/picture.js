// The picture of the network. Everything is made by DOM calls: names are text, never markup.
const percent = (load) => (load === 0 ? "0" : load < 1000 ? "<0.1" : (Math.ceil(load / 1000) / 10).toString()) + " %";
const HIGH = 750000;
const short = (name) => ([...name].length > 22 ? [...name].slice(0, 21).join("") + "…" : name);

// A directed link: a point so far along it and so far to its right.
function line(a, b) {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const length = Math.max(1, Math.hypot(dx, dy));
  return { length, at: (along, aside) => [a.x + (dx * along) / length - (dy / length) * aside, a.y + (dy * along) / length + (dx / length) * aside] };
}
const point = ([x, y]) => x.toFixed(1) + " " + y.toFixed(1);

function anchorOf(node) {
  return node.kind === "host" && node.away_x > 0.6 ? "start" : node.kind === "host" && node.away_x < -0.6 ? "end" : "middle";
}

// The whole picture; `way` has the names of the ports of a flow that is shown, as "s1 to display".
function picture(network, way) {
  const nodes = new Map(network.nodes.map((node) => [node.name, node]));
  let [left, top, right, bottom] = [-100, -60, 100, 60];
  for (const node of network.nodes) {
    const letters = Math.min(24, Math.max(16, [...node.name].length)) * 7.4;
    const anchor = anchorOf(node);
    const before = anchor === "start" ? 20 : anchor === "end" ? letters + 20 : letters / 2;
    const after = anchor === "start" ? letters + 20 : anchor === "end" ? 20 : letters / 2;
    [left, right] = [Math.min(left, node.x - before), Math.max(right, node.x + after)];
    [top, bottom] = [Math.min(top, node.y - 50), Math.max(bottom, node.y + 50)];
  }
  const large = network.nodes.length > 40;
  const image = svg("svg", {
    class: "net",
    viewBox: [left, top, right - left, bottom - top].map(Math.round).join(" "),
    role: "img",
    "aria-label": "The network with the loads of its links",
  });
  image.style.maxWidth = Math.max(right - left, Math.min(1000, (right - left) * 1.7)) + "px";
  // Small screens scroll rather than make names too small to be read.
  image.style.minWidth = Math.min(1000, (right - left) * 0.85) + "px";
  const lines = [];
  for (const link of network.links) {
    const [from, to] = [nodes.get(link.from), nodes.get(link.to)];
    if (from && to) lines.push([link, line(from, to), from, to]);
  }
  for (const [link, path] of lines) {
    image.append(svg("path", { class: link.up ? "link" : "link down", d: "M" + point(path.at(0, 0)) + "L" + point(path.at(path.length, 0)) }));
  }
  // What is promised on a link is as long as its part of the link's time, from where it leaves to where it arrives, beside its nodes.
  for (const [link, path, from, to] of lines) {
    if (link.load === 0) continue;
    const [begin, end] = [from, to].map((node) => (node.kind === "switch" ? 18 : 11));
    const until = begin + Math.max(2, (path.length - begin - end) * Math.min(1, link.load / 1e6));
    const mark = svg("path", { class: link.load >= HIGH ? "load high" : "load", d: "M" + point(path.at(begin, 5)) + "L" + point(path.at(until, 5)) });
    mark.append(svg("title", {}, link.from + " to " + link.to + ": " + percent(link.load) + ", " + link.flows + " flows" + (link.full ? ", declared full" : "")));
    image.append(mark);
  }
  const ways = new Set(way || []);
  for (const [link, path] of lines) {
    if (!ways.has(link.from + " to " + link.to)) continue;
    const [tip, one, other] = [path.at(path.length - 12, 5), path.at(path.length - 22, 0), path.at(path.length - 22, 10)];
    image.append(svg("path", { class: "way", d: "M" + point(path.at(0, 5)) + "L" + point(tip) + "M" + point(one) + "L" + point(tip) + "L" + point(other) }));
  }
  const states = new Map(network.switches.map((status) => [status.name, status]));
  for (const node of network.nodes) {
    const status = states.get(node.name);
    const title = svg("title", {}, node.name + (status ? ": " + status.state : ""));
    if (node.kind === "switch") {
      const bad = status && (status.state !== "ready" || status.gates === false);
      image.append(svg("rect", { class: bad ? "node away" : "node full", x: node.x - 15, y: node.y - 12, width: 30, height: 24, rx: 4 }, title));
    } else {
      image.append(svg("circle", { class: "node", cx: node.x, cy: node.y, r: 9 }, title));
    }
    const anchor = anchorOf(node);
    const host = node.kind === "host";
    const up = host && anchor === "middle" && node.away_y < 0;
    const [x, y] = !host ? [node.x, node.y + 26] : anchor === "middle" ? [node.x + node.away_x * 18, up ? node.y - 27 : node.y + 25] : [node.x + Math.sign(node.away_x) * 14, node.y + node.away_y * 12];
    image.append(svg("text", { class: "name", x, y, "text-anchor": anchor }, short(node.name)));
    if (!host || large) continue;
    const text = svg("text", { x, y: y + 13, "text-anchor": anchor });
    for (const [link] of lines) {
      const arrow = link.from === node.name ? "↑ " : link.to === node.name ? "↓ " : "";
      if (arrow && link.load > 0) text.append(svg("tspan", { class: link.load >= HIGH ? "high" : undefined }, arrow + percent(link.load) + " "));
    }
    if (text.childNodes.length) image.append(text);
  }
  for (const [link, path, from, to] of lines) {
    if (from.kind !== "switch" || to.kind !== "switch" || link.load === 0 || path.length < 60) continue;
    const [x, y] = path.at(path.length * 0.38, 20);
    image.append(svg("text", { class: link.load >= HIGH ? "high" : undefined, x, y: y + 4, "text-anchor": "middle" }, percent(link.load)));
  }
  return image;
}

