// A row, and what the model predicts for it.

import { getBlob } from "./api.js";
import { cellBlock } from "./cells.js";
import { keep, kept } from "./common.js";
import { byId, chance, make, percent, show } from "./dom.js";
import { markWords, showTexts } from "./texts.js";

export const pictureSource = (row, name) => `/api/picture?${new URLSearchParams({ row, name })}`;

function pictureBlock(field, row) {
  const about = `${field.name} of this row`;
  const image = make("img", { src: pictureSource(row, field.name), alt: about });
  const open = make("button", { type: "button", class: "zoom", "aria-haspopup": "dialog", "aria-keyshortcuts": "z" }, image);
  const block = make("figure", { class: "picture" }, make("figcaption", { dir: "auto" }, field.name), open);
  open.addEventListener("click", () => zoom(image, about));
  image.addEventListener("error", () =>
    open.replaceWith(make("p", { class: "quiet" }, "This picture cannot be shown: ", make("code", {}, field.value.slice(0, 200)))));
  return block;
}

export const zoomPicture = () => document.querySelector("#row button.zoom")?.click();

// First as large as the window allows, then by keys or buttons.
function zoom(image, about) {
  const [box, large] = [byId("zoom-box"), byId("zoomed")];
  let scale = 1;
  const fit = () => Math.min(1, (innerWidth - 60) / image.naturalWidth, (innerHeight - 140) / image.naturalHeight);
  const size = (to) => {
    scale = Math.min(16, Math.max(1 / 16, to));
    large.style.width = `${Math.round(image.naturalWidth * scale)}px`;
    large.style.imageRendering = scale >= 2 ? "pixelated" : "";
    show(byId("zoom-size"), percent(scale));
  };
  large.src = image.src;
  large.alt = about;
  const acts = { "+": () => size(2 * scale), "-": () => size(scale / 2), 0: () => size(fit()), 1: () => size(1) };
  box.onkeydown = (event) => {
    const act = acts[event.key === "=" ? "+" : event.key];
    if (!act || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  };
  for (const button of box.querySelectorAll("button[data-key]")) button.onclick = acts[button.dataset.key];
  size(fit());
  box.showModal();
  byId("zoom-place").focus();
}

let addresses = [];

// The whole file, so that every place of it can be gone to.
function soundBlock(field, row) {
  const player = make("audio", { controls: true, preload: "auto", "aria-label": `${field.name} of this row` });
  const failed = () =>
    player.replaceWith(make("p", { class: "quiet" }, "This recording cannot be played: ", make("code", {}, field.value.slice(0, 200))));
  player.addEventListener("error", failed);
  getBlob(pictureSource(row, field.name)).then((found) => {
    const address = URL.createObjectURL(found);
    addresses.push(address);
    player.src = address;
  }).catch(failed);
  return make("figure", { class: "sound" }, make("figcaption", { dir: "auto" }, field.name), player);
}

export function playSound() {
  const player = document.querySelector("#row audio");
  // who pauses before it has begun to play ends that with an error
  if (player?.paused) player.play().catch(() => {});
  else player?.pause();
}

let others = [];

export function showRow(node, view) {
  const of = (...kinds) => view.fields.filter((field) => kinds.includes(field.kind));
  const [pictures, sounds, cells] = [of("image"), of("audio"), of("number", "category")];
  addresses.splice(0).forEach((address) => URL.revokeObjectURL(address));
  others = cells.map((field) => field.name);
  node.replaceChildren(
    ...(pictures.length ? [make("div", { class: "pictures" }, pictures.map((field) => pictureBlock(field, view.row)))] : []),
    ...sounds.map((field) => soundBlock(field, view.row)),
    ...showTexts(of("text"), view.row),
    ...(cells.length ? [cellBlock(cells)] : []),
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

// The words are those of the guess: they influence like it, and are marked with it only.
function marker(because) {
  const names = because.map(([name]) => name);
  const box = make("input", { type: "checkbox", id: "mark", checked: kept("marks") !== "off" });
  const mark = () => markWords(box.checked ? names : [], others);
  box.addEventListener("change", () => {
    keep("marks", box.checked ? null : "off");
    mark();
  });
  mark();
  return make("label", { class: "check quiet" }, box, "Mark these words in the text");
}

// None is shown before answers have shown how far it can be relied on.
export const probabilityOf = (guess) => (guess.calibrated ? ` (${chance(guess.probabilities[guess.value])})` : "");

export function showWeak(node, weak) {
  const sources = Object.entries(weak);
  if (sources.length) node.replaceChildren(make("p", { class: "weak-labels" }, sources.map(([name, value]) => make("span", {}, `${name}: `, make("strong", { dir: "auto" }, value)))));
}

export function showGuess(node, guess) {
  if (guess === null) {
    node.replaceChildren(make("p", { class: "quiet" }, "There is no model yet: it comes after the first few answers."));
    return;
  }
  const what = make("p", {}, "The model predicts ", make("strong", { dir: "auto" }, guess.value), probabilityOf(guess), guess.seen_answer ? ". It has learned from your answer." : "");
  const why = guess.because.length ? [reasons(guess.because)] : [];
  if (why.length && document.querySelector("#row .prose")) why.push(marker(guess.because));
  node.replaceChildren(what, ...why);
}
