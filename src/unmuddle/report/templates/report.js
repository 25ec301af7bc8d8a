"use strict";
(() => {
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  const darkNow = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const name = () => { theme.textContent = darkNow() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = darkNow() ? "light" : "dark"; name(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();

  const keyOf = (row, place) => {
    const cell = row.cells[place];
    return "key" in cell.dataset ? cell.dataset.key : cell.textContent.trim();
  };
  const compare = (a, b) => {
    const x = a === "" ? NaN : Number(a), y = b === "" ? NaN : Number(b);
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a.localeCompare(b, undefined, { numeric: true });
  };
  const sort = (table, head, place) => {
    const down = head.getAttribute("aria-sort") === "ascending" || (!head.hasAttribute("aria-sort") && head.classList.contains("num"));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const lines = Array.from(body.rows, (row) => [keyOf(row, place), row]);
    lines.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])));
    body.append(...lines.map((line) => line[1]));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    Array.from(table.tHead.rows[0].cells).forEach((head, place) => {
      if (head.classList.contains("still")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(table, head, place));
    });
  }

  for (const controls of document.querySelectorAll(".controls")) {
    const table = document.getElementById(controls.dataset.table);
    const search = controls.querySelector("input");
    const choice = controls.querySelector("select");
    const output = controls.querySelector("output");
    const rows = Array.from(table.tBodies[0].rows);
    const plain = (text) => text.toLowerCase().replace(/\s+/g, " ").trim();
    const texts = rows.map((row) => plain(Array.from(row.cells, (cell) => cell.textContent).join(" ")));
    const update = () => {
      const phrase = plain(search.value);
      const wanted = choice ? choice.value : "";
      let shown = 0;
      rows.forEach((row, place) => {
        const fits = texts[place].includes(phrase) && (!wanted || (row.dataset.of || "").split(" ").includes(wanted));
        row.hidden = !fits;
        if (fits) shown += 1;
      });
      output.textContent = `${shown} of ${rows.length} shown`;
    };
    controls.hidden = false;
    search.addEventListener("input", update);
    if (choice) choice.addEventListener("change", update);
    update();
  }

  const closed = new Set();
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) { closed.add(details); details.open = true; }
  });
  addEventListener("afterprint", () => {
    for (const details of closed) details.open = false;
    closed.clear();
  });
})();
