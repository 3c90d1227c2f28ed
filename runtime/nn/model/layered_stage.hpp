#pragma once
// The base of a plugin's language model. It has the embedding, the final RMS norm and the head, puts them on
// the stages of a pipeline, and implements the inputs and outputs of stage_module.hpp. The model adds its
// layers' parameters and computes the layers:
//
//   struct Mine final : LayeredStage {
//     Mine(const Keys& keys, StagePosition position) : LayeredStage(keys, position) {
//       for (const std::int64_t i : layers()) add(i, "mix", {width(), width()});
//     }
//     at::Tensor layer(std::int64_t i, const at::Tensor& hidden) override {
//       return hidden + kernels::linear(hidden, weight(i, "mix"));
//     }
//   };
//
// add_model<Mine>(registry, "mine") in runtime/plugin/own_model.hpp registers it. Parameters are float32.

#include <boost/describe/class.hpp>
#include <map>
#include <string>
#include <vector>

#include "runtime/nn/shard/activation_shards.hpp"
#include "runtime/nn/size/layer_distribution.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

class StageGroups;
class TensorParallel;

// The keys of such a model in the job file. A model with more keys defines a
// struct `Keys` that derives from it.
struct LayeredSizes {
  std::int64_t vocab_size = 0;
  std::int64_t width = 64;
  std::int64_t layers = 4;
};
BOOST_DESCRIBE_STRUCT(LayeredSizes, (), (vocab_size, width, layers))

class LayeredStage : public StageModule {
 public:
  using Keys = LayeredSizes;
  TensorMap forward(const TensorMap& inputs, const TensorMap& shared) final;
  std::vector<StageParameter> parameters() final { return parameters_; }
  void set_training(bool /*training*/) override {}
  // Shards the matrices that shard() names over axis tp, and replicates the rest. Input error on a mesh with
  // context, expert or sharded data parallelism, or with tensor parallelism when shard() names nothing.
  std::vector<StageParameter> parallelize(StageGroups& groups);

 protected:
  // Input error when a size is below 1, or when there are fewer layers than stages.
  LayeredStage(const LayeredSizes& sizes, StagePosition position);

  // Computes layer i of the model: hidden [B, S, width] of this rank's tokens -> the same shape.
  virtual at::Tensor layer(std::int64_t i, const at::Tensor& hidden) = 0;
  // Names the matrices that tensor parallelism splits (tensor_parallel.hpp). layer() must then call gather()
  // before the first product of a block and scatter_sum() after the last one.
  virtual void shard(TensorParallel& /*tensor*/) {}

  // The indices of this stage's layers.
  std::vector<std::int64_t> layers() const;
  std::int64_t width() const { return sizes_.width; }
  // Adds the parameter `layers.I.NAME`.
  void add(std::int64_t layer, const std::string& name, std::vector<std::int64_t> shape,
           Initial initial = {});
  const at::Tensor& weight(std::int64_t layer, const std::string& name) const;
  at::Tensor gather(const at::Tensor& own) const { return tokens_.gather(own); }
  at::Tensor scatter_sum(const at::Tensor& share) const { return tokens_.scatter_sum(share); }

 private:
  void add(const std::string& name, std::vector<std::int64_t> shape, Initial initial, ParameterRole role);
  const at::Tensor& weight(const std::string& name) const;

  const LayeredSizes sizes_;
  const StagePosition position_;
  const LayerRange layers_;
  std::vector<StageParameter> parameters_;
  std::map<std::string, std::size_t> index_;  // the index in parameters_, by name
  ActivationShards tokens_;
};

}  // namespace d9d
