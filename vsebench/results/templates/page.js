// The retrieval explorer: pick a query, see the top of its ranking for every system.
// All text goes through textContent, so that no caption, name or id can be markup.
"use strict";

(() => {
  const root = document.getElementById("explorer");
  const source = document.getElementById("explorer-data");
  if (!root || !source) return;

  const STEP = 60; // queries that are added to the list at once
  const LONG = 320; // characters of a text that are shown before "show all"
  const UNDEFINED = -32768;

  // ---- data

  const data = JSON.parse(source.textContent);
  const ARRAYS = { u2: Uint16Array, u4: Uint32Array, i2: Int16Array, i4: Int32Array };

  function unpack(packed) {
    if (!packed) return null;
    const text = atob(packed.data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const array = new ARRAYS[packed.kind](bytes.buffer);
    array.digits = packed.digits || 0;
    return array;
  }

  const [ROW, COLUMN] = data.names; // what items are: an image and a caption, or a query and an item of a corpus
  const rowOf = unpack(data.rowOf); // null where judgements alone say what is relevant, and these are not in a report
  const columnsOf = data.rows.map(() => []);
  if (rowOf) rowOf.forEach((row, column) => columnsOf[row].push(column));
  const sides = {};
  for (const [direction, side] of Object.entries(data.ways)) {
    sides[direction] = {
      byRow: direction !== "t2i",
      queries: direction !== "t2i" ? data.rows.length : data.columns.length,
      judged: side.judged.map((j) => ({ name: j.name, pointers: unpack(j.pointers), items: unpack(j.items) })),
      rankings: side.rankings.map((r) => r && {
        k: r.k, items: unpack(r.items), scores: unpack(r.scores), gains: unpack(r.gains),
        truth: unpack(r.truth), values: unpack(r.values), ranks: unpack(r.ranks),
        unit: r.values ? 10 ** -r.values.digits : 1,
      }),
    };
  }

  const number = (array, i) => (array[i] / 10 ** array.digits).toFixed(array.digits);
  const text = (i) => (data.texts ? data.texts[i] : data.columns[i]);
  const titled = (side, id) => [`${side.name[0].toUpperCase()}${side.name.slice(1)} `, element("bdi", {}, id)];
  const isTruth = (side, query, item) => rowOf !== null && (side.byRow ? rowOf[item] === query : rowOf[query] === item);

  // Images without a caption, of which no ranking was kept, are candidates and no queries.
  const isQuery = (side, query) => !side.byRow || !rowOf || columnsOf[query].length || side.rankings.some((r) => r && r.items[query * r.k]);

  // The place of the first ground-truth item in the list, from 1; 0 when it is not in it.
  function firstTruth(side, ranking, query) {
    for (let j = 0; j < ranking.k; j++) {
      const item = ranking.items[query * ranking.k + j];
      if (!item) break;
      if (isTruth(side, query, item - 1)) return j + 1;
    }
    return 0;
  }

  // ---- state and elements

  const state = {
    direction: Object.keys(sides)[0], preset: "difference", search: "", query: 0, shown: STEP, found: [], opening: true,
    systems: data.systems.map((_, i) => i < 3), // which ones are shown
  };
  const find = (selector) => root.querySelector(selector);
  const list = find("[role=listbox]"), detail = find(".detail"), status = find("[role=status]");
  const search = find("input[type=search]"), preset = find("select"), more = find(".more");

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) if (value != null) made.setAttribute(name, value);
    for (const child of children) if (child != null) made.append(child); // a string becomes a text node
    return made;
  }

  // Text from outside, isolated from the writing direction of what is around it; long texts open on demand.
  function words(text, limit = LONG) {
    const characters = text.length > limit ? Array.from(text) : null;
    const made = element("bdi", { dir: "auto" }, characters ? characters.slice(0, limit).join("") + "…" : text);
    if (!characters || limit < LONG) return made;
    const button = element("button", { type: "button", class: "link" }, `show all ${characters.length.toLocaleString("en")} characters`);
    button.addEventListener("click", () => { made.textContent = text; button.remove(); });
    return element("span", {}, made, " ", button);
  }

  function thumbnail(image) {
    const encoded = data.thumbnails[image];
    return encoded ? element("img", { src: `data:image/jpeg;base64,${encoded}`, alt: `${ROW.name} ${data.rows[image]}`, loading: "lazy" }) : null;
  }

  // ---- which queries, in which order

  const active = () => state.systems.map((on, i) => (on && sides[state.direction].rankings[i] ? i : -1)).filter((i) => i >= 0);

  // A preset orders queries by a key, the smallest first; queries whose key is NaN are left out.
  const known = (ranking, q) => (ranking.values[q] === UNDEFINED ? NaN : ranking.values[q]);
  const presets = {
    difference: {
      label: () => "largest difference",
      applies: (ranking) => active().length > 1 && (rowOf || ranking.values),
      key: (side, ranking, q) => -spread(side, q),
    },
    all: { applies: () => true, label: () => "all, in order", key: () => 0 },
    worst: {
      label: (system) => `worst by ${data.metric || "rank of the first ground truth"}: ${system}`,
      applies: (ranking) => ranking.values || ranking.ranks,
      key: (side, ranking, q) => (ranking.values ? known(ranking, q) : -ranking.ranks[q]),
    },
    missed: {
      label: (system) => (data.metric ? `missed at R@1, highest ${data.metric}: ${system}` : `missed at R@1: ${system}`),
      applies: () => rowOf !== null,
      key: (side, ranking, q) => (firstTruth(side, ranking, q) === 1 ? NaN : ranking.values ? -known(ranking, q) : 0),
    },
  };

  // For every two of the shown systems: queries that the first answers at rank 1 and the second does not.
  function pairs() {
    const found = {}, shown = rowOf ? active() : [], side = sides[state.direction];
    const right = (system, q) => firstTruth(side, side.rankings[system], q) === 1;
    for (const a of shown) for (const b of shown) if (a !== b) found[`only-${a}-${b}`] = {
      label: () => `${shorten(data.systems[a], 24)} right at rank 1, ${shorten(data.systems[b], 24)} wrong`,
      applies: () => true,
      key: (_, ranking, q) => (right(a, q) && !right(b, q) ? 0 : NaN),
    };
    return found;
  }
  const shorten = (name, most = 40) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
  const choices = () => ({ ...presets, ...pairs() });

  // How far the shown systems differ on a query: in the graded metric, else in the place of the first ground truth.
  function spread(side, query) {
    let least = Infinity, most = -Infinity;
    for (const ranking of side.rankings) {
      if (!ranking || !ranking.compared) continue;
      let value;
      if (ranking.values) {
        if (ranking.values[query] === UNDEFINED) return 0;
        value = ranking.values[query] * ranking.unit;
      } else {
        const place = firstTruth(side, ranking, query);
        value = place ? 1 / place : 0;
      }
      if (value < least) least = value;
      if (value > most) most = value;
    }
    return most - least;
  }

  const lowered = (texts) => texts && texts.map((t) => t.toLowerCase());
  let lowerTexts = null; // in lower case, made at the first search
  function matches(side, query, wanted) {
    const id = side.byRow ? data.rows[query] : data.columns[query];
    if (id.toLowerCase().includes(wanted)) return true;
    lowerTexts = lowerTexts || { rows: lowered(data.rowTexts), columns: lowered(data.texts) };
    const { rows, columns } = lowerTexts;
    if (side.byRow && rows) return rows[query].includes(wanted);
    return columns !== null && (side.byRow ? columnsOf[query] : [query]).some((c) => columns[c].includes(wanted));
  }

  // The queries of the chosen preset in its order, kept for the next search.
  function ordered(side) {
    const name = `${state.preset} ${active()}`;
    side.orders = side.orders || {};
    if (side.orders[name]) return side.orders[name];
    side.rankings.forEach((r, i) => { if (r) r.compared = state.systems[i]; });
    const ranking = side.rankings[active()[0]], { key } = choices()[state.preset];
    const keys = new Float64Array(side.queries), order = [];
    for (let q = 0; q < side.queries; q++) {
      keys[q] = isQuery(side, q) ? key(side, ranking, q) : NaN;
      if (!Number.isNaN(keys[q])) order.push(q);
    }
    side.orders[name] = order.sort((a, b) => keys[a] - keys[b] || a - b);
    return order;
  }

  function select(id = null) {
    const side = sides[state.direction], wanted = state.search.trim().toLowerCase();
    const order = ordered(side);
    state.found = wanted ? order.filter((q) => matches(side, q, wanted)) : order;
    state.shown = STEP;
    list.replaceChildren();
    list.scrollTop = 0;
    fill();
    if (state.found.length) move(id === null ? 0 : state.found.findIndex((q) => idOf(q) === id));
    else show(-1);
  }

  // ---- the address, which keeps what is shown

  const idOf = (query) => (sides[state.direction].byRow ? data.rows : data.columns)[query];

  function remember() {
    if (state.opening || !state.found.length) return;
    const kept = { query: idOf(state.found[state.query]), direction: state.direction, order: state.preset };
    if (state.search) kept.search = state.search;
    if (data.systems.length > 1) kept.systems = active().join(",");
    history.replaceState(null, "", `#${new URLSearchParams(kept)}`);
  }

  function restore() {
    const kept = new URLSearchParams(location.hash.slice(1));
    if (!kept.has("query")) return false;
    state.opening = true;
    state.search = search.value = kept.get("search") || "";
    if (kept.has("systems")) {
      const shown = kept.get("systems").split(",");
      state.systems = data.systems.map((_, i) => shown.includes(String(i)));
    }
    if (kept.has("order")) state.preset = kept.get("order");
    const known = (way) => (sides[way].byRow ? data.rows : data.columns).includes(kept.get("query"));
    const named = Object.hasOwn(sides, kept.get("direction")) ? kept.get("direction") : Object.keys(sides).find(known);
    choose(named || state.direction, kept.get("query"));
    state.opening = false;
    return true;
  }

  // ---- the list of queries

  function fill() {
    const upTo = Math.min(state.shown, state.found.length);
    for (let i = list.children.length; i < upTo; i++) list.append(option(i));
    more.hidden = upTo === state.found.length;
    const count = state.found.length.toLocaleString("en");
    status.textContent = state.found.length ? `${count} ${state.found.length === 1 ? "query" : "queries"}` : "No matching queries";
  }

  function option(i) {
    const side = sides[state.direction], query = state.found[i];
    const made = element("li", { role: "option", id: `query-${i}`, "aria-selected": "false" });
    if (side.byRow) {
      const first = data.rowTexts ? data.rowTexts[query] : data.texts && columnsOf[query].length ? text(columnsOf[query][0]) : "";
      made.append(thumbnail(query) || "", element("span", {}, element("small", {}, element("bdi", {}, data.rows[query])), " ", words(first, 110)));
    } else {
      made.append(element("span", {}, words(text(query), 110)));
    }
    made.addEventListener("click", () => {
      show(i);
      if (innerWidth < 800) detail.scrollIntoView({ block: "start" });
    });
    return made;
  }

  function move(to) {
    const i = Math.max(0, Math.min(state.found.length - 1, to));
    while (state.shown <= i) state.shown += STEP;
    fill();
    show(i);
  }

  function show(i) {
    state.query = i;
    list.querySelectorAll("[aria-selected=true]").forEach((o) => o.setAttribute("aria-selected", "false"));
    if (i < 0) {
      list.removeAttribute("aria-activedescendant");
      detail.replaceChildren();
      return;
    }
    const chosen = list.children[i];
    chosen.setAttribute("aria-selected", "true");
    list.setAttribute("aria-activedescendant", chosen.id);
    const above = chosen.offsetTop - list.offsetTop, below = above + chosen.offsetHeight;
    if (above < list.scrollTop) list.scrollTop = above;
    if (below > list.scrollTop + list.clientHeight) list.scrollTop = below - list.clientHeight;
    describe(state.found[i]);
    remember();
  }

  // ---- one query

  function describe(query) {
    const side = sides[state.direction];
    const columns = element("div", { class: "columns" }, ...active().map((i) => column(side, side.rankings[i], i, query)));
    detail.replaceChildren(head(side, query), columns);
  }

  function head(side, query) {
    const row = side.byRow ? query : rowOf && rowOf[query], own = columnsOf[query];
    const made = element("div", { class: "query" });
    const texts = element("div", {}), about = (...parts) => element("p", { class: "dim" }, ...parts);
    if (side.byRow) {
      texts.append(element("h3", {}, ...(data.rowTexts ? [words(data.rowTexts[query])] : titled(ROW, data.rows[query]))));
      if (data.rowTexts) texts.append(about(...titled(ROW, data.rows[query])));
      if (own.length) {
        texts.append(about(`Ground-truth ${own.length > 1 ? COLUMN.plural : COLUMN.name}:`));
        texts.append(element("ul", {}, ...own.map((c) => element("li", {}, words(text(c))))));
      }
    } else {
      texts.append(element("h3", {}, ...(data.texts ? [words(text(query))] : titled(COLUMN, data.columns[query]))));
      const owner = rowOf ? [` of ${ROW.name} `, element("bdi", {}, data.rows[row]), "."] : [];
      if (data.texts || rowOf) texts.append(about(...titled(COLUMN, data.texts ? data.columns[query] : ""), ...owner));
    }
    made.append(thumbnail(row) || "", texts);
    return made;
  }

  function column(side, ranking, system, query) {
    const place = ranking.ranks ? ranking.ranks[query] : firstTruth(side, ranking, query);
    const facts = element("p", { class: "facts" }), first = rowOf ? "ground truth" : `relevant ${side.byRow ? COLUMN.name : ROW.name}`;
    if (place || rowOf) facts.append(place ? `first ${first}: rank ${place.toLocaleString("en")}` : `no ${first} among the first ${ranking.k}`);
    if (ranking.values) {
      const value = 100 * ranking.unit * known(ranking, query);
      facts.append(element("span", {}, `${data.metric}: ${Number.isNaN(value) ? "undefined" : value.toFixed(1)}`));
    }
    const entries = element("ol", {});
    for (let j = 0; j < ranking.k; j++) {
      const item = ranking.items[query * ranking.k + j];
      if (item) entries.append(entry(side, ranking, query, j, item - 1));
    }
    if (!entries.children.length) facts.append(element("span", {}, "an empty list"));
    const name = element("h4", { class: `system s${system % 8}` }, element("bdi", {}, data.systems[system]));
    return element("section", { "aria-label": data.systems[system] }, name, facts, entries);
  }

  function entry(side, ranking, query, j, item) {
    const at = query * ranking.k + j, truth = isTruth(side, query, item);
    const made = element("li", { class: truth ? "truth" : null }), line = element("div", { class: "line" }, element("b", {}, String(j + 1)));
    if (ranking.gains) line.append(gain(ranking, query, at, made));
    if (ranking.scores) line.append(element("span", { class: "score", title: "score" }, number(ranking.scores, at)));
    if (truth) line.append(element("span", { class: "badge" }, "✓ ground truth"));
    for (const judged of side.judged) if (!truth && isJudged(judged, query, item)) line.append(element("span", { class: "badge other" }, `✓ ${judged.name}`));
    made.append(line, content(side, item));
    return made;
  }

  // The gain as a number on its colour: green is as relevant as the best ground-truth item, red not at all.
  function gain(ranking, query, at, card) {
    const most = ranking.truth[query] / 10 ** ranking.truth.digits, value = ranking.gains[at] / 10 ** ranking.gains.digits;
    const share = most > 0 ? Math.max(0, Math.min(1, value / most)) : 0;
    const colour = share < 0.5 ? `color-mix(in srgb, var(--some) ${200 * share}%, var(--none))` : `color-mix(in srgb, var(--full) ${200 * share - 100}%, var(--some))`;
    card.style.setProperty("--relevance", colour);
    const title = most > 0 ? `gain ${value.toFixed(3)}, ${Math.round((100 * value) / most)} % of the best ground-truth item` : `gain ${value.toFixed(3)}`;
    return element("span", { class: "gain", title }, value.toFixed(2));
  }

  function isJudged(judged, query, item) {
    for (let p = judged.pointers[query]; p < judged.pointers[query + 1]; p++) if (judged.items[p] === item) return true;
    return false;
  }

  function content(side, item) {
    if (side.byRow) return element("div", { class: "content" }, rowOf ? words(text(item)) : identified(COLUMN, data.columns, data.texts, item));
    const [first, ...rest] = data.texts ? columnsOf[item] : [];
    const texts = identified(ROW, data.rows, data.rowTexts, item);
    if (first !== undefined) texts.append(element("div", {}, words(text(first))));
    if (rest.length) {
      const others = element("details", {}, element("summary", {}, `${rest.length} more ${rest.length === 1 ? COLUMN.name : COLUMN.plural}`));
      others.addEventListener("toggle", () => {
        if (others.children.length === 1) others.append(element("ul", {}, ...rest.map((c) => element("li", {}, words(text(c))))));
      });
      texts.append(others);
    }
    return element("div", { class: "content" }, thumbnail(item) || "", texts);
  }

  function identified(side, ids, texts, item) {
    const made = element("div", {}, element("small", {}, `${side.name} `, element("bdi", {}, ids[item])));
    if (texts) made.append(element("div", {}, words(texts[item])));
    return made;
  }

  // ---- controls

  function offer() {
    const system = active()[0], ranking = sides[state.direction].rankings[system];
    const options = Object.entries(choices()).filter(([, p]) => p.applies(ranking));
    if (!options.some(([name]) => name === state.preset)) state.preset = "all";
    preset.replaceChildren(...options.map(([name, p]) => element("option", { value: name }, p.label(shorten(data.systems[system])))));
    preset.value = state.preset;
  }

  function choose(direction, id = null) {
    state.direction = direction;
    if (!active().length) state.systems = sides[direction].rankings.map(Boolean);
    for (const b of root.querySelectorAll("[data-direction]")) b.setAttribute("aria-pressed", String(b.dataset.direction === direction));
    for (const b of root.querySelectorAll("[data-system]")) b.setAttribute("aria-pressed", String(state.systems[b.dataset.system]));
    offer();
    select(id);
  }

  for (const button of root.querySelectorAll("[data-direction]")) button.addEventListener("click", () => choose(button.dataset.direction));
  for (const button of root.querySelectorAll("[data-system]")) {
    button.addEventListener("click", () => {
      const before = [...state.systems];
      state.systems[button.dataset.system] = !state.systems[button.dataset.system];
      if (!active().length) state.systems = before; // one stays
      button.setAttribute("aria-pressed", String(state.systems[button.dataset.system]));
      offer();
      select();
    });
  }
  preset.addEventListener("change", () => { state.preset = preset.value; select(); });
  search.addEventListener("input", () => { state.search = search.value; select(); });
  more.addEventListener("click", () => { state.shown += STEP; fill(); });

  const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: 0 };
  function keys(event) {
    if (!(event.key in STEPS) || !state.found.length || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target === search && (event.key === "Home" || event.key === "End")) return; // of the text
    event.preventDefault();
    move(event.key === "End" ? list.children.length - 1 : state.query + STEPS[event.key]); // of those in the list
  }
  list.addEventListener("keydown", keys);
  search.addEventListener("keydown", keys);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    search.focus();
  });

  root.hidden = false;
  window.addEventListener("hashchange", restore);
  if (restore()) document.getElementById("queries").scrollIntoView();
  else choose(state.direction);
  state.opening = false;
})();
