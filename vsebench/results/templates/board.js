/* Rows are sorted by a heading and filtered by words; without scripts the tables are complete, in the order of the page. */
"use strict";
const NEXT = { none: ["descending", "ascending", "none"], words: ["ascending", "descending", "none"] };
const read = (row, at) => row.cells[at].innerText.trim().split("\n")[0].replace(/^—$/, "");
const number = (text) => parseFloat(text.replace(/[,\u2007\u2008]/g, ""));
for (const table of document.querySelectorAll(".board table")) {
  const heads = [...table.tHead.rows].at(-1).cells, original = [...table.tBodies[0].rows];
  let at = 0;
  for (const head of heads) {
    const place = at, order = NEXT[head.classList.contains("n") ? "none" : "words"];
    at += head.colSpan;
    head.innerHTML = `<button type="button" class="link">${head.innerHTML}</button>`;
    head.firstChild.addEventListener("click", () => {
      const now = order[(order.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
      for (const other of heads) other.removeAttribute("aria-sort");
      if (now !== "none") head.setAttribute("aria-sort", now);
      const sign = now === "ascending" ? 1 : -1, numeric = order === NEXT.none;
      const rows = original.map((row) => [read(row, place), row]);
      if (now !== "none") rows.sort(([a], [b]) => (a === "") - (b === "") || sign * (numeric ? number(a) - number(b) : a.localeCompare(b)) || 0);
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  }
}
const filter = document.querySelector(".filter");
if (filter) {
  const [input, status] = filter.children, rows = [...document.querySelectorAll(".board .wide tbody tr")];
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    status.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
  };
  input.addEventListener("input", show);
  filter.hidden = false;
  show();
}
