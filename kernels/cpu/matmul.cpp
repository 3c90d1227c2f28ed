#include "kernels/cpu/matmul.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/loops/few_rows.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/rows.hpp"

namespace d9d::kernels::cpu {
namespace {

void matmul_by_torch(at::Tensor c, const at::Tensor& a, const at::Tensor& b, double beta) {
  if (beta == 0) {
    at::mm_out(c, a, b);
  } else {
    at::addmm_out(c, c, a, b, beta);
  }
}

// The operand b from column `begin` on; from_row: the operand a from row `begin` on.
GemmInput from_column(GemmInput b, int64_t begin) {
  const int64_t size = b.bf16 ? 2 : 4;
  if (!b.transposed) {
    b.data = static_cast<const char*>(b.data) + begin * size;
  } else if (b.rows) {
    b.rows += begin;
  } else {
    b.data = static_cast<const char*>(b.data) + begin * b.stride * size;
  }
  return b;
}
GemmInput from_row(GemmInput a, int64_t begin) {
  return transposed(from_column(transposed(a), begin));
}

GemmOutput part_of(GemmOutput c, int64_t row, int64_t column) {
  const int64_t size = c.bf16 ? 2 : 4;
  if (c.rows) {
    c.rows += row;
  } else {
    c.data = static_cast<char*>(c.data) + row * c.stride * size;
  }
  if (c.row_scale) c.row_scale += row;
  c.data = static_cast<char*>(c.data) + column * size;
  return c;
}

struct Product {
  decltype(&gemm_avx512) run;
  int64_t tile_rows;
  int64_t worth_threads;  // multiplications that are worth the start of threads, some ten microseconds
};
Product product_for(bool bf16) {
  const Isa isa = isa_of_this_machine();
  if (bf16 && isa >= Isa::amx) return {gemm_amx, 32, int64_t{1} << 23};
  return {bf16 && isa >= Isa::avx512_bf16 ? gemm_bf16 : gemm_avx512, 14, int64_t{1} << 20};
}

// Divides the product along its longer side into parts of whole tiles, one per thread.
void gemm_in_parts(const Product& product, int64_t parts, int64_t m, int64_t n, int64_t k, const GemmInput& a,
                   const GemmInput& b, const GemmOutput& c) {
  const bool by_column = n >= m;
  const int64_t tile = by_column ? 32 : product.tile_rows, total = by_column ? n : m;
  const int64_t tiles = (total + tile - 1) / tile;
  parts = std::min(parts, tiles);
  at::parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    const int64_t begin = tiles * first / parts * tile, end = std::min(total, tiles * last / parts * tile);
    if (by_column) {
      product.run(m, end - begin, k, a, from_column(b, begin), part_of(c, 0, begin));
    } else {
      product.run(end - begin, n, k, from_row(a, begin), b, part_of(c, begin, 0));
    }
  });
}

// Whether a has so few rows that reading b, a transposed weight, is most of the work.
bool is_of_few_rows(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b, double beta) {
  const bool plain = a.scalar_type() == b.scalar_type() &&
                     (c.scalar_type() == at::kFloat || c.scalar_type() == a.scalar_type());
  return isa_of_this_machine() >= Isa::avx512 && beta == 0 && a.size(0) <= few_rows_max && plain &&
         has_dense_rows(a) && has_dense_rows(b.t());
}

// Calls f(first row of the weight, number of rows) for whole blocks of rows, in parallel.
template <class F>
void for_weight_rows(int64_t m, int64_t n, int64_t k, F&& f) {
  constexpr int64_t block = 16;
  // As in gemm(): from a million multiplications on, other threads are worth their start.
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 20) / (m * k * block));
  at::parallel_for(0, (n + block - 1) / block, grain, [&](int64_t begin, int64_t end) {
    f(begin * block, std::min(end * block, n) - begin * block);
  });
}

template <class C>
void bf16_product_of_few_rows(const at::Tensor& c, const at::Tensor& a, const at::Tensor& weight) {
  const int64_t m = a.size(0), n = c.size(1), k = a.size(1), stride = c.stride(0);
  const bool by_tiles = isa_of_this_machine() >= Isa::amx && k % tile_k == 0;
  const at::Tensor laid_out =
      at::empty({(by_tiles ? few_rows_max / 2 : m) * spread_size(k)}, a.options().dtype(at::kFloat));
  auto* const few = laid_out.data_ptr<float>();
  (by_tiles ? pair_rows_amx : spread_rows_avx512)(m, k, rows_of<Bf16>(a), few);
  const auto run = by_tiles ? few_rows_amx<C> : few_rows_avx512<C>;
  for_weight_rows(m, n, k, [&](int64_t first, int64_t count) {
    run(m, count, k, few, rows_of<Bf16>(weight, first), static_cast<C*>(c.data_ptr()) + first, stride);
  });
}

void product_of_few_rows(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor weight = b.t();
  if (c.scalar_type() == at::kBFloat16) return bf16_product_of_few_rows<Bf16>(c, a, weight);
  if (a.scalar_type() == at::kBFloat16) return bf16_product_of_few_rows<float>(c, a, weight);
  const int64_t m = a.size(0), n = c.size(1), k = a.size(1);
  for_weight_rows(m, n, k, [&](int64_t first, int64_t count) {
    few_rows_avx512(m, count, k, rows_of<float>(a), rows_of<float>(weight, first),
                    c.data_ptr<float>() + first, c.stride(0));
  });
}

}  // namespace

GemmInput gemm_input(const at::Tensor& matrix, const int64_t* rows) {
  return {matrix.const_data_ptr(), matrix.stride(0), false, matrix.scalar_type() == at::kBFloat16, rows};
}

void gemm(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b, const GemmOutput& c) {
  if (m == 0 || n == 0 || k == 0) {
    TORCH_INTERNAL_ASSERT(m == 0 || n == 0 || c.add, "a product over nothing has no value to write");
    return;
  }
  if (isa_of_this_machine() < Isa::avx512) {
    gemm_portable(m, n, k, a, b, c);
    return;
  }
  const Product product = product_for(a.bf16 && b.bf16);
  const bool small = m * n * k < product.worth_threads;
  const int64_t threads = small || at::in_parallel_region() ? 1 : at::get_num_threads();
  if (threads == 1) {
    product.run(m, n, k, a, b, c);
  } else {
    gemm_in_parts(product, threads, m, n, k, a, b, c);
  }
}

void matmul(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b, double beta) {
  if (c.numel() == 0) return;
  const int64_t k = a.size(1);
  if (k == 0) {
    if (beta == 0) c.zero_();
    return;
  }
  if (a.scalar_type() == at::kDouble || !has_dense_rows(c)) return matmul_by_torch(c, a, b, beta);
  if (is_of_few_rows(c, a, b, beta)) return product_of_few_rows(c, a, b);
  const auto operand = [](const at::Tensor& matrix) {
    if (has_dense_rows(matrix)) return gemm_input(matrix);
    if (has_dense_rows(matrix.t())) return transposed(gemm_input(matrix.t()));
    TORCH_INTERNAL_ASSERT(false, "matmul of a matrix with strides ", matrix.strides());
  };
  gemm(c.size(0), c.size(1), k, operand(a), operand(b),
       {c.data_ptr(), c.stride(0), beta == 1, c.scalar_type() == at::kBFloat16});
}

void add_matmul(OpTable& table) {
  table.matmul = matmul;
}

}  // namespace d9d::kernels::cpu
