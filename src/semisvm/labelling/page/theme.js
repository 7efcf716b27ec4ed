// Runs before anything is drawn, so that the page does not flash.
"use strict";
try {
  const kept = localStorage.getItem("semisvm-theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
} catch {
  // the browser keeps nothing for pages: the system's theme it is
}
