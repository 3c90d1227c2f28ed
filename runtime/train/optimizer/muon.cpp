// Muon (Jordan and others 2024; with decay as in Liu and others 2025, algorithm 1, and as torch.optim.Muon):
//   m = mu m + (1 - mu) g;  u = (1 - mu) g + mu m with nesterov, else m
//   w -= lr (decay w + scale orthogonalized(u))
// Momentum is computed per element, on the block that a rank has. Orthogonalisation needs the whole matrix.
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/base/error.hpp"
#include "runtime/tensor/tied.hpp"
#include "runtime/train/optimizer/flat_optimizer.hpp"
#include "runtime/train/optimizer/matrix_exchange.hpp"
#include "runtime/train/optimizer/newton_schulz.hpp"
#include "runtime/train/optimizer/optimizer_pair.hpp"
#include "runtime/train/optimizer/slabs.hpp"

namespace d9d {
namespace {

bool is_matrix(const MuonOptions& options, const StageParameter& parameter) {
  return parameter.tensor.requires_grad() &&
         is_muon_matrix(options, parameter.name, parameter.layout.global_shape(), parameter.role);
}

AdamWOptions adamw_of(const MuonOptions& options) {
  return {.lr = options.adamw_lr.value_or(options.lr),
          .betas = options.adamw_betas,
          .eps = options.adamw_eps,
          .weight_decay = options.weight_decay,
          .master_weights = options.master_weights,
          .rules = options.rules};
}

// A parameter of this rank's stage: its part of the buffers as a stack of blocks [e, r, c].
struct MuonParameter {
  FlatRun run;
  std::vector<std::int64_t> block_shape;
  double reach = 1;  // the factor of a step (MuonScale)
};

// Parameters whose blocks are on the same ranks and have the same dtype.
struct MuonGroup {
  std::vector<MuonParameter> parameters;
  std::unique_ptr<MatrixExchange> exchange;
};

// The axes of more than one rank over which a matrix is spread or replicated. Without the axis of tied
// weights: both stages have a copy and compute the same bits.
std::vector<std::string> axes_of(const Layout& layout) {
  std::vector<std::string> axes;
  for (const LayoutAxis& axis : layout.axes()) {
    if (axis.size > 1 && axis.name != tied_axis) axes.push_back(axis.name);
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

double reach_of(MuonScale scale, const std::vector<std::int64_t>& shape) {
  const auto rows = static_cast<double>(shape[shape.size() - 2]);
  const auto columns = static_cast<double>(shape.back());
  if (scale == MuonScale::original) return std::sqrt(std::max(1.0, rows / columns));
  return 0.2 * std::sqrt(std::max(rows, columns));
}

class MuonMatrices final : public FlatOptimizer {
 public:
  MuonMatrices(const MuonOptions& options, const FlatParameters& parameters, const OptimizerContext& context)
      : FlatOptimizer(parameters, options.rules, options.weight_decay,
                      [options](const StageParameter& one) { return is_matrix(options, one); }),
        options_(options) {
    add_state("momentum_buffer");
    if (options_.master_weights) add_masters();
    make_groups(context);
  }

  void step(const UpdateScale& scale) override {
    const at::NoGradGuard no_grad;
    ++step_count_;
    for (const FlatRun& run : runs_) update_momentum(run, scale.grad);
    for (const MuonGroup& group : groups_) update_matrices(group, scale);
    for (const FlatRun& run : runs_) {
      round_masters(run);
      grad(run).zero_();
    }
  }

 private:
  void make_groups(const OptimizerContext& context);

  void update_momentum(const FlatRun& run, double grad_scale) const {
    for_slabs({state(0, run), grad(run)}, [&](std::vector<at::Tensor>& slab) {
      slab[0].lerp_(slab[1].to(slab[0].scalar_type()).mul(grad_scale), 1 - options_.momentum);
    });
  }

  // [r, c]
  at::Tensor block(const at::Tensor& flat, const MuonParameter& parameter, std::int64_t index) const {
    const std::vector<std::int64_t>& shape = parameter.block_shape;
    return flat.view({-1, shape[shape.size() - 2], shape.back()})[index];
  }

  at::Tensor direction(const MuonParameter& parameter, std::int64_t index, double grad_scale) const {
    const at::Tensor momentum = block(state(0, parameter.run), parameter, index);
    if (!options_.nesterov) return momentum;
    const at::Tensor gradient = block(grad(parameter.run), parameter, index).to(momentum.scalar_type());
    return gradient.mul(grad_scale).lerp_(momentum, options_.momentum);
  }

  void update_matrices(const MuonGroup& group, const UpdateScale& scale) const {
    const at::Tensor momentum = state(0, group.parameters.front().run);
    const at::ScalarType wide = momentum.scalar_type();
    group.exchange->run(
        momentum.options(),
        [&](const MatrixBlock& which) {
          return direction(group.parameters[which.parameter], which.index, scale.grad);
        },
        [&](const at::Tensor& whole) { return orthogonalized(whole, options_.newton_schulz_steps); },
        [&](const MatrixBlock& which, const at::Tensor& update) {
          const MuonParameter& parameter = group.parameters[which.parameter];
          const ParameterSettings& settings = parameter.run.settings;
          const double lr = options_.lr * scale.lr_multiplier * settings.lr_multiplier;
          const at::Tensor stored = block(values(parameter.run), parameter, which.index);
          const at::Tensor value = stored.to(wide);
          value.mul_(1 - lr * settings.weight_decay).sub_(update, lr * parameter.reach);
          if (value.data_ptr() != stored.data_ptr()) stored.copy_(value);
        });
  }

  const MuonOptions options_;
  std::vector<MuonGroup> groups_;
};

void MuonMatrices::make_groups(const OptimizerContext& context) {
  using Key = std::pair<std::vector<std::string>, at::ScalarType>;
  std::map<Key, std::pair<std::vector<MuonParameter>, std::vector<Layout>>> members;
  for (std::size_t i = 0; i < parameters_.parameters().size(); ++i) {
    const StageParameter& parameter = parameters_.parameters()[i];
    if (!updates(parameter)) continue;
    const FlatSegment& segment = parameters_.segment_of(i);
    const std::size_t family = parameters_.buckets()[parameters_.bucket_of(i)].family;
    auto& [own, layouts] = members[{axes_of(parameter.layout), parameter.tensor.scalar_type()}];
    own.push_back({{family, segment.begin, segment.begin + segment.count,
                    settings_of(parameter.name, options_.rules, options_.weight_decay)},
                   parameter.tensor.sizes().vec(),
                   reach_of(options_.scale, parameter.layout.global_shape())});
    layouts.push_back(parameter.layout);
  }
  for (auto& [key, pair] : members) {
    const std::vector<std::string>& axes = key.first;
    D9D_CHECK(axes.empty() || context.open,
              "matrices are spread over several ranks, but muon has no communicator");
    auto group = axes.empty() ? nullptr : context.open(axes);
    groups_.push_back(
        {std::move(pair.first), std::make_unique<MatrixExchange>(pair.second, std::move(group))});
  }
}

}  // namespace

std::unique_ptr<Optimizer> make_muon(const MuonOptions& options, const FlatParameters& parameters,
                                     const OptimizerContext& context) {
  return std::make_unique<OptimizerPair>(
      std::make_unique<MuonMatrices>(options, parameters, context),
      make_adam(adamw_of(options), parameters,
                [options](const StageParameter& one) { return !is_matrix(options, one); }));
}

}  // namespace d9d
