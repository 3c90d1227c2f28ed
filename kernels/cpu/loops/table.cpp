#include "kernels/cpu/loops/table.hpp"

#include "kernels/cpu/loops/cache_table.hpp"
#include "kernels/cpu/loops/convolution_table.hpp"

namespace d9d::kernels {

#define D9D_TABLES_OF(isa)                                   \
  namespace isa {                                            \
  extern const LoopTable<float>& float_table;                \
  extern const LoopTable<double>& double_table;              \
  extern const LoopTable<Bf16>& bf16_table;                  \
  extern const FlatLoopTable& flat;                          \
  extern const ConvolutionLoops<float>& float_convolution;   \
  extern const ConvolutionLoops<double>& double_convolution; \
  extern const ConvolutionLoops<Bf16>& bf16_convolution;     \
  extern const CacheLoops<float>& float_cache;               \
  extern const CacheLoops<double>& double_cache;             \
  extern const CacheLoops<Bf16>& bf16_cache;                 \
  extern const DeltaStepLoops<float>& float_delta_steps;     \
  extern const DeltaStepLoops<double>& double_delta_steps;   \
  }
D9D_TABLES_OF(baseline)
D9D_TABLES_OF(avx2)
D9D_TABLES_OF(avx512)
#undef D9D_TABLES_OF

#define D9D_CHOOSE(table)     \
  switch (isa) {              \
    case Isa::amx:            \
    case Isa::avx512_bf16:    \
    case Isa::avx512:         \
      return avx512::table;   \
    case Isa::avx2:           \
      return avx2::table;     \
    default:                  \
      return baseline::table; \
  }

template <>
const LoopTable<float>& loop_table<float>(Isa isa) {
  D9D_CHOOSE(float_table)
}
template <>
const LoopTable<double>& loop_table<double>(Isa isa) {
  D9D_CHOOSE(double_table)
}
template <>
const LoopTable<Bf16>& loop_table<Bf16>(Isa isa) {
  D9D_CHOOSE(bf16_table)
}
const FlatLoopTable& flat_loop_table(Isa isa) {
  D9D_CHOOSE(flat)
}

template <>
const ConvolutionLoops<float>& convolution_loops<float>(Isa isa) {
  D9D_CHOOSE(float_convolution)
}
template <>
const ConvolutionLoops<double>& convolution_loops<double>(Isa isa) {
  D9D_CHOOSE(double_convolution)
}
template <>
const ConvolutionLoops<Bf16>& convolution_loops<Bf16>(Isa isa) {
  D9D_CHOOSE(bf16_convolution)
}

template <>
const CacheLoops<float>& cache_loops<float>(Isa isa) {
  D9D_CHOOSE(float_cache)
}
template <>
const CacheLoops<double>& cache_loops<double>(Isa isa) {
  D9D_CHOOSE(double_cache)
}
template <>
const CacheLoops<Bf16>& cache_loops<Bf16>(Isa isa) {
  D9D_CHOOSE(bf16_cache)
}

template <>
const DeltaStepLoops<float>& delta_step_loops<float>(Isa isa) {
  D9D_CHOOSE(float_delta_steps)
}
template <>
const DeltaStepLoops<double>& delta_step_loops<double>(Isa isa) {
  D9D_CHOOSE(double_delta_steps)
}

}  // namespace d9d::kernels
