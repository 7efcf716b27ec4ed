// Starts the page: tabs, keys, theme, help, and news from the server.

import { client, get, isConnected, onConnection, showState, Refused } from "./api.js";
import { seekClass, takeByKey, up } from "./classes.js";
import { alertUser, keep, kept } from "./common.js";
import { showDisagreements, startDisagreements } from "./disagreements.js";
import { byId, show } from "./dom.js";
import { startFiles } from "./files.js";
import * as label from "./label.js";
import { showList, startLists } from "./lists.js";
import { startPeople } from "./people.js";
import { onStatus, showStatus } from "./progress.js";
import { playSound, zoomPicture } from "./row.js";
import { findWithin } from "./texts.js";

const TABS = ["label", "find", "sure", "doubts", "disagreements"];
const THEMES = ["auto", "light", "dark"];
const EVERY = 2000;
const EVERY_WHEN_LOST = 1000;
const RESTARTED = "This page is closed: the server was started anew, or your link was ended. Open your link again, or the address that the terminal shows. No saved answer is lost.";
const GONE = "The server does not answer. What you answer now would not be saved, so the buttons are off until it is back.";

function select(name, focus = false) {
  for (const other of TABS) {
    const tab = byId(`tab-${other}`);
    tab.setAttribute("aria-selected", String(other === name));
    tab.tabIndex = other === name ? 0 : -1;
    byId(`panel-${other}`).hidden = other !== name;
  }
  if (focus) byId(`tab-${name}`).focus();
  history.replaceState(null, "", name === "label" ? location.pathname : `#${name}`);
  if (name === "disagreements") showDisagreements();
  else showList(name);
}

function startTabs() {
  for (const name of TABS) {
    const tab = byId(`tab-${name}`);
    tab.addEventListener("click", () => select(name));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const there = TABS.filter((other) => !byId(`tab-${other}`).hidden);
      if (step) select(there[(there.indexOf(name) + step + there.length) % there.length], true);
    });
  }
}

const isAsking = () => document.querySelector("dialog[open]") !== null;

const onTab = (name) => !byId(`panel-${name}`).hidden;

function find() {
  select("find");
  byId("words").focus();
}

const ANYWHERE = { "?": () => byId("help-box").showModal(), "/": find };
const LABELLING = {
  s: () => label.skip(),
  0: () => label.skip(true),
  m: label.remark,
  u: () => label.undo(),
  g: label.askGuess,
  e: label.unfold,
  c: seekClass,
  Backspace: up,
  f: findWithin,
  z: zoomPicture,
  p: playSound,
  n: () => byId("new-class").focus(),
};

function keyOf(event) {
  const target = event.target;
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || event.isComposing) return null;
  if (isAsking() || !byId("keys").checked) return null;
  if (target instanceof Element && target.closest("input:not([type=checkbox]), select, textarea")) return null;
  return event.key;
}

function onKey(event) {
  if (event.key === "Escape" && !isAsking()) {
    if (!byId("alert").hidden) alertUser("");
    else if (event.target instanceof HTMLElement && event.target.matches("input, select")) event.target.blur();
    else if (!onTab("label")) select("label");
    else if (up()) return;
    else if (!byId("back").hidden) label.next();
    return;
  }
  const key = keyOf(event);
  if (key === null) return;
  const act = ANYWHERE[key] ?? (onTab("label") ? LABELLING[key] : undefined);
  if (act) {
    event.preventDefault();
    act();
  } else if (/^[1-9]$/.test(key) && onTab("label")) {
    event.preventDefault();
    takeByKey(Number(key));
  }
}

function showTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  show(byId("theme"), `Theme: ${theme}`);
}

function startTools() {
  let theme = THEMES.includes(kept("theme")) ? kept("theme") : "auto";
  showTheme(theme);
  byId("theme").addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    keep("theme", theme === "auto" ? null : theme);
    showTheme(theme);
  });
  byId("alert-close").addEventListener("click", () => alertUser(""));
  byId("help").addEventListener("click", () => byId("help-box").showModal());
  byId("keys").checked = kept("keys") !== "off";
  byId("keys").addEventListener("change", () => keep("keys", byId("keys").checked ? "on" : "off"));
  byId("learn").addEventListener("click", () => label.change("learn", { auto: false }));
  byId("learn-auto").addEventListener("click", () => label.change("learn", { auto: true }));
}

function connectionChanged(now) {
  label.enable();
  if (now) {
    alertUser("");
    showState("good", "Connected");
    label.afterLoss().catch((error) => alertUser(error.message));
  } else {
    showState("bad", "No connection");
    alertUser(GONE);
  }
}

async function news() {
  try {
    if (!document.hidden || !isConnected()) showStatus((await get("status", { client })).status);
  } catch (error) {
    if (error instanceof Refused && error.status === 401) {
      showState("bad", "Closed");
      alertUser(RESTARTED);
      return;
    }
  }
  setTimeout(news, isConnected() ? EVERY : EVERY_WHEN_LOST);
}

async function start() {
  // the token stays neither in the address nor in the history
  if (location.search) history.replaceState(null, "", location.pathname + location.hash);
  startTabs();
  startTools();
  startLists();
  startDisagreements();
  label.startLabelling();
  onStatus((status) => label.showClasses(status.classes));
  onConnection(connectionChanged);
  document.addEventListener("keydown", onKey);
  try {
    // first: which file it is, and who, decide how a row is shown
    const about = await get("about");
    startFiles(about);
    startPeople(about);
    await label.next();
    showState("good", "Ready");
  } catch (error) {
    showState("bad", "Not ready");
    alertUser(error.message);
  }
  const name = location.hash.slice(1);
  if (TABS.includes(name) && !byId(`tab-${name}`).hidden) select(name);
  setTimeout(news, EVERY);
}

start();
