"use strict";
(function () {
  const large = document.getElementById("large");
  let shown = -1;

  function key(row, column) {
    const cell = row.cells[column];
    const order = cell.dataset.order;
    return order === undefined ? cell.textContent.trim() : order.replace("inf", "Infinity");
  }

  function sortBy(head) {
    const body = head.closest("table").tBodies[0];
    const rows = Array.from(body.rows);
    const up = head.getAttribute("aria-sort") !== "ascending";
    const numeric = rows.every((row) => !Number.isNaN(Number(key(row, head.cellIndex))));
    const order = (a, b) => {
      const left = key(a, head.cellIndex), right = key(b, head.cellIndex);
      if (!numeric) return left.localeCompare(right);
      return Number(left) === Number(right) ? 0 : Number(left) - Number(right);
    };
    rows.sort((a, b) => (up ? order(a, b) : order(b, a)));
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.append(...rows);
  }

  function pictures() { return Array.from(document.querySelectorAll("button.zoom")); }

  function enlarge(index) {
    const all = pictures();
    shown = (index + all.length) % all.length;
    const figure = all[shown].closest("figure");
    const caption = figure.querySelector("figcaption");
    large.replaceChildren(all[shown].querySelector("img").cloneNode(), ...(caption ? [caption.cloneNode(true)] : []));
    if (!large.open) large.showModal();
  }

  document.addEventListener("click", (event) => {
    const title = event.target.closest("th > button");
    const zoom = event.target.closest("button.zoom");
    if (title) sortBy(title.parentElement);
    else if (zoom) enlarge(pictures().indexOf(zoom));
    else if (large.open) large.close();
  });

  large.addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight") enlarge(shown + 1);
    if (event.key === "ArrowLeft") enlarge(shown - 1);
  });
  large.addEventListener("close", () => { if (shown >= 0) pictures()[shown].focus(); });
})();
