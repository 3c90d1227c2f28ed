#pragma once
// Activation offload (Rhu et al. 2016, "vDNN", arXiv 1602.08124, section III): tensors that a layer saves for its backward
// wait in pinned memory of the host. Their copies leave on the stream `copy_out` while the next layer computes, which
// then lets the device have their memory, and come back on `copy_in` while the layer behind computes its backward. The
// host waits for none of them. Tensors saved by ops of kernels/; weights, and what all layers share, stay.

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
class HostBlocks;    // the host's memory, used again

// What one layer saves of one microbatch. Take it as the place of what the layer's forward saves, and then as the hook of
// a Unit that its outputs leave.
class OffloadedLayer final : public kernels::SavingPlace,
                             public UnitHook,
                             public std::enable_shared_from_this<OffloadedLayer> {
 public:
  using Storages = std::unordered_set<const c10::StorageImpl*>;
  // `stays`: what is in these storages.
  OffloadedLayer(std::shared_ptr<HostBlocks> blocks, std::shared_ptr<OffloadedLayer> before,
                 std::shared_ptr<OffloadedLayer> unfinished, Storages stays);

  std::unique_ptr<kernels::SavedElsewhere> take(const at::Tensor& tensor) override;
  void before_forward(bool /*recompute*/) override {}
  void after_forward(bool recompute) override;  // the copies leave
  void before_backward() override;
  void after_backward() override {}

  // The device may have the memory of what has left; behind that on the device.
  void let_go();
  // The copies come back; the second: and `compute` waits for them.
  void fetch();
  void bring();

 private:
  std::shared_ptr<SavedStorage> stored(const at::Tensor& tensor);
  std::vector<std::shared_ptr<SavedStorage>> living() const;

  const std::shared_ptr<HostBlocks> blocks_;
  const std::shared_ptr<OffloadedLayer> before_;  // of the same microbatch; null: the first
  std::shared_ptr<OffloadedLayer>
      unfinished_;  // whose tensors are still on the device; until after_forward()
  const Storages stays_;
  std::unordered_map<const c10::StorageImpl*, std::weak_ptr<SavedStorage>> taken_;  // nodes own them
  bool left_ = false;
};

// Of one stage. The rank's thread.
class ActivationOffload {
 public:
  explicit ActivationOffload(c10::Device place);

  void begin_microbatch() { last_.reset(); }
  // For the next layer of the microbatch. `stays` gives the tensors that are not the layer's to move.
  std::shared_ptr<OffloadedLayer> begin_layer(const std::vector<at::Tensor>& stays);
  // The forward of another layer has been given to the device meanwhile.
  void let_go();

 private:
  const std::shared_ptr<HostBlocks> blocks_;
  std::shared_ptr<OffloadedLayer> last_, unfinished_;
};

}  // namespace d9d
