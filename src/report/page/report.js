// report.js: draws the charts of a report. A figure has its numbers as JSON beside it and names a chart of charts.json; strings
// "$name" there are replaced by the figure's parameters, and members whose parameter is not given are left out. Colours are CSS
// variables (report.css), so that light, dark and print need no second drawing. Where anything fails the table stays open.
"use strict";
(function () {
  const charts = JSON.parse(document.getElementById("charts").textContent);

  function fill(template, parameters) {
    if (typeof template === "string") {
      return template.startsWith("$") ? parameters[template.slice(1)] : template;
    }
    if (Array.isArray(template)) return template.map((item) => fill(item, parameters));
    if (template === null || typeof template !== "object") return template;
    const filled = {};
    for (const [key, item] of Object.entries(template)) {
      const value = fill(item, parameters);
      if (value !== undefined) filled[key] = value;
    }
    return filled;
  }

  // {"x": [1, 2], "y": [3, 4]} to [{x: 1, y: 3}, {x: 2, y: 4}]
  function rows(columns) {
    const names = Object.keys(columns);
    const n = names.length ? columns[names[0]].length : 0;
    return Array.from({ length: n }, (_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
  }

  function draw(figure) {
    const told = JSON.parse(figure.querySelector("script").textContent);
    const plot = figure.querySelector(".plot");
    const spec = fill(charts[figure.dataset.chart], told.parameters || {});
    spec.$schema = "https://vega.github.io/schema/vega-lite/v6.json"; // a name, never fetched
    spec.config = charts.config;
    spec.datasets = Object.fromEntries(Object.entries(told.data).map(([name, columns]) => [name, rows(columns)]));
    if (spec.layer) spec.layer = spec.layer.filter((layer) => spec.datasets[layer.data?.name]?.length !== 0); // nothing to draw
    const compiled = vegaLite.compile(spec, { logger: vega.logger(vega.Error) }).spec;
    const view = new vega.View(vega.parse(compiled, null, { ast: true }), {
      expr: vega.expressionInterpreter,
      renderer: "svg",
      logLevel: vega.Warn,
    });
    const canvas = document.createElement("div"); // the figure's sentence stands for all that is in it
    canvas.setAttribute("aria-hidden", "true");
    plot.append(canvas);
    return view.initialize(canvas).runAsync().then(() => {
      plot.dataset.drawn = "yes";
      const table = figure.querySelector("details");
      if (table) table.open = false;
    });
  }

  if (typeof vega === "undefined" || typeof vegaLite === "undefined") return;
  document.documentElement.classList.add("charts");
  const all = Array.from(document.querySelectorAll("figure[data-chart]"));
  Promise.allSettled(all.map((figure) => new Promise((done) => done(draw(figure))))).then((ends) => {
    for (const [i, end] of ends.entries()) {
      if (end.status === "fulfilled") continue;
      all[i].classList.add("failed");
      console.error(all[i].id, end.reason);
    }
    document.documentElement.dataset.ready = "yes";
  });
})();
