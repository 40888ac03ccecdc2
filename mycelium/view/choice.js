// The data, what is chosen of it, and which answers pass.

const data = JSON.parse(document.getElementById("data").textContent);
const rows = data.rows;
const NONE = data.verdicts.length; // the verdict of answers without any span
const UNTYPED = data.types.length;
const [ID, TEXT, REF, PRED, SCORES, SLICES] = [0, 1, 2, 3, 4, 5];
const GOOD = new Set(["exact"]);
const at = (id) => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// -- what each answer holds, for filters and orders

const infos = rows.map((row) => {
  const pairs = [];
  let errors = 0;
  for (const side of [REF, PRED]) {
    const flat = row[side];
    for (let k = 0; k < flat.length; k += 4) {
      pairs.push(flat[k + 3], flat[k + 2] < 0 ? UNTYPED : flat[k + 2]);
      if (!GOOD.has(data.verdicts[flat[k + 3]])) errors += 1;
    }
  }
  if (!pairs.length) pairs.push(NONE, -2);
  return { pairs, errors, folded: null };
});

const folded = (i) => (infos[i].folded ??= `${rows[i][TEXT]}\n${rows[i][ID]}`.toLowerCase());

// -- the state, which the address keeps

const facets = []; // {key, title, names, chosen: Set, counts: [element], boxes}
const state = { query: "", sort: "file", down: false };
let shown = []; // numbers of the answers that pass, in order
let current = -1; // place in shown

const any = infos.some((info) => info.pairs[0] === NONE);
const untyped = data.types.length && infos.some((info) => info.pairs.some((v, k) => k % 2 && v === UNTYPED));
facets.push({ key: "v", title: "Verdict", names: any ? [...data.verdicts, "no spans"] : data.verdicts });
if (data.types.length) facets.push({ key: "t", title: "Type", names: untyped ? [...data.types, "no type"] : data.types });
data.slices.forEach((slice, k) => facets.push({ key: `s.${slice.name}`, title: slice.name, names: slice.values, slice: k }));
for (const facet of facets) facet.chosen = new Set();
const [verdictFacet] = facets;
const typeFacet = facets.find((facet) => facet.key === "t") || { chosen: new Set(), names: [] };
const sliceFacets = facets.filter((facet) => facet.slice !== undefined);

const sorts = [["file", "order of the file"], ["errors", "number of errors"], ...data.scores.map((name, k) => [`score.${name}`, name, k])];

function readAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const facet of facets) {
    facet.chosen = new Set(asked.getAll(facet.key).map((name) => facet.names.indexOf(name)).filter((i) => i >= 0));
  }
  state.query = asked.get("q") || "";
  const sort = asked.get("sort") || "file";
  state.sort = sorts.some(([key]) => key === sort) ? sort : "file";
  state.down = asked.get("order") === "down";
}

function writeAddress() {
  const said = new URLSearchParams();
  for (const facet of facets) for (const i of facet.chosen) said.append(facet.key, facet.names[i]);
  if (state.query) said.set("q", state.query);
  if (state.sort !== "file") said.set("sort", state.sort);
  if (state.down) said.set("order", "down");
  const hash = said.toString();
  try {
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  } catch {
    // A page inside a notebook has no address of its own.
  }
}

// -- which answers pass, and how many would under each other choice

function select() {
  const counts = new Map(facets.map((facet) => [facet, new Array(facet.names.length).fill(0)]));
  const verdicts = verdictFacet.chosen;
  const types = typeFacet.chosen;
  const query = state.query.toLowerCase();
  const passed = [];
  for (let i = 0; i < rows.length; i += 1) {
    if (query && !folded(i).includes(query)) continue;
    const { pairs } = infos[i];
    let fails = 0;
    let failed = null;
    for (const facet of sliceFacets) {
      if (facet.chosen.size && !facet.chosen.has(rows[i][SLICES][facet.slice])) {
        fails += 1;
        failed = facet;
      }
    }
    let marked = false;
    for (let k = 0; k < pairs.length; k += 2) {
      const [v, t] = [pairs[k], pairs[k + 1]];
      if ((!verdicts.size || verdicts.has(v)) && (!types.size || types.has(t))) marked = true;
    }
    if (!fails) {
      const seenV = new Set();
      const seenT = new Set();
      for (let k = 0; k < pairs.length; k += 2) {
        const [v, t] = [pairs[k], pairs[k + 1]];
        if (!types.size || types.has(t)) seenV.add(v);
        if (t >= 0 && (!verdicts.size || verdicts.has(v))) seenT.add(t);
      }
      for (const v of seenV) counts.get(verdictFacet)[v] += 1;
      if (counts.has(typeFacet)) for (const t of seenT) counts.get(typeFacet)[t] += 1;
    }
    if (!marked) continue;
    for (const facet of sliceFacets) {
      if (!fails || (fails === 1 && failed === facet)) counts.get(facet)[rows[i][SLICES][facet.slice]] += 1;
    }
    if (!fails) passed.push(i);
  }
  const [key, , score] = sorts.find(([name]) => name === state.sort);
  if (key !== "file") {
    const value = key === "errors" ? (i) => infos[i].errors : (i) => rows[i][SCORES][score];
    const sign = state.down ? -1 : 1;
    passed.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null) || a - b; // none comes last both ways
      return sign * (x - y) || a - b;
    });
  } else if (state.down) passed.reverse();
  return [passed, counts];
}
