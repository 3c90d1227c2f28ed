#include "tests/runtime/family/golden_model.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/family/sparse_decoder.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"

namespace d9d::test {
namespace {

// Both ways Hugging Face stores experts, stacked as our
// parameters. Independent of the mappers of runtime/state.
at::Tensor expert_stack(const TensorMap& file, const std::string& prefix, const std::string& kind,
                        std::int64_t num_experts) {
  if (file.contains(prefix + "gate_up_proj")) {
    if (kind == "down_proj") return file.at(prefix + kind);
    const auto halves = file.at(prefix + "gate_up_proj").chunk(2, 1);
    return halves[kind == "gate_proj" ? 0 : 1].contiguous();
  }
  std::vector<at::Tensor> experts;
  for (std::int64_t e = 0; e < num_experts; ++e) {
    experts.push_back(file.at(prefix + std::to_string(e) + "." + kind + ".weight"));
  }
  return at::stack(experts);
}

// By the family's own mapper.
TensorMap mapped(const FamilyModel& model, const TensorMap& file) {
  Names stored;
  for (const auto& [name, tensor] : file) stored.insert(name);
  const MapperPtr mapper = model.folder_to_parameters(stored);
  TensorMap parameters;
  for (const StateGroup& group : mapper->groups()) {
    TensorMap inputs;
    for (const std::string& name : group.inputs) {
      D9D_CHECK(file.contains(name), "the golden file lacks {}", name);
      inputs[name] = file.at(name);
    }
    parameters.merge(mapper->apply(inputs));
  }
  return parameters;
}

// Whatever class config.json names.
std::shared_ptr<FamilyModel> body_of(const std::string& folder) {
  std::ifstream file(folder + "/config.json");
  auto document = nlohmann::json::parse(file);
  document.erase("architectures");
  return parse_hugging_face_config(document.dump(), folder);
}

}  // namespace

TensorMap read_safetensors(const std::string& path) {
  const PosixDisk disk;
  const SafetensorsReader reader(disk, path);
  TensorMap tensors;
  for (const auto& name : reader.names()) tensors[name] = reader.read(name);
  return tensors;
}

std::string golden_folder(const std::string& name) {
  const bool has_family = name.find('/') != std::string::npos;
  return std::string(D9D_SOURCE_DIR) + "/tests/golden/" + (has_family ? name : "qwen3/" + name);
}

GoldenModel golden_model(const std::string& name, const std::function<void(FamilyModel&)>& change) {
  at::set_num_threads(1);
  const std::string folder = golden_folder(name);
  GoldenModel golden;
  golden.model = change ? body_of(folder) : read_hugging_face_config(folder);
  if (change) change(*golden.model);
  golden.expect = read_safetensors(folder + "/expect.safetensors");
  golden.inputs = {{"input_ids", golden.expect.at("input_ids")}};
  golden.labels = {{"labels", golden.expect.at("labels")}};
  golden.weights = read_safetensors(folder + "/model.safetensors");
  // Qwen3's experts are stacked here, so that its mapper is not its own judge.
  const auto* const qwen3 = dynamic_cast<const Qwen3Config*>(golden.model.get());
  const bool is_sparse = dynamic_cast<const SparseDecoder*>(golden.model.get()) != nullptr;
  // An encoder's projections of one input are one matrix in the folder; its file of expectations has them apart.
  if (qwen3 == nullptr && (is_sparse || !golden.weights.contains("model.embed_tokens.weight")))
    golden.weights = mapped(*golden.model, golden.weights);
  for (std::int64_t layer = 0; qwen3 != nullptr && layer < qwen3->num_hidden_layers; ++layer) {
    if (!qwen3->is_sparse_layer(layer)) continue;
    const std::string prefix = "model.layers." + std::to_string(layer) + ".mlp.experts.";
    for (const char* kind : {"gate_proj", "up_proj", "down_proj"}) {
      golden.weights[prefix + kind + ".weight"] =
          expert_stack(golden.weights, prefix, kind, qwen3->num_experts);
    }
  }
  return golden;
}

std::unique_ptr<StageModule> stage_of(const GoldenModel& golden, StagePosition position,
                                      const BuildOptions& options) {
  auto stage = golden.model->build_stage(position, options);
  for (const StageParameter& parameter : stage->parameters()) {
    at::Tensor values = parameter.tensor.detach();
    D9D_CHECK(golden.weights.contains(parameter.name), "the golden file lacks {}", parameter.name);
    values.copy_(golden.weights.at(parameter.name));
  }
  for (const StageBuffer& buffer : stage->buffers()) {
    D9D_CHECK(golden.weights.contains(buffer.name), "the golden file lacks {}", buffer.name);
    buffer.tensor.detach().copy_(golden.weights.at(buffer.name));
  }
  zero_gradients(*stage);
  return stage;
}

void zero_gradients(StageModule& stage) {
  for (const StageParameter& parameter : stage.parameters()) {
    at::Tensor tensor = parameter.tensor;
    tensor.mutable_grad() = at::zeros_like(tensor.detach());
  }
}

TensorMap gradients_of(StageModule& stage) {
  TensorMap gradients;
  for (const StageParameter& parameter : stage.parameters())
    gradients[parameter.name] = parameter.tensor.grad();
  return gradients;
}

at::Tensor mean_loss(const at::Tensor& token_loss, const at::Tensor& labels) {
  return token_loss.sum().div(labels.ne(-100).sum());
}

void run_backward(const at::Tensor& output, const at::Tensor& gradient) {
  if (gradient.defined()) {
    torch::autograd::backward({output}, {gradient});
  } else {
    torch::autograd::backward({output}, {});
  }
}

double relative_difference(const at::Tensor& actual, const at::Tensor& expected) {
  if (actual.sizes() != expected.sizes()) return INFINITY;
  const double largest = expected.abs().max().item<double>();
  const double difference =
      actual.detach().to(at::kDouble).sub(expected.to(at::kDouble)).abs().max().item<double>();
  return largest == 0 ? difference : difference / largest;
}

bool bitwise_equal(const at::Tensor& a, const at::Tensor& b) {
  return at::equal(a, b);
}

}  // namespace d9d::test
