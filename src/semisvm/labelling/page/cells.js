// Cells of a row side by side; of many columns those that were chosen come first.

import { keep, kept } from "./common.js";
import { count, make } from "./dom.js";

// cells from which they are shown in columns, and from which some are folded if none was chosen
const MANY = 6;
const FOLD = 24;
const FIRST = 12;

const place = () => `columns ${document.title}`;

function chosenColumns() {
  try {
    return JSON.parse(kept(place()) ?? "[]");
  } catch {
    return [];
  }
}

let chosen = null;
let choosing = false;
let open = false;

function choose(name, on) {
  chosen = on ? [...chosen, name] : chosen.filter((other) => other !== name);
  keep(place(), chosen.length ? JSON.stringify(chosen) : null);
}

function cell(field) {
  const kind = field.kind === "number" ? "number" : null;
  const empty = field.value === "" || field.value === null;
  const value = empty ? make("span", { class: "quiet" }, "empty") : field.value;
  const name = choosing ? picker(field.name) : field.name;
  return make("div", {}, make("dt", { dir: "auto" }, name), make("dd", { class: kind, dir: "auto" }, value));
}

function picker(name) {
  const box = make("input", { type: "checkbox", checked: chosen.includes(name) });
  box.addEventListener("change", () => choose(name, box.checked));
  return make("label", { class: "check" }, box, name);
}

function split(fields) {
  if (choosing) return [fields, []];
  const first = fields.filter((field) => chosen.includes(field.name));
  if (first.length) return [first, fields.filter((field) => !chosen.includes(field.name))];
  return fields.length > FOLD ? [fields.slice(0, FIRST), fields.slice(FIRST)] : [fields, []];
}

export function cellBlock(fields) {
  chosen ??= chosenColumns();
  const node = make("div", { class: "table" });
  fill(node, fields);
  return node;
}

function fill(node, fields) {
  const [first, rest] = split(fields);
  const shown = open ? [...first, ...rest] : first;
  const list = make("dl", { class: shown.length > MANY ? "cells many" : "cells" }, shown.map(cell));
  const again = (change) => (event) => {
    const at = [...node.querySelectorAll(".buttons button")].indexOf(event.currentTarget);
    change();
    fill(node, fields);
    (node.querySelectorAll(".buttons button")[at] ?? node.querySelector(".buttons button")).focus();
  };
  const button = (text, more, change) => make("button", { type: "button", onclick: again(change), ...more }, text);
  const fold = rest.length
    ? button(open ? "Fold" : `Show all ${count(fields.length)} columns`, { class: "small fold", "aria-expanded": String(open) }, () => { open = !open; })
    : null;
  const pick = fields.length > MANY
    ? button(choosing ? "Done" : "Choose columns", { class: "small", "aria-pressed": String(choosing) }, () => { choosing = !choosing; })
    : null;
  const hint = choosing ? make("p", { class: "quiet" }, "Tick the columns to see first; the others are folded.") : null;
  const acts = fold || pick ? make("div", { class: "buttons" }, pick, fold) : null;
  node.replaceChildren(...[hint, list, acts].filter((part) => part !== null));
}
