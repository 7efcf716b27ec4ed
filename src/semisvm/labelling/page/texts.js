// Long texts of a row: folded, searched, and with words marked.

import { get } from "./api.js";
import { byId, clean, count, make, show } from "./dom.js";

const FOLD = 1400;
const MOST_MARKS = 1000;

let blocks = [];
let place = 0;
let words = new Map();
let letters = "";

// Cuts at a space, if there is one near.
function folded(text) {
  const space = text.lastIndexOf(" ", FOLD);
  return `${text.slice(0, space > FOLD / 2 ? space : FOLD)} …`;
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");

// Two words of a pair may have a comma between them.
const asWord = (word) =>
  `(?<![\\p{L}\\p{N}_])${word.split(/\s+/).map(escaped).join("[^\\p{L}\\p{N}_]+")}(?![\\p{L}\\p{N}_])`;

function places(text, pattern, kind) {
  if (!pattern) return [];
  const found = [];
  for (const match of text.matchAll(new RegExp(pattern, "giu"))) {
    found.push({ start: match.index, end: match.index + match[0].length, kind });
    if (found.length === MOST_MARKS) break;
  }
  return found;
}

// Where both are, what was searched is marked.
function marksOf(text, column) {
  const hits = places(text, letters && escaped(letters), "hit");
  const own = places(text, (words.get(column) ?? []).map(asWord).join("|"), "word");
  const free = own.filter((word) => !hits.some((hit) => hit.start < word.end && word.start < hit.end));
  return [...hits, ...free].sort((a, b) => a.start - b.start);
}

function pieces(text, column) {
  const parts = [];
  let from = 0;
  for (const { start, end, kind } of marksOf(text, column)) {
    parts.push(text.slice(from, start), make("mark", { class: kind }, text.slice(start, end)));
    from = end;
  }
  return [...parts, text.slice(from)];
}

class Text {
  constructor(field, row) {
    Object.assign(this, { field, row, length: field.length ?? field.value.length, open: false });
    this.prose = make("p", { class: "prose", dir: "auto" });
    this.node = make("section", { class: "text" }, make("h3", { dir: "auto" }, field.name), this.prose);
    if (this.isLong) {
      this.button = make("button", { type: "button", class: "small fold", "aria-expanded": "false" });
      this.button.addEventListener("click", () => this.unfold(!this.open));
      this.node.append(this.button);
    }
    this.paint();
  }

  get isLong() {
    return this.length > FOLD;
  }

  async unfold(open) {
    if (open && this.field.value.length < this.length) {
      const { view } = await get("row", { row: this.row, whole: "yes" });
      this.field.value = view.fields.find((other) => other.name === this.field.name).value;
    }
    this.open = open;
    this.paint();
  }

  paint() {
    const short = this.isLong && !this.open;
    this.prose.replaceChildren(...pieces(clean(short ? folded(this.field.value) : this.field.value), this.field.name));
    if (!this.isLong) return;
    this.button.setAttribute("aria-expanded", String(this.open));
    show(this.button, this.open ? "Fold" : `Show all ${count(this.length)} characters`);
  }
}

const paintAll = () => blocks.forEach((block) => block.paint());

const hits = () => [...byId("row").querySelectorAll("mark.hit")];

async function search(text) {
  letters = clean(text.trim());
  place = 0;
  const closed = letters ? blocks.filter((block) => block.isLong && !block.open) : [];
  await Promise.all(closed.map((block) => block.unfold(true)));
  paintAll();
  step(0);
}

function step(by) {
  const found = hits();
  if (!found.length) {
    show(byId("within-note"), letters ? "Not in this row" : "");
    return;
  }
  place = (place + by + found.length) % found.length;
  found.forEach((mark, k) => mark.classList.toggle("here", k === place));
  found[place].scrollIntoView({ block: "center" });
  const more = found.length >= MOST_MARKS ? " or more" : "";
  show(byId("within-note"), `${count(place + 1)} of ${count(found.length)}${more}`);
}

// Reads well for a screen reader too: the number of the place is announced.
function finder() {
  const field = make("input", { id: "within", type: "search", maxlength: 200, autocomplete: "off", spellcheck: "false", "aria-keyshortcuts": "f" });
  field.addEventListener("input", () => search(field.value));
  const form = make("form", { class: "within", role: "search", "aria-label": "In this row" },
    make("label", {}, "Find in this row ", make("kbd", {}, "f"), " ", field),
    make("button", { type: "submit", class: "small" }, "Next"),
    make("span", { id: "within-note", class: "quiet", role: "status" }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    step(1);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.shiftKey) return;
    event.preventDefault();
    step(-1);
  });
  return form;
}

export function showTexts(fields, row) {
  [words, letters, place] = [new Map(), "", 0];
  blocks = fields.map((field) => new Text(field, row));
  const find = blocks.some((block) => block.isLong) ? [finder()] : [];
  return [...find, ...blocks.map((block) => block.node)];
}

export const findWithin = () => byId("within")?.focus();

// A word of one of several columns is named "column__word".
export function markWords(names, others) {
  const columns = blocks.map((block) => block.field.name);
  words = new Map(columns.map((column) => [column, []]));
  for (const name of names) {
    const column = columns.find((one) => name.startsWith(`${one}__`));
    if (column !== undefined) words.get(column).push(name.slice(column.length + 2));
    else if (columns.length === 1 && !others.some((other) => name === other || name.startsWith(`${other}__`))) words.get(columns[0]).push(name);
  }
  paintAll();
}
