"""Scores of classifiers by scikit-learn, on the union of what several ranks have seen.

    python make.py     (needs scikit-learn)
"""
import json
import math
import pathlib
import random

import sklearn
from sklearn import metrics

HERE = pathlib.Path(__file__).parent
RANKS = 3
CLASSES = 4
random.seed(5)


def probability():
    return round(random.random(), 6)


def ranks_of(count, sample):
    """Uneven shares, as of ranks that hold different numbers of samples."""
    samples = [sample() for _ in range(count)]
    cuts = [0, count // 2, count // 2 + count // 5, count]
    return [samples[a:b] for a, b in zip(cuts, cuts[1:])], samples


def binary():
    def sample():
        label = int(random.random() < 0.3)
        return [min(1.0, max(0.0, round(0.35 * label + 0.65 * random.random(), 6)))], [label]

    ranks, union = ranks_of(400, sample)
    scores = [p[0] for p, _ in union]
    labels = [t[0] for _, t in union]
    predicted = [int(p > 0.5) for p in scores]
    return ranks, {
        "auroc": metrics.roc_auc_score(labels, scores),
        "accuracy": metrics.accuracy_score(labels, predicted),
        "precision": metrics.precision_score(labels, predicted),
        "recall": metrics.recall_score(labels, predicted),
        "f1": metrics.f1_score(labels, predicted),
        "fbeta2": metrics.fbeta_score(labels, predicted, beta=2),
    }


def averages(labels, predicted, **more):
    out = {}
    for name, score in (("precision", metrics.precision_score), ("recall", metrics.recall_score),
                        ("f1", metrics.f1_score)):
        for average in ("micro", "macro", "weighted"):
            out[f"{name}/{average}"] = score(labels, predicted, average=average, **more)
        out[f"{name}/per_class"] = list(map(float, score(labels, predicted, average=None, **more)))
    return out


def multiclass():
    def sample():
        label = random.choices(range(CLASSES), weights=[5, 3, 2, 1])[0]
        return [round(probability() + 0.5 * (c == label), 6) for c in range(CLASSES)], [label]

    ranks, union = ranks_of(300, sample)
    labels = [t[0] for _, t in union]
    scores = [p for p, _ in union]
    predicted = [max(range(CLASSES), key=p.__getitem__) for p in scores]
    return ranks, averages(labels, predicted) | {
        "top2": metrics.top_k_accuracy_score(labels, scores, k=2, labels=range(CLASSES))}


def multilabel():
    def sample():
        labels = [int(random.random() < 0.2 + 0.15 * c) for c in range(CLASSES)]
        return [min(1.0, round(0.4 * t + 0.6 * random.random(), 6)) for t in labels], labels

    ranks, union = ranks_of(300, sample)
    predicted = [[int(p > 0.5) for p in row] for row, _ in union]
    return ranks, averages([t for _, t in union], predicted)


def perplexity():
    """exp of the mean negative log-likelihood of all tokens (sklearn's log_loss), and the means of batches."""
    ranks, union = ranks_of(120, lambda: [[probability() * 0.98 + 0.01], [1]])
    loss = metrics.log_loss([1] * len(union), [p[0] for p, _ in union], labels=[0, 1])
    return ranks, {"perplexity": math.exp(loss)}


if __name__ == "__main__":
    cases = {}
    for case in (binary, multiclass, multilabel, perplexity):
        ranks, expected = case()
        cases[case.__name__] = {"expected": expected, "ranks": [
            {"predictions": [x for p, _ in rank for x in p], "targets": [x for _, t in rank for x in t]}
            for rank in ranks]}
    cases["versions"] = {"scikit-learn": sklearn.__version__}
    (HERE / "expect.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")
