#include "runtime/train/flat_parameters.hpp"

#include <map>

#include "runtime/base/error.hpp"
#include "runtime/tensor/flat_place.hpp"
#include "runtime/tensor/gradient.hpp"
#include "runtime/tensor/tied.hpp"
#include "runtime/train/flat_buffer.hpp"

namespace d9d {
namespace {

struct FamilyKey {
  std::vector<std::string> reduce_axes;
  std::vector<std::string> replicate_axes;
  std::vector<std::string> scatter_axes;
  std::optional<int> tied_copy;
  at::ScalarType dtype;
  at::ScalarType grad_dtype;
  std::string device;
  std::vector<int> moved_in;
  auto operator<=>(const FamilyKey&) const = default;
};

std::vector<std::string> reduce_axes_of(const Layout& layout, const std::vector<std::string>& summed) {
  std::vector<std::string> axes;
  for (const std::string& axis : layout.replicate_axes()) {
    if (std::find(summed.begin(), summed.end(), axis) != summed.end()) axes.push_back(axis);
  }
  return axes;
}

// A 16-bit sum stops growing long before all microbatches of a step are added: bfloat16 has 8 bits, so a
// summand of less than 1/256 of the sum is lost.
at::ScalarType dtype_of_sum(at::ScalarType dtype) {
  return c10::elementSize(dtype) < 4 ? at::kFloat : dtype;
}

FamilyKey key_of(const StageParameter& parameter, const FlatOptions& options) {
  const at::ScalarType dtype = parameter.tensor.scalar_type();
  return {reduce_axes_of(parameter.layout, options.summed_axes),
          parameter.layout.replicate_axes(),
          parameter.unit ? parameter.unit->axes() : std::vector<std::string>(),
          tied_copy(parameter.layout),
          dtype,
          options.grad_dtype.value_or(dtype_of_sum(dtype)),
          parameter.tensor.device().str(),
          options.moved_in ? options.moved_in(parameter.name) : std::vector<int>{0}};
}

// Families in order of first use, each with its parameters in definition order.
using Members = std::vector<std::size_t>;
std::vector<std::pair<FamilyKey, Members>> families_of(const std::vector<StageParameter>& parameters,
                                                       const FlatOptions& options) {
  std::vector<std::pair<FamilyKey, Members>> families;
  std::map<FamilyKey, std::size_t> index;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].tensor.requires_grad()) continue;
    const FamilyKey key = key_of(parameters[i], options);
    const auto [place, is_new] = index.try_emplace(key, families.size());
    if (is_new) families.emplace_back(key, Members{});
    families[place->second].second.push_back(i);
  }
  return families;
}

// Whether a bucket must not end between two parameters: those of a unit, or of a module.
bool belong_together(const StageParameter& a, const StageParameter& b) {
  return a.unit == b.unit && (a.unit || module_of(a.name) == module_of(b.name));
}

// Cuts from the last module to the first, in the order of backward. Never cuts
// a module. A unit is one bucket.
std::vector<Members> cut_into_buckets(const std::vector<StageParameter>& parameters, const Members& members,
                                      std::int64_t count_max) {
  std::vector<Members> buckets;
  std::int64_t filled = 0;
  for (std::size_t end = members.size(); end > 0;) {
    const StageParameter& last = parameters[members[end - 1]];
    std::size_t begin = end;
    std::int64_t count = 0;
    while (begin > 0 && belong_together(parameters[members[begin - 1]], last)) {
      count += parameters[members[--begin]].tensor.numel();
    }
    if (buckets.empty() || last.unit || filled + count > count_max) {
      buckets.emplace_back();
      filled = 0;
    }
    Members& bucket = buckets.back();
    bucket.insert(bucket.begin(), members.begin() + begin, members.begin() + end);
    filled += count;
    end = begin;
  }
  return buckets;
}

// The next element at which both values and gradients are aligned.
std::int64_t aligned(std::int64_t element, const FamilyKey& key) {
  const std::size_t bytes = std::min(c10::elementSize(key.dtype), c10::elementSize(key.grad_dtype));
  return rounded_up(element, alignment_bytes / static_cast<std::int64_t>(bytes));
}

void set_replicas(GradientBucket& bucket, const Layout& layout) {
  for (const LayoutAxis& axis : layout.axes()) {
    if (axis.placement.is_shard()) continue;
    bucket.replica = bucket.replica * axis.size + axis.index;
    bucket.replicas *= axis.size;
  }
}

void check_block(const StageParameter& parameter) {
  D9D_CHECK(parameter.layout.local_slice().shape() == parameter.tensor.sizes().vec(),
            "parameter {} has {} elements, its layout's block has {} or another shape", parameter.name,
            parameter.tensor.numel(), parameter.layout.local_slice().num_elements());
}

// Places buckets in memory. Memory is in definition order and buckets in reverse,
// so the last bucket comes first.
std::vector<GradientBucket> lay_out(const std::vector<StageParameter>& parameters,
                                    const std::vector<Members>& cut, const FamilyKey& key) {
  std::vector<GradientBucket> buckets(cut.size());
  std::int64_t end = 0;
  for (std::size_t i = cut.size(); i-- > 0;) {
    GradientBucket& bucket = buckets[i];
    bucket.reduce_axes = key.reduce_axes;
    bucket.unit = parameters[cut[i].front()].unit;
    bucket.tied = key.tied_copy.has_value();
    set_replicas(bucket, parameters[cut[i].front()].layout);
    end = bucket.begin = aligned(end, key);
    const at::Tensor* previous = nullptr;
    for (const std::size_t member : cut[i]) {
      check_block(parameters[member]);
      // Of a unit only the optimizer reads shards, and they are gathered as one stretch.
      if (previous != nullptr && !bucket.unit) end = begin_behind(*previous, end, parameters[member].tensor);
      previous = &parameters[member].tensor;
      bucket.segments.push_back({member, end, parameters[member].tensor.numel()});
      end += bucket.segments.back().count;
    }
  }
  return buckets;
}

// The most bytes of a bucket in a family with gradients of `total` bytes.
std::int64_t bucket_bytes(std::int64_t total, const FlatOptions& options) {
  constexpr std::int64_t least_bytes = std::int64_t{1} << 20;
  if (options.wanted_buckets <= 1) return options.bucket_bytes;
  return std::min(options.bucket_bytes, std::max(least_bytes, total / options.wanted_buckets));
}

std::vector<GradientBucket> buckets_of(const std::vector<StageParameter>& parameters, const FamilyKey& key,
                                       const Members& members, const FlatOptions& options) {
  const auto grad_bytes = static_cast<std::int64_t>(c10::elementSize(key.grad_dtype));
  std::int64_t elements = 0;
  for (const std::size_t member : members) elements += parameters[member].tensor.numel();
  const std::int64_t bytes = bucket_bytes(elements * grad_bytes, options);
  return lay_out(parameters, cut_into_buckets(parameters, members, bytes / grad_bytes), key);
}

}  // namespace

std::int64_t flat_elements(const std::vector<StageParameter>& parameters, const FlatOptions& options) {
  std::int64_t elements = 0;
  for (const auto& [key, members] : families_of(parameters, options)) {
    const FlatSegment last = buckets_of(parameters, key, members, options).front().segments.back();
    elements += last.begin + last.count;
  }
  return elements;
}

std::string module_of(const std::string& parameter) {
  const std::size_t last = parameter.rfind('.');
  const std::size_t before = last == std::string::npos || last == 0 ? last : parameter.rfind('.', last - 1);
  return before == std::string::npos ? "" : parameter.substr(0, before);
}

FlatParameters::FlatParameters(std::vector<StageParameter> parameters, const FlatOptions& options)
    : parameters_(std::move(parameters)), bucket_of_(parameters_.size(), -1) {
  for (const auto& [key, members] : families_of(parameters_, options)) {
    add_family(buckets_of(parameters_, key, members, options), key.dtype, key.grad_dtype,
               options.keep_values);
    families_.back().tied_copy = key.tied_copy;
    families_.back().moved_in = key.moved_in;
  }
}

void FlatParameters::add_family(std::vector<GradientBucket> buckets, at::ScalarType dtype,
                                at::ScalarType grad_dtype, bool keep_values) {
  const FlatSegment& end = buckets.front().segments.back();
  const at::Device device = parameters_[end.parameter].tensor.device();
  const FlatFamily family{zeroed_flat_buffer(end.begin + end.count, dtype, device),
                          zeroed_flat_buffer(end.begin + end.count, grad_dtype, device),
                          /*tied_copy=*/std::nullopt,
                          /*moved_in=*/{}};
  for (GradientBucket& bucket : buckets) {
    const FlatSegment& last = bucket.segments.back();
    bucket.family = families_.size();
    bucket.data = family.data.narrow(0, bucket.begin, last.begin + last.count - bucket.begin);
    bucket.grad = family.grad.narrow(0, bucket.begin, bucket.data.numel());
    for (const FlatSegment& segment : bucket.segments) {
      const at::Tensor& tensor = parameters_[segment.parameter].tensor;
      move_into(family.data.narrow(0, segment.begin, segment.count), tensor, keep_values);
      set_gradient(tensor, family.grad.narrow(0, segment.begin, segment.count).view(tensor.sizes()));
      bucket_of_[segment.parameter] = static_cast<int>(buckets_.size());
    }
    buckets_.push_back(std::move(bucket));
  }
  families_.push_back(family);
}

const FlatSegment& FlatParameters::segment_of(std::size_t parameter) const {
  const int bucket = bucket_of_[parameter];
  D9D_CHECK(bucket >= 0, "parameter {} is not trainable", parameters_[parameter].name);
  for (const FlatSegment& segment : buckets_[bucket].segments) {
    if (segment.parameter == parameter) return segment;
  }
  D9D_CHECK(false, "parameter {} is not in its bucket", parameters_[parameter].name);
}

std::int64_t FlatParameters::num_elements() const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (bucket_of_[i] >= 0) count += parameters_[i].tensor.numel();
  }
  return count;
}

void FlatParameters::zero_grad() const {
  for (const FlatFamily& family : families_) family.grad.zero_();
}

void FlatParameters::zero_grad_outside(int update) const {
  for (const FlatFamily& family : families_)
    if (!family.moves_in(update)) family.grad.zero_();
}

std::vector<FlatParameters> FlatParameters::parts() const {
  std::map<std::vector<int>, FlatParameters> parts;
  std::vector<std::size_t> family_in_part;
  for (const FlatFamily& family : families_) {
    FlatParameters& part = parts.try_emplace(family.moved_in, FlatParameters()).first->second;
    family_in_part.push_back(part.families_.size());
    part.families_.push_back(family);
  }
  if (parts.empty()) parts.try_emplace({}, FlatParameters());
  const auto part_of = [&](int bucket) -> FlatParameters& {
    return bucket < 0 ? parts.begin()->second
                      : parts.at(families_[buckets_[static_cast<std::size_t>(bucket)].family].moved_in);
  };
  std::vector<int> bucket_in_part;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    FlatParameters& part = part_of(static_cast<int>(i));
    bucket_in_part.push_back(static_cast<int>(part.buckets_.size()));
    part.buckets_.push_back(buckets_[i]);
    part.buckets_.back().family = family_in_part[buckets_[i].family];
  }
  std::vector<std::size_t> parameter_in_part;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    FlatParameters& part = part_of(bucket_of_[i]);
    parameter_in_part.push_back(part.parameters_.size());
    part.parameters_.push_back(parameters_[i]);
    part.bucket_of_.push_back(bucket_of_[i] < 0 ? -1
                                                : bucket_in_part[static_cast<std::size_t>(bucket_of_[i])]);
  }
  std::vector<FlatParameters> all;
  for (auto& [updates, part] : parts) {
    for (GradientBucket& bucket : part.buckets_)
      for (FlatSegment& segment : bucket.segments) segment.parameter = parameter_in_part[segment.parameter];
    all.push_back(std::move(part));
  }
  return all;
}

}  // namespace d9d
