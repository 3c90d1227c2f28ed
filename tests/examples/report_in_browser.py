"""report_in_browser.py D9D_NODE RUN_FOLDER OUT: the page of a run in headless Chromium, 1200 and 400 pixels wide, light and
dark. Nothing is wider than the window, text stands out from what is behind it (contrast 4.5, WCAG 2.1 AA, 1.4.3), charts are
drawn. Exit code 77 where there is no Chromium. Screenshots are left in OUT.
"""
import html
import json
import os
import shutil
import subprocess
import sys

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
MEASURE = """
const frame = document.getElementById('frame');
frame.onload = () => {
  const page = frame.contentDocument, root = page.documentElement;
  const opaque = (color) => { const [r, g, b, a = 1] = color.match(/[\\d.]+/g).map(Number); return a > 0.99 ? [r, g, b] : null; };
  const light = ([r, g, b]) => [r, g, b].map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + [0.2126, 0.7152, 0.0722][i] * c, 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = opaque(frame.contentWindow.getComputedStyle(e).backgroundColor);
    if (c) return c; } return [255, 255, 255]; };
  const weak = [];
  for (const e of page.querySelectorAll('h1, h2, h3, p, li, td, th, a')) {
    if (!e.textContent.trim() || !e.getClientRects().length) continue;
    const text = opaque(frame.contentWindow.getComputedStyle(e).color);
    if (!text) continue;
    const [high, low] = [light(text), light(behind(e))].sort((a, b) => b - a);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < 4.5) weak.push(e.tagName + ' ' + e.textContent.trim().slice(0, 40) + ' ' + contrast.toFixed(2));
  }
  const charts = [...page.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().width > 100);
  document.title = 'measured';
  document.getElementById('found').textContent = JSON.stringify({
    width: root.clientWidth, scroll: root.scrollWidth, charts: charts.length, weak: weak,
    background: behind(page.body), headings: page.querySelectorAll('h2').length});
};
"""


def wrapped(page, width):
    """In a frame, because a window of Chromium is never as narrow as a phone."""
    text = json.dumps(page).replace("</", "<\\/")
    return (f"<!doctype html><body style='margin:0'><iframe id=frame width={width} height=3000 style='border:0'></iframe>"
            f"<pre id=found></pre><script>{MEASURE}frame.srcdoc = {text};</script>")


def chromium(out, *words):
    return subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                           f"--user-data-dir={out}/profile", *words],
                          capture_output=True, text=True, timeout=120)


def look(page, out, width, dark):
    name = f"{width}-{'dark' if dark else 'light'}"
    file = os.path.join(out, name + ".html")
    with open(file, "w") as f:
        f.write(wrapped(page, width))
    mode = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if dark else []
    shown = chromium(out, *mode, "--virtual-time-budget=5000", "--dump-dom", "file://" + file)
    begin = shown.stdout.find('<pre id="found">')
    if begin < 0 or "measured" not in shown.stdout:
        sys.exit(f"Chromium measured nothing at {name}: {shown.stderr[-1000:]}")
    text = shown.stdout[begin + len('<pre id="found">'):]
    found = json.loads(html.unescape(text[:text.index("</pre>")]))
    chromium(out, *mode, f"--window-size={width},3000", f"--screenshot={os.path.join(out, name + '.png')}", "file://" + file)
    return found


def main():
    node, run, out = sys.argv[1:]
    if CHROMIUM is None:
        print("skipped: none of", ", ".join(NAMES), "is here; D9D_BROWSER=1 bash .ci/deps installs one (105 MB to load)")
        sys.exit(77)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    subprocess.run([node, "report", run, "--out", os.path.join(out, "report.html")], check=True)
    with open(os.path.join(out, "report.html")) as f:
        page = f.read()
    problems, grounds = [], {}
    for width in (1200, 400):
        for dark in (False, True):
            found = look(page, out, width, dark)
            where = f"{width} pixels, {'dark' if dark else 'light'}"
            print(where, found)
            grounds[dark] = sum(found["background"])
            if found["width"] != width or found["scroll"] > width:
                problems.append(f"{where}: {found['scroll']} pixels of {found['width']} are shown")
            if found["charts"] < 4 or found["headings"] < 4:
                problems.append(f"{where}: {found['charts']} charts under {found['headings']} headings")
            problems += [f"{where}: {weak}" for weak in found["weak"]]
    if grounds[True] >= grounds[False]:
        problems.append(f"the dark page is not darker: {grounds}")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
