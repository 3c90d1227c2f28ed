#include "runtime/peft/own_methods.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "runtime/base/config/decode.hpp"
#include "runtime/base/config/parse.hpp"
#include "runtime/nn/block/leaf.hpp"
#include "runtime/peft/method.hpp"
#include "tests/runtime/peft/adapted_stage.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Trains the norms of the model; with `fault`, it does what a method must not do.
struct NormMethod final : PeftMethod {
  std::string fault;
  std::size_t inject(AdaptedModel& model) const override {
    if (fault == "throws") throw std::runtime_error("no norms today");
    const StageParameter first = model.parameters().front();
    if (fault == "unmarked")
      model.insert_after(first.tensor, {{.name = "extra", .tensor = first.tensor.detach().clone()}});
    std::size_t changed = 0;
    for (const auto& [path, module] : model.modules())
      if (auto* const norm = dynamic_cast<RmsNorm*>(module); norm != nullptr && ++changed > 0)
        norm->weight.requires_grad_(true);
    return changed;
  }
};

void add_norms(const std::string& name, const std::string& fault = "") {
  add_peft_method(
      name,
      [fault](const config::Section&) {
        auto method = std::make_unique<NormMethod>();
        method->fault = fault;
        return method;
      },
      "the plugin a.so");
}

PeftConfig decoded(const std::string& text) {
  config::Problems problems;
  auto config = config::decode<PeftConfig>(config::parse(text, "peft.yaml"), problems);
  problems.throw_if_any();
  return config;
}

TEST(OwnMethods, AreKindsAsThoseOfD9dAre) {
  add_norms("norms");
  const PeftConfig config = decoded(
      "{kind: stack, methods: [{kind: norms, depth: 3}, {kind: full_tune, "
      "module_name_pattern: lm_head}]}");

  const auto stage = adapted_stage(config);

  EXPECT_EQ(trainable(*stage).count("model.norm.weight"), 1U);
  EXPECT_EQ(trainable(*stage).count("lm_head.weight"), 1U);
  EXPECT_EQ(trainable(*stage).count("model.layers.0.self_attn.q_proj.weight"), 0U);
  EXPECT_EQ(config::encode(config)["methods"][0].dump(), R"({"kind":"norms","depth":3})");
}

TEST(OwnMethods, AnUnknownKindIsToldWithAllThereAre) {
  add_norms("norms_too");

  EXPECT_THAT(
      error_of([] { make_peft_method(decoded("{kind: lorra}")); }),
      AllOf(HasSubstr("no method is called \"lorra\"; did you mean \"lora\"?"), HasSubstr("`plugins`")));
  EXPECT_THAT(error_of([] { make_peft_method(decoded("{kind: prefix_tuning}")); }),
              AllOf(HasSubstr("lora, full_tune, freeze, stack"), HasSubstr("norms_too")));
}

TEST(OwnMethods, ANameOnceOnly) {
  add_norms("once");

  EXPECT_THAT(error_of([] { add_norms("once"); }),
              AllOf(HasSubstr("the adapter method \"once\", which the plugin a.so has already")));
  EXPECT_THAT(error_of([] { add_norms("lora"); }), HasSubstr("which d9d has already"));
  EXPECT_THAT(error_of([] { add_norms(""); }), HasSubstr("which has no name"));
}

TEST(OwnMethods, WhatTheyDoWrongIsToldWithTheirName) {
  add_norms("throwing", "throws");
  add_norms("unmarked", "unmarked");
  add_peft_method(
      "nothing", [](const config::Section&) { return nullptr; }, "the plugin a.so");

  EXPECT_THAT(error_of([] { adapted_stage(decoded("{kind: throwing}")); }),
              HasSubstr("the adapter method \"throwing\" threw: no norms today"));
  EXPECT_THAT(error_of([] { adapted_stage(decoded("{kind: unmarked}")); }),
              AllOf(HasSubstr("\"unmarked\" adds the parameter extra without of_adapter"),
                    HasSubstr("add_adapter()")));
  EXPECT_THAT(error_of([] { make_peft_method(decoded("{kind: nothing}")); }), HasSubstr("made none"));
}

}  // namespace
}  // namespace d9d::test
