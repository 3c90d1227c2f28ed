#include "runtime/nn/attention/rotary.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "kernels/memory/host_values.hpp"
#include "runtime/base/error.hpp"
#include "runtime/device/upload.hpp"

namespace d9d {
namespace {

constexpr double two_pi = 2.0 * std::numbers::pi;

double yarn_scale(double factor, double mscale) {
  return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

// Blends element by element: `from` where weight is 0, `to` where it is 1.
at::Tensor blend(const at::Tensor& from, const at::Tensor& to, const at::Tensor& weight) {
  return from.mul(weight.neg().add(1.0)).add(to.mul(weight));
}

// YaRN, eq. 17 to 23: dimensions that turn often keep their frequency, those that
// turn less than once are stretched.
at::Tensor yarn(const RopeOptions& rope, const at::Tensor& plain, std::int64_t head_dim) {
  const auto dim = static_cast<double>(head_dim);
  const auto length = static_cast<double>(rope.original_max_position_embeddings);
  const auto dimension_turning = [&](double turns) {
    return dim * std::log(length / (turns * two_pi)) / (2.0 * std::log(rope.theta));
  };
  double low = dimension_turning(rope.beta_fast);
  double high = dimension_turning(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1.0);
  if (low == high) high += 0.001;
  const at::Tensor pair = at::arange(head_dim / 2, at::kFloat);
  const at::Tensor stretched = pair.sub(low).div(high - low).clamp(0.0, 1.0);
  return blend(plain, plain.div(rope.factor), stretched);
}

// The number on which frequencies depend: 0 up to the pretrained length, then the
// length (dynamic) or 1 (longrope).
std::int64_t stretch_of(const RopeOptions& rope, std::int64_t length) {
  if (!depends_on_length(rope) || length <= rope.original_max_position_embeddings) return 0;
  return rope.type == RopeOptions::Type::dynamic ? length : 1;
}

double theta_of(const RopeOptions& rope, std::int64_t head_dim, std::int64_t length) {
  if (rope.type == RopeOptions::Type::ntk) return rope.stretched_theta(rope.factor, head_dim);
  if (rope.type != RopeOptions::Type::dynamic || stretch_of(rope, length) == 0) return rope.theta;
  const double times =
      static_cast<double>(length) / static_cast<double>(rope.original_max_position_embeddings);
  return rope.stretched_theta(rope.factor * times - (rope.factor - 1.0), head_dim);
}

at::Tensor longrope(const RopeOptions& rope, const at::Tensor& plain, std::int64_t length) {
  const std::vector<double>& factors = stretch_of(rope, length) == 0 ? rope.short_factor : rope.long_factor;
  D9D_CHECK(static_cast<std::int64_t>(factors.size()) == plain.numel(),
            "longrope has {} factors for {} frequencies", factors.size(), plain.numel());
  return plain.div(at::tensor(factors, at::kFloat));
}

at::Tensor llama3(const RopeOptions& rope, const at::Tensor& plain) {
  const auto length = static_cast<double>(rope.original_max_position_embeddings);
  const at::Tensor turns = plain.mul(length / two_pi);
  if (rope.high_freq_factor == rope.low_freq_factor)  // no wavelengths in between, and 0 / 0 below
    return at::where(turns.ge(rope.low_freq_factor), plain, plain.div(rope.factor));
  const at::Tensor keep =
      turns.sub(rope.low_freq_factor).div(rope.high_freq_factor - rope.low_freq_factor).clamp(0, 1);
  return blend(plain.div(rope.factor), plain, keep);
}

std::pair<at::Tensor, at::Tensor> cos_sin(const at::Tensor& positions, const at::Tensor& frequencies,
                                          const RopeOptions& rope) {
  const double scale = rotary_scale(rope);
  const at::Tensor angle =
      positions.to(at::kFloat).unsqueeze(-1).mul(upload(frequencies, device_of(positions.device())));
  const at::Tensor both =
      rope.interleaved ? at::stack({angle, angle}, -1).flatten(-2) : at::cat({angle, angle}, -1);
  at::Tensor cos = at::cos(both);
  at::Tensor sin = at::sin(both);
  if (scale != 1.0) {
    cos.mul_(scale);
    sin.mul_(scale);
  }
  return {cos, sin};
}

// One length of the tokens with each number on which frequencies depend.
std::map<std::int64_t, std::int64_t> length_of_stretch(const RopeOptions& rope, const at::Tensor& lengths) {
  std::map<std::int64_t, std::int64_t> found;
  for (std::int64_t i = 0; i < lengths.numel(); ++i) {
    const std::int64_t length = lengths.const_data_ptr<std::int64_t>()[i];
    found[stretch_of(rope, length)] = length;
  }
  return found;
}

struct Positions {
  std::int64_t first;
  std::int64_t largest;
  bool same_run;   // every row is first, first + 1, ...
  bool same_rows;  // every row is the first one
};

Positions inspect(const at::Tensor& ids) {
  const std::int64_t length = ids.size(-1);
  const auto* data = ids.const_data_ptr<std::int64_t>();
  Positions seen{data[0], data[0], true, true};
  std::int64_t smallest = data[0];
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    seen.largest = std::max(seen.largest, data[i]);
    smallest = std::min(smallest, data[i]);
    seen.same_run = seen.same_run && data[i] == seen.first + i % length;
    seen.same_rows = seen.same_rows && data[i] == data[i % length];
  }
  D9D_REQUIRE(smallest >= 0, "position_ids holds {}; positions count from 0", smallest);
  return seen;
}

// The rows of a table [P, D] at positions [B, S].
at::Tensor rows_at(const at::Tensor& table, const at::Tensor& positions, const Positions& seen) {
  if (seen.same_run) return table.narrow(0, seen.first, positions.size(1));
  if (seen.same_rows) return at::index_select(table, 0, positions[0]);
  return at::index_select(table, 0, positions.flatten())
      .view({positions.size(0), positions.size(1), table.size(1)});
}

}  // namespace

bool depends_on_length(const RopeOptions& rope) {
  return rope.type == RopeOptions::Type::dynamic || rope.type == RopeOptions::Type::longrope;
}

at::Tensor inverse_frequencies(const RopeOptions& rope, std::int64_t head_dim, std::int64_t length) {
  using Type = RopeOptions::Type;
  const at::Tensor exponent = at::arange(0, head_dim, 2, at::kFloat).div(static_cast<double>(head_dim));
  const at::Tensor plain = at::pow(theta_of(rope, head_dim, length), exponent).reciprocal();
  switch (rope.type) {
    case Type::linear:
      return plain.div(rope.factor);
    case Type::yarn:
      return yarn(rope, plain, head_dim);
    case Type::llama3:
      return llama3(rope, plain);
    case Type::longrope:
      return longrope(rope, plain, length);
    case Type::plain:
    case Type::ntk:
    case Type::dynamic:
      break;
  }
  return plain;
}

double rotary_scale(const RopeOptions& rope) {
  const bool longrope = rope.type == RopeOptions::Type::longrope;
  if (rope.type != RopeOptions::Type::yarn && !longrope) return 1.0;
  if (rope.attention_factor) return *rope.attention_factor;
  if (longrope) {
    const auto length = static_cast<double>(rope.original_max_position_embeddings);
    return rope.factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(rope.factor) / std::log(length));
  }
  if (rope.mscale.value_or(0) != 0 && rope.mscale_all_dim.value_or(0) != 0) {
    return yarn_scale(rope.factor, *rope.mscale) / yarn_scale(rope.factor, *rope.mscale_all_dim);
  }
  return yarn_scale(rope.factor, 1.0);
}

RotaryTable::RotaryTable(const RopeOptions& rope, std::int64_t head_dim)
    : rope_(rope), head_dim_(head_dim), frequencies_(inverse_frequencies(rope, head_dim)) {}

void RotaryTable::require_one_rotation(std::int64_t tokens) const {
  D9D_REQUIRE(rope_.type != RopeOptions::Type::dynamic || tokens <= rope_.original_max_position_embeddings,
              "sequences of {} tokens cannot be generated: beyond {} each further token changes the model's "
              "RoPE of type dynamic for all of them; ask for shorter ones",
              tokens, rope_.original_max_position_embeddings);
}

void RotaryTable::choose_frequencies(std::int64_t length) {
  const std::int64_t stretch = stretch_of(rope_, length);
  if (stretch == stretch_) return;
  stretch_ = stretch;
  frequencies_ = inverse_frequencies(rope_, head_dim_, length);
  cos_ = at::Tensor();
  sin_ = at::Tensor();
}

void RotaryTable::grow(std::int64_t positions, at::Device device) {
  if (cos_.defined() && cos_.size(0) >= positions && cos_.device() == device) return;
  const auto rows = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(positions, 64))));
  std::tie(cos_, sin_) = cos_sin(at::arange(rows, at::kLong), frequencies_, rope_);
  if (device.is_cpu()) return;
  cos_ = upload(cos_, device_of(device));
  sin_ = upload(sin_, device_of(device));
}

// On the CPU. Not from the table, which has one set of frequencies.
std::pair<at::Tensor, at::Tensor> RotaryTable::at_lengths(
    const at::Tensor& ids, const std::map<std::int64_t, std::int64_t>& length_of_stretch,
    const at::Tensor& lengths) const {
  at::Tensor cos, sin;
  for (const auto& [stretch, length] : length_of_stretch) {
    const auto [own_cos, own_sin] = cos_sin(ids, inverse_frequencies(rope_, head_dim_, length), rope_);
    if (!cos.defined()) {
      std::tie(cos, sin) = std::pair(own_cos, own_sin);
      continue;
    }
    at::Tensor has_it = at::empty_like(lengths, lengths.options().dtype(at::kBool));
    for (std::int64_t i = 0; i < lengths.numel(); ++i)
      has_it.mutable_data_ptr<bool>()[i] =
          stretch_of(rope_, lengths.const_data_ptr<std::int64_t>()[i]) == stretch;
    has_it = has_it.view({-1, 1});
    cos = at::where(has_it, own_cos, cos);
    sin = at::where(has_it, own_sin, sin);
  }
  return {cos, sin};
}

std::pair<at::Tensor, at::Tensor> RotaryTable::at_positions(const at::Tensor& position_ids,
                                                            const at::Tensor& length) {
  D9D_REQUIRE(position_ids.dim() == 2 && position_ids.scalar_type() == at::kLong && position_ids.numel() > 0,
              "position_ids has {} dimensions and {} elements, expected int64 [batch, sequence]",
              position_ids.dim(), position_ids.numel());
  at::Tensor lengths;
  if (length.defined()) lengths = kernels::fetch_host_values(length).contiguous();
  D9D_CHECK(
      !length.defined() || length.dim() == 0 || length.sizes() == at::IntArrayRef({1, position_ids.numel()}),
      "{} lengths for {} tokens", length.numel(), position_ids.numel());
  const at::Tensor known = kernels::host_values(position_ids);
  if (lengths.defined() && lengths.dim() == 2) {
    const auto stretches = length_of_stretch(rope_, lengths);
    if (stretches.size() > 1) {
      const at::Tensor ids = kernels::fetch_host_values(position_ids).flatten();
      const auto [cos, sin] = at_lengths(ids, stretches, lengths);
      const Device& device = device_of(position_ids.device());
      return {upload(cos, device), upload(sin, device)};
    }
    lengths = at::scalar_tensor(stretches.begin()->second, at::kLong);
  }
  const std::int64_t whole = lengths.defined() ? lengths.item<std::int64_t>() : 0;
  if (!known.defined()) {
    if (depends_on_length()) {
      choose_frequencies(whole > 0 ? whole : position_ids.max().item<std::int64_t>() + 1);
    }
    return cos_sin(position_ids, frequencies_, rope_);
  }
  const at::Tensor ids = known.contiguous();
  const Positions seen = inspect(ids);
  choose_frequencies(std::max(whole, seen.largest + 1));
  grow(seen.largest + 1, position_ids.device());
  const at::Tensor there = seen.same_run ? position_ids : position_ids.contiguous();
  return {rows_at(cos_, there, seen), rows_at(sin_, there, seen)};
}

}  // namespace d9d
