@0xd9d0000000000009;
# Traces: spans travel to node 0, which writes one file for the job.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct FlushTrace {
  # Trainer of rank 0 or Coordinator -> TraceCollector of every node: hand over what the rings hold. Reply: Spans.
  label @0 :Text;      # becomes part of the file name; empty = the job's trace
  nodes @1 :UInt32;    # how many nodes take part
  fromStep @2 :Int32;  # spans of earlier steps are left out; -1 = all
  deadlineMs @3 :UInt32;  # node 0 writes what has come in by then; 0 = it waits for all nodes
}

struct Spans {
  # TraceCollector of a node -> TraceCollector of node 0. Several parts for one flush; the last one says so.
  label @0 :Text;
  node @1 :UInt32;
  names @2 :List(Text);      # of span names, by id
  actors @3 :List(Track);    # of tracks, by id
  spans @4 :Data;            # d9d::trace::Span records as they lie in memory; all nodes run the same build
  lost @5 :UInt64;           # spans that the rings overwrote
  last @6 :Bool;
  nodes @7 :UInt32;          # how many nodes take part in the flush
  offsetNs @8 :Int64;        # add to the sender's clock to get node 0's
  struct Track {
    name @0 :Text;
    rank @1 :Int32;
  }
}

struct TraceWritten {
  # TraceCollector of node 0 -> Coordinator.
  path @0 :Text;
  failure @1 :Text;
}

struct ClockProbe {
  # TraceCollector of a node -> TraceCollector of node 0, every few seconds. Reply: ClockReply at once.
  sentNs @0 :Int64;
}

struct ClockReply {
  # TraceCollector of node 0 -> the asker.
  sentNs @0 :Int64;      # copied from the probe
  receivedNs @1 :Int64;  # node 0's clock
}
