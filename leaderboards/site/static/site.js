/* Sorting of the tables and one filter for all; without scripts they are complete, in the order of the page. */
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const boards = [];
  for (const table of document.querySelectorAll("table.board")) {
    const heads = [...table.tHead.rows[0].cells], numbers = table.tHead.rows[1].cells.length;
    const first = heads.findIndex((head) => head.classList.contains("side"));
    const after = heads.length - heads.findLastIndex((head) => head.classList.contains("side")) - 1;
    const words = [...Array(first).keys(), ...Array.from({ length: after }, (_, at) => first + numbers + at)];
    const name = table.caption ? table.caption.textContent : "";
    boards.push(new DataTable(table, {
      paging: false,
      info: false,
      order: [],
      autoWidth: false,
      titleRow: 1,
      orderMulti: false,
      layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
      language: { zeroRecords: "No row has these words." },
      columnDefs: [
        { targets: words, orderSequence: ["asc", "desc", ""] },
        { targets: "_all", orderSequence: ["desc", "asc", ""] },
      ],
    }));
    const box = table.closest(".dt-container");
    const wide = box && box.querySelector(".dt-layout-table");
    if (wide) {
      wide.tabIndex = 0;
      wide.setAttribute("role", "region");
      wide.setAttribute("aria-label", name);
      const outer = box.closest(".scroll");
      if (outer) for (const key of ["tabindex", "role", "aria-label"]) outer.removeAttribute(key);
    }
  }
  const filter = document.querySelector(".filter");
  if (!filter) return;
  const input = filter.querySelector("input"), status = filter.querySelector("[role=status]");
  const count = (search) => boards.reduce((sum, board) => sum + board.rows({ search }).count(), 0);
  const show = () => {
    for (const board of boards) board.search(input.value).draw();
    status.textContent = input.value ? `${count("applied")} of ${count("none")} rows` : `${count("none")} rows`;
  };
  input.addEventListener("input", show);
  filter.hidden = false;
  show();
});
