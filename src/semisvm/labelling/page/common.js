// Messages, and what the browser keeps for the next visit.

import { byId, show } from "./dom.js";

export function announce(text) {
  byId("announcement").textContent = text;
}

export function alertUser(text) {
  show(byId("alert-text"), text);
  byId("alert").hidden = text === "";
}

export function kept(name) {
  try {
    return localStorage.getItem(`semisvm-${name}`);
  } catch {
    return null;
  }
}

export function keep(name, value) {
  try {
    if (value === null) localStorage.removeItem(`semisvm-${name}`);
    else localStorage.setItem(`semisvm-${name}`, value);
  } catch {
    // the choice lasts until the page is left
  }
}
