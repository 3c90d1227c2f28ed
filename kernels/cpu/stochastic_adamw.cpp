#include <type_traits>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/optimizer/adamw_pass.hpp"
#include "kernels/optimizer/stochastic_adamw_pass.hpp"

namespace d9d::kernels::cpu {
namespace {

constexpr int64_t elements_of_task = 16384;

// Calls f(first, count, place) for parts of `count` elements: the block's elements from `first` on are adjacent in the
// tensor from its element `place` on.
template <class F>
void for_runs(const BlockPlace& place, int64_t count, F&& f) {
  at::parallel_for(0, count, elements_of_task, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t within = begin % place.run, size = std::min(place.run - within, end - begin);
      f(begin, size, place.begin_of_run(begin / place.run) + within);
      begin += size;
    }
  });
}

// Updates the elements of a run (for_runs). Four adjacent elements of the tensor share one draw of random words.
template <class G, class S>
void update_run(const StochasticBuffers<G, S>& buffers, int64_t first, int64_t count, int64_t place,
                const StochasticPass& pass, const RoundingNoise& noise) {
  RandomWords words{}, words_second{};
  for (int64_t i = 0; i < count; ++i) {
    const auto element = static_cast<std::uint64_t>(place + i);
    if (i == 0 || element % 4 == 0) {
      words = noise.value_and_first.words(element / 4);
      if constexpr (!std::is_same_v<S, float>) words_second = noise.second.words(element / 4);
    }
    buffers.update_at(first + i, pass, words.at[element % 4], words_second.at[element % 4]);
  }
}

// Rounds the elements of a run (for_runs).
void copy_run(const float* source, std::uint16_t* target, int64_t first, int64_t count, int64_t place,
              const RandomKey& key) {
  RandomWords words{};
  for (int64_t i = 0; i < count; ++i) {
    const auto element = static_cast<std::uint64_t>(place + i);
    if (i == 0 || element % 4 == 0) words = key.words(element / 4);
    set_value(target, first + i, source[first + i], words.at[element % 4]);
  }
}

// Calls f(T{}) with float, or with uint16_t for bf16.
template <class F>
void for_words(const at::Tensor& x, F&& f) {
  x.scalar_type() == at::kFloat ? f(float{}) : f(std::uint16_t{});
}

void stochastic_adamw_step(const at::Tensor& param, const at::Tensor& grad, const at::Tensor& exp_avg,
                           const at::Tensor& exp_avg_sq, const AdamWSettings& settings,
                           const RoundingNoise& noise) {
  const StochasticPass pass = stochastic_pass(settings);
  for_words(grad, [&](auto of_grad) {
    for_words(exp_avg, [&](auto of_state) {
      using G = decltype(of_grad);
      using S = decltype(of_state);
      const StochasticBuffers<G, S> buffers{data_of<std::uint16_t>(param), data_of<G>(grad),
                                            data_of<S>(exp_avg), data_of<S>(exp_avg_sq)};
      for_runs(noise.place, param.numel(), [&](int64_t first, int64_t count, int64_t place) {
        update_run(buffers, first, count, place, pass, noise);
      });
    });
  });
}

void stochastic_copy(const at::Tensor& source, const at::Tensor& target, const RandomKey& key,
                     const BlockPlace& place) {
  for_runs(place, source.numel(), [&](int64_t first, int64_t count, int64_t element) {
    copy_run(data_of<float>(source), data_of<std::uint16_t>(target), first, count, element, key);
  });
}

}  // namespace

void add_stochastic_adamw(OpTable& table) {
  table.stochastic_copy = stochastic_copy;
  table.stochastic_adamw_step = stochastic_adamw_step;
}

}  // namespace d9d::kernels::cpu
