"""Expected values for the data sources: the benchmark's synthetic sequences and numpy's own files.

    python make.py DIR     (DIR holds the peers' side of the benchmarks, its common.py; needs numpy)
"""
import json
import pathlib
import sys

import numpy as np
from numpy.lib import format as npy

HERE = pathlib.Path(__file__).parent


def sequences(sequence):
    cases = [(0, 17, 4096, 1234), (1, 257, 4096, 1234), (7, 33, 16384, 1234), (123456789, 20, 4096, 1234),
             (2**40 + 3, 20, 151936, 1), (5, 20, 2, 0), (0, 1, 1, 99), (3, 12, 2**31 - 1, 2**24 + 17)]
    return [dict(index=i, length=n, vocab=v, seed=s, tokens=sequence(i, n, v, s)) for i, n, v, s in cases]


def split(sequence, step=3, global_batch=8, seq=16, vocab=4096, dp=2, micro=2):
    """Rank r takes rows r*n to (r+1)*n of the step's global batch and cuts them into microbatches in order."""
    rows = [sequence(step * global_batch + i, seq + 1, vocab) for i in range(global_batch)]
    n = global_batch // dp
    ranks = [[rows[r * n + m * micro:r * n + (m + 1) * micro] for m in range(n // micro)] for r in range(dp)]
    return dict(step=step, global_batch=global_batch, seq=seq, vocab=vocab, dp=dp, micro=micro, ranks=ranks)


def arrays():
    values = np.arange(6).reshape(2, 3) * 1000 - 2000
    for name in ("int32", "int64", "float32", "float64"):
        array = values.astype(name)
        np.save(HERE / f"{name}.npy", array / 4 if name.startswith("float") else array)
    np.save(HERE / "uint16.npy", np.array([0, 1, 65535], np.uint16))
    np.save(HERE / "uint32.npy", np.array([[[0, 4294967295]]], np.uint32))
    np.save(HERE / "scalar.npy", np.int64(-7))
    np.save(HERE / "empty.npy", np.zeros((0, 4), np.int64))
    np.save(HERE / "fortran.npy", np.asfortranarray(values.astype(np.int32)))
    np.save(HERE / "big_endian.npy", values.astype(">i4"))
    np.save(HERE / "int8.npy", np.array([-128, 0, 127], np.int8))
    np.save(HERE / "uint8.npy", np.array([0, 255], np.uint8))
    np.save(HERE / "int16.npy", np.array([-32768, 32767], np.int16))
    np.save(HERE / "uint64.npy", np.array([0, 2**63 - 1], np.uint64))
    with open(HERE / "version2.npy", "wb") as f:
        npy.write_array(f, values.astype(np.int32), version=(2, 0))
    with open(HERE / "version3.npy", "wb") as f:
        npy.write_array(f, values.astype(np.int32), version=(3, 0))


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    from common import sequence

    (HERE / "expect.synthetic.json").write_text(
        json.dumps(dict(sequences=sequences(sequence), split=split(sequence)), separators=(",", ":")) + "\n")
    arrays()
