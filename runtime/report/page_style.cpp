#include "runtime/report/page_style.hpp"

namespace d9d::report {
namespace {

constexpr const char* style = R"css(
:root { color-scheme: light dark;
  --ground: #f6f7f9; --card: #ffffff; --ink: #1c2128; --soft: #59636e; --rule: #d9dee3; --grid: #e6e9ec;
  --good: #1a7f37; --bad: #c62828; --busy: #0b62b8; --warn: #8a5a00; --warn-ground: #fff6df;
  --c0: #0b66c3; --c1: #d1570c; --c2: #1d8348; --c3: #8e44ad; --c4: #00838f; --c5: #b03060; --c6: #7a6a00; --c7: #57606a;
  --compute: #2f7fd1; --comm: #d9822b; --bubble: #c3cad1; --wait: #b85fb5; --other: #3f9d6b; }
@media (prefers-color-scheme: dark) { :root { color-scheme: light dark;
  --ground: #0f1318; --card: #181d24; --ink: #e6eaee; --soft: #9aa5b1; --rule: #303841; --grid: #262d35;
  --good: #4ac26b; --bad: #ff7b72; --busy: #6cb6ff; --warn: #f0c674; --warn-ground: #2c2614;
  --c0: #6cb6ff; --c1: #f0883e; --c2: #57c27d; --c3: #c99bf0; --c4: #4cc3d0; --c5: #f28bb2; --c6: #d3bf4f; --c7: #a8b1ba;
  --compute: #4a97e8; --comm: #e0954a; --bubble: #46505b; --wait: #c77fc4; --other: #55b181; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 20px 16px 48px; }
h1 { font-size: 1.6rem; margin: 0 0 2px; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 0 0 10px; }
h3 { font-size: 1rem; margin: 18px 0 6px; }
p { margin: 0 0 8px; overflow-wrap: anywhere; }
nav { margin: 12px 0 0; } nav a { margin-right: 14px; }
a { color: var(--busy); }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 16px; margin-top: 16px; }
.soft, small { color: var(--soft); }
.verdict { font-size: 1.05rem; margin: 8px 0; }
.verdict b { color: var(--good); } .failed b { color: var(--bad); } .running b { color: var(--busy); } .ended b { color: var(--warn); }
.actions { display: flex; flex-wrap: wrap; gap: 8px; margin: 12px 0 0; }
button { font: inherit; font-size: .9rem; color: var(--busy); background: var(--card); border: 1px solid var(--rule); border-radius: 6px; padding: 5px 14px; cursor: pointer; }
button:hover, button:focus-visible { border-color: var(--busy); background: var(--ground); }
.hint { background: var(--warn-ground); color: var(--warn); border-radius: 6px; padding: 8px 12px; }
dl.tiles { display: flex; flex-wrap: wrap; gap: 10px; margin: 14px 0 0; }
dl.tiles div { flex: 1 1 150px; background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 8px 12px; }
dt { color: var(--soft); font-size: .8rem; } dd { margin: 0; font-size: 1.05rem; overflow-wrap: anywhere; }
.charts { margin-bottom: 12px; display: grid; grid-template-columns: minmax(0, 1fr); gap: 18px 22px; }
@media (min-width: 740px) { .charts { grid-template-columns: repeat(2, minmax(0, 1fr)); grid-auto-flow: dense; }
  .charts.odd > :first-child { grid-column: span 2; } .charts.one > :first-child { max-width: 736px; }
  .charts.odd > :first-child .axis text { font-size: 7px; } }
@media (min-width: 1120px) { .charts { grid-template-columns: repeat(3, minmax(0, 1fr)); } .charts.odd > :first-child { grid-column: auto; }
  .charts.lacks-1 > :first-child, .charts.lacks-2 > :nth-child(-n+2), .charts.one > :first-child { grid-column: span 2; }
  .charts.odd > :first-child .axis text { font-size: 12px; }
  .charts.lacks-1 > :first-child .axis text, .charts.lacks-2 > :nth-child(-n+2) .axis text { font-size: 7px; } }
figure { margin: 0; min-width: 0; position: relative; }
figcaption { font-weight: 600; overflow-wrap: anywhere; } figcaption small { font-weight: 400; }
figure svg { display: block; width: 100%; height: auto; }
.chart svg { touch-action: pan-y; }
.axis text { font-size: 12px; fill: var(--soft); } .axis path { stroke: var(--soft); fill: none; } .axis .grid { stroke: var(--grid); }
.line, .raw { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.raw { stroke: var(--c0); stroke-width: 1; opacity: .35; } .band { opacity: .18; }
.dot { stroke: none; }
.mark { stroke: var(--soft); stroke-dasharray: 4 3; } .bad { fill: var(--bad); }
.cursor { stroke: var(--ink); stroke-width: .7; visibility: hidden; }
.line-0 { stroke: var(--c0); } .line-1 { stroke: var(--c1); } .line-2 { stroke: var(--c2); } .line-3 { stroke: var(--c3); }
.line-4 { stroke: var(--c4); } .line-5 { stroke: var(--c5); } .line-6 { stroke: var(--c6); } .line-7 { stroke: var(--c7); }
.dot.line-0, .band-0, .key-0 { fill: var(--c0); background: var(--c0); } .dot.line-1, .band-1, .key-1 { fill: var(--c1); background: var(--c1); }
.dot.line-2, .band-2, .key-2 { fill: var(--c2); background: var(--c2); } .dot.line-3, .band-3, .key-3 { fill: var(--c3); background: var(--c3); }
.dot.line-4, .band-4, .key-4 { fill: var(--c4); background: var(--c4); } .dot.line-5, .band-5, .key-5 { fill: var(--c5); background: var(--c5); }
.dot.line-6, .band-6, .key-6 { fill: var(--c6); background: var(--c6); } .dot.line-7, .band-7, .key-7 { fill: var(--c7); background: var(--c7); }
.key-raw { background: var(--c0); opacity: .35; }
.compute { fill: var(--compute); background: var(--compute); } .comm { fill: var(--comm); background: var(--comm); }
.bubble { fill: var(--bubble); background: var(--bubble); } .wait { fill: var(--wait); background: var(--wait); }
.other { fill: var(--other); background: var(--other); }
ul.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 14px; margin: 4px 0; padding: 0; font-size: .8rem; }
ul.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 2px; margin-right: 5px; vertical-align: -1px; }
.facts, output { font-size: .8rem; color: var(--soft); margin: 0; } output { position: absolute; top: 1.6em; right: 0; padding: 0 6px; background: var(--card); color: var(--ink); }
svg .card { fill: var(--card); } svg .title { font-size: 13px; font-weight: 600; fill: var(--ink); }
.bars text { font-size: 12px; fill: var(--ink); }
.bars { max-width: 520px; margin-bottom: 10px; }
@media (min-width: 1000px) { .pair { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 22px; align-items: start; } }
.scroll { overflow-x: auto; max-width: 100%; margin-bottom: 8px; }
.scroll .program { width: 100%; min-width: 900px; height: auto; display: block; }
.program .boxes rect { stroke: var(--card); }
table { border-collapse: collapse; font-size: .85rem; width: 100%; } th, td { text-align: left; padding: 3px 14px 3px 0; white-space: nowrap; vertical-align: top; }
th { color: var(--soft); font-weight: 600; border-bottom: 1px solid var(--rule); } tr + tr td { border-top: 1px solid var(--grid); }
@media (max-width: 600px) { td:not(.number) { white-space: normal; overflow-wrap: anywhere; min-width: 7.5em; } }
.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { margin: 6px 0 0; padding: 10px 12px; background: var(--ground); border-radius: 6px; font: .8rem/1.45 ui-monospace, monospace; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
details { border-top: 1px solid var(--grid); padding: 6px 0; } summary { cursor: pointer; }
footer { margin-top: 18px; font-size: .85rem; color: var(--soft); }
)css";

}  // namespace

const char* page_style() {
  return style;
}

}  // namespace d9d::report
