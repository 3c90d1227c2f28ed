#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/data/data_config.hpp"
#include "runtime/data/sample_source.hpp"

namespace d9d {

// The source that a job's `data` section asks for; `text` tokenises everything here. Share it between the loaders of a
// process. `base_seed` chooses the shuffled orders where the section has no seed. `ids_below` is the model's
// vocabulary, where it is known: other ids are an input error, here or, for an array of tokens, when the row is read.
std::shared_ptr<const SampleSource> build_source(const DataConfig& config, std::uint64_t base_seed,
                                                 std::optional<std::int64_t> ids_below = {});

}  // namespace d9d
