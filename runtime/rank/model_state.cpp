// Snapshots, checkpoints and sleep.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/base/json_text.hpp"
#include "runtime/device/device.hpp"
#include "runtime/rank/model_parts.hpp"
#include "runtime/rank/state/slept_memory.hpp"
#include "runtime/rank/state/training_state.hpp"
#include "runtime/task/inference_task.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {
namespace {

class ModelState final : public RankState {
 public:
  ModelState(const ModelParts& parts, const StateOptions& options, std::shared_ptr<InferenceTask> inference)
      : parts_(parts), options_(options), inference_(std::move(inference)) {
    options_.awake->add();
  }
  ~ModelState() override { options_.awake->remove(); }
  ModelState(const ModelState&) = delete;
  ModelState& operator=(const ModelState&) = delete;

  RankSnapshot snapshot() override {
    const Ticket shard = parts_.groups.checked([this] { return take_shard(); });
    return {shard, json_text(parts_.metrics.all().to_json())};
  }
  void let_change() override { parts_.copies.before_state_changes(); }
  void restore(const std::string& checkpoint, const std::vector<std::uint64_t>& skipped) override;
  std::uint64_t sleep(const std::string& file) override;
  void wake() override;

 private:
  Ticket take_shard();
  void find_memory();

  const ModelParts parts_;
  const StateOptions& options_;
  const std::shared_ptr<InferenceTask> inference_;
  std::optional<SleptMemory> memory_;  // of the last sleep
};

// Nothing changes the weights of an inference job.
Ticket ModelState::take_shard() {
  if (inference_) {
    call_user("the task's flush", ErrorInside::passes, [&] { inference_->flush(); });
    return {};
  }
  return snapshot_training_state(parts_.model.optimizer(), parts_.model.buffers().all(), parts_.copies,
                                 *parts_.services.table, options_.only_trainable);
}

// First ends gathers that are under way: they read the values which the checkpoint replaces.
void ModelState::restore(const std::string& checkpoint, const std::vector<std::uint64_t>& skipped) {
  let_change();
  for (const auto& [stage, built] : parts_.model.stages()) built.units.end_step();
  load_training_state(*options_.disk, checkpoint, parts_.model.optimizer(), parts_.model.buffers().all(),
                      skipped, options_.only_trainable);
  parts_.model.buffers().make_equal();
  for (const auto& [stage, built] : parts_.model.stages()) built.units.after_update();
}

// Collects the memory that sleeps, anew each time: a module may have made a new tensor for a buffer.
// Gradients are zero between two steps, so the file need not hold them.
void ModelState::find_memory() {
  memory_.emplace(*options_.disk);
  for (const FlatFamily& family : parts_.model.flat()->families()) memory_->add(family.grad, /*zero=*/true);
  for (const StateEntry& entry : parts_.model.optimizer().state_entries()) {
    if (!entry.packed) memory_->add(entry.tensor);
    if (!entry.packed) continue;
    for (const at::Tensor& tensor : entry.packed->memory()) memory_->add(tensor);
  }
  if (parts_.services.device->is_cpu()) return;  // host buffers are small, and may be in memory of any kind
  for (const StageBuffer& buffer : parts_.model.buffers().all()) memory_->add(buffer.tensor);
}

// Frees gathered weights, too: end_step() of the units drops them.
std::uint64_t ModelState::sleep(const std::string& file) {
  parts_.copies.give_memory_back();
  find_memory();
  for (const auto& [stage, built] : parts_.model.stages()) built.units.end_step();
  options_.disk->make_directories(std::filesystem::path(file).parent_path().string());
  const std::uint64_t bytes = memory_->sleep(file);
  options_.awake->fall_asleep(memory_->devices());
  trim_allocator();
  return bytes;
}

void ModelState::wake() {
  options_.awake->wake();
  memory_->wake();
  for (const auto& [stage, built] : parts_.model.stages()) built.units.after_update();
}

}  // namespace

std::unique_ptr<RankState> make_model_state(const ModelParts& parts, const StateOptions& options,
                                            std::shared_ptr<InferenceTask> inference) {
  return std::make_unique<ModelState>(parts, options, std::move(inference));
}

}  // namespace d9d
