#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "runtime/data/config/data_config.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/data/source/corpus_source.hpp"
#include "runtime/data/source/token_recipe.hpp"

namespace d9d {

struct SourceNeeds {
  std::uint64_t base_seed = 0;  // chooses the shuffled orders where a section has no seed
  // The model's vocabulary, where it is known: other ids are an input error, when the source is built or, for
  // files of ids, when they are read.
  std::optional<std::int64_t> ids_below{};
  // Of samples that are rows of a stream: evaluation and inference look at all of it.
  RestOfRows rest = RestOfRows::left_out;
  CorpusWishes wishes{};
  // Makes what a plugin registered.
  std::function<std::shared_ptr<const SampleSource>(const OwnDataConfig&)> make_own{};
};

// The source that a job's `data` section asks for; `text` tokenises everything here. Share it between the
// loaders of a process.
std::shared_ptr<const SampleSource> build_source(const DataConfig& config, const SourceNeeds& needs);

}  // namespace d9d
