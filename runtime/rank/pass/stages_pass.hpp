#pragma once
// What the passes of all kinds share: the cores of the rank's stages, and how tensors go between them. Needs
// torch.

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/pipeline/stage/stage_core.hpp"
#include "runtime/rank/pass/passes.hpp"

namespace d9d {

class StagesPass : public RankPass {
 public:
  void put(const StageTensor& tensor) final;
  RankOrder& order() final { return order_; }
  std::vector<StageTensor> run(const Instruction& instruction) final;
  PassResult finish() final {
    return parts_.groups.checked([this] { return end(); });
  }

 protected:
  StagesPass(const PassParts& parts, std::unique_ptr<ActionCursor> cursor, bool follows = false);

  // Ends the pass when all of its actions are done, and waits for the device.
  virtual PassResult end() = 0;
  // Returns the stage and the microbatch to which the outputs of a forward go.
  virtual std::pair<int, int> after(const Action& action) const {
    return {action.stage + 1, action.microbatch};
  }
  // The threads on which parts of composed actions take turns. Null: they run one after the other.
  virtual ComputeLanes* lanes() const { return nullptr; }

  StageCoreOptions core_options(int stage, std::shared_ptr<StageModule> module) const;
  // Takes what the Loader has made, and adds to `metrics` what the task counted when it did.
  std::vector<MicrobatchTensors> take_microbatches(const std::vector<Ticket>& tickets,
                                                   Compose& metrics) const;

  const PassParts parts_;
  RankOrder order_;
  std::map<int, std::unique_ptr<StageCore>> cores_;  // by stage

 private:
  StageCore& core(int stage) const;
  void pass_on(const StageTensor& tensor, std::vector<StageTensor>& others);
};

}  // namespace d9d
