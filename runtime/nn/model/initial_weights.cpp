#include "runtime/nn/model/initial_weights.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "kernels/parallel_ranges.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"

namespace d9d {
namespace {

// The runs of a block: elements that are adjacent both in the block and in the global tensor.
struct Runs {
  std::size_t split_dim;  // dims after this one are whole
  std::int64_t length;
};

Runs runs_of(const Slice& block, const std::vector<std::int64_t>& shape) {
  std::size_t dim = shape.size();
  std::int64_t length = 1;
  while (dim > 0) {
    --dim;
    length *= block.end[dim] - block.begin[dim];
    if (block.begin[dim] != 0 || block.end[dim] != shape[dim]) break;
  }
  return {dim, length};
}

// Calls run(global index of its first element, length) for the block's runs in row-major order.
template <class Run>
void for_each_run(const Slice& block, const std::vector<std::int64_t>& shape, Run run) {
  if (block.num_elements() == 0) return;
  const Runs runs = runs_of(block, shape);
  std::vector<std::int64_t> at = block.begin;
  while (true) {
    std::int64_t offset = 0;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) offset = offset * shape[dim] + at[dim];
    run(static_cast<std::uint64_t>(offset), static_cast<std::size_t>(runs.length));
    std::size_t dim = runs.split_dim;
    while (dim > 0 && ++at[dim - 1] == block.end[dim - 1]) {
      at[dim - 1] = block.begin[dim - 1];
      --dim;
    }
    if (dim == 0) return;
  }
}

void fill_uniform(const RandomStream& stream, std::uint64_t first, std::size_t length, float* out) {
  for (std::size_t i = 0; i < length; ++i) out[i] = static_cast<float>(2 * stream.uniform(first + i) - 1);
}

// Keeps numbers away from 0, whose logarithm is not finite.
void fill_log_uniform(const RandomStream& stream, std::uint64_t first, std::size_t length, float max,
                      float* out) {
  constexpr double least = 1.0 / 1600;
  for (std::size_t i = 0; i < length; ++i) {
    out[i] = static_cast<float>(std::log(max * (least + (1 - least) * stream.uniform(first + i))));
  }
}

// Draws the elements [first, first + length) of the global tensor in one thread.
void draw_stretch(const StageParameter& parameter, const RandomStream& stream, std::uint64_t first,
                  std::size_t length, float* out) {
  const float factor = parameter.initial.value;
  switch (parameter.initial.kind) {
    case Initial::Kind::constant:
      std::fill_n(out, length, factor);
      return;
    case Initial::Kind::log_uniform:
      return fill_log_uniform(stream, first, length, factor, out);
    case Initial::Kind::uniform:
      fill_uniform(stream, first, length, out);
      break;
    case Initial::Kind::normal:
      stream.fill_normal(first, length, out);
      break;
  }
  for (std::size_t i = 0; i < length; ++i) out[i] *= factor;
}

// The same in all threads of the rank: an element depends on its place alone.
void draw_run(const StageParameter& parameter, const RandomStream& stream, std::uint64_t first,
              std::size_t length, float* out) {
  constexpr std::int64_t grain = 16384;
  kernels::parallel_ranges(static_cast<std::int64_t>(length), grain,
                           [&](std::int64_t begin, std::int64_t end) {
                             draw_stretch(parameter, stream, first + static_cast<std::uint64_t>(begin),
                                          static_cast<std::size_t>(end - begin), out + begin);
                           });
}

RandomStream stream_of(const StageParameter& parameter, std::uint64_t seed) {
  return {seed, "init:" + parameter.name};
}

void draw(const StageParameter& parameter, std::uint64_t seed, float* out) {
  const RandomStream stream = stream_of(parameter, seed);
  for_each_run(parameter.layout.local_slice(), parameter.layout.global_shape(),
               [&](std::uint64_t first, std::size_t length) {
                 draw_run(parameter, stream, first, length, out);
                 out += length;
               });
}

// Draws the block of a parameter into its tensor by way of `staging`, a float32 tensor of the host: one that is used
// again for all parameters, because new memory costs the host more than the numbers in it.
void draw_by_way_of(const at::Tensor& staging, const StageParameter& parameter, std::uint64_t seed,
                    const at::Tensor& values) {
  const RandomStream stream = stream_of(parameter, seed);
  const at::Tensor flat = values.view({-1});
  float* const drawn = staging.data_ptr<float>();
  std::int64_t done = 0, filled = 0;
  const auto flush = [&] {
    flat.narrow(0, done, filled).copy_(staging.narrow(0, 0, filled));
    done += filled;
    filled = 0;
  };
  for_each_run(parameter.layout.local_slice(), parameter.layout.global_shape(),
               [&](std::uint64_t first, std::size_t length) {
                 while (length > 0) {
                   const auto room = static_cast<std::size_t>(staging.numel() - filled);
                   const std::size_t count = std::min(length, room);
                   draw_run(parameter, stream, first, count, drawn + filled);
                   filled += static_cast<std::int64_t>(count);
                   first += count;
                   length -= count;
                   if (filled == staging.numel()) flush();
                 }
               });
  if (filled > 0) flush();
}

}  // namespace

void draw_initial_weights(const std::vector<StageParameter>& parameters, std::uint64_t seed) {
  constexpr std::int64_t elements_max = std::int64_t{1} << 24;
  at::Tensor staging;
  for (const StageParameter& parameter : parameters) {
    const at::Tensor values = parameter.tensor.detach();
    D9D_CHECK(values.sizes().vec() == parameter.layout.local_slice().shape(),
              "{} has another shape than its layout", parameter.name);
    if (parameter.initial.kind == Initial::Kind::constant) {
      values.fill_(parameter.initial.value);
    } else if (values.is_cpu() && values.scalar_type() == at::kFloat) {
      draw(parameter, seed, values.data_ptr<float>());
    } else {
      if (!staging.defined()) staging = at::empty({elements_max}, at::kFloat);
      draw_by_way_of(staging, parameter, seed, values);
    }
  }
}

at::Tensor drawn_rows_of(const StageParameter& parameter, std::int64_t first, std::uint64_t seed) {
  std::vector<std::int64_t> shape = parameter.layout.global_shape();
  D9D_CHECK(!shape.empty() && first >= 0 && first <= shape[0], "row {} of {}", first, parameter.name);
  shape[0] -= first;
  at::Tensor rows = at::empty(shape, at::kFloat);
  const std::int64_t before =
      shape[0] == 0 ? 0 : rows.numel() / shape[0] * first;  // elements of the rows that are left out
  draw_run(parameter, stream_of(parameter, seed), static_cast<std::uint64_t>(before),
           static_cast<std::size_t>(rows.numel()), rows.data_ptr<float>());
  return rows;
}

}  // namespace d9d
