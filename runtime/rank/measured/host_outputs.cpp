#include "runtime/rank/measured/host_outputs.hpp"

#include "runtime/device/host_numbers.hpp"

namespace d9d {

TensorMap host_outputs(const TensorMap& outputs, std::size_t bytes_max) {
  TensorMap here;
  for (const auto& [name, output] : outputs) {
    const at::Tensor values = output.detach();
    here.emplace(name, values.is_cpu() || values.nbytes() > bytes_max ? values : copy_later(values));
  }
  return here;
}

}  // namespace d9d
