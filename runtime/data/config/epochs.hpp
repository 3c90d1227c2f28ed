#pragma once
// How often a job reads its data: a positive integer, or "as_needed".

#include <cstdint>
#include <optional>

#include "runtime/base/config/codec.hpp"
#include "runtime/base/config/keys.hpp"

namespace d9d {

struct Epochs {
  std::optional<std::int64_t> count = 1;  // > 0; none: as often as the steps of the job need
  bool operator==(const Epochs&) const = default;
};

template <>
struct config::Codec<Epochs> {
  static std::string type() { return "int > 0 \\| as_needed"; }
  static bool read(Epochs& out, const Node& node, const Path& path, Problems& problems);
  static Json write(const Epochs& epochs);
};

// Keys of several sources.
namespace data_keys {
inline constexpr config::Key cache{
    "cache", "",
    "folder of token ids that `d9d-node data prepare` fills; the job maps them instead of making them"};
inline constexpr config::Key tokenizer{
    "tokenizer", "",
    "a Hugging Face tokenizer.json, a .model of SentencePiece or a folder with one; left out: "
    "tokenizer.json, else tokenizer.model, of the model's folder (source_checkpoint, else "
    "model_provider.from)"};
inline constexpr config::Key seed{"seed", "",
                                  "chooses the shuffled orders; null: trainer.determinism.base_seed does"};
inline constexpr config::Key sequence_length{"sequence_length", "tokens", "length of a sample",
                                             config::required, config::at_least(1)};
inline constexpr config::Key shuffle{"shuffle", "",
                                     "another order of samples in every epoch, instead of the files'"};
inline constexpr config::Key epochs{
    "epochs", "",
    "how often the job may read the data; as_needed: as often as trainer.schedule.total_steps takes. More "
    "steps than that are refused"};
}  // namespace data_keys

}  // namespace d9d
