"""Ratios of paired measurements, with a confidence interval."""
import random
import statistics


def interval(ratios, share=0.95, draws=4000, seed=1):
    """The median of the ratios, and the interval that holds `share` of the medians of samples drawn with replacement
    (percentile bootstrap: Efron, 'Bootstrap Methods', Annals of Statistics 7, 1979). Deterministic."""
    if not ratios:
        raise ValueError("no pair was measured")
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(draws))
    outside = (1 - share) / 2
    return dict(median=statistics.median(ratios), low=medians[int(outside * draws)],
                high=medians[min(draws - 1, int((1 - outside) * draws))], pairs=len(ratios))


def pairs_of(count, first, second):
    """Calls both functions once a pair and returns their results by pair. They take turns in going first, so that a drift
    of the machine hits both alike."""
    results = []
    for pair in range(count):
        if pair % 2 == 0:
            one = first()
            results.append((one, second()))
        else:
            other = second()
            results.append((first(), other))
    return results


def ratio_text(row):
    """2.51 (2.40 to 2.63, 12 pairs)"""
    return f"{row['median']:.2f} ({row['low']:.2f} to {row['high']:.2f}, {row['pairs']} pairs)"


def cost_text(row):
    """+0.31 % (-0.04 to +0.62, 200 pairs)"""
    low, median, high = (100 * (row[name] - 1) for name in ("low", "median", "high"))
    return f"{median:+.2f} % ({low:+.2f} to {high:+.2f}, {row['pairs']} pairs)"
