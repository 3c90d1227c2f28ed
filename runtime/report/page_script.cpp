#include "runtime/report/page_script.hpp"

namespace d9d::report {
namespace {

constexpr const char* script = R"js(
for (const figure of document.querySelectorAll("figure.chart")) {
  const picture = figure.querySelector("svg"), out = figure.querySelector("output");
  const cursor = picture.querySelector(".cursor");
  const [left, right, first, last] = JSON.parse(picture.dataset.frame);
  const lines = JSON.parse(picture.dataset.points);
  const names = lines.length > 1 ? [...figure.querySelectorAll(".legend li")].filter(key => key.dataset.line).map(key => key.textContent.split(",")[0] + " ") : [""];
  const read = event => {
    const box = picture.getBoundingClientRect(), scale = picture.viewBox.baseVal.width / box.width;
    const step = first + ((event.clientX - box.left) * scale - left) / (right - left) * (last - first);
    const nearest = lines.map(line => line.length == 0 ? null : line.reduce(
      (best, point) => Math.abs(best[0] - step) > Math.abs(point[0] - step) ? point : best));
    const one = nearest.find(point => point);
    if (!one) return;
    cursor.setAttribute("transform", `translate(${left + (one[0] - first) / (last - first || 1) * (right - left)} 0)`);
    cursor.style.visibility = "visible";
    out.textContent = `step ${Math.round(one[0])}: ` +
      nearest.map((point, i) => point ? names[i] + Number(point[1].toPrecision(5)) : "").filter(text => text).join(", ");
  };
  picture.addEventListener("pointermove", read);
  picture.addEventListener("pointerdown", read);
  picture.addEventListener("pointerleave", () => { cursor.style.visibility = "hidden"; out.textContent = ""; });
}
)js";

}  // namespace

const char* page_script() {
  return script;
}

}  // namespace d9d::report
