#pragma once
// Ranks as threads over shared memory: one training step of a small Qwen3 on a mesh, by the workers a job's
// actors have (PipelineWorker, a CollectiveWorker per gradient group), to be compared with one rank.

#include <chrono>
#include <string>

#include "kernels/graph/kept_kind.hpp"
#include "runtime/device/device.hpp"
#include "runtime/family/qwen3/config.hpp"
#include "runtime/mesh/plan.hpp"
#include "runtime/nn/plan/parallel_options.hpp"
#include "runtime/peft/peft_config.hpp"
#include "runtime/pipeline/lane/overlap.hpp"
#include "runtime/pipeline/program/schedule_config.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {
class RankWorker;
}

namespace d9d::nccl {
struct Api;
}

namespace d9d::test {

struct ParallelCase {
  DeviceMeshParameters mesh;
  Qwen3Config model = Qwen3Config();
  std::shared_ptr<FamilyModel> other = nullptr;  // a model of another family, instead of `model`
  ParallelOptions options = {};
  bool enable_checkpointing = false;
  std::int64_t offload_layers = 0;
  std::vector<kernels::KeptKind> checkpoint_keeps = {};
  TensorMap batch;  // input_ids and labels, int64 [B, S]; position_ids where given
  ScheduleConfig schedule = GpipeSchedule{};
  Overlap overlap = Overlap::auto_;     // of the parts of composed actions
  int microbatches = 1;                 // of each rank; B is divisible by data-parallel ranks times this
  TensorMap weights = {};               // global tensors by name, instead of what the seed draws
  std::optional<PeftConfig> peft = {};  // adapters begin with factors B that are not zero
  bool delayed = false;                 // rank n computes on the device delayed:n; else all on the CPU
  int devices = 0;                      // so many of them are shared by the ranks in turn; 0: one each
  bool nccl = false;  // between them by NCCL's communicators (devices/delayed/nccl/emulated.hpp)
  const nccl::Api* nccl_table = nullptr;      // these functions; null: emulated_nccl()
  std::chrono::milliseconds timeout{60'000};  // of a collective
  int updates = 0;                            // steps before the one that is looked at, each with an update
  // A snapshot after each of those updates, whose files are written here behind the update after it, as
  // "rank-0-step-1.safetensors"; "": none.
  std::string snapshots = {};
  // Called instead of the step, on the rank's thread; has to call it.
  std::function<void(int rank, const std::function<void()>& step)> around_step = {};
  // On the rank's thread, when the last step has ended.
  std::function<void(int rank, RankWorker& worker)> after_step = {};
  bool detailed = false;  // the log of devices has collectives and stalls, too
};

struct Trained {
  double loss = 0;      // mean over the labels that count
  TensorMap gradients;  // of the loss, global tensors by parameter name
  double norm = 0;      // of all gradients, as the ranks' shares of it add up
};

// Gradients are reduced as the ranks' workers ask for it and put together by
// the parameters' layouts. Checks by itself: some rank holds every element,
// replicas hold the same bits. An error of a rank ends all and is thrown.
Trained train_once(const ParallelCase& given);

// Trained on the mesh and on one rank: the same loss (1e-5), norm (1e-4) and gradients (each 1e-4 of its
// norm, where it has one).
void expect_equal_training(const ParallelCase& given);

// Two layers of width 32 with 4 heads, 2 of them for keys; of the mixture every layer is sparse, 4 experts,
// 2 of them for a token.
Qwen3Config tiny_qwen3(Qwen3Kind family);
// Tokens and next tokens; the number of labels that do not count differs from sample to sample.
TensorMap tiny_batch(const ModelDescription& model, int samples = 8, int length = 16);

}  // namespace d9d::test
