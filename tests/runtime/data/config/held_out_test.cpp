#include "runtime/data/config/held_out.hpp"

#include <gmock/gmock.h>

#include <set>

#include "runtime/data/build_source.hpp"
#include "runtime/data/corpus/megatron_writer.hpp"
#include "tests/runtime/data/folder.hpp"

namespace d9d {
namespace {

// 50 documents of 4 tokens: document i has the tokens 4i to 4i + 3.
MegatronDataConfig documents_in(const Folder& folder, const std::string& name, std::int32_t first) {
  MegatronWriter writer(folder.path(name), 1000);
  for (std::int32_t i = 0; i < 50; ++i) {
    const std::int32_t id = first + 4 * i;
    writer.add_document(std::vector<std::int32_t>{id, id + 1, id + 2, id + 3});
  }
  writer.finish();
  MegatronDataConfig config;
  config.prefix = folder.path(name);
  config.sequence_length = 12;
  config.validation = Validation{};
  config.validation->fraction = 0.2;
  config.shuffle = true;
  return config;
}

std::set<std::int64_t> documents_of(const DataConfig& data) {
  const auto source = build_source(data, {.base_seed = 5, .rest = RestOfRows::filled_up});
  std::set<std::int64_t> documents;
  for (std::uint64_t i = 0; i < *source->num_samples(); ++i) {
    const Sample sample = source->at(i);
    for (std::size_t k = 0; k < sample.labels.size(); ++k)
      if (sample.labels[k] != ignored_label) documents.insert(sample.labels[k] / 4);
  }
  return documents;
}

TEST(HeldOut, HasWhateverTrainingLacksForEveryUnitOfSamples) {
  const Folder folder;
  for (const SampleUnit unit : {SampleUnit::row, SampleUnit::document, SampleUnit::packed}) {
    MegatronDataConfig config = documents_in(folder, "a", 0);
    config.samples = unit;
    const auto training = documents_of(config);
    const auto validation = documents_of(held_out(config).value());
    EXPECT_EQ(validation.size(), 10);
    EXPECT_EQ(training.size(), 40);
    std::set<std::int64_t> both = training;
    both.insert(validation.begin(), validation.end());
    EXPECT_EQ(both.size(), 50);
  }
}

TEST(HeldOut, OfAMixtureHasThePartsThatHoldRowsOut) {
  const Folder folder;
  MegatronDataConfig whole = documents_in(folder, "b", 200);
  whole.validation.reset();
  MixtureDataConfig mixture{{{2, documents_in(folder, "a", 0)}, {1, whole}}};
  const auto data = held_out(mixture);
  ASSERT_TRUE(data);
  EXPECT_EQ(std::get<MixtureDataConfig>(*data).parts.size(), 1);
  EXPECT_EQ(documents_of(*data).size(), 10);
  mixture.parts.erase(mixture.parts.begin());
  EXPECT_FALSE(held_out(mixture));
}

}  // namespace
}  // namespace d9d
