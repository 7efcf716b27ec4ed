// Elements. Texts of users only ever become text, never markup.

const SVG = "http://www.w3.org/2000/svg";
// not printable, or marks that show a text as another one
const UNFIT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|\p{Cs}/gu;

export const byId = (id) => document.getElementById(id);

export const clean = (text) => String(text).replace(UNFIT, "\ufffd");

function fill(node, attributes, content) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  for (const part of content.flat(Infinity)) {
    if (part !== null && part !== undefined) node.append(part instanceof Node ? part : clean(part));
  }
  return node;
}

export const make = (name, attributes = {}, ...content) =>
  fill(document.createElement(name), attributes, content);

export const draw = (name, attributes = {}, ...content) =>
  fill(document.createElementNS(SVG, name), attributes, content);

// Texts are replaced only if they differ: readers announce what changes.
export function show(node, text) {
  const cleaned = clean(text);
  if (node.textContent !== cleaned) node.textContent = cleaned;
}

export const count = (number) => number.toLocaleString("en");

export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}%`;

// A probability is an estimate: none is certain.
export const chance = (share) => (share > 0.99 ? "over 99%" : percent(share));

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
