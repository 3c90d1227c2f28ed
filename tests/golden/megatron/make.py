"""Indexed datasets as Megatron writes them, and what is in them.

    PYTHONPATH=DIR python make.py     (DIR holds the sources of megatron-core; needs numpy and torch)

The mapped layout is written by megatron-core's own IndexedDatasetBuilder. The older one is written here, word by word
as the early versions' IndexedDatasetBuilder.finalize did, which no package has any more.
"""
import json
import pathlib
import struct

import numpy as np
import torch
from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder

HERE = pathlib.Path(__file__).parent
DOCUMENTS = [[5, 6, 7, 8, 0], [1, 0], [], [9, 10, 11, 65535 % 251, 0], [3]]
OLDER_CODES = {np.uint8: 1, np.int8: 2, np.int16: 3, np.int32: 4, np.int64: 5, np.uint16: 8}


FILLED = [[5, 6, 7, 8, 0], [1, 65535]]


def mapped(name, dtype, split=False, documents=DOCUMENTS):
    builder = IndexedDatasetBuilder(str(HERE / f"{name}.bin"), dtype=dtype)
    for document in documents:
        if split:  # a document of several pieces, as of sentences
            half = len(document) // 2
            for piece in (document[:half], document[half:]):
                builder.add_item(torch.tensor(piece, dtype=torch.int64))
            builder.end_document()
        else:
            builder.add_document(torch.tensor(document, dtype=torch.int64), [len(document)])
    builder.finalize(str(HERE / f"{name}.idx"))


def older(name, dtype):
    rows = [np.array(document, dtype) for document in DOCUMENTS]
    (HERE / f"{name}.bin").write_bytes(b"".join(row.tobytes() for row in rows))
    size = np.dtype(dtype).itemsize
    with open(HERE / f"{name}.idx", "wb") as index:
        index.write(b"TNTIDX\x00\x00")
        index.write(struct.pack("<Q", 1))
        index.write(struct.pack("<QQ", OLDER_CODES[dtype], size))
        index.write(struct.pack("<QQ", len(rows), len(rows)))
        index.write(struct.pack("<Q", len(rows) + 1))
        index.write(np.arange(len(rows) + 1, dtype=np.int64).tobytes())  # dimensions: one each
        index.write(np.cumsum([0] + [len(row) for row in rows], dtype=np.int64).tobytes())
        index.write(np.array([len(row) for row in rows], np.int64).tobytes())
        index.write(np.arange(len(rows) + 1, dtype=np.int64).tobytes())


if __name__ == "__main__":
    for dtype in (np.uint8, np.int16, np.int32, np.int64, np.uint16):
        mapped(np.dtype(dtype).name, dtype)
    mapped("pieces", np.int32, split=True)
    mapped("float32", np.float32)
    for dtype in (np.int32, np.uint16):
        mapped(f"filled_{np.dtype(dtype).name}", dtype, documents=FILLED)
        older(f"older_{np.dtype(dtype).name}", dtype)
    (HERE / "expect.json").write_text(json.dumps(dict(documents=DOCUMENTS)) + "\n")
