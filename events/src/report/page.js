// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Parts of the reports of all applications.
'use strict';
const $ = (id) => document.getElementById(id);
const { summary, scores, events } = JSON.parse($('data').textContent);
const BINS = scores.all.length;
const el = (tag, text, parent, props) => {
  const e = Object.assign(document.createElement(tag), props, { textContent: text });
  parent.append(e);
  return e;
};
const has = (v) => v !== null && v !== undefined;
const whole = (v) => Math.round(v).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');
const percent = (v) => (100 * v).toFixed(1) + '\u202f%';
const scaled = (v, units, step) => {
  let i = 0;
  while (v >= step && i < units.length - 1) { v /= step; ++i; }
  return (i === 0 && Number.isInteger(v) ? v : v.toPrecision(3)) + '\u202f' + units[i];
};
const bytes = (v) => scaled(v, ['B', 'kB', 'MB', 'GB'], 1000);
const seconds = (v) => v < 1 ? scaled(v * 1e6, ['µs', 'ms'], 1000) : v.toPrecision(3) + '\u202fs';
const sum = (a) => a.reduce((s, v) => s + v, 0);

function unpack(type, text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; ++i) out[i] = raw.charCodeAt(i);
  return new type(out.buffer);
}

// ---- colours: viridis for scores, Okabe-Ito for tracks; score 1 always stands out most ----
const VIRIDIS = ['440154', '482878', '3e4989', '31688e', '26828e', '1f9e89', '35b779', '6ece58', 'b5de2b', 'fde725']
  .map((h) => [0, 2, 4].map((i) => parseInt(h.slice(i, i + 2), 16)));
const darkMode = matchMedia('(prefers-color-scheme: dark)');
let theme;
function viridis(t) {
  const i = Math.min(8, Math.floor(t * 9)), f = t * 9 - i;
  return 'rgb(' + VIRIDIS[i].map((v, k) => Math.round(v + f * (VIRIDIS[i + 1][k] - v))) + ')';
}
function loadTheme() {
  const css = getComputedStyle(document.documentElement), dark = darkMode.matches;
  theme = Object.fromEntries(['card', 'ink', 'muted', 'grid', 'frame', 'noise', 'accent', 'true', 'false']
    .map((k) => [k, css.getPropertyValue('--' + k).trim()]));
  theme.score = (t) => viridis(dark ? 0.12 + 0.88 * t : 0.9 * (1 - t));
  theme.tracks = ['#e69f00', '#009e73', '#cc79a7', dark ? '#f0e442' : '#0072b2', '#d55e00', '#56b4e9'];
  const stops = Array.from({ length: 11 }, (_, i) => theme.score(i / 10));
  document.documentElement.style.setProperty('--ramp', `linear-gradient(90deg, ${stops})`);
}

// ---- a canvas with axes ----
function newCanvas(parent, label) {
  const c = el('canvas', '', parent);
  if (label) { c.setAttribute('role', 'img'); c.setAttribute('aria-label', label); }
  else c.setAttribute('aria-hidden', 'true');
  return c;
}
function begin(canvas) {
  const ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
    canvas.width = Math.round(w * ratio);
    canvas.height = Math.round(h * ratio);
  }
  const g = canvas.getContext('2d');
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, w, h);
  return g;
}
function ticks(lo, hi, log, room) {
  if (log) {
    const step = Math.ceil((hi - lo) / Math.max(1, room / 26)), out = [];
    for (let e = Math.ceil(lo - 1e-9); e <= hi + 1e-9; e += step) out.push(e);
    return out.map((e) => [e, e === 0 ? '1' : '10' + [...String(e)].map((c) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(c)]).join('')]);
  }
  const rough = (hi - lo) / Math.max(2, room / 58), unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((m) => m * unit >= rough * 0.999);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), out = [];
  for (let i = Math.ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9; ++i) {
    out.push([i * step, (i * step).toFixed(digits).replace('-', '−').replace(/^−(0\.?0*)$/, '$1')]);
  }
  return out;
}
// Draws the frame of a plot. On a log axis the range and the values are powers of ten. xTicks, yTicks: [value, text] of a plot's choice.
function axes(g, w, h, a) {
  const box = { l: 52, t: 8, r: w - 10, b: h - 38 };
  const X = (v) => box.l + (v - a.x[0]) / (a.x[1] - a.x[0]) * (box.r - box.l);
  const Y = (v) => box.b - (v - a.y[0]) / (a.y[1] - a.y[0]) * (box.b - box.t);
  g.font = '11.5px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  g.lineWidth = 1;
  g.strokeStyle = theme.grid;
  g.fillStyle = theme.muted;
  g.beginPath();
  g.textAlign = 'center';
  for (const [v, text] of a.xTicks ?? ticks(...a.x, a.logX, box.r - box.l)) {
    const p = Math.round(X(v)) + 0.5;
    g.moveTo(p, box.t); g.lineTo(p, box.b);
    g.fillText(text, Math.min(p, w - g.measureText(text).width / 2 - 1), box.b + 16);
  }
  g.textAlign = 'right';
  for (const [v, text] of a.yTicks ?? ticks(...a.y, a.logY, box.b - box.t)) {
    const p = Math.round(Y(v)) + 0.5;
    g.moveTo(box.l, p); g.lineTo(box.r, p);
    g.fillText(text, box.l - 6, p + 4);
  }
  g.stroke();
  g.strokeStyle = theme.frame;
  g.strokeRect(box.l + 0.5, box.t + 0.5, box.r - box.l, box.b - box.t);
  g.fillStyle = theme.ink;
  g.font = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  g.textAlign = 'center';
  g.fillText(a.xLabel, (box.l + box.r) / 2, h - 6);
  g.save();
  g.translate(12, (box.t + box.b) / 2);
  g.rotate(-Math.PI / 2);
  g.fillText(a.yLabel, 0, 0);
  g.restore();
  return { X, Y, box };
}
function clipTo(g, box) {
  g.beginPath();
  g.rect(box.l, box.t, box.r - box.l, box.b - box.t);
  g.clip();
}

function showTip(text, p) {
  const tip = $('tip');
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  tip.style.left = Math.max(4, Math.min(p.clientX + 14, innerWidth - tip.offsetWidth - 6)) + 'px';
  tip.style.top = (p.clientY + 14 + tip.offsetHeight > innerHeight ? p.clientY - tip.offsetHeight - 10 : p.clientY + 14) + 'px';
}

// ---- curves ----
const curve = Object.fromEntries(['efficiency', 'falseRate', 'purity'].map((k) => [k, unpack(Float32Array, scores[k])]));
const truth = curve.efficiency.length > 0;
const charts = {};
function line(g, points, colour, dash = []) {
  g.strokeStyle = colour;
  g.lineWidth = 2;
  g.setLineDash(dash);
  g.beginPath();
  for (const [x, y] of points) if (Number.isFinite(y)) g.lineTo(x, y);
  g.stroke();
  g.setLineDash([]);
}
// Draws a plot into the element of this id whenever the page is painted. Returns its canvas.
function chart(id, label, settings, paint) {
  const canvas = newCanvas($(id), label);
  charts[id] = () => {
    const g = begin(canvas), f = axes(g, canvas.clientWidth, canvas.clientHeight, settings);
    g.save();
    clipTo(g, f.box);
    paint(g, f);
    g.restore();
  };
  return canvas;
}
function stepsOf(f, counts, lo, hi, Y) {
  const x = (i) => f.X(lo + (hi - lo) * i / counts.length);
  const steps = counts.flatMap((n, i) => [[x(i), Y(n)], [x(i + 1), Y(n)]]);
  return [[f.box.l, f.box.b + 3], ...steps, [f.box.r, f.box.b + 3]];
}
function filled(g, points, colour, dash) {
  line(g, points, colour, dash);
  g.globalAlpha = 0.15;
  g.fillStyle = colour;
  g.fill();
  g.globalAlpha = 1;
}
// Draws where the cut is on a chart over the score.
function cutLine(g, f, cut) {
  line(g, [[f.X(cut / BINS), f.box.t], [f.X(cut / BINS), f.box.b]], theme.ink, [2, 3]);
}
// The charts of the scores of edges and of their ROC curve. cut(): the bin from which edges count. Returns the canvas of the scores.
function edgeCharts(cut) {
  const coarse = (counts) => Array.from({ length: 50 }, (_, i) => sum(counts.slice(i * BINS / 50, (i + 1) * BINS / 50)));
  const series = [['true', 'true edges', 'true', []], ['false', 'false edges', 'false', [5, 3]], ['all', truth ? 'edges without truth' : 'edges', 'accent', [1, 2]]]
    .map(([k, name, colour, dash]) => ({ name, colour, dash: truth ? dash : [], counts: coarse(scores[k]) }))
    .filter((s) => sum(s.counts) > 0);
  const top = Math.log10(Math.max(10, ...series.flatMap((s) => s.counts))) + 0.15;
  const canvas = chart('scores', 'Distribution of edge scores, ' + series.map((s) => `${whole(sum(s.counts))} ${s.name}`).join(', '),
    { x: [0, 1], y: [-0.3, top], logY: true, xLabel: 'edge score', yLabel: 'edges per 0.02' }, (g, f) => {
      for (const s of series) filled(g, stepsOf(f, s.counts, 0, 1, (n) => n ? f.Y(Math.log10(n)) : f.box.b + 3), theme[s.colour], s.dash);
      cutLine(g, f, cut());
    });
  for (const s of series) {
    const key = el('span', '', $('scorekey'));
    el('i', '', key, { className: s.dash.length ? 'dash' : '' }).style.setProperty('--c', `var(--${s.colour})`);
    key.append(s.name);
  }
  if (!truth) return canvas;
  const lowest = Math.min(...curve.falseRate.filter((v) => v > 0)), floor = Math.max(-6, Math.min(-2, Math.floor(Math.log10(lowest))));
  const U = (rate) => Math.max(floor - 1, Math.log10(rate));
  chart('roc', `ROC curve, area ${has(summary.edge_auc) ? summary.edge_auc.toFixed(4) : 'unknown'}`,
    { x: [floor, 0], y: [0, 1.03], logX: true, xLabel: 'false edges kept', yLabel: 'true edges kept' }, (g, f) => {
      line(g, Array.from({ length: 101 }, (_, i) => floor * (1 - i / 100)).map((u) => [f.X(u), f.Y(10 ** u)]), theme.frame, [4, 4]);
      line(g, Array.from(curve.efficiency, (v, i) => [f.X(U(curve.falseRate[i])), f.Y(v)]), theme.accent);
      g.fillStyle = theme.ink;
      g.beginPath();
      g.arc(Math.max(f.box.l + 1, f.X(U(curve.falseRate[cut()]))), f.Y(curve.efficiency[cut()]), 5, 0, 7);
      g.fill();
    });
  return canvas;
}

// ---- tables ----
// Tiles [name, how to show it, value]; those without a value are left out.
function buildTiles(tiles) {
  for (const [name, show, value] of tiles.filter((t) => has(t[2]))) {
    const tile = el('div', '', $('tiles'), { className: name === 'failed events' ? 'bad' : '' });
    el('dt', name, tile);
    el('dd', show(value), tile);
  }
}
// The rows of `names` in the order of the stages, those of summary.seconds.
function buildTimes(stages) {
  const s = summary, t = s.seconds || {};
  const names = { ...stages,
    all_stages: `all stages${s.threads > 1 ? `, summed over ${s.threads} threads` : ''}`, wall_clock: 'wall clock' };
  const isStage = (k) => k !== 'all_stages' && k !== 'wall_clock';
  const longest = Math.max(...Object.keys(names).filter(isStage).map((k) => t[k] || 0), 1e-12);
  for (const [k, name] of Object.entries(names)) {
    if (!has(t[k])) continue;
    const row = el('tr', '', $('time'), { className: k });
    el('th', name, row, { scope: 'row', colSpan: isStage(k) ? 1 : 2 });
    if (isStage(k)) el('i', '', el('td', '', row)).style.width = 100 * t[k] / longest + '%';
    el('td', seconds(t[k]), row);
  }
}
function buildServers(servers) {
  const failures = (s) => whole(s.failures) + (s.failures
    ? ` (${Object.entries(s.failures_by_code).map(([code, n]) => `code ${code}: ${whole(n)}`).join(', ')})` : '');
  const time = (v) => has(v) ? seconds(v) : '–';
  const state = (s) => s.is_gone ? ', gone' : s.is_suspect ? ', does not answer' : '';
  // Title, text, whether it is bad.
  const columns = [['server', (s) => s.server + state(s), (s) => s.is_suspect], ['requests', (s) => whole(s.requests)],
    ['failures', failures, (s) => s.failures > 0], ['retries', (s) => whole(s.retries)],
    ['sent', (s) => bytes(s.bytes_sent)], ['received', (s) => bytes(s.bytes_received)],
    ['round trip, median', (s) => time(s.latency_p50)], ['p99', (s) => time(s.latency_p99)],
    ['queue', (s) => time(s.queue)], ['compute', (s) => time(s.compute)]];
  const head = el('tr', '', el('thead', '', $('servers')));
  for (const [title] of columns) el('th', title, head, { scope: 'col' });
  const body = el('tbody', '', $('servers'));
  for (const s of servers) {
    const row = el('tr', '', body);
    columns.forEach(([, show, isBad], i) =>
      el(i ? 'td' : 'th', show(s), row, { className: isBad?.(s) ? 'bad' : '', ...(i ? {} : { scope: 'row' }) }));
  }
  $('service').hidden = !servers.length;
}
