#include "runtime/tokenizer/codec/template_processor.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TemplateProcessor, PutsTheTokensOfBertAndRobertaAround) {
  for (const char* type : {"BertProcessing", "RobertaProcessing"}) {
    const nlohmann::json root = {{"type", type}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}};
    const TemplateProcessor around = TemplateProcessor::from_json({root, "post_processor"});

    EXPECT_THAT(around.before, ElementsAre(2));
    EXPECT_THAT(around.after, ElementsAre(3));
  }
}

TEST(TemplateProcessor, OfASequencePutsTheLaterOutside) {
  const nlohmann::json one = {{"type", "BertProcessing"}, {"sep", {"a", 1}}, {"cls", {"b", 2}}};
  const nlohmann::json other = {{"type", "RobertaProcessing"}, {"sep", {"c", 3}}, {"cls", {"d", 4}}};
  const nlohmann::json root = {{"type", "Sequence"}, {"processors", {one, other}}};
  const TemplateProcessor around = TemplateProcessor::from_json({root, "post_processor"});

  EXPECT_THAT(around.before, ElementsAre(4, 2));
  EXPECT_THAT(around.after, ElementsAre(1, 3));
}

TEST(TemplateProcessor, RefusesAPairWithoutAnId) {
  const nlohmann::json root = {{"type", "BertProcessing"}, {"sep", {"a"}}, {"cls", {"b", 2}}};

  EXPECT_THAT(test::error_of(
                  [&] {
                    TemplateProcessor::from_json({root, "post_processor"});
                  },
                  ErrorKind::input),
              HasSubstr("post_processor.sep has 1 items"));
}

}  // namespace
}  // namespace d9d
