#pragma once
// One pass through the stages of a rank: begin(), then put() and run() until all actions of order() are done,
// then finish(). A rank has one pass in work at a time. Call it on the RankExecutor's thread. No torch in
// this header.

#include <cstdint>
#include <vector>

#include "runtime/pipeline/order/rank_order.hpp"
#include "runtime/tensor/tensor_table.hpp"
#include "runtime/text/text_request.hpp"
#include "runtime/train/step_totals.hpp"

namespace d9d {

// A tensor on its way from one pipeline stage to another.
struct StageTensor {
  bool gradient = false;  // false: an activation for stage `stage`; true: gradients for stage `stage`
  int stage = 0;          // the receiving pipeline stage
  int microbatch = 0;
  Ticket ticket;  // TensorParcel
};

struct PassRequest {
  std::uint64_t step = 0;
  int update = 0;                         // of the step, of the kind `train`
  std::vector<Ticket> microbatches = {};  // MicrobatchParcel
  TextRequest texts =
      {};  // of the kind `texts`, in place of microbatches; the same on all ranks of a replica
};

struct PassResult {
  // Loss, weight, costs, and the share of the norm that no CollectiveWorker has (tied weights, buckets of one
  // rank). Without training loss and weight alone.
  StepTotals totals;
  Texts texts = {};  // of the kind `texts`, on one rank of the job, or of each replica
};

class RankPass {
 public:
  // See BeginStep.Pass in messages/pipeline.capnp. All but `train` run the stages forward alone and change
  // neither parameters nor gradients nor training's metrics.
  enum class Kind { train, evaluate, infer, texts };

  virtual ~RankPass() = default;
  virtual void begin(const PassRequest& request) = 0;
  // Takes a tensor for a stage of this rank.
  virtual void put(const StageTensor& tensor) = 0;
  // Decides which instruction to run next.
  virtual RankOrder& order() = 0;
  // Runs an instruction of order(). Returns the tensors for stages of other ranks.
  virtual std::vector<StageTensor> run(const Instruction& instruction) = 0;
  // Call it after all actions and reductions. With tied weights a pass that trains waits for another rank.
  virtual PassResult finish() = 0;
  // Returns the task's metrics (Compose::state) since the last call, and starts them anew.
  virtual std::vector<double> take_metrics() = 0;
};

}  // namespace d9d
