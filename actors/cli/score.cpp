// d9d-node score: computes losses of texts with a Hugging Face folder, without a job.
#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>

#include <cmath>
#include <ostream>

#include "actors/cli/running_commands.hpp"
#include "actors/cli/use_device.hpp"
#include "actors/cli/work_options.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/data/file/npy_tensor.hpp"
#include "runtime/device/device.hpp"
#include "runtime/state/disk/disk_error.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"
#include "runtime/tensor/tensor_map.hpp"
#include "runtime/text/model_use.hpp"

namespace d9d {
namespace {

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
  load_families_given(arguments);
  const auto device = device_given(arguments);
  require_other_output(arguments, {"--tokens", "--labels"});
  PosixDisk disk;
  const at::Tensor tokens = load_npy(required(arguments, "--tokens"));
  std::optional<at::Tensor> labels;
  if (const auto file = arguments.value("--labels")) labels = load_npy(*file);
  const std::string out = required(arguments, "--out");
  const LoadedModel model = load_hugging_face_model(disk, arguments.positional().front(), at::kFloat,
                                                    device->place(), base_given(arguments));
  const Scores scores = score_tokens(model, tokens, labels, {.with_logits = arguments.has("--logits")});
  D9D_REQUIRE(scores.counted == 0 || !std::isnan(scores.loss),
              "the loss is no number (NaN), so that nothing is written; are the weights of {} whole?",
              arguments.positional().front());
  TensorMap tensors{{"loss", at::scalar_tensor(scores.loss, at::kFloat)}, {"token_loss", scores.token_loss}};
  if (scores.logits.defined()) tensors["logits"] = scores.logits;
  write_tensors(disk, out, tensors);
  const std::string loss =
      scores.counted == 0 ? "no label counts in the loss" : fmt::format("loss {:.6f}", scores.loss);
  console.out << fmt::format("{} over {} of {}; written to {}\n", loss, counted(tokens.size(0), "sequence"),
                             counted(tokens.size(1), "token"), out);
  return 0;
}

}  // namespace

Command score_command() {
  return {.name = "score",
          .positional = "MODEL_DIR",
          .summary = "per-token losses (and logits) of a Hugging Face folder or an adapter's, in fp32",
          .positional_min = 1,
          .positional_max = 1,
          .options = {{"--tokens", "IDS.npy", "integers [sequences, length]"},
                      {"--labels", "LABELS.npy", "already shifted, -100 ignored; left out: the next token"},
                      {"--out", "OUT.safetensors", "gets token_loss, loss and, with --logits, logits"},
                      {"--logits", "", "write the logits too"},
                      base_option(),
                      families_option(),
                      device_option()},
          .run = score,
          .examples = {"score model --tokens ids.npy --out losses.safetensors --logits"}};
}

}  // namespace d9d
