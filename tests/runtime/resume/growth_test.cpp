// What changed_inputs.hpp says of data that has grown, against the samples themselves: for each source, unit and order,
// read before and after.

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/data/build_source.hpp"
#include "runtime/resume/changed_inputs.hpp"
#include "runtime/resume/same_results.hpp"
#include "tests/runtime/job/job_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

constexpr const char* job_text = R"(inference:
  run: {name: asked}
  batching: {global_batch_size: 4, microbatch_size: 1}
  model_stage_factory: {source_checkpoint: one}
model_provider:
  name: qwen3
  model: {hidden_size: 64, num_hidden_layers: 4, num_attention_heads: 4, num_key_value_heads: 2, head_dim: 16,
          intermediate_size: 96, vocab_size: 512}
data: {source: tokens, tokens: tokens.npy}
)";
const std::string tokenizer =
    "tokenizer: " + std::string(D9D_SOURCE_DIR) + "/tests/golden/tokenizer/qwen.json, ";

// A word for each: documents of several lengths, so that packing and sorting have a choice.
std::string words(int row) {
  std::string text;
  for (int i = 0; i < 2 + row * 7 % 11; ++i) text += "w" + std::to_string(row * 13 + i) + " ";
  return text;
}

struct Kind {
  std::string name;
  std::string keys;
  std::string ending;
  std::function<std::string(int row)> row;
  std::vector<std::string> units;
};

std::vector<Kind> kinds() {
  const std::vector<std::string> units{"samples: row", "samples: document", "samples: packed"};
  const auto line = [](int row) { return words(row) + "\n"; };
  const auto json = [](int row) { return R"({"text": ")" + words(row) + "\"}\n"; };
  const auto text = [](const char* keys) { return "source: text, sequence_length: 8, " + tokenizer + keys; };
  return {
      {"lines", text("document: line"), ".txt", line, units},
      {"paragraphs", text("document: paragraph"), ".txt", [=](int row) { return line(row) + "\n"; }, units},
      {"open_paragraphs", text("document: paragraph"), ".txt", [=](int row) { return "\n" + line(row); },
       units},
      {"texts", text("eos_token: <|endoftext|>"), ".txt", line, units},
      {"rows", text("text_field: text"), ".jsonl", json, units},
      {"token_lists", "source: token_lists, sequence_length: 8", ".jsonl",
       [](int row) {
         std::string ids = "1";
         for (int i = 0; i < 2 + row * 7 % 11; ++i) ids += ", " + std::to_string((row * 13 + i) % 500);
         return "{\"input_ids\": [" + ids + "]}\n";
       },
       units},
      {"chat",
       "source: chat, sequence_length: 8, " + tokenizer +
           "roles: {user: {prefix: \"Q\", suffix: \"\"}, assistant: {prefix: \"A\", suffix: \"\"}}",
       ".jsonl",
       [](int row) {
         return R"({"messages": [{"role": "user", "content": ")" + words(row) +
                R"("}, {"role": "assistant", "content": ")" + words(row + 1) + "\"}]}\n";
       },
       units},
      {"prompts",
       "source: prompts, sequence_length: 64, " + tokenizer + "text_field: prompt",
       ".txt",
       line,
       {""}},
  };
}

const std::vector<std::string> orders{"",
                                      "shuffle: true",
                                      "order: {sorted: {buffer_size: 16, pack_size: 2}}",
                                      "order: {shards: {count: 4}}",
                                      "order: {shards: {count: 4, turn: 2}}",
                                      "order: {shards: {count: 4, mode: chunked}}",
                                      "order: {shards: {count: 4, mode: chunked, turn: 2}}",
                                      "max_samples: 30",
                                      "max_samples: 60",
                                      "validation: {samples: 3}",
                                      "epochs: 2"};

class Growth : public testing::TestWithParam<std::size_t> {
 protected:
  const Kind kind_ = kinds()[GetParam()];

  // Empty where the job file is refused.
  std::optional<JobConfig> job(const std::string& unit, const std::string& order) const {
    std::string data = "data={" + kind_.keys + ", files: [" + (folder_ / ("*" + kind_.ending)).string() + "]";
    for (const std::string& more : {unit, order})
      if (!more.empty()) data += ", " + more;
    try {
      return testing_job::load({data + "}"}, job_text).job;
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  void write(const std::string& name, int begin, int end) {
    std::string text;
    for (int row = begin; row < end; ++row) text += kind_.row(row);
    folder_.write(name + kind_.ending, text);
  }
  using Ids = std::vector<std::vector<std::int64_t>>;
  static Ids samples(const JobConfig& job, RestOfRows rest, std::optional<std::size_t> count = std::nullopt) {
    const auto source = build_source(job.data, {.rest = rest});
    Ids all;
    for (std::uint64_t i = 0; i < count.value_or(*source->num_samples()); ++i) {
      Sample sample = source->at(i);
      sample.input_ids.insert(sample.input_ids.end(), sample.labels.begin(), sample.labels.end());
      all.push_back(std::move(sample.input_ids));
    }
    return all;
  }

  PosixDisk disk_;
  test::TemporaryFolder folder_;
};

bool may_add(const JobConfig& job, const std::vector<ChangedInput>& changes) {
  try {
    require_same_results(job, nlohmann::json(resolved_keys(job)), changes, {}, true);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST_P(Growth, KeepsTheSamplesThatItIsSaidToKeep) {
  int kept = 0, moved = 0;
  for (const std::string& unit : kind_.units)
    for (const std::string& order : orders)
      for (const bool added : {false, true}) {
        const auto job = this->job(unit, order);
        if (!job) continue;
        SCOPED_TRACE(unit + ", " + order + (added ? ", a file was added" : ", the file has grown"));
        std::filesystem::remove(folder_ / ("b" + kind_.ending));
        write("a", 0, 40);
        Ids trained, inferred;
        try {
          trained = samples(*job, RestOfRows::left_out);
          inferred = samples(*job, RestOfRows::filled_up);
        } catch (const Error&) {
          continue;  // nothing to sort by
        }
        const auto then = input_prints(disk_, *job);
        added ? write("b", 40, 61) : write("a", 0, 61);
        const auto changes = changed_inputs(disk_, then, input_prints(disk_, *job));

        ASSERT_EQ(changes.size(), 1U);
        ASSERT_TRUE(changes[0].grown);
        EXPECT_EQ(changes[0].file.empty(), added);
        const bool keeps = keeps_samples(job->data, changes[0]);
        ++(keeps ? kept : moved);
        if (keeps) {
          const std::size_t same = trained.size() - (goes_on(job->data, changes[0]) ? 1 : 0);
          trained.resize(same);
          EXPECT_TRUE(samples(*job, RestOfRows::left_out, same) == trained);
        }
        if (may_add(*job, changes)) {
          EXPECT_TRUE(samples(*job, RestOfRows::filled_up, inferred.size()) == inferred);
        }
      }
  EXPECT_GT(kept, 0);
  EXPECT_GT(moved, 0);
}

// These are the reason. Turns of 7: of no source here are the samples whole rounds of 4 shards, which would stay.
TEST_P(Growth, MovesTheSamplesOfShardsAndOfPackedDocuments) {
  std::vector<std::pair<std::string, std::string>> moves;
  for (const char* order :
       {"order: {shards: {count: 4, turn: 7}}", "order: {shards: {count: 4, mode: chunked}}"})
    moves.emplace_back(kind_.units.front(), order);
  if (kind_.units.size() > 1) moves.emplace_back("samples: packed", "");
  for (const auto& [unit, order] : moves) {
    const JobConfig job = this->job(unit, order).value();
    write("a", 0, 40);
    const Ids before = samples(job, RestOfRows::left_out);

    write("a", 0, 61);

    EXPECT_TRUE(is_moved_by_growth(job.data));
    EXPECT_TRUE(samples(job, RestOfRows::left_out, before.size()) != before) << unit << ", " << order;
  }
}

INSTANTIATE_TEST_SUITE_P(Sources, Growth, testing::Range<std::size_t>(0, kinds().size()),
                         [](const auto& info) { return kinds()[info.param].name; });

// Only the plugin knows how a sample depends on its file.
TEST(GrowthOfAPluginsSource, IsNotKnownToKeepASample) {
  EXPECT_TRUE(is_moved_by_growth(OwnDataConfig{}));
}

}  // namespace
}  // namespace d9d
