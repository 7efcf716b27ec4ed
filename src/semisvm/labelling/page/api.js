// Requests to the server. A change counts when the server has confirmed it.

import { byId, show } from "./dom.js";

const PATIENCE = 20000;
const BYTES = 16;
const JSON_HEADERS = { "Content-Type": "application/json" };

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export class Lost extends Error {}

const randomName = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(BYTES)), (byte) => byte.toString(16).padStart(2, "0")).join("");

// A reload goes on under the same name. While a page is open, its name is kept nowhere: a tab that
// is duplicated takes along what is kept, and must get a name, and rows, of its own.
const NAME = "semisvm-client";

function clientName() {
  try {
    const kept = sessionStorage.getItem(NAME);
    sessionStorage.removeItem(NAME);
    return kept ?? randomName();
  } catch {
    return randomName();
  }
}

export const client = clientName();

function keepName(change) {
  try {
    change();
  } catch {
    // nothing is kept for pages: after a reload there is another row
  }
}

addEventListener("pagehide", () => keepName(() => sessionStorage.setItem(NAME, client)));
// back from the browser's memory of earlier pages
addEventListener("pageshow", (event) => event.persisted && keepName(() => sessionStorage.removeItem(NAME)));

let connected = true;
const listeners = [];
export const onConnection = (listener) => listeners.push(listener);
export const isConnected = () => connected;

function setConnected(now) {
  if (now === connected) return;
  connected = now;
  for (const listener of listeners) listener(now);
}

async function request(path, options = {}, read = (response) => response.json(), patience = PATIENCE) {
  let response;
  let data;
  try {
    response = await fetch(path, { ...options, signal: AbortSignal.timeout(patience) });
    data = await (response.ok ? read(response) : response.json());
  } catch {
    setConnected(false);
    throw new Lost("The server does not answer.");
  }
  setConnected(true);
  if (!response.ok) throw new Refused(response.status, data.error ?? `The server returned ${response.status}.`);
  return data;
}

export const getBlob = (path) => request(path, {}, (response) => response.blob());

// Files and models take a while: the model may have to be fitted first.
export const getFile = (name, values = {}) =>
  request(`/api/download?${new URLSearchParams({ what: name, ...values })}`, {}, (response) => response.blob(), 30 * PATIENCE);

export const postSlowly = (name) =>
  request(`/api/${name}`, { method: "POST", headers: JSON_HEADERS, body: JSON.stringify({ client }) }, undefined, 30 * PATIENCE);

export const getSlowly = (name, values) =>
  request(`/api/${name}?${new URLSearchParams(values)}`, {}, undefined, 30 * PATIENCE);

export const get = (name, values = {}) => request(`/api/${name}?${new URLSearchParams(values)}`);

// What was sent without an answer may have been kept. Sent again, it has the same name, and
// the server does it once.
let unconfirmed = null;

export async function post(name, values = {}) {
  const change = JSON.stringify([name, values]);
  if (unconfirmed === null || unconfirmed.change !== change) unconfirmed = { change, id: randomName() };
  const body = JSON.stringify({ ...values, client, id: unconfirmed.id });
  try {
    const data = await request(`/api/${name}`, { method: "POST", headers: JSON_HEADERS, body });
    unconfirmed = null;
    return data;
  } catch (error) {
    if (!(error instanceof Lost)) unconfirmed = null;
    throw error;
  }
}

export function showState(kind, text) {
  const state = byId("state");
  state.className = `state ${kind}`;
  show(state, text);
}
