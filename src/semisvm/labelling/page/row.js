// A row, and what the model predicts for it.

import { get } from "./api.js";
import { chance, clean, count, make } from "./dom.js";

const FOLD = 1400;
// cells from which they are shown in columns side by side
const MANY = 6;

// Cuts at a space, if there is one near.
function folded(text) {
  const space = text.lastIndexOf(" ", FOLD);
  return `${text.slice(0, space > FOLD / 2 ? space : FOLD)} …`;
}

function textBlock(field, row) {
  const length = field.length ?? field.value.length;
  const prose = make("p", { class: "prose", dir: "auto" }, field.value);
  const block = make("section", { class: "text" }, make("h3", { dir: "auto" }, field.name), prose);
  if (length <= FOLD) return block;
  prose.textContent = clean(folded(field.value));
  const closed = `Show all ${count(length)} characters`;
  const button = make("button", { type: "button", class: "small fold", "aria-expanded": "false" }, closed);
  button.addEventListener("click", async () => {
    const open = button.getAttribute("aria-expanded") === "false";
    if (open && field.value.length < length) {
      const { view } = await get("row", { row, whole: "yes" });
      field.value = view.fields.find((other) => other.name === field.name).value;
    }
    prose.textContent = clean(open ? field.value : folded(field.value));
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "Fold" : closed;
  });
  block.append(button);
  return block;
}

export const pictureSource = (row, name) => `/api/picture?${new URLSearchParams({ row, name })}`;

function pictureBlock(field, row) {
  const image = make("img", { src: pictureSource(row, field.name), alt: `${field.name} of this row` });
  const block = make("figure", { class: "picture" }, make("figcaption", { dir: "auto" }, field.name), image);
  image.addEventListener("error", () =>
    image.replaceWith(make("p", { class: "quiet" }, "This picture cannot be shown: ", make("code", {}, field.value.slice(0, 200)))));
  return block;
}

function cell(field) {
  const kind = field.kind === "number" ? "number" : null;
  const empty = field.value === "" || field.value === null;
  const value = empty ? make("span", { class: "quiet" }, "empty") : field.value;
  return make("div", {}, make("dt", { dir: "auto" }, field.name), make("dd", { class: kind, dir: "auto" }, value));
}

export function showRow(node, view) {
  const pictures = view.fields.filter((field) => field.kind === "image");
  const texts = view.fields.filter((field) => field.kind === "text");
  const cells = view.fields.filter((field) => field.kind !== "image" && field.kind !== "text");
  node.replaceChildren(
    ...(pictures.length ? [make("div", { class: "pictures" }, pictures.map((field) => pictureBlock(field, view.row)))] : []),
    ...texts.map((field) => textBlock(field, view.row)),
    ...(cells.length ? [make("dl", { class: cells.length > MANY ? "cells many" : "cells" }, cells.map(cell))] : []),
  );
}

// A word of one of several columns is named "column__word".
function featureName(name) {
  const at = name.indexOf("__");
  if (at <= 0) return make("span", { dir: "auto" }, name);
  const column = make("span", { class: "quiet" }, name.slice(0, at));
  return make("span", { dir: "auto" }, name.slice(at + 2), " ", column);
}

function reasons(because) {
  const most = Math.max(...because.map(([, weight]) => Math.abs(weight)), 1e-12);
  return make("ul", { class: "because" }, because.map(([name, weight]) => {
    const bar = make("span", { class: "weight", "aria-hidden": "true" });
    bar.style.width = `${Math.round(60 * Math.abs(weight) / most)}px`;
    return make("li", {}, featureName(name), bar);
  }));
}

// None is shown before answers have shown how far it can be relied on.
export const probabilityOf = (guess) => (guess.calibrated ? ` (${chance(guess.probabilities[guess.value])})` : "");

export function showGuess(node, guess) {
  if (guess === null) {
    node.replaceChildren(make("p", { class: "quiet" }, "There is no model yet: it comes after the first few answers."));
    return;
  }
  const what = make("p", {}, "The model predicts ", make("strong", { dir: "auto" }, guess.value), probabilityOf(guess), guess.seen_answer ? ". It has learned from your answer." : "");
  const why = guess.because.length ? [reasons(guess.because)] : [];
  node.replaceChildren(what, ...why);
}
