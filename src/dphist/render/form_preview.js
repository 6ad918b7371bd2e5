// The preview of the page of `dphist form`: made-up counts, and how far each may be off.

function drawPreview(kind, found) {
  const svg = find("preview"), size = Number(findSize(kind).value);
  svg.replaceChildren();
  const [error, , appears = 0] = found;
  const counts = kind.shares.map((share) => share * size);
  svg.setAttribute("viewBox", `0 0 360 ${6 + 23 * counts.length}`);
  const longest = Math.max(...counts) + error, scale = 210 / longest, left = 96;
  const draw = (tag, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text) made.textContent = text;
    svg.append(made);
  };
  counts.forEach((count, at) => {
    const y = 6 + 23 * at, name = counts.length > 1 ? `${kind.bar} ${at + 1}` : kind.bar;
    const low = left + scale * Math.max(count - error, 0), high = left + scale * (count + error);
    const faint = count < appears ? { class: "faint" } : {};
    draw("text", { x: left - 8, y: y + 12, "text-anchor": "end" }, name);
    draw("rect", { x: left, y, width: Math.max(scale * count, 0.5), height: 15, ...faint });
    const tips = [low, high].map((x) => `M${x} ${y + 3}v9`).join("");
    draw("path", { d: `M${low} ${y + 7.5}H${high}${tips}` });
    draw("text", { x: high + 5, y: y + 12 }, writeNumber(Math.round(count)));
  });
  const dropped = counts.filter((count) => count < appears).length;
  const meant = kind.law === "95 %" ? `within ±\u00a0${writeNumber(error)} records (95\u00a0%)`
    : `about ${writeNumber(error)} records off`;
  const [first, ...rest] = `${kind.made_up} of ${writeNumber(size)} records`;
  const share = Number(((100 * error) / size).toPrecision(2));
  find("preview-text").textContent =
    `${first.toUpperCase()}${rest.join("")}: ${kind.error_of} is ${meant}, as lines show.` +
    (kind.quantiles ? ` A quantile is as far off as ${share}\u00a0% of the group.` : "") +
    (kind.appears ? ` ${dropped} of ${counts.length} labels (dashed) may not appear.` : "");
}
