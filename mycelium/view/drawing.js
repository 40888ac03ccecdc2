// One answer: its text cut at all boundaries, its spans as bars and as a list.

const LANES = 8; // layers drawn on each side
const LISTED = 10; // spans listed at once under an answer
const LANE = 7; // pixels from one layer to the next
const BAR = 5;
const ALONE = new Set(["missed", "spurious"]);
const SIGN = { exact: "✓", missed: "○", spurious: "✕" };

// -- types: a colour and a pattern each

const PATTERNS = [
  (c, w) => `linear-gradient(${c}, ${c})`,
  (c, w) => `repeating-linear-gradient(135deg, ${c} 0 3px, ${w} 3px 6px)`,
  (c, w) => `repeating-linear-gradient(90deg, ${c} 0 3px, ${w} 3px 6px)`,
  (c, w) => `linear-gradient(180deg, ${c} 0 2px, transparent 2px 3px, ${c} 3px)`,
  (c, w) => `repeating-linear-gradient(90deg, ${c} 0 9px, transparent 9px 12px)`,
  (c, w) => `repeating-linear-gradient(45deg, ${c} 0 1.5px, ${w} 1.5px 5px)`,
  (c, w) => `repeating-linear-gradient(90deg, ${c} 0 8px, ${w} 8px 10px, ${c} 10px 12px, ${w} 12px 14px)`,
  (c, w) => `linear-gradient(180deg, ${w} 0 3px, ${c} 3px)`,
];

function pattern(number) {
  const colour = number % 8;
  return PATTERNS[(number + Math.floor(number / 8)) % 8](`var(--c${colour})`, `var(--w${colour})`);
}

const root = document.documentElement.style;
data.types.forEach((_, i) => root.setProperty(`--t${i}`, pattern(i)));
// Without types the sides differ; among types, a span without one is grey.
const grey = "linear-gradient(var(--grey), var(--grey))";
root.setProperty("--u0", data.types.length ? grey : pattern(0));
root.setProperty("--u1", data.types.length ? grey : pattern(1));
const paint = (type, side) => `var(--${type < 0 ? `u${side}` : `t${type}`})`;
const typeName = (type) => (type < 0 ? "" : data.types[type]);

// -- one answer: text cut at all boundaries

const letters = globalThis.Intl && Intl.Segmenter ? new Intl.Segmenter(undefined, { granularity: "grapheme" }) : null;
const RTL = /\p{Script=Arabic}|\p{Script=Hebrew}|\p{Script=Syriac}|\p{Script=Thaana}|\p{Script=Nko}|\p{Script=Adlam}/u;
const STRONG = /\p{L}/u;

// Offsets count code points, JavaScript's strings UTF-16 units.
function unitOffsets(text) {
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return null;
  const places = [];
  let unit = 0;
  for (const character of text) {
    places.push(unit);
    unit += character.length;
  }
  places.push(unit);
  return places;
}

// A boundary inside what is drawn as one character cannot be seen: such a span is drawn to the whole character.
function widen(found, text, start, end) {
  if (!found) return [start, end];
  const first = found.containing(start);
  const last = found.containing(end - 1);
  return [first ? first.index : start, last ? last.index + last.segment.length : end];
}

function spansOf(row, side, places, found) {
  const flat = row[side === 0 ? REF : PRED];
  const text = row[TEXT];
  const spans = [];
  for (let k = 0; k < flat.length; k += 4) {
    const [start, end, type, verdict] = flat.slice(k, k + 4);
    const from = places ? places[start] : start;
    const to = places ? places[end] : end;
    const [drawnFrom, drawnTo] = widen(found, text, from, to);
    const word = data.verdicts[verdict];
    const cut = drawnFrom !== from || drawnTo !== to;
    const name = typeName(type);
    const title = `${side ? "prediction" : "reference"}: ${word}${name ? `, ${name}` : ""} [${start}, ${end})${
      cut ? " (cuts a character, drawn to the whole of it)" : ""}`;
    spans.push({ side, type, word, name, start, end, from, to, drawnFrom, drawnTo, title, number: k / 4, lane: 0 });
  }
  return spans;
}

// The longest of those that start together lies next to the text.
function layOut(spans) {
  const free = [];
  let hidden = 0;
  for (const span of [...spans].sort((a, b) => a.drawnFrom - b.drawnFrom || b.drawnTo - a.drawnTo)) {
    let lane = free.findIndex((until) => until <= span.drawnFrom);
    if (lane < 0) lane = free.length;
    if (lane >= LANES) {
      span.lane = -1;
      hidden += 1;
      continue;
    }
    span.lane = lane;
    free[lane] = span.drawnTo;
  }
  return [free.length, hidden];
}

function drawText(row, spans, lanes) {
  const text = row[TEXT];
  const drawn = spans.filter((span) => span.lane >= 0);
  const cuts = new Set([0, text.length]);
  for (const span of drawn) cuts.add(span.drawnFrom).add(span.drawnTo);
  // A line break is a piece of its own, so that one inside a span can be shown.
  for (const match of text.matchAll(/\r\n|[\n\r]/g)) cuts.add(match.index).add(match.index + match[0].length);
  const bounds = [...cuts].sort((a, b) => a - b);
  const opens = [...drawn].sort((a, b) => a.drawnFrom - b.drawnFrom);
  const block = make("div", { class: "text", dir: "auto" });
  block.style.setProperty("--above", `${lanes[0] * LANE}px`);
  block.style.setProperty("--below", `${lanes[1] * LANE}px`);
  let next = 0;
  let over = [];
  let plain = "";
  let rtl = RTL.test((text.match(STRONG) || [""])[0]);
  for (let b = 0; b + 1 < bounds.length; b += 1) {
    const [from, to] = [bounds[b], bounds[b + 1]];
    over = over.filter((span) => span.drawnTo > from);
    while (next < opens.length && opens[next].drawnFrom === from) over.push(opens[next++]);
    const piece = text.slice(from, to);
    if (!over.length) {
      plain += piece;
      continue;
    }
    if (plain) block.append(plain);
    plain = "";
    const strong = piece.match(STRONG);
    if (strong) rtl = RTL.test(strong[0]);
    const mark = make("mark", { class: /^[\n\r]/.test(piece) ? "seg break" : "seg", title: over.map((s) => s.title).join("\n") });
    mark.dataset.spans = over.map((s) => `${"rp"[s.side]}${s.number}`).join(" ");
    mark.dataset.verdicts = over.map((s) => s.word).join("|");
    const [images, places, sizes] = [[], [], []];
    for (const span of over) {
      images.push(paint(span.type, span.side));
      const offset = (span.side ? lanes[1] - 1 - span.lane : lanes[0] - 1 - span.lane) * LANE + 1;
      places.push(`${rtl ? "right" : "left"} 0 ${span.side ? "bottom" : "top"} ${offset}px`);
      // A gap ends the bar, so that two that touch can be told apart.
      sizes.push(`${span.drawnTo === to ? "calc(100% - min(3px, 25%))" : "100%"} ${BAR}px`);
    }
    mark.style.backgroundImage = images.join(", ");
    mark.style.backgroundPosition = places.join(", ");
    mark.style.backgroundSize = sizes.join(", ");
    if (over.some((s) => s.word === "missed")) mark.classList.add("missed");
    if (over.some((s) => s.word === "spurious")) mark.classList.add("spurious");
    mark.append(piece);
    block.append(mark);
  }
  if (plain) block.append(plain);
  return block;
}

// A few words of a span; what cannot be seen goes by its number.
function quoted(text) {
  const points = [...text];
  if (!/[^\p{Z}\p{C}\p{M}]/u.test(text)) {
    const names = points.slice(0, 8).map((c) => (c === "\n" ? "↵" : c === "\t" ? "⇥" : c === " " ? "␣" : `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`));
    return names.join(" ") + (points.length > 8 ? " …" : "");
  }
  const short = points.length > 100 ? `${points.slice(0, 99).join("")}…` : text;
  return short.replace(/\r\n|[\n\r]/g, "↵").replace(/\t/g, "⇥");
}

function listItem(row, span) {
  const short = quoted(row[TEXT].slice(span.from, span.to));
  const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.backgroundImage = paint(span.type, span.side);
  const kind = GOOD.has(span.word) ? "good" : ALONE.has(span.word) ? "bad" : "near";
  const item = make("li", { title: span.title },
    swatch,
    make("span", { class: `verdict ${kind}` }, make("span", { "aria-hidden": "true" }, SIGN[span.word] || "≈"), ` ${span.word}`));
  if (span.name) item.append(" ", make("span", { class: "type" }, span.name));
  item.append(" ", make("bdi", { class: "quote" }, short), " ", make("span", { class: "place" }, `[${span.start}, ${span.end})`));
  item.dataset.span = `${"rp"[span.side]}${span.number}`;
  return item;
}

function spanList(row, spans, title) {
  const list = make("ul");
  const fill = (from, to) => list.append(...spans.slice(from, to).map((span) => listItem(row, span)));
  fill(0, LISTED);
  if (spans.length > LISTED) {
    const more = make("button", { type: "button", class: "more" }, `${spans.length - LISTED} more`);
    more.addEventListener("click", () => {
      more.parentElement.remove();
      fill(LISTED, spans.length);
    });
    list.append(make("li", {}, more));
  }
  return make("section", {}, make("h3", {}, `${title} `, make("span", { class: "n" }, String(spans.length))), list);
}

const cards = new Array(rows.length);
const number = (value) => (value === null ? "–" : value.toFixed(3));

function card(i) {
  if (cards[i]) return cards[i];
  const element = make("article", { tabindex: "-1", "aria-label": `Answer ${rows[i][ID]}` });
  element.dataset.row = String(i);
  return (cards[i] = element);
}

function fill(element) {
  if (element.firstChild) return;
  const row = rows[Number(element.dataset.row)];
  const places = unitOffsets(row[TEXT]);
  const found = letters && /[^\u0000-\u02ff]|\r\n/.test(row[TEXT]) ? letters.segment(row[TEXT]) : null;
  const sides = [0, 1].map((side) => spansOf(row, side, places, found));
  const laid = sides.map(layOut);
  const head = make("header", {}, make("h2", {}, make("bdi", {}, row[ID])));
  data.slices.forEach((slice, k) => head.append(make("span", { class: "tag", title: slice.name }, slice.values[row[SLICES][k]])));
  if (data.scores.length) {
    const scores = make("dl", { class: "scores" });
    data.scores.forEach((name, k) => {
      const pair = make("div", {}, make("dt", {}, name), make("dd", {}, number(row[SCORES][k])));
      pair.dataset.score = name;
      scores.append(pair);
    });
    head.append(scores);
  }
  element.append(head, drawText(row, sides.flat(), laid.map(([lanes]) => lanes)));
  const hidden = laid[0][1] + laid[1][1];
  if (hidden) element.append(make("p", { class: "note" }, `${hidden} spans lie in deeper layers and are listed only.`));
  if (sides[0].length + sides[1].length) {
    element.append(make("div", { class: "spans" }, spanList(row, sides[0], "References"), spanList(row, sides[1], "Predictions")));
  } else element.append(make("p", { class: "note" }, "No span on either side."));
  highlight(element);
}
