// Mixtures, packed rows and sorted samples of a job that goes on with another batch size: no sample is lost or
// repeated, in training, inference and evaluation. What a step must have read is counted by hand; its loss is the mean
// over the tokens of those samples that inference finds.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/e2e/going_on/batch_jobs.hpp"
#include "tests/support/json_lines.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

struct Data {
  const char* name;
  std::string keys;
  int samples;  // of an epoch

  friend void PrintTo(const Data& data, std::ostream* out) { *out << data.name; }
};

const std::string lists = "source: token_lists, format: jsonl, sequence_length: 12";

// 40 documents of 2 to 8 tokens, and 20 more.
const std::vector<Data> all_data{
    {"sorted",
     "{" + lists + ", samples: document, files: [a.jsonl], order: {sorted: {buffer_size: 16, pack_size: 4}}}",
     40},
    {"shuffled", "{" + lists + ", samples: document, files: [a.jsonl], shuffle: true}", 40},
    // The sorted part ends it: three samples of it and one of the other, in turns.
    {"mixture",
     "{source: mixture, parts: [{weight: 3, " + lists +
         ", samples: document, files: [a.jsonl]}, {weight: 1, " + lists +
         ", samples: document, files: [b.jsonl]}]}",
     0},
    {"packed", "{" + lists + ", samples: packed, files: [a.jsonl]}", 0}};

class OtherBatchOf : public testing::TestWithParam<Data> {
 protected:
  OtherBatchOf() {
    write("a.jsonl", 40, 0);
    write("b.jsonl", 20, 17);
    job_.folder().write("infer.yaml", std::string(infer_yaml) + small_model_yaml);
    job_.folder().write("train.yaml", train_yaml("last_step") + small_model_yaml);
  }
  void write(const char* name, int documents, int shift) {
    std::string lines;
    for (int k = 0; k < documents; ++k) {
      nlohmann::json ids = nlohmann::json::array();
      for (int i = 0; i < 3 + (5 * k + shift) % 7; ++i) ids.push_back((7 * k + i * i + shift) % 60 + 1);
      lines += nlohmann::json{{"input_ids", ids}}.dump() + "\n";
    }
    job_.folder().write(name, lines);
  }
  static Words data() { return set("data", GetParam().keys); }
  static Words batch(const char* section, int size) {
    return set(std::string(section) + ".batching.global_batch_size", std::to_string(size));
  }
  static Words steps(const char* section, int count) {
    return set(std::string(section) + ".schedule.total_steps", std::to_string(count));
  }
  void infer(const std::string& run, const Words& words) {
    ASSERT_THAT(job_.call(Words{"infer.yaml"} + set("inference.run.name", run) + data() + words),
                ends_well());
  }
  void train(const std::string& run, const Words& words) {
    ASSERT_THAT(job_.call(Words{"train.yaml"} + set("trainer.run.name", run) + data() + words), ends_well());
  }
  struct Line {
    int count = 0;
    double loss = 0, tokens = 0;
  };
  std::map<int, Line> results(const std::string& run) const {
    std::map<int, Line> found;
    for (const nlohmann::json& json : json_lines_in(job_.run_folder(run) / "results")) {
      Line& line = found[json.at("sample").get<int>()];
      ++line.count;
      line.loss = json.at("loss").get<double>();
      line.tokens = json.at("tokens").get<double>();
    }
    return found;
  }
  // Mean over the tokens of these samples.
  static double mean_of(const std::map<int, Line>& each, int first, int count) {
    double sum = 0, tokens = 0;
    for (int sample = first; sample < first + count; ++sample) {
      sum += each.at(sample).loss * each.at(sample).tokens;
      tokens += each.at(sample).tokens;
    }
    return sum / tokens;
  }

  TinyJob job_;
};
INSTANTIATE_TEST_SUITE_P(Data, OtherBatchOf, testing::ValuesIn(all_data),
                         [](const auto& info) { return info.param.name; });

TEST_P(OtherBatchOf, ReadsEachSampleOnce) {
  infer("each", {});
  const auto each = results("each");
  const int samples = static_cast<int>(each.size());
  ASSERT_GE(samples, 16);
  if (GetParam().samples > 0) {
    ASSERT_EQ(samples, GetParam().samples);
  }

  infer("parts", steps("inference", 2));
  infer("parts", batch("inference", 3) + steps("inference", 4));
  infer("parts", batch("inference", 8) + mesh(1, 2));
  const auto parts = results("parts");
  ASSERT_EQ(parts.size(), each.size());
  for (const auto& [sample, line] : parts) {
    EXPECT_EQ(line.count, 1) << "sample " << sample;
    EXPECT_NEAR(line.loss, each.at(sample).loss, 1e-5) << "sample " << sample;
  }

  train("trained", steps("trainer", 2));
  train("trained", batch("trainer", 3) + steps("trainer", 4));
  train("trained", batch("trainer", 2) + mesh(1, 2));
  std::vector<int> sizes{4, 4, 3, 3};
  sizes.insert(sizes.end(), static_cast<std::size_t>((samples - 14) / 2), 2);
  const auto losses = job_.losses("trained");
  ASSERT_EQ(losses.size(), sizes.size());
  int first = 0;
  for (std::size_t step = 0; step < sizes.size(); first += sizes[step++])
    EXPECT_NEAR(losses[step], mean_of(each, first, sizes[step]), 1e-5 * losses[step]) << "step " << step + 1;
}

TEST_P(OtherBatchOf, IsEvaluatedWholeBeforeAndAfter) {
  infer("each", {});
  const auto each = results("each");
  const double whole = mean_of(each, 0, static_cast<int>(each.size()));
  const Words evaluated = set("evaluation", "{period_steps: 1, data: " + GetParam().keys + "}");

  train("evaluated", evaluated + steps("trainer", 1));
  train("evaluated", evaluated + batch("trainer", 6) + steps("trainer", 2));
  train("evaluated", evaluated + batch("trainer", 2) + mesh(1, 2) + steps("trainer", 3));

  const auto losses = job_.values("evaluated", "evaluation/loss");
  ASSERT_EQ(losses.size(), 3U);
  for (const double loss : losses) EXPECT_NEAR(loss, whole, 1e-5 * whole);
}

}  // namespace
}  // namespace d9d::test
