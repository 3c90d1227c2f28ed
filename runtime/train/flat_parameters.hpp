#pragma once
// The trainable parameters of a stage in flat buffers: values and gradients, cut into buckets that are
// reduced as one and updated in one pass.
//
// A family is a set of parameters that can share a buffer: equal reduction, dtype and gradient
// dtype. The copies of tied weights (tensor/tied.hpp) are families of their own, laid out alike on both
// stages. The shards of a unit (sharded_unit.hpp) form a separate bucket. Within a family
// parameters are in definition order. Those of one module (q, k, v; gate, up) have no gaps
// between them, so that kernels can use them as one matrix; only a bucket's first parameter
// is aligned to 64 bytes. Buckets are numbered in the order in which backward completes them:
// from the last parameter to the first.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor/stage_module.hpp"

namespace d9d {

struct FlatOptions {
  std::optional<at::ScalarType> grad_dtype;  // none: fp32 for parameters of 16 bits, else the parameter's
  // The most bytes of gradients in a bucket; a larger module gets a bucket alone.
  std::int64_t bucket_bytes = std::int64_t{32} << 20;
  // A small family is cut into about so many buckets of at least a MiB,
  // so that some of them can be reduced while backward goes on.
  std::int64_t wanted_buckets = 1;
  // false: values are drawn or loaded afterwards. Memory of the old tensors that nothing touched stays so.
  bool keep_values = true;
  // The mesh axes whose ranks see different tokens: a parameter's gradient is summed over those of them
  // on which the parameter is replicated. The caller adds tp when activations are sharded over it.
  std::vector<std::string> summed_axes = {"dp_replicate", "dp_cp_shard", "cp_replicate", "ep_replicate"};
};

// A parameter within its family's buffers.
struct FlatSegment {
  std::size_t parameter = 0;  // index into parameters()
  std::int64_t begin = 0;     // element in the family
  std::int64_t count = 0;
};

struct GradientBucket {
  std::size_t family = 0;
  std::vector<std::string> reduce_axes;  // summed over, sorted as in the layouts
  std::shared_ptr<ShardedUnit> unit;  // the bucket is its shards; gradients are scattered over its axes first
  // How many ranks hold these values, and this rank's index among them: each counts a part of the norm.
  int replicas = 1;
  int replica = 0;
  bool tied = false;       // its gradients are complete only when those of the other copy are added to them
  std::int64_t begin = 0;  // element in the family
  at::Tensor data;         // flat views
  at::Tensor grad;
  std::vector<FlatSegment> segments;  // in definition order

  bool needs_reduction() const { return unit || !reduce_axes.empty(); }
  std::vector<std::string> scatter_axes() const { return unit ? unit->axes() : std::vector<std::string>(); }
};

struct FlatFamily {
  at::Tensor data;
  at::Tensor grad;
  std::optional<int> tied_copy;  // which copy of tied weights its parameters are
};

class FlatParameters {
 public:
  // Moves the trainable parameters (requires_grad) into flat buffers: each tensor keeps its identity and
  // values, and its grad() becomes a defined view, zero (tensor/gradient.hpp). The others stay as they are.
  FlatParameters(std::vector<StageParameter> parameters, const FlatOptions& options);

  const std::vector<StageParameter>& parameters() const { return parameters_; }
  const std::vector<FlatFamily>& families() const { return families_; }
  const std::vector<GradientBucket>& buckets() const { return buckets_; }
  // The bucket of parameters()[parameter]; -1 for one that is not trainable.
  int bucket_of(std::size_t parameter) const { return bucket_of_[parameter]; }
  // Its place in the buffers; a parameter that is not trainable is a bug.
  const FlatSegment& segment_of(std::size_t parameter) const;

  std::int64_t num_elements() const;  // of trainable parameters on this rank
  void zero_grad() const;

 private:
  void add_family(std::vector<GradientBucket> buckets, at::ScalarType dtype, at::ScalarType grad_dtype,
                  bool keep_values);

  std::vector<StageParameter> parameters_;
  std::vector<FlatFamily> families_;
  std::vector<GradientBucket> buckets_;
  std::vector<int> bucket_of_;
};

// "model.layers.3.self_attn" of "model.layers.3.self_attn.q_proj.weight":
// what may be one matrix has it in common.
std::string module_of(const std::string& parameter);

}  // namespace d9d
