#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/ops.hpp"

namespace d9d::kernels::cpu {
namespace {

template <class T>
void merge_rows(const AttentionBlock& into, const AttentionBlock& block) {
  const int64_t length = block.out.size(1), heads = block.out.size(2), dim = block.out.size(3);
  const auto at = [](const at::Tensor& x, int64_t b, int64_t i, int64_t j) {
    return static_cast<T*>(x.data_ptr()) + b * x.stride(0) + i * x.stride(1) + j * x.stride(2);
  };
  constexpr T nothing = -std::numeric_limits<T>::infinity();  // the query saw no key
  at::parallel_for(0, block.out.size(0) * length, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t batch = row / length, token = row % length;
      for (int64_t head = 0; head < heads; ++head) {
        T& known = *at(into.lse, batch, head, token);
        const T theirs = *at(block.lse, batch, head, token);
        if (theirs == nothing) continue;
        if (known == nothing) {  // theirs - known would be infinite
          known = theirs;
          std::copy_n(at(block.out, batch, token, head), dim, at(into.out, batch, token, head));
          continue;
        }
        const T difference = theirs - known;
        const T share = 1 / (1 + std::exp(-difference));
        known += difference > 0 ? difference + std::log1p(std::exp(-difference))
                                : std::log1p(std::exp(difference));
        T* const y = at(into.out, batch, token, head);
        const T* const x = at(block.out, batch, token, head);
        for (int64_t d = 0; d < dim; ++d) y[d] += share * (x[d] - y[d]);
      }
    }
  });
}

void merge_attention_block(const AttentionBlock& into, const AttentionBlock& block) {
  into.out.scalar_type() == at::kDouble ? merge_rows<double>(into, block) : merge_rows<float>(into, block);
}

}  // namespace

void add_attention_block(OpTable& table) {
  table.merge_attention_block = merge_attention_block;
}

}  // namespace d9d::kernels::cpu
