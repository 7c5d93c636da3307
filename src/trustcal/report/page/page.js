"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const picture = document.getElementById("profile");
  const byId = function (id) { return document.getElementById(id); };
  const profile = data.profile, fix = data.fix, frame = data.frame;

  // The regret, linear between the thresholds of the profile; the share of decisions that change and the better
  // threshold are those of the last of them at or below mu, as in LossProfile.
  function now(mu) {
    const at = profile.thresholds;
    let low = 0, high = at.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (at[middle] <= mu) low = middle; else high = middle;
    }
    let regret = profile.regret[low];
    if (high < at.length) regret += (profile.regret[high] - regret) * (mu - at[low]) / (at[high] - at[low]);
    return { regret: regret, reversed: profile.reversed[low], instead: profile.instead[low] };
  }

  function between(values, mu) {
    const last = fix.thresholds.length - 1, place = mu * last, i = Math.min(Math.floor(place), last - 1);
    return values[i] + (values[i + 1] - values[i]) * (place - i);
  }

  function share(mu) { return Math.max(mu, 1 - mu); }

  function percent(x) {
    return Math.abs(x) >= 0.0005 || x === 0 ? (100 * x).toFixed(1) + "\u00a0%" : Number((100 * x).toPrecision(1)) + "\u00a0%";
  }

  function short(x) { return String(Number(x.toPrecision(4))); }

  // --- the marker on the profile

  const space = picture.namespaceURI;
  function add(kind, attributes) {
    const node = document.createElementNS(space, kind);
    for (const name in attributes) {
      if (name === "style") node.style.cssText = attributes.style; // as an attribute the page's policy forbids it
      else node.setAttribute(name, attributes[name]);
    }
    marker.appendChild(node);
    return node;
  }
  const marker = picture.appendChild(document.createElementNS(space, "g"));
  marker.setAttribute("pointer-events", "none");
  const line = add("line", { y1: frame.top, y2: frame.bottom, style: "stroke: var(--ink); stroke-width: 1" });
  const bridge = add("line", { y1: frame.bottom, y2: frame.floor, style: "stroke: var(--ink); stroke-width: 2" });
  const grip = add("circle", { cy: frame.bottom, r: 5, style: "fill: var(--ink)" });
  const dots = {};
  ["total", "after", "now"].forEach(function (name) {
    if (name === "now" || fix) {
      dots[name] = add("circle", { r: 3.4, style: "fill: var(--" + name + "); stroke: var(--card); stroke-width: 1.2" });
    }
  });

  function x(mu) { return frame.left + mu * (frame.right - frame.left); }
  function y(loss) { return frame.bottom - 100 * loss / frame.highest * (frame.bottom - frame.top); }

  // --- one threshold

  const slider = byId("slider"), threshold = byId("threshold"), ratio = byId("ratio");
  let current = data.start;

  function set(mu, from) {
    current = Math.min(1, Math.max(0, mu));
    const found = now(current), loss = { now: found.regret / share(current) };
    if (fix) {
      loss.after = between(fix.regret, current) / share(current);
      loss.total = between(fix.total, current) / share(current);
    }
    if (from !== slider) slider.value = current;
    if (from !== threshold) threshold.value = short(current);
    if (from !== ratio) ratio.value = current > 0 ? short((1 - current) / current) : "";
    [threshold, ratio].forEach(function (field) { field.removeAttribute("aria-invalid"); });
    slider.setAttribute("aria-valuetext", "threshold " + short(current) + ", loses " + percent(loss.now) + " now");
    byId("reversed").textContent = percent(found.reversed);
    byId("better").textContent = better(found.instead);
    bridge.setAttribute("x1", x(current));
    bridge.setAttribute("x2", x(Math.min(1, Math.max(0, found.instead))));
    line.setAttribute("x1", x(current));
    line.setAttribute("x2", x(current));
    grip.setAttribute("cx", x(current));
    for (const name in dots) {
      byId("loss-" + name).textContent = percent(loss[name]);
      dots[name].setAttribute("cx", x(current));
      dots[name].setAttribute("cy", y(loss[name]));
    }
  }

  function better(instead) {
    if (instead === current) return "this one";
    return instead < 0 ? "act always" : instead >= 1 ? "act never" : short(instead);
  }

  function typed(field, mu) {
    field.addEventListener("input", function () {
      const value = mu(Number(field.value));
      if (field.value.trim() === "" || !(value >= 0 && value <= 1)) field.setAttribute("aria-invalid", "true");
      else set(value, field);
    });
  }
  typed(slider, function (value) { return value; });
  typed(threshold, function (value) { return value; });
  typed(ratio, function (value) { return value >= 0 ? 1 / (1 + value) : NaN; });

  function dragged(event) {
    const box = picture.getBoundingClientRect();
    const at = (event.clientX - box.left) / box.width * picture.viewBox.baseVal.width;
    set(Math.round(1000 * (at - frame.left) / (frame.right - frame.left)) / 1000);
  }
  let dragging = false;
  picture.addEventListener("pointerdown", function (event) {
    dragging = true;
    if (picture.setPointerCapture) picture.setPointerCapture(event.pointerId);
    dragged(event);
    event.preventDefault();
  });
  picture.addEventListener("pointermove", function (event) { if (dragging) dragged(event); });
  ["pointerup", "pointercancel"].forEach(function (name) {
    picture.addEventListener(name, function () { dragging = false; });
  });

  // --- folded sections are printed

  const folded = document.querySelectorAll("details");
  window.addEventListener("beforeprint", function () {
    folded.forEach(function (part) { part.dataset.open = part.open ? "yes" : ""; part.open = true; });
  });
  window.addEventListener("afterprint", function () {
    folded.forEach(function (part) { part.open = part.dataset.open === "yes"; });
  });

  // --- which series are shown

  document.querySelectorAll("input[data-series]").forEach(function (box) {
    box.addEventListener("change", function () {
      const name = box.dataset.series;
      picture.querySelectorAll('[id$="series-' + name + '"]').forEach(function (node) {
        node.style.display = box.checked ? "" : "none";
      });
      dots[name].style.display = box.checked ? "" : "none";
    });
  });

  // --- a payoff table: the thresholds of its upper envelope, and what is at stake at each

  const rows = byId("payoff-rows"), answer = byId("payoff-answer");
  rows.textContent = "";  // what is read without a script

  function envelope(table) {
    // Best actions from p = 0 to p = 1, as lines at_0 + p·slope: from one to the next that overtakes it first.  Of
    // those that are best at 0, begin with the one that falls most: at 0 itself they tie, which is a threshold.
    let best = 0;
    table.forEach(function (line, i) {
      const other = table[best];
      if (line[0] > other[0] || (line[0] === other[0] && line[1] < other[1])) best = i;
    });
    const steps = [];
    let from = 0;
    for (;;) {
      const slope = table[best][1] - table[best][0];
      let next = -1, where = Infinity, steepest = slope;
      table.forEach(function (line, i) {
        const other = line[1] - line[0];
        if (other <= slope) return;
        const mu = (table[best][0] - line[0]) / (other - slope);
        if (mu < where || (mu === where && other > steepest)) { next = i; where = mu; steepest = other; }
      });
      if (next < 0 || where > 1) return { first: steps.length ? steps[0].before : best, steps: steps };
      steps.push({ mu: Math.max(where, from), weight: steepest - slope, before: best, action: next });
      from = Math.max(where, from);
      best = next;
    }
  }

  function pay() {
    const names = [], table = [];
    let wrong = false;
    rows.querySelectorAll("tr").forEach(function (row) {
      const fields = row.querySelectorAll("input"), values = [fields[1], fields[2]].map(function (field) {
        const good = field.value.trim() !== "" && Number.isFinite(Number(field.value));
        if (good) field.removeAttribute("aria-invalid"); else field.setAttribute("aria-invalid", "true");
        wrong = wrong || !good;
        return Number(field.value);
      });
      names.push(fields[0].value || "action " + (names.length + 1));
      table.push(values);
    });
    answer.classList.toggle("wrong", wrong);
    if (wrong) { answer.textContent = "Every action needs two numbers: what it pays if it does not happen, and if it does."; return; }
    const best = envelope(table);
    if (!best.steps.length) {
      answer.textContent = "“" + names[best.first] + "” is always best here, whatever the prediction: nothing can be lost by believing it.";
      return;
    }
    let lost = 0, after = 0, total = 0;
    best.steps.forEach(function (step) {
      lost += step.weight * now(step.mu).regret;
      if (fix) { after += step.weight * between(fix.regret, step.mu); total += step.weight * between(fix.total, step.mu); }
    });
    const path = names[best.first] + best.steps.map(function (step) { return ", above " + short(step.mu) + " " + names[step.action]; }).join("");
    answer.textContent = "Best by prediction: " + path + ". Believing the predictions loses " + short(lost) + " per decision now" +
      (fix ? ", and " + short(after) + " after the noise (" + short(total) + " counting its cost in sharpness)." : ".");
    answer.dataset.now = lost;
    answer.dataset.after = after;
    if (best.steps.length === 1) set(best.steps[0].mu);
  }

  function addRow(name, at0, at1) {
    const row = document.createElement("tr");
    [["text", name, "name of the action"], ["number", at0, "payoff if it does not happen"], ["number", at1, "payoff if it happens"]].forEach(function (field) {
      const cell = document.createElement("td"), input = document.createElement("input");
      input.type = field[0];
      if (field[0] === "number") input.step = "any";
      input.value = field[1];
      input.setAttribute("aria-label", field[2]);
      input.addEventListener("input", pay);
      cell.appendChild(input);
      row.appendChild(cell);
    });
    rows.appendChild(row);
  }
  data.payoff.forEach(function (row) { addRow(row[0], row[1], row[2]); });
  byId("payoff-more").addEventListener("click", function () {
    addRow("action " + (rows.children.length + 1), 0, 0);
    pay();
    rows.lastChild.querySelector("input").focus();
  });
  byId("payoff-fewer").addEventListener("click", function () {
    if (rows.children.length > 2) { rows.removeChild(rows.lastChild); pay(); }
  });
  pay();
  set(data.start);
})();
