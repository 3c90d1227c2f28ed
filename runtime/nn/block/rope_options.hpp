#pragma once
// How rotary position embedding (Su et al. 2021, arXiv 2104.09864) turns heads. No torch.

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace d9d {

// Frequencies of head dimension pair i: theta^(-2i/head_dim), changed by `type`:
//   plain    as they are
//   linear   divided by factor (Chen et al. 2023, arXiv 2306.15595)
//   ntk      with theta * factor^(head_dim / (head_dim - 2)), whatever the length (bloc97 2023, "NTK-aware")
//   dynamic  with a theta that grows with sequences longer than the model's (NTK, as in transformers)
//   yarn     blended per frequency, cos and sin scaled (Peng et al. 2023, arXiv 2309.00071, 3.2 to 3.4)
//   llama3   long wavelengths divided by factor, with a smooth step in between (Llama 3.1 model card)
//   longrope each divided by its short_factor, or by its long_factor in sequences longer than the pretrained
//            length; cos and sin scaled (Ding et al. 2024, arXiv 2402.13753)
struct RopeOptions {
  enum class Type { plain, linear, ntk, dynamic, yarn, llama3, longrope };
  Type type = Type::plain;
  double theta = 10000.0;
  double factor = 1.0;
  // yarn, llama3, longrope: pretrained length; dynamic: the model's max_position_embeddings.
  std::int64_t original_max_position_embeddings = 0;
  std::optional<double> attention_factor;         // yarn, longrope
  std::optional<double> mscale;                   // yarn
  std::optional<double> mscale_all_dim;           // yarn
  double beta_fast = 32.0;                        // yarn
  double beta_slow = 1.0;                         // yarn
  bool truncate = true;                           // yarn
  double low_freq_factor = 1.0;                   // llama3
  double high_freq_factor = 4.0;                  // llama3
  std::vector<double> short_factor, long_factor;  // longrope: of each pair
  bool interleaved = false;                       // pairs (2i, 2i + 1) instead of (i, i + head_dim / 2)

  // The theta with which highest frequencies stay and lowest ones are divided by `stretch`.
  double stretched_theta(double stretch, std::int64_t head_dim) const {
    const auto dim = static_cast<double>(head_dim);
    return theta * std::pow(stretch, dim / (dim - 2.0));
  }

  bool operator==(const RopeOptions&) const = default;
};

}  // namespace d9d
