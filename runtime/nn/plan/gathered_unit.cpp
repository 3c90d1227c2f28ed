#include "runtime/nn/plan/gathered_unit.hpp"

#include <ATen/ops/empty_like.h>
#include <c10/core/GradMode.h>

#include <optional>

#include "runtime/base/error.hpp"
#include "runtime/device/work_log.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/tensor/gradient.hpp"

namespace d9d {
namespace {

// One tensor over tensors that are adjacent in memory.
at::Tensor joined(const std::vector<at::Tensor>& tensors, std::int64_t count, const std::string& unit) {
  const at::Tensor& first = tensors.front();
  std::int64_t next = first.storage_offset();
  for (const at::Tensor& tensor : tensors) {
    D9D_CHECK(tensor.is_contiguous() && tensor.storage().is_alias_of(first.storage()) &&
                  (tensor.numel() == 0 || tensor.storage_offset() == next),
              "the shards of {} are not adjacent in memory", unit);
    next += tensor.numel();
  }
  return first.detach().as_strided({count}, {1}, first.storage_offset());
}

}  // namespace

GatheredUnit::GatheredUnit(GatheredUnitOptions options, std::vector<UnitWeight> weights, ShardMap map)
    : options_(std::move(options)), weights_(std::move(weights)), map_(std::move(map)) {
  const at::Tensor& first = weights_.front().weight;
  values_ = WholeBuffer(map_.whole_size, first.options().requires_grad(false));
  for (const UnitWeight& each : weights_) {
    at::Tensor weight = each.weight;
    weight.set_data(values_.view(each.begin, weight.sizes()));
  }
  if (options_.communicator) options_.communicator->connect();
}

GatheredUnit::~GatheredUnit() {
  // The thread may still be writing to the memory. Its error is dropped: who waits for the group reports it.
  if (arrival_.valid()) arrival_.wait();
}

std::uint64_t GatheredUnit::gradient_bytes() const {
  const at::Tensor& gradient = weights_.front().shard.grad();
  return static_cast<std::uint64_t>(map_.whole_size) * (gradient.defined() ? gradient.element_size() : 0);
}

std::int64_t GatheredUnit::gap_elements() const {
  std::int64_t gaps = map_.whole_size;
  for (const UnitWeight& each : weights_) gaps -= each.weight.numel();
  return gaps;
}

void GatheredUnit::attach() {
  std::vector<at::Tensor> shards;
  for (const UnitWeight& each : weights_) shards.push_back(each.shard);
  const std::int64_t own = map_.shard_sizes[static_cast<std::size_t>(options_.communicator->rank())];
  shards_ = joined(shards, own, options_.name);
  const at::Tensor& gradient = weights_.front().shard.grad();
  if (!is_trainable() || !gradient.defined()) return;
  gradients_ = WholeBuffer(map_.whole_size, gradient.options());
  for (const UnitWeight& each : weights_) {
    at::Tensor weight = each.weight;
    // Kernels add to a defined gradient instead of replacing it. It has no memory before open_gradient().
    set_gradient(weight, gradients_.view(each.begin, weight.sizes()));
  }
}

void GatheredUnit::request() {
  if (values_.has_memory() || on_its_way_.defined()) return;
  D9D_CHECK(shards_.defined(), "the values of {} are requested before attach() has found its shards",
            options_.name);
  on_its_way_ = values_.make_memory();
  Device& device = device_of(on_its_way_.device());
  auto gather = [this, &device, asked = device.record(), into = on_its_way_]() mutable {
    const at::NoGradGuard no_grad;
    std::optional<WorkName> work;
    if (!device.is_cpu()) work.emplace("gather [" + options_.name + "]");
    const StreamScope scope(device, StreamRole::communicate);
    device.wait(asked);  // until then `into` may be read by earlier work, and the update may write the shards
    options_.communicator->gather_shards(into, shards_, map_).wait();
    device.use(into, StreamRole::communicate);
    arrived_ = device.record();
  };
  // Work of a device is queued by this thread, in the order of the program (see device.hpp).
  if (!device.is_cpu()) return gather();
  arrival_ = options_.thread->submit({"gather " + options_.name, on_its_way_.nbytes(), gather});
}

void GatheredUnit::ensure() {
  request();
  if (values_.has_memory()) return;
  std::future<void> arrival = std::move(arrival_);
  const at::Tensor memory = std::exchange(on_its_way_, {});
  if (arrival.valid()) options_.thread->wait(std::move(arrival), "wait for " + options_.name);
  wait_inside(device_of(memory.device()), arrived_, options_.name);
  values_.give(memory);
}

void GatheredUnit::release() {
  if (!options_.policy.keep_gathered) drop_values();
}

void GatheredUnit::drop_values() {
  if (on_its_way_.defined()) ensure();
  if (values_.has_memory()) values_.take();
}

void GatheredUnit::open_gradient() {
  if (!is_trainable() || gradients_.has_memory()) return;
  gradients_.give(gradients_.make_memory().zero_());
}

void GatheredUnit::before_weight_job(bool reads) {
  if (reads) ensure();
  open_gradient();
}

void GatheredUnit::zero_gradient() {
  if (gradients_.has_memory()) gradients_.give(gradients_.take().zero_());
}

void GatheredUnit::hand_over_gradient(bool last) {
  // A unit that took no part in the loss hands over zeros, because the other ranks reduce its gradient, too.
  open_gradient();
  at::Tensor gradient = gradients_.take();
  const std::lock_guard lock(complete_mutex_);
  complete_.push_back({std::move(gradient), last});
}

void GatheredUnit::end_action() {
  release();
}

void GatheredUnit::end_step() {
  drop_values();
}

void GatheredUnit::after_update() {
  if (options_.policy.gather_ahead) request();
}

bool GatheredUnit::reduce_gradient(at::Tensor shard_gradient, Communicator& group) {
  Complete next;
  {
    const std::lock_guard lock(complete_mutex_);
    D9D_CHECK(!complete_.empty(), "no gradient of {} waits to be reduced", options_.name);
    next = std::move(complete_.front());
    complete_.pop_front();
  }
  Device& device = device_of(next.gradient.device());
  if (!reduced_before_) {
    group.sum_to_shards(shard_gradient, next.gradient, map_).wait();
  } else {
    at::Tensor more = at::empty_like(shard_gradient);
    group.sum_to_shards(more, next.gradient, map_).wait();
    shard_gradient.add_(more);
  }
  device.use(next.gradient, device.current_stream());
  reduced_before_ = !next.last;
  return next.last;
}

}  // namespace d9d
