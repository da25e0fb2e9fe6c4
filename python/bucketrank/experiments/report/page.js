"use strict";

// Sort a table by the column of a clicked heading; a second click reverses the order.
function sortBy(heading) {
  const table = heading.closest("table");
  const headings = [...heading.parentNode.children];
  const column = headings.indexOf(heading);
  const isNumber = heading.classList.contains("number");
  // The first click on a numeric column sorts by descending value.
  const first = isNumber ? "descending" : "ascending";
  const other = isNumber ? "ascending" : "descending";
  const order = heading.getAttribute("aria-sort") === first ? other : first;
  headings.forEach((each) => each.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const key = (row) => {
    const cell = row.children[column];
    if (cell.dataset.value === undefined) return null;
    return isNumber ? Number(cell.dataset.value) : cell.dataset.value;
  };
  const compare = (left, right) => {
    const [a, b] = [key(left), key(right)];
    // Empty cells stay at the end in both orders.
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (isNumber ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  };
  const body = table.tBodies[0];
  body.append(...[...body.rows].sort(compare));
}

// Fallback without clipboard permission: select the text and copy the selection.
function copyBySelection(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  area.style.opacity = "0";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

async function copy(button) {
  const text = button.closest(".table").querySelector(`template.${button.dataset.copy}`).content.textContent;
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    done = copyBySelection(text);
  }
  const label = button.dataset.label ?? button.textContent;
  button.dataset.label = label;
  button.textContent = done ? "Copied" : "Not copied";
  setTimeout(() => { button.textContent = label; }, 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button === null) return;
  if (button.dataset.copy !== undefined) copy(button);
  else if (button.closest("th") !== null) sortBy(button.closest("th"));
});

// Mark tables and figures that are wider than their frame: the style sheet then shows a hint to scroll.
function markScrolling() {
  for (const frame of document.querySelectorAll(".scroll, .drawing")) {
    frame.closest(".table, figure").classList.toggle("scrolls", frame.scrollWidth > frame.clientWidth + 1);
  }
}
markScrolling();
addEventListener("resize", markScrolling);
document.addEventListener("toggle", markScrolling, true);
