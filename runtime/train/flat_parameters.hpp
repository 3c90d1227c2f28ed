#pragma once
// The trainable parameters of a stage in flat buffers: values and gradients. The buffers are cut into
// buckets; each bucket is reduced at once, and each buffer is updated in one pass.
//
// A family is a set of parameters that can share a buffer: they have equal reduction, dtype and gradient
// dtype, and the same updates of a step move them. The copies of tied weights (tensor/tied.hpp) are families of their
// own with the same layout on both stages. The shards of a unit (sharded_unit.hpp) are a bucket of their own.
//
// Within a family parameters are in definition order. Weights of one input (q, k, v; gate, up) have
// no gaps between them, so that kernels can use them as one matrix. Any other parameter begins where
// kernels can read 16 bytes at once (tensor/flat_place.hpp), a bucket's first one at 64 bytes; the gaps before it
// are zeros in values, gradients and optimizer state, and are in no checkpoint. Shards of a unit have no gaps.
// Buckets are numbered in the order in which backward completes them: from the last parameter to the first.

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor/stage_module.hpp"

namespace d9d {

struct FlatOptions {
  std::optional<at::ScalarType> grad_dtype;  // none: fp32 for parameters of 16 bits, else the parameter's
  // The most bytes of gradients in a bucket; a larger module gets a bucket alone.
  std::int64_t bucket_bytes = std::int64_t{32} << 20;
  // A small family is cut into about this many buckets of at least a MiB, to overlap with backward.
  std::int64_t wanted_buckets = 1;
  // false: values are set afterwards. The old tensors are not read, and their untouched pages stay so.
  bool keep_values = true;
  // The mesh axes whose ranks see different tokens. A parameter's gradient is summed over those of these
  // axes on which the parameter is replicated. The caller must add tp when activations are sharded over it.
  std::vector<std::string> summed_axes = {"dp_replicate", "dp_cp_shard", "cp_replicate", "ep_replicate"};
  // The updates of a step that move the parameter of this name. Empty: one update moves all.
  std::function<std::vector<int>(const std::string&)> moved_in = {};
};

// A parameter within its family's buffers.
struct FlatSegment {
  std::size_t parameter = 0;  // index into parameters()
  std::int64_t begin = 0;     // element in the family
  std::int64_t count = 0;
};

struct GradientBucket {
  std::size_t family = 0;
  std::vector<std::string> reduce_axes;  // axes to sum over, sorted as in the layouts
  std::shared_ptr<ShardedUnit> unit;     // has these shards; gradients are first scattered over its axes
  // The number of ranks that hold these values, and this rank's index. Each counts a part of the norm.
  int replicas = 1;
  int replica = 0;
  bool tied = false;       // a copy of tied weights: incomplete until the other copy's gradients are added
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
  std::optional<int> tied_copy;  // the number of the copy, if its parameters are tied weights
  std::vector<int> moved_in;     // the updates of a step that move its parameters

  bool moves_in(int update) const {
    return std::find(moved_in.begin(), moved_in.end(), update) != moved_in.end();
  }
};

class FlatParameters {
 public:
  // Moves trainable parameters (requires_grad) into flat buffers. Each stays the same tensor object with the
  // same values, and its grad() becomes a view of zeros (tensor/gradient.hpp). Others do not change.
  FlatParameters(std::vector<StageParameter> parameters, const FlatOptions& options);

  const std::vector<StageParameter>& parameters() const { return parameters_; }
  const std::vector<FlatFamily>& families() const { return families_; }
  const std::vector<GradientBucket>& buckets() const { return buckets_; }
  // The bucket of parameters()[parameter]; -1 if the parameter is not trainable.
  int bucket_of(std::size_t parameter) const { return bucket_of_[parameter]; }
  // False for a parameter that is not trainable.
  bool is_moved(std::size_t parameter, int update) const {
    const int bucket = bucket_of(parameter);
    return bucket >= 0 && families_[buckets_[static_cast<std::size_t>(bucket)].family].moves_in(update);
  }
  // The parameter's place in the buffers. It is a bug if the parameter is not trainable.
  const FlatSegment& segment_of(std::size_t parameter) const;

  std::int64_t num_elements() const;  // of trainable parameters on this rank
  void zero_grad() const;
  // Clears the gradients of the families that this update of a step does not move.
  void zero_grad_outside(int update) const;

  // The families that are moved in the same updates, as parameters of their own in the same memory, for an optimizer
  // of theirs. Frozen parameters go with the first. One part if all are moved in the same updates.
  std::vector<FlatParameters> parts() const;

 private:
  FlatParameters() = default;
  void add_family(std::vector<GradientBucket> buckets, at::ScalarType dtype, at::ScalarType grad_dtype,
                  bool keep_values);

  std::vector<StageParameter> parameters_;
  std::vector<FlatFamily> families_;
  std::vector<GradientBucket> buckets_;
  std::vector<int> bucket_of_;
};

// The elements of all buffers of values, with their gaps, that FlatParameters makes of these parameters. Takes no
// memory: the parameters may be on meta.
std::int64_t flat_elements(const std::vector<StageParameter>& parameters, const FlatOptions& options);

// The module that contains a parameter's own module: "a.b" for "a.b.q_proj.weight". Parameters that kernels
// may use as one matrix have the same one.
std::string module_of(const std::string& parameter);

}  // namespace d9d
