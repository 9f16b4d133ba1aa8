// What scripts of live pages share. Everything is made by DOM calls: names are text, never markup.
const byId = (id) => document.getElementById(id);
function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
const SVG = "http://www.w3.org/2000/svg";
function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) if (value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  node.append(...children);
  return node;
}
function svg(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes || {})) if (value !== undefined) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
// Tells `heard` each event of a response: its kind, and its data from JSON. Ends when the connection does.
async function events(response, heard) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const whole = text.split("\n\n");
    text = whole.pop();
    for (const event of whole) {
      const fields = Object.fromEntries(event.split("\n").filter((field) => !field.startsWith(":")).map((field) => [field.slice(0, field.indexOf(":")), field.slice(field.indexOf(":") + 2)]));
      if (fields.data) heard(fields.event, JSON.parse(fields.data));
    }
  }
}
// Latencies over time. `promised` is a limit that is drawn, if there is one; a reading has its `time` and `median`, and for a large plot `present`, a
// bound, and `worst`, the longest one so far. Times are milliseconds since 1970, latencies nanoseconds.
function plot({ promised, readings }, large) {
  const [width, height] = large ? [640, 200] : [120, 28];
  const [left, below] = large ? [64, 24] : [0, 2];
  const top = Math.max(promised || 0, ...readings.map((reading) => reading.median), 1) * (large ? 1.25 : 1.08);
  const [first, last] = [readings[0].time, readings[readings.length - 1].time];
  const x = (time) => (last === first ? width : left + ((time - first) / (last - first)) * (width - left - 2));
  const y = (value) => height - below - (Math.min(value, top) / top) * (height - below - 2);
  const image = svg("svg", { class: large ? "plot" : "spark", viewBox: "0 0 " + width + " " + height, preserveAspectRatio: large ? undefined : "none", role: "img", "aria-label": "latency over time" });
  if (large) {
    for (const part of [0, 0.5, 1]) {
      const value = (top / 1.25) * part;
      image.append(svg("path", { class: "grid", d: "M" + left + " " + y(value) + "H" + width }), svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, latency(value)));
    }
    image.append(svg("text", { x: left, y: height - 6 }, clock(first)), svg("text", { x: width, y: height - 6, "text-anchor": "end" }, clock(last)));
  }
  const path = (value) => readings.map((reading, index) => (index ? "L" : "M") + x(reading.time).toFixed(1) + " " + y(value(reading)).toFixed(1)).join("");
  if (promised) image.append(svg("path", { class: "limit", d: "M" + left + " " + y(promised) + "H" + width }));
  if (large) {
    if (readings.every((reading) => reading.present)) image.append(svg("path", { class: "now", d: path((reading) => reading.present) }));
    image.append(svg("path", { class: "worst", d: path((reading) => reading.worst) }));
    const worst = readings[readings.length - 1].worst;
    if (worst > top) image.append(svg("text", { class: "ink", x: width, y: 18, "text-anchor": "end" }, "worst sample beyond the plot: " + latency(worst)));
  }
  image.append(svg("path", { d: readings.length > 1 ? path((reading) => reading.median) : "M0 " + y(readings[0].median) + "H" + width }));
  return image;
}

function latency(nanoseconds) {
  const three = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));
  if (nanoseconds < 1e3) return Math.round(nanoseconds) + " ns";
  if (nanoseconds < 1e6) return three(nanoseconds / 1e3) + " µs";
  if (nanoseconds < 1e9) return three(nanoseconds / 1e6) + " ms";
  return three(nanoseconds / 1e9) + " s";
}
const clock = (milliseconds) => new Date(milliseconds).toLocaleTimeString();
