/* Sorting and filtering of the tables; without scripts they are complete, in the order of the page. */
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table.board")) {
    const rows = table.tBodies[0].rows.length;
    const words = table.tHead.rows[0].cells[0].textContent === "Rank" ? [0, 1, 2] : [0, 1];
    const name = table.caption ? table.caption.textContent : "";
    new DataTable(table, {
      paging: false,
      info: rows > 8,
      searching: rows > 8,
      order: [],
      autoWidth: false,
      titleRow: 1,
      orderMulti: false,
      layout: {
        topStart: rows > 8 ? "search" : null,
        topEnd: rows > 8 ? "info" : null,
        bottomStart: null,
        bottomEnd: null,
      },
      language: {
        search: "Filter",
        searchPlaceholder: "model, paper, setting",
        info: "_TOTAL_ rows",
        infoFiltered: "of _MAX_",
        infoEmpty: "no row",
        zeroRecords: "No row has these words.",
      },
      columnDefs: [
        { targets: words, orderSequence: ["asc", "desc", ""] },
        { targets: "_all", orderSequence: ["desc", "asc", ""] },
      ],
    });
    const box = table.closest(".dt-container");
    const input = box && box.querySelector("input");
    if (input) input.setAttribute("aria-label", "Filter the rows of " + name);
    const wide = box && box.querySelector(".dt-layout-table");
    if (wide) {
      wide.tabIndex = 0;
      wide.setAttribute("role", "region");
      wide.setAttribute("aria-label", name);
      const outer = box.closest(".scroll");
      if (outer) for (const key of ["tabindex", "role", "aria-label"]) outer.removeAttribute(key);
    }
  }
});
