"""What HolisticTraceAnalysis finds in the files of `d9d-node trace --for-profilers FOLDER`: by rank the share of
communication that computation hides, in percent.

    python read_hta.py FOLDER     (needs HolisticTraceAnalysis)
"""
import contextlib
import json
import sys

from hta.trace_analysis import TraceAnalysis

with contextlib.redirect_stdout(sys.stderr):
    overlap = TraceAnalysis(trace_dir=sys.argv[1]).get_comm_comp_overlap(visualize=False)
print(json.dumps(dict(zip(map(str, overlap["rank"]), overlap["comp_comm_overlap_pctg"]))))
