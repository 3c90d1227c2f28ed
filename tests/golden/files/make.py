"""Files of rows as people have them, and their rows as Python's own libraries read them.

    python make.py     (needs pyarrow)
"""
import bz2
import csv
import datetime
import decimal
import glob
import gzip
import json
import lzma
import os
import pathlib
import shutil
import subprocess

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent
ROWS = [
    {"text": "In the beginning", "note": "a, b"},
    {"text": "the second\nline, \"quoted\"", "note": ""},
    {"text": "caf\u00e9 \U0001f600\ttab", "note": "[1, {\"x\": \"]\"}]"},
    {"text": "", "note": "no text"},
    {"text": "w\u00f6rter " * 40, "note": "long"},
]


def packed():
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()
    (HERE / "rows.jsonl.gz").write_bytes(gzip.compress(lines[:50], mtime=0) + gzip.compress(lines[50:], mtime=0))
    (HERE / "rows.jsonl.bz2").write_bytes(bz2.compress(lines[:50]) + bz2.compress(lines[50:]))
    (HERE / "rows.jsonl.xz").write_bytes(lzma.compress(lines[:50]) + lzma.compress(lines[50:]))
    zstd = b"".join(subprocess.run(["zstd", "-c"], input=part, capture_output=True, check=True).stdout
                    for part in (lines[:50], lines[50:]))
    (HERE / "rows.jsonl.zst").write_bytes(zstd)
    # The name does not tell it.
    (HERE / "rows_unnamed.jsonl").write_bytes(gzip.compress(lines, mtime=0))


def arrays():
    (HERE / "array.json").write_text(json.dumps(ROWS, indent=2))
    (HERE / "array_line.json").write_text(json.dumps(ROWS, ensure_ascii=False))
    (HERE / "array_packed.json.gz").write_bytes(gzip.compress(json.dumps(ROWS).encode(), mtime=0))
    (HERE / "lines.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def separated():
    for name, dialect in (("rows.csv", "excel"), ("rows.tsv", "excel-tab")):
        with open(HERE / name, "w", newline="") as file:
            writer = csv.DictWriter(file, ["text", "note"], dialect=dialect)
            writer.writeheader()
            writer.writerows(ROWS)
    (HERE / "rows.csv.gz").write_bytes(gzip.compress((HERE / "rows.csv").read_bytes(), mtime=0))
    with open(HERE / "rows.csv", newline="") as file:
        assert list(csv.DictReader(file)) == ROWS


def lists():
    """Null lists with values behind them, in every kind of list: what pyarrow reads, and a file of each."""
    values = pa.array([1, 2, 3, 4, 5, 6, 7, 8], pa.int64())
    validity = pa.array([True, False, True, True]).buffers()[1]
    offsets = pa.array([0, 2, 5, 5, 8], pa.int32())
    kinds = {
        "list": pa.ListArray.from_buffers(pa.list_(pa.int64()), 4, [validity, offsets.buffers()[1]], children=[values]),
        "large_list": pa.LargeListArray.from_buffers(
            pa.large_list(pa.int64()), 4, [validity, offsets.cast(pa.int64()).buffers()[1]], children=[values]),
        "fixed": pa.FixedSizeListArray.from_buffers(pa.list_(pa.int64(), 2), 4, [validity], children=[values]),
        "list_view": pa.ListViewArray.from_buffers(
            pa.list_view(pa.int64()), 4,
            [validity, pa.array([4, 0, 2, 0], pa.int32()).buffers()[1], pa.array([3, 2, 0, 4], pa.int32()).buffers()[1]],
            children=[values]),
    }
    expected = {}
    for name, array in kinds.items():
        for suffix, column in (("", array), ("_slice", array[1:])):
            table = pa.table({"input_ids": column})
            with pa.ipc.new_stream(HERE / f"{name}{suffix}.arrow", table.schema) as writer:
                writer.write_table(table)
            expected[f"{name}{suffix}"] = column.to_pylist()
    return expected


def every_type():
    """Columns that nobody asked for, beside texts that are dictionaries, bytes, and in a struct in a list."""
    when = datetime.datetime(2024, 1, 2, 3, 4, 5)
    table = pa.table({
        "text": pa.array(["a", None, "b", "a"]).dictionary_encode(),
        "bytes": pa.array([b"one", b"two", None, b"three"]),
        "when": pa.array([when, None, when, when], pa.timestamp("us", tz="UTC")),
        "day": pa.array([when.date()] * 4, pa.date32()),
        "price": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("2.25"), decimal.Decimal("0.00")],
                          pa.decimal128(8, 2)),
        "tags": pa.array([[("k", 1)], None, [], [("a", 2), ("b", 3)]], pa.map_(pa.string(), pa.int64())),
        "half": pa.array([1.5, 2.5, None, 0.5], pa.float32()).cast(pa.float16()),
        "nothing": pa.nulls(4),
        "messages": pa.array(
            [[{"role": "user", "content": f"q{i}", "at": when}, {"role": "assistant", "content": None, "at": None}]
             for i in range(4)]),
    })
    pq.write_table(table, HERE / "every_type.parquet")
    with pa.ipc.new_file(HERE / "every_type.arrow", table.schema) as writer:
        writer.write_table(table)
    return {"text": table["text"].to_pylist(), "bytes": [b and b.decode() for b in table["bytes"].to_pylist()],
            "tags": [None if t is None else dict(t) for t in table["tags"].to_pylist()],
            "contents": [[m["content"] for m in row] for row in table["messages"].to_pylist()]}


TREE = ["a.jsonl", "one/b.jsonl", "one/two/c.jsonl", "one/two/.hidden/d.jsonl", "one/.e.jsonl", "x[1].jsonl", "x1.jsonl",
        "part-00.jsonl", "part-01.jsonl", "part-10.jsonl", "one/f.txt"]
PATTERNS = ["**/*.jsonl", "*.jsonl", "one/**/*.jsonl", "**/two/*", "part-0?.jsonl", "part-[!1]*.jsonl", "**", "*/*.txt",
            "one/**"]


def patterns():
    """What Python's glob finds: of ** here all but folders."""
    root = pathlib.Path("/tmp/d9d_patterns")
    shutil.rmtree(root, ignore_errors=True)
    for name in TREE:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    found = {}
    for pattern in PATTERNS:
        names = sorted(glob.glob(pattern, root_dir=root, recursive=True))
        if pattern.endswith("**"):
            names = [name for name in names if not os.path.isdir(root / name)]
        found[pattern] = names
    shutil.rmtree(root)
    return {"tree": TREE, "found": found}


if __name__ == "__main__":
    packed()
    arrays()
    separated()
    expected = {"rows": ROWS, "lists": lists(), "every_type": every_type(), "patterns": patterns(),
                "versions": {"pyarrow": pa.__version__}}
    (HERE / "expect.json").write_text(json.dumps(expected, indent=1) + "\n")
