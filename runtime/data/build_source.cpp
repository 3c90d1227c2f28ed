#include "runtime/data/build_source.hpp"

#include "runtime/data/source/synthetic_source.hpp"
#include "runtime/data/source/text_source.hpp"
#include "runtime/data/source/tokens_source.hpp"

namespace d9d {
namespace {

std::shared_ptr<const SampleSource> build(const SyntheticDataConfig& config) {
  return std::make_shared<SyntheticSource>(config);
}

std::shared_ptr<const SampleSource> build(const TextDataConfig& config) {
  return std::make_shared<TextSource>(config);
}

std::shared_ptr<const SampleSource> build(const TokensDataConfig& config) {
  return std::make_shared<TokensSource>(config);
}

}  // namespace

std::shared_ptr<const SampleSource> build_source(const DataConfig& config) {
  return std::visit([](const auto& which) { return build(which); }, config);
}

}  // namespace d9d
