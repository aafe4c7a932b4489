"use strict";
// Data lie packed in the page (base64 of gzip) and are unpacked when a part is opened.
async function unpackedText(element) {
  const bytes = Uint8Array.from(atob(element.textContent.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
const unpacked = async (element) => JSON.parse(await unpackedText(element));

const inTheDark = matchMedia("(prefers-color-scheme: dark)");
let printing = false;
const isDark = () => inTheDark.matches && !printing;

let vega = null;
function loaded() {
  vega ??= unpackedText(document.getElementById("vega")).then((code) => {
    const script = document.createElement("script");
    script.textContent = code;
    document.head.append(script);
    return window.vegaEmbed;
  });
  return vega;
}

let colours = null;
async function coloured(spec) {
  if (!isDark()) return spec;
  colours ??= unpacked(document.getElementById("colours"));
  const {datasets, data, description, ...drawn} = spec;
  const pairs = Object.entries(await colours);
  const text = pairs.reduce((found, [light, dark]) => found.replaceAll(light, dark), JSON.stringify(drawn));
  return {...JSON.parse(text), ...(datasets && {datasets}), ...(data && {data}), description};
}

function look() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  const [ink, quiet, line] = isDark() || !printing ? [of("--ink"), of("--quiet"), of("--line")] : ["#000", "#444", "#ccc"];
  const words = {labelColor: ink, titleColor: ink};
  return {
    background: "transparent",
    font: "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
    axis: {...words, gridColor: line, domainColor: quiet, tickColor: quiet, labelOverlap: true},
    legend: words, header: words, title: {color: ink, subtitleColor: quiet}, view: {stroke: line},
  };
}

// As many panels beside each other as there is room for; one alone is made narrower where it has to be.
const AROUND = 55;
const NARROWEST = 140;
const panelOf = (spec) => [spec.spec, spec].find((one) => one && typeof one.width === "number");
function fitted(spec, room) {
  const width = panelOf(spec)?.width ?? Math.max(0, ...(spec.concat || []).map((one) => one.width || 200));
  if (spec.columns && width) spec.columns = Math.max(1, Math.floor((room - 20) / (width + AROUND)));
  return spec;
}
// What came out too wide by so many pixels, with less beside each other or narrower; null where nothing more can go.
function narrower(spec, excess) {
  if (spec.columns > 1) return {...spec, columns: spec.columns - 1};
  const wide = [panelOf(spec), ...(spec.concat || [])].filter((one) => one?.width > NARROWEST);
  wide.forEach((panel) => (panel.width = Math.max(NARROWEST, panel.width - excess)));
  return wide.length ? spec : null;
}

class Folded {
  constructor(element) {
    this.element = element;
    this.content = null;
    this.views = new Map();
    element.addEventListener("toggle", () => element.open && this.open());
  }

  open() {
    this.content ??= unpacked(this.element.querySelector(":scope > script.packed")).then((content) => {
      const place = this.element.querySelector(".figures");
      if (place && content.figures) this.table = new Figures(place, content.figures, this.element.id);
      this.element.querySelectorAll("table.sortable").forEach(sortable);
      this.element.querySelectorAll(".picture").forEach((picture) => nearby.observe(picture));
      return content;
    });
    return this.content;
  }

  async draw(place) {
    const {pictures} = await this.open();
    const index = Number(place.dataset.picture);
    if (this.views.has(index)) return this.views.get(index);
    const drawn = this.drawn(place, structuredClone(pictures[index]));
    this.views.set(index, drawn);
    return drawn;
  }

  async drawn(place, spec) {
    const embed = await loaded();
    const room = place.clientWidth || this.element.clientWidth || document.querySelector("main").clientWidth - 60;
    const {description} = spec;
    place.classList.toggle("dark", isDark());
    const actions = {export: true, source: false, compiled: false, editor: false};
    const options = {actions, renderer: "svg", config: look()};
    let view = null;
    for (let next = fitted(spec, room); next; ) {
      view?.finalize();
      ({view} = await embed(place, await coloured(next), options));
      const excess = Number(place.querySelector("svg.marks").getAttribute("width")) - room;
      next = excess > 1 ? narrower(next, excess) : null;
    }
    for (const svg of place.querySelectorAll("svg.marks")) {
      svg.setAttribute("role", "img");
      svg.firstElementChild.setAttribute("aria-hidden", "true"); // one picture, not a thousand marks
      svg.setAttribute("aria-label", description);
    }
    place.querySelector("summary")?.setAttribute("aria-label", "Save this picture");
    const offered = Object.fromEntries((spec.params || []).map(({name, bind}) => [name, bind.options]));
    Object.keys(offered).forEach((name) => view.addSignalListener(name, (_, value) => this.follow(name, value, view)));
    return {view, offered};
  }

  // What is chosen in one picture is chosen in all that have it.
  async follow(name, value, chosen) {
    this.chosen = {...this.chosen, [name]: value};
    for (const drawn of this.views.values()) {
      const {view, offered} = await drawn;
      if (view !== chosen && offered[name]?.includes(value) && view.signal(name) !== value) view.signal(name, value).runAsync();
    }
  }

  async drawAll() {
    await this.open();
    await Promise.all([...this.element.querySelectorAll(".picture")].map((place) => this.draw(place)));
  }

  async again() {
    const places = [...this.views.keys()].map((index) => this.element.querySelector(`[data-picture="${index}"]`));
    for (const drawn of this.views.values()) (await drawn).view.finalize();
    this.views.clear();
    await Promise.all(places.map((place) => this.draw(place)));
  }
}

const shown = (value) => (value === null ? "" : typeof value === "number" ? String(value).replace("-", "\u2212") : value);

// The table of all figures of an instrument: made when it is opened, sorted by its headings, saved as CSV.
class Figures {
  constructor(place, {columns, rows}, name) {
    Object.assign(this, {columns, rows: rows.map((row, index) => ({row, id: `${name}--${index}`})), name});
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    columns.forEach((column, index) => head.append(heading(column, (up) => this.sort(index, up))));
    this.body = table.createTBody();
    place.append(table);
    this.fill();
  }

  fill() {
    const lines = this.rows.map(({row, id}) => {
      const line = document.createElement("tr");
      line.id = id;
      line.tabIndex = -1;
      row.forEach((value) => {
        const cell = line.insertCell();
        cell.textContent = shown(value);
        if (typeof value === "number") cell.className = "number";
      });
      return line;
    });
    this.body.replaceChildren(...lines);
  }

  sort(index, up) {
    this.rows.sort((a, b) => (up ? 1 : -1) * ordered(a.row[index], b.row[index]));
    this.fill();
  }

  // A text that a spreadsheet would compute gets an apostrophe.
  csv() {
    const plain = (value) => (typeof value === "string" ? value.replace(/^(?=[=+\-@\t\r])/, "'") : String(value ?? ""));
    const quoted = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    const lines = [this.columns, ...this.rows.map(({row}) => row)];
    return lines.map((line) => line.map((value) => quoted(plain(value))).join(",")).join("\n") + "\n";
  }
}

// Nothing comes last, numbers by size, words by the alphabet.
function ordered(a, b) {
  const none = (value) => value === null || value === "";
  if (none(a) || none(b)) return none(a) - none(b);
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});
}

function heading(text, sort) {
  const cell = document.createElement("th");
  const button = document.createElement("button");
  cell.scope = "col";
  button.type = "button";
  button.textContent = text;
  button.addEventListener("click", () => {
    const up = cell.getAttribute("aria-sort") !== "ascending";
    cell.parentElement.querySelectorAll("[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
    cell.setAttribute("aria-sort", up ? "ascending" : "descending");
    sort(up);
  });
  cell.append(button);
  return cell;
}

function sortable(table) {
  if (table.querySelector("[colspan]") || table.tBodies[0].rows.length < 3) return;
  [...table.tHead.rows[0].cells].forEach((cell, index) => {
    if (cell.tagName !== "TH") return;
    const value = (row) => {
      const text = row.cells[index].textContent.trim();
      const number = /^[<\u2212-]?\s*\d[\d,]*\.?\d*/.exec(text);
      return number ? Number(number[0].replace(/[,<\s]/g, "").replace("\u2212", "-")) : text;
    };
    const sort = (up) => {
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => (up ? 1 : -1) * ordered(value(a), value(b)));
      table.tBodies[0].append(...rows);
    };
    cell.replaceWith(heading(cell.textContent, sort));
  });
}

function save(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const parts = new Map([...document.querySelectorAll("details.folded")].map((one) => [one.id, new Folded(one)]));
const nearby = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach(({target}) => {
  nearby.unobserve(target);
  parts.get(target.closest("details").id).draw(target);
}), {rootMargin: "400px"});

// A link to an instrument opens it, one to a figure also brings its row.
async function lead() {
  const aim = decodeURIComponent(location.hash.slice(1));
  const part = parts.get(aim) || parts.get(aim.replace(/--\d+$/, ""));
  if (!part) return;
  part.element.open = true;
  await part.open();
  document.querySelectorAll(".aim").forEach((row) => row.classList.remove("aim"));
  const row = document.getElementById(aim);
  if (row === null) return;
  row.scrollIntoView({block: row === part.element ? "start" : "center"});
  if (row !== part.element) row.classList.add("aim");
  (row === part.element ? row.querySelector("summary") : row).focus({preventScroll: true});
}
addEventListener("hashchange", lead);
lead();

const status = document.getElementById("status");
async function openAll() {
  status.textContent = "Drawing the pictures \u2026";
  parts.forEach(({element}) => (element.open = true));
  await Promise.all([...parts.values()].map((part) => part.drawAll()));
  status.textContent = "";
}
document.querySelector(".actions").hidden = false;
document.getElementById("open-all").addEventListener("click", openAll);
document.getElementById("close-all").addEventListener("click", () => parts.forEach(({element}) => (element.open = false)));
document.getElementById("print-all").addEventListener("click", printAll);
document.addEventListener("click", ({target}) => {
  if (target.matches(".save")) save(parts.get(target.dataset.name).table.csv(), `${target.dataset.name}.csv`);
  // The same number asked for again: the address does not change.
  const link = target.closest('a[href^="#"]');
  if (link && link.hash === location.hash) lead();
});
inTheDark.addEventListener("change", () => printing || parts.forEach((part) => part.again()));

// A browser that prints does not wait for what has yet to be unpacked and drawn. So the button and the keys draw first;
// what a browser's own menu prints undrawn is named on paper by the style sheet.
const unfolded = [];
function unfold() {
  printing = true;
  const closed = document.querySelectorAll("details:not([open], .vega-embed details)");
  closed.forEach((one) => (one.open = true));
  unfolded.push(...closed);
}
function printed() {
  const redrawn = isDark();
  printing = false;
  unfolded.splice(0).forEach((one) => (one.open = false));
  if (isDark() !== redrawn) parts.forEach((part) => part.again());
}
async function printAll() {
  if (printing) return;
  unfold();
  try {
    if (inTheDark.matches) await Promise.all([...parts.values()].map((part) => part.again()));
    await openAll();
  } catch (error) {
    printed();
    throw error;
  }
  window.print();
}
addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "p" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  event.preventDefault();
  printAll();
});
addEventListener("beforeprint", unfold);
addEventListener("afterprint", printed);
