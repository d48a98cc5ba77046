// Steps through each chart: buttons, and the arrow keys while the chart has the focus. The page says
// everything without this, too.
for (const article of document.querySelectorAll("article")) {
  const rows = [...article.querySelectorAll(".chart tbody tr")];
  const bar = article.querySelector(".steps");
  if (!bar || rows.length === 0) continue;
  bar.hidden = false;
  const said = bar.querySelector("output");
  const scroll = article.querySelector(".chart");
  let at = -1;
  const go = (to) => {
    at = Math.max(0, Math.min(rows.length - 1, to));
    for (const old of article.querySelectorAll(".at")) old.classList.remove("at");
    const row = rows[at];
    row.classList.add("at");
    row.scrollIntoView({ block: "nearest", inline: "nearest" });
    const line = article.querySelector(`.source[data-text="${row.dataset.text}"] li[value="${row.dataset.line}"]`);
    if (line) {
      line.classList.add("at");
      const list = line.closest(".scroll");
      list.scrollTop = line.offsetTop - list.offsetTop - list.clientHeight / 2;
    }
    said.textContent = `row ${at + 1} of ${rows.length}`;
  };
  bar.querySelector(".first").onclick = () => go(0);
  bar.querySelector(".back").onclick = () => go(at - 1);
  bar.querySelector(".forth").onclick = () => go(at + 1);
  bar.querySelector(".last").onclick = () => go(rows.length - 1);
  rows.forEach((row, number) => (row.onclick = () => go(number)));
  scroll.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (step) {
      event.preventDefault();
      go(at + step);
    }
  });
}
