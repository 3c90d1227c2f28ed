#include "runtime/nn/model/multi_token_prediction.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/stack.h>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr std::int64_t not_counted = -100;

// Splits a shared input [B, S, D] into one tensor [B, S] for each depth.
std::vector<at::Tensor> of_each_depth(const TensorMap& shared, const char* name, std::size_t depths) {
  const auto found = shared.find(name);
  D9D_REQUIRE(found != shared.end(),
              "the task hands on no {}, which modules of multi-token prediction are trained with; add the "
              "batch's to the shared inputs, or leave mtp_loss_factor out",
              name);
  const at::Tensor& all = found->second;
  D9D_REQUIRE(
      all.dim() == 3 && all.scalar_type() == at::kLong && all.size(2) == static_cast<std::int64_t>(depths),
      "{} is a {} tensor of {} elements, expected int64 [batch, sequence, {}]", name,
      c10::toString(all.scalar_type()), all.numel(), depths);
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : all.unbind(-1)) parts.push_back(part.contiguous());
  return parts;
}

}  // namespace

at::Tensor sum_and_count(const at::Tensor& losses, const at::Tensor& labels) {
  const at::Tensor sum = losses.detach().to(at::kFloat).sum();
  return at::stack({sum, at::ne(labels, not_counted).sum().to(at::kFloat)});
}

MultiTokenPrediction::MultiTokenPrediction(ParameterMaker& make, torch::nn::Module& layers,
                                           const ModelDescription& model, const MakeLayer& make_layer)
    : factor_(model.prediction_loss_factor / static_cast<double>(model.prediction_depths)) {
  const std::int64_t width = model.hidden_size;
  const auto norm = [&](torch::nn::Module& owner, const char* name) {
    return make.child<RmsNorm>(owner, name, width, model.rms_norm_eps, model.zero_centered_norms);
  };
  for (std::int64_t index = model.num_hidden_layers; index < model.num_all_layers(); ++index) {
    Depth module;
    module.index = index;
    module.layer = make_layer(make, layers, index);
    DecoderLayer& owner = *module.layer;
    make.within(std::to_string(index), [&] {
      module.enorm = norm(owner, "enorm");
      module.hnorm = norm(owner, "hnorm");
      module.eh_proj = make.child<Linear>(owner, "eh_proj", 2 * width, width);
      const auto head = make.child<ModuleGroup>(owner, "shared_head");
      module.norm = make.within("shared_head", [&] { return norm(*head, "norm"); });
      return 0;
    });
    modules_.push_back(std::move(module));
  }
}

std::vector<std::shared_ptr<DecoderLayer>> MultiTokenPrediction::layers() const {
  std::vector<std::shared_ptr<DecoderLayer>> layers;
  for (const Depth& module : modules_) layers.push_back(module.layer);
  return layers;
}

std::vector<UnitUse> MultiTokenPrediction::unit_uses(const std::vector<at::Tensor>& tables,
                                                     const std::vector<at::Tensor>& head) {
  std::vector<UnitUse> uses;
  uses.push_back({"embedding of next tokens", &embedding_unit_, tables, false});
  for (Depth& module : modules_) {
    const std::string name = "layer " + std::to_string(module.index);
    uses.push_back({name, &module.unit, module.layer->parameters()});
    uses.push_back({"head after " + name, &module.head_unit, head});
  }
  return uses;
}

// Enters the module's unit only. The layer's own unit has no hook, because the module's
// encloses it in forward and backward.
at::Tensor MultiTokenPrediction::run(const Depth& module, const at::Tensor& embedded,
                                     const at::Tensor& hidden, const PredictingModel& model,
                                     const at::Tensor& token_mask) {
  const std::vector<at::Tensor> entered = module.unit.enter({embedded, hidden}, false);
  const at::Tensor both = at::cat({module.enorm->forward(entered[0]), module.hnorm->forward(entered[1])}, -1);
  const Residual after = model.run_layer(module.layer, module.eh_proj->forward(both), token_mask);
  const at::Tensor normed = add_and_norm({after.residual, after.delta}, *module.norm).first;
  return module.unit.leave({normed}, false)[0];
}

void MultiTokenPrediction::add_losses(TensorMap& outputs, at::Tensor normed, const TensorMap& shared,
                                      const PredictingModel& model) const {
  const auto ids = of_each_depth(shared, "next_ids", modules_.size());
  const auto labels = of_each_depth(shared, "next_labels", modules_.size());
  // One lookup for all depths.
  const at::Tensor embedded = model.embed(at::cat(ids, 0), embedding_unit_);
  const std::vector<at::Tensor> of_depth = embedded.chunk(static_cast<std::int64_t>(modules_.size()), 0);
  at::Tensor& total = outputs.at("cross_entropy");
  std::vector<at::Tensor> counted{sum_and_count(total, shared.at("labels"))};
  at::Tensor sum;
  const at::Tensor& masks = model.token_masks;
  for (std::size_t k = 0; k < modules_.size(); ++k) {
    const Depth& module = modules_[k];
    const at::Tensor mask = masks.defined() ? masks.select(-1, static_cast<std::int64_t>(k)) : at::Tensor();
    normed = run(module, of_depth[k], normed, model, mask);
    const at::Tensor entered = module.head_unit.enter({normed}, false)[0];
    const at::Tensor found = model.head.forward(entered, {{"labels", labels[k]}}).at("cross_entropy");
    const at::Tensor losses = module.head_unit.leave({found}, false)[0];
    counted.push_back(sum_and_count(losses, labels[k]));
    sum = sum.defined() ? at::add(sum, losses) : losses;
  }
  total = at::add(total, at::mul(sum, factor_));
  outputs["depth_losses"] = at::stack(counted);
}

}  // namespace d9d
