// Jobs that infer: on any mesh each sample has its line once, also when the job goes on after a stop.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/data/sample_source.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"
#include "tests/support/inference_job.hpp"
#include "tests/support/json_lines.hpp"
#include "tests/support/npy_file.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int samples = 53;  // no multiple of a batch
constexpr int length = 32;

std::vector<double> numbers_in(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kDouble).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

class Inference : public testing::Test {
 protected:
  void SetUp() override {
    job_.rewrite("{source: synthetic, sequence_length: 32, vocab_size: 512}",
                 "{source: tokens, tokens: tokens.npy, epochs: as_needed}");
    job_.rewrite("{period_steps: last_step}", "{period_steps: disable}");
    job_.folder().write("infer.yaml", inference_yaml("{source: tokens, tokens: tokens.npy}"));
    job_.folder().write(
        "tokens.npy", npy_file(samples, length, [](int row, int column) {
          return static_cast<std::int32_t>((row * 97 + column * column * 13 + row * column) % 512);
        }));
  }
  // A few steps, so that the weights are not the seed's.
  void make_model() {
    ASSERT_THAT(
        job_.run(named("source") + set("trainer.schedule.total_steps", "6") + set("export_to", "model")),
        ends_well());
  }
  Outcome infer(const std::string& run, const Words& words = {}) {
    return job_.call(Words{"infer.yaml"} + set("inference.run.name", run) + words);
  }
  // By sample.
  std::map<int, std::vector<nlohmann::json>> lines_of(const std::string& run) {
    std::map<int, std::vector<nlohmann::json>> lines;
    for (const nlohmann::json& line : json_lines_in(job_.run_folder(run) / "results"))
      lines[line.at("sample").get<int>()].push_back(line);
    return lines;
  }
  // As lines_of(), of tensors: a row of each as a line has it.
  std::map<int, std::vector<nlohmann::json>> rows_of(const std::string& run) {
    std::map<int, std::vector<nlohmann::json>> rows;
    for (const auto& entry : std::filesystem::directory_iterator(job_.run_folder(run) / "results")) {
      const SafetensorsReader file(PosixDisk(), entry.path().string());
      const std::vector<double> numbers = numbers_in(file.read("sample"));
      for (std::size_t row = 0; row < numbers.size(); ++row) {
        nlohmann::json line;
        for (const std::string& name : file.names()) {
          const at::Tensor column = file.read(name), value = column[static_cast<std::int64_t>(row)];
          std::vector<double> list = numbers_in(value);
          if (!column.is_floating_point()) std::erase(list, -1);
          line[name] = column.dim() == 1 ? nlohmann::json(list.front()) : nlohmann::json(list);
        }
        rows[static_cast<int>(numbers[row])].push_back(line);
      }
    }
    return rows;
  }
  static void expect_same_rows(const std::map<int, std::vector<nlohmann::json>>& rows,
                               const std::map<int, std::vector<nlohmann::json>>& lines) {
    ASSERT_EQ(lines.size(), static_cast<std::size_t>(samples));
    ASSERT_EQ(rows.size(), lines.size());
    const auto numbers = [](const nlohmann::json& value) {
      return value.is_array() ? value.get<std::vector<double>>() : std::vector{value.get<double>()};
    };
    for (const auto& [sample, with_places] : lines) {
      std::vector<nlohmann::json> expected = with_places;
      for (nlohmann::json& line : expected) {
        // Lines name the row of the file, too; tensors the number of the file.
        EXPECT_EQ(line.at("row"), sample);
        EXPECT_EQ(line.at("file"), "tokens.npy");
        line["source_row"] = {sample};
        line["source_file"] = {0};
        line.erase("row");
        line.erase("file");
      }
      const auto& got = rows.at(sample);
      ASSERT_EQ(got.size(), expected.size()) << sample;
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].size(), expected[i].size()) << got[i] << expected[i];
        for (const auto& [key, value] : expected[i].items())
          EXPECT_THAT(numbers(got[i].at(key)), testing::Pointwise(testing::DoubleNear(1e-5), numbers(value)))
              << "sample " << sample << ", " << key;
      }
    }
  }
  void expect_same_results(const std::string& got, const std::string& expected) {
    const auto reference = lines_of(expected), lines = lines_of(got);
    ASSERT_EQ(reference.size(), static_cast<std::size_t>(samples));
    ASSERT_EQ(lines.size(), reference.size()) << got;
    for (const auto& [sample, found] : lines) {
      ASSERT_EQ(found.size(), 1U) << got << ", sample " << sample;
      const double loss = reference.at(sample).front().at("loss");
      EXPECT_NEAR(found.front().at("loss").get<double>(), loss, 1e-5 * loss) << got << ", sample " << sample;
      EXPECT_EQ(found.front().at("tokens"), length - 1);
    }
  }

  TinyJob job_;
};

TEST_F(Inference, GivesTheLossThatTrainingBeginsWith) {
  make_model();
  ASSERT_THAT(infer("inferred"), says("runs/inferred/results"));
  const Outcome trained =
      job_.run(named("trained") + set("trainer.model_stage_factory.source_checkpoint", "model") +
               set("trainer.schedule.total_steps", "6"));
  ASSERT_EQ(trained.code, 0) << trained.err;

  const auto lines = lines_of("inferred");
  double sum = 0;
  for (int sample = 0; sample < 8; ++sample) sum += lines.at(sample).front().at("loss").get<double>();

  EXPECT_NEAR(sum / 8, job_.losses("trained").front(), 1e-5);
  EXPECT_NE(lines.at(0).front().at("loss"), lines.at(1).front().at("loss"));
}

TEST_F(Inference, GivesTheSameOnEveryMesh) {
  make_model();
  ASSERT_EQ(infer("alone").code, 0);
  const std::map<std::string, Words> meshes{
      {"stages", mesh(2, 1)},
      {"replicas", mesh(1, 4)},
      {"sharded", set("mesh.data_parallel_shard", "2")},
      {"matrices", matrices_on(2)},
      {"experts", mesh(1, 2) + experts_on(2)},
      {"all", mesh(2, 2) + set("inference.batching.microbatch_size", "1")},
  };
  for (const auto& [name, words] : meshes) {
    ASSERT_THAT(infer(name, words), ends_well()) << name;
    expect_same_results(name, "alone");
  }
}

// Every task, on ranks with devices of their own whose work is late and out of order.
TEST_F(Inference, GivesTheBitsOfTheCpuOnDelayedDevices) {
  make_model();
  job_.folder().write("labels.npy", npy_file(samples, length, [](int row, int column) {
                        return static_cast<std::int32_t>(column + 1 < length ? ignored_label : row % 3);
                      }));
  const Words embedding =
      set("task", "{name: embedding}") + set("model_provider.head", "{kind: embedding, normalize: true}");
  const Words classes = set("data", "{source: tokens, tokens: tokens.npy, labels: labels.npy}") +
                        set("task", "{name: classification}") +
                        set("model_provider.head", "{kind: classification, num_labels: 3}");
  const Words sharded = set("mesh.data_parallel_shard", "2") + experts_on(2);
  const std::map<std::string, Words> jobs{
      {"losses", {}},
      {"losses_of_stages", mesh(2, 2)},
      {"losses_of_shards", sharded},
      {"losses_of_matrices", mesh(2, 1) + matrices_on(2)},
      {"vectors", embedding + mesh(2, 1)},
      {"vectors_of_matrices", embedding + matrices_on(2)},
      {"classes", classes + mesh(2, 1)},
      {"classes_of_shards", classes + sharded},
  };
  for (const auto& [name, words] : jobs) {
    ASSERT_EQ(infer(name, words).code, 0) << name;
    ASSERT_THAT(infer("late_" + name, words + set("node.device", "delayed")), ends_well()) << name;
    EXPECT_EQ(lines_of(name).size(), static_cast<std::size_t>(samples)) << name;
    EXPECT_EQ(lines_of("late_" + name), lines_of(name)) << name;
  }
}

TEST_F(Inference, GoesOnWithOtherRanksAndForgetsAndRepeatsNothing) {
  make_model();
  ASSERT_EQ(infer("through").code, 0);
  ASSERT_EQ(infer("halves", mesh(1, 2)).code, 0);
  EXPECT_THAT(job_.checkpoints("halves"), ElementsAre(2, 4, 6, 7));
  for (const char* name : {"save-6", "save-7"})
    std::filesystem::remove_all(job_.run_folder("halves") / "checkpoints" / name);

  ASSERT_THAT(infer("halves", mesh(2, 1)), says("resuming from runs/halves/checkpoints/save-4"));
  expect_same_results("halves", "through");
}

TEST_F(Inference, NamesTheClassOfEachSample) {
  job_.folder().write("labels.npy", npy_file(samples, length, [](int row, int column) {
                        return static_cast<std::int32_t>(column + 1 < length ? ignored_label : row % 3);
                      }));
  const Words classes =
      set("data", "{source: tokens, tokens: tokens.npy, labels: labels.npy, epochs: as_needed}") +
      set("task", "{name: classification}") +
      set("model_provider.head", "{kind: classification, num_labels: 3}");
  ASSERT_THAT(job_.run(named("trained") + classes + set("trainer.schedule.total_steps", "60") +
                       set("optimizer.lr", "0.01") + set("export_to", "model")),
              ends_well());

  ASSERT_THAT(
      infer("inferred", set("data", "{source: tokens, tokens: tokens.npy, labels: labels.npy}") +
                            set("task", "{name: classification}") +
                            set("model_provider.head", "{kind: classification, num_labels: 3}") + mesh(2, 1)),
      ends_well());
  int right = 0;
  for (const auto& [sample, lines] : lines_of("inferred")) {
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines.front().at("position"), length - 1);
    EXPECT_GT(lines.front().at("probability").get<double>(), 1.0 / 3);
    right += lines.front().at("class") == sample % 3 ? 1 : 0;
  }
  EXPECT_GT(right, samples * 8 / 10);
}

TEST_F(Inference, GivesTheVectorOfEachSampleOnEveryMesh) {
  make_model();
  const Words embedding =
      set("task", "{name: embedding}") + set("model_provider.head", "{kind: embedding, normalize: true}");
  for (const auto& [name, words] : std::map<std::string, Words>{
           {"alone", {}}, {"stages", mesh(2, 1)}, {"replicas", mesh(1, 2)}, {"matrices", matrices_on(2)}}) {
    ASSERT_THAT(infer(name, embedding + words), ends_well()) << name;
  }

  const auto alone = lines_of("alone");
  ASSERT_EQ(alone.size(), static_cast<std::size_t>(samples));
  for (const char* name : {"alone", "stages", "replicas", "matrices"}) {
    for (const auto& [sample, lines] : lines_of(name)) {
      ASSERT_EQ(lines.size(), 1U) << name;
      const auto vector = lines.front().at("embedding").get<std::vector<double>>();
      const auto expected = alone.at(sample).front().at("embedding").get<std::vector<double>>();
      ASSERT_EQ(vector.size(), expected.size());
      double length_squared = 0;
      for (std::size_t i = 0; i < vector.size(); ++i) {
        ASSERT_NEAR(vector[i], expected[i], 1e-5) << name << ", sample " << sample;
        length_squared += vector[i] * vector[i];
      }
      EXPECT_NEAR(length_squared, 1, 1e-5);
    }
  }
  EXPECT_NE(alone.at(0).front().at("embedding"), alone.at(1).front().at("embedding"));
}

// Each task with `results: safetensors`, stopped within the data and gone on with on other ranks: the tensors have a
// row for each line of the same job without that key.
TEST_F(Inference, GivesTensorsInThePlaceOfLinesAlsoWhenItGoesOnWithOtherRanks) {
  make_model();
  job_.folder().write("labels.npy", npy_file(samples, length, [](int row, int column) {
                        return static_cast<std::int32_t>(column % 9 == row % 9 ? row % 3 : ignored_label);
                      }));
  const Words classes = set("data", "{source: tokens, tokens: tokens.npy, labels: labels.npy}") +
                        set("model_provider.head", "{kind: classification, num_labels: 3}");
  const std::map<std::string, Words> tasks{
      {"name: causal_lm", {}},
      {"name: classification", classes},
      {"name: embedding", set("model_provider.head", "{kind: embedding, normalize: true}")},
      {"name: generation, max_new_tokens: 3, temperature: 0", {}}};
  for (const auto& [task, words] : tasks) {
    const std::string run = task.substr(6, 5);
    ASSERT_EQ(infer(run + "-lines", words + set("task", "{" + task + "}")).code, 0) << task;
    const Words tensors = words + set("task", "{" + task + ", results: safetensors}");
    ASSERT_EQ(infer(run, tensors + mesh(1, 2)).code, 0) << task;
    for (const char* name : {"save-6", "save-7"})
      std::filesystem::remove_all(job_.run_folder(run) / "checkpoints" / name);
    const Outcome rest = infer(run, tensors + mesh(2, 1));
    ASSERT_EQ(rest.code, 0) << rest.err;
    ASSERT_THAT(rest.err, HasSubstr("resuming from runs/" + run + "/checkpoints/save-4"));

    expect_same_rows(rows_of(run), lines_of(run + "-lines"));
  }
}

TEST_F(Inference, ATrainingJobHasNoResults) {
  EXPECT_THAT(job_.run(set("task", "{name: causal_lm, results: safetensors}") +
                       set("trainer.schedule.total_steps", "6")),
              says("task.results: has no effect: a job that trains has no results"));
}

TEST_F(Inference, AnEmbeddingNeedsItsHeadAndASectionInference) {
  make_model();
  EXPECT_THAT(infer("refused", set("task", "{name: embedding}")),
              is_refused("set `model_provider.head: {kind: embedding}`"));
  EXPECT_THAT(job_.run(set("task", "{name: embedding}") +
                       set("model_provider.head", "{kind: embedding, normalize: true}")),
              is_refused("embedding has no loss to train with"));
}

TEST_F(Inference, IsCheckedWithoutAnOptimizer) {
  make_model();
  const Outcome checked = job_.call({"check", "infer.yaml"});
  ASSERT_THAT(checked, prints("none: the job infers"));
  EXPECT_THAT(checked.out, testing::Not(HasSubstr("decay")));
  EXPECT_THAT(job_.call({"lr", "infer.yaml"}), is_refused("has no learning rate: nothing trains"));
  EXPECT_THAT(
      job_.call({"data", "inspect", "infer.yaml"}),
      is_refused(testing::AllOf(HasSubstr("infer.yaml is no .parquet"), HasSubstr("data peek JOB.yaml"))));
}

TEST_F(Inference, RefusesWhatOnlyTrainingHas) {
  const auto refused = [&](const Words& words, const char* text) {
    EXPECT_THAT(infer("refused", words), is_refused(text));
  };
  job_.folder().write("model/config.json", "{}");
  refused(set("optimizer", "{name: sgd, lr: 1}"),
          "optimizer: nothing trains in a job with a section `inference`");
  refused(set("export_to", "x"), "export_to: nothing trains");
  refused(set("inference.gradient_clipping", "{max_norm: 1}"), "inference.gradient_clipping: unknown key");
  job_.rewrite("trainer:\n", "trainers:\n");
  EXPECT_THAT(job_.run({}), is_refused("trainer"));
}

}  // namespace
}  // namespace d9d::test
