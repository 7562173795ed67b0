// What the page of a report does: a table of all labels, to sort, to search and to filter, and one label at a time.
//
// All figures are in the page, packed. Names of labels are data: they are only ever put into text nodes, never read as
// HTML. The first part below unpacks, the second knows the labels, the third the table, the fourth shows one label.

/* ---- Unpacking ---- */

const LINE_FEED = 10;
const ALIGNED = 8; // bytes

const byId = (id) => document.getElementById(id);
const textOf = (bytes) => new TextDecoder().decode(bytes);

// The columns that a script element holds: base64 of what was deflated, a line of JSON that describes the columns, and
// then these.
async function unpacked(id) {
  const letters = atob(byId(id).textContent);
  const deflated = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k += 1) {
    deflated[k] = letters.charCodeAt(k);
  }
  const inflated = new Blob([deflated]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(inflated).arrayBuffer());

  const lineEnd = bytes.indexOf(LINE_FEED) + 1;
  const start = Math.ceil(lineEnd / ALIGNED) * ALIGNED;
  const types = { Uint8Array, Uint16Array, Uint32Array, Float32Array };
  const columns = {};
  for (const [name, column] of Object.entries(JSON.parse(textOf(bytes.subarray(0, lineEnd))))) {
    columns[name] = new types[column.type](bytes.buffer, start + column.start, column.length);
  }
  return columns;
}

/* ---- Labels ---- */

const UNKNOWN = 65535; // in place of NaN among thousandths
const FROM_0_TO_1 = ["f_low", "f_high", "best_f", "auroc", "bar", "f_out_of_fold"];

// All labels, a column each; a label is its position.
function labelsOf(packed) {
  const facts = JSON.parse(textOf(packed.facts));
  const names = textOf(packed.name).split("\0");
  const columns = {
    ...packed,
    name: names,
    wrong: packed.predicted.map((marked, j) => marked - packed.tp[j]),
    precision: Float64Array.from(packed.tp, (tp, j) => tp / packed.predicted[j]),
    recall: Float64Array.from(packed.tp, (tp, j) => tp / packed.positives[j]),
    f: Float64Array.from(packed.tp, (tp, j) => fOf(tp, packed.predicted[j], packed.positives[j], facts.beta)),
  };
  for (const name of FROM_0_TO_1) {
    columns[name] = Float64Array.from(packed[name], (figure) => (figure === UNKNOWN ? NaN : figure / 1000));
  }
  return {
    ...facts,
    columns,
    size: names.length,
    lowerCased: names.map((name) => name.toLowerCase()),
    firstNumbers: firstNumbersOf(packed.form, facts.forms),
  };
}

// F-beta of counts: NaN where nothing is marked and nothing true.
function fOf(tp, predicted, positives, beta) {
  const squared = beta * beta;
  return ((1 + squared) * tp) / (squared * positives + predicted);
}

// Numbers of sentences are kept by form: for each number of the form, that of each of its sentences, one after another.
// Of each label: where its first number is, and how far apart its numbers are.
function firstNumbersOf(formOf, forms) {
  const nSentences = new Uint32Array(forms.length);
  const rank = new Uint32Array(formOf.length); // of a label among those of its form
  formOf.forEach((form, j) => {
    rank[j] = nSentences[form];
    nSentences[form] += 1;
  });
  const start = new Uint32Array(forms.length + 1);
  forms.forEach((parts, form) => {
    const nNumbers = parts.filter((part) => typeof part === "number").length;
    start[form + 1] = start[form] + nNumbers * nSentences[form];
  });
  return (j) => ({ first: start[formOf[j]] + rank[j], apart: nSentences[formOf[j]] });
}

// The sentence on a label: its form, with the label's name and numbers in their places.
function sentenceOf(labels, j) {
  let { first: place, apart } = labels.firstNumbers(j);
  const texts = labels.forms[labels.columns.form[j]].map((part) => {
    if (part === null) {
      return labels.columns.name[j];
    }
    if (typeof part === "string") {
      return part;
    }
    if (Array.isArray(part)) {
      const [first, last] = part;
      const characters = Array.from(labels.columns.name[j]);
      return `${characters.slice(0, first).join("")}...${characters.slice(characters.length - last).join("")}`;
    }
    const number = labels.columns.number[place];
    place += apart;
    return withDecimals(number, part);
  });
  return texts.join("");
}

/* ---- Numbers as text ---- */

const NOTHING = "–"; // in place of NaN

// A count with separators.
function count(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",");
}

// A number that is kept without its point: 123450 with 2 decimals is 1,234.50.
function withDecimals(number, decimals) {
  const unit = 10 ** decimals;
  const whole = count(Math.floor(number / unit));
  return decimals ? `${whole}.${String(number % unit).padStart(decimals, "0")}` : whole;
}

function figure(value) {
  return Number.isNaN(value) ? NOTHING : value.toFixed(3);
}

function ofHundred(share) {
  return Number.isNaN(share) ? NOTHING : count(100 * share);
}

// A share in two digits; one near all is not rounded to that.
function percent(share) {
  const rounded = Number((100 * share).toPrecision(2));
  return `${rounded === 100 && share < 1 ? "> 99" : rounded}\u00a0%`;
}

// A confidence in per cent, unrounded.
function level(confidence) {
  return `${Number((100 * confidence).toPrecision(10))}\u00a0%`;
}

// A threshold in so many digits, without zeros at the end; one that no score reaches never marks a row.
function score(value, digits) {
  if (Number.isNaN(value)) {
    return NOTHING;
  }
  if (!Number.isFinite(value)) {
    return value > 0 ? "never" : "always";
  }
  return String(Number(value.toPrecision(digits)));
}

/* ---- Which labels the table shows, and in which order ---- */

const WORDS = ["trust", "verdict", "state"]; // columns of words, each a place in `labels.words`

// All labels by a column, NaN last; of equal ones, the most marked first, then in the order of the rule.
function ordered(labels, column, direction) {
  const values = column === "name" ? placesByName(labels) : labels.columns[column];
  const marked = labels.columns.predicted;
  const order = Uint32Array.from({ length: labels.size }, (_, j) => j);
  return order.sort((a, b) => {
    const [isNothingA, isNothingB] = [Number.isNaN(values[a]), Number.isNaN(values[b])];
    if (isNothingA || isNothingB) {
      return isNothingA - isNothingB || marked[b] - marked[a] || a - b;
    }
    return direction * (values[a] - values[b]) || marked[b] - marked[a] || a - b;
  });
}

// The place of each label if all are put in the order of their names; found once.
function placesByName(labels) {
  if (!labels.places) {
    const collator = new Intl.Collator("en", { numeric: true });
    const names = labels.columns.name;
    const order = names.map((_, j) => j).sort((a, b) => collator.compare(names[a], names[b]));
    labels.places = new Uint32Array(labels.size);
    order.forEach((j, place) => {
      labels.places[j] = place;
    });
  }
  return labels.places;
}

// Those labels of an order whose name has all words of a text, and that have the chosen words ("" for any).
function chosen(labels, order, text, wanted) {
  const parts = text.toLowerCase().split(/\s+/).filter(Boolean);
  const places = WORDS.filter((column) => wanted[column]).map((column) => [
    labels.columns[column],
    labels.words[column].indexOf(wanted[column]),
  ]);
  return order.filter(
    (j) =>
      places.every(([column, place]) => column[j] === place) &&
      parts.every((part) => labels.lowerCased[j].includes(part)),
  );
}

/* ---- The table: only those rows exist that are seen, and a few above and below ---- */

const MORE_ROWS = 6; // above and below those that are seen
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function drawn(name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  made.textContent = text;
  return made;
}

function nameOf(labels, j) {
  return labels.columns.name[j] || "(no name)";
}

// The state of a label, nothing if it is not remarkable.
function stateOf(labels, j) {
  const word = labels.words.state[labels.columns.state[j]];
  return word === labels.unremarkable ? "" : word;
}

// A word with the colour and the shape of the label's group.
function sign(labels, j, word) {
  return element("span", { class: `sign ${labels.words.trust[labels.columns.trust[j]]}` }, word);
}

// The bounds of a label's F as a stroke from 0 to 1, with F as a tick.
function boundsOf(labels, j) {
  const { f, f_low: low, f_high: high } = labels.columns;
  const svg = drawn("svg", { class: "spread", viewBox: "0 0 100 10", preserveAspectRatio: "none" });
  svg.append(drawn("path", { class: "axis", d: "M0 5H100" }));
  if (!Number.isNaN(low[j])) {
    svg.append(drawn("path", { class: "interval", d: `M${100 * low[j]} 5H${100 * high[j]}` }));
  }
  if (!Number.isNaN(f[j])) {
    svg.append(drawn("path", { class: "value", d: `M${100 * f[j]} 0V10` }));
  }
  return svg;
}

// What a cell of each column holds.
const CELLS = {
  name: (labels, j) => element("bdi", {}, nameOf(labels, j)),
  verdict: (labels, j) => sign(labels, j, labels.words.verdict[labels.columns.verdict[j]]),
  state: (labels, j) => stateOf(labels, j),
  positives: (labels, j) => count(labels.columns.positives[j]),
  predicted: (labels, j) => count(labels.columns.predicted[j]),
  wrong: (labels, j) => count(labels.columns.wrong[j]),
  precision: (labels, j) => ofHundred(labels.columns.precision[j]),
  recall: (labels, j) => ofHundred(labels.columns.recall[j]),
  f: (labels, j) => figure(labels.columns.f[j]),
  f_low: boundsOf,
  auroc: (labels, j) => figure(labels.columns.auroc[j]),
};

class LabelTable {
  #labels;
  #table = byId("labels");
  #scroll = byId("scroll");
  #head = this.#table.tHead.rows[0];
  #above = gap();
  #below = gap();
  #rows = [];
  #rowHeight = 0;
  #order;
  #shown;
  #active = 0; // the place among those shown that the arrow keys move
  #open;

  // `open` is called with the place of a label among those shown.
  constructor(labels, open) {
    this.#labels = labels;
    this.#open = open;
    this.#scroll.addEventListener("scroll", () => this.#draw(), { passive: true });
    new ResizeObserver(() => this.#fit()).observe(this.#scroll);
    this.#table.addEventListener("keydown", (event) => this.#key(event));
    this.#table.tBodies[0].addEventListener("click", (event) => this.#click(event));
    for (const cell of this.#head.cells) {
      cell.firstElementChild.addEventListener("click", () => this.#sortBy(cell));
    }
    for (const column of WORDS) {
      this.#offer(column);
    }
    byId("search").addEventListener("input", () => this.#choose());
    byId("search").form.addEventListener("submit", (event) => event.preventDefault());
    this.#order = ordered(labels, "verdict", 1);
    this.#mark(this.#head.querySelector('[data-column="verdict"]'), 1);
    this.#choose();
  }

  get shown() {
    return this.#shown;
  }

  // Move to a place among those shown, and have it in sight.
  activate(place) {
    this.#active = Math.max(0, Math.min(place, this.#shown.length - 1));
    const headHeight = this.#head.getBoundingClientRect().height;
    const top = this.#active * this.#rowHeight;
    const seen = this.#scroll.clientHeight - headHeight;
    const lowest = Math.max(0, top + this.#rowHeight - seen);
    this.#scroll.scrollTop = Math.max(lowest, Math.min(this.#scroll.scrollTop, top));
    this.#draw();
  }

  // Offer the words that occur in a column.
  #offer(column) {
    const select = byId(column);
    const occurring = new Set(this.#labels.columns[column]);
    this.#labels.words[column].forEach((word, place) => {
      if (occurring.has(place)) {
        const title = this.#labels.titles[word] ?? word;
        select.append(element("option", { value: word, title: this.#labels.meanings[word] }, title));
      }
    });
    select.addEventListener("change", () => this.#choose());
  }

  // Sort by the column of a cell of the head: names and words from the first on, numbers from the largest; then turn.
  #sortBy(cell) {
    const first = cell.classList.contains("text") ? "ascending" : "descending";
    const sorted = cell.getAttribute("aria-sort");
    const direction = (sorted === null ? first === "ascending" : sorted === "descending") ? 1 : -1;
    this.#order = ordered(this.#labels, cell.dataset.column, direction);
    this.#mark(cell, direction);
    this.#choose();
  }

  #mark(sorted, direction) {
    for (const cell of this.#head.cells) {
      cell.removeAttribute("aria-sort");
    }
    sorted.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
  }

  // Show the labels that were asked for, from the first on.
  #choose() {
    const wanted = Object.fromEntries(WORDS.map((column) => [column, byId(column).value]));
    this.#shown = chosen(this.#labels, this.#order, byId("search").value, wanted);
    byId("found").value = `${count(this.#shown.length)} of ${count(this.#labels.size)} labels`;
    this.#table.setAttribute("aria-rowcount", this.#shown.length + 1);
    this.#scroll.scrollTop = 0;
    this.#active = 0;
    this.#fit();
  }

  // Have as many rows as can be seen, or as there are labels if these are fewer.
  #fit() {
    this.#rowHeight = this.#measured();
    // Fewer labels than would fit make the table lower; a search does not, so that what is below stays where it is.
    const whole = this.#head.getBoundingClientRect().height + this.#labels.size * this.#rowHeight + 2;
    this.#scroll.style.setProperty("--whole", `${whole}px`);
    const seen = Math.ceil(this.#scroll.clientHeight / this.#rowHeight);
    const n = Math.min(this.#shown.length, seen + 2 * MORE_ROWS);
    if (n !== this.#rows.length) {
      this.#rows = Array.from({ length: n }, () => rowOf(this.#head.cells));
      this.#table.tBodies[0].replaceChildren(this.#above, ...this.#rows, this.#below);
    }
    this.#draw();
  }

  // How high a row is, in pixels.
  #measured() {
    const row = this.#rows[0] ?? rowOf(this.#head.cells);
    if (!row.isConnected) {
      this.#table.tBodies[0].append(row);
    }
    const { height } = row.getBoundingClientRect();
    if (!this.#rows.length) {
      row.remove();
    }
    return height;
  }

  // Fill the rows with the labels that are in sight.
  #draw() {
    const atTop = Math.floor(this.#scroll.scrollTop / this.#rowHeight) - MORE_ROWS;
    const nHidden = this.#shown.length - this.#rows.length;
    const first = Math.max(0, Math.min(atTop, nHidden));
    this.#above.firstChild.style.height = `${first * this.#rowHeight}px`;
    this.#below.firstChild.style.height = `${(nHidden - first) * this.#rowHeight}px`;
    this.#rows.forEach((row, k) => this.#fill(row, first + k));
    if (this.#rows.length) {
      this.#table.setAttribute("aria-activedescendant", `row-${this.#active}`);
    } else {
      this.#table.removeAttribute("aria-activedescendant");
    }
  }

  #fill(row, place) {
    const j = this.#shown[place];
    row.id = `row-${place}`;
    row.setAttribute("aria-rowindex", place + 2); // The head is the first row.
    row.classList.toggle("active", place === this.#active);
    if (row.dataset.shown === String(j)) {
      return;
    }
    row.dataset.shown = j;
    row.title = nameOf(this.#labels, j);
    for (const cell of row.cells) {
      cell.replaceChildren(CELLS[cell.dataset.column](this.#labels, j));
    }
  }

  #click(event) {
    const row = event.target.closest("tr[aria-rowindex]");
    if (row) {
      this.#active = Number(row.getAttribute("aria-rowindex")) - 2;
      this.#draw();
      this.#open(this.#active);
    }
  }

  #key(event) {
    if (event.target !== this.#table || event.ctrlKey || event.metaKey || event.altKey) {
      return; // A button of the head has the focus, or the browser is meant.
    }
    const aPage = Math.max(1, Math.floor(this.#scroll.clientHeight / this.#rowHeight) - 2);
    const moves = {
      ArrowDown: this.#active + 1,
      ArrowUp: this.#active - 1,
      PageDown: this.#active + aPage,
      PageUp: this.#active - aPage,
      Home: 0,
      End: this.#shown.length - 1,
    };
    if (event.key in moves) {
      this.activate(moves[event.key]);
    } else if ((event.key === "Enter" || event.key === " ") && this.#shown.length) {
      this.#open(this.#active);
    } else {
      return;
    }
    event.preventDefault();
  }
}

// A row without cells of its own, as high as the labels that do not exist as rows.
function gap() {
  return element("tr", { class: "gap", role: "presentation" }, element("td", { role: "presentation" }));
}

// An empty row, its cells of the same kinds as those of the head.
function rowOf(heads) {
  const cells = Array.from(heads, (head) =>
    element("td", { class: head.className, "data-column": head.dataset.column }),
  );
  return element("tr", { "aria-rowindex": 0 }, ...cells);
}

/* ---- One label: its sentence, its curve and its figures ---- */

// The curves that are in the page, by label; unpacked when one is first wanted.
async function curvesOf() {
  if (!byId("packed-curves").textContent) {
    return new Map();
  }
  const packed = await unpacked("packed-curves");
  const curves = new Map();
  let first = 0;
  packed.label.forEach((j, k) => {
    const last = first + packed.n_points[k];
    curves.set(j, {
      threshold: packed.threshold.subarray(first, last),
      predicted: added(packed.more_predicted.subarray(first, last)),
      tp: added(packed.more_tp.subarray(first, last)),
    });
    first = last;
  });
  return curves;
}

// Each value with all before it added.
function added(rises) {
  let sum = 0;
  return Float64Array.from(rises, (rise) => (sum += rise));
}

class LabelView {
  #labels;
  #curves = null;
  #dialog = byId("label");
  #slider = this.#dialog.querySelector("input");
  #chart = null;
  #label = 0;
  #place = -1; // among those that the table shows, -1 if it does not show the label
  table = null;

  constructor(labels) {
    this.#labels = labels;
    byId("previous").addEventListener("click", () => this.#step(-1));
    byId("next").addEventListener("click", () => this.#step(1));
    byId("close").addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("keydown", (event) => this.#key(event));
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) {
        this.#dialog.close(); // beside it
      }
    });
    this.#slider.addEventListener("input", () => this.#choosePoint());
    new ResizeObserver(() => this.#chart?.draw()).observe(byId("label-curve"));
  }

  openLabel(j) {
    this.#show(j, this.table.shown.indexOf(j));
  }

  openPlace(place) {
    this.#show(this.table.shown[place], place);
  }

  #step(by) {
    const place = this.#place + by;
    if (this.#place >= 0 && place >= 0 && place < this.table.shown.length) {
      this.table.activate(place);
      this.openPlace(place);
    }
  }

  #key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by && event.target !== this.#slider) {
      this.#step(by);
      event.preventDefault();
    }
  }

  async #show(j, place) {
    const labels = this.#labels;
    this.#label = j;
    this.#place = place;
    delete this.#dialog.dataset.shown;
    byId("previous").disabled = place <= 0;
    byId("next").disabled = place < 0 || place === this.table.shown.length - 1;
    byId("label-name").firstElementChild.textContent = nameOf(labels, j);
    byId("label-sentence").textContent = sentenceOf(labels, j);
    byId("label-signs").replaceChildren(...signsOf(labels, j));
    byId("label-figures").replaceChildren(
      ...figuresOf(labels, j).map(([term, value]) =>
        element("div", {}, element("dt", {}, term), element("dd", {}, value)),
      ),
    );
    if (!this.#dialog.open) {
      this.#dialog.showModal();
      byId("close").focus();
    }
    this.#dialog.scrollTop = 0;

    this.#curves ??= curvesOf();
    const curve = (await this.#curves).get(j);
    if (this.#label !== j) {
      return; // Another one was opened in the meantime.
    }
    byId("label-curve").hidden = !curve;
    byId("without-curve").hidden = Boolean(curve);
    this.#chart = curve ? new Chart(byId("label-curve").querySelector("svg"), labels, j, curve) : null;
    if (curve) {
      this.#slider.max = curve.predicted.length - 1;
      this.#slider.value = this.#chart.nearest(labels.columns.predicted[j]);
      this.#chart.draw();
      this.#dialog.querySelector("output").value = this.#chart.ofRule();
    }
    this.#dialog.dataset.shown = "";
  }

  #choosePoint() {
    const point = Number(this.#slider.value);
    this.#chart.point = point;
    this.#chart.draw();
    const text = this.#chart.ofPoint(point);
    this.#dialog.querySelector("output").value = text;
    this.#slider.setAttribute("aria-valuetext", text);
  }
}

// The words on a label, with what they mean.
function signsOf(labels, j) {
  const verdict = labels.words.verdict[labels.columns.verdict[j]];
  const state = stateOf(labels, j);
  const lines = [[sign(labels, j, verdict), `: ${labels.meanings[verdict]}`]];
  if (state) {
    lines.push([`${state}: ${labels.meanings[state]}`]);
  }
  return lines.map((line) => element("span", { class: "meaning" }, ...line));
}

// Terms and values of one label.
function figuresOf(labels, j) {
  const at = (column) => labels.columns[column][j];
  const f = `F${labels.beta}`;
  const bounds = Number.isNaN(at("f_low")) ? "" : ` (${figure(at("f_low"))} to ${figure(at("f_high"))})`;
  const share = percent(at("positives") / labels.n_samples);
  const figures = [
    ["Rows that truly are", `${count(at("positives"))} of ${count(labels.n_samples)} (${share})`],
    ["Rows marked", count(at("predicted"))],
    ["of which right", count(at("tp"))],
    ["of which wrong", count(at("wrong"))],
    ["Right, of 100 marked (precision)", ofHundred(at("precision"))],
    ["Marked, of 100 true (recall)", ofHundred(at("recall"))],
    [`${f} (${level(labels.confidence)} bounds)`, `${figure(at("f"))}${bounds}`],
    [`${f} from which a label is good enough`, figure(at("bar"))],
    [`${f} of decisions out of fold`, figure(at("f_out_of_fold"))],
    ["Highest F1 of any threshold here", figure(at("best_f"))],
    ["AUROC", figure(at("auroc"))],
    ["Threshold", score(at("threshold"), 4)],
  ];
  return figures.filter(([, value]) => value !== NOTHING);
}

/* ---- The curve of a label: F, precision and recall against how many rows are marked ---- */

const NEAR = 1.05; // the lines are drawn at numbers of marks of which none is larger than this times the one before
const MARGIN = { left: 32, right: 12, top: 8, bottom: 48 };

class Chart {
  #svg;
  #labels;
  #j;
  #curve;
  #f;
  #line;
  point = null; // the point that was chosen, if any

  constructor(svg, labels, j, curve) {
    this.#svg = svg;
    this.#labels = labels;
    this.#j = j;
    this.#curve = curve;
    const positives = labels.columns.positives[j];
    this.#f = curve.tp.map((tp, k) => fOf(tp, curve.predicted[k], positives, labels.beta));
    this.#line = lineOf(curve);
  }

  // The point at which most nearly so many rows are marked.
  nearest(predicted) {
    const far = this.#curve.predicted.map((marked) => Math.abs(marked - predicted));
    return far.indexOf(Math.min(...far));
  }

  // What marking the rows down to a point does, in words.
  ofPoint(k) {
    const { threshold, predicted, tp } = this.#curve;
    const f = `F${this.#labels.beta} ${figure(this.#f[k])}`;
    return `Rows with a score of ${score(threshold[k], 3)} or more: ${count(predicted[k])}, of which ${count(tp[k])} truly are; ${f}`;
  }

  // The same of the rule.
  ofRule() {
    const { predicted, tp, f } = this.#labels.columns;
    const j = this.#j;
    const who = this.#labels.by_folds ? "Rules that had not seen the row mark" : "The rule marks";
    return `${who} ${count(predicted[j])}, of which ${count(tp[j])} truly are; F${this.#labels.beta} ${figure(f[j])}`;
  }

  // Draw in the size that there is.
  draw() {
    const { width, height } = this.#svg.getBoundingClientRect();
    if (!width) {
      return;
    }
    const nSamples = this.#labels.n_samples;
    const inner = width - MARGIN.left - MARGIN.right;
    const x = (marked) => MARGIN.left + (inner * Math.log(Math.max(marked, 1))) / Math.log(Math.max(nSamples, 2));
    const y = (share) => MARGIN.top + (height - MARGIN.top - MARGIN.bottom) * (1 - share);
    this.#svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.#svg.replaceChildren(...this.#axes(x, y), ...this.#lines(x, y), ...this.#marks(x, y));
  }

  #axes(x, y) {
    const nSamples = this.#labels.n_samples;
    const parts = [];
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      parts.push(
        drawn("path", { class: "grid", d: `M${x(1)} ${y(share)}H${x(nSamples)}` }),
        drawn("text", { x: MARGIN.left - 6, y: y(share) + 4, "text-anchor": "end" }, String(share)),
      );
    }
    // Below each power of ten, about the score from which on so many rows are marked.
    for (let marked = 1; marked <= nSamples; marked *= 10) {
      const at = x(marked);
      const anchor = { x: at, "text-anchor": at < x(1) + 20 ? "start" : at > x(nSamples) - 20 ? "end" : "middle" };
      const from = score(this.#scoreAt(marked), 2);
      parts.push(
        drawn("path", { class: "grid", d: `M${at} ${y(0)}V${y(1)}` }),
        drawn("text", { ...anchor, y: y(0) + 16 }, count(marked)),
        drawn("text", { ...anchor, y: y(0) + 31 }, from === NOTHING ? "" : `≈ ${from}`),
      );
    }
    return parts;
  }

  // The score from which on so many rows are marked, by a line between two points of the curve; NaN beyond its ends.
  #scoreAt(marked) {
    const { predicted, threshold } = this.#curve;
    const k = predicted.findIndex((number) => number >= marked);
    if (k < 0 || (k === 0 && predicted[0] > marked)) {
      return NaN;
    }
    const [left, right] = [Math.max(k - 1, 0), k];
    const part = k === 0 ? 0 : Math.log(marked / predicted[left]) / Math.log(predicted[right] / predicted[left]);
    return threshold[left] + part * (threshold[right] - threshold[left]);
  }

  #lines(x, y) {
    const positives = this.#labels.columns.positives[this.#j];
    const bar = this.#labels.columns.bar[this.#j];
    const line = (kind, shareOf) => {
      const points = this.#line.map(([marked, right]) => `${x(marked).toFixed(1)} ${y(shareOf(marked, right)).toFixed(1)}`);
      return drawn("path", { class: kind, d: `M${points.join("L")}` });
    };
    const parts = [line("precision", (marked, right) => right / marked)];
    if (positives) {
      parts.push(line("recall", (marked, right) => right / positives));
    }
    parts.push(line("f", (marked, right) => fOf(right, marked, positives, this.#labels.beta)));
    if (!Number.isNaN(bar)) {
      parts.push(drawn("path", { class: "bar-of-f", d: `M${x(1)} ${y(bar)}H${x(this.#labels.n_samples)}` }));
    }
    return parts;
  }

  // Where the rule is, with the bounds of its F, and the point that was chosen.
  #marks(x, y) {
    const { predicted, f, f_low: low, f_high: high } = this.#labels.columns;
    const j = this.#j;
    const parts = [];
    if (this.point !== null) {
      const at = x(this.#curve.predicted[this.point]);
      parts.push(drawn("path", { class: "chosen", d: `M${at} ${y(0)}V${y(1)}` }));
    }
    if (predicted[j] > 0) {
      const at = x(predicted[j]);
      if (!Number.isNaN(low[j])) {
        parts.push(drawn("path", { class: "of-rule", d: `M${at} ${y(low[j])}V${y(high[j])}` }));
      }
      parts.push(drawn("circle", { class: "of-rule", cx: at, cy: y(f[j]), r: 5 }));
    }
    return parts;
  }
}

// Where lines go: the marks and true positives of each point of a curve and, between two points that are far apart, of
// numbers of marks in between. There, true positives are taken to grow evenly; below the last of them that is exact.
function lineOf({ predicted, tp }) {
  const line = [[predicted[0], tp[0]]];
  for (let k = 1; k < predicted.length; k += 1) {
    const [from, to] = [predicted[k - 1], predicted[k]];
    for (let marked = from * NEAR; marked * NEAR < to; marked *= NEAR) {
      line.push([marked, tp[k - 1] + ((tp[k] - tp[k - 1]) * (marked - from)) / (to - from)]);
    }
    line.push([to, tp[k]]);
  }
  return line;
}

/* ---- Start ---- */

async function start() {
  if (!("DecompressionStream" in window)) {
    return; // The page says already which browsers show the table.
  }
  const labels = labelsOf(await unpacked("packed-labels"));
  const view = new LabelView(labels);
  byId("without-table").hidden = true;
  byId("browser").hidden = false;
  view.table = new LabelTable(labels, (place) => view.openPlace(place));
  for (const name of document.querySelectorAll("bdi[data-label]")) {
    const button = element("button", { type: "button", class: "opens" });
    button.append(...name.childNodes);
    button.addEventListener("click", () => view.openLabel(Number(name.dataset.label)));
    name.append(button);
  }
  byId("labels").setAttribute("aria-busy", "false");
  performance.mark("labels are shown");
}

await start();
