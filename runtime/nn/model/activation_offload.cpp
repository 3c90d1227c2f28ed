#include "runtime/nn/model/activation_offload.hpp"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/set.h>
#include <c10/core/GradMode.h>

#include <bit>
#include <utility>

#include "runtime/base/log.hpp"
#include "runtime/device/host_memory.hpp"

namespace d9d {
namespace {

constexpr std::size_t moved_bytes_min = 4096;  // below, a copy costs more than the memory is worth

// A tensor over a storage.
at::Tensor over(const c10::Storage& storage, const at::TensorOptions& options, std::int64_t offset,
                at::IntArrayRef sizes, at::IntArrayRef strides) {
  const at::Tensor tensor = at::empty({0}, options);
  return tensor.set_(storage, offset, sizes, strides);
}

at::TensorOptions bytes_on(c10::Device place) {
  return at::TensorOptions(at::kByte).device(place);
}

}  // namespace

class HostBlocks {
 public:
  explicit HostBlocks(Device& device) : device_(device) {}

  Device& device() const { return device_; }
  // Returns a block of at least `bytes` bytes.
  at::Tensor take(std::int64_t bytes) {
    const auto found = free_.find(size_class(bytes));
    if (found == free_.end()) return host_memory(device_, size_class(bytes), "activations");
    at::Tensor block = std::move(found->second);
    free_.erase(found);
    return block;
  }
  // Safe to reuse at once: the next user's copy is ordered after all work that is queued on the stage's stream
  // now, which includes the copies of this block (settle()).
  void give_back(at::Tensor block) {
    if (block.defined()) free_.emplace(block.numel(), std::move(block));
  }

 private:
  // Eight size classes per power of two: experts save tensors of another size in each microbatch, and
  // without classes no block would fit again.
  static std::int64_t size_class(std::int64_t bytes) {
    const auto step = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)) / 8);
    return (bytes + step - 1) / step * step;
  }

  Device& device_;
  std::multimap<std::int64_t, at::Tensor> free_;  // by bytes
};

class SavedStorage {
 public:
  SavedStorage(std::shared_ptr<HostBlocks> blocks, const at::Tensor& tensor)
      : blocks_(std::move(blocks)),
        computes_on_(blocks_->device().current_stream()),
        bytes_(static_cast<std::int64_t>(tensor.storage().nbytes())),
        there_(over(tensor.storage(), bytes_on(tensor.device()), 0, {bytes_}, {1})) {}
  ~SavedStorage() {
    try {
      settle();
      blocks_->give_back(std::move(block_));
    } catch (const std::exception& error) {
      log::warn("cannot wait for the copies of offloaded activations: {}", error.what());
    }
  }
  SavedStorage(const SavedStorage&) = delete;
  SavedStorage& operator=(const SavedStorage&) = delete;

  bool is_there() const { return there_.defined(); }
  bool is_ready() const { return is_there() && busy_.state() == nullptr; }
  const c10::Storage& storage() const { return there_.storage(); }
  void make_room() { there_ = at::empty({bytes_}, bytes_on(blocks_->device().place())); }

  // Queues the copy on the current stream. The caller records an event after it and passes it to set_busy().
  void copy_out() {
    block_ = blocks_->take(bytes_);
    here().copy_(there_, /*non_blocking=*/true);
  }
  void copy_in() { there_.copy_(here(), /*non_blocking=*/true); }
  void set_busy(const Event& until) { busy_ = until; }
  // Makes work that is queued on the stage's stream from now on wait for the copy.
  void settle() { blocks_->device().wait(computes_on_, std::exchange(busy_, {})); }
  void drop() {
    settle();
    there_.reset();
  }

 private:
  at::Tensor here() const { return block_.narrow(0, 0, bytes_); }

  const std::shared_ptr<HostBlocks> blocks_;
  const StreamRole computes_on_;
  const std::int64_t bytes_;
  at::Tensor there_, block_;  // uint8, on the device and on the host
  Event busy_;                // recorded when the copy on another stream is done
};

namespace {

class SavedView final : public kernels::SavedElsewhere {
 public:
  SavedView(std::shared_ptr<OffloadedLayer> layer, std::shared_ptr<SavedStorage> stored,
            const at::Tensor& tensor)
      : layer_(std::move(layer)),
        stored_(std::move(stored)),
        options_(tensor.options().requires_grad(false)),
        offset_(tensor.storage_offset()),
        sizes_(tensor.sizes().vec()),
        strides_(tensor.strides().vec()) {}

  at::Tensor get() override {
    if (!stored_->is_ready()) layer_->bring();
    const at::AutoDispatchBelowADInplaceOrView below;
    return over(stored_->storage(), options_, offset_, sizes_, strides_);
  }

 private:
  const std::shared_ptr<OffloadedLayer> layer_;
  const std::shared_ptr<SavedStorage> stored_;
  const at::TensorOptions options_;
  const std::int64_t offset_;
  const std::vector<std::int64_t> sizes_, strides_;
};

}  // namespace

OffloadedLayer::OffloadedLayer(std::shared_ptr<HostBlocks> blocks, std::shared_ptr<OffloadedLayer> before,
                               std::shared_ptr<OffloadedLayer> unfinished, Storages stays)
    : blocks_(std::move(blocks)),
      before_(std::move(before)),
      unfinished_(std::move(unfinished)),
      stays_(std::move(stays)) {}

// Integers stay: the host knows the values of this very tensor object
// (kernels/memory/host_values.hpp), not of a copy.
std::unique_ptr<kernels::SavedElsewhere> OffloadedLayer::take(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_floating_point() || tensor.device() != blocks_->device().place())
    return nullptr;
  const bool is_kept_anyway = tensor.is_leaf() && tensor.requires_grad();  // a weight, an input of the stage
  if (is_kept_anyway || tensor.storage().nbytes() < moved_bytes_min ||
      stays_.contains(tensor.storage().unsafeGetStorageImpl()))
    return nullptr;
  return std::make_unique<SavedView>(shared_from_this(), stored(tensor), tensor);
}

// Returns the entry of the tensor's storage. Nodes of this layer and of the one
// before may save the same storage.
std::shared_ptr<SavedStorage> OffloadedLayer::stored(const at::Tensor& tensor) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const auto* const key = tensor.storage().unsafeGetStorageImpl();
  std::weak_ptr<SavedStorage>& place = taken_[key];
  std::shared_ptr<SavedStorage> found = place.lock();
  if (!found && unfinished_) {
    const auto before = unfinished_->taken_.find(key);
    if (before != unfinished_->taken_.end()) found = before->second.lock();
  }
  if (!found || !found->is_there() || found->storage().unsafeGetStorageImpl() != key)
    found = std::make_shared<SavedStorage>(blocks_, tensor);
  place = found;
  return found;
}

std::vector<std::shared_ptr<SavedStorage>> OffloadedLayer::living() const {
  std::vector<std::shared_ptr<SavedStorage>> found;
  for (const auto& [key, taken] : taken_) {
    if (std::shared_ptr<SavedStorage> stored = taken.lock()) found.push_back(std::move(stored));
  }
  return found;
}

// The copies of the layer before had the time of this layer's forward, so its
// device memory can be freed now.
void OffloadedLayer::after_forward(bool /*recompute*/) {
  const c10::NoGradGuard no_grad;
  Device& device = blocks_->device();
  device.wait(StreamRole::copy_out, device.record());
  {
    const StreamScope stream(device, StreamRole::copy_out);
    std::vector<std::shared_ptr<SavedStorage>> leaving;
    for (const auto& stored : living()) {
      if (!stored->is_ready()) continue;  // the layer before is copying it already
      stored->copy_out();
      leaving.push_back(stored);
    }
    const Event done = device.record();
    for (const auto& stored : leaving) stored->set_busy(done);
  }
  if (const auto unfinished = std::exchange(unfinished_, nullptr)) unfinished->let_go();
}

void OffloadedLayer::let_go() {
  if (std::exchange(left_, true)) return;
  for (const auto& stored : living()) stored->drop();
}

// The allocator hands out memory in the order of the stage's stream, where earlier work may still use it.
// So `copy_in` waits for that work before it writes.
void OffloadedLayer::fetch() {
  const c10::NoGradGuard no_grad;
  std::vector<std::shared_ptr<SavedStorage>> wanted;
  for (auto& stored : living()) {
    if (!stored->is_there()) wanted.push_back(std::move(stored));
  }
  if (wanted.empty()) return;
  for (const auto& stored : wanted) stored->make_room();
  Device& device = blocks_->device();
  device.wait(StreamRole::copy_in, device.record());
  const StreamScope stream(device, StreamRole::copy_in);
  for (const auto& stored : wanted) stored->copy_in();
  const Event done = device.record();
  for (const auto& stored : wanted) stored->set_busy(done);
}

void OffloadedLayer::bring() {
  left_ = true;  // from now on let_go() must not drop what is on the device
  fetch();
  for (const auto& stored : living()) stored->settle();
}

void OffloadedLayer::before_backward() {
  bring();
  if (before_) before_->fetch();
}

ActivationOffload::ActivationOffload(c10::Device place)
    : blocks_(std::make_shared<HostBlocks>(device_of(place))) {}

std::shared_ptr<OffloadedLayer> ActivationOffload::begin_layer(const std::vector<at::Tensor>& stays) {
  OffloadedLayer::Storages storages;
  for (const at::Tensor& tensor : stays) {
    if (tensor.defined()) storages.insert(tensor.storage().unsafeGetStorageImpl());
  }
  last_ = std::make_shared<OffloadedLayer>(blocks_, last_, unfinished_, std::move(storages));
  return unfinished_ = last_;
}

void ActivationOffload::let_go() {
  if (const auto unfinished = std::exchange(unfinished_, nullptr)) unfinished->let_go();
}

}  // namespace d9d
