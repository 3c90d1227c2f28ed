#include "runtime/data/build_source.hpp"

#include "runtime/data/source/synthetic_source.hpp"
#include "runtime/data/source/text_source.hpp"
#include "runtime/data/source/tokens_source.hpp"

namespace d9d {
namespace {

using Limit = std::optional<std::int64_t>;

// Its ids are below a number of the job file, which is checked there.
std::shared_ptr<const SampleSource> build(const SyntheticDataConfig& config, const Limit&) {
  return std::make_shared<SyntheticSource>(config);
}

std::shared_ptr<const SampleSource> build(const TextDataConfig& config, const Limit& ids_below) {
  return std::make_shared<TextSource>(config, ids_below);
}

std::shared_ptr<const SampleSource> build(const TokensDataConfig& config, const Limit& ids_below) {
  return std::make_shared<TokensSource>(config, ids_below);
}

}  // namespace

std::shared_ptr<const SampleSource> build_source(const DataConfig& config, std::uint64_t base_seed,
                                                 Limit ids_below) {
  const auto with_seed = [&](auto which) {
    if (!which.seed) which.seed = static_cast<std::int64_t>(base_seed);
    return build(which, ids_below);
  };
  return std::visit(
      [&](const auto& which) {
        if constexpr (requires { which.shuffle; }) return with_seed(which);
        return build(which, ids_below);
      },
      config);
}

}  // namespace d9d
