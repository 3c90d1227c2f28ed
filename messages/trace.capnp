@0xd9d0000000000009;
# Traces: spans travel to node 0, which writes one file for the job.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct FlushTrace {
  # Trainer of rank 0, Node, Coordinator -> TraceCollector of every node: hand over the spans in the rings. The
  # Trainer asks for a window of steps, the Node on SIGUSR2 or for the live page, the Coordinator for the whole
  # job. Reply: Spans, to node 0. Repeated: handed over again, as another file of the same label.
  label @0 :Text;      # becomes part of the file name; empty = the job's trace
  nodes @1 :UInt32;    # how many nodes take part
  fromStep @2 :Int32;  # spans of earlier steps are left out; -1 = all
  deadlineMs @3 :UInt32;  # node 0 writes the spans that have arrived by then; 0 = it waits for all nodes
}

struct Spans {
  # TraceCollector of a node -> TraceCollector of node 0, several parts for one
  # flush; the last one says so. No reply; when all nodes have sent their last
  # part, the file is written. Repeated: the spans would be in the file twice.
  label @0 :Text;
  node @1 :UInt32;
  names @2 :List(Text);      # of span names, by id
  actors @3 :List(Track);    # of tracks, by id
  spans @4 :Data;            # d9d::trace::Span records as in memory; all nodes run the same build
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
  # TraceCollector of node 0 -> Coordinator, when the trace of the whole job is written
  # or could not be. No reply: the job ends. Windows of steps are not reported.
  # Repeated: ignored, because the job has ended.
  path @0 :Text;
  failure @1 :Text;
}

struct ClockProbe {
  # TraceCollector of a node -> TraceCollector of node 0, sixteen in a row at
  # the start and then one every two seconds, to measure the offset between
  # the clocks. Reply: ClockReply at once. Repeated: one more measurement.
  sentNs @0 :Int64;
}

struct ClockReply {
  # TraceCollector of node 0 -> the collector that asked, the reply to ClockProbe.
  # No reply. Repeated: measured again, and the best measurements count.
  sentNs @0 :Int64;      # copied from the probe
  receivedNs @1 :Int64;  # node 0's clock
}
