// Lists of rows: found ones, sure ones, doubts.

import { get } from "./api.js";
import { announce, alertUser } from "./common.js";
import { byId, chance, count, make, plural } from "./dom.js";
import { change, openRow } from "./label.js";
import { lastStatus } from "./progress.js";
import { pictureSource } from "./row.js";

const LENGTH = 20;

export const small = (text, work, more = {}) => {
  const button = make("button", { type: "button", class: "small", ...more }, text);
  button.addEventListener("click", work);
  return button;
};

export const opener = (row) => small("Open", () => openRow(row.row), { "aria-label": `Open row ${row.key}` });

// A picture that cannot be shown leaves its place empty: its row shows why when it is opened.
const picture = (row) =>
  row.picture === null ? null : make("img", { class: "thumb", src: pictureSource(row.row, row.picture), alt: `${row.picture} of row ${row.key}`, loading: "lazy" });

export const words = (row) => [picture(row), make("p", { class: "snippet", dir: "auto" }, row.text)];

// Of a row with an answer it is that of a model that has not seen it.
const guessOf = (row) =>
  row.guess === null ? null : [row.answer === null ? "model: " : "guess without your answer: ", make("strong", { dir: "auto" }, row.guess), row.probability === null ? "" : ` ${chance(row.probability)}`];

const shape = (facts, row, ...buttons) =>
  [make("div", {}, facts, words(row)), make("div", { class: "buttons" }, buttons)];

class List {
  constructor(node, { load, show, empty, foot }) {
    Object.assign(this, { node, load, show, empty, foot, start: 0 });
  }

  async refresh(start = this.start) {
    this.node.setAttribute("aria-busy", "true");
    try {
      const found = await this.load(start, LENGTH);
      this.start = start;
      this.fill(found);
    } catch (error) {
      alertUser(error.message);
    }
    this.node.removeAttribute("aria-busy");
  }

  fill(found) {
    if (!found.rows.length && this.start > 0) {
      this.refresh(0);
      return;
    }
    const items = found.rows.map((row) => make("li", { class: "item", "data-row": row.row }, this.show(row)));
    const body = items.length ? make("ol", { class: "list" }, items) : null;
    const text = items.length ? found.note : this.empty(found);
    const ground = text ? make("p", { class: "ground" }, text) : null;
    const foot = this.foot && items.length ? this.foot(found) : null;
    this.node.replaceChildren(...[ground, this.pager(found), foot, body].filter((part) => part !== null));
  }

  pager(found) {
    const end = Math.min(this.start + LENGTH, found.total);
    const where = found.total ? `${count(this.start + 1)} to ${count(end)} of ${plural(found.total, "row")}` : "";
    const before = small("Earlier", () => this.refresh(Math.max(0, this.start - LENGTH)));
    const after = small("Later", () => this.refresh(this.start + LENGTH));
    before.disabled = this.start === 0;
    after.disabled = end >= found.total;
    const turns = found.total > LENGTH ? [before, after] : [];
    return make("div", { class: "pager" }, make("p", { class: "quiet", role: "status" }, where), turns, small("Refresh", () => this.refresh()));
  }
}

function chooser(row, after) {
  const names = lastStatus().classes.map((one) => one.name);
  const choices = names.map((name) => {
    const choice = make("option", { value: name }, name);
    choice.selected = name === row.answer;
    return choice;
  });
  const none = make("option", { value: "" }, row.skipped ? "skipped" : "no answer");
  const select = make("select", { "aria-label": `Answer of row ${row.key}` }, row.answer === null ? none : null, choices);
  select.addEventListener("change", async () => {
    const done = await change("change", { row: row.row, value: select.value, version: row.version });
    announce(done ? `Saved: row ${row.key} is ${select.value}.` : "");
    after();
  });
  return select;
}

function foundItem(row) {
  const refresh = () => lists.find.refresh();
  const gone = async () => {
    if (await change("remove", { row: row.row, version: row.version })) announce(`The answer of row ${row.key} is removed.`);
    refresh();
  };
  const remove = row.answer === null && !row.skipped ? null : small("Remove", gone, { "aria-label": `Remove the answer of row ${row.key}` });
  const facts = make("p", { class: "facts" }, `Row ${row.key}`, row.guess === null ? null : " · ", guessOf(row));
  return shape(facts, row, chooser(row, refresh), remove, opener(row));
}

function sureItem(row) {
  const box = make("input", { type: "checkbox", class: "pick", checked: true, value: row.row });
  box.addEventListener("change", countPicked);
  const facts = make("label", { class: "check" }, box, make("span", { class: "facts" }, `Row ${row.key} · `, guessOf(row)));
  return shape(facts, row, opener(row));
}

const picked = () => [...byId("sure").querySelectorAll("input.pick:checked")].map((box) => Number(box.value));

function countPicked() {
  const button = byId("confirm");
  const n = picked().length;
  button.textContent = `Confirm ${plural(n, "row")} as ${byId("sure-class").value}`;
  button.disabled = n === 0;
}

function confirmBar(found) {
  const value = byId("sure-class").value;
  const button = make("button", { type: "button", id: "confirm", class: "main" }, `Confirm ${plural(found.rows.length, "row")} as ${value}`);
  button.addEventListener("click", async () => {
    const rows = picked();
    if (await change("confirm", { rows, value })) announce(`Saved: ${plural(rows.length, "row")} as ${value}.`);
    await lists.sure.refresh(0);
  });
  const toggle = small("Tick none", () => {
    const boxes = [...byId("sure").querySelectorAll("input.pick")];
    const on = boxes.every((box) => !box.checked);
    for (const box of boxes) box.checked = on;
    toggle.textContent = on ? "Tick none" : "Tick all";
    countPicked();
  });
  return make("div", { class: "buttons confirm" }, button, toggle);
}

function doubtItem(row) {
  const fix = async () => {
    if (await change("change", { row: row.row, value: row.guess, version: row.version })) announce(`Saved: row ${row.key} is ${row.guess}.`);
    await lists.doubts.refresh();
  };
  const facts = make("p", { class: "facts" }, `Row ${row.key} · you: `, make("strong", { dir: "auto" }, row.answer), " · ", guessOf(row));
  const button = small(`Change to ${row.guess}`, fix, { "aria-label": `Change row ${row.key} to ${row.guess}` });
  return shape(facts, row, button, opener(row));
}

const lists = {
  find: new List(byId("found"), {
    load: (start, length) => get("search", { words: byId("words").value, which: byId("which").value, start, count: length }),
    show: foundItem,
    empty: () => "No rows are found.",
  }),
  sure: new List(byId("sure"), {
    load: (start, length) => get("sure", { value: byId("sure-class").value, start, count: length }),
    show: sureItem,
    empty: (found) => found.note,
    foot: confirmBar,
  }),
  doubts: new List(byId("doubts"), {
    load: (start, length) => get("doubts", { start, count: length }),
    show: doubtItem,
    empty: (found) => found.note,
  }),
};

function showSureClasses() {
  const select = byId("sure-class");
  const names = lastStatus().classes.map((one) => one.name);
  if (JSON.stringify([...select.options].map((option) => option.value)) === JSON.stringify(names)) return;
  const chosen = select.value;
  select.replaceChildren(...names.map((name) => make("option", { value: name }, name)));
  if (names.includes(chosen)) select.value = chosen;
}

export function showList(name) {
  if (name === "sure") showSureClasses();
  lists[name]?.refresh(0);
}

export function startLists() {
  byId("find").addEventListener("submit", (event) => {
    event.preventDefault();
    lists.find.refresh(0);
  });
  byId("which").addEventListener("change", () => lists.find.refresh(0));
  byId("sure-class").addEventListener("change", () => lists.sure.refresh(0));
}
