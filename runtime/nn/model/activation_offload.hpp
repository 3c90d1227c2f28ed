#pragma once
// Activation offload (Rhu et al. 2016, "vDNN", arXiv 1602.08124, section III). The tensors that a layer
// saves for its backward wait in pinned memory of the host:
//   forward   they are copied on `copy_out` while the next layer computes; then their device memory is freed
//   backward  they are copied back on `copy_in` while the following layer computes its backward
// The host never waits for a copy. Forward and backward of a stage run on one stream, the stage's. Only
// tensors that ops of kernels/ save are moved. Weights, and tensors that all layers share, stay on the device.

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernels/graph/saving_place.hpp"
#include "runtime/device/device.hpp"
#include "runtime/nn/model/unit_hook.hpp"

namespace d9d {

class SavedStorage;  // one storage, on the device, on the host or on its way
class HostBlocks;    // a pool of pinned host memory

// The tensors that one layer saves for one microbatch. Make it the SavingPlace during the layer's forward,
// and then the hook of a Unit that the layer's outputs leave.
class OffloadedLayer final : public kernels::SavingPlace,
                             public UnitHook,
                             public std::enable_shared_from_this<OffloadedLayer> {
 public:
  using Storages = std::unordered_set<const c10::StorageImpl*>;
  // `stays`: storages that must not be moved.
  OffloadedLayer(std::shared_ptr<HostBlocks> blocks, std::shared_ptr<OffloadedLayer> before,
                 std::shared_ptr<OffloadedLayer> unfinished, Storages stays);

  std::unique_ptr<kernels::SavedElsewhere> take(const at::Tensor& tensor) override;
  void before_forward(bool /*recompute*/) override {}
  void after_forward(bool recompute) override;  // starts the copies to the host
  void before_backward() override;
  void after_backward() override {}

  // Frees the device memory of the copied tensors. Later work of the stage waits for the copies.
  void let_go();
  // Starts the copies back to the device.
  void fetch();
  // Fetches, and makes later work of the stage wait for the copies.
  void bring();

 private:
  std::shared_ptr<SavedStorage> stored(const at::Tensor& tensor);
  std::vector<std::shared_ptr<SavedStorage>> living() const;

  const std::shared_ptr<HostBlocks> blocks_;
  const std::shared_ptr<OffloadedLayer> before_;  // of the same microbatch; null: the first
  std::shared_ptr<OffloadedLayer> unfinished_;    // its tensors are on the device; until after_forward()
  const Storages stays_;
  std::unordered_map<const c10::StorageImpl*, std::weak_ptr<SavedStorage>> taken_;  // nodes own them
  bool left_ = false;
};

// The offload of one stage. Call it on the rank's thread.
class ActivationOffload {
 public:
  explicit ActivationOffload(c10::Device place);

  void begin_microbatch() { last_.reset(); }
  // Begins the next layer of the microbatch. `stays`: tensors that must not be moved.
  std::shared_ptr<OffloadedLayer> begin_layer(const std::vector<at::Tensor>& stays);
  // Frees the tensors of the last layer. Call it when the forward of a layer that
  // is not offloaded has been queued.
  void let_go();

 private:
  const std::shared_ptr<HostBlocks> blocks_;
  std::shared_ptr<OffloadedLayer> last_, unfinished_;
};

}  // namespace d9d
