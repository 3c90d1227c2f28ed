// AdamW with moments of 8 bits (Dettmers and others 2022, arXiv 2110.02861, section 2). A step reads the
// moments into float32, updates them as AdamW does, uses them for the update and rounds them to bytes again.
// Checkpoints hold the float32 values, like AdamW's, so AdamW and every mesh (whose blocks differ) can read
// them. The same mesh gets the same bytes back.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <map>

#include "kernels/optimizer/block_quantization.hpp"
#include "kernels/optimizer/optimizer.hpp"
#include "runtime/base/error.hpp"
#include "runtime/train/optimizer/flat_optimizer.hpp"
#include "runtime/train/optimizer/optimizer_pair.hpp"
#include "runtime/train/optimizer/slabs.hpp"

namespace d9d {
namespace {

using kernels::CodeBook;

// A moment of a parameter on this rank.
class ByteMoment final : public NarrowState {
 public:
  // `codes`: the moment's bytes [n] in the optimizer's buffer, all zero.
  ByteMoment(at::Tensor codes, std::int64_t block, CodeBook book)
      : codes_(std::move(codes)),
        scales_(at::zeros({(codes_.numel() + block - 1) / block}, codes_.options().dtype(at::kFloat))),
        block_(block),
        book_(book) {}

  at::Tensor unpack() const override {
    const at::Tensor values = at::empty({codes_.numel()}, codes_.options().dtype(at::kFloat));
    kernels::dequantize_blocks(codes_, scales_, block_, book_, values);
    return values;
  }
  void pack(const at::Tensor& values) const override {
    kernels::quantize_blocks(values.reshape({-1}).to(at::kFloat), block_, book_, codes_, scales_);
  }

  std::vector<at::Tensor> memory() const override { return {codes_, scales_}; }

  // Reads the elements from `begin`, the start of a block, to begin + values.numel().
  void read(std::int64_t begin, const at::Tensor& values) const {
    kernels::dequantize_blocks(codes_.narrow(0, begin, values.numel()), scales_of(begin, values), block_,
                               book_, values);
  }
  void write(std::int64_t begin, const at::Tensor& values) const {
    kernels::quantize_blocks(values, block_, book_, codes_.narrow(0, begin, values.numel()),
                             scales_of(begin, values));
  }

 private:
  at::Tensor scales_of(std::int64_t begin, const at::Tensor& values) const {
    return scales_.narrow(0, begin / block_, (values.numel() + block_ - 1) / block_);
  }

  const at::Tensor codes_, scales_;
  const std::int64_t block_;
  const CodeBook book_;
};

struct ByteParameter {
  FlatRun run;
  std::shared_ptr<const ByteMoment> first, second;
};

bool is_byte_parameter(const AdamW8BitOptions& options, const StageParameter& parameter) {
  return parameter.tensor.requires_grad() &&
         has_byte_moments(options, parameter.name, parameter.layout.global_shape());
}

class ByteAdamW final : public FlatOptimizer {
 public:
  ByteAdamW(const AdamW8BitOptions& options, const FlatParameters& parameters)
      : FlatOptimizer(parameters, options.rules, options.weight_decay,
                      [options](const StageParameter& one) { return is_byte_parameter(options, one); }),
        options_(options) {
    add_state("exp_avg", at::kByte);
    add_state("exp_avg_sq", at::kByte);
    if (options_.master_weights) add_masters();
    for (std::size_t i = 0; i < parameters.parameters().size(); ++i) {
      if (updates(parameters.parameters()[i])) add(i);
    }
  }

  void step(const UpdateScale& scale) override {
    const at::NoGradGuard no_grad;
    ++step_count_;
    for (const auto& [name, parameter] : byte_parameters_) {
      update(parameter, scale);
      round_masters(parameter.run);
    }
  }

  std::vector<StateEntry> state_entries() const override {
    std::vector<StateEntry> entries = FlatOptimizer::state_entries();
    for (StateEntry& entry : entries) {
      if (entry.kind != "exp_avg" && entry.kind != "exp_avg_sq") continue;
      const ByteParameter& parameter = byte_parameters_.at(entry.name);
      entry.packed = entry.kind == "exp_avg" ? parameter.first : parameter.second;
      entry.tensor = at::empty(entry.tensor.sizes(), at::TensorOptions(at::kMeta).dtype(at::kFloat));
    }
    return entries;
  }

 private:
  void add(std::size_t index) {
    const StageParameter& parameter = parameters_.parameters()[index];
    D9D_REQUIRE(
        parameter.tensor.scalar_type() != at::kDouble,
        "optimizer adamw_8bit updates parameters of float32 and less, got {} of float64; choose adamw",
        parameter.name);
    const FlatSegment& segment = parameters_.segment_of(index);
    const std::size_t family = parameters_.buckets()[parameters_.bucket_of(index)].family;
    const FlatRun run{family, segment.begin, segment.begin + segment.count,
                      settings_of(parameter.name, options_.rules, options_.weight_decay)};
    const auto moment = [&](std::size_t state_index, CodeBook book) {
      return std::make_shared<const ByteMoment>(state(state_index, run), options_.block_size, book);
    };
    byte_parameters_.emplace(
        parameter.name, ByteParameter{run, moment(0, CodeBook::either_sign), moment(1, CodeBook::positive)});
  }

  kernels::AdamWSettings settings_for(const FlatRun& run, const UpdateScale& scale) const {
    const auto [beta1, beta2] = run.settings.betas.value_or(options_.betas);
    return {.lr = options_.lr * scale.lr_multiplier * run.settings.lr_multiplier,
            .beta1 = beta1,
            .beta2 = beta2,
            .eps = options_.eps,
            .weight_decay = run.settings.weight_decay,
            .step = step_count_,
            .grad_scale = scale.grad};
  }

  void update(const ByteParameter& parameter, const UpdateScale& scale) const {
    const at::Tensor value = values(parameter.run), gradient = grad(parameter.run);
    const kernels::AdamWSettings settings = settings_for(parameter.run, scale);
    const std::int64_t wanted = elements_at_once(value, std::int64_t{1} << 17);
    const std::int64_t at_once =
        std::max<std::int64_t>(1, wanted / options_.block_size) * options_.block_size;
    for (std::int64_t begin = 0; begin < value.numel(); begin += at_once) {
      const std::int64_t count = std::min(at_once, value.numel() - begin);
      const at::Tensor first = at::empty({count}, value.options().dtype(at::kFloat));
      const at::Tensor second = at::empty({count}, first.options());
      parameter.first->read(begin, first);
      parameter.second->read(begin, second);
      const at::Tensor stored = value.narrow(0, begin, count), grads = gradient.narrow(0, begin, count);
      const at::Tensor wide = stored.to(at::kFloat);
      kernels::adamw_step(wide, grads.to(at::kFloat), first, second, settings);
      if (wide.data_ptr() != stored.data_ptr()) stored.copy_(wide);
      grads.zero_();
      parameter.first->write(begin, first);
      parameter.second->write(begin, second);
    }
  }

  const AdamW8BitOptions options_;
  std::map<std::string, ByteParameter> byte_parameters_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adamw_8bit(const AdamW8BitOptions& options,
                                           const FlatParameters& parameters) {
  const AdamWOptions adamw{.lr = options.lr,
                           .betas = options.betas,
                           .eps = options.eps,
                           .weight_decay = options.weight_decay,
                           .master_weights = options.master_weights,
                           .rules = options.rules};
  return std::make_unique<OptimizerPair>(std::make_unique<ByteAdamW>(options, parameters),
                                         make_adam(adamw, parameters, [options](const StageParameter& one) {
                                           return !is_byte_parameter(options, one);
                                         }));
}

}  // namespace d9d
