// d9d-node score and generate: a Hugging Face folder in use, without a job.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <thread>

#include "actors/cli/running_commands.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/host_limits.hpp"
#include "runtime/data/npy_tensor.hpp"
#include "runtime/data/tokenizer.hpp"
#include "runtime/family/position_limit.hpp"
#include "runtime/state/disk_error.hpp"
#include "runtime/state/safetensors.hpp"
#include "runtime/task/model_tokenizer.hpp"
#include "runtime/task/model_use.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {
namespace {

void use_all_cores_unless_told() {
  // OpenMP would hang where its threads find no room.
  constexpr std::uint64_t stack = 8 << 20;
  constexpr std::uint64_t buffers = 384 << 20;
  require_address_space(std::thread::hardware_concurrency() * stack + buffers);
  // OpenMP has read this one already.
  const bool chosen = std::getenv("OMP_NUM_THREADS") != nullptr;
  if (!chosen) at::set_num_threads(std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
}

std::string required(const Arguments& arguments, const char* option) {
  const auto value = arguments.value(option);
  D9D_REQUIRE(value.has_value(), "{} is missing; see --help", option);
  return *value;
}

void write_tensors(Disk& disk, const std::string& path, const TensorMap& tensors) {
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back(spec_of(name, tensor));
  const std::string temporary = path + ".tmp";
  try {
    SafetensorsWriter writer(disk, temporary, specs);
    for (const auto& [name, tensor] : tensors) writer.write(name, tensor);
    writer.finish(false);
    disk.rename(temporary, path);
  } catch (const Error&) {
    remove_quietly(disk, temporary);
    throw;
  }
}

int score(const Arguments& arguments, Console& console) {
  use_all_cores_unless_told();
  PosixDisk disk;
  const at::Tensor tokens = load_npy(required(arguments, "--tokens"));
  std::optional<at::Tensor> labels;
  if (const auto file = arguments.value("--labels")) labels = load_npy(*file);
  const std::string out = required(arguments, "--out");
  const LoadedModel model = load_hugging_face_model(disk, arguments.positional().front());
  const Scores scores = score_tokens(model, tokens, labels, {.with_logits = arguments.has("--logits")});
  TensorMap tensors{{"loss", at::scalar_tensor(scores.loss, at::kFloat)}, {"token_loss", scores.token_loss}};
  if (scores.logits.defined()) tensors["logits"] = scores.logits;
  write_tensors(disk, out, tensors);
  console.out << fmt::format("loss {:.6f} over {} of {}; written to {}\n", scores.loss,
                             counted(tokens.size(0), "sequence"), counted(tokens.size(1), "token"), out);
  return 0;
}

// The model's own, unless another one is named.
Tokenizer tokenizer_for(const std::string& model, const Arguments& arguments) {
  if (const auto file = arguments.value("--tokenizer")) return Tokenizer::from_file(*file);
  const auto file = tokenizer_in(model);
  D9D_REQUIRE(
      file,
      "{} has no tokenizer.json and no tokenizer.model; name the model's tokenizer with --tokenizer FILE",
      model);
  return Tokenizer::from_file(*file);
}

// For a text whose length was not asked for: as far as the model's positions go.
std::int64_t usual_length(const LoadedModel& model, std::size_t prompt) {
  constexpr std::int64_t usual = 64;
  const std::int64_t room = position_limit(*model.config) - static_cast<std::int64_t>(prompt);
  return std::clamp<std::int64_t>(room, 1, usual);
}

int generate_text(const Arguments& arguments, Console& console) {
  use_all_cores_unless_told();
  PosixDisk disk;
  const std::string& directory = arguments.positional().front();
  const Tokenizer tokenizer = tokenizer_for(directory, arguments);
  const LoadedModel model = load_hugging_face_model(disk, directory);
  const std::string prompt = required(arguments, "--prompt");
  const auto ids = tokenizer.encode(prompt, false);
  D9D_REQUIRE(!ids.empty(), "--prompt is empty; give at least one token to begin with");
  const GenerateOptions options{
      .max_new_tokens = arguments.integer("--tokens", 1, 100000).value_or(usual_length(model, ids.size())),
      .temperature = arguments.number("--temperature").value_or(0.8),
      .top_k = arguments.integer("--top-k", 0, 1 << 20).value_or(40),
      .seed = static_cast<std::uint64_t>(arguments.integer("--seed", 0, INT64_MAX).value_or(0))};
  const std::vector<std::int64_t> made = generate(model, {ids.begin(), ids.end()}, options);
  console.out << prompt << tokenizer.decode(std::vector<std::int32_t>(made.begin(), made.end())) << "\n";
  return 0;
}

}  // namespace

Command score_command() {
  return {.name = "score",
          .positional = "MODEL_DIR",
          .summary = "per-token losses (and logits) of a Hugging Face folder, in fp32",
          .positional_min = 1,
          .positional_max = 1,
          .options = {{"--tokens", "IDS.npy", "integers [sequences, length]"},
                      {"--labels", "LABELS.npy", "already shifted, -100 ignored; left out: the next token"},
                      {"--out", "OUT.safetensors", "gets token_loss, loss and, with --logits, logits"},
                      {"--logits", "", "write the logits too"}},
          .run = score};
}

Command generate_command() {
  return {.name = "generate",
          .positional = "MODEL_DIR",
          .summary = "text from a Hugging Face folder, until the model ends it or --tokens are made",
          .positional_min = 1,
          .positional_max = 1,
          .options = {{"--tokenizer", "FILE",
                       "the model's tokenizer; MODEL_DIR/tokenizer.json, else .model, by default"},
                      {"--prompt", "TEXT", "how the text begins"},
                      {"--tokens", "N", "new tokens at most, 64 by default"},
                      {"--temperature", "T", "0 takes the most likely token; 0.8 by default"},
                      {"--top-k", "K", "choose among the K most likely tokens, 0 = all; 40 by default"},
                      {"--seed", "S", "of the choice; 0 by default"}},
          .run = generate_text};
}

}  // namespace d9d
