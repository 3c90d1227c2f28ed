"""Draws the loss of a run as an SVG, with nothing but Python.

    python3 examples/quickstart/plot_loss.py runs/quickstart/metrics.jsonl loss.svg
"""
import json
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 320, 56, 16, 34, 44
INK, FAINT, GRID, DOT, LINE = "#24292f", "#57606a", "#e4e7eb", "#9ec5e8", "#0b61a4"


def smooth(values, reach=10):
    """Mean of each value and up to `reach` neighbours, as many before it as after: the line runs through the data and
    not behind it."""
    out = []
    for i in range(len(values)):
        near = min(reach, i, len(values) - 1 - i)
        window = values[i - near:i + near + 1]
        out.append(sum(window) / len(window))
    return out


def main(metrics_path, svg_path):
    with open(metrics_path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    steps, losses = [row["step"] for row in rows], [row["loss"] for row in rows]
    low, high, last = int(min(losses)), int(max(losses)) + 1, steps[-1]
    x = lambda step: LEFT + (WIDTH - LEFT - RIGHT) * step / last
    y = lambda loss: TOP + (HEIGHT - TOP - BOTTOM) * (high - loss) / (high - low)
    path = lambda values: " ".join(f"{x(s):.1f},{y(v):.1f}" for s, v in zip(steps, values))
    text = lambda px, py, words, anchor, size=12, ink=FAINT: (
        f'<text x="{px:.1f}" y="{py:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{ink}">{words}</text>')

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for loss in range(low, high + 1):
        out.append(f'<path d="M{LEFT} {y(loss):.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>')
        out.append(text(LEFT - 8, y(loss) + 4, loss, "end"))
    every = next(n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10**9) if last / n <= 8)
    for step in range(0, last + 1, every):
        out.append(text(x(step), HEIGHT - BOTTOM + 18, step, "middle"))
    out.append(f'<polyline points="{path(losses)}" fill="none" stroke="{DOT}" stroke-width="1"/>')
    out.append(f'<polyline points="{path(smooth(losses))}" fill="none" stroke="{LINE}" stroke-width="2"/>')
    out.append(text(LEFT, 20, "loss, nats a token: each step, and smoothed", "start", 13, INK))
    out.append(text(WIDTH - RIGHT, 20, f"{losses[0]:.2f} to {losses[-1]:.2f} in {last} steps", "end", 13, INK))
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "optimizer step", "middle"))
    with open(svg_path, "w", encoding="utf-8") as file:
        file.write("\n".join(out + ["</svg>", ""]))


if __name__ == "__main__":
    main(*sys.argv[1:])
