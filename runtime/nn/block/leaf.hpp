#pragma once
// The modules that own weights; what is done with them is in kernels/.

#include <optional>

#include "runtime/nn/block/parameter_maker.hpp"

namespace d9d {

class ActivationShards;
class VocabularyShards;

// weight [out, in], normal. bias [out], zero, only after add_bias: neighbours that share an input (q, k, v)
// make their weights first and their biases afterwards, so that the weights are adjacent in memory.
struct Linear : torch::nn::Module {
  Linear(ParameterMaker& make, std::int64_t in, std::int64_t out);
  // `name` is this module's name in its parent, whose scope `make` is in.
  void add_bias(ParameterMaker& make, const std::string& name);
  at::Tensor forward(const at::Tensor& x) const;
  // Where `positions` are shared, x holds this rank's part of the inputs, weight its columns: the own
  // positions of the sum over ranks. Else as forward.
  at::Tensor forward_shared(const at::Tensor& x, const ActivationShards& positions) const;

  at::Tensor weight;
  at::Tensor bias;  // undefined without
};

// weight [E, out, in], normal: the same layer for each expert.
struct GroupedLinear : torch::nn::Module {
  GroupedLinear(ParameterMaker& make, std::int64_t num_groups, std::int64_t in, std::int64_t out);

  at::Tensor weight;
};

// y = x / sqrt(mean(x^2) + eps) * weight; weight [width] starts at one.
struct RmsNorm : torch::nn::Module {
  RmsNorm(ParameterMaker& make, std::int64_t width, double eps);
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;
  double eps;
};

// weight [V, H], normal. int64 ids [B, S] -> [B, S, H]. The row of `padding_id` gets no gradient from here.
// With `shards` the weight is this rank's rows and the result its tokens.
struct TokenEmbedding : torch::nn::Module {
  TokenEmbedding(ParameterMaker& make, std::int64_t vocab_size, std::int64_t width,
                 std::optional<std::int64_t> padding_id);
  at::Tensor forward(const at::Tensor& ids) const;

  at::Tensor weight;
  std::optional<std::int64_t> padding_id;
  std::shared_ptr<const VocabularyShards> shards;
};

}  // namespace d9d
