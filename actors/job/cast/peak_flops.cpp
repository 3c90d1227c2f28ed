#include "actors/job/cast/peak_flops.hpp"

#include <variant>

#include "kernels/matmul_rate.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/log.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

// Measures a product of matrices on the cores of all ranks here, before any of them computes. Returns one
// rank's share.
double measured_peak(const ProcessServices& process, std::size_t ranks_here) {
  const auto dtype_of = [](const auto& provider) {
    if constexpr (requires { provider.dtype; }) return provider.dtype;
    return Dtype::float32;
  };
  const Dtype dtype = std::visit(dtype_of, process.job().model_provider);
  const int threads = static_cast<int>(ranks_here) * process.threads_per_rank;
  const double rate = kernels::matmul_rate(scalar_type_of(dtype), threads);
  log::info("measured peak of this node: {:.1f} GFLOP/s, products of {} matrices with {}", 1e-9 * rate,
            name_of(dtype), counted(static_cast<std::uint64_t>(threads), "thread"));
  return rate / static_cast<double>(ranks_here);
}

}  // namespace

std::optional<PeakFlops> peak_flops(const ProcessServices& process, std::size_t ranks_here) {
  const LoggingConfig& logging = process.job().trainer.logging;
  if (!logs_flops(process.job(), process.loaded.model.get())) return std::nullopt;
  return PeakFlops{.peak = (logging.peak_flops ? *logging.peak_flops : measured_peak(process, ranks_here)) *
                           process.job().mesh.world_size(),
                   .is_measured = logging.measure_peak};
}

}  // namespace d9d
