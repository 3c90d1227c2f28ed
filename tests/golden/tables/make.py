"""Files as pyarrow and Hugging Face datasets write them, and their rows.

    python make.py     (needs datasets and pyarrow)
"""
import json
import pathlib
import shutil

import datasets
import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent
TEXTS = ["In the beginning", "", "caf\u00e9 \U0001f600", None, "the second\nline", "w\u00f6rter", "the end"]
ROWS = [
    {
        "text": text,
        "input_ids": [(7 * i + k) % 90 for k in range(i)],
        "labels": [-100 if k % 2 == 0 else (7 * i + k) % 90 for k in range(i)],
        "messages": [{"role": "user", "content": f"question {i}"}, {"role": "assistant", "content": f"answer {i}"}],
        "score": i / 4,
    }
    for i, text in enumerate(TEXTS)
]


def table(rows):
    return pa.Table.from_pylist(rows)


def parquet():
    for codec in ("none", "snappy", "gzip", "zstd", "lz4", "brotli"):
        pq.write_table(table(ROWS), HERE / f"{codec}.parquet", compression=codec, row_group_size=3)
    pq.write_table(table(ROWS), HERE / "version1.parquet", version="1.0", data_page_version="2.0",
                   use_dictionary=False, store_schema=False)


def saved():
    folder = HERE / "saved"
    shutil.rmtree(folder, ignore_errors=True)
    data = datasets.Dataset.from_list(ROWS)
    data.save_to_disk(str(folder / "train"), num_shards=2)
    # Rows in another order: datasets keeps the order apart until it saves.
    data.select([5, 1, 3]).save_to_disk(str(folder / "selected"))
    datasets.DatasetDict({"train": data.select([0]), "test": data.select([1])}).save_to_disk(str(folder / "splits"))
    for state in folder.rglob("state.json"):  # a name by chance
        content = json.loads(state.read_text())
        content["_fingerprint"] = "0"
        state.write_text(json.dumps(content, indent=2, sort_keys=True))
    return {name: datasets.load_from_disk(str(folder / name)).to_list() for name in ("train", "selected")}


if __name__ == "__main__":
    parquet()
    expected = {"rows": ROWS, **saved(), "versions": {"pyarrow": pa.__version__, "datasets": datasets.__version__}}
    (HERE / "expect.json").write_text(json.dumps(expected, indent=1) + "\n")
