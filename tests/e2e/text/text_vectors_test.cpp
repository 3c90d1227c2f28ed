// Jobs that infer over texts see every token of a text, on all sources, units and meshes. Expected values are those of
// transformers (tests/golden/text_vectors).
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/support/file_text.hpp"
#include "tests/support/json_lines.hpp"
#include "tests/support/npy_file.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using Vector = std::vector<double>;
using Vectors = std::vector<Vector>;

const std::string golden = std::string(D9D_SOURCE_DIR) + "/tests/golden/";
constexpr double tolerance = 2e-5;

class TextVectors : public testing::Test {
 protected:
  TextVectors() {
    std::string lines;
    for (const json& text : expect_.at("texts")) lines += json({{"input_ids", text}}).dump() + "\n";
    job_.folder().write("texts.jsonl", lines);
  }
  // The rows that a job writes, by sample.
  std::vector<json> rows_of(const std::string& folder, const std::string& family, const std::string& head,
                            const std::string& task, const std::string& data, const Words& words = {}) {
    job_.folder().write("infer.yaml", "inference:\n  run: {name: r" + std::to_string(++runs_) +
                                          "}\n  batching: {global_batch_size: 4, microbatch_size: 2}\n"
                                          "  model_stage_factory: {source_checkpoint: " +
                                          golden + folder + "}\nmodel_provider: {name: " + family +
                                          ", from: " + golden + folder + head +
                                          "}\nnode: {threads_per_rank: 1, heartbeat_ms: 10000}\ntask: {" +
                                          task + "}\ndata: {" + data + "}\n");
    EXPECT_THAT(job_.call(Words{"infer.yaml"} + words), ends_well());
    std::vector<json> rows = json_lines_in(job_.run_folder("r" + std::to_string(runs_)) / "results");
    std::ranges::stable_sort(rows, {}, [](const json& row) { return row.at("sample").get<int>(); });
    return rows;
  }
  std::vector<json> embedded(const std::string& model, const std::string& token, const std::string& data,
                             const Words& words = {}) {
    return rows_of("heads/" + model, "qwen3", ", head: {kind: embedding}", "name: embedding, token: " + token,
                   data, words);
  }
  static Vectors vectors_in(const std::vector<json>& rows) {
    Vectors vectors;
    for (const json& row : rows) vectors.push_back(row.at("embedding").get<Vector>());
    return vectors;
  }
  std::string lists(const std::string& samples, const std::string& more = "") const {
    return "source: token_lists, files: [texts.jsonl], format: jsonl, sequence_length: " +
           std::to_string(length()) + ", samples: " + samples + more;
  }
  Vectors expected(const std::string& model, const std::string& unit, const std::string& token) const {
    return expect_.at(model).at(unit).at(token).get<Vectors>();
  }
  static void expect_near(const Vectors& got, const Vectors& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_THAT(got[i], testing::Pointwise(testing::DoubleNear(tolerance), expected[i])) << "piece " << i;
  }
  // In any order: rows of several documents are filled by best fit.
  static void expect_near_in_any_order(const Vectors& got, Vectors expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (const Vector& vector : got) {
      const auto found = std::ranges::find_if(expected, [&](const Vector& other) {
        return std::ranges::equal(vector, other,
                                  [](double a, double b) { return std::abs(a - b) < tolerance; });
      });
      ASSERT_NE(found, expected.end()) << testing::PrintToString(vector);
      expected.erase(found);
    }
  }
  int length() const { return expect_.at("sequence_length"); }

  const json expect_ = json::parse(text_of_file(golden + "text_vectors/expect.json"));
  TinyJob job_;
  int runs_ = 0;
};

TEST_F(TextVectors, AreThoseOfTheLastAndTheFirstTokenOfEachText) {
  for (const std::string model : {"embedding", "embedding_both_ways"}) {
    for (const std::string token : {"last", "first"}) {
      SCOPED_TRACE(model + " " + token);
      const Vectors pieces = expected(model, "pieces", token);
      expect_near(vectors_in(embedded(model, token, lists("document"))), pieces);
      expect_near_in_any_order(vectors_in(embedded(model, token, lists("packed"))), pieces);
    }
  }
}

// Under causal attention: rows of several texts, whose tokens see each other.
TEST_F(TextVectors, OfRowsAreThoseOfEachRow) {
  for (const std::string token : {"last", "first"})
    expect_near(vectors_in(embedded("embedding", token, lists("row"))), expected("embedding", "rows", token));
}

TEST_F(TextVectors, AreTheSameOnEveryMeshAndWhereRowsAreCut) {
  const Vectors pieces = expected("embedding", "pieces", "last");
  for (const Words& words : {mesh(2, 1), mesh(1, 2), matrices_on(2), set("mesh.data_parallel_shard", "2"),
                             set("inference.batching.cut_to_longest", "true")}) {
    SCOPED_TRACE(words.back());
    expect_near(vectors_in(embedded("embedding", "last", lists("document"), words)), pieces);
    if (words.back() == "inference.batching.cut_to_longest=true") continue;
    expect_near_in_any_order(vectors_in(embedded("embedding", "last", lists("packed"), words)), pieces);
  }
}

// Texts that are filled up before or after them, two texts in a row, and a row without tokens.
TEST_F(TextVectors, OfRowsFromFilesHaveTextsOfOneToken) {
  const auto texts = expect_.at("texts").get<std::vector<std::vector<std::int32_t>>>();
  const Vectors pieces = expected("embedding", "pieces", "last");
  // Texts 1 and 2 have one and two tokens.
  const std::vector<std::int32_t> one = texts.at(1), two = texts.at(2);
  const std::vector<std::vector<std::int32_t>> ids{
      {one[0], 0, 0}, {0, 0, one[0]}, {0, two[0], two[1]}, {0, 0, 0}, {two[0], two[1], one[0]}};
  const std::vector<std::vector<std::int32_t>> mask{{1, 0, 0}, {0, 0, 1}, {0, 1, 1}, {0, 0, 0}, {1, 1, 1}};
  const std::vector<std::vector<std::int32_t>> positions{
      {0, 0, 0}, {0, 0, 0}, {0, 0, 1}, {0, 0, 0}, {0, 1, 0}};
  for (const auto& [name, rows] :
       {std::pair{"t.npy", ids}, std::pair{"m.npy", mask}, std::pair{"p.npy", positions}})
    job_.folder().write(name, npy_file(5, 3, [&rows](int row, int column) {
                          return rows.at(static_cast<std::size_t>(row)).at(static_cast<std::size_t>(column));
                        }));

  const std::vector<json> rows = embedded(
      "embedding", "last", "source: tokens, tokens: t.npy, attention_mask: m.npy, position_ids: p.npy");

  std::vector<int> samples;
  for (const json& row : rows) samples.push_back(row.at("sample"));
  EXPECT_THAT(samples, testing::ElementsAre(0, 1, 2, 4, 4));
  expect_near(vectors_in(rows), {pieces[1], pieces[1], pieces[2], pieces[2], pieces[1]});
}

// Of all tokens, and where a column says which token the class is of.
TEST_F(TextVectors, OfAClassifierAreItsClassesAtEveryToken) {
  std::string lines;
  for (const json& text : expect_.at("texts")) {
    json labels(text.size(), -100);
    labels.back() = text.back();
    lines += json({{"input_ids", text}, {"labels", labels}}).dump() + "\n";
  }
  job_.folder().write("last.jsonl", lines);
  const auto classes_of = [&](const std::string& data) {
    return rows_of("heads/classifier", "qwen3", ", head: {kind: classification, num_labels: 3}",
                   "name: classification", data);
  };

  const std::vector<json> rows = classes_of(lists("document"));
  std::vector<json> marked = classes_of(
      "source: token_lists, files: [last.jsonl], format: jsonl, labels_field: labels, samples: document, "
      "sequence_length: 16");

  const auto pieces = expect_.at("pieces").get<std::vector<int>>();
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(std::accumulate(pieces.begin(), pieces.end(), 0)));
  std::size_t at = 0, whole = 0;
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    at += static_cast<std::size_t>(pieces[piece]);
    const json &last = rows.at(at - 1), &expected = expect_.at("classes").at(piece);
    EXPECT_EQ(last.at("position"), pieces[piece] - 1);
    EXPECT_EQ(last.at("class"), expected.at(0)) << piece;
    EXPECT_NEAR(last.at("probability"), expected.at(1), tolerance) << piece;
  }
  ASSERT_EQ(marked.size(), expect_.at("texts").size()) << "one for each text";
  for (const json& text : expect_.at("texts")) {
    const json& row = marked.at(whole++);
    EXPECT_EQ(row.at("position"), text.size() - 1);
    if (text.size() <= static_cast<std::size_t>(length())) {
      EXPECT_TRUE(std::ranges::any_of(expect_.at("classes"), [&](const json& expected) {
        return expected.at(0) == row.at("class") &&
               std::abs(expected.at(1).get<double>() - row.at("probability").get<double>()) < tolerance;
      })) << row;
    }
  }
}

// Every token is left out, so each is counted.
TEST_F(TextVectors, OfWordsThatAreLeftOutCountTheLastOneToo) {
  job_.folder().write(
      "words.jsonl",
      "{\"input_ids\": [5, 6, 7]}\n{\"input_ids\": [8, 9, 10, 11, 12]}\n{\"input_ids\": [13]}\n");
  const auto counts = [&](const std::string& samples) {
    std::vector<int> counts;
    for (const json& row :
         rows_of("modernbert/modernbert", "modernbert", "",
                 "name: masked_lm, mask_token_id: 1, mlm_probability: 1, unmasked_ids: []",
                 "source: token_lists, files: [words.jsonl], format: jsonl, sequence_length: 4, samples: " +
                     samples))
      counts.push_back(row.at("tokens"));
    return counts;
  };

  EXPECT_THAT(counts("document"), testing::ElementsAre(3, 4, 1, 1));
  EXPECT_THAT(counts("row"), testing::ElementsAre(4, 4, 1));
}

// Ranks that share a sample each write the classes of their tokens.
TEST_F(TextVectors, OfAClassifierSayWhichTokenOfTheTextTheyAreOf) {
  const auto classes_of = [&](const std::string& samples, const Words& words) {
    const std::string data =
        "source: token_lists, files: [texts.jsonl], format: jsonl, sequence_length: 8, samples: ";
    std::vector<json> rows =
        rows_of("heads/classifier", "qwen3", ", head: {kind: classification, num_labels: 3}",
                "name: classification", data + samples, words);
    std::ranges::stable_sort(rows, {}, [](const json& row) {
      return std::pair(row.at("sample").get<int>(), row.at("position").get<int>());
    });
    return rows;
  };

  for (const std::string samples : {"document", "packed", "row"}) {
    const std::vector<json> alone = classes_of(samples, {});
    for (const std::string order : {"contiguous", "zigzag"}) {
      const std::vector<json> shared = classes_of(
          samples, set("mesh.context_parallel_shard", "2") + set("parallelism.context.order", order));
      ASSERT_EQ(shared.size(), alone.size()) << samples;
      for (std::size_t i = 0; i < alone.size(); ++i) {
        for (const char* key : {"sample", "position", "class"})
          EXPECT_EQ(shared[i].at(key), alone[i].at(key)) << order;
        EXPECT_NEAR(shared[i].at("probability"), alone[i].at("probability"), tolerance);
      }
    }
  }
}

TEST_F(TextVectors, ArePromptsThatGenerationGoesOnFromTheirLastToken) {
  const std::vector<json> rows =
      rows_of("dense_families/qwen2", "qwen2", "",
              "name: generation, max_new_tokens: 1, temperature: 0, padding_id: 0", lists("document"));

  std::vector<int> next, lengths;
  for (const json& row : rows) {
    next.push_back(row.at("tokens").at(0));
    lengths.push_back(row.at("prompt_tokens"));
  }
  EXPECT_EQ(next, expect_.at("next").get<std::vector<int>>());
  EXPECT_EQ(lengths, expect_.at("pieces").get<std::vector<int>>());
}

}  // namespace
}  // namespace d9d::test
