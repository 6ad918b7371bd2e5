// The page of `dphist form`: it reads the answers, finds their numbers, and writes the command.

const { kinds, numbers } = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);
const all = (selector) => [...document.querySelectorAll(selector)];
const chosen = (name) => document.querySelector(`input[name="${name}"]:checked`).value;
const nameOf = (field) => field.labels[0].textContent;
const isShown = (field) => !field.closest("[hidden]");
const writeNumber = (number) => number.toLocaleString("en-US", { maximumFractionDigits: 4 });

class Fault extends Error {}

// Columns of the pasted line; null without one.
let columns = null;

// ---- Texts

// What a shell, a configuration or a reader could take for something else.
const UNSAFE = /[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

function readText(field, name) {
  if (UNSAFE.test(field.value))
    throw new Fault(`${name} must not have line breaks or other control characters.`);
  return field.value;
}

// Words that a release is published with: one line; nouns also as "person/people".
function readWords(field) {
  const text = readText(field, nameOf(field)).trim(), option = field.dataset.option;
  const isNoun = ["unit", "label-name", "record-name"].includes(option);
  const parts = isNoun ? text.split("/").map((each) => each.trim()) : [text];
  const longest = isNoun ? 60 : option === "note" ? 1000 : 200;
  if (parts.length > 2 || parts.includes("") || parts.some((each) => [...each].length > longest))
    throw new Fault(`${nameOf(field)}: at most ${longest} characters` +
      (isNoun ? ', such as "gene", or two forms, such as "person/people".' : "."));
  if (/[\p{C}\p{Zl}\p{Zp}]|[^\S ]/u.test(text))
    throw new Fault(`${nameOf(field)}: letters, signs and plain spaces only.`);
  return text;
}

// Whether a field has an answer, or needs one.
function isAnswered(field) {
  const isNeeded = ["column", "end", "file"].some((each) => each in field.dataset);
  return isNeeded || field.value.trim() !== "";
}

function quoteForShell(text) {
  return /^[A-Za-z0-9_.,:+=\/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function quoteForToml(text) {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

// ---- The header of a file

// The fields of the first record, by the separator that stands most often outside of quotes.
function readHeader(text) {
  const line = text.replace(/^\ufeff/, "");
  const outside = firstRecord(line).replace(/"(?:[^"]|"")*"/g, "");
  const count = (mark) => outside.split(mark).length - 1;
  const mark = [",", ";", "\t"].reduce((best, each) => (count(each) > count(best) ? each : best));
  const names = [];
  let field = "", quoted = false;
  for (const letter of firstRecord(line) + mark) {
    if (letter === '"') quoted = !quoted;
    if (letter === mark && !quoted) {
      names.push(/^".*"$/s.test(field) ? field.slice(1, -1).replaceAll('""', '"') : field);
      field = "";
    } else field += letter;
  }
  return { mark, names: names.filter((name) => name !== "") };
}

// The text as far as the first line break outside of quotes.
function firstRecord(text) {
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '"') quoted = !quoted;
    if (!quoted && /[\r\n]/.test(text[at])) return text.slice(0, at);
  }
  return text;
}

// Have columns picked from a list, or typed if no line was pasted.
function offerColumns() {
  const text = find("header").value;
  columns = text.trim() ? readHeader(text) : null;
  const mark = columns && { ",": "commas", ";": "semicolons", "\t": "tabs" }[columns.mark];
  find("header-found").textContent = columns
    ? `${columns.names.length} columns, separated by ${mark}.` : "";
  for (const field of all("[data-column]")) {
    const made = document.createElement(columns ? "select" : "input");
    if (!columns) made.type = "text";
    for (const { name, value } of field.attributes)
      if (name !== "type") made.setAttribute(name, value);
    for (const name of columns ? ["", ...new Set(columns.names)] : [])
      made.append(new Option(name || "choose a column", name));
    made.value = columns && !columns.names.includes(field.value) ? "" : field.value;
    field.replaceWith(made);
  }
}

function readColumn(field) {
  const name = readText(field, nameOf(field));
  if (!name) throw new Fault(`${nameOf(field)}: choose one.`);
  if (columns && columns.names.filter((each) => each === name).length > 1)
    throw new Fault(`${nameOf(field)}: the file has this column twice. Rename one.`);
  return name;
}

// ---- Ends of bins

const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?$/;
const DATE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?)?$/;

// A number in units of 1e-9, or a time in microseconds.
function readEnd(text, name) {
  if (NUMBER.test(text)) {
    const [whole, part = ""] = text.replace("-", "").split(".");
    const size = BigInt(whole + part.padEnd(9, "0"));
    return text.startsWith("-") ? -size : size;
  }
  const time = DATE.test(text) ? Date.parse(text.length > 10 ? `${text}Z` : text) : NaN;
  if (!Number.isNaN(time) && new Date(time).toISOString().startsWith(text.slice(0, 10)))
    return BigInt(time) * 1000n;
  throw new Fault(`${name}: write a number, or a date such as 2024-01-31.`);
}

function readEnds(fields, bins) {
  const texts = fields.map((field) => field.value.trim());
  const [low, high] = fields.map((field, at) => readEnd(texts[at], nameOf(field)));
  const isNumber = NUMBER.test(texts[0]), width = (high - low) / BigInt(bins);
  const isExact = (high - low) % BigInt(bins) === 0n;
  if (isNumber !== NUMBER.test(texts[1]))
    throw new Fault("Lower and upper end: both must be numbers, or both dates.");
  if (low >= high) throw new Fault("The upper end must be above the lower one.");
  if (!isNumber && !isExact)
    throw new Fault("The number of bins must divide the time into whole microseconds.");
  if (fields[0].dataset.option !== fields[1].dataset.option) return texts;
  // One option has both: START:STOP:WIDTH.
  if (!isExact)
    throw new Fault("The number of bins must divide the range into a width of at most 9 decimals.");
  if (texts.some((text) => text.includes(":")))
    throw new Fault("Lower and upper end: write dates without a time of day.");
  return [[...texts, isNumber ? writeUnits(width, 9) : writeWidth(width)].join(":")];
}

// Microseconds, in the largest unit of which they are a whole number.
function writeWidth(width) {
  const units = { d: 86400000000n, h: 3600000000n, m: 60000000n, s: 1000000n, ms: 1000n, us: 1n };
  const [name, size] = Object.entries(units).find((each) => width % each[1] === 0n);
  return `${width / size}${name}`;
}

// A whole number of units of 10^-decimals as a decimal.
function writeUnits(units, decimals) {
  const text = units.toString().padStart(decimals + 1, "0");
  return `${text.slice(0, -decimals)}.${text.slice(-decimals)}`.replace(/\.?0+$/, "");
}

// ---- Keys

function readKeys(kind) {
  const found = [];
  for (let number = 1; number <= kind.keys.titles.length; number += 1) {
    const column = find(`${kind.name}-key-${number}`);
    const listed = find(`${kind.name}-values-${number}`);
    if (number === 2 && !column.value && !listed.value.trim()) break;
    const name = readColumn(column);
    if (/[=,+@]|^\s|\s$/.test(name))
      throw new Fault(`${nameOf(column)}: a key must have no =, comma, + or @ in its name.`);
    const values = readText(listed, nameOf(listed)).split(",").map((each) => each.trim());
    if (values.length < 2 || values.includes(""))
      throw new Fault(`${nameOf(listed)}: list at least two, and none that is empty.`);
    if (new Set(values).size < values.length)
      throw new Fault(`${nameOf(listed)}: list each once.`);
    if (values.some((each) => /[:@"]/.test(each)))
      throw new Fault(`${nameOf(listed)}: none may have a colon, a quote or @ in it.`);
    found.push({ name, values });
  }
  if (found.length === 2 && found[0].name === found[1].name)
    throw new Fault("The two keys must be different columns.");
  return found;
}

// ---- Answers, and what follows from them

// Options of the command in order, each [name, value, whether it is a number]; true is a flag.
function readOptions(kind) {
  const options = [];
  if (kind.reads_file && chosen("who") === "one") options.push(["each-row-is-one-person", true]);
  const ends = all("[data-end]").filter(isShown);
  const texts = ends.length ? readEnds(ends, find(`${kind.name}-bins`).value) : [];
  for (const field of all("[data-option]").filter((each) => isShown(each) && isAnswered(each))) {
    const name = field.dataset.option;
    if (ends.indexOf(field) >= texts.length) continue; // the first end has both
    if ("column" in field.dataset) options.push([name, readColumn(field)]);
    else if ("end" in field.dataset) options.push([name, texts[ends.indexOf(field)]]);
    else if ("file" in field.dataset) options.push([name, readFile(field)]);
    else if ("words" in field.dataset) options.push([name, readWords(field)]);
    else options.push([name, readText(field, nameOf(field)), "filed" in field.dataset]);
  }
  const keys = kind.keys ? readKeys(kind) : [];
  for (const { name, values } of keys)
    options.push([kind.keys.option, `${name}=${values.join(",")}`]);
  if (kind.keys?.tables) {
    const names = keys.map((each) => each.name);
    const tables = names.length > 1 ? [...names, names.join("+")] : names;
    options.push(["tables", tables.join(",")]);
  }
  checkDistinct(kind, options, keys);
  options.push(...kind.fixed, ["epsilon", chosen("epsilon"), true], ...readDelimiter(kind));
  return options;
}

// Files without separators, whatever a line has that was copied from the program that shows them.
const unseparated = /\.(parquet|xlsx|sqlite3?|db|(jsonl|ndjson)(\.(gz|zst))?)$/i;

// The option for the separator of the fields, unless it is the usual one of the file.
function readDelimiter(kind) {
  const file = find("file").value, isTabbed = /\.tsv(\.(gz|zst))?$/i.test(file);
  if (!kind.reads_file) {
    if (unseparated.test(file) || /\.(tsv|gz|zst|zip)$/i.test(file))
      throw new Fault("Name of the file: a stream is read from a CSV file that is not compressed.");
    if (columns && columns.mark !== "," && columns.names.length > 1)
      throw new Fault("The columns of a stream must be separated by commas.");
    return [];
  }
  if (!columns || unseparated.test(file)) return [];
  if (columns.mark === "\t") return [["delimiter", "tab"]];
  return columns.mark === ";" || isTabbed ? [["delimiter", columns.mark]] : [];
}

function checkDistinct(kind, options, keys) {
  const valueOf = (name) => options.find((each) => each[0] === name)?.[1];
  const valuesOf = (holds) =>
    kind.typed.filter((each) => each.holds === holds).map((each) => valueOf(each.option));
  const user = valueOf("user"), others = [...valuesOf("column"), ...keys.map((key) => key.name)];
  if (user !== undefined && others.includes(user))
    throw new Fault("The column of the people must not be one that is counted.");
  if (new Set(others).size < others.length)
    throw new Fault("Columns that are counted must be different ones.");
  const paths = ["output", "report", "table"].map(valueOf).filter(Boolean);
  const files = [readFile(find("file")), ...valuesOf("file"), ...paths];
  if (new Set(files).size < files.length)
    throw new Fault("The files and the outputs must all have different names.");
  if (!paths.length) throw new Fault("Name an output: the release, the page or the table.");
}

function readFile(field) {
  const name = readText(field, nameOf(field));
  if (!name) throw new Fault(`${nameOf(field)}: write one.`);
  return name.startsWith("-") ? `./${name}` : name;
}

function writeOption([name, value]) {
  if (value === true) return `--${name}`;
  const text = quoteForShell(value);
  return value.startsWith("-") ? `--${name}=${text}` : `--${name} ${text}`;
}

function writeCommand(kind, options, file, more = []) {
  const words = [...options, ...more].map(writeOption), quoted = quoteForShell(file);
  const isDry = more.some(([name]) => name === "dry-run");
  if (!kind.reads_file && !isDry) words.push(`< ${quoted}`);
  return [`dphist ${kind.command}${kind.reads_file ? ` ${quoted}` : ""}`, ...words].join(" \\\n  ");
}

// The line of each option; axes have one line together.
function writeTomlLines(options) {
  const axes = options.filter(([name]) => name === "axis").map((each) => quoteForToml(each[1]));
  return new Map(options.map(([name, value, isFiled]) => {
    const isNumber = isFiled && /^\d+(\.\d+)?(e-\d+)?$/.test(value);
    const text = value === true || isNumber ? value : quoteForToml(value);
    return [name, `${name} = ${name === "axis" ? `[${axes.join(", ")}]` : text}`];
  }));
}

function writeToml(kind, options, file) {
  const lines = [`[${kind.name}]`, `command = "${kind.command}"`];
  if (kind.reads_file) lines.push(`file = ${quoteForToml(file)}`);
  return [...lines, ...writeTomlLines(options).values()].join("\n") + "\n";
}

// Below each answer, what it is in the command and in the file.
function showWritten(options) {
  const lines = writeTomlLines(options);
  for (const place of all("[data-written]")) {
    const name = place.dataset.written;
    const held = options.filter((each) => each[0] === name)[place.dataset.at];
    place.textContent = held ? `${writeOption(held)}\n${lines.get(name)}` : "";
  }
}

// The numbers of the answers with this epsilon: error, guesses, and where counts appear.
function findNumbers(kind, epsilon) {
  const answers = kind.filed.map((parameter) => {
    if (parameter === "epsilon") return epsilon;
    const field = all(`[data-filed="${parameter}"]`).find(
      (each) => each.id === "size" || each.closest(`[data-kind="${kind.name}"]`));
    return "bound" in field.dataset && chosen("who") === "one" ? "1" : field.value;
  });
  if (kind.keys?.tables) {
    const sizes = readKeys(kind).map((each) => each.values.length);
    answers.unshift(sizes.sort((a, b) => a - b).join("x"));
  }
  return numbers[kind.name][answers.join(" ")];
}

// ---- The page

let current = null;

function showKind(kind) {
  for (const part of all("[data-kind]")) part.hidden = part.dataset.kind !== kind.name;
  for (const part of all("[data-reads-file]"))
    part.hidden = part.dataset.readsFile !== String(kind.reads_file);
  find("several").hidden = chosen("who") === "one";
  find("size").closest(".field").hidden = findSize(kind) !== find("size");
  find("size-of").textContent = kind.made_up;
  const [one, several] = find("unit").value.split("/");
  for (const place of all(".one")) place.textContent = one.trim() || "user";
  for (const place of all(".many"))
    place.textContent = several?.trim() || (one.trim() ? `of "${one.trim()}"` : "users");
}

// The field with the number of records that the preview is made of.
function findSize(kind) {
  return find(kind.filed.includes("horizon") ? `${kind.name}-horizon` : "size");
}

function showNumbers(kind) {
  let found, fault = "The page has no numbers for these choices: the dry run states them.";
  try {
    found = findNumbers(kind, chosen("epsilon"));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    fault = `Not known yet. ${error.message}`;
  }
  for (const place of all("[data-guess]")) {
    const one = found && findNumbers(kind, place.dataset.guess);
    const some = Object.entries(numbers[kind.name]).find(
      ([answers]) => answers.endsWith(` ${place.dataset.guess}`));
    place.textContent = (one ?? some[1])[1];
  }
  find("absent").hidden = Boolean(found);
  find("absent").textContent = found ? "" : fault;
  find("preview").closest("figure").hidden = !found;
  const [error, , appears] = found ?? [];
  const texts = kind.appears ? [appears, error] : [error];
  for (const place of all("[data-shown]").filter(isShown)) {
    const number = texts[Number(place.dataset.shown)];
    place.textContent = number === undefined ? "" : `${writeNumber(number)} records`;
  }
  if (found) drawPreview(kind, found);
}

function showCommand(kind) {
  let fault = "", options = [];
  current = null;
  try {
    const file = readFile(find("file"));
    options = readOptions(kind);
    const guess = kind.sized ? [["expect-total", find("size").value]] : [];
    const command = writeCommand(kind, options, file);
    find("command").textContent = command;
    find("dry").textContent = writeCommand(kind, options, file, [["dry-run", true], ...guess]);
    find("toml").textContent = writeToml(kind, options, file);
    find("toml-run").textContent = writeCommand(kind, [["config", "release.toml"]], file)
      .replaceAll(" \\\n  ", " ");
    current = describeRun(kind, options, command);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    fault = error.message;
  }
  showWritten(options);
  find("fault").hidden = !fault;
  find("fault").textContent = fault;
  find("written").hidden = Boolean(fault);
  find("ran").disabled = Boolean(fault);
  showSpending(current);
}

function update() {
  const kind = kinds[chosen("kind")];
  showKind(kind);
  showNumbers(kind);
  showCommand(kind);
}

async function copy(id) {
  const code = find(id);
  try {
    await navigator.clipboard.writeText(code.textContent);
    find(`${id}-copied`).textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren(code);
    find(`${id}-copied`).textContent = "Selected: copy it with the keyboard.";
  }
}

find("header").addEventListener("input", offerColumns);
document.addEventListener("input", update);
document.addEventListener("change", update);
for (const button of all("[data-copy]"))
  button.addEventListener("click", () => copy(button.dataset.copy));
find("ran").addEventListener("click", () => {
  if (!goesOn(current)) runs.push(current);
  showSpending(current);
});
find("forget").addEventListener("click", () => {
  runs = [];
  showSpending(current);
});
update();
