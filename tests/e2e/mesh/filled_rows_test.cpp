// Rows that are filled up: whatever counts tokens has the same numbers for any filling, on any mesh. And steps,
// evaluations and jobs in which some or all of the labels count nowhere.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/curve_test.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/json_lines.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using Json = nlohmann::json;

constexpr int documents = 16;
constexpr double inputs_of_documents = 118;

class FilledRows : public CurveTest {
 protected:
  // Documents of 3 to 15 tokens; the first half of each is a question. The same padded to 20, right and left.
  FilledRows() {
    std::string rows, padded, cut;
    for (int i = 0; i < documents; ++i) {
      const int length = 3 + i % 7 * 2;
      Json ids = Json::array(), labels = Json::array(), filling = Json::array(), ones = Json::array();
      for (int k = 0; k < length; ++k) {
        ids.push_back((7 * i + k * k) % 500 + 1);
        labels.push_back(k < length / 2 ? Json(-100) : ids.back());
        ones.push_back(1);
      }
      for (int k = length; k < 20; ++k) filling.push_back(0);
      rows += Json{{"input_ids", ids}, {"labels", labels}}.dump() + "\n";
      cut += Json{{"input_ids", ids}}.dump() + "\n";
      const bool left = i % 2 == 1;
      const auto joined = [&](Json first, const Json& last) {
        first.insert(first.end(), last.begin(), last.end());
        return first;
      };
      padded += Json{{"input_ids", left ? joined(filling, ids) : joined(ids, filling)},
                     {"attention_mask", left ? joined(filling, ones) : joined(ones, filling)}}
                    .dump() +
                "\n";
    }
    job_.folder().write("rows.jsonl", rows);
    job_.folder().write("padded.jsonl", padded);
    job_.folder().write("cut.jsonl", cut);
  }
  static std::string lists(const std::string& file, const std::string& more) {
    return "source: token_lists, format: jsonl, files: [" + file + "], " + more;
  }
  static Words rows_of(int length, const std::string& samples = "document", const std::string& more = "") {
    return set("data", "{" +
                           lists("rows.jsonl", "epochs: as_needed, samples: " + samples +
                                                   ", sequence_length: " + std::to_string(length) + more) +
                           "}");
  }
  // The routers' losses are a large part of the loss.
  static Words routers() {
    return set("model_provider.model.router_aux_loss_coef", "1.0") +
           set("model_provider.model.router_z_loss_coef", "0.1") +
           set("trainer.logging.expert_load", "model");
  }
  void expect_same_numbers(const std::string& name, const Words& words) {
    expect_same(name, routers() + words);
    for (const char* key :
         {"tokens", "tokens_total", "metrics/expert_load/max_over_mean", "metrics/num_tokens"})
      EXPECT_EQ(job_.values(name, key), job_.values("alone", key)) << name << ": " << key;
  }
};

TEST_F(FilledRows, HaveTheNumbersOfAnyFillingOnAnyMesh) {
  run(named("alone") + routers() + rows_of(16));
  const auto tokens = job_.values("alone", "tokens");
  EXPECT_EQ(tokens.at(0) + tokens.at(1), inputs_of_documents);

  expect_same_numbers("longer", rows_of(64));
  expect_same_numbers("cut", rows_of(64) + set("trainer.batching.cut_to_longest", "true"));
  expect_same_numbers("replicas", rows_of(32) + mesh(1, 2));
  expect_same_numbers("matrices", rows_of(32) + matrices_on(2));
  expect_same_numbers("sequences", rows_of(32) + set("mesh.context_parallel_shard", "2"));
  expect_same_numbers("experts", rows_of(32) + mesh(1, 2) + experts_on(2));
  expect_same_numbers("stages", rows_of(32) + mesh(2, 1));
}

// All documents in one microbatch, because the routers' loss is one of a microbatch.
TEST_F(FilledRows, HaveTheNumbersOfPackedOnes) {
  const auto all = [](int rows) {
    return set("trainer.batching", "{global_batch_size: " + std::to_string(rows) +
                                       ", microbatch_size: " + std::to_string(rows) + "}");
  };
  run(named("alone") + routers() + rows_of(16) + all(documents));
  EXPECT_EQ(job_.values("alone", "tokens").front(), inputs_of_documents);

  // 118 inputs in rows of 60: two are not filled up to the end.
  expect_same_numbers("packed", rows_of(60, "packed") + all(2));
}

TEST_F(FilledRows, OfTokenisedDatasetsTrainOnNoPadding) {
  const auto data = [](const std::string& file) {
    return set("data", "{" + lists(file, "epochs: as_needed, samples: document, sequence_length: 24") + "}");
  };
  run(named("alone") + routers() + data("cut.jsonl"));

  expect_same_numbers("padded", data("padded.jsonl"));
}

// Twelve documents make a step, so four are left for the second one.
TEST_F(FilledRows, KeepTheLastSamplesOfTheDataInAStepThatIsFilledUp) {
  const auto job = [](const std::string& run, int samples, const std::string& steps) {
    return named(run) + routers() + set("lr_scheduler", "null") + set("trainer.schedule.total_steps", steps) +
           set("data", "{" + lists("rows.jsonl", "samples: document, sequence_length: 16") + "}") +
           set("trainer.batching",
               "{global_batch_size: " + std::to_string(samples) + ", microbatch_size: 2, drop_last: false}");
  };
  run(job("in_two", 12, "1"));
  run(job("in_two", 4, "null"));  // goes on with the other four in a step of their own
  const auto losses = job_.losses("in_two"), norms = job_.values("in_two", "grad_norm");
  ASSERT_THAT(losses, SizeIs(2));

  const Words at_once = job("kept", 12, "null");
  for (const auto& [name, words] :
       {std::pair("kept", mesh(1, 1)), std::pair("replicas", mesh(1, 2)), std::pair("stages", mesh(2, 1)),
        std::pair("experts", mesh(1, 2) + experts_on(2))}) {
    SCOPED_TRACE(name);
    run(at_once + words + named(name));
    const auto got = job_.losses(name), got_norms = job_.values(name, "grad_norm");
    ASSERT_THAT(got, SizeIs(2));
    for (std::size_t step = 0; step < 2; ++step) {
      EXPECT_NEAR(got[step], losses[step], 1e-5 * losses[step]);
      EXPECT_NEAR(got_norms[step], norms[step], 1e-4 * norms[step]);
    }
    EXPECT_EQ(job_.values(name, "tokens_total").back(), inputs_of_documents);
  }
  const Outcome checked = job_.call(Words{"check", "job.yaml"} + at_once);
  EXPECT_THAT(checked.out, AllOf(HasSubstr("16 samples, 2 steps an epoch"), Not(HasSubstr("leaves out"))));
  expect_refused(at_once + set("collation", "mine"),
                 "trainer.batching.drop_last: a last batch that is filled up");
}

// Of the fourth sample on no label counts: with one sample a step those are steps of their own.
class NoLabels : public CurveTest {
 protected:
  NoLabels() {
    std::string rows, none;
    for (int i = 0; i < 8; ++i) {
      Json ids = Json::array(), labels = Json::array();
      for (int k = 0; k < 6; ++k) ids.push_back((7 * i + k * k) % 500 + 1);
      for (int k = 0; k < 6; ++k)
        labels.push_back(i == 3 || i == 4 ? Json(-100) : ids[static_cast<std::size_t>(k)]);
      rows += Json{{"input_ids", ids}, {"labels", labels}}.dump() + "\n";
      none += Json{{"input_ids", ids}, {"labels", {-100, -100, -100, -100, -100, -100}}}.dump() + "\n";
    }
    job_.folder().write("rows.jsonl", rows);
    job_.folder().write("none.jsonl", none);
  }
  static std::string data(const std::string& file) {
    return "{source: token_lists, format: jsonl, labels_field: labels, samples: document, sequence_length: "
           "8, "
           "epochs: as_needed, files: [" +
           file + "]}";
  }
  static Words steps_of(int samples, int microbatch = 1) {
    return set("data", data("rows.jsonl")) + set("trainer.schedule.total_steps", "8") +
           set("trainer.checkpointing", "{period_steps: 1, num_to_keep: null}") +
           set("model_provider.model.router_aux_loss_coef", "1.0") +
           set("trainer.batching", "{global_batch_size: " + std::to_string(samples) +
                                       ", microbatch_size: " + std::to_string(microbatch) + "}");
  }
  std::vector<Json> lines(const std::string& run) const {
    return json_lines(job_.run_folder(run) / "metrics.jsonl");
  }
  std::string tensors(const std::string& run, int step) const {
    return shard_of_rank_0(job_.run_folder(run) / "checkpoints" / ("save-" + std::to_string(step)));
  }
  std::string err_of(const Words& words) {
    const Outcome outcome = job_.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.err;
  }
};

TEST_F(NoLabels, AStepOfNothingElseChangesNothingAndIsCountedAndSaidOnce) {
  const std::string err = err_of(named("alone") + steps_of(1));

  EXPECT_EQ(tensors("alone", 3), tensors("alone", 4));
  EXPECT_EQ(tensors("alone", 3), tensors("alone", 5));
  EXPECT_NE(tensors("alone", 5), tensors("alone", 6));
  const auto found = lines("alone");
  ASSERT_THAT(found, SizeIs(8));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(found[i]["loss"].is_null(), i == 3 || i == 4) << found[i].dump();
    EXPECT_EQ(found[i].value("skipped_steps", 0), i < 3 ? 0 : i == 3 ? 1 : 2);
  }
  EXPECT_GT(found[4]["lr"], found[3]["lr"]) << "the schedule of the learning rate goes on";
  const auto first = err.find("no label of the whole batch counts in step 4");
  ASSERT_NE(first, std::string::npos) << err;
  EXPECT_EQ(err.find("no label of the whole batch counts", first + 1), std::string::npos);
}

TEST_F(NoLabels, IsTheSameOnEveryMeshWithEveryOption) {
  run(named("alone") + steps_of(2));  // the fourth and fifth sample are in different steps
  run(named("whole") + steps_of(1));
  const auto expect = [&](const std::string& name, const std::string& like, const Words& words) {
    SCOPED_TRACE(name);
    run(named(name) + words);
    const auto got = lines(name), expected = lines(like);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i]["loss"].is_null(), expected[i]["loss"].is_null()) << i;
      if (got[i]["loss"].is_null()) continue;
      const double loss = expected[i]["loss"];
      EXPECT_NEAR(got[i]["loss"].get<double>(), loss, 1e-5 * loss) << i;
    }
  };

  expect("replicas", "alone", steps_of(2) + mesh(1, 2));
  expect("sharded", "alone", steps_of(2) + set("mesh.data_parallel_shard", "2"));
  expect("stages", "whole", steps_of(1) + mesh(2, 1));
  expect("matrices", "whole", steps_of(1) + matrices_on(2));
  expect("sequences", "whole", steps_of(1) + set("mesh.context_parallel_shard", "2"));
  expect("skips", "whole",
         steps_of(1) + set("trainer.non_finite_gradients", "{action: skip, max_in_a_row: 1}"));
  expect("hooks", "whole",
         steps_of(1) + set("gradient_hooks", "[{name: clip_value, match: \"*\", limit: 100.0}]"));
  run(named("unclipped") + steps_of(1) + set("trainer.gradient_clipping", "{max_norm: null}"));
  expect("maximum", "unclipped",
         steps_of(1) + set("trainer.gradient_clipping", "{max_norm: null, norm_type: inf}"));
}

TEST_F(NoLabels, AdaptersAreLeftAsTheyAre) {
  run(named("adapted") + steps_of(1) +
      set("model_provider.peft", "{kind: lora, module_name_pattern: '.*_proj', params: {r: 2, alpha: 4}}"));

  EXPECT_EQ(tensors("adapted", 3), tensors("adapted", 5));
  EXPECT_NE(tensors("adapted", 5), tensors("adapted", 6));
}

TEST_F(NoLabels, AnEvaluationOfNothingElseSaysSo) {
  const std::string err = err_of(
      named("alone") + steps_of(1) +
      set("evaluation", "{period_steps: 4, keep_best: true, batches: 2, data: " + data("none.jsonl") + "}"));

  EXPECT_THAT(err,
              AllOf(HasSubstr("evaluation after step 4: no label of its 10 tokens counts, so it has no loss"),
                    Not(HasSubstr("loss nan of"))));
  EXPECT_THAT(job_.values("alone", "evaluation/loss"), SizeIs(0));
}

// Five samples of several lengths: their mean is over tokens.
class WholeEvaluation : public NoLabels {
 protected:
  WholeEvaluation() {
    std::string rows;
    for (int i = 0; i < 5; ++i) {
      Json ids = Json::array();
      for (int k = 0; k < 3 + 2 * i; ++k) ids.push_back((7 * i + k * k) % 500 + 1);
      rows += Json{{"input_ids", ids}}.dump() + "\n";
    }
    job_.folder().write("five.jsonl", rows);
  }
};

TEST_F(WholeEvaluation, OfAnyBatchSizeLooksAtAllOfItsData) {
  const auto losses_of = [&](const std::string& name, int batch, int microbatch, const Words& words = {}) {
    run(named(name) + set("lr_scheduler", "null") + set("trainer.schedule.total_steps", "1") +
        set("trainer.batching", "{global_batch_size: " + std::to_string(batch) +
                                    ", microbatch_size: " + std::to_string(microbatch) + "}") +
        set("evaluation",
            "{period_steps: 1, data: {source: token_lists, format: jsonl, samples: document, "
            "sequence_length: 16, "
            "files: [five.jsonl]}}") +
        set("optimizer.lr", "1.0e-12") + set("optimizer.weight_decay", "0.0") + words);
    EXPECT_THAT(job_.values(name, "evaluation/tokens"), testing::ElementsAre(2 + 4 + 6 + 8 + 10)) << name;
    EXPECT_THAT(job_.values(name, "evaluation/metrics/num_tokens"), testing::ElementsAre(30)) << name;
    return job_.values(name, "evaluation/loss").at(0);
  };
  const double expected = losses_of("one", 1, 1);

  EXPECT_NEAR(losses_of("two", 2, 2), expected, 1e-5 * expected);
  EXPECT_NEAR(losses_of("three", 3, 1), expected, 1e-5 * expected);
  EXPECT_NEAR(losses_of("eight", 8, 8), expected, 1e-5 * expected);
  EXPECT_NEAR(losses_of("ranks", 8, 1, mesh(1, 4)), expected, 1e-5 * expected);
  EXPECT_NEAR(losses_of("experts", 8, 2, mesh(1, 2) + experts_on(2)), expected, 1e-5 * expected);
  EXPECT_NEAR(losses_of("sharded", 8, 2, set("mesh.data_parallel_shard", "4")), expected, 1e-5 * expected);
  EXPECT_NEAR(losses_of("stages", 8, 2, mesh(2, 1) + schedule("1f1b")), expected, 1e-5 * expected);
  EXPECT_NEAR(losses_of("cut", 8, 2,
                        mesh(1, 2) + set("trainer.batching.cut_to_longest", "true") +
                            set("data", data("rows.jsonl"))),
              expected, 1e-5 * expected);
}

// 33 tokens are four rows of eight labels.
TEST_F(WholeEvaluation, OfRowsLooksAtTheLastTokensToo) {
  const auto rows = [](const std::string& samples, int length) {
    return "{source: token_lists, format: jsonl, files: [five.jsonl], samples: " + samples +
           ", sequence_length: " + std::to_string(length) + "}";
  };
  run(named("rows") + set("lr_scheduler", "null") + set("trainer.schedule.total_steps", "1") +
      set("evaluation", "{period_steps: 1, data: " + rows("row", 8) + "}"));
  EXPECT_THAT(job_.values("rows", "evaluation/tokens"), testing::ElementsAre(34))
      << "of 35, the first has no label";
}

TEST_F(WholeEvaluation, TrainingSaysHowManySamplesItLeavesOut) {
  const Words words = set("data",
                          "{source: token_lists, format: jsonl, files: [five.jsonl], samples: document, "
                          "sequence_length: 16}") +
                      set("lr_scheduler", "null") + set("trainer.schedule.total_steps", "null") +
                      set("trainer.batching", "{global_batch_size: 2, microbatch_size: 1}");

  EXPECT_THAT(job_.call(Words{"check", "job.yaml"} + words).out,
              HasSubstr("5 samples, 2 steps an epoch; leaves out 1 sample at the end, too few for a step"));
  EXPECT_THAT(err_of(words),
              HasSubstr("training leaves out 1 sample at the end of the data, too few for a step"));
}

}  // namespace
}  // namespace d9d::test
