// report.js: what a browser says about the pages of tests/report.sh: no message on the console, nothing asked of the network, every
// chart drawn with marks in it, nothing of a stranger's run, every figure a table without scripts, no horizontal scrolling on a
// phone, and no violation that axe finds, in light and dark.    node report.js BROWSER DEPS FOLDER [PICTURES]
"use strict";
const fs = require("fs");
const path = require("path");
const [, , executablePath, deps, folder, pictures] = process.argv;
const part = (name) => path.join(deps, fs.readdirSync(deps).find((entry) => entry.startsWith(name + "-")));
const { chromium } = require(part("playwright-core"));
const axe = fs.readFileSync(path.join(part("axe-core"), "axe.min.js"), "utf8");

const faults = [];
const check = (good, sentence) => good || faults.push(sentence);

// Opens a page, and hears whatever goes wrong in it.
async function open(browser, name, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && faults.push(`${name}: console: ${message.text().slice(0, 300)}`));
  page.on("pageerror", (error) => faults.push(`${name}: ${String(error).slice(0, 300)}`));
  page.on("dialog", (dialog) => { faults.push(`${name}: a script of a stranger ran`); dialog.dismiss(); });
  page.on("request", (request) => /^(file|data|about|blob):/.test(request.url()) || faults.push(`${name}: asks for ${request.url()}`));
  await page.goto("file://" + path.join(folder, name));
  return { context, page };
}

async function drawn(page, name, wanted) {
  await page.waitForSelector("html[data-ready]", { timeout: 300000 * Number(process.env.ADVGP_SLOW || 1) }).catch(() => faults.push(`${name}: its charts were never ready`));
  const charts = await page.$$eval("figure[data-chart]", (all) => all.map((figure) => ({
    id: figure.id,
    failed: figure.classList.contains("failed"),
    marks: figure.querySelectorAll(".plot svg [class*=mark-] > path, .plot svg [class*=mark-] > line, .plot svg [class*=mark-] > text").length,
    width: figure.querySelector(".plot svg")?.getBoundingClientRect().width ?? 0,
    room: figure.getBoundingClientRect().width,
    label: figure.querySelector(".plot").getAttribute("aria-label"),
    rows: figure.querySelectorAll("table tbody tr").length,
  })));
  check(charts.length >= wanted, `${name}: ${charts.length} charts, ${wanted} were expected`);
  for (const chart of charts) {
    check(!chart.failed && chart.marks > 3, `${name} ${chart.id}: not drawn (${chart.marks} marks)`);
    check(chart.width > 100 && chart.width <= chart.room + 1, `${name} ${chart.id}: ${chart.width} wide in ${chart.room}`);
    check(chart.label && chart.label.length > 20, `${name} ${chart.id}: no sentence that says what it shows`);
    check(chart.rows > 0, `${name} ${chart.id}: no table`);
  }
  return charts;
}

async function audit(page, name) {
  await page.evaluate(axe); // through the debugger: the page's own policy would not let it in
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const violation of found.violations)
    faults.push(`${name}: axe: ${violation.id}: ${violation.help}: ${violation.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

async function main() {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  // How many charts each page has at least: all of them where there are rows and a log.
  const pages = { "hostile.html": 19, "trained.html": 16, "model.html": 8, "one.html": 6, "words.html": 8, "wide.html": 8, "mean.html": 5, "runs.html": 10 };
  for (const [name, wanted] of Object.entries(pages)) {
    const { context, page } = await open(browser, name, { viewport: { width: 1280, height: 900 } });
    await drawn(page, name, wanted);
    const policy = await page.$eval("meta[http-equiv=Content-Security-Policy]", (meta) => meta.content);
    check(/default-src 'none'/.test(policy) && !/unsafe/.test(policy), `${name}: its policy is ${policy}`);
    check((await page.$$("main script:not([type='application/json']), main img, main b, main i")).length === 0, `${name}: an element of a stranger`);
    const cut = await page.$$eval(".worst .scroll", (all) => all.filter((table) => table.scrollWidth > table.clientWidth + 1).length);
    check(cut === 0, `${name}: the table of the worst rows is wider than the page`);
    const order = await page.$$eval("main > section", (all) => all.map((section) => section.id).join(" "));
    check(order.startsWith("good inputs "), `${name}: what went in does not follow the verdict: ${order}`);
    check((await page.$$("figure[id$=-rows]")).length === 0, `${name}: a course of the training is drawn twice`);
    if (name === "hostile.html") await audit(page, `${name}, light`);
    if (pictures) await page.screenshot({ path: path.join(pictures, name.replace("html", "desktop.png")), fullPage: true });
    await context.close();
  }
  {
    const { context, page } = await open(browser, "hostile.html", { viewport: { width: 390, height: 844 }, colorScheme: "dark" });
    await drawn(page, "hostile.html, phone", 19);
    await audit(page, "hostile.html, dark");
    const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    check(wide <= room, `a phone scrolls sideways: ${wide} in ${room}`);
    await page.keyboard.press("Tab"); // a link of the contents; Enter follows it
    await page.keyboard.press("Enter");
    check((await page.evaluate(() => location.hash)) === "#good", "the keyboard does not reach the contents");
    if (pictures) await page.screenshot({ path: path.join(pictures, "phone.png"), fullPage: true });
    await context.close();
  }
  {
    const { context, page } = await open(browser, "hostile.html", { javaScriptEnabled: false });
    for (const table of await page.$$("figure table")) check(await table.isVisible(), "without scripts a figure has no table");
    check((await page.$$("figure table")).length >= 19, "without scripts there are too few tables");
    await context.close();
  }
  {
    // years.csv: labels of years have no commas, a latitude goes upward, neighbouring cells have names of their own.
    const { context, page } = await open(browser, "years.html", { viewport: { width: 1280, height: 900 } });
    await drawn(page, "years.html", 10);
    const labels = (figure) => page.$$eval(`#${figure} .plot svg text`, (all) => all.map((text) => text.textContent));
    for (const figure of ["fig-effect-1", "fig-effect-2", "fig-effect-3", "fig-scatter"])
      check(!(await labels(figure)).some((label) => /^[12],\d{3}$/.test(label)), `years.html ${figure}: a year with a comma`);
    const told = JSON.parse(await page.$eval("#fig-surface script", (script) => script.textContent));
    check(told.parameters.yname === "latitude", `years.html: ${told.parameters.yname} goes upward, not the latitude`);
    const cells = JSON.parse(await page.$eval("#fig-cells script", (script) => script.textContent)).parameters;
    for (const name of [...cells.xscale.domain, ...cells.yscale.domain])
      check(new Set(name.split(" to ")).size === name.split(" to ").length, `years.html: a cell from a value to itself: ${name}`);
    await context.close();
  }
  await browser.close();
  for (const fault of faults) console.log(fault);
  console.log(faults.length ? `${faults.length} faults` : "every page is as it should be");
  process.exit(faults.length ? 1 : 0);
}

main().catch((error) => { console.log(error); process.exit(1); });
