#pragma once
// How the folder of a model asks to be sampled from (generation_config.json). No torch.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/state/disk/disk.hpp"

namespace d9d {

struct GivenSampling {
  std::optional<double> temperature;
  std::optional<std::int64_t> top_k;
  std::optional<double> top_p;
  std::optional<double> repetition_penalty;  // whether it samples or not
  std::vector<std::string> words;            // what the file asks for and is not done, a sentence each
};

// As transformers: with do_sample true its temperature (1 where it says none), top_k (50) and top_p (1); false is
// temperature 0. Without do_sample nothing is given. Input error for a file that is damaged, or values of other kinds.
GivenSampling sampling_in(const Disk& disk, const std::string& directory);

}  // namespace d9d
