// What the page of `dphist form` says of spending: it adds up what has been run.

let runs = [];

// A decimal as a whole number of 1e-12, so that sums are exact.
function toUnits(text) {
  const [digits, exponent = "0"] = text.split("e");
  const [whole, part = ""] = digits.split(".");
  return BigInt(whole + part) * 10n ** BigInt(12 - part.length + Number(exponent));
}

function addUp(spent) {
  const sum = (name) => spent.reduce((total, run) => total + toUnits(run[name]), 0n);
  const delta = sum("delta") ? ` and δ = ${writeUnits(sum("delta"), 12)}` : "";
  const total = `ε = ${writeUnits(sum("epsilon"), 12)}${delta}`;
  if (new Set(spent.map((run) => run.unit)).size < 2) return `${total} in all`;
  return `${total} in all, if these are the same people: they are named by different columns`;
}

// What a run spends. A stream that has the same state and choices goes on at no further cost.
function describeRun(kind, options, command) {
  const valueOf = (name) => options.find((each) => each[0] === name)?.[1];
  const unit = valueOf("user") ?? "(one row)", state = valueOf("state");
  const isFree = ([name]) => find("outputs").querySelector(`[data-option="${name}"]`);
  return {
    command, unit, state, epsilon: valueOf("epsilon"), delta: valueOf("delta") ?? "0",
    same: state === undefined ? command : JSON.stringify(options.filter((each) => !isFree(each))),
  };
}

// Whether it is a stream that was run before.
const goesOn = (run) => run.state !== undefined && runs.some((each) => each.same === run.same);

function showSpending(current) {
  const isNew = runs.length > 0 && current && !runs.some((run) => run.same === current.same);
  const isTaken = current?.state !== undefined && runs.some((run) => run.state === current.state);
  const spend = find("spend");
  spend.hidden = !isNew;
  spend.textContent = isNew
    ? `This is a new release. Running it spends ε = ${current.epsilon} more: ` +
      `${addUp([...runs, current])}. A choice that was changed after a look at a result is a ` +
      "further look at the data." +
      (isTaken ? " The file of the state is that of the stream before: name a new one." : "")
    : "";
  find("forget").hidden = !runs.length;
  find("runs").replaceChildren(...runs.map((run) => {
    const item = document.createElement("li");
    const delta = run.delta === "0" ? "" : `, δ = ${run.delta}`;
    item.textContent = `ε = ${run.epsilon}${delta}: ${run.command.replaceAll(" \\\n  ", " ")}`;
    return item;
  }));
  find("total").textContent = runs.length
    ? `Spent: ${addUp(runs)}. Running the same command again spends it again, unless it is a ` +
      "stream, which goes on. A ledger adds up by itself, often to less."
    : "Nothing yet. Each run costs its ε; the epsilons of all releases of the same data add up.";
}
