#include "runtime/data/sample_value.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "runtime/data/sample_source.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

struct Answer {
  std::vector<std::string> words;
};

// CORE-34.
TEST(SampleValue, IsOfAnyTypeAndSharedByCopies) {
  Sample sample{{1}, {2}};
  sample.values["text"] = std::string("a text");
  sample.values["answer"] = Answer{{"two", "words"}};

  const Sample copy = sample;

  EXPECT_EQ(copy.values.at("text").as<std::string>(), "a text");
  EXPECT_EQ(&copy.values.at("answer").as<Answer>(), &sample.values.at("answer").as<Answer>());
  EXPECT_EQ(copy, sample);
  EXPECT_EQ(copy.values.at("answer").find<std::string>(), nullptr);
}

TEST(SampleValue, NamesBothTypesWhereAnotherOneIsAskedFor) {
  const SampleValue number = 3;

  EXPECT_THAT(test::error_of([&] { number.as<double>(); }, ErrorKind::input),
              HasSubstr("a value of the sample is a int, and a double is asked for"));
  EXPECT_THAT(test::error_of([] { SampleValue().as<double>(); }), HasSubstr("is a void"));
}

}  // namespace
}  // namespace d9d
