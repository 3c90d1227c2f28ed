#pragma once
// The keys of `data` with `source: mixture`.

#include <boost/describe.hpp>

#include <array>
#include <variant>
#include <vector>

#include "runtime/base/config/keys.hpp"
#include "runtime/data/config/chat_data_config.hpp"
#include "runtime/data/config/megatron_data_config.hpp"
#include "runtime/data/config/own_data_config.hpp"
#include "runtime/data/config/prompts_data_config.hpp"
#include "runtime/data/config/synthetic_data_config.hpp"
#include "runtime/data/config/text_data_config.hpp"
#include "runtime/data/config/token_lists_data_config.hpp"
#include "runtime/data/config/tokens_data_config.hpp"

namespace d9d {

using PartConfig = std::variant<SyntheticDataConfig, TextDataConfig, TokensDataConfig, MegatronDataConfig,
                                ChatDataConfig, TokenListsDataConfig, PromptsDataConfig, OwnDataConfig>;
constexpr auto choices_of(config::Tag<PartConfig>) {
  return config::Choices<7>{"source",
                            {{{"synthetic", ""},
                              {"text", ""},
                              {"tokens", ""},
                              {"megatron", ""},
                              {"chat", ""},
                              {"token_lists", ""},
                              {"prompts", ""}}}};
}

// A part of a mixture: `weight`, and in the same map the keys of the part's source.
struct MixturePart {
  double weight = 0;
  PartConfig source;
};

template <>
struct config::Codec<MixturePart> {
  static std::string type() { return "weight and source"; }
  static bool read(MixturePart& out, const Node& node, const Path& path, Problems& problems);
  static Json write(const MixturePart& part);
  static void tables(Reference& reference, const std::string& path, const MixturePart&);
};

struct MixtureDataConfig {
  std::vector<MixturePart> parts;
};
BOOST_DESCRIBE_STRUCT(MixtureDataConfig, (), (parts))
constexpr auto keys_of(config::Tag<MixtureDataConfig>) {
  return std::array{config::Key{"parts", "",
                                "the sources; the data ends with the first of them whose epochs are used up",
                                config::required}};
}

}  // namespace d9d
