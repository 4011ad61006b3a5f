"use strict";
// Sorts a table by the column whose head is pressed, and shows only the rows that have all words of the filter.
const valueOf = (cell) => {
  const figure = cell && cell.querySelector("data");
  return figure ? Number(figure.value) : cell ? cell.textContent.trim() : "";
};
const compare = (one, other) => {
  const numbers = typeof one === "number" && typeof other === "number";
  if (numbers) return one - other;
  if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
  return one.localeCompare(other, "en", { numeric: true });
};
const sort = (head) => {
  const table = head.closest("table");
  const body = table.tBodies[0];
  const isUp = head.getAttribute("aria-sort") !== "ascending";
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
  const key = (row) => valueOf(row.cells[head.cellIndex]);
  const rows = [...body.rows].map((row) => [key(row), row]);
  rows.sort(([one], [other]) => (isUp ? compare(one, other) : compare(other, one)));
  body.append(...rows.map(([, row]) => row));
};
for (const button of document.querySelectorAll("thead button")) {
  button.addEventListener("click", () => sort(button.parentNode));
}
const filter = document.getElementById("filter");
const apply = () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of document.querySelectorAll(".row")) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
};
filter.addEventListener("input", apply);
// A link can name a filter and a column of the first table: report.html#filter=twoway&sort=4
const wanted = new URLSearchParams(location.hash.slice(1));
if (wanted.has("filter")) filter.value = wanted.get("filter");
if (wanted.has("sort")) {
  const button = document.querySelectorAll("thead button")[Number(wanted.get("sort")) - 1];
  const head = button && button.parentNode;
  if (head) sort(head);
}
apply();
