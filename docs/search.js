// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// The search of the site: sections and names that have all words, from search_index.js, which scripts/make_site.py writes:
// searchIndex = [[title, address, text], …]. The index is loaded with the first key, from the site itself, also where it is files.
"use strict";

const MOST = 30;
const AROUND = 60; // characters of text before the first word that is found

function rank(words, title, text) {
  const inTitle = words.filter((word) => title.includes(word)).length;
  if (!words.every((word) => title.includes(word) || text.includes(word))) return 0;
  const name = title.split(/[^\w]+/).filter(Boolean);
  const whole = words.filter((word) => name.includes(word)).length;
  return 1 + 4 * inTitle + 8 * whole + (title === words.join(" ") ? 50 : 0) - title.length / 1000;
}

function find(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  return searchIndex
    .map(([title, address, text]) => ({ title, address, text, words, rank: rank(words, title.toLowerCase(), text.toLowerCase()) }))
    .filter((found) => found.rank > 0)
    .sort((a, b) => b.rank - a.rank);
}

/** A part of the text with the words marked. */
function excerpt({ text, words }) {
  const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((place) => place >= 0);
  const begin = Math.max(0, Math.min(...(places.length ? places : [0])) - AROUND);
  const part = document.createElement("span");
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "gi");
  for (const piece of (begin > 0 ? "…" : "").concat(text.slice(begin, begin + 4 * AROUND)).split(pattern)) {
    const node = words.includes(piece.toLowerCase()) ? document.createElement("mark") : document.createElement("span");
    node.textContent = piece;
    part.append(node);
  }
  return part;
}

function show(query, results) {
  const found = find(query);
  results.replaceChildren();
  results.hidden = !query.trim();
  const count = document.createElement("p");
  count.textContent = found.length ? `${found.length} found${found.length > MOST ? `, the first ${MOST}` : ""}` : "Nothing found";
  results.append(count);
  for (const one of found.slice(0, MOST)) {
    const link = document.createElement("a");
    link.href = one.address;
    const title = document.createElement("b");
    title.textContent = one.title;
    link.append(title, excerpt(one));
    results.append(link);
  }
}

document.addEventListener("DOMContentLoaded", () => {
  const field = document.getElementById("search-field");
  const results = document.getElementById("search-results");
  let index = null;
  const loaded = () => {
    index ??= new Promise((resolve) => {
      const script = document.createElement("script");
      script.src = "search_index.js";
      script.onload = resolve;
      document.head.append(script);
    });
    return index;
  };
  field.addEventListener("input", () => loaded().then(() => show(field.value, results)));
  field.addEventListener("keydown", (event) => {
    const first = results.querySelector("a");
    if (event.key === "Enter" && first && !results.hidden) first.click();
    if (event.key === "ArrowDown" && first) {
      event.preventDefault();
      first.focus();
    }
  });
  results.addEventListener("keydown", (event) => {
    const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = document.activeElement[step];
    (next?.matches("a") ? next : field).focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") results.hidden = true;
    if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      field.focus();
    }
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("#search")) results.hidden = true;
  });
});
