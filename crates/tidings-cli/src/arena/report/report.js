// Sorting, filtering, and downloads of the embedded data. Without it the page says the same.
(function () {
  "use strict";
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));

  function value(row, column) {
    const cell = row.cells[column];
    if (!cell) return "";
    const raw = cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent.trim();
    const number = Number(raw);
    return raw !== "" && !Number.isNaN(number) ? number : raw;
  }

  function compare(a, b) {
    const rank = (v) => (v === "" || v === "-" ? 2 : typeof v === "number" ? 0 : 1);
    if (rank(a) !== rank(b)) return rank(a) - rank(b);
    return typeof a === "number" ? a - b : String(a).localeCompare(String(b));
  }

  function sort(table, head, column) {
    const down = head.getAttribute("aria-sort") === "ascending";
    all("thead th", table).forEach((th) => th.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    all("tbody", table).forEach((body) => {
      const rows = Array.from(body.rows);
      rows.sort((a, b) => compare(value(a, column), value(b, column)) * (down ? -1 : 1));
      rows.forEach((row) => body.appendChild(row));
    });
  }

  all("table.sorts").forEach((table) => {
    all("thead th", table).forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, head, column));
      head.append(button);
    });
  });

  all("table.filters").forEach((table, index) => {
    const label = document.createElement("label");
    const input = document.createElement("input");
    label.className = "filter";
    input.type = "search";
    input.id = "filter-" + index;
    label.append("Show only rows with", input);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      all("tbody tr", table).forEach((row) => {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      });
    });
    table.parentElement.before(label);
  });

  const read = (id) => JSON.parse(document.getElementById(id).textContent);

  function save(name, type, parts) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(parts, { type: type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function csv(rows) {
    const quote = (field) => {
      if (field === null || field === undefined) return "";
      let text = typeof field === "object" ? JSON.stringify(field) : String(field);
      // A spreadsheet would compute what begins like a formula.
      if (typeof field === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
      return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
    };
    return rows.map((row) => row.map(quote).join(",")).join("\r\n") + "\r\n";
  }

  function flat(object, prefix, into) {
    Object.entries(object).forEach(([key, field]) => {
      const name = prefix + key;
      const nested = field !== null && typeof field === "object" && !Array.isArray(field);
      if (nested && key !== "labels" && key !== "params") flat(field, name + ".", into);
      else into[name] = field;
    });
    return into;
  }

  function cells() {
    const records = read("run-data").cells.map((cell) => flat(cell, "", {}));
    const keys = [...new Set(records.flatMap((record) => Object.keys(record)))];
    return csv([keys, ...records.map((record) => keys.map((key) => record[key]))]);
  }

  function samples() {
    const data = read("sample-data");
    const name = (row) => [data.cells[row[0]].cell, data.cells[row[0]].params, data.cells[row[0]].threads];
    return [["cell", "params", "threads", ...data.columns.slice(1)], ...data.rows.map((row) => [...name(row), ...row.slice(1)])];
  }

  const formats = {
    "run.json": () => ["application/json", JSON.stringify(read("run-data"), null, 1) + "\n"],
    "cells.csv": () => ["text/csv", cells()],
    "samples.json": () => {
      const [head, ...rows] = samples();
      const records = rows.map((row) => Object.fromEntries(head.map((key, i) => [key, row[i]])));
      return ["application/json", JSON.stringify(records) + "\n"];
    },
    "samples.csv": () => ["text/csv", csv(samples())],
  };

  all(".downloads").forEach((place) => {
    Object.keys(formats).forEach((name) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Download " + name;
      button.addEventListener("click", () => {
        const [type, text] = formats[name]();
        save(place.dataset.run + "-" + name, type, [text]);
      });
      place.append(button);
    });
  });

  // Paper has no way to open what is closed; a link into what is closed opens it.
  window.addEventListener("beforeprint", () => all("details").forEach((d) => { d.open = true; }));
  const reveal = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const around = target && target.closest("details");
    if (around) around.open = true;
  };
  window.addEventListener("hashchange", reveal);
  reveal();
})();
