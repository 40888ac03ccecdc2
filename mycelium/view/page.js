// The list of answers, what was searched for, the controls and the keys.

// -- the list, drawn where it comes into view

const main = at("answers");
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    fill(entry.target);
    watcher.unobserve(entry.target);
  }
}, { rootMargin: "900px 0px" });

// The first cards at once, the others while the reader looks at those.
const FIRST = 40;
const NEXT = 500;
let placed = 0;
let timer = 0;

function place(upTo) {
  const list = shown.slice(placed, upTo).map(card);
  placed += list.length;
  main.append(...list);
  for (const element of list) if (!element.firstChild) watcher.observe(element);
  clearTimeout(timer);
  if (placed < shown.length) timer = setTimeout(() => place(placed + NEXT), 0);
}

function show() {
  let counts;
  [shown, counts] = select();
  watcher.disconnect();
  shown.slice(0, 4).forEach((i) => fill(card(i)));
  placed = 0;
  main.replaceChildren();
  place(FIRST);
  if (!shown.length) main.append(make("p", { class: "empty" }, "No answer fits this choice."));
  for (const facet of facets) {
    counts.get(facet).forEach((count, i) => {
      facet.counts[i].textContent = count.toLocaleString("en");
      facet.boxes[i].checked = facet.chosen.has(i);
      facet.boxes[i].closest("label").classList.toggle("none", !count);
    });
  }
  let [references, predictions] = [0, 0];
  for (const i of shown) {
    references += rows[i][REF].length / 4;
    predictions += rows[i][PRED].length / 4;
  }
  const say = (n) => n.toLocaleString("en");
  at("status").textContent = `${say(shown.length)} of ${say(rows.length)} answers · ${say(references)} reference span${references === 1 ? "" : "s"} · ${say(predictions)} predicted`;
  Object.assign(at("status").dataset, { answers: shown.length, references, predictions });
  at("query").value = state.query;
  at("sort").value = state.sort;
  at("direction").textContent = state.down ? "↓" : "↑";
  const way = state.sort === "file" ? ["first to last", "last to first"] : ["lowest first", "highest first"];
  at("direction").title = way[Number(state.down)];
  at("direction").setAttribute("aria-label", `Order: ${way[Number(state.down)]}`);
  choose(-1);
  refresh();
}

function change() {
  writeAddress();
  show();
  if (scrollY > at("layout").offsetTop) scrollTo(0, 0);
}

function choose(which) {
  const before = main.querySelector("article[aria-current]");
  if (before) {
    before.removeAttribute("aria-current");
    before.tabIndex = -1;
  }
  current = which;
  const element = which >= 0 ? cards[shown[which]] : main.querySelector("article");
  if (!element) return null;
  element.tabIndex = 0;
  if (which >= 0) element.setAttribute("aria-current", "true");
  return element;
}

function step(wanted) {
  if (!shown.length) return;
  const to = Math.max(0, Math.min(shown.length - 1, wanted));
  if (to >= placed) place(shown.length);
  const element = choose(to);
  [to - 1, to, to + 1].forEach((k) => k >= 0 && k < shown.length && fill(card(shown[k])));
  element.focus({ preventScroll: true });
  element.scrollIntoView({ block: "start" });
}

main.addEventListener("focusin", (event) => {
  const element = event.target.closest("article");
  if (element && !element.hasAttribute("aria-current")) choose(shown.indexOf(Number(element.dataset.row)));
});
main.addEventListener("click", (event) => {
  const element = event.target.closest("article");
  if (element && !getSelection().toString() && !element.contains(document.activeElement)) element.focus({ preventScroll: true });
});

// A span and its line in the list light up together.
function light(event, on) {
  const from = event.target.closest("[data-spans], [data-span]");
  const element = from && from.closest("article");
  if (!element) return;
  for (const name of (from.dataset.spans || from.dataset.span).split(" ")) {
    for (const other of element.querySelectorAll(`[data-spans~="${name}"], [data-span="${name}"]`)) other.classList.toggle("lit", on);
  }
}
main.addEventListener("pointerover", (event) => light(event, true));
main.addEventListener("pointerout", (event) => light(event, false));

// -- what was searched for, marked without touching the text

const registry = globalThis.CSS && CSS.highlights && globalThis.Highlight ? CSS.highlights : null;
let hits = null;

function highlight(element) {
  const query = state.query.toLowerCase();
  if (!hits || !query) return;
  const block = element.querySelector(".text");
  const walker = block && document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  const nodes = [];
  let text = "";
  while (walker && walker.nextNode()) {
    nodes.push([text.length, walker.currentNode]);
    text += walker.currentNode.data;
  }
  const low = text.toLowerCase();
  if (low.length !== text.length) return; // folding moved the offsets
  const spot = (offset) => {
    let k = nodes.length - 1;
    while (nodes[k][0] > offset) k -= 1;
    return [nodes[k][1], offset - nodes[k][0]];
  };
  for (let i = low.indexOf(query), n = 0; i >= 0 && n < 200; i = low.indexOf(query, i + query.length), n += 1) {
    const range = new Range();
    range.setStart(...spot(i));
    range.setEnd(...spot(i + query.length));
    hits.add(range);
  }
}

function refresh() {
  if (!registry) return;
  hits = new Highlight();
  registry.set("found", hits);
  if (state.query) for (const i of shown) if (cards[i] && cards[i].firstChild) highlight(cards[i]);
}

// -- controls

for (const facet of facets) {
  facet.counts = [];
  facet.boxes = [];
  const items = facet.names.map((name, i) => {
    const box = make("input", { type: "checkbox" });
    const count = make("span", { class: "n" });
    box.addEventListener("change", () => {
      if (box.checked) facet.chosen.add(i);
      else facet.chosen.delete(i);
      change();
    });
    facet.boxes.push(box);
    facet.counts.push(count);
    const label = make("label", { title: name }, box);
    if (facet === typeFacet) {
      const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.backgroundImage = paint(i < UNTYPED ? i : -1, 0);
      label.append(swatch);
    }
    label.append(make("bdi", {}, name || "(empty)"), count);
    count.dataset.facet = facet.key;
    count.dataset.name = name;
    return label;
  });
  at("facets").append(make("fieldset", {}, make("legend", {}, facet.title), make("div", { class: "choices" }, ...items)));
}
for (const [key, name] of sorts) at("sort").append(make("option", { value: key }, name));

let waiting = 0;
at("query").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    state.query = at("query").value;
    change();
  }, 120);
});
at("sort").addEventListener("change", () => {
  state.sort = at("sort").value;
  change();
});
function turn() {
  state.down = !state.down;
  change();
}
function reset() {
  for (const facet of facets) facet.chosen.clear();
  state.query = "";
  change();
}
at("direction").addEventListener("click", turn);
at("reset").addEventListener("click", reset);
at("help").addEventListener("click", () => at("keys").showModal());

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || at("keys").open) return;
  const field = event.target.closest("input, select, textarea");
  if (field) {
    if (event.key === "Escape" && field === at("query")) field.blur();
    if (field.type !== "checkbox" || event.key === " ") return;
  }
  const actions = {
    j: () => step(current + 1),
    ArrowRight: () => step(current + 1),
    k: () => step(current - 1),
    ArrowLeft: () => step(current - 1),
    Home: () => step(0),
    End: () => step(shown.length - 1),
    "/": () => at("query").focus(),
    "?": () => at("keys").showModal(),
    s: turn,
    x: reset,
  };
  if (!Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
});

// Paper has no scrolling: everything that passes is drawn, within reason.
let wasOpen = true;
addEventListener("beforeprint", () => {
  place(shown.length);
  shown.slice(0, 2000).forEach((i) => fill(card(i)));
  wasOpen = at("panel").open;
  at("panel").open = true; // the legend stands in it
});
addEventListener("afterprint", () => (at("panel").open = wasOpen));
addEventListener("hashchange", () => {
  if (location.hash === "#answers") return; // the link that skips the filters
  readAddress();
  show();
});

if (matchMedia("(max-width: 800px)").matches) at("panel").open = false;
readAddress();
show();
