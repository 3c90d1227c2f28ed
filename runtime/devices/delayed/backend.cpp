#include "runtime/devices/delayed/backend.hpp"

#include <c10/core/Allocator.h>
#include <c10/core/DeviceType.h>
#include <torch/library.h>

#include <mutex>

#include "kernels/run_op.hpp"
#include "runtime/devices/delayed/fallback.hpp"
#include "runtime/devices/delayed/guard.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "runtime/devices/delayed/op_table.hpp"
#include "runtime/devices/delayed/torch_ops.hpp"

namespace d9d::delayed {
namespace {

class Allocations final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    return machine(current().device).allocate(bytes, current().stream());
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* /*into*/, const void* /*from*/, std::size_t /*count*/) const override {
    TORCH_CHECK(false, "memory of a delayed device is copied by copy_ only");
  }
};

// Torch keeps pointers to all of it, so it lives as long as the process.
struct Backend {
  Allocations allocations;
  Guard guard;
  Hooks hooks;
  torch::Library aten{torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__};
  torch::Library others{torch::Library::IMPL, "_", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__};

  Backend() {
    c10::register_privateuse1_backend("delayed");
    at::RegisterPrivateUse1HooksInterface(&hooks);
    c10::SetAllocator(c10::kPrivateUse1, &allocations);
    const c10::impl::DeviceGuardImplRegistrar registered(c10::kPrivateUse1, &guard);
    add_torch_ops(aten);
    kernels::register_ops(c10::kPrivateUse1, &op_table());
    others.fallback(torch::CppFunction::makeFromBoxedFunction<&run_torch_op>());
  }
};

}  // namespace

void install() {
  static constinit std::once_flag once;
  std::call_once(once, [] { new Backend; });
}

}  // namespace d9d::delayed
