#include "kernels/cuda/moe/expert_gradients.hpp"

#include "kernels/cuda/row_grid.cuh"

namespace d9d::cuda {
namespace {

template <class T, int size>
struct PutGradients {
  ExpertGradients call;
  __device__ void operator()(std::int64_t expert, std::int64_t pack) const {
    const bool has_rows = call.offsets[expert] < call.offsets[expert + 1];
    if (!has_rows && call.adds) return;
    const std::int64_t at = expert * call.elements + pack * size;
    T* const into = static_cast<T*>(call.into) + at;
    Pack<size> total{};
    if (has_rows) total = load_pack<size>(static_cast<const Bf16*>(call.sums) + at);
    if (call.adds) {
      const Pack<size> before = load_pack<size>(into);
#pragma unroll
      for (int e = 0; e < size; ++e) total.at[e] += before.at[e];
    }
    store_pack<size>(into, total);
  }
};

}  // namespace

int expert_gradients(const ExpertGradients& call, CUstream_st* stream) {
  return dispatch(call.type, [&](auto tag) {
    const bool packs = takes_packs<Bf16>(call.elements, {{call.sums}, {call.into}});
    return dispatch_packs<Bf16>(packs, [&](auto size) {
      return launch_rows(call.experts, call.elements / size, PutGradients<decltype(tag), size()>{call},
                         stream);
    });
  });
}

}  // namespace d9d::cuda
