#include "runtime/rank/task_inputs.hpp"

#include "runtime/rank/context_split.hpp"
#include "runtime/rank/microbatch_parcel.hpp"
#include "runtime/task/task.hpp"
#include "runtime/tensor/tensor_parcel.hpp"

namespace d9d {
namespace {

class TaskInputs final : public InputBuilder {
 public:
  TaskInputs(std::shared_ptr<const TrainTask> task, const ContextPlace& place, TensorTable& table)
      : task_(std::move(task)), place_(place), table_(table) {}

  StepInputs build(std::uint64_t step, Ticket pack) override {
    const auto parcel = table_.take_as<PackParcel>(pack);
    StepInputs built;
    for (std::size_t i = 0; i < parcel->microbatches.size(); ++i) {
      const TensorMap batch = split_sequence(std::move(parcel->microbatches[i]), place_);
      if (const auto ids = batch.find("input_ids"); ids != batch.end()) {
        built.tokens += static_cast<std::uint64_t>(ids->second.numel());
      }
      ForwardInputs inputs = task_->build_forward_inputs({step, static_cast<int>(i), batch});
      built.microbatches.push_back(table_.put(std::make_unique<MicrobatchParcel>(
          MicrobatchTensors{std::move(inputs.inputs), std::move(inputs.shared), std::move(inputs.state)})));
    }
    return built;
  }

 private:
  std::shared_ptr<const TrainTask> task_;
  const ContextPlace place_;
  TensorTable& table_;
};

}  // namespace

std::unique_ptr<InputBuilder> make_task_inputs(std::shared_ptr<const TrainTask> task,
                                               const ContextPlace& place, TensorTable& table) {
  return std::make_unique<TaskInputs>(std::move(task), place, table);
}

}  // namespace d9d
