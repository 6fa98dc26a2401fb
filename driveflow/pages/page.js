"use strict";
(function () {
  const large = document.getElementById("large");
  let shown = -1;

  /* The value a cell sorts by: null where there is none, and then it comes last in both directions. */
  function key(row, column) {
    const cell = row.cells[column];
    const order = cell.dataset.order;
    if (order === "nan") return null;
    return order === undefined ? cell.textContent.trim() : order.replace("inf", "Infinity");
  }

  function sortBy(head) {
    const body = head.closest("table").tBodies[0];
    const column = head.cellIndex;
    const rows = Array.from(body.rows, (row) => [key(row, column), row]);
    const numeric = rows.every(([value]) => value === null || !Number.isNaN(Number(value)));
    const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    const sign = direction === "ascending" ? 1 : -1;
    rows.sort(([left], [right]) => {
      if (left === null || right === null) return (left === null) - (right === null);
      return sign * (numeric ? Number(left) - Number(right) : left.localeCompare(right));
    });
    for (const cell of head.parentElement.cells) cell.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction);
    body.append(...rows.map(([, row]) => row));
  }

  /* Show the pictures of one part of a gallery, in the order of that part. */
  function choose(select) {
    const frame = select.closest(".chooser");
    const gallery = frame.querySelector(".gallery");
    const figures = Array.from(gallery.children);
    const place = (figure) => figure.dataset[select.value];
    const shown = figures.filter((figure) => place(figure) !== undefined);
    shown.sort((left, right) => Number(place(left)) - Number(place(right)));
    for (const figure of figures) figure.hidden = place(figure) === undefined;
    gallery.prepend(...shown);
    frame.querySelector("output").textContent = `${shown.length} shown`;
  }

  /* What is not chosen is not turned to either. */
  function zooms() {
    return Array.from(document.querySelectorAll("button.zoom")).filter((button) => !button.closest("[hidden]"));
  }

  function turnButton(label, text, step) {
    const made = document.createElement("button");
    made.type = "button";
    made.setAttribute("aria-label", label);
    made.textContent = text;
    made.addEventListener("click", () => enlarge(shown + step));
    return made;
  }

  const holder = document.createElement("figure");
  const bar = document.createElement("div");
  const place = document.createElement("span");
  bar.className = "turns";
  bar.append(turnButton("Previous", "‹", -1), place, turnButton("Next", "›", 1));
  large.append(holder, bar);

  function enlarge(index) {
    const all = zooms();
    shown = (index + all.length) % all.length;
    const caption = all[shown].closest("figure").querySelector("figcaption");
    const copy = all[shown].querySelector("img, svg").cloneNode(true);
    holder.replaceChildren(copy, ...(caption ? [caption.cloneNode(true)] : []));
    place.textContent = `${shown + 1} of ${all.length}; arrow keys turn, Escape closes`;
    if (!large.open) large.showModal();
  }

  function goTo(link) {
    const target = document.getElementById(link.getAttribute("href").slice(1));
    if (!target) return;
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    target.setAttribute("tabindex", "-1");
    target.focus({ preventScroll: true });
    target.scrollIntoView();
  }

  document.addEventListener("click", (event) => {
    const title = event.target.closest("th > button");
    const zoom = event.target.closest("button.zoom");
    const link = event.target.closest('a[href^="#"]');
    if (title) sortBy(title.parentElement);
    else if (zoom) enlarge(zooms().indexOf(zoom));
    else if (link) {
      /* In a srcdoc frame a fragment would be looked for in the page around it. */
      event.preventDefault();
      goTo(link);
    } else if (large.open && !event.target.closest(".turns")) large.close();
  });

  document.addEventListener("change", (event) => {
    if (event.target.matches("select.choose")) choose(event.target);
  });

  document.addEventListener("keydown", (event) => {
    if (!large.open) return;
    if (event.key === "ArrowRight") enlarge(shown + 1);
    if (event.key === "ArrowLeft") enlarge(shown - 1);
  });
  large.addEventListener("close", () => { if (shown >= 0) zooms()[shown].focus(); });
  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
  });
})();
