// What stages take while they write texts, measured on a delayed device, beside what is counted from the description.
#include <ATen/ops/scalar_tensor.h>
#include <gtest/gtest.h>

#include "runtime/device/device.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "runtime/nn/size/model_costs.hpp"
#include "runtime/task/inference_task.hpp"
#include "runtime/text/prompted_texts.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

constexpr int index = 6;
struct CachedTexts {
  std::int64_t count = 6, prompt_tokens = 24, new_tokens = 40;
};

struct Taken {
  std::int64_t kept = 0, at_peak = 0;  // beside the weights, in bytes
};

// Of both stages of a pipeline, which write texts of as many prompts one after the other.
Taken taken_by_texts(const FamilyModel& model, c10::ScalarType dtype, const CachedTexts& texts) {
  constexpr int num_stages = 2;
  const auto device = delayed_device(index);
  delayed::Memory& memory = delayed::machine(index).memory();
  std::vector<std::shared_ptr<StageModule>> stages;
  for (int stage = 0; stage < num_stages; ++stage) {
    stages.push_back(model.build_stage({stage, num_stages}, {.dtype = dtype, .device = device->place()}));
    draw_initial_weights(stages.back()->parameters(), 1);
    stages.back()->set_training(false);
  }
  const auto write = [&] {
    TextRequest request;
    request.prompts.assign(static_cast<std::size_t>(texts.count),
                           std::vector<std::int64_t>(static_cast<std::size_t>(texts.prompt_tokens), 3));
    request.options.max_new_tokens = texts.new_tokens;
    PromptedTexts task(request, num_stages);
    std::vector<std::shared_ptr<StageModule>> parts;
    for (int stage = 0; stage < num_stages; ++stage)
      parts.push_back(task.running(stages[static_cast<std::size_t>(stage)], {stage, num_stages}));
    std::vector<TensorMap> given;
    const auto microbatches = task.microbatches();
    for (const ForwardInputs& microbatch : microbatches) given.push_back(microbatch.inputs);
    for (std::int64_t pass = 0; pass < texts.new_tokens; ++pass) {
      for (std::size_t i = 0; i < given.size(); ++i) {
        TensorMap shared = microbatches[i].shared;
        shared[pass_number] = at::scalar_tensor(pass, at::kLong);
        shared[microbatch_number] = at::scalar_tensor(static_cast<std::int64_t>(i), at::kLong);
        for (const auto& part : parts) given[i] = part->forward(given[i], shared);
      }
    }
    device->finish();
    return parts;  // with their caches
  };
  write();  // tables and other memory of the first time
  delayed::machine(index).reseed(1);
  const auto before = static_cast<std::int64_t>(memory.bytes_in_use());
  const auto parts = write();
  const auto kept = static_cast<std::int64_t>(memory.bytes_in_use());
  const auto peak = static_cast<std::int64_t>(total_of(memory.pools().at_peak));
  return {kept - before, peak - before};
}

void expect_counted(const FamilyModel& model, c10::ScalarType dtype, const CachedTexts& texts = {}) {
  const int bytes = static_cast<int>(c10::elementSize(dtype));
  const Taken taken = taken_by_texts(model, dtype, texts);

  std::int64_t caches = 0, working = 0;
  for (int stage = 0; stage < 2; ++stage) {
    caches += cache_bytes(model, {stage, 2}, {texts.count, texts.prompt_tokens + texts.new_tokens}, bytes);
    working =
        std::max(working, generating_bytes(model, {stage, 2}, (texts.count + 1) / 2 * texts.prompt_tokens,
                                           (texts.count + 1) / 2, bytes));
  }
  // A block of memory has a multiple of 512 bytes; a layer has up to four for each microbatch.
  const std::int64_t rounding = 512 * 4 * 2 * model.num_hidden_layers;
  EXPECT_GE(taken.kept, caches);
  EXPECT_LE(taken.kept, caches + rounding);
  const std::int64_t waiting =
      texts.count * texts.prompt_tokens * model.hidden_size * bytes;  // hidden states between stages
  EXPECT_LE(taken.at_peak, caches + rounding + working + waiting)
      << "of caches " << caches << ", of work " << working;
  EXPECT_GT(taken.at_peak, taken.kept);
}

TEST(CacheMemory, OfEachFamilyIsWhatIsCountedFromItsDescription) {
  // Heads of keys for several of queries; a mixture; windows; latents; delta nets beside attention, and alone.
  for (const char* name : {"qwen3/dense_tied", "qwen3/moe", "sparse_families/gpt_oss", "gemma3_text/capped",
                           "latent_families/deepseek_v3", "qwen3_next/every_fourth", "qwen3_next/mixed"}) {
    SCOPED_TRACE(name);
    const auto model = read_hugging_face_config(std::string(D9D_SOURCE_DIR "/tests/golden/") + name);
    expect_counted(*model, at::kFloat);
  }
}

TEST(CacheMemory, OfHalfTypesIsHalfButTheStatesOfDeltaNets) {
  const std::string golden = std::string(D9D_SOURCE_DIR) + "/tests/golden/";
  expect_counted(*read_hugging_face_config(golden + "qwen3/dense_tied"), at::kBFloat16, {.count = 5});
  expect_counted(*read_hugging_face_config(golden + "qwen3_next/mixed"), at::kBFloat16, {.count = 5});
}

TEST(CacheMemory, OfManyTextsOfShortPromptsIsWhatIsCounted) {
  expect_counted(*read_hugging_face_config(std::string(D9D_SOURCE_DIR) + "/tests/golden/qwen3/dense_tied"),
                 at::kFloat, {.count = 32, .prompt_tokens = 2, .new_tokens = 30});
}

}  // namespace
}  // namespace d9d::test
