#include "kernels/run_op.hpp"

#include <array>
#include <atomic>

#include "kernels/cpu/ops.hpp"

namespace d9d::kernels {
namespace {

using Tables = std::array<std::atomic<const OpTable*>, at::COMPILE_TIME_MAX_DEVICE_TYPES>;

// One list of tables for the process, because an op finds its table only by its tensors.
Tables& tables() {
  static constinit Tables of_devices{};
  return of_devices;
}

bool same_device(at::Device a, at::Device b) {
  return a.type() == b.type() && (a.index() == b.index() || !a.has_index() || !b.has_index());
}

// Null if there is none.
const OpTable* find_table(at::DeviceType device) {
  if (device == at::kCPU) return &cpu::op_table();
  return tables()[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
}

// Returns the device of the first defined tensor.
at::Device device_of(c10::ArrayRef<const at::Tensor*> tensors) {
  for (const at::Tensor* tensor : tensors) {
    if (tensor != nullptr && tensor->defined()) return tensor->device();
  }
  return at::kCPU;
}

}  // namespace

void register_ops(at::DeviceType device, const OpTable* table) {
  TORCH_CHECK(device != at::kCPU, "register_ops: the CPU's op table cannot be replaced");
  tables()[static_cast<std::size_t>(device)].store(table, std::memory_order_release);
}

Place place_of(const at::Tensor& tensor) {
  const OpTable* const table = find_table(tensor.device().type());
  return table != nullptr ? table->place : Place::other;
}

namespace op_detail {

const OpTable& table_of(const char* op, c10::ArrayRef<const at::Tensor*> tensors) {
  const at::Device device = device_of(tensors);
  for (const at::Tensor* tensor : tensors) {
    TORCH_CHECK(tensor == nullptr || !tensor->defined() || same_device(tensor->device(), device), op,
                " got tensors of ", device, " and of ", tensor->device(), "; move them to one device");
  }
  const OpTable* const table = find_table(device.type());
  TORCH_CHECK(
      table != nullptr, op, " has no kernel for tensors of ", device,
      ": no op table is registered for this device. Move the tensors to the CPU (node.device: cpu), or "
      "load the plugin of the device first");
  return *table;
}

void refuse_missing(const char* op, c10::ArrayRef<const at::Tensor*> tensors) {
  TORCH_CHECK(
      false, op, " has no kernel for tensors of ", device_of(tensors),
      ": the device's op table is without this op. Move the tensors to the CPU (node.device: cpu), or "
      "add the op to the table");
}

}  // namespace op_detail
}  // namespace d9d::kernels
