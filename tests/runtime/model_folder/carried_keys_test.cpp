#include "runtime/model_folder/carried_keys.hpp"

#include <gmock/gmock.h>

#include "runtime/family/families.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;

class CarriedKeys : public testing::Test {
 protected:
  json carried(const json& config, const json& model = json::object()) {
    write_text(disk_, folder_ / "config.json", config.dump());
    FamilyProvider provider;
    provider.model = {find_family("mixtral"), model};
    return carried_keys(disk_, provider, folder_.path());
  }

  PosixDisk disk_;
  TemporaryFolder folder_;
};

TEST_F(CarriedKeys, AreAllButThoseThatAnExportMakesFalse) {
  const json config = {{"model_type", "mixtral"},
                       {"my_note", "kept"},
                       {"router_aux_loss_coef", 0.0173},
                       {"pretraining_tp", 1},
                       {"transformers_version", "4.40.0"},
                       {"quantization_config", {{"bits", 4}}},
                       {"auto_map", {{"AutoModel", "modeling_x.Model"}}},
                       {"_name_or_path", "/somewhere"},
                       {"rope_theta", 1e6}};

  EXPECT_EQ(carried(config), json({{"model_type", "mixtral"},
                                   {"my_note", "kept"},
                                   {"router_aux_loss_coef", 0.0173},
                                   {"pretraining_tp", 1},
                                   {"transformers_version", "4.40.0"}}));
}

TEST_F(CarriedKeys, HaveTheJobsValues) {
  EXPECT_EQ(
      carried({{"model_type", "mixtral"}, {"router_aux_loss_coef", 0.01}},
              {{"router_aux_loss_coef", 0.5}, {"output_router_logits", nullptr}})["router_aux_loss_coef"],
      0.5);
}

TEST_F(CarriedKeys, AreNoneOfAnotherModel) {
  EXPECT_EQ(carried({{"model_type", "qwen3"}, {"my_note", 1}}), json::object());
}

TEST_F(CarriedKeys, StandBehindWhatTheExportSays) {
  json config = {{"vocab_size", 9}, {"pad_token_id", nullptr}, {"use_cache", true}, {"num_hidden_layers", 2}};

  add_carried_keys({{"vocab_size", 7},
                    {"pad_token_id", 3},
                    {"use_cache", false},
                    {"my_note", "kept"},
                    {"layer_types", {"full_attention", "full_attention", "full_attention"}},
                    {"id2label", {{"0", "bad"}, {"1", "good"}}}},
                   /*labels=*/0, config);

  EXPECT_EQ(config, json({{"vocab_size", 9},
                          {"pad_token_id", nullptr},
                          {"use_cache", false},
                          {"num_hidden_layers", 2},
                          {"my_note", "kept"}}));
}

TEST_F(CarriedKeys, NameTheLabelsOfAHeadOfAsMany) {
  const json labels = {{"0", "bad"}, {"1", "good"}};
  json two = {{"id2label", {{"0", "LABEL_0"}, {"1", "LABEL_1"}}}}, three = two;

  add_carried_keys({{"id2label", labels}}, 2, two);
  add_carried_keys({{"id2label", labels}}, 3, three);

  EXPECT_EQ(two["id2label"], labels);
  EXPECT_EQ(three["id2label"]["0"], "LABEL_0");
}

TEST_F(CarriedKeys, LeaveWhatTheHeadLearnsToTheJob) {
  const json labels = {{"0", "bad"}, {"1", "good"}};
  json config = {{"id2label", labels}, {"problem_type", "single_label_classification"}};

  add_carried_keys({{"id2label", labels}, {"problem_type", "regression"}}, 2, config);

  EXPECT_EQ(config["problem_type"], "single_label_classification");
}

}  // namespace
}  // namespace d9d::test
