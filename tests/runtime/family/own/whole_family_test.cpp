// A plugin's family with one fault each: what is said of it.
#include "runtime/family/own/whole_family.hpp"

#include <gmock/gmock.h>

#include "runtime/family/families.hpp"
#include "runtime/family/own/own_decoder.hpp"
#include "runtime/nn/attention/attention.hpp"
#include "runtime/nn/model/decoder_layer.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "runtime/state/mapper/restrict.hpp"
#include "runtime/tensor/stage_module.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string& fault() {
  static std::string of_test;
  return of_test;
}

constexpr const char* norm_of_1 = "model.layers.1.input_layernorm.weight";

struct FaultyModel final : OwnDecoder {
  FaultyModel() {
    hidden_size = 8;
    intermediate_size = 12;
    num_hidden_layers = 2;
    num_attention_heads = 2;
    num_key_value_heads = 1;
    head_dim = 4;
    vocab_size = 20;
    max_position_embeddings = 16;
    moe_intermediate_size = 6;
    num_experts = 3;
    num_experts_per_tok = 2;
    decoder_sparse_step = 2;
  }
  double gain = 1;

  const ModelKeys& keys() const override {
    static ModelKeys all;
    all = decoder_keys(fault() == "type" ? "other" : "faulty",
                       fault() == "architecture" ? "Faulty" : "FaultyForCausalLM");
    append(all, expert_keys({"moe_intermediate_size", "num_experts", "num_experts_per_tok", "norm_topk_prob",
                             "decoder_sparse_step"}));
    all.push_back(member({"gain", "", "", config::optional}, &FaultyModel::gain));
    if (fault() == "key") all.back().read = nullptr;
    return all;
  }
  BlockCosts layer(std::int64_t index, int ranks) const override {
    BlockCosts costs = OwnDecoder::layer(index, ranks);
    if (fault() == "costs" && index == 1) costs += norm_costs(hidden_size);
    return costs;
  }
  std::string in_folder(const std::string& name) const override {
    if (fault() == "one name" && name.ends_with("up_proj.weight")) return "all.weight";
    return name;
  }
  MapperPtr to_hugging_face() const override {
    MapperPtr mapper = OwnDecoder::to_hugging_face();
    if (fault() != "left out") return mapper;
    Names kept = outputs_of(*mapper);
    kept.erase(norm_of_1);
    return restrict_to_outputs(mapper, kept);
  }
  MapperPtr from_hugging_face(const std::set<std::string>& stored) const override {
    MapperPtr mapper = OwnDecoder::from_hugging_face(stored);
    if (fault() == "unread") {
      Names kept = outputs_of(*mapper);
      kept.erase(norm_of_1);
      return restrict_to_outputs(mapper, kept);
    }
    if (fault() == "not written") return sequential({rename("old_name", norm_of_1), mapper});
    return mapper;
  }
  std::shared_ptr<DecoderLayer> make_layer(ParameterMaker& make, torch::nn::Module& layers,
                                           std::int64_t index) const override;
};

class FaultyLayer final : public DecoderLayer {
 public:
  FaultyLayer(ParameterMaker& make, const FaultyModel& model, std::int64_t index) {
    self_attn_ = model.make_attention(make, *this, index);
    if (fault() == "parameter")
      register_parameter("extra", self_attn_->parameters().front().detach().clone());
    if (fault() != "block") mlp_ = model.make_feed_forward(make, *this, index);
  }
};

std::shared_ptr<DecoderLayer> FaultyModel::make_layer(ParameterMaker& make, torch::nn::Module& layers,
                                                      std::int64_t index) const {
  if (fault() == "layer" && index == 1) return nullptr;
  if (index == 1 && (fault() == "block" || fault() == "parameter"))
    return make.child<FaultyLayer>(layers, "1", *this, index);
  return OwnDecoder::make_layer(make, layers, index);
}

class WholeFamily : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    add_family(std::make_unique<FamilyOf<FaultyModel>>("faulty", ""), "the test");
  }
  void TearDown() override { fault().clear(); }

  static std::string said_of(const std::string& its_fault) {
    fault() = its_fault;
    const FaultyModel model;
    FaultyModel changed = model;
    changed.gain = 2;
    return error_of([&] { require_whole_family(changed, "faulty"); });
  }
};

TEST_F(WholeFamily, OneWithoutFaultsIsTaken) {
  EXPECT_EQ(said_of(""), "no error");
}

TEST_F(WholeFamily, AParameterThatAMapperForgetsIsNamed) {
  EXPECT_THAT(said_of("left out"), AllOf(HasSubstr("the family \"faulty\": to_hugging_face() leaves out"),
                                         HasSubstr(norm_of_1), HasSubstr("add an identity or rename")));
  EXPECT_THAT(said_of("unread"), AllOf(HasSubstr("from_hugging_face() does not make"), HasSubstr(norm_of_1)));
  EXPECT_THAT(said_of("not written"), AllOf(HasSubstr("from_hugging_face() wants"), HasSubstr("old_name")));
  EXPECT_THAT(said_of("one name"), AllOf(HasSubstr("the family \"faulty\""), HasSubstr("all.weight")));
}

TEST_F(WholeFamily, CostsThatCountOtherParametersAreTold) {
  EXPECT_THAT(said_of("costs"),
              AllOf(HasSubstr("layer(1) counts"), HasSubstr("let layer() add up the costs")));
}

TEST_F(WholeFamily, AConfigThatIsReadOtherwiseThanItWasWrittenIsTold) {
  EXPECT_THAT(said_of("key"),
              AllOf(HasSubstr("gain = 2.0, which is read as 1.0"), HasSubstr("undo each other")));
  EXPECT_THAT(said_of("type"), AllOf(HasSubstr("model_type \"other\""), HasSubstr("decoder_keys()")));
  EXPECT_THAT(said_of("architecture"), AllOf(HasSubstr("architecture \"Faulty\""), HasSubstr("ForCausalLM")));
}

TEST_F(WholeFamily, ALayerThatForgetsABlockOrAParameterIsTold) {
  EXPECT_THAT(said_of("layer"), HasSubstr("makes no layer 1"));
  EXPECT_THAT(said_of("block"), AllOf(HasSubstr("layer 1 of the family has no attention or no feed-forward"),
                                      HasSubstr("make_feed_forward")));
  EXPECT_THAT(said_of("parameter"),
              AllOf(HasSubstr("the parameter model.layers.1.extra, which nobody would draw, train or save"),
                    HasSubstr("ParameterMaker")));
}

}  // namespace
}  // namespace d9d::test
