@0xd9d000000000000a;
# Text from the model that trains, between two steps.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("d9d::wire");

struct GenerateTexts {
  # Any actor -> Trainer of rank 0, at any time while the job trains: let the model continue these prompts after a
  # step. That Trainer numbers the request and passes it on to the Trainers of all ranks. After the step on which all
  # ranks agree, each Trainer passes it to its RankExecutor, which answers with StepComputed. Reply to the asker:
  # TextsGenerated; none when the job ends earlier. Repeated by the asker: another request.
  prompts @0 :List(Prompt);
  struct Prompt {
    ids @0 :List(Int64);      # at least one token
  }
  maxNewTokens @1 :UInt32;
  temperature @2 :Float64;    # of the logits; 0: the most likely token
  topP @3 :Float64;           # above 0, at most 1
  seed @4 :UInt64;            # of the random choices
  ends @5 :List(Int64);       # a text ends after any of these tokens
  asker @6 :UInt64;           # ActorId, packed; set by rank 0
  number @7 :UInt64;          # from 1; set by rank 0
  step @8 :UInt64;            # training steps done before; set by the Trainer for its RankExecutor
}

struct TextsGenerated {
  # RankExecutor -> the asker, the reply to GenerateTexts; one rank of the last pipeline stage says it. No reply.
  # Repeated: there is one for each request.
  step @0 :UInt64;            # training steps done before
  texts @1 :List(Text);       # in the order of the prompts
  struct Text {
    ids @0 :List(Int64);      # the new tokens, with the token that ended the text
  }
}

struct WriteRollouts {
  # Loader -> Trainer of its rank, ahead of the step that trains on the texts: let the model go on with the prompts of
  # this rank's data replica. The Trainer passes it to its RankExecutor when `after` steps are done and before the next
  # one begins; all ranks do, because all Loaders ask for the same steps. Reply to the Loader: RolloutsWritten. Many
  # prompts come in several messages, one after another. Repeated: a second one for the same step is a bug.
  step @0 :UInt64;            # that trains on the texts
  after @1 :UInt64;           # training steps done before they are written
  first @2 :UInt64;           # the number of the first prompt, for the random choices
  prompts @3 :List(Prompt);
  struct Prompt {
    ids @0 :List(Int64);      # at least one token
  }
  maxNewTokens @4 :UInt32;
  temperature @5 :Float64;    # of the logits, above 0
  topP @6 :Float64;           # above 0, at most 1
  seed @7 :UInt64;            # of the random choices
  ends @8 :List(Int64);       # a text ends after any of these tokens
  more @9 :Bool;              # the next message has further prompts of this step
}

struct RolloutsWritten {
  # RankExecutor of a last pipeline stage -> the Loaders of all ranks of its data replica, when the texts of a
  # WriteRollouts are there. Trainer -> the Loader of its rank, instead of it: the job ends before the texts. No reply.
  # Long texts come in several messages, one after another. Repeated: a second one for the same step is a bug.
  step @0 :UInt64;            # as in the request
  texts @1 :List(Text);       # in the order of the prompts
  struct Text {
    ids @0 :List(Int64);      # the new tokens, with the token that ended the text
    logProbs @1 :List(Float32);  # of each of them
  }
  cancelled @2 :Bool;         # no texts come, of this or later steps
  more @3 :Bool;              # the next message has further texts of this step
}
