#include "runtime/task/inference_as_task.hpp"

#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

class InferenceAsTask final : public TrainTask {
 public:
  explicit InferenceAsTask(std::shared_ptr<InferenceTask> inference) : inference_(std::move(inference)) {}

  void begin(const RankContext& context) override { inference_->begin(context); }
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override {
    return inference_->build_forward_inputs(context);
  }
  Loss compute_loss(const LossContext& /*context*/) const override {
    fail(ErrorKind::bug, "an inference task has no loss", __FILE__, __LINE__);
  }
  void register_events(RankEvents& events) override { inference_->register_events(events); }
  nlohmann::json hparams() const override { return inference_->hparams(); }
  nlohmann::json state() const override { return inference_->state(); }
  void load_state(const nlohmann::json& state) override { inference_->load_state(state); }
  void finalize() override { inference_->finalize(); }

 private:
  const std::shared_ptr<InferenceTask> inference_;
};

}  // namespace

std::shared_ptr<TrainTask> as_task(std::shared_ptr<InferenceTask> inference) {
  return std::make_shared<InferenceAsTask>(std::move(inference));
}

}  // namespace d9d
