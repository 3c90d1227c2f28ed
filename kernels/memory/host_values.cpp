#include "kernels/memory/host_values.hpp"

#include <ATen/core/LegacyTypeDispatch.h>

#include <memory>

#include "kernels/memory/by_memory.hpp"

namespace d9d::kernels {
namespace {

// One table for the process.
ByMemory<at::Tensor>& all() {
  static const auto of_process = std::make_unique<ByMemory<at::Tensor>>();
  return *of_process;
}

}  // namespace

void keep_host_values(const at::Tensor& there, const at::Tensor& here) {
  TORCH_CHECK(there.sizes() == here.sizes() && there.is_contiguous() && here.is_contiguous() &&
                  there.storage_offset() == 0 && there.scalar_type() == here.scalar_type(),
              "keep_host_values of ", here.sizes(), " for ", there.sizes());
  if (!there.is_cpu()) all().keep(there, here);
}

at::Tensor host_values(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return tensor;
  const std::optional<at::Tensor> here = all().of(tensor);
  if (!here || here->scalar_type() != tensor.scalar_type()) return {};
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return here->as_strided(tensor.sizes(), tensor.strides(), here->storage_offset() + tensor.storage_offset());
}

at::Tensor fetch_host_values(const at::Tensor& tensor) {
  const at::Tensor known = host_values(tensor);
  return known.defined() ? known : tensor.to(at::kCPU);
}

}  // namespace d9d::kernels
