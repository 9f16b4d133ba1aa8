"use strict";
for (const table of document.querySelectorAll("table.sorted")) {
  // Each body of the table is a row with what belongs to it; its keys are in the attributes data-0, data-1, ...
  const bodies = [...table.tBodies];
  const first = new Map(bodies.map((body, index) => [body, index]));
  let sorted = -1;
  let down = false;
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      down = sorted === column ? !down : head.dataset.first === "down";
      sorted = column;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const number = head.dataset.key === "number";
      const key = (body) => body.getAttribute("data-" + column) || "";
      bodies.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        // What has no key comes last, whatever the direction.
        if (x === "" || y === "") return (x === "") - (y === "") || first.get(a) - first.get(b);
        const order = number ? x - y : x.localeCompare(y, undefined, { numeric: true });
        return (down ? -order : order) || first.get(a) - first.get(b);
      });
      table.append(...bodies);
    });
  });
  const text = new Map(bodies.map((body) => [body, body.textContent.toLowerCase()]));
  const tools = document.createElement("p");
  tools.className = "tools";
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = table.dataset.search || "search";
  search.setAttribute("aria-label", search.placeholder);
  const count = document.createElement("span");
  count.className = "soft";
  count.setAttribute("role", "status");
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const body of bodies) {
      body.hidden = !words.every((word) => text.get(body).includes(word));
      shown += body.hidden ? 0 : 1;
    }
    count.textContent = words.length ? shown + " of " + bodies.length : "";
  };
  search.addEventListener("input", show);
  tools.append(search, count);
  (table.closest(".scroll") || table).before(tools);
}
